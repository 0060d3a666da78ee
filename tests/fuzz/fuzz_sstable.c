/*
 * fuzz_sstable.c - a table: the bytes as a whole file, and as a data block and as an index
 * block under checksums that are right.
 */
#include <stdlib.h>

#include "importer/container/sstable.h"
#include "tests/unit/table_builder.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void read_all(struct bytes file)
{
    struct error err = {.offset = NO_OFFSET};
    struct source *source = NULL;
    struct sstable *table = NULL;
    struct sstable_entry e;
    if (source_open_memory("fuzzed", file, false, &source, &err) != OK)
        return;
    if (sstable_open(source, &table, &err) == OK)
        while (sstable_next(table, &e, &err) == OK && e.key.at)
            if (e.offset > file.len)
                abort();
    sstable_close(table);
    source_close(source);
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
