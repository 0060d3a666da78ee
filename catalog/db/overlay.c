#include "catalog/db/overlay.h"

#include <string.h>

#include "catalog/base/text.h"
#include "catalog/db/folds.h"
#include "catalog/db/ids.h"
#include "catalog/db/labels.h"
#include "catalog/db/schema.h"

/* Whether the first number that a query gives is not 0. */
static bool overlay_ask(sqlite3 *db, const char *sql, struct bytes name,
                        struct error *err)
{
    sqlite3_int64 number;
    db_number(db, sql, name, "cannot read the catalog", &number, err);
    return number != 0;
}

static bool has_table(sqlite3 *db, const char *name, size_t len, struct error *err)
{
    return overlay_ask(
        db, "SELECT 1 FROM main.sqlite_schema WHERE type = 'table' AND name = ?1",
        (struct bytes){(const uint8_t *)name, len}, err);
}

/* In what follows "CREATE ": the table that is created, or that an index is on. NULL: a view. */
static const char *table_of(const char *statement, size_t *len)
{
    const char *before = strncmp(statement, "VIEW ", 5) == 0    ? NULL
                         : strncmp(statement, "TABLE ", 6) == 0 ? " EXISTS "
                                                                : " ON ";
    const char *name = before ? strstr(statement, before) : NULL;
    name = name ? name + strlen(before) : NULL;
    *len = name ? strcspn(name, " (") : 0;
    return name;
}

enum tables {
    THAT_ARE_LACKING,
    THAT_ARE_THERE,
    NONE_OF_THEM,
};

/* Append the statements of a schema file, made to create temporary views and tables. */
static void add_temporary(sqlite3 *db, struct text *out, const char *sql,
                          enum tables tables, struct error *err)
{
    static const char create[] = "\nCREATE ";
    const char *at = strstr(sql, create);
    while (at && err->status == OK) {
        const char *statement = at + strlen(create);
        size_t len;
        const char *table = table_of(statement, &len);
        at = strstr(statement, create);
        if (table && (tables == NONE_OF_THEM ||
                      has_table(db, table, len, err) != (tables == THAT_ARE_THERE)))
            continue;
        text_adds(out, create);
        if (!table || strncmp(statement, "TABLE ", 6) == 0)
            text_adds(out, "TEMP ");
        text_add(out, statement, at ? (size_t)(at - statement) : strlen(statement));
    }
}

/* Run the statements, and release them. */
static enum status overlay_run(sqlite3 *db, struct text *sql, struct error *err)
{
    if (err->status == OK && !text_str(sql))
        error_memory(err);
    if (err->status == OK)
        db_exec(db, text_str(sql), err);
    text_release(sql);
    return err->status;
}

/* Create what one schema file does, as temporary. */
static enum status overlay_file(sqlite3 *db, const struct schema_file *f,
                                enum tables tables, struct error *err)
{
    struct text temporary = {0};
    add_temporary(db, &temporary, f->text, tables, err);
    return overlay_run(db, &temporary, err);
}

static bool is_overlaid(const struct schema_file *f)
{
    return schema_is_from(f, SCHEMA_LATER) && !strstr(f->text, "\nCREATE TRIGGER ");
}

bool overlay_names_apart(sqlite3 *db, struct error *err)
{
    return has_table(db, "names", strlen("names"), err);
}

enum status overlay_names(sqlite3 *db, struct error *err)
{
    static const char is_catalog[] =
        "SELECT application_id = 0x636b7074 FROM pragma_application_id";
    if (!overlay_ask(db, is_catalog, NO_NAME, err))
        return err->status;
    if (overlay_names_apart(db, err) && err->status == OK)
        db_exec(db, schema_text("schema/upgrade/names_read.sql"), err);
    for (const struct schema_file *f = schema_files; err->status == OK && f->path; f++)
        if (strcmp(f->path, "schema/09_blocks.sql") == 0)
            overlay_file(db, f, THAT_ARE_LACKING, err);
    return err->status;
}

enum status overlay_old(sqlite3 *db, struct error *err)
{
    overlay_names(db, err);
    for (const struct schema_file *f = schema_files; err->status == OK && f->path; f++)
        if (is_overlaid(f))
            overlay_file(db, f, THAT_ARE_LACKING, err);
    if (err->status == OK && !has_table(db, "labels", strlen("labels"), err) &&
        err->status == OK)
        labels_renew(db, err);
    if (err->status == OK &&
        !has_table(db, "layout_folds", strlen("layout_folds"), err) && err->status == OK)
        folds_renew(db, err);
    return err->status;
}

/* --- results ------------------------------------------------------------------------------ */

/* The tables of a kind of results, and the query that fills each from the catalog. Those that an
 * older catalog lacks are temporary already, and have no rows to copy. */
struct overlay_table {
    const char *name, *rows;
};

#define OF_TENSORS " x ON x.id BETWEEN o.id" ID_FIRST "AND o.id" ID_LAST

