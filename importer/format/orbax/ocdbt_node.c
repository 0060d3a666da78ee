/*
 * ocdbt_node.c - frames, manifests and B+tree nodes of OCDBT.
 *
 *   frame:
 *     magic        u32 big-endian: 0x0CDB3A2A a manifest, 0x0CDB20DE a node
 *     length       u64 little-endian, of the whole frame
 *     version      varint: 0
 *     compression  varint: 0 none, 1 zstd
 *     body         up to the checksum
 *     crc          u32 little-endian, plain CRC-32C of all bytes before it
 *
 * Bodies hold columns, not rows: all values of one field, then all of the next. Numbers are
 * varints unless a width is given; "small" ones are at most 65535.
 *
 *   table of data files:
 *     count
 *     shared       count - 1 small: length of the prefix shared with the previous path
 *     fresh        count small: length of the rest
 *     base         count small: length of the path's prefix that is its base path
 *     text         the rests of all paths
 *
 *   manifest:
 *     uuid         16 bytes
 *     kind         u8: 0 single; 1 numbered, then nothing follows the configuration
 *     configuration  inline limit, node bytes, u8 arity (log 2), compression, [i32 level]
 *     table        as above
 *     versions     count, then: generation, u8 root height, file, offset, length, keys,
 *                  tree bytes, value bytes, u64 commit time; the last is the newest.
 *                  Offset and length of all ones: no root
 *     older ones   count, then: generation, file, offset, length, generations, u64 commit
 *                  time, u8 height
 *
 *   node:
 *     height       u8; 0: a leaf
 *     table        as above
 *     count        at most 2^20
 *     shared       count - 1 small: length of the prefix shared with the previous key
 *     fresh        count small: length of the rest
 *     common       (inner) count small: length of the key's prefix that all keys below share,
 *                  and leave out
 *     text         the rests of all keys
 *     leaf         length; u8 kind (0 inline, 1 elsewhere); file and offset of those
 *                  elsewhere; bytes of those inline
 *     inner        file, offset, length; keys, tree bytes, value bytes
 *
 * Source: TensorStore, kvstore/ocdbt/format/ (manifest.cc, version_tree.cc, btree.cc,
 * data_file_id_codec.cc, codec_util.cc) and its index.rst.
 */
#include "importer/format/orbax/ocdbt_node.h"

#include "catalog/data/kernel/crc32c.h"

#define SMALL     UINT64_C(65535)
#define RANGE_END (UINT64_MAX >> 1) /* ranges must end at or before it */

#define ENTRIES_MAX (UINT64_C(1) << 20)
#define ARITY_MAX   16 /* log 2 */

enum compression { COMPRESSION_NONE = 0, COMPRESSION_ZSTD = 1 };

/* --- frames ----------------------------------------------------------------------------- */

enum status ocdbt_frame(struct bytes frame, uint32_t magic, struct ocdbt_place place,
                        struct bytes *body, bool *compressed, struct error *err)
{
    const char *what = magic == OCDBT_MAGIC_NODE ? "an OCDBT node" : "an OCDBT manifest";
    struct cursor c = cursor_over(frame, place.offset);
    if (cursor_u32be(&c) != magic)
        return error_set(err, ERR_CORRUPT, place.name, place.offset,
                         "this is not %s: its magic number is another", what);
    if (cursor_u64le(&c) != frame.len || frame.len < OCDBT_FRAME_BYTES)
        return error_set(err, ERR_CORRUPT, place.name, place.offset,
                         "the length in %s is not the %llu bytes that it has: cut short?", what,
                         (unsigned long long)frame.len);
    size_t summed = frame.len - 4;
    if (load_u32le(frame.at + summed) != crc32c_extend(0, frame.at, summed))
        return error_set(err, ERR_CORRUPT, place.name, place.offset,
                         "checksum of %s does not match: the file is damaged", what);
    uint32_t version = cursor_varint32(&c), compression = cursor_varint32(&c);
    size_t left = cursor_left(&c);
    if (!cursor_ok(&c) || left < 4)
        return error_set(err, ERR_CORRUPT, place.name, place.offset, "the head of %s is damaged",
                         what);
    if (version != 0 || compression > COMPRESSION_ZSTD)
        return error_set(err, ERR_UNSUPPORTED, place.name, place.offset,
                         "%s of version %u, compressed by method %u; version 0 and methods "
                         "0 (none) and 1 (zstd) are read",
                         what, version, compression);
    *compressed = compression == COMPRESSION_ZSTD;
    *body = cursor_take(&c, left - 4);
    return OK;
}

