/*
 * export_hdf5.c - an HDF5 file: a group for each '/' of a name, a dataset a tensor, contiguous or in chunks, metadata as
 * attributes of the root.
 *
 * The superblock is written last, since it says where the root is. Then follow, in the order of the tree,
 * each tensor's data and header, and behind its members each group:
 *
 *   "HEAP"   the members' names
 *   "SNOD"   8 members at most, in the order of their names: where each name and header is
 *   "TREE"   32 of these at most, or of trees; the nodes of one level follow each other
 *   header   where tree and heap are (hdf5_header.h)
 *
 * Everything is at multiples of 8, data at multiples of 64. If a tensor is in chunks, "TREE"s of chunks replace
 * its data; the chunks follow behind all this, at any byte. This is the form of the library's version 1.0,
 * which every version reads.
 *
 * Source: HDF5 File Format Specification 3.0, sections II.A (superblock 0), III.A.1 (B-trees of version 1),
 * III.B to III.E, IV.A.2.i and l (layout, filters).
 */
#include <string.h>

#include "catalog/data/codec/codec.h"
#include "catalog/export/chunk_runs.h"
#include "catalog/export/export_layout.h"
#include "catalog/export/format/hdf5_header.h"
#include "catalog/export/format/zarr_node.h"

#define ALIGNMENT   64
#define SUPERBLOCK  96
#define LEAF_K      4 /* half of the members of a node, */
#define TREE_K      16
#define CHUNK_K     32 /* the same, where a superblock does not say another number */
#define LEAF_MOST   ((size_t)2 * LEAF_K)
#define LEAF_SIZE   (8 + LEAF_MOST * 40)
#define TREE_HEAD   24
#define AUTO_BYTES  ((uint64_t)1 << 20) /* of a chunk: the library's cache of a dataset */
#define CHUNK_BYTES ((uint64_t)1 << 30) /* at most */
#define CHUNKS_MOST ((uint64_t)1 << 24) /* of a tensor: where each lies is kept until the end */
#define HEAP_HEAD   32
#define NAME_MAX_H5 65535
#define NO_FREE     1 /* of a heap without a free block */

/* What a group holds; what a node of its tree refers to. */
struct hdf5_member {
    const char *name;
    size_t len;
    uint64_t at;      /* of its header */
    uint64_t name_at; /* of its name in the heap */
};

struct hdf5_group {
    const char *name;  /* its last part; the tensor's own text */
    size_t len, first; /* of its members in the list below */
};

struct hdf5_tree {
    struct export_layout *l;
    struct hdf5_group *group; /* the open ones, from the root down */
    size_t depth, group_space;
    struct hdf5_member *member; /* of all open groups, the inner ones' last */
    size_t members, member_space;
    struct {
        const char *name;
        uint64_t at;
    } dtype[16]; /* names of opaque ones, in heaps */
    size_t dtypes;
    struct hdf5_header header;
    struct text text;
    int level; /* of deflate; -1: none */
    bool chunked, shuffled;
    /* Requested for tensors of `rank`; others get a shape of our choice. */
    uint64_t chunk[CHUNK_RANK];
    unsigned rank;
};

static bool export_hdf5_holds(const struct export_tensor *t, struct text *why, const char **instead)
{
    for (const char *part = t->name;; part += strcspn(part, "/") + 1) {
        const size_t len = strcspn(part, "/");
        if (!len || (len == 1 && *part == '.'))
            return !text_adds(why,
                              "HDF5 has no objects with an empty name, or \".\" (--rename, --map)");
        if (!part[len])
            break;
    }
    if (strlen(t->name) > NAME_MAX_H5)
        return !text_addf(why, "its name has more than %d bytes (--rename, --map)", NAME_MAX_H5);
    if (t->rank > HDF5_RANK)
        return !text_addf(why, "%u dimensions; HDF5 has at most %d", t->rank, HDF5_RANK);
    if (hdf5_has_dtype(&t->to) || t->to.kind == DTYPE_STRING)
        return true;
    *instead = export_dtype_instead(&t->to);
    return !text_adds(why, "HDF5 has no such dtype");
}

/* --- groups ----------------------------------------------------------------------------- */

static void align(struct export_layout *l, unsigned to)
{
    lay_zeros(l, -l->at % to);
}

static void pad_to(struct text *out, size_t len)
{
    while (!out->failed && out->len < len)
        text_addc(out, 0);
}

