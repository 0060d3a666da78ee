#include "importer/job/job_run.h"

#include <limits.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "catalog/base/text.h"
#include "catalog/codec/codec.h"
#include "catalog/store/store.h"
#include "importer/job/job_private.h"
#include "importer/job/step.h"
#include "importer/job/stray.h"

static struct job_private *inside(struct job *job)
{
    return job->private;
}

static enum status no_memory(struct job *job)
{
    return error_set(job->err, ERR_MEMORY, job->path, NO_OFFSET,
                     "no memory left to index this checkpoint");
}

/* --- issues ----------------------------------------------------------------------------- */

/* What an error says of the checkpoint: by the first letters of its code. Others (two tensors of
 * one name, a codec that is not known) say nothing of whether all of it is there. */
static enum batch_state state_after(const char *code)
{
    static const char *const missing[] = {"missing",  "not-in-shard",    "unmerged",
                                          "name-nul", "git-lfs-pointer", "limit"};
    static const char *const damaged[] = {
        "corrupt",        "truncated",     "checksum",       "io",
        "bad-",           "size-mismatch", "trailing-bytes", "overlap",
        "shape-overflow", "changed",       "duplicate-m"};
    for (size_t i = 0; i < sizeof(missing) / sizeof(*missing); i++)
        if (strncmp(code, missing[i], strlen(missing[i])) == 0)
            return STATE_INCOMPLETE;
    for (size_t i = 0; i < sizeof(damaged) / sizeof(*damaged); i++)
        if (strncmp(code, damaged[i], strlen(damaged[i])) == 0)
            return STATE_DAMAGED;
    return STATE_COMPLETE;
}

static void add_issue(struct job *job, enum issue_severity severity, const char *path,
                      uint64_t offset, const char *code, const char *message)
{
    struct job_private *p = inside(job);
    struct batch *b = job->batch;
    if (severity == ISSUE_ERROR && state_after(code) > b->state)
        b->state = state_after(code);
    if (b->issue_count >= LIMIT_ISSUES && !p->last_words) {
        p->issues_dropped++;
        return;
    }
    void *list = arena_grow(job->arena, b->issues, b->issue_count, &p->issue_space,
                            sizeof(*b->issues));
    b->issues = list;
    const char *where = path ? path : job->path;
    struct batch_issue issue = {
        .path = arena_copy(job->arena, where, strlen(where)),
        .offset = offset,
        .warning = severity == ISSUE_WARNING,
        .code = arena_copy(job->arena, code, strlen(code)),
        .message = arena_copy(job->arena, message, strlen(message)),
    };
    if (!list || !issue.path || !issue.code || !issue.message) {
        no_memory(job); /* an issue that is lost is none */
        return;
    }
    b->issues = list;
    b->issues[b->issue_count++] = issue;
}

void job_issue(struct job *job, enum issue_severity severity, const char *path,
               uint64_t offset, const char *code, const char *fmt, ...)
{
    char raw[sizeof(((struct error *)0)->message)];
    va_list args;
    va_start(args, fmt);
    vsnprintf(raw, sizeof(raw), fmt, args);
    va_end(args);
    struct error safe = {.offset = NO_OFFSET};
    error_set(&safe, ERR_CORRUPT, NULL, NO_OFFSET, "%s",
              raw); /* escapes control characters */
    add_issue(job, severity, path, offset, code, safe.message);
}

void job_issue_error(struct job *job, enum issue_severity severity,
                     const struct error *err)
{
    add_issue(job, severity, path_is_whole(err->source) ? err->source : NULL, err->offset,
              error_word(err), err->message);
}

/* --- files ------------------------------------------------------------------------------ */

static enum status add_file(struct job *job, const char *path, const char *role,
                            const struct file_identity *identity, uint32_t *file)
{
    struct job_private *p = inside(job);
    struct batch *b = job->batch;
    void *list = arena_grow(job->arena, b->files, b->file_count, &p->file_space,
                            sizeof(*b->files));
    const char *kept = arena_copy(job->arena, path, strlen(path));
    if (!list || !kept)
        return no_memory(job);
    b->files = list;
    *file = (uint32_t)b->file_count++;
    b->files[*file] = (struct batch_file){
        .path = kept,
        .role = role,
        .present = identity != NULL,
        .identity = identity ? *identity : (struct file_identity){0},
    };
    return OK;
}

void job_base(struct job *job, uint32_t file, uint64_t base)
{
    job->batch->files[file].base = base;
}

void job_role(struct job *job, uint32_t file, const char *role)
{
    job->batch->files[file].role = role;
}

