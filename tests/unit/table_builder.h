/*
 * table_builder.h - write SSTables for tests, well-formed or not.
 *
 *   struct table t = {.entries_a_block = 16};
 *   table_add(&t, bytes_of(""), bytes_of("\x08\x01"));
 *   struct bytes file = table_finish(&t);
 *   table_release(&t);
 *
 * Keys are written as given: out of order or twice is up to the test.
 */
#pragma once

#include "catalog/data/kernel/crc32c.h"
#include "tests/unit/bytes.h"

struct table {
    unsigned entries_a_block; /* 0: all in one */
    bool snappy;              /* blocks as Snappy literals */
    struct text file, block, index;
    char last[4096]; /* key */
    size_t last_len;
    unsigned entries;
};

/* A block of `content` and its trailer; returns the offset. */
static inline uint64_t put_block(struct text *file, struct bytes content, uint8_t type)
{
    uint64_t offset = file->len;
    text_add(file, content.at, content.len);
    text_addc(file, (char)type);
    uint32_t crc = crc32c_extend(0, text_str(file) + offset, (size_t)(file->len - offset));
    put_u32(file, crc32c_mask(crc));
    return offset;
}

static inline void put_entry(struct text *block, size_t shared, struct bytes fresh,
                             struct bytes value)
{
    put_varint(block, shared);
    put_varint(block, fresh.len);
    put_varint(block, value.len);
    text_add(block, fresh.at, fresh.len);
    text_add(block, value.at, value.len);
}

static inline void put_handle(struct text *out, uint64_t offset, uint64_t size)
{
    put_varint(out, offset);
    put_varint(out, size);
}

static inline void put_footer(struct text *file, uint64_t index, uint64_t index_size)
{
    struct text handles = {0};
    put_handle(&handles, 0, 0);
    put_handle(&handles, index, index_size);
    while (handles.len < 40)
        text_addc(&handles, 0);
    put_u32(&handles, 0x8B80FB57);
    put_u32(&handles, 0xDB477524);
    text_add(file, text_str(&handles), handles.len);
    text_release(&handles);
}

/* The restart array with its one point. */
static inline void put_restarts(struct text *block)
{
    put_u32(block, 0);
    put_u32(block, 1);
}

static inline void table_end_block(struct table *t)
{
    struct text packed = {0}, handle = {0};
    if (!t->entries)
        return;
    put_restarts(&t->block);
    struct bytes content = text_bytes(&t->block);
    if (t->snappy) {
        put_varint(&packed, content.len);
        text_addc(&packed, (char)(61 << 2));
        text_addc(&packed, (char)(content.len - 1));
        text_addc(&packed, (char)((content.len - 1) >> 8));
        text_add(&packed, content.at, content.len);
        content = text_bytes(&packed);
    }
    uint64_t offset = put_block(&t->file, content, t->snappy);
    put_handle(&handle, offset, content.len);
    put_entry(&t->index, 0, (struct bytes){(const uint8_t *)t->last, t->last_len},
              text_bytes(&handle));
    text_reset(&t->block);
    text_release(&packed);
    text_release(&handle);
    t->entries = 0;
}

static inline void table_add(struct table *t, struct bytes key, struct bytes value)
{
    size_t shared = 0;
    while (t->entries && shared < key.len && shared < t->last_len &&
           key.at[shared] == (uint8_t)t->last[shared])
        shared++;
    put_entry(&t->block, shared, (struct bytes){key.at + shared, key.len - shared}, value);
    memcpy(t->last, key.at, key.len);
    t->last_len = key.len;
    if (++t->entries == t->entries_a_block)
        table_end_block(t);
}

static inline struct bytes table_finish(struct table *t)
{
    table_end_block(t);
    put_restarts(&t->index);
    uint64_t index = put_block(&t->file, text_bytes(&t->index), 0);
    put_footer(&t->file, index, t->index.len);
    return text_bytes(&t->file);
}

static inline void table_release(struct table *t)
{
    text_release(&t->file);
    text_release(&t->block);
    text_release(&t->index);
}
