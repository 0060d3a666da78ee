#include "catalog/data/compose/parts.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "catalog/base/json.h"
#include "catalog/data/compose/compose.h"

/* A list of operations, cut at one. `before` and `after` are JSON lists again. */
struct halves {
    struct text before, after;
    struct operation middle; /* .len 0 if absent */
};

static void halves_release(struct halves *h)
{
    text_release(&h->before);
    text_release(&h->after);
}

static bool halve(const char *operations, bool (*wanted)(const struct operation *),
                  struct halves *out, struct error *err)
{
    struct elements all;
    struct operation o = {0};
    text_addc(&out->before, '[');
    text_addc(&out->after, '[');
    elements_of(&all, operations, strlen(operations));
    while (operations_next(&all, &o, err) > 0) {
        struct text *half = out->middle.len ? &out->after : &out->before;
        if (!out->middle.len && wanted(&o)) {
            out->middle = o;
            continue;
        }
        text_adds(half, half->len > 1 ? "," : "");
        text_add(half, o.at, o.len);
    }
    text_addc(&out->before, ']');
    text_addc(&out->after, ']');
    if (out->before.failed || out->after.failed)
        error_memory(err);
    return err->status == OK && out->middle.len;
}

static const char *parts_keep(struct arena *arena, struct text *text)
{
    const char *kept = text_keep(text, arena);
    text_release(text);
    return kept;
}

/* --- one tensor becomes several ----------------------------------------------------------- */

struct division {
    struct arena *arena; /* keeps its failures in `err`, too */
    struct halves halves;
    struct operation_part *part;
    size_t count, space;
    struct error *err;
};

static void parts_refuse(struct division *d, const char *why)
{
    const struct operation *o = &d->halves.middle;
    error_set(d->err, ERR_ARGUMENT, NULL, NO_OFFSET, "%.*s: %s", o->len > 200 ? 200 : (int)o->len,
              o->at, why);
}

static void parts_add_part(struct division *d, const char *label, const char *operation)
{
    const struct halves *h = &d->halves;
    struct text ops = {0};
    text_add(&ops, h->before.at, h->before.len - 1);
    text_adds(&ops, *operation && ops.len > 1 ? "," : "");
    text_adds(&ops, operation);
    text_adds(&ops, ops.len > 1 && h->after.len > 2 ? "," : "");
    text_add(&ops, h->after.at + 1, h->after.len - 1);
    *PUSH(d->arena, d->part, d->count, d->space) =
        (struct operation_part){label, parts_keep(d->arena, &ops)};
}

static void add_counted(struct division *d, uint64_t number, const char *operation)
{
    char label[32];
    int len = snprintf(label, sizeof(label), "%" PRIu64, number);
    parts_add_part(d, arena_copy(d->arena, label, (size_t)len), operation);
}

/* A label in a list: a string without its quotes, anything else as written. */
static const char *label_of(struct division *d, const char *at, size_t len)
{
    struct json j;
    struct error err = {0};
    json_init(&j, cursor_over((struct bytes){(const uint8_t *)at, len}, 0), d->arena, NULL, &err);
    json_next(&j);
    bool plain = j.type == JSON_STRING || j.type == JSON_NUMBER;
    return plain ? arena_copy(d->arena, j.text.at, j.text.len) : arena_copy(d->arena, at, len);
}

static void unstack(struct division *d, const struct view *v)
{
    const struct operation *o = &d->halves.middle;
    const struct argument *number = o->arguments > 1 ? &o->argument[1] : NULL;
    uint64_t first = number ? (uint64_t)number->integer : 0;
    char take[64];
    unsigned axis = 0;
    if (view_axis(v->rank, o, 0, &axis, d->err) != OK)
        return;
    if (number && (!number->whole || number->integer < 0)) {
        parts_refuse(d, "the number of the first part is a whole number, 0 or more");
        return;
    }
    if (v->shape[axis] > PARTS_MAX)
        error_set(d->err, ERR_ARGUMENT, NULL, NO_OFFSET,
                  "%.*s: %llu tensors are more than one can become (%d)",
                  o->len > 200 ? 200 : (int)o->len, o->at, (unsigned long long)v->shape[axis],
                  PARTS_MAX);
    for (uint64_t i = 0; d->err->status == OK && i < v->shape[axis]; i++) {
        snprintf(take, sizeof(take), "[\"take\",%u,%llu]", axis, (unsigned long long)i);
        add_counted(d, first + i, take);
    }
}

