#include "catalog/ckptdb.h"
#include "catalog/content/current.h"
#include "catalog/content/stats.h"
#include "catalog/db/db.h"
#include "catalog/sql/extension.h"
#include "catalog/sql/open.h"
#include "tests/unit/unit.h"

/* The file that the inline bytes are said to come from: this program. */
static enum status add_source(sqlite3 *db, struct error *err)
{
    char sql[300];
    struct file_identity now;
    assert_int_equal(OK, file_identify("/proc/self/exe", &now, err));
    snprintf(sql, sizeof(sql),
             "INSERT INTO _files VALUES (117440513, '/proc/self/exe', %llu, %lld, %llu, "
             "%llu, 'data', 0)",
             (unsigned long long)now.size, (long long)now.mtime_ns, (unsigned long long)now.inode,
             (unsigned long long)now.device);
    return db_exec(db, sql, err);
}

/* A catalog with one tensor whose bytes are in the catalog itself: int16 [2] = 1, -2. */
static sqlite3 *catalog(void)
{
    static const char rows[] =
        "INSERT INTO _layouts VALUES (1, x'01', x'01', 3, 4, 8, 4);"
        "INSERT INTO _layout_tensors VALUES"
        " (16777216, 'here', 'int16', '[2]', 2, 4, NULL, 4, NULL, NULL, 4, NULL, NULL,"
        "  x'42000102040100feff'),"
        " (16777217, 'lost', 'int16', '[2]', 2, 4, NULL, 1, 0, 0, 4, NULL, NULL, NULL),"
        " (16777218, 'strings', 'string', '[1]', 1, NULL, NULL, 4, NULL, NULL, 1, 'strings:S1', "
        "NULL,  x'420001020161');"
        "INSERT INTO _checkpoints VALUES (7, '/a/b', 'x', NULL, NULL, NULL, 1, NULL, 0, 4, 0,"
        " NULL, 0);"
        "INSERT INTO _files VALUES (117440512, '/a/gone', NULL, NULL, NULL, NULL, 'data', 0);";
    struct error err = {.offset = NO_OFFSET};
    sqlite3 *db = NULL;
    assert_int_equal(OK, db_open(":memory:", DB_CREATE, &db, &err));
    if (db_exec(db, rows, &err) != OK || add_source(db, &err) != OK)
        print_message("%s\n", err.message);
    assert_int_equal(OK, err.status);
    return db;
}

/* The result of a SELECT of one value: its text, "NULL", or "error: ...". */
static const char *answer(sqlite3 *db, const char *sql, char *out, size_t size)
{
    sqlite3_stmt *s = NULL;
    int rc = sqlite3_prepare_v2(db, sql, -1, &s, NULL);
    if (rc == SQLITE_OK)
        rc = sqlite3_step(s);
    if (rc == SQLITE_ROW)
        snprintf(out, size, "%s",
                 sqlite3_column_type(s, 0) == SQLITE_NULL
                     ? "NULL"
                     : (const char *)sqlite3_column_text(s, 0));
    else
        snprintf(out, size, rc == SQLITE_DONE ? "nothing" : "error: %s", sqlite3_errmsg(db));
    sqlite3_finalize(s);
    return out;
}

static const struct {
    const char *sql, *answer;
    bool reads; /* not behind the noread door */
} cases[] = {
    {"SELECT hex(tensor_bytes(117440512))", "0100FEFF", true},
    {"SELECT hex(tensor_bytes(117440512, 'int32'))", "01000000FEFFFFFF", true},
    {"SELECT substr(tensor_sha256(117440512), 1, 8)", "dd8b10d2", true},
    {"SELECT sum(value) FROM tensor_values(117440512)", "-1", true},
    {"SELECT group_concat(idx) FROM tensor_values(117440512, 1)", "[1]", true},
    {"SELECT tensor_bytes(117440513)", "NULL", true}, /* missing when it was indexed */
    {"SELECT count(*) FROM tensor_values(117440513)", "0", true},
    {"SELECT tensor_bytes(117440514)", "NULL", true},
    {"SELECT value FROM tensor_values(117440514)", "a", true},
    {"SELECT tensor_bytes(117440515)", "error: catalog: there is no tensor 117440515", true},
    {"SELECT tensor_name(117440514)", "strings", false},
    {"SELECT tensor_name(117440515)", "NULL", false},
    {"SELECT tensor_checkpoint(117440514)", "7", false},
    {"SELECT dtype_bits('bfloat16')", "16", false},
    {"SELECT shape_elements('[4,5]')", "20", false},
    {"SELECT stored FROM extent WHERE tensor_id = 117440512", "4", false},
    {"SELECT count(*) FROM extent", "3", false},
};