/* The names, each with a zero and filled up to 8 bytes; the first is empty. */
static uint64_t put_heap(struct hdf5_tree *tree, struct hdf5_member *m, size_t count)
{
    const uint64_t at = tree->l->at;
    struct text *out = &tree->text;
    uint64_t size = HDF5_ALIGN;
    for (size_t i = 0; i < count; i++) {
        m[i].name_at = size;
        size += (m[i].len / HDF5_ALIGN + 1) * HDF5_ALIGN;
    }
    text_adds(out, "HEAP");
    text_le(out, 0, 4);
    text_le(out, size, 8);
    text_le(out, NO_FREE, 8);
    text_le(out, at + HEAP_HEAD, 8);
    text_le(out, 0, HDF5_ALIGN);
    for (size_t i = 0; i < count; i++) {
        text_add(out, m[i].name, m[i].len);
        pad_to(out, (size_t)(HEAP_HEAD + m[i].name_at + (m[i].len / HDF5_ALIGN + 1) * HDF5_ALIGN));
    }
    lay_add(tree->l, out);
    return at;
}

static void put_leaf_node(struct hdf5_tree *tree, const struct hdf5_member *m, size_t count)
{
    struct text *out = &tree->text;
    text_adds(out, "SNOD\1");
    text_le(out, 0, 1);
    text_le(out, count, 2);
    for (size_t i = 0; i < count; i++) {
        text_le(out, m[i].name_at, 8);
        text_le(out, m[i].at, 8);
        text_le(out, 0, 8); /* nothing is cached here */
        text_le(out, 0, 8);
        text_le(out, 0, 8);
    }
    pad_to(out, LEAF_SIZE);
    lay_add(tree->l, out);
}

/* What a tree finds: members of a group, or a tensor's chunks. */
struct hdf5_index {
    size_t count, most; /* entries of a node */
    uint64_t key_size;
    const struct hdf5_member *member;   /* or */
    const struct export_tensor *tensor; /* of the chunks */
};

/* Nodes that follow each other: bytes of one, and members below one. */
struct hdf5_level {
    uint64_t at, size;
    size_t span;
};

/* What lies between entry i - 1 and entry i: the name of the former, or where the latter begins. */
static void add_chunk_key(struct text *out, const struct hdf5_index *x, size_t i)
{
    uint64_t begin[CHUNK_RANK];
    if (x->member) {
        text_le(out, i ? x->member[i - 1].name_at : 0, 8);
        return;
    }
    text_le(out, i < x->count ? x->tensor->places[i].len : 0, 4);
    text_le(out, 0, 4); /* no filter was left out */
    chunk_begin(x->tensor, i, begin);
    for (unsigned d = 0; d < x->tensor->rank; d++)
        text_le(out, begin[d], 8);
    text_le(out, 0, 8);
}

/* The nodes of a level. */
static void put_level(struct hdf5_tree *tree, const struct hdf5_index *x, unsigned level,
                      const struct hdf5_level *below, uint64_t size)
{
    struct text *out = &tree->text;
    const size_t span = below->span, count = (x->count + span - 1) / span;
    const uint64_t first = tree->l->at;
    for (size_t i = 0; (i < count || !i) && lay_ok(tree->l); i += x->most) {
        const size_t used = count - i < x->most ? count - i : x->most;
        text_adds(out, "TREE");
        text_le(out, !x->member, 1);
        text_le(out, level, 1);
        text_le(out, used, 2);
        text_le(out, i ? first + (i / x->most - 1) * size : HDF5_NOWHERE, 8);
        text_le(out, i + used < count ? first + (i / x->most + 1) * size : HDF5_NOWHERE, 8);
        for (size_t k = i; k < i + used; k++) {
            add_chunk_key(out, x, k * span);
            text_le(out, below->size ? below->at + k * below->size : x->tensor->places[k].at, 8);
        }
        if (used)
            add_chunk_key(out, x, (i + used) * span < x->count ? (i + used) * span : x->count);
        pad_to(out, (size_t)size);
        lay_add(tree->l, out);
    }
}

/* A tree above the level below; returns where its root is. */
static uint64_t put_tree(struct hdf5_tree *tree, const struct hdf5_index *x,
                         struct hdf5_level below)
{
    const uint64_t size = TREE_HEAD + x->key_size + x->most * (x->key_size + 8);
    for (unsigned level = 0;; level++) {
        const uint64_t at = tree->l->at;
        put_level(tree, x, level, &below, size);
        below = (struct hdf5_level){at, size, below.span * x->most};
        if (below.span >= x->count || !lay_ok(tree->l))
            return at;
    }
}

