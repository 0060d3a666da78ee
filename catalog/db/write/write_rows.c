/*
 * write_rows.c - the statements of the writer, and the table that feeds them.
 */
#include "catalog/db/write/write_rows.h"

#include "catalog/db/ids.h"

/* Statements that take fed rows. A failure ends the transaction: to roll back the statement
 * alone, SQLite would first save each page that it changes, and in an index many rows change many
 * pages. */
#define INSERT_ALL "INSERT OR ROLLBACK INTO "

static const char *const statement_sql[STATEMENTS] = {
    [FIND_CHECKPOINT] = "SELECT id FROM _checkpoints WHERE path = ?1",
    [FIND_OUTDATED] = "SELECT 1 FROM _outdated WHERE id = ?1",
    /* Without ON CONFLICT, because for that SQLite saves each changed page, too. */
    [PUT_CHECKPOINT] =
        "INSERT INTO _checkpoints(id, path, format, run, step, item, layout, meta, placed,"
        " stored, files, mtime_ns, imported)"
        " VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, ?11, ?12, ?13)",
    [RENEW_CHECKPOINT] =
        "UPDATE _checkpoints SET format = ?3, run = ?4, step = ?5, item = ?6, layout = ?7,"
        " meta = ?8, placed = ?9, stored = ?10, files = ?11, mtime_ns = ?12,"
        " imported = ?13 WHERE id = ?1",
    [PUT_LABEL] = "INSERT INTO _labels(id, name, state) VALUES (?1, ?2, ?3)",
    [RENEW_LABEL] = "INSERT INTO _labels(id, name, state) VALUES (?1, ?2, ?3)"
                    " ON CONFLICT(id) DO UPDATE SET state = excluded.state",
    [PUT_STATE] = "UPDATE _labels SET state = ?2 WHERE id = ?1",
    [FIND_LAYOUT] = "SELECT id FROM _layouts WHERE logical = ?1",
    [FIND_MOVED] = "SELECT 1 FROM _layouts WHERE id = ?1 AND placement IS NOT ?2",
    [PUT_LAYOUT] = "INSERT INTO _layouts VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7)",
    [FIND_SUM] = "SELECT 1 FROM _layout_alike WHERE sum = ?1 LIMIT 1",
    [PUT_ALIKE] = "INSERT INTO _layout_alike VALUES (?1, ?2, NULL, ?1)",
    [PUT_BLOCKS] = "INSERT INTO _layout_blocks VALUES (?1, ?2)",
    [PUT_CHECKS] = "INSERT INTO _layout_checks VALUES (?1, ?2)",
    [PUT_MODULE_SUMS] = "INSERT INTO _layout_module_sums VALUES (?1, ?2)",
    [PUT_COLUMNS] = "INSERT INTO _layout_columns VALUES (?1, ?2)",
    [FIND_META] = "SELECT id FROM _metas WHERE digest = ?1",
    [PUT_META] = "INSERT INTO _metas VALUES (?1, ?2)",
    [FIND_LONG_TEXT] = "SELECT id FROM _long_texts WHERE digest = ?1",
    [PUT_LONG_TEXT] = "INSERT INTO _long_texts(digest, text) VALUES (?1, ?2)",
    [PUT_LONG_FACT] = "INSERT INTO _long_facts VALUES (?1, ?2)",
    [PUT_FILE] = "INSERT INTO _files VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8)",
    [PUT_ISSUE] = "INSERT INTO _issues(checkpoint, path, offset, severity, code, message)"
                  " VALUES (?1, ?2, ?3, ?4, ?5, ?6)",
    [PUT_PASSED] = "INSERT OR REPLACE INTO _passed VALUES (?1, ?2, ?3, ?4, ?5)",
    [PUT_UNREAD] = "INSERT INTO _unread VALUES (?1, ?2)",
    [PUT_SUMS] = "INSERT INTO _checksums VALUES (?1, ?2, ?3)",
    [CLEAR_ISSUES] = "DELETE FROM _issues WHERE checkpoint IS NULL AND path = ?1",
    [CLEAR_BELOW] = "DELETE FROM _issues WHERE checkpoint IS NULL"
                    " AND path > ?1 || '/' AND path < ?1 || '0'",
    [CLEAR_NOTES] = "DELETE FROM _issues WHERE checkpoint = ?1"
                    " AND code IN ('two-formats', 'shadowed')",
    [FIND_TRACES] = "SELECT EXISTS (SELECT 1 FROM _issues) OR EXISTS (SELECT 1 FROM _passed)",
    [FIND_LOOKER] = "SELECT 1 FROM _looked WHERE looker = ?1",
    [PUT_LOOKER] = "INSERT INTO _looked VALUES (?1)",
    [CLEAR_PASSED] = "DELETE FROM _passed WHERE path = ?1",
    [CLEAR_WALKED] = "DELETE FROM _issues WHERE code IN ('gone', 'unreadable',"
                     " 'unfinished', 'dangling-link', 'not-a-file', 'two-formats', 'shadowed',"
                     " 'not-read') AND (path = ?1"
                     "  OR (path > rtrim(?1, '/') || '/' AND path < rtrim(?1, '/') || '0'))",
    [CLEAR_SETTLED] =
        "DELETE FROM _issues WHERE checkpoint IS NULL AND code = 'dangling-link'"
        "  AND path IN (SELECT path FROM _files) OR code = 'passed-over' AND EXISTS"
        "   (SELECT 1 FROM _files f WHERE f.path = _issues.path AND f.id" ID_OWNER
        "<> checkpoint UNION ALL"
        "    SELECT 1 FROM _checkpoints c WHERE c.path = _issues.path AND c.id <> checkpoint)",
    [FEED_TENSORS] = INSERT_ALL "_layout_tensors SELECT * FROM ckptdb_feed",
    /* Without an id SQLite appends, and need not search for the place of each row. Listing
     * columns by name would copy them once more. */
    [MORE_TENSORS] = INSERT_ALL
    "_layout_tensors SELECT NULL, c1, c2, c3, c4, c5, c6, c7, c8, c9, c10, c11, c12, c13"
    " FROM ckptdb_feed",
    [MORE_PLAIN_TENSORS] =
        INSERT_ALL "_layout_tensors"
                   " SELECT NULL, c1, c2, c3, c4, c5, c6, 1, 0, c9, c10, NULL, NULL, NULL"
                   " FROM ckptdb_feed",
    [FEED_NODES] = INSERT_ALL "_layout_nodes SELECT c0, c1, c2, c3 FROM ckptdb_feed",
    [FEED_MODULES] =
        INSERT_ALL "_layout_modules SELECT c0, c1, c2, c3, c4, c5, c6 FROM ckptdb_feed",
    [MORE_MODULES] =
        INSERT_ALL "_layout_modules SELECT NULL, c1, c2, c3, c4, c5, c6 FROM ckptdb_feed",
    [FEED_FOLDS] = INSERT_ALL "_layout_folds SELECT c0, c1, c2, c3, c4, c5 FROM ckptdb_feed",
    [MORE_FOLDS] = INSERT_ALL "_layout_folds SELECT NULL, c1, c2, c3, c4, c5 FROM ckptdb_feed",
    [FEED_DTYPES] = INSERT_ALL "_layout_dtypes SELECT c0, c1, c2, c3, c4 FROM ckptdb_feed",
    [FEED_KINDS] = INSERT_ALL "_layout_kinds SELECT c0, c1, c2, c3, c4 FROM ckptdb_feed",
    [FEED_FACTS] = INSERT_ALL "_meta_facts SELECT c0, c1, c2 FROM ckptdb_feed",
    [FEED_PLACEMENTS] = INSERT_ALL "_placements"
                                   " SELECT c0, c1, c2, c3, c4, c5, c6, c7 FROM ckptdb_feed",
};

