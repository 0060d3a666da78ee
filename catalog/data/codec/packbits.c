/*
 * packbits.c - codec "packbits:bool": bools as numcodecs packs them. The first byte is the number
 * of unused bits at the end (0 .. 7); then each byte has eight bools, the first in the highest bit.
 *
 * Source: numcodecs/packbits.py.
 */
#include "catalog/data/codec/codec.h"

static bool packbits_size(const struct codec_args *args, uint64_t in, struct codec_size *size)
{
    (void)args;
    size->exact = false;
    return mul_u64(in ? in - 1 : 0, 8, &size->most);
}

static enum status packbits_decode(const struct codec_step *step, struct bytes in, uint8_t *out,
                                   size_t room, size_t *made, struct error *err)
{
    if (!in.len || *in.at > 7 || (*in.at && in.len == 1))
        return codec_corrupt(step, err, "no count of unused bits in %zu bytes", in.len);
    const uint8_t *at = in.at + 1;
    size_t count = (in.len - 1) * 8 - *in.at;
    *made = count;
    if (count > room)
        return OK;
    for (size_t i = 0; i + 8 <= count; i += 8)
        for (unsigned bit = 0; bit < 8; bit++)
            out[i + bit] = at[i / 8] >> (7 - bit) & 1;
    for (size_t i = count - count % 8; i < count; i++)
        out[i] = at[i / 8] >> (7 - i % 8) & 1;
    return OK;
}

const struct codec codec_packbits = {
    .name = "packbits", .args = "=bool", .size = packbits_size, .decode = packbits_decode};
