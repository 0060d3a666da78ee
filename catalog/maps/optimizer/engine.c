/* engine.c - see run.h. */
#include "catalog/maps/optimizer/engine.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "catalog/maps/regex/pytext.h"

void run_end(struct run *r)
{
    for (size_t i = 0; i < r->regexes; i++)
        regex_free(r->regex[i]);
    r->regexes = 0;
    strmap_release(&r->axes);
    r->indexed = NULL;
}

bool run_no_memory(struct run *r)
{
    error_memory(r->err);
    return false;
}

bool run_add(struct run *r, struct optimizer_row row)
{
    struct optimizer_rows *rows = r->rows;
    struct optimizer_row *at =
        arena_grow(rows->arena, rows->at, rows->count, &rows->space, sizeof(*at));
    if (!at)
        return run_no_memory(r);
    rows->at = at;
    at[rows->count++] = row;
    return true;
}

/* Copy the text to the arena, and release it. */
static const char *optimizer_run_settle(struct run *r, struct text *text)
{
    const char *copy = text_str(text) ? arena_copy(r->arena, text_str(text), text->len) : NULL;
    text_release(text);
    if (!copy)
        run_no_memory(r);
    return copy;
}

PRINTF_LIKE(2, 0)
static const char *vtextf(struct run *r, const char *fmt, va_list args)
{
    va_list again;
    va_copy(again, args);
    int len = vsnprintf(NULL, 0, fmt, again);
    va_end(again);
    char *line = len < 0 ? NULL : arena_room(r->arena, (size_t)len + 1);
    if (line)
        vsnprintf(line, (size_t)len + 1, fmt, args);
    else
        run_no_memory(r);
    return line;
}

const char *run_textf(struct run *r, const char *fmt, ...)
{
    va_list args;
    va_start(args, fmt);
    const char *text = vtextf(r, fmt, args);
    va_end(args);
    return text;
}

bool run_fault(struct run *r, const char *fmt, ...)
{
    va_list args;
    va_start(args, fmt);
    const char *text = vtextf(r, fmt, args);
    va_end(args);
    return text && run_add(r, (struct optimizer_row){.error = text});
}

const char *run_json(struct run *r, const struct json_value *v)
{
    struct text out = {0};
    json_write(v, &out);
    return optimizer_run_settle(r, &out);
}

const char *run_plain(struct run *r, const struct json_value *v)
{
    return v && v->text.at ? (const char *)v->text.at : run_json(r, v);
}

const char *run_repr(struct run *r, const char *text)
{
    struct text out = {0};
    if (text)
        pytext_repr(&out, text, strlen(text));
    return optimizer_run_settle(r, &out);
}

const char *run_shape(struct run *r, const struct optimizer_shape *shape, const bool *drop)
{
    struct text out = {0};
    text_addc(&out, '[');
    for (unsigned k = 0; k < shape->rank; k++)
        if (!drop[k])
            text_addf(&out, "%s%llu", out.len > 1 ? "," : "", (unsigned long long)shape->size[k]);
    text_addc(&out, ']');
    return optimizer_run_settle(r, &out);
}

const char *run_shape_without(struct run *r, const struct optimizer_shape *shape,
                              unsigned dimension)
{
    bool *drop = arena_array(r->arena, shape->rank, sizeof(*drop));
    if (!drop) {
        run_no_memory(r);
        return NULL;
    }
    drop[dimension] = true;
    return run_shape(r, shape, drop);
}

bool run_regex(struct run *r, const struct json_value *pattern, struct regex **out,
               const char **error)
{
    struct error err = {.offset = NO_OFFSET};
    struct regex **at =
        arena_grow(r->arena, r->regex, r->regexes, &r->regex_space, sizeof(struct regex *));
    if (!at)
        return run_no_memory(r);
    r->regex = at;
    *out = NULL;
    if (regex_compile((const char *)pattern->text.at, pattern->text.len, REGEX_SEARCH, out, &err) ==
        OK) {
        r->regex[r->regexes++] = *out;
        return true;
    }
    *error = err.status == ERR_MEMORY ? NULL
                                      : run_textf(r, "%s%s%s", err.code ? err.code : "",
                                                  err.code ? ": " : "", err.message);
    return *error || run_no_memory(r);
}

bool members_all(struct run *r, struct members *out)
{
    out->count = r->params->count;
    out->at = arena_array(r->arena, out->count + 1, sizeof(const struct optimizer_param *));
    for (size_t i = 0; out->at && i < out->count; i++)
        out->at[i] = &r->params->at[i];
    return out->at || run_no_memory(r);
}

double value_number(const struct json_value *v, double otherwise)
{
    switch (json_type_of(v)) {
    case JSON_NUMBER:
        return strtod((const char *)v->text.at, NULL);
    case JSON_TRUE:
        return 1;
    case JSON_FALSE:
        return 0;
    default:
        return otherwise;
    }
}

bool value_true(const struct json_value *v, bool otherwise)
{
    if (value_null(v))
        return otherwise;
    return json_type_of(v) == JSON_STRING ? v->text.len > 0 : value_number(v, 1) != 0;
}

const char *value_dtype(struct run *r, const struct json_value *v)
{
    if (value_null(v))
        return NULL;
    return json_string_is(v, "float64") ? "float32" : run_plain(r, v);
}

/* Index the members of an object by key, for as many questions as there are parameters: json_get()
 * compares one member after the other. False: no memory, or no object. */
static bool index_axes(struct run *r, const struct json_value *axes)
{
    if (r->indexed && r->indexed == axes)
        return true;
    strmap_release(&r->axes);
    r->indexed = NULL;
    if (json_type_of(axes) != JSON_OBJECT)
        return false;
    for (const struct json_value *v = axes->first; v; v = v->next) {
        bool added;
        uint64_t *at = strmap_add(&r->axes, v->key, strlen(v->key), &added);
        if (!at)
            return false;
        if (added) /* the first of a key counts, as in json_get() */
            *at = (uintptr_t)v;
    }
    r->indexed = axes;
    return true;
}

const struct json_value *axes_of(struct run *r, const struct json_value *axes,
                                 const struct optimizer_param *param)
{
    const struct json_value *found = NULL;
    if (index_axes(r, axes)) {
        const uint64_t *at = strmap_get(&r->axes, param->name, param->len);
        if (at) /* NOLINTNEXTLINE(performance-no-int-to-ptr): a map's values are numbers */
            found = (const struct json_value *)(uintptr_t)*at;
    } else {
        found = json_get(axes, param->name);
    }
    return value_null(found) ? NULL : found;
}
