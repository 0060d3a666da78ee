/*
 * The table `tensor` (catalog/sql/vt_tensor.c) has the rows of the view of this name, main.tensor,
 * whatever the statement: at sizes of its own constants, with values of hostile catalogs, while the
 * catalog changes, and in one that is damaged.
 */
#include "catalog/sql/open.h"
#include "catalog/sql/tensor_blocks.h"
#include "tests/unit/unit.h"

/* --- catalogs ----------------------------------------------------------------------------- */

PRINTF_LIKE(2, 3)
static void run(sqlite3 *db, const char *fmt, ...)
{
    va_list args;
    char *message = NULL;
    va_start(args, fmt);
    char *sql = sqlite3_vmprintf(fmt, args);
    va_end(args);
    if (sqlite3_exec(db, sql, NULL, NULL, &message) != SQLITE_OK)
        fail_msg("%s: %s", sql, message);
    sqlite3_free(sql);
}

static sqlite3 *open_catalog(const char *path)
{
    struct error err = {.offset = NO_OFFSET};
    sqlite3 *db = NULL;
    if (db_open(path, DB_CREATE, &db, &err) != OK)
        fail_msg("%s", err.message);
    return db;
}

/* A layout of n tensors in three kinds: NULL, [] and [k,2]. Each is in the k-th of `files` files. */
static void add_layout(sqlite3 *db, int id, int n, int files)
{
    run(db,
        "INSERT INTO _layouts VALUES (%d, CAST('l%d' AS BLOB), x'00', %d, 0, 0, NULL);"
        "WITH RECURSIVE n(k) AS (VALUES (0) UNION ALL SELECT k + 1 FROM n WHERE k < %d - 1)"
        "INSERT INTO _layout_tensors"
        " SELECT %d * 16777216 + k, printf('t%%d.%%s', k / 2, iif(k %% 2, 'W', 'bias')),"
        "  iif(k %% 3, 'float32', NULL), CASE k %% 3 WHEN 1 THEN '[]' WHEN 2 THEN '[4,2]' END,"
        "  nullif(k %% 3 * 4, 0), nullif(k %% 3 * 16, 0), NULL, k %% 6, k %% %d, k * 8, k,"
        "  NULL, NULL, NULL FROM n WHERE %d > 0;"
        "INSERT INTO _layout_kinds(id, dtype, shape, elements, nbytes)"
        " SELECT %d * 16777216 + row_number() OVER () - 1, * FROM ("
        "  SELECT DISTINCT dtype, shape, elements, nbytes FROM _layout_tensors"
        "  WHERE id >> 24 = %d)",
        id, id, n, n, id, files, n, id, id);
}

static void add_checkpoint(sqlite3 *db, int id, int layout, int files)
{
    run(db,
        "INSERT INTO _checkpoints VALUES (%d, '/r/%d.st', 'x', NULL, NULL, NULL, %d, NULL, 0, 0, %d,"
        " NULL, 0);"
        "INSERT INTO _labels(id, name) VALUES (%d, '%d');"
        "WITH RECURSIVE n(k) AS (VALUES (0) UNION ALL SELECT k + 1 FROM n WHERE k < %d - 1)"
        "INSERT INTO _files SELECT %d * 16777216 + k, printf('/r/%d/%%d.st', k), 1, 1, 1, 1, 'data',"
        " k * 1000 FROM n",
        id, id, layout, files, id, id, files, id, id);
}

static void build_indexes(sqlite3 *db)
{
    struct error err = {.offset = NO_OFFSET};
    assert_int_equal(db_build_indexes(db, &err), OK);
}

static sqlite3 *small_catalog(void)
{
    sqlite3 *db = open_catalog(":memory:");
    add_layout(db, 1, 7, 2);
    add_layout(db, 2, 3, 1);
    add_checkpoint(db, 5, 1, 2);
    add_checkpoint(db, 7, 2, 1);
    add_checkpoint(db, 6, 1, 2);
    build_indexes(db);
    return db;
}

/* --- comparing ---------------------------------------------------------------------------- */

/* What a query of one number answers, or -1 - its error code. */
static int64_t number_of(sqlite3 *db, const char *sql)
{
    sqlite3_stmt *s = NULL;
    int rc = sqlite3_prepare_v2(db, sql, -1, &s, NULL);
    if (rc == SQLITE_OK)
        rc = sqlite3_step(s);
    const int64_t number = rc == SQLITE_ROW ? sqlite3_column_int64(s, 0) : -1 - rc;
    sqlite3_finalize(s);
    return number;
}

