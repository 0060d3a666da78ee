#include "catalog/data/read/decode.h"

#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>

#include "catalog/base/pages.h"
#include "catalog/base/threads.h"
#include "catalog/data/codec/block.h"
#include "catalog/data/codec/codec.h"
#include "catalog/data/codec/strings.h"
#include "catalog/data/read/chunks.h"

/* Compressed data may exceed its chunk by an eighth and this many bytes. */
#define STORED_MORE  ((uint64_t)64 << 10)
#define SHRINK_MOST  16                    /* see shrinkage() */
#define THREAD_LEAST ((uint64_t)256 << 10) /* fewer bytes are not worth another thread */
#define PIECE_BYTES  ((uint64_t)16 << 20)  /* the buffer of gather_to_file() */
#define RUN_CHUNKS   16                    /* the most chunks given out together */
#define RUNS_LEAST   8                     /* the fewest such runs for each thread */

/* What a thread reuses from chunk to chunk. */
struct worker {
    struct block_decoder *decoder;
    uint8_t *stored, *scratch; /* NULL until first used */
    uint64_t room;             /* size of `stored` */
};

struct decode {
    const struct stored_tensor *tensor;
    const struct grid_level *level; /* of the chunks */
    struct chunks *chunks;
    size_t unit;
    char *chain;      /* from stored bytes to elements; NULL: they are stored as they are */
    bool decodes;     /* some chunk has codec steps */
    int64_t *strides; /* between elements of a chunk, in units */
    int64_t *still;   /* all zero: to repeat one element */
    uint8_t *fill;
    bool fill_is_zero;
    uint64_t bytes;       /* in a decoded chunk */
    uint64_t stored_most; /* the most that a stored chunk can have */
    uint64_t memory;      /* to decode a chunk in one go, without the result */
    uint64_t budget;
    struct worker worker[THREADS_MAX]; /* indexed by desk (threads.h) */
    unsigned workers;
    struct team *team; /* NULL until first used */
};

/* --- opening ---------------------------------------------------------------------------- */

static enum status check_chain(struct decode *d, const char *chain, struct error *err)
{
    if (block_decodable(chain) && !codec_chain_has(chain, "strings"))
        return OK;
    return error_set(err, ERR_UNSUPPORTED, d->tensor->checkpoint, NO_OFFSET,
                     "no decoder for \"%s\"", chain);
}

/* The part of the tensor's codec chain that applies to the bytes of a chunk. */
static enum status cut_chain(struct decode *d, struct error *err)
{
    size_t len = codec_of_bytes(d->tensor->codec);
    if (!len)
        return OK;
    d->decodes = true;
    d->chain = strndup(d->tensor->codec, len);
    return d->chain ? check_chain(d, d->chain, err) : error_memory_at(err, d->tensor->checkpoint);
}

/* Computes the steps between a chunk's elements, and how many elements it has. */
static bool decode_lay_out(struct decode *d, uint64_t *elements)
{
    unsigned rank = d->tensor->rank;
    *elements = 1;
    for (unsigned i = rank; i-- > 0;) {
        unsigned axis = d->level->order ? d->level->order[i] : i;
        uint64_t size = d->level->shape[axis];
        d->strides[axis] = (int64_t)*elements;
        if (size > INT64_MAX || d->tensor->shape[axis] > INT64_MAX ||
            !mul_u64(*elements, size, elements) || *elements > INT64_MAX)
            return false;
    }
    return true;
}

/* By what factor a chain's input may be larger than its output, up to SHRINK_MOST. Compressors do
 * not count, save those that pad: they decode to a stated size. */
static uint64_t shrinkage(const char *chain)
{
    const uint64_t some = UINT64_C(1) << 20;
    char name[CODEC_STEP_BYTES];
    const char *argument;
    uint64_t times = 1;
    while (codec_chain_next(&chain, name, &argument)) {
        const struct codec *codec = codec_find(name);
        struct codec_args args;
        struct codec_size of_some, of_more;
        if (codec->padded && times < SHRINK_MOST)
            times *= codec->padded;
        if (codec->trim || !codec_args_parse(codec, argument, &args) ||
            !codec_step_size(codec, &args, some, &of_some) ||
            !codec_step_size(codec, &args, 2 * some, &of_more) || of_some.most >= some ||
            of_some.most == of_more.most || !of_some.most)
            continue;
        if (!mul_u64(times, (some - 1) / of_some.most + 1, &times) || times > SHRINK_MOST)
            return SHRINK_MOST;
    }
    return times < SHRINK_MOST ? times : SHRINK_MOST;
}

