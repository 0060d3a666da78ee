#include "catalog/base/json.h"

#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "catalog/base/limits.h"
#include "catalog/base/text.h"

/* What may come next. */
enum state {
    WANT_VALUE,        /* a value: at the start, after ':' and after ',' in an array */
    WANT_VALUE_OR_END, /* after '[' */
    WANT_KEY,          /* after ',' in an object */
    WANT_KEY_OR_END,   /* after '{' */
    WANT_COMMA_OR_END, /* after a value in an object or array */
    WANT_NOTHING,      /* after the outermost value */
};

_Static_assert(LIMIT_JSON_DEPTH <= 64, "struct json keeps a bit a level");

void json_init(struct json *j, struct cursor cursor, struct arena *arena, const char *source,
               struct error *err)
{
    *j = (struct json){.cursor = cursor, .arena = arena, .err = err, .source = source};
    j->at = cursor_offset(&j->cursor);
    j->type = JSON_END;
    j->state = WANT_VALUE;
}

bool json_fail(struct json *j, enum status status, const char *code, const char *fmt, ...)
{
    char message[sizeof(j->err->message)];
    va_list args;
    va_start(args, fmt);
    vsnprintf(message, sizeof(message), fmt, args);
    va_end(args);
    j->type = JSON_FAIL;
    if (j->err->status != OK)
        return false;
    error_set(j->err, status, j->source, j->at, "%s", message);
    if (code)
        error_code(j->err, code);
    return false;
}

static bool json_bad(struct json *j, const char *what)
{
    return json_fail(j, ERR_CORRUPT, NULL, "bad JSON: %s", what);
}

/* The next byte without moving; 0 at the end (a NUL is not JSON either). */
static uint8_t json_peek(const struct json *j)
{
    return cursor_left(&j->cursor) ? *j->cursor.at : 0;
}

static void skip_space(struct json *j)
{
    if (json_peek(j) > ' ')
        return;
    const uint8_t *at = j->cursor.at;
    size_t left = cursor_left(&j->cursor), n = 0;
    while (n < left && (at[n] == ' ' || at[n] == '\n' || at[n] == '\r' || at[n] == '\t'))
        n++;
    cursor_take(&j->cursor, n);
}

/* --- strings ---------------------------------------------------------------------------- */

/* Sets the high bit of each byte of `word` that ends a plain run: '"', '\\', a control
 * character, or not ASCII. Only the lowest mark is reliable: the borrow of a subtraction may
 * mark bytes after it, too. */
static uint64_t special_bytes(uint64_t word)
{
    const uint64_t ones = 0x0101010101010101u, highs = 0x8080808080808080u;
    uint64_t quote = word ^ (ones * '"');
    uint64_t slash = word ^ (ones * '\\');
    uint64_t marks = (quote - ones) | (slash - ones) | (word - ones * 0x20) | word;
    return marks & highs;
}

/* How many of the `left` bytes from `at` on are plain: ASCII, and neither a control character
 * nor '"' nor '\\'. */
static size_t plain_run(const uint8_t *at, size_t left)
{
    size_t n = 0;
    for (; left - n >= 8; n += 8) {
        uint64_t marks = special_bytes(load_u64le(at + n));
        if (marks)
            return n + (size_t)__builtin_ctzll(marks) / 8;
    }
    while (n < left && at[n] >= 0x20 && at[n] < 0x80 && at[n] != '"' && at[n] != '\\')
        n++;
    return n;
}

/* Move to the closing quote; sets *escaped if there is an escape before it. */
static bool find_quote(struct json *j, bool *escaped)
{
    struct cursor *c = &j->cursor;
    for (;;) {
        cursor_take(c, plain_run(c->at, cursor_left(c)));
        uint8_t byte = json_peek(j);
        if (byte == '"')
            return true;
        if (byte == '\\') {
            *escaped = true;
            cursor_take(c, 2); /* whatever is escaped cannot end the string */
        } else if (byte >= 0x80) {
            size_t step = (size_t)utf8_length(c->at, cursor_left(c));
            if (!step)
                return json_bad(j, "a string is not UTF-8");
            cursor_take(c, step);
        } else if (!cursor_left(c)) {
            return json_bad(j, "the text ends inside a string");
        } else {
            return json_bad(j, "a control character in a string");
        }
        if (!cursor_ok(c))
            return json_bad(j, "the text ends inside a string");
    }
}

