#include "catalog/base/utf8.h"

#include <string.h>

#include "catalog/base/bits.h"

/*
 * Well-formed sequences, from The Unicode Standard, table 3-7:
 *   00..7F | C2..DF 80..BF | E0 A0..BF 80..BF | E1..EC,EE..EF 80..BF x2
 *   ED 80..9F 80..BF | F0 90..BF x.. | F1..F3 80..BF x.. | F4 80..8F x..
 */
int utf8_length(const unsigned char *at, size_t left)
{
    if (left == 0)
        return 0;
    unsigned char a = at[0];
    if (a < 0x80)
        return 1;
    int len = a >= 0xF0 ? 4 : a >= 0xE0 ? 3 : 2;
    if (a < 0xC2 || a > 0xF4 || left < (size_t)len)
        return 0;
    unsigned char low = a == 0xE0 ? 0xA0 : a == 0xF0 ? 0x90 : 0x80;
    unsigned char high = a == 0xED ? 0x9F : a == 0xF4 ? 0x8F : 0xBF;
    if (at[1] < low || at[1] > high)
        return 0;
    for (int i = 2; i < len; i++)
        if ((at[i] & 0xC0) != 0x80)
            return 0;
    return len;
}

bool utf8_valid(const char *bytes, size_t len)
{
    const unsigned char *at = (const unsigned char *)bytes;
    for (size_t i = 0; i < len;) {
        if (len - i >= 8 && is_ascii8(at + i)) {
            i += 8;
            continue;
        }
        int step = utf8_length(at + i, len - i);
        if (!step)
            return false;
        i += (size_t)step;
    }
    return true;
}

/* Characters that control a terminal: control characters, also U+0080..U+009F, and those that
 * change the direction of the text after them, U+202A..U+202E and U+2066..U+2069. */
static bool is_control(const unsigned char *at, int step)
{
    if (step == 1)
        return at[0] < 0x20 || at[0] == 0x7F;
    if (step == 2)
        return at[0] == 0xC2 && at[1] < 0xA0;
    return step == 3 && at[0] == 0xE2 &&
           ((at[1] == 0x80 && at[2] >= 0xAA && at[2] <= 0xAE) ||
            (at[1] == 0x81 && at[2] >= 0xA6 && at[2] <= 0xA9));
}

size_t utf8_safe(const char *bytes, size_t left, char out[UTF8_SAFE_MAX], size_t *written)
{
    static const char digits[] = "0123456789abcdef";
    const unsigned char *at = (const unsigned char *)bytes;
    const int step = utf8_length(at, left);
    const size_t len = step ? (size_t)step : 1;
    *written = len;
    if (step && !is_control(at, step)) {
        memcpy(out, at, len);
        return len;
    }
    *written = len * 4;
    for (size_t i = 0; i < len; i++)
        memcpy(out + 4 * i, (char[]){'\\', 'x', digits[at[i] >> 4], digits[at[i] & 15]}, 4);
    return len;
}

size_t utf8_put(void *to, uint32_t code)
{
    static const uint8_t lead[] = {0, 0xC0, 0xE0, 0xF0};
    uint8_t *out = to;
    if (code < 0x80) {
        out[0] = (uint8_t)code;
        return 1;
    }
    const size_t more = code < 0x800 ? 1 : code < 0x10000 ? 2 : 3;
    out[0] = (uint8_t)(lead[more] | code >> (6 * more));
    for (size_t i = 1; i <= more; i++)
        out[i] = (uint8_t)(0x80 | (code >> (6 * (more - i)) & 0x3F));
    return more + 1;
}
