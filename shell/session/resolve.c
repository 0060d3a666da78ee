/*
 * resolve.c - the checkpoint and the tensor that a user means (session.h).
 */
#include <stdlib.h>
#include <string.h>

#include "catalog/base/text.h"
#include "catalog/export/select.h"
#include "shell/map_load.h"
#include "shell/session/nearest.h"
#include "shell/session/session.h"

#define CANDIDATES 10 /* of an ambiguous name that are listed */

/* A path is meant by itself or by what follows one of its '/'. */
#define NAMED_BY(column)                                                                 \
    "(" column " = ?1 OR substr(" column ", -length(?1) - 1) = '/' || ?1)"

static const char sql_by_id[] = "SELECT id, path FROM checkpoints WHERE id = ?1";
static const char sql_by_path[] = "SELECT id, path FROM checkpoints WHERE path = ?1";
static const char sql_by_suffix[] =
    "SELECT id, path FROM checkpoints WHERE " NAMED_BY("path") " ORDER BY path";
static const char sql_by_step[] = "SELECT id, path FROM checkpoints WHERE " NAMED_BY(
    "run") " AND step = ?3 AND item IS coalesce(?2, item) ORDER BY path";
static const char sql_by_latest[] = "SELECT id, path FROM checkpoints c WHERE " NAMED_BY(
    "run") " AND step = (SELECT max(step) FROM checkpoints l WHERE l.run = c.run "
           "AND l.item IS coalesce(?2, l.item)) AND item IS coalesce(?2, item) ORDER BY "
           "path";

/* The one row of (id, path), 0 where there is none; -1, after listing them or an error,
 * where there are several. */
static sqlite3_int64 only_row(sqlite3_stmt *stmt, const char *name)
{
    sqlite3_int64 id = 0;
    struct text list = {0};
    int count = 0, rc = SQLITE_ERROR;
    if (!stmt)
        return -1;
    while ((rc = sqlite3_step(stmt)) == SQLITE_ROW) {
        id = sqlite3_column_int64(stmt, 0);
        if (++count <= CANDIDATES)
            text_addf(&list, "ckptdb:   %s  (id %lld)\n", sqlite3_column_text(stmt, 1),
                      (long long)id);
    }
    if (rc != SQLITE_DONE) {
        complain("%s", sqlite3_errmsg(sqlite3_db_handle(stmt)));
        id = -1;
    } else if (count > 1) {
        complain("%s is ambiguous; it names %d checkpoints:", name, count);
        fputs(text_str(&list) ? text_str(&list) : "", stderr);
        if (count > CANDIDATES)
            fprintf(stderr, "ckptdb:   and %d more\n", count - CANDIDATES);
        id = -1;
    }
    sqlite3_finalize(stmt);
    text_release(&list);
    return id;
}

/* All digits, and no more than an id can have. */
static bool is_number(const char *text)
{
    size_t len = strlen(text);
    return len > 0 && len <= 18 && strspn(text, "0123456789") == len;
}

/* ./x and ../x are files of the current directory, not suffixes. */
static sqlite3_int64 by_relative_path(struct session *s, const char *name)
{
    bool relative = strncmp(name, "./", 2) == 0 || strncmp(name, "../", 3) == 0 ||
                    strcmp(name, ".") == 0 || strcmp(name, "..") == 0;
    if (!relative)
        return 0;
    const char *slash = strrchr(name, '/');
    bool whole = !slash || strcmp(slash, "/..") == 0 || strcmp(slash, "/.") == 0;
    char *folder = whole ? strdup(name) : strndup(name, (size_t)(slash - name));
    char *real = folder ? realpath(folder, NULL) : NULL;
    sqlite3_int64 id = 0;
    if (real) {
        struct text path = {0};
        text_adds(&path, real);
        if (!whole)
            text_adds(&path, slash);
        if (text_str(&path))
            id = only_row(session_prepare(s, sql_by_path, "s", text_str(&path)), name);
        text_release(&path);
    }
    free(real);
    free(folder);
    return id;
}

