/*
 * unpack.c - codec "unpack:B": B-bit elements that the file stores one per byte are packed, which
 * is how the catalog defines them. The first element goes to the low bits; the upper bits of the
 * stored byte (sign extension or zeros) are dropped. "unpack:4" makes 0x21 of the bytes 01 02.
 *
 * Eight elements are packed to a group of B bytes, the unit of work.
 */
#include "catalog/data/codec/codec.h"

#define GROUPS   1024 /* groups read at once */
#define BITS_MAX 7

struct unpack_source {
    struct source base; /* must be first */
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

static enum status unpack_read(const struct source *base, uint64_t offset, void *dst, size_t len,
                               struct error *err)
{
    const struct unpack_source *u = (const struct unpack_source *)base;
    uint8_t in[GROUPS * 8], out[GROUPS * BITS_MAX];
    for (uint8_t *at = dst; len;) {
        uint64_t group = offset / u->bits, first = group * 8;
        size_t within = offset % u->bits;
        uint64_t groups = (within + len + u->bits - 1) / u->bits;
        groups = groups < GROUPS ? groups : GROUPS;
        uint64_t left = base->inner->size - first;
        size_t elements = (size_t)(left < groups * 8 ? left : groups * 8);
        if (source_read(base->inner, first, in, elements, err) != OK)
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

static const struct source_ops unpack_ops = {.read_at = unpack_read};

static uint64_t packed_bytes(uint64_t elements, uint64_t bits)
{
    return elements / 8 * bits + (elements % 8 * bits + 7) / 8;
}

static enum status unpack_begin(struct source *base, const struct codec_args *args,
                                struct error *err)
{
    (void)err;
    ((struct unpack_source *)base)->bits = (unsigned)args->number[0];
    base->size = packed_bytes(base->size, args->number[0]);
    return OK;
}

static bool unpack_size(const struct codec_args *args, uint64_t in, struct codec_size *size)
{
    *size = (struct codec_size){packed_bytes(in, args->number[0]), true};
    return true;
}

static enum status unpack_decode(const struct codec_step *step, struct bytes in, uint8_t *out,
                                 size_t room, size_t *made, struct error *err)
{
    (void)err;
    uint64_t bits = step->args.number[0];
    *made = (size_t)packed_bytes(in.len, bits);
    if (*made > room)
        return OK;
    size_t groups = in.len / 8, rest = in.len % 8;
    for (size_t g = 0; g < groups; g++)
        pack_group(in.at + 8 * g, (unsigned)bits, out + g * bits);
    if (rest) {
        uint8_t last[8] = {0}, packed[BITS_MAX];
        memcpy(last, in.at + 8 * groups, rest);
        pack_group(last, (unsigned)bits, packed);
        memcpy(out + groups * bits, packed, *made - groups * bits);
    }
    return OK;
}

const struct codec codec_unpack = {.name = "unpack",
                                   .args = "1-7",
                                   .source = &unpack_ops,
                                   .source_bytes = sizeof(struct unpack_source),
                                   .begin = unpack_begin,
                                   .size = unpack_size,
                                   .decode = unpack_decode};