/* The tree that finds the members. */
static uint64_t put_nodes(struct hdf5_tree *tree, const struct hdf5_member *m, size_t count)
{
    const struct hdf5_index members = {count, (size_t)2 * TREE_K, 8, m, NULL};
    const struct hdf5_level leaves = {tree->l->at, LEAF_SIZE, LEAF_MOST};
    for (size_t i = 0; i < count; i += LEAF_MOST)
        put_leaf_node(tree, m + i, count - i < LEAF_MOST ? count - i : LEAF_MOST);
    return put_tree(tree, &members, leaves);
}

/* Lay out the innermost group, whose members are complete; where its header is. */
static uint64_t put_group(struct hdf5_tree *tree)
{
    const struct hdf5_group *group = &tree->group[tree->depth - 1];
    struct hdf5_member *m = tree->member + group->first;
    const size_t count = tree->members - group->first;
    const uint64_t heap = put_heap(tree, m, count), nodes = put_nodes(tree, m, count);
    const uint64_t at = tree->l->at;
    hdf5_symbol_table(&tree->header, nodes, heap);
    hdf5_header_end(&tree->header, &tree->text);
    lay_add(tree->l, &tree->text);
    tree->members = group->first;
    tree->depth--;
    return at;
}

static void add_member(struct hdf5_tree *tree, const char *name, size_t len, uint64_t at)
{
    *PUSH(tree->l->arena, tree->member, tree->members, tree->member_space) =
        (struct hdf5_member){name, len, at, 0};
}

static void open_group(struct hdf5_tree *tree, const char *name, size_t len)
{
    *PUSH(tree->l->arena, tree->group, tree->depth, tree->group_space) =
        (struct hdf5_group){name, len, tree->members};
}

static void close_groups(struct hdf5_tree *tree, size_t depth)
{
    while (lay_ok(tree->l) && tree->depth > depth) {
        const struct hdf5_group group = tree->group[tree->depth - 1];
        add_member(tree, group.name, group.len, put_group(tree));
    }
}

/* --- tensors ---------------------------------------------------------------------------- */

/* A heap with this text. */
static uint64_t put_heap_text(struct hdf5_tree *tree, const char *text)
{
    const uint64_t at = tree->l->at;
    hdf5_global_heap(&tree->text, text, strlen(text));
    lay_add(tree->l, &tree->text);
    return at;
}

/* Where the name of an opaque dtype is; there are a few. */
static uint64_t dtype_name_at(struct hdf5_tree *tree, const char *name)
{
    size_t i = 0;
    while (i < tree->dtypes && strcmp(tree->dtype[i].name, name) != 0)
        i++;
    if (i < tree->dtypes)
        return tree->dtype[i].at;
    const uint64_t at = put_heap_text(tree, name);
    if (i < sizeof(tree->dtype) / sizeof(tree->dtype[0])) {
        tree->dtype[tree->dtypes].name = name;
        tree->dtype[tree->dtypes++].at = at;
    }
    return at;
}

/* Strings as wide as the longest. */
struct hdf5_strings {
    struct export_layout *l;
    uint64_t width;
    bool odd; /* one that this width would make another */
};

static void measure_string(void *context, struct bytes string)
{
    struct hdf5_strings *s = context;
    s->width = string.len > s->width ? string.len : s->width;
    s->odd = s->odd || (string.len && !string.at[string.len - 1]) ||
             !utf8_valid((const char *)string.at, string.len);
}

static void put_string(void *context, struct bytes string)
{
    struct hdf5_strings *s = context;
    lay_text(s->l, string.at, string.len);
    lay_zeros(s->l, s->width - string.len);
}

static uint32_t put_text_rows(struct export_layout *l, struct export_tensor *t)
{
    struct hdf5_strings s = {.l = l, .width = 1};
    lay_each_string(l, t, measure_string, &s);
    if (lay_ok(l) && (s.odd || s.width > UINT32_MAX))
        error_set(l->err, ERR_UNSUPPORTED, t->checkpoint, NO_OFFSET,
                  "%s: a string %s; --where \"dtype <> 'string'\" leaves strings out", t->old_name,
                  s.odd ? "is not UTF-8, or ends with a zero" : "is too long for HDF5");
    lay_begin_strings(l, t);
    lay_each_string(l, t, put_string, &s);
    lay_end_strings(l, t);
    return (uint32_t)s.width;
}

/* --- chunks ----------------------------------------------------------------------------- */

