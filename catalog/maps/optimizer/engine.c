/* engine.c - see engine.h. */
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

void run_add(struct run *r, struct optimizer_row row)
{
    struct optimizer_rows *rows = r->rows;
    *PUSH(r->arena, rows->at, rows->count, rows->space) = row;
}

/* Move the text to the arena. */
static const char *run_keep(struct run *r, struct text *text)
{
    const char *copy = text_keep(text, r->arena);
    text_release(text);
    return copy;
}

PRINTF_LIKE(2, 0)
static const char *vtextf(struct run *r, const char *fmt, va_list args)
{
    va_list again;
    va_copy(again, args);
    int len = vsnprintf(NULL, 0, fmt, again);
    va_end(again);
    char *line = len < 0 ? arena_fail(r->arena) : arena_room(r->arena, (size_t)len + 1);
    if (!line)
        return "";
    vsnprintf(line, (size_t)len + 1, fmt, args);
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

void run_fault(struct run *r, const char *fmt, ...)
{
    va_list args;
    va_start(args, fmt);
    run_add(r, (struct optimizer_row){.error = vtextf(r, fmt, args)});
    va_end(args);
}

const char *run_json(struct run *r, const struct json_value *v)
{
    struct text out = {0};
    json_write(v, &out);
    return run_keep(r, &out);
}

const char *run_plain(struct run *r, const struct json_value *v)
{
    return v && v->text.at ? (const char *)v->text.at : run_json(r, v);
}

const char *run_repr(struct run *r, const char *text)
{
    struct text out = {0};
    pytext_repr(&out, text, strlen(text));
    return run_keep(r, &out);
}

const char *run_shape(struct run *r, const struct optimizer_shape *shape, const bool *drop)
{
    struct text out = {0};
    text_addc(&out, '[');
    for (unsigned k = 0; k < shape->rank; k++)
        if (!drop[k])
            text_addf(&out, "%s%llu", out.len > 1 ? "," : "", (unsigned long long)shape->size[k]);
    text_addc(&out, ']');
    return run_keep(r, &out);
}

const char *run_shape_without(struct run *r, const struct optimizer_shape *shape,
                              unsigned dimension)
{
    bool *drop = arena_array(r->arena, shape->rank, sizeof(*drop));
    if (!drop)
        return "";
    drop[dimension] = true;
    return run_shape(r, shape, drop);
}

struct regex *run_regex(struct run *r, const struct json_value *pattern, const char **error)
{
    struct error err = {.offset = NO_OFFSET};
    struct regex **at = PUSH(r->arena, r->regex, r->regexes, r->regex_space);
    *error = NULL;
    if (r->err->status != OK || regex_compile((const char *)pattern->text.at, pattern->text.len,
                                              REGEX_SEARCH, at, &err) == OK)
        return *at;
    if (err.status == ERR_MEMORY)
        error_memory(r->err);
    *error = run_textf(r, "%s%s%s", err.code ? err.code : "", err.code ? ": " : "", err.message);
    return NULL;
}

struct members members_all(struct run *r)
{
    struct members all = {arena_array(r->arena, r->params->count + 1, sizeof(*all.at)), 0};
    for (; all.at && all.count < r->params->count; all.count++)
        all.at[all.count] = &r->params->at[all.count];
    return all;
}

double value_number(const struct json_value *v, double otherwise)
{
    switch (json_type_of(v)) {
    case JSON_NUMBER: return strtod((const char *)v->text.at, NULL);
    case JSON_TRUE: return 1;
    case JSON_FALSE: return 0;
    default: return otherwise;
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
 * compares one member after the other. */
static void index_axes(struct run *r, const struct json_value *axes)
{
    strmap_release(&r->axes);
    r->axes.err = r->err;
    for (const struct json_value *v = axes->first; v; v = v->next) {
        bool added;
        uint64_t *at = strmap_add(&r->axes, v->key, strlen(v->key), &added);
        if (added) /* the first of a key counts, as in json_get() */
            *at = (uintptr_t)v;
    }
    r->indexed = axes;
}

const struct json_value *axes_of(struct run *r, const struct json_value *axes,
                                 const struct optimizer_param *param)
{
    if (json_type_of(axes) != JSON_OBJECT)
        return NULL;
    if (r->indexed != axes)
        index_axes(r, axes);
    const uint64_t *at = strmap_get(&r->axes, param->name, param->len);
    if (!at)
        return NULL;
    /* NOLINTNEXTLINE(performance-no-int-to-ptr): a map's values are numbers */
    const struct json_value *found = (const struct json_value *)(uintptr_t)*at;
    return value_null(found) ? NULL : found;
}
