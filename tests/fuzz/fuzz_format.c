/*
 * fuzz_format.c - one format, over any bytes: compiled with -DFORMAT=format_npy. The bytes
 * are probed and indexed as the only file of a folder.
 */
#include <stdlib.h>

#include "importer/job/job_run.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

extern const struct format FORMAT;

static void index_once(const uint8_t *data, size_t size)
{
    struct error err = {.offset = NO_OFFSET};
    struct batch *batch = NULL;
    struct source *source = NULL;
    struct job_request request = {
        .format = &FORMAT,
        .path = "/nowhere/fuzzed",
        .checkpoint_path = "/nowhere/fuzzed",
    };
    if (source_open_memory(request.path, (struct bytes){data, size}, false, &source, &err) != OK)
        return;
    request.source = source;
    job_run_index(&request, &batch, &err);
    /* A job ends in rows or in an issue, never in neither. */
    if (!batch || (err.status != OK && (!batch->failed || !batch->issue_count)) ||
        (err.status == OK && !batch->layout))
        abort();
    batch_free(batch);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    size_t head = size < PROBE_HEAD_BYTES ? size : PROBE_HEAD_BYTES;
    size_t tail = size < PROBE_TAIL_BYTES ? size : PROBE_TAIL_BYTES;
    struct probe probe = {
        .head = {data, head},
        .tail = {data + size - tail, tail},
        .name = "fuzzed",
        .size = size,
        .format = &FORMAT,
    };
    if (!FORMAT.probe)
        return 0;
    FORMAT.probe(&probe);
    if (FORMAT.index) /* NULL: a companion file, passed over */
        index_once(data, size);
    return 0;
}
