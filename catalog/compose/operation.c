#include "catalog/compose/operation.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

/* What an operation is called, and how many arguments it takes. */
static const struct form {
    const char *name;
    enum operation_kind kind;
    unsigned least, most;
} forms[] = {
    {"cast", OPERATION_CAST, 1, 1},       {"transpose", OPERATION_TRANSPOSE, 0, 2},
    {"permute", OPERATION_PERMUTE, 1, 1}, {"reshape", OPERATION_RESHAPE, 1, 1},
    {"flatten", OPERATION_FLATTEN, 2, 2}, {"take", OPERATION_TAKE, 2, 2},
    {"slice", OPERATION_SLICE, 3, 3},     {"scale", OPERATION_SCALE, 1, 1},
    {"zeros", OPERATION_ZEROS, 0, 1},     {"unstack", OPERATION_UNSTACK, 1, 2},
    {"split", OPERATION_SPLIT, 2, 3},     {"copies", OPERATION_COPIES, 1, 1},
    {"stack", OPERATION_STACK, 1, 2},     {"concat", OPERATION_CONCAT, 1, 2},
};

static const char *skip_space(const char *at)
{
    return at + strspn(at, " \t\r\n");
}

const char *operation_string_end(const char *at)
{
    for (at++; *at && *at != '"'; at++)
        if (*at == '\\' && at[1])
            at++;
    return *at ? at + 1 : NULL;
}

/* Behind the value that begins at `at`, a list with all that is in it; NULL: there is none. */
static const char *value_end(const char *at)
{
    size_t depth = 0;
    do {
        at = skip_space(at);
        if (*at == '"')
            at = operation_string_end(at);
        else if (*at == '[')
            depth++, at++;
        else if (*at == ']' && depth)
            depth--, at++;
        else if (*at == ',' && depth)
            at++;
        else if (strcspn(at, " \t\r\n,[]\"{}:"))
            at += strcspn(at, " \t\r\n,[]\"{}:");
        else
            return NULL;
    } while (at && depth);
    return at;
}

/* The next element of a list whose inside begins at `at`. 1, 0 at its end, -1: no list. */
static int next_element(const char **at, bool first, const char **value, size_t *len)
{
    const char *p = skip_space(*at);
    if (*p == ']') {
        *at = p + 1;
        return 0;
    }
    if (!first && *p++ != ',')
        return -1;
    p = skip_space(p);
    const char *end = value_end(p);
    if (!end || end == p)
        return -1;
    *value = p;
    *len = (size_t)(end - p);
    *at = end;
    return 1;
}

static bool read_number(struct argument *a)
{
    char text[64], *end;
    if (!a->len || a->len >= sizeof(text) || strspn(a->at, "0123456789+-.eE") < a->len)
        return false;
    memcpy(text, a->at, a->len);
    text[a->len] = '\0';
    a->number = strtod(text, &end);
    if (*end)
        return false;
    errno = 0;
    a->integer = strtoll(text, &end, 10);
    a->whole = !*end && errno == 0;
    return true;
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
        read_number(a);
}

static int wrong(struct error *err, const char *what, const char *at, size_t len)
{
    error_set(err, ERR_ARGUMENT, NULL, NO_OFFSET, "%s: %.*s", what,
              len > 100 ? 100 : (int)len, at);
    return -1;
}

static int unknown(struct error *err, const char *name, size_t len)
{
    error_set(err, ERR_ARGUMENT, NULL, NO_OFFSET, "unknown operation '%.*s'",
              len > 100 ? 100 : (int)len, name);
    return -1;
}

static const struct form *form_called(const char *name, size_t len)
{
    for (size_t i = 0; i < sizeof(forms) / sizeof(forms[0]); i++)
        if (strlen(forms[i].name) == len && memcmp(forms[i].name, name, len) == 0)
            return &forms[i];
    return NULL;
}

int operation_read(const char *text, size_t len, struct operation *out, struct error *err)
{
    const char *at = text + 1, *value;
    const struct form *form = NULL;
    size_t size;
    int more = -1;
    *out = (struct operation){.at = text, .len = len};
    if (*text != '[')
        return wrong(err, "an operation is a list", out->at, out->len);
    for (unsigned i = 0; (more = next_element(&at, i == 0, &value, &size)) > 0; i++) {
        if (i == 0 && *value == '"')
            form = form_called(value + 1, size - 2);
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

int operations_next(struct operations *s, struct operation *out, struct error *err)
{
    const char *value;
    size_t len;
    bool first = !s->begun;
    if (first) {
        s->begun = true;
        s->at = skip_space(s->at);
        if (*s->at != '[')
            return wrong(err, "operations are a list of lists", s->at, strlen(s->at));
        s->at++;
    }
    int more = next_element(&s->at, first, &value, &len);
    if (more < 0)
        return wrong(err, "operations are a list of lists", s->at, strlen(s->at));
    if (more == 0)
        return 0;
    return operation_read(value, len, out, err);
}

bool argument_next(const struct argument *list, const char **at, size_t *len)
{
    const char *value;
    bool first = !*at;
    if (!list->list)
        return false;
    const char *p = first ? list->at + 1 : *at + *len;
    if (next_element(&p, first, &value, len) <= 0)
        return false;
    *at = value;
    return true;
}

bool argument_integers(const struct argument *list, int64_t out[OPERATION_LIST_MAX],
                       unsigned *count)
{
    const char *at = NULL;
    size_t len;
    struct argument number;
    *count = 0;
    while (argument_next(list, &at, &len)) {
        argument_read(&number, at, len);
        if (!number.whole || *count == OPERATION_LIST_MAX)
            return false;
        out[(*count)++] = number.integer;
    }
    return list->list;
}
