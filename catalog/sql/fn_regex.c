/*
 * fn_regex.c - Python's regular expressions as SQL functions. `how` is 'search' (the default),
 * 'match' or 'fullmatch'.
 *
 *   regexp(pattern, text)                      0 or 1; also written text REGEXP pattern
 *   regexp_match(pattern, text [, how])        0 or 1
 *   regexp_groups(pattern, text [, how])       JSON array of the groups from 1, or NULL
 *   regexp_capture(pattern, text, group [, how])     group by number or name, or NULL
 *   regexp_expand(pattern, text, template [, how])   Python's Match.expand, or NULL
 *   regexp_replace(pattern, text, template)    Python's re.sub
 *   regexp_error(pattern [, template])         what Python raises for them, or NULL
 *
 * NULL arguments give NULL. A bad pattern or template is an error that quotes it, except in
 * regexp_error().
 */
#include <stdlib.h>
#include <string.h>

#include "catalog/sql/extension.h"
#include "catalog/sql/regex_cache.h"

struct call {
    sqlite3_context *ctx;
    sqlite3_value *pattern;
    struct cached_regex *entry;
    struct regex *regex;
    const char *text;
    size_t len;
    struct error err;
};

struct string {
    const char *at;
    size_t len;
};

/* False: out of memory, and the result of ctx is set. */
static bool get_string(sqlite3_context *ctx, sqlite3_value *value, struct string *out)
{
    out->at = (const char *)sqlite3_value_text(value);
    out->len = (size_t)sqlite3_value_bytes(value);
    if (!out->at)
        sqlite3_result_error_nomem(ctx);
    return out->at;
}

/* Report c->err as "pattern 'P': MESSAGE". */
static void regex_fail(struct call *c, const char *what, sqlite3_value *value)
{
    struct text quoted = {0};
    struct string s = {"", 0};
    if (!get_string(c->ctx, value, &s))
        return;
    text_escape(&quoted, s.at, s.len < 200 ? s.len : 200);
    text_adds(&quoted, s.len < 200 ? "" : "...");
    if (c->err.status == ERR_MEMORY || !text_str(&quoted))
        sqlite3_result_error_nomem(c->ctx);
    else
        sql_result_refuse(c->ctx, "%s '%s': %s", what, quoted.at, c->err.message);
    text_release(&quoted);
}

static bool parse_how(sqlite3_context *ctx, sqlite3_value *value, enum regex_how *how)
{
    static const char *const names[] = {
        [REGEX_SEARCH] = "search",
        [REGEX_MATCH] = "match",
        [REGEX_FULLMATCH] = "fullmatch",
    };
    struct string s;
    if (!get_string(ctx, value, &s))
        return false;
    for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++) {
        if (strlen(names[i]) == s.len && memcmp(names[i], s.at, s.len) == 0) {
            *how = (enum regex_how)i;
            return true;
        }
    }
    sqlite3_result_error(ctx, "how to match is 'search', 'match' or 'fullmatch'", -1);
    return false;
}

/* Borrow the compiled pattern argv[0] and set the text to argv[1]; `how` is the optional argument
 * argv[how_at]. False: the result is set (to NULL or an error). */
static bool call_open(struct call *c, sqlite3_context *ctx, int argc, sqlite3_value **argv,
                      int how_at)
{
    *c = (struct call){.ctx = ctx, .pattern = argv[0], .err.offset = NO_OFFSET};
    for (int i = 0; i < argc; i++)
        if (sqlite3_value_type(argv[i]) == SQLITE_NULL)
            return false;
    enum regex_how how = REGEX_SEARCH;
    if (argc > how_at && !parse_how(ctx, argv[how_at], &how))
        return false;
    struct string pattern, text;
    if (!get_string(ctx, argv[0], &pattern) || !get_string(ctx, argv[1], &text))
        return false;
    c->text = text.at;
    c->len = text.len;
    if (regex_cache_borrow(sqlite3_user_data(ctx), pattern.at, pattern.len, how, &c->entry,
                           &c->err) != OK) {
        regex_fail(c, "pattern", argv[0]);
        return false;
    }
    c->regex = cached_regex(c->entry);
    return true;
}

/* 1: it matches; 0: it does not; -1: ctx has the error. */
static int call_exec(struct call *c)
{
    int found = regex_exec(c->regex, c->text, c->len, 0, &c->err);
    if (found < 0)
        regex_fail(c, "pattern", c->pattern);
    return found;
}

static struct text new_text(sqlite3_context *ctx)
{
    int limit = sqlite3_limit(sqlite3_context_db_handle(ctx), SQLITE_LIMIT_LENGTH, -1);
    return (struct text){.limit = (size_t)limit};
}

/* Make `out` the result; it has failed if it grew beyond the limit, or memory ran out. */
static void result_text(struct call *c, struct text *out)
{
    size_t len = out->len;
    char *at = text_steal(out);
    if (at)
        sqlite3_result_text64(c->ctx, at, len, free, SQLITE_UTF8);
    else
        sqlite3_result_error_toobig(c->ctx);
}

static void match_fn(sqlite3_context *ctx, int argc, sqlite3_value **argv)
{
    struct call c;
    if (!call_open(&c, ctx, argc, argv, 2))
        return;
    int found = call_exec(&c);
    if (found >= 0)
        sqlite3_result_int(ctx, found);
    regex_cache_return(c.entry);
}

