/*
 * fn_dtype.c - functions of dtypes, shapes and ids that open no file:
 * dtype_bits(dtype), shape_elements(shape), tensor_checkpoint(id), tensor_name(id).
 */
#include "catalog/base/text.h"
#include "catalog/sql/extension.h"
#include "catalog/sql/keeper.h"

/* NULL for dtypes without a width: block types, string, variant, and unknown ones. */
static void dtype_bits(sqlite3_context *ctx, int argc, sqlite3_value **argv)
{
    (void)argc;
    struct dtype dtype;
    const char *name = (const char *)sqlite3_value_text(argv[0]);
    if (!name)
        return;
    dtype_called(name, &dtype);
    if (dtype.bits)
        sqlite3_result_int(ctx, dtype.bits);
}

static void shape_elements_sql(sqlite3_context *ctx, int argc, sqlite3_value **argv)
{
    (void)argc;
    struct arena arena = {0};
    uint64_t elements = 0, *shape = &elements;
    unsigned rank;
    const char *json = (const char *)sqlite3_value_text(argv[0]);
    if (!json)
        return;
    const bool good = shape_parse(json, &arena, &shape, &rank);
    if (!shape)
        sqlite3_result_error_nomem(ctx);
    else if (!good)
        sqlite3_result_error(ctx, "shape_elements: not a shape, which looks like [2,3]", -1);
    else if (!shape_elements(shape, rank, &elements) || elements > INT64_MAX)
        sqlite3_result_error(ctx, "shape_elements: more than 2^63 - 1 elements", -1);
    else
        sqlite3_result_int64(ctx, (sqlite3_int64)elements);
    arena_release(&arena);
}

static void tensor_checkpoint(sqlite3_context *ctx, int argc, sqlite3_value **argv)
{
    (void)argc;
    if (sqlite3_value_type(argv[0]) != SQLITE_NULL)
        sqlite3_result_int64(ctx, sqlite3_value_int64(argv[0]) >> TENSOR_ORD_BITS);
}

static void tensor_name(sqlite3_context *ctx, int argc, sqlite3_value **argv)
{
    (void)argc;
    struct error err = {.offset = NO_OFFSET};
    if (sqlite3_value_type(argv[0]) == SQLITE_NULL)
        return;
    bool found = false;
    struct text name = {0};
    struct lookup *l = keeper_lookup(sqlite3_user_data(ctx), &err);
    if (l)
        lookup_name(l, sqlite3_value_int64(argv[0]), &name, &found, &err);
    if (err.status != OK)
        error_prefix(&err, "tensor_name");
    if (err.status != OK)
        sql_result_error(ctx, &err);
    else if (found)
        sql_result_text(ctx, &name);
    text_release(&name);
}

int sql_register_dtype(sqlite3 *db, struct keeper *k)
{
    static const struct sql_function pure[] = {
        {"dtype_bits", 1, dtype_bits},
        {"shape_elements", 1, shape_elements_sql},
        {"tensor_checkpoint", 1, tensor_checkpoint},
        {NULL, 0, NULL},
    };
    static const struct sql_function looks[] = {
        {"tensor_name", 1, tensor_name},
        {NULL, 0, NULL},
    };
    int rc = sql_register(db, looks, SQL_FLAGS_LOOKS, &k->shared);
    return rc == SQLITE_OK ? sql_register_pure(db, pure) : rc;
}