/* Is `name` a relative path that stays below its directory? */
static bool name_is_safe(const char *name)
{
    if (!*name || *name == '/' || strchr(name, '\\'))
        return false;
    for (const char *at = name;;) {
        size_t len = strcspn(at, "/");
        if (len == 0 || (len == 1 && at[0] == '.') ||
            (len == 2 && at[0] == '.' && at[1] == '.'))
            return false;
        if (!at[len])
            return true;
        at += len + 1;
    }
}

static enum status keep_source(struct job *job, struct source *source)
{
    struct open_source *o = arena_alloc(job->arena, sizeof(*o));
    if (!o) {
        source_close(source);
        return no_memory(job);
    }
    *o = (struct open_source){source, inside(job)->opened};
    inside(job)->opened = o;
    return OK;
}

/* Open and record a part of the checkpoint; NULL where it is not there. */
static struct source *open_part(struct job *job, const char *path, const char *role,
                                uint32_t *file, struct error *err)
{
    struct file_identity identity;
    struct source *s = NULL;
    if (source_open_file(path, SOURCE_HEADERS, &s, &identity, err) == OK &&
        (stray_is_pointer(s, err) || err->status != OK)) {
        source_close(s);
        s = NULL;
    }
    if (add_file(job, path, role, s ? &identity : NULL, file) == OK)
        return s;
    source_close(s);
    error_set(err, ERR_MEMORY, path, NO_OFFSET, "no memory");
    return NULL;
}

enum status job_open_path(struct job *job, const char *path, const char *role,
                          struct source **source, uint32_t *file, struct error *err)
{
    struct source *opened = open_part(job, path, role, file, err);
    if (!opened)
        return err->status;
    if (keep_source(job, opened) != OK)
        return error_set(err, ERR_MEMORY, path, NO_OFFSET, "no memory");
    *source = opened;
    return OK;
}

enum status job_file(struct job *job, const char *path, const char *role, uint32_t *file,
                     struct error *err)
{
    source_close(open_part(job, path, role, file, err));
    return err->status;
}

enum status job_seen(struct job *job, const char *path, const char *role,
                     const struct file_identity *identity, uint32_t *file)
{
    return add_file(job, path, role, identity, file);
}

enum status job_open(struct job *job, const char *name, const char *role,
                     struct source **source, uint32_t *file, struct error *err)
{
    if (!name_is_safe(name))
        return error_set(err, ERR_CORRUPT, job->path, NO_OFFSET,
                         "names a file \"%.200s\" that is not beside it", name);
    const char *slash = strrchr(job->path, '/');
    size_t dir = job->source && slash ? (size_t)(slash - job->path) : strlen(job->path);
    struct text path = {.limit = PATH_MAX};
    text_add(&path, job->path, dir);
    text_addc(&path, '/');
    text_adds(&path, name);
    enum status status =
        text_str(&path) ? job_open_path(job, text_str(&path), role, source, file, err)
                        : error_set(err, ERR_CORRUPT, job->path, NO_OFFSET,
                                    "names a file with a name too long to exist");
    text_release(&path);
    return status;
}

const char *const *job_siblings(struct job *job, uint64_t *count)
{
    *count = inside(job)->request->sibling_count;
    return inside(job)->request->siblings;
}

/* --- facts and nodes -------------------------------------------------------------------- */

static enum status add_meta(struct job *job, const char *key, struct batch_meta fact)
{
    struct job_private *p = inside(job);
    struct batch *b = job->batch;
    void *list = arena_grow(job->arena, b->metas, b->meta_count, &p->meta_space,
                            sizeof(*b->metas));
    fact.key = arena_copy(job->arena, key, strlen(key));
    if (!list || !fact.key)
        return no_memory(job);
    b->metas = list;
    b->metas[b->meta_count++] = fact;
    return OK;
}

enum status job_meta_text(struct job *job, const char *key, const char *text, size_t len)
{
    struct text *escaped = &inside(job)->scratch;
    text = text ? text : "";
    if (!utf8_valid(text, len) || (len && memchr(text, '\0', len))) {
        text_reset(escaped);
        text_escape(escaped, text, len);
        text = text_str(escaped);
        len = escaped->len;
    }
    const char *kept = text ? arena_copy(job->arena, text, len) : NULL;
    if (!kept || len > UINT32_MAX)
        return no_memory(job);
    return add_meta(
        job, key,
        (struct batch_meta){.type = FACT_TEXT, .text = kept, .text_len = (uint32_t)len});
}

enum status job_meta_integer(struct job *job, const char *key, int64_t value)
{
    return add_meta(job, key,
                    (struct batch_meta){.type = FACT_INTEGER, .integer = value});
}

