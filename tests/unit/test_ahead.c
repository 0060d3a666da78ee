/* Writing to the disk starts before the commit (ahead.h), and an error that it reports ends the writing. */

#include "catalog/db/ahead.h"
#include "catalog/sql/open.h"
#include "tests/unit/unit.h"

struct place {
    char root[FOLDER_BYTES], path[FOLDER_BYTES + 16];
    sqlite3 *db;
    sqlite3_file *file;
    const sqlite3_io_methods *methods;
};

/* SQLite's methods of the catalog's file, with a sync that counts, and fails once. */
static struct {
    sqlite3_io_methods methods;
    int (*sync)(sqlite3_file *, int flags);
    int calls, failing; /* failing: the number of the call that fails, 0: none */
} shim;

static int shim_sync(sqlite3_file *file, int flags)
{
    int call = __atomic_add_fetch(&shim.calls, 1, __ATOMIC_SEQ_CST);
    return call == shim.failing ? SQLITE_IOERR_FSYNC : shim.sync(file, flags);
}

static void run(struct place *p, const char *sql)
{
    char *message = NULL;
    if (sqlite3_exec(p->db, sql, NULL, NULL, &message) != SQLITE_OK)
        fail_msg("%s: %s", sql, message);
}

static int ask(struct place *p, const char *sql)
{
    sqlite3_stmt *s = NULL;
    assert_int_equal(sqlite3_prepare_v2(p->db, sql, -1, &s, NULL), SQLITE_OK);
    assert_int_equal(sqlite3_step(s), SQLITE_ROW);
    int value = sqlite3_column_int(s, 0);
    sqlite3_finalize(s);
    return value;
}

static int setup(void **state)
{
    static struct place p;
    struct error err = {.offset = NO_OFFSET};
    memset(&shim, 0, sizeof(shim));
    folder_make(p.root);
    snprintf(p.path, sizeof(p.path), "%s/c.db", p.root);
    *state = &p;
    if (db_open(p.path, DB_CREATE, &p.db, &err) != OK ||
        sqlite3_file_control(p.db, "main", SQLITE_FCNTL_FILE_POINTER, &p.file) != SQLITE_OK)
        return -1;
    p.methods = p.file->pMethods;
    shim.methods = *p.methods;
    shim.sync = p.methods->xSync;
    shim.methods.xSync = shim_sync;
    p.file->pMethods = &shim.methods;
    return 0;
}

static int teardown(void **state)
{
    struct place *p = *state;
    p->file->pMethods = p->methods;
    db_close(p->db);
    folder_remove(p->root);
    return 0;
}

/* A catalog without indexes, of `tensors` of a mebibyte each. */
static void fill(struct place *p, int tensors)
{
    char sql[400];
    snprintf(sql, sizeof(sql),
             "WITH RECURSIVE n(i) AS (SELECT 0 UNION ALL SELECT i + 1 FROM n WHERE i < %d - 1)"
             "INSERT INTO _layout_tensors(id, name, storage, extents)"
             " SELECT (1 << 24) + i, 't' || i, 3, zeroblob(1 << 20) FROM n",
             tensors);
    run(p, sql);
    shim.calls = 0;
}

#define INDEXES                                                                                    \
    "SELECT count(*) FROM sqlite_schema WHERE name IN ('_layout_tensors_by_name',"                 \
    " '_issues_by_checkpoint')"

TEST_IN(test_syncs, setup, teardown)
{
    struct place *p = *state;
    struct error err = {.offset = NO_OFFSET};
    fill(p, 17);
    struct ahead *a = ahead_start(p->db, false);
    assert_non_null(a);
    assert_int_equal(ahead_end(a, &err), OK);
    assert_in_range(shim.calls, 1, 100);
    assert_int_equal(db_build_indexes(p->db, &err), OK);
    assert_int_equal(ask(p, INDEXES), 2);
}

/* The system reports a failed write to a process only once: the commit's own sync would succeed. */
TEST_IN(test_failure_ends_the_writing, setup, teardown)
{
    struct place *p = *state;
    struct error err = {.offset = NO_OFFSET};
    fill(p, 17);
    shim.failing = 1;
    assert_int_equal(db_build_indexes(p->db, &err), ERR_IO);
    assert_string_equal(err.message, "cannot write the catalog: disk I/O error");
    assert_int_equal(shim.calls, 1);
    assert_int_equal(ask(p, INDEXES), 0);
    assert_int_equal(ask(p, "SELECT count(*) FROM _layout_tensors"), 17);
}

TEST_IN(test_small_file, setup, teardown)
{
    struct place *p = *state;
    fill(p, 1);
    assert_null(ahead_start(p->db, false));
}

/* Of the WAL, however small, once it is open; the catalog's own file is left alone. */
TEST_IN(test_wal, setup, teardown)
{
    struct place *p = *state;
    struct error err = {.offset = NO_OFFSET};
    assert_null(ahead_start(p->db, true));
    run(p, "PRAGMA journal_mode = WAL");
    fill(p, 1);
    struct ahead *a = ahead_start(p->db, true);
    assert_non_null(a);
    assert_int_equal(ahead_end(a, &err), OK);
    assert_int_equal(shim.calls, 0);
}

/* The earlier failure is reported, not the disk's later answer. */
TEST_IN(test_first_error_stays, setup, teardown)
{
    struct place *p = *state;
    struct error err = {.offset = NO_OFFSET};
    fill(p, 17);
    shim.failing = 1;
    struct ahead *a = ahead_start(p->db, false);
    assert_non_null(a);
    error_set(&err, ERR_BUSY, "x", NO_OFFSET, "busy");
    assert_int_equal(ahead_end(a, &err), ERR_BUSY);
    assert_int_equal(ahead_end(NULL, &err), ERR_BUSY);
}

TEST(test_memory)
{
    sqlite3 *db = NULL;
    struct error err = {.offset = NO_OFFSET};
    assert_int_equal(db_open(":memory:", DB_CREATE, &db, &err), OK);
    assert_null(ahead_start(db, false));
    db_close(db);
}

RUN_TESTS(NULL, NULL)
