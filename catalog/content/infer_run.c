#include "catalog/content/infer_run.h"

#include <stdlib.h>
#include <string.h>

#include "catalog/base/text.h"
#include "catalog/base/work.h"
#include "catalog/data/read/tensor_stream.h"

#define SAMPLES      16   /* runs of elements in a sample */
#define SAMPLE_RUN   16   /* elements of a run */
#define SAMPLE_WHOLE 4096 /* elements; up to here the sample is the whole tensor */
#define ROUND_MOST   1024 /* tensors described together */

struct inferring {
    struct inferred *out;
    struct lookup *lookup;
    struct file_cache *files;
    int64_t checkpoint[2];
};

const char *infer_how_name(const struct infer_pair *p)
{
    static const char *const names[] = {"", "content", "name", "guess"};
    return p->b == INFER_NONE ? "dropped" : p->a == INFER_NONE ? "missing" : names[p->how];
}

/* --- digests ----------------------------------------------------------------------------------- */

/* Hash a stream's bytes in the same way as content hashes are made. */
static void hash_stream(struct tensor_stream *s, struct digest *d, struct digest_fold *f,
                        struct digest_block *out, struct error *err)
{
    struct bytes block;
    uint64_t in_block = 0;
    struct digest_block one;
    while (tensor_stream_next(s, &block, err) == OK && block.len) {
        while (block.len) {
            const uint64_t left = DIGEST_BLOCK - in_block;
            const size_t len = block.len < left ? block.len : (size_t)left;
            digest_update(d, block.at, len);
            block = (struct bytes){block.at + len, block.len - len};
            in_block += len;
            if (in_block == DIGEST_BLOCK) {
                digest_end(d, &one);
                digest_fold_add(f, &one, 1);
                in_block = 0;
            }
        }
    }
    if (in_block) {
        digest_end(d, &one);
        digest_fold_add(f, &one, 1);
    }
    digest_fold_end(f, out);
}

static void hash_whole(const struct stored_tensor *t, struct file_cache *files,
                       const struct dtype *to, struct digest_block *out, struct error *err)
{
    struct tensor_stream *s = NULL;
    struct digest *d = digest_new();
    struct digest_fold *f = digest_fold_new();
    if (!d || !f)
        error_memory(err);
    else if (tensor_stream_open(t, files, NULL, to, &s, err) == OK)
        hash_stream(s, d, f, out, err);
    tensor_stream_close(s);
    digest_fold_free(f);
    digest_free(d);
}

/* Hash runs of elements that are spread evenly: at the same places in all tensors of one size. */
static void hash_sample(const struct stored_tensor *t, struct file_cache *files,
                        const struct dtype *to, struct digest_block *out, struct error *err)
{
    struct converter converter;
    struct reader *r = NULL;
    struct digest *d = NULL;
    const struct dtype *from = &t->dtype;
    uint8_t in[SAMPLE_RUN * 16], made[SAMPLE_RUN * 16];
    if (from->block_elems != 1 || from->block_bytes > 16 || (to && to->block_bytes > 16)) {
        error_set(err, ERR_UNSUPPORTED, NULL, NO_OFFSET, "elements are packed");
        return;
    }
    if ((to && converter_find(from, to, &converter, err) != OK) ||
        reader_open(t, files, &r, err) != OK)
        return;
    d = digest_new();
    if (!d)
        error_memory(err);
    for (uint64_t i = 0; d && i < SAMPLES && err->status == OK; i++) {
        const uint64_t first = (t->elements - SAMPLE_RUN) / (SAMPLES - 1) * i;
        const size_t width = to ? to->block_bytes : from->block_bytes;
        if (reader_read(r, first * from->block_bytes, in, SAMPLE_RUN * (size_t)from->block_bytes,
                        err) == OK &&
            (!to || converter_run(&converter, in, made, SAMPLE_RUN, first, err) == OK))
            digest_update(d, to ? made : in, SAMPLE_RUN * width);
    }
    if (d && err->status == OK)
        digest_end(d, out);
    digest_free(d);
    reader_close(r);
}