enum status job_meta_real(struct job *job, const char *key, double value)
{
    return add_meta(job, key, (struct batch_meta){.type = FACT_REAL, .real = value});
}

enum status job_meta_null(struct job *job, const char *key)
{
    return add_meta(job, key, (struct batch_meta){.type = FACT_NULL});
}

/* A name as it is catalogued: UTF-8 without NUL. False: it cannot be (an issue was made). */
static bool clean_name(struct job *job, const char **name, size_t *len)
{
    if (memchr(*name, '\0', *len)) {
        job_issue(job, ISSUE_ERROR, NULL, NO_OFFSET, "name-nul",
                  "a tensor name holds a NUL byte after \"%.200s\": left out", *name);
        return false;
    }
    if (utf8_valid(*name, *len))
        return true;
    struct text *t = &inside(job)->scratch;
    text_reset(t);
    text_escape(t, *name, *len);
    if (!text_str(t))
        return false;
    *name = arena_copy(job->arena, text_str(t), t->len);
    *len = t->len;
    job_issue(job, ISSUE_WARNING, NULL, NO_OFFSET, "name-not-utf8",
              "tensor name \"%.200s\" is not UTF-8: shown with its bytes escaped",
              *name ? *name : "");
    return *name != NULL;
}

enum status job_node(struct job *job, const char *name, size_t len, const char *kind)
{
    struct job_private *p = inside(job);
    struct batch_layout *l = p->layout;
    if (!clean_name(job, &name, &len))
        return job->err->status;
    void *list = arena_grow(job->arena, l->nodes, l->node_count, &p->node_space,
                            sizeof(*l->nodes));
    const char *kept = arena_copy(job->arena, name, len);
    if (!list || !kept)
        return no_memory(job);
    l->nodes = list;
    l->nodes[l->node_count++] = (struct batch_node){kept, kind, l->tensor_count};
    return OK;
}

void job_step(struct job *job, int64_t step)
{
    job->batch->step = step;
    job->batch->has_step = true;
}

void job_run(struct job *job, const char *run_directory, const char *item)
{
    job->batch->run = run_directory
                          ? arena_copy(job->arena, run_directory, strlen(run_directory))
                          : NULL;
    job->batch->item = item ? arena_copy(job->arena, item, strlen(item)) : NULL;
}

void job_sum_kind(struct job *job, const char *kind)
{
    job->batch->sum_kind = kind;
}

/* --- tensors ---------------------------------------------------------------------------- */

static bool fits_file(struct job *job, uint32_t file, uint64_t offset, uint64_t stored)
{
    const struct batch *b = job->batch;
    uint64_t end;
    return file < b->file_count && add_u64(offset, b->files[file].base, &end) &&
           add_u64(end, stored, &end) && end <= b->files[file].identity.size;
}

/* The tensor's data is not where it should be: keep the row without it. */
static void lose_data(struct tensor_claim *t)
{
    t->storage = STORAGE_NONE;
    t->codec = NULL;
    t->strides = NULL;
    t->extents = NULL;
    t->extent_count = 0;
    t->grid = NULL;
    t->stored = 0;
    t->sums = NULL;
}

/* Does a run of a file that is missing or too short at least make sense? Its row then says
 * where the data should be. */
static bool run_is_possible(struct job *job, uint32_t file, uint64_t offset,
                            uint64_t stored)
{
    const struct batch *b = job->batch;
    uint64_t end;
    return file < b->file_count && add_u64(offset, b->files[file].base, &end) &&
           add_u64(end, stored, &end) && end <= INT64_MAX;
}

/* False where the file is missing: the format has reported that. */
static bool file_is_there(struct job *job, uint32_t file)
{
    const struct batch *b = job->batch;
    return file >= b->file_count || b->files[file].present;
}

static void check_extents(struct job *job, struct tensor_claim *t, const char *name)
{
    const struct batch *b = job->batch;
    for (uint64_t i = 0; i < t->extent_count; i++) {
        const struct extent *e = &t->extents[i];
        if (t->storage == STORAGE_INLINE)
            continue;
        if (fits_file(job, e->file, e->offset, e->stored))
            continue;
        if (file_is_there(job, e->file))
            job_issue(job, ISSUE_ERROR,
                      e->file < b->file_count ? b->files[e->file].path : NULL, e->offset,
                      "truncated",
                      "data of tensor \"%.200s\" ends past the end of the file", name);
        if (!run_is_possible(job, e->file, e->offset, e->stored))
            lose_data(t);
        return;
    }
}

/* How many bytes a chain makes `nbytes` of, where that does not depend on the values: of
 * `elements` elements, the other way round. False: it does, or the chain is not that plain. */
