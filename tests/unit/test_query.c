/* Table functions that are files of SQL (catalog/sql/vt_query.c). */
#include "catalog/base/text.h"
#include "catalog/db/schema.h"
#include "catalog/sql/open.h"
#include "tests/unit/unit.h"

static void add_name(struct text *list, const char *name)
{
    assert_true(text_adds(list, list->len ? ", " : "") && text_adds(list, name));
}

/* The list is the line after a title in a file's head; the list is emptied. */
static void assert_said(const char *file, const char *title, struct text *list)
{
    const char *at = strstr(file, title);
    assert_non_null(at);
    at += strlen(title);
    assert_non_null(text_str(list));
    assert_int_equal(strcspn(at, "\n"), list->len);
    assert_memory_equal(at, list->at, list->len);
    text_release(list);
}

/* A file describes its columns and parameters as SQLite does. */
TEST(heads_are_true)
{
    struct error err = {.offset = NO_OFFSET};
    sqlite3 *db = NULL;
    int heads = 0;
    assert_int_equal(db_open(":memory:", DB_CREATE, &db, &err), OK);
    for (const struct schema_file *f = schema_files; f->path; f++) {
        struct text columns = {0}, parameters = {0};
        sqlite3_stmt *s = NULL;
        if (!strstr(f->text, "\n-- columns: "))
            continue;
        assert_int_equal(sqlite3_prepare_v2(db, f->text, -1, &s, NULL), SQLITE_OK);
        for (int i = 0; i < sqlite3_column_count(s); i++)
            add_name(&columns, sqlite3_column_name(s, i));
        for (int i = 1; i <= sqlite3_bind_parameter_count(s); i++)
            add_name(&parameters, sqlite3_bind_parameter_name(s, i));
        assert_said(f->text, "\n-- columns: ", &columns);
        assert_said(f->text, "\n-- parameters: ", &parameters);
        sqlite3_finalize(s);
        heads++;
    }
    assert_true(heads >= 3);
    db_close(db);
}

RUN_TESTS(NULL, NULL)
