/*
 * sstable_reader.c - LevelDB tables ("SSTable"), as TensorFlow writes them.
 *
 *   blocks
 *   footer, the last 48 bytes:
 *     metaindex  varint64 offset, varint64 size   (filters; not read)
 *     index      varint64 offset, varint64 size
 *     zeros up to byte 40
 *     magic      u64le 0xDB4775248B80FB57
 *
 *   block, `size` bytes, and after it 5 more:
 *     content    raw or compressed
 *     type       u8: 0 raw, 1 Snappy
 *     crc        u32le, masked CRC-32C of content and type
 *
 *   content, decoded:
 *     entries    varint32 shared, varint32 fresh, varint32 value length,
 *                `fresh` bytes of key, value; the key begins with the first `shared`
 *                bytes of the key before it
 *     restarts   n times u32le offset of an entry with shared = 0 (for binary search)
 *     n          u32le
 *
 * The index block has one entry per data block; its value is the block's offset and size,
 * its key only a separator. Blocks are written one after another, and only this order is
 * accepted, so no block can be listed twice.
 *
 * Source: LevelDB, doc/table_format.md, table/format.cc, table/block_builder.cc.
 */
#include "importer/format/tensorflow/sstable_reader.h"

#include <stdlib.h>

#include "catalog/base/cursor.h"
#include "catalog/base/limits.h"
#include "catalog/data/codec/snappy.h"
#include "catalog/data/kernel/crc32c.h"

#define MAGIC         UINT64_C(0xDB4775248B80FB57)
#define TRAILER_BYTES 5
#define HEADS_A_READ  4
#define LENGTHS_MAX   15 /* bytes of an entry's three varints */

enum block_type { BLOCK_RAW = 0, BLOCK_SNAPPY = 1 };

/* A buffer that only grows. */
struct buffer {
    uint8_t *at;
    size_t space;
};

/* A decoded block and the read position in it. */
struct block {
    struct buffer stored, decoded;
    struct cursor entries;
    bool compressed, started; /* started: its first entry has been read */
    uint64_t offset, size;    /* in the file */
    struct buffer key;
    size_t key_len;
    /* For a large block that is only partly in memory: file offsets of the next entry
     * and of the end of all entries. */
    bool windowed;
    uint64_t next, end;
};

struct sstable {
    const struct source *source;
    struct error *err; /* nothing is read after a failure */
    struct block index, data;
    uint64_t data_end;    /* end of the last data block read */
    uint64_t key_bytes;   /* total length of the keys returned so far */
    uint64_t large, head; /* from sstable_heads_only(); `head` is 0 before it is called */
};

static bool buffer_reserve(const struct sstable *t, struct buffer *b, size_t len)
{
    if (len <= b->space)
        return true;
    size_t space = len > b->space * 2 ? len : b->space * 2;
    uint8_t *at = realloc(b->at, space);
    if (!at)
        return error_memory_at(t->err, t->source->name) == OK;
    *b = (struct buffer){at, space};
    return true;
}

static void block_release(struct block *b)
{
    free(b->stored.at);
    free(b->decoded.at);
    free(b->key.at);
}

/* --- blocks ----------------------------------------------------------------------------- */

/* The length of the entries alone: the content without its restart array, whose number of
 * elements is the content's last field. */
static uint64_t entries_length(const struct sstable *t, const struct block *b, uint64_t content,
                               const uint8_t *end)
{
    uint64_t restarts = content >= 4 ? load_u32le(end - 4) : 0;
    if (content >= 4 && content / 4 - 1 >= restarts)
        return content - 4 * (restarts + 1);
    error_set(t->err, ERR_CORRUPT, t->source->name, b->offset,
              "a table block without room for its restart points");
    return 0;
}

static void find_entries(const struct sstable *t, struct block *b, struct bytes content)
{
    content.len = (size_t)entries_length(t, b, content.len, content.at + content.len);
    b->entries = cursor_over(content, b->compressed ? 0 : b->offset);
}

