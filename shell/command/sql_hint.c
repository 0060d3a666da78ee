#include "shell/command/sql_hint.h"

#include <string.h>

#include "catalog/base/text.h"
#include "shell/session/resolve.h"

/* Names that begin with _ are storage, and not meant for queries. */
#define ASKED "s.type IN ('view', 'table') AND s.name NOT GLOB '_*'"

/* The beginning of a message of SQLite, and a query for the names that may have been meant. */
static const struct hint {
    const char *message, *names;
} hints[] = {
    {"no such table: ",
     "SELECT s.name FROM sqlite_schema s WHERE " ASKED " ORDER BY s.type DESC, s.name"},
    {"no such column: ", "SELECT DISTINCT c.name FROM sqlite_schema s,"
                         " pragma_table_info(s.name) c WHERE " ASKED " ORDER BY s.type DESC"},
    {"no such function: ", "SELECT DISTINCT name FROM pragma_function_list UNION"
                           " SELECT name FROM pragma_module_list WHERE name NOT GLOB '* *'"},
};

/* Whether the name is a table-valued function. */
static bool is_module(struct session *s, const char *name)
{
    return session_number(s, "SELECT 1 FROM pragma_module_list WHERE name = ?1", "s", name);
}

/* 'near "tensor_values": syntax error' means that the statement begins with that name. */
static bool hint_syntax(struct session *s, const char *message)
{
    static const char before[] = "near \"", after[] = "\": syntax error";
    size_t len = strlen(message), skip = sizeof(before) - 1, tail = sizeof(after) - 1;
    if (len <= skip + tail || strncmp(message, before, skip) != 0 ||
        strcmp(message + len - tail, after) != 0)
        return false;
    struct text name = {0};
    text_add(&name, message + skip, len - skip - tail);
    if (text_str(&name) && is_module(s, text_str(&name)))
        complain("  %s is read as a table: SELECT * FROM %s(...)", text_str(&name),
                 text_str(&name));
    text_release(&name);
    return true;
}

void sql_hint(struct session *s, const char *message)
{
    if (hint_syntax(s, message))
        return;
    for (size_t i = 0; i < sizeof(hints) / sizeof(*hints); i++) {
        size_t len = strlen(hints[i].message);
        if (strncmp(message, hints[i].message, len) != 0)
            continue;
        const char *dot = strrchr(message + len, '.');
        const char *name = dot ? dot + 1 : message + len;
        if (is_module(s, name))
            complain("  %s is read as a table: SELECT * FROM %s(...)", name, name);
        else
            say_near(session_prepare(s, hints[i].names, ""), name, false);
        return;
    }
}

void sql_not_known(struct session *s, const char *statement)
{
    sqlite3_stmt *stmt = session_prepare(s, "SELECT said FROM not_known(?1)", "s", statement);
    while (stmt && sqlite3_step(stmt) == SQLITE_ROW)
        complain("%s", (const char *)sqlite3_column_text(stmt, 0));
    sqlite3_finalize(stmt);
}

/* A word, number, string or other character of a statement; the rest begins at `end`. */
struct sql_token {
    const char *at, *end;
};

static bool sql_token_next(struct sql_token *t)
{
    t->at = t->end + strspn(t->end, " \t\r\n\f");
    t->end = t->at + strcspn(t->at, " \t\r\n\f'\"()[]`,.;=<>!+-*/|&~%");
    if (t->at[0] == '\'' || t->at[0] == '"' || t->at[0] == '`') {
        const char *close = strchr(t->at + 1, t->at[0]);
        t->end = close ? close + 1 : t->at + strlen(t->at);
    } else if (t->end == t->at && *t->at) {
        t->end += 1 + (strchr("=<>", t->at[1]) != NULL && t->at[1]);
    }
    return t->end > t->at;
}

static bool token_is(const struct sql_token *t, const char *word)
{
    const size_t len = strlen(word), quotes = t->at[0] == '"' || t->at[0] == '`';
    return (size_t)(t->end - t->at) == len + 2 * quotes &&
           sqlite3_strnicmp(t->at + quotes, word, (int)len) == 0;
}

static bool token_compares(const struct sql_token *t)
{
    static const char *const operators[] = {"=", "==", "<>", "!=", "is", "not"};
    for (size_t i = 0; i < sizeof(operators) / sizeof(*operators); i++)
        if (token_is(t, operators[i]))
            return true;
    return false;
}

static void say_alias(const struct sql_token *string)
{
    char name[40] = "";
    const char *known = NULL;
    const size_t len = (size_t)(string->end - string->at) - 2;
    if (len < sizeof(name))
        memcpy(name, string->at + 1, len);
    if (*name && ckptdb_dtype(name, &known) && strcmp(known, name) != 0)
        complain("no dtype is called '%s' in the catalog: dtype = '%s' is meant", name, known);
}

void sql_dtype_hint(const char *statement)
{
    struct sql_token t = {.end = statement};
    enum {
        NOTHING,
        COLUMN,
        OPERATOR,
        LIST
    } after = NOTHING;
    while (sql_token_next(&t)) {
        if (t.at[0] == '\'' && t.end - t.at > 1 && after >= OPERATOR) {
            say_alias(&t);
            after = after == LIST ? LIST : NOTHING;
        } else if (token_is(&t, "dtype")) {
            after = COLUMN;
        } else if (after && token_compares(&t)) {
            after = OPERATOR;
        } else if (after && token_is(&t, "in")) {
            after = LIST;
        } else if (after != LIST || (*t.at != '(' && *t.at != ',')) {
            after = NOTHING;
        }
    }
}