static bool stored_exactly(const char *codec, uint64_t elements, uint64_t nbytes,
                           uint64_t *stored)
{
    char step[CODEC_STEP_BYTES];
    const char *argument;
    uint64_t sums = 0;
    bool unpacked = false;
    while (codec && codec_chain_next(&codec, step, &argument)) {
        if (strcmp(step, "crc32c") == 0)
            sums += 4;
        else if (strcmp(step, "unpack") == 0)
            unpacked = true;
        else if (strcmp(step, "swap") != 0 && strcmp(step, "flip") != 0)
            return false;
    }
    return add_u64(unpacked ? elements : nbytes, sums, stored);
}

/* Most tensors have the dtype of the one before. */
static const struct dtype *dtype_of(struct job *job, const struct tensor_claim *t)
{
    struct dtype *last = &inside(job)->last_dtype;
    if (!last->name || (last->name != t->dtype && strcmp(last->name, t->dtype) != 0))
        dtype_find(t->dtype, last);
    return last;
}

/* Does a run of elements as they are hold the box that its strides reach over? */
static bool holds_view(const struct tensor_claim *t, const struct extent *e,
                       const struct dtype *dtype)
{
    const uint64_t *shape = e->shape ? e->shape : t->shape;
    uint64_t reach = 0, far, room = e->stored / dtype->block_bytes;
    for (unsigned d = 0; d < t->rank; d++) {
        if (!shape[d])
            return true;
        if (shape[d] > 1 &&
            (e->strides[d] < 0 || !mul_u64(shape[d] - 1, (uint64_t)e->strides[d], &far) ||
             !add_u64(reach, far, &reach)))
            return false;
    }
    return reach < room;
}

/* What extents have of their own (tensor.h). */
static void check_own(struct job *job, struct tensor_claim *t, const char *name)
{
    struct own_codecs own = {.count = 0};
    const struct dtype *dtype = t->dtype_unknown ? NULL : dtype_of(job, t);
    for (uint64_t i = 0; i < t->extent_count; i++) {
        const struct extent *e = &t->extents[i];
        const char *codec = e->codec ? e->codec : t->codec;
        if (e->codec && own_codec_number(&own, e->codec) == OWN_CODECS_MAX)
            job_issue(job, ISSUE_ERROR, NULL, NO_OFFSET, "bad-pieces",
                      "the parts of tensor \"%.200s\" have more than %d codecs", name,
                      OWN_CODECS_MAX);
        else if (e->strides && !(codec && *codec) && dtype && dtype_sized(dtype) &&
                 !holds_view(t, e, dtype))
            job_issue(job, ISSUE_ERROR, NULL, e->offset, "size-mismatch",
                      "a part of tensor \"%.200s\" reaches past its %llu bytes", name,
                      (unsigned long long)e->stored);
        else
            continue;
        lose_data(t);
        return;
    }
}

/* A chunk has all of its box, also where it reaches over the tensor's edge. False after an
 * issue: the value has another length. */
static bool check_length(struct job *job, const struct tensor_claim *t,
                         const struct grid_value *v, const char *name)
{
    const struct grid *g = t->grid;
    const struct dtype *dtype = t->dtype_unknown ? NULL : dtype_of(job, t);
    const char *path =
        v->file < job->batch->file_count ? job->batch->files[v->file].path : NULL;
    uint64_t elements, nbytes, need;
    if (g->levels != 1 || g->level[0].codec || !dtype || !dtype_sized(dtype) ||
        !shape_elements(g->level[0].shape, t->rank, &elements) ||
        !dtype_nbytes(dtype, elements, &nbytes) ||
        !stored_exactly(v->codec ? v->codec : t->codec, elements, nbytes, &need) ||
        v->stored == need)
        return true;
    job_issue(job, ISSUE_ERROR, path, grid_value_inline(v) ? NO_OFFSET : v->offset,
              "size-mismatch",
              "chunk %llu of tensor \"%.200s\" has %llu bytes, its shape and dtype need "
              "%llu",
              (unsigned long long)v->index, name, (unsigned long long)v->stored,
              (unsigned long long)need);
    return false;
}

/* A value that cannot be read takes the whole tensor with it; its row says where the others
 * are. `copy` is for a grid that is changed. */
