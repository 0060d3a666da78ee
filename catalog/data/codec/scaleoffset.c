/*
 * scaleoffset.c - codec "scaleoffset:T,D,N[,F]": HDF5's filter for numbers that are close together.
 * T is the type ("i4", "u8", "f4", ...), D the decimal places to which floats were rounded, N the
 * number of elements, F the bits of the fill value in hexadecimal.
 *
 *   u32 B, u8 bytes of the minimum (8), minimum, zeros up to byte 21, then N numbers of B bits,
 *   highest bit first
 *
 * An element is its number plus the minimum; for floats the number is divided by 10^D first. If
 * there is a fill value, the number with all bits set means that. If B is the width of the type,
 * the elements are stored unchanged. Example: 1000, 1003, 1002 has the minimum 1000, B = 2 and the
 * numbers 0, 3, 2.
 *
 * Source: H5Zscaleoffset.c, and what h5py reads of files that it wrote.
 */
#include <math.h>
#include <stdlib.h>

#include "catalog/data/codec/codec.h"

#define HEAD_BYTES 21

struct scale {
    bool is_float;
    unsigned size; /* bytes of an element */
    int places;
    uint64_t count, fill;
    bool has_fill;
};

static bool take_scale(const struct codec_args *args, struct scale *s)
{
    const uint64_t type = args->number[0];
    *s = (struct scale){.is_float = type >= 8,
                        .size = type >= 8 ? 1u << (type - 6) : 1u << type % 4,
                        .places = (int)(int64_t)args->number[1],
                        .count = args->number[2]};
    if (!*args->rest)
        return true;
    char *end;
    s->fill = strtoull(args->rest + 1, &end, 16);
    s->has_fill = end != args->rest + 1;
    return !*end;
}

static bool scaleoffset_size(const struct codec_args *args, uint64_t in, struct codec_size *size)
{
    struct scale s;
    (void)in;
    bool good = take_scale(args, &s);
    *size = (struct codec_size){s.count * s.size, true};
    return good;
}

/* A float, computed in its own precision as the HDF5 library does. */
static uint64_t float_of(const struct scale *s, uint64_t number, uint64_t least)
{
    uint64_t bits = 0;
    if (s->size == 4) {
        uint32_t low = (uint32_t)least;
        float min, value;
        memcpy(&min, &low, sizeof(min));
        value = (float)(int32_t)number / powf(10, (float)s->places) + min;
        memcpy(&low, &value, sizeof(low));
        return low;
    }
    double min, value;
    memcpy(&min, &least, sizeof(min));
    value = (double)(int64_t)number / pow(10, s->places) + min;
    memcpy(&bits, &value, sizeof(bits));
    return bits;
}

static enum status scaleoffset_decode(const struct codec_step *step, struct bytes in, uint8_t *out,
                                      size_t room, size_t *made, struct error *err)
{
    struct scale s = {0};
    uint64_t least = 0, bit = 0, needed;
    take_scale(&step->args, &s);
    uint64_t total = s.count * s.size;
    *made = (size_t)total;
    if (in.len < HEAD_BYTES)
        return codec_corrupt(step, err, "%zu bytes cannot hold its head", in.len);
    uint32_t bits = load_u32le(in.at);
    unsigned width = in.at[4] < 8 ? in.at[4] : 8;
    for (unsigned i = 0; i < width; i++)
        least |= (uint64_t)in.at[5 + i] << 8 * i;
    const uint8_t *data = in.at + HEAD_BYTES;
    if (bits > s.size * 8 || !mul_u64(s.count, bits, &needed) ||
        needed / 8 + (needed % 8 != 0) > in.len - HEAD_BYTES)
        return codec_corrupt(step, err, "%zu bytes do not hold %llu numbers of %u bits", in.len,
                             (unsigned long long)s.count, (unsigned)bits);
    if (total > room || !total)
        return OK;
    if (bits == s.size * 8) {
        memcpy(out, data, (size_t)total);
        return OK;
    }
    uint64_t none = (UINT64_C(1) << bits) - 1;
    for (uint64_t i = 0; i < s.count; i++) {
        uint64_t number = codec_take_bits(data, &bit, bits);
        uint64_t value = s.has_fill && number == none ? s.fill
                         : s.is_float                 ? float_of(&s, number, least)
                                                      : number + least;
        for (unsigned b = 0; b < s.size; b++)
            out[i * s.size + b] = (uint8_t)(value >> 8 * b);
    }
    return OK;
}

const struct codec codec_scaleoffset = {.name = "scaleoffset",
                                        .args =
                                            "=i1|i2|i4|i8|u1|u2|u4|u8|f4|f8,D1000,0-4294967295?",
                                        .size = scaleoffset_size,
                                        .decode = scaleoffset_decode};
