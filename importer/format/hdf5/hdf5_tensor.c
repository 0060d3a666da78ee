/* hdf5_tensor.c - a dataset as a tensor; see hdf5_walk.h. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "catalog/data/codec/codec.h"
#include "catalog/data/model/dtype.h"
#include "importer/format/hdf5/hdf5_walk.h"

/* A tensor gets a warning if its shape declares more than BOMB_BYTES, and more than BOMB_TIMES
 * the bytes stored for it: 2^60 elements of fill value cost a file nothing. */
#define BOMB_BYTES ((uint64_t)4 << 30)
#define BOMB_TIMES 1000

struct emission {
    struct hdf5_tree *tree;
    struct job *job;
    struct arena *arena; /* released after this dataset */
    struct hdf5_dataset d;
    struct tensor_claim claim;
    uint64_t shape[2 * HDF5_RANK_MAX];
    uint64_t elements, nbytes; /* nbytes: before filters */
    char chain[CHAIN_BYTES];
    struct grid grid;
    uint64_t box[2 * HDF5_RANK_MAX + 1];
};

static int name_shown(const struct emission *e)
{
    return (int)(e->claim.name_len < 200 ? e->claim.name_len : 200);
}

/* Report a dataset that gets no row: not a tensor, or not in this file. */
static bool left_out(struct emission *e, enum issue_severity severity, const char *code,
                     const char *why)
{
    job_issue(e->job, severity, e->tree->path, NO_OFFSET, code, "dataset \"%.*s\" %s",
              name_shown(e), e->claim.name, why);
    return false;
}

/* Report why the data cannot be read, and emit the row without it. */
static void without_data(struct emission *e, const struct error *why)
{
    struct error named = *why;
    char what[240];
    if (status_passes(why->status)) {
        *e->tree->h.err = *why;
        return;
    }
    snprintf(what, sizeof(what), "tensor \"%.*s\"", name_shown(e), e->claim.name);
    error_prefix(&named, what);
    if (!*named.source)
        snprintf(named.source, sizeof(named.source), "%s", e->tree->path);
    job_issue_error(e->job, ISSUE_ERROR, &named);
    e->claim.storage = STORAGE_NONE;
    e->claim.codec = NULL;
    e->claim.grid = NULL;
    e->claim.extents = NULL;
    e->claim.extent_count = 0;
    e->claim.stored = 0;
    e->claim.stored_unknown = true;
    job_tensor(e->job, &e->claim);
}

/* Set the grid's fill value: one element as the reader returns it, little-endian, texts without
 * padding. */
static void set_fill(struct emission *e)
{
    const struct hdf5_type *t = &e->d.type;
    struct bytes fill = e->d.fill;
    if (!fill.len)
        return;
    for (size_t at = t->item; at < fill.len; at += t->item)
        if (memcmp(fill.at, fill.at + at, t->item) != 0) {
            error_set(e->tree->h.err, ERR_UNSUPPORTED, e->tree->path, NO_OFFSET,
                      "the elements of its fill value differ");
            return;
        }
    fill.len = t->item;
    if (t->class == HDF5_TEXT) {
        hdf5_text(&e->tree->h, t, fill, &e->grid.fill);
        return;
    }
    char steps[CHAIN_BYTES];
    struct source *stored = NULL, *s = NULL;
    struct error *err = e->tree->h.err;
    uint8_t *decoded = arena_room(e->arena, fill.len);
    if (decoded && hdf5_chain(&e->d, 0, true, false, steps, err) &&
        source_open_memory(e->tree->path, fill, false, &stored, err) == OK &&
        codec_chain_open(stored, steps, &s, NULL, err) == OK &&
        source_read(s, 0, decoded, fill.len, err) == OK)
        e->grid.fill = (struct bytes){decoded, fill.len};
    source_close(s);
}

static void emit_dataset(struct emission *e)
{
    struct hdf5_tree *t = e->tree;
    if (t->h.err->status != OK || (t->wants && !t->wants(t, e->claim.name, e->claim.name_len)))
        return;
    t->nbytes += e->nbytes;
    if (e->nbytes > BOMB_BYTES && e->nbytes / BOMB_TIMES > e->claim.stored)
        job_issue(e->job, ISSUE_WARNING, t->path, NO_OFFSET, "declared-size",
                  "tensor \"%.*s\" has %llu bytes by its shape, and %llu are stored", name_shown(e),
                  e->claim.name, (unsigned long long)e->nbytes,
                  (unsigned long long)e->claim.stored);
    job_tensor(e->job, &e->claim);
}

