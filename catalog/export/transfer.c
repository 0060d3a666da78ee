/*
 * transfer.c - the threads of an export.
 *
 * A flow is a tensor in progress. A worker takes the next block of the oldest flow that it may
 * work on; if it may work on none, it opens the next tensor. Thus small tensors get a thread each,
 * a large one is shared by all threads, and reading moves forward through the sources.
 */
#include "catalog/export/transfer.h"

#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <zlib.h>

#include "catalog/base/pages.h"
#include "catalog/base/threads.h"
#include "catalog/data/codec/checksum.h"
#include "catalog/data/codec/encode.h"
#include "catalog/data/kernel/crc32c.h"
#include "catalog/data/store/store.h"
#include "catalog/export/chunk_runs.h"

#define BLOCK_BYTES  ((size_t)256 << 10)
#define COPY_BYTES   ((uint64_t)16 << 20) /* of a block that the system copies */
#define WORKERS_MAX  16
#define ELEMENTS_MAX ((uint64_t)1 << 18)

/* The most memory that the readers of open flows may take, if there are several. */
#define READERS_BYTES_MAX ((uint64_t)384 << 20)

/* The most memory for pieces, of all workers: the elements, and the outputs of two codec steps. */
#define PIECES_BYTES_MAX ((uint64_t)384 << 20)
#define PIECE_COPIES     3

struct worker;

struct flow {
    struct flow *next;
    uint64_t order; /* position in the order of the export */
    struct export_tensor *tensor;
    const struct stored_tensor *stored;
    struct arena arena;
    struct reader *reader;
    struct worker *owner;  /* the only worker that may do its blocks; NULL: any */
    bool converts, pieces; /* pieces: each block is one piece */
    bool loses;            /* the conversion can lose something */
    struct loss loss;      /* so far; guarded by the lock */
    struct converter converter;
    int from;             /* the file that the system copies it from, as it is; -1: it is read */
    uint64_t from_offset; /* there */
    uint64_t count;       /* elements if it converts, else bytes */
    uint64_t step;        /* units per block */
    uint64_t blocks, taken, done;
    uint32_t *sums;  /* of each block; NULL: not needed */
    uint64_t memory; /* that its reader may take */
};

struct pump {
    const struct stream *stream;
    struct export_tensor **tensors; /* in the order of their sources */
    pthread_mutex_t loading;        /* guards the loader */
    pthread_mutex_t lock;           /* guards all below, and `taken` and `done` of flows */
    pthread_cond_t changed;
    struct flow *first, **last; /* open flows */
    uint64_t claimed;           /* tensors that were begun */
    unsigned opening;           /* threads that are opening a tensor */
    uint64_t memory;            /* taken by the readers of open flows */
    uint64_t written;           /* bytes, for progress */
    struct error error;         /* of the flow `failed` */
    uint64_t failed;            /* the first flow, in order, that failed; flows before it go on */
};

struct worker {
    struct pump *pump;
    uint8_t *read, *converted; /* BLOCK_BYTES each */
    uint8_t *piece;            /* size of the largest piece; NULL: no pieces */
    struct encoder *encoder;   /* for `chain`; NULL: none yet */
    struct text chain, text;
    struct loss loss; /* of the current block */
    struct error error;
};

static void flow_close(struct flow *f)
{
    if (!f)
        return;
    reader_close(f->reader);
    arena_release(&f->arena);
    free(f);
}