static bool read_hex4(struct cursor *c, uint32_t *value)
{
    struct bytes digits = cursor_take(c, 4);
    *value = 0;
    for (size_t i = 0; i < digits.len; i++) {
        uint8_t d = digits.at[i];
        uint32_t digit = d >= '0' && d <= '9'   ? d - (uint32_t)'0'
                         : d >= 'a' && d <= 'f' ? d - (uint32_t)'a' + 10
                         : d >= 'A' && d <= 'F' ? d - (uint32_t)'A' + 10
                                                : 16;
        if (digit == 16)
            return false;
        *value = *value << 4 | digit;
    }
    return cursor_ok(c);
}

/* The four digits after "\u", and the second half of a surrogate pair if they begin one. */
static bool read_code_point(struct cursor *c, uint32_t *code)
{
    if (!read_hex4(c, code))
        return false;
    if (*code < 0xD800 || *code > 0xDFFF)
        return true;
    uint32_t low;
    if (*code > 0xDBFF || cursor_u8(c) != '\\' || cursor_u8(c) != 'u' || !read_hex4(c, &low) ||
        low < 0xDC00 || low > 0xDFFF)
        return false;
    *code = 0x10000 + ((*code - 0xD800) << 10) + (low - 0xDC00);
    return true;
}

/* Decode one escape whose backslash was read. Returns the bytes written, never more than the escape
 * itself has; 0: no such escape. */
static size_t json_read_escape(struct cursor *c, uint8_t *out)
{
    static const char names[] = "\"\\/bfnrt";
    static const char values[] = "\"\\/\b\f\n\r\t";
    uint8_t name = cursor_u8(c);
    uint32_t code;
    if (name == 'u')
        return read_code_point(c, &code) ? utf8_put(out, code) : 0;
    const char *found = name ? strchr(names, name) : NULL;
    if (!found)
        return 0;
    *out = (uint8_t)values[found - names];
    return 1;
}

/* The decoded text is never longer than the raw one. */
static bool unescape(struct json *j, struct bytes raw)
{
    uint8_t *out = arena_alloc(j->arena, raw.len + 1);
    size_t len = 0;
    if (!out)
        return json_fail(j, ERR_MEMORY, NULL, "no memory for a string of %zu bytes", raw.len);
    struct cursor c = cursor_over(raw, j->at + 1);
    while (cursor_left(&c)) {
        if (*c.at != '\\') {
            out[len++] = cursor_u8(&c);
            continue;
        }
        cursor_u8(&c);
        size_t written = json_read_escape(&c, out + len);
        if (!written)
            return json_bad(j, "an escape in a string that means nothing");
        len += written;
    }
    j->text = (struct bytes){out, len};
    return true;
}

static bool read_string(struct json *j)
{
    bool escaped = false;
    cursor_take(&j->cursor, 1);
    struct cursor start = j->cursor;
    if (!find_quote(j, &escaped))
        return false;
    struct bytes raw = cursor_take(&start, (uint64_t)(j->cursor.at - start.at));
    cursor_take(&j->cursor, 1);
    j->text = raw;
    return !escaped || !j->arena || unescape(j, raw);
}

/* --- numbers and words ------------------------------------------------------------------ */

static size_t digit_run(const uint8_t *at, size_t left)
{
    size_t n = 0;
    while (n < left && at[n] >= '0' && at[n] <= '9')
        n++;
    return n;
}

/* Length of the number at `at`, 0 if absent:
 * -? (0 | [1-9][0-9]*) (\.[0-9]+)? ([eE][+-]?[0-9]+)? */
static size_t number_length(const uint8_t *at, size_t left)
{
    size_t n = left && at[0] == '-', digits = digit_run(at + n, left - n);
    if (!digits || (at[n] == '0' && digits > 1))
        return 0;
    n += digits;
    if (n < left && at[n] == '.') {
        digits = digit_run(at + n + 1, left - n - 1);
        if (!digits)
            return 0;
        n += 1 + digits;
    }
    if (n < left && (at[n] == 'e' || at[n] == 'E')) {
        size_t sign = n + 1 < left && (at[n + 1] == '+' || at[n + 1] == '-');
        digits = digit_run(at + n + 1 + sign, left - n - 1 - sign);
        if (!digits)
            return 0;
        n += 1 + sign + digits;
    }
    return n;
}

