/*
 * zstd.c - one or more Zstandard frames (RFC 8878): "zstd:4194304". Frames need not say how
 * much they hold (TensorStore's do not).
 */
#include <stdlib.h>

#include "catalog/codec/codec.h"
#include "catalog/codec/library.h"

static enum status zstd_decode(const struct codec_step *step, struct bytes in,
                               uint8_t *out, size_t room, size_t *made, struct error *err)
{
    const struct libzstd *lib = library_zstd(step, err);
    if (!lib)
        return err->status;
    if (!*step->state)
        *step->state = lib->open();
    if (!*step->state)
        return error_set(err, ERR_MEMORY, step->name, step->offset, "no memory");
    if (!in.len)
        return codec_corrupt(step, err, "no bytes, not even an empty frame");
    size_t got = lib->decompress(*step->state, out, room, in.at, in.len);
    if (!lib->is_error(got)) {
        *made = got;
        return OK;
    }
    switch (lib->code(got)) {
    case ZSTD_error_dstSize_tooSmall:
        *made = room + 1;
        return OK;
    case ZSTD_error_memory_allocation:
        return error_set(err, ERR_MEMORY, step->name, step->offset, "no memory");
    default:
        return codec_corrupt(step, err, "data is damaged: %s", lib->message(got));
    }
}

static void zstd_release(void *state)
{
    library_zstd(NULL, NULL)->close(state);
}

const struct codec codec_zstd = {.name = "zstd",
                                 .size = codec_stated_size,
                                 .decode = zstd_decode,
                                 .release = zstd_release};
