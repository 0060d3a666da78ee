/* flip.c - codec "flip:W,B": invert the top bit of byte B of every W bytes, the sign of a float.
 * "flip:8,7" conjugates complex64, "flip:4,3" negates float32. */
#include <stdlib.h>

#include "catalog/data/codec/codec.h"

struct flip_source {
    struct source base; /* must be first */
    struct source *inner;
    uint64_t width, byte;
};

static enum status flip_read(const struct source *base, uint64_t offset, void *dst, size_t len,
                             struct error *err)
{
    const struct flip_source *s = (const struct flip_source *)base;
    if (source_read(s->inner, offset, dst, len, err) != OK)
        return err->status;
    for (uint64_t i = (s->byte + s->width - offset % s->width) % s->width; i < len; i += s->width)
        ((uint8_t *)dst)[i] ^= 0x80;
    return OK;
}

static void flip_close(struct source *base)
{
    source_close(((struct flip_source *)base)->inner);
    free(base);
}

static const struct source_ops flip_ops = {.read_at = flip_read, .close = flip_close};

static enum status flip_open(struct source *inner, const struct codec_args *args,
                             struct source **out, struct error *err)
{
    struct source base = {&flip_ops, inner->size, inner->name, inner->sequential};
    if (args->number[1] >= args->number[0])
        return codec_bad_argument(inner, "flip", args->text, err);
    struct flip_source *s = codec_source_new(inner, sizeof(*s), base, err);
    if (!s)
        return err->status;
    s->inner = inner;
    s->width = args->number[0];
    s->byte = args->number[1];
    *out = &s->base;
    return OK;
}

const struct codec codec_flip = {.name = "flip", .args = "1-16,N", .open = flip_open};