static void check_grid(struct job *job, struct tensor_claim *t, struct grid *copy,
                       const char *name)
{
    const struct batch *b = job->batch;
    const struct grid *g = t->grid;
    if (!grid_valid(g, t->shape, t->rank)) {
        job_issue(job, ISSUE_ERROR, NULL, NO_OFFSET, "bad-chunks",
                  "the chunks of tensor \"%.200s\" are no grid of it", name);
        lose_data(t);
        return;
    }
    for (uint64_t i = 0; i < g->value_count; i++) {
        const struct grid_value *v = &g->values[i];
        const bool fits =
            grid_value_inline(v) || fits_file(job, v->file, v->offset, v->stored);
        if (fits && check_length(job, t, v, name))
            continue;
        if (!fits && file_is_there(job, v->file))
            job_issue(job, ISSUE_ERROR,
                      v->file < b->file_count ? b->files[v->file].path : NULL, v->offset,
                      "truncated",
                      "data of tensor \"%.200s\" ends past the end of the file", name);
        if (!fits && !run_is_possible(job, v->file, v->offset, v->stored)) {
            lose_data(t);
            return;
        }
        *copy = *g;
        copy->incomplete = true;
        t->grid = copy;
        return;
    }
}

/* What a claim's shape and dtype amount to. */
struct measured {
    uint64_t elements, nbytes;
    bool sized, counted;
};

static void check_data(struct job *job, struct tensor_claim *t, const char *name,
                       const struct measured *m)
{
    const struct batch *b = job->batch;
    uint64_t need;
    if (t->storage != STORAGE_RANGE) {
        check_extents(job, t, name);
        check_own(job, t, name);
        return;
    }
    const char *path = t->file < b->file_count ? b->files[t->file].path : NULL;
    if (!fits_file(job, t->file, t->offset, t->stored) && file_is_there(job, t->file))
        job_issue(job, ISSUE_ERROR, path, t->offset, "truncated",
                  "data of tensor \"%.200s\" (%llu bytes) ends past the end of the file",
                  name, (unsigned long long)t->stored);
    if (!run_is_possible(job, t->file, t->offset, t->stored)) {
        lose_data(t);
    } else if (m->sized && !t->strides &&
               stored_exactly(t->codec, m->elements, m->nbytes, &need) &&
               t->stored != need) {
        job_issue(job, ISSUE_ERROR, path, t->offset, "size-mismatch",
                  "tensor \"%.200s\" has %llu bytes, its shape and dtype need %llu", name,
                  (unsigned long long)t->stored, (unsigned long long)need);
        lose_data(t);
    }
}

/* False after an issue. */
static bool measure(struct job *job, const struct tensor_claim *t, const char *name,
                    struct measured *m)
{
    *m = (struct measured){.counted = true};
    const struct dtype *dtype = t->dtype_unknown ? NULL : dtype_of(job, t);
    m->sized = dtype && dtype_sized(dtype);
    m->counted = !dtype || dtype_counts(dtype);
    if (t->shape_unknown)
        return true;
    bool possible =
        t->rank <= TENSOR_RANK_MAX && shape_elements(t->shape, t->rank, &m->elements) &&
        m->elements <= INT64_MAX &&
        (!m->sized ||
         (dtype_nbytes(dtype, m->elements, &m->nbytes) && m->nbytes <= INT64_MAX));
    for (unsigned d = 0; possible && d < t->rank; d++)
        possible = t->shape[d] <= INT64_MAX;
    if (!possible)
        job_issue(job, ISSUE_ERROR, NULL, NO_OFFSET, "shape-overflow",
                  "the shape of tensor \"%.200s\" is impossible: left out", name);
    return possible;
}

static bool name_is_new(struct job *job, const char *name, size_t len)
{
    bool added = false;
    if (!strmap_add(&inside(job)->names, name, len, &added)) {
        no_memory(job);
        return false;
    }
    if (!added)
        job_issue(job, ISSUE_ERROR, NULL, NO_OFFSET, "duplicate-name",
                  "tensor \"%.200s\" occurs twice: the later one is left out", name);
    return added;
}

static enum status keep_sums(struct job *job, const struct tensor_claim *t)
{
    struct job_private *p = inside(job);
    struct batch *b = job->batch;
    struct batch_layout *l = p->layout;
    if (t->extent_count) {
        void *list = arena_grow(job->arena, p->pending, p->pending_count,
                                &p->pending_space, sizeof(*p->pending));
        if (!list)
            return no_memory(job);
        p->pending = list;
        p->pending[p->pending_count++] = (struct pending_extents){
            l->tensor_count, t->extents, t->extent_count, t->sums};
    }
    if (!b->sum_kind)
        return OK;
    void *sums =
        arena_grow(job->arena, b->sums, l->tensor_count, &p->sum_space, sizeof(*b->sums));
    if (!sums)
        return no_memory(job);
    b->sums = sums;
    b->sums[l->tensor_count] = t->sums && t->storage == STORAGE_RANGE ? t->sums[0] : 0;
    return OK;
}

