/*
 * stream.c - the threads of an export.
 *
 * A flow is one tensor under way. A worker takes the oldest block of the flows that are
 * open; where there is none it opens the next tensor. So small tensors go one to a thread,
 * a large one is shared by all, and reading moves forward through the sources.
 */
#include "catalog/export/stream.h"

#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <zlib.h>

#include "catalog/base/pages.h"
#include "catalog/base/threads.h"
#include "catalog/codec/checksum.h"
#include "catalog/codec/encode.h"

#define BLOCK_BYTES  ((size_t)256 << 10)
#define WORKERS_MAX  16
#define ELEMENTS_MAX ((uint64_t)1 << 18)

/* Of what is loaded ahead. */
#define LOAD_MAX       64
#define LOAD_BYTES_MAX ((size_t)1 << 20)

/* What the readers of all open flows may hold, if there is more than one. */
#define READERS_BYTES_MAX ((uint64_t)384 << 20)

/* What all workers may hold for pieces: the elements, and what two steps make of them. */
#define PIECES_BYTES_MAX ((uint64_t)384 << 20)
#define PIECE_COPIES     3

struct worker;

struct flow {
    struct flow *next;
    uint64_t order;              /* among all of the export */
    struct export_tensor tensor; /* its texts are in the arena */
    struct arena arena;
    struct stored_tensor stored;
    struct reader *reader;
    struct worker *owner;  /* does all its blocks, in order; NULL: any thread does */
    bool converts, pieces; /* pieces: each block is one */
    bool loses;            /* the conversion can */
    struct loss loss;      /* so far, with the lock held */
    struct converter converter;
    uint64_t count; /* elements where it converts, else bytes */
    uint64_t step;  /* of them in a block */
    uint64_t blocks, taken, done;
    uint32_t *sums;  /* of each block; NULL: not wanted */
    uint64_t memory; /* of its reader */
};

struct pump {
    const struct stream *stream;
    pthread_mutex_t loading;  /* the loader, and with it the catalog; these two: */
    struct export_scan *scan; /* tensors to load */
    struct flow *loaded;      /* and not yet taken, in order */
    uint64_t given;           /* flows that were taken of them */
    pthread_mutex_t lock;     /* all below, and taken and done of the flows */
    pthread_cond_t changed;
    struct flow *first, **last; /* open and shared */
    uint64_t claimed;           /* tensors that are or were opened */
    unsigned opening;           /* threads that are opening one */
    uint64_t memory;            /* of the readers of open flows */
    uint64_t written;           /* bytes, for progress */
    struct error error;         /* of the flow below */
    uint64_t failed; /* the first of those that did; what comes before it goes on */
};

struct worker {
    struct pump *pump;
    uint8_t *read, *converted; /* BLOCK_BYTES each */
    uint8_t *piece;            /* as large as the largest; NULL: there are none */
    struct encoder *encoder;   /* of the chain below; NULL: none yet */
    struct text chain, text;
    struct loss loss; /* of this block */
    struct error error;
};

/* The catalog may have been written to since the plan was made: what is loaded now must
 * still be the tensor that was planned. */
static bool same_as_planned(const struct stored_tensor *s, const struct export_tensor *t)
{
    return strcmp(s->name, t->old_name) == 0 &&
           strcmp(s->dtype.name, t->from.name) == 0 && s->rank == t->rank &&
           s->elements == t->elements &&
           memcmp(s->shape, t->shape, t->rank * sizeof(*t->shape)) == 0;
}

static void flow_close(struct flow *f)
{
    if (!f)
        return;
    reader_close(f->reader);
    arena_release(&f->arena);
    free(f);
}

/* A row's copy in the flow's own memory. */
static bool keep_tensor(struct flow *f, const struct export_tensor *t)
{
    f->tensor = *t;
    f->tensor.recipe = NULL; /* not needed here */
    f->tensor.name = arena_copy(&f->arena, t->name, strlen(t->name));
    f->tensor.old_name = arena_copy(&f->arena, t->old_name, strlen(t->old_name));
    f->tensor.shape = arena_array(&f->arena, t->rank, sizeof(*t->shape));
    if (!f->tensor.name || !f->tensor.old_name || !f->tensor.shape)
        return false;
    if (t->rank)
        memcpy(f->tensor.shape, t->shape, t->rank * sizeof(*t->shape));
    return true;
}

