#include "catalog/sql/rule_load.h"

#include <stdlib.h>
#include <string.h>

#include "catalog/compose/operation.h"
#include "catalog/map/setting.h"
#include "catalog/model/dtype.h"

static sqlite3_stmt *query(sqlite3 *db, const char *sql, const char *argument)
{
    sqlite3_stmt *s = NULL;
    if (sqlite3_prepare_v2(db, sql, -1, &s, NULL) == SQLITE_OK)
        sqlite3_bind_text(s, 1, argument, -1, SQLITE_STATIC);
    return s;
}

/* Finalize; false unless the statement ran to its end. */
static bool finished(sqlite3_stmt *s, int rc)
{
    return sqlite3_finalize(s) == SQLITE_OK && rc == SQLITE_DONE;
}

static const char *column(sqlite3_stmt *s, int i)
{
    return (const char *)sqlite3_column_text(s, i);
}

bool rule_load_rows(sqlite3 *db, const char *bound, struct text *out)
{
    struct arena arena = {0};
    struct settings settings;
    const char *name = setting_unbind(bound, &arena, &settings);
    static const char sql[] =
        "SELECT dialect, options, NULL, NULL, NULL FROM main.ruleset WHERE name = ?1"
        " UNION ALL "
        "SELECT * FROM (SELECT ord, pattern, replacement, compute, ops FROM main.rule"
        " WHERE ruleset = ?1 ORDER BY ord)";
    sqlite3_stmt *s = query(db, sql, name);
    int rc = SQLITE_ERROR;
    while (name && s && (rc = sqlite3_step(s)) == SQLITE_ROW)
        for (int i = 0; i < 5; i++) {
            const char *text = column(s, i);
            int len = sqlite3_column_bytes(s, i);
            text_addf(out, "%d:", text ? len : -1);
            text_add(out, text ? text : "", (size_t)len);
        }
    bool whole = finished(s, rc) && !out->failed;
    arena_release(&arena);
    return whole;
}

static bool load_tables(sqlite3 *db, const char *options, struct rules *rules)
{
    static const char sql[] =
        "SELECT tab, entry, iif(list, e.value, v), list FROM ("
        " SELECT t.key AS tab, k.key AS entry, k.value AS v, k.type = 'array' AS list,"
        "        k.id = max(k.id) OVER (PARTITION BY t.key, k.key) AS last"
        " FROM json_each(?1, '$.tables') t,"
        "      json_each(iif(t.type = 'object', t.value, '{}')) k)"
        " LEFT JOIN json_each(iif(list, v, '[]')) e WHERE last ORDER BY tab, entry, "
        "e.key";
    sqlite3_stmt *s = query(db, sql, options);
    int rc = SQLITE_ERROR;
    bool room = true;
    while (s && room && (rc = sqlite3_step(s)) == SQLITE_ROW)
        room = rules_add_value(rules, column(s, 0), column(s, 1), column(s, 2),
                               sqlite3_column_int(s, 3));
    return finished(s, rc) && room;
}

#define WORDS_MAX 8

static bool load_steps(sqlite3 *db, const char *compute, struct rules *rules)
{
    static const char sql[] =
        "WITH step(k, words) AS (SELECT key,"
        "  iif(type = 'array' AND value <> '[]', value, '[\"\"]') FROM json_each(?1))"
        "SELECT w.value, w.key + 1 = json_array_length(words)"
        " FROM step, json_each(words) w ORDER BY k, w.key";
    sqlite3_stmt *s = query(db, sql, compute);
    int rc = SQLITE_ERROR;
    bool room = true;
    char *word[WORDS_MAX];
    unsigned count = 0;
    while (s && room && (rc = sqlite3_step(s)) == SQLITE_ROW) {
        if (count < WORDS_MAX)
            room = (word[count++] = strdup(column(s, 0) ? column(s, 0) : "")) != NULL;
        if (!sqlite3_column_int(s, 1))
            continue;
        room = room && rules_add_step(rules, (const char *const *)word, count);
        while (count)
            free(word[--count]);
    }
    while (count)
        free(word[--count]);
    return finished(s, rc) && room;
}

/* What a rule's `ops` come to. */
struct ops {
    struct text cast;  /* the dtype of the last cast; empty: none */
    struct text fault; /* what is wrong; empty: nothing */
    bool moves;        /* there is more than casts */
};

static bool read_ops(const char *text, struct ops *out)
{
    struct operations all = {.at = text};
    struct operation o;
    struct error err = {.offset = NO_OFFSET};
    struct dtype found;
    int more;
    while ((more = operations_next(&all, &o, &err)) > 0) {
        if (o.kind != OPERATION_CAST) {
            out->moves = true;
            continue;
        }
        text_reset(&out->cast);
        text_add(&out->cast, o.argument[0].at, o.argument[0].len);
        dtype_find(out->cast.at ? out->cast.at : "", &found);
        if (out->fault.len == 0 && found.kind == DTYPE_UNKNOWN)
            text_addf(&out->fault, "ValueError: unknown dtype '%s'", found.name);
    }
    if (more < 0 && out->fault.len == 0)
        text_addf(&out->fault, "ValueError: %s", err.message);
    return !out->cast.failed && !out->fault.failed;
}

