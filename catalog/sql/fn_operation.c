/*
 * fn_operation.c - applies a rule's operations to shapes, without reading tensors. `ops` is
 * the result of rule_ops(); NULL arguments give NULL.
 *
 *   operation_shape(ops, shape)         the resulting shape; NULL: they are impossible
 *   operation_error(ops, shape, dtype)  why they are impossible, "ValueError: text"; else NULL
 *   operation_dtype(dtype)              the dtype that operations other than casts give a tensor
 */

#include "catalog/base/text.h"
#include "catalog/data/compose/shapes.h"
#include "catalog/sql/extension.h"

static const char *operation_text_of(sqlite3_value *v)
{
    return (const char *)sqlite3_value_text(v);
}

static void operation_give(sqlite3_context *context, struct text *t)
{
    if (t->failed)
        sqlite3_result_error_nomem(context);
    else if (t->at)
        sqlite3_result_text64(context, t->at, t->len, SQLITE_TRANSIENT, SQLITE_UTF8);
    text_release(t);
}

static void operation_shape(sqlite3_context *context, int argc, sqlite3_value **argv)
{
    (void)argc;
    const char *ops = operation_text_of(argv[0]), *shape = operation_text_of(argv[1]);
    struct error err = {.offset = NO_OFFSET};
    struct text out = {0};
    if (ops && shape && shapes_after(ops, shape, NULL, &out, &err) == OK)
        operation_give(context, &out);
    else if (err.status == ERR_MEMORY)
        sqlite3_result_error_nomem(context);
    text_release(&out);
}

static void operation_error(sqlite3_context *context, int argc, sqlite3_value **argv)
{
    (void)argc;
    const char *ops = operation_text_of(argv[0]), *shape = operation_text_of(argv[1]);
    struct error err = {.offset = NO_OFFSET};
    struct text out = {0};
    if (ops && shapes_after(ops, shape, operation_text_of(argv[2]), &out, &err) != OK) {
        struct text t = {0};
        if (err.status == ERR_MEMORY)
            t.failed = true;
        text_addf(&t, "ValueError: %s", err.message);
        operation_give(context, &t);
    }
    text_release(&out);
}

static void operation_dtype(sqlite3_context *context, int argc, sqlite3_value **argv)
{
    (void)argc;
    const char *dtype = operation_text_of(argv[0]);
    if (dtype)
        sqlite3_result_text(context, shapes_result(dtype), -1, SQLITE_TRANSIENT);
}

int sql_register_operation(sqlite3 *db)
{
    static const struct sql_function functions[] = {
        {"operation_shape", 2, operation_shape},
        {"operation_error", 3, operation_error},
        {"operation_dtype", 1, operation_dtype},
        {NULL, 0, NULL},
    };
    return sql_register_pure(db, functions);
}
