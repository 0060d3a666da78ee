#include "catalog/sql/rule_load.h"

#include <string.h>

#include "catalog/db/statement.h"
#include "catalog/maps/map/setting.h"
#include "catalog/sql/rules_store.h"

bool rule_load_rows(sqlite3 *db, const char *bound, struct text *out)
{
    struct arena arena = {0};
    struct settings settings;
    const char *name = setting_unbind(bound, &arena, &settings);
    static const char sql[] =
        "SELECT dialect, options, NULL, NULL, NULL FROM main.ruleset WHERE name = ?1 UNION ALL "
        "SELECT * FROM (SELECT ord, pattern, replacement, compute, ops FROM main.rule"
        " WHERE ruleset = ?1 ORDER BY ord)";
    sqlite3_stmt *s = NULL;
    int rc = sqlite3_prepare_v2(db, sql, -1, &s, NULL);
    if (rc == SQLITE_OK)
        sqlite3_bind_text(s, 1, name, -1, SQLITE_STATIC);
    while (name && s && (rc = sqlite3_step(s)) == SQLITE_ROW)
        for (int i = 0; i < 5; i++) {
            const char *text = db_text(s, i);
            int len = sqlite3_column_bytes(s, i);
            text_addf(out, "%d:", text ? len : -1);
            text_add(out, text ? text : "", (size_t)len);
        }
    const bool whole = sqlite3_finalize(s) == SQLITE_OK && rc == SQLITE_DONE && !out->failed;
    arena_release(&arena);
    return whole;
}

static const char *nothing_given(void *context, const char *key)
{
    (void)context, (void)key;
    return NULL;
}

static const char *nothing_stated(void *context, const char *key, struct arena *arena)
{
    (void)context, (void)key, (void)arena;
    return NULL;
}

/* Add the settings. A set that is not bound to a checkpoint takes the defaults of its options. */
static bool load_settings(const char *options, struct settings *settings, struct arena *arena,
                          struct rules *rules)
{
    static const struct setting_source nothing = {NULL, nothing_given, nothing_stated};
    struct error err = {.offset = NO_OFFSET};
    bool room = true;
    if (!settings->count && options && strstr(options, "\"settings\"") &&
        settings_resolve((struct bytes){(const uint8_t *)options, strlen(options)}, &nothing, arena,
                         settings, &err) == ERR_MEMORY)
        return false;
    for (unsigned i = 0; room && i < settings->count; i++) {
        const struct setting *one = &settings->at[i];
        room = rules_add_setting(rules, one->key, one->value, one->fault);
    }
    return room;
}

struct rules *rule_load(sqlite3 *db, const char *bound, char **why)
{
    struct rules *rules = NULL;
    enum rules_shape shape;
    struct arena arena = {0};
    struct ruleset set = {.arena = &arena};
    struct settings settings;
    struct error err = {.offset = NO_OFFSET};
    const char *name = setting_unbind(bound, &arena, &settings);
    if (!name) {
        *why = NULL;
    } else if (rules_fetch(db, name, &set, &err) != OK) {
        *why = sqlite3_mprintf("%s", err.message);
    } else if (!ruleset_shape(set.dialect, &shape)) {
        *why =
            sqlite3_mprintf("rule set '%s' is of dialect '%s', whose rules do not match one name "
                            "at a time",
                            name, set.dialect);
    } else if ((rules = ruleset_compile(&set, shape)) == NULL ||
               !load_settings(set.options, &settings, &arena, rules)) {
        *why = sqlite3_mprintf("rule set '%s': no memory", name);
        rules_free(rules);
        rules = NULL;
    }
    arena_release(&arena);
    return rules;
}
