/*
 * vt_view.c - makes tables of public views: SQLite looks into a view where it is joined, but not on
 * the right of a RIGHT or FULL JOIN, nor where a view of several tables is on the right of a LEFT
 * JOIN. There it computes the whole view, and looks through it for every row of the other side.
 *
 * Such a table asks the view's own query with all conditions that SQLite hands to it, and in the order
 * that is wanted. CREATE VIRTUAL TABLE temp.NAME puts it in front of the view (sql_cover_views()).
 */
#include <assert.h>
#include <stdlib.h>
#include <string.h>

#include "catalog/base/text.h"
#include "catalog/db/schema.h"
#include "catalog/sql/extension.h"
#include "catalog/sql/rowid.h"
#include "catalog/sql/tensor_test.h"

#define VIEW_COLUMNS 32
#define VIEW_TESTS   12

/* `columns` are those of the view, with types where the view's have an affinity. Words between spaces:
 * the columns that identify a row (`key`), and those with which equality leaves few (`few`). */
static const struct covered {
    const char *name, *key, *few, *columns;
} covered[] = {
    {"checkpoint", " id ", " name path ",
     "id INTEGER, name TEXT, path TEXT, format TEXT, run TEXT, run_path TEXT, step INTEGER,"
     " item TEXT, state, layout, tensors INTEGER, parameters INTEGER, nbytes INTEGER,"
     " stored INTEGER, files INTEGER, mtime, imported, hash TEXT"},
    {"file", " id ", " checkpoint_id path ",
     "id INTEGER, checkpoint_id INTEGER, path TEXT, size INTEGER, mtime_ns INTEGER, inode INTEGER,"
     " device INTEGER, role TEXT"},
    {"issue", " id ", " checkpoint_id checkpoint path ",
     "id INTEGER, checkpoint_id INTEGER, checkpoint TEXT, path TEXT, offset INTEGER, severity TEXT,"
     " code TEXT, message TEXT"},
    {"metadata", " checkpoint_id key ", " checkpoint_id checkpoint ",
     "checkpoint_id INTEGER, checkpoint TEXT, key TEXT, value"},
    {"node", " checkpoint_id name ", " checkpoint_id ",
     "checkpoint_id INTEGER, name TEXT, kind TEXT"},
    {"by_dtype", " checkpoint_id dtype ", " checkpoint_id checkpoint ",
     "checkpoint_id INTEGER, checkpoint TEXT, dtype TEXT, tensors INTEGER, parameters INTEGER,"
     " nbytes INTEGER"},
};

static bool has_word(const char *words, const char *word)
{
    char spaced[64];
    sqlite3_snprintf(sizeof(spaced), spaced, " %s ", word);
    return strstr(words, spaced) != NULL;
}

struct view_table {
    sqlite3_vtab base; /* first */
    sqlite3 *db;
    const struct covered *view;
    const char *query; /* the view's, to its ';'; NULL: nobody has asked yet */
    char *column[VIEW_COLUMNS];
    enum {
        VIEW_ANY,
        VIEW_TEXT,
        VIEW_NUMBER
    } type[VIEW_COLUMNS];
    int columns;
    char *idle_sql; /* of a statement that no cursor uses at the moment */
    sqlite3_stmt *idle;
};

struct view_cursor {
    sqlite3_vtab_cursor base; /* first */
    char *sql;
    sqlite3_stmt *stmt;
    const char *plan; /* what it was made for, and the conditions that it has */
    unsigned conditions;
    bool eof;
    /* The row of one id: the rows of a join often ask for the same one again. */
    bool kept, kept_empty;
    int64_t id;
};

/* --- the table ---------------------------------------------------------------------------- */

static int view_disconnect(sqlite3_vtab *base)
{
    struct view_table *t = (struct view_table *)base;
    for (int i = 0; i < t->columns; i++)
        free(t->column[i]);
    sqlite3_finalize(t->idle);
    free(t->idle_sql);
    free(t);
    return SQLITE_OK;
}

/* Take the columns' names and types from the declaration: "id INTEGER, value, ...". */
static bool view_describe(struct view_table *t)
{
    for (const char *at = t->view->columns; *at;) {
        const size_t name = strcspn(at, " ,"), whole = strcspn(at, ",");
        if (t->columns == VIEW_COLUMNS || !(t->column[t->columns] = strndup(at, name)))
            return false;
        t->type[t->columns++] = at[name] != ' '       ? VIEW_ANY
                                : at[name + 1] == 'T' ? VIEW_TEXT
                                                      : VIEW_NUMBER;
        at += whole;
        at += strspn(at, ", ");
    }
    return true;
}

