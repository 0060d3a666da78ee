/*
 * fn_compare.c - tensor_distance(a, b[, dtype]): how far the values of two tensors are apart,
 * after a has been cast to dtype, as JSON:
 * {"max_abs":…,"rel_l2":…,"delta_l2":…,"cosine":…,"unequal":…,"nans":…,
 * "lost":{"out_of_range":…,"to_zero":…,"to_nan":…}}, and "rows":… where shapes differ in the first dimension
 * alone: the rows that both have are compared. NULL if either has no numbers to read.
 * Quantised integers (qint8) have them as they are stored, next to other integers only. A fourth
 * argument is a pointer to a struct ckptdb_reading (catalog/ckptdb.h), or NULL.
 */
#include <math.h>

#include "catalog/base/text.h"
#include "catalog/ckptdb.h"
#include "catalog/content/compare.h"
#include "catalog/sql/extension.h"
#include "catalog/sql/fn_data.h"

static void compare_add_number(struct text *out, const char *key, double x)
{
    if (isfinite(x))
        text_addf(out, "\"%s\":%.17g,", key, x);
    else
        text_addf(out, "\"%s\":null,", key);
}

static void compare_give(sqlite3_context *ctx, const struct comparison *c)
{
    struct text out = {0};
    text_addc(&out, '{');
    compare_add_number(&out, "max_abs", c->max_abs);
    compare_add_number(&out, "rel_l2", c->rel_l2);
    compare_add_number(&out, "delta_l2", c->delta_l2);
    compare_add_number(&out, "cosine", c->cosine);
    text_addf(&out, "\"unequal\":%llu,\"nans\":%llu,", (unsigned long long)c->unequal,
              (unsigned long long)c->nans);
    if (c->rows)
        text_addf(&out, "\"rows\":%llu,", (unsigned long long)c->rows);
    text_addf(&out, "\"lost\":{\"out_of_range\":%llu,\"to_zero\":%llu,\"to_nan\":%llu}}",
              (unsigned long long)c->lost.out_of_range, (unsigned long long)c->lost.to_zero,
              (unsigned long long)c->lost.to_nan);
    sql_result_text(ctx, &out);
}

struct asking {
    sqlite3 *db;
    uint64_t since;
    const struct ckptdb_reading *reading; /* told how many bytes were read; NULL: none */
};

static enum status ask(void *context, uint64_t bytes, struct error *err)
{
    struct asking *a = context;
    if (a->reading)
        a->reading->read(a->reading->context, bytes);
    return keeper_ask(a->db, bytes, &a->since, err);
}

/* The dtype to which `a` is cast, in *room; NULL: it is not cast. */
static const struct dtype *cast_of(int argc, sqlite3_value **argv, struct dtype *room)
{
    const char *name = argc > 2 ? (const char *)sqlite3_value_text(argv[2]) : NULL;
    if (!name)
        return NULL;
    dtype_called(name, room);
    return room;
}

static bool has_numbers(const struct stored_tensor *t)
{
    return tensor_has_values(t) && t->dtype.kind != DTYPE_STRING;
}

static void tensor_distance(sqlite3_context *ctx, int argc, sqlite3_value **argv)
{
    struct arena arena = {0};
    struct error err = {.offset = NO_OFFSET};
    struct stored_tensor a = {0}, b = {0};
    struct dtype room;
    const struct dtype *as = cast_of(argc, argv, &room);
    struct comparison c;
    struct asking asking = {.db = sqlite3_context_db_handle(ctx),
                            .reading =
                                argc > 3 ? sqlite3_value_pointer(argv[3], "ckptdb_reading") : NULL};
    const struct compare_watch watch = {&asking, ask, asking.reading ? asking.reading->threads : 0};
    if (sqlite3_value_type(argv[0]) == SQLITE_NULL || sqlite3_value_type(argv[1]) == SQLITE_NULL)
        return;
    struct lookup *l = keeper_lookup(sqlite3_user_data(ctx), &err);
    if (l && tensor_given(l, argv[0], &arena, &a, &err) == OK &&
        tensor_given(l, argv[1], &arena, &b, &err) == OK && has_numbers(&a) && has_numbers(&b)) {
        const enum status status = tensor_compare(&a, as, &b, &watch, &c, &err);
        if (status == OK)
            compare_give(ctx, &c);
        else if (status == ERR_MISSING || status == ERR_UNSUPPORTED)
            error_clear(&err);
        else if (status != ERR_INTERRUPTED)
            tensor_error(&a, &err);
    }
    if (err.status != OK)
        sql_result_error(ctx, &err);
    arena_release(&arena);
}

int sql_register_compare(sqlite3 *db, struct keeper *k)
{
    static const struct sql_function functions[] = {
        {"tensor_distance", 2, tensor_distance},
        {"tensor_distance", 3, tensor_distance},
        {"tensor_distance", 4, tensor_distance},
        {NULL, 0, NULL},
    };
    return sql_register(db, functions, SQL_FLAGS_READS, &k->shared);
}
