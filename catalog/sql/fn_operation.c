/*
 * fn_operation.c - what a rule's operations make of shapes, before a byte is read. `ops` is
 * what rule_ops() gives; NULL arguments give NULL.
 *
 *   operation_shape(ops, shape)         the shape after them; NULL: impossible
 *   operation_error(ops, shape, dtype)  why, as "ValueError: text"; NULL: possible
 *   operation_parts(ops, shape)         [[LABEL, OPS], ...] where they make several of one; else
 *                                       NULL, also where that is impossible
 *   operation_parts_error(ops, shape)   why it is impossible
 *   operation_join(ops)                 [JOIN, KEY, BEFORE, AFTER] where they make one of
 *                                       several (compose.h); else NULL
 *   operation_along(join, shape)                      the size of the axis that it joins
 *   operation_whole(join, count, shape, after)        the shape of what was joined
 *   operation_whole_error(join, count, shape, after)  why there is none
 */
#include <stdio.h>
#include <string.h>

#include "catalog/base/text.h"
#include "catalog/compose/compose.h"
#include "catalog/compose/shapes.h"
#include "catalog/sql/extension.h"

#define PARTS_MAX 1000000 /* that one tensor can become */

static const char *text_of(sqlite3_value *v)
{
    return (const char *)sqlite3_value_text(v);
}

static void give(sqlite3_context *context, struct text *t)
{
    if (t->failed)
        sqlite3_result_error_nomem(context);
    else if (t->at)
        sqlite3_result_text64(context, t->at, t->len, SQLITE_TRANSIENT, SQLITE_UTF8);
    text_release(t);
}

static void give_error(sqlite3_context *context, const struct error *err)
{
    struct text t = {0};
    text_addf(&t, "ValueError: %s", err->message);
    give(context, &t);
}

static void give_shape(sqlite3_context *context, const uint64_t *shape, unsigned rank)
{
    struct text t = {0};
    shape_print(&t, shape, rank);
    give(context, &t);
}

/* --- one tensor -------------------------------------------------------------------------- */

static void operation_shape(sqlite3_context *context, int argc, sqlite3_value **argv)
{
    (void)argc;
    const char *ops = text_of(argv[0]), *shape = text_of(argv[1]);
    struct error err = {.offset = NO_OFFSET};
    struct text out = {0};
    if (ops && shape && shapes_after(ops, shape, NULL, &out, &err) == OK)
        give(context, &out);
    text_release(&out);
}

static void operation_error(sqlite3_context *context, int argc, sqlite3_value **argv)
{
    (void)argc;
    const char *ops = text_of(argv[0]), *shape = text_of(argv[1]);
    struct error err = {.offset = NO_OFFSET};
    struct text out = {0};
    if (ops && shapes_after(ops, shape, text_of(argv[2]), &out, &err) != OK)
        give_error(context, &err);
    text_release(&out);
}

/* --- several of one ---------------------------------------------------------------------- */

/* Operations before, at and behind the one that is looked for; before, after: whole lists. */
struct halves {
    struct text before, after;
    struct operation middle; /* of no length: there is none */
};

static void halves_release(struct halves *h)
{
    text_release(&h->before);
    text_release(&h->after);
}

static bool halve(const char *ops, bool (*wanted)(const struct operation *),
                  struct halves *out, struct error *err)
{
    struct operations all = {.at = ops};
    struct operation o = {0};
    text_addc(&out->before, '[');
    text_addc(&out->after, '[');
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
    return err->status == OK && out->middle.len;
}

/* [LABEL, OPS] of one part. */
static void add_part(struct text *out, const char *label, size_t len,
                     const struct halves *h, const char *operation)
{
    struct text ops = {0};
    text_add(&ops, h->before.at, h->before.len - 1);
    text_adds(&ops, *operation && ops.len > 1 ? "," : "");
    text_adds(&ops, operation);
    text_adds(&ops, ops.len > 1 && h->after.len > 2 ? "," : "");
    text_add(&ops, h->after.at + 1, h->after.len - 1);
    text_adds(out, out->len > 1 ? ",[" : "[");
    text_add(out, label, len);
    text_addc(out, ',');
    text_json(out, ops.at ? ops.at : "", ops.len);
    text_addc(out, ']');
    text_release(&ops);
}