static void infer_run_load(struct inferring *i, const struct infer_probe *p, struct arena *arena,
                           struct stored_tensor *out, struct error *err)
{
    const int64_t id = (i->checkpoint[p->of_b] << TENSOR_ORD_BITS) + (int64_t)p->at;
    struct text recipe = {0};
    if (!p->ops) {
        if (lookup_tensor(i->lookup, id, arena, out, err) == OK)
            tensor_as_stored(out, arena, err);
        return;
    }
    text_addf(&recipe, "[[[%lld,%s]],null,null]", (long long)id, p->ops);
    if (text_str(&recipe))
        lookup_composed(i->lookup, text_str(&recipe), arena, out, err);
    else
        error_memory(err);
    text_release(&recipe);
}

/* A probe in progress: looked up on the caller's thread, to which the connection belongs, read on
 * any. */
struct probing {
    const struct infer_probe *probe;
    struct stored_tensor tensor;
    struct dtype to;
    struct error err; /* of looking it up */
};

struct round {
    struct inferring *inferring;
    struct probing *at;
    struct infer_digest *out;
};

/* A digest, or the reason why it is missing. */
struct reading {
    struct digest_block hash;
    struct error err;
};

static void read_probe(const struct probing *p, struct file_cache *files, struct reading *out)
{
    const struct dtype *to = p->probe->dtype ? &p->to : NULL;
    out->err = p->err;
    if (out->err.status != OK)
        return;
    if (p->probe->sample && p->tensor.elements > SAMPLE_WHOLE)
        hash_sample(&p->tensor, files, to, &out->hash, &out->err);
    else
        hash_whole(&p->tensor, files, to, &out->hash, &out->err);
}

/* An operation that a tensor does not allow means that there is no digest. A tensor that cannot
 * be read is an error. */
static enum status take_reading(const struct reading *r, struct infer_digest *out,
                                struct error *err)
{
    const enum status status = r->err.status;
    out->status = status;
    if (status == OK)
        digest_print(&r->hash, out->text);
    else if (status != ERR_UNSUPPORTED && status != ERR_ARGUMENT && status != ERR_VALUE &&
             status != ERR_LIMIT)
        *err = r->err;
    return err->status;
}

static void *make_reading(void *context, uint64_t number, uint64_t *bytes)
{
    const struct round *r = context;
    struct reading *made = calloc(1, sizeof(*made));
    *bytes = sizeof(*made);
    if (made)
        read_probe(&r->at[number], r->inferring->files, made);
    return made;
}

static bool round_stopped(void *context)
{
    const struct inferred *out = ((const struct round *)context)->inferring->out;
    return out->stop && out->stop(out->context);
}

static enum status take_made(void *context, uint64_t number, void *thing, struct error *err)
{
    const struct round *r = context;
    if (round_stopped(context))
        return error_set(err, ERR_INTERRUPTED, NULL, NO_OFFSET, "interrupted");
    return take_reading(thing, &r->out[number], err);
}

/* A single tensor is read by this thread: starting another would mostly take longer. */
static enum status run_round(struct round *r, size_t count, struct error *err)
{
    const struct work w = {.count = count,
                           .threads = r->inferring->out->threads,
                           .context = r,
                           .make = make_reading,
                           .take = take_made,
                           .drop = free,
                           .stop = round_stopped};
    struct reading one = {0};
    if (round_stopped(r))
        return error_set(err, ERR_INTERRUPTED, NULL, NO_OFFSET, "interrupted");
    if (count > 1)
        return work_run(&w, err);
    read_probe(r->at, r->inferring->files, &one);
    return take_reading(&one, r->out, err);
}

static enum status digest_tensors(void *context, const struct infer_probe *probe, size_t count,
                                  struct infer_digest *out, struct error *err)
{
    struct inferring *i = context;
    const size_t most = count < ROUND_MOST ? count : ROUND_MOST;
    struct probing *at = calloc(most + 1, sizeof(*at));
    if (!at)
        return error_memory(err);
    for (size_t from = 0; from < count && err->status == OK; from += most) {
        const size_t n = count - from < most ? count - from : most;
        struct arena arena = {0};
        for (size_t k = 0; k < n; k++) {
            const struct infer_probe *p = &probe[from + k];
            at[k] = (struct probing){.probe = p, .err = {.offset = NO_OFFSET}};
            if (p->dtype)
                dtype_find(p->dtype, &at[k].to);
            infer_run_load(i, p, &arena, &at[k].tensor, &at[k].err);
        }
        run_round(&(struct round){i, at, out + from}, n, err);
        arena_release(&arena);
    }
    free(at);
    return err->status;
}

