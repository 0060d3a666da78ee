/*
 * import_issues.c - what is wrong with what was imported, as lines on stderr.
 */
#include "shell/command/import_issues.h"

#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "catalog/base/text.h"

#define ISSUES_SHOWN 50

/* Of what an argument stood for, the paths that are not below it: a shard, or a TensorFlow
 * prefix, stands for its checkpoint. Ends in NULL. */
static const char **paths_beside(const struct walk *walk)
{
    const char **list = calloc(2 * walk->unit_count + 1, sizeof(*list));
    uint64_t count = 0;
    for (uint64_t i = 0; list && i < walk->unit_count; i++) {
        const struct unit *u = &walk->units[i];
        if (!walk_covers(walk, u->path))
            list[count++] = u->path;
        if (!walk_covers(walk, u->primary))
            list[count++] = u->primary;
    }
    return list;
}

static bool asked_for(const struct walk *walk, const char *const *beside,
                      const char *path)
{
    if (!path || walk_covers(walk, path))
        return path;
    while (*beside && strcmp(*beside, path) != 0)
        beside++;
    return *beside;
}

/* The nearest folder above a path that is still there, in place; how much of it that is. */
static size_t folder_left(const char *path)
{
    struct text folder = {0};
    struct stat st;
    size_t len = strlen(path);
    do {
        while (len > 0 && path[len - 1] != '/')
            len--;
        len -= len > 1;
        text_reset(&folder);
        text_add(&folder, path, len);
    } while (len > 1 && text_str(&folder) &&
             (stat(text_str(&folder), &st) != 0 || !S_ISDIR(st.st_mode)));
    text_release(&folder);
    return len;
}

/* Checkpoints that are gone, below one folder. */
struct gone {
    struct text folder, first;
    sqlite3_int64 count;
};

static void say_gone(struct gone *g)
{
    if (g->count > 0 && text_str(&g->folder) && text_str(&g->first))
        complain("warning: %s: %lld checkpoint%s no longer there: %s%s",
                 text_str(&g->folder), g->count, g->count == 1 ? " is" : "s are",
                 text_str(&g->first), g->count > 1 ? ", ..." : "");
    text_release(&g->folder);
    text_release(&g->first);
    g->count = 0;
}

static void add_gone(struct gone *g, const char *path)
{
    size_t folder = folder_left(path);
    if (g->count > 0 && (g->folder.len != folder || !text_str(&g->folder) ||
                         memcmp(text_str(&g->folder), path, folder) != 0))
        say_gone(g);
    if (g->count++ > 0)
        return;
    text_add(&g->folder, path, folder);
    text_adds(&g->first, path + folder + (path[folder] == '/'));
}

enum {
    SEVERITY,
    PATH,
    OFFSET,
    MESSAGE,
    CHECKPOINT,
    CODE
};

static void report_issue(sqlite3_stmt *s)
{
    const char *severity = (const char *)sqlite3_column_text(s, SEVERITY);
    const char *path = (const char *)sqlite3_column_text(s, PATH);
    const char *message = (const char *)sqlite3_column_text(s, MESSAGE);
    if (sqlite3_column_type(s, OFFSET) == SQLITE_NULL)
        complain("%s: %s: %s", severity, path, message);
    else
        complain("%s: %s: %s (at byte %lld)", severity, path, message,
                 sqlite3_column_int64(s, OFFSET));
}

/* Whether a file that was refused is the first row about it: it has no checkpoint. */
static bool is_refused(sqlite3_stmt *s, struct text *before)
{
    const char *path = (const char *)sqlite3_column_text(s, PATH);
    const char *severity = (const char *)sqlite3_column_text(s, SEVERITY);
    const char *code = (const char *)sqlite3_column_text(s, CODE);
    if (sqlite3_column_type(s, CHECKPOINT) != SQLITE_NULL || !path || !severity ||
        !code || strcmp(severity, "error") != 0 || strcmp(code, "unreadable") == 0)
        return false; /* what the search could not look at may be anything */
    bool same = before->len && text_str(before) && strcmp(text_str(before), path) == 0;
    text_reset(before);
    text_adds(before, path);
    return !same;
}

bool import_issues(struct session *session, const struct walk *walk,
                   struct import_counts *out)
{
    static const char sql[] =
        "SELECT i.severity, i.path, i.offset, i.message, c.path, i.code FROM issues i"
        " LEFT JOIN checkpoints c ON c.id = i.checkpoint ORDER BY i.path, i.id";
    const char **beside = paths_beside(walk);
    sqlite3_stmt *s = NULL;
    struct gone gone = {0};
    struct text refused = {0};
    sqlite3_int64 shown = 0, left = 0;
    *out = (struct import_counts){0};
    bool good = beside && sqlite3_prepare_v2(session->db, sql, -1, &s, NULL) == SQLITE_OK;
    while (good && sqlite3_step(s) == SQLITE_ROW) {
        const char *path = (const char *)sqlite3_column_text(s, PATH);
        const char *code = (const char *)sqlite3_column_text(s, CODE);
        if (!asked_for(walk, beside, path) &&
            !asked_for(walk, beside, (const char *)sqlite3_column_text(s, CHECKPOINT)))
            continue;
        out->issues++;
        out->refused += is_refused(s, &refused);
        if (path && code && strcmp(code, "vanished") == 0)
            add_gone(&gone, path);
        else if (shown++ < ISSUES_SHOWN)
            report_issue(s);
        else
            left++;
    }
    say_gone(&gone);
    sqlite3_finalize(s);
    text_release(&refused);
    free(beside);
    if (left > 0)
        complain("%lld more issues: SELECT * FROM issue", left);
    return good;
}