/* --- one run ------------------------------------------------------------------------------ */

/* The steps for what is inside a deflated member: inflate the member, then cut a run out of the result. */
static const char *cut_chain(const struct emission *e, const char *steps)
{
    char chain[2 * CHAIN_BYTES];
    const int len =
        snprintf(chain, sizeof(chain), "%s|cut%s%s", e->tree->inflate, *steps ? "|" : "", steps);
    return arena_copy(e->job->arena, chain, (size_t)len);
}

static void emit_cut(struct emission *e, uint64_t offset)
{
    struct hdf5_tree *t = e->tree;
    struct extent *x = arena_alloc(e->job->arena, sizeof(*x));
    if (!x)
        return;
    *x = (struct extent){.file = t->file,
                         .offset = t->member_at,
                         .stored = t->member_stored,
                         .cut_at = offset,
                         .cut_len = e->nbytes};
    e->claim.storage = STORAGE_CHUNKS;
    e->claim.stored = t->member_stored;
    e->claim.codec = cut_chain(e, e->chain);
    e->claim.extents = x;
    e->claim.extent_count = 1;
    emit_dataset(e);
}

/* Make a grid with chunks of this shape. */
static void set_grid(struct emission *e, const uint64_t *box)
{
    memcpy(e->box, box, e->claim.rank * sizeof(*box));
    e->grid.levels = 1;
    e->grid.level[0].shape = e->box;
    e->grid.metadata = GRID_NO_FILE;
    set_fill(e);
    e->claim.grid = &e->grid;
}

static void emit_run(struct emission *e)
{
    struct error why = {.offset = NO_OFFSET};
    struct hdf5_tree *t = e->tree;
    uint64_t offset = e->nbytes ? e->d.offset : 0;
    if (offset == HDF5_UNDEFINED) {
        /* all fill value: a grid of one chunk, which is absent */
        struct error *outer = hdf5_catch(&t->h, &why);
        set_grid(e, e->shape);
        hdf5_catch(&t->h, outer);
        e->claim.storage = STORAGE_CHUNKS;
    } else if (e->nbytes && e->d.stored < e->nbytes) {
        error_set(&why, ERR_CORRUPT, t->path, t->base + offset,
                  "it needs %llu bytes, %llu are stored", (unsigned long long)e->nbytes,
                  (unsigned long long)e->d.stored);
        error_code(&why, "truncated");
    }
    if (why.status == OK && offset != HDF5_UNDEFINED)
        hdf5_chain(&e->d, 0, true, true, e->chain, &why);
    if (why.status != OK) {
        without_data(e, &why);
    } else if (offset == HDF5_UNDEFINED) {
        emit_dataset(e);
    } else if (t->inflate && e->nbytes) {
        emit_cut(e, offset);
    } else {
        e->claim.storage = STORAGE_RANGE;
        e->claim.file = t->file;
        e->claim.offset = e->nbytes ? t->base + offset : 0;
        e->claim.stored = e->nbytes;
        e->claim.codec = *e->chain ? e->chain : NULL;
        emit_dataset(e);
    }
}

/* --- chunks ------------------------------------------------------------------------------- */

/* The last codec made for chunks that differ from the tensor's codec; the next chunk mostly has
 * it too. */
struct own_codec {
    uint32_t skipped;
    bool whole, valid;
    const char *text;
};

static const char *own_codec_of(struct emission *e, const struct hdf5_chunk *c,
                                struct own_codec *last)
{
    char text[CHAIN_BYTES];
    bool whole = e->d.version > 3 && e->d.flags & 1 && e->d.filters &&
                 hdf5_chunk_is_partial(&e->d, c->index);
    uint32_t all = e->d.filters < 32 ? (UINT32_C(1) << e->d.filters) - 1 : UINT32_MAX;
    uint32_t skipped = c->skipped & all;
    if (!whole && !skipped)
        return NULL;
    if (!last->valid || last->whole != whole || last->skipped != skipped) {
        hdf5_chain(&e->d, skipped, whole, false, text, e->tree->h.err);
        *last = (struct own_codec){skipped, whole, true, arena_copy(e->arena, text, strlen(text))};
    }
    return last->text;
}