static int view_connect(sqlite3 *db, void *aux, int argc, const char *const *argv,
                        sqlite3_vtab **out, char **message)
{
    (void)aux;
    struct view_table *t = calloc(1, sizeof(*t));
    char declaration[512];
    if (!t)
        return SQLITE_NOMEM;
    t->db = db;
    for (size_t i = 0; argc > 2 && i < sizeof(covered) / sizeof(covered[0]); i++)
        if (sqlite3_stricmp(argv[2], covered[i].name) == 0)
            t->view = &covered[i];
    int rc = !t->view ? SQLITE_ERROR : view_describe(t) ? SQLITE_OK : SQLITE_NOMEM;
    if (rc == SQLITE_OK) {
        sqlite3_snprintf(sizeof(declaration), declaration, "CREATE TABLE x(%s)", t->view->columns);
        rc = sqlite3_declare_vtab(db, declaration);
    }
    if (rc == SQLITE_OK)
        rc = sqlite3_vtab_config(db, SQLITE_VTAB_INNOCUOUS);
    if (rc != SQLITE_OK)
        *message = sqlite3_mprintf("%s", t->view ? sqlite3_errmsg(db) : "no view to cover");
    if (rc == SQLITE_OK)
        *out = &t->base;
    else
        view_disconnect(&t->base);
    return rc;
}

/* --- planning ----------------------------------------------------------------------------- */

/* Whether a condition means the same of the view's column and a value as of what the value came
 * from, as far as can be known now; view_filter() looks at the value. */
static char view_test(const struct view_table *t, sqlite3_index_info *info, int i)
{
    const struct sqlite3_index_constraint *c = &info->aConstraint[i];
    const char op = test_operator(c->op);
    if (!c->usable || c->iColumn < 0 || t->type[c->iColumn] == VIEW_ANY)
        return 0;
    if (t->type[c->iColumn] == VIEW_TEXT &&
        sqlite3_stricmp(sqlite3_vtab_collation(info, i), "BINARY") != 0)
        return 0;
    return op;
}

/* idxStr is "f=b>;k-a+;1f": tests, an order, and the columns used. */
static int view_best_index(sqlite3_vtab *base, sqlite3_index_info *info)
{
    const struct view_table *t = (const struct view_table *)base;
    struct text plan = {0};
    int tests = 0;
    double rows = 1048576; /* as SQLite takes a table that was never ANALYZEd */
    for (int i = 0; i < info->nConstraint && tests < VIEW_TESTS; i++) {
        const char op = view_test(t, info, i);
        if (!op)
            continue;
        const char *name = t->column[info->aConstraint[i].iColumn];
        const bool equal = op == TEST_EQ || op == TEST_IS;
        text_addf(&plan, "%c%c", 'a' + info->aConstraint[i].iColumn, op);
        info->aConstraintUsage[i].argvIndex = ++tests;
        if (equal && strcmp(name, "id") == 0) {
            rows = 1;
            info->idxFlags = SQLITE_INDEX_SCAN_UNIQUE;
        } else if (equal && has_word(t->view->few, name))
            rows = rows < 8 ? rows : 8;
        else
            rows /= equal ? 16 : 4;
    }
    text_addc(&plan, ';');
    info->orderByConsumed = info->nOrderBy > 0;
    for (int i = 0; i < info->nOrderBy; i++)
        text_addf(&plan, "%c%c", 'a' + info->aOrderBy[i].iColumn,
                  info->aOrderBy[i].desc ? '-' : '+');
    text_addf(&plan, ";%llx", (unsigned long long)info->colUsed);
    info->estimatedRows = rows < 1 ? 1 : (sqlite3_int64)rows;
    info->estimatedCost = 20 + (double)info->estimatedRows * 3;
    info->idxNum = tests == 1 && info->idxFlags == SQLITE_INDEX_SCAN_UNIQUE;
    info->idxStr = text_str(&plan) ? sqlite3_mprintf("%s", text_str(&plan)) : NULL;
    info->needToFreeIdxStr = 1;
    text_release(&plan);
    return info->idxStr ? SQLITE_OK : SQLITE_NOMEM;
}

/* --- rows --------------------------------------------------------------------------------- */

