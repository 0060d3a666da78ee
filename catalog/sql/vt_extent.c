/*
 * vt_extent.c - tensor_extents: where the bytes of tensors are stored, one row per extent. The
 * view `extent` is built on it. It reads the catalog only. Equality on tensor_id finds one tensor;
 * without it all are listed (SQLite does not pass the equality on if the function is right of a
 * LEFT JOIN).
 */

#include "catalog/base/text.h"
#include "catalog/db/ids.h"
#include "catalog/sql/extension.h"
#include "catalog/sql/keeper.h"
#include "catalog/sql/rowid.h"
#include "catalog/sql/vtab.h"

enum { TENSOR_ID, ORDINAL, FILE_PATH, OFFSET, STORED, CODEC, ORIGIN, SHAPE, STRIDES };

static const char declaration[] =
    "CREATE TABLE x(tensor_id INTEGER, ordinal INTEGER, file TEXT, \"offset\" INTEGER,"
    " stored INTEGER, codec TEXT, origin TEXT, shape TEXT, strides TEXT)";

struct extent_cursor {
    struct vtab_cursor of; /* first; counts the extents of the tensor, or the values of its grid */
    struct arena arena;
    struct stored_tensor tensor;
    uint64_t run, within; /* for a grid in files: its run, and the place in that */
    sqlite3_stmt *ids;    /* of all tensors; NULL: only one is wanted */
};

static const char all_ids[] =
    "SELECT (c.id" ID_FIRST ") + (t.id" ID_ORD
    ") FROM _checkpoints c JOIN _layout_tensors t ON t.id BETWEEN c.layout" ID_FIRST
    "AND c.layout" ID_LAST "ORDER BY 1";

enum { ALL, ONE };

static int extent_plan(sqlite3_vtab *t, sqlite3_index_info *info)
{
    (void)t;
    bool unusable = false;
    int at = sql_given(info, TENSOR_ID, &unusable);
    info->idxNum = ALL;
    info->estimatedCost = 1e9;
    if (at >= 0) { /* `omit` stays 0, so SQLite compares again: 7.5 is no id */
        info->aConstraintUsage[at].argvIndex = 1;
        info->idxNum = ONE;
        info->estimatedCost = 10;
        info->estimatedRows = 10;
    }
    return SQLITE_OK;
}

static void extent_empty(sqlite3_vtab_cursor *base)
{
    struct extent_cursor *c = (struct extent_cursor *)base;
    sqlite3_finalize(c->ids);
    arena_release(&c->arena);
    *c = (struct extent_cursor){.of.base = c->of.base};
}

static int extent_connect(sqlite3 *db, void *aux, int argc, const char *const *argv,
                          sqlite3_vtab **out, char **message)
{
    (void)argc, (void)argv, (void)message;
    const struct vtab t = {
        .db = db, .of = aux, .cursor = sizeof(struct extent_cursor), .empty = extent_empty};
    return vtab_make(&t, declaration, SQLITE_VTAB_INNOCUOUS, out);
}

/* Load a tensor; one that does not exist has no extents. */
static int extent_vt_load(struct extent_cursor *c, int64_t id)
{
    struct error err = {.offset = NO_OFFSET};
    arena_release(&c->arena);
    c->arena = (struct arena){0};
    c->tensor = (struct stored_tensor){0};
    c->of.at = c->run = c->within = 0;
    c->of.key = rowid_add(0, (uint64_t)id);
    struct lookup *l = keeper_lookup(((struct vtab *)c->of.base.pVtab)->of, &err);
    if (l)
        lookup_tensor(l, id, &c->arena, &c->tensor, &err);
    c->of.end = c->tensor.grid ? grid_value_total(c->tensor.grid) : c->tensor.extent_count;
    return err.status == OK || err.status == ERR_ARGUMENT ? SQLITE_OK
                                                          : vtab_error(c->of.base.pVtab, &err);
}

/* If the current tensor has no extents left, move on to the next tensor that has some. */
static int extent_vt_settle(struct extent_cursor *c)
{
    while (c->of.at >= c->of.end) {
        int rc = c->ids ? sqlite3_step(c->ids) : SQLITE_DONE;
        if (rc != SQLITE_ROW)
            return rc == SQLITE_DONE ? SQLITE_OK : rc;
        if ((rc = extent_vt_load(c, sqlite3_column_int64(c->ids, 0))) != SQLITE_OK)
            return rc;
    }
    return SQLITE_OK;
}

static int extent_filter(sqlite3_vtab_cursor *base, int plan, const char *text, int argc,
                         sqlite3_value **argv)
{
    (void)text, (void)argc;
    struct extent_cursor *c = (struct extent_cursor *)base;
    int rc = SQLITE_OK;
    extent_empty(base);
    if (plan == ALL)
        rc = sqlite3_prepare_v2(((struct vtab *)base->pVtab)->db, all_ids, -1, &c->ids, NULL);
    else if (sqlite3_value_type(argv[0]) != SQLITE_NULL)
        rc = extent_vt_load(c, sqlite3_value_int64(argv[0]));
    return rc == SQLITE_OK ? extent_vt_settle(c) : rc;
}

static int extent_next(sqlite3_vtab_cursor *base)
{
    struct extent_cursor *c = (struct extent_cursor *)base;
    const struct grid *g = c->tensor.grid;
    c->of.at++;
    if (g && g->in_files && ++c->within >= g->runs[c->run].count) {
        c->run++;
        c->within = 0;
    }
    return extent_vt_settle(c);
}

static void give_numbers(sqlite3_context *ctx, const uint64_t *numbers, unsigned rank)
{
    static const uint64_t zeros[TENSOR_RANK_MAX];
    struct text json = {0};
    shape_print(&json, numbers ? numbers : zeros, rank);
    sql_result_text(ctx, &json);
}