static void add_counted(struct text *out, uint64_t label, const struct halves *h,
                        const char *operation)
{
    char number[32];
    int len = snprintf(number, sizeof(number), "%llu", (unsigned long long)label);
    add_part(out, number, (size_t)len, h, operation);
}

static void unstack(const struct halves *h, const struct view *v, struct text *out,
                    struct error *err)
{
    const struct operation *o = &h->middle;
    uint64_t first = o->arguments > 1 ? (uint64_t)o->argument[1].integer : 0;
    char take[64];
    unsigned axis = 0;
    if (view_axis(v->rank, o, 0, &axis, err) != OK)
        return;
    if (v->shape[axis] > PARTS_MAX)
        error_set(err, ERR_ARGUMENT, NULL, NO_OFFSET,
                  "%.*s: %llu tensors are more than one can become (%d)",
                  o->len > 200 ? 200 : (int)o->len, o->at,
                  (unsigned long long)v->shape[axis], PARTS_MAX);
    for (uint64_t i = 0; err->status == OK && i < v->shape[axis] && !out->failed; i++) {
        snprintf(take, sizeof(take), "[\"take\",%u,%llu]", axis, (unsigned long long)i);
        add_counted(out, first + i, h, take);
    }
}

static void split(const struct halves *h, const struct view *v, struct text *out,
                  struct error *err)
{
    const struct operation *o = &h->middle;
    uint64_t size[OPERATION_LIST_MAX], at = 0;
    unsigned axis = 0, count = 0;
    const char *label = NULL;
    size_t len = 0;
    char piece[96];
    if (view_axis(v->rank, o, 0, &axis, err) != OK ||
        view_split(o, v->shape[axis], size, &count, err) != OK)
        return;
    for (unsigned i = 0; i < count; at += size[i++]) {
        snprintf(piece, sizeof(piece), "[\"slice\",%u,%llu,%llu]", axis,
                 (unsigned long long)at, (unsigned long long)(at + size[i]));
        if (o->arguments > 2 && argument_next(&o->argument[2], &label, &len))
            add_part(out, label, len, h, piece);
        else
            add_counted(out, i, h, piece);
    }
}

static void copies(const struct halves *h, struct text *out)
{
    const char *label = NULL;
    size_t len = 0;
    while (argument_next(&h->middle.argument[0], &label, &len))
        add_part(out, label, len, h, "");
}

static void parts(const char *ops, const char *shape, struct text *out, struct error *err)
{
    struct halves h = {0};
    struct view v;
    if (ops && shape && halve(ops, operation_divides, &h, err) &&
        shapes_view(shape, &v, err) == OK &&
        view_apply_all(&v, text_str(&h.before), err) == OK) {
        text_addc(out, '[');
        if (h.middle.kind == OPERATION_UNSTACK)
            unstack(&h, &v, out, err);
        else if (h.middle.kind == OPERATION_SPLIT)
            split(&h, &v, out, err);
        else
            copies(&h, out);
        text_addc(out, ']');
    }
    halves_release(&h);
}

static void operation_parts(sqlite3_context *context, int argc, sqlite3_value **argv)
{
    (void)argc;
    struct error err = {.offset = NO_OFFSET};
    struct text out = {0};
    parts(text_of(argv[0]), text_of(argv[1]), &out, &err);
    if (err.status == OK)
        give(context, &out);
    text_release(&out);
}

static void operation_parts_error(sqlite3_context *context, int argc,
                                  sqlite3_value **argv)
{
    (void)argc;
    struct error err = {.offset = NO_OFFSET};
    struct text out = {0};
    parts(text_of(argv[0]), text_of(argv[1]), &out, &err);
    if (err.status != OK)
        give_error(context, &err);
    text_release(&out);
}

/* --- one of several ---------------------------------------------------------------------- */