/* --- columns ---------------------------------------------------------------------------- */

/* Skip a column of `count` numbers, none above `most`; returns a cursor at its beginning. */
static struct cursor ocdbt_node_column(struct cursor *c, uint64_t count, uint64_t most)
{
    struct cursor begin = *c;
    if (count > cursor_left(c))
        cursor_fail(c);
    for (uint64_t i = 0; i < count && cursor_ok(c); i++)
        if (cursor_varint(c) > most)
            cursor_fail(c);
    return begin;
}

/* The same for a column of bytes. */
static struct cursor byte_column(struct cursor *c, uint64_t count)
{
    struct cursor begin = *c;
    cursor_take(c, count);
    return begin;
}

/* The sum of the next `count` numbers of a column of small ones, which cannot overflow. */
static uint64_t sum_of(struct cursor column, uint64_t count)
{
    uint64_t sum = 0;
    for (uint64_t i = 0; i < count; i++)
        sum += cursor_varint(&column);
    return sum;
}

/* The last of the next `count` numbers of a column; moves the cursor past it. */
static uint64_t last_of(struct cursor *c, uint64_t count, uint64_t most)
{
    struct cursor column_begin = ocdbt_node_column(c, count, most);
    uint64_t last = 0;
    for (uint64_t i = 0; i < count && cursor_ok(c); i++)
        last = cursor_varint(&column_begin);
    return last;
}

/* --- data files ------------------------------------------------------------------------- */

/* Check that the lengths make valid paths, and that paths that share a
 * base path agree on its length. */
static bool paths_fit(struct ocdbt_table t)
{
    uint64_t len = 0, base = 0;
    for (uint64_t i = 0; i < t.count; i++) {
        uint64_t shared = i ? cursor_varint(&t.shared) : 0;
        uint64_t next = shared + cursor_varint(&t.fresh);
        uint64_t next_base = cursor_varint(&t.bases);
        uint64_t smaller = base < next_base ? base : next_base;
        if (shared > len || next > OCDBT_PATH_BYTES || next_base > next ||
            (shared > smaller && base != next_base))
            return false;
        len = next;
        base = next_base;
    }
    return true;
}

static bool table_parse(struct cursor *c, struct ocdbt_table *out)
{
    struct ocdbt_table t = {.count = cursor_varint(c)};
    t.left = t.count;
    t.shared = ocdbt_node_column(c, t.count ? t.count - 1 : 0, SMALL);
    t.fresh = ocdbt_node_column(c, t.count, SMALL);
    t.bases = ocdbt_node_column(c, t.count, SMALL);
    if (!cursor_ok(c) || !paths_fit(t))
        return false;
    t.text = byte_column(c, sum_of(t.fresh, t.count));
    *out = t;
    return cursor_ok(c);
}

void ocdbt_table_next(struct ocdbt_table *t, struct ocdbt_path *path)
{
    path->len = t->left < t->count ? (size_t)cursor_varint(&t->shared) : 0;
    struct bytes fresh = cursor_take(&t->text, cursor_varint(&t->fresh));
    if (fresh.len)
        memcpy(path->at + path->len, fresh.at, fresh.len);
    path->len += fresh.len;
    path->base = (size_t)cursor_varint(&t->bases);
    t->left--;
}

/* --- manifests -------------------------------------------------------------------------- */

static bool ascending(struct cursor column, uint64_t count)
{
    uint64_t last = 0;
    for (uint64_t i = 0; i < count; i++) {
        uint64_t next = cursor_varint(&column);
        if (next <= last)
            return false;
        last = next;
    }
    return true;
}

static bool descending(struct bytes heights)
{
    for (size_t i = 0; i < heights.len; i++)
        if (heights.at[i] == 0 || (i && heights.at[i] >= heights.at[i - 1]))
            return false;
    return true;
}