/* Raise the limits to what chunks of this chain need. */
static void measure_chain(struct decode *d, const char *chain)
{
    uint64_t most = (d->bytes + d->bytes / 8 + STORED_MORE) * shrinkage(chain), memory;
    if (!add_u64(block_memory(chain, most, d->bytes), most, &memory))
        memory = UINT64_MAX;
    d->stored_most = most > d->stored_most ? most : d->stored_most;
    d->memory = memory > d->memory ? memory : d->memory;
}

static enum status decode_measure(struct decode *d, struct error *err)
{
    uint64_t elements;
    if (!decode_lay_out(d, &elements) || !mul_u64(elements, d->unit, &d->bytes) ||
        d->bytes > INT64_MAX / 4 / SHRINK_MOST)
        return error_set(err, ERR_LIMIT, d->tensor->checkpoint, NO_OFFSET,
                         "a chunk of the tensor is too large");
    measure_chain(d, d->chain);
    return OK;
}

/* Also for chunks with a chain of their own. Neighbours mostly share one, so compare the
 * pointers. */
static enum status measure_others(struct decode *d, struct error *err)
{
    const struct grid *g = d->tensor->grid;
    const char *last = NULL;
    for (uint64_t i = 0; !g->in_files && i < g->value_count && err->status == OK; i++) {
        const char *chain = g->values[i].codec;
        if (!chain || chain == last)
            continue;
        last = chain;
        d->decodes = d->decodes || *chain;
        if (check_chain(d, chain, err) == OK)
            measure_chain(d, chain);
    }
    return err->status;
}

static enum status take_fill(struct decode *d, struct error *err)
{
    struct bytes fill = d->tensor->grid->fill;
    d->fill = calloc(1, d->unit);
    if (!d->fill)
        return error_memory_at(err, d->tensor->checkpoint);
    bool text = d->tensor->dtype.kind == DTYPE_STRING;
    if (text ? !strings_put(d->tensor->codec, fill, d->fill) : fill.len && fill.len != d->unit)
        return error_set(err, ERR_CORRUPT, d->tensor->checkpoint, NO_OFFSET,
                         "the element for absent chunks is %zu bytes, not %zu", fill.len, d->unit);
    if (fill.len && !text)
        memcpy(d->fill, fill.at, fill.len);
    d->fill_is_zero = true;
    for (size_t i = 0; i < d->unit; i++)
        d->fill_is_zero = d->fill_is_zero && !d->fill[i];
    return OK;
}

enum status decode_open(const struct stored_tensor *t, struct file_cache *files, size_t unit,
                        const struct grid_limits *limits, struct decode **out, struct error *err)
{
    struct decode *d = *out = calloc(1, sizeof(*d));
    if (!d)
        return error_memory_at(err, t->checkpoint);
    d->tensor = t;
    d->unit = unit;
    d->level = &t->grid->level[t->grid->levels - 1];
    d->budget = limits->budget;
    d->workers =
        limits->threads && limits->threads < THREADS_MAX ? limits->threads : threads_cores();
    d->strides = calloc(t->rank + 1, sizeof(*d->strides));
    d->still = calloc(t->rank + 1, sizeof(*d->still));
    if (!d->strides || !d->still)
        error_memory_at(err, d->tensor->checkpoint);
    else if (cut_chain(d, err) == OK && decode_measure(d, err) == OK &&
             measure_others(d, err) == OK && take_fill(d, err) == OK)
        chunks_open(t, files, &d->chunks, err);
    return err->status;
}

