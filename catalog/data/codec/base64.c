#include "catalog/data/codec/base64.h"

size_t base64_decode(struct bytes text, uint8_t *out, size_t room)
{
    static const char digits[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
    size_t len = text.len, made = 0;
    uint32_t word = 0;
    if (len % 4)
        return SIZE_MAX;
    while (len && text.len - len < 2 && text.at[len - 1] == '=')
        len--;
    for (size_t i = 0; i < len; i++) {
        const char *digit = text.at[i] ? strchr(digits, text.at[i]) : NULL;
        if (!digit)
            return SIZE_MAX;
        word = word << 6 | (uint32_t)(digit - digits);
        if (i % 4 == 0)
            continue;
        if (made == room)
            return SIZE_MAX;
        out[made++] = (uint8_t)(word >> (2 * (3 - i % 4)));
    }
    return made;
}