static void take_values(struct emission *e, const struct hdf5_chunks *list)
{
    struct own_codec last = {0};
    struct grid_value *values = arena_array(e->arena, list->count + 1, sizeof(*values));
    for (size_t i = 0; values && i < list->count && e->tree->h.err->status == OK; i++) {
        const struct hdf5_chunk *c = &list->at[i];
        values[i] = (struct grid_value){.index = c->index,
                                        .file = e->tree->file,
                                        .offset = e->tree->base + c->offset,
                                        .stored = c->stored,
                                        .codec = own_codec_of(e, c, &last)};
        if (!add_u64(e->claim.stored, c->stored, &e->claim.stored) || e->claim.stored > INT64_MAX)
            e->claim.stored = INT64_MAX;
    }
    e->grid.values = values;
    e->grid.value_count = values ? list->count : 0;
}

/* Take the chunks inside a deflated member as extents, whose runs are all the member: a grid has no cuts. A
 * chunk at the edge holds more than its extent. */
static void take_cuts(struct emission *e, const struct hdf5_chunks *list)
{
    struct arena *arena = e->job->arena;
    const struct hdf5 *h = &e->tree->h;
    const unsigned rank = e->claim.rank;
    uint64_t counts[2 * HDF5_RANK_MAX], all, step = 1;
    struct own_codec last = {0};
    struct extent *x = arena_array(arena, list->count + 1, sizeof(*x));
    int64_t *strides = arena_array(arena, rank + 1u, sizeof(*strides));
    if (!grid_counts(e->shape, rank, e->box, counts, &all) || all != list->count)
        error_set(h->err, ERR_UNSUPPORTED, e->tree->path, NO_OFFSET,
                  "chunks inside a deflated member of an archive, and some were never written");
    for (unsigned d = rank; strides && d-- > 0; step *= e->box[d])
        strides[d] = (int64_t)step;
    for (size_t i = 0; x && strides && i < list->count && h->err->status == OK; i++) {
        const struct hdf5_chunk *c = &list->at[i];
        uint64_t *place = arena_array(arena, 2 * rank + 1u, sizeof(*place));
        const char *own = own_codec_of(e, c, &last);
        if (!place)
            return;
        if (c->offset > h->source->size || c->stored > h->source->size - c->offset) {
            error_set(h->err, ERR_CORRUPT, e->tree->path, NO_OFFSET,
                      "a chunk that ends past the end of the member");
            error_code(h->err, "truncated");
        }
        grid_box(&e->grid, e->shape, rank, c->index, place, place + rank);
        x[i] = (struct extent){.file = e->tree->file,
                               .offset = e->tree->member_at,
                               .stored = e->tree->member_stored,
                               .origin = place,
                               .shape = place + rank,
                               .cut_at = c->offset,
                               .cut_len = c->stored,
                               .codec = own ? cut_chain(e, own) : NULL};
        if (memcmp(place + rank, e->box, rank * sizeof(*place)) != 0)
            x[i].strides = strides;
    }
    e->claim.codec = cut_chain(e, e->chain);
    e->claim.stored = e->tree->member_stored;
    e->claim.grid = NULL;
    e->claim.extents = x;
    e->claim.extent_count = list->count;
}

static void describe_chunks(struct emission *e, struct hdf5_chunks *list)
{
    struct hdf5 *h = &e->tree->h;
    uint64_t box[2 * HDF5_RANK_MAX];
    memcpy(box, e->d.box, e->d.space.rank * sizeof(*box));
    memcpy(box + e->d.space.rank, e->d.type.shape, e->d.type.rank * sizeof(*box));
    if (!hdf5_chunks(h, &e->d, list))
        return;
    set_grid(e, box);
    if (h->err->status != OK || !hdf5_chain(&e->d, 0, false, true, e->chain, h->err))
        return;
    e->claim.codec = *e->chain ? e->chain : NULL;
    if (list->count && e->tree->inflate)
        take_cuts(e, list);
    else
        take_values(e, list);
}

