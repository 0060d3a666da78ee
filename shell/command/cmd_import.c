/*
 * cmd_import.c - index the checkpoints under some paths.
 */
#include <inttypes.h>
#include <string.h>
#include <unistd.h>

#include "catalog/base/text.h"
#include "shell/command/command.h"
#include "shell/command/hashing.h"
#include "shell/command/import_issues.h"

struct showing {
    struct session *session;
    struct progress *bar;
    const char *doing;
    struct import_issues issues;
    struct text found_json, issues_json; /* the elements of JSON lists */
};

static void import_show(void *context, const char *doing, uint64_t done, uint64_t total)
{
    struct showing *s = context;
    if (strcmp(doing, "waiting") == 0) {
        complain("waiting: another program is writing the catalog");
        return;
    }
    if (s->doing != doing && total) {
        /* Switch from searching to indexing. (Only the writer's thread reports indexing.) */
        progress_free(s->bar);
        s->bar = progress_new(s->session, doing, "checkpoints");
        s->doing = doing;
    }
    progress_set(s->bar, done, total);
}

static void end_progress(struct showing *s)
{
    progress_free(s->bar);
    s->bar = NULL;
}

/* Add `before` and then "name":"value". */
static void put_member(struct text *t, const char *name, const char *value, const char *before)
{
    text_addf(t, "%s\"%s\":", before, name);
    if (value)
        text_json(t, value, strlen(value));
    else
        text_adds(t, "null");
}

static void show_found(void *context, const struct ckptdb_found *found)
{
    struct showing *s = context;
    const char *state = found->refused     ? "refused"
                        : found->unchanged ? "unchanged"
                        : found->known     ? "changed"
                                           : "new";
    end_progress(s);
    if (s->session->mode == MODE_AUTO) {
        fprintf(s->session->out, "%s\t%s\t%s", state, found->format, found->path);
        fprintf(s->session->out, found->refused ? "\t%s\n" : "\n", found->refused);
        return;
    }
    put_member(&s->found_json, "state", state, s->found_json.len ? ",{" : "{");
    put_member(&s->found_json, "format", found->format, ",");
    put_member(&s->found_json, "path", found->path, ",");
    if (found->refused)
        put_member(&s->found_json, "refused", found->refused, ",");
    text_addc(&s->found_json, '}');
}

static void show_issue(void *context, const struct ckptdb_issue *issue)
{
    struct showing *s = context;
    end_progress(s);
    import_issues_add(&s->issues, issue);
    if (s->session->mode == MODE_AUTO)
        return;
    struct text *t = &s->issues_json;
    put_member(t, "severity", issue->severity, t->len ? ",{" : "{");
    put_member(t, "code", issue->code, ",");
    put_member(t, "path", issue->path, ",");
    if (issue->offset >= 0)
        text_addf(t, ",\"offset\":%" PRId64, issue->offset);
    else
        text_adds(t, ",\"offset\":null");
    put_member(t, "message", issue->message, ",");
    put_member(t, "checkpoint", issue->checkpoint, ",");
    text_addc(t, '}');
}

static void summarise(const struct ckptdb_import_report *r, bool dry_run)
{
    struct text t = {0};
    text_addf(&t, "%s%" PRIu64 " new, %" PRIu64 " changed, %" PRIu64 " unchanged",
              dry_run ? "would be: " : "", r->added, r->changed, r->unchanged);
    if (r->failed)
        text_addf(&t, ", %" PRIu64 " refused", r->failed);
    if (r->vanished)
        text_addf(&t, ", %" PRIu64 " no longer there%s", r->vanished,
                  r->pruned ? " and dropped" : "");
    if (text_str(&t))
        complain("%s", text_str(&t));
    text_release(&t);
    if (*r->unread)
        complain("%s", r->unread);
}

/* Report the counts for programs, with every issue and, for a dry run, what was found. */
static int report_counts(struct showing *s, const struct ckptdb_import_report *r, bool dry_run)
{
    struct text t = {0};
    text_addf(&t,
              "{\"new\":%" PRIu64 ",\"changed\":%" PRIu64 ",\"unchanged\":%" PRIu64
              ",\"refused\":%" PRIu64 ",\"vanished\":%" PRIu64 ",\"pruned\":%" PRIu64
              ",\"dry_run\":%s",
              r->added, r->changed, r->unchanged, r->failed, r->vanished, r->pruned,
              dry_run ? "true" : "false");
    put_member(&t, "unread", *r->unread ? r->unread : NULL, ",");
    if (dry_run)
        text_addf(&t, ",\"found\":[%s]", s->found_json.len ? text_str(&s->found_json) : "");
    text_addf(&t, ",\"issues\":[%s]}", s->issues_json.len ? text_str(&s->issues_json) : "");
    t.failed = t.failed || s->found_json.failed || s->issues_json.failed;
    const int status = render_report(s->session, &t);
    text_release(&t);
    return status;
}

extern const struct command command_import;

/* Check this first: a mistyped path must not leave an empty catalog behind. */
static bool paths_exist(const struct ckptdb_import_options *options)
{
    struct ckptdb_error err;
    if (ckptdb_import_find(options->paths, options->path_count, &err) == CKPTDB_OK)
        return true;
    complain_status(&err);
    return false;
}