static struct flow *flow_new(struct pump *p, const struct export_tensor *tensor,
                             struct error *err)
{
    struct export_plan *plan = p->stream->plan;
    const struct export_loader *loader = &plan->loader;
    struct flow *f = calloc(1, sizeof(*f));
    if (!f || !keep_tensor(f, tensor))
        error_memory_at(err, tensor->checkpoint);
    else if (loader->load(loader->context, tensor->id, tensor->recipe, &f->arena,
                          &f->stored, err) == OK &&
             !same_as_planned(&f->stored, tensor))
        error_set(err, ERR_CHANGED, tensor->checkpoint, NO_OFFSET,
                  "%s is no longer what it was when the export began; run it again",
                  tensor->old_name);
    if (!f || err->status != OK) {
        flow_close(f);
        return NULL;
    }
    return f;
}

/* Asking the catalog costs much less for several at once. */
static void load_some(struct pump *p, struct error *err)
{
    const struct export_loader *loader = &p->stream->plan->loader;
    struct flow **last = &p->loaded;
    struct export_tensor *t;
    size_t bytes = 0;
    if (loader->begin && loader->begin(loader->context, err) != OK)
        return;
    for (int i = 0; i < LOAD_MAX && bytes < LOAD_BYTES_MAX; i++) {
        if (export_scan_next(p->scan, &t, err) != OK || !t)
            break;
        struct flow *f = flow_new(p, t, err);
        if (!f)
            break;
        bytes += f->arena.used;
        *last = f;
        last = &f->next;
    }
    if (loader->end)
        loader->end(loader->context);
}

/* The next tensor, whose place in the order is *order; NULL after an error. */
static struct flow *flow_next(struct pump *p, uint64_t *order, struct error *err)
{
    pthread_mutex_lock(&p->loading);
    if (!p->loaded)
        load_some(p, err);
    struct flow *f = err->status == OK ? p->loaded : NULL;
    *order = p->given++;
    if (f) {
        p->loaded = f->next;
        f->next = NULL;
        f->order = *order;
    }
    pthread_mutex_unlock(&p->loading);
    return f;
}

/* Elements of a block, so that neither side has more than BLOCK_BYTES: a power of two, and
 * so a whole number of the blocks of any dtype. */
static uint64_t elements_per_block(const struct dtype *from, const struct dtype *to)
{
    uint64_t elements = ELEMENTS_MAX, in = 0, out = 0;
    while (dtype_nbytes(from, elements, &in) && dtype_nbytes(to, elements, &out) &&
           (in > BLOCK_BYTES || out > BLOCK_BYTES))
        elements /= 2;
    return elements;
}

/* Pieces begin anew after each run of elements. */
static uint64_t pieces_per_run(const struct export_tensor *t)
{
    return t->run / t->piece + (t->run % t->piece != 0);
}

static uint64_t blocks_of(const struct flow *f)
{
    const struct export_tensor *t = &f->tensor;
    if (f->pieces)
        return t->elements / t->run * pieces_per_run(t);
    return f->count / f->step + (f->count % f->step != 0);
}

static bool is_written(const struct stream *stream)
{
    return stream->output || stream->staging;
}

/* An error of reading a tensor: which one, the file alone does not say. */
static enum status name_tensor(const struct flow *f, struct error *err)
{
    if (err->status != OK)
        error_prefix(err, f->tensor.old_name);
    return err->status;
}

/* Make a loaded flow ready to run. */
static enum status flow_open(struct pump *p, struct flow *f, struct error *err)
{
    const struct export_tensor *t = &f->tensor;
    f->converts = strcmp(t->from.name, t->to.name) != 0;
    f->loses = loss_possible(&t->from, &t->to);
    f->pieces = t->piece && p->stream->staging;
    f->count = f->converts ? t->elements : t->nbytes;
    if (!is_written(p->stream) && !f->loses)
        f->count = 0;
    f->step = f->converts ? elements_per_block(&t->from, &t->to) : BLOCK_BYTES;
    f->blocks = blocks_of(f);
    if (reader_open(&f->stored, p->stream->plan->files, &f->reader, err) != OK)
        return name_tensor(f, err);
    f->memory = reader_memory(f->reader);
    if (f->converts && converter_find(&t->from, &t->to, &f->converter, err) != OK)
        return name_tensor(f, err);
    if (p->stream->crc32s &&
        !(f->sums = arena_array(&f->arena, (size_t)f->blocks, sizeof(*f->sums))))
        error_memory_at(err, t->checkpoint);
    return err->status;
}

static uint64_t export_stream_bytes_of(const struct dtype *d, uint64_t elements)
{
    uint64_t nbytes = 0;
    dtype_nbytes(d, elements, &nbytes);
    return nbytes;
}

/* Elements [first, first + count) as they are written, in *out. `room` has place for them; NULL:
 * out->at is valid until the next call, and there are no more than a block. */
