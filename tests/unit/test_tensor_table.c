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

/* List the kinds of tensors that layouts have. */
#define FILL_KINDS                                                                                 \
    "INSERT INTO _layout_kinds(id, dtype, shape, elements, nbytes)"                                \
    " SELECT owner * 16777216 + row_number() OVER (PARTITION BY owner) - 1, dtype, shape,"         \
    "  elements, nbytes FROM (SELECT DISTINCT id >> 24 AS owner, dtype, shape, elements,"          \
    "  nbytes FROM _layout_tensors)"

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
        "  NULL, NULL, NULL FROM n WHERE %d > 0;" FILL_KINDS " WHERE owner = %d",
        id, id, n, n, id, files, n, id);
}

static void add_checkpoint(sqlite3 *db, int id, int layout, int files)
{
    run(db,
        "INSERT INTO _checkpoints VALUES (%d, '/r/%d.st', 'x', NULL, NULL, NULL, %d, NULL, 0, 0, %d,"
        " NULL, 0);INSERT INTO _labels(id, name) VALUES (%d, '%d');"
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

/* The number that a query gives, or -1 - its error code. */
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

/* The rows of the view in a table, whose columns have the same types as our table's. */
static void make_flat(sqlite3 *db)
{
    run(db, "DROP TABLE IF EXISTS temp.flat;"
            "CREATE TABLE temp.flat(id INTEGER, checkpoint_id INTEGER, checkpoint TEXT, path TEXT,"
            " ord INTEGER, name TEXT, dtype TEXT, shape TEXT, rank INTEGER, elements INTEGER,"
            " nbytes INTEGER, stored INTEGER, storage TEXT, file TEXT, \"offset\" INTEGER,"
            " hash TEXT);INSERT INTO temp.flat SELECT * FROM main.tensor");
}

static bool is_same(sqlite3 *db, const char *wanted, const char *tail)
{
    const int64_t ours = rows_of(db, "tensor", tail), rows = rows_of(db, wanted, tail);
    const int64_t less = missing(db, wanted, "tensor", tail);
    const int64_t more = missing(db, "tensor", wanted, tail);
    if (ours == rows && ours >= 0 && !less && !more)
        return true;
    print_message("%s: %lld rows instead of %lld, %lld missing, %lld too many: %s\n", tail,
                  (long long)ours, (long long)rows, (long long)less, (long long)more,
                  sqlite3_errmsg(db));
    return false;
}

static void expect_same(sqlite3 *db, const char *tail)
{
    assert_true(is_same(db, "main.tensor", tail));
}

/* --- conditions --------------------------------------------------------------------------- */

static const char *const conditions[] = {
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

TEST(test_conditions)
{
    sqlite3 *db = small_catalog();
    int bad = 0;
    run(db, "INSERT INTO _content_hashes VALUES (1, 'aa');"
            "INSERT INTO _tensor_hashes VALUES (83886080, 1), (83886085, 1), (117440512, 1)");
    expect_same(db, "1");
    make_flat(db);
    for (int sensitive = 0; sensitive < 2; sensitive++) {
        run(db, "PRAGMA case_sensitive_like = %d", sensitive);
        for (size_t i = 0; i < sizeof(conditions) / sizeof(conditions[0]); i++)
            bad += !is_same(db, "temp.flat", conditions[i]);
    }
    assert_int_equal(bad, 0);
    db_close(db);
}

/* --- sizes -------------------------------------------------------------------------------- */

static const char *const asked_of_sizes[] = {
    "1",
    "ord % 3 = 1",
    "name LIKE '%W'",
    "nbytes > 0",
    "dtype IS NULL",
    "checkpoint_id = 3",
    "checkpoint_id = 3 AND name IN ('t0.W', 't0.bias', 't1.W', 't1.bias')",
    "checkpoint_id = 3 AND name IN ('t0.W', 't0.bias', 't1.W', 't1.bias', 't2.W')",
    "checkpoint_id = 3 AND ord < 4",
    "checkpoint_id = 3 AND ord < 5",
    "checkpoint_id = 3 AND ord IN (0, 63, 64, 127, 128, 511, 512, 513)",
    "name = 't31.W'",
    "name > 't2' AND name < 't3'",
    "file = '/r/3/63.st'",
    "file = '/r/3/64.st'",
    "id IN (SELECT id FROM tensor ORDER BY name DESC LIMIT 7)",
    "id IN (SELECT id FROM tensor ORDER BY id DESC LIMIT 700)",
    "id IN (SELECT max(id) FROM tensor GROUP BY dtype, shape)",
};

/* Rows by storage, where one checkpoint has other places than its layout, and lacks some. */
static void expect_same_storage(sqlite3 *db)
{
    static const char *const lists[] = {
        "SELECT DISTINCT storage AS row FROM %s ORDER BY storage",
        "SELECT DISTINCT storage AS row FROM %s WHERE storage <> 'range' ORDER BY storage DESC",
        "SELECT storage || count(*) || ' ' || sum(id) AS row FROM %s GROUP BY storage"
        " ORDER BY storage",
        "SELECT storage || count(*) || ' ' || sum(ord) AS row FROM %s"
        " WHERE name LIKE '%%W' AND checkpoint_id > 3 GROUP BY storage ORDER BY storage DESC",
        "SELECT storage || checkpoint_id || ' ' || sum(stored) AS row FROM %s"
        " WHERE id > (4 << 24) + 2 GROUP BY storage, checkpoint_id ORDER BY storage, checkpoint_id",
        "SELECT id AS row FROM %s ORDER BY storage, id",
        "SELECT id AS row FROM %s WHERE name = 't1.W' ORDER BY storage DESC, checkpoint_id, id",
        "SELECT storage || id AS row FROM (SELECT * FROM %s ORDER BY storage, rank, id LIMIT 9)",
    };
    for (size_t i = 0; i < sizeof(lists) / sizeof(lists[0]); i++) {
        char *ours = sqlite3_mprintf(lists[i], "tensor");
        char *views = sqlite3_mprintf(lists[i], "main.tensor");
        char *sql = sqlite3_mprintf("SELECT (SELECT group_concat(row) FROM (%s))"
                                    " IS (SELECT group_concat(row) FROM (%s))",
                                    ours, views);
        if (asked(db, sql) != 1)
            fail_msg("%s", ours);
        sqlite3_free(sql);
        sqlite3_free(views);
        sqlite3_free(ours);
    }
}

static void check_sizes(int tensors, int files, bool placed)
{
    sqlite3 *db = open_catalog(":memory:");
    add_layout(db, 1, tensors, files);
    add_layout(db, 2, 6, 3);
    add_checkpoint(db, 3, 1, files);
    add_checkpoint(db, 4, 2, 3);
    add_checkpoint(db, 5, 1, files);
    if (placed)
        run(db,
            "INSERT INTO _placements SELECT (3 << 24) + (id & 16777215), 1,"
            " id * 7 %% %d, id & 511, 9, NULL, NULL, NULL FROM _layout_tensors"
            " WHERE id >> 24 = 1 AND id %% 5;UPDATE _checkpoints SET placed = 1 WHERE id = 3",
            files);
    build_indexes(db);
    for (size_t i = 0; i < sizeof(asked_of_sizes) / sizeof(asked_of_sizes[0]); i++)
        expect_same(db, asked_of_sizes[i]);
    expect_same_storage(db);
    db_close(db);
}

TEST(test_sizes)
{
    static const int tensors[] = {0, 1, 4, 5, 511, 512, 513, 1023, 1024, 1025};
    for (size_t i = 0; i < sizeof(tensors) / sizeof(tensors[0]); i++) {
        check_sizes(tensors[i], 1, false);
        check_sizes(tensors[i], 64, true);
    }
    check_sizes(600, 511, false);
    check_sizes(600, 512, false);
    check_sizes(600, 513, false);
    check_sizes(1100, 1025, true);
}

/* More than is kept (BLOCKS_BYTES): blocks are dropped under the statements that use them. */
TEST(test_memory)
{
    sqlite3 *db = open_catalog(":memory:");
    for (int i = 1; i <= 5; i++) {
        add_layout(db, i, 700, 1);
        add_checkpoint(db, i + 10, i, 1);
    }
    run(db, "UPDATE _layout_tensors SET name = printf('%%050000d.', id) || name");
    assert_true(asked(db, "SELECT sum(length(name)) FROM main.tensor") > (int64_t)BLOCKS_BYTES);
    const char *const orders[] = {"", "ORDER BY shape, dtype", "ORDER BY id DESC"};
    for (size_t i = 0; i < sizeof(orders) / sizeof(orders[0]); i++) {
        char *sql = sqlite3_mprintf(
            "SELECT count(*) FROM (SELECT id, length(name), substr(name, -30), shape"
            " FROM (SELECT * FROM tensor %s LIMIT 1000000)"
            " EXCEPT SELECT id, length(name), substr(name, -30), shape FROM main.tensor)",
            orders[i]);
        assert_int_equal(asked(db, sql), 0);
        sqlite3_free(sql);
    }
    assert_int_equal(asked(db, "SELECT count(DISTINCT name) FROM tensor"), 3500);
    db_close(db);
}

/* --- hostile values ------------------------------------------------------------------------ */

TEST(test_hostile_values)
{
    static const char *const cases[] = {
        "1",
        "name = 'a'",
        "name > ''",
        "name = CAST(x'610062' AS TEXT)",
        "name = ''",
        "name LIKE 'a%'",
        "name GLOB 'a*'",
        "name > 'a' AND name < 'b'",

        "rank = 1",
        "rank > 1",
        "elements < 0",
        "nbytes > 1e18",
        "nbytes IN (SELECT max(nbytes) FROM tensor)",
        "offset > 0",
        "file IS NULL",
        "storage = 'none'",
        "dtype = 'float32'",
        "id IN (SELECT id FROM tensor ORDER BY name, shape LIMIT 5)",
        "name IN (SELECT DISTINCT name FROM tensor)",
        "file = CAST(x'2f00ff' AS TEXT)",
    };
    sqlite3 *db = small_catalog();
    run(db,
        "UPDATE _layout_tensors SET name = CAST(x'610062' AS TEXT), shape = '' WHERE id = 1 << 24;"
        "UPDATE _layout_tensors SET name = CAST(x'ff61' AS TEXT), shape = '3' WHERE id = (1 << 24) + 1;"
        "UPDATE _layout_tensors SET name = 'a', shape = CAST(x'5b312c00322c335d' AS TEXT),"
        " dtype = CAST(x'666c00' AS TEXT) WHERE id = (1 << 24) + 2;"
        "UPDATE _layout_tensors SET name = '', elements = -1, nbytes = 9223372036854775807"
        " WHERE id = (1 << 24) + 3;"
        "UPDATE _layout_tensors SET storage = 99, file = -7 WHERE id = (1 << 24) + 4;"
        "UPDATE _layout_tensors SET storage = 1, file = 9223372036854775807 WHERE id = (1 << 24) + 5;"
        "UPDATE _layout_tensors SET storage = 1, file = 0, start = 9223372036854775807, stored = -1"
        " WHERE id = (1 << 24) + 6;"
        "UPDATE _layout_tensors SET storage = 1, file = 16777215 WHERE id = (2 << 24);"
        "UPDATE _files SET path = CAST(x'2f00ff' AS TEXT), base = 9223372036854775807"
        " WHERE id = (5 << 24);UPDATE _labels SET name = CAST(x'00' AS TEXT) WHERE id = 7;"
        "DELETE FROM _labels WHERE id = 6;DELETE FROM _layout_kinds;" FILL_KINDS);
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++)
        expect_same(db, cases[i]);
    db_close(db);
}

/* --- damage ------------------------------------------------------------------------------- */

/* A statement on a damaged catalog fails and says so. */
static void expect_damage(sqlite3 *db, const char *sql)
{
    const int64_t ours = number_of(db, sql);
    const bool said = strstr(sqlite3_errmsg(db), "the catalog is damaged: layout") != NULL;
    if (ours >= 0 || !said)
        fail_msg("%s: %lld, %s", sql, (long long)ours, sqlite3_errmsg(db));
}

TEST(test_damage)
{
    static const char *const damage[] = {
        "DELETE FROM _layout_tensors WHERE id = (1 << 24) + 3",
        "DELETE FROM _layout_tensors WHERE id = (1 << 24) + 6",
        "DELETE FROM _layout_tensors",
        "UPDATE _layouts SET tensors = -1",
        "UPDATE _layouts SET tensors = 6 WHERE id = 1",
        "UPDATE _layouts SET tensors = 16777216",
        "UPDATE _layouts SET tensors = 16777217",
        "UPDATE _layouts SET tensors = 9223372036854775807",
        "PRAGMA foreign_keys = 0; DELETE FROM _layouts WHERE id = 1",
        "PRAGMA foreign_keys = 0; UPDATE _checkpoints SET layout = -1",
        "PRAGMA foreign_keys = 0; UPDATE _checkpoints SET layout = 9223372036854775807",
    };
    for (size_t i = 0; i < sizeof(damage) / sizeof(damage[0]); i++) {
        sqlite3 *db = small_catalog();
        print_message("%s\n", damage[i]);
        run(db, "%s", damage[i]);
        expect_damage(db, "SELECT count(name) FROM tensor");
        expect_damage(db, "SELECT count(name) FROM tensor WHERE checkpoint_id = 5");
        expect_damage(db, "SELECT count(*) FROM tensor WHERE name LIKE '%W' AND nbytes > 0");
        expect_damage(db, "SELECT sum(nbytes) FROM (SELECT nbytes FROM tensor ORDER BY id DESC"
                          " LIMIT 100)");
        number_of(db, "SELECT count(*) FROM tensor WHERE name = 't0.W'");
        number_of(db, "SELECT count(*) FROM (SELECT * FROM tensor ORDER BY dtype, name)");
        number_of(db, "SELECT count(*) FROM (SELECT DISTINCT dtype FROM tensor)");
        number_of(db, "SELECT offset FROM tensor WHERE id = 83886083");
        db_close(db);
    }
}

/* Kinds missing from a layout do not count as values missing from its tensors. */
TEST(test_without_kinds)
{
    static const char *const cases[] = {"dtype = 'float32'", "shape IS NULL", "rank = 2",
                                        "nbytes > 0 AND name LIKE '%W'"};
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        sqlite3 *db = small_catalog();
        run(db, "DELETE FROM _layout_kinds");
        expect_same(db, cases[i]);
        db_close(db);
    }
    sqlite3 *db = small_catalog();
    run(db, "DELETE FROM _layout_kinds WHERE id = 1 << 24");
    expect_damage(db, "SELECT count(*) FROM (SELECT id FROM tensor ORDER BY nbytes DESC, id)");
    expect_damage(db, "SELECT count(*) FROM (SELECT * FROM largest LIMIT 100)");
    db_close(db);
}

/* Sizes that several kinds of a layout have, several layouts, or none. */
TEST(test_order_of_sizes)
{
    static const char *const orders[] = {"nbytes, id", "nbytes DESC, id",
                                         "nbytes, checkpoint_id, ord",
                                         "nbytes DESC, checkpoint_id, ord"};
    for (size_t i = 0; i < sizeof(orders) / sizeof(orders[0]); i++) {
        sqlite3 *db = small_catalog();
        run(db,
            "UPDATE _layout_tensors SET nbytes = 16 WHERE nbytes = 32 AND id >> 24 = 1;"
            "UPDATE _layout_tensors SET nbytes = 9223372036854775807 WHERE id = 2 << 24;"
            "UPDATE _layout_tensors SET nbytes = -1 WHERE id = (1 << 24) + 3;"
            "DELETE FROM _layout_kinds;" FILL_KINDS
            ";CREATE TEMP TABLE ours AS SELECT id FROM tensor ORDER BY %s;"
            "CREATE TEMP TABLE wanted AS SELECT id FROM main.tensor ORDER BY %s",
            orders[i], orders[i]);
        print_message("%s\n", orders[i]);
        assert_int_equal(number_of(db, "SELECT count(*) FROM ours o JOIN wanted w"
                                       " ON w.rowid = o.rowid AND w.id = o.id"),
                         17);
        db_close(db);
    }
}

/* --- changes ------------------------------------------------------------------------------ */

static void expect_all_same(sqlite3 *db)
{
    expect_same(db, "1");
    expect_same(db, "name = 't0.W'");
    expect_same(db, "name >= 'new' AND name < 'o'");
    expect_same(db, "nbytes = 77");
    expect_same(db, "id IN (SELECT id FROM tensor ORDER BY shape, name LIMIT 4)");
    expect_same(db, "dtype IN (SELECT DISTINCT dtype FROM tensor)");
}

TEST(test_rollback)
{
    static const char *const changes[] = {
        "UPDATE _layout_tensors SET name = 'new' || id, nbytes = 77, shape = '[7]';"
        "UPDATE _layout_kinds SET nbytes = 77, shape = '[7]'",
        "DELETE FROM _layout_tensors WHERE id >> 24 = 1;"
        "UPDATE _layouts SET tensors = 0 WHERE id = 1",
        "UPDATE _checkpoints SET layout = 2",
        "DELETE FROM _checkpoints WHERE id = 6",
        "UPDATE _files SET path = path || '.new'",
    };
    for (size_t i = 0; i < sizeof(changes) / sizeof(changes[0]); i++) {
        sqlite3 *db = small_catalog();
        expect_all_same(db);
        run(db, "BEGIN; SAVEPOINT a");
        expect_all_same(db);
        run(db, "%s", changes[i]);
        expect_all_same(db);
        run(db, "ROLLBACK TO a");
        expect_all_same(db);
        run(db, "%s", changes[i]);
        expect_all_same(db);
        run(db, "ROLLBACK");
        expect_all_same(db);
        run(db, "%s", changes[i]);
        expect_all_same(db);
        db_close(db);
    }
}

/* While one connection goes through tensors, another one adds some. */
TEST_IN(test_writer_beside, enter_folder, leave_folder)
{
    sqlite3 *db = open_catalog("beside.db"), *writer;
    sqlite3_stmt *s = NULL;
    add_layout(db, 1, 700, 2);
    add_checkpoint(db, 5, 1, 2);
    run(db, "PRAGMA journal_mode = WAL");
    writer = open_catalog("beside.db");
    assert_int_equal(sqlite3_prepare_v2(db, "SELECT name FROM tensor", -1, &s, NULL), SQLITE_OK);
    for (int row = 0; row < 3; row++)
        assert_int_equal(sqlite3_step(s), SQLITE_ROW);
    run(writer, "UPDATE _layout_tensors SET name = 'new' || id, nbytes = 77;"
                "UPDATE _layout_kinds SET nbytes = 77");
    add_layout(writer, 2, 9, 1);
    add_checkpoint(writer, 6, 2, 1);
    expect_all_same(writer);
    expect_all_same(db);
    int rows = 3;
    while (sqlite3_step(s) == SQLITE_ROW) {
        assert_memory_equal(sqlite3_column_text(s, 0), "t", 1);
        rows++;
    }
    assert_int_equal(rows, 700);
    sqlite3_finalize(s);
    assert_int_equal(asked(db, "SELECT count(*) FROM tensor WHERE nbytes = 77"), 700);
    expect_all_same(db);
    db_close(writer);
    db_close(db);
}

/* --- interruption ------------------------------------------------------------------------- */

static int stop_once(void *left)
{
    return --*(int *)left == 0;
}

/* Rows half read when a statement was interrupted are not taken for all rows. */
TEST(test_interrupted)
{
    static const char *const asked_for[] = {
        "SELECT count(*), sum(length(name)), sum(stored) FROM tensor",
        "SELECT count(*) FROM (SELECT * FROM tensor ORDER BY shape, dtype, name)",
        "SELECT count(*) FROM tensor WHERE name LIKE '%W'",
        "SELECT count(DISTINCT file), count(hash) FROM tensor WHERE name > 't1' AND name < 't2'",
    };
    for (size_t i = 0; i < sizeof(asked_for) / sizeof(asked_for[0]); i++) {
        bool ended = false;
        for (int n = 1; !ended; n += 1 + n / 4) {
            sqlite3 *db = small_catalog();
            int left = n;
            add_layout(db, 3, 1100, 70);
            add_checkpoint(db, 9, 3, 70);
            sqlite3_progress_handler(db, 20, stop_once, &left);
            const int64_t got = number_of(db, asked_for[i]);
            sqlite3_progress_handler(db, 0, NULL, NULL);
            ended = got >= 0;
            assert_true(ended || got == -1 - SQLITE_INTERRUPT);
            expect_same(db, "1");
            expect_same(db, "name LIKE '%W' AND shape = '[4,2]'");
            db_close(db);
        }
    }
}

RUN_TESTS(NULL, NULL)