static void *copied(struct arena *arena, const void *from, size_t count, size_t size,
                    bool *failed)
{
    if (!from)
        return NULL;
    void *to = arena_array(arena, count ? count : 1, size);
    if (!to)
        *failed = true;
    else if (count)
        memcpy(to, from, count * size);
    return to;
}

void job_expect(struct job *job, uint64_t tensors)
{
    struct job_private *p = inside(job);
    if (p->layout->tensor_count || tensors > LIMIT_TENSORS)
        return;
    p->layout->tensors =
        arena_room(job->arena, (size_t)tensors * sizeof(*p->layout->tensors));
    p->tensor_space = p->layout->tensors ? (size_t)tensors : 0;
}

static struct bytes packed_grid(struct job *job, const struct tensor_claim *t,
                                bool *failed)
{
    struct text *out = &inside(job)->scratch;
    if (!t->grid)
        return (struct bytes){0};
    text_reset(out);
    const char *kept = extents_pack_grid(out, t->grid, t->rank)
                           ? arena_copy(job->arena, out->at, out->len)
                           : NULL;
    *failed |= !kept;
    return (struct bytes){(const uint8_t *)kept, out->len};
}

/* What a kind is known by. */
static bool kind_key(struct text *out, const struct tensor_claim *t)
{
    const char *dtype = t->dtype_unknown ? "" : t->dtype;
    const uint64_t *shape = t->shape_unknown ? NULL : t->shape;
    text_reset(out);
    text_add(out, dtype, strlen(dtype) + 1);
    text_addc(out, (char)(t->dtype_unknown | t->shape_unknown << 1));
    text_addc(out, (char)t->rank);
    if (shape && t->rank)
        text_add(out, (const char *)shape, t->rank * sizeof(*shape));
    return text_str(out) != NULL;
}

static const struct batch_kind *new_kind(struct job *job, const struct tensor_claim *t,
                                         const struct measured *m)
{
    struct text *text = &inside(job)->scratch;
    struct batch_kind *k = arena_alloc(job->arena, sizeof(*k));
    bool failed = !k;
    if (failed)
        return NULL;
    *k = (struct batch_kind){
        .dtype = t->dtype_unknown ? "" : t->dtype,
        .elements = m->elements,
        .nbytes = m->nbytes,
        .rank = (uint8_t)t->rank,
        .shape_unknown = t->shape_unknown,
        .dtype_unknown = t->dtype_unknown,
        .sized = m->sized && !t->shape_unknown,
        .counted = m->counted,
    };
    if (t->shape_unknown)
        return k;
    text_reset(text);
    shape_print(text, t->shape, t->rank);
    k->shape = copied(job->arena, t->shape, t->rank, sizeof(*t->shape), &failed);
    k->shape_text = text_str(text) ? arena_copy(job->arena, text->at, text->len) : NULL;
    return failed || !k->shape_text ? NULL : k;
}

/* A dtype and a shape, once for all tensors that have them. NULL: no memory. */
static const struct batch_kind *keep_kind(struct job *job, const struct tensor_claim *t,
                                          const struct measured *m)
{
    struct job_private *p = inside(job);
    const char *kept;
    bool added = false;
    uint64_t *place = kind_key(&p->scratch, t)
                          ? strmap_keep(&p->kinds, job->arena, p->scratch.at,
                                        p->scratch.len, &kept, &added)
                          : NULL;
    if (!place)
        return NULL;
    if (added) {
        const struct batch_kind *kind = new_kind(job, t, m);
        void *list = kind ? arena_grow(job->arena, p->kind_list, p->kind_count,
                                       &p->kind_space, sizeof(*p->kind_list))
                          : NULL;
        if (!list)
            return NULL;
        p->kind_list = list;
        *place = p->kind_count;
        p->kind_list[p->kind_count++] = kind;
    }
    return p->kind_list[*place];
}

/* What the claim has of its own in this way; NULL without *failed: nothing. Extents are packed in
 * the end, and a grid now. */
static struct batch_coding *keep_coding(struct job *job, const struct tensor_claim *t,
                                        bool *failed)
{
    if (!t->codec && !t->strides && !t->grid)
        return NULL;
    struct batch_coding *c = arena_alloc(job->arena, sizeof(*c));
    if (!c) {
        *failed = true;
        return NULL;
    }
    *c = (struct batch_coding){
        copied(job->arena, t->codec, t->codec ? strlen(t->codec) + 1 : 0, 1, failed),
        copied(job->arena, t->strides, t->rank, sizeof(*t->strides), failed),
        packed_grid(job, t, failed),
    };
    return c;
}

