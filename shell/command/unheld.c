#include "shell/command/unheld.h"

#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "shell/command/import_issues.h"
#include "shell/command/set_option.h"

/* What a user may have written into a catalog that is not about checkpoints. */
static const struct {
    const char *table, *from, *to;
} user_rows[] = {
    {"ruleset", "SELECT name, dialect, options, 0 FROM ruleset WHERE NOT shipped",
     "INSERT OR REPLACE INTO ruleset VALUES (?1, ?2, ?3, ?4)"},
    {"rule",
     "SELECT ruleset, ord, pattern, replacement, compute, ops FROM rule"
     " WHERE ruleset IN (SELECT name FROM ruleset WHERE NOT shipped)",
     "INSERT INTO rule (ruleset, ord, pattern, replacement, compute, ops)"
     " VALUES (?1, ?2, ?3, ?4, ?5, ?6)"},
    {"optimizer", "SELECT name, spec FROM optimizer",
     "INSERT OR REPLACE INTO optimizer VALUES (?1, ?2)"},
    {"known_class", "SELECT name, verdict, why FROM known_class",
     "INSERT OR REPLACE INTO known_class VALUES (?1, ?2, ?3)"},
};

static int copy_rows(sqlite3 *from, const char *select, sqlite3 *to, const char *insert)
{
    sqlite3_stmt *get = NULL, *put = NULL;
    int rc = sqlite3_prepare_v2(from, select, -1, &get, NULL);
    if (rc == SQLITE_OK)
        rc = sqlite3_prepare_v2(to, insert, -1, &put, NULL);
    while (rc == SQLITE_OK && (rc = sqlite3_step(get)) == SQLITE_ROW) {
        for (int i = 0; i < sqlite3_column_count(get); i++)
            sqlite3_bind_value(put, i + 1, sqlite3_column_value(get, i));
        sqlite3_step(put);
        rc = sqlite3_reset(put);
    }
    sqlite3_finalize(get);
    sqlite3_finalize(put);
    return rc == SQLITE_DONE ? SQLITE_OK : rc;
}

/* Also of a catalog that is too old for a table, and may not be written. */
static bool copy_user_rows(sqlite3 *from, sqlite3 *to)
{
    int rc = SQLITE_OK;
    for (size_t i = 0; i < sizeof(user_rows) / sizeof(*user_rows) && rc == SQLITE_OK; i++)
        if (sqlite3_table_column_metadata(from, "main", user_rows[i].table, NULL, NULL, NULL, NULL,
                                          NULL, NULL) == SQLITE_OK)
            rc = copy_rows(from, user_rows[i].from, to, user_rows[i].to);
    if (rc != SQLITE_OK && !session_interrupted)
        complain("cannot copy the catalog's maps: %s", sqlite3_errstr(rc));
    return rc == SQLITE_OK;
}

/* Put a catalog in memory in the place of the user's. */
static bool replace(struct session *s)
{
    struct ckptdb_error err;
    ckptdb *memory;
    if (ckptdb_open(NULL, CKPTDB_CREATE, &memory, &err) != CKPTDB_OK) {
        complain_status(&err);
        return false;
    }
    if (s->open && !copy_user_rows(s->db, ckptdb_sqlite(memory))) {
        ckptdb_close(memory);
        return false;
    }
    settings_forget(s);
    session_watch(memory, NULL);
    s->unheld.catalog = s->open;
    s->unheld.mode = s->db_mode;
    s->unheld.replaces = true;
    s->open = memory;
    s->db = ckptdb_sqlite(memory);
    s->db_mode = CKPTDB_CREATE;
    s->in_memory = true;
    return true;
}

bool unheld_open(struct session *s, enum ckptdb_mode mode, const struct args *args)
{
    bool file = false;
    if (s->unheld.taken && !s->open && access(s->catalog, F_OK) != 0 &&
        strcmp(s->catalog, ":memory:") != 0)
        for (int i = 0; i < args->count && !file; i++) {
            char *path = session_importable(args->operand[i]);
            file = path != NULL;
            free(path);
        }
    return file ? replace(s) : session_open(s, mode);
}

struct importing {
    struct import_issues issues;
    struct progress *bar;
};

static void unheld_issue(void *context, const struct ckptdb_issue *issue)
{
    struct importing *x = context;
    import_issues_add(&x->issues, issue);
}

static void unheld_progress(void *context, const char *doing, uint64_t done, uint64_t total)
{
    (void)doing;
    progress_set(((struct importing *)context)->bar, done, total);
}

static int import_unheld(struct session *s)
{
    struct importing x = {0};
    struct unheld *u = &s->unheld;
    const struct ckptdb_import_options options = {.size = sizeof(options),
                                                  .paths =
                                                      (const char *const *)u->paths + u->imported,
                                                  .path_count = u->count - u->imported,
                                                  .issue = unheld_issue,
                                                  .context = &x,
                                                  .salvage = true};
    const struct ckptdb_watch watch = {
        .size = sizeof(watch), .context = &x, .progress = unheld_progress};
    struct ckptdb_import_report report = {.size = sizeof(report)};
    struct ckptdb_error err;
    if (!s->in_memory && !replace(s))
        return STATUS_TROUBLE;
    u->imported = u->count;
    s->failed = true;
    x.bar = progress_new(s, "reading", "files");
    session_watch(s->open, &watch);
    ckptdb_import(s->open, &options, &report, &err);
    session_watch(s->open, NULL);
    progress_free(x.bar);
    import_issues_end(&x.issues);
    if (err.status != CKPTDB_OK)
        return complain_status(&err);
    s->failed = report.issues && !report.added; /* which was said */
    return report.issues ? STATUS_NO : STATUS_FINE;
}

int unheld_run(struct session *s, const struct command *c, const struct args *args)
{
    int issues = STATUS_FINE, status = c->run(s, args);
    while (session_wants_import(s) && !session_interrupted) {
        const int status_of_import = import_unheld(s);
        if (session_interrupted)
            return STATUS_INTERRUPTED;
        if (status_of_import > STATUS_NO || s->failed)
            return status_of_import;
        issues |= status_of_import;
        s->unread = false;
        status = c->run(s, args);
    }
    return status == STATUS_FINE ? issues : status;
}

void unheld_end(struct session *s)
{
    for (size_t i = 0; i < s->unheld.count; i++)
        free(s->unheld.paths[i]);
    free(s->unheld.paths);
    if (s->unheld.replaces) {
        ckptdb_close(s->open);
        s->open = s->unheld.catalog;
        s->db = s->open ? ckptdb_sqlite(s->open) : NULL;
        s->db_mode = s->unheld.mode;
        s->in_memory = false;
    }
    s->unheld = (struct unheld){0};
}
