/*
 * lz4.c - codec "lz4:N": LZ4 as numcodecs stores it, the decoded size (i32le) and one raw block.
 *
 * Source: numcodecs/lz4.pyx; lz4/doc/lz4_Block_format.md.
 */
#include <limits.h>

#include "catalog/data/codec/codec.h"
#include "catalog/data/codec/shared_library.h"

#define HEADER_BYTES 4

static enum status lz4_decode(const struct codec_step *step, struct bytes in, uint8_t *out,
                              size_t room, size_t *made, struct error *err)
{
    const struct liblz4 *lib = library_lz4(step, err);
    if (!lib)
        return err->status;
    if (in.len < HEADER_BYTES || in.len > INT_MAX)
        return codec_corrupt(step, err, "%zu bytes are not a block", in.len);
    uint32_t size = load_u32le(in.at);
    *made = size;
    if (size > INT_MAX)
        return codec_corrupt(step, err, "%u decoded bytes, most is %d", size, INT_MAX);
    if (size > room)
        return OK;
    int got = lib->decompress((const char *)in.at + HEADER_BYTES, (char *)out,
                              (int)(in.len - HEADER_BYTES), (int)size);
    if (got < 0 || (uint32_t)got != size)
        return codec_corrupt(step, err, "data is damaged");
    return OK;
}

const struct codec codec_lz4 = {.name = "lz4", .args = "S", .decode = lz4_decode};