/* A dry run never creates a catalog: without one it uses an empty catalog in memory. */
static ckptdb *open_catalog(struct session *session, bool dry_run)
{
    struct ckptdb_error err;
    ckptdb *none = NULL;
    if (!dry_run && session->readonly) {
        complain("import writes to the catalog: --readonly forbids it");
        return NULL;
    }
    if (dry_run && !session->open && access(session->catalog, F_OK) != 0) {
        if (ckptdb_open(NULL, CKPTDB_CREATE, &none, &err) != CKPTDB_OK)
            complain_status(&err);
        return none;
    }
    return session_open(session, dry_run ? CKPTDB_READ : CKPTDB_CREATE) ? session->open : NULL;
}

static int run_import(struct session *session, ckptdb *catalog,
                      const struct ckptdb_import_options *options)
{
    struct showing *showing = options->context;
    struct ckptdb_import_report report = {.size = sizeof(report)};
    struct ckptdb_error err;
    showing->bar = progress_new(session, "looking", "files");
    ckptdb_import(catalog, options, &report, &err);
    end_progress(showing);
    if (err.status != CKPTDB_OK && err.status != CKPTDB_INTERRUPTED) {
        complain_status(&err);
        return STATUS_TROUBLE;
    }
    import_issues_end(&showing->issues);
    summarise(&report, options->dry_run);
    if (report_counts(showing, &report, options->dry_run) != STATUS_FINE)
        return STATUS_TROUBLE;
    if (report.vanished > report.pruned && !options->dry_run)
        complain("of what is no longer there: `import --prune` drops it, `relocate OLD NEW` "
                 "follows it where it was moved");
    if (err.status == CKPTDB_OK)
        return report.issues ? STATUS_NO : STATUS_FINE;
    complain(report.added || report.changed
                 ? "interrupted: what is counted here is kept, and the next import goes "
                   "on from there"
                 : "interrupted: nothing was indexed, and the catalog is as it was");
    return STATUS_INTERRUPTED;
}

static int import_command(struct session *session, const struct args *args)
{
    struct showing showing = {.session = session, .doing = "looking"};
    struct ckptdb_import_options options = {
        .size = sizeof(options),
        .paths = args->operand,
        .path_count = (size_t)args->count,
        .prune = args_option(&command_import, args, "--prune"),
        .follow = args_option(&command_import, args, "--follow"),
        .dry_run = args_option(&command_import, args, "--dry-run"),
        .issue = show_issue,
        .context = &showing,
        .salvage = args_option(&command_import, args, "--salvage"),
    };
    const struct ckptdb_watch watch = {
        .size = sizeof(watch), .context = &showing, .progress = import_show};
    options.found = options.dry_run ? show_found : NULL;
    if (!hash_jobs(args_option(&command_import, args, "--jobs"), &options.threads))
        return STATUS_TROUBLE;
    ckptdb *catalog = paths_exist(&options) ? open_catalog(session, options.dry_run) : NULL;
    if (!catalog)
        return STATUS_TROUBLE;
    session_watch(catalog, &watch);
    int status = run_import(session, catalog, &options);
    if (catalog == session->open)
        session_watch(catalog, NULL);
    else
        ckptdb_close(catalog);
    text_release(&showing.found_json);
    text_release(&showing.issues_json);
    return status;
}

static const struct option_spec import_options[] = {
    {"--prune", NULL, "drop checkpoints under PATH that are no longer there"},
    {"--jobs", "N", "number of threads (default: four per core; 32 for other machines)"},
    {"--dry-run", NULL, "only print what would be indexed, or refused and why"},
    {"--follow", NULL, "also enter linked directories (linked files always count)"},
    {"--salvage", NULL, "also take files that were cut short, for the tensors that are whole"},
    {NULL, NULL, NULL},
};

const struct command command_import = {
    .name = "import",
    .args = "PATH...",
    .summary = "index the checkpoints under some paths",
    .help = "Only headers and indexes are read, never weights. Folders are searched; a file\n"
            "given by name stands for the checkpoint it belongs to. Files that have not changed\n"
            "since they were indexed are not opened again. Each problem becomes a row of the view\n"
            "`issue` and a line on stderr, and makes the exit status 1; everything else is\n"
            "still indexed. Files of kinds that ckptdb does not read (TFLite, TensorRT, ...:\n"
            "see `formats`) give one such issue per folder, and are counted at the end.\n"
            "An unknown class is one line, however many pickles name it:\n"
            "a row of the table `known_class` says that it is safe, or dangerous.\n"
            "--json prints the counts and all issues as one object.\n"
            "PATH can be a file, or the index file of a set, on a web server (https://...): its\n"
            "header is read in ranges, by libcurl. hf://ORG/REPO[@REV][/PATH] of the hub,\n"
            "s3://BUCKET/PREFIX and gs://BUCKET/PREFIX are searched as folders are.\n"
            "--offline forbids all of these.\n"
            "\n"
            "  ckptdb import ~/models ~/runs/t5\n"
            "  ckptdb import --prune ~/runs\n"
            "  ckptdb import runs/model.ckpt-1000\n"
            "  ckptdb import https://example.org/m/model.safetensors.index.json",
    .options = import_options,
    .min_args = 1,
    .max_args = -1,
    .catalog = CATALOG_NONE, /* opened by import_command() */
    .run = import_command,
};