/* Length of Python's word for a number that JSON cannot write; 0: it is not one. */
static size_t special_length(const uint8_t *at, size_t left)
{
    static const char *const words[] = {"NaN", "Infinity", "-Infinity"};
    for (size_t i = 0; i < sizeof(words) / sizeof(words[0]); i++)
        if (left >= strlen(words[i]) && memcmp(at, words[i], strlen(words[i])) == 0)
            return strlen(words[i]);
    return 0;
}

static bool json_read_number(struct json *j)
{
    size_t len = number_length(j->cursor.at, cursor_left(&j->cursor));
    if (!len && j->python)
        len = special_length(j->cursor.at, cursor_left(&j->cursor));
    if (!len)
        return json_bad(j, "a number that is not written as JSON writes them");
    j->text = cursor_take(&j->cursor, len);
    return true;
}

static bool json_read_word(struct json *j, const char *word)
{
    size_t len = strlen(word);
    struct bytes got = cursor_take(&j->cursor, len);
    return (got.at && memcmp(got.at, word, len) == 0) || json_bad(j, "an unknown word");
}

/* --- tokens ----------------------------------------------------------------------------- */

static bool inside_object(const struct json *j)
{
    return j->objects >> (j->depth - 1) & 1;
}

static enum json_type finished(struct json *j, enum json_type type)
{
    j->state = j->depth ? WANT_COMMA_OR_END : WANT_NOTHING;
    return j->type = type;
}

static enum json_type open_level(struct json *j, bool object)
{
    if (j->depth == LIMIT_JSON_DEPTH) {
        json_fail(j, ERR_LIMIT, NULL, "JSON nested more than %d deep", LIMIT_JSON_DEPTH);
        return JSON_FAIL;
    }
    cursor_take(&j->cursor, 1);
    uint64_t bit = UINT64_C(1) << j->depth++;
    j->objects = object ? j->objects | bit : j->objects & ~bit;
    j->state = object ? WANT_KEY_OR_END : WANT_VALUE_OR_END;
    return j->type = object ? JSON_OBJECT : JSON_ARRAY;
}

static enum json_type json_read_value(struct json *j)
{
    bool ok;
    enum json_type type;
    uint8_t byte = json_peek(j);
    switch (byte) {
    case '{':
    case '[': return open_level(j, byte == '{');
    case '"':
        type = JSON_STRING;
        ok = read_string(j);
        break;
    case 't':
        type = JSON_TRUE;
        ok = json_read_word(j, "true");
        break;
    case 'f':
        type = JSON_FALSE;
        ok = json_read_word(j, "false");
        break;
    case 'n':
        type = JSON_NULL;
        ok = json_read_word(j, "null");
        break;
    default: type = JSON_NUMBER; ok = json_read_number(j);
    }
    return ok ? finished(j, type) : JSON_FAIL;
}

static enum json_type json_read_key(struct json *j)
{
    if (json_peek(j) != '"') {
        json_bad(j, "a key in quotes expected");
        return JSON_FAIL;
    }
    if (!read_string(j))
        return JSON_FAIL;
    skip_space(j);
    if (json_peek(j) != ':') {
        json_bad(j, "':' expected after a key");
        return JSON_FAIL;
    }
    cursor_take(&j->cursor, 1);
    j->state = WANT_VALUE;
    return j->type = JSON_KEY;
}

/* The next token is not the end of the level, so it must be a comma. */
static bool read_comma(struct json *j)
{
    if (json_peek(j) != ',') {
        j->at = cursor_offset(&j->cursor);
        return json_bad(j, "',' or the end of an object or array expected");
    }
    cursor_take(&j->cursor, 1);
    skip_space(j);
    j->at = cursor_offset(&j->cursor);
    j->state = inside_object(j) ? WANT_KEY : WANT_VALUE;
    return true;
}

enum json_type json_next(struct json *j)
{
    if (j->type == JSON_FAIL)
        return JSON_FAIL;
    skip_space(j);
    j->at = cursor_offset(&j->cursor);
    if (j->state == WANT_NOTHING) {
        if (cursor_left(&j->cursor)) {
            json_bad(j, "more text after the value");
            return JSON_FAIL;
        }
        return j->type = JSON_END;
    }
    if (!cursor_left(&j->cursor)) {
        json_bad(j, "the text ends before its value does");
        return JSON_FAIL;
    }
    bool may_end = j->state == WANT_COMMA_OR_END || j->state == WANT_KEY_OR_END ||
                   j->state == WANT_VALUE_OR_END;
    if (may_end && json_peek(j) == (inside_object(j) ? '}' : ']')) {
        const enum json_type end = inside_object(j) ? JSON_OBJECT_END : JSON_ARRAY_END;
        cursor_take(&j->cursor, 1);
        j->depth--;
        return finished(j, end);
    }
    if (j->state == WANT_COMMA_OR_END && !read_comma(j))
        return JSON_FAIL;
    if (j->state == WANT_KEY || j->state == WANT_KEY_OR_END)
        return json_read_key(j);
    return json_read_value(j);
}

