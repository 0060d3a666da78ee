/*
 * pickle_literal.c - opcodes whose value follows in the bytes: numbers, texts, memo references.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "catalog/base/text.h"
#include "importer/format/torch/pickle_private.h"

/* --- numbers and texts ------------------------------------------------------------------ */

/* Push a node for an integer given as decimal digits. */
static bool push_big(struct machine *m, const char *digits, size_t len)
{
    char *text = pickle_text_room(m, len, NO_OFFSET);
    pickle_ref ref = text ? pickle_new_node(m, PICKLE_BIGINT) : 0;
    if (!ref)
        return false;
    memcpy(text, digits, len);
    pickle_at(m->p, ref)->text = text;
    pickle_at(m->p, ref)->count = (uint32_t)len;
    return pickle_push(m, ref);
}

/* Convert a little-endian two's complement of more than 8 bytes to decimal digits. */
static bool push_wide(struct machine *m, const uint8_t *bytes, size_t len)
{
    uint8_t number[LIMIT_PICKLE_INT];
    char digits[LIMIT_PICKLE_INT * 5 / 2 + 2];
    size_t at = sizeof(digits);
    bool negative = bytes[len - 1] & 0x80, any = true, carry = negative;
    for (size_t i = 0; i < len; i++) {
        number[i] = negative ? (uint8_t)(~bytes[i] + carry) : bytes[i];
        carry = carry && number[i] == 0;
    }
    while (any) {
        unsigned rest = 0;
        any = false;
        for (size_t i = len; i-- > 0;) {
            unsigned part = rest << 8 | number[i];
            number[i] = (uint8_t)(part / 10);
            rest = part % 10;
            any |= number[i] != 0;
        }
        digits[--at] = (char)('0' + rest);
    }
    if (negative)
        digits[--at] = '-';
    return push_big(m, digits + at, sizeof(digits) - at);
}

static bool push_long(struct machine *m, uint64_t len)
{
    uint64_t value = 0;
    if (len > LIMIT_PICKLE_INT)
        return pickle_fail(m, ERR_LIMIT, "an integer of more than 1,024 bytes");
    const uint8_t *bytes = pickle_take(m, (size_t)len);
    if (!bytes)
        return false;
    size_t n = (size_t)len;
    while (n > 8 && bytes[n - 1] == (bytes[n - 2] & 0x80 ? 0xff : 0))
        n--;
    if (n > 8)
        return push_wide(m, bytes, n);
    for (size_t i = 0; i < n; i++)
        value |= (uint64_t)bytes[i] << (8 * i);
    if (n && n < 8 && bytes[n - 1] & 0x80)
        value |= UINT64_MAX << (8 * n);
    return pickle_push_int(m, (int64_t)value);
}

bool pickle_push_decimal(struct machine *m, bool is_long)
{
    size_t len = 0;
    const char *line = pickle_take_line(m, &len);
    if (!line)
        return false;
    if (!is_long && len == 2 && line[0] == '0' && (line[1] == '0' || line[1] == '1'))
        return pickle_push(m, line[1] == '1' ? NODE_TRUE : NODE_FALSE);
    if (len && line[len - 1] == 'L')
        len--;
    size_t sign = len && line[0] == '-';
    bool fits = len > sign && len <= LIMIT_PICKLE_INT;
    for (size_t i = sign; i < len; i++)
        fits = fits && line[i] >= '0' && line[i] <= '9';
    if (!fits)
        return pickle_fail(m, ERR_CORRUPT, "an integer that is none");
    return len - sign <= 18 ? pickle_push_int(m, strtoll(line, NULL, 10)) : push_big(m, line, len);
}

bool pickle_push_float_text(struct machine *m)
{
    size_t len = 0;
    char *end = NULL;
    const char *line = pickle_take_line(m, &len);
    if (!line)
        return false;
    double value = strtod(line, &end);
    return len && end == line + len ? pickle_push_real(m, value)
                                    : pickle_fail(m, ERR_CORRUPT, "a float that is none");
}

bool pickle_push_binary_float(struct machine *m)
{
    const uint8_t *b = pickle_take(m, 8);
    double value;
    if (!b)
        return false;
    uint64_t bits = load_u64be(b);
    memcpy(&value, &bits, sizeof(value));
    return pickle_push_real(m, value);
}

static bool hex_digits(const char *at, size_t count, uint32_t *value)
{
    *value = 0;
    for (size_t i = 0; i < count; i++) {
        char c = at[i];
        int digit = c >= '0' && c <= '9'   ? c - '0'
                    : c >= 'a' && c <= 'f' ? c - 'a' + 10
                    : c >= 'A' && c <= 'F' ? c - 'A' + 10
                                           : -1;
        if (digit < 0)
            return false;
        *value = *value << 4 | (uint32_t)digit;
    }
    return true;
}

