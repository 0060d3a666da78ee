/*
 * lzma.c - codec "lzma:N": one or more .xz streams, or one stream of the older .lzma format.
 *
 * The header states the size of the dictionary that the decoder allocates: 64 MiB after "xz -9",
 * however little there is to decode. Hence the limit on memory.
 */
#include "catalog/data/codec/lzma.h"

#define MEMORY_MOST ((uint64_t)256 << 20)

lzma_ret codec_lzma_run(const struct liblzma *lib, lzma_stream *z, struct bytes in, uint8_t *out,
                        size_t room, bool to_end)
{
    uint8_t beyond;
    z->next_in = in.at;
    z->avail_in = in.len;
    z->next_out = out;
    z->avail_out = room;
    lzma_ret rc = lib->code(z, LZMA_FINISH);
    if (rc == LZMA_OK && !z->avail_out && to_end) {
        z->next_out = &beyond;
        z->avail_out = 1;
        rc = lib->code(z, LZMA_FINISH);
    }
    z->next_out = NULL;
    return rc;
}

static enum status lzma_failed(const struct codec_step *step, lzma_ret rc, const lzma_stream *z,
                               struct error *err)
{
    switch (rc) {
    case LZMA_MEM_ERROR: return error_set(err, ERR_MEMORY, step->name, step->offset, "no memory");
    case LZMA_MEMLIMIT_ERROR:
        return error_set(err, ERR_LIMIT, step->name, step->offset,
                         "%s: decoding needs more than %llu bytes of memory", step->codec,
                         (unsigned long long)MEMORY_MOST);
    case LZMA_OPTIONS_ERROR:
        return error_set(err, ERR_UNSUPPORTED, step->name, step->offset,
                         "%s: a filter that the library does not have", step->codec);
    case LZMA_OK:
    case LZMA_BUF_ERROR:
        return codec_corrupt(step, err, "data is cut short after %llu decoded bytes",
                             (unsigned long long)z->total_out);
    case LZMA_FORMAT_ERROR: return codec_corrupt(step, err, "data is neither .xz nor .lzma");
    default:
        return codec_corrupt(step, err, "data is damaged at byte %llu",
                             (unsigned long long)z->total_in);
    }
}

static enum status lzma_decode(const struct codec_step *step, struct bytes in, uint8_t *out,
                               size_t room, size_t *made, struct error *err)
{
    const struct liblzma *lib = library_lzma(step, err);
    if (!lib)
        return err->status;
    lzma_stream z = LZMA_STREAM_INIT;
    lzma_ret rc = lib->init(&z, MEMORY_MOST, LZMA_CONCATENATED);
    if (rc == LZMA_OK)
        rc = codec_lzma_run(lib, &z, in, out, room, true);
    *made = (size_t)z.total_out;
    enum status status = OK;
    if (rc == LZMA_STREAM_END && z.avail_in)
        status = codec_corrupt(step, err, "%zu bytes after the end", z.avail_in);
    else if (rc != LZMA_STREAM_END && *made <= room)
        status = lzma_failed(step, rc, &z, err);
    lib->close(&z);
    return status;
}

static uint64_t lzma_memory(uint64_t out)
{
    (void)out;
    return MEMORY_MOST;
}

const struct codec codec_lzma = {
    .name = "lzma", .args = "S", .decode = lzma_decode, .memory = lzma_memory};