static enum status keep_tensor(struct job *job, const struct tensor_claim *t,
                               const char *name, size_t len, const struct measured *m)
{
    struct job_private *p = inside(job);
    struct batch_layout *l = p->layout;
    bool failed = keep_sums(job, t) != OK;
    const struct batch_kind *kind = failed ? NULL : keep_kind(job, t, m);
    struct batch_coding *coding = keep_coding(job, t, &failed);
    struct batch_tensor *list = arena_grow(job->arena, l->tensors, l->tensor_count,
                                           &p->tensor_space, sizeof(*l->tensors));
    if (!list || !kind || failed)
        return no_memory(job);
    l->tensors = list;
    list[l->tensor_count++] = (struct batch_tensor){
        .name = name,
        .kind = kind,
        .coding = coding,
        .offset = t->storage == STORAGE_RANGE ? t->offset : 0,
        .stored = t->stored,
        .key = hash_key(name, len),
        .name_len = (uint32_t)len,
        .file = t->storage == STORAGE_RANGE ? t->file : NO_FILE,
        .storage = (uint8_t)t->storage,
        .stored_unknown = t->stored_unknown,
    };
    return OK;
}

enum status job_tensor(struct job *job, const struct tensor_claim *claim)
{
    struct job_private *p = inside(job);
    struct tensor_claim t = *claim;
    struct grid grid;
    const char *name = t.name;
    size_t len = t.name_len;
    struct measured m;

    p->name_bytes += len;
    if (p->layout->tensor_count >= LIMIT_TENSORS || len > LIMIT_NAME_BYTES ||
        p->name_bytes > LIMIT_NAMES_BYTES)
        return error_set(job->err, ERR_LIMIT, job->path, NO_OFFSET,
                         "more than %llu tensors, a name over %llu bytes, or names over "
                         "%llu bytes in all",
                         (unsigned long long)LIMIT_TENSORS,
                         (unsigned long long)LIMIT_NAME_BYTES,
                         (unsigned long long)LIMIT_NAMES_BYTES);
    if (!clean_name(job, &name, &len))
        return job->err->status;
    if (!(name = arena_copy(job->arena, name, len)))
        return no_memory(job);
    if (!measure(job, &t, name, &m) || (!t.unique && !name_is_new(job, name, len)))
        return job->err->status;
    if (t.grid)
        check_grid(job, &t, &grid, name);
    else
        check_data(job, &t, name, &m);
    return keep_tensor(job, &t, name, len, &m);
}

/* --- running ---------------------------------------------------------------------------- */

/* Its row tells a later import whether entries came or went. */
static enum status add_directory(struct job *job, const char *path)
{
    struct file_identity identity;
    uint32_t file;
    if (file_identify(path, &identity, job->err) != OK)
        return job->err->status;
    return add_file(job, path, "directory", &identity, &file);
}

static enum status open_primary(struct job *job, const struct job_request *request)
{
    struct file_identity identity = {0};
    uint32_t file;
    struct source *source = request->source;
    job->batch->folder =
        !source && request->format->probe_dir && path_is(request->path, ENTRY_FOLDER);
    if (job->batch->folder)
        return add_directory(job, request->path);
    if (source)
        identity.size = source->size;
    else if (source_open_file(request->path, SOURCE_HEADERS, &source, &identity,
                              job->err) != OK)
        return job->err->status;
    if (keep_source(job, source) != OK)
        return job->err->status;
    job->source = source;
    return add_file(job, request->path, "data", &identity, &file);
}

static void give_up(struct job *job)
{
    struct batch *b = job->batch;
    b->failed = true;
    b->layout = NULL;
    b->sums = NULL;
    b->sum_kind = NULL;
    b->meta_count = 0;
    uint64_t before = b->issue_count;
    job_issue_error(job, ISSUE_ERROR, job->err);
    if (b->issue_count == before) { /* not even memory to say so */
        b->last = (struct batch_issue){.path = job->path,
                                       .offset = NO_OFFSET,
                                       .code = error_word(job->err),
                                       .message = "no memory left to index it"};
        b->issues = &b->last;
        b->issue_count = 1;
    }
}

static void close_all(struct job_private *p)
{
    for (struct open_source *o = p->opened; o; o = o->next)
        source_close(o->source);
    strmap_release(&p->names);
    strmap_release(&p->kinds);
    text_release(&p->scratch);
}

/* Megatron has a folder for each rank in that of the step: RUN/iter_0000100/mp_rank_00/FILE. It is
 * taken out of the path, to be the item. NULL: there is none, or no memory. */
