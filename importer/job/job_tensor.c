/*
 * job_tensor.c - take tensors from formats: check each claim once, against its shape, its
 * dtype and the sizes of its files, and add it to the layout.
 */
#include <string.h>

#include "catalog/base/text.h"
#include "catalog/data/codec/codec.h"
#include "importer/job/job_private.h"

static bool fits_file(struct job *job, uint32_t file, uint64_t offset, uint64_t stored)
{
    const struct batch *b = job->batch;
    uint64_t end;
    return file < b->file_count && add_u64(offset, b->files[file].base, &end) &&
           add_u64(end, stored, &end) && end <= b->files[file].identity.size;
}

/* Keep the tensor's row without data: it is not where it should be. */
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

/* Whether a run in a missing or truncated file is possible at all. If so, the row keeps the
 * place where the data should be. */
static bool run_is_possible(struct job *job, uint32_t file, uint64_t offset, uint64_t stored)
{
    const struct batch *b = job->batch;
    uint64_t end;
    return file < b->file_count && add_u64(offset, b->files[file].base, &end) &&
           add_u64(end, stored, &end) && end <= INT64_MAX;
}

/* False if the file is missing, which the format has already reported. */
static bool file_is_there(struct job *job, uint32_t file)
{
    const struct batch *b = job->batch;
    return file >= b->file_count || b->files[file].present;
}

/* --- files that were cut short ------------------------------------------------------------ */

/* The losses of a file of this checkpoint. */
static struct lost_data *lost_of(struct job *job, uint32_t file)
{
    struct job_private *p = job_inside(job);
    struct lost_data *l = NULL;
    while (p->lost_count <= file && job->err->status == OK)
        *PUSH(job->arena, p->lost, p->lost_count, p->lost_space) = (struct lost_data){0};
    if (job->err->status == OK)
        l = &p->lost[file];
    return l ? l : list_scratch();
}

bool job_cut(struct job *job, uint32_t file, struct error *why)
{
    if (!job->salvage || why->status != ERR_CORRUPT || strcmp(error_word(why), "truncated") != 0)
        return false;
    char *text = arena_copy(job->arena, why->message, strlen(why->message));
    error_clear(why);
    lost_of(job, file)->why = text;
    return true;
}

/* Keep the tensor's row without data, which the end that its file has lost had. */
static void lose_to_cut(struct job *job, struct tensor_claim *t, uint32_t file, const char *name)
{
    struct lost_data *l = lost_of(job, file < job->batch->file_count ? file : 0);
    if (!l->tensors++)
        l->first = name;
    lose_data(t);
}

void job_report_lost(struct job *job)
{
    const struct job_private *p = job_inside(job);
    const struct batch *b = job->batch;
    for (uint32_t i = 0; i < p->lost_count && i < b->file_count; i++) {
        const struct lost_data *l = &p->lost[i];
        const char *why = l->why ? l->why : "the file was cut short";
        const uint64_t size = b->files[i].identity.size;
        if (l->tensors)
            job_issue(job, ISSUE_ERROR, b->files[i].path, size, "truncated",
                      "%s; tensors without data: %llu (%.200s%s)", why,
                      (unsigned long long)l->tensors, l->first, l->tensors > 1 ? ", ..." : "");
        else if (l->why)
            job_issue(job, ISSUE_ERROR, b->files[i].path, size, "truncated",
                      "%s; the tensors that it lists are whole", why);
    }
}

/* --- checks ------------------------------------------------------------------------------- */

static void check_extents(struct job *job, struct tensor_claim *t, const char *name)
{
    for (uint64_t i = 0; i < t->extent_count; i++) {
        const struct extent *e = &t->extents[i];
        if (t->storage == STORAGE_INLINE || fits_file(job, e->file, e->offset, e->stored))
            continue;
        if (file_is_there(job, e->file))
            lose_to_cut(job, t, e->file, name);
        else if (!run_is_possible(job, e->file, e->offset, e->stored))
            lose_data(t);
        return;
    }
}