bool json_want(struct json *j, enum json_type type, const char *what)
{
    enum json_type got = json_next(j);
    if (got == type)
        return true;
    return got == JSON_FAIL ? false : json_fail(j, ERR_CORRUPT, NULL, "%s expected", what);
}

void json_taken(struct json *j, size_t len)
{
    cursor_take(&j->cursor, len);
    j->at = cursor_offset(&j->cursor) - 1;
    finished(j, JSON_OBJECT_END);
}

bool json_skip(struct json *j)
{
    if (j->type != JSON_OBJECT && j->type != JSON_ARRAY)
        return j->type != JSON_FAIL;
    unsigned outside = j->depth - 1;
    while (j->depth > outside)
        if (json_next(j) == JSON_FAIL)
            return false;
    return true;
}

/* --- values ----------------------------------------------------------------------------- */

bool json_pass(struct json *j)
{
    return json_next(j) != JSON_FAIL && json_skip(j);
}

bool json_members(struct json *j, const struct json_member *table, void *context)
{
    while (json_next(j) == JSON_KEY) {
        const struct json_member *m = table;
        while (m->name && !json_is(j, m->name))
            m++;
        if (!(m->read ? m->read(context, j) : json_pass(j)))
            return false;
    }
    return j->type == JSON_OBJECT_END;
}

bool json_object(struct json *j, const char *what, const struct json_member *table, void *context)
{
    return json_want(j, JSON_OBJECT, what) && json_members(j, table, context);
}

static void copy_token(struct json *j, struct text *out)
{
    static const char *const words[] = {
        [JSON_OBJECT] = "{",  [JSON_OBJECT_END] = "}", [JSON_ARRAY] = "[",   [JSON_ARRAY_END] = "]",
        [JSON_TRUE] = "true", [JSON_FALSE] = "false",  [JSON_NULL] = "null",
    };
    const bool word = j->type == JSON_NUMBER && special_length(j->text.at, j->text.len) > 0;
    if (j->type == JSON_NUMBER && !word)
        text_add(out, j->text.at, j->text.len);
    else if (word || j->type == JSON_STRING || j->type == JSON_KEY)
        text_json(out, (const char *)j->text.at, j->text.len);
    else
        text_adds(out, words[j->type]);
}

bool json_copy(struct json *j, struct text *out)
{
    unsigned outside = j->type == JSON_OBJECT || j->type == JSON_ARRAY ? j->depth - 1 : j->depth;
    copy_token(j, out);
    while (j->depth > outside) {
        enum json_type before = j->type, type = json_next(j);
        if (type == JSON_FAIL)
            return false;
        bool first = before == JSON_OBJECT || before == JSON_ARRAY;
        if (before == JSON_KEY)
            text_addc(out, ':');
        else if (!first && type != JSON_OBJECT_END && type != JSON_ARRAY_END)
            text_addc(out, ',');
        copy_token(j, out);
    }
    return true;
}

static bool read_digits(const uint8_t *at, size_t len, uint64_t *value)
{
    *value = 0;
    if (len && len < 20) { /* 19 digits always fit */
        for (size_t i = 0; i < len; i++) {
            if (at[i] < '0' || at[i] > '9')
                return false;
            *value = *value * 10 + (uint64_t)(at[i] - '0');
        }
        return true;
    }
    for (size_t i = 0; i < len; i++) {
        if (at[i] < '0' || at[i] > '9' || !mul_u64(*value, 10, value) ||
            !add_u64(*value, (uint64_t)(at[i] - '0'), value))
            return false;
    }
    return len > 0;
}

bool json_u64(const struct json *j, uint64_t *value)
{
    return j->type == JSON_NUMBER && read_digits(j->text.at, j->text.len, value);
}

bool json_i64(const struct json *j, int64_t *value)
{
    uint64_t size;
    if (j->type != JSON_NUMBER)
        return false;
    size_t sign = j->text.at[0] == '-';
    if (!read_digits(j->text.at + sign, j->text.len - sign, &size) ||
        size > (uint64_t)INT64_MAX + sign)
        return false;
    *value = (int64_t)(sign ? 0 - size : size);
    return true;
}

