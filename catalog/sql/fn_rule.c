/*
 * fn_rule.c - rule sets as SQL functions, and repr() for the error texts beside them.
 *
 *   rule_match(ruleset, name)    ord of the rule that decides; NULL: none
 *   rule_status(ruleset, name)   'ok', 'dropped', 'unmatched', 'error'
 *   rule_replace(ruleset, name)  the new name; NULL unless the status is 'ok'
 *   rule_error(ruleset, name)    "Type: text"; NULL unless the status is 'error'
 *   rule_cast(ruleset, name)     the dtype that the rule casts to; NULL: none
 *   rule_ops(ruleset, name)      its operations, numbers filled in; NULL: none but casts
 *   each with a third argument   what the rule of this ord alone makes of the name
 *   rule_part(ruleset, name, part)  the new name of a part of the tensor, by its label
 *   python_repr(text)            as Python prints a str
 *   python_int(text)             str(int(text)); NULL where int() raises
 *   python_shape(shape)          a shape, "[2,3]", as Python prints a tuple
 *
 * All of a connection share its rule sets, and a set remembers its last answer: asking five
 * questions of one name matches it once. A set is compiled from the rows of `ruleset` and
 * `rule` and is looked at again at the start of every statement (auxiliary data of a
 * constant argument lives that long). In a read transaction all rows are committed ones, and
 * the file's data version tells whether they have changed; else they are read again.
 */
#include <stdbool.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "catalog/base/text.h"
#include "catalog/regex/pytext.h"
#include "catalog/sql/extension.h"
#include "catalog/sql/rule_load.h"

#define SETS_KEPT 16

/* A rule set as it stood. Held by the cache and by the statements that use it. */
struct set {
    struct set *next;
    unsigned holders;
    char *name;
    char *rows; /* what it was compiled from */
    size_t rows_len;
    bool committed; /* `version` tells whether the rows are still these */
    unsigned version;
    struct rules *rules;
};

struct cache {
    unsigned functions; /* that share it */
    bool utf8;          /* the encoding of the database */
    struct set *first;  /* latest used first */
};

static void set_drop(void *held)
{
    struct set *set = held;
    if (!set || --set->holders > 0)
        return;
    rules_free(set->rules);
    free(set->name);
    free(set->rows);
    free(set);
}

static void cache_drop(void *shared)
{
    struct cache *cache = shared;
    if (--cache->functions > 0)
        return;
    while (cache->first) {
        struct set *set = cache->first;
        cache->first = set->next;
        set_drop(set);
    }
    free(cache);
}

/* --- the cache --------------------------------------------------------------------------- */

static bool is_utf8(sqlite3 *db)
{
    sqlite3_stmt *s = NULL;
    bool utf8 =
        sqlite3_prepare_v2(db, "PRAGMA main.encoding", -1, &s, NULL) == SQLITE_OK &&
        sqlite3_step(s) == SQLITE_ROW &&
        strcmp((const char *)sqlite3_column_text(s, 0), "UTF-8") == 0;
    sqlite3_finalize(s);
    return utf8;
}

/* NULL, with the reason as the function's error. */
static struct set *set_new(sqlite3_context *context, const char *name, struct text *rows)
{
    struct cache *cache = sqlite3_user_data(context);
    sqlite3 *db = sqlite3_context_db_handle(context);
    struct set *set = calloc(1, sizeof(*set));
    char *why = NULL;
    if (!set)
        goto fail;
    set->holders = 1;
    set->rows_len = rows->len;
    set->rows = text_steal(rows);
    set->name = strdup(name);
    if (!set->rows || !set->name)
        goto fail;
    cache->utf8 = is_utf8(db);
    set->rules = rule_load(db, name, &why);
    if (set->rules)
        return set;
fail:
    sqlite3_result_error(context, why ? why : "no memory", -1);
    sqlite3_free(why);
    set_drop(set);
    return NULL;
}

/* Put at the front, and let the oldest go. */
static void cache_put(struct cache *cache, struct set *set)
{
    set->next = cache->first;
    cache->first = set;
    struct set **at = &set->next;
    for (int kept = 1; *at && kept < SETS_KEPT; kept++)
        at = &(*at)->next;
    if (*at) {
        struct set *oldest = *at;
        *at = NULL;
        set_drop(oldest);
    }
}

static struct set *cache_take(struct cache *cache, const char *name)
{
    for (struct set **at = &cache->first; *at; at = &(*at)->next)
        if (strcmp((*at)->name, name) == 0) {
            struct set *set = *at;
            *at = set->next;
            return set;
        }
    return NULL;
}