/* The number of bytes that a codec chain decodes to `nbytes`, if that does not depend on
 * the values. (After "unpack", each of the `elements` is stored in a byte of its own.)
 * False: it depends, or the chain has other steps. */
static bool stored_exactly(const char *codec, uint64_t elements, uint64_t nbytes, uint64_t *stored)
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

/* Cached, as most tensors have the dtype of the one before. */
static const struct dtype *dtype_of(struct job *job, const struct tensor_claim *t)
{
    struct dtype *last = &job_inside(job)->last_dtype;
    if (!last->name || (last->name != t->dtype && strcmp(last->name, t->dtype) != 0))
        dtype_find(t->dtype, last);
    return last;
}

/* Whether a run of uncompressed elements contains all that its shape and strides refer to.
 * Example: shape 2 x 3 with strides 10, 1 needs 13 elements. */
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

/* Check an extent's own codec and strides (tensor.h). */
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

/* Check the length of a chunk, which is its whole box's length, even at the
 * tensor's edge. False after an issue. */
static bool check_length(struct job *job, const struct tensor_claim *t, const struct grid_value *v,
                         const char *name)
{
    const struct grid *g = t->grid;
    const struct dtype *dtype = t->dtype_unknown ? NULL : dtype_of(job, t);
    const char *path = v->file < job->batch->file_count ? job->batch->files[v->file].path : NULL;
    uint64_t elements, nbytes, need;
    if (g->levels != 1 || g->level[0].codec || !dtype || !dtype_sized(dtype) ||
        !shape_elements(g->level[0].shape, t->rank, &elements) ||
        !dtype_nbytes(dtype, elements, &nbytes) ||
        !stored_exactly(v->codec ? v->codec : t->codec, elements, nbytes, &need) ||
        v->stored == need)
        return true;
    job_issue(job, ISSUE_ERROR, path, grid_value_inline(v) ? NO_OFFSET : v->offset, "size-mismatch",
              "chunk %llu of tensor \"%.200s\" has %llu bytes, its shape and dtype need %llu",
              (unsigned long long)v->index, name, (unsigned long long)v->stored,
              (unsigned long long)need);
    return false;
}

/* Check the chunks of a tensor. If one cannot be read, the grid is marked incomplete in
 * `copy`, and the row still has the places of the others. */
