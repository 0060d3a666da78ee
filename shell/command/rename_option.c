#include "shell/command/rename_option.h"

#include <ctype.h>
#include <string.h>

#include "catalog/base/text.h"

/* Where REGEX ends: at the first '=' that no backslash escapes. */
static const char *end_of_regex(const char *at)
{
    for (; *at && *at != '='; at++)
        if (*at == '\\' && at[1])
            at++;
    return at;
}

/* A literal prefix as a regex, and as a template. */
static void put_prefix(const char *text, size_t old_len, struct text *regex, struct text *template)
{
    text_adds(regex, "\\A");
    for (size_t i = 0; i < old_len; i++)
        text_addf(regex, "%s%c", ispunct((unsigned char)text[i]) ? "\\" : "", text[i]);
    for (const char *c = text + old_len + 1; *c; c++)
        text_addf(template, "%s%c", *c == '\\' ? "\\" : "", *c);
}

static void put_rename(const char *text, const char *equals, struct text *regex,
                       struct text *template)
{
    for (const char *c = text; c < equals; c++) {
        if (*c == '\\' && c[1] == '=')
            c++;
        else if (*c == '\\' && c + 1 < equals)
            text_addc(regex, *c++);
        text_addc(regex, *c);
    }
    text_adds(template, equals + 1);
}

/* Whether Python takes them; else say why not. */
static bool are_good(struct session *s, const struct arg_pair *given, struct text *regex,
                     struct text *template)
{
    if (!text_str(regex) || !text_str(template)) {
        complain("no memory");
        return false;
    }
    sqlite3_stmt *stmt = session_prepare(s, "SELECT regexp_error(?1, ?2)", "ss", text_str(regex),
                                         text_str(template));
    const bool row = session_row(s, stmt);
    const char *why = row ? (const char *)sqlite3_column_text(stmt, 0) : NULL;
    if (why)
        complain("%s %s: %s", given->option, given->text, why);
    sqlite3_finalize(stmt);
    return row && !why;
}

static bool take_one(struct session *s, const struct arg_pair *given, struct text *json)
{
    struct text regex = {0}, template = {0};
    const char *equals = end_of_regex(given->text);
    const bool prefix = strcmp(given->option, "--prefix") == 0;
    if (prefix)
        equals = strchr(given->text, '=');
    if (!equals || !*equals || (!prefix && equals == given->text)) {
        complain("%s %s: %s is wanted", given->option, given->text,
                 prefix ? "OLD=NEW" : "REGEX=NEW");
        return false;
    }
    if (!utf8_valid(given->text, strlen(given->text))) {
        complain("%s %s: not UTF-8", given->option, given->text);
        return false;
    }
    if (prefix)
        put_prefix(given->text, (size_t)(equals - given->text), &regex, &template);
    else
        put_rename(given->text, equals, &regex, &template);
    const bool good = are_good(s, given, &regex, &template);
    if (good) {
        text_adds(json, json->len ? ",[" : "[[");
        text_json(json, text_str(&regex), regex.len);
        text_addc(json, ',');
        text_json(json, text_str(&template), template.len);
        text_addc(json, ']');
    }
    text_release(&regex);
    text_release(&template);
    return good;
}

bool renames_take(struct session *s, const struct args *args, struct text *json)
{
    bool good = true;
    for (int i = 0; i < args->pairs && good; i++)
        if (strcmp(args->pair[i].option, "--rename") == 0 ||
            strcmp(args->pair[i].option, "--prefix") == 0)
            good = take_one(s, &args->pair[i], json);
    text_adds(json, json->len ? "]" : "");
    if (good && !text_str(json))
        complain("no memory");
    return good && text_str(json);
}

/* Every name once, before the first rename and after each. */
void renames_say_idle(struct session *s, sqlite3_int64 checkpoint, const char *map,
                      const char *renames)
{
    static const char sql[] =
        "WITH made AS MATERIALIZED (SELECT tensor_id, new_name, renamed_only FROM mapped(?1, ?2))"
        " SELECT format('map %s', ?2) FROM checkpoint WHERE id = ?1 AND ?2 IS NOT NULL"
        "  AND tensors = (SELECT count(*) FILTER (WHERE new_name = tensor_name(tensor_id)"
        "   AND renamed_only) FROM made)"
        " UNION ALL SELECT format('rename ''%s''', r.value ->> 0) FROM json_each(?3) r"
        "  WHERE NOT EXISTS (SELECT 1 FROM made"
        "   WHERE renamed(?3, new_name, r.key) <> renamed(?3, new_name, r.key + 1))";
    sqlite3_stmt *stmt = session_prepare(s, sql, "iss", (int64_t)checkpoint, map, renames);
    while (session_row(s, stmt))
        complain("%s: it changes no name", sqlite3_column_text(stmt, 0));
    sqlite3_finalize(stmt);
}

bool renames_apart(struct session *s, sqlite3_int64 checkpoint, const char *map,
                   const char *renames)
{
    static const char sql[] =
        "SELECT new_name, count(*), min(tensor_name(tensor_id)), max(tensor_name(tensor_id))"
        " FROM mapped(?1, ?2, ?3) WHERE new_name IS NOT NULL GROUP BY new_name HAVING count(*) > 1"
        " LIMIT 10";
    sqlite3_stmt *stmt = session_prepare(s, sql, "iss", (int64_t)checkpoint, map, renames);
    bool apart = true;
    for (; session_row(s, stmt); apart = false)
        complain("the new name of %lld tensors is %s: %s, %s%s",
                 (long long)sqlite3_column_int64(stmt, 1), sqlite3_column_text(stmt, 0),
                 sqlite3_column_text(stmt, 2), sqlite3_column_text(stmt, 3),
                 sqlite3_column_int64(stmt, 1) > 2 ? ", ..." : "");
    sqlite3_finalize(stmt);
    return apart && !s->unread;
}