/* How many rows of `a` with a condition are not rows of `b` with it. */
static int64_t missing(sqlite3 *db, const char *a, const char *b, const char *tail)
{
    char *sql = sqlite3_mprintf("SELECT count(*) FROM (SELECT * FROM %s WHERE %s EXCEPT"
                                " SELECT * FROM %s WHERE %s)",
                                a, tail, b, tail);
    const int64_t n = number_of(db, sql);
    sqlite3_free(sql);
    return n;
}

static int64_t rows_of(sqlite3 *db, const char *from, const char *tail)
{
    char *sql = sqlite3_mprintf("SELECT count(*) FROM %s WHERE %s", from, tail);
    const int64_t n = number_of(db, sql);
    sqlite3_free(sql);
    return n;
}

/* The rows of the view in a table, whose columns have types as those of our table have. */
static void make_flat(sqlite3 *db)
{
    run(db,
        "DROP TABLE IF EXISTS temp.flat;"
        "CREATE TABLE temp.flat(id INTEGER, checkpoint_id INTEGER, checkpoint TEXT, path TEXT,"
        " ord INTEGER, name TEXT, dtype TEXT, shape TEXT, rank INTEGER, elements INTEGER,"
        " nbytes INTEGER, stored INTEGER, storage TEXT, file TEXT, \"offset\" INTEGER,"
        " hash TEXT);"
        "INSERT INTO temp.flat SELECT * FROM main.tensor");
}

static bool is_same(sqlite3 *db, const char *wanted, const char *tail)
{
    const int64_t ours = rows_of(db, "tensor", tail), rows = rows_of(db, wanted, tail);
    const int64_t less = missing(db, wanted, "tensor", tail);
    const int64_t more = missing(db, "tensor", wanted, tail);
    if (ours == rows && ours >= 0 && !less && !more)
        return true;
    print_message("%s: %lld rows instead of %lld, %lld missing, %lld too many: %s\n",
                  tail, (long long)ours, (long long)rows, (long long)less,
                  (long long)more, sqlite3_errmsg(db));
    return false;
}

static void expect_same(sqlite3 *db, const char *tail)
{
    assert_true(is_same(db, "main.tensor", tail));
}

/* --- conditions --------------------------------------------------------------------------- */

