/*
 * vt_query.c - makes schema/query/NAME.sql the table-valued function NAME_rows, on which a view is
 * built, and schema/function/NAME.sql the function NAME.
 *
 * Such a file is one SELECT. It can use its parameters inside CTEs and window functions, through
 * which SQLite would not push the WHERE of a view. Its text defines the function:
 *
 *   columns         the function has the columns of the SELECT
 *   :parameter      is required, as NAME_rows(value) or as `parameter = value`, where the value is
 *                   a literal, a bound parameter, a subquery, or a column of another table
 *   $parameter      is optional, and NULL if not given. If there is a column of the same name,
 *                   equality on that column sets it
 *   each_COLUMN     (at most one) is an integer, or a text of integers such as "7,8,9": the row is
 *                   returned once for each, as the column COLUMN. Thus the rows that all
 *                   checkpoints of a layout share are computed once
 *   id              a column of this name identifies the row, whatever the parameters are
 *                   (rowid.h). It is required if an optional parameter is also a column
 *
 * Parameters without a column of the same name become hidden columns, in the order of their first
 * use. Those that mean checkpoints (a, b, checkpoint, of, source, target) accept the same as commands: a
 * text stands for the id of the checkpoint that it names. If a required parameter, or a column's value, is NULL
 * there are no rows; a NULL for an optional hidden column is like leaving it out, so that diff(1, 2, NULL) does not
 * look like "no differences". Columns that a statement does not use are replaced by NULL in the
 * SELECT, so SQLite does not compute them if it can flatten the query.
 *
 * Finding the columns means preparing the query once more. A long query therefore lists them in
 * two lines at its head: "-- columns: a, b" and "-- parameters: :c, $d" (tests/unit/test_query.c
 * checks these).
 */
#include <assert.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "catalog/base/text.h"
#include "catalog/db/schema.h"
#include "catalog/sql/extension.h"
#include "catalog/sql/rowid.h"
#include "catalog/sql/vtab.h"

#define PARAMETERS_MAX 8
#define COLUMNS_MAX    63   /* sqlite3_index_info.colUsed has a bit for each */
#define COST_OF_ONE    1e4  /* estimated cost with all parameters */
#define COST_OF_NONE   1e30 /* factor for a missing parameter: the call will fail */
#define EACH           "each_"

struct parameter {
    char *name; /* with its ':' or '$' */
    int column;
    bool required;
};

struct query {
    struct vtab of; /* first */
    const char *sql;
    char *column[COLUMNS_MAX]; /* as in the SELECT; hidden columns come after */
    int columns;
    int each; /* index of the column each_COLUMN; -1: none */
    int id;   /* index of the column id; -1: none */
    struct parameter parameter[PARAMETERS_MAX];
    int parameters;
    sqlite3_stmt *idle;
};

struct query_cursor {
    sqlite3_vtab_cursor base; /* first */
    sqlite3_stmt *stmt;
    unsigned long long used; /* columns it computes */
    sqlite3_value *given[PARAMETERS_MAX];
    const char *each; /* the rest of the list, after `element`; NULL: no list */
    sqlite3_int64 element;
    sqlite3_int64 row;
    bool done;
};

/* --- the table --------------------------------------------------------------------------- */

static int query_disconnect(sqlite3_vtab *base)
{
    struct query *q = (struct query *)base;
    sqlite3_finalize(q->idle);
    for (int i = 0; i < q->parameters; i++)
        free(q->parameter[i].name);
    for (int i = 0; i < q->columns; i++)
        free(q->column[i]);
    free(q);
    return SQLITE_OK;
}

static void add_column(struct text *table, const char *name, const char *mark)
{
    text_adds(table, table->len ? ", \"" : "CREATE TABLE x(\"");
    for (const char *c = name; *c; c++)
        text_add(table, "\"\"", *c == '"' ? 2 : 0), text_add(table, c, *c != '"');
    text_addf(table, "\"%s", mark);
}

/* The name of the function's column for a column of the SELECT: without "each_". */
static const char *shown_name(const char *name, bool *each)
{
    *each = strncmp(name, EACH, strlen(EACH)) == 0;
    return name + (*each ? strlen(EACH) : 0);
}

static int column_called(const struct query *q, const char *name)
{
    bool each;
    for (int i = 0; i < q->columns; i++)
        if (sqlite3_stricmp(shown_name(q->column[i], &each), name) == 0)
            return i;
    return -1;
}

static bool take_column(struct query *q, const char *name, size_t len)
{
    if (q->columns == COLUMNS_MAX || !(q->column[q->columns] = strndup(name, len)))
        return false;
    q->columns++;
    return true;
}

