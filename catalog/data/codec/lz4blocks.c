/*
 * lz4blocks.c - codec "lz4blocks:N": LZ4 as HDF5's filter 32004 stores it.
 *
 *   u64 decoded bytes, u32 decoded bytes per block, then each block: u32 stored bytes, and these.
 *   All numbers are big-endian. A block that did not shrink is stored uncompressed.
 *
 * Source: HDF Group's registry of filters; HDF5Plugin_Zstandard's and nexusformat's H5Zlz4.c.
 */
#include <limits.h>

#include "catalog/data/codec/codec.h"
#include "catalog/data/codec/shared_library.h"

#define HEADER_BYTES 12

static enum status lz4blocks_decode(const struct codec_step *step, struct bytes in, uint8_t *out,
                                    size_t room, size_t *made, struct error *err)
{
    const struct liblz4 *lib = library_lz4(step, err);
    if (!lib)
        return err->status;
    if (in.len < HEADER_BYTES)
        return codec_corrupt(step, err, "%zu bytes cannot hold its head", in.len);
    uint64_t size = load_u64be(in.at), block = load_u32be(in.at + 8);
    *made = size > SIZE_MAX ? SIZE_MAX : (size_t)size;
    if (size && (!block || block > INT_MAX))
        return codec_corrupt(step, err, "blocks of %llu bytes", (unsigned long long)block);
    if (size > room)
        return OK;
    const uint8_t *at = in.at + HEADER_BYTES, *end = in.at + in.len;
    for (uint64_t done = 0, n; done < size; done += n) {
        n = size - done < block ? size - done : block;
        uint64_t stored = end - at < 4 ? UINT64_MAX : load_u32be(at);
        if (stored > INT_MAX || stored > (uint64_t)(end - at - 4))
            return codec_corrupt(step, err, "ends inside a block");
        at += 4;
        if (stored == n)
            memcpy(out + done, at, (size_t)n);
        else if (lib->decompress((const char *)at, (char *)out + done, (int)stored, (int)n) !=
                 (int)n)
            return codec_corrupt(step, err, "a block is damaged");
        at += stored;
    }
    return OK;
}

const struct codec codec_lz4blocks = {.name = "lz4blocks", .args = "S", .decode = lz4blocks_decode};