static void emit_chunks(struct emission *e)
{
    struct error why = {.offset = NO_OFFSET}, *outer = hdf5_catch(&e->tree->h, &why);
    struct hdf5_chunks list;
    describe_chunks(e, &list);
    hdf5_catch(&e->tree->h, outer);
    e->claim.storage = STORAGE_CHUNKS;
    if (why.status != OK)
        without_data(e, &why);
    else
        emit_dataset(e);
    free(list.at);
}

/* --- all ---------------------------------------------------------------------------------- */

static void emit_strings(struct emission *e)
{
    struct error why = {.offset = NO_OFFSET}, *outer = hdf5_catch(&e->tree->h, &why);
    struct bytes all = hdf5_tree_strings(e->tree, &e->d, e->elements);
    hdf5_catch(&e->tree->h, outer);
    struct extent *x = arena_alloc(e->job->arena, sizeof(*x));
    if (why.status != OK)
        without_data(e, &why);
    if (!x || why.status != OK)
        return;
    *x = (struct extent){.file = e->tree->file, .stored = all.len, .bytes = all.at};
    e->claim.storage = STORAGE_INLINE;
    e->claim.stored = all.len;
    e->claim.codec = "strings:vlen";
    e->claim.extents = x;
    e->claim.extent_count = 1;
    e->nbytes = all.len;
    emit_dataset(e);
}

/* Take the dtype of the dataset's type. Opaque bytes have the one that their attribute "dtype"
 * states, if its size fits: opaque elements of 2 bytes may be "bfloat16". Unknown names are
 * copied into the job. */
static const char *claimed_dtype(struct emission *e, const char *stated)
{
    struct dtype known;
    const struct hdf5_type *t = &e->d.type;
    if (t->class == HDF5_RAW && stated) {
        dtype_find(stated, &known);
        if (dtype_sized(&known) && known.block_elems == 1 && known.block_bytes == t->item &&
            known.bits == t->item * 8 && known.name != stated)
            return known.name;
    }
    dtype_find(t->dtype, &known);
    return known.name != t->dtype ? known.name
                                  : arena_copy(e->job->arena, t->dtype, strlen(t->dtype));
}

/* Whether the dataset is a tensor whose data is in this file. */
static bool is_tensor(struct emission *e)
{
    char why[160];
    const struct hdf5_type *t = &e->d.type;
    if (t->class == HDF5_NO_TENSOR) {
        snprintf(why, sizeof(why), "is not a plain tensor: its elements are %s", t->what);
        return left_out(e, ISSUE_WARNING, "not-a-tensor", why);
    }
    if (e->d.space.null)
        return left_out(e, ISSUE_WARNING, "no-data", "has no elements and no shape");
    if (e->d.layout == HDF5_VIRTUAL)
        return left_out(e, ISSUE_ERROR, "external", "is virtual, made of other files: not read");
    if (e->d.external)
        return left_out(e, ISSUE_ERROR, "external", "has its data in other files: not read");
    return true;
}

void hdf5_tree_tensor(struct hdf5_tree *t, const struct hdf5_object *o, struct arena *arena)
{
    const char *dtype = NULL;
    struct emission e = {.tree = t, .job = t->job, .arena = arena};
    const struct hdf5_space *s = &e.d.space;
    e.claim = (struct tensor_claim){.name = t->name.at, .name_len = t->name.len};
    if (hdf5_dataset(&t->h, o, arena, &e.d))
        hdf5_tree_facts(t, o, arena, &dtype);
    if (t->h.err->status != OK || !is_tensor(&e))
        return;
    memcpy(e.shape, s->shape, s->rank * sizeof(*s->shape));
    memcpy(e.shape + s->rank, e.d.type.shape, e.d.type.rank * sizeof(*s->shape));
    e.claim.shape = e.shape;
    e.claim.rank = s->rank + e.d.type.rank;
    e.claim.dtype = claimed_dtype(&e, dtype);
    if (!shape_elements(e.shape, e.claim.rank, &e.elements) ||
        !mul_u64(e.elements, e.d.type.item, &e.nbytes)) {
        struct error why = {.offset = NO_OFFSET};
        error_set(&why, ERR_CORRUPT, t->path, NO_OFFSET, "more elements than can be counted");
        without_data(&e, &why);
    } else if (e.d.type.class == HDF5_VLEN_TEXT) {
        emit_strings(&e);
    } else if (e.d.layout == HDF5_CHUNKED && e.nbytes) {
        emit_chunks(&e);
    } else {
        emit_run(&e);
    }
}
