#include "catalog/base/error.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "catalog/base/utf8.h"

#define CUT "..."

/* The last `most` bytes of a text, or fewer: a character is not cut. */
static const char *end_of(const char *text, size_t most)
{
    const char *at = text + strlen(text) - most;
    while (((unsigned char)*at & 0xC0) == 0x80)
        at++;
    return at;
}

/* Copy `src`, with control characters escaped, into the `size` bytes of `dst`. If it does not fit,
 * "..." stands for the rest; of a path (`is_path`) the end is kept, which says more. */
static void clean_copy(char *dst, size_t size, const char *src, bool is_path)
{
    char safe[UTF8_SAFE_MAX];
    size_t len = 0, n;
    if (is_path && strlen(src) >= size) {
        memcpy(dst, CUT, sizeof(CUT));
        len = strlen(CUT);
        src = end_of(src, size - sizeof(CUT));
    }
    for (size_t left = strlen(src), step; left; src += step, left -= step) {
        step = utf8_safe(src, left, safe, &n);
        if (n >= size - len)
            break;
        memcpy(dst + len, safe, n);
        len += n;
    }
    dst[len] = '\0';
    if (!*src)
        return;
    len = len < size - sizeof(CUT) ? len : size - sizeof(CUT);
    while (len && ((unsigned char)dst[len] & 0xC0) == 0x80)
        len--;
    memcpy(dst + len, CUT, sizeof(CUT));
}

static _Thread_local unsigned long troubles;
static _Thread_local struct error last_trouble;

unsigned long error_troubles(const struct error **last)
{
    *last = troubles ? &last_trouble : NULL;
    return troubles;
}

enum status error_set(struct error *err, enum status status, const char *source, uint64_t offset,
                      const char *fmt, ...)
{
    if (err->status != OK)
        return err->status;
    char raw[sizeof(err->message)];
    va_list args;
    va_start(args, fmt);
    vsnprintf(raw, sizeof(raw), fmt, args);
    va_end(args);
    err->status = status;
    err->offset = offset;
    clean_copy(err->message, sizeof(err->message), raw, false);
    clean_copy(err->source, sizeof(err->source), source ? source : "", true);
    if (status == ERR_IO || status == ERR_MEMORY) {
        troubles++;
        last_trouble = *err;
    }
    return status;
}

enum status error_memory(struct error *err)
{
    return error_memory_at(err, NULL);
}

enum status error_memory_at(struct error *err, const char *source)
{
    return error_set(err, ERR_MEMORY, source, NO_OFFSET, "no memory");
}

void error_about(struct error *err, const char *source)
{
    if (err->status != OK && !*err->source)
        clean_copy(err->source, sizeof(err->source), source, true);
}

void error_lacking(void)
{
    struct error err = {.offset = NO_OFFSET};
    error_memory(&err);
}

enum status error_errno(struct error *err, int code, const char *source, const char *doing)
{
    char why[128];
    if (strerror_r(code, why, sizeof(why)) != 0)
        snprintf(why, sizeof(why), "error %d", code);
    return error_set(err, ERR_IO, source, NO_OFFSET, "%s: %s", doing, why);
}

enum status error_code(struct error *err, const char *code)
{
    if (!err->code)
        err->code = code;
    return err->status;
}

const char *error_word(const struct error *err)
{
    return err->code && !status_passes(err->status) ? err->code : status_name(err->status);
}

bool status_passes(enum status status)
{
    return status == ERR_IO || status == ERR_MEMORY || status == ERR_BUSY ||
           status == ERR_INTERRUPTED;
}

void error_prefix(struct error *err, const char *what)
{
    char joined[sizeof(err->message) * 2];
    snprintf(joined, sizeof(joined), "%.300s: %s", what, err->message);
    clean_copy(err->message, sizeof(err->message), joined, false);
}

void error_clear(struct error *err)
{
    *err = (struct error){.offset = NO_OFFSET};
}

const char *status_name(enum status status)
{
    static const char *const names[] = {
        [OK] = "ok",
        [ERR_CORRUPT] = "corrupt",
        [ERR_UNSUPPORTED] = "unsupported",
        [ERR_LIMIT] = "limit",
        [ERR_BUSY] = "busy",
        [ERR_MISSING] = "missing",
        [ERR_CHANGED] = "changed",
        [ERR_CHECKSUM] = "checksum",
        [ERR_VALUE] = "value",
        [ERR_IO] = "io",
        [ERR_MEMORY] = "memory",
        [ERR_ARGUMENT] = "argument",
        [ERR_INTERRUPTED] = "interrupted",
    };
    return names[status];
}

char *error_text(const struct error *err, char *out, unsigned long size)
{
    const char *colon = err->source[0] ? ": " : "";
    if (err->offset == NO_OFFSET)
        snprintf(out, size, "%s%s%s", err->source, colon, err->message);
    else
        snprintf(out, size, "%s%s%s (at byte %llu)", err->source, colon, err->message,
                 (unsigned long long)err->offset);
    return out;
}