/* A string of the JSON text [at, at + len) as a template of a number. */
static bool add_template(sqlite3 *db, const char *at, size_t len, struct rules *rules)
{
    struct text json = {0};
    text_add(&json, at, len);
    sqlite3_stmt *s = text_str(&json) ? query(db, "SELECT ?1 ->> '$'", json.at) : NULL;
    bool ok = s && sqlite3_step(s) == SQLITE_ROW && column(s, 0) &&
              rules_add_ops(rules, column(s, 0), true);
    sqlite3_finalize(s);
    text_release(&json);
    return ok;
}

/* The text of the operations, which read_ops() found good: what stands between templates, and
 * those: every string with a backslash. */
static bool load_ops(sqlite3 *db, const char *ops, struct rules *rules)
{
    struct text plain = {0};
    bool ok = true;
    while (ok && *ops) {
        size_t len = strcspn(ops, "\"");
        text_add(&plain, ops, len);
        ops += len;
        if (!*ops)
            break;
        len = (size_t)(operation_string_end(ops) - ops);
        if (memchr(ops, '\\', len)) {
            ok = text_str(&plain) && rules_add_ops(rules, text_str(&plain), false) &&
                 add_template(db, ops, len, rules);
            text_reset(&plain);
        } else {
            text_add(&plain, ops, len);
        }
        ops += len;
    }
    ok = ok && text_str(&plain) && rules_add_ops(rules, text_str(&plain), false);
    text_release(&plain);
    return ok;
}

static bool has_nul(sqlite3_stmt *s, int i)
{
    const char *text = column(s, i);
    return text && strlen(text) != (size_t)sqlite3_column_bytes(s, i);
}

static bool load_rule(sqlite3 *db, sqlite3_stmt *s, struct rules *rules)
{
    struct ops found = {0};
    const char *compute = column(s, 3), *ops = column(s, 4);
    bool ok = !ops || read_ops(ops, &found);
    if (has_nul(s, 1) || has_nul(s, 2))
        text_adds(&found.fault, "ValueError: a NUL character in a rule");
    ok = ok && rules_add(rules, sqlite3_column_int64(s, 0), column(s, 1), column(s, 2),
                         found.cast.len ? found.cast.at : NULL,
                         found.fault.len ? found.fault.at : NULL);
    ok = ok && (!compute || load_steps(db, compute, rules));
    ok = ok && (!found.moves || found.fault.len || load_ops(db, ops, rules));
    text_release(&found.cast);
    text_release(&found.fault);
    return ok;
}

static bool load_rules(sqlite3 *db, const char *name, struct rules *rules)
{
    sqlite3_stmt *s =
        query(db,
              "SELECT ord, pattern, replacement, compute, ops FROM main.rule"
              " WHERE ruleset = ?1 ORDER BY ord",
              name);
    int rc = SQLITE_ERROR;
    bool ok = true;
    while (s && ok && (rc = sqlite3_step(s)) == SQLITE_ROW)
        ok = load_rule(db, s, rules);
    return finished(s, rc) && ok;
}

static bool shape_of(const char *dialect, enum rules_shape *shape)
{
    static const struct {
        const char *dialect;
        enum rules_shape shape;
    } known[] = {
        {"t5x-translator", RULES_TRANSLATOR},
        {"t5x-assignment", RULES_FULLMATCH},
        {"orbax", RULES_FULLMATCH},
        {"convert", RULES_FULLMATCH},
    };
    for (size_t i = 0; i < sizeof(known) / sizeof(known[0]); i++)
        if (strcmp(dialect, known[i].dialect) == 0) {
            *shape = known[i].shape;
            return true;
        }
    return false;
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

/* A set that is not bound to a checkpoint has what its options say for want of better. */
static bool load_settings(const char *options, struct settings *settings,
                          struct arena *arena, struct rules *rules)
{
    static const struct setting_source nothing = {NULL, nothing_given, nothing_stated};
    struct error err = {.offset = NO_OFFSET};
    bool room = true;
    if (!settings->count && options && strstr(options, "\"settings\"") &&
        settings_resolve((struct bytes){(const uint8_t *)options, strlen(options)},
                         &nothing, arena, settings, &err) == ERR_MEMORY)
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
    struct settings settings;
    const char *name = setting_unbind(bound, &arena, &settings);
    sqlite3_stmt *s =
        query(db, "SELECT dialect, options FROM main.ruleset WHERE name = ?1", name);
    int rc = s && name ? sqlite3_step(s) : SQLITE_ERROR;
    const char *dialect = rc == SQLITE_ROW && column(s, 0) ? column(s, 0) : "";
    if (rc == SQLITE_DONE) {
        *why = sqlite3_mprintf("no rule set is called '%s'", name);
    } else if (rc != SQLITE_ROW) {
        *why = sqlite3_mprintf("%s", sqlite3_errmsg(db));
    } else if (!shape_of(dialect, &shape)) {
        *why =
            sqlite3_mprintf("rule set '%s' is of dialect '%s', whose rules do not match "
                            "one name at a time",
                            name, dialect);
    } else if ((rules = rules_new(shape)) == NULL ||
               !load_tables(db, column(s, 1), rules) || !load_rules(db, name, rules) ||
               !load_settings(column(s, 1), &settings, &arena, rules)) {
        int code = sqlite3_errcode(db);
        bool told = code != SQLITE_OK && code < SQLITE_ROW;
        *why = sqlite3_mprintf("rule set '%s': %s", name,
                               told ? sqlite3_errmsg(db) : "no memory");
        rules_free(rules);
        rules = NULL;
    }
    sqlite3_finalize(s);
    arena_release(&arena);
    return rules;
}
