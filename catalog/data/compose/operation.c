#include "catalog/data/compose/operation.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

/* The operations: name, kind, least and most number of arguments. */
static const struct form {
    const char *name;
    enum operation_kind kind;
    unsigned least, most;
} forms[] = {
    {"cast", OPERATION_CAST, 1, 1},       {"transpose", OPERATION_TRANSPOSE, 0, 2},
    {"permute", OPERATION_PERMUTE, 1, 1}, {"reshape", OPERATION_RESHAPE, 1, 1},
    {"flatten", OPERATION_FLATTEN, 2, 2}, {"take", OPERATION_TAKE, 2, 2},
    {"slice", OPERATION_SLICE, 3, 3},     {"scale", OPERATION_SCALE, 1, 1},
    {"add", OPERATION_ADD, 1, 1},         {"zeros", OPERATION_ZEROS, 0, 1},
    {"unstack", OPERATION_UNSTACK, 1, 2}, {"split", OPERATION_SPLIT, 2, 3},
    {"copies", OPERATION_COPIES, 1, 1},   {"stack", OPERATION_STACK, 1, 2},
    {"concat", OPERATION_CONCAT, 1, 2},
};

void elements_of(struct elements *e, const char *text, size_t len)
{
    struct bytes bytes = {(const uint8_t *)text, len};
    e->text = e->rest = text;
    e->why.status = OK; /* not the whole struct: clearing it would cost more than a short list */
    e->why.code = NULL;
    json_init(&e->json, cursor_over(bytes, 0), NULL, NULL, &e->why);
    if (json_next(&e->json) == JSON_ARRAY)
        e->rest = text + cursor_offset(&e->json.cursor);
    else
        e->json.type = JSON_FAIL;
}

void argument_elements(struct elements *e, const struct argument *a)
{
    elements_of(e, a->at, a->list ? a->len : 0);
}

int elements_next(struct elements *e, const char **at, size_t *len)
{
    struct json *j = &e->json;
    if (j->type == JSON_FAIL || json_next(j) == JSON_FAIL)
        return -1;
    if (j->type == JSON_ARRAY_END)
        return 0;
    const char *begin = e->text + j->at;
    if (!json_skip(j))
        return -1;
    e->rest = e->text + cursor_offset(&j->cursor);
    *at = begin;
    *len = (size_t)(e->rest - begin);
    return 1;
}

static void operation_read_number(struct argument *a)
{
    char text[64], *end;
    if (!a->len || a->len >= sizeof(text) || strspn(a->at, "0123456789+-.eE") < a->len)
        return;
    memcpy(text, a->at, a->len);
    text[a->len] = '\0';
    a->number = strtod(text, &end);
    if (*end)
        return;
    errno = 0;
    a->integer = strtoll(text, &end, 10);
    a->whole = !*end && errno == 0;
}

void argument_read(struct argument *a, const char *at, size_t len)
{
    *a = (struct argument){.at = at, .len = len, .number = NAN};
    a->list = *at == '[';
    a->text = *at == '"';
    if (a->text) {
        a->at++;
        a->len -= 2;
    }
    if (!a->list)
        operation_read_number(a);
}

static int wrong(struct error *err, const char *what, const char *at, size_t len)
{
    error_set(err, ERR_ARGUMENT, NULL, NO_OFFSET, "%s: %.*s", what, len > 100 ? 100 : (int)len, at);
    return -1;
}

static int unknown(struct error *err, const char *name, size_t len)
{
    error_set(err, ERR_ARGUMENT, NULL, NO_OFFSET, "unknown operation '%.*s'",
              len > 100 ? 100 : (int)len, name);
    return -1;
}

int operation_read(const char *text, size_t len, struct operation *out, struct error *err)
{
    struct elements elements;
    const char *value;
    const struct form *form = NULL;
    size_t size;
    int more = -1;
    *out = (struct operation){.at = text, .len = len};
    if (*text != '[')
        return wrong(err, "an operation is a list", out->at, out->len);
    elements_of(&elements, text, len);
    for (unsigned i = 0; (more = elements_next(&elements, &value, &size)) > 0; i++) {
        for (size_t k = 0; i == 0 && *value == '"' && k < sizeof(forms) / sizeof(forms[0]); k++)
            if (strlen(forms[k].name) == size - 2 &&
                memcmp(forms[k].name, value + 1, size - 2) == 0)
                form = &forms[k];
        if (!form && *value == '"')
            return unknown(err, value + 1, size - 2);
        if (!form)
            break;
        if (i > form->most)
            break;
        if (i > 0)
            argument_read(&out->argument[out->arguments++], value, size);
    }
    if (!form)
        return wrong(err, "an operation begins with its name", out->at, out->len);
    if (more != 0 || out->arguments < form->least)
        return wrong(err, "wrong number of arguments", out->at, out->len);
    out->kind = form->kind;
    out->name = form->name;
    return 1;
}

int operations_next(struct elements *s, struct operation *out, struct error *err)
{
    const char *value;
    size_t len;
    int more = elements_next(s, &value, &len);
    if (more < 0)
        return wrong(err, "operations are a list of lists", s->rest, strlen(s->rest));
    return more ? operation_read(value, len, out, err) : 0;
}

bool argument_integers(const struct argument *list, int64_t out[OPERATION_LIST_MAX],
                       unsigned *count)
{
    struct elements elements;
    const char *at;
    size_t len;
    int more = -1;
    *count = 0;
    argument_elements(&elements, list);
    while ((more = elements_next(&elements, &at, &len)) > 0) {
        struct argument number;
        argument_read(&number, at, len);
        if (!number.whole || *count == OPERATION_LIST_MAX)
            return false;
        out[(*count)++] = number.integer;
    }
    return more == 0;
}