static void decode_block(const struct sstable *t, struct block *b, struct bytes content)
{
    uint64_t len = 0;
    if (!snappy_length(content, &len))
        error_set(t->err, ERR_CORRUPT, t->source->name, b->offset,
                  "a table block is not the Snappy data it says it is");
    else if (len > LIMIT_SSTABLE_BLOCK)
        error_set(t->err, ERR_LIMIT, t->source->name, b->offset,
                  "a table block decodes to %llu bytes, the most is %llu", (unsigned long long)len,
                  (unsigned long long)LIMIT_SSTABLE_BLOCK);
    else if (!buffer_reserve(t, &b->decoded, (size_t)len + 1))
        return;
    else if (!snappy_decode(content, b->decoded.at, (size_t)len))
        error_set(t->err, ERR_CORRUPT, t->source->name, b->offset,
                  "the Snappy data of a table block is damaged");
    else
        find_entries(t, b, (struct bytes){b->decoded.at, (size_t)len});
}

/* Prepare a large block for reading through a window. False, and nothing done, if the block is
 * compressed. */
static bool open_window(const struct sstable *t, struct block *b)
{
    uint8_t end[4 + TRAILER_BYTES];
    if (source_read(t->source, b->offset + b->size - 4, end, sizeof(end), t->err) != OK)
        return true;
    if (end[4] != BLOCK_RAW)
        return false;
    b->windowed = true;
    b->next = b->offset;
    b->end = b->offset + entries_length(t, b, b->size, end + 4);
    b->entries = cursor_over((struct bytes){0}, b->next);
    return true;
}

/* Make the window hold the next `need` bytes, or all that are left. */
static void fill_window(const struct sstable *t, struct block *b, uint64_t need)
{
    uint64_t left = b->end - b->next;
    if (cursor_left(&b->entries) >= (need < left ? need : left))
        return;
    uint64_t len = need > HEADS_A_READ * t->head ? need : HEADS_A_READ * t->head;
    len = len < left ? len : left;
    b->entries = cursor_over((struct bytes){0}, b->next);
    if (buffer_reserve(t, &b->stored, (size_t)len) &&
        source_read(t->source, b->next, b->stored.at, (size_t)len, t->err) == OK)
        b->entries = cursor_over((struct bytes){b->stored.at, (size_t)len}, b->next);
}

/* Read the whole block. */
static void read_block(const struct sstable *t, struct block *b)
{
    const char *name = t->source->name;
    const size_t len = (size_t)b->size;
    if (b->size > LIMIT_SSTABLE_BLOCK)
        error_set(t->err, ERR_LIMIT, name, b->offset,
                  "a table block of %llu bytes, the most is %llu", (unsigned long long)b->size,
                  (unsigned long long)LIMIT_SSTABLE_BLOCK);
    if (t->err->status != OK || !buffer_reserve(t, &b->stored, len + TRAILER_BYTES) ||
        !b->stored.at ||
        source_read(t->source, b->offset, b->stored.at, len + TRAILER_BYTES, t->err) != OK)
        return;
    const uint32_t crc = crc32c_unmask(load_u32le(b->stored.at + len + 1));
    const uint8_t type = b->stored.at[len];
    const struct bytes content = {b->stored.at, len};
    b->compressed = type == BLOCK_SNAPPY;
    if (crc != crc32c_extend(0, b->stored.at, len + 1))
        error_set(t->err, ERR_CORRUPT, name, b->offset,
                  "checksum of a table block does not match: the file is damaged");
    else if (type == BLOCK_SNAPPY)
        decode_block(t, b, content);
    else if (type == BLOCK_RAW)
        find_entries(t, b, content);
    else
        error_set(t->err, ERR_UNSUPPORTED, name, b->offset,
                  "a table block is compressed by method %u; 0 (none) and 1 (Snappy) are read",
                  type);
}

