/*
 * sstable.c - codec "sstable": decodes one SSTable block as stored in the file.
 *
 *   content   raw or compressed
 *   type      u8: 0 raw, 1 Snappy
 *   crc       u32le, masked CRC-32C of content and type
 *
 * The checksum is verified. Blocks are small, and any part of one may refer to any earlier part, so
 * a block is decoded as a whole. Its decoded size is known only then, hence already at opening.
 *
 * Source: LevelDB, doc/table_format.md.
 */
#include <stdlib.h>

#include "catalog/data/codec/codec.h"
#include "catalog/data/codec/snappy.h"
#include "catalog/data/kernel/crc32c.h"

#define TRAILER_BYTES 5
#define DECODED_MAX   ((uint64_t)64 << 20) /* the importer refuses larger blocks */

enum block_type { BLOCK_RAW = 0, BLOCK_SNAPPY = 1 };

static enum status sstable_fail(const struct source *s, enum status status, const char *what,
                                struct error *err)
{
    uint64_t begin;
    source_descriptor(s, &begin);
    return error_set(err, status, s->name, begin, "a table block %s", what);
}

/* Read and verify the block: its content and trailer, malloc'ed; NULL after an error. */
static uint8_t *sstable_read_block(const struct source *s, struct error *err)
{
    if (s->size < TRAILER_BYTES)
        return sstable_fail(s, ERR_CORRUPT, "without its trailer", err), NULL;
    if (s->size - TRAILER_BYTES > DECODED_MAX)
        return sstable_fail(s, ERR_LIMIT, "of more than 64 MiB", err), NULL;
    size_t size = (size_t)s->size;
    uint8_t *block = malloc(size);
    if (!block)
        return sstable_fail(s, ERR_MEMORY, "and no memory for it", err), NULL;
    if (source_read(s, 0, block, size, err) == OK &&
        crc32c_unmask(load_u32le(block + size - 4)) != crc32c_extend(0, block, size - 4))
        sstable_fail(s, ERR_CHECKSUM, "does not have its checksum: the file is damaged", err);
    if (err->status == OK)
        return block;
    free(block);
    return NULL;
}

static enum status sstable_decode(const struct source *s, struct bytes content, struct source **out,
                                  struct error *err)
{
    uint64_t len = 0;
    if (!snappy_length(content, &len))
        return sstable_fail(s, ERR_CORRUPT, "is not the Snappy data it says it is", err);
    if (len > DECODED_MAX)
        return sstable_fail(s, ERR_LIMIT, "decodes to more than 64 MiB", err);
    uint8_t *decoded = malloc(len ? (size_t)len : 1);
    if (!decoded)
        return sstable_fail(s, ERR_MEMORY, "and no memory for it", err);
    if (snappy_decode(content, decoded, (size_t)len))
        return source_take_memory(s->name, decoded, (size_t)len, out, err);
    free(decoded);
    return sstable_fail(s, ERR_CORRUPT, "has damaged Snappy data", err);
}

static enum status sstable_open(struct source *inner, const struct codec_args *args,
                                struct source **out, struct error *err)
{
    (void)args;
    uint8_t *block = sstable_read_block(inner, err);
    if (!block)
        return err->status;
    struct bytes content = {block, (size_t)inner->size - TRAILER_BYTES};
    uint8_t type = block[content.len];
    if (type == BLOCK_RAW)
        return source_take_memory(inner->name, block, content.len, out, err);
    if (type == BLOCK_SNAPPY)
        sstable_decode(inner, content, out, err);
    else
        sstable_fail(inner, ERR_UNSUPPORTED, "is compressed by an unknown method", err);
    free(block);
    return err->status;
}

const struct codec codec_sstable = {.name = "sstable", .args = "", .open = sstable_open};