static bool take_parameter(struct query *q, const char *name, size_t len)
{
    struct parameter *p = &q->parameter[q->parameters];
    if (q->parameters == PARAMETERS_MAX)
        return false;
    *p = (struct parameter){.name = strndup(name, len), .required = name[0] == ':'};
    q->parameters += p->name != NULL;
    return p->name != NULL;
}

/* Call take() for each of the comma-separated names up to the end of the line. */
static bool take_line(struct query *q, const char *at,
                      bool (*take)(struct query *, const char *, size_t))
{
    bool good = true;
    while (good && *at != '\n') {
        const size_t len = strcspn(at, ",\n");
        good = take(q, at, len);
        at += len;
        at += strspn(at, ", ");
    }
    return good;
}

static bool take_statement(struct query *q, sqlite3_stmt *s)
{
    bool good = true;
    for (int i = 0; good && i < sqlite3_column_count(s); i++) {
        const char *name = sqlite3_column_name(s, i);
        good = name && take_column(q, name, strlen(name));
    }
    for (int i = 1; good && i <= sqlite3_bind_parameter_count(s); i++) {
        const char *name = sqlite3_bind_parameter_name(s, i);
        good = name && take_parameter(q, name, strlen(name));
    }
    return good;
}

/* Find out which column each parameter is, and write the CREATE TABLE statement to `table`. */
static bool query_describe(struct query *q, struct text *table)
{
    int hidden = q->columns;
    q->each = -1;
    q->id = column_called(q, "id");
    for (int i = 0; i < q->columns; i++) {
        bool each;
        const char *name = shown_name(q->column[i], &each);
        add_column(table, name, each ? " INTEGER" : "");
        if (each)
            q->each = i;
    }
    for (int i = 0; i < q->parameters; i++) {
        struct parameter *p = &q->parameter[i];
        p->column = column_called(q, p->name + 1);
        assert(p->required || p->column < 0 || q->id >= 0);
        if (p->column >= 0)
            continue;
        p->column = hidden++;
        add_column(table, p->name + 1, " HIDDEN");
    }
    return text_addc(table, ')');
}

static int query_names(struct query *q, const char *name, char **message)
{
    static const char columns[] = "\n-- columns: ", parameters[] = "\n-- parameters: ";
    const char *column = strstr(q->sql, columns), *parameter = strstr(q->sql, parameters);
    sqlite3_stmt *s = NULL;
    if (column && parameter)
        return take_line(q, column + strlen(columns), take_column) &&
                       take_line(q, parameter + strlen(parameters), take_parameter)
                   ? SQLITE_OK
                   : SQLITE_NOMEM;
    int rc = sqlite3_prepare_v2(q->of.db, q->sql, -1, &s, NULL);
    if (rc != SQLITE_OK)
        *message = sqlite3_mprintf("%s: %s", name, sqlite3_errmsg(q->of.db));
    else if (!take_statement(q, s))
        rc = SQLITE_NOMEM;
    sqlite3_finalize(s);
    return rc;
}

static void query_vt_forget(struct query_cursor *c)
{
    for (int i = 0; i < PARAMETERS_MAX; i++) {
        sqlite3_value_free(c->given[i]);
        c->given[i] = NULL;
    }
}

static void query_empty(sqlite3_vtab_cursor *base)
{
    struct query_cursor *c = (struct query_cursor *)base;
    query_vt_forget(c);
    vtab_give_back(&((struct query *)base->pVtab)->idle, &c->stmt);
}

static int query_connect(sqlite3 *db, void *file, int argc, const char *const *argv,
                         sqlite3_vtab **out, char **message)
{
    (void)argc;
    struct query *q = calloc(1, sizeof(*q));
    struct text table = {0};
    if (!q)
        return SQLITE_NOMEM;
    q->of = (struct vtab){.db = db, .cursor = sizeof(struct query_cursor), .empty = query_empty};
    q->sql = ((const struct schema_file *)file)->text;
    int rc = query_names(q, argv[0], message);
    if (rc == SQLITE_OK && !query_describe(q, &table))
        rc = SQLITE_NOMEM;
    if (rc == SQLITE_OK)
        rc = sqlite3_declare_vtab(db, table.at);
    if (rc == SQLITE_OK)
        rc = sqlite3_vtab_config(db, SQLITE_VTAB_INNOCUOUS);
    text_release(&table);
    if (rc == SQLITE_OK)
        *out = &q->of.base;
    else
        query_disconnect(&q->of.base);
    return rc;
}