/* RUN@STEP, RUN@latest, and one item of such a step: RUN@latest/ITEM. */
static sqlite3_int64 by_step(struct session *s, const char *name)
{
    const char *at = strrchr(name, '@');
    if (!at || at == name)
        return 0;
    size_t step_len = strcspn(at + 1, "/"), len = (size_t)(at - name);
    const char *item = at[1 + step_len] ? at + 2 + step_len : NULL;
    char *step = strndup(at + 1, step_len), *run;
    while (len > 1 && name[len - 1] == '/')
        len--;
    run = strndup(name, len);
    sqlite3_int64 id = 0;
    if (!run || !step)
        id = -1;
    else if (strcmp(step, "latest") == 0)
        id = only_row(session_prepare(s, sql_by_latest, "ss", run, item), name);
    else if (is_number(step))
        id = only_row(session_prepare(s, sql_by_step, "ssi", run, item,
                                      (int64_t)strtoll(step, NULL, 10)),
                      name);
    free(run);
    free(step);
    return id;
}

/* Say that nothing is called so, and what is called nearly so. Paths are compared by their
 * last component where that is all that was typed. */
static void say_unknown(sqlite3_stmt *names, const char *what, const char *wanted,
                        bool paths)
{
    struct nearest nearest = {.wanted = wanted};
    bool last = paths && !strchr(wanted, '/');
    while (names && sqlite3_step(names) == SQLITE_ROW) {
        const char *name = (const char *)sqlite3_column_text(names, 0);
        const char *slash = name && last ? strrchr(name, '/') : NULL;
        if (name)
            nearest_offer(&nearest, slash ? slash + 1 : name, name);
    }
    sqlite3_finalize(names);
    complain("there is no %s called %s", what,
             *wanted ? wanted : "\"\" (the empty name)");
    for (int i = 0; i < nearest.count; i++)
        complain("  %s %s", i == 0 ? "near it:" : "        ", nearest.name[i]);
    nearest_release(&nearest);
}

sqlite3_int64 session_checkpoint(struct session *s, const char *name)
{
    size_t len = strlen(name);
    while (len > 1 && name[len - 1] == '/')
        len--;
    char *trimmed = strndup(name, len);
    if (!trimmed)
        return 0;
    sqlite3_int64 id = 0;
    if (is_number(trimmed))
        id = only_row(
            session_prepare(s, sql_by_id, "i", (int64_t)strtoll(trimmed, NULL, 10)),
            name);
    if (id == 0)
        id = only_row(session_prepare(s, sql_by_path, "s", trimmed), name);
    if (id == 0)
        id = by_relative_path(s, trimmed);
    if (id == 0 && len > 0)
        id = only_row(session_prepare(s, sql_by_suffix, "s", trimmed), name);
    if (id == 0)
        id = by_step(s, trimmed);
    if (id == 0)
        say_unknown(session_prepare(s, "SELECT path FROM checkpoints ORDER BY path", ""),
                    "checkpoint", trimmed, true);
    free(trimmed);
    s->failed = s->failed || id <= 0;
    return id > 0 ? id : 0;
}

char *session_dialect(struct session *s, const char *ruleset)
{
    char *dialect = NULL;
    sqlite3_stmt *stmt =
        session_prepare(s, "SELECT dialect FROM ruleset WHERE name = ?1", "s", ruleset);
    if (!stmt)
        return NULL;
    if (sqlite3_step(stmt) == SQLITE_ROW)
        dialect = sqlite3_mprintf("%s", sqlite3_column_text(stmt, 0));
    else
        complain("no rule set is called '%s'; `map list` lists them", ruleset);
    sqlite3_finalize(stmt);
    return dialect;
}

/* Whether there is such a set and it makes names of its own. */
static bool makes_names(struct session *s, const char *map)
{
    char *dialect = session_dialect(s, map);
    bool assigns = dialect && map_dialect_assigns(dialect);
    if (assigns)
        complain("'%s' fills the names of a model: `export --map` with --target does it",
                 map);
    bool makes = dialect && !assigns;
    sqlite3_free(dialect);
    return makes;
}

