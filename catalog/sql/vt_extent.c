/*
 * vt_extent.c - tensor_extents(tensor_id): where the bytes of a tensor lie, one row an
 * extent. The view `extent` stands over it. It reads the catalog only.
 */
#include <stdlib.h>

#include "catalog/base/text.h"
#include "catalog/sql/extension.h"
#include "catalog/sql/keeper.h"

enum {
    TENSOR_ID,
    ORDINAL,
    FILE_PATH,
    OFFSET,
    STORED,
    CODEC,
    ORIGIN,
    SHAPE
};

static const char declaration[] =
    "CREATE TABLE x(tensor_id INTEGER, ordinal INTEGER, file TEXT, \"offset\" INTEGER,"
    " stored INTEGER, codec TEXT, origin TEXT, shape TEXT)";

struct extent_table {
    sqlite3_vtab base; /* must be first */
    struct keeper *keeper;
};

struct extent_cursor {
    sqlite3_vtab_cursor base; /* must be first */
    struct arena arena;
    struct stored_tensor tensor;
    uint64_t at;
};

static int extent_connect(sqlite3 *db, void *aux, int argc, const char *const *argv,
                          sqlite3_vtab **out, char **message)
{
    (void)argc, (void)argv, (void)message;
    struct extent_table *t = sqlite3_malloc(sizeof(*t));
    if (!t)
        return SQLITE_NOMEM;
    *t = (struct extent_table){.keeper = aux};
    int rc = sqlite3_declare_vtab(db, declaration);
    if (rc == SQLITE_OK)
        rc = sqlite3_vtab_config(db, SQLITE_VTAB_INNOCUOUS);
    if (rc == SQLITE_OK)
        *out = &t->base;
    else
        sqlite3_free(t);
    return rc;
}

static int extent_disconnect(sqlite3_vtab *t)
{
    sqlite3_free(t);
    return SQLITE_OK;
}

static int extent_plan(sqlite3_vtab *t, sqlite3_index_info *info)
{
    bool asked = false;
    for (int i = 0; i < info->nConstraint; i++) {
        if (info->aConstraint[i].iColumn != TENSOR_ID ||
            info->aConstraint[i].op != SQLITE_INDEX_CONSTRAINT_EQ)
            continue;
        asked = true;
        if (!info->aConstraint[i].usable)
            continue;
        info->aConstraintUsage[i].argvIndex = 1;
        info->aConstraintUsage[i].omit = 1;
        info->estimatedCost = 10;
        info->estimatedRows = 10;
        return SQLITE_OK;
    }
    if (asked)
        return SQLITE_CONSTRAINT;
    t->zErrMsg = sqlite3_mprintf("extent: of which tensor? WHERE tensor_id = ...");
    return SQLITE_ERROR;
}

static int extent_open(sqlite3_vtab *t, sqlite3_vtab_cursor **out)
{
    (void)t;
    struct extent_cursor *c = calloc(1, sizeof(*c));
    if (!c)
        return SQLITE_NOMEM;
    *out = &c->base;
    return SQLITE_OK;
}

static void empty(struct extent_cursor *c)
{
    arena_release(&c->arena);
    *c = (struct extent_cursor){.base = c->base};
}

static int extent_close(sqlite3_vtab_cursor *base)
{
    empty((struct extent_cursor *)base);
    free(base);
    return SQLITE_OK;
}

static int extent_filter(sqlite3_vtab_cursor *base, int plan, const char *text, int argc,
                         sqlite3_value **argv)
{
    (void)plan, (void)text, (void)argc;
    struct extent_cursor *c = (struct extent_cursor *)base;
    struct error err = {.offset = NO_OFFSET};
    char message[sizeof(err.source) + sizeof(err.message) + 64];
    empty(c);
    if (sqlite3_value_type(argv[0]) == SQLITE_NULL)
        return SQLITE_OK;
    struct lookup *l = keeper_lookup(((struct extent_table *)base->pVtab)->keeper, &err);
    if (l)
        lookup_tensor(l, sqlite3_value_int64(argv[0]), &c->arena, &c->tensor, &err);
    if (err.status == OK || err.status == ERR_ARGUMENT)
        return SQLITE_OK; /* no such tensor: no rows */
    if (err.status == ERR_MEMORY)
        return SQLITE_NOMEM;
    sqlite3_free(base->pVtab->zErrMsg);
    base->pVtab->zErrMsg =
        sqlite3_mprintf("%s", error_text(&err, message, sizeof(message)));
    return SQLITE_ERROR;
}

static int extent_next(sqlite3_vtab_cursor *base)
{
    ((struct extent_cursor *)base)->at++;
    return SQLITE_OK;
}

static int extent_eof(sqlite3_vtab_cursor *base)
{
    const struct extent_cursor *c = (const struct extent_cursor *)base;
    return c->at >= c->tensor.extent_count;
}

static void give_numbers(sqlite3_context *ctx, const uint64_t *numbers, unsigned rank)
{
    static const uint64_t zeros[TENSOR_RANK_MAX];
    struct text json = {0};
    if (shape_print(&json, numbers ? numbers : zeros, rank))
        sqlite3_result_text(ctx, text_str(&json), (int)json.len, SQLITE_TRANSIENT);
    else
        sqlite3_result_error_nomem(ctx);
    text_release(&json);
}

static int extent_column(sqlite3_vtab_cursor *base, sqlite3_context *ctx, int column)
{
    const struct extent_cursor *c = (const struct extent_cursor *)base;
    const struct stored_tensor *t = &c->tensor;
    const struct extent *e = &t->extents[c->at];
    const struct stored_file *file = e->file < t->file_count ? &t->files[e->file] : NULL;
    if (column == TENSOR_ID)
        sqlite3_result_int64(ctx, t->id);
    else if (column == ORDINAL)
        sqlite3_result_int64(ctx, (sqlite3_int64)c->at);
    else if (column == FILE_PATH && file)
        sqlite3_result_text(ctx, file->path, -1, SQLITE_TRANSIENT);
    else if (column == OFFSET && file)
        sqlite3_result_int64(ctx, (sqlite3_int64)(e->offset + file->base));
    else if (column == STORED)
        sqlite3_result_int64(ctx, (sqlite3_int64)e->stored);
    else if (column == CODEC && t->codec)
        sqlite3_result_text(ctx, t->codec, -1, SQLITE_TRANSIENT);
    else if (column == ORIGIN)
        give_numbers(ctx, e->origin, t->rank);
    else if (column == SHAPE)
        give_numbers(ctx, e->shape ? e->shape : t->shape, t->rank);
    return SQLITE_OK;
}

static int extent_rowid(sqlite3_vtab_cursor *base, sqlite3_int64 *id)
{
    *id = (sqlite3_int64)((const struct extent_cursor *)base)->at;
    return SQLITE_OK;
}

static const sqlite3_module extent_module = {
    .iVersion = 0,
    .xConnect = extent_connect,
    .xBestIndex = extent_plan,
    .xDisconnect = extent_disconnect,
    .xOpen = extent_open,
    .xClose = extent_close,
    .xFilter = extent_filter,
    .xNext = extent_next,
    .xEof = extent_eof,
    .xColumn = extent_column,
    .xRowid = extent_rowid,
};

int sql_register_extent(sqlite3 *db)
{
    struct keeper *k = keeper_new(db, "ckptdb_extents");
    return k ? sqlite3_create_module_v2(db, "tensor_extents", &extent_module,
                                        keeper_hold(k), keeper_drop)
             : SQLITE_NOMEM;
}