static void parts_split(struct division *d, const struct view *v)
{
    const struct operation *o = &d->halves.middle;
    uint64_t *size = NULL, at = 0;
    unsigned axis = 0;
    size_t count = 0;
    struct elements labels;
    const char *label;
    size_t len;
    bool labelled = o->arguments > 2;
    char piece[96];
    if (labelled)
        argument_elements(&labels, &o->argument[2]);
    if (view_axis(v->rank, o, 0, &axis, d->err) != OK ||
        view_split(o, v->shape[axis], d->arena, &size, &count, d->err) != OK)
        return;
    for (size_t i = 0; i < count && d->err->status == OK; at += size[i++]) {
        snprintf(piece, sizeof(piece), "[\"slice\",%u,%llu,%llu]", axis, (unsigned long long)at,
                 (unsigned long long)(at + size[i]));
        if (!labelled)
            add_counted(d, i, piece);
        else if (elements_next(&labels, &label, &len) > 0)
            parts_add_part(d, label_of(d, label, len), piece);
        else
            parts_refuse(d, "a list of labels is wanted, one for each piece");
    }
    if (labelled && d->err->status == OK && elements_next(&labels, &label, &len) != 0)
        parts_refuse(d, "there are more labels than pieces");
}

static void copies(struct division *d)
{
    struct elements labels;
    const char *label;
    size_t len;
    argument_elements(&labels, &d->halves.middle.argument[0]);
    while (d->err->status == OK && elements_next(&labels, &label, &len) > 0)
        parts_add_part(d, label_of(d, label, len), "");
    if (!d->count)
        parts_refuse(d, "a list of labels is wanted");
}

void parts_of(const char *operations, const char *shape, struct arena *arena,
              struct operation_part **out, size_t *count, struct error *err)
{
    struct division d = {.arena = arena, .err = err};
    struct error *const before = arena->err;
    const bool failed = arena->failed;
    struct view v;
    arena->err = err;
    if (operations && shape && halve(operations, operation_divides, &d.halves, err) &&
        shapes_view(shape, &v, err) == OK &&
        view_apply_all(&v, text_str(&d.halves.before), err) == OK) {
        if (d.halves.middle.kind == OPERATION_UNSTACK)
            unstack(&d, &v);
        else if (d.halves.middle.kind == OPERATION_SPLIT)
            parts_split(&d, &v);
        else
            copies(&d);
    }
    halves_release(&d.halves);
    arena->err = before;
    arena->failed = failed;
    *out = d.part;
    *count = err->status == OK ? d.count : 0;
}

/* --- several tensors become one ----------------------------------------------------------- */

enum status join_of(const char *operations, struct arena *arena, struct operation_join *out,
                    struct error *err)
{
    struct halves h = {0};
    struct text join = {0};
    struct error *const before = arena->err;
    const bool failed = arena->failed;
    arena->err = err;
    *out = (struct operation_join){0};
    if (operations && halve(operations, operation_joins, &h, err)) {
        const struct argument *key = &h.middle.argument[1];
        text_addf(&join, "[\"%s\",%.*s]", h.middle.name, (int)h.middle.argument[0].len,
                  h.middle.argument[0].at);
        out->counted = h.middle.arguments > 1 && key->whole;
        out->key = out->counted ? key->integer : 0;
        out->join = parts_keep(arena, &join);
        out->before = parts_keep(arena, &h.before);
        out->after = parts_keep(arena, &h.after);
    }
    halves_release(&h);
    arena->err = before;
    arena->failed = failed;
    return err->status;
}

static bool read_join(const char *join, struct operation *o, struct error *err)
{
    return operation_read(join, strlen(join), o, err) > 0 && operation_joins(o);
}

bool join_along(const char *join, const char *shape, uint64_t *size)
{
    struct error err = {.offset = NO_OFFSET};
    struct operation o = {0};
    uint64_t sizes[VIEW_RANK_MAX] = {0};
    unsigned rank = 0, axis;
    if (!shape || !read_join(join, &o, &err) || o.kind != OPERATION_CONCAT ||
        shapes_read(shape, sizes, &rank, &err) != OK || view_axis(rank, &o, 0, &axis, &err) != OK)
        return false;
    *size = sizes[axis];
    return true;
}

void join_shape(const char *join, uint64_t count, const char *shape, const char *after,
                struct text *out, struct error *err)
{
    struct operation o = {0};
    uint64_t sizes[VIEW_RANK_MAX + 1] = {0};
    unsigned rank = 0, axis = 0;
    if (read_join(join, &o, err) && shapes_read(shape, sizes, &rank, err) == OK &&
        compose_shape(&o, count, sizes, &rank, &axis, err) == OK &&
        compose_reshape(after, sizes, &rank, err) == OK)
        shape_print(out, sizes, rank);
}