static enum status hdf5_settings(const struct export_options *options, struct hdf5_tree *tree,
                                 struct error *err)
{
    const char *chunks = export_setting(options, "chunks"), *at = chunks;
    const char *deflate = export_setting(options, "deflate");
    const char *shuffle = export_setting(options, "shuffle");
    tree->level = -1;
    tree->shuffled = shuffle && strcmp(shuffle, "true") == 0;
    tree->chunked = chunks || deflate || tree->shuffled;
    if (shuffle && !tree->shuffled && strcmp(shuffle, "false") != 0)
        return error_set(err, ERR_ARGUMENT, NULL, NO_OFFSET,
                         "--option shuffle=%.60s: expected true or false", shuffle);
    if (deflate && !codec_level(deflate, 0, 9, &tree->level))
        return error_set(err, ERR_ARGUMENT, NULL, NO_OFFSET,
                         "--option deflate=%.60s: expected a level from 0 to 9", deflate);
    if (!chunks || strcmp(chunks, "auto") == 0)
        return OK;
    while (tree->rank < CHUNK_RANK && codec_take_number(&at, &tree->chunk[tree->rank]) &&
           tree->chunk[tree->rank++] && *at == ',')
        at++;
    if (!tree->rank || !tree->chunk[tree->rank - 1] || *at || at[-1] == ',')
        return error_set(err, ERR_ARGUMENT, NULL, NO_OFFSET,
                         "--option chunks=%.60s: expected auto, or a number for each dimension, "
                         "as 64,64",
                         chunks);
    return OK;
}

/* The shape of the tensor's chunks. */
static const uint64_t *cut_chunks(struct hdf5_tree *tree, struct export_tensor *t)
{
    static const struct zarr_how how = {.chunk_bytes = AUTO_BYTES};
    struct export_layout *l = tree->l;
    const bool asked = tree->rank == t->rank;
    uint64_t *chunk = arena_array(l->arena, t->rank, sizeof(*chunk)), elements = 1, bytes = 0;
    if (!lay_ok(l))
        return NULL;
    if (!asked)
        zarr_cut(&how, t, chunk);
    for (unsigned d = 0; d < t->rank && asked; d++)
        chunk[d] = tree->chunk[d] < t->shape[d] ? tree->chunk[d] : t->shape[d];
    for (unsigned d = 0; d < t->rank; d++)
        if (!mul_u64(elements, chunk[d], &elements))
            elements = UINT64_MAX;
    if (!dtype_nbytes(&t->to, elements, &bytes) || bytes > CHUNK_BYTES)
        error_set(l->err, ERR_UNSUPPORTED, t->checkpoint, NO_OFFSET,
                  "%s: a chunk would have more than 1 GiB", t->old_name);
    return lay_ok(l) ? chunk : NULL;
}

/* The tree of its chunks; where its root is. */
static uint64_t put_chunks(struct hdf5_tree *tree, struct export_tensor *t)
{
    const uint64_t *chunk = cut_chunks(tree, t);
    if (!chunk)
        return 0;
    t->chunk = chunk;
    if (chunk_count(t) > CHUNKS_MOST)
        error_set(tree->l->err, ERR_UNSUPPORTED, t->checkpoint, NO_OFFSET,
                  "%s: more than 16 million chunks; --option chunks=auto makes fewer", t->old_name);
    else
        lay_chunks(tree->l, t, chunk);
    if (!lay_ok(tree->l))
        return 0;
    const struct hdf5_index chunks = {(size_t)chunk_count(t), (size_t)2 * CHUNK_K,
                                      8 + (t->rank + 1U) * UINT64_C(8), NULL, t};
    return put_tree(tree, &chunks, (struct hdf5_level){.span = 1});
}

static void export_hdf5_piece_chain(const struct export_options *options,
                                    const struct export_tensor *t, struct text *out)
{
    struct error ignored = {.offset = NO_OFFSET}; /* lay_out() has checked them */
    struct hdf5_tree how = {.level = -1};
    hdf5_settings(options, &how, &ignored);
    if (how.shuffled)
        text_addf(out, "shuffle:%u", t->to.block_bytes);
    if (how.level >= 0)
        text_addf(out, "%szlib:%d", how.shuffled ? "|" : "", how.level);
}

/* --- datasets --------------------------------------------------------------------------- */

