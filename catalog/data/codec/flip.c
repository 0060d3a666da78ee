/* flip.c - codec "flip:W,B": invert the top bit of byte B of every W bytes, the sign of a float.
 * "flip:8,7" conjugates complex64, "flip:4,3" negates float32. */
#include <stdlib.h>

#include "catalog/data/codec/codec.h"

#define WIDTH_MAX 16

struct flip_source {
    struct source base; /* must be first */
    struct source *inner;
    uint64_t width, byte;
};

static void flip_all(uint8_t *at, size_t len, uint64_t offset, uint64_t width, uint64_t byte)
{
    uint64_t first = (byte + width - offset % width) % width;
    for (; first < len; first += width)
        at[first] ^= 0x80;
}

static enum status flip_read(const struct source *base, uint64_t offset, void *dst, size_t len,
                             struct error *err)
{
    const struct flip_source *s = (const struct flip_source *)base;
    if (source_read(s->inner, offset, dst, len, err) == OK)
        flip_all(dst, len, offset, s->width, s->byte);
    return err->status;
}

static void flip_close(struct source *base)
{
    source_close(((struct flip_source *)base)->inner);
    free(base);
}

static const struct source_ops flip_ops = {.read_at = flip_read, .close = flip_close};

static bool flip_parse(const char *argument, uint64_t *width, uint64_t *byte)
{
    char first[CODEC_STEP_BYTES];
    const char *comma = strchr(argument, ',');
    if (!comma || (size_t)(comma - argument) >= sizeof(first))
        return false;
    memcpy(first, argument, (size_t)(comma - argument));
    first[comma - argument] = '\0';
    return codec_number(first, width) && codec_number(comma + 1, byte) && *width &&
           *width <= WIDTH_MAX && *byte < *width;
}

static enum status flip_open(struct source *inner, const char *argument, struct source **out,
                             struct error *err)
{
    uint64_t width, byte;
    if (!flip_parse(argument, &width, &byte))
        return codec_bad_argument(inner, "flip", argument, err);
    struct flip_source *s = calloc(1, sizeof(*s));
    if (!s)
        return codec_no_memory(inner, err);
    s->base = (struct source){&flip_ops, inner->size, inner->name, inner->sequential};
    s->inner = inner;
    s->width = width;
    s->byte = byte;
    *out = &s->base;
    return OK;
}

const struct codec codec_flip = {.name = "flip", .open = flip_open};
