/* zarr_value.c - see zarr_value.h. */
#include "importer/array/zarr_value.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "catalog/data/model/tensor.h"

bool zarr_bad(struct zarr_parsing *z, const struct zarr_value *v, const char *fmt, ...)
{
    char message[sizeof(z->err->message)];
    va_list args;
    va_start(args, fmt);
    vsnprintf(message, sizeof(message), fmt, args);
    va_end(args);
    error_set(z->err, ERR_CORRUPT, z->source, v ? v->at : NO_OFFSET, "%s", message);
    return false;
}

bool zarr_unreadable(struct zarr_parsing *z, const char *fmt, ...)
{
    char message[256];
    if (z->array->unreadable)
        return true;
    va_list args;
    va_start(args, fmt);
    vsnprintf(message, sizeof(message), fmt, args);
    va_end(args);
    z->array->unreadable = arena_copy(z->arena, message, strlen(message));
    return true;
}

void zarr_enter(struct zarr_parsing *z, const struct zarr_value *v, struct json *j)
{
    json_init(j, cursor_over(v->text, v->at), z->arena, z->source, z->err);
    j->python = true;
    json_next(j);
}

bool zarr_next(struct json *j, struct zarr_value *v)
{
    struct cursor from = j->cursor;
    uint64_t before = cursor_offset(&from);
    *v = (struct zarr_value){.type = json_next(j), .at = j->at};
    if (v->type == JSON_FAIL || v->type == JSON_ARRAY_END || !json_skip(j))
        return false;
    cursor_take(&from, v->at - before);
    v->text = cursor_take(&from, cursor_offset(&j->cursor) - v->at);
    return true;
}

/* The position of a key among `names`, or their number. */
static size_t position(const char *names, struct bytes key)
{
    size_t n = 0;
    for (; *names; n++) {
        size_t len = strcspn(names, " ");
        if (key.at && key.len == len && memcmp(key.at, names, len) == 0)
            return n;
        names += len + (names[len] == ' ');
    }
    return n;
}

bool zarr_members(struct zarr_parsing *z, const struct zarr_value *object, const char *names,
                  struct zarr_value *values,
                  bool (*other)(struct zarr_parsing *, struct bytes name,
                                const struct zarr_value *))
{
    const size_t count = position(names, (struct bytes){0});
    struct json j;
    for (size_t i = 0; i < count; i++)
        values[i] = (struct zarr_value){0};
    if (object->type == JSON_FAIL)
        return true;
    zarr_enter(z, object, &j);
    if (j.type != JSON_OBJECT)
        return zarr_bad(z, object, "an object expected");
    while (json_next(&j) == JSON_KEY) {
        const struct bytes name = j.text;
        const size_t n = position(names, name);
        struct zarr_value value;
        if (n < count && values[n].type != JSON_FAIL)
            return json_fail(&j, ERR_CORRUPT, "duplicate-key", "\"%.*s\" occurs twice",
                             (int)name.len, (const char *)name.at);
        if (!zarr_next(&j, &value))
            return false;
        if (n < count)
            values[n] = value;
        else if (other && !other(z, name, &value))
            return false;
    }
    return j.type == JSON_OBJECT_END;
}

bool zarr_word(struct zarr_parsing *z, const struct zarr_value *v, char *out, size_t size)
{
    struct json j;
    *out = '\0';
    if (v->type != JSON_STRING)
        return false;
    zarr_enter(z, v, &j);
    if (j.type != JSON_STRING || j.text.len >= size ||
        (j.text.len && memchr(j.text.at, '\0', j.text.len)))
        return false;
    memcpy(out, j.text.at, j.text.len);
    out[j.text.len] = '\0';
    return true;
}

bool zarr_is(struct zarr_parsing *z, const struct zarr_value *v, uint64_t number)
{
    struct json j;
    uint64_t value;
    if (v->type != JSON_NUMBER)
        return false;
    zarr_enter(z, v, &j);
    return json_u64(&j, &value) && value == number;
}

bool zarr_numbers(struct zarr_parsing *z, const struct zarr_value *v, const char *what,
                  uint64_t **numbers, unsigned *count)
{
    uint64_t list[TENSOR_RANK_MAX];
    unsigned n = 0;
    struct json j;
    if (v->type != JSON_ARRAY)
        return zarr_bad(z, v, "%s is not a list of whole numbers", what);
    zarr_enter(z, v, &j);
    while (json_next(&j) == JSON_NUMBER) {
        if (n == TENSOR_RANK_MAX)
            return json_fail(&j, ERR_LIMIT, NULL, "%s has more than %d numbers", what,
                             TENSOR_RANK_MAX);
        if (!json_u64(&j, &list[n]) || list[n] > INT64_MAX)
            return json_fail(&j, ERR_CORRUPT, NULL, "%s has a number that is not in 0 .. 2^63 - 1",
                             what);
        n++;
    }
    if (j.type != JSON_ARRAY_END)
        return zarr_bad(z, v, "%s is not a list of whole numbers", what);
    *numbers = arena_array(z->arena, n ? n : 1, sizeof(**numbers));
    *count = n;
    return *numbers && memcpy(*numbers, list, n * sizeof(*list));
}

bool zarr_extension(struct zarr_parsing *z, const struct zarr_value *v, char *name,
                    struct zarr_value *configuration)
{
    struct zarr_value m[2] = {0};
    *configuration = (struct zarr_value){0};
    if (v->type == JSON_STRING)
        return zarr_word(z, v, name, NUMPY_TYPE_BYTES) || zarr_bad(z, v, "a name that is too long");
    if (!zarr_members(z, v, "name configuration", m, NULL))
        return false;
    if (!zarr_word(z, &m[0], name, NUMPY_TYPE_BYTES))
        return zarr_bad(z, v, "an extension without a name");
    if (m[1].type == JSON_OBJECT)
        *configuration = m[1];
    return true;
}