static void put_dataset(struct hdf5_tree *tree, struct export_tensor *t, const char *name)
{
    struct export_layout *l = tree->l;
    const bool chunked = tree->chunked && t->rank && t->nbytes;
    uint64_t chunks = 0;
    uint32_t width = 0;
    align(l, ALIGNMENT);
    t->lead_len = 0;
    if (t->to.kind == DTYPE_STRING)
        width = put_text_rows(l, t);
    else if (chunked)
        chunks = put_chunks(tree, t);
    else if (t->nbytes)
        lay_tensor(l, t);
    align(l, HDF5_ALIGN);
    if (!lay_ok(l))
        return;
    hdf5_dataspace(&tree->header, t);
    if (width)
        hdf5_text_type(&tree->header, width);
    else
        hdf5_datatype(&tree->header, &t->to);
    if (chunked) {
        hdf5_filters(&tree->header, tree->level, tree->shuffled, t->to.block_bytes);
        hdf5_chunked(&tree->header, t, chunks);
    } else {
        hdf5_contiguous(&tree->header, t->offset, t->nbytes + t->laid);
    }
    if (hdf5_is_opaque(&t->to))
        hdf5_attribute(&tree->header, "dtype", strlen(t->to.name), dtype_name_at(tree, t->to.name));
    add_member(tree, name, strlen(name), l->at);
    hdf5_header_end(&tree->header, &tree->text);
    lay_add(l, &tree->text);
}

static void export_hdf5_put_leaf(struct hdf5_tree *tree, struct export_tensor *t,
                                 const char *before)
{
    const char *part = t->name, *end;
    size_t depth = 1; /* the root, and groups that contain the previous tensor, too */
    for (size_t i = 0; before && before[i] && before[i] == t->name[i]; i++)
        depth += before[i] == '/';
    close_groups(tree, depth);
    for (size_t i = 1; i < depth; i++)
        part = strchr(part, '/') + 1;
    for (; (end = strchr(part, '/')); part = end + 1)
        open_group(tree, part, (size_t)(end - part));
    if (lay_ok(tree->l))
        put_dataset(tree, t, part);
}

/* --- the root --------------------------------------------------------------------------- */

static void put_superblock(struct hdf5_tree *tree, uint64_t root)
{
    struct text *out = &tree->text;
    text_add(out, "\x89HDF\r\n\x1a\n\0\0\0\0\0\x08\x08\0", 16);
    text_le(out, LEAF_K, 2);
    text_le(out, TREE_K, 2);
    text_le(out, 0, 4);
    text_le(out, 0, 8); /* where the file begins in itself */
    text_le(out, HDF5_NOWHERE, 8);
    text_le(out, tree->l->end, 8);
    text_le(out, HDF5_NOWHERE, 8);
    text_le(out, 0, 8); /* the root has no name */
    text_le(out, root, 8);
    pad_to(out, SUPERBLOCK);
    if (out->failed)
        error_memory_at(tree->l->err, tree->l->path);
    lay_fill(tree->l, 0, out->at, out->len);
    text_reset(out);
}

static void export_hdf5_lay_out(struct export_layout *l)
{
    struct hdf5_tree tree = {.l = l};
    struct export_tensor **order = export_order(l->plan, export_by_tree, l->err);
    hdf5_settings(l->options, &tree, l->err);
    lay_file(l, l->path);
    lay_zeros(l, SUPERBLOCK);
    open_group(&tree, "", 0);
    for (size_t i = 0; i < l->plan->count && lay_ok(l); i++)
        export_hdf5_put_leaf(&tree, order[i], i ? order[i - 1]->name : NULL);
    close_groups(&tree, 1);
    for (const char *const *pair = l->options->metadata; pair && *pair && lay_ok(l); pair += 2)
        hdf5_attribute(&tree.header, pair[0], strlen(pair[1]), put_heap_text(&tree, pair[1]));
    if (lay_ok(l))
        put_superblock(&tree, put_group(&tree));
    hdf5_header_release(&tree.header);
    text_release(&tree.text);
}

static const struct export_setting settings[] = {
    {"chunks", "auto|N,N,...", "in chunks, of this shape for tensors of as many dimensions"},
    {"deflate", "0..9", "compress chunks; not"},
    {"shuffle", "true|false", "sort the bytes of a chunk before; false"},
    {NULL, NULL, NULL},
};

static const char *const more_suffixes[] = {".hdf5", NULL};

const struct exporter exporter_hdf5 = {
    .name = "hdf5",
    .suffix = ".h5",
    .more_suffixes = more_suffixes,
    .summary = "HDF5, as h5py and Keras read it",
    .settings = settings,
    .keeps_metadata = true,
    .holds = export_hdf5_holds,
    .check = export_check_tree,
    .lay_out = export_hdf5_lay_out,
    .piece_chain = export_hdf5_piece_chain,
};