TEST(test_answers)
{
    char text[300];
    sqlite3 *db = catalog();
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        printf("# %s\n", cases[i].sql);
        assert_string_equal(cases[i].answer, answer(db, cases[i].sql, text, sizeof(text)));
    }
    assert_int_equal(SQLITE_OK, sqlite3_close(db)); /* no statement is left over */
}

/* Through the other door there is nothing that opens a file. */
TEST(test_noread)
{
    char text[300];
    sqlite3 *from = catalog(), *db = NULL;
    assert_int_equal(SQLITE_OK, sqlite3_open(":memory:", &db));
    assert_int_equal(SQLITE_OK, sql_register_all(db, false));
    sqlite3_backup *copy = sqlite3_backup_init(db, "main", from, "main");
    assert_int_equal(SQLITE_DONE, sqlite3_backup_step(copy, -1));
    sqlite3_backup_finish(copy);
    assert_int_equal(SQLITE_OK, sqlite3_close(from));
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        printf("# %s\n", cases[i].sql);
        answer(db, cases[i].sql, text, sizeof(text));
        if (cases[i].reads)
            assert_non_null(strstr(text, "error: no such"));
        else
            assert_string_equal(cases[i].answer, text);
    }
    assert_int_equal(SQLITE_OK, sqlite3_close(db));
}

/* A statement that was interrupted half-way does not keep the connection. */
TEST(test_close_in_the_middle)
{
    sqlite3 *db = catalog();
    sqlite3_stmt *s = NULL;
    assert_int_equal(
        SQLITE_OK, sqlite3_prepare_v2(db, "SELECT * FROM tensor_values(117440512)", -1, &s, NULL));
    assert_int_equal(SQLITE_ROW, sqlite3_step(s));
    assert_int_equal(SQLITE_BUSY, sqlite3_close(db));
    assert_int_equal(SQLITE_OK, sqlite3_finalize(s));
    char text[300];
    assert_string_equal("here", answer(db, "SELECT tensor_name(117440512)", text, sizeof(text)));
    assert_int_equal(SQLITE_OK, sqlite3_close(db));
}

/* Rows that contradict themselves are errors, not reads past an end. */
TEST(test_damaged_rows)
{
    static const struct {
        const char *damage, *part; /* of the error */
    } damages[] = {
        {"shape = '[3]'", "contradicts"},
        {"shape = '[2'", "shape"},
        {"shape = '[99999999999999999999]'", "shape"},
        {"extents = x'4200ff'", "cut short"},
        {"extents = x''", "cut short"},
        {"extents = NULL", "cut short"},
        {"extents = x'42000102ff7f0100'", "cut short"},
        {"extents = x'0000010001040100'", "a part of the tensor"},
        {"extents = x'020001040100feff'", "is unknown"}, /* of no file */
        {"storage = 9", "storage"},
        {"storage = 1, file = 5", "file"},
        {"strides = '[1,2]'", "strides"},
        {"strides = '[x]'", "strides"},
        {"strides = '[5]'", "do not hold"},
        {"codec = 'skip:9'", "skip"},
        {"codec = 'deflate:4'", "defla"},
        {"codec = 'nonsense:4'", "unknown codec"},
        {"dtype = 'no_such_dtype'", "no_such_dtype"},
        {"dtype = NULL", "cannot be read"},
    };
    for (size_t i = 0; i < sizeof(damages) / sizeof(damages[0]); i++) {
        char sql[200], text[300];
        struct error err = {.offset = NO_OFFSET};
        sqlite3 *db = catalog();
        printf("# %s\n", damages[i].damage);
        snprintf(sql, sizeof(sql), "UPDATE _layout_tensors SET %s WHERE id = 16777216",
                 damages[i].damage);
        assert_int_equal(OK, db_exec(db, sql, &err));
        answer(db, "SELECT tensor_bytes(117440512)", text, sizeof(text));
        if (!strstr(text, "error: ") || !strstr(text, damages[i].part))
            print_message("%s\n", text);
        assert_non_null(strstr(text, "error: "));
        assert_non_null(strstr(text, damages[i].part));
        assert_int_equal(SQLITE_OK, sqlite3_close(db));
    }
}

static void add_read(void *context, uint64_t bytes)
{
    *(uint64_t *)context += bytes;
}

/* A comparison reports all bytes of both tensors to its caller; a value that is not such a pointer
 * reports to nobody. */