static int view_open(sqlite3_vtab *base, sqlite3_vtab_cursor **out)
{
    (void)base;
    struct view_cursor *c = calloc(1, sizeof(*c));
    if (!c)
        return SQLITE_NOMEM;
    *out = &c->base;
    return SQLITE_OK;
}

/* Return the statement to the table, for the next cursor. */
static void view_reset(struct view_cursor *c)
{
    struct view_table *t = (struct view_table *)c->base.pVtab;
    c->eof = true;
    c->kept = false;
    if (!c->stmt)
        return;
    sqlite3_reset(c->stmt);
    sqlite3_clear_bindings(c->stmt);
    sqlite3_finalize(t->idle);
    free(t->idle_sql);
    t->idle = c->stmt;
    t->idle_sql = c->sql;
    c->stmt = NULL;
    c->sql = NULL;
}

static int view_close(sqlite3_vtab_cursor *base)
{
    view_reset((struct view_cursor *)base);
    free(base);
    return SQLITE_OK;
}

static int view_fail(struct view_table *t, int rc)
{
    if (rc == SQLITE_OK || rc == SQLITE_NOMEM || rc == SQLITE_INTERRUPT)
        return rc;
    sqlite3_free(t->base.zErrMsg);
    t->base.zErrMsg = sqlite3_mprintf("%s", sqlite3_errmsg(t->db));
    return rc;
}

static const char *operator_text(char op)
{
    switch (op) {
    case TEST_EQ:
        return "=";
    case TEST_IS:
        return "IS";
    case TEST_NE:
        return "<>";
    case TEST_LT:
        return "<";
    case TEST_LE:
        return "<=";
    case TEST_GT:
        return ">";
    case TEST_GE:
        return ">=";
    case TEST_LIKE:
        return "LIKE";
    case TEST_GLOB:
        return "GLOB";
    case TEST_REGEXP:
        return "REGEXP";
    case TEST_NULL:
        return "IS NULL --";
    default:
        return "IS NOT NULL --";
    }
}

/* A number that is compared with a text column may be meant as a number, if it comes from a column
 * of numbers: the condition is left to SQLite then. */
static bool is_alike(const struct view_table *t, int column, char op, sqlite3_value *v)
{
    const int type = sqlite3_value_type(v);
    return op == TEST_NULL || op == TEST_NOTNULL || type == SQLITE_NULL ||
           (t->type[column] == VIEW_TEXT ? type == SQLITE_TEXT
                                         : type == SQLITE_INTEGER || type == SQLITE_FLOAT);
}

/* Every opening of a catalog makes these tables; few of them are asked. */
static const char *view_query(struct view_table *t)
{
    for (struct schema_object o = {0}; !t->query && schema_next(&o);)
        if (o.kind == SCHEMA_VIEW && strlen(t->view->name) == o.len &&
            memcmp(o.name, t->view->name, o.len) == 0)
            t->query = strstr(o.text, "\nSELECT");
    assert(t->query);
    return t->query;
}

static void write_query(struct view_table *t, const char *plan, unsigned conditions,
                        struct text *sql)
{
    const char *used = strrchr(plan, ';') + 1, *at = plan;
    const unsigned long long columns = strtoull(used, NULL, 16);
    for (int i = 0; i < t->columns; i++) {
        text_adds(sql, i ? ", " : "SELECT ");
        if (columns >> i & 1 || has_word(t->view->key, t->column[i]))
            text_addf(sql, "\"%s\"", t->column[i]);
        else
            text_adds(sql, "NULL");
    }
    /* Not the view itself, which reads the catalog's own tables, also where results that a catalog for
     * reading cannot keep are in temporary ones. */
    text_adds(sql, " FROM (");
    const char *query = view_query(t);
    text_add(sql, query, strcspn(query, ";"));
    text_adds(sql, ") WHERE 1");
    for (int i = 0; *at != ';'; at += 2, i++)
        if (conditions >> i & 1)
            text_addf(sql, "\n AND \"%s\" %s ?%d", t->column[at[0] - 'a'], operator_text(at[1]),
                      i + 1);
    const char *before = "\n ORDER BY ";
    for (at++; *at != ';'; at += 2) {
        text_addf(sql, "%s\"%s\"%s", before, t->column[at[0] - 'a'], at[1] == '-' ? " DESC" : "");
        before = ", ";
    }
}

