/*
 * fn_known.c - functions that fail where the catalog has no such thing, for queries in which a
 * mistyped argument would look like an answer: diff(1, 99) would be "only_a" for every tensor.
 *
 *   known_checkpoint(id)    the id; an error if there is no such checkpoint
 *   known_ruleset(name)     the name; an error if there is no such rule set; NULL for NULL
 *   known_renaming(name)    the name; an error if there is no such rule set, or if it assigns:
 *                           its rules begin at the names of a model; NULL for NULL
 *   known_optimizer(name)   the name; an error if there is no such optimizer; NULL for NULL
 */
#include <stddef.h>

#include "catalog/sql/extension.h"

struct known_thing {
    const char *function, *sql, *message;
};

static const struct known_thing known_things[] = {
    {"known_checkpoint", "SELECT 1 FROM main._checkpoints WHERE id = ?1",
     "there is no checkpoint with the id %s"},
    {"known_ruleset", "SELECT 1 FROM main.ruleset WHERE name = ?1",
     "no rule set is called '%s'"},
    {"known_renaming",
     "SELECT 1 FROM main.ruleset WHERE name = ?1"
     " AND (dialect_is(dialect, 'translation') OR dialect_is(dialect, 'conversion'))",
     "no rule set that goes from old names to new is called '%s'"},
    {"known_optimizer", "SELECT 1 FROM main.optimizer WHERE name = ?1",
     "no optimizer is called '%s'"},
};

static void known_refuse(sqlite3_context *context, const char *format, const char *text)
{
    char *message = text ? sqlite3_mprintf(format, text) : NULL;
    if (message)
        sqlite3_result_error(context, message, -1);
    else
        sqlite3_result_error_nomem(context);
    sqlite3_free(message);
}

static void known_run(sqlite3_context *context, int argc, sqlite3_value **argv)
{
    (void)argc;
    const struct known_thing *thing = sqlite3_user_data(context);
    sqlite3 *db = sqlite3_context_db_handle(context);
    sqlite3_stmt *s = NULL;
    if (sqlite3_value_type(argv[0]) == SQLITE_NULL)
        return;
    int rc = sqlite3_prepare_v2(db, thing->sql, -1, &s, NULL);
    if (rc == SQLITE_OK)
        rc = sqlite3_bind_value(s, 1, argv[0]);
    if (rc == SQLITE_OK)
        rc = sqlite3_step(s);
    if (rc == SQLITE_ROW)
        sqlite3_result_value(context, argv[0]);
    else if (rc == SQLITE_DONE)
        known_refuse(context, thing->message, (const char *)sqlite3_value_text(argv[0]));
    else
        sqlite3_result_error(context, sqlite3_errmsg(db), -1);
    sqlite3_finalize(s);
}

int sql_register_known(sqlite3 *db)
{
    int rc = SQLITE_OK;
    for (size_t i = 0;
         rc == SQLITE_OK && i < sizeof(known_things) / sizeof(*known_things); i++)
        rc = sqlite3_create_function_v2(db, known_things[i].function, 1, SQL_FLAGS_PURE,
                                        (void *)&known_things[i], known_run, NULL, NULL,
                                        NULL);
    return rc;
}