/* The manifest's own list of versions; the newest is the last one. */
static const char *versions_parse(struct cursor *c, unsigned arity, struct ocdbt_manifest *out)
{
    uint64_t last_file = out->table.count - 1; /* wraps if none: refused below */
    uint64_t count = cursor_varint(c);
    if (count == 0 || count > UINT64_C(1) << arity)
        return "it has no version, or more than a manifest may have";
    struct cursor generations = *c;
    out->generation = last_of(c, count, UINT64_MAX);
    struct bytes heights = cursor_take(c, count);
    out->root.file = last_of(c, count, last_file);
    out->root.offset = last_of(c, count, UINT64_MAX);
    out->root.length = last_of(c, count, UINT64_MAX);
    out->root.keys = last_of(c, count, UINT64_MAX);
    uint64_t tree_bytes = last_of(c, count, UINT64_MAX);
    uint64_t value_bytes = last_of(c, count, UINT64_MAX);
    for (uint64_t i = 0; i < count && cursor_ok(c); i++)
        cursor_u64le(c);
    if (!cursor_ok(c) || !heights.at || out->table.count == 0)
        return "its list of versions is damaged";
    if (!ascending(generations, count))
        return "its versions are not in order";
    out->height = heights.at[count - 1];
    out->empty = out->root.offset == UINT64_MAX && out->root.length == UINT64_MAX;
    if (out->empty && (out->height || out->root.keys || tree_bytes || value_bytes))
        return "it counts entries of a version that has none";
    return NULL;
}

/* References to nodes of older versions, which are checked but not followed. */
static const char *history_parse(struct cursor *c, unsigned arity, const struct ocdbt_table *table)
{
    uint64_t count = cursor_varint(c);
    if (count > 63 / arity - 1)
        return "it has more branches of older versions than there can be";
    struct cursor generations = ocdbt_node_column(c, count, UINT64_MAX);
    ocdbt_node_column(c, count, table->count - 1);
    for (unsigned i = 0; i < 3; i++)
        ocdbt_node_column(c, count, UINT64_MAX);
    for (uint64_t i = 0; i < count; i++)
        cursor_u64le(c);
    struct bytes heights = cursor_take(c, count);
    if (!cursor_ok(c))
        return "its list of older versions is damaged";
    if (!ascending(generations, count) || !descending(heights))
        return "its older versions are not in order";
    return NULL;
}

const char *ocdbt_manifest_parse(struct bytes body, struct ocdbt_manifest *out)
{
    struct ocdbt_manifest m = {0};
    struct cursor c = cursor_over(body, 0);
    struct bytes uuid = cursor_take(&c, sizeof(m.uuid));
    uint8_t kind = cursor_u8(&c);
    uint32_t inline_bytes = cursor_varint32(&c);
    m.node_bytes = cursor_varint32(&c);
    uint8_t arity = cursor_u8(&c);
    uint32_t compression = cursor_varint32(&c);
    if (compression == COMPRESSION_ZSTD)
        cursor_u32le(&c); /* level */
    if (!cursor_ok(&c) || !uuid.at || kind > 1 || inline_bytes > OCDBT_INLINE_BYTES || arity == 0 ||
        arity > ARITY_MAX || compression > COMPRESSION_ZSTD)
        return "its configuration is damaged";
    memcpy(m.uuid, uuid.at, sizeof(m.uuid));
    m.numbered = kind == 1;
    if (!m.numbered) {
        if (!table_parse(&c, &m.table))
            return "its table of data files is damaged";
        const char *wrong = versions_parse(&c, arity, &m);
        if (!wrong)
            wrong = history_parse(&c, arity, &m.table);
        if (wrong)
            return wrong;
    }
    if (cursor_left(&c))
        return "bytes follow its contents";
    *out = m;
    return NULL;
}

/* --- nodes ------------------------------------------------------------------------------ */

/* Check that the lengths make valid keys, each a prefix of the previous one and fresh bytes. */
static bool keys_fit(struct ocdbt_node n)
{
    uint64_t len = 0;
    for (uint64_t i = 0; i < n.count; i++) {
        uint64_t shared = i ? cursor_varint(&n.shared) : 0;
        uint64_t next = shared + cursor_varint(&n.fresh);
        if (shared > len || next > OCDBT_KEY_BYTES || (n.height && cursor_varint(&n.common) > next))
            return false;
        len = next;
    }
    return true;
}

