/*
 * fn_setting.c - settings that rule sets take from checkpoints (catalog/maps/map/setting.h), as SQL
 * functions.
 *
 *   rule_bound(ruleset, checkpoint_id)  the set with its settings for this checkpoint, as a text
 *                                       that functions and queries accept in place of the set's
 *                                       name; the name itself if the set has no settings
 *   map_set(key, value)                 sets a setting for all checkpoints, until the connection
 *                                       closes; a NULL value unsets it, a NULL key unsets all
 */
#include <stdlib.h>
#include <string.h>

#include "catalog/maps/map/setting.h"
#include "catalog/sql/extension.h"

#define GIVEN_MAX 256 /* settings of a connection */

struct given {
    struct sql_shared shared; /* first */
    unsigned count;
    char *key[GIVEN_MAX], *value[GIVEN_MAX];
};

static void given_forget(struct given *g, unsigned i)
{
    free(g->key[i]);
    free(g->value[i]);
    g->count--;
    g->key[i] = g->key[g->count];
    g->value[i] = g->value[g->count];
}

static void given_release(void *shared)
{
    struct given *g = shared;
    while (g->count)
        given_forget(g, 0);
    free(g);
}

static void map_set(sqlite3_context *context, int argc, sqlite3_value **argv)
{
    (void)argc;
    struct given *g = sqlite3_user_data(context);
    const char *key = (const char *)sqlite3_value_text(argv[0]),
               *value = (const char *)sqlite3_value_text(argv[1]);
    for (unsigned i = g->count; i-- > 0;)
        if (!key || strcmp(g->key[i], key) == 0)
            given_forget(g, i);
    if (!key || !value)
        return;
    if (g->count == GIVEN_MAX) {
        sqlite3_result_error(context, "map_set: too many settings", -1);
        return;
    }
    g->key[g->count] = strdup(key);
    g->value[g->count] = strdup(value);
    g->count++;
    if (g->key[g->count - 1] && g->value[g->count - 1])
        return;
    given_forget(g, g->count - 1);
    sqlite3_result_error_nomem(context);
}

/* --- rule_bound ----------------------------------------------------------------------------- */

/* Where the settings of one checkpoint come from. */
struct asking {
    const struct given *given;
    sqlite3_stmt *fact; /* selects a fact of the metadata by its key, ?1 */
    struct error *err;  /* why one could not be read (a missing one is no error) */
};

/* The first column of the first row, in the arena; at NULL if absent, or after an error. */
static struct bytes setting_read(sqlite3_stmt *s, struct arena *arena, struct error *err)
{
    struct bytes read = {0};
    const int rc = sqlite3_step(s);
    const unsigned char *text = rc == SQLITE_ROW ? sqlite3_column_text(s, 0) : NULL;
    if (text) {
        read.len = (size_t)sqlite3_column_bytes(s, 0);
        read.at = (const uint8_t *)arena_copy(arena, text, read.len);
    }
    if ((text && !read.at) ||
        (rc == SQLITE_ROW && !text && sqlite3_column_type(s, 0) != SQLITE_NULL))
        error_memory(err);
    else if (rc != SQLITE_ROW && rc != SQLITE_DONE)
        error_set(err, rc == SQLITE_NOMEM ? ERR_MEMORY : ERR_IO, NULL, NO_OFFSET, "%s",
                  sqlite3_errmsg(sqlite3_db_handle(s)));
    return read;
}

static const char *given_value(void *context, const char *key)
{
    const struct given *g = ((struct asking *)context)->given;
    for (unsigned i = 0; i < g->count; i++)
        if (strcmp(g->key[i], key) == 0)
            return g->value[i];
    return NULL;
}

static const char *metadata_value(void *context, const char *key, struct arena *arena)
{
    const struct asking *asking = context;
    sqlite3_bind_text(asking->fact, 1, key, -1, SQLITE_STATIC);
    struct bytes value = setting_read(asking->fact, arena, asking->err);
    sqlite3_reset(asking->fact);
    return (const char *)value.at;
}

static sqlite3_stmt *setting_prepare(sqlite3 *db, const char *sql)
{
    sqlite3_stmt *s = NULL;
    sqlite3_prepare_v2(db, sql, -1, &s, NULL);
    return s;
}

/* The options of a set that declares settings, in the arena; at NULL if it does not. */
static struct bytes declaring(sqlite3 *db, const char *ruleset, struct arena *arena,
                              struct error *err)
{
    sqlite3_stmt *s = setting_prepare(db, "SELECT options FROM main.ruleset WHERE name = ?1"
                                          " AND instr(options, '\"settings\"')");
    struct bytes options = {0};
    sqlite3_bind_text(s, 1, ruleset, -1, SQLITE_STATIC);
    if (s)
        options = setting_read(s, arena, err);
    else
        error_set(err, ERR_ARGUMENT, NULL, NO_OFFSET, "%s", sqlite3_errmsg(db));
    sqlite3_finalize(s);
    return options;
}

static void rule_bound(sqlite3_context *context, int argc, sqlite3_value **argv)
{
    (void)argc;
    sqlite3 *db = sqlite3_context_db_handle(context);
    const char *ruleset = (const char *)sqlite3_value_text(argv[0]);
    struct arena arena = {0};
    struct settings settings = {0};
    struct error err = {.offset = NO_OFFSET}, reading = {.offset = NO_OFFSET};
    struct text bound = {0};
    struct bytes options = ruleset ? declaring(db, ruleset, &arena, &err) : (struct bytes){0};
    if (options.at) {
        struct asking asking = {sqlite3_user_data(context),
                                setting_prepare(db, "SELECT value FROM main.metadata"
                                                    " WHERE checkpoint_id = ?2 AND key = ?1"),
                                &reading};
        struct setting_source source = {&asking, given_value, metadata_value};
        sqlite3_bind_value(asking.fact, 2, argv[1]);
        if (!asking.fact)
            error_set(&err, ERR_ARGUMENT, NULL, NO_OFFSET, "%s", sqlite3_errmsg(db));
        else
            settings_resolve(options, &source, &arena, &settings, &err);
        sqlite3_finalize(asking.fact);
    }
    if (reading.status != OK)
        err = reading;
    if (err.status == ERR_MEMORY) {
        sqlite3_result_error_nomem(context);
    } else if (err.status != OK) {
        sql_result_refuse(context, "settings of rule set '%s': %s", ruleset, err.message);
    } else if (ruleset) {
        setting_bind(&bound, ruleset, &settings);
        sql_result_text(context, &bound);
    }
    arena_release(&arena);
}

int sql_register_setting(sqlite3 *db)
{
    static const struct sql_function set[] = {{"map_set", 2, map_set}, {NULL, 0, NULL}};
    static const struct sql_function bound[] = {{"rule_bound", 2, rule_bound}, {NULL, 0, NULL}};
    struct given *g = calloc(1, sizeof(*g));
    if (!g)
        return SQLITE_NOMEM;
    g->shared.release = given_release;
    int rc = sql_register(db, set, SQL_FLAGS_READS, &g->shared);
    return rc == SQLITE_OK ? sql_register(db, bound, SQL_FLAGS_LOOKS, &g->shared) : rc;
}