void decode_close(struct decode *d)
{
    if (!d)
        return;
    team_free(d->team);
    for (unsigned i = 0; i < d->workers; i++) {
        block_decoder_free(d->worker[i].decoder);
        free(d->worker[i].stored);
        free(d->worker[i].scratch);
    }
    chunks_close(d->chunks);
    free(d->chain);
    free(d->strides);
    free(d->still);
    free(d->fill);
    free(d);
}

const uint64_t *decode_chunk(const struct decode *d)
{
    return d->level->shape;
}

const uint8_t *decode_fill(const struct decode *d)
{
    return d->fill;
}

unsigned decode_threads(const struct decode *d)
{
    return d->workers;
}

uint64_t decode_memory(const struct decode *d, uint64_t bytes)
{
    uint64_t each = 0, all = 0, threads = bytes / THREAD_LEAST + 1;
    threads = threads < d->workers ? threads : d->workers;
    if (!d->decodes)
        return 0;
    return add_u64(d->memory, d->bytes, &each) && mul_u64(each, threads, &all) ? all : UINT64_MAX;
}

bool decode_nothing(const struct decode *d, const struct ckptdb_slice *slices,
                    const struct box *box)
{
    uint64_t low[TENSOR_RANK_MAX], high[TENSOR_RANK_MAX];
    struct band_cells cells;
    band_cells(slices, box, d->level->shape, &cells);
    band_corners(&cells, low, high);
    return !chunks_between(d->chunks, low, high);
}

bool decode_from(const struct decode *d, uint64_t position, uint64_t *out)
{
    const struct stored_tensor *t = d->tensor;
    uint64_t at[TENSOR_RANK_MAX], corner[TENSOR_RANK_MAX], rest = position, first = 0;
    for (unsigned k = t->rank; k-- > 0; rest /= t->shape[k])
        at[k] = rest % t->shape[k];
    if (!chunks_from(d->chunks, at, corner))
        return false;
    for (unsigned k = 0; k < t->rank; k++)
        first = first * t->shape[k] + corner[k];
    *out = first > position ? first : position;
    return true;
}

/* --- one chunk -------------------------------------------------------------------------- */

/* To decode all chunks of a box. */
struct decode_job {
    struct team_job team;
    struct decode *decode;
    const struct ckptdb_slice *slices;
    const struct box *box;
    struct band_cells cells;
    uint8_t *dst; /* NULL: into `fd` */
    int fd;
    bool at_once;         /* decode whole chunks in memory, not as streams */
    pthread_mutex_t lock; /* guards the two below */
    uint64_t failed;      /* lowest number of a chunk that failed; UINT64_MAX: none */
    struct error error;
    atomic_bool stop;
};

/* Describe what to copy from the chunk at a place of the grid to the result. */
static void decode_place(const struct decode_job *j, const uint64_t *at, const int64_t *strides,
                         struct gather *out)
{
    const struct decode *d = j->decode;
    uint64_t origin[TENSOR_RANK_MAX];
    struct part part = {origin, d->level->shape, strides};
    for (unsigned i = 0; i < d->tensor->rank; i++)
        origin[i] = at[i] * d->level->shape[i];
    out->unit = d->unit;
    box_gather(j->box, j->slices, &part, out);
}

static const char *decode_chain_of(const struct decode *d, const struct chunk *c)
{
    return c->codec ? c->codec : d->chain;
}

/* Open a chunk's elements as a stream. */
static void open_stream(const struct decode *d, const struct chunk *c, struct source **out,
                        struct error *err)
{
    const struct source *stored = c->source;
    struct source *s = NULL;
    uint64_t begin;
    if (source_open_view(stored, 0, stored->size, &s, err) != OK ||
        codec_chain_open(s, decode_chain_of(d, c), &s, NULL, err) != OK)
        return;
    if (s->size == d->bytes) {
        *out = s;
        return;
    }
    source_descriptor(stored, &begin);
    error_set(err, ERR_CORRUPT, stored->name, begin,
              "%llu stored bytes make %llu bytes, not the %llu of a chunk",
              (unsigned long long)stored->size, (unsigned long long)s->size,
              (unsigned long long)d->bytes);
    source_close(s);
}

