/*
 * vt_view.c - makes tables of public views: SQLite looks into a view where it is joined, but not on
 * the right of a RIGHT or FULL JOIN, nor where a view of several tables is on the right of a LEFT
 * JOIN. There it computes the whole view, and looks through it for every row of the other side.
 *
 * Such a table runs the view's own query with all conditions that SQLite hands to it, in the wanted
 * order. Where a join asks for values of a column that has no index, it copies the rows into a table
 * in memory that has one. CREATE VIRTUAL TABLE temp.NAME puts it in front of the view (sql_cover_views()).
 */
#include <assert.h>
#include <stdlib.h>
#include <string.h>

#include "catalog/base/text.h"
#include "catalog/db/schema.h"
#include "catalog/sql/extension.h"
#include "catalog/sql/rowid.h"
#include "catalog/sql/tensor_test.h"
#include "catalog/sql/vtab.h"

#define VIEW_COLUMNS 32
#define VIEW_TESTS   12
#define VIEW_MISSES  16
#define VIEW_COPIES  4

/* `columns` are the view's, with types where these have an affinity. Words between spaces: the
 * columns that identify a row (`key`), and those with which equality leaves few (`few`). */
static const struct covered {
    const char *name, *key, *few, *columns;
} covered[] = {
    {"checkpoint", " id ", " name path run run_path ",
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
    {"by_folded_module", " checkpoint_id module ", " checkpoint_id checkpoint ",
     "checkpoint_id INTEGER, checkpoint TEXT, module TEXT, depth INTEGER, tensors INTEGER,"
     " parameters INTEGER, nbytes INTEGER"},
    {"content", " tensor_id ", " hash ", "hash TEXT, tensor_id INTEGER, checkpoint_id INTEGER"},
    {"stats", " tensor_id ", " checkpoint_id checkpoint ",
     "checkpoint_id INTEGER, checkpoint TEXT, tensor_id INTEGER, name TEXT, dtype TEXT, shape TEXT,"
     " elements INTEGER, min REAL, max REAL, mean REAL, std REAL, l2 REAL, zeros INTEGER,"
     " nans INTEGER, infs INTEGER, subnormals INTEGER, histogram TEXT"},
};

static bool has_word(const char *words, const char *word)
{
    char spaced[64];
    sqlite3_snprintf(sizeof(spaced), spaced, " %s ", word);
    return strstr(words, spaced) != NULL;
}

struct view_table {
    struct vtab of; /* first */
    const struct covered *view;
    const char *query; /* the view's, to its ';'; NULL: nobody has asked yet */
    char *column[VIEW_COLUMNS];
    enum { VIEW_ANY, VIEW_TEXT, VIEW_NUMBER } type[VIEW_COLUMNS];
    int columns;
    unsigned keys, few; /* sets of columns, of the words in covered[] */
    unsigned quick;     /* that the query finds by an index */
    sqlite3_stmt *idle;
    /* While there are cursors: a subquery opens a new one before it closes the one of its last run. */
    int cursors;
    sqlite3_stmt *anchor; /* keeps the rows from which copies were made the current ones */
    struct view_copy {
        char *plan;
        int passes; /* ended ones, through all rows for one value each */
        sqlite3 *db;
        sqlite3_int64 changes; /* of the connection until then */
    } copy[VIEW_COPIES];
};

struct view_cursor {
    sqlite3_vtab_cursor base; /* first */
    sqlite3_stmt *stmt;
    const char *plan; /* its key, and its conditions */
    unsigned conditions;
    struct view_copy *copy; /* of its plan; NULL: none can be made */
    sqlite3 *asks;          /* the copy's connection if stmt is of it, else NULL */
    bool eof;
    /* The only row of one value, or that it has none: the rows of a join often ask for the same again. Unless the
     * value is an id, this is found out when it is asked for the second time; `row` is a copy then. */
    sqlite3_value *asked, *row[VIEW_COLUMNS];
    bool kept, kept_empty, copied, several;
    /* Most rows of a join may have none here. After as many `misses` in a row as there is patience, it is found out how
     * far that goes: there is no row with an id from `none` on before `next`. Patience grows if that spared few look-ups. */
    unsigned misses, patience, spared;
    int by; /* the id's column; -1: none */
    sqlite3_int64 id, none, next;
};

/* --- the table ---------------------------------------------------------------------------- */

static int view_disconnect(sqlite3_vtab *base)
{
    struct view_table *t = (struct view_table *)base;
    for (int i = 0; i < t->columns; i++)
        free(t->column[i]);
    sqlite3_finalize(t->idle);
    sqlite3_finalize(t->anchor);
    free(t);
    return SQLITE_OK;
}

/* Some columns have no affinity, but values of one type only. */
static int view_type(const char *column, const char *declared)
{
    if (*declared == ' ')
        return declared[1] == 'T' ? VIEW_TEXT : VIEW_NUMBER;
    return has_word(" state mtime imported ", column) ? VIEW_TEXT
           : has_word(" layout ", column)             ? VIEW_NUMBER
                                                      : VIEW_ANY;
}

/* Take the columns' names and types from the declaration: "id INTEGER, value, ...". */
static bool view_describe(struct view_table *t)
{
    for (const char *at = t->view->columns; *at;) {
        const size_t name = strcspn(at, " ,"), whole = strcspn(at, ",");
        if (t->columns == VIEW_COLUMNS || !(t->column[t->columns] = strndup(at, name)))
            return false;
        t->keys |= (unsigned)has_word(t->view->key, t->column[t->columns]) << t->columns;
        t->few |= (unsigned)has_word(t->view->few, t->column[t->columns]) << t->columns;
        t->quick |= (unsigned)has_word(" id checkpoint_id tensor_id ", t->column[t->columns])
                    << t->columns;
        t->type[t->columns] = view_type(t->column[t->columns], at + name);
        t->columns++;
        at += whole;
        at += strspn(at, ", ");
    }
    t->quick |= t->few;
    return true;
}

static void view_drop(struct view_cursor *c)
{
    for (int i = 0; c->copied && i < VIEW_COLUMNS; i++) {
        sqlite3_value_free(c->row[i]);
        c->row[i] = NULL;
    }
    c->kept = c->copied = false;
}

static void view_leave_stmt(struct view_cursor *c)
{
    if (c->asks)
        sqlite3_finalize(c->stmt);
    else
        vtab_give_back(&((struct view_table *)c->base.pVtab)->idle, &c->stmt);
    c->stmt = NULL;
    c->asks = NULL;
}

static int view_open(sqlite3_vtab *base, sqlite3_vtab_cursor **out)
{
    int rc = vtab_open(base, out);
    ((struct view_table *)base)->cursors += rc == SQLITE_OK;
    return rc;
}

static void view_empty(sqlite3_vtab_cursor *base)
{
    struct view_cursor *c = (struct view_cursor *)base;
    struct view_table *t = (struct view_table *)base->pVtab;
    view_drop(c);
    sqlite3_value_free(c->asked);
    view_leave_stmt(c);
    if (--t->cursors)
        return;
    for (int i = 0; i < VIEW_COPIES; i++) {
        free(t->copy[i].plan);
        sqlite3_close(t->copy[i].db);
        t->copy[i] = (struct view_copy){0};
    }
    sqlite3_reset(t->anchor);
}

static int view_connect(sqlite3 *db, void *aux, int argc, const char *const *argv,
                        sqlite3_vtab **out, char **message)
{
    (void)aux;
    struct view_table *t = calloc(1, sizeof(*t));
    char declaration[512];
    if (!t)
        return SQLITE_NOMEM;
    t->of = (struct vtab){.db = db, .cursor = sizeof(struct view_cursor), .empty = view_empty};
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
        *out = &t->of.base;
    else
        view_disconnect(&t->of.base);
    return rc;
}

/* --- planning ----------------------------------------------------------------------------- */

/* Whether a condition on the view's column and a value means the same as with the value's
 * origin, as far as can be known now; view_filter() looks at the value. */
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

#define VIEW_LIMIT '#' /* an operator in plans: LIMIT or OFFSET */
static bool is_limit(unsigned char op)
{
    return op == SQLITE_INDEX_CONSTRAINT_LIMIT || op == SQLITE_INDEX_CONSTRAINT_OFFSET;
}

enum {
    ROWS,
    ROWS_OF_VALUE, /* by equality */
    ROW_OF_ID
};

static int view_finds(const struct view_table *t, int column, char op)
{
    return op != TEST_EQ && op != TEST_IS ? ROWS
           : t->keys == 1u << column      ? ROW_OF_ID
                                          : ROWS_OF_VALUE;
}

/* How many of `rows` rows a condition leaves. */
static double view_rows_left(const struct view_table *t, int column, int finds, double rows)
{
    return finds == ROW_OF_ID                 ? 1
           : finds == ROWS                    ? rows / 4
           : rows > 4 && t->few >> column & 1 ? 4
                                              : rows / 16;
}

/* The rows that a statement wants in order are the first ones, if all its conditions are known here. */
static void view_limit(sqlite3_index_info *info, int tests, struct text *plan)
{
    for (int i = 0; i < info->nConstraint; i++)
        if (!info->aConstraintUsage[i].argvIndex && !is_limit(info->aConstraint[i].op))
            return;
    for (int i = 0; i < info->nConstraint; i++)
        if (is_limit(info->aConstraint[i].op) && info->aConstraint[i].usable) {
            text_addf(plan, "a%c", VIEW_LIMIT);
            info->aConstraintUsage[i].argvIndex = ++tests;
        }
}

/* idxNum tells what the only condition finds. idxStr is "f=b>;k-a+;1f": tests, an order, and the columns
 * used. */
static int view_best_index(sqlite3_vtab *base, sqlite3_index_info *info)
{
    const struct view_table *t = (const struct view_table *)base;
    struct text plan = {0};
    int tests = 0;
    bool finds_few = false;
    bool known = true;     /* the values, whatever other tables have */
    double rows = 1048576; /* as SQLite takes a table that was never ANALYZEd */
    for (int i = 0; i < info->nConstraint && tests < VIEW_TESTS; i++) {
        const int column = info->aConstraint[i].iColumn;
        const char op = view_test(t, info, i);
        if (!op)
            continue;
        const int finds = view_finds(t, column, op);
        text_addf(&plan, "%c%c", 'a' + column, op);
        info->aConstraintUsage[i].argvIndex = ++tests;
        info->idxNum = tests == 1 ? finds : ROWS;
        known = known && sqlite3_vtab_rhs_value(info, i, &(sqlite3_value *){NULL}) == SQLITE_OK;
        rows = view_rows_left(t, column, finds, rows);
        finds_few |= finds == ROW_OF_ID || (finds && t->few >> column & 1);
        if (finds == ROW_OF_ID)
            info->idxFlags = SQLITE_INDEX_SCAN_UNIQUE;
    }
    /* The few rows for each row of another table would be sorted by themselves, for nothing. */
    info->orderByConsumed = known && info->nOrderBy > 0;
    if (info->orderByConsumed)
        view_limit(info, tests, &plan);
    text_addc(&plan, ';');
    for (int i = 0; known && i < info->nOrderBy; i++)
        text_addf(&plan, "%c%c", 'a' + info->aOrderBy[i].iColumn,
                  info->aOrderBy[i].desc ? '-' : '+');
    text_addf(&plan, ";%llx", (unsigned long long)info->colUsed);
    info->estimatedRows = rows < 1 ? 1 : (sqlite3_int64)rows;
    /* A look-up costs about what one of a table of SQLite's own does: else it would take no other table's rows in
     * order and look up the matching rows. */
    info->estimatedCost = finds_few ? 4 + rows : 20 + (double)info->estimatedRows * 3;
    info->idxStr = text_str(&plan) ? sqlite3_mprintf("%s", text_str(&plan)) : NULL;
    info->needToFreeIdxStr = 1;
    text_release(&plan);
    return info->idxStr ? SQLITE_OK : SQLITE_NOMEM;
}

/* --- rows --------------------------------------------------------------------------------- */

static const char *operator_text(char op)
{
    switch (op) {
    case TEST_EQ: return "=";
    case TEST_IS: return "IS";
    case TEST_NE: return "<>";
    case TEST_LT: return "<";
    case TEST_LE: return "<=";
    case TEST_GT: return ">";
    case TEST_GE: return ">=";
    case TEST_LIKE: return "LIKE";
    case TEST_GLOB: return "GLOB";
    case TEST_REGEXP: return "REGEXP";
    case TEST_NULL: return "IS NULL --";
    default: return "IS NOT NULL --";
    }
}

/* A number that is compared with a text column may be meant as a number, if it comes from a column
 * of numbers: the condition is left to SQLite then. */
static bool is_alike(const struct view_table *t, int column, char op, sqlite3_value *v)
{
    const int type = sqlite3_value_type(v);
    if (op == VIEW_LIMIT)
        return type == SQLITE_INTEGER && sqlite3_value_int64(v) >= 0;
    return op == TEST_NULL || op == TEST_NOTNULL || type == SQLITE_NULL ||
           (t->type[column] == VIEW_TEXT ? type == SQLITE_TEXT
                                         : type == SQLITE_INTEGER || type == SQLITE_FLOAT);
}

/* Every opening of a catalog makes these tables; few are queried. */
static const char *view_query(struct view_table *t)
{
    for (struct schema_object o = {0}; !t->query && schema_next(&o);)
        if (o.kind == SCHEMA_VIEW && strlen(t->view->name) == o.len &&
            memcmp(o.name, t->view->name, o.len) == 0)
            t->query = strstr(o.text, "\nSELECT");
    assert(t->query);
    return t->query;
}

static void write_query(struct view_table *t, const char *plan, unsigned conditions, bool copied,
                        struct text *sql)
{
    const char *used = strrchr(plan, ';') + 1, *at = plan;
    const unsigned long long columns = strtoull(used, NULL, 16);
    for (int i = 0; i < t->columns; i++) {
        text_adds(sql, i ? ", " : "SELECT ");
        if ((columns | t->keys) >> i & 1)
            text_addf(sql, "\"%s\"", t->column[i]);
        else
            text_adds(sql, "NULL");
    }
    /* Not the view itself, which reads the catalog's own tables even where the results of a read-only
     * catalog are in temporary ones. */
    text_adds(sql, " FROM (");
    const char *query = copied ? "x" : view_query(t);
    text_add(sql, query, strcspn(query, ";"));
    text_adds(sql, ") WHERE 1");
    struct text limit = {0};
    bool all = true;
    for (int i = 0; *at != ';'; at += 2, i++) {
        all &= conditions >> i & 1;
        if (at[1] == VIEW_LIMIT)
            text_addf(&limit, "%s?%d", limit.len ? " + " : " LIMIT ", i + 1);
        else if (conditions >> i & 1)
            text_addf(sql, "\n AND \"%s\" %s ?%d", t->column[at[0] - 'a'], operator_text(at[1]),
                      i + 1);
    }
    const char *before = "\n ORDER BY ";
    for (at++; *at != ';'; at += 2) {
        text_addf(sql, "%s\"%s\"%s", before, t->column[at[0] - 'a'], at[1] == '-' ? " DESC" : "");
        before = ", ";
    }
    if (all && limit.len)
        text_add(sql, limit.at, limit.len);
    text_release(&limit);
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
    if (c->copy)
        c->copy->passes += rc == SQLITE_DONE;
    return rc == SQLITE_ROW || rc == SQLITE_DONE
               ? SQLITE_OK
               : vtab_failed(base->pVtab, ((struct vtab *)base->pVtab)->db, rc);
}

/* Of the two values, the first is an integer or a text. */
static bool is_same(sqlite3_value *a, sqlite3_value *b)
{
    const int type = sqlite3_value_type(a);
    if (type != sqlite3_value_type(b))
        return false;
    if (type == SQLITE_INTEGER)
        return sqlite3_value_int64(a) == sqlite3_value_int64(b);
    const int bytes = sqlite3_value_bytes(a);
    return bytes == sqlite3_value_bytes(b) &&
           (!bytes || !memcmp(sqlite3_value_blob(a), sqlite3_value_blob(b), (size_t)bytes));
}

/* Keep the current row, which is the first, if there is no other one. */
static int view_keep(struct view_cursor *c)
{
    c->copied = true;
    for (int i = 0; i < sqlite3_column_count(c->stmt); i++)
        if (!(c->row[i] = sqlite3_value_dup(sqlite3_column_value(c->stmt, i))))
            return SQLITE_NOMEM;
    int rc = view_next(&c->base);
    if (rc == SQLITE_OK && c->eof) {
        c->kept = true;
        c->eof = false;
    } else if (rc == SQLITE_OK) {
        view_drop(c);
        c->several = true;
        sqlite3_reset(c->stmt);
        rc = view_next(&c->base);
    }
    return rc;
}

static int view_prepare(struct view_cursor *c, const char *plan, unsigned conditions, sqlite3 *asks)
{
    struct view_table *t = (struct view_table *)c->base.pVtab;
    struct text sql = {0};
    int rc = SQLITE_OK;
    view_leave_stmt(c);
    /* A subquery opens the table for each row of the others: the head tells whether the idle one will do. */
    text_adds(&sql, "-- ");
    text_adds(&sql, plan);
    for (int i = 0; i <= VIEW_TESTS; i += 4)
        text_addc(&sql, (char)('a' + (conditions >> i & 15)));
    text_addc(&sql, '\n');
    if (!asks && t->idle && text_str(&sql) && strncmp(sqlite3_sql(t->idle), sql.at, sql.len) == 0) {
        c->stmt = t->idle;
        t->idle = NULL;
    } else {
        write_query(t, plan, conditions, asks != NULL, &sql);
        rc = !text_str(&sql) ? SQLITE_NOMEM
             : asks          ? sqlite3_prepare_v2(asks, sql.at, -1, &c->stmt, NULL)
                             : vtab_once(t->of.db, &c->stmt, sql.at, "");
    }
    text_release(&sql);
    c->asks = asks;
    c->plan = plan;
    c->conditions = conditions;
    return rc;
}

/* Take the id that a plan looks for, if it does. Whether it is known that there are no rows of it. */
static bool view_lacks(struct view_cursor *c, const char *plan, int argc, sqlite3_value **argv)
{
    const struct view_table *t = (const struct view_table *)c->base.pVtab;
    if (c->plan != plan)
        c->misses = c->spared = 0, c->patience = VIEW_MISSES, c->none = c->next = 0;
    c->by = -1;
    for (int i = 0; c->by < 0 && i < argc; i++) {
        const int column = plan[(size_t)i * 2] - 'a';
        if (plan[(size_t)i * 2 + 1] != TEST_EQ || !(t->keys >> column & 1) ||
            t->type[column] != VIEW_NUMBER || sqlite3_value_type(argv[i]) != SQLITE_INTEGER)
            continue;
        c->by = column;
        c->id = sqlite3_value_int64(argv[i]);
    }
    const bool lacks = c->by >= 0 && c->id >= c->none && c->id < c->next;
    c->spared += lacks;
    return lacks;
}

/* There was a row, or none. After enough of the latter find the first id from there on that has rows. */
static int view_skip(struct view_cursor *c)
{
    struct view_table *t = (struct view_table *)c->base.pVtab;
    const char *query = view_query(t);
    struct text sql = {0};
    sqlite3_stmt *s = NULL;
    c->misses = c->eof ? c->misses + 1 : 0;
    if (c->by < 0 || c->misses < c->patience)
        return SQLITE_OK;
    text_addf(&sql, "SELECT min(\"%s\") FROM (%.*s) WHERE \"%s\" >= ?1", t->column[c->by],
              (int)strcspn(query, ";"), query, t->column[c->by]);
    int rc = text_str(&sql) ? sqlite3_prepare_v2(t->of.db, sql.at, -1, &s, NULL) : SQLITE_NOMEM;
    if (rc == SQLITE_OK)
        rc = sqlite3_bind_int64(s, 1, c->id);
    if (rc == SQLITE_OK && (rc = sqlite3_step(s)) == SQLITE_ROW) {
        c->none = c->id;
        c->next =
            sqlite3_column_type(s, 0) == SQLITE_INTEGER ? sqlite3_column_int64(s, 0) : INT64_MAX;
        c->patience = c->spared >= VIEW_MISSES ? VIEW_MISSES : 2 * c->patience;
        c->misses = c->spared = 0;
        rc = SQLITE_OK;
    }
    sqlite3_finalize(s);
    text_release(&sql);
    return rc == SQLITE_OK ? rc : vtab_failed(&t->of.base, t->of.db, rc);
}

/* --- a copy with an index ----------------------------------------------------------------- */

/* A pass over all rows for each value costs about a quarter of a copy. */
#define PASSES_BEFORE_COPY 4

/* Write the columns that are to equal a value; false: there are none, or the query has an index for one. */
static bool write_index(const struct view_table *t, const char *plan, unsigned conditions,
                        struct text *sql)
{
    bool any = false;
    for (int i = 0; *plan != ';'; plan += 2, i++) {
        const int column = plan[0] - 'a';
        if (view_finds(t, column, plan[1]) == ROWS || !(conditions >> i & 1))
            continue;
        if (t->quick >> column & 1)
            return false;
        text_addf(sql, "%s\"%s\"", any ? ", " : "CREATE INDEX i ON x(", t->column[column]);
        any = true;
    }
    text_adds(sql, ");");
    return any;
}

static int fill_copy(struct view_table *t, sqlite3 *db, const char *plan, const char *index)
{
    sqlite3_stmt *from = NULL, *to = NULL;
    struct text all = {0}, add = {0}, make = {0};
    write_query(t, plan, 0, false, &all);
    text_addf(&make, "PRAGMA journal_mode = OFF; BEGIN; CREATE TABLE x(%s);%s", t->view->columns,
              index);
    for (int i = 0; i < t->columns; i++)
        text_addf(&add, "%s?", i ? "," : "INSERT INTO x VALUES(");
    text_addc(&add, ')');
    int rc = text_str(&all) && text_str(&add) && text_str(&make) ? SQLITE_OK : SQLITE_NOMEM;
    if (rc == SQLITE_OK)
        rc = sqlite3_exec(db, make.at, NULL, NULL, NULL);
    if (rc == SQLITE_OK)
        rc = sqlite3_prepare_v2(db, add.at, -1, &to, NULL);
    if (rc == SQLITE_OK)
        rc = sqlite3_prepare_v2(t->of.db, all.at, -1, &from, NULL);
    while (rc == SQLITE_OK && (rc = sqlite3_step(from)) == SQLITE_ROW) {
        rc = SQLITE_OK;
        for (int i = 0; rc == SQLITE_OK && i < t->columns; i++)
            rc = sqlite3_bind_value(to, i + 1, sqlite3_column_value(from, i));
        if (rc == SQLITE_OK)
            rc = sqlite3_step(to);
        rc = rc == SQLITE_DONE ? sqlite3_reset(to) : rc;
    }
    sqlite3_finalize(from);
    sqlite3_finalize(to);
    text_release(&all);
    text_release(&add);
    text_release(&make);
    return rc == SQLITE_DONE ? SQLITE_OK : rc;
}

/* What is known of a plan; NULL: other plans have all the room. */
static struct view_copy *copy_of(struct view_table *t, const char *plan)
{
    for (int i = 0; i < VIEW_COPIES; i++) {
        struct view_copy *copy = &t->copy[i];
        if (!copy->plan)
            copy->plan = strdup(plan);
        if (!copy->plan || strcmp(copy->plan, plan) == 0)
            return copy->plan ? copy : NULL;
    }
    return NULL;
}

static int make_copy(struct view_table *t, struct view_copy *copy, const char *index)
{
    int rc = vtab_once(t->of.db, &t->anchor, "SELECT 1 FROM main.sqlite_schema", "");
    if (rc == SQLITE_OK && !sqlite3_stmt_busy(t->anchor))
        rc = sqlite3_step(t->anchor) == SQLITE_ROW ? SQLITE_OK : sqlite3_reset(t->anchor);
    if (rc == SQLITE_OK)
        rc = sqlite3_open("", &copy->db); /* temporary, in memory while it is small */
    if (rc == SQLITE_OK)
        rc = fill_copy(t, copy->db, copy->plan, index);
    if (rc != SQLITE_OK) {
        sqlite3_close(copy->db);
        copy->db = NULL;
    }
    copy->changes = sqlite3_total_changes64(t->of.db);
    return rc;
}

/* Make a copy where it is worth it, and find the connection that has a current one. What a transaction has written may
 * be rolled back. */
static int view_copied(struct view_cursor *c, unsigned conditions, sqlite3 **out)
{
    struct view_table *t = (struct view_table *)c->base.pVtab;
    struct view_copy *copy = c->copy;
    struct text index = {0};
    int rc = SQLITE_OK;
    if (!copy)
        return SQLITE_OK;
    if (!copy->db && copy->passes >= PASSES_BEFORE_COPY &&
        sqlite3_txn_state(t->of.db, "main") != SQLITE_TXN_WRITE) {
        copy->passes = 0;
        if (write_index(t, copy->plan, conditions, &index))
            rc = text_str(&index) ? make_copy(t, copy, index.at) : SQLITE_NOMEM;
    }
    text_release(&index);
    if (copy->changes == sqlite3_total_changes64(t->of.db))
        *out = copy->db;
    return rc;
}

/* Run the query, or the copy's, with these values. */
static int view_begin(struct view_cursor *c, const char *plan, unsigned conditions, int argc,
                      sqlite3_value **argv)
{
    struct view_table *t = (struct view_table *)c->base.pVtab;
    sqlite3 *asks = NULL;
    if (c->plan != plan)
        c->copy = argc ? copy_of(t, plan) : NULL;
    int rc = view_copied(c, conditions, &asks);
    for (int i = 0; asks && i < argc; i++)
        if (strchr("LGR", plan[(size_t)i * 2 + 1])) /* another function in that connection? */
            conditions &= ~(1u << i);
    if (c->stmt && c->plan == plan && c->conditions == conditions && c->asks == asks)
        sqlite3_reset(c->stmt);
    else if (rc == SQLITE_OK)
        rc = view_prepare(c, plan, conditions, asks);
    for (int i = 0; rc == SQLITE_OK && i < argc; i++)
        if (i < sqlite3_bind_parameter_count(c->stmt))
            rc = sqlite3_bind_value(c->stmt, i + 1, argv[i]);
    return rc;
}

static int view_filter(sqlite3_vtab_cursor *base, int number, const char *plan, int argc,
                       sqlite3_value **argv)
{
    struct view_cursor *c = (struct view_cursor *)base;
    struct view_table *t = (struct view_table *)base->pVtab;
    const int type = number == ROWS ? SQLITE_NULL : sqlite3_value_type(argv[0]);
    const bool single = type == SQLITE_INTEGER || type == SQLITE_TEXT;
    const bool again = single && c->asked && c->plan == plan && is_same(argv[0], c->asked);
    unsigned conditions = 0;
    if (again && c->kept) {
        c->eof = c->kept_empty;
        return SQLITE_OK;
    }
    c->eof = true;
    if (view_lacks(c, plan, argc, argv))
        return SQLITE_OK;
    const char *at = plan;
    for (int i = 0; i < argc; i++, at += 2) {
        if (sqlite3_value_type(argv[i]) == SQLITE_NULL && !strchr("i01", at[1]))
            return SQLITE_OK;
        conditions |= (unsigned)is_alike(t, at[0] - 'a', at[1], argv[i]) << i;
    }
    int rc = view_begin(c, plan, conditions, argc, argv);
    view_drop(c);
    rc = rc == SQLITE_OK ? view_next(base) : vtab_failed(base->pVtab, t->of.db, rc);
    if (rc == SQLITE_OK)
        rc = view_skip(c);
    c->kept = rc == SQLITE_OK && single && (number == ROW_OF_ID || c->eof);
    c->kept_empty = c->eof;
    if (again)
        return rc == SQLITE_OK && !c->kept && !c->several ? view_keep(c) : rc;
    sqlite3_value_free(c->asked);
    c->asked = single ? sqlite3_value_dup(argv[0]) : NULL;
    c->several = false;
    return rc;
}

static int view_eof(sqlite3_vtab_cursor *base)
{
    return ((struct view_cursor *)base)->eof;
}

static sqlite3_value *view_value(const struct view_cursor *c, int column)
{
    return c->copied ? c->row[column] : sqlite3_column_value(c->stmt, column);
}

static int view_column(sqlite3_vtab_cursor *base, sqlite3_context *ctx, int column)
{
    sql_result_copy(ctx, view_value((struct view_cursor *)base, column));
    return SQLITE_OK;
}

static int view_rowid(sqlite3_vtab_cursor *base, sqlite3_int64 *id)
{
    const struct view_table *t = (const struct view_table *)base->pVtab;
    uint64_t hash = 0;
    for (int i = 0; i < t->columns; i++)
        if (t->keys >> i & 1) {
            sqlite3_value *v = view_value((const struct view_cursor *)base, i);
            const int type = sqlite3_value_type(v);
            hash = type == SQLITE_INTEGER ? rowid_add(hash, (uint64_t)sqlite3_value_int64(v))
                                          : rowid_add_value(hash, type == SQLITE_NULL ? NULL : v);
        }
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
    .xClose = vtab_close,
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