static void load_block(const struct sstable *t, struct block *b, uint64_t offset, uint64_t size)
{
    uint64_t end;
    b->offset = offset;
    b->size = size;
    b->windowed = b->started = b->compressed = false;
    if (!add_u64(offset, size, &end) || !add_u64(end, TRAILER_BYTES, &end) ||
        end > t->source->size - SSTABLE_FOOTER_BYTES)
        error_set(t->err, ERR_CORRUPT, t->source->name, offset,
                  "a table block of %llu bytes ends past the end of the table",
                  (unsigned long long)size);
    else if (!t->head || size <= t->large || !open_window(t, b))
        read_block(t, b);
}

static void bad_entry(const struct sstable *t, const struct block *b)
{
    error_set(t->err, ERR_CORRUPT, t->source->name, b->offset,
              "an entry of a table block ends past the end of the block");
}

/* An entry as stored in its block. */
struct raw_entry {
    uint64_t shared, value_len;
    struct bytes fresh; /* the part of the key that is not shared with the key before */
};

/* Read the entry's lengths and its part of the key, up to the value. */
static void sstable_read_key(const struct sstable *t, struct block *b, struct raw_entry *entry)
{
    if (b->windowed)
        fill_window(t, b, t->head);
    struct cursor c = b->entries;
    uint64_t most_shared = b->started ? b->key_len : 0;
    entry->shared = cursor_varint32(&c);
    uint64_t fresh = cursor_varint32(&c);
    entry->value_len = cursor_varint32(&c);
    uint64_t room = b->windowed ? b->end - cursor_offset(&c) : cursor_left(&c);
    if (!cursor_ok(&c) || entry->shared > most_shared || fresh > room) {
        bad_entry(t, b);
        return;
    }
    if (entry->shared + fresh > LIMIT_NAME_BYTES) {
        error_set(
            t->err, ERR_LIMIT, t->source->name, b->offset, "a key of %llu bytes, the most is %llu",
            (unsigned long long)(entry->shared + fresh), (unsigned long long)LIMIT_NAME_BYTES);
        return;
    }
    if (b->windowed && fresh + LENGTHS_MAX > cursor_left(&b->entries)) {
        fill_window(t, b, LENGTHS_MAX + fresh + t->head);
        c = b->entries;
        cursor_varint32(&c), cursor_varint32(&c), cursor_varint32(&c);
    }
    entry->fresh = cursor_take(&c, fresh);
    b->entries = c;
    if (!cursor_ok(&c))
        bad_entry(t, b);
}

/* Take the value, or as much as the window holds, and move to the next entry. */
static struct bytes sstable_read_value(const struct sstable *t, struct block *b, uint64_t len)
{
    struct cursor *c = &b->entries;
    uint64_t left = cursor_left(c), at = cursor_offset(c);
    bool partly = b->windowed && len > left && len <= b->end - at;
    const struct bytes value = cursor_take(c, partly ? left : len);
    if (!cursor_ok(c))
        bad_entry(t, b);
    b->next = at + len;
    if (partly)
        *c = cursor_over((struct bytes){0}, b->next);
    return value;
}

/* The next entry. False: its key is below the previous one, be that in the previous block. After a
 * failure true, and nothing more can be read. */
static bool next_entry(const struct sstable *t, struct block *b, struct sstable_entry *out)
{
    struct raw_entry entry = {0};
    sstable_read_key(t, b, &entry);
    uint64_t at = cursor_offset(&b->entries);
    size_t shared = (size_t)entry.shared, len = shared + entry.fresh.len;
    if (t->err->status != OK || !buffer_reserve(t, &b->key, len + 1))
        return true;
    size_t old = b->key_len - shared;
    size_t common = old < entry.fresh.len ? old : entry.fresh.len;
    int order = common ? memcmp(b->key.at + shared, entry.fresh.at, common) : 0;
    if (entry.fresh.len)
        memcpy(b->key.at + shared, entry.fresh.at, entry.fresh.len);
    b->key_len = len;
    b->started = true;
    *out = (struct sstable_entry){
        .key = {b->key.at, len},
        .value = sstable_read_value(t, b, entry.value_len),
        .offset = b->compressed ? b->offset : at,
        .value_len = entry.value_len,
        .compressed = b->compressed,
        .block_stored = b->size,
        .value_at = b->compressed ? at : at - b->offset,
    };
    return order < 0 || (order == 0 && old <= entry.fresh.len);
}

