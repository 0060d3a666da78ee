#include "catalog/content/twins.h"

#include "catalog/base/bits.h"
#include "catalog/db/ids.h"
#include "catalog/db/statement.h"

#define SUM_BYTES 4

/* Sizes that several tensors have. A layout counts once for each checkpoint that has it. */
static const char sizes_sql[] =
    "CREATE TEMP TABLE IF NOT EXISTS twin_sizes"
    " (nbytes INTEGER PRIMARY KEY, tensors INTEGER NOT NULL, told INTEGER NOT NULL);"
    "CREATE TEMP TABLE IF NOT EXISTS twin_stated" /* checksums that can be compared */
    " (id INTEGER PRIMARY KEY, nbytes INTEGER NOT NULL, kind TEXT NOT NULL, sum INTEGER NOT NULL);"
    "CREATE TEMP TABLE IF NOT EXISTS twin_sums" /* those that several tensors have */
    " (nbytes INTEGER NOT NULL, sum INTEGER NOT NULL, PRIMARY KEY (nbytes, sum)) WITHOUT ROWID;"
    "DELETE FROM twin_sizes; DELETE FROM twin_stated; DELETE FROM twin_sums;"
    "INSERT INTO twin_sizes SELECT t.nbytes, sum(c.n), 0"
    " FROM (SELECT layout, count(*) AS n FROM _checkpoints GROUP BY layout) c"
    " CROSS JOIN _layout_tensors t ON t.id BETWEEN c.layout" ID_FIRST "AND c.layout" ID_LAST
    " WHERE t.nbytes > 0 GROUP BY t.nbytes HAVING sum(c.n) > 1";

/* The tensors of a checkpoint that are stored unencoded, in one run with one checksum. */
static const char plain_sql[] =
    "SELECT t.id" ID_ORD
    ", t.nbytes FROM _checkpoints c JOIN _layout_tensors t ON t.id BETWEEN c.layout" ID_FIRST
    "AND c.layout" ID_LAST " LEFT JOIN _placements p  ON p.id = iif(c.placed, (c.id" ID_FIRST
    ") + (t.id" ID_ORD "), NULL) WHERE c.id = ?1 AND t.nbytes IN (SELECT nbytes FROM twin_sizes)"
    "  AND iif(c.placed, p.storage, t.storage) = 1  AND iif(c.placed, p.codec, t.codec) IS NULL"
    "  AND iif(c.placed, p.strides, t.strides) IS NULL"
    "  AND iif(c.placed, p.stored, t.stored) = t.nbytes";

/* A size is told apart by checksums if all of its tensors state one, of the same kind. */
static const char told_sql[] =
    "INSERT INTO twin_sums SELECT nbytes, sum FROM twin_stated GROUP BY nbytes, sum HAVING count(*) > 1;"
    "UPDATE twin_sizes SET told = 1 FROM"
    " (SELECT nbytes, count(*) AS n FROM twin_stated GROUP BY nbytes HAVING min(kind) = max(kind)) s"
    " WHERE s.nbytes = twin_sizes.nbytes AND s.n = twin_sizes.tensors";

const char twins_condition[] =
    "EXISTS (SELECT 1 FROM twin_sizes w WHERE w.nbytes = t.nbytes AND (NOT w.told"
    " OR EXISTS (SELECT 1 FROM twin_stated s JOIN twin_sums x"
    "            ON x.nbytes = s.nbytes AND x.sum = s.sum WHERE s.id = t.id)))";

struct stating {
    sqlite3 *db;
    sqlite3_stmt *lists, *plain, *keep;
};

/* The list of checksums is read here once: SQL would copy the whole list for each element. 0 means
 * that there is no checksum. */
static void state_list(struct stating *s, struct error *err)
{
    const sqlite3_int64 checkpoint = sqlite3_column_int64(s->lists, 0);
    const uint8_t *sums = sqlite3_column_blob(s->lists, 2);
    const int count = sqlite3_column_bytes(s->lists, 2) / SUM_BYTES;
    db_bind(s->plain, "i", checkpoint);
    while (db_row(s->plain, "cannot list the tensors", err)) {
        const sqlite3_int64 ord = sqlite3_column_int64(s->plain, 0);
        const uint32_t sum = ord < count ? load_u32le(sums + ord * SUM_BYTES) : 0;
        if (!sum)
            continue;
        db_bind(s->keep, "iivi", (checkpoint << TENSOR_ORD_BITS) + ord,
                sqlite3_column_int64(s->plain, 1), sqlite3_column_value(s->lists, 1), (int64_t)sum);
        db_step(s->db, s->keep, "cannot keep a checksum", err);
    }
    sqlite3_reset(s->plain);
}

/* In a transaction: rows that are committed one by one take twice as long. */
void twins_find(sqlite3 *db, struct error *err)
{
    if (db_exec(db, "SAVEPOINT twins", err) != OK)
        return;
    if (db_exec(db, sizes_sql, err) == OK) {
        struct stating s = {
            .db = db,
            .lists = db_query_to(db, err, DB_READING, "SELECT id, kind, sums FROM _checksums", ""),
            .plain = db_query_to(db, err, DB_READING, plain_sql, ""),
            .keep = db_query_to(db, err, DB_READING,
                                "INSERT INTO twin_stated VALUES (?1, ?2, ?3, ?4)", "")};
        while (db_row(s.lists, "cannot read checksums", err))
            state_list(&s, err);
        sqlite3_finalize(s.lists);
        sqlite3_finalize(s.plain);
        sqlite3_finalize(s.keep);
    }
    if (err->status == OK)
        db_exec(db, told_sql, err);
    struct error ending = {.offset = NO_OFFSET};
    if (db_exec(db, "RELEASE twins", &ending) != OK && err->status == OK)
        *err = ending;
}