bool pickle_push_raw_unicode(struct machine *m)
{
    size_t len = 0, made = 0;
    const char *line = pickle_take_line(m, &len);
    char *text = line ? pickle_text_room(m, 2 * (uint64_t)len, NO_OFFSET) : NULL;
    if (!text)
        return false;
    for (size_t i = 0; i < len;) {
        uint32_t c = (uint8_t)line[i];
        size_t digits = c != '\\' || i + 1 == len ? 0
                        : line[i + 1] == 'u'      ? 4
                        : line[i + 1] == 'U'      ? 8
                                                  : 0;
        i++;
        if (digits) {
            if (len - i - 1 < digits || !hex_digits(line + i + 1, digits, &c) || c > 0x10ffff)
                return pickle_fail(m, ERR_CORRUPT, "a text with a bad escape");
            i += 1 + digits;
        }
        made += utf8_put(text + made, c);
    }
    text[made] = '\0';
    return pickle_push_text(m, text, made, 0);
}

static char unescaped(char c)
{
    static const char from[] = "abfnrtv", to[] = "\a\b\f\n\r\t\v";
    const char *at = c ? strchr(from, c) : NULL;
    if (at)
        c = to[at - from];
    return c;
}

bool pickle_push_quoted(struct machine *m)
{
    size_t len = 0, made = 0;
    const char *line = pickle_take_line(m, &len);
    if (!line)
        return false;
    if (len < 2 || (line[0] != '\'' && line[0] != '"') || line[len - 1] != line[0])
        return pickle_fail(m, ERR_CORRUPT, "a string without its quotes");
    char *text = pickle_text_room(m, len, NO_OFFSET);
    for (size_t i = 1; text && i < len - 1; i++) {
        uint32_t c;
        if (line[i] != '\\') {
            text[made++] = line[i];
        } else if (line[++i] == 'x' && len - 1 - i > 2 && hex_digits(line + i + 1, 2, &c)) {
            text[made++] = (char)c;
            i += 2;
        } else if (i < len - 1) {
            text[made++] = unescaped(line[i]);
        }
    }
    if (text)
        text[made] = '\0';
    return pickle_push_text(m, text, made, PICKLE_STR8);
}

/* --- opcodes with a number or length ---------------------------------------------------- */

bool pickle_text_of(struct machine *m, unsigned width, uint8_t flags)
{
    uint64_t len;
    return pickle_take_number(m, width, &len) &&
           pickle_push_text(m, pickle_take_text(m, len), len, flags);
}

bool pickle_bytes_of(struct machine *m, unsigned width)
{
    uint64_t len;
    return pickle_take_number(m, width, &len) && pickle_push_bytes(m, len);
}

bool pickle_int_of(struct machine *m, unsigned width)
{
    uint64_t value;
    return pickle_take_number(m, width, &value) &&
           pickle_push_int(m, width == 4 ? (int32_t)value : (int64_t)value);
}

bool pickle_long_of(struct machine *m, unsigned width)
{
    uint64_t len;
    return pickle_take_number(m, width, &len) && push_long(m, len);
}

bool pickle_memo_of(struct machine *m, unsigned width, bool (*op)(struct machine *, uint64_t))
{
    uint64_t key = 0;
    if (width)
        return pickle_take_number(m, width, &key) && op(m, key);
    size_t len = 0;
    const char *line = pickle_take_line(m, &len);
    if (!line)
        return false;
    bool fits = len && len <= 10;
    for (size_t i = 0; fits && i < len; i++) {
        fits = line[i] >= '0' && line[i] <= '9';
        key = key * 10 + (uint64_t)(line[i] - '0');
    }
    return fits ? op(m, key) : pickle_fail(m, ERR_CORRUPT, "a memo number that is none");
}

bool pickle_push_persid(struct machine *m, bool line)
{
    size_t len = 0;
    if (line) {
        const char *text = pickle_take_line(m, &len);
        if (!pickle_push_text(m, text, len, 0))
            return false;
    }
    return pickle_gather(m, PICKLE_PERSID, 1);
}

bool pickle_do_proto(struct machine *m)
{
    uint64_t protocol;
    if (!pickle_take_number(m, 1, &protocol))
        return false;
    return protocol <= 5 || pickle_fail(m, ERR_UNSUPPORTED, "a protocol after 5");
}
