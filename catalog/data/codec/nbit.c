/*
 * nbit.c - codec "nbit:T,P,N": HDF5's filter that stores only P bits of each integer. T is the type
 * ("i4", "u2", ...), N the number of elements. The P-bit numbers are stored consecutively, highest
 * bit first: with P = 3 the elements 5, 1 are the bits 101 001.
 *
 * Source: the specification of the file format, IV.A.2.l; H5Znbit.c; files of h5py.
 */
#include "catalog/data/codec/codec.h"

struct narrow {
    bool is_signed;
    unsigned size, bits;
    uint64_t count;
};

static struct narrow narrow_of(const struct codec_args *args)
{
    return (struct narrow){.is_signed = args->number[0] < 4,
                           .size = 1u << args->number[0] % 4,
                           .bits = (unsigned)args->number[1],
                           .count = args->number[2]};
}

static bool nbit_size(const struct codec_args *args, uint64_t in, struct codec_size *size)
{
    struct narrow n = narrow_of(args);
    (void)in;
    *size = (struct codec_size){n.count * n.size, true};
    return n.bits <= n.size * 8;
}

static enum status nbit_decode(const struct codec_step *step, struct bytes in, uint8_t *out,
                               size_t room, size_t *made, struct error *err)
{
    struct narrow n = narrow_of(&step->args);
    uint64_t bit = 0;
    uint64_t total = n.count * n.size, needed = n.count * n.bits;
    *made = (size_t)total;
    if (needed / 8 + (needed % 8 != 0) > in.len)
        return codec_corrupt(step, err, "%zu bytes do not hold %llu numbers of %u bits", in.len,
                             (unsigned long long)n.count, n.bits);
    if (total > room)
        return OK;
    for (uint64_t i = 0; i < n.count; i++) {
        uint64_t value = codec_take_bits(in.at, &bit, n.bits);
        if (n.is_signed && n.bits > 0 && n.bits < 64 && value >> (n.bits - 1))
            value |= UINT64_MAX << n.bits;
        for (unsigned b = 0; b < n.size; b++)
            out[i * n.size + b] = (uint8_t)(value >> 8 * b);
    }
    return OK;
}

const struct codec codec_nbit = {.name = "nbit",
                                 .args = "=i1|i2|i4|i8|u1|u2|u4|u8,1-64,0-4294967295",
                                 .size = nbit_size,
                                 .decode = nbit_decode};
