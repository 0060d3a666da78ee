/* flip.c - codec "flip:W,B": invert the top bit of byte B of every W bytes, the sign of a float.
 * "flip:8,7" conjugates complex64, "flip:4,3" negates float32. */
#include "catalog/data/codec/codec.h"

struct flip_source {
    struct source base; /* must be first */
    uint64_t width, byte;
};

static enum status flip_read(const struct source *base, uint64_t offset, void *dst, size_t len,
                             struct error *err)
{
    const struct flip_source *s = (const struct flip_source *)base;
    const enum status status = source_read(base->inner, offset, dst, len, err);
    for (uint64_t i = (s->byte + s->width - offset % s->width) % s->width; i < len; i += s->width)
        ((uint8_t *)dst)[i] ^= 0x80;
    return status;
}

static const struct source_ops flip_ops = {.read_at = flip_read};

static enum status flip_begin(struct source *base, const struct codec_args *args, struct error *err)
{
    struct flip_source *s = (struct flip_source *)base;
    s->width = args->number[0];
    s->byte = args->number[1];
    return s->byte < s->width ? OK : codec_bad_argument(base, "flip", args->text, err);
}

const struct codec codec_flip = {.name = "flip",
                                 .args = "1-16,N",
                                 .source = &flip_ops,
                                 .source_bytes = sizeof(struct flip_source),
                                 .begin = flip_begin};