static enum status read_stored(const struct decode *d, struct worker *w, const struct source *s,
                               struct error *err)
{
    if (s->size > w->room) { /* a quarter more, as later chunks may be a little larger */
        uint64_t room = s->size + s->size / 4;
        room = room < d->stored_most ? room : d->stored_most;
        free(w->stored);
        w->room = 0;
        w->stored = pages_alloc((size_t)room);
        if (!w->stored)
            return error_memory_at(err, d->tensor->checkpoint);
        w->room = room;
    }
    return source_read(s, 0, w->stored, (size_t)s->size, err);
}

static enum status decode_at_once(const struct decode *d, struct worker *w, const struct chunk *c,
                                  uint8_t *out, struct error *err)
{
    const struct source *s = c->source;
    struct block block = {.chain = decode_chain_of(d, c), .name = s->name};
    source_descriptor(s, &block.offset);
    if (s->size > d->stored_most)
        return error_set(err, ERR_CORRUPT, s->name, block.offset,
                         "%llu stored bytes are too many for a chunk of %llu",
                         (unsigned long long)s->size, (unsigned long long)d->bytes);
    if (!w->decoder && !(w->decoder = block_decoder_new()))
        return error_memory_at(err, d->tensor->checkpoint);
    if (read_stored(d, w, s, err) == OK) {
        block.stored = (struct bytes){w->stored, (size_t)s->size};
        block_decode(w->decoder, &block, out, d->bytes, err);
    }
    return err->status;
}

/* Whether the chunk's elements form one run in memory, in their own order. */
static bool in_place(const struct decode_job *j, const struct gather *g)
{
    const struct decode *d = j->decode;
    uint64_t units = 1;
    for (unsigned i = 0; i < g->rank; i++)
        units *= g->dim[i].count;
    return j->dst && units == d->bytes / d->unit && gather_is_run(g);
}

/* Decode straight to the result where the chunk is one run in it, otherwise by way of scratch
 * memory. */
static void do_at_once(const struct decode_job *j, struct worker *w, struct gather *g,
                       const struct chunk *c, struct error *err)
{
    const struct decode *d = j->decode;
    struct source *s = NULL;
    if (in_place(j, g)) {
        decode_at_once(d, w, c, j->dst + g->to * d->unit, err);
        return;
    }
    if (!w->scratch)
        w->scratch = pages_alloc((size_t)d->bytes);
    if (!w->scratch) {
        error_memory_at(err, d->tensor->checkpoint);
        return;
    }
    if (decode_at_once(d, w, c, w->scratch, err) != OK)
        return;
    if (j->dst) {
        gather_copy(g, w->scratch, j->dst);
    } else if (source_open_memory(c->source->name, (struct bytes){w->scratch, (size_t)d->bytes},
                                  false, &s, err) == OK) {
        gather_to_file(g, s, j->fd, s->name, err);
        source_close(s);
    }
}

static void do_as_stream(const struct decode_job *j, struct gather *g, const struct chunk *c,
                         struct error *err)
{
    struct source *s = NULL;
    open_stream(j->decode, c, &s, err);
    if (s && j->dst)
        gather_run(g, s, j->dst, err);
    else if (s)
        gather_to_file(g, s, j->fd, c->source->name, err);
    source_close(s);
}

static void do_fill(const struct decode_job *j, const uint64_t *at, struct error *err)
{
    const struct decode *d = j->decode;
    struct source *s = NULL;
    struct gather g;
    decode_place(j, at, d->still, &g);
    if (j->dst) {
        gather_copy(&g, d->fill, j->dst);
    } else if (!d->fill_is_zero &&
               source_open_memory(d->tensor->checkpoint, (struct bytes){d->fill, d->unit}, false,
                                  &s, err) == OK) {
        gather_to_file(&g, s, j->fd, s->name, err);
        source_close(s);
    }
}

