/*
 * fuzz_tf_entries.c - the entries of a bundle, in a valid table: the code behind
 * checksums that a fuzzer does not guess.
 *
 *   records to the end: u8 key length, u8 value length, key, value
 */
#include <stdlib.h>

#include "importer/job/job_run.h"
#include "tests/unit/table_builder.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

extern const struct format format_tf_bundle;

static void index_table(struct bytes file)
{
    struct error err = {.offset = NO_OFFSET};
    struct batch *batch = NULL;
    struct source *source = NULL;
    struct job_request request = {
        .format = &format_tf_bundle,
        .path = "/nowhere/m.index",
        .checkpoint_path = "/nowhere/m",
    };
    if (source_open_memory(request.path, file, false, &source, &err) != OK)
        return;
    request.source = source;
    job_run_index(&request, &batch, &err);
    if (!batch || (err.status == OK) == batch->failed)
        abort();
    batch_free(batch);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct cursor c = cursor_over((struct bytes){data, size}, 0);
    struct table t = {0};
    while (cursor_left(&c)) {
        uint8_t key_len = cursor_u8(&c), value_len = cursor_u8(&c);
        struct bytes key = cursor_take(&c, key_len);
        struct bytes value = cursor_take(&c, value_len);
        if (cursor_ok(&c))
            table_add(&t, key, value);
    }
    index_table(table_finish(&t));
    table_release(&t);
    return 0;
}
