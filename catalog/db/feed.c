#include "catalog/db/feed.h"

#include <stdlib.h>

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
    f->column(f, f->from + ((struct feed_cursor *)cursor)->row, column, context);
    return SQLITE_OK;
}

static int feed_rowid(sqlite3_vtab_cursor *cursor, sqlite3_int64 *rowid)
{
    *rowid = (sqlite3_int64)((struct feed_cursor *)cursor)->row;
    return SQLITE_OK;
}

/* Without xCreate the module is eponymous only: no schema can create a table of it. */
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

int feed_register(sqlite3 *db, const struct feed *feed)
{
    return sqlite3_create_module_v2(db, "ckptdb_feed", &feed_module, (void *)feed, NULL);
}
