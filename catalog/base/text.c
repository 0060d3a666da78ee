#include "catalog/base/text.h"

#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "catalog/base/arena.h"
#include "catalog/base/bits.h"
#include "catalog/base/error.h"

#define DEFAULT_LIMIT ((size_t)1 << 30)

static bool reserve(struct text *t, size_t more)
{
    size_t limit = t->limit ? t->limit : DEFAULT_LIMIT;
    if (t->failed || more > limit || t->len > limit - more)
        return !(t->failed = true);
    size_t need = t->len + more + 1;
    if (t->at && need <= t->space)
        return true;
    size_t space = t->space * 2 > need ? t->space * 2 : need + 32;
    char *at = realloc(t->at, space);
    if (!at) {
        error_lacking();
        return !(t->failed = true);
    }
    t->at = at;
    t->space = space;
    return true;
}

bool text_add(struct text *t, const void *bytes, size_t len)
{
    if (!reserve(t, len))
        return false;
    if (len)
        memcpy(t->at + t->len, bytes, len);
    t->len += len;
    t->at[t->len] = '\0';
    return true;
}

bool text_adds(struct text *t, const char *string)
{
    return text_add(t, string, strlen(string));
}

bool text_addc(struct text *t, char c)
{
    return text_add(t, &c, 1);
}

bool text_addf(struct text *t, const char *fmt, ...)
{
    va_list args;
    va_start(args, fmt);
    va_list again;
    va_copy(again, args);
    int len = vsnprintf(NULL, 0, fmt, args);
    va_end(args);
    if (len < 0)
        t->failed = true;
    bool ok = len >= 0 && reserve(t, (size_t)len);
    if (ok) {
        vsnprintf(t->at + t->len, (size_t)len + 1, fmt, again);
        t->len += (size_t)len;
    }
    va_end(again);
    return ok;
}

bool text_json(struct text *t, const char *bytes, size_t len)
{
    static const char replacement[] = "\xEF\xBF\xBD"; /* U+FFFD */
    const unsigned char *at = (const unsigned char *)bytes;
    text_addc(t, '"');
    for (size_t i = 0; i < len && !t->failed;) {
        int step = utf8_length(at + i, len - i);
        if (!step)
            text_adds(t, replacement);
        else if (at[i] == '"' || at[i] == '\\')
            text_addf(t, "\\%c", at[i]);
        else if (at[i] == '\n')
            text_adds(t, "\\n");
        else if (at[i] == '\t')
            text_adds(t, "\\t");
        else if (at[i] < 0x20 || at[i] == 0x7F)
            text_addf(t, "\\u%04x", at[i]);
        else
            text_add(t, bytes + i, (size_t)step);
        i += step ? (size_t)step : 1;
    }
    return text_addc(t, '"');
}

bool text_escape(struct text *t, const char *bytes, size_t len)
{
    char safe[UTF8_SAFE_MAX];
    for (size_t i = 0, n; i < len && !t->failed;) {
        i += utf8_safe(bytes + i, len - i, safe, &n);
        text_add(t, safe, n);
    }
    return !t->failed;
}

const char *text_str(struct text *t)
{
    if (t->failed)
        return NULL;
    return t->at ? t->at : "";
}

char *text_keep(struct text *t, struct arena *a)
{
    if (t->failed)
        arena_fail(a);
    return arena_copy(a, t->at, t->failed ? 0 : t->len);
}

char *text_steal(struct text *t)
{
    if (!t->at)
        text_adds(t, "");
    char *at = t->failed ? NULL : t->at;
    if (!at)
        free(t->at);
    *t = (struct text){.limit = t->limit};
    return at;
}

void text_reset(struct text *t)
{
    t->len = 0;
    t->failed = false;
    if (t->at)
        t->at[0] = '\0';
}

void text_release(struct text *t)
{
    free(t->at);
    *t = (struct text){.limit = t->limit};
}

bool text_ends_in(const void *text, size_t len, const char *suffix)
{
    const size_t n = strlen(suffix);
    return len >= n && memcmp((const char *)text + len - n, suffix, n) == 0;
}

/* --- UTF-8 ------------------------------------------------------------------------------ */

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
