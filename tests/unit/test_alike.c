/* An older catalog gets what an import would have stored about its layouts (catalog/db/alike.c). */
#include "catalog/ckptdb.h"
#include "catalog/db/alike.h"
#include "catalog/sql/open.h"
#include "tests/unit/unit.h"

static const char *const trees[] = {
    "{\"b\": \"float32[2,3]\", \"a\": \"?\", \"n\": null, \"e\": {}, \"c\": {\"x\": \"int8[]\"}}",
    "{\"e\": {}, \"a\": \"?\", \"c\": {\"x\": \"int8[]\"}, \"b\": \"float32[2,3]\", \"n\": null}",
    "{\"e\": [], \"a\": \"?\", \"c\": {\"x\": \"int8[]\"}, \"b\": \"float32[2,3]\", \"n\": null}",
    "{\"a\": \"?\", \"b\": \"float32[3,2]\"}",
    "{\"\\u00e9\": \"float32[3,2]\", \"z\": \"?\", \"ab\": \"?\", \"a\": \"?\"}",
    "{}",
};

static ckptdb *catalog_of_trees(void)
{
    const char *paths[] = {own_folder};
    struct ckptdb_import_options o = {.size = sizeof(o), .paths = paths, .path_count = 1};
    ckptdb *db;
    for (size_t i = 0; i < sizeof(trees) / sizeof(*trees); i++) {
        char path[128];
        struct text t = {0};
        snprintf(path, sizeof(path), "%s/%zu.json", own_folder, i);
        text_addf(&t, "{\"ckptdb\": \"names\", \"tree\": %s}", trees[i]);
        write_file(path, t.at, t.len);
        text_release(&t);
    }
    assert_int_equal(ckptdb_open(NULL, CKPTDB_READ, &db, NULL), CKPTDB_OK);
    assert_int_equal(ckptdb_import(db, &o, NULL, NULL), CKPTDB_OK);
    return db;
}

TEST_IN(the_same_as_an_import, enter_folder, leave_folder)
{
    struct error err = {.offset = NO_OFFSET};
    ckptdb *catalog = catalog_of_trees();
    sqlite3 *db = ckptdb_sqlite(catalog);
    sqlite3_set_authorizer(db, NULL, NULL); /* storage is written here */
    assert_int_equal(asked(db, "SELECT count(*) FROM _layout_alike"), 6);
    assert_int_equal(asked(db, "SELECT count(DISTINCT layout) FROM checkpoint"), 5);
    assert_int_equal(asked(db, "SELECT count(DISTINCT layout) FROM checkpoint"
                               " WHERE name IN ('0.json', '1.json')"),
                     1);
    assert_int_equal(db_exec(db,
                             "CREATE TEMP TABLE before AS SELECT * FROM _layout_alike;"
                             "DELETE FROM _layout_alike",
                             &err),
                     OK);
    assert_int_equal(asked(db, "SELECT count(DISTINCT layout) FROM checkpoint"), 6);
    assert_int_equal(alike_fill(db, &err), OK);
    assert_int_equal(asked(db, "SELECT count(*) FROM _layout_alike JOIN before"
                               " USING (id, sum, first)"
                               " WHERE _layout_alike.digest IS before.digest"),
                     6);
    ckptdb_close(catalog);
}

RUN_TESTS(NULL, NULL)
