/*
 * hdf5_btree.c - B-trees.
 *
 *   1   "TREE", type, level, u16 entries, two siblings, then a key and a child each, and a last
 *       key
 *   2   "BTHD" (type, node and record sizes, depth, the root and its records), "BTIN" (records,
 *       then for each child its address, its number of records, and, unless it is a leaf, the
 *       total below it), "BTLF" (records); all with checksums
 *
 * A child's level must be one less than its parent's, so cycles are impossible; the read budget
 * limits trees that refer to the same nodes often.
 */
#include "importer/format/hdf5/hdf5_private.h"

#include <stdlib.h>
#include <string.h>

#define DEPTH_MAX   32
#define NODE2_HEAD  6  /* signature, version, type */
#define NODE2_EXTRA 10 /* these and the checksum */

/* --- version 1 ---------------------------------------------------------------------------- */

struct tree1 {
    struct hdf5 *h;
    unsigned type;
    size_t key_bytes;
    struct hdf5_visitor visitor;
    struct error *err;
};

static enum status visit_leaf1(const struct tree1 *t, struct bytes entries, size_t each)
{
    for (size_t at = 0; at + each <= entries.len && t->err->status == OK; at += each)
        t->visitor.visit(t->visitor.context, (struct bytes){entries.at + at, each}, t->err);
    return t->err->status;
}

static enum status walk_tree1(const struct tree1 *t, uint64_t address, unsigned level);

static enum status visit_children1(const struct tree1 *t, struct bytes entries, size_t each,
                                   unsigned level)
{
    for (size_t at = 0; at + each <= entries.len && t->err->status == OK; at += each) {
        struct cursor c =
            cursor_over((struct bytes){entries.at + at + t->key_bytes, each - t->key_bytes}, 0);
        walk_tree1(t, hdf5_address(t->h, &c), level - 1);
    }
    return t->err->status;
}

/* `level` is what the parent expects; UINT32_MAX: any level. */
static enum status walk_tree1(const struct tree1 *t, uint64_t address, unsigned level)
{
    struct hdf5 *h = t->h;
    struct arena arena = {0};
    struct bytes entries;
    uint8_t head[8];
    size_t each = t->key_bytes + h->offset_bytes;
    if (hdf5_read(h, address, head, sizeof(head), t->err) != OK)
        return t->err->status;
    if (memcmp(head, "TREE", 4) != 0 || head[4] != t->type)
        return hdf5_corrupt(h, t->err, address, "no node of such a B-tree");
    if ((level != UINT32_MAX && head[5] != level) || head[5] > DEPTH_MAX)
        return hdf5_corrupt(h, t->err, address, "a B-tree node of the wrong level");
    uint64_t len = (uint64_t)load_u16le(head + 6) * each;
    if (hdf5_take(h, address + sizeof(head) + 2 * (uint64_t)h->offset_bytes, len, &arena, &entries,
                  t->err) == OK) {
        if (head[5])
            visit_children1(t, entries, each, head[5]);
        else
            visit_leaf1(t, entries, each);
    }
    arena_release(&arena);
    return t->err->status;
}

enum status hdf5_tree1(struct hdf5 *h, uint64_t address, unsigned type, size_t key_bytes,
                       struct hdf5_visitor visitor, struct error *err)
{
    struct tree1 t = {h, type, key_bytes, visitor, err};
    return walk_tree1(&t, address, UINT32_MAX);
}

/* --- version 2 ---------------------------------------------------------------------------- */

struct tree2 {
    struct hdf5 *h;
    unsigned type, depth;
    uint64_t record, node;             /* sizes in bytes */
    unsigned count_bytes;              /* width of a child's number of records */
    unsigned all_bytes[DEPTH_MAX + 1]; /* width of all records below, by depth */
    struct hdf5_visitor visitor;
    struct error *err;
};

static size_t pointer_bytes(const struct tree2 *t, unsigned depth)
{
    return t->h->offset_bytes + t->count_bytes + t->all_bytes[depth - 1];
}

/* Compute the widths of the counts in internal nodes: just enough for the most records
 * that nodes of this size can hold. */
