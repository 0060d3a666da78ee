/* Table functions that are files of SQL (catalog/sql/vt_query.c). */
#include "catalog/db/schema.h"
#include "catalog/sql/open.h"
#include "tests/unit/unit.h"

static void add_name(char *list, const char *name)
{
    assert_true(strlen(list) + strlen(name) + 3 < 1024);
    strcat(list, *list ? ", " : "");
    strcat(list, name);
}

/* The line after a title in a file's head. */
static void line_after(const char *text, const char *title, char *out)
{
    const char *at = strstr(text, title);
    assert_non_null(at);
    at += strlen(title);
    assert_true(strcspn(at, "\n") < 1024);
    memcpy(out, at, strcspn(at, "\n"));
    out[strcspn(at, "\n")] = '\0';
}

/* What a file says of its columns and parameters is what SQLite says. */
static void heads_are_true(void **state)
{
    (void)state;
    struct error err = {.offset = NO_OFFSET};
    sqlite3 *db = NULL;
    int heads = 0;
    assert_int_equal(db_open(":memory:", DB_CREATE, &db, &err), OK);
    for (const struct schema_file *f = schema_files; f->path; f++) {
        char columns[1024] = "", parameters[1024] = "", said[1024];
        sqlite3_stmt *s = NULL;
        if (!strstr(f->text, "\n-- columns: "))
            continue;
        assert_int_equal(sqlite3_prepare_v2(db, f->text, -1, &s, NULL), SQLITE_OK);
        for (int i = 0; i < sqlite3_column_count(s); i++)
            add_name(columns, sqlite3_column_name(s, i));
        for (int i = 1; i <= sqlite3_bind_parameter_count(s); i++)
            add_name(parameters, sqlite3_bind_parameter_name(s, i));
        line_after(f->text, "\n-- columns: ", said);
        assert_string_equal(said, columns);
        line_after(f->text, "\n-- parameters: ", said);
        assert_string_equal(said, parameters);
        sqlite3_finalize(s);
        heads++;
    }
    assert_true(heads >= 3);
    db_close(db);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(heads_are_true)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
