#include "shell/session/human.h"

#include <stdio.h>

#include "catalog/base/text.h"

/* Format a number with three digits and a unit, e.g. 12345 as "12.3 K"; units[i] is 1000^i. */
static char *three_digits(uint64_t n, const char *const *units, char out[HUMAN_MAX])
{
    double value = (double)n;
    size_t unit = 0;
    while (value >= 999.5 && units[unit + 1]) {
        value /= 1000;
        unit++;
    }
    int decimals = unit == 0 || value >= 99.95 ? 0 : value >= 9.995 ? 1 : 2;
    snprintf(out, HUMAN_MAX, "%.*f%s%s", decimals, value, *units[unit] ? " " : "", units[unit]);
    return out;
}

char *human_bytes(uint64_t bytes, char out[HUMAN_MAX])
{
    static const char *const units[] = {"B", "kB", "MB", "GB", "TB", "PB", "EB", NULL};
    return three_digits(bytes, units, out);
}

char *human_count(uint64_t count, char out[HUMAN_MAX])
{
    static const char *const units[] = {"", "K", "M", "B", "T", NULL};
    return three_digits(count, units, out);
}

char *human_time(uint64_t seconds, char out[HUMAN_MAX])
{
    unsigned long long s = seconds < 359999 ? seconds : 359999;
    if (s >= 3600)
        snprintf(out, HUMAN_MAX, "%llu:%02llu:%02llu", s / 3600, s / 60 % 60, s % 60);
    else
        snprintf(out, HUMAN_MAX, "%llu:%02llu", s / 60, s % 60);
    return out;
}

/* Blocks of Unicode 15 whose width is not 1, as far as they matter, ascending (EastAsianWidth.txt W
 * and F; general categories Mn and Me; format characters without width). */
static const struct {
    uint32_t first, last;
    unsigned char width;
} odd_widths[] = {
    {0x0300, 0x036F, 0},   {0x0483, 0x0489, 0},   {0x0591, 0x05BD, 0},   {0x0610, 0x061A, 0},
    {0x064B, 0x065F, 0},   {0x1100, 0x115F, 2},   {0x1AB0, 0x1AFF, 0},   {0x1DC0, 0x1DFF, 0},
    {0x200B, 0x200F, 0},   {0x202A, 0x202E, 0},   {0x2060, 0x2064, 0},   {0x20D0, 0x20F0, 0},
    {0x231A, 0x231B, 2},   {0x2E80, 0x303E, 2},   {0x3041, 0x4DBF, 2},   {0x4E00, 0xA4CF, 2},
    {0xA960, 0xA97C, 2},   {0xAC00, 0xD7A3, 2},   {0xF900, 0xFAFF, 2},   {0xFE00, 0xFE0F, 0},
    {0xFE20, 0xFE2F, 0},   {0xFE30, 0xFE6F, 2},   {0xFEFF, 0xFEFF, 0},   {0xFF00, 0xFF60, 2},
    {0xFFE0, 0xFFE6, 2},   {0x1F300, 0x1F64F, 2}, {0x1F680, 0x1F6FF, 2}, {0x1F900, 0x1F9FF, 2},
    {0x20000, 0x3FFFD, 2}, {0xE0100, 0xE01EF, 0},
};

/* Columns of the character at `at`, whose length in bytes becomes *step. */
static unsigned character_width(const unsigned char *at, size_t left, size_t *step)
{
    static const unsigned char lead_bits[] = {0, 0x7F, 0x1F, 0x0F, 0x07};
    int len = utf8_length(at, left);
    *step = len ? (size_t)len : 1;
    if (len < 2)
        return 1;
    uint32_t code = at[0] & lead_bits[len];
    for (int i = 1; i < len; i++)
        code = code << 6 | (at[i] & 0x3F);
    for (size_t i = 0; i < sizeof(odd_widths) / sizeof(*odd_widths); i++)
        if (code <= odd_widths[i].last)
            return code < odd_widths[i].first ? 1 : odd_widths[i].width;
    return 1;
}

size_t text_width(const char *text, size_t len)
{
    const unsigned char *at = (const unsigned char *)text;
    size_t width = 0, step;
    for (size_t i = 0; i < len; i += step)
        width += character_width(at + i, len - i, &step);
    return width;
}

size_t text_tail(const char *text, size_t len, size_t columns)
{
    const unsigned char *at = (const unsigned char *)text;
    size_t width = text_width(text, len), i = 0, step;
    while (width > columns && i < len) {
        width -= character_width(at + i, len - i, &step);
        i += step;
    }
    return i;
}

size_t text_head(const char *text, size_t len, size_t columns)
{
    const unsigned char *at = (const unsigned char *)text;
    size_t width = 0, i = 0, step;
    for (; i < len; i += step) {
        width += character_width(at + i, len - i, &step);
        if (width > columns)
            break;
    }
    return i;
}
