/*
 * precision.c - codec "bits:T,P,O": integers whose value is P bits from bit O on, to whole ones. T is the type
 * ("i4", "u2", ...), little-endian; what the other bits hold does not count. "bits:i2,12,4" makes
 * the int16 -1 of the bytes f7 ff.
 */
#include "catalog/data/codec/codec.h"

struct bits {
    bool is_signed;
    unsigned size, count, first;
};

struct bits_source {
    struct source base; /* must be first */
    struct bits bits;
};

static struct bits bits_of(const struct codec_args *args)
{
    return (struct bits){.is_signed = args->number[0] < 4,
                         .size = 1u << args->number[0] % 4,
                         .count = (unsigned)args->number[1],
                         .first = (unsigned)args->number[2]};
}

static bool bits_fit(const struct bits *b)
{
    return b->count + b->first <= b->size * 8;
}

static void take_all(const struct bits *b, uint8_t *at, size_t len)
{
    for (size_t i = 0; i + b->size <= len; i += b->size) {
        uint64_t value = 0;
        for (unsigned k = 0; k < b->size; k++)
            value |= (uint64_t)at[i + k] << 8 * k;
        value = value >> b->first & UINT64_MAX >> (64 - b->count);
        if (b->is_signed && b->count < 64 && value >> (b->count - 1))
            value |= UINT64_MAX << b->count;
        for (unsigned k = 0; k < b->size; k++)
            at[i + k] = (uint8_t)(value >> 8 * k);
    }
}

static enum status bits_read(const struct source *base, uint64_t offset, void *dst, size_t len,
                             struct error *err)
{
    const struct bits *b = &((const struct bits_source *)base)->bits;
    uint8_t *at = dst, element[8] = {0};
    while (len && err->status == OK) {
        size_t within = offset % b->size, n = len - len % b->size;
        if (within || !n) { /* part of an element */
            n = b->size - within < len ? b->size - within : len;
            source_read(base->inner, offset - within, element, b->size, err);
            take_all(b, element, b->size);
            memcpy(at, element + within, n);
        } else {
            source_read(base->inner, offset, at, n, err);
            take_all(b, at, n);
        }
        at += n;
        offset += n;
        len -= n;
    }
    return err->status;
}

static const struct source_ops bits_ops = {.read_at = bits_read};

static enum status bits_begin(struct source *base, const struct codec_args *args, struct error *err)
{
    struct bits *b = &((struct bits_source *)base)->bits;
    *b = bits_of(args);
    if (!bits_fit(b))
        return codec_bad_argument(base, "bits", args->text, err);
    return base->size % b->size == 0 ? OK
                                     : error_set(err, ERR_CORRUPT, base->name, NO_OFFSET,
                                                 "%llu bytes are not whole elements of %u bytes",
                                                 (unsigned long long)base->size, b->size);
}

static bool bits_size(const struct codec_args *args, uint64_t in, struct codec_size *size)
{
    const struct bits b = bits_of(args);
    *size = (struct codec_size){in, true};
    return bits_fit(&b);
}

static enum status bits_decode(const struct codec_step *step, struct bytes in, uint8_t *out,
                               size_t room, size_t *made, struct error *err)
{
    const struct bits b = bits_of(&step->args);
    *made = in.len;
    if (in.len % b.size)
        return codec_corrupt(step, err, "%zu bytes are not whole elements of %u bytes", in.len,
                             b.size);
    if (in.len > room)
        return OK;
    if (in.len && in.at != out)
        memcpy(out, in.at, in.len);
    take_all(&b, out, in.len);
    return OK;
}

const struct codec codec_bits = {.name = "bits",
                                 .args = "=i1|i2|i4|i8|u1|u2|u4|u8,1-64,0-63",
                                 .source = &bits_ops,
                                 .source_bytes = sizeof(struct bits_source),
                                 .begin = bits_begin,
                                 .size = bits_size,
                                 .decode = bits_decode,
                                 .in_place = true};