static void check_grid(struct job *job, struct tensor_claim *t, struct grid *copy, const char *name)
{
    const struct batch *b = job->batch;
    const struct grid *g = t->grid;
    if (!grid_valid(g, t->shape, t->rank)) {
        job_issue(job, ISSUE_ERROR, NULL, NO_OFFSET, "bad-chunks",
                  "the chunks of tensor \"%.200s\" do not form a grid over it", name);
        lose_data(t);
        return;
    }
    for (uint64_t i = 0; i < g->value_count; i++) {
        const struct grid_value *v = &g->values[i];
        const bool fits = grid_value_inline(v) || fits_file(job, v->file, v->offset, v->stored);
        if (fits && check_length(job, t, v, name))
            continue;
        if (!fits && file_is_there(job, v->file))
            job_issue(job, ISSUE_ERROR, v->file < b->file_count ? b->files[v->file].path : NULL,
                      v->offset, "truncated",
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

/* Sizes computed from a claim's shape and dtype. */
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
    const bool wanted = t->stored || job->salvage; /* GGUF places nothing anywhere */
    if (wanted && !fits_file(job, t->file, t->offset, t->stored) && file_is_there(job, t->file)) {
        lose_to_cut(job, t, t->file, name);
    } else if (!run_is_possible(job, t->file, t->offset, t->stored)) {
        lose_data(t);
    } else if (m->sized && !t->strides && stored_exactly(t->codec, m->elements, m->nbytes, &need) &&
               t->stored != need) {
        job_issue(job, ISSUE_ERROR, path, t->offset, "size-mismatch",
                  "tensor \"%.200s\" has %llu bytes, its shape and dtype need %llu", name,
                  (unsigned long long)t->stored, (unsigned long long)need);
        lose_data(t);
    }
}

/* Compute the sizes. False after an issue. */
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
        (!m->sized || (dtype_nbytes(dtype, m->elements, &m->nbytes) && m->nbytes <= INT64_MAX));
    for (unsigned d = 0; possible && d < t->rank; d++)
        possible = t->shape[d] <= INT64_MAX;
    if (!possible)
        job_issue(job, ISSUE_ERROR, NULL, NO_OFFSET, "shape-overflow",
                  "the shape of tensor \"%.200s\" is impossible: left out", name);
    return possible;
}

static bool name_is_new(struct job *job, const char *name, size_t len)
{
    bool added;
    strmap_add(&job_inside(job)->names, name, len, &added);
    if (!added)
        job_issue(job, ISSUE_ERROR, NULL, NO_OFFSET, "duplicate-name",
                  "tensor \"%.200s\" occurs twice: the later one is left out", name);
    return added;
}

void job_expect(struct job *job, uint64_t tensors)
{
    struct job_private *p = job_inside(job);
    if (p->layout->tensor_count || tensors > LIMIT_TENSORS)
        return;
    p->layout->tensors = arena_room(job->arena, (size_t)tensors * sizeof(*p->layout->tensors));
    p->tensor_space = p->layout->tensors ? (size_t)tensors : 0;
}

static const struct batch_kind *new_kind(struct job *job, const struct tensor_claim *t,
                                         const struct measured *m)
{
    struct text *text = &job_inside(job)->scratch;
    struct batch_kind *k = arena_alloc(job->arena, sizeof(*k));
    if (!k)
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
    if (t->shape)
        k->shape = (uint64_t *)arena_copy(job->arena, t->shape, t->rank * sizeof(*t->shape));
    k->shape_text = text_keep(text, job->arena);
    return k;
}

static const struct batch_kind *find_kind(struct job *job, const struct tensor_claim *t,
                                          const struct measured *m)
{
    struct job_private *p = job_inside(job);
    struct text *key = &p->scratch; /* equal for equal kinds */
    const char *kept, *dtype = t->dtype_unknown ? "" : t->dtype;
    bool added;
    text_reset(key);
    text_add(key, dtype, strlen(dtype) + 1);
    text_addc(key, (char)(t->dtype_unknown | t->shape_unknown << 1));
    text_addc(key, (char)t->rank);
    if (!t->shape_unknown && t->rank)
        text_add(key, (const char *)t->shape, t->rank * sizeof(*t->shape));
    if (key->failed) {
        error_memory(job->err);
        return NULL;
    }
    uint64_t *place = strmap_keep(&p->kinds, job->arena, key->at, key->len, &kept, &added);
    if (added) {
        *place = p->kind_count;
        *PUSH(job->arena, p->kind_list, p->kind_count, p->kind_space) = new_kind(job, t, m);
    }
    return job->err->status == OK ? p->kind_list[*place] : NULL;
}

/* The kind for this dtype and shape, shared by all tensors that have both. Few tensors have one
 * that is not among the last few. NULL after a failure. */
static const struct batch_kind *keep_kind(struct job *job, const struct tensor_claim *t,
                                          const struct measured *m)
{
    uint64_t sum = t->rank;
    for (unsigned d = 0; d < t->rank && !t->shape_unknown; d++)
        sum = sum * 31 + t->shape[d];
    const struct batch_kind **near = &job_inside(job)->kind_near[(sum ^ sum >> 7) % KINDS_NEAR];
    const struct batch_kind *k = *near;
    const bool same = k && k->dtype == t->dtype && !k->dtype_unknown && !t->dtype_unknown &&
                      !k->shape_unknown && !t->shape_unknown && k->rank == t->rank &&
                      (!t->rank || memcmp(k->shape, t->shape, t->rank * sizeof(*t->shape)) == 0);
    if (!same)
        *near = find_kind(job, t, m);
    return *near;
}

/* The claim's codec, strides and grid (packed); NULL if absent. Extents are packed at the
 * end, by layout.c. */
static struct batch_coding *keep_coding(struct job *job, const struct tensor_claim *t)
{
    struct text *grid = &job_inside(job)->scratch;
    if (!t->codec && !t->strides && !t->grid)
        return NULL;
    struct batch_coding *c = arena_alloc(job->arena, sizeof(*c));
    if (!c)
        return NULL;
    if (t->codec)
        c->codec = arena_copy(job->arena, t->codec, strlen(t->codec));
    if (t->strides)
        c->strides = (int64_t *)arena_copy(job->arena, t->strides, t->rank * sizeof(*t->strides));
    if (t->grid) {
        text_reset(grid);
        extents_pack_grid(grid, t->grid, t->rank);
        c->extents = (struct bytes){(const uint8_t *)text_keep(grid, job->arena), grid->len};
    }
    return c;
}

static void keep_tensor(struct job *job, const struct tensor_claim *t, const char *name, size_t len,
                        const struct measured *m)
{
    struct job_private *p = job_inside(job);
    struct batch *b = job->batch;
    struct batch_layout *l = p->layout;
    if (t->extent_count)
        *PUSH(job->arena, p->pending, p->pending_count, p->pending_space) =
            (struct pending_extents){l->tensor_count, t->extents, t->extent_count, t->sums};
    if (b->sum_kind)
        *PUSH(job->arena, b->sums, b->sum_count, p->sum_space) =
            t->sums && t->storage == STORAGE_RANGE ? t->sums[0] : 0;
    const struct batch_kind *kind = keep_kind(job, t, m);
    struct batch_coding *coding = keep_coding(job, t);
    if (job->err->status != OK)
        return;
    *PUSH(job->arena, l->tensors, l->tensor_count, p->tensor_space) = (struct batch_tensor){
        .name = name,
        .kind = kind,
        .coding = coding,
        .offset = t->storage == STORAGE_RANGE ? t->offset : 0,
        .stored = t->stored,
        .name_len = (uint32_t)len,
        .file = t->storage == STORAGE_RANGE ? t->file : NO_FILE,
        .storage = (uint8_t)t->storage,
        .stored_unknown = t->stored_unknown,
    };
}

enum status job_tensor(struct job *job, const struct tensor_claim *claim)
{
    struct job_private *p = job_inside(job);
    struct tensor_claim t = *claim;
    struct grid grid;
    const char *name = t.name;
    size_t len = t.name_len;
    struct measured m;

    p->name_bytes += len;
    if (job->err->status == OK && (p->layout->tensor_count >= LIMIT_TENSORS ||
                                   len > LIMIT_NAME_BYTES || p->name_bytes > LIMIT_NAMES_BYTES))
        error_set(job->err, ERR_LIMIT, job->path, NO_OFFSET,
                  "more than %llu tensors, a name over %llu bytes, or names over "
                  "%llu bytes in all",
                  (unsigned long long)LIMIT_TENSORS, (unsigned long long)LIMIT_NAME_BYTES,
                  (unsigned long long)LIMIT_NAMES_BYTES);
    if (job->err->status != OK || !job_clean_name(job, &name, &len))
        return job->err->status;
    name = arena_copy(job->arena, name, len);
    if (job->err->status == OK && measure(job, &t, name, &m) &&
        (t.unique || name_is_new(job, name, len))) {
        if (t.grid)
            check_grid(job, &t, &grid, name);
        else
            check_data(job, &t, name, &m);
        keep_tensor(job, &t, name, len, &m);
    }
    return job->err->status;
}