/* One row, of an extent or of a grid's value. */
struct extent_row {
    const struct stored_file *file; /* NULL: none */
    const char *key;                /* below the file, which is a directory; NULL: none */
    uint64_t offset, stored;
    bool stored_known;
    const uint64_t *origin, *shape; /* NULL: zeros; the whole tensor */
    const int64_t *strides;         /* NULL: C order */
    const char *codec;              /* of a single grid value; NULL: the tensor's */
};

static void give_strides(sqlite3_context *ctx, const int64_t *strides, unsigned rank)
{
    struct text json = {0};
    if (!strides)
        return;
    text_addc(&json, '[');
    for (unsigned d = 0; d < rank; d++)
        text_addf(&json, d ? ",%lld" : "%lld", (long long)strides[d]);
    text_addc(&json, ']');
    sql_result_text(ctx, &json);
}

static void give_cell(sqlite3_context *ctx, const struct extent_cursor *c,
                      const struct extent_row *row, int column)
{
    const struct stored_tensor *t = &c->tensor;
    if (column == TENSOR_ID) {
        sqlite3_result_int64(ctx, t->id);
    } else if (column == ORDINAL) {
        sqlite3_result_int64(ctx, (sqlite3_int64)c->of.at);
    } else if (column == FILE_PATH && row->file) {
        struct text path = {0};
        text_adds(&path, row->file->path);
        if (row->key) {
            text_addc(&path, '/');
            text_adds(&path, row->key);
        }
        sql_result_text(ctx, &path);
    } else if (column == OFFSET && row->file) {
        sqlite3_result_int64(ctx, (sqlite3_int64)(row->offset + row->file->base));
    } else if (column == STORED && row->stored_known) {
        sqlite3_result_int64(ctx, (sqlite3_int64)row->stored);
    } else if (column == CODEC) {
        /* `e` NULL: the row is a value of a grid, whose own codec is `own`. */
        const struct extent *e = c->of.at < t->extent_count ? &t->extents[c->of.at] : NULL;
        char filled[CHAIN_BYTES];
        const char *chain;
        struct error err = {.offset = NO_OFFSET};
        if ((e ? extent_chain(t, e, filled, &chain, &err)
               : run_chain(t, row->codec, filled, &chain, &err)) != OK)
            sqlite3_result_error(ctx, err.message, -1);
        else
            sql_result_string(ctx, chain);
    } else if (column == ORIGIN) {
        give_numbers(ctx, row->origin, t->rank);
    } else if (column == SHAPE) {
        give_numbers(ctx, row->shape ? row->shape : t->shape, t->rank);
    } else if (column == STRIDES) {
        give_strides(ctx, row->strides, t->rank);
    }
}

static const struct stored_file *file_at(const struct stored_tensor *t, uint32_t file)
{
    return file < t->file_count ? &t->files[file] : NULL;
}

/* A cell of the current value of a grid. Its box is clipped to the tensor: for a shape [5] in
 * chunks of 4, the second has origin [4] and shape [1]. */
static int give_value(sqlite3_context *ctx, const struct extent_cursor *c, int column)
{
    const struct stored_tensor *t = &c->tensor;
    const struct grid *g = t->grid;
    const struct grid_value *v = g->in_files ? NULL : &g->values[c->of.at];
    uint64_t index = v ? v->index : g->runs[c->run].first + c->within;
    uint64_t origin[TENSOR_RANK_MAX], shape[TENSOR_RANK_MAX];
    struct text key = {0};
    struct extent_row row = {.origin = origin, .shape = shape, .stored_known = v};
    row.file = v && grid_value_inline(v) ? NULL : file_at(t, v ? v->file : g->directory);
    if (v) {
        row.offset = v->offset;
        row.stored = v->stored;
        row.codec = v->codec;
    } else if (column == FILE_PATH) {
        grid_key(g, t->shape, t->rank, index, &key);
        row.key = text_str(&key);
    }
    grid_box(g, t->shape, t->rank, index, origin, shape);
    if (column == FILE_PATH && !v && !row.key)
        sqlite3_result_error_nomem(ctx);
    else
        give_cell(ctx, c, &row, column);
    text_release(&key);
    return SQLITE_OK;
}

static int extent_column(sqlite3_vtab_cursor *base, sqlite3_context *ctx, int column)
{
    const struct extent_cursor *c = (const struct extent_cursor *)base;
    const struct stored_tensor *t = &c->tensor;
    if (t->grid)
        return give_value(ctx, c, column);
    const struct extent *e = &t->extents[c->of.at];
    struct extent_row row = {
        .file = e->bytes ? NULL : file_at(t, e->file),
        .offset = e->offset,
        .stored = e->stored,
        .stored_known = true,
        .origin = e->origin,
        .shape = e->shape,
        .strides = e->strides ? e->strides : t->strides,
    };
    give_cell(ctx, c, &row, column);
    return SQLITE_OK;
}

static const sqlite3_module extent_module = {
    VTAB_COUNTED,
    .xConnect = extent_connect,
    .xBestIndex = extent_plan,
    .xFilter = extent_filter,
    .xNext = extent_next,
    .xColumn = extent_column,
};

int sql_register_extent(sqlite3 *db, struct keeper *k)
{
    static const char *const names[] = {"tensor_extents", "tensor_extents" OF_EXTENSION};
    int rc = SQLITE_OK;
    for (size_t i = 0; rc == SQLITE_OK && i < sizeof(names) / sizeof(names[0]); i++)
        rc = sqlite3_create_module_v2(db, names[i], &extent_module, sql_hold(&k->shared), sql_drop);
    return rc;
}