/* Look a tensor up that the plan did not keep. */
static const struct stored_tensor *load_again(struct pump *p, struct flow *f, struct error *err)
{
    const struct export_loader *loader = &p->stream->plan->loader;
    const struct export_tensor *t = f->tensor;
    struct stored_tensor *s = arena_alloc(&f->arena, sizeof(*s));
    if (!s) {
        error_memory_at(err, t->checkpoint);
        return NULL;
    }
    pthread_mutex_lock(&p->loading);
    loader->load(loader->context, t->id, t->recipe, &f->arena, s, err);
    pthread_mutex_unlock(&p->loading);
    /* The catalog may have changed since the plan was made. */
    if (err->status == OK &&
        (strcmp(s->name, t->old_name) != 0 || strcmp(s->dtype.name, t->from.name) != 0 ||
         s->rank != t->rank || s->elements != t->elements ||
         memcmp(s->shape, t->shape, t->rank * sizeof(*t->shape)) != 0))
        error_set(err, ERR_CHANGED, t->checkpoint, NO_OFFSET,
                  "%s is no longer what it was when the export began; run it again", t->old_name);
    return s;
}

/* Elements per block, so that input and output have at most BLOCK_BYTES: a power of two, and thus
 * a whole number of quantised blocks of any dtype. */
static uint64_t elements_per_block(const struct dtype *from, const struct dtype *to)
{
    uint64_t elements = ELEMENTS_MAX, in = 0, out = 0;
    while (dtype_nbytes(from, elements, &in) && dtype_nbytes(to, elements, &out) &&
           (in > BLOCK_BYTES || out > BLOCK_BYTES))
        elements /= 2;
    return elements;
}

static bool is_written(const struct stream *stream)
{
    return stream->output || stream->staging;
}

/* Add the tensor's name to an error of reading, which names only the file. */
static void name_tensor(const struct flow *f, struct error *err)
{
    if (err->status != OK)
        error_prefix(err, f->tensor->old_name);
}

/* Let the system copy a large tensor that is written as it lies in its file. A tensor that has or gets a checksum is
 * read, and so is one that cannot fill a few blocks. */
static void find_copy(const struct pump *p, struct flow *f)
{
    if (f->converts || f->pieces || f->stored->sums || p->stream->sums || !is_written(p->stream) ||
        f->count < BLOCK_BYTES)
        return;
    f->from = reader_descriptor(f->reader, &f->from_offset);
    if (f->from >= 0)
        f->step = COPY_BYTES;
}

/* Prepare a flow for its blocks. */
static void flow_open(struct pump *p, struct flow *f, struct error *err)
{
    const struct export_tensor *t = f->tensor;
    f->stored = t->stored ? t->stored : load_again(p, f, err);
    if (err->status != OK)
        return;
    f->converts = strcmp(t->from.name, t->to.name) != 0;
    f->loses = loss_possible(&t->from, &t->to);
    f->pieces = t->piece && is_written(p->stream);
    f->count = f->converts ? t->elements : t->nbytes;
    if (t->tied || t->from.kind == DTYPE_STRING || (!is_written(p->stream) && !f->loses))
        f->count = 0;
    f->step = f->converts ? elements_per_block(&t->from, &t->to) : BLOCK_BYTES;
    f->from = -1;
    if (reader_open(f->stored, p->stream->plan->files, &f->reader, err) == OK && f->converts)
        converter_find(&t->from, &t->to, &f->converter, err);
    name_tensor(f, err);
    if (err->status != OK)
        return;
    find_copy(p, f);
    if (f->pieces)
        f->blocks = t->chunk ? chunk_count(t) : t->elements / t->run * lay_pieces_per_run(t);
    else
        f->blocks = f->count / f->step + (f->count % f->step != 0);
    f->memory = reader_memory(f->reader);
    if (p->stream->sums && !(f->sums = arena_array(&f->arena, (size_t)f->blocks, sizeof(*f->sums))))
        error_memory_at(err, t->checkpoint);
}

/* The next tensor, ready for its blocks; NULL: it has none, or an error. */
static struct flow *flow_new(struct pump *p, uint64_t order, struct error *err)
{
    struct flow *f = calloc(1, sizeof(*f));
    if (!f) {
        error_memory_at(err, p->tensors[order]->checkpoint);
        return NULL;
    }
    f->order = order;
    f->tensor = p->tensors[order];
    flow_open(p, f, err);
    if (err->status == OK && f->blocks)
        return f;
    flow_close(f);
    return NULL;
}