bool json_real(const struct json *j, double *value)
{
    char copy[512]; /* far more than any program writes; a longer number is refused */
    if (j->type != JSON_NUMBER || j->text.len >= sizeof(copy))
        return false;
    memcpy(copy, j->text.at, j->text.len);
    copy[j->text.len] = '\0';
    char *end;
    *value = strtod(copy, &end);
    return *end == '\0';
}

/* --- trees ------------------------------------------------------------------------------ */

/* By depth: the open object or array, and the link where its next value is appended. */
struct nest {
    struct json_value *owner[LIMIT_JSON_DEPTH + 1];
    const struct json_value **tail[LIMIT_JSON_DEPTH + 1];
    unsigned depth;
};

static bool json_tree_keep(struct json *j, struct bytes *text)
{
    char *copy = arena_copy(j->arena, j->text.at, j->text.len);
    *text = (struct bytes){(const uint8_t *)copy, j->text.len};
    if (!copy)
        error_memory(j->err);
    return copy != NULL;
}

/* The value whose first token was just read; NULL without memory. */
static struct json_value *json_tree_value_of(struct json *j, const char *key)
{
    struct json_value *v = arena_alloc(j->arena, sizeof(*v));
    if (!v)
        error_memory(j->err);
    if (!v || ((j->type == JSON_STRING || j->type == JSON_NUMBER) && !json_tree_keep(j, &v->text)))
        return NULL;
    v->type = j->type;
    v->key = key;
    return v;
}

static void hang(struct nest *n, struct json_value *v)
{
    if (n->owner[n->depth])
        n->owner[n->depth]->count++;
    *n->tail[n->depth] = v;
    n->tail[n->depth] = &v->next;
    if (v->type != JSON_OBJECT && v->type != JSON_ARRAY)
        return;
    n->depth++;
    n->owner[n->depth] = v;
    n->tail[n->depth] = &v->first;
}

const struct json_value *json_read_tree(struct bytes text, struct arena *arena, struct error *err)
{
    const struct json_value *root = NULL;
    struct nest nest = {.tail = {&root}};
    struct bytes key = {0};
    struct json j;
    json_init(&j, cursor_over(text, 0), arena, NULL, err);
    for (;;) {
        enum json_type type = json_next(&j);
        if (type == JSON_FAIL || type == JSON_END)
            return type == JSON_END ? root : NULL;
        if (type == JSON_OBJECT_END || type == JSON_ARRAY_END) {
            nest.depth -= nest.depth > 0;
        } else if (type == JSON_KEY) {
            if (!json_tree_keep(&j, &key))
                return NULL;
        } else {
            struct json_value *v = json_tree_value_of(&j, (const char *)key.at);
            if (!v)
                return NULL;
            key.at = NULL;
            hang(&nest, v);
        }
    }
}

const struct json_value *json_get(const struct json_value *object, const char *key)
{
    if (json_type_of(object) != JSON_OBJECT)
        return NULL;
    for (const struct json_value *v = object->first; v; v = v->next)
        if (strcmp(v->key, key) == 0)
            return v;
    return NULL;
}

bool json_string_is(const struct json_value *v, const char *word)
{
    return json_type_of(v) == JSON_STRING && v->text.len == strlen(word) &&
           memcmp(v->text.at, word, v->text.len) == 0;
}

bool json_write(const struct json_value *v, struct text *out)
{
    switch (json_type_of(v)) {
    case JSON_TRUE: return text_adds(out, "true");
    case JSON_FALSE: return text_adds(out, "false");
    case JSON_NUMBER: return text_add(out, (const char *)v->text.at, v->text.len);
    case JSON_STRING: return text_json(out, (const char *)v->text.at, v->text.len);
    case JSON_OBJECT:
    case JSON_ARRAY: break;
    default: return text_adds(out, "null");
    }
    text_addc(out, v->type == JSON_OBJECT ? '{' : '[');
    for (const struct json_value *e = v->first; e; e = e->next) {
        if (e != v->first)
            text_addc(out, ',');
        if (e->key)
            text_json(out, e->key, strlen(e->key)), text_addc(out, ':');
        json_write(e, out);
    }
    return text_addc(out, v->type == JSON_OBJECT ? '}' : ']');
}