static void do_chunk(const struct decode_job *j, struct worker *w, uint64_t number,
                     struct error *err)
{
    const struct decode *d = j->decode;
    uint64_t at[TENSOR_RANK_MAX];
    struct chunk chunk;
    struct gather g;
    band_cell(&j->cells, number, at);
    if (chunk_take(d->chunks, at, &chunk, err) == OK) {
        decode_place(j, at, d->strides, &g);
        if (!chunk.source)
            do_fill(j, at, err);
        else if (j->at_once)
            do_at_once(j, w, &g, &chunk, err);
        else
            do_as_stream(j, &g, &chunk, err);
        chunk_give(d->chunks, &chunk);
    }
    if (err->status != OK)
        chunk_error(d->chunks, at, err);
}

/* --- all chunks ------------------------------------------------------------------------- */

static void decode_fail(struct decode_job *j, uint64_t number, const struct error *err)
{
    pthread_mutex_lock(&j->lock);
    if (number < j->failed) {
        j->failed = number;
        j->error = *err;
    }
    pthread_mutex_unlock(&j->lock);
    j->stop = true; /* all chunks with lower numbers have begun already */
}

static bool run_chunks(void *context, unsigned desk, uint64_t from, uint64_t to)
{
    struct decode_job *j = context;
    struct error err = {.offset = NO_OFFSET};
    for (uint64_t i = from; i < to && err.status == OK; i++) {
        do_chunk(j, &j->decode->worker[desk], i, &err);
        if (err.status != OK)
            decode_fail(j, i, &err);
    }
    return !j->stop;
}

/* How many threads to use in the memory that `taken` bytes leave, at `each` bytes a thread. Sets
 * at_once if chunks can be decoded in one go. */
static unsigned plan(struct decode_job *j, uint64_t taken, uint64_t each)
{
    const struct decode *d = j->decode;
    uint64_t left = d->budget > taken ? d->budget - taken : 0, threads = d->workers, cost;
    j->at_once = d->decodes && add_u64(d->memory, each, &cost) && cost <= left;
    if (j->at_once && cost && threads > left / cost)
        threads = left / cost;
    if (!j->at_once && d->decodes)
        threads = 1; /* the memory that a stream needs is not known */
    uint64_t useful = j->box->units / (THREAD_LEAST / d->unit + 1) + 1;
    threads = threads < useful ? threads : useful;
    return (unsigned)(threads < j->cells.count ? threads : j->cells.count);
}

/* Set up a job; nothing works on it yet. */
static void decode_prepare(struct decode_job *j, uint64_t taken, uint64_t each)
{
    const struct decode *d = j->decode;
    uint64_t at[TENSOR_RANK_MAX];
    struct gather g;
    band_cells(j->slices, j->box, d->level->shape, &j->cells);
    if (j->cells.count == 1) {
        band_cell(&j->cells, 0, at);
        decode_place(j, at, d->strides, &g);
        each = in_place(j, &g) ? 0 : each; /* needs no scratch memory */
    }
    j->failed = UINT64_MAX;
    pthread_mutex_init(&j->lock, NULL);
    j->team = (struct team_job){
        .count = j->cells.count, .most = plan(j, taken, each), .run = run_chunks, .context = j};
    uint64_t share = j->cells.count / RUNS_LEAST / (j->team.most + 1);
    j->team.at_once = share < RUN_CHUNKS ? share : RUN_CHUNKS;
}

/* The team that all jobs share, with at least `threads` threads. */
static struct team *team_of(struct decode *d, unsigned threads)
{
    if (!d->team)
        d->team = team_new();
    if (d->team)
        team_grow(d->team, threads);
    return d->team;
}

/* Call this when every chunk that was begun is done. */
static enum status outcome(struct decode_job *j, struct error *err)
{
    pthread_mutex_destroy(&j->lock);
    if (j->failed != UINT64_MAX)
        *err = j->error;
    return err->status;
}

static enum status decode_run(struct decode_job *j, uint64_t taken, uint64_t each,
                              struct error *err)
{
    decode_prepare(j, taken, each);
    struct team *team = j->team.most > 1 ? team_of(j->decode, j->team.most - 1) : NULL;
    if (team) {
        team_add(team, &j->team);
        team_finish(team, &j->team);
    } else {
        run_chunks(j, 0, 0, j->cells.count);
    }
    return outcome(j, err);
}