static const struct {
    const char *file; /* the schema file that creates the tables */
    struct overlay_table tables[3];
} results[] = {
    [OVERLAY_HASHES] = {"schema/06_content.sql",
                        {{"tensor_hashes", "SELECT x.* FROM temp.overlaid_checkpoints o"
                                           " CROSS JOIN main.tensor_hashes" OF_TENSORS},
                         {"content_hashes",
                          "SELECT * FROM main.content_hashes"
                          " WHERE id IN (SELECT hash FROM tensor_hashes)"},
                         {"checkpoint_hashes",
                          "SELECT x.* FROM main.checkpoint_hashes x"
                          " JOIN temp.overlaid_checkpoints o USING (id)"}}},
    [OVERLAY_DAMAGE] = {"schema/07_damage.sql",
                        {{"verifications",
                          "SELECT x.* FROM main.verifications x"
                          " JOIN temp.overlaid_checkpoints o USING (id)"},
                         {"damages",
                          "SELECT x.* FROM main.damages x"
                          " JOIN temp.overlaid_checkpoints o ON o.id = x.checkpoint"}}},
    [OVERLAY_STATISTICS] = {"schema/08_stats.sql",
                            {{"tensor_statistics",
                              "SELECT x.* FROM temp.overlaid_checkpoints o"
                              " CROSS JOIN main.tensor_statistics" OF_TENSORS},
                             {"statistics",
                              "SELECT * FROM main.statistics WHERE id IN"
                              " (SELECT statistics FROM tensor_statistics)"}}},
};

bool overlay_wanted(sqlite3 *db)
{
    return sqlite3_db_readonly(db, "main") == 1;
}

/* Note what is temporary already, and the checkpoints whose results are copied. */
static enum status note_before(sqlite3 *db, const int64_t *checkpoints, size_t count,
                               struct error *err)
{
    struct text sql = {0};
    text_adds(&sql, "CREATE TEMP TABLE overlaid_before (name TEXT NOT NULL);"
                    "INSERT INTO temp.overlaid_before SELECT name FROM temp.sqlite_schema"
                    "  WHERE name <> 'overlaid_before';"
                    "CREATE TEMP TABLE overlaid_checkpoints (id INTEGER PRIMARY KEY);"
                    "INSERT OR IGNORE INTO temp.overlaid_checkpoints ");
    for (size_t i = 0; checkpoints && i < count; i++)
        text_addf(&sql, "%s(%lld)", i ? "," : "VALUES ", (long long)checkpoints[i]);
    if (!checkpoints || !count)
        text_addf(&sql, "SELECT id FROM main.checkpoints WHERE %d", !checkpoints);
    return overlay_run(db, &sql, err);
}

static enum status fill_results(sqlite3 *db, enum overlay_results kind, struct error *err)
{
    const struct overlay_table *t = results[kind].tables;
    for (size_t i = 0; i < 3 && t[i].name && err->status == OK; i++) {
        struct text sql = {0};
        if (!has_table(db, t[i].name, strlen(t[i].name), err))
            continue;
        text_addf(&sql, "INSERT INTO temp.%s %s", t[i].name, t[i].rows);
        overlay_run(db, &sql, err);
    }
    return err->status;
}

enum status overlay_begin(sqlite3 *db, enum overlay_results kind,
                          const int64_t *checkpoints, size_t count, struct error *err)
{
    static const char views[] =
        "SELECT count(*) FROM temp.sqlite_schema WHERE type = 'view' AND name = 'tensor'";
    if (overlay_end(db, err) != OK || note_before(db, checkpoints, count, err) != OK)
        return err->status;
    /* An older catalog's views are temporary already. */
    const bool old = overlay_ask(db, views, NO_NAME, err);
    for (const struct schema_file *f = schema_files; err->status == OK && f->path; f++) {
        const bool own = strcmp(f->path, results[kind].file) == 0;
        if (is_overlaid(f) && (own || !old))
            overlay_file(db, f, own ? THAT_ARE_THERE : NONE_OF_THEM, err);
    }
    return err->status == OK ? fill_results(db, kind, err) : err->status;
}

enum status overlay_end(sqlite3 *db, struct error *err)
{
    static const char begun[] =
        "SELECT count(*) FROM temp.sqlite_schema WHERE name = 'overlaid_before'";
    static const char made[] =
        "SELECT group_concat('DROP ' || type || ' temp.\"' || name || '\"', ';')"
        " FROM temp.sqlite_schema WHERE type IN ('table', 'view') AND name NOT LIKE 'sqlite_%'"
        " AND name NOT IN (SELECT name FROM temp.overlaid_before)";
    sqlite3_stmt *s = NULL;
    char *drops = NULL;
    if (!overlay_ask(db, begun, NO_NAME, err) || err->status != OK)
        return err->status;
    if (sqlite3_prepare_v2(db, made, -1, &s, NULL) == SQLITE_OK &&
        sqlite3_step(s) == SQLITE_ROW)
        drops = sqlite3_mprintf("%s", sqlite3_column_text(s, 0));
    if (!drops)
        db_error(db, "cannot drop temporary tables", err);
    sqlite3_finalize(s);
    if (drops)
        db_exec(db, drops, err);
    sqlite3_free(drops);
    return err->status;
}