static uint64_t export_stream_bytes_of(const struct dtype *d, uint64_t elements)
{
    uint64_t nbytes = 0;
    dtype_nbytes(d, elements, &nbytes);
    return nbytes;
}

/* Read and convert the elements [first, first + count) to *out. They are written to `room`; NULL:
 * out->at is valid until the next call, and `count` is at most one block. */
static enum status produce(struct worker *w, const struct flow *f, uint64_t first, uint64_t count,
                           uint8_t *room, struct bytes *out)
{
    const struct export_tensor *t = f->tensor;
    struct bytes read = {.len = (size_t)export_stream_bytes_of(&t->from, count)};
    uint64_t from = export_stream_bytes_of(&t->from, first);
    out->len = (size_t)export_stream_bytes_of(&t->to, count);
    out->at = room ? room : w->converted;
    if (!f->converts && room)
        reader_read(f->reader, from, room, out->len, &w->error);
    else if (reader_borrow(f->reader, NULL, from, w->read, &read, &w->error) == OK) {
        if (!f->converts)
            out->at = read.at;
        else if (converter_run(&f->converter, read.at, room ? room : w->converted, count, first,
                               &w->error) == OK &&
                 f->loses && w->pump->stream->options->loss)
            loss_count(&t->from, read.at, &t->to, out->at, count, &w->loss);
    }
    name_tensor(f, &w->error);
    return w->error.status;
}

/* Write bytes of a tensor to their place. */
static enum status write_out(struct worker *w, const struct export_tensor *t, uint64_t at,
                             struct bytes out)
{
    const struct stream *stream = w->pump->stream;
    const bool early = stream->options->sync;
    if (stream->output)
        return output_write(stream->output, t->offset + at, out.at, out.len, early, &w->error);
    return staging_write(stream->staging, stream->names[t->file], t->offset + at, out, early,
                         &w->error);
}

/* Have the system copy a block; what it refuses is read and written. */
static void copy_run(struct worker *w, struct flow *f, uint64_t block, size_t *len)
{
    const struct export_tensor *t = f->tensor;
    const struct stream *stream = w->pump->stream;
    const uint64_t first = block * f->step, from = f->from_offset + first, to = t->offset + first;
    const uint64_t count = f->count - first < f->step ? f->count - first : f->step;
    const bool early = stream->options->sync;
    uint64_t done = 0;
    if (stream->output)
        done = output_copy(stream->output, to, f->from, from, count, early);
    else
        done = staging_copy(stream->staging, stream->names[t->file], to,
                            (struct staged_part){f->from, from, count}, early, &w->error);
    while (done < count && w->error.status == OK) {
        struct bytes out = {w->read,
                            count - done < BLOCK_BYTES ? (size_t)(count - done) : BLOCK_BYTES};
        reader_borrow(f->reader, NULL, first + done, w->read, &out, &w->error);
        name_tensor(f, &w->error);
        if (w->error.status == OK)
            write_out(w, t, first + done, out);
        done += out.len;
    }
    *len = (size_t)count;
}

/* Do one block of a tensor that is written as a whole; *len is its size. Without a conversion
 * blocks are counted in bytes, as not every dtype can be cut after any element. */
static void block_run(struct worker *w, struct flow *f, uint64_t block, size_t *len)
{
    const struct export_tensor *t = f->tensor;
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
        return;
    if (f->sums)
        f->sums[block] = stream->sums == SUM_CRC32 ? crc32_extend(0, out.at, out.len)
                                                   : crc32c_extend(0, out.at, out.len);
    *len = out.len;
    if (is_written(stream))
        write_out(w, t, to, out);
}

/* Get the encoder for a tensor's pieces: mostly the previous piece's. */
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

