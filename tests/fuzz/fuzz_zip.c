/*
 * fuzz_zip.c - the zip directory, and the beginnings and whole contents of its members.
 */
#include <stdlib.h>

#include "importer/container/zip.h"

#define CONTENT_MAX (1u << 20)

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void read_member(const struct zip *z, const struct zip_member *m, struct arena *arena)
{
    uint8_t start[64];
    size_t got = 0;
    struct bytes all;
    struct error err = {.offset = NO_OFFSET};
    /* Data lies inside the file, whatever the directory said. */
    if (m->data > z->source->size || m->stored > z->source->size - m->data)
        abort();
    if (zip_head(z, m, start, sizeof(start), &got, &err) == OK && got > sizeof(start))
        abort();
    error_clear(&err);
    zip_read(z, m, CONTENT_MAX, arena, &all, &err);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct error err = {.offset = NO_OFFSET};
    struct arena arena = {.ceiling = (size_t)1 << 28};
    struct source *source = NULL;
    struct zip z;
    if (source_open_memory("fuzzed", (struct bytes){data, size}, false, &source, &err) != OK)
        return 0;
    if (zip_open(source, ZIP_UNIQUE, &arena, &z, &err) == OK)
        for (uint64_t i = 0; i < z.count; i++)
            read_member(&z, &z.members[i], &arena);
    error_clear(&err);
    if (zip_salvage(source, &arena, &z, &err) == OK)
        for (uint64_t i = 0; i < z.count; i++) {
            if (z.members[i].data > size ||
                (z.members[i].stored > size - z.members[i].data && !z.members[i].cut))
                abort();
            read_member(&z, &z.members[i], &arena);
        }
    source_close(source);
    arena_release(&arena);
    return 0;
}