static enum status produce(struct worker *w, const struct flow *f, uint64_t first,
                           uint64_t count, uint8_t *room, struct bytes *out)
{
    const struct export_tensor *t = &f->tensor;
    struct bytes read = {.len = (size_t)export_stream_bytes_of(&t->from, count)};
    uint64_t from = export_stream_bytes_of(&t->from, first);
    out->len = (size_t)export_stream_bytes_of(&t->to, count);
    out->at = room ? room : w->converted;
    if (!f->converts && room)
        reader_read(f->reader, from, room, out->len, &w->error);
    else if (reader_borrow(f->reader, NULL, from, w->read, &read, &w->error) != OK)
        return name_tensor(f, &w->error);
    else if (!f->converts)
        out->at = read.at;
    else if (converter_run(&f->converter, read.at, room ? room : w->converted, count,
                           first, &w->error) == OK &&
             f->loses && w->pump->stream->options->loss)
        loss_count(&t->from, read.at, &t->to, out->at, count, &w->loss);
    return name_tensor(f, &w->error);
}

/* One block of a tensor that is in one place; *len is what was written. Where nothing is
 * converted, blocks are of bytes: not every dtype can be cut after any element. */
static enum status block_run(struct worker *w, struct flow *f, uint64_t block,
                             size_t *len)
{
    const struct export_tensor *t = &f->tensor;
    const struct stream *stream = w->pump->stream;
    uint64_t first = block * f->step, to = first;
    uint64_t count = f->count - first < f->step ? f->count - first : f->step;
    struct bytes out = {.len = (size_t)count};
    if (f->converts) {
        to = export_stream_bytes_of(&t->to, first);
        produce(w, f, first, count, NULL, &out);
    } else {
        reader_borrow(f->reader, NULL, first, w->read, &out, &w->error);
        name_tensor(f, &w->error);
    }
    if (w->error.status != OK)
        return w->error.status;
    if (f->sums)
        f->sums[block] = crc32_extend(0, out.at, out.len);
    *len = out.len;
    bool early = stream->options->sync;
    if (!is_written(stream))
        return OK;
    if (stream->output)
        return output_write(stream->output, t->offset + to, out.at, out.len, early,
                            &w->error);
    return staging_write(stream->staging, stream->names[t->file], t->offset + to, out,
                         early, &w->error);
}

/* The encoder of a tensor's pieces: that of the piece before, mostly. */
static enum status find_encoder(struct worker *w, const struct export_tensor *t)
{
    const struct stream *stream = w->pump->stream;
    text_reset(&w->text);
    stream->exporter->piece_chain(stream->options, t, &w->text);
    const char *chain = text_str(&w->text);
    if (!chain)
        return error_memory(&w->error);
    if (w->encoder && strcmp(chain, text_str(&w->chain)) == 0)
        return OK;
    encoder_close(w->encoder);
    w->encoder = NULL;
    text_reset(&w->chain);
    if (!text_adds(&w->chain, chain))
        return error_memory(&w->error);
    return encoder_open(chain, &w->encoder, &w->error);
}

/* The elements of a piece, from `first` on, and zeros after them up to its full size. */
static enum status fill_piece(struct worker *w, const struct flow *f, uint64_t first,
                              uint64_t count, struct bytes *piece)
{
    const struct export_tensor *t = &f->tensor;
    uint64_t step = f->converts ? f->step : count;
    size_t made = 0;
    for (uint64_t at = 0; at < count; at += step) {
        struct bytes out = {0};
        uint64_t some = count - at < step ? count - at : step;
        if (produce(w, f, first + at, some, w->piece + made, &out) != OK)
            return w->error.status;
        made += out.len;
    }
    *piece = (struct bytes){w->piece, (size_t)export_stream_bytes_of(&t->to, t->piece)};
    memset(w->piece + made, 0, piece->len - made);
    return OK;
}

static enum status piece_run(struct worker *w, struct flow *f, uint64_t number,
                             size_t *len)
{
    const struct export_tensor *t = &f->tensor;
    const struct stream *stream = w->pump->stream;
    uint64_t per_run = pieces_per_run(t), within = number % per_run * t->piece;
    uint64_t left = t->run - within, count = left < t->piece ? left : t->piece;
    struct bytes piece = {0}, stored = {0};
    *len = (size_t)export_stream_bytes_of(&t->to, count);
    if (find_encoder(w, t) != OK ||
        fill_piece(w, f, number / per_run * t->run + within, count, &piece) != OK ||
        encoder_run(w->encoder, piece, &stored, &w->error) != OK)
        return w->error.status;
    text_reset(&w->text);
    stream->exporter->piece_path(stream->options, t, number, &w->text);
    if (!text_str(&w->text))
        return error_memory(&w->error);
    return staging_put(stream->staging, text_str(&w->text), stored, &w->error);
}

