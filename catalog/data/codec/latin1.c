/* latin1.c - codec "latin1:N": UTF-8 text of N characters U+0000..U+00FF, one for each byte. Pickle
 * protocols 0 to 2 have no byte strings and store bytes in this way. */
#include "catalog/data/codec/codec.h"

static enum status latin1_decode(const struct codec_step *step, struct bytes in, uint8_t *out,
                                 size_t room, size_t *made, struct error *err)
{
    size_t n = 0;
    for (size_t i = 0; i < in.len; i++) {
        uint8_t c = in.at[i];
        if (c >= 0x80) {
            bool two = (c == 0xc2 || c == 0xc3) && i + 1 < in.len && (in.at[i + 1] & 0xc0) == 0x80;
            if (!two)
                return codec_corrupt(step, err, "byte %zu is no part of such a text", i);
            c = (uint8_t)(c << 6 | (in.at[++i] & 0x3f));
        }
        if (n < room)
            out[n] = c;
        n++;
    }
    *made = n;
    return OK;
}

const struct codec codec_latin1 = {.name = "latin1", .args = "S", .decode = latin1_decode};