/* --- statements ------------------------------------------------------------------------- */

/* Prepare at first use, and bind. NULL on failure, which sqlite3_errcode() tells. */
static sqlite3_stmt *prepared(struct writer *w, enum writer_statement_id which, const char *types,
                              va_list args)
{
    sqlite3_stmt **s = &w->statement[which];
    if (!*s)
        sqlite3_prepare_v3(w->db, statement_sql[which], -1, SQLITE_PREPARE_PERSISTENT, s, NULL);
    return *s && db_vbind(*s, types, args) == SQLITE_OK ? *s : NULL;
}

static void put_back(sqlite3_stmt *s)
{
    sqlite3_reset(s);
    sqlite3_clear_bindings(s);
}

enum status write_row(struct writer *w, struct error *err, enum writer_statement_id which,
                      const char *types, ...)
{
    va_list args;
    va_start(args, types);
    sqlite3_stmt *s = err->status == OK ? prepared(w, which, types, args) : NULL;
    va_end(args);
    if (err->status == OK && (!s || sqlite3_step(s) != SQLITE_DONE))
        db_error(w->db, "cannot write the catalog", err);
    if (s)
        put_back(s);
    return err->status;
}

int64_t write_find(struct writer *w, struct error *err, enum writer_statement_id which,
                   const char *types, ...)
{
    va_list args;
    int64_t id = -1;
    if (err->status != OK)
        return id;
    va_start(args, types);
    sqlite3_stmt *s = prepared(w, which, types, args);
    va_end(args);
    if (!s)
        db_error(w->db, "cannot read the catalog", err);
    else if (db_row(s, "cannot read the catalog", err))
        id = sqlite3_column_int64(s, 0);
    if (s)
        put_back(s);
    return id;
}

enum status write_exec(struct writer *w, struct error *err, const char *sql)
{
    return err->status == OK ? db_exec(w->db, sql, err) : err->status;
}

enum status write_feed(struct writer *w, enum writer_statement_id which, struct feed rows,
                       struct error *err)
{
    w->feed = rows;
    return rows.count ? write_row(w, err, which, "") : err->status;
}