/* Read, convert and write one block. */
static enum status do_block(struct worker *w, struct flow *f, uint64_t block, size_t *len)
{
    const struct export_options *options = w->pump->stream->options;
    if (options->stop && options->stop(options->context))
        return error_set(&w->error, ERR_INTERRUPTED, NULL, NO_OFFSET, "interrupted");
    w->loss = (struct loss){0};
    return f->pieces ? piece_run(w, f, block, len) : block_run(w, f, block, len);
}

/* The checksum of all from those of the blocks, which were done in any order. */
static uint32_t flow_sum(const struct flow *f)
{
    uLong sum = f->sums[0];
    uint64_t step =
        f->converts ? export_stream_bytes_of(&f->tensor.to, f->step) : f->step;
    uint64_t last = f->tensor.nbytes - (f->blocks - 1) * step;
    for (uint64_t i = 1; i < f->blocks; i++)
        sum = crc32_combine(sum, f->sums[i], (z_off_t)(i + 1 < f->blocks ? step : last));
    return (uint32_t)sum;
}

/* All blocks are done: compare with the checksums of the source, and close. */
static enum status flow_finish(const struct stream *stream, struct flow *f,
                               struct error *err)
{
    if (f->sums)
        stream->crc32s[f->tensor.number] = flow_sum(f);
    if (f->stored.sums && reader_verify(f->reader, err) != OK)
        name_tensor(f, err);
    flow_close(f);
    return err->status;
}

/* The functions below are called with the lock held. */

/* Of several tensors that fail, the first in order is reported, whatever the threads do: those
 * before it go on until they are done, or fail as well. */
static void pump_fail(struct pump *p, uint64_t order, const struct error *err)
{
    if (p->error.status == OK || order < p->failed) {
        p->error = *err;
        p->failed = order;
    }
    pthread_cond_broadcast(&p->changed);
}

static bool goes_on(const struct pump *p, const struct flow *f)
{
    return p->error.status == OK || f->order < p->failed;
}

/* Wait until there is memory for a flow's reader. Only its owner would run it, and owners have
 * nothing else to do when they open one: all others go on. */
static void pump_reserve(struct pump *p, const struct flow *f)
{
    while (p->error.status == OK && p->memory &&
           (p->memory > READERS_BYTES_MAX || f->memory > READERS_BYTES_MAX - p->memory))
        pthread_cond_wait(&p->changed, &p->lock);
    p->memory += f->memory;
}

static void pump_release(struct pump *p, uint64_t memory)
{
    p->memory -= memory;
    if (memory)
        pthread_cond_broadcast(&p->changed);
}

/* Open the next tensor and put it in line. Lets the lock go meanwhile. */
static void pump_open(struct worker *w)
{
    struct pump *p = w->pump;
    uint64_t order;
    p->claimed++;
    p->opening++;
    pthread_mutex_unlock(&p->lock);
    struct flow *f = flow_next(p, &order, &w->error);
    if (f && (flow_open(p, f, &w->error) != OK || !f->blocks)) {
        flow_close(f);
        f = NULL;
    }
    pthread_mutex_lock(&p->lock);
    p->opening--;
    if (w->error.status != OK) {
        pump_fail(p, order, &w->error);
    } else if (f) {
        if (f->memory)
            pump_reserve(p, f);
        f->owner = f->stored.sums || reader_sequential(f->reader) ? w : NULL;
        *p->last = f;
        p->last = &f->next;
    }
    pthread_cond_broadcast(&p->changed);
}

/* The next block to do, or NULL when all is taken or lost. */
static struct flow *pump_take(struct worker *w, uint64_t *block)
{
    struct pump *p = w->pump;
    while (w->error.status == OK) {
        for (struct flow *f = p->first; f; f = f->next) {
            if (f->taken < f->blocks && (!f->owner || f->owner == w) && goes_on(p, f)) {
                *block = f->taken++;
                return f;
            }
        }
        if (p->error.status == OK && p->claimed < p->stream->plan->count)
            pump_open(w);
        else if (p->opening)
            pthread_cond_wait(&p->changed, &p->lock);
        else
            return NULL;
    }
    return NULL;
}

static void add_loss(struct loss *to, const struct loss *l)
{
    to->out_of_range += l->out_of_range;
    to->to_zero += l->to_zero;
    to->to_nan += l->to_nan;
}