/* The set as it stands now, owned by the cache; NULL after an error. */
static struct set *cache_find(sqlite3_context *context, const char *name)
{
    struct cache *cache = sqlite3_user_data(context);
    sqlite3 *db = sqlite3_context_db_handle(context);
    unsigned version = 0;
    bool committed = sqlite3_txn_state(db, "main") == SQLITE_TXN_READ &&
                     sqlite3_file_control(db, "main", SQLITE_FCNTL_DATA_VERSION,
                                          &version) == SQLITE_OK;
    struct set *set = cache_take(cache, name);
    struct text rows = {0};
    if (set && committed && set->committed && set->version == version)
        goto found;
    if (!rule_load_rows(db, name, &rows)) {
        sqlite3_result_error(context, sqlite3_errmsg(db), -1);
        set_drop(set);
        set = NULL;
        goto done;
    }
    if (!set || set->rows_len != rows.len ||
        memcmp(set->rows, text_str(&rows), rows.len) != 0) {
        set_drop(set);
        set = set_new(context, name, &rows);
    }
    if (!set)
        goto done;
    set->committed = committed;
    set->version = version;

found:
    cache_put(cache, set);
done:
    text_release(&rows);
    return set;
}

/* --- the functions ----------------------------------------------------------------------- */

/* The rules for (ruleset, name, ...), and the name. NULL: one of them is NULL, or an error was
 * told. */
static struct rules *rules_of(sqlite3_context *context, sqlite3_value **argv,
                              const char **name, size_t *len)
{
    struct set *set = sqlite3_get_auxdata(context, 0);
    if (sqlite3_value_type(argv[1]) == SQLITE_NULL)
        return NULL;
    if (!set) {
        const char *ruleset = (const char *)sqlite3_value_text(argv[0]);
        set = ruleset ? cache_find(context, ruleset) : NULL;
        if (!set)
            return NULL;
        set->holders++;
        sqlite3_set_auxdata(context, 0, set, set_drop);
        /* Where the argument is no constant it was dropped at once; the cache holds on. */
    }
    /* As text it would be copied to put a NUL behind it, which nobody needs. */
    const struct cache *cache = sqlite3_user_data(context);
    *name = cache->utf8 && sqlite3_value_type(argv[1]) == SQLITE_TEXT
                ? sqlite3_value_blob(argv[1])
                : (const char *)sqlite3_value_text(argv[1]);
    *len = (size_t)sqlite3_value_bytes(argv[1]);
    *name = *name ? *name : "";
    return set->rules;
}

/* The answer for (ruleset, name[, ord]); NULL: see rules_of(). */
static const struct rule_result *answer(sqlite3_context *context, int argc,
                                        sqlite3_value **argv)
{
    const char *name;
    size_t len;
    struct rules *rules = rules_of(context, argv, &name, &len);
    if (!rules)
        return NULL;
    return argc > 2 ? rules_apply_one(rules, sqlite3_value_int64(argv[2]), name, len)
                    : rules_apply(rules, name, len);
}

/* A NUL is behind `text`. Unless another is inside, SQLite is told so, and need not copy it
 * again to put one there. */
static void result_text(sqlite3_context *context, const char *text, size_t len)
{
    if (strlen(text) == len)
        sqlite3_result_text(context, text, -1, SQLITE_TRANSIENT);
    else
        sqlite3_result_text64(context, text, len, SQLITE_TRANSIENT, SQLITE_UTF8);
}

static void rule_match(sqlite3_context *context, int argc, sqlite3_value **argv)
{
    const struct rule_result *r = answer(context, argc, argv);
    if (r && r->outcome != RULE_UNMATCHED)
        sqlite3_result_int64(context, r->ord);
}

static void rule_status(sqlite3_context *context, int argc, sqlite3_value **argv)
{
    static const char *const word[] = {
        [RULE_UNMATCHED] = "unmatched",
        [RULE_OK] = "ok",
        [RULE_DROPPED] = "dropped",
        [RULE_ERROR] = "error",
    };
    const struct rule_result *r = answer(context, argc, argv);
    if (r)
        sqlite3_result_text(context, word[r->outcome], -1, SQLITE_STATIC);
}

static void rule_replace(sqlite3_context *context, int argc, sqlite3_value **argv)
{
    const struct rule_result *r = answer(context, argc, argv);
    if (r && r->outcome == RULE_OK)
        result_text(context, r->text, r->len);
}

static void rule_error(sqlite3_context *context, int argc, sqlite3_value **argv)
{
    const struct rule_result *r = answer(context, argc, argv);
    if (r && r->outcome == RULE_ERROR)
        result_text(context, r->text, r->len);
}

static void rule_cast(sqlite3_context *context, int argc, sqlite3_value **argv)
{
    const struct rule_result *r = answer(context, argc, argv);
    if (r && r->cast)
        result_text(context, r->cast, strlen(r->cast));
}

