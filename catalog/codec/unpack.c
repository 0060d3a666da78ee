/*
 * unpack.c - elements of B bits that the file keeps one a byte, packed as the catalog
 * means them: "unpack:4". The first element goes to the low bits; what the file has in
 * the upper bits of a byte (a sign, mostly nothing) is left out.
 *
 * Eight elements make a group of B bytes; groups are the unit of work.
 */
#include <stdlib.h>

#include "catalog/codec/codec.h"

#define GROUPS   1024 /* read at once */
#define BITS_MAX 7

struct unpack_source {
    struct source base; /* must be first */
    struct source *inner;
    unsigned bits;
};

static void pack_group(const uint8_t *in, unsigned bits, uint8_t *out)
{
    uint64_t word = 0;
    uint64_t mask = (1u << bits) - 1;
    for (unsigned i = 0; i < 8; i++)
        word |= (in[i] & mask) << (i * bits);
    for (unsigned i = 0; i < bits; i++)
        out[i] = (uint8_t)(word >> (8 * i));
}

static enum status unpack_read(const struct source *base, uint64_t offset, void *dst,
                               size_t len, struct error *err)
{
    const struct unpack_source *u = (const struct unpack_source *)base;
    uint8_t in[GROUPS * 8], out[GROUPS * BITS_MAX];
    for (uint8_t *at = dst; len;) {
        uint64_t group = offset / u->bits, first = group * 8;
        size_t within = offset % u->bits;
        uint64_t groups = (within + len + u->bits - 1) / u->bits;
        groups = groups < GROUPS ? groups : GROUPS;
        uint64_t left = u->inner->size - first;
        size_t elements = (size_t)(left < groups * 8 ? left : groups * 8);
        if (source_read(u->inner, first, in, elements, err) != OK)
            return err->status;
        memset(in + elements, 0, (size_t)groups * 8 - elements);
        for (uint64_t g = 0; g < groups; g++)
            pack_group(in + g * 8, u->bits, out + g * u->bits);
        size_t n = (size_t)groups * u->bits - within;
        n = n < len ? n : len;
        memcpy(at, out + within, n);
        at += n;
        offset += n;
        len -= n;
    }
    return OK;
}

static void unpack_close(struct source *base)
{
    source_close(((struct unpack_source *)base)->inner);
    free(base);
}

static const struct source_ops unpack_ops = {.read_at = unpack_read,
                                             .close = unpack_close};

static enum status unpack_open(struct source *inner, const char *argument,
                               struct source **out, struct error *err)
{
    uint64_t bits;
    if (!codec_number(argument, &bits) || bits < 1 || bits > BITS_MAX)
        return codec_bad_argument(inner, "unpack", argument, err);
    struct unpack_source *u = calloc(1, sizeof(*u));
    if (!u)
        return codec_no_memory(inner, err);
    uint64_t size = inner->size / 8 * bits + (inner->size % 8 * bits + 7) / 8;
    u->base = (struct source){&unpack_ops, size, inner->name, inner->sequential};
    u->inner = inner;
    u->bits = (unsigned)bits;
    *out = &u->base;
    return OK;
}

const struct codec codec_unpack = {.name = "unpack", .open = unpack_open};
