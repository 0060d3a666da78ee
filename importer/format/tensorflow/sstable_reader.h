/*
 * sstable_reader.h - read a LevelDB table from front to back.
 *
 *   struct sstable_entry e;
 *   struct sstable *table = sstable_open(source, err);
 *   while (table && sstable_next(table, &e))
 *       use(e.key, e.value);
 *   sstable_close(table);
 *
 * One block is in memory at a time, and its checksum is verified. A table of large values can be
 * walked without reading them: sstable_heads_only(). Keys come in their order; one that is out of
 * order is ERR_CORRUPT, one that occurs twice comes twice. Key bytes in all are limited in
 * proportion to the table (ERR_LIMIT): sharing prefixes can make a small file name a lot.
 */
#pragma once

#include "catalog/data/store/source.h"

#define SSTABLE_FOOTER_BYTES 48

struct sstable;

struct sstable_entry {
    struct bytes key, value; /* valid until the next call */
    uint64_t offset;         /* in the file: of the value, or of its block where that is
                                compressed */
    uint64_t value_len;      /* more than value.len where sstable_heads_only() left some out */
    bool compressed;         /* Snappy: the next two say where the value is */
    uint64_t block_stored;   /* bytes of the block in the file */
    uint64_t value_at;       /* in the decoded block */
};

/* Whether the end of a file has the magic number of a table. */
bool sstable_ends(struct bytes tail);

/* Reads the footer and the index block. `source` must outlive the table, and so must `err`, which gets
 * all later failures. NULL after a failure. */
struct sstable *sstable_open(const struct source *source, struct error *err);
/* For raw blocks of more than `large` bytes, read only keys and the beginnings of values,
 * at least `head` bytes of each entry. The checksums of such blocks are not verified, since
 * not all of their bytes are read. They may have any size. */
void sstable_heads_only(struct sstable *, uint64_t large, uint64_t head);

/* False at the end (the entry is then empty), and after a failure. */
bool sstable_next(struct sstable *, struct sstable_entry *);
void sstable_close(struct sstable *);
