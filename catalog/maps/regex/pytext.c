#define PCRE2_CODE_UNIT_WIDTH 8
#include "catalog/maps/regex/pytext.h"

#include <pcre2.h>
#include <string.h>

uint32_t pytext_decode(const char *at, size_t *len)
{
    const unsigned char *b = (const unsigned char *)at;
    *len = b[0] < 0x80 ? 1 : b[0] < 0xE0 ? 2 : b[0] < 0xF0 ? 3 : 4;
    uint32_t c = *len == 1 ? b[0] : b[0] & (0xFFu >> (*len + 1));
    for (size_t i = 1; i < *len; i++)
        c = c << 6 | (b[i] & 0x3Fu);
    return c;
}

bool pytext_encode(struct text *out, uint32_t c)
{
    if (c < 0x80)
        return text_addc(out, (char)c);
    if (c < 0x800)
        return text_addc(out, (char)(0xC0 | c >> 6)) && text_addc(out, (char)(0x80 | (c & 0x3F)));
    if (c >= 0x10000)
        text_addc(out, (char)(0xF0 | c >> 18));
    text_addc(out, (char)(c >= 0x10000 ? 0x80 | (c >> 12 & 0x3F) : 0xE0 | c >> 12));
    return text_addc(out, (char)(0x80 | (c >> 6 & 0x3F))) &&
           text_addc(out, (char)(0x80 | (c & 0x3F)));
}

/* PCRE2 has the tables of Unicode, so a question about a character is a small pattern. This is
 * slow, but only used for group names and error messages. */
static bool fully_matches(const char *pattern, const char *at, size_t len)
{
    int code = 0;
    size_t offset = 0;
    pcre2_code *re =
        pcre2_compile((PCRE2_SPTR)pattern, PCRE2_ZERO_TERMINATED,
                      PCRE2_UTF | PCRE2_ANCHORED | PCRE2_ENDANCHORED, &code, &offset, NULL);
    pcre2_match_data *match = re ? pcre2_match_data_create(1, NULL) : NULL;
    bool yes =
        match && pcre2_match(re, (PCRE2_SPTR)at, len, 0, PCRE2_NO_UTF_CHECK, match, NULL) > 0;
    pcre2_match_data_free(match);
    pcre2_code_free(re);
    return yes;
}

/* ASCII is checked here: asking PCRE2 needs memory, which may fail. */
bool pytext_isidentifier(const char *at, size_t len)
{
    size_t i = 0;
    while (i < len && (at[i] == '_' || (at[i] >= 'a' && at[i] <= 'z') ||
                       (at[i] >= 'A' && at[i] <= 'Z') || (i && at[i] >= '0' && at[i] <= '9')))
        i++;
    if (i == len || (unsigned char)at[i] < 0x80)
        return i > 0 && i == len;
    return fully_matches("[_\\p{XIDS}]\\p{XIDC}*+", at, len);
}

bool pytext_isalpha(const char *at, size_t len)
{
    return fully_matches("\\p{L}++", at, len);
}

/* The value of a decimal digit of any script, -1 if it is not a digit. The ten digits of a script
 * are consecutive, and the code of its zero ends in hexadecimal 0 or 6 (except for mathematical
 * digits): if the code ending in 0 of the same row is a digit, it is the zero. */
static int digit_value(uint32_t c, const char *at, size_t len)
{
    if (c < 0x80)
        return c >= '0' && c <= '9' ? (int)(c - '0') : -1;
    if (!fully_matches("\\p{Nd}", at, len))
        return -1;
    if (c >= 0x1D7CE && c <= 0x1D7FF)
        return (int)((c - 0x1D7CE) % 10);
    char row[] = "\xF0\x80\x80\x80";
    memcpy(row, at, len);
    row[len - 1] = (char)(row[len - 1] & ~0xF);
    return (int)(c & 0xF) - (fully_matches("\\p{Nd}", row, len) ? 0 : 6);
}

static size_t skip_spaces(const char *at, size_t len)
{
    size_t i = 0, step = 0;
    while (i < len) {
        uint32_t c = pytext_decode(at + i, &step);
        const bool space = c < 0x80 ? c == ' ' || (c >= '\t' && c <= '\r')
                                    : c == 0x85 || fully_matches("\\p{Z}", at + i, step);
        if (!space)
            break;
        i += step;
    }
    return i;
}

bool pytext_int(const char *at, size_t len, struct text *out)
{
    size_t i = skip_spaces(at, len), step = 0;
    bool minus = i < len && at[i] == '-';
    if (i < len && (at[i] == '-' || at[i] == '+'))
        i++;
    bool significant = false, after_digit = false;
    for (; i < len; i += step) {
        uint32_t c = pytext_decode(at + i, &step);
        int digit = digit_value(c, at + i, step);
        if (digit < 0 && (c != '_' || !after_digit))
            break;
        after_digit = digit >= 0;
        if (digit > 0 && !significant && minus)
            text_addc(out, '-');
        significant = significant || digit > 0;
        if (significant && digit >= 0)
            text_addc(out, (char)('0' + digit));
    }
    if (!significant)
        text_addc(out, '0');
    return after_digit && i + skip_spaces(at + i, len - i) == len && !out->failed;
}

static void add_repr(struct text *out, const char *at, size_t step, char quote)
{
    uint32_t c = pytext_decode(at, &step);
    if (c == '\n')
        text_adds(out, "\\n");
    else if (c == '\r')
        text_adds(out, "\\r");
    else if (c == '\t')
        text_adds(out, "\\t");
    else if (c == '\\' || c == (unsigned char)quote)
        text_addf(out, "\\%c", (int)c);
    else if ((c >= ' ' && c < 0x7F) || (c > 0x7F && fully_matches("[^\\p{C}\\p{Z}]", at, step)))
        text_add(out, at, step);
    else if (c > 0xFFFF)
        text_addf(out, "\\U%08x", c);
    else
        text_addf(out, c > 0xFF ? "\\u%04x" : "\\x%02x", c);
}

bool pytext_repr(struct text *out, const char *at, size_t len)
{
    char quote = memchr(at, '\'', len) && !memchr(at, '"', len) ? '"' : '\'';
    text_addc(out, quote);
    for (size_t i = 0, step = 0; i < len && !out->failed; i += step) {
        pytext_decode(at + i, &step);
        add_repr(out, at + i, step, quote);
    }
    return text_addc(out, quote);
}