static int view_next(sqlite3_vtab_cursor *base)
{
    struct view_cursor *c = (struct view_cursor *)base;
    if (c->kept) {
        c->eof = true;
        return SQLITE_OK;
    }
    int rc = sqlite3_step(c->stmt);
    c->eof = rc != SQLITE_ROW;
    return rc == SQLITE_ROW || rc == SQLITE_DONE ? SQLITE_OK
                                                 : view_fail((struct view_table *)base->pVtab, rc);
}

/* Take the statement of a plan: that of the table if it is the same. */
static int view_prepare(struct view_cursor *c, const char *plan, unsigned conditions)
{
    struct view_table *t = (struct view_table *)c->base.pVtab;
    struct text sql = {0};
    int rc = SQLITE_OK;
    view_reset(c);
    write_query(t, plan, conditions, &sql);
    if (!text_str(&sql)) {
        rc = SQLITE_NOMEM;
    } else if (t->idle && strcmp(t->idle_sql, sql.at) == 0) {
        c->stmt = t->idle;
        c->sql = t->idle_sql;
        t->idle = NULL;
        t->idle_sql = NULL;
    } else {
        rc = sqlite3_prepare_v3(t->db, sql.at, -1, SQLITE_PREPARE_PERSISTENT, &c->stmt, NULL);
        c->sql = rc == SQLITE_OK ? text_steal(&sql) : NULL;
    }
    text_release(&sql);
    c->plan = plan;
    c->conditions = conditions;
    return rc;
}

static int view_filter(sqlite3_vtab_cursor *base, int number, const char *plan, int argc,
                       sqlite3_value **argv)
{
    struct view_cursor *c = (struct view_cursor *)base;
    struct view_table *t = (struct view_table *)base->pVtab;
    const bool single = number && sqlite3_value_type(argv[0]) == SQLITE_INTEGER;
    unsigned conditions = 0;
    int rc = SQLITE_OK;
    if (single && c->kept && sqlite3_value_int64(argv[0]) == c->id) {
        c->eof = c->kept_empty;
        return SQLITE_OK;
    }
    const char *at = plan;
    for (int i = 0; i < argc; i++, at += 2)
        conditions |= (unsigned)is_alike(t, at[0] - 'a', at[1], argv[i]) << i;
    if (c->stmt && c->plan == plan && c->conditions == conditions)
        sqlite3_reset(c->stmt);
    else
        rc = view_prepare(c, plan, conditions);
    for (int i = 0; rc == SQLITE_OK && i < argc; i++)
        if (i < sqlite3_bind_parameter_count(c->stmt))
            rc = sqlite3_bind_value(c->stmt, i + 1, argv[i]);
    c->kept = false;
    rc = rc == SQLITE_OK ? view_next(base) : view_fail(t, rc);
    c->kept = rc == SQLITE_OK && single;
    c->kept_empty = c->eof;
    c->id = single ? sqlite3_value_int64(argv[0]) : 0;
    return rc;
}

static int view_eof(sqlite3_vtab_cursor *base)
{
    return ((struct view_cursor *)base)->eof;
}

static int view_column(sqlite3_vtab_cursor *base, sqlite3_context *ctx, int column)
{
    sql_result_copy(ctx, sqlite3_column_value(((struct view_cursor *)base)->stmt, column));
    return SQLITE_OK;
}

static int view_rowid(sqlite3_vtab_cursor *base, sqlite3_int64 *id)
{
    sqlite3_stmt *s = ((struct view_cursor *)base)->stmt;
    const struct view_table *t = (const struct view_table *)base->pVtab;
    uint64_t hash = 0;
    for (int i = 0; i < t->columns; i++)
        if (has_word(t->view->key, t->column[i]))
            hash = rowid_add_value(
                hash, sqlite3_column_type(s, i) == SQLITE_NULL ? NULL : sqlite3_column_value(s, i));
    *id = (sqlite3_int64)hash;
    return SQLITE_OK;
}

static const sqlite3_module view_module = {
    .iVersion = 0,
    .xCreate = view_connect,
    .xConnect = view_connect,
    .xBestIndex = view_best_index,
    .xDisconnect = view_disconnect,
    .xDestroy = view_disconnect,
    .xOpen = view_open,
    .xClose = view_close,
    .xFilter = view_filter,
    .xNext = view_next,
    .xEof = view_eof,
    .xColumn = view_column,
    .xRowid = view_rowid,
    .xUpdate = sql_refuse_change,
};

int sql_register_view(sqlite3 *db)
{
    return sqlite3_create_module_v2(db, "ckptdb_view", &view_module, NULL, NULL);
}
