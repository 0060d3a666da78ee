/* The cases of tests/golden/ (answers of the original functions) through the views. */

#include "catalog/db/db.h"
#include "catalog/sql/open.h"
#include "tests/unit/unit.h"

static sqlite3 *db;

static int open_catalog(void **state)
{
    (void)state;
    struct error err = {0};
    return db_open(":memory:", DB_CREATE, &db, &err) != OK || db_build_indexes(db, &err) != OK;
}

static int close_catalog(void **state)
{
    (void)state;
    db_close(db);
    return 0;
}

/* Run a statement with ?1 and ?2 bound; its first value as text, malloc'ed. */
static char *ask(const char *sql, const char *first, sqlite3_int64 second)
{
    sqlite3_stmt *s = NULL;
    if (sqlite3_prepare_v2(db, sql, -1, &s, NULL) != SQLITE_OK)
        fail_msg("%s: %s", sql, sqlite3_errmsg(db));
    sqlite3_bind_text(s, 1, first, -1, SQLITE_STATIC);
    if (sqlite3_bind_parameter_count(s) > 1)
        sqlite3_bind_int64(s, 2, second);
    int rc = sqlite3_step(s);
    const char *text = rc == SQLITE_ROW ? (const char *)sqlite3_column_text(s, 0) : NULL;
    char *copy = text ? strdup(text) : NULL;
    if (rc != SQLITE_ROW && rc != SQLITE_DONE)
        fail_msg("%s: %s", sql, sqlite3_errmsg(db));
    sqlite3_finalize(s);
    return copy;
}

static void run(const char *sql, const char *first, sqlite3_int64 second)
{
    free(ask(sql, first, second));
}

/* A names-only checkpoint of the object or array `json`; null values are null leaves. */
static sqlite3_int64 checkpoint_of(const char *json, sqlite3_int64 id)
{
    run("INSERT INTO _layouts SELECT ?2, CAST('layout ' || ?2 AS BLOB), x'', 0, 0, 0, "
        "NULL WHERE ?1 <> ''",
        json, id);
    run("INSERT INTO _layout_tensors(id, name, dtype, storage)"
        " SELECT ?2 << 24 | row_number() OVER (ORDER BY e.id) - 1,"
        "  iif(json_type(?1) = 'array', e.value, e.key), 'int64', 0"
        " FROM json_each(?1) e WHERE e.type <> 'null'",
        json, id);
    run("INSERT INTO _layout_nodes SELECT ?2 << 24 | k, name, 'null', before FROM ("
        " SELECT e.key AS name, row_number() OVER (ORDER BY e.id) AS k, e.type,"
        "  sum(e.type <> 'null') OVER (ORDER BY e.id) AS before"
        " FROM json_each(?1) e) WHERE type = 'null'",
        json, id);
    run("INSERT INTO _checkpoints(id, path, format, layout, placed, files, imported)"
        " SELECT ?2, '/' || ?2, 'names', ?2, 0, 1, 0 WHERE ?1 <> ''",
        json, id);
    return id;
}

static void each_line(const char *path, void (*check)(const char *line, sqlite3_int64 number),
                      sqlite3_int64 cases)
{
    FILE *f = fopen(path, "r");
    char *line = NULL;
    size_t space = 0;
    sqlite3_int64 number = 0;
    assert_non_null(f);
    while (getline(&line, &space, f) > 0)
        check(line, ++number);
    free(line);
    fclose(f);
    assert_int_equal(number, cases);
}

/* --- T5 importer ------------------------------------------------------------------------- */

static void check_translation(const char *line, sqlite3_int64 number)
{
    char *what = ask("SELECT ?1 ->> 'id'", line, 0);
    char *in = ask("SELECT json_array(?1 ->> 'in')", line, 0);
    print_message("%s\n", what);
    sqlite3_int64 id = checkpoint_of(in, 1000 + number);
    char *want = ask("SELECT coalesce(?1 ->> 'out', ?1 ->> 'error')", line, 0);
    char *got = ask("SELECT CASE status WHEN 'ok' THEN new_name WHEN 'unmatched' THEN"
                    " 'Unmapped' ELSE error END FROM translation"
                    " WHERE ruleset = ?1 AND checkpoint_id = ?2",
                    "t5_to_t5x", id);
    assert_non_null(got);
    assert_string_equal(got, want);
    free(what);
    free(in);
    free(want);
    free(got);
}

TEST(t5_importer)
{
    each_line("tests/golden/t5_importer.jsonl", check_translation, 92);
}

/* --- assignment maps --------------------------------------------------------------------- */

static const char assigned[] =
    "SELECT json_group_array(json_array(new_name, value)) FROM ("
    " SELECT a.new_name, s.value FROM assignment a JOIN json_each(?1, '$.ckpt') s"
    "  ON s.key = a.old_name"
    " WHERE a.ruleset = ?1 ->> 'id' AND a.source_id = ?2 AND a.target_id = ?2 + 1"
    "  AND a.status IN ('mapped', 'kept') ORDER BY a.new_name)";

static void check_assignment(const char *line, sqlite3_int64 number)
{
    char *what = ask("SELECT ?1 ->> 'id'", line, 0);
    char *source = ask("SELECT ?1 -> 'ckpt'", line, 0);
    char *target = ask("SELECT ?1 -> 'opt'", line, 0);
    print_message("%s\n", what);
    sqlite3_int64 id = 2000 + 2 * number;
    checkpoint_of(source, id);
    checkpoint_of(target, id + 1);
    run("INSERT INTO ruleset(name, dialect, options) SELECT ?1 ->> 'id', 't5x-assignment',"
        " json_object('require_all', ifnull(?1 ->> '$.flags.require_all_rules_match', 1),"
        "  'is_resuming', ifnull(?1 ->> '$.flags.is_resuming', 0))",
        line, 0);
    run("INSERT INTO rule(ruleset, ord, pattern, replacement)"
        " SELECT ?1 ->> 'id', key, value ->> 0, value ->> 1 FROM json_each(?1, '$.map')",
        line, 0);
    char *error = ask("SELECT group_concat(error, '; ') FROM assignment WHERE ruleset ="
                      " ?1 ->> 'id' AND source_id = ?2 AND target_id = ?2 + 1 AND status = 'error'",
                      line, id);
    char *want_error = ask("SELECT ?1 ->> 'error'", line, 0);
    char *got = ask(assigned, line, id);
    char *want = ask("SELECT json_group_array(json_array(key, value)) FROM"
                     " (SELECT key, value FROM json_each(?1, '$.out') ORDER BY key)",
                     line, 0);
    assert_string_equal(error ? error : "", want_error ? want_error : "");
    if (!want_error)
        assert_string_equal(got, want);
    free(what);
    free(source);
    free(target);
    free(error);
    free(want_error);
    free(got);
    free(want);
}

TEST(assignment_map)
{
    each_line("tests/golden/assignment_map.jsonl", check_assignment, 55);
}

RUN_TESTS(open_catalog, close_catalog)
