/*
 * cmd_import.c - index what lies under some paths.
 */
#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "importer/import.h"
#include "importer/walk/unread.h"
#include "importer/walk/walk.h"
#include "shell/command/command.h"
#include "shell/command/import_issues.h"

struct showing {
    struct progress *bar;
    const char *doing;
    struct session *session;
};

static void show(void *context, const char *doing, uint64_t done, uint64_t total)
{
    struct showing *s = context;
    if (s->doing != doing && total) {
        /* The search is over (the writer's thread is the only one that says so). */
        progress_free(s->bar);
        s->bar = progress_new(s->session, doing, "checkpoints");
        s->doing = doing;
    }
    progress_set(s->bar, done, total);
}

static void say_waiting(void *context)
{
    (void)context;
    complain("waiting: another program is writing the catalog");
}

static void print_plan(struct session *session, const struct walk *walk)
{
    for (uint64_t i = 0; i < walk->unit_count; i++) {
        const struct unit *u = &walk->units[i];
        fprintf(session->out, "%s\t%s\t%s\n",
                u->unchanged ? "unchanged"
                : u->known   ? "changed"
                             : "new",
                u->format->name, u->path);
    }
}

/* `refused`: with those of earlier imports, which are not read again. */
static void summarise(const struct import_report *r, sqlite3_int64 refused, bool dry_run)
{
    struct text t = {0};
    text_addf(&t, "%s%llu new, %llu changed, %llu unchanged", dry_run ? "would be: " : "",
              (unsigned long long)r->added, (unsigned long long)r->changed,
              (unsigned long long)r->unchanged);
    if (refused)
        text_addf(&t, ", %lld refused", refused);
    if (r->vanished)
        text_addf(&t, ", %llu no longer there%s", (unsigned long long)r->vanished,
                  r->pruned ? " and dropped" : "");
    if (text_str(&t))
        complain("%s", text_str(&t));
    text_release(&t);
    unread_summary(r->walk, &t);
    if (t.len && text_str(&t))
        complain("%s", text_str(&t));
    text_release(&t);
}

static bool parse_jobs(const char *text, unsigned *jobs)
{
    char *end;
    unsigned long n = strtoul(text, &end, 10);
    *jobs = (unsigned)n;
    return *text >= '0' && *text <= '9' && !*end && n >= 1 && n <= 1024;
}

static int finish(struct session *session, const struct import_report *report,
                  const struct import_options *options, const struct error *err)
{
    if (err->status != OK && err->status != ERR_INTERRUPTED) {
        complain_error(err);
        return STATUS_TROUBLE;
    }
    if (options->dry_run && report->walk)
        print_plan(session, report->walk);
    struct import_counts counts = {0};
    bool good = true, interrupted = err->status == ERR_INTERRUPTED;
    if (report->walk && session->db && !options->dry_run)
        good = import_issues(session, report->walk, &counts);
    /* Of those that are known, the issues are theirs. */
    counts.refused += (sqlite3_int64)report->failed_known;
    if (counts.refused < (sqlite3_int64)report->failed)
        counts.refused = (sqlite3_int64)report->failed;
    if (report->walk)
        summarise(report, counts.refused, options->dry_run);
    if (report->vanished > report->pruned && !options->dry_run)
        complain(
            "of what is no longer there: `import --prune` drops it, `relocate OLD NEW` "
            "follows it where it was moved");
    if (interrupted)
        complain(
            report->added || report->changed
                ? "interrupted: what is counted here is kept, and the next import goes "
                  "on from there"
                : "interrupted: nothing was indexed, and the catalog is as it was");
    if (interrupted)
        return STATUS_INTERRUPTED;
    return !good ? STATUS_TROUBLE : counts.issues ? STATUS_NO : STATUS_FINE;
}

extern const struct command command_import;

/* A mistyped path must not leave an empty catalog behind. */
static bool paths_exist(const struct import_options *options)
{
    struct error err = {.offset = NO_OFFSET};
    for (int i = 0; i < options->path_count; i++) {
        if (walk_find(options->paths[i], &err) != OK) {
            complain_error(&err);
            return false;
        }
    }
    return true;
}

/* A dry run makes no catalog, and needs none. */
static bool open_catalog(struct session *session, bool dry_run)
{
    if (!dry_run && session->readonly) {
        complain("import writes to the catalog: --readonly forbids it");
        return false;
    }
    if (dry_run && access(session->catalog, F_OK) != 0)
        return true;
    if (!session_open(session, dry_run ? DB_READ : DB_CREATE))
        return false;
    /* An import stops between checkpoints: a statement that is interrupted would undo those
     * that are not committed yet. */
    sqlite3_progress_handler(session->db, 0, NULL, NULL);
    return true;
}

static int import_command(struct session *session, const struct args *args)
{
    struct showing showing = {.session = session, .doing = "looking"};
    struct import_options options = {
        .paths = args->operand,
        .path_count = args->count,
        .prune = args_flag(&command_import, args, "--prune"),
        .follow = args_flag(&command_import, args, "--follow"),
        .dry_run = args_flag(&command_import, args, "--dry-run"),
        .interrupted = &session_interrupted,
        .progress = show,
        .waiting = say_waiting,
        .context = &showing,
    };
    const char *jobs = args_option(&command_import, args, "--jobs");
    if (jobs && !parse_jobs(jobs, &options.jobs)) {
        complain("import: --jobs takes a number from 1 on, not \"%s\"", jobs);
        return STATUS_TROUBLE;
    }
    if (!paths_exist(&options) || !open_catalog(session, options.dry_run))
        return STATUS_TROUBLE;
    struct import_report report;
    struct error err = {.offset = NO_OFFSET};
    showing.bar = progress_new(session, "looking", "files");
    import_run(session->db, &options, &report, &err);
    session_watch(session);
    progress_free(showing.bar);
    int status = finish(session, &report, &options, &err);
    walk_free(report.walk);
    return status;
}

static const struct option_spec import_options[] = {
    {"--prune", NULL, "drop checkpoints under PATH that are no longer there"},
    {"--jobs", "N", "number of threads (default: four a core)"},
    {"--dry-run", NULL, "only print what would be indexed"},
    {"--follow", NULL, "also enter linked directories (linked files always count)"},
    {NULL, NULL, NULL},
};

const struct command command_import = {
    .name = "import",
    .args = "PATH...",
    .summary = "index the checkpoints under some paths",
    .help =
        "Reads headers and indexes only, never weights. Folders are searched; a file\n"
        "stands for its checkpoint. What has not changed since it was indexed is not\n"
        "opened again. Whatever is wrong is a row of the view `issue` and a line on\n"
        "stderr, and makes the exit status 1; the rest is indexed all the same. Files of kinds\n"
        "that are not read (TFLite, TensorRT, ...: see formats) are such an issue a folder,\n"
        "and counted at the end.\n"
        "\n"
        "  ckptdb import ~/models ~/runs/t5\n"
        "  ckptdb import --prune ~/runs\n"
        "  ckptdb import runs/model.ckpt-1000",
    .options = import_options,
    .min_args = 1,
    .max_args = -1,
    .catalog = CATALOG_NONE, /* opened as the options say */
    .no_rows = true,
    .run = import_command,
};
