#include "catalog/db/alike.h"

#include <string.h>

#include "catalog/base/arena.h"
#include "catalog/data/model/fields.h"
#include "catalog/data/model/tensor.h"
#include "catalog/db/ids.h"
#include "catalog/db/statement.h"

#define OF_LAYOUT " WHERE id BETWEEN ?1" ID_FIRST "AND ?1" ID_LAST

static const char *alike_text(sqlite3_stmt *row, int column)
{
    return (const char *)sqlite3_column_text(row, column);
}

/* A text with a NUL is read as far as its length says. */
static void add_tensor_row(struct fields *d, sqlite3_stmt *row, struct error *err)
{
    struct arena arena = {0};
    uint64_t none = 0, *shape = &none;
    unsigned rank = 0;
    const char *name = alike_text(row, 0), *json = alike_text(row, 2);
    if (!name || (json && !shape_parse(json, &arena, &shape, &rank) && !shape))
        error_memory(err);
    else
        fields_tensor(d, name, (size_t)sqlite3_column_bytes(row, 0), alike_text(row, 1), shape,
                      json ? (int)rank : -1);
    arena_release(&arena);
}

static void alike_digest(sqlite3 *db, int64_t layout, uint64_t tensors, uint8_t out[FIELDS_DIGEST],
                         struct error *err)
{
    struct fields d;
    fields_begin(&d);
    fields_number(&d, tensors);
    sqlite3_stmt *row = db_query(db, err,
                                 "SELECT name, dtype, shape FROM _layout_tensors" OF_LAYOUT
                                 " ORDER BY name, dtype, shape",
                                 "i", layout);
    while (err->status == OK && row && db_row(row, NULL, err))
        add_tensor_row(&d, row, err);
    sqlite3_finalize(row);
    row = db_query(db, err, "SELECT name, kind FROM _layout_nodes" OF_LAYOUT " ORDER BY name, kind",
                   "i", layout);
    while (err->status == OK && row && db_row(row, NULL, err))
        fields_node(&d, alike_text(row, 0), alike_text(row, 1), 0);
    sqlite3_finalize(row);
    fields_end(&d, out);
}

enum status alike_fill(sqlite3 *db, struct error *err)
{
    sqlite3_stmt *row = db_query(db, err, "SELECT id, tensors FROM _layouts ORDER BY id", "");
    sqlite3_stmt *put = db_query(db, err,
                                 "INSERT OR REPLACE INTO _layout_alike VALUES (?1, ?2,"
                                 " coalesce((SELECT first FROM _layout_alike"
                                 " WHERE digest = ?2 LIMIT 1), ?1))",
                                 "");
    while (err->status == OK && row && db_row(row, NULL, err)) {
        uint8_t digest[FIELDS_DIGEST];
        const int64_t layout = sqlite3_column_int64(row, 0);
        alike_digest(db, layout, (uint64_t)sqlite3_column_int64(row, 1), digest, err);
        sqlite3_bind_int64(put, 1, layout);
        sqlite3_bind_blob(put, 2, digest, sizeof(digest), SQLITE_TRANSIENT);
        if (err->status == OK)
            db_step(db, put, NULL, err);
    }
    sqlite3_finalize(put);
    sqlite3_finalize(row);
    return err->status;
}
