/*
 * fn_known.c - functions that fail where the catalog has no such thing, for queries in which a
 * mistyped argument would look like an answer: diff(1, 99) would be "only_a" for every tensor.
 *
 *   checkpoint_id(name)     the id of a checkpoint named as in commands; an error for none or
 *                           several; NULL for NULL
 *   known_checkpoint(id)    the id; an error if there is no such checkpoint, or if its tensors are
 *                           not as written
 *   known_tensor(id)        the id; an error if its row is not as written
 *   known_ruleset(name)     the name; an error if there is no such rule set; NULL for NULL
 *   known_renaming(name)    the name; an error if there is no such rule set, or if it assigns:
 *                           its rules begin at the names of a model; NULL for NULL
 *   known_optimizer(name)   the name; an error if there is no such optimizer; NULL for NULL
 */
#include <stddef.h>
#include <string.h>

#include "catalog/base/limits.h"
#include "catalog/db/find.h"
#include "catalog/sql/extension.h"
#include "catalog/sql/keeper.h"

struct known_thing {
    const char *function, *sql;
    const char *before, *after; /* the argument, in the message */
};

static const struct known_thing known_things[] = {
    {"known_checkpoint", "SELECT 1 FROM main._checkpoints WHERE id = ?1",
     "there is no checkpoint with the id ", ""},
    {"known_ruleset", "SELECT 1 FROM main.ruleset WHERE name = ?1", "no rule set is called '", "'"},
    {"known_renaming",
     "SELECT 1 FROM main.ruleset WHERE name = ?1"
     " AND (dialect_is(dialect, 'translation') OR dialect_is(dialect, 'conversion'))",
     "no rule set that goes from old names to new is called '", "'"},
    {"known_optimizer", "SELECT 1 FROM main.optimizer WHERE name = ?1", "no optimizer is called '",
     "'"},
};

static void known_result(sqlite3_context *context, const struct known_thing *thing,
                         sqlite3_value *given)
{
    sqlite3 *db = sqlite3_context_db_handle(context);
    sqlite3_stmt *s = NULL;
    const char *name;
    if (sqlite3_value_type(given) == SQLITE_NULL)
        return;
    int rc = sqlite3_prepare_v2(db, thing->sql, -1, &s, NULL);
    if (rc == SQLITE_OK)
        rc = sqlite3_bind_value(s, 1, given);
    if (rc == SQLITE_OK)
        rc = sqlite3_step(s);
    if (rc == SQLITE_ROW)
        sqlite3_result_value(context, given);
    else if (rc == SQLITE_DONE && !(name = (const char *)sqlite3_value_text(given)))
        sqlite3_result_error_nomem(context);
    else if (rc == SQLITE_DONE)
        sql_result_refuse(context, "%s%s%s", thing->before, name, thing->after);
    else
        sqlite3_result_error(context, sqlite3_errmsg(db), -1);
    sqlite3_finalize(s);
}

static void known_run(sqlite3_context *context, int argc, sqlite3_value **argv)
{
    (void)argc;
    known_result(context, sqlite3_user_data(context), argv[0]);
}

static void known_tensor(sqlite3_context *context, int argc, sqlite3_value **argv)
{
    (void)argc;
    struct error err = {.offset = NO_OFFSET};
    const int64_t id = sqlite3_value_int64(argv[0]);
    const uint32_t ord = (uint32_t)(id & TENSOR_ORD_MASK);
    if (sqlite3_value_type(argv[0]) == SQLITE_NULL)
        return;
    struct lookup *l = keeper_lookup(sqlite3_user_data(context), &err);
    if (l && lookup_check(l, id >> TENSOR_ORD_BITS, ord, ord, &err) == OK)
        sqlite3_result_int64(context, id);
    else
        sql_result_error(context, &err);
}

static void known_checkpoint(sqlite3_context *context, int argc, sqlite3_value **argv)
{
    (void)argc;
    struct error err = {.offset = NO_OFFSET};
    struct lookup *l = keeper_lookup(sqlite3_user_data(context), &err);
    if (l)
        lookup_check(l, sqlite3_value_int64(argv[0]), 0, TENSOR_ORD_MASK, &err);
    if (err.status == OK)
        known_result(context, &known_things[0], argv[0]);
    else
        sql_result_error(context, &err);
}

int sql_checkpoint(sqlite3 *db, sqlite3_value *given, sqlite3_value **out, char **message)
{
    struct error err = {.offset = NO_OFFSET};
    struct text why = {0};
    int64_t id;
    if (sqlite3_value_type(given) != SQLITE_TEXT) {
        *out = sqlite3_value_dup(given);
        return *out ? SQLITE_OK : SQLITE_NOMEM;
    }
    const char *name = (const char *)sqlite3_value_text(given);
    *out = NULL;
    const bool whole = name && strlen(name) == (size_t)sqlite3_value_bytes(given);
    if (whole && find_one(db, name, &id, &why, &err) == OK) {
        /* The value of SELECT ?1. */
        sqlite3_stmt *s = NULL;
        int rc = sqlite3_prepare_v2(db, "SELECT ?1", -1, &s, NULL);
        if (rc == SQLITE_OK && sqlite3_bind_int64(s, 1, id) == SQLITE_OK)
            rc = sqlite3_step(s);
        *out = rc == SQLITE_ROW ? sqlite3_value_dup(sqlite3_column_value(s, 0)) : NULL;
        sqlite3_finalize(s);
        return *out ? SQLITE_OK : SQLITE_NOMEM;
    }
    if (name && !whole)
        text_adds(&why, "the name of a checkpoint has no NUL byte in it");
    const bool told = name && err.status != ERR_MEMORY && text_str(&why);
    *message = told ? sqlite3_mprintf("%s", text_str(&why)) : NULL;
    text_release(&why);
    return *message ? SQLITE_ERROR : SQLITE_NOMEM;
}

static void checkpoint_id(sqlite3_context *context, int argc, sqlite3_value **argv)
{
    (void)argc;
    sqlite3 *db = sqlite3_context_db_handle(context);
    sqlite3_value *id = NULL;
    char *message = NULL;
    const int rc = sql_checkpoint(db, argv[0], &id, &message);
    if (rc == SQLITE_NOMEM)
        sqlite3_result_error_nomem(context);
    else if (rc != SQLITE_OK)
        sqlite3_result_error(context, message, -1);
    else if (sqlite3_value_type(argv[0]) == SQLITE_TEXT)
        sqlite3_result_value(context, id);
    else /* an id must be one, too */
        known_result(context, &known_things[0], id);
    sqlite3_value_free(id);
    sqlite3_free(message);
}

int sql_register_known(sqlite3 *db, struct keeper *k)
{
    static const struct sql_function checks[] = {{"known_checkpoint", 1, known_checkpoint},
                                                 {"known_tensor", 1, known_tensor},
                                                 {NULL, 0, NULL}};
    int rc = sql_register(db, checks, SQL_FLAGS_PURE, &k->shared);
    for (size_t i = 1; rc == SQLITE_OK && i < sizeof(known_things) / sizeof(*known_things); i++)
        rc = sqlite3_create_function_v2(db, known_things[i].function, 1, SQL_FLAGS_PURE,
                                        (void *)&known_things[i], known_run, NULL, NULL, NULL);
    if (rc == SQLITE_OK)
        rc = sqlite3_create_function_v2(db, "checkpoint_id", 1, SQL_FLAGS_PURE, NULL, checkpoint_id,
                                        NULL, NULL, NULL);
    return rc;
}
