/*
 * ocdbt_tree.c - the nodes and the manifest of a store, each in a frame:
 *
 *   u32be magic, u64le length of the frame, varint version 0, varint 0: not compressed,
 *   body, u32le CRC-32C of all before it
 *
 * A body has its fields as columns: all lengths of keys, then all keys, and so on. Keys share their
 * beginnings with the key before; children have whole keys (no prefix is common to a subtree).
 */
#include "catalog/export/format/ocdbt_tree.h"

#include <stdlib.h>
#include <string.h>

#include "catalog/data/kernel/crc32c.h"

#define MAGIC_MANIFEST UINT32_C(0x0CDB3A2A)
#define MAGIC_NODE     UINT32_C(0x0CDB20DE)
#define NODE_ENTRIES   1024
#define INLINE_MAX     1048576 /* bytes of a value; what Orbax allows */
#define NODE_BYTES     100000000
#define ARITY_LOG2     4
#define UUID           "ckptdb export 01" /* 16 bytes */

/* A key, and its value: inline, a range of the data file, or a node there. */
struct ocdbt_entry {
    const char *key;
    const void *value; /* NULL: a range, or a node */
    uint64_t offset, len;
    uint64_t keys, tree_bytes, value_bytes; /* of a node */
};

/* Begin a frame, whose length is filled in by end_frame(). */
static void begin_frame(struct text *out, uint32_t magic)
{
    uint8_t head[14] = {0};
    store_u32be(head, magic);
    text_add(out, head, sizeof(head));
}

static void end_frame(struct export_layout *l, struct text *out)
{
    uint8_t sum[4] = {0};
    if (!out->failed) {
        store_u64le((uint8_t *)out->at + 4, out->len + sizeof(sum));
        store_u32le(sum, crc32c_extend(0, out->at, out->len));
    }
    text_add(out, sum, sizeof(sum));
    lay_add(l, out);
}

/* The table of data files: one. */
static void add_files(struct text *out)
{
    text_varint(out, 1);
    text_varint(out, strlen(OCDBT_DATA_FILE));
    text_varint(out, 0); /* no base path */
    text_adds(out, OCDBT_DATA_FILE);
}

static size_t shared_with(const struct ocdbt_entry *e, const struct ocdbt_entry *before)
{
    size_t len = 0;
    while (before->key[len] && before->key[len] == e->key[len])
        len++;
    return len;
}

static void add_keys(struct text *out, const struct ocdbt_entry *e, size_t count, bool leaf)
{
    for (size_t i = 1; i < count; i++)
        text_varint(out, shared_with(&e[i], &e[i - 1]));
    for (size_t i = 0; i < count; i++)
        text_varint(out, strlen(e[i].key) - (i ? shared_with(&e[i], &e[i - 1]) : 0));
    for (size_t i = 0; i < count && !leaf; i++)
        text_varint(out, 0); /* bytes that a subtree has in common */
    for (size_t i = 0; i < count; i++)
        text_adds(out, e[i].key + (i ? shared_with(&e[i], &e[i - 1]) : 0));
}

static void add_values(struct text *out, const struct ocdbt_entry *e, size_t count)
{
    for (size_t i = 0; i < count; i++)
        text_varint(out, e[i].len);
    for (size_t i = 0; i < count; i++)
        text_addc(out, e[i].value ? 0 : 1);
    for (size_t i = 0; i < count; i++)
        if (!e[i].value)
            text_varint(out, 0); /* the file */
    for (size_t i = 0; i < count; i++)
        if (!e[i].value)
            text_varint(out, e[i].offset);
    for (size_t i = 0; i < count; i++)
        if (e[i].value)
            text_add(out, e[i].value, (size_t)e[i].len);
}

static void add_child_nodes(struct text *out, const struct ocdbt_entry *e, size_t count)
{
    for (size_t i = 0; i < count; i++)
        text_varint(out, 0); /* the file */
    for (size_t i = 0; i < count; i++)
        text_varint(out, e[i].offset);
    for (size_t i = 0; i < count; i++)
        text_varint(out, e[i].len);
    for (size_t i = 0; i < count; i++)
        text_varint(out, e[i].keys);
    for (size_t i = 0; i < count; i++)
        text_varint(out, e[i].tree_bytes);
    for (size_t i = 0; i < count; i++)
        text_varint(out, e[i].value_bytes);
}

