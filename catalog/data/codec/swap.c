/*
 * swap.c - codec "swap:W": reverse every W bytes. "swap:4" makes big-endian float32 little-endian.
 */
#include "catalog/data/codec/codec.h"

#define BLOCK_BYTES ((size_t)128 << 10) /* swapped while it is still in the cache */
#define WIDTH_MAX   16

struct swap_source {
    struct source base; /* must be first */
    unsigned width;
};

#define SWAP_ALL(bits)                                                                             \
    static void swap_all_##bits(uint8_t *at, size_t len)                                           \
    {                                                                                              \
        for (size_t i = 0; i + (bits) / 8 <= len; i += (bits) / 8) {                               \
            uint##bits##_t v;                                                                      \
            memcpy(&v, at + i, sizeof(v));                                                         \
            v = __builtin_bswap##bits(v);                                                          \
            memcpy(at + i, &v, sizeof(v));                                                         \
        }                                                                                          \
    }

SWAP_ALL(16)
SWAP_ALL(32)
SWAP_ALL(64)

static void swap_all(uint8_t *at, size_t len, unsigned width)
{
    if (width == 2) {
        swap_all_16(at, len);
    } else if (width == 4) {
        swap_all_32(at, len);
    } else if (width == 8) {
        swap_all_64(at, len);
    } else {
        for (; len >= width; at += width, len -= width)
            for (unsigned i = 0; i < width / 2; i++) {
                uint8_t left = at[i];
                at[i] = at[width - 1 - i];
                at[width - 1 - i] = left;
            }
    }
}

static enum status swap_read(const struct source *base, uint64_t offset, void *dst, size_t len,
                             struct error *err)
{
    const struct swap_source *s = (const struct swap_source *)base;
    uint8_t *at = dst, element[WIDTH_MAX] = {0};
    while (len && err->status == OK) {
        size_t within = offset % s->width, n = len - len % s->width;
        if (within || !n) { /* part of an element */
            n = s->width - within < len ? s->width - within : len;
            source_read(base->inner, offset - within, element, s->width, err);
            swap_all(element, s->width, s->width);
            memcpy(at, element + within, n);
        } else {
            size_t most = BLOCK_BYTES - BLOCK_BYTES % s->width;
            n = n < most ? n : most;
            source_read(base->inner, offset, at, n, err);
            swap_all(at, n, s->width);
        }
        at += n;
        offset += n;
        len -= n;
    }
    return err->status;
}

static const struct source_ops swap_ops = {.read_at = swap_read};

static enum status swap_begin(struct source *base, const struct codec_args *args, struct error *err)
{
    uint64_t width = args->number[0];
    ((struct swap_source *)base)->width = (unsigned)width;
    return base->size % width == 0
               ? OK
               : error_set(err, ERR_CORRUPT, base->name, NO_OFFSET,
                           "%llu bytes are not whole elements of %llu bytes",
                           (unsigned long long)base->size, (unsigned long long)width);
}

static enum status swap_decode(const struct codec_step *step, struct bytes in, uint8_t *out,
                               size_t room, size_t *made, struct error *err)
{
    uint64_t width = step->args.number[0];
    *made = in.len;
    if (in.len % width)
        return codec_corrupt(step, err, "%zu bytes are not whole elements of %llu bytes", in.len,
                             (unsigned long long)width);
    if (in.len > room)
        return OK;
    size_t most = BLOCK_BYTES - BLOCK_BYTES % width;
    for (size_t at = 0, n; at < in.len; at += n) {
        n = in.len - at < most ? in.len - at : most;
        if (in.at != out)
            memcpy(out + at, in.at + at, n);
        swap_all(out + at, n, (unsigned)width);
    }
    return OK;
}

const struct codec codec_swap = {.name = "swap",
                                 .args = "2-16",
                                 .source = &swap_ops,
                                 .source_bytes = sizeof(struct swap_source),
                                 .begin = swap_begin,
                                 .size = codec_same_size,
                                 .decode = swap_decode,
                                 .in_place = true};