static void rule_ops(sqlite3_context *context, int argc, sqlite3_value **argv)
{
    const struct rule_result *r = answer(context, argc, argv);
    if (r && r->ops)
        result_text(context, r->ops, strlen(r->ops));
}

static void rule_part(sqlite3_context *context, int argc, sqlite3_value **argv)
{
    (void)argc;
    const char *name, *part = (const char *)sqlite3_value_text(argv[2]);
    size_t len;
    struct rules *rules = part ? rules_of(context, argv, &name, &len) : NULL;
    const struct rule_result *r = rules ? rules_apply_part(rules, part, name, len) : NULL;
    if (r && r->outcome == RULE_OK)
        result_text(context, r->text, r->len);
}

static void python_repr(sqlite3_context *context, int argc, sqlite3_value **argv)
{
    (void)argc;
    const char *text = (const char *)sqlite3_value_text(argv[0]);
    size_t len = (size_t)sqlite3_value_bytes(argv[0]);
    struct text repr = {0};
    if (!text)
        return;
    if (!utf8_valid(text, len))
        sqlite3_result_error(context, "python_repr: text is not UTF-8", -1);
    else if (!pytext_repr(&repr, text, len))
        sqlite3_result_error_nomem(context);
    else
        result_text(context, repr.at, repr.len);
    text_release(&repr);
}

static void python_int(sqlite3_context *context, int argc, sqlite3_value **argv)
{
    (void)argc;
    const char *text = (const char *)sqlite3_value_text(argv[0]);
    size_t len = (size_t)sqlite3_value_bytes(argv[0]);
    struct text number = {0};
    if (!text || !utf8_valid(text, len))
        return;
    if (pytext_int(text, len, &number))
        result_text(context, number.at, number.len);
    else if (number.failed)
        sqlite3_result_error_nomem(context);
    text_release(&number);
}

static void python_shape(sqlite3_context *context, int argc, sqlite3_value **argv)
{
    (void)argc;
    const char *text = (const char *)sqlite3_value_text(argv[0]);
    struct text tuple = {0};
    unsigned commas = 0;
    if (!text || *text != '[')
        return;
    text_addc(&tuple, '(');
    for (const char *c = text + 1; *c && *c != ']'; c++) {
        text_addc(&tuple, *c);
        if (*c == ',' && ++commas)
            text_addc(&tuple, ' ');
    }
    text_adds(&tuple, tuple.len > 1 && !commas ? ",)" : ")");
    if (text_str(&tuple))
        result_text(context, tuple.at, tuple.len);
    else
        sqlite3_result_error_nomem(context);
    text_release(&tuple);
}

struct function {
    const char *name;
    void (*run)(sqlite3_context *, int, sqlite3_value **);
};

static int register_pure(sqlite3 *db)
{
    static const struct function functions[] = {
        {"python_repr", python_repr},
        {"python_int", python_int},
        {"python_shape", python_shape},
    };
    int rc = SQLITE_OK;
    for (size_t i = 0; rc == SQLITE_OK && i < sizeof(functions) / sizeof(functions[0]);
         i++)
        rc = sqlite3_create_function_v2(db, functions[i].name, 1, SQL_FLAGS_PURE, NULL,
                                        functions[i].run, NULL, NULL, NULL);
    return rc;
}

int sql_register_rule(sqlite3 *db)
{
    static const struct function functions[] = {
        {"rule_match", rule_match},     {"rule_status", rule_status},
        {"rule_replace", rule_replace}, {"rule_error", rule_error},
        {"rule_cast", rule_cast},       {"rule_ops", rule_ops},
    };
    struct cache *cache = calloc(1, sizeof(*cache));
    if (!cache)
        return SQLITE_NOMEM;
    cache->functions = 1;
    int rc = SQLITE_OK;
    /* Not deterministic: what they answer depends on rows. */
    for (size_t i = 0;
         rc == SQLITE_OK && i < 2 * sizeof(functions) / sizeof(functions[0]); i++) {
        cache->functions++; /* dropped by SQLite, also when this call fails */
        rc = sqlite3_create_function_v2(db, functions[i / 2].name, 2 + (int)(i % 2),
                                        SQLITE_UTF8 | SQLITE_INNOCUOUS, cache,
                                        functions[i / 2].run, NULL, NULL, cache_drop);
    }
    if (rc == SQLITE_OK) {
        cache->functions++;
        rc =
            sqlite3_create_function_v2(db, "rule_part", 3, SQLITE_UTF8 | SQLITE_INNOCUOUS,
                                       cache, rule_part, NULL, NULL, cache_drop);
    }
    cache_drop(cache);
    return rc == SQLITE_OK ? register_pure(db) : rc;
}