static void groups_fn(sqlite3_context *ctx, int argc, sqlite3_value **argv)
{
    struct call c;
    if (!call_open(&c, ctx, argc, argv, 2))
        return;
    if (call_exec(&c) == 1) {
        struct text out = new_text(ctx);
        text_addc(&out, '[');
        for (unsigned g = 1; g <= regex_groups(c.regex); g++) {
            size_t begin = 0, end = 0;
            text_adds(&out, g > 1 ? "," : "");
            if (regex_span(c.regex, g, &begin, &end))
                text_json(&out, c.text + begin, end - begin);
            else
                text_adds(&out, "null");
        }
        text_addc(&out, ']');
        result_text(&c, &out);
    }
    regex_cache_return(c.entry);
}

/* The number of the group that `value` names; -1: ctx has the error. */
static int find_group(struct call *c, sqlite3_value *value)
{
    struct string name;
    sqlite3_int64 group = -1;
    if (sqlite3_value_type(value) == SQLITE_INTEGER)
        group = sqlite3_value_int64(value);
    else if (!get_string(c->ctx, value, &name))
        return -1;
    else
        group = regex_group_named(c->regex, name.at, name.len);
    if (group >= 0 && group <= regex_groups(c->regex))
        return (int)group;
    error_set(&c->err, ERR_ARGUMENT, NULL, NO_OFFSET, "the pattern has no such group");
    regex_fail(c, "group", value);
    return -1;
}

/* As in Python, a missing group is noticed only if the pattern matches. */
static void capture_fn(sqlite3_context *ctx, int argc, sqlite3_value **argv)
{
    struct call c;
    if (!call_open(&c, ctx, argc, argv, 3))
        return;
    size_t begin = 0, end = 0;
    int group = call_exec(&c) == 1 ? find_group(&c, argv[2]) : -1;
    if (group >= 0 && regex_span(c.regex, (unsigned)group, &begin, &end))
        sqlite3_result_text64(ctx, c.text + begin, end - begin, SQLITE_TRANSIENT, SQLITE_UTF8);
    regex_cache_return(c.entry);
}

/* NULL: ctx has the error. */
static const struct template *find_template(struct call *c, sqlite3_value *value)
{
    struct string s;
    const struct template *t = NULL;
    if (!get_string(c->ctx, value, &s))
        return NULL;
    if (cached_template(c->entry, s.at, s.len, &t, &c->err) != OK)
        regex_fail(c, "template", value);
    return t;
}

/* As in Python, a bad template is noticed only if the pattern matches. */
static void expand_fn(sqlite3_context *ctx, int argc, sqlite3_value **argv)
{
    struct call c;
    if (!call_open(&c, ctx, argc, argv, 3))
        return;
    const struct template *t = NULL;
    if (call_exec(&c) == 1)
        t = find_template(&c, argv[2]);
    if (t) {
        struct text out = new_text(ctx);
        template_expand(t, c.regex, c.text, &out);
        result_text(&c, &out);
    }
    regex_cache_return(c.entry);
}

static void replace_fn(sqlite3_context *ctx, int argc, sqlite3_value **argv)
{
    struct call c;
    if (!call_open(&c, ctx, argc, argv, 3))
        return;
    const struct template *t = find_template(&c, argv[2]);
    if (t) {
        struct text out = new_text(ctx);
        if (regex_replace(c.regex, t, c.text, c.len, &out, &c.err) >= 0)
            result_text(&c, &out);
        else
            regex_fail(&c, "pattern", c.pattern);
        text_release(&out);
    }
    regex_cache_return(c.entry);
}

static void error_fn(sqlite3_context *ctx, int argc, sqlite3_value **argv)
{
    struct call c = {.ctx = ctx, .err.offset = NO_OFFSET};
    struct string pattern, template;
    const struct template *t;
    bool templated = argc > 1 && sqlite3_value_type(argv[1]) != SQLITE_NULL;
    if (sqlite3_value_type(argv[0]) == SQLITE_NULL || !get_string(ctx, argv[0], &pattern) ||
        (templated && !get_string(ctx, argv[1], &template)))
        return;
    if (regex_cache_borrow(sqlite3_user_data(ctx), pattern.at, pattern.len, REGEX_SEARCH, &c.entry,
                           &c.err) == OK) {
        if (templated)
            cached_template(c.entry, template.at, template.len, &t, &c.err);
        regex_cache_return(c.entry);
    }
    if (c.err.status == ERR_MEMORY) {
        sqlite3_result_error_nomem(ctx);
    } else if (c.err.status != OK) {
        struct text out = new_text(ctx);
        text_addf(&out, "%s: %s", error_word(&c.err), c.err.message);
        result_text(&c, &out);
    }
}

int sql_register_regex(sqlite3 *db)
{
    static const struct sql_function functions[] = {
        {"regexp", 2, match_fn},
        {"regexp_match", 2, match_fn},
        {"regexp_match", 3, match_fn},
        {"regexp_groups", 2, groups_fn},
        {"regexp_groups", 3, groups_fn},
        {"regexp_capture", 3, capture_fn},
        {"regexp_capture", 4, capture_fn},
        {"regexp_expand", 3, expand_fn},
        {"regexp_expand", 4, expand_fn},
        {"regexp_replace", 3, replace_fn},
        {"regexp_error", 1, error_fn},
        {"regexp_error", 2, error_fn},
        {NULL, 0, NULL},
    };
    struct regex_cache *cache = regex_cache_new();
    return cache ? sql_register(db, functions, SQL_FLAGS_PURE, &cache->shared) : SQLITE_NOMEM;
}
