/*
 * lzf.c - codec "lzf:N": an LZF block, HDF5's filter 32000 (h5py).
 *
 *   000LLLLL            L + 1 literal bytes follow
 *   LLLooooo oooooooo   copy L + 2 bytes from o + 1 bytes back; L is 1 to 6
 *   111ooooo l oooooooo the same, l + 9 bytes
 *
 * Source: LibLZF's description of its format; h5py/lzf/lzf_filter.c.
 */
#include "catalog/data/codec/codec.h"

static enum status lzf_decode(const struct codec_step *step, struct bytes in, uint8_t *out,
                              size_t room, size_t *made, struct error *err)
{
    const uint8_t *at = in.at, *end = in.at + in.len;
    size_t n = 0;
    *made = room + 1; /* more than fits, unless all is decoded below */
    while (at < end) {
        size_t control = *at++, len = control >> 5;
        if (control < 32) {
            len = control + 1;
            if ((size_t)(end - at) < len)
                return codec_corrupt(step, err, "ends inside %zu bytes", len);
            if (len > room - n)
                return OK;
            memcpy(out + n, at, len);
            at += len;
            n += len;
            continue;
        }
        if (len == 7 && at < end)
            len += *at++;
        if (at == end)
            return codec_corrupt(step, err, "ends inside a reference");
        size_t back = ((control & 31) << 8 | *at++) + 1;
        len += 2;
        if (back > n)
            return codec_corrupt(step, err, "refers to what is before its beginning");
        if (len > room - n)
            return OK;
        for (size_t i = 0; i < len; i++, n++) /* bytewise: source and target may overlap */
            out[n] = out[n - back];
    }
    *made = n;
    return OK;
}

const struct codec codec_lzf = {.name = "lzf", .args = "S", .decode = lzf_decode};
