#include "catalog/db/overlay.h"

#include <string.h>

#include "catalog/base/text.h"
#include "catalog/db/ids.h"
#include "catalog/db/schema.h"

/* Run the statements, and release them. */
static void overlay_run(sqlite3 *db, struct text *sql, struct error *err)
{
    if (err->status == OK && !text_str(sql))
        error_memory(err);
    if (err->status == OK)
        db_exec(db, text_str(sql), err);
    text_release(sql);
}

/* Create what one schema file does, as temporary: its views, and its tables and their indexes, if
 * it is about `tables`. */
static void overlay_file(sqlite3 *db, const struct schema_file *f, bool tables, struct error *err)
{
    static const char create[] = "\nCREATE ";
    struct text sql = {0};
    for (const char *at = strstr(f->text, create); at;) {
        const char *statement = at + strlen(create);
        const bool index =
            strstr(statement, "INDEX ") == statement || strstr(statement, "UNIQUE ") == statement;
        at = strstr(statement, create);
        /* Views that the program turns into tables are temporary already. */
        const bool view = strncmp(statement, "VIEW ", 5) == 0;
        if (tables || view) {
            text_addf(&sql, "%s%s", create,
                      view    ? "TEMP VIEW IF NOT EXISTS "
                      : index ? ""
                              : "TEMP ");
            statement += view ? strlen("VIEW ") : 0;
            text_add(&sql, statement, at ? (size_t)(at - statement) : strlen(statement));
        }
    }
    overlay_run(db, &sql, err);
}

/* The tables of a kind of results, and the query that fills each from the catalog. */
struct overlay_table {
    const char *name, *rows;
};

#define OF_TENSORS " x ON x.id BETWEEN o.id" ID_FIRST "AND o.id" ID_LAST

static const struct {
    const char *file; /* the schema file that creates the tables */
    struct overlay_table tables[3];
} results[] = {
    [OVERLAY_HASHES] = {"schema/06_content.sql",
                        {{"_tensor_hashes", "SELECT x.* FROM temp.overlaid_checkpoints o"
                                            " CROSS JOIN main._tensor_hashes" OF_TENSORS},
                         {"_content_hashes", "SELECT * FROM main._content_hashes"
                                             " WHERE id IN (SELECT hash FROM _tensor_hashes)"},
                         {"_checkpoint_hashes", "SELECT x.* FROM main._checkpoint_hashes x"
                                                " JOIN temp.overlaid_checkpoints o USING (id)"}}},
    [OVERLAY_DAMAGE] = {"schema/07_damage.sql",
                        {{"_verifications", "SELECT x.* FROM main._verifications x"
                                            " JOIN temp.overlaid_checkpoints o USING (id)"},
                         {"_damages", "SELECT x.* FROM main._damages x"
                                      " JOIN temp.overlaid_checkpoints o ON o.id = x.checkpoint"}}},
    [OVERLAY_STATISTICS] = {"schema/08_stats.sql",
                            {{"_tensor_statistics",
                              "SELECT x.* FROM temp.overlaid_checkpoints o"
                              " CROSS JOIN main._tensor_statistics" OF_TENSORS},
                             {"_statistics", "SELECT * FROM main._statistics WHERE id IN"
                                             " (SELECT statistics FROM _tensor_statistics)"}}},
};

bool overlay_wanted(sqlite3 *db)
{
    return sqlite3_db_readonly(db, "main") == 1;
}

enum status overlay_begin(sqlite3 *db, enum overlay_results kind, const int64_t *checkpoints,
                          size_t count, struct error *err)
{
    if (overlay_end(db, err) == OK) {
        /* Note what is temporary already, and the checkpoints whose results are copied. */
        struct text sql = {0};
        text_adds(&sql, "CREATE TEMP TABLE overlaid_before (name TEXT NOT NULL);"
                        "INSERT INTO temp.overlaid_before SELECT name FROM temp.sqlite_schema"
                        "  WHERE name <> 'overlaid_before';"
                        "CREATE TEMP TABLE overlaid_checkpoints (id INTEGER PRIMARY KEY);"
                        "INSERT OR IGNORE INTO temp.overlaid_checkpoints ");
        for (size_t i = 0; checkpoints && i < count; i++)
            text_addf(&sql, "%s(%lld)", i ? "," : "VALUES ", (long long)checkpoints[i]);
        if (!checkpoints || !count)
            text_addf(&sql, "SELECT id FROM main._checkpoints WHERE %d", !checkpoints);
        overlay_run(db, &sql, err);
    }
    for (const struct schema_file *f = schema_files; err->status == OK && f->path; f++)
        if (schema_is_from(f, SCHEMA_LATER) && !strstr(f->text, "\nCREATE TRIGGER "))
            overlay_file(db, f, strcmp(f->path, results[kind].file) == 0, err);
    const struct overlay_table *t = results[kind].tables;
    for (size_t i = 0; i < 3 && t[i].name && err->status == OK; i++) {
        struct text sql = {0};
        text_addf(&sql, "INSERT INTO temp.%s %s", t[i].name, t[i].rows);
        overlay_run(db, &sql, err);
    }
    return err->status;
}

enum status overlay_end(sqlite3 *db, struct error *err)
{
    static const char begun[] =
        "SELECT count(*) FROM temp.sqlite_schema WHERE name = 'overlaid_before'";
    static const char made[] =
        "SELECT group_concat('DROP ' || type || ' temp.\"' || name || '\"', ';')"
        " FROM temp.sqlite_schema WHERE type IN ('table', 'view') AND name NOT LIKE 'sqlite_%'"
        " AND name NOT IN (SELECT name FROM temp.overlaid_before)";
    static const char doing[] = "cannot drop temporary tables";
    sqlite3_int64 any = 0;
    db_number(db, begun, NO_NAME, DB_READING, &any, err);
    sqlite3_stmt *s = any ? db_query_to(db, err, doing, made, "") : NULL;
    char *drops = db_row(s, doing, err) ? sqlite3_mprintf("%s", db_text(s, 0)) : NULL;
    sqlite3_finalize(s);
    if (drops)
        db_exec(db, drops, err);
    else if (any)
        error_memory(err);
    sqlite3_free(drops);
    return err->status;
}
