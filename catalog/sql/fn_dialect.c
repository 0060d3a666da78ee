/*
 * fn_dialect.c - properties of dialects, as SQL functions:
 *
 *   dialect_is(dialect, what)          whether a dialect belongs to a view ('translation',
 *                                      'assignment', 'conversion'); how it tries patterns ('match',
 *                                      'fullmatch', 'path'); whether a model keeps its own value if
 *                                      the source has none ('fills'); whether every rule must
 *                                      decide some name ('required'); whether the last rule that
 *                                      matches decides ('last'; otherwise the first one does)
 *   options_fault(dialect, options)    what is wrong with a set's options; NULL: nothing, or the
 *                                      dialect is not known
 *   dialect_check(dialect)             NULL; an error that names the dialects if it is not one
 */
#include <string.h>

#include "catalog/maps/map/dialect.h"
#include "catalog/maps/map/ruleset.h"
#include "catalog/sql/extension.h"

static void dialect_is(sqlite3_context *context, int argc, sqlite3_value **argv)
{
    (void)argc;
    const char *name = (const char *)sqlite3_value_text(argv[0]);
    const char *what = (const char *)sqlite3_value_text(argv[1]);
    const struct dialect *d = name ? dialect_find(name) : NULL;
    if (!name || !what)
        return;
    const struct {
        const char *word;
        bool so;
    } is[] = {
        {"translation", d && d->view == MAP_TRANSLATION},
        {"assignment", d && d->view == MAP_ASSIGNMENT},
        {"conversion", d && d->view == MAP_CONVERSION},
        {"match", d && d->trial == MAP_MATCH},
        {"fullmatch", d && d->trial == MAP_FULLMATCH},
        {"path", d && d->trial == MAP_PATH},
        {"fills", d && d->fills},
        {"required", d && d->required},
        {"last", d && (d->each || d->trial == MAP_PATH)},
    };
    for (size_t i = 0; i < sizeof(is) / sizeof(is[0]); i++)
        if (strcmp(is[i].word, what) == 0)
            sqlite3_result_int(context, is[i].so);
}

static void options_fault(sqlite3_context *context, int argc, sqlite3_value **argv)
{
    (void)argc;
    const char *dialect = (const char *)sqlite3_value_text(argv[0]);
    const char *options = (const char *)sqlite3_value_text(argv[1]);
    struct error err = {.offset = NO_OFFSET};
    if (dialect && options && ruleset_check_options(dialect, options, true, &err) != OK)
        sqlite3_result_text(context, err.message, -1, SQLITE_TRANSIENT);
    error_clear(&err);
}

static void dialect_check(sqlite3_context *context, int argc, sqlite3_value **argv)
{
    (void)argc;
    const char *dialect = (const char *)sqlite3_value_text(argv[0]);
    struct error err = {.offset = NO_OFFSET};
    if (dialect && ruleset_check_dialect(dialect, &err) != OK)
        sqlite3_result_error(context, err.message, -1);
    error_clear(&err);
}

int sql_register_dialect(sqlite3 *db)
{
    static const struct sql_function functions[] = {
        {"dialect_is", 2, dialect_is},
        /* Views use this name, so that SQLite without the extension says what is missing. */
        {"dialect_is (of ckptdb.so: load this extension first)", 2, dialect_is},
        {"options_fault", 2, options_fault},
        {"dialect_check", 1, dialect_check},
        {NULL, 0, NULL},
    };
    return sql_register_pure(db, functions);
}