static const char *take_rank_folder(struct job *job, struct text *path)
{
    const char *end = strrchr(path->at, '/'), *begin = end;
    while (begin && begin > path->at && begin[-1] != '/')
        begin--;
    if (!begin || strncmp(begin, "mp_rank_", 8) != 0)
        return NULL;
    const char *item = arena_copy(job->arena, begin, (size_t)(end - begin));
    path->len = (size_t)(begin - path->at);
    path->at[path->len] = '\0';
    return item;
}

/* Where the files say no step, their folder may; of a directory, its own name. */
static enum status take_step_of_folder(struct job *job)
{
    struct batch *b = job->batch;
    struct text path = {0};
    size_t length;
    text_addf(&path, job->source ? "%s" : "%s/", job->path);
    if (!text_str(&path)) {
        text_release(&path);
        return no_memory(job);
    }
    const char *item = take_rank_folder(job, &path);
    b->has_step = step_of_folder(text_str(&path), &b->step, &length);
    if (b->has_step && !b->run)
        b->run = arena_copy(job->arena, job->path, length);
    if (b->has_step && !b->item)
        b->item = item;
    text_release(&path);
    return OK;
}

/* A file whose name only its own program knows: T5X's train_ds-000-of-001.index. */
static bool is_companion(const char *name)
{
    const struct format *f = format_for_file(&(struct probe){.name = name});
    return f && !f->index;
}

/* Nothing else in a directory that is a checkpoint is looked at: that is said. */
static void report_inside(struct job *job, const struct job_request *request)
{
    const struct batch *b = job->batch;
    uint64_t count = 0;
    const char *first = NULL;
    struct strmap own = {0};
    size_t dir = strlen(job->path) + 1;
    bool added;
    for (uint64_t i = 0; i < b->file_count; i++)
        if (strlen(b->files[i].path) > dir &&
            !strmap_add(&own, b->files[i].path + dir, strlen(b->files[i].path + dir),
                        &added))
            no_memory(job);
    for (uint64_t i = 0; i < request->sibling_count; i++) {
        const char *name = request->siblings[i];
        if (!format_claims_name(name) || strmap_get(&own, name, strlen(name)) ||
            is_companion(name))
            continue;
        first = first ? first : name;
        count++;
    }
    strmap_release(&own);
    if (count)
        job_issue(job, ISSUE_WARNING, NULL, NO_OFFSET, "passed-over",
                  "files that are named like checkpoints and are no part of this one: "
                  "%llu, such as \"%.200s\"; not looked at (import them by their names)",
                  (unsigned long long)count, first);
}

static enum status run(struct job *job, const struct job_request *request)
{
    struct job_private *p = inside(job);
    if (open_primary(job, request) != OK)
        return job->err->status;
    request->format->index(job);
    job_neighbours(job);
    if (job->err->status != OK)
        return job->err->status;
    if (job->batch->folder)
        report_inside(job, request);
    /* job_*() may have failed while the format went on. */
    if (job->err->status != OK)
        return job->err->status;
    if (p->layout) {
        if (layout_finish(job, job->err) != OK)
            return job->err->status;
        job->batch->layout = p->layout;
    }
    if (!job->batch->has_step && take_step_of_folder(job) != OK)
        return job->err->status;
    meta_digest(job->batch);
    return OK;
}

enum status job_run_index(const struct job_request *request, struct batch **out,
                          struct error *err)
{
    struct batch *b = calloc(1, sizeof(*b));
    if (!b) {
        source_close(request->source);
        return error_set(err, ERR_MEMORY, request->path, NO_OFFSET, "no memory");
    }
    b->arena.ceiling = LIMIT_ARENA_BYTES;
    struct job_private p = {.request = request};
    struct job job = {
        .format = request->format,
        .path = request->path,
        .arena = &b->arena,
        .err = err,
        .threads = request->threads ? request->threads : 1,
        .batch = b,
        .private = &p,
    };
    b->path =
        arena_copy(&b->arena, request->checkpoint_path, strlen(request->checkpoint_path));
    b->format = request->format->name;
    p.layout = arena_alloc(&b->arena, sizeof(*p.layout));
    if (!b->path || !p.layout) {
        source_close(request->source);
        no_memory(&job);
    } else {
        run(&job, request);
    }
    p.last_words = true;
    if (p.issues_dropped)
        job_issue(&job, ISSUE_WARNING, NULL, NO_OFFSET, "more-issues",
                  "%llu more issues of this checkpoint are not listed",
                  (unsigned long long)p.issues_dropped);
    if (err->status != OK)
        give_up(&job);
    close_all(&p);
    if (err->status == OK && p.offered.len && !b->issue_count)
        reuse_publish(&job);
    *out = b;
    return err->status;
}

void batch_free(struct batch *b)
{
    if (!b)
        return;
    shared_layout_drop(b->shared);
    arena_release(&b->arena);
    free(b);
}