/* --- planning ---------------------------------------------------------------------------- */

/* idxNum is the set of parameters that are given, idxStr the columns used, in hexadecimal.
 *
 * A plan that lacks a required parameter is not refused here, only made so expensive that
 * SQLite takes any other first; query_filter() refuses it. The reason is how SQLite plans `a =
 * 1 AND (b = 2 OR c = 3)`: for each side of the OR it first calls this with that side's terms
 * alone, and refusing, because `a` is missing there, would fail the whole statement. */
static int query_best_index(sqlite3_vtab *base, sqlite3_index_info *info)
{
    struct query *q = (struct query *)base;
    int given = 0;
    info->estimatedCost = COST_OF_ONE;
    for (int i = 0; i < q->parameters; i++) {
        const struct parameter *p = &q->parameter[i];
        bool unusable = false;
        int at = sql_given(info, p->column, &unusable);
        if (at >= 0) {
            info->aConstraintUsage[at].argvIndex = ++given;
            info->aConstraintUsage[at].omit = p->column >= q->columns;
            info->idxNum |= 1 << i;
        } else if (unusable && (p->required || p->column >= q->columns)) {
            return SQLITE_CONSTRAINT;
        } else {
            info->estimatedCost *= p->required ? COST_OF_NONE : 1e6;
        }
    }
    info->estimatedRows =
        (sqlite3_int64)(info->estimatedCost < 1e18 ? info->estimatedCost / 10 : 1e17);
    info->idxStr = sqlite3_mprintf("%llx", info->colUsed);
    info->needToFreeIdxStr = 1;
    return info->idxStr ? SQLITE_OK : SQLITE_NOMEM;
}

/* --- rows -------------------------------------------------------------------------------- */

static int cursor_prepare(struct query_cursor *c, unsigned long long used)
{
    struct query *q = (struct query *)c->base.pVtab;
    if (c->stmt && c->used == used) {
        sqlite3_reset(c->stmt);
        sqlite3_clear_bindings(c->stmt);
        return SQLITE_OK;
    }
    vtab_give_back(&q->idle, &c->stmt);
    c->used = used;
    struct text sql = {0};
    for (int i = 0; i < q->columns; i++) {
        text_adds(&sql, i ? ", " : "SELECT ");
        if ((used >> i & 1) || i == q->each || i == q->id)
            text_addf(&sql, "\"%s\"", q->column[i]);
        else
            text_adds(&sql, "NULL");
    }
    text_adds(&sql, " FROM (");
    text_adds(&sql, q->sql);
    text_adds(&sql, ")");
    int rc = text_str(&sql) ? vtab_take(q->of.db, &q->idle, sql.at, &c->stmt) : SQLITE_NOMEM;
    text_release(&sql);
    return rc;
}

static void cursor_element(struct query_cursor *c, const char *list)
{
    char *end;
    c->element = strtoll(list, &end, 10);
    c->each = end;
}

/* Start the elements of the row just read; false: it has none, and is skipped. */
static bool cursor_begin(struct query_cursor *c)
{
    struct query *q = (struct query *)c->base.pVtab;
    if (q->each < 0)
        return true;
    sqlite3_value *v = sqlite3_column_value(c->stmt, q->each);
    c->each = NULL;
    if (sqlite3_value_type(v) == SQLITE_TEXT)
        cursor_element(c, (const char *)sqlite3_value_text(v));
    else
        c->element = sqlite3_value_int64(v);
    return sqlite3_value_type(v) != SQLITE_NULL;
}

static int query_next(sqlite3_vtab_cursor *base)
{
    struct query_cursor *c = (struct query_cursor *)base;
    c->row++;
    if (c->each && *c->each == ',') {
        cursor_element(c, c->each + 1);
        return SQLITE_OK;
    }
    int rc;
    while ((rc = sqlite3_step(c->stmt)) == SQLITE_ROW)
        if (cursor_begin(c))
            return SQLITE_OK;
    c->done = true;
    return rc == SQLITE_DONE ? SQLITE_OK
                             : vtab_failed(base->pVtab, ((struct vtab *)base->pVtab)->db, rc);
}

/* Keep the value of a parameter. */
static int query_argument(struct query_cursor *c, int i, sqlite3_value *given)
{
    static const char *const checkpoints[] = {"a", "b", "checkpoint", "of", "source", "target"};
    struct query *q = (struct query *)c->base.pVtab;
    const struct parameter *p = &q->parameter[i];
    bool named = false;
    for (size_t k = 0; k < sizeof(checkpoints) / sizeof(*checkpoints); k++)
        named = named || strcmp(p->name + 1, checkpoints[k]) == 0;
    if (named && p->column >= q->columns) {
        vtab_clear(&q->of.base);
        return sql_checkpoint(q->of.db, given, &c->given[i], &q->of.base.zErrMsg);
    }
    c->given[i] = sqlite3_value_dup(given);
    return c->given[i] ? SQLITE_OK : SQLITE_NOMEM;
}