/* What a tensor has lost in all. */
static void report_loss(const struct flow *f, struct export_loss *loss)
{
    const struct loss *l = &f->loss;
    if (!loss || !(l->out_of_range | l->to_zero | l->to_nan))
        return;
    add_loss(&loss->all, l);
    if (!loss->tensors++)
        snprintf(loss->first, sizeof(loss->first), "%s", f->tensor.old_name);
}

/* Count a block as done. True: it was the last of its flow, which is the caller's now. */
static bool pump_done(struct pump *p, struct flow *f, const struct loss *loss, size_t len)
{
    const struct export_options *options = p->stream->options;
    p->written += len;
    add_loss(&f->loss, loss);
    if (options->progress)
        options->progress(options->context, p->written, p->stream->nbytes);
    if (++f->done < f->blocks)
        return false;
    report_loss(f, options->loss);
    struct flow **at = &p->first;
    while (*at != f)
        at = &(*at)->next;
    *at = f->next;
    if (!f->next)
        p->last = at;
    return true;
}

/* Take and do blocks until there are none. */
static void export_stream_work(struct worker *w)
{
    struct pump *p = w->pump;
    struct flow *f;
    uint64_t block;
    pthread_mutex_lock(&p->lock);
    while ((f = pump_take(w, &block))) {
        size_t len = 0;
        pthread_mutex_unlock(&p->lock);
        enum status status = do_block(w, f, block, &len);
        pthread_mutex_lock(&p->lock);
        if (status != OK) {
            pump_fail(p, f->order, &w->error);
        } else if (pump_done(p, f, &w->loss, len)) {
            uint64_t memory = f->memory, order = f->order;
            pthread_mutex_unlock(&p->lock);
            status = flow_finish(p->stream, f, &w->error);
            pthread_mutex_lock(&p->lock);
            pump_release(p, memory);
            if (status != OK)
                pump_fail(p, order, &w->error);
        }
    }
    pthread_mutex_unlock(&p->lock);
}

/* False: no memory, and nothing done. */
static bool run_worker(struct pump *p)
{
    struct worker w = {.pump = p, .error = {.offset = NO_OFFSET}};
    w.read = pages_alloc(BLOCK_BYTES);
    w.converted = pages_alloc(BLOCK_BYTES);
    size_t piece = (size_t)p->stream->piece_bytes;
    w.piece = piece ? pages_alloc(piece) : NULL;
    bool ready = w.read && w.converted && (w.piece || !piece);
    if (ready)
        export_stream_work(&w);
    encoder_close(w.encoder);
    text_release(&w.chain);
    text_release(&w.text);
    free(w.piece);
    free(w.read);
    free(w.converted);
    return ready;
}

static void thread_main(void *pump)
{
    run_worker(pump);
}

/* Besides this one. Reading and writing overlap even on a single core. */
static unsigned other_threads(unsigned wanted, uint64_t piece_bytes)
{
    unsigned cores = threads_cores(), most = WORKERS_MAX;
    uint64_t fit = piece_bytes ? PIECES_BYTES_MAX / PIECE_COPIES / piece_bytes : most;
    if (!wanted)
        wanted = cores < 2 ? 2 : cores;
    if (fit < most)
        most = fit ? (unsigned)fit : 1;
    return (wanted > most ? most : wanted) - 1;
}

static void close_all(struct flow *f)
{
    while (f) {
        struct flow *next = f->next;
        flow_close(f);
        f = next;
    }
}

enum status stream_run(const struct stream *stream, struct error *err)
{
    struct pump p = {.stream = stream, .error = {.offset = NO_OFFSET}};
    if (export_scan_open(stream->plan->rows, EXPORT_PLACED_BY_SOURCE, EXPORT_ALL, &p.scan,
                         err) != OK)
        return err->status;
    unsigned others = other_threads(stream->options->threads, stream->piece_bytes);
    p.last = &p.first;
    pthread_mutex_init(&p.loading, NULL);
    pthread_mutex_init(&p.lock, NULL);
    pthread_cond_init(&p.changed, NULL);
    /* This thread works too: without others it only takes longer. */
    struct threads *threads = others ? threads_start(others, thread_main, &p) : NULL;
    bool worked = run_worker(&p);
    threads_join(threads);
    if (!worked)
        error_memory(&p.error);
    close_all(p.first);
    close_all(p.loaded);
    export_scan_close(p.scan);
    pthread_cond_destroy(&p.changed);
    pthread_mutex_destroy(&p.lock);
    pthread_mutex_destroy(&p.loading);
    if (p.error.status != OK)
        *err = p.error;
    return p.error.status;
}