enum status decode_to_memory(struct decode *d, const struct ckptdb_slice *slices,
                             const struct box *box, uint64_t taken, uint8_t *dst, struct error *err)
{
    struct decode_job j = {.decode = d, .slices = slices, .box = box, .dst = dst};
    return decode_run(&j, taken, d->bytes, err);
}

enum status decode_to_file(struct decode *d, const struct ckptdb_slice *slices,
                           const struct box *box, int fd, struct error *err)
{
    struct decode_job j = {.decode = d, .slices = slices, .box = box, .fd = fd};
    return decode_run(&j, 0, d->bytes + PIECE_BYTES, err);
}

struct decode_job *decode_begin(struct decode *d, const struct ckptdb_slice *slices,
                                const struct box *box, uint64_t taken, uint8_t *dst)
{
    struct decode_job *j = calloc(1, sizeof(*j));
    if (!j)
        return NULL;
    *j = (struct decode_job){.decode = d, .slices = slices, .box = box, .dst = dst};
    decode_prepare(j, taken, d->bytes);
    /* Use a thread even for one chunk: the caller has other work meanwhile. */
    struct team *team = team_of(d, j->team.most > 2 ? j->team.most - 1 : 1);
    if (!team) {
        free(j);
        return NULL;
    }
    team_add(team, &j->team);
    return j;
}

enum status decode_finish(struct decode_job *j, struct error *err)
{
    team_finish(j->decode->team, &j->team);
    outcome(j, err);
    free(j);
    return err->status;
}

void decode_drop(struct decode_job *j)
{
    struct error err = {.offset = NO_OFFSET}; /* discarded */
    team_drop(j->decode->team, &j->team);
    outcome(j, &err);
    free(j);
}

/* --- as a stream ------------------------------------------------------------------------ */

/* A stream over one chunk, with the chunk that it keeps open. */
struct chunk_source {
    struct source base; /* must be first */
    struct decode *decode;
    struct chunk chunk;
    struct source *stream;
    uint64_t begin;
    uint64_t at[];
};

static enum status chunk_read(const struct source *base, uint64_t offset, void *dst, size_t len,
                              struct error *err)
{
    const struct chunk_source *c = (const struct chunk_source *)base;
    if (source_read(c->stream, c->begin + offset, dst, len, err) != OK)
        chunk_error(c->decode->chunks, c->at, err);
    return err->status;
}

static void chunk_close(struct source *base)
{
    struct chunk_source *c = (struct chunk_source *)base;
    source_close(c->stream);
    chunk_give(c->decode->chunks, &c->chunk);
    free(c);
}

static const struct source_ops chunk_ops = {.read_at = chunk_read, .close = chunk_close};

static void open_chunk(struct chunk_source *c, struct error *err)
{
    struct decode *d = c->decode;
    if (chunk_take(d->chunks, c->at, &c->chunk, err) == OK && c->chunk.source)
        open_stream(d, &c->chunk, &c->stream, err);
    if (err->status != OK)
        chunk_error(d->chunks, c->at, err);
}

enum status decode_to_stream(struct decode *d, const struct ckptdb_slice *slices,
                             const struct box *box, struct source **out, struct error *err)
{
    struct decode_job j = {.decode = d, .slices = slices, .box = box};
    struct gather g;
    *out = NULL;
    band_cells(slices, box, d->level->shape, &j.cells);
    if (j.cells.count != 1)
        return OK;
    struct chunk_source *c = calloc(1, sizeof(*c) + d->tensor->rank * sizeof(c->at[0]));
    if (!c)
        return error_memory_at(err, d->tensor->checkpoint);
    c->decode = d;
    band_cell(&j.cells, 0, c->at);
    decode_place(&j, c->at, d->strides, &g);
    if (gather_is_run(&g))
        open_chunk(c, err);
    if (c->stream) {
        c->begin = g.from * d->unit;
        c->base = (struct source){&chunk_ops, box->units * d->unit, c->stream->name,
                                  c->stream->sequential, NULL};
        *out = &c->base;
        return OK;
    }
    chunk_close(&c->base);
    return err->status;
}
