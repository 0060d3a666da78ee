/*
 * fn_rename.c - renamed(renames, name [, count]): the name after re.sub with the patterns and
 * templates [["REGEX", "TEMPLATE"], ...] one after the other, the first `count` only. NULL for no
 * renames gives the name itself.
 */
#include <stdlib.h>

#include "catalog/maps/regex/rename.h"
#include "catalog/sql/extension.h"

static void release(void *renames)
{
    renames_release(renames);
    free(renames);
}

/* Compiled once a statement, as long as they are the same in all rows. NULL: ctx has the error. */
static struct renames *compiled(sqlite3_context *ctx, sqlite3_value *json)
{
    struct renames *r = sqlite3_get_auxdata(ctx, 0);
    struct error err = {.offset = NO_OFFSET};
    if (r)
        return r;
    const char *text = (const char *)sqlite3_value_text(json);
    r = text ? calloc(1, sizeof(*r)) : NULL;
    if (!r) {
        sqlite3_result_error_nomem(ctx);
        return NULL;
    }
    if (renames_read(text, (size_t)sqlite3_value_bytes(json), r, &err) != OK) {
        sql_result_error(ctx, &err);
        release(r);
        return NULL;
    }
    sqlite3_set_auxdata(ctx, 0, r, release);
    r = sqlite3_get_auxdata(ctx, 0);
    if (!r)
        sqlite3_result_error_nomem(ctx);
    return r;
}

static void renamed(sqlite3_context *ctx, int argc, sqlite3_value **argv)
{
    struct error err = {.offset = NO_OFFSET};
    struct text text[2] = {{0}, {0}};
    if (sqlite3_value_type(argv[0]) == SQLITE_NULL || sqlite3_value_type(argv[1]) == SQLITE_NULL) {
        sqlite3_result_value(ctx, argv[1]);
        return;
    }
    const struct renames *r = compiled(ctx, argv[0]);
    const char *name = r ? (const char *)sqlite3_value_text(argv[1]) : NULL;
    if (!r)
        return;
    const size_t most = argc > 2 ? (size_t)sqlite3_value_int64(argv[2]) : r->count;
    if (name)
        text_add(&text[0], name, (size_t)sqlite3_value_bytes(argv[1]));
    size_t i = 0;
    for (; name && i < r->count && i < most && err.status == OK; i++) {
        text_reset(&text[(i + 1) % 2]);
        rename_one(&r->at[i], text_str(&text[i % 2]), text[i % 2].len, &text[(i + 1) % 2], &err);
    }
    if (err.status != OK)
        sql_result_error(ctx, &err);
    else
        sql_result_text(ctx, &text[i % 2]);
    text_release(&text[0]);
    text_release(&text[1]);
}

int sql_register_rename(sqlite3 *db)
{
    static const struct sql_function functions[] = {
        {"renamed", 2, renamed},
        {"renamed", 3, renamed},
        {NULL, 0, NULL},
    };
    return sql_register_pure(db, functions);
}