/* What the map cannot make may be what is wanted. */
static void say_failing(struct session *s, const char *map, sqlite3_int64 checkpoint)
{
    static const char sql[] =
        "SELECT count(*), old_name, error FROM"
        " (SELECT ord, old_name, error FROM conversion WHERE ruleset = ?1"
        "  AND checkpoint_id = ?2 AND status = 'error' UNION ALL"
        "  SELECT ord, old_name, error FROM translation WHERE ruleset = ?1"
        "  AND checkpoint_id = ?2 AND status = 'error' ORDER BY ord) HAVING count(*)";
    sqlite3_stmt *stmt = session_prepare(s, sql, "si", map, (int64_t)checkpoint);
    if (stmt && sqlite3_step(stmt) == SQLITE_ROW)
        complain("the map fails for %lld names, the first is %s: %s",
                 (long long)sqlite3_column_int64(stmt, 0), sqlite3_column_text(stmt, 1),
                 sqlite3_column_text(stmt, 2));
    sqlite3_finalize(stmt);
}

bool session_mapped(struct session *s, const char *map, sqlite3_int64 checkpoint,
                    const char *name, struct mapped *out)
{
    static const char sql[] =
        "SELECT tensor_id, recipe, dtype, status, error FROM conversion"
        " WHERE ruleset = ?1 AND checkpoint_id = ?2 AND new_name = ?3 AND part = 0"
        " UNION ALL"
        " SELECT tensor_id, " RECIPE_OF_ONE ", dtype, status, error FROM translation"
        " WHERE ruleset = ?1 AND checkpoint_id = ?2 AND new_name = ?3 AND wins LIMIT 1";
    s->failed = true;
    if (!makes_names(s, map))
        return false;
    sqlite3_stmt *stmt = session_prepare(s, sql, "sis", map, (int64_t)checkpoint, name);
    int rc = stmt ? sqlite3_step(stmt) : SQLITE_ERROR;
    bool found = rc == SQLITE_ROW && sqlite3_column_type(stmt, 0) == SQLITE_INTEGER &&
                 strcmp((const char *)sqlite3_column_text(stmt, 3), "ok") == 0;
    if (found) {
        out->id = sqlite3_column_int64(stmt, 0);
        if (sqlite3_column_type(stmt, 1) == SQLITE_TEXT)
            out->recipe = sqlite3_mprintf("%s", sqlite3_column_text(stmt, 1));
        snprintf(out->dtype, sizeof(out->dtype), "%s", sqlite3_column_text(stmt, 2));
    } else if (rc == SQLITE_ROW) {
        const char *why = (const char *)sqlite3_column_text(stmt, 4);
        complain("%s: %s", name, why ? why : "an empty leaf, and no tensor");
    } else if (stmt && rc != SQLITE_DONE) {
        complain("%s", sqlite3_errmsg(s->db));
    }
    sqlite3_finalize(stmt);
    if (rc == SQLITE_DONE)
        say_failing(s, map, checkpoint);
    if (rc == SQLITE_DONE)
        say_unknown(session_prepare(s,
                                    "SELECT new_name FROM conversion WHERE ruleset = ?1"
                                    " AND checkpoint_id = ?2 AND new_name IS NOT NULL"
                                    " UNION ALL SELECT new_name FROM translation WHERE"
                                    " ruleset = ?1 AND checkpoint_id = ?2 AND new_name"
                                    " IS NOT NULL",
                                    "si", map, (int64_t)checkpoint),
                    "tensor that the map makes", name, false);
    s->failed = !found;
    return found;
}

sqlite3_int64 session_tensor(struct session *s, sqlite3_int64 checkpoint,
                             const char *name)
{
    sqlite3_int64 id = -1;
    sqlite3_stmt *stmt = session_prepare(s,
                                         "SELECT id FROM tensor WHERE checkpoint_id = ?1 "
                                         "AND name = ?2 ORDER BY id LIMIT 1",
                                         "is", (int64_t)checkpoint, name);
    if (!stmt)
        return -1;
    int rc = sqlite3_step(stmt);
    if (rc == SQLITE_ROW)
        id = sqlite3_column_int64(stmt, 0);
    else if (rc != SQLITE_DONE)
        complain("%s", sqlite3_errmsg(s->db));
    sqlite3_finalize(stmt);
    if (rc == SQLITE_DONE)
        say_unknown(session_prepare(s, "SELECT name FROM tensor WHERE checkpoint_id = ?1",
                                    "i", (int64_t)checkpoint),
                    "tensor", name, false);
    s->failed = s->failed || id < 0;
    return id;
}
