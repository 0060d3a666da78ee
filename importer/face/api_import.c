/*
 * api_import.c - imports and forgets checkpoints.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "catalog/data/store/store.h"
#include "catalog/db/write/writer.h"
#include "catalog/library/library.h"
#include "importer/import.h"
#include "importer/walk/unread.h"
#include "importer/walk/walk.h"

/* --- what the import reports --------------------------------------------------------------- */

/* The paths an argument led to that are not below it: naming a shard or a TensorFlow prefix
 * imports its whole checkpoint. NULL-terminated. */
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

static bool asked_for(const struct walk *walk, const char *const *beside, const char *path)
{
    if (!path || walk_covers(walk, path) || walk_prefixes(walk, path))
        return path;
    while (*beside && strcmp(*beside, path) != 0)
        beside++;
    return *beside;
}

/* State of passing the issues of the imported paths to the caller. */
struct issues {
    const struct ckptdb_import_options *options;
    /* refused: files that became no checkpoint because of an issue */
    uint64_t count, refused;
    struct text before; /* path of the last refused file */
};

/* Whether an issue refuses a file, and is the file's first: rows are sorted by path. */
static bool is_refused(struct issues *all, const struct ckptdb_issue *i)
{
    if (i->checkpoint || strcmp(i->severity, "error") != 0 || strcmp(i->code, "unreadable") == 0)
        return false; /* files that the search could not look at may be anything */
    const bool same =
        all->before.len && text_str(&all->before) && strcmp(text_str(&all->before), i->path) == 0;
    text_reset(&all->before);
    text_adds(&all->before, i->path);
    return !same;
}

static const char *text_or_none(sqlite3_stmt *row, int column)
{
    const char *text = db_text(row, column);
    return text ? text : "";
}

static void give_issue(struct issues *all, sqlite3_stmt *row)
{
    const bool placed = sqlite3_column_type(row, 2) != SQLITE_NULL;
    const struct ckptdb_issue issue = {
        .severity = text_or_none(row, 0),
        .path = text_or_none(row, 1),
        .offset = placed ? sqlite3_column_int64(row, 2) : -1,
        .message = text_or_none(row, 3),
        .checkpoint = db_text(row, 4),
        .code = text_or_none(row, 5),
    };
    all->count++;
    all->refused += is_refused(all, &issue);
    if (all->options->issue)
        all->options->issue(all->options->context, &issue);
}

static void give_issues(const ckptdb *c, const struct walk *walk, struct issues *all,
                        struct error *err)
{
    static const char sql[] =
        "SELECT i.severity, i.path, i.offset, i.message, c.path, i.code FROM _issues i"
        " LEFT JOIN _checkpoints c ON c.id = i.checkpoint ORDER BY i.path, i.id";
    const char **beside = paths_beside(walk);
    sqlite3_stmt *row = beside ? db_query(c->db, err, sql, "") : NULL;
    if (!beside)
        error_memory(err);
    while (db_row(row, NULL, err))
        if (asked_for(walk, beside, db_text(row, 1)) || asked_for(walk, beside, db_text(row, 4)))
            give_issue(all, row);
    sqlite3_finalize(row);
    text_release(&all->before);
    free(beside);
}

/* --- the import ---------------------------------------------------------------------------- */

static void tell_progress(void *context, const char *doing, uint64_t done, uint64_t total)
{
    const ckptdb *c = context;
    if (c->watch.progress)
        c->watch.progress(c->watch.context, doing, done, total);
}

static void tell_waiting(void *context)
{
    tell_progress(context, "waiting", 0, 0);
}

/* An import stops between checkpoints: interrupting a statement would undo those that are not
 * committed yet. So the watch does not interrupt statements meanwhile. */
static void run_import(ckptdb *c, const struct ckptdb_import_options *o, struct import_report *r,
                       struct error *err)
{
    const struct import_options options = {
        .paths = o->paths,
        .path_count = (int)o->path_count,
        .jobs = o->threads,
        .prune = o->prune,
        .follow = o->follow,
        .dry_run = o->dry_run,
        .salvage = o->salvage,
        .stop = library_stopped,
        .progress = tell_progress,
        .waiting = tell_waiting,
        .context = c,
    };
    struct ckptdb_watch watch = c->watch;
    sqlite3_progress_handler(c->db, 0, NULL, NULL);
    c->writing++;
    import_run(c->db, &options, r, err);
    c->writing--;
    watch.size = sizeof(watch);
    ckptdb_watch(c, &watch);
}