/* Fill a part of a piece, from byte `at` on, with elements of the tensor. A converted tensor is read in whole
 * blocks of its dtype, as nothing else can be converted, and then cut. */
static enum status fill_run(struct worker *w, const struct flow *f, uint64_t first, uint64_t count,
                            size_t at)
{
    const struct export_tensor *t = f->tensor;
    const uint64_t unit = f->converts ? t->from.block_elems : 1;
    while (count && w->error.status == OK) {
        const uint64_t most = f->converts ? f->step - first % f->step : count;
        const uint64_t some = count < most ? count : most, within = first % unit;
        const uint64_t left = t->elements - (first - within);
        const uint64_t rounded = (within + some + unit - 1) / unit * unit;
        const uint64_t whole = rounded < left ? rounded : left;
        struct bytes out = {0};
        uint8_t *room = w->piece + at;
        if (produce(w, f, first - within, whole, whole == some ? room : NULL, &out) == OK &&
            whole != some)
            memcpy(room, out.at + export_stream_bytes_of(&t->to, within),
                   (size_t)export_stream_bytes_of(&t->to, some));
        at += (size_t)export_stream_bytes_of(&t->to, some);
        first += some;
        count -= some;
    }
    return w->error.status;
}

/* A piece of its full size, zeros where there are no elements; *len: bytes of those. */
static enum status fill_piece(struct worker *w, const struct flow *f, uint64_t number,
                              struct bytes *piece, size_t *len)
{
    const struct export_tensor *t = f->tensor;
    const uint64_t per_run = lay_pieces_per_run(t), within = number % per_run * t->piece;
    const uint64_t left = t->run - within, count = left < t->piece ? left : t->piece;
    *len = (size_t)export_stream_bytes_of(&t->to, count);
    *piece = (struct bytes){w->piece, (size_t)export_stream_bytes_of(&t->to, t->piece)};
    memset(w->piece + *len, 0, piece->len - *len);
    return fill_run(w, f, number / per_run * t->run + within, count, 0);
}

static enum status fill_chunk(struct worker *w, const struct flow *f, uint64_t number,
                              struct bytes *piece, size_t *len)
{
    const struct export_tensor *t = f->tensor;
    struct chunk_runs runs;
    *piece = (struct bytes){w->piece, (size_t)export_stream_bytes_of(&t->to, t->piece)};
    chunk_runs_begin(t, number, &runs);
    if (runs.clipped)
        memset(w->piece, 0, piece->len);
    *len = 0;
    do {
        *len += (size_t)export_stream_bytes_of(&t->to, runs.count);
        fill_run(w, f, runs.first, runs.count, (size_t)export_stream_bytes_of(&t->to, runs.at));
    } while (w->error.status == OK && chunk_runs_next(&runs));
    return w->error.status;
}

/* Write a chunk behind what is there. */
static enum status put_chunk(struct worker *w, const struct export_tensor *t, uint64_t number,
                             struct bytes stored)
{
    const struct stream *stream = w->pump->stream;
    pthread_mutex_lock(&w->pump->lock);
    const uint64_t at = *stream->end;
    *stream->end += stored.len;
    pthread_mutex_unlock(&w->pump->lock);
    t->places[number] = (struct export_place){at, stored.len};
    return output_write(stream->output, at, stored.at, stored.len, stream->options->sync,
                        &w->error);
}

static void piece_run(struct worker *w, struct flow *f, uint64_t number, size_t *len)
{
    const struct export_tensor *t = f->tensor;
    const struct stream *stream = w->pump->stream;
    struct bytes piece = {0}, stored = {0};
    if (find_encoder(w, t) != OK ||
        (t->chunk ? fill_chunk : fill_piece)(w, f, number, &piece, len) != OK ||
        encoder_run(w->encoder, piece, &stored, &w->error) != OK)
        return;
    if (t->chunk) {
        put_chunk(w, t, number, stored);
        return;
    }
    text_reset(&w->text);
    stream->exporter->piece_path(stream->options, t, number, &w->text);
    if (text_str(&w->text))
        staging_put(stream->staging, text_str(&w->text), stored, &w->error);
    else
        error_memory(&w->error);
}

