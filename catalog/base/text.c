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

bool text_varint(struct text *t, uint64_t value)
{
    if (!reserve(t, VARINT_MAX))
        return false;
    t->len += varint_put((uint8_t *)t->at + t->len, value);
    t->at[t->len] = '\0';
    return true;
}

bool text_le(struct text *t, uint64_t value, size_t bytes)
{
    uint8_t word[sizeof(value)];
    store_u64le(word, value);
    return text_add(t, word, bytes);
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

void text_base64(struct text *t, const uint8_t *bytes, size_t len, bool url)
{
    const char *digits = url ? "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_"
                             : "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
    for (size_t i = 0; i < len; i += 3) {
        const size_t n = len - i < 3 ? len - i : 3;
        const uint32_t word = (uint32_t)bytes[i] << 16 | (n > 1 ? (uint32_t)bytes[i + 1] << 8 : 0) |
                              (n > 2 ? bytes[i + 2] : 0);
        char four[] = {digits[word >> 18], digits[word >> 12 & 63], digits[word >> 6 & 63],
                       digits[word & 63]};
        for (size_t missing = n + 1; missing < sizeof(four); missing++)
            four[missing] = '=';
        text_add(t, four, url ? n + 1 : sizeof(four));
    }
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