TEST(test_reading)
{
    static const char *const ways[] = {"NULL", "'int32'", "'int8'", "'float16'"};
    sqlite3 *db = catalog();
    char sql[200], text[300];
    for (size_t i = 0; i < sizeof(ways) / sizeof(ways[0]); i++) {
        uint64_t bytes = 0;
        struct ckptdb_reading reading = {add_read, &bytes, 0};
        sqlite3_stmt *s = NULL;
        snprintf(sql, sizeof(sql), "SELECT tensor_distance(117440512, 117440512, %s, ?1)", ways[i]);
        assert_int_equal(SQLITE_OK, sqlite3_prepare_v2(db, sql, -1, &s, NULL));
        sqlite3_bind_pointer(s, 1, &reading, "ckptdb_reading", NULL);
        assert_int_equal(SQLITE_ROW, sqlite3_step(s));
        assert_int_equal(bytes, 8);
        sqlite3_finalize(s);
    }
    assert_non_null(strstr(
        answer(db, "SELECT tensor_distance(117440512, 117440512, NULL, 7)", text, sizeof(text)),
        "\"unequal\":0"));
    assert_int_equal(SQLITE_OK, sqlite3_close(db));
}

static int stop_now(void *asked)
{
    ++*(int *)asked;
    return 1;
}

/* Functions that read tensors ask whether their statement is interrupted. Nothing else here takes 5,000 steps of
 * SQLite. */
TEST(test_interrupted)
{
    static const char transposed[] =
        "DELETE FROM _layout_tensors WHERE id > 16777216;UPDATE _layouts SET tensors = 1;"
        "UPDATE _layout_tensors SET shape = '[1,2]';"
        "INSERT INTO _layouts VALUES (2, x'02', x'02', 1, 2, 4, 4);"
        "INSERT INTO _layout_tensors VALUES"
        " (33554432, 'here', 'int16', '[2,1]', 2, 4, NULL, 4, NULL, NULL, 4, NULL, NULL,"
        "  x'42000102040100feff');"
        "INSERT INTO _checkpoints VALUES (8, '/a/c', 'x', NULL, NULL, NULL, 2, NULL, 0, 4, 0,"
        " NULL, 0);"
        "INSERT INTO _files SELECT id + 16777216, path, size, mtime_ns, inode, device, role, base"
        " FROM _files;INSERT INTO _content_hashes VALUES (1, '00'), (2, '01');"
        "INSERT INTO _tensor_hashes VALUES (117440512, 1), (134217728, 2)";
    sqlite3 *db = catalog();
    sqlite3_stmt *s = NULL;
    struct error err = {.offset = NO_OFFSET};
    int asked = 0;
    assert_int_equal(OK, db_exec(db, transposed, &err));
    assert_int_equal(SQLITE_OK,
                     sqlite3_prepare_v2(db, "SELECT * FROM infer_pairs(7, 8)", -1, &s, NULL));
    assert_int_equal(SQLITE_ROW, sqlite3_step(s));
    sqlite3_reset(s);
    sqlite3_progress_handler(db, 5000, stop_now, &asked);
    assert_int_equal(SQLITE_INTERRUPT, sqlite3_step(s));
    assert_int_equal(asked, 1);
    sqlite3_finalize(s);
    sqlite3_progress_handler(db, 0, NULL, NULL);
    assert_int_equal(SQLITE_OK, sqlite3_close(db));
}

/* An error while a statement is prepared says what the statement was for. */
TEST(test_what_was_done)
{
    sqlite3 *db = NULL;
    bool complete;
    struct error err = {.offset = NO_OFFSET};
    assert_int_equal(sqlite3_open(":memory:", &db), SQLITE_OK);
    const struct content_work work = {.db = db, .again = true};
    assert_null(content_stamp(db, 1, &err));
    assert_string_equal(err.message, "cannot read the catalog: no such table: _checkpoints");
    error_clear(&err);
    assert_int_not_equal(content_hash(&work, 1, &complete, &err), OK);
    assert_string_equal(err.message, "cannot list the files: no such table: _files");
    error_clear(&err);
    assert_int_equal(sqlite3_exec(db,
                                  "CREATE TABLE _files(id, path, size, mtime_ns, inode, device);"
                                  "CREATE TABLE _checkpoint_hashes(id, hash)",
                                  NULL, NULL, NULL),
                     SQLITE_OK);
    assert_int_not_equal(content_stats(&work, 1, NULL, &complete, &err), OK);
    assert_string_equal(err.message, "cannot keep statistics: no such table: _statistics");
    error_clear(&err);
    assert_int_not_equal(content_hash(&work, 1, &complete, &err), OK);
    assert_string_equal(err.message, "cannot read the catalog: no such table: _content_hashes");
    sqlite3_close(db);
}

RUN_TESTS(NULL, NULL)
