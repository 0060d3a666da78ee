#include "catalog/export/format/msgpack_tree.h"

#include <string.h>

#define RANK_MAX   64 /* of NumPy */
#define COUNT_SIZE 4
#define ARRAY_TYPE 1

/* --- what can be held ------------------------------------------------------------------- */

bool msgpack_has_dtype(const struct dtype *d)
{
    bool number = d->kind == DTYPE_BOOL || d->kind == DTYPE_INT || d->kind == DTYPE_UINT ||
                  d->kind == DTYPE_FLOAT || d->kind == DTYPE_COMPLEX;
    return number && d->block_elems == 1 && strchr(d->name, 'q') == NULL &&
           strcmp(d->name, "complex32") != 0;
}

bool msgpack_holds_name(const char *name, struct text *why)
{
    static const char marker[] =
        "__msgpack_chunked_array__"; /* by which Flax tells arrays in pieces */
    for (size_t len; *name; name += len + (name[len] == '/')) {
        len = strcspn(name, "/");
        if (len == sizeof(marker) - 1 && memcmp(name, marker, len) == 0)
            return !text_adds(why, "Flax keeps a part of its name for itself (--rename, --map)");
    }
    return true;
}

bool msgpack_holds(const struct export_tensor *t, struct text *why, const char **instead)
{
    if (!msgpack_holds_name(t->name, why))
        return false;
    if (t->rank > RANK_MAX)
        return !text_addf(why, "%u dimensions; NumPy has at most %d", t->rank, RANK_MAX);
    if (!msgpack_has_dtype(&t->to)) {
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

void msgpack_string(struct text *out, const char *at, size_t len)
{
    if (len < 32)
        text_addc(out, (char)(0xa0 | len));
    else
        add_u32(out, 0xdb, len);
    text_add(out, at, len);
}

void msgpack_number(struct text *out, uint64_t value)
{
    uint8_t bytes[9] = {0xcf};
    store_u64be(bytes + 1, value);
    if (value < 128)
        text_addc(out, (char)value);
    else
        text_add(out, bytes, sizeof(bytes));
}

void msgpack_numbers(struct text *out, const uint64_t *values, unsigned count)
{
    text_addc(out, (char)0xdc); /* a list with a 16-bit length */
    text_addc(out, (char)(count >> 8));
    text_addc(out, (char)count);
    for (unsigned i = 0; i < count; i++)
        msgpack_number(out, values[i]);
}

void msgpack_array(struct text *out, const struct export_tensor *t)
{
    struct text about = {0};
    text_addc(&about, (char)0x93); /* a list of three: shape, dtype, bytes */
    msgpack_numbers(&about, t->shape, t->rank);
    msgpack_string(&about, t->to.name, strlen(t->to.name));
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

void msgpack_tree_open(struct msgpack_tree *tree)
{
    struct export_layout *l = tree->l;
    text_addc(&tree->text, (char)0xdf);
    lay_add(l, &tree->text);
    PUSH(l->arena, tree->map, tree->depth, tree->space)->count_at = l->at;
    lay_zeros(l, COUNT_SIZE);
}

/* Close maps until `depth` are open, and fill in their numbers of entries. */
static void close_maps(struct msgpack_tree *tree, size_t depth)
{
    uint8_t count[COUNT_SIZE];
    while (lay_ok(tree->l) && tree->depth > depth) {
        const struct open_map *map = &tree->map[--tree->depth];
        store_u32be(count, map->entries);
        lay_fill(tree->l, map->count_at, count, sizeof(count));
    }
}

static void put_key(struct msgpack_tree *tree, const char *at, size_t len)
{
    tree->map[tree->depth - 1].entries++;
    msgpack_string(&tree->text, at, len);
}

void msgpack_tree_key(struct msgpack_tree *tree, const char *name)
{
    const char *part = name, *end, *before = tree->before;
    size_t depth = 0; /* maps below the root that contain the previous name, too */
    for (size_t i = 0; before && before[i] && before[i] == name[i]; i++)
        depth += before[i] == '/';
    close_maps(tree, depth + 1);
    for (size_t i = 0; i < depth; i++)
        part = strchr(part, '/') + 1;
    for (; lay_ok(tree->l) && (end = strchr(part, '/')); part = end + 1) {
        put_key(tree, part, (size_t)(end - part));
        msgpack_tree_open(tree);
    }
    if (lay_ok(tree->l))
        put_key(tree, part, strlen(part));
    tree->before = name;
}

void msgpack_tree_close(struct msgpack_tree *tree)
{
    close_maps(tree, 0);
    text_release(&tree->text);
}