/* Read, convert and write one block or piece. */
static void do_block(struct worker *w, struct flow *f, uint64_t block, size_t *len)
{
    const struct export_options *options = w->pump->stream->options;
    w->loss = (struct loss){0};
    if (options->stop && options->stop(options->context))
        error_set(&w->error, ERR_INTERRUPTED, NULL, NO_OFFSET, "interrupted");
    else if (f->pieces)
        piece_run(w, f, block, len);
    else if (f->from >= 0)
        copy_run(w, f, block, len);
    else
        block_run(w, f, block, len);
}

/* Combine the checksums of all blocks, which were done in any order. */
static uint32_t flow_sum(const struct flow *f, enum data_sum kind)
{
    uint32_t sum = f->sums[0];
    uint64_t step = f->converts ? export_stream_bytes_of(&f->tensor->to, f->step) : f->step;
    uint64_t last = f->tensor->nbytes - (f->blocks - 1) * step;
    for (uint64_t i = 1; i < f->blocks; i++)
        sum = kind == SUM_CRC32 ? (uint32_t)crc32_combine(
                                      sum, f->sums[i], (z_off_t)(i + 1 < f->blocks ? step : last))
                                : crc32c_combine(sum, f->sums[i], i + 1 < f->blocks ? step : last);
    return sum;
}

/* Called when all blocks are done: verify the source's checksums, and that a file whose bytes were not
 * seen is still the one that was indexed; and close the flow. */
static void flow_finish(struct flow *f, enum data_sum kind, struct error *err)
{
    if (f->sums)
        f->tensor->sum = flow_sum(f, kind);
    if (f->stored->sums)
        reader_verify(f->reader, err);
    else if (f->from >= 0 || (f->tensor->plain && f->blocks > 1))
        tensor_files_as_indexed(f->stored, err);
    name_tensor(f, err);
    flow_close(f);
}

/* These functions are called with the lock held. */

/* If several tensors fail, the first in order is reported, whatever the threads do: flows before it
 * go on until they are done, or fail, too. */
static void pump_fail(struct pump *p, uint64_t order, const struct error *err)
{
    if (p->error.status == OK || order < p->failed) {
        p->error = *err;
        p->failed = order;
    }
    pthread_cond_broadcast(&p->changed);
}

/* Open the next tensor and add it to the list. Releases the lock meanwhile. */
static void pump_open(struct worker *w)
{
    struct pump *p = w->pump;
    const uint64_t order = p->claimed++;
    p->opening++;
    pthread_mutex_unlock(&p->lock);
    struct flow *f = flow_new(p, order, &w->error);
    pthread_mutex_lock(&p->lock);
    p->opening--;
    if (w->error.status != OK) {
        pump_fail(p, order, &w->error);
    } else if (f) {
        /* Wait until there is memory for its reader. Such a flow has an owner, and the owner has no
         * other flow of its own while it opens this one, so the others finish. */
        while (f->memory && p->error.status == OK && p->memory &&
               (p->memory > READERS_BYTES_MAX || f->memory > READERS_BYTES_MAX - p->memory))
            pthread_cond_wait(&p->changed, &p->lock);
        p->memory += f->memory;
        f->owner = f->stored->sums || reader_sequential(f->reader) ? w : NULL;
        *p->last = f;
        p->last = &f->next;
    }
    pthread_cond_broadcast(&p->changed);
}

