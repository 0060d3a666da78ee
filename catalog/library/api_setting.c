/*
 * api_setting.c - settings of maps: numbers that are taken from a checkpoint, or given instead
 * (catalog/maps/map/setting.h).
 */
#include <string.h>

#include "catalog/data/store/source.h"
#include "catalog/library/library.h"

/* Report an unknown setting, and list the map's settings. */
static void refuse_key(const ckptdb *c, const char *map, const char *key, struct error *err)
{
    static const char sql[] =
        "SELECT group_concat(key, ', ') FROM ruleset, json_each(options, '$.settings')"
        " WHERE name = ?1";
    sqlite3_stmt *row = db_query(c->db, err, sql, "s", map);
    const char *has = db_row(row, NULL, err) ? db_text(row, 0) : NULL;
    if (!map)
        error_set(err, ERR_ARGUMENT, NULL, NO_OFFSET, "%s: no map has such a setting", key);
    else
        error_set(err, ERR_ARGUMENT, NULL, NO_OFFSET, "%s: '%s' has no such setting%s%s", key, map,
                  has ? "; it has " : ", nor any", has ? has : "");
    sqlite3_finalize(row);
}

static void check_setting(const ckptdb *c, const char *map, const char *key, const char *value,
                          struct error *err)
{
    static const char sql[] =
        "SELECT value ->> 'number' FROM ruleset, json_each(options, '$.settings')"
        " WHERE name = ifnull(?1, name) AND key = ?2";
    sqlite3_stmt *row = db_query(c->db, err, sql, "ss", map, key);
    const bool found = db_row(row, NULL, err);
    const bool number = found && sqlite3_column_int(row, 0);
    sqlite3_finalize(row);
    if (number && (!*value || strspn(value, "0123456789") != strlen(value)))
        error_set(err, ERR_ARGUMENT, NULL, NO_OFFSET, "%s=%s: expected a whole number", key, value);
    else if (!found)
        refuse_key(c, map, key, err);
}

enum ckptdb_status ckptdb_map_set(ckptdb *c, const char *map, const char *key, const char *value,
                                  struct ckptdb_error *error)
{
    struct error err = {.offset = NO_OFFSET};
    check_setting(c, map, key, value, &err);
    db_run(c->db, &err, NULL, "SELECT map_set(?1, ?2)", "ss", key, value);
    return library_end(&err, error);
}

void ckptdb_map_unset(ckptdb *c)
{
    sqlite3_exec(c->db, "SELECT map_set(NULL, NULL)", NULL, NULL, NULL);
}

/* Whether the file in columns path, size, mtime_ns, inode, device has not changed. */
static bool is_same(sqlite3_stmt *row)
{
    struct error ignored = {.offset = NO_OFFSET};
    struct file_identity now;
    const struct file_identity then = db_identity(row, 1);
    const char *path = db_text(row, 0);
    return !path || (file_identify(path, &now, &ignored) == OK && file_same(&now, &then));
}

enum ckptdb_status ckptdb_map_current(ckptdb *c, const char *map, int64_t checkpoint,
                                      struct ckptdb_error *error)
{
    static const char sql[] =
        "SELECT path, size, mtime_ns, inode, device FROM file"
        " WHERE checkpoint_id = ?2 AND path GLOB '*/config.json' AND EXISTS (SELECT 1 FROM ruleset,"
        "  json_each(options, '$.settings') s, json_each(s.value, '$.from') f"
        "  WHERE name = ?1 AND f.value GLOB 'config.json:*')";
    struct error err = {.offset = NO_OFFSET};
    sqlite3_stmt *row = db_query(c->db, &err, sql, "si", map, checkpoint);
    while (db_row(row, NULL, &err))
        if (!is_same(row)) {
            error_set(&err, ERR_CHANGED, NULL, NO_OFFSET,
                      "%s changed since it was indexed, and '%s' takes numbers from it: import "
                      "it again",
                      db_text(row, 0), map);
            break;
        }
    sqlite3_finalize(row);
    return library_end(&err, error);
}
