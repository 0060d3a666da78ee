#include "catalog/db/alike.h"

#include "catalog/data/model/fields.h"
#include "catalog/db/ids.h"
#include "catalog/db/statement.h"

#define OF_LAYOUT " WHERE id BETWEEN ?1" ID_FIRST "AND ?1" ID_LAST

static void add_text(struct fields *d, sqlite3_stmt *row, int column, struct error *err)
{
    const bool known = sqlite3_column_type(row, column) != SQLITE_NULL;
    const void *text = known ? sqlite3_column_text(row, column) : NULL;
    if (known && !text)
        error_memory(err);
    fields_number(d, known);
    fields_text(d, text, text ? (size_t)sqlite3_column_bytes(row, column) : 0);
}

/* The rows of a query, each behind a 1, and a 0. */
static void digest_rows(struct fields *d, sqlite3 *db, const char *sql, int64_t layout,
                        struct error *err)
{
    sqlite3_stmt *row = db_query(db, err, sql, "i", layout);
    while (db_row(row, NULL, err)) {
        fields_number(d, 1);
        for (int column = 0; column < sqlite3_column_count(row); column++)
            add_text(d, row, column, err);
    }
    fields_number(d, 0);
    sqlite3_finalize(row);
}

void alike_settle(sqlite3 *db, int64_t sum, struct error *err)
{
    sqlite3_stmt *next = db_query(db, err,
                                  "SELECT id FROM _layout_alike WHERE sum = ?1"
                                  " AND digest IS NULL ORDER BY id LIMIT 1",
                                  "i", sum);
    sqlite3_stmt *put = db_query(db, err,
                                 "UPDATE _layout_alike SET digest = ?2, first ="
                                 " coalesce((SELECT first FROM _layout_alike"
                                 " WHERE sum = ?3 AND digest = ?2 LIMIT 1), id) WHERE id = ?1",
                                 "");
    while (db_row(next, NULL, err)) {
        uint8_t digest[FIELDS_DIGEST];
        const int64_t layout = sqlite3_column_int64(next, 0);
        sqlite3_reset(next);
        struct fields d;
        fields_begin(&d);
        digest_rows(&d, db,
                    "SELECT name, dtype, shape FROM _layout_tensors" OF_LAYOUT
                    " ORDER BY name, dtype, shape",
                    layout, err);
        digest_rows(&d, db, "SELECT name, kind FROM _layout_nodes" OF_LAYOUT " ORDER BY name, kind",
                    layout, err);
        fields_end(&d, digest);
        if (err->status != OK)
            break;
        db_bind(put, "ibi", layout, (struct bytes){digest, sizeof(digest)}, sum);
        db_step(db, put, NULL, err);
    }
    sqlite3_finalize(put);
    sqlite3_finalize(next);
}

static int64_t sum_of_names(sqlite3 *db, int64_t layout, struct error *err)
{
    sqlite3_stmt *row =
        db_query(db, err, "SELECT name FROM _layout_tensors" OF_LAYOUT, "i", layout);
    uint64_t sum = 0;
    while (db_row(row, NULL, err)) {
        const char *name = db_text(row, 0);
        if (name)
            sum += fields_sum(name, (size_t)sqlite3_column_bytes(row, 0));
        else
            error_memory(err);
    }
    sqlite3_finalize(row);
    return (int64_t)sum;
}

enum status alike_fill(sqlite3 *db, struct error *err)
{
    sqlite3_stmt *row = db_query(db, err, "SELECT id FROM _layouts ORDER BY id", "");
    sqlite3_stmt *put =
        db_query(db, err, "INSERT OR REPLACE INTO _layout_alike VALUES (?1, ?2, NULL, ?1)", "");
    while (db_row(row, NULL, err)) {
        const int64_t layout = sqlite3_column_int64(row, 0);
        const int64_t sum = sum_of_names(db, layout, err);
        if (err->status != OK)
            break;
        db_bind(put, "ii", layout, sum);
        db_step(db, put, NULL, err);
    }
    sqlite3_finalize(put);
    sqlite3_finalize(row);
    row = db_query(db, err, "SELECT sum FROM _layout_alike GROUP BY sum HAVING count(*) > 1", "");
    while (db_row(row, NULL, err))
        alike_settle(db, sqlite3_column_int64(row, 0), err);
    sqlite3_finalize(row);
    return err->status;
}