/* Take the next block; NULL if none is left, or there is no point in going on. */
static struct flow *pump_take(struct worker *w, uint64_t *block)
{
    struct pump *p = w->pump;
    while (w->error.status == OK) {
        for (struct flow *f = p->first; f; f = f->next) {
            if (f->taken < f->blocks && (!f->owner || f->owner == w) &&
                (p->error.status == OK || f->order < p->failed)) {
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

/* Add up what a tensor has lost. */
static void report_loss(const struct flow *f, struct export_loss *loss)
{
    const struct loss *l = &f->loss;
    if (!loss || !(l->out_of_range | l->to_zero | l->to_nan))
        return;
    add_loss(&loss->all, l);
    /* Which is done first is the threads' affair. */
    if (!loss->tensors++ || strcmp(f->tensor->old_name, loss->first) < 0)
        snprintf(loss->first, sizeof(loss->first), "%s", f->tensor->old_name);
}

/* Count a block as done. True: it was the last one; the flow is removed from the list. */
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

/* Do blocks until none is left. */
static void export_stream_work(struct worker *w)
{
    struct pump *p = w->pump;
    struct flow *f;
    uint64_t block;
    pthread_mutex_lock(&p->lock);
    while ((f = pump_take(w, &block))) {
        size_t len = 0;
        pthread_mutex_unlock(&p->lock);
        do_block(w, f, block, &len);
        pthread_mutex_lock(&p->lock);
        if (w->error.status != OK) {
            pump_fail(p, f->order, &w->error);
        } else if (pump_done(p, f, &w->loss, len)) {
            uint64_t memory = f->memory, order = f->order;
            pthread_mutex_unlock(&p->lock);
            flow_finish(f, p->stream->sums, &w->error);
            pthread_mutex_lock(&p->lock);
            p->memory -= memory;
            if (memory)
                pthread_cond_broadcast(&p->changed);
            if (w->error.status != OK)
                pump_fail(p, order, &w->error);
        }
    }
    pthread_mutex_unlock(&p->lock);
}

/* False: no memory; nothing was done. */
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

/* Number of threads besides this one. Even on a single core, reading and writing overlap; requests to other machines
 * mean waiting, so more threads help. */
static unsigned other_threads(const struct stream *stream)
{
    unsigned cores = threads_cores(), most = WORKERS_MAX, wanted = stream->options->threads;
    const uint64_t piece = stream->piece_bytes;
    const uint64_t fit = piece ? PIECES_BYTES_MAX / PIECE_COPIES / piece : THREADS_MAX;
    if (!wanted) {
        wanted = cores < 2 ? 2 : cores;
        wanted = wanted < most ? wanted : most;
        for (size_t i = 0; i < stream->plan->count && wanted <= most; i++)
            wanted = path_threads(stream->plan->tensor[i].checkpoint, wanted);
    }
    if (wanted > most)
        most = wanted < THREADS_MAX ? wanted : THREADS_MAX;
    if (fit < most)
        most = fit ? (unsigned)fit : 1;
    return (wanted > most ? most : wanted) - 1;
}

void stream_run(const struct stream *stream, struct error *err)
{
    struct pump p = {
        .stream = stream,
        .tensors = export_order(stream->plan, export_by_source, err),
        .error = {.offset = NO_OFFSET},
    };
    if (!p.tensors)
        return;
    const unsigned others = other_threads(stream);
    p.last = &p.first;
    pthread_mutex_init(&p.loading, NULL);
    pthread_mutex_init(&p.lock, NULL);
    pthread_cond_init(&p.changed, NULL);
    /* This thread works, too: without other threads the export only takes longer. */
    struct threads *threads = others ? threads_start(others, thread_main, &p) : NULL;
    bool worked = run_worker(&p);
    threads_join(threads);
    if (!worked)
        error_memory(&p.error);
    for (struct flow *f; (f = p.first);) {
        p.first = f->next;
        flow_close(f);
    }
    pthread_cond_destroy(&p.changed);
    pthread_mutex_destroy(&p.lock);
    pthread_mutex_destroy(&p.loading);
    if (p.error.status != OK)
        *err = p.error;
}
