/*
 * fuzz_sstable.c - a table: the bytes as a whole file, and as a data block and as an index
 * block under checksums that are right.
 */
#include <stdlib.h>

#include "importer/format/tensorflow/sstable_reader.h"
#include "tests/unit/table_builder.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

/* Also through a window smaller than most entries. */
static void read_once(struct bytes file, bool heads_only)
{
    struct error err = {.offset = NO_OFFSET};
    struct source *source = NULL;
    struct sstable_entry e;
    if (source_open_memory("fuzzed", file, false, &source, &err) != OK)
        return;
    struct sstable *table = sstable_open(source, &err);
    if (table && heads_only)
        sstable_heads_only(table, 8, 8);
    while (table && sstable_next(table, &e))
        if (e.offset > file.len || e.value.len > e.value_len ||
            (!e.compressed && e.value_len > file.len - e.offset))
            abort();
    sstable_close(table);
    source_close(source);
}

static void read_all(struct bytes file)
{
    read_once(file, false);
    read_once(file, true);
}

static void read_as_block(struct bytes content, uint8_t type)
{
    struct table t = {0};
    struct text handle = {0};
    put_handle(&handle, put_block(&t.file, content, type), content.len);
    put_entry(&t.index, 0, LITERAL("z"), text_bytes(&handle));
    read_all(table_finish(&t));
    text_release(&handle);
    table_release(&t);
}

static void read_as_index(struct bytes content)
{
    struct text file = {0};
    uint64_t index = put_block(&file, content, 0);
    put_footer(&file, index, content.len);
    read_all(text_bytes(&file));
    text_release(&file);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct bytes all = {data, size};
    read_all(all);
    read_as_block(all, 0);
    read_as_block(all, 1);
    read_as_index(all);
    return 0;
}