/* Whether entries are left. */
static bool block_left(const struct block *b)
{
    return b->windowed ? b->next < b->end : cursor_left(&b->entries) > 0;
}

/* --- the table -------------------------------------------------------------------------- */

bool sstable_ends(struct bytes tail)
{
    return tail.len >= 8 && load_u64le(tail.at + tail.len - 8) == MAGIC;
}

static void load_index(struct sstable *t)
{
    const struct source *s = t->source;
    uint8_t footer[SSTABLE_FOOTER_BYTES];
    struct bytes all = {footer, sizeof(footer)};
    if (s->size < sizeof(footer)) {
        error_set(t->err, ERR_CORRUPT, s->name, s->size, "too short for an SSTable: cut short?");
        return;
    }
    uint64_t at = s->size - sizeof(footer);
    if (source_read(s, at, footer, sizeof(footer), t->err) != OK)
        return;
    struct cursor c = cursor_over((struct bytes){footer, sizeof(footer) - 8}, at);
    cursor_varint(&c);
    cursor_varint(&c);
    uint64_t offset = cursor_varint(&c), size = cursor_varint(&c);
    if (!sstable_ends(all))
        error_set(t->err, ERR_CORRUPT, s->name, s->size - 8,
                  "not an SSTable (its last 8 bytes are not the magic number): cut "
                  "short, or another file?");
    else if (!cursor_ok(&c))
        error_set(t->err, ERR_CORRUPT, s->name, at, "the footer of the table is damaged");
    else
        load_block(t, &t->index, offset, size);
}

struct sstable *sstable_open(const struct source *source, struct error *err)
{
    struct sstable *t = calloc(1, sizeof(*t));
    if (!t) {
        error_memory_at(err, source->name);
        return NULL;
    }
    t->source = source;
    t->err = err;
    t->data.entries = cursor_over((struct bytes){0}, 0);
    load_index(t);
    if (err->status == OK)
        return t;
    sstable_close(t);
    return NULL;
}

void sstable_close(struct sstable *t)
{
    if (!t)
        return;
    block_release(&t->index);
    block_release(&t->data);
    free(t);
}

/* Load the next data block; the caller knows that the index lists one. */
static void next_block(struct sstable *t)
{
    struct sstable_entry entry = {0};
    next_entry(t, &t->index, &entry);
    struct cursor c = cursor_over(entry.value, entry.offset);
    uint64_t offset = cursor_varint(&c), size = cursor_varint(&c);
    if (!cursor_ok(&c) || offset < t->data_end)
        error_set(t->err, ERR_CORRUPT, t->source->name, entry.offset,
                  "the table's index lists a block that overlaps the one before");
    if (t->err->status != OK)
        return;
    load_block(t, &t->data, offset, size);
    t->data_end = offset + size + TRAILER_BYTES;
}

void sstable_heads_only(struct sstable *t, uint64_t large, uint64_t head)
{
    t->large = large > sizeof(uint32_t) ? large : sizeof(uint32_t);
    t->head = head > LENGTHS_MAX ? head : LENGTHS_MAX;
}

bool sstable_next(struct sstable *t, struct sstable_entry *out)
{
    *out = (struct sstable_entry){0};
    while (t->err->status == OK && !block_left(&t->data) && block_left(&t->index))
        next_block(t);
    if (t->err->status != OK || !block_left(&t->data))
        return false;
    if (!next_entry(t, &t->data, out))
        error_set(t->err, ERR_CORRUPT, t->source->name, out->offset,
                  "the keys of the table are not in order");
    t->key_bytes += out->key.len;
    if (t->key_bytes > LIMIT_KEYS_FREE && t->key_bytes / LIMIT_KEY_GROWTH > t->source->size)
        error_set(t->err, ERR_LIMIT, t->source->name, out->offset,
                  "the keys of the table are more than %llu times its size",
                  (unsigned long long)LIMIT_KEY_GROWTH);
    return t->err->status == OK;
}