void write_feed_behind(struct writer *w, enum writer_statement_id first,
                       enum writer_statement_id more, struct feed rows, struct error *err)
{
    struct feed rest = rows;
    if (!rows.count)
        return;
    rows.count = 1;
    rest.count--;
    rest.from = 1;
    write_feed(w, first, rows, err);
    if (write_feed(w, more, rest, err) == OK &&
        sqlite3_last_insert_rowid(w->db) != rows.base + (int64_t)rest.count)
        error_set(err, ERR_CORRUPT, sqlite3_db_filename(w->db, "main"), NO_OFFSET,
                  "the catalog holds rows of a layout that it does not know");
}

/* --- ckptdb_feed ------------------------------------------------------------------------ */

struct feed_table {
    sqlite3_vtab base; /* must be first */
    const struct feed *feed;
};

struct feed_cursor {
    sqlite3_vtab_cursor base; /* must be first */
    uint64_t row;
};

static int feed_connect(sqlite3 *db, void *aux, int argc, const char *const *argv,
                        sqlite3_vtab **out, char **message)
{
    (void)argc;
    (void)argv;
    (void)message;
    int rc = sqlite3_declare_vtab(
        db, "CREATE TABLE x(c0, c1, c2, c3, c4, c5, c6, c7, c8, c9, c10, c11, c12, c13)");
    if (rc != SQLITE_OK)
        return rc;
    struct feed_table *t = sqlite3_malloc(sizeof(*t));
    if (!t)
        return SQLITE_NOMEM;
    *t = (struct feed_table){.feed = aux};
    *out = &t->base;
    return SQLITE_OK;
}

static int feed_disconnect(sqlite3_vtab *table)
{
    sqlite3_free(table);
    return SQLITE_OK;
}

static int feed_best_index(sqlite3_vtab *table, sqlite3_index_info *info)
{
    info->estimatedRows = (sqlite3_int64)((struct feed_table *)table)->feed->count;
    info->estimatedCost = (double)info->estimatedRows;
    return SQLITE_OK;
}

static int feed_open(sqlite3_vtab *table, sqlite3_vtab_cursor **out)
{
    (void)table;
    struct feed_cursor *c = sqlite3_malloc(sizeof(*c));
    if (!c)
        return SQLITE_NOMEM;
    *c = (struct feed_cursor){.row = 0};
    *out = &c->base;
    return SQLITE_OK;
}

static int feed_close(sqlite3_vtab_cursor *cursor)
{
    sqlite3_free(cursor);
    return SQLITE_OK;
}

static int feed_filter(sqlite3_vtab_cursor *cursor, int number, const char *text, int argc,
                       sqlite3_value **argv)
{
    (void)number;
    (void)text;
    (void)argc;
    (void)argv;
    ((struct feed_cursor *)cursor)->row = 0;
    return SQLITE_OK;
}

static int feed_next(sqlite3_vtab_cursor *cursor)
{
    ((struct feed_cursor *)cursor)->row++;
    return SQLITE_OK;
}

static int feed_eof(sqlite3_vtab_cursor *cursor)
{
    const struct feed *f = ((struct feed_table *)cursor->pVtab)->feed;
    return ((struct feed_cursor *)cursor)->row >= f->count;
}

static int feed_column(sqlite3_vtab_cursor *cursor, sqlite3_context *context, int column)
{
    const struct feed *f = ((struct feed_table *)cursor->pVtab)->feed;
    const uint64_t row = f->from + ((struct feed_cursor *)cursor)->row;
    if (column)
        f->column(f, row, column - 1, context);
    else
        sqlite3_result_int64(context, f->base + (int64_t)row);
    return SQLITE_OK;
}

static int feed_rowid(sqlite3_vtab_cursor *cursor, sqlite3_int64 *rowid)
{
    *rowid = (sqlite3_int64)((struct feed_cursor *)cursor)->row;
    return SQLITE_OK;
}

/* Without xCreate the module is eponymous only: no schema can create a table with it. */
static const sqlite3_module feed_module = {
    .iVersion = 0,
    .xConnect = feed_connect,
    .xBestIndex = feed_best_index,
    .xDisconnect = feed_disconnect,
    .xOpen = feed_open,
    .xClose = feed_close,
    .xFilter = feed_filter,
    .xNext = feed_next,
    .xEof = feed_eof,
    .xColumn = feed_column,
    .xRowid = feed_rowid,
};

void write_rows_begin(struct writer *w, struct error *err)
{
    if (sqlite3_create_module_v2(w->db, "ckptdb_feed", &feed_module, &w->feed, NULL) != SQLITE_OK)
        db_error(w->db, "cannot start the writer", err);
}

void write_rows_end(struct writer *w)
{
    for (int i = 0; i < STATEMENTS; i++)
        sqlite3_finalize(w->statement[i]);
    /* The module points into the writer. */
    sqlite3_create_module_v2(w->db, "ckptdb_feed", NULL, NULL, NULL);
}
