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
#include "importer/format/hdf5/hdf5_read.h"

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
};

/* `level` is what the parent expects; UINT32_MAX: any level. */
static void walk_tree1(const struct tree1 *t, uint64_t address, unsigned level)
{
    struct hdf5 *h = t->h;
    struct arena arena = {.err = h->err};
    uint8_t head[8];
    size_t each = t->key_bytes + h->offset_bytes;
    if (hdf5_read(h, address, head, sizeof(head)) &&
        (memcmp(head, "TREE", 4) != 0 || head[4] != t->type))
        hdf5_corrupt(h, address, "no node of such a B-tree");
    if ((level != UINT32_MAX && head[5] != level) || head[5] > DEPTH_MAX)
        hdf5_corrupt(h, address, "a B-tree node of the wrong level");
    struct bytes entries = hdf5_take(h, address + sizeof(head) + 2 * (uint64_t)h->offset_bytes,
                                     (uint64_t)load_u16le(head + 6) * each, &arena);
    for (size_t at = t->key_bytes; h->foresees && at + h->offset_bytes <= entries.len; at += each) {
        struct cursor child = cursor_over((struct bytes){entries.at + at, h->offset_bytes}, 0);
        if (head[5] || !t->type) /* or a group's names; a chunk is data */
            hdf5_expect(h, hdf5_address(h, &child));
    }
    for (size_t at = 0; at + each <= entries.len && hdf5_ok(h); at += each) {
        struct bytes entry = {entries.at + at, each};
        struct cursor child =
            cursor_over((struct bytes){entry.at + t->key_bytes, each - t->key_bytes}, 0);
        if (head[5])
            walk_tree1(t, hdf5_address(h, &child), head[5] - 1u);
        else
            t->visitor.visit(t->visitor.context, entry);
    }
    arena_release(&arena);
}

void hdf5_tree1(struct hdf5 *h, uint64_t address, unsigned type, size_t key_bytes,
                struct hdf5_visitor visitor)
{
    walk_tree1(&(struct tree1){h, type, key_bytes, visitor}, address, UINT32_MAX);
}

/* --- version 2 ---------------------------------------------------------------------------- */

struct tree2 {
    struct hdf5 *h;
    unsigned type, depth;
    uint64_t record, node;             /* sizes in bytes */
    unsigned count_bytes;              /* width of a child's number of records */
    unsigned all_bytes[DEPTH_MAX + 1]; /* width of all records below, by depth */
    struct hdf5_visitor visitor;
};

static size_t pointer_bytes(const struct tree2 *t, unsigned depth)
{
    return t->h->offset_bytes + t->count_bytes + t->all_bytes[depth - 1];
}

static void walk_tree2(const struct tree2 *t, uint64_t address, uint64_t count, unsigned depth)
{
    struct hdf5 *h = t->h;
    struct arena arena = {.err = h->err};
    uint64_t len, children = depth ? (count + 1) * pointer_bytes(t, depth) : 0;
    if (count > t->node || !mul_u64(count, t->record, &len) ||
        !add_u64(len, NODE2_EXTRA + children, &len) || len > t->node) {
        hdf5_corrupt(h, address, "more records than a B-tree node has room for");
        return;
    }
    struct bytes all =
        hdf5_take_summed(h, (struct hdf5_part){address, len, depth ? "BTIN" : "BTLF"}, &arena);
    struct cursor c = hdf5_cursor(h, all, address);
    cursor_take(&c, NODE2_HEAD);
    if (all.at && all.at[5] != t->type)
        hdf5_corrupt(h, address, "a node of another B-tree");
    for (uint64_t i = 0; i < count && hdf5_ok(h); i++)
        t->visitor.visit(t->visitor.context, cursor_take(&c, t->record));
    for (uint64_t i = 0; depth && i <= count && hdf5_ok(h); i++) {
        uint64_t child = hdf5_address(h, &c), records = hdf5_number(&c, t->count_bytes);
        hdf5_number(&c, t->all_bytes[depth - 1]);
        if (cursor_ok(&c))
            walk_tree2(t, child, records, depth - 1);
    }
    arena_release(&arena);
}

void hdf5_tree2(struct hdf5 *h, uint64_t address, unsigned type, struct hdf5_visitor visitor)
{
    struct arena arena = {.err = h->err};
    struct tree2 t = {.h = h, .visitor = visitor};
    uint64_t len = 4 + 1 + 1 + 4 + 2 + 2 + 1 + 1 + h->offset_bytes + 2 + h->length_bytes + 4;
    struct bytes head = hdf5_take_summed(h, (struct hdf5_part){address, len, "BTHD"}, &arena);
    struct cursor c = hdf5_cursor(h, head, address);
    cursor_take(&c, 5);
    t.type = cursor_u8(&c);
    t.node = cursor_u32le(&c);
    t.record = cursor_u16le(&c);
    t.depth = cursor_u16le(&c);
    cursor_take(&c, 2);
    uint64_t root = hdf5_address(h, &c), count = cursor_u16le(&c);
    arena_release(&arena);
    if (t.type != type || !t.record || t.depth > DEPTH_MAX) {
        hdf5_corrupt(h, address, "no B-tree of this kind");
        return;
    }
    /* Compute the widths of the counts in internal nodes: just enough for the most records
     * that nodes of this size can hold. */
    uint64_t most = t.node > NODE2_EXTRA ? (t.node - NODE2_EXTRA) / t.record : 0;
    uint64_t all = most;
    t.count_bytes = hdf5_width(most);
    t.all_bytes[0] = 0;
    for (unsigned d = 1; d <= t.depth; d++) {
        uint64_t pointer = pointer_bytes(&t, d), sum;
        uint64_t room = t.node > NODE2_EXTRA + pointer ? t.node - NODE2_EXTRA - pointer : 0;
        uint64_t here = room / (t.record + pointer);
        if (!mul_u64(here + 1, all, &sum) || !add_u64(sum, here, &all))
            all = UINT64_MAX;
        t.all_bytes[d] = hdf5_width(all);
    }
    if (root != HDF5_UNDEFINED)
        walk_tree2(&t, root, count, t.depth);
}