static const char *leaf_parse(struct cursor *c, struct ocdbt_node *n)
{
    uint64_t elsewhere = 0, inside = 0;
    n->lengths = ocdbt_node_column(c, n->count, UINT64_MAX);
    n->kinds = byte_column(c, n->count);
    if (!cursor_ok(c))
        return "its lengths of values are damaged";
    struct cursor lengths = n->lengths, kinds = n->kinds;
    for (uint64_t i = 0; i < n->count; i++) {
        uint64_t length = cursor_varint(&lengths);
        uint8_t kind = cursor_u8(&kinds);
        if (kind > 1 || (kind == 0 && length > OCDBT_INLINE_BYTES))
            return "a value is of an unknown kind, or too long";
        elsewhere += kind;
        inside += kind ? 0 : length;
    }
    if (elsewhere && n->table.count == 0)
        return "a value is in no file";
    n->files = ocdbt_node_column(c, elsewhere, n->table.count - 1);
    n->offsets = ocdbt_node_column(c, elsewhere, UINT64_MAX);
    n->values = byte_column(c, inside);
    if (!cursor_ok(c))
        return "its values are damaged";
    struct cursor offsets = n->offsets;
    lengths = n->lengths;
    kinds = n->kinds;
    for (uint64_t i = 0; i < n->count; i++) {
        uint64_t length = cursor_varint(&lengths);
        if (!cursor_u8(&kinds))
            continue;
        uint64_t offset = cursor_varint(&offsets);
        if (offset > RANGE_END || length > RANGE_END - offset)
            return "a value ends past the end of any file";
    }
    return NULL;
}

static const char *inner_parse(struct cursor *c, struct ocdbt_node *n)
{
    n->files = ocdbt_node_column(c, n->count, n->table.count - 1);
    n->offsets = ocdbt_node_column(c, n->count, UINT64_MAX);
    n->lengths = ocdbt_node_column(c, n->count, UINT64_MAX);
    n->keys = ocdbt_node_column(c, n->count, UINT64_MAX);
    ocdbt_node_column(c, n->count, UINT64_MAX);
    ocdbt_node_column(c, n->count, UINT64_MAX);
    return cursor_ok(c) && n->table.count ? NULL : "its list of nodes is damaged";
}

const char *ocdbt_node_parse(struct bytes body, unsigned height, struct ocdbt_node *out)
{
    struct cursor c = cursor_over(body, 0);
    struct ocdbt_node n = {.height = cursor_u8(&c)};
    if (cursor_ok(&c) && n.height != height)
        return "its height in the tree is not the one that it states";
    if (!table_parse(&c, &n.table))
        return "its table of data files is damaged";
    n.count = n.left = cursor_varint32(&c);
    if (n.count == 0 || n.count > ENTRIES_MAX)
        return "it has no entries, or more than a node may have";
    n.shared = ocdbt_node_column(&c, n.count - 1, SMALL);
    n.fresh = ocdbt_node_column(&c, n.count, SMALL);
    n.common = n.height ? ocdbt_node_column(&c, n.count, SMALL) : c;
    if (!cursor_ok(&c) || !keys_fit(n))
        return "the lengths of its keys are damaged";
    n.text = byte_column(&c, sum_of(n.fresh, n.count));
    if (!cursor_ok(&c))
        return "its keys are damaged";
    const char *wrong = n.height ? inner_parse(&c, &n) : leaf_parse(&c, &n);
    if (!wrong && cursor_left(&c))
        wrong = "bytes follow its contents";
    if (!wrong)
        *out = n;
    return wrong;
}

void ocdbt_node_next(struct ocdbt_node *n, struct ocdbt_item *out)
{
    *out = (struct ocdbt_item){0};
    out->shared = n->left < n->count ? (size_t)cursor_varint(&n->shared) : 0;
    out->fresh = cursor_take(&n->text, cursor_varint(&n->fresh));
    const uint64_t length = cursor_varint(&n->lengths);
    const bool inside = !n->height && !cursor_u8(&n->kinds);
    if (inside)
        out->value = cursor_take(&n->values, length);
    else
        out->elsewhere = (struct ocdbt_reference){.file = cursor_varint(&n->files),
                                                  .offset = cursor_varint(&n->offsets),
                                                  .length = length};
    if (n->height) {
        out->common = (size_t)cursor_varint(&n->common);
        out->elsewhere.keys = cursor_varint(&n->keys);
    }
    n->left--;
}