static void test_conditions(void **state)
{
    static const char *const cases[] = {
        "name = 5",
        "name = '5'",
        "id = '83886080'",
        "id = 83886080",
        "id = 83886080.0",
        "id = 83886080.5",
        "id > 83886080.5",
        "id < '9'",
        "id > 'x'",
        "id < 'x'",
        "id IS 83886081",
        "id IS NOT 83886081",
        "id IS '83886081'",
        "id IN (83886080, 83886081.0, '83886082', NULL, 5, 'x')",
        "id = NULL",
        "id IS NULL",
        "id > 9223372036854775807",
        "id >= -9223372036854775808",
        "id < 1e30",
        "id > -1e30",
        "id > 1e30",
        "ord = '1'",
        "ord = 1.0",
        "ord < 1.5",
        "ord < 'x'",
        "ord IS NOT NULL",
        "ord BETWEEN '1' AND '3'",
        "checkpoint_id = '5'",
        "checkpoint_id = '5.0'",
        "checkpoint_id = 5.5",
        "checkpoint_id > 5.5",
        "checkpoint_id > 'x'",
        "checkpoint_id < 'x'",
        "checkpoint_id = x'35'",
        "checkpoint_id IS NULL",
        "checkpoint_id IS NOT 5",
        "checkpoint = 5",
        "checkpoint = '5'",
        "checkpoint = 5.0",
        "checkpoint IS NOT '5'",
        "checkpoint < 6",
        "checkpoint > '5'",
        "checkpoint = x'35'",
        "checkpoint COLLATE NOCASE = '5'",
        "path = '/R/5.ST' COLLATE NOCASE",
        "path = '/r/5.st'",
        "path COLLATE RTRIM = '/r/5.st  '",
        "path IS '/r/5.st'",
        "name = 'T0.w' COLLATE NOCASE",
        "name = 'T0.w'",
        "name = 't0.W'",
        "name = 't0.W   ' COLLATE RTRIM",
        "name COLLATE NOCASE > 'T1'",
        "name > 'T1' COLLATE NOCASE AND name < 'T3' COLLATE NOCASE",
        "name > 't1' AND name < 't2'",
        "name >= 't1' AND name <= 't2' AND ord > 1",
        "name > NULL",
        "name IS NULL",
        "name IS NOT NULL",
        "name IS 't0.W'",
        "name IS NOT 't0.W'",
        "name <> 't0.W'",
        "name = x'74302e57'",
        "name > 5",
        "name < 5",
        "name > x'00'",
        "name < x'00'",
        "name LIKE 't0.%'",
        "name LIKE 'T0.%'",
        "name LIKE NULL",
        "name LIKE 't0.w'",
        "name LIKE 't0x%' ESCAPE 'x'",
        "name LIKE 't0x.%' ESCAPE 'x'",
        "name NOT LIKE 't0%'",
        "name GLOB 't0.*'",
        "name GLOB 'T0.*'",
        "name GLOB 't[0-1].*'",
        "name REGEXP '^t0'",
        "name REGEXP 'W$'",
        "name REGEXP NULL",
        "name LIKE 5",
        "name GLOB x'74'",
        "dtype IS NULL",
        "dtype IS NOT NULL",
        "dtype = 'float32'",
        "dtype = 'FLOAT32' COLLATE NOCASE",
        "dtype <> 'float32'",
        "dtype IS NOT 'float32'",
        "dtype < 5",
        "dtype > 5",
        "dtype LIKE 'FLOAT%'",
        "shape = '[]'",
        "shape IS NULL",
        "shape LIKE '[4%'",
        "shape IS NOT '[]'",
        "rank = 0",
        "rank = '0'",
        "rank = 0.0",
        "rank = 2.0",
        "rank > 1.5",
        "rank < 'x'",
        "rank > 'x'",
        "rank IS NULL",
        "rank IS NOT 2",
        "rank IN (0, '2')",
        "elements = 4",
        "elements = '4'",
        "elements = '4.0'",
        "elements = 4.5",
        "elements > 'x'",
        "elements < 'x'",
        "elements < 'x' AND rank = 0",
        "elements IS NULL",
        "elements IS NOT 4",
        "elements BETWEEN 3 AND '9'",
        "nbytes = 16",
        "nbytes < 'x'",
        "nbytes > 'x'",
        "nbytes < x'00'",
        "nbytes <= '16'",
        "nbytes IS NULL",
        "nbytes IS NOT NULL",
        "nbytes <> 16",
        "nbytes LIKE '1%'",
        "nbytes GLOB '1*'",
        "stored = 3",
        "stored = '3'",
        "stored IS NULL",
        "stored < 'x'",
        "storage = 'range'",
        "storage = 'RANGE' COLLATE NOCASE",
        "storage IS NOT 'none'",
        "storage < 5",
        "file = '/r/5/0.st'",
        "file = '/r/5/1.ST' COLLATE NOCASE",
        "file IS '/r/5/1.st'",
        "file IS NULL",
        "file LIKE '/R/5/%'",
        "file > '/r/5'",
        "file = 5",
        "offset = 8",
        "offset = '8'",
        "offset = '1008'",
        "offset < 'x'",
        "offset IS NULL",
        "offset > 1e3",
        "hash IS NULL",
        "hash IS NOT NULL",
        "hash = 'aa'",
        "hash = 'AA' COLLATE NOCASE",
        "hash IS 'aa'",
        "hash IS NOT 'aa'",
        "hash <> 'aa'",
        "hash LIKE 'A%'",
        "hash = 5",
        "hash > 'a'",
        "checkpoint = '5' AND name = 't0.W'",
        "checkpoint_id = 5 AND name IN ('t0.W', 't1.bias', 'none', NULL)",
        "checkpoint_id IN (5, '6', 7.0, NULL) AND ord = 1",
        "name = 't0.W' AND name = 't1.W'",
        "name = 't0.W' AND name LIKE '%w'",
        "name = 't0.W' OR id = 83886080",
        "path = '/r/5.st' AND path = '/r/6.st'",
        "checkpoint_id = 5 AND checkpoint_id = 6",
        "id = 83886080 AND checkpoint_id = 6",
        "id = 83886080 AND checkpoint_id = 5 AND ord = 0 AND name = 't0.bias'",
        "id = 83886087",
        "id = 83886086",
        "id = -1",
        "id > 83886081 AND id < 100663297",
        "id > 83886081 AND id < 100663297 AND name LIKE '%W'",
        "id >= 83886082 AND checkpoint_id = 5 AND nbytes > 0",
        "hash = 'aa' AND name = 't0.bias'",
        "hash = 'aa' AND ord = 0",
        "hash = 'aa' AND nbytes IS NULL",
        "file = '/r/5/0.st' AND name LIKE '%W'",
        "file = '/r/5/0.st' AND ord > 1",
    };
    (void)state;
    sqlite3 *db = small_catalog();
    int bad = 0;
    run(db,
        "INSERT INTO _content_hashes VALUES (1, 'aa');"
        "INSERT INTO _tensor_hashes VALUES (83886080, 1), (83886085, 1), (117440512, 1)");
    expect_same(db, "1");
    make_flat(db);
    for (int sensitive = 0; sensitive < 2; sensitive++) {
        run(db, "PRAGMA case_sensitive_like = %d", sensitive);
        for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++)
            bad += !is_same(db, "temp.flat", cases[i]);
    }
    assert_int_equal(bad, 0);
    db_close(db);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_conditions),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
