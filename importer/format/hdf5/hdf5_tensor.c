/* hdf5_tensor.c - a dataset as a tensor; see hdf5_walk.h. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "catalog/data/model/dtype.h"
#include "importer/format/hdf5/hdf5_walk.h"

/* A tensor gets a warning if its shape declares more than so many bytes, and more than so many
 * times the bytes stored for it: 2^60 elements of fill value cost a file nothing. */
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
    struct error *err;
};

static int name_shown(const struct emission *e)
{
    return (int)(e->claim.name_len < 200 ? e->claim.name_len : 200);
}

static enum status emission_no_memory(struct emission *e)
{
    return error_memory_at(e->err, e->tree->path);
}

/* Report a dataset that gets no row: not a tensor, or not in this file. */
static enum status left_out(struct emission *e, enum issue_severity severity, const char *code,
                            const char *why)
{
    job_issue(e->job, severity, e->tree->path, NO_OFFSET, code, "dataset \"%.*s\" %s",
              name_shown(e), e->claim.name, why);
    return OK;
}

/* Report why the data cannot be read, and emit the row without it. */
static enum status without_data(struct emission *e, const struct error *why)
{
    struct error named = *why;
    char what[240];
    if (status_passes(why->status)) {
        *e->err = *why;
        return why->status;
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
    return job_tensor(e->job, &e->claim);
}

/* Set the grid's fill value: one element as the reader returns it, little-endian, texts without
 * padding. For `swap` bytes per number (4: float32, also within complex64), byte i comes from its
 * mirror image in its number: of 4, bytes 0 1 2 3 from 3 2 1 0. */
static enum status set_fill(struct emission *e)
{
    const struct hdf5_type *t = &e->d.type;
    struct bytes fill = e->d.fill;
    if (!fill.len)
        return OK;
    for (size_t at = t->item; at < fill.len; at += t->item)
        if (memcmp(fill.at, fill.at + at, t->item) != 0)
            return error_set(e->err, ERR_UNSUPPORTED, e->tree->path, NO_OFFSET,
                             "the elements of its fill value differ");
    fill.len = t->item;
    if (t->class == HDF5_TEXT)
        return hdf5_text(&e->tree->h, t, fill, &e->grid.fill, e->err);
    uint8_t *turned = arena_room(e->arena, fill.len);
    if (!turned)
        return emission_no_memory(e);
    for (size_t i = 0; i < fill.len; i++)
        turned[i] = fill.at[t->swap > 1 ? i - i % t->swap + t->swap - 1 - i % t->swap : i];
    e->grid.fill = (struct bytes){turned, fill.len};
    return OK;
}

static enum status emit_dataset(struct emission *e)
{
    struct hdf5_tree *t = e->tree;
    if (t->wants && !t->wants(t, e->claim.name, e->claim.name_len))
        return OK;
    t->nbytes += e->nbytes;
    if (e->nbytes > BOMB_BYTES && e->nbytes / BOMB_TIMES > e->claim.stored)
        job_issue(e->job, ISSUE_WARNING, t->path, NO_OFFSET, "declared-size",
                  "tensor \"%.*s\" has %llu bytes by its shape, and %llu are stored", name_shown(e),
                  e->claim.name, (unsigned long long)e->nbytes,
                  (unsigned long long)e->claim.stored);
    return job_tensor(e->job, &e->claim);
}

/* --- one run ------------------------------------------------------------------------------ */

/* Emit a run inside a deflated member: inflate the member, then cut the run out of the result. */
static enum status emit_cut(struct emission *e, uint64_t offset)
{
    struct hdf5_tree *t = e->tree;
    char chain[2 * CHAIN_BYTES];
    struct extent *x = arena_alloc(e->job->arena, sizeof(*x));
    snprintf(chain, sizeof(chain), "%s|cut%s%s", t->inflate, *e->chain ? "|" : "", e->chain);
    const char *kept = arena_copy(e->job->arena, chain, strlen(chain));
    if (!x || !kept)
        return emission_no_memory(e);
    *x = (struct extent){.file = t->file,
                         .offset = t->member_at,
                         .stored = t->member_stored,
                         .cut_at = offset,
                         .cut_len = e->nbytes};
    e->claim.storage = STORAGE_CHUNKS;
    e->claim.stored = t->member_stored;
    e->claim.codec = kept;
    e->claim.extents = x;
    e->claim.extent_count = 1;
    return emit_dataset(e);
}

/* Emit a tensor that is all fill value: a grid of one chunk, which is absent. */
static enum status emit_fill(struct emission *e)
{
    struct error why = {.offset = NO_OFFSET};
    for (unsigned d = 0; d < e->claim.rank; d++)
        e->box[d] = e->shape[d];
    e->grid.levels = 1;
    e->grid.level[0].shape = e->box;
    e->grid.metadata = GRID_NO_FILE;
    struct error *outer = e->err;
    e->err = &why;
    set_fill(e);
    e->err = outer;
    if (why.status != OK)
        return without_data(e, &why);
    e->claim.storage = STORAGE_CHUNKS;
    e->claim.grid = &e->grid;
    return emit_dataset(e);
}

static enum status emit_run(struct emission *e)
{
    struct error why = {.offset = NO_OFFSET};
    struct hdf5_tree *t = e->tree;
    uint64_t offset = e->d.offset;
    if (!e->nbytes)
        offset = 0;
    else if (offset == HDF5_UNDEFINED)
        return emit_fill(e);
    else if (e->d.stored < e->nbytes) {
        error_set(&why, ERR_CORRUPT, t->path, t->base + offset,
                  "it needs %llu bytes, %llu are stored", (unsigned long long)e->nbytes,
                  (unsigned long long)e->d.stored);
        error_code(&why, "truncated");
        return without_data(e, &why);
    }
    if (!hdf5_chain(&e->d, 0, true, true, e->chain, &why))
        return without_data(e, &why);
    if (t->inflate && e->nbytes)
        return emit_cut(e, offset);
    e->claim.storage = STORAGE_RANGE;
    e->claim.file = t->file;
    e->claim.offset = e->nbytes ? t->base + offset : 0;
    e->claim.stored = e->nbytes;
    e->claim.codec = *e->chain ? e->chain : NULL;
    return emit_dataset(e);
}

/* --- chunks ------------------------------------------------------------------------------- */

/* The last codec made for chunks that differ from the tensor's codec; the next chunk mostly has
 * it too. */
struct own_codec {
    uint32_t skipped;
    bool whole, valid;
    const char *text;
};

static enum status own_codec_of(struct emission *e, const struct hdf5_chunk *c,
                                struct own_codec *last, const char **out)
{
    char text[CHAIN_BYTES];
    bool whole = e->d.version > 3 && e->d.flags & 1 && e->d.filters &&
                 hdf5_chunk_is_partial(&e->d, c->index);
    uint32_t all = e->d.filters < 32 ? (UINT32_C(1) << e->d.filters) - 1 : UINT32_MAX;
    uint32_t skipped = c->skipped & all;
    *out = NULL;
    if (!whole && !skipped)
        return OK;
    if (!last->valid || last->whole != whole || last->skipped != skipped) {
        if (!hdf5_chain(&e->d, skipped, whole, false, text, e->err))
            return e->err->status;
        *last = (struct own_codec){skipped, whole, true, arena_copy(e->arena, text, strlen(text))};
        if (!last->text)
            return emission_no_memory(e);
    }
    *out = last->text;
    return OK;
}

static enum status take_values(struct emission *e, const struct hdf5_chunks *list)
{
    struct own_codec last = {0};
    struct grid_value *values = arena_array(e->arena, list->count + 1, sizeof(*values));
    if (!values)
        return emission_no_memory(e);
    for (size_t i = 0; i < list->count; i++) {
        const struct hdf5_chunk *c = &list->at[i];
        values[i] = (struct grid_value){.index = c->index,
                                        .file = e->tree->file,
                                        .offset = e->tree->base + c->offset,
                                        .stored = c->stored};
        if (own_codec_of(e, c, &last, &values[i].codec) != OK)
            return e->err->status;
        if (!add_u64(e->claim.stored, c->stored, &e->claim.stored) || e->claim.stored > INT64_MAX)
            e->claim.stored = INT64_MAX;
    }
    e->grid.values = values;
    e->grid.value_count = list->count;
    return OK;
}

static enum status describe_chunks(struct emission *e, struct hdf5_chunks *list)
{
    for (unsigned d = 0; d < e->d.space.rank; d++)
        e->box[d] = e->d.box[d];
    for (unsigned d = 0; d < e->d.type.rank; d++)
        e->box[e->d.space.rank + d] = e->d.type.shape[d];
    e->grid.levels = 1;
    e->grid.level[0].shape = e->box;
    e->grid.metadata = GRID_NO_FILE;
    if (hdf5_chunks(&e->tree->h, &e->d, list, e->err) != OK || set_fill(e) != OK)
        return e->err->status;
    if (list->count && e->tree->inflate)
        return error_set(e->err, ERR_UNSUPPORTED, e->tree->path, NO_OFFSET,
                         "chunks inside a deflated member of an archive");
    if (!hdf5_chain(&e->d, 0, false, true, e->chain, e->err))
        return e->err->status;
    return take_values(e, list);
}

static enum status emit_chunks(struct emission *e)
{
    struct error why = {.offset = NO_OFFSET}, *outer = e->err;
    struct hdf5_chunks list = {0};
    if (!e->nbytes)
        return emit_run(e);
    e->err = &why;
    enum status status = describe_chunks(e, &list);
    e->err = outer;
    if (status != OK) {
        status = without_data(e, &why);
    } else {
        e->claim.storage = STORAGE_CHUNKS;
        e->claim.codec = *e->chain ? e->chain : NULL;
        e->claim.grid = &e->grid;
        status = emit_dataset(e);
    }
    free(list.at);
    return status;
}

/* --- all ---------------------------------------------------------------------------------- */

static enum status emit_strings(struct emission *e)
{
    struct error why = {.offset = NO_OFFSET};
    struct bytes all;
    struct extent *x = arena_alloc(e->job->arena, sizeof(*x));
    if (!x)
        return emission_no_memory(e);
    if (hdf5_tree_strings(e->tree, &e->d, e->elements, &all, &why) != OK)
        return without_data(e, &why);
    *x = (struct extent){.file = e->tree->file, .stored = all.len, .bytes = all.at};
    e->claim.storage = STORAGE_INLINE;
    e->claim.stored = all.len;
    e->claim.codec = "strings:vlen";
    e->claim.extents = x;
    e->claim.extent_count = 1;
    e->nbytes = all.len;
    return emit_dataset(e);
}

/* Take the dtype of the dataset's type. Opaque bytes have the one that their attribute "dtype"
 * states, if its size fits: opaque elements of 2 bytes may be "bfloat16". Unknown names are
 * copied into the job. */
static enum status take_dtype(struct emission *e, const char *stated)
{
    struct dtype known;
    const struct hdf5_type *t = &e->d.type;
    if (t->class == HDF5_RAW && stated) {
        dtype_find(stated, &known);
        if (dtype_sized(&known) && known.block_elems == 1 && known.block_bytes == t->item &&
            known.bits == t->item * 8 && known.name != stated) {
            e->claim.dtype = known.name;
            return OK;
        }
    }
    dtype_find(t->dtype, &known);
    e->claim.dtype =
        known.name != t->dtype ? known.name : arena_copy(e->job->arena, t->dtype, strlen(t->dtype));
    return e->claim.dtype ? OK : emission_no_memory(e);
}

static enum status check_kind(struct emission *e, bool *left)
{
    char why[160];
    const struct hdf5_type *t = &e->d.type;
    *left = true;
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
    *left = false;
    return OK;
}

enum status hdf5_tree_tensor(struct hdf5_tree *t, const struct hdf5_object *o, struct arena *arena,
                             struct error *err)
{
    const char *dtype = NULL;
    bool left;
    struct emission e = {.tree = t, .job = t->job, .arena = arena, .err = err};
    const struct hdf5_space *s = &e.d.space;
    e.claim = (struct tensor_claim){.name = t->name.at, .name_len = t->name.len};
    if (hdf5_dataset(&t->h, o, arena, &e.d, err) != OK ||
        hdf5_tree_facts(t, o, arena, &dtype, err) != OK || check_kind(&e, &left) != OK || left)
        return err->status;
    memcpy(e.shape, s->shape, s->rank * sizeof(*s->shape));
    memcpy(e.shape + s->rank, e.d.type.shape, e.d.type.rank * sizeof(*s->shape));
    e.claim.shape = e.shape;
    e.claim.rank = s->rank + e.d.type.rank;
    if (take_dtype(&e, dtype) != OK)
        return err->status;
    if (!shape_elements(e.shape, e.claim.rank, &e.elements) ||
        !mul_u64(e.elements, e.d.type.item, &e.nbytes)) {
        struct error why = {.offset = NO_OFFSET};
        error_set(&why, ERR_CORRUPT, t->path, NO_OFFSET, "more elements than can be counted");
        return without_data(&e, &why);
    }
    if (e.d.type.class == HDF5_VLEN_TEXT)
        return emit_strings(&e);
    return e.d.layout == HDF5_CHUNKED ? emit_chunks(&e) : emit_run(&e);
}
