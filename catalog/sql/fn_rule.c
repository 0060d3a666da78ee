/*
 * fn_rule.c - rule sets as SQL functions, and repr() for error texts.
 *
 *   rule_first(ruleset, name)    ord of the first rule that meets the name; NULL: none. Also called
 *                                rule_match()
 *   rule_status(ruleset, name)   'ok', 'dropped', 'unmatched', 'error'
 *   rule_replace(ruleset, name)  the new name; NULL unless the status is 'ok'
 *   rule_error(ruleset, name)    "Type: text"; NULL unless the status is 'error'
 *   rule_cast(ruleset, name)     the dtype to which the rule casts; NULL: none
 *   rule_ops(ruleset, name)      its operations, numbers filled in; NULL: none besides casts
 *   with a third argument, ord   the same for that rule alone
 *   rule_part(ruleset, name, part)  the new name of a part of the tensor, by its label
 *   python_repr(text)            as Python prints a str
 *
 * All functions of a connection share its rule sets (rule_cache.h), and a set remembers its last
 * answer: five functions of one name match it once. Whether the set has changed is checked once
 * per statement, because the auxiliary data of a constant argument lives that long.
 */
#include <string.h>

#include "catalog/base/text.h"
#include "catalog/maps/map/dialect.h"
#include "catalog/maps/regex/pytext.h"
#include "catalog/sql/extension.h"
#include "catalog/sql/rule_cache.h"

/* The rules for (ruleset, name, ...), and the name. NULL: an argument is NULL, or the result is
 * an error. */
static struct rules *rules_of(sqlite3_context *context, sqlite3_value **argv, const char **name,
                              size_t *len)
{
    struct rule_set *set = sqlite3_get_auxdata(context, 0);
    if (sqlite3_value_type(argv[1]) == SQLITE_NULL)
        return NULL;
    if (!set) {
        const char *ruleset = (const char *)sqlite3_value_text(argv[0]);
        char *why = NULL;
        if (!ruleset)
            return NULL;
        set = rule_cache_find(sqlite3_user_data(context), sqlite3_context_db_handle(context),
                              ruleset, &why);
        if (!set)
            sqlite3_result_error(context, why ? why : "no memory", -1);
        sqlite3_free(why);
        if (!set)
            return NULL;
        sqlite3_set_auxdata(context, 0, set, rule_set_drop);
        /* If the argument is not constant, SQLite has dropped the set already; the cache still
         * holds it. */
    }
    *name = (const char *)sqlite3_value_text(argv[1]);
    *len = (size_t)sqlite3_value_bytes(argv[1]);
    *name = *name ? *name : "";
    return rule_set_rules(set);
}

/* If memory ran out there is no answer: make the statement fail. */
static const struct rule_result *told(sqlite3_context *context, const struct rule_result *r)
{
    if (!r->no_memory)
        return r;
    sqlite3_result_error_nomem(context);
    return NULL;
}

/* The answer for (ruleset, name[, ord]); NULL: see rules_of(). */
static const struct rule_result *answer(sqlite3_context *context, int argc, sqlite3_value **argv)
{
    const char *name;
    size_t len;
    struct rules *rules = rules_of(context, argv, &name, &len);
    if (!rules)
        return NULL;
    return told(context, argc > 2 ? rules_apply_one(rules, sqlite3_value_int64(argv[2]), name, len)
                                  : rules_apply(rules, name, len));
}

/* `text` is NUL-terminated. If it contains no other NUL, passing -1 tells SQLite so, which then
 * need not copy it again to append one. */
static void result_text(sqlite3_context *context, const char *text, size_t len)
{
    if (strlen(text) == len)
        sqlite3_result_text(context, text, -1, SQLITE_TRANSIENT);
    else
        sqlite3_result_text64(context, text, len, SQLITE_TRANSIENT, SQLITE_UTF8);
}

static void rule_first(sqlite3_context *context, int argc, sqlite3_value **argv)
{
    const struct rule_result *r = answer(context, argc, argv);
    if (r && r->outcome != RULE_UNMATCHED)
        sqlite3_result_int64(context, r->ord);
}

static void rule_status(sqlite3_context *context, int argc, sqlite3_value **argv)
{
    const struct rule_result *r = answer(context, argc, argv);
    if (r)
        sqlite3_result_text(context, map_status(r->outcome), -1, SQLITE_STATIC);
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
    const struct rule_result *r =
        rules ? told(context, rules_apply_part(rules, part, name, len)) : NULL;
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

int sql_register_rule(sqlite3 *db)
{
    static const struct sql_function pure[] = {
        {"python_repr", 1, python_repr},
        {NULL, 0, NULL},
    };
    static const struct {
        const char *name;
        void (*run)(sqlite3_context *, int, sqlite3_value **);
    } functions[] = {
        {"rule_first", rule_first},     {"rule_match", rule_first}, {"rule_status", rule_status},
        {"rule_replace", rule_replace}, {"rule_error", rule_error}, {"rule_cast", rule_cast},
        {"rule_ops", rule_ops},
    };
    struct rule_cache *cache = rule_cache_new();
    if (!cache)
        return SQLITE_NOMEM;
    int rc = SQLITE_OK;
    /* Not deterministic: the answers depend on rows. SQLite calls the destructor even if
     * registering fails. */
    for (size_t i = 0; rc == SQLITE_OK && i < 2 * sizeof(functions) / sizeof(functions[0]); i++)
        rc = sqlite3_create_function_v2(db, functions[i / 2].name, 2 + (int)(i % 2),
                                        SQLITE_UTF8 | SQLITE_INNOCUOUS, rule_cache_hold(cache),
                                        functions[i / 2].run, NULL, NULL, rule_cache_drop);
    if (rc == SQLITE_OK)
        rc = sqlite3_create_function_v2(db, "rule_part", 3, SQLITE_UTF8 | SQLITE_INNOCUOUS,
                                        rule_cache_hold(cache), rule_part, NULL, NULL,
                                        rule_cache_drop);
    rule_cache_drop(cache);
    return rc == SQLITE_OK ? sql_register_pure(db, pure) : rc;
}
