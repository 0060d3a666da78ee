/*
 * fuzz_ocdbt_manifest.c - a manifest: the bytes as a whole file, and as a body under a
 * checksum that is right, in a single manifest and in a numbered one.
 */
#include <stdlib.h>

#include "tests/unit/ocdbt_builder.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void walk(struct database *d)
{
    struct error err = {.offset = NO_OFFSET};
    struct ocdbt *db = NULL;
    struct ocdbt_entry e;
    struct ocdbt_files files = database_files(d);
    if (ocdbt_open(&files, &db, &err) == OK)
        while (ocdbt_next(db, &e, &err) == OK && e.key.at)
            if (!e.value.at && !ocdbt_file(db, e.file))
                abort();
    ocdbt_close(db);
    database_release(d);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct database whole = {0}, framed = {0}, second = {0};
    struct bytes all = {data, size};
    text_add(&database_file(&whole, OCDBT_MANIFEST)->bytes, data, size);
    put_frame(&database_file(&framed, OCDBT_MANIFEST)->bytes, OCDBT_MAGIC_MANIFEST, all, PACK_RAW);
    database_manifest(&second, &(struct manifest_of){.numbered = true});
    put_frame(&database_file(&second, "manifest.0000000000000001")->bytes, OCDBT_MAGIC_MANIFEST,
              all, PACK_ZSTD);
    walk(&whole);
    walk(&framed);
    walk(&second);
    return 0;
}