/* Lay out a node, and return the entry that refers to it. */
static struct ocdbt_entry put_node(struct export_layout *l, struct text *out, unsigned height,
                                   const struct ocdbt_entry *e, size_t count)
{
    struct ocdbt_entry node = {.key = e->key, .offset = l->at};
    begin_frame(out, MAGIC_NODE);
    text_addc(out, (char)height);
    add_files(out);
    text_varint(out, count);
    add_keys(out, e, count, height == 0);
    if (height)
        add_child_nodes(out, e, count);
    else
        add_values(out, e, count);
    end_frame(l, out);
    node.len = node.tree_bytes = l->at - node.offset;
    for (size_t i = 0; i < count; i++) {
        node.keys += height ? e[i].keys : 1;
        node.tree_bytes += e[i].tree_bytes;
        node.value_bytes += height ? e[i].value_bytes : e[i].value ? 0 : e[i].len;
    }
    return node;
}

static void put_manifest(struct export_layout *l, struct text *out, unsigned height,
                         const struct ocdbt_entry *root)
{
    uint8_t time[8];
    lay_file(l, "manifest.ocdbt");
    begin_frame(out, MAGIC_MANIFEST);
    text_add(out, UUID, 16);
    text_addc(out, 0); /* the versions follow */
    text_varint(out, INLINE_MAX);
    text_varint(out, NODE_BYTES);
    text_addc(out, ARITY_LOG2);
    text_varint(out, 0); /* nodes are not compressed */
    add_files(out);
    text_varint(out, 1); /* one version, */
    text_varint(out, 1); /* generation 1 */
    text_addc(out, (char)height);
    const uint64_t fields[] = {0,          root->offset,     root->len,
                               root->keys, root->tree_bytes, root->value_bytes};
    for (size_t i = 0; i < sizeof(fields) / sizeof(fields[0]); i++)
        text_varint(out, fields[i]);
    store_u64le(time, 1);
    text_add(out, time, sizeof(time));
    text_varint(out, 0); /* no older versions */
    end_frame(l, out);
}

static int by_entry_key(const void *a, const void *b)
{
    return strcmp(((const struct ocdbt_entry *)a)->key, ((const struct ocdbt_entry *)b)->key);
}

static struct ocdbt_entry *new_entry(struct ocdbt_tree *tree, const char *key)
{
    struct arena *arena = tree->l->arena;
    struct ocdbt_entry *e = PUSH(arena, tree->entry, tree->count, tree->space);
    *e = (struct ocdbt_entry){.key = arena_copy(arena, key, strlen(key))};
    return e;
}

void ocdbt_add(struct ocdbt_tree *tree, const char *key, const void *value, size_t len)
{
    struct ocdbt_entry *e = new_entry(tree, key);
    e->value = arena_copy(tree->l->arena, value, len);
    e->len = len;
}

void ocdbt_add_range(struct ocdbt_tree *tree, const char *key, uint64_t offset, uint64_t len)
{
    struct ocdbt_entry *e = new_entry(tree, key);
    e->offset = offset;
    e->len = len;
}

/* Level by level, the nodes of one take the place of their entries. */
void ocdbt_finish(struct ocdbt_tree *tree)
{
    struct export_layout *l = tree->l;
    struct ocdbt_entry *e = tree->entry;
    struct text out = {0};
    size_t count = tree->count;
    unsigned height = 0;
    if (!lay_ok(l) || !count)
        return;
    qsort(e, count, sizeof(*e), by_entry_key);
    for (;; height++) {
        size_t nodes = 0;
        for (size_t i = 0; i < count && lay_ok(l); i += NODE_ENTRIES)
            e[nodes++] = put_node(l, &out, height, e + i,
                                  count - i < NODE_ENTRIES ? count - i : NODE_ENTRIES);
        count = nodes;
        if (count <= 1)
            break;
    }
    put_manifest(l, &out, height, e);
    text_release(&out);
}