/* Pass on files of a dry run that an import would refuse, or skip, without opening them again; how many. */
static uint64_t give_refused(const struct ckptdb_import_options *o, const struct import_report *r)
{
    uint64_t count = r->before_count;
    const char *last = "";
    for (uint64_t i = 0; i < r->before_count; i++)
        o->found(o->context, &(struct ckptdb_found){r->before[i], "", .refused = "refused before"});
    for (uint64_t i = 0; i < r->walk->issue_count; i++) {
        const struct batch_issue *issue = &r->walk->issues[i];
        if (issue->warning || strcmp(issue->code, "unreadable") == 0 ||
            strcmp(issue->path, last) == 0)
            continue;
        o->found(o->context, &(struct ckptdb_found){issue->path, "", .refused = issue->message});
        last = issue->path;
        count++;
    }
    return count;
}

/* Pass what was found, and its issues, to the caller. */
static void give_all(const ckptdb *c, const struct ckptdb_import_options *o,
                     const struct import_report *r, struct ckptdb_import_report *report,
                     struct error *err)
{
    struct issues issues = {.options = o};
    struct text unread = {0};
    for (uint64_t i = 0; o->found && i < r->walk->unit_count; i++) {
        const struct unit *u = &r->walk->units[i];
        if (u->refused && !*u->refused)
            continue;
        const struct ckptdb_found found = {
            .path = u->path,
            .format = u->format->name,
            .known = u->known != 0,
            .unchanged = u->unchanged,
            .refused = u->refused,
        };
        o->found(o->context, &found);
    }
    if (!o->dry_run)
        give_issues(c, r->walk, &issues, err);
    else if (o->found)
        issues.refused = r->failed - r->failed_known + give_refused(o, r);
    /* Issues of known checkpoints belong to them, so files that failed again are counted here. */
    issues.refused += r->failed_known;
    report->failed = issues.refused > r->failed ? issues.refused : r->failed;
    report->issues = issues.count;
    unread_summary(r->walk, &unread);
    if (unread.len && text_str(&unread))
        snprintf(report->unread, sizeof(report->unread), "%s", text_str(&unread));
    text_release(&unread);
}

enum ckptdb_status ckptdb_import(ckptdb *c, const struct ckptdb_import_options *given,
                                 struct ckptdb_import_report *out, struct ckptdb_error *error)
{
    struct ckptdb_import_options o;
    struct import_report r = {0};
    struct error err = {.offset = NO_OFFSET}, giving = {.offset = NO_OFFSET};
    if (library_take(&o, sizeof(o), given, &err) == OK && library_alone(c, &err) == OK)
        run_import(c, &o, &r, &err);
    struct ckptdb_import_report report = {
        .size = sizeof(report),
        .added = r.added,
        .changed = r.changed,
        .unchanged = r.unchanged,
        .failed = r.failed,
        .vanished = r.vanished,
        .pruned = r.pruned,
    };
    if (r.walk && (err.status == OK || err.status == ERR_INTERRUPTED))
        give_all(c, &o, &r, &report, &giving);
    if (err.status == OK)
        err = giving;
    walk_free(r.walk);
    if (out) {
        report.size = out->size;
        memcpy(out, &report, report.size < sizeof(report) ? report.size : sizeof(report));
    }
    return library_end(&err, error);
}

enum ckptdb_status ckptdb_import_find(const char *const *paths, size_t count,
                                      struct ckptdb_error *error)
{
    struct error err = {.offset = NO_OFFSET};
    path_ask(paths, count, false);
    for (size_t i = 0; i < count && err.status == OK; i++)
        walk_find(paths[i], &err);
    return library_end(&err, error);
}

enum ckptdb_status ckptdb_forget(ckptdb *c, const int64_t *checkpoints, size_t count,
                                 struct ckptdb_error *error)
{
    struct error err = {.offset = NO_OFFSET};
    struct ckptdb_watch watch = c->watch;
    struct writer *writer;
    c->writing++;
    if (library_alone(c, &err) == OK &&
        writer_open(c->db, NULL, watch.stop ? library_wait : NULL, c, &writer, &err) == OK) {
        for (size_t i = 0; i < count && err.status == OK; i++)
            writer_drop(writer, checkpoints[i], &err);
        if (err.status == OK)
            writer_close(writer, &err);
        else
            writer_abort(writer);
    }
    c->writing--;
    watch.size = sizeof(watch);
    ckptdb_watch(c, &watch); /* writer_open() has installed a busy handler of its own */
    return library_end(&err, error);
}
