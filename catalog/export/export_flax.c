/*
 * export_flax.c - the msgpack file that flax.serialization reads: nested maps; each '/' in a name is one
 * level.
 *
 *   map     0xdf, u32be entries: key, value, ...   lists are maps with keys "0", "1", ...
 *   array   0xc9, u32be length, type 1:            then a msgpack value of that length:
 *           [[2, 3], "float32", bytes]             C order, little-endian
 *
 * Sources: flax/serialization.py, _ndarray_to_bytes; the msgpack specification. Flax writes
 * arrays above 1 GiB in pieces, but also reads them whole.
 */
#include <string.h>

#include "catalog/export/export_layout.h"

#define RANK_MAX   64 /* of NumPy */
#define COUNT_SIZE 4
#define ARRAY_TYPE 1

/* --- what can be held ------------------------------------------------------------------- */

/* Dtypes that numpy.dtype() finds by name when ml_dtypes is imported. */
static bool has_dtype(const struct dtype *d)
{
    bool number = d->kind == DTYPE_BOOL || d->kind == DTYPE_INT || d->kind == DTYPE_UINT ||
                  d->kind == DTYPE_FLOAT || d->kind == DTYPE_COMPLEX;
    return number && d->block_elems == 1 && strchr(d->name, 'q') == NULL &&
           strcmp(d->name, "complex32") != 0;
}

static bool export_flax_holds(const struct export_tensor *t, struct text *why, const char **instead)
{
    if (t->rank > RANK_MAX)
        return !text_addf(why, "%u dimensions; NumPy has at most %d", t->rank, RANK_MAX);
    if (!has_dtype(&t->to)) {
        *instead = export_dtype_instead(&t->to);
        return !text_adds(why, "NumPy and ml_dtypes have no such dtype");
    }
    if (t->nbytes > UINT32_MAX - 2048) /* room for the shape and the dtype's name */
        return !text_adds(why, "an array of msgpack has less than 4 GiB");
    return true;
}

/* --- values ----------------------------------------------------------------------------- */

static void add_u32(struct text *out, uint8_t tag, uint64_t value)
{
    uint8_t bytes[1 + COUNT_SIZE] = {tag};
    store_u32be(bytes + 1, (uint32_t)value);
    text_add(out, bytes, sizeof(bytes));
}

static void add_str(struct text *out, const char *at, size_t len)
{
    if (len < 32)
        text_addc(out, (char)(0xa0 | len));
    else
        add_u32(out, 0xdb, len);
    text_add(out, at, len);
}

static void add_uint(struct text *out, uint64_t value)
{
    uint8_t bytes[9] = {0xcf};
    store_u64be(bytes + 1, value);
    if (value < 128)
        text_addc(out, (char)value);
    else
        text_add(out, bytes, sizeof(bytes));
}

/* An array up to its data, which follows. */
static void add_array(struct text *out, const struct export_tensor *t)
{
    struct text about = {0};
    text_addc(&about, (char)0x93); /* a list of three: shape, dtype, bytes */
    text_addc(&about, (char)0xdc); /* a list with a 16-bit length: the shape */
    text_addc(&about, 0);
    text_addc(&about, (char)t->rank);
    for (unsigned d = 0; d < t->rank; d++)
        add_uint(&about, t->shape[d]);
    add_str(&about, t->to.name, strlen(t->to.name));
    add_u32(&about, 0xc6, t->nbytes);
    add_u32(out, 0xc9, about.len + t->nbytes);
    text_addc(out, ARRAY_TYPE);
    text_add(out, about.at, about.len);
    out->failed = out->failed || about.failed;
    text_release(&about);
}

/* --- the tree --------------------------------------------------------------------------- */

/* A map that may get more entries. */
struct open_map {
    uint64_t count_at; /* offset of its number of entries in the file */
    uint32_t entries;
};

struct flax_tree {
    struct export_layout *l;
    struct open_map *map; /* the open maps, from the root down */
    size_t depth, space;
    struct text text;
    const char *before; /* name of the previous tensor; NULL: none */
};

static void open_map(struct flax_tree *tree)
{
    struct export_layout *l = tree->l;
    text_addc(&tree->text, (char)0xdf);
    lay_add(l, &tree->text);
    PUSH(l->arena, tree->map, tree->depth, tree->space)->count_at = l->at;
    lay_zeros(l, COUNT_SIZE);
}

/* Close maps until `depth` are open, and fill in their numbers of entries. */
static void close_maps(struct flax_tree *tree, size_t depth)
{
    uint8_t count[COUNT_SIZE];
    while (lay_ok(tree->l) && tree->depth > depth) {
        const struct open_map *map = &tree->map[--tree->depth];
        store_u32be(count, map->entries);
        lay_fill(tree->l, map->count_at, count, sizeof(count));
    }
}

static void put_key(struct flax_tree *tree, const char *at, size_t len)
{
    tree->map[tree->depth - 1].entries++;
    add_str(&tree->text, at, len);
}

static void put_leaf(struct flax_tree *tree, struct export_tensor *t)
{
    const char *part = t->name, *end, *before = tree->before;
    size_t depth = 0; /* maps below the root that contain the previous tensor, too */
    for (size_t i = 0; before && before[i] && before[i] == t->name[i]; i++)
        depth += before[i] == '/';
    close_maps(tree, depth + 1);
    for (size_t i = 0; i < depth; i++)
        part = strchr(part, '/') + 1;
    for (; lay_ok(tree->l) && (end = strchr(part, '/')); part = end + 1) {
        put_key(tree, part, (size_t)(end - part));
        open_map(tree);
    }
    if (!lay_ok(tree->l))
        return;
    put_key(tree, part, strlen(part));
    add_array(&tree->text, t);
    lay_add(tree->l, &tree->text);
    lay_tensor(tree->l, t);
    tree->before = t->name;
}

static void export_flax_lay_out(struct export_layout *l)
{
    struct flax_tree tree = {.l = l};
    struct export_tensor **order = export_order(l->plan, export_by_tree, l->err);
    lay_file(l, l->path);
    if (lay_ok(l) && !*order[0]->name) { /* alone: the file is the array, without a map */
        add_array(&tree.text, order[0]);
        lay_add(l, &tree.text);
        lay_tensor(l, order[0]);
    } else if (lay_ok(l)) {
        open_map(&tree);
        for (size_t i = 0; i < l->plan->count && lay_ok(l); i++)
            put_leaf(&tree, order[i]);
        close_maps(&tree, 0);
    }
    text_release(&tree.text);
}

const struct exporter exporter_flax = {
    .name = "flax",
    .suffix = ".msgpack",
    .summary = "Flax's msgpack, as flax.serialization reads it",
    .holds = export_flax_holds,
    .check = export_check_tree,
    .lay_out = export_flax_lay_out,
};