static int query_filter(sqlite3_vtab_cursor *base, int set, const char *columns, int argc,
                        sqlite3_value **argv)
{
    (void)argc;
    struct query_cursor *c = (struct query_cursor *)base;
    struct query *q = (struct query *)base->pVtab;
    query_vt_forget(c);
    c->row = 0;
    c->each = NULL;
    c->done = true;
    for (int i = 0, at = 0; i < q->parameters; i++) {
        const struct parameter *p = &q->parameter[i];
        if (!(set >> i & 1) && p->required)
            return vtab_refuse(base->pVtab, "say which %s: %s = ...", p->name + 1, p->name + 1);
        if ((set >> i & 1) && sqlite3_value_type(argv[at++]) == SQLITE_NULL &&
            (p->required || p->column < q->columns))
            return SQLITE_OK;
    }
    int rc = cursor_prepare(c, strtoull(columns, NULL, 16));
    if (rc != SQLITE_OK)
        return vtab_failed(base->pVtab, q->of.db, rc);
    for (int i = 0, at = 0; i < q->parameters; i++) {
        if (!(set >> i & 1))
            continue;
        const int given = query_argument(c, i, argv[at++]);
        if (given != SQLITE_OK)
            return given;
        int index = sqlite3_bind_parameter_index(c->stmt, q->parameter[i].name);
        if (sqlite3_bind_value(c->stmt, index, c->given[i]) != SQLITE_OK)
            return SQLITE_NOMEM;
    }
    c->done = false;
    return query_next(base);
}

static int query_eof(sqlite3_vtab_cursor *base)
{
    return ((struct query_cursor *)base)->done;
}

static int query_column(sqlite3_vtab_cursor *base, sqlite3_context *context, int i)
{
    struct query_cursor *c = (struct query_cursor *)base;
    struct query *q = (struct query *)base->pVtab;
    if (i == q->each)
        sqlite3_result_int64(context, c->element);
    else if (i < q->columns)
        sql_result_copy(context, sqlite3_column_value(c->stmt, i));
    for (int k = 0; i >= q->columns && k < q->parameters; k++)
        if (q->parameter[k].column == i && c->given[k])
            sqlite3_result_value(context, c->given[k]);
    return SQLITE_OK;
}

static int query_rowid(sqlite3_vtab_cursor *base, sqlite3_int64 *row)
{
    const struct query_cursor *c = (const struct query_cursor *)base;
    const struct query *q = (const struct query *)base->pVtab;
    uint64_t id = 0;
    for (int i = 0; i < q->parameters; i++)
        id = rowid_add_value(id, c->given[i]);
    *row = q->id >= 0 ? sqlite3_column_int64(c->stmt, q->id)
                      : (sqlite3_int64)rowid_add(id, (uint64_t)c->row);
    return SQLITE_OK;
}

/* Without xCreate the functions exist without CREATE VIRTUAL TABLE, which is not possible for
 * them. */
static const sqlite3_module query_module = {
    .xConnect = query_connect,
    .xBestIndex = query_best_index,
    .xDisconnect = query_disconnect,
    .xOpen = vtab_open,
    .xClose = vtab_close,
    .xFilter = query_filter,
    .xNext = query_next,
    .xEof = query_eof,
    .xColumn = query_column,
    .xRowid = query_rowid,
};

int sql_register_query(sqlite3 *db)
{
    static const struct {
        const char *path, *suffix;
    } folders[] = {
        {"schema/query/", "_rows"},
        {"schema/function/", ""},
    };
    int rc = SQLITE_OK;
    for (const struct schema_file *f = schema_files; rc == SQLITE_OK && f->path; f++) {
        int k = strncmp(f->path, folders[0].path, strlen(folders[0].path)) == 0 ? 0 : 1;
        if (strncmp(f->path, folders[k].path, strlen(folders[k].path)) != 0)
            continue;
        const char *stem = f->path + strlen(folders[k].path);
        char *name = sqlite3_mprintf("%.*s%s", (int)strcspn(stem, "."), stem, folders[k].suffix);
        rc = name ? sql_register_table(db, name, &query_module, (void *)f) : SQLITE_NOMEM;
        sqlite3_free(name);
    }
    return rc;
}