static void operation_join(sqlite3_context *context, int argc, sqlite3_value **argv)
{
    (void)argc;
    const char *ops = text_of(argv[0]);
    struct error err = {.offset = NO_OFFSET};
    struct halves h = {0};
    struct text out = {0};
    if (ops && halve(ops, operation_joins, &h, &err)) {
        const struct argument *key = &h.middle.argument[1];
        bool known = h.middle.arguments > 1 && key->whole;
        text_addf(&out, "[[\"%s\",%.*s],", h.middle.name, (int)h.middle.argument[0].len,
                  h.middle.argument[0].at);
        text_add(&out, known ? key->at : "null", known ? key->len : 4);
        text_addf(&out, ",%s,%s]", h.before.at, h.after.at);
        give(context, &out);
    }
    halves_release(&h);
}

/* The shape of what is joined. False: an argument is NULL. */
static bool whole(sqlite3_value **argv, uint64_t *shape, unsigned *rank,
                  struct error *err)
{
    const char *join = text_of(argv[0]), *sizes = text_of(argv[2]);
    const char *after = text_of(argv[3]);
    struct operation o = {0};
    unsigned axis = 0;
    if (!join || !sizes || !after)
        return false;
    if (operation_read(join, strlen(join), &o, err) > 0 && operation_joins(&o) &&
        shapes_read(sizes, shape, rank, err) == OK &&
        compose_shape(&o, (uint64_t)sqlite3_value_int64(argv[1]), shape, rank, &axis,
                      err) == OK)
        compose_reshape(after, shape, rank, err);
    return true;
}

static void operation_along(sqlite3_context *context, int argc, sqlite3_value **argv)
{
    (void)argc;
    struct error err = {.offset = NO_OFFSET};
    uint64_t sizes[VIEW_RANK_MAX] = {0};
    unsigned rank = 0, axis;
    const char *join = text_of(argv[0]), *shape = text_of(argv[1]);
    struct operation o = {0};
    if (join && shape && operation_read(join, strlen(join), &o, &err) > 0 &&
        o.kind == OPERATION_CONCAT && shapes_read(shape, sizes, &rank, &err) == OK &&
        view_axis(rank, &o, 0, &axis, &err) == OK)
        sqlite3_result_int64(context, (sqlite3_int64)sizes[axis]);
}

static void operation_whole(sqlite3_context *context, int argc, sqlite3_value **argv)
{
    (void)argc;
    struct error err = {.offset = NO_OFFSET};
    uint64_t shape[VIEW_RANK_MAX + 1] = {0};
    unsigned rank = 0;
    if (whole(argv, shape, &rank, &err) && err.status == OK)
        give_shape(context, shape, rank);
}

static void operation_whole_error(sqlite3_context *context, int argc,
                                  sqlite3_value **argv)
{
    (void)argc;
    struct error err = {.offset = NO_OFFSET};
    uint64_t shape[VIEW_RANK_MAX + 1] = {0};
    unsigned rank = 0;
    if (whole(argv, shape, &rank, &err) && err.status != OK)
        give_error(context, &err);
}

int sql_register_operation(sqlite3 *db)
{
    static const struct {
        const char *name;
        int arguments;
        void (*run)(sqlite3_context *, int, sqlite3_value **);
    } functions[] = {
        {"operation_shape", 2, operation_shape},
        {"operation_error", 3, operation_error},
        {"operation_parts", 2, operation_parts},
        {"operation_parts_error", 2, operation_parts_error},
        {"operation_join", 1, operation_join},
        {"operation_along", 2, operation_along},
        {"operation_whole", 4, operation_whole},
        {"operation_whole_error", 4, operation_whole_error},
    };
    int rc = SQLITE_OK;
    for (size_t i = 0; rc == SQLITE_OK && i < sizeof(functions) / sizeof(functions[0]);
         i++)
        rc = sqlite3_create_function_v2(db, functions[i].name, functions[i].arguments,
                                        SQL_FLAGS_PURE, NULL, functions[i].run, NULL,
                                        NULL, NULL);
    return rc;
}