static void hdf5_tree_measure(struct tree2 *t)
{
    uint64_t most = t->node > NODE2_EXTRA ? (t->node - NODE2_EXTRA) / t->record : 0;
    uint64_t all = most;
    t->count_bytes = hdf5_width(most);
    t->all_bytes[0] = 0;
    for (unsigned d = 1; d <= t->depth; d++) {
        uint64_t pointer = pointer_bytes(t, d), sum;
        uint64_t room = t->node > NODE2_EXTRA + pointer ? t->node - NODE2_EXTRA - pointer : 0;
        uint64_t here = room / (t->record + pointer);
        if (!mul_u64(here + 1, all, &sum) || !add_u64(sum, here, &all))
            all = UINT64_MAX;
        t->all_bytes[d] = hdf5_width(all);
    }
}

static enum status walk_tree2(const struct tree2 *t, uint64_t address, uint64_t count,
                              unsigned depth);

static enum status visit_children2(const struct tree2 *t, struct cursor *c, uint64_t count,
                                   unsigned depth)
{
    for (uint64_t i = 0; i <= count && t->err->status == OK; i++) {
        uint64_t child = hdf5_address(t->h, c), records = hdf5_number(c, t->count_bytes);
        hdf5_number(c, t->all_bytes[depth - 1]);
        if (cursor_ok(c))
            walk_tree2(t, child, records, depth - 1);
    }
    return t->err->status;
}

static enum status walk_tree2(const struct tree2 *t, uint64_t address, uint64_t count,
                              unsigned depth)
{
    struct hdf5 *h = t->h;
    struct arena arena = {0};
    struct bytes all;
    uint64_t len, children = depth ? (count + 1) * pointer_bytes(t, depth) : 0;
    if (count > t->node || !mul_u64(count, t->record, &len) ||
        !add_u64(len, NODE2_EXTRA + children, &len) || len > t->node)
        return hdf5_corrupt(h, t->err, address, "more records than a B-tree node has room for");
    if (hdf5_take_summed(h, (struct hdf5_part){address, len, depth ? "BTIN" : "BTLF"}, &arena, &all,
                         t->err) == OK) {
        struct cursor c = hdf5_cursor(h, all, address);
        cursor_take(&c, NODE2_HEAD);
        if (all.at[5] != t->type)
            hdf5_corrupt(h, t->err, address, "a node of another B-tree");
        for (uint64_t i = 0; i < count && t->err->status == OK; i++)
            t->visitor.visit(t->visitor.context, cursor_take(&c, t->record), t->err);
        if (depth && t->err->status == OK)
            visit_children2(t, &c, count, depth);
    }
    arena_release(&arena);
    return t->err->status;
}

enum status hdf5_tree2(struct hdf5 *h, uint64_t address, unsigned type, struct hdf5_visitor visitor,
                       struct error *err)
{
    struct arena arena = {0};
    struct bytes head = {0};
    struct tree2 t = {.h = h, .visitor = visitor, .err = err};
    uint64_t len = 4 + 1 + 1 + 4 + 2 + 2 + 1 + 1 + h->offset_bytes + 2 + h->length_bytes + 4;
    if (hdf5_take_summed(h, (struct hdf5_part){address, len, "BTHD"}, &arena, &head, err) != OK) {
        arena_release(&arena);
        return err->status;
    }
    struct cursor c = hdf5_cursor(h, head, address);
    cursor_take(&c, 5);
    t.type = cursor_u8(&c);
    t.node = cursor_u32le(&c);
    t.record = cursor_u16le(&c);
    t.depth = cursor_u16le(&c);
    cursor_take(&c, 2);
    uint64_t root = hdf5_address(h, &c), count = cursor_u16le(&c);
    arena_release(&arena);
    if (t.type != type || !t.record || t.depth > DEPTH_MAX)
        return hdf5_corrupt(h, err, address, "no B-tree of this kind");
    hdf5_tree_measure(&t);
    return root == HDF5_UNDEFINED ? OK : walk_tree2(&t, root, count, t.depth);
}