/* --- lists of tensors ------------------------------------------------------------------------ */

/* A column's text in the arena; NULL where the column is. False: no memory. */
static bool keep_column(struct arena *arena, sqlite3_stmt *s, int column, const char **out)
{
    const bool null = sqlite3_column_type(s, column) == SQLITE_NULL;
    const char *text = db_text(s, column);
    *out = text ? arena_copy(arena, text, strlen(text)) : NULL;
    return null || *out;
}

static enum status infer_run_read_row(struct arena *arena, sqlite3_stmt *s, struct infer_tensor *t,
                                      struct error *err)
{
    const char *shape;
    if (!keep_column(arena, s, 0, &t->name) || !keep_column(arena, s, 1, &t->dtype) ||
        !keep_column(arena, s, 2, &t->shape) || !keep_column(arena, s, 3, &t->hash))
        return error_memory(err);
    /* No rule can have a name with a NUL. */
    if (!t->name || strlen(t->name) != (size_t)sqlite3_column_bytes(s, 0))
        return error_set(err, ERR_UNSUPPORTED, NULL, NO_OFFSET,
                         "a tensor's name has a NUL character, which no rule can have");
    t->elements = (uint64_t)sqlite3_column_int64(s, 4);
    t->rank = t->shape ? 0 : INFER_RANK_MAX + 1;
    shape = t->shape ? t->shape + 1 : "]";
    while (*shape && *shape != ']' && t->rank <= INFER_RANK_MAX) {
        char *end;
        const unsigned long long size = strtoull(shape, &end, 10);
        if (t->rank < INFER_RANK_MAX)
            t->size[t->rank] = size;
        t->rank++;
        shape = *end == ',' ? end + 1 : end;
    }
    return OK;
}

static void read_list(sqlite3 *db, int64_t checkpoint, struct arena *arena, struct infer_list *out,
                      struct error *err)
{
    static const char sql[] =
        "SELECT name, dtype, shape, hash, elements FROM tensor WHERE checkpoint_id = ?1"
        " ORDER BY ord";
    sqlite3_stmt *s = db_query_to(db, err, "cannot list the tensors", sql, "i", checkpoint);
    size_t space = 0;
    while (db_row(s, "cannot list the tensors", err)) {
        struct infer_tensor *grown = arena_grow(arena, out->at, out->count, &space, sizeof(*grown));
        struct infer_tensor row = {0};
        if (!grown)
            error_memory(err);
        else if (infer_run_read_row(arena, s, &row, err) == OK)
            (out->at = grown)[out->count++] = row;
    }
    sqlite3_finalize(s);
}

/* --- the whole inference ---------------------------------------------------------------------- */

static void infer_run_all(sqlite3 *db, struct inferring *i, struct error *err)
{
    struct inferred *r = i->out;
    struct infer_task *t = &r->task;
    struct infer_item *item;
    read_list(db, i->checkpoint[0], &r->arena, &t->a, err);
    read_list(db, i->checkpoint[1], &r->arena, &t->b, err);
    if (err->status != OK || lookup_open(db, &i->lookup, err) != OK)
        return;
    i->files = file_cache_new();
    if (!i->files) {
        error_memory(err);
        return;
    }
    if (!r->names_only)
        t->digest = digest_tensors;
    t->context = i;
    if (infer_pairs(t, err) != OK)
        return;
    item = infer_items(t);
    if (item)
        infer_rules(item, t->a.count, &r->set, err);
    else
        error_memory(err);
}

enum status infer_run(sqlite3 *db, int64_t a, int64_t b, struct inferred *r, struct error *err)
{
    struct inferring i = {.out = r, .checkpoint = {a, b}};
    r->task = (struct infer_task){.arena = &r->arena};
    r->set = (struct ruleset){.arena = &r->arena, .name = "inferred"};
    infer_run_all(db, &i, err);
    if (i.lookup)
        lookup_close(i.lookup);
    file_cache_free(i.files);
    return err->status;
}
