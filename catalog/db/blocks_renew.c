#include "catalog/db/blocks_renew.h"

#include "catalog/base/text.h"
#include "catalog/db/ids.h"
#include "catalog/db/statement.h"
#include "catalog/model/blocks.h"

static const char wanting_sql[] = "SELECT id FROM layouts WHERE tensors >= ?1"
                                  " AND id NOT IN (SELECT id FROM layout_blocks)";
static const char rows_sql[] =
    "SELECT name, dtype, shape FROM layout_tensors"
    " WHERE id BETWEEN ?1" ID_FIRST "AND ?1" ID_LAST "ORDER BY id";
static const char blocks_put_sql[] = "INSERT INTO layout_blocks VALUES (?1, ?2)";

/* The statements of a renewal. */
struct renewal {
    sqlite3_stmt *wanting, *rows, *put;
};

static enum status renew_layout(sqlite3 *db, struct renewal *r, struct error *err)
{
    const sqlite3_int64 id = sqlite3_column_int64(r->wanting, 0);
    struct blocks b;
    blocks_begin(&b);
    sqlite3_bind_int64(r->rows, 1, id);
    while (db_row(r->rows, "cannot read a layout", err)) {
        const char *name = (const char *)sqlite3_column_text(r->rows, 0);
        blocks_add(&b, (struct block_row){name ? name : "",
                                          (size_t)sqlite3_column_bytes(r->rows, 0),
                                          (const char *)sqlite3_column_text(r->rows, 1),
                                          (const char *)sqlite3_column_text(r->rows, 2)});
    }
    sqlite3_reset(r->rows);
    const struct bytes all = blocks_end(&b);
    if (err->status == OK && !all.at)
        error_memory(err);
    if (err->status == OK) {
        sqlite3_bind_int64(r->put, 1, id);
        sqlite3_bind_blob64(r->put, 2, all.at, all.len, SQLITE_STATIC);
        db_step(db, r->put, "cannot keep what a layout consists of", err);
        sqlite3_clear_bindings(r->put);
    }
    blocks_release(&b);
    return err->status;
}

enum status blocks_renew(sqlite3 *db, struct error *err)
{
    struct renewal r = {0};
    if (sqlite3_prepare_v2(db, wanting_sql, -1, &r.wanting, NULL) != SQLITE_OK ||
        sqlite3_prepare_v2(db, rows_sql, -1, &r.rows, NULL) != SQLITE_OK ||
        sqlite3_prepare_v2(db, blocks_put_sql, -1, &r.put, NULL) != SQLITE_OK)
        db_error(db, NULL, err);
    else
        sqlite3_bind_int64(r.wanting, 1, BLOCKS_FROM);
    while (err->status == OK && db_row(r.wanting, NULL, err))
        renew_layout(db, &r, err);
    sqlite3_finalize(r.wanting);
    sqlite3_finalize(r.rows);
    sqlite3_finalize(r.put);
    return err->status;
}
