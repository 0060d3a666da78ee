#include "shell/command/settings.h"

#include <string.h>

#include "catalog/store/source.h"

static void say_settings(struct session *s, const char *ruleset, const char *key,
                         size_t len)
{
    static const char sql[] =
        "SELECT group_concat(key, ', ') FROM ruleset, json_each(options, '$.settings')"
        " WHERE name = ?1";
    sqlite3_stmt *stmt = session_prepare(s, sql, "s", ruleset);
    const char *has = stmt && sqlite3_step(stmt) == SQLITE_ROW
                          ? (const char *)sqlite3_column_text(stmt, 0)
                          : NULL;
    if (!ruleset)
        complain("--set %.*s: no map has such a setting", (int)len, key);
    else
        complain("--set %.*s: '%s' has no such setting%s%s", (int)len, key, ruleset,
                 has ? "; it has " : ", nor any", has ? has : "");
    sqlite3_finalize(stmt);
}

static bool has_setting(struct session *s, const char *ruleset, const char *text,
                        size_t len)
{
    static const char sql[] =
        "SELECT value ->> 'number' FROM ruleset, json_each(options, '$.settings')"
        " WHERE name = ifnull(?1, name) AND key = substr(?2, 1, ?3)";
    sqlite3_stmt *stmt = session_prepare(s, sql, "ssi", ruleset, text, (int64_t)len);
    bool found = stmt && sqlite3_step(stmt) == SQLITE_ROW;
    bool number = found && sqlite3_column_int(stmt, 0);
    sqlite3_finalize(stmt);
    const char *value = text + len + 1;
    if (number && (!*value || strspn(value, "0123456789") != strlen(value))) {
        complain("--set %s: a whole number is wanted", text);
        return false;
    }
    if (!found)
        say_settings(s, ruleset, text, len);
    return found;
}

/* Whether the file is still the one of these columns: size, mtime_ns, inode, device. */
static bool is_same(const char *path, sqlite3_stmt *row)
{
    struct file_identity now,
        then = {(uint64_t)sqlite3_column_int64(row, 1), sqlite3_column_int64(row, 2),
                (uint64_t)sqlite3_column_int64(row, 3),
                (uint64_t)sqlite3_column_int64(row, 4)};
    struct error err = {.offset = NO_OFFSET};
    return file_identify(path, &now, &err) == OK && file_same(&now, &then);
}

/* Of the checkpoint, where the set takes a setting from it. */
static bool config_is_same(struct session *s, const char *ruleset,
                           sqlite3_int64 checkpoint)
{
    static const char sql[] =
        "SELECT path, size, mtime_ns, inode, device FROM file"
        " WHERE checkpoint_id = ?2 AND path GLOB '*/config.json' AND EXISTS (SELECT 1 FROM ruleset,"
        "  json_each(options, '$.settings') s, json_each(s.value, '$.from') f"
        "  WHERE name = ?1 AND f.value GLOB 'config.json:*')";
    sqlite3_stmt *stmt = session_prepare(s, sql, "si", ruleset, (int64_t)checkpoint);
    bool same = true;
    while (stmt && same && sqlite3_step(stmt) == SQLITE_ROW) {
        const char *path = (const char *)sqlite3_column_text(stmt, 0);
        same = !path || is_same(path, stmt);
        if (!same)
            complain(
                "%s changed since it was indexed, and '%s' takes numbers from it: import it "
                "again",
                path, ruleset);
    }
    sqlite3_finalize(stmt);
    return same;
}

int settings_give(struct session *s, const struct args *args, const char *ruleset,
                  sqlite3_int64 checkpoint)
{
    if (ruleset && !config_is_same(s, ruleset, checkpoint))
        return STATUS_NO;
    for (int i = 0; i < args->pairs; i++) {
        const char *text = args->pair[i].text;
        size_t key = strcspn(text, "=");
        if (strcmp(args->pair[i].option, "--set") != 0)
            continue;
        if (!has_setting(s, ruleset, text, key))
            return STATUS_TROUBLE;
        sqlite3_stmt *stmt = session_prepare(s, "SELECT map_set(substr(?1, 1, ?2), ?3)",
                                             "sis", text, (int64_t)key, text + key + 1);
        bool given = stmt && sqlite3_step(stmt) == SQLITE_ROW;
        s->settings = true;
        sqlite3_finalize(stmt);
        if (!given)
            return STATUS_TROUBLE;
    }
    return STATUS_FINE;
}

void settings_forget(struct session *s)
{
    if (s->settings && s->db)
        sqlite3_exec(s->db, "SELECT map_set(NULL, NULL)", NULL, NULL, NULL);
    s->settings = false;
}
