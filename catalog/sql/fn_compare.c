/*
 * fn_compare.c - tensor_distance(a, b): how far apart the values of two tensors are, as JSON:
 * {"max_abs":…,"rel_l2":…,"cosine":…,"unequal":…,"nans":…}. NULL where one of them has no numbers to read.
 */
#include <math.h>

#include "catalog/base/text.h"
#include "catalog/content/compare.h"
#include "catalog/sql/extension.h"
#include "catalog/sql/fn_data.h"

static void add_number(struct text *out, const char *key, double x)
{
    if (isfinite(x))
        text_addf(out, "\"%s\":%.17g,", key, x);
    else
        text_addf(out, "\"%s\":null,", key);
}

static void give(sqlite3_context *ctx, const struct comparison *c)
{
    struct text out = {0};
    text_addc(&out, '{');
    add_number(&out, "max_abs", c->max_abs);
    add_number(&out, "rel_l2", c->rel_l2);
    add_number(&out, "cosine", c->cosine);
    text_addf(&out, "\"unequal\":%llu,\"nans\":%llu}", (unsigned long long)c->unequal,
              (unsigned long long)c->nans);
    if (text_str(&out))
        sqlite3_result_text(ctx, text_str(&out), (int)out.len, SQLITE_TRANSIENT);
    else
        sqlite3_result_error_nomem(ctx);
    text_release(&out);
}

struct asking {
    sqlite3 *db;
    uint64_t since;
};

static enum status ask(void *context, uint64_t bytes, struct error *err)
{
    struct asking *a = context;
    return keeper_ask(a->db, bytes, &a->since, err);
}

static void tensor_distance(sqlite3_context *ctx, int argc, sqlite3_value **argv)
{
    (void)argc;
    struct arena arena = {0};
    struct error err = {.offset = NO_OFFSET};
    struct stored_tensor a = {0}, b = {0};
    struct comparison c;
    struct asking asking = {.db = sqlite3_context_db_handle(ctx)};
    const struct compare_watch watch = {&asking, ask};
    if (sqlite3_value_type(argv[0]) == SQLITE_NULL ||
        sqlite3_value_type(argv[1]) == SQLITE_NULL)
        return;
    struct lookup *l = keeper_lookup(sqlite3_user_data(ctx), &err);
    if (l && tensor_given(l, argv[0], &arena, &a, &err) == OK &&
        tensor_given(l, argv[1], &arena, &b, &err) == OK && tensor_has_values(&a) &&
        tensor_has_values(&b) && a.dtype.kind != DTYPE_STRING &&
        b.dtype.kind != DTYPE_STRING) {
        const enum status status = tensor_compare(&a, &b, &watch, &c, &err);
        if (status == OK)
            give(ctx, &c);
        else if (status == ERR_MISSING || status == ERR_UNSUPPORTED)
            error_clear(&err);
        else if (status != ERR_INTERRUPTED)
            tensor_error(&a, &err);
    }
    if (err.status != OK)
        keeper_result_error(ctx, NULL, &err);
    arena_release(&arena);
}

int sql_register_compare(sqlite3 *db)
{
    struct keeper *k = keeper_new(db, "ckptdb_distances");
    return k ? sqlite3_create_function_v2(db, "tensor_distance", 2, SQL_FLAGS_READS,
                                          keeper_hold(k), tensor_distance, NULL, NULL,
                                          keeper_drop)
             : SQLITE_NOMEM;
}
