/*
 * shuffle.c - codec "shuffle:W": the stored bytes are sorted by their position in elements of W
 * bytes. "shuffle:4" has the first bytes of all 4-byte elements, then all second bytes, ...
 *
 * Source: numcodecs/_shuffle.pyx.
 */
#include "catalog/data/codec/codec.h"

#define TILE ((size_t)4096) /* elements completed at a time, so that writes stay in the cache */

/* Write one byte of each of `count` elements. */
#define SPREAD(width)                                                                              \
    static void spread_##width(const uint8_t *in, size_t count, uint8_t *out)                      \
    {                                                                                              \
        for (size_t i = 0; i < count; i++)                                                         \
            out[i * (width)] = in[i];                                                              \
    }

SPREAD(2)
SPREAD(4)
SPREAD(8)

/* Not inlined: inside the loops below, GCC 12 compiles it to code that takes twice as long. */
__attribute__((noinline)) static void spread(const uint8_t *in, size_t count, size_t width,
                                             uint8_t *out)
{
    if (width == 2)
        spread_2(in, count, out);
    else if (width == 4)
        spread_4(in, count, out);
    else if (width == 8)
        spread_8(in, count, out);
    else
        for (size_t i = 0; i < count; i++)
            out[i * width] = in[i];
}

static enum status shuffle_decode(const struct codec_step *step, struct bytes in, uint8_t *out,
                                  size_t room, size_t *made, struct error *err)
{
    uint64_t width = step->args.number[0] ? step->args.number[0] : 1; /* numcodecs: 0 is 1 */
    *made = in.len;
    if (in.len % width)
        return codec_corrupt(step, err, "%zu bytes are not whole elements of %llu bytes", in.len,
                             (unsigned long long)width);
    if (in.len > room || !in.len)
        return OK;
    size_t count = in.len / (size_t)width, n;
    if (width == 1)
        memcpy(out, in.at, in.len);
    for (size_t from = 0; width > 1 && from < count; from += n) {
        n = count - from < TILE ? count - from : TILE;
        for (size_t b = 0; b < width; b++)
            spread(in.at + b * count + from, n, (size_t)width, out + from * width + b);
    }
    return OK;
}

/* --- encoding ----------------------------------------------------------------------------- */

static bool shuffle_bound(const char *argument, uint64_t in, uint64_t *most)
{
    uint64_t width;
    *most = in;
    return codec_number(argument, &width) && width && in % width == 0;
}

static enum status shuffle_encode(const struct codec_step *step, struct bytes in, uint8_t *out,
                                  size_t room, size_t *made, struct error *err)
{
    uint64_t width = 1;
    (void)room, (void)err;
    codec_number(step->args.text, &width);
    const size_t count = in.len / (size_t)width;
    for (size_t from = 0, n; from < count; from += n) {
        n = count - from < TILE ? count - from : TILE;
        for (size_t b = 0; b < width; b++)
            for (size_t i = from; i < from + n; i++)
                out[b * count + i] = in.at[i * (size_t)width + b];
    }
    *made = in.len;
    return OK;
}

const struct codec codec_shuffle = {.name = "shuffle",
                                    .args = "N",
                                    .size = codec_same_size,
                                    .decode = shuffle_decode,
                                    .bound = shuffle_bound,
                                    .encode = shuffle_encode};
