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

static bool token_among(const struct sql_token *t, const char *const *words)
{
    while (*words && !token_is(t, *words))
        words++;
    return *words != NULL;
}

/* --- results that a statement needs but that are not known ------------------------------------- */

/* A comparison of a statement's column with a constant, as text of the statement. */
struct condition {
    struct sql_token column, operator, first, last; /* of the operator; of the constant */
};

static bool token_is_constant(const struct sql_token *t)
{
    return t->at[0] == '\'' || (t->at[0] >= '0' && t->at[0] <= '9');
}

/* Read `OPERATOR CONSTANT` after a column, or `IN (CONSTANT, ...)`, or `= checkpoint_id('NAME')`. */
static bool condition_read(struct condition *c, struct sql_token t)
{
    static const char *const operators[] = {
        "=", "==", "<>", "!=", "<", ">", "<=", ">=", "is", "like", "glob", "regexp", "in", NULL};
    static const char *const ends[] = {"and", ")", ";", "group", "order", "limit", NULL};
    if (!sql_token_next(&t) || !token_among(&t, operators))
        return false;
    c->operator= t;
    const bool list = token_is(&t, "in");
    bool good = sql_token_next(&t);
    c->first = t;
    if (list || token_is(&t, "checkpoint_id")) {
        good = good && (list || sql_token_next(&t)) && *t.at == '(';
        do
            good = good && sql_token_next(&t) && token_is_constant(&t) && sql_token_next(&t);
        while (good && *t.at == ',');
        good = good && *t.at == ')';
    } else {
        good = good && token_is_constant(&t);
    }
    c->last = t;
    return good && (!sql_token_next(&t) || token_among(&t, ends));
}

/* Append what a statement demands of checkpoints (c) and tensors (t); false if it demands nothing, or in a way
 * that is more than constants compared and joined by AND. `name` is a column of either. */
static bool add_conditions(struct text *sql, const char *statement, char name)
{
    static const char *const more[] = {"or",     "not",  "union", "except", "intersect",
                                       "filter", "case", "left",  "full",   NULL};
    static const char *const before[] = {"where", "and", "on", NULL};
    static const struct {
        const char *column, *of;
    } columns[] = {{"checkpoint", "c.name"},   {"checkpoint_id", "c.id"}, {"run", "c.run"},
                   {"run_path", "c.run_path"}, {"path", "c.path"},        {"step", "c.step"},
                   {"item", "c.item"},         {"format", "c.format"},    {"dtype", "t.dtype"},
                   {"shape", "t.shape"},       {"tensor_id", "t.id"}};
    struct sql_token t = {.end = statement};
    bool any = false, here = false;
    while (sql_token_next(&t)) {
        struct condition c = {.column = t};
        struct sql_token next = t;
        if (token_among(&t, more))
            return false;
        if (here && sql_token_next(&next) && *next.at == '.') { /* a table's name */
            sql_token_next(&next);
            c.column = t = next;
        }
        const char *of = token_is(&c.column, "name") ? (name == 't' ? "t.name" : "c.name") : NULL;
        for (size_t i = 0; here && i < sizeof(columns) / sizeof(*columns); i++)
            of = token_is(&c.column, columns[i].column) ? columns[i].of : of;
        if (here && of && condition_read(&c, t)) {
            text_addf(sql, " AND %s %.*s %.*s", of, (int)(c.operator.end - c.operator.at),
                      c.operator.at, (int)(c.last.end - c.first.at), c.first.at);
            any = true;
        }
        here = token_among(&t, before);
    }
    return any;
}

/* Beyond this many, tensors are not looked at one by one. */
#define ASKED_MOST "100000"

/* The tensors that a statement's conditions leave, as a JSON list in *ids; empty if that is not known. */
static void find_asked(struct session *s, const char *statement, struct text *ids)
{
    for (const char *name = "tc"; *name && !ids->len; name++) {
        struct text sql = {0};
        text_adds(&sql,
                  "SELECT json_group_array(id) FROM (SELECT t.id FROM checkpoint c JOIN tensor t"
                  " ON t.checkpoint_id = c.id WHERE c.format <> 'names' AND t.nbytes > 0"
                  " AND t.dtype NOT IN ('string', 'variant', 'resource')");
        const bool any = add_conditions(&sql, statement, *name);
        text_adds(&sql, " LIMIT " ASKED_MOST " + 1) HAVING count(*) BETWEEN 1 AND " ASKED_MOST);
        sqlite3_stmt *stmt = any && text_str(&sql) ? session_prepare(s, text_str(&sql), "") : NULL;
        if (stmt && sqlite3_step(stmt) == SQLITE_ROW)
            text_adds(ids, (const char *)sqlite3_column_text(stmt, 0));
        sqlite3_finalize(stmt);
        text_release(&sql);
    }
}

void sql_not_known(struct session *s, const char *statement)
{
    static const char *const about[] = {"stats",  "hash",   "duplicate",    "waste",
                                        "shared", "damage", "verification", NULL};
    struct sql_token t = {.end = statement};
    struct text asked = {0};
    bool any = false;
    while (!any && sql_token_next(&t))
        any = token_among(&t, about);
    if (!any)
        return;
    find_asked(s, statement, &asked);
    sqlite3_stmt *stmt = session_prepare(s, "SELECT said FROM not_known(?1, ?2)", "ss", statement,
                                         asked.len ? text_str(&asked) : NULL);
    while (stmt && sqlite3_step(stmt) == SQLITE_ROW)
        complain("%s", (const char *)sqlite3_column_text(stmt, 0));
    sqlite3_finalize(stmt);
    text_release(&asked);
}

/* --- dtypes by the names that they have elsewhere ------------------------------------------------- */

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
    enum { NOTHING, COLUMN, OPERATOR, LIST } after = NOTHING;
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
