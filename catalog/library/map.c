/*
 * map.c - runs, loads and writes maps.
 */
#include <string.h>

#include "catalog/base/arena.h"
#include "catalog/base/text.h"
#include "catalog/library/library.h"
#include "catalog/maps/form/form.h"
#include "catalog/sql/rules_store.h"

char *library_dialect(const ckptdb *c, const char *map, struct error *err)
{
    sqlite3_stmt *row =
        db_query(c->db, err, "SELECT dialect FROM ruleset WHERE name = ?1", "s", map);
    char *dialect = NULL;
    if (db_row(row, NULL, err)) {
        dialect = sqlite3_mprintf("%s", db_text(row, 0));
        if (!dialect)
            error_memory(err);
    } else {
        error_set(err, ERR_MISSING, NULL, NO_OFFSET, "no rule set is called '%s'", map ? map : "");
    }
    sqlite3_finalize(row);
    return dialect;
}

/* --- running ------------------------------------------------------------------------------- */

static const char assigned[] =
    "SELECT old_name, new_name, status, dtype, shape, error FROM assignment"
    " WHERE ruleset = ?1 AND source_id = ?2 AND target_id = ?3";
static const char converted[] =
    "SELECT old_name, new_name, status, dtype, shape, error FROM conversion"
    " WHERE ruleset = ?1 AND checkpoint_id = ?2 AND ?3 = 0 ORDER BY ord, new_name";
static const char translated[] =
    "SELECT old_name, new_name, status, dtype, shape, error FROM translation"
    " WHERE ruleset = ?1 AND checkpoint_id = ?2 AND ?3 = 0 ORDER BY ord, tensor_id";

static const char *query_of(const struct ckptdb_map_options *o, const char *dialect,
                            struct error *err)
{
    const bool assigns = ruleset_dialect_assigns(dialect);
    if (!ruleset_dialect_known(dialect))
        error_set(err, ERR_UNSUPPORTED, NULL, NO_OFFSET,
                  "'%s' is of dialect '%s', which this program does not run", o->map, dialect);
    else if (assigns && !o->target)
        error_set(err, ERR_ARGUMENT, NULL, NO_OFFSET, "'%s' maps onto a model: a target is wanted",
                  o->map);
    else if (!assigns && o->target)
        error_set(err, ERR_ARGUMENT, NULL, NO_OFFSET,
                  "'%s' translates names and has no use for a target", o->map);
    return assigns ? assigned : ruleset_dialect_converts(dialect) ? converted : translated;
}

enum ckptdb_status ckptdb_map(ckptdb *c, const struct ckptdb_map_options *given,
                              struct ckptdb_error *error)
{
    struct error err = {.offset = NO_OFFSET};
    struct ckptdb_map_options o;
    if (library_take(&o, sizeof(o), given, &err) != OK)
        return library_end(&err, error);
    char *dialect = library_dialect(c, o.map, &err);
    const char *sql = dialect ? query_of(&o, dialect, &err) : "";
    if (err.status == OK)
        library_known(c, (int64_t[]){o.checkpoint, o.target}, o.target ? 2 : 1, &err);
    sqlite3_stmt *row = db_query(c->db, &err, sql, "sii", o.map, o.checkpoint, o.target);
    bool more = true;
    while (more && db_row(row, NULL, &err)) {
        const struct ckptdb_mapped mapped = {
            .old_name = db_text(row, 0),
            .new_name = db_text(row, 1),
            .status = db_text(row, 2),
            .dtype = db_text(row, 3),
            .shape = db_text(row, 4),
            .error = db_text(row, 5),
        };
        more = o.each(o.context, &mapped);
    }
    sqlite3_finalize(row);
    sqlite3_free(dialect);
    return library_end(&err, error);
}

enum ckptdb_dialect_kind ckptdb_dialect(const char *name)
{
    return !ruleset_dialect_known(name)     ? CKPTDB_DIALECT_UNKNOWN
           : ruleset_dialect_assigns(name)  ? CKPTDB_ASSIGNS
           : ruleset_dialect_converts(name) ? CKPTDB_CONVERTS
                                            : CKPTDB_TRANSLATES;
}

/* --- files --------------------------------------------------------------------------------- */

/* Parse a map file, and check the rule set. */
static void read_set(const char *text, const char *path, const char *name, struct ruleset *set,
                     struct error *err)
{
    const struct form *form = form_for_text(text + strspn(text, " \t\r\n"));
    enum status status = form->read ? form_read(form, text, path, set, err)
                                    : rules_from_sql(text, path, name, set, err);
    if (status == OK && ruleset_check(set, err) != OK)
        error_prefix(err, path);
}

enum ckptdb_status ckptdb_map_load(ckptdb *c, const char *name, const char *text, size_t len,
                                   const char *path, struct ckptdb_error *error)
{
    struct error err = {.offset = NO_OFFSET};
    struct arena arena = {0};
    struct ruleset set = {.arena = &arena};
    const char *copy = arena_copy(&arena, text, len);
    path = path ? path : "map";
    if (!copy)
        error_memory(&err);
    else if (strlen(copy) != len)
        error_set(&err, ERR_ARGUMENT, NULL, NO_OFFSET, "%s: a NUL character; is this text?", path);
    else
        read_set(copy, path, name, &set, &err);
    if (err.status == OK)
        rules_store(c->db, name, &set, &err);
    arena_release(&arena);
    return library_end(&err, error);
}

enum ckptdb_status ckptdb_map_write(ckptdb *c, const char *name, const char *form_name, char **text,
                                    size_t *len, struct ckptdb_error *error)
{
    struct error err = {.offset = NO_OFFSET};
    struct arena arena = {0};
    struct ruleset set = {.arena = &arena};
    struct text out = {0};
    const struct form *form = form_find(form_name);
    *text = NULL;
    if (!form)
        form_unknown(form_name, &err);
    else if (rules_fetch(c->db, name, &set, &err) == OK)
        form_write(form, &set, &out, &err);
    if (err.status == OK) {
        *len = out.len;
        *text = text_steal(&out);
        if (!*text)
            error_memory(&err);
    } else {
        error_prefix(&err, name);
    }
    text_release(&out);
    arena_release(&arena);
    return library_end(&err, error);
}
