/* optax_args.c - see optax_args.h. */
#include "catalog/maps/optimizer/optax_args.h"

#include <string.h>

static const struct optax_function *function_called(const struct run *r, const char *name,
                                                    size_t len)
{
    for (size_t i = 0; i < r->tables->functions; i++) {
        const struct optax_function *f = &r->tables->function[i];
        if (f->name && strlen(f->name) == len && memcmp(f->name, name, len) == 0)
            return f;
    }
    return NULL;
}

const struct optax_function *optax_function_called(const struct run *r, const char *name)
{
    return name ? function_called(r, name, strlen(name)) : NULL;
}

static struct arg *optax_args_find(const struct args *args, const char *name, size_t len)
{
    for (size_t i = 0; i < args->count; i++)
        if (strncmp(args->at[i].name, name, len) == 0 && !args->at[i].name[len])
            return &args->at[i];
    return NULL;
}

const struct json_value *args_get(const struct args *args, const char *name, size_t len)
{
    const struct arg *a = optax_args_find(args, name, len);
    return a ? a->value : NULL;
}

void args_set(struct run *r, struct args *args, const char *name, size_t len,
              const struct json_value *value)
{
    struct arg *a = optax_args_find(args, name, len);
    if (!a) {
        struct arg *more = arena_array(r->arena, args->count + 1, sizeof(*more));
        if (!more)
            return;
        if (args->count)
            memcpy(more, args->at, args->count * sizeof(*more));
        args->at = more;
        a = &more[args->count++];
        a->name = arena_copy(r->arena, name, len);
    }
    a->value = value;
}

static void set_all(struct run *r, struct args *args, const struct json_value *object)
{
    if (json_type_of(object) != JSON_OBJECT)
        return;
    for (const struct json_value *v = object->first; v; v = v->next)
        args_set(r, args, v->key, strlen(v->key), v);
}

struct args args_of(struct run *r, const struct optax_function *f, const struct json_value *given)
{
    struct args out = {0};
    if (f->arguments) {
        struct error bad = {.offset = NO_OFFSET};
        struct bytes text = {(const uint8_t *)f->arguments, strlen(f->arguments)};
        set_all(r, &out, json_read_tree(text, r->arena, &bad));
        if (bad.status == ERR_MEMORY)
            error_memory(r->err);
    }
    set_all(r, &out, given);
    return out;
}

bool is_schedule(const struct json_value *v)
{
    return json_get(v, "$schedule") != NULL;
}

/* Whether one condition holds: "mask given". */
static bool condition(const struct args *args, const char *text, size_t len)
{
    size_t name = 0;
    while (name < len && text[name] != ' ')
        name++;
    const struct json_value *v = args_get(args, text, name);
    const char *is = text + name + (name < len);
    switch (name < len ? *is : 0) {
    case 'g': return !value_null(v);
    case 'n': return value_null(v);
    case 't': return value_true(v, false);
    case 'f': return !value_true(v, false);
    default: return is_schedule(v);
    }
}

/* The offset of the first `what` in the text; `len` if absent. */
static size_t optax_args_place_of(const char *text, size_t len, const char *what)
{
    size_t size = strlen(what);
    for (size_t at = 0; at + size <= len; at++)
        if (memcmp(text + at, what, size) == 0)
            return at;
    return len;
}

bool args_when(const struct args *args, const char *when, size_t len)
{
    static const char between[] = " and ";
    while (when && len > 0) {
        size_t one = optax_args_place_of(when, len, between);
        if (!condition(args, when, one))
            return false;
        one += one < len ? strlen(between) : 0;
        when += one;
        len -= one;
    }
    return true;
}

/* Add renamed arguments to *out: for "mask=decay_mask decay=rate", `mask` with the value of
 * `decay_mask`, and `decay` with the value of `rate`. */
static void rename_args(struct run *r, const char *text, size_t len, const struct args *from,
                        struct args *out)
{
    while (len > 0) {
        size_t pair = optax_args_place_of(text, len, " "),
               to = optax_args_place_of(text, pair, "=");
        size_t skip = to < pair;
        args_set(r, out, text, to, args_get(from, text + to + skip, pair - to - skip));
        pair += pair < len;
        text += pair;
        len -= pair;
    }
}

/* The arguments of a link: its own defaults, overridden by the optimizer's arguments. */
static struct args link_args(struct run *r, const struct optax_function *f, const char *renames,
                             size_t len, const struct args *args)
{
    struct args given = {0}, out;
    for (size_t i = 0; i < args->count; i++)
        args_set(r, &given, args->at[i].name, strlen(args->at[i].name), args->at[i].value);
    rename_args(r, renames, len, args, &given);
    out = args_of(r, f, NULL);
    for (size_t i = 0; i < given.count; i++) {
        const struct arg *a = &given.at[i];
        if (!value_null(a->value) || optax_args_find(&out, a->name, strlen(a->name)))
            args_set(r, &out, a->name, strlen(a->name), a->value);
    }
    return out;
}

const struct optax_function *chain_next(struct run *r, const char **chain, const struct args *args,
                                        struct args *out)
{
    while (*chain && **chain) {
        const char *text = *chain;
        size_t len = optax_args_place_of(text, strlen(text), ", ");
        *chain += len + (text[len] ? strlen(", ") : 0);
        size_t head = optax_args_place_of(text, len, " if "),
               name = optax_args_place_of(text, head, "(");
        size_t when = head + (head < len ? strlen(" if ") : 0);
        if (!args_when(args, text + when, len - when))
            continue;
        const struct optax_function *link = function_called(r, text, name);
        const char *renames = text + name + (name < head);
        if (!link)
            continue;
        *out = link_args(r, link, renames, name < head ? head - name - 2 : 0, args);
        return link;
    }
    return NULL;
}
