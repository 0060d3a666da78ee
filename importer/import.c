#include "importer/import.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "catalog/base/name_list.h"
#include "catalog/base/search.h"
#include "catalog/base/threads.h"
#include "catalog/base/version.h"
#include "catalog/base/work.h"
#include "catalog/data/model/step.h"
#include "catalog/data/store/store.h"
#include "catalog/db/classes.h"
#include "catalog/db/statement.h"
#include "catalog/db/write/writer.h"
#include "importer/job/job_run.h"
#include "importer/job/known.h"
#include "importer/walk/walk.h"
#include "sources.h"

#define THREADS_A_CORE 4 /* cold files keep threads waiting, not computing */

struct importing {
    const struct import_options *options;
    const char *looker;
    const struct classes *classes;
    struct walk *walk;
    const struct unit **todo; /* units that are new or have changed */
    uint64_t todo_count;
};

static bool interrupted(const struct import_options *o)
{
    return o->stop && o->stop(o->context);
}

static unsigned thread_count(const struct import_options *o)
{
    unsigned n = o->jobs ? o->jobs : threads_cores() * THREADS_A_CORE;
    for (int i = 0; i < o->path_count && !o->jobs; i++)
        n = path_threads(o->paths[i], n);
    return n > THREADS_MAX ? THREADS_MAX : n;
}

/* --- indexing --------------------------------------------------------------------------- */

struct indexing {
    struct importing *im;
    struct writer *writer;
    struct import_report *report;
    struct reuse *reuse;
    unsigned threads_each; /* per job: a few jobs may use the threads of many */
};

/* Remember the files of a failed batch as passed over. If one is missing, remember none: the next
 * import must report it again. Directories are looked at in every import. */
static void remember(struct batch *b)
{
    b->passed = arena_array(&b->arena, b->file_count + 1, sizeof(*b->passed));
    for (uint64_t i = 0; b->passed && i < b->file_count; i++) {
        if (!b->files[i].present) {
            b->passed_count = 0;
            return;
        }
        if (strcmp(b->files[i].role, "directory") != 0 && strcmp(b->files[i].role, "chunks") != 0)
            b->passed[b->passed_count++] = b->files[i];
    }
}

/* Whether a file of a step holds no tensors, so that it is no checkpoint: what it says are facts of the
 * step's model (importer/job/neighbour.c). */
static bool is_only_facts(const struct unit *u, const struct batch *b)
{
    struct step_place place;
    return !b->failed && !b->passes && !b->folder && !u->known && !b->layout->tensor_count &&
           ((step_of_path(u->path, &place) && place.item.len) || job_beside_model(u->path)) &&
           step_model_rank(step_item(u->path)) == STEP_NO_MODEL;
}

static void *index_unit(void *context, uint64_t number, uint64_t *bytes)
{
    struct indexing *x = context;
    const struct unit *u = x->im->todo[number];
    struct error err = {.offset = NO_OFFSET};
    struct batch *batch = NULL;
    struct job_request request = {
        .format = u->format,
        .path = u->primary,
        .checkpoint_path = u->path,
        .siblings = u->siblings,
        .sibling_count = u->sibling_count,
        .reuse = x->reuse,
        .classes = x->im->classes,
        .threads = x->threads_each,
        .salvage = x->im->options->salvage,
    };
    job_run_index(&request, &batch, &err);
    /* A file that failed is not opened again until it changes, unless the machine was to
     * blame. An index file is, because it must keep claiming its shards. */
    if (batch && batch->failed && !batch->passes && !status_passes(err.status) && !u->format->set &&
        !u->known)
        remember(batch);
    if (batch && is_only_facts(u, batch)) {
        remember(batch);
        batch->path = NULL;
    }
    if (batch && err.status == ERR_INTERRUPTED && threads_stopped()) { /* no fault of the file's */
        batch_free(batch);
        batch = NULL;
    }
    *bytes = batch ? batch->arena.used : 0;
    return batch;
}

static void count_batch(struct import_report *r, const struct unit *u, const struct batch *b,
                        bool kept)
{
    if (!b->path)
        return;
    r->failed += b->failed;
    r->failed_known += b->failed && u->known;
    r->added += !b->failed && !u->known;
    r->changed += !b->failed && u->known && !kept;
    r->unchanged += !b->failed && u->known && kept;
}

static enum status write_batch(void *context, uint64_t number, void *batch, struct error *err)
{
    struct indexing *x = context;
    const struct import_options *o = x->im->options;
    if (writer_put(x->writer, batch, err) == OK)
        count_batch(x->report, x->im->todo[number], batch, writer_kept(x->writer));
    if (o->progress)
        o->progress(o->context, "indexing", number + 1, x->im->todo_count);
    return err->status;
}

static void drop_batch(void *batch)
{
    batch_free(batch);
}

static bool is_interrupted(void *context)
{
    return interrupted(((struct indexing *)context)->im->options);
}

/* In a dry run: keep only whether a batch would be a checkpoint, and why not. */
static enum status look_at_batch(void *context, uint64_t number, void *batch, struct error *err)
{
    struct indexing *x = context;
    const struct batch *b = batch;
    struct walk *walk = x->im->walk;
    struct unit *u = &walk->units[x->im->todo[number] - walk->units];
    const char *why = b->path ? "it is damaged" : "";
    count_batch(x->report, u, b, false);
    for (uint64_t i = b->issue_count; b->failed && i > 0; i--)
        if (!b->issues[i - 1].warning)
            why = b->issues[i - 1].message;
    if (b->failed || !b->path)
        u->refused = arena_copy(&walk->arena, why, strlen(why));
    if (walk->arena.failed)
        error_memory(err);
    return err->status;
}

/* `w` NULL: only look, and write nothing. */
static void index_all(struct importing *im, struct writer *w, struct import_report *report,
                      struct error *err)
{
    struct indexing x = {.im = im, .writer = w, .report = report, .reuse = reuse_new()};
    struct work work = {
        .count = im->todo_count,
        .threads = thread_count(im->options),
        .context = &x,
        .make = index_unit,
        .take = w ? write_batch : look_at_batch,
        .drop = drop_batch,
        .stop = is_interrupted,
    };
    x.threads_each = work.threads / work_threads(&work);
    if (!x.reuse)
        error_memory(err);
    else
        work_run(&work, err);
    reuse_free(x.reuse);
}

/* --- checkpoints that are gone ---------------------------------------------------------- */

static int compare_unit(const void *key, const void *unit)
{
    return strcmp(key, ((const struct unit *)unit)->path);
}

static bool found(const struct walk *walk, const char *path)
{
    return walk->unit_count &&
           bsearch(path, walk->units, walk->unit_count, sizeof(*walk->units), compare_unit);
}

static bool is_gone(const char *path)
{
    struct file_identity identity;
    struct error ignored = {0};
    return file_identify(path, &identity, &ignored) == ERR_MISSING;
}

/* Whether a folder around the path is a checkpoint now, which has all below it. */
static bool taken_in(const struct walk *walk, const char *path)
{
    char *around = strdup(path);
    bool taken = false;
    for (char *slash; around && !taken && (slash = strrchr(around, '/')) && slash != around;) {
        *slash = '\0';
        const struct unit *u = walk->unit_count ? bsearch(around, walk->units, walk->unit_count,
                                                          sizeof(*walk->units), compare_unit)
                                                : NULL;
        taken = u && u->format->probe_dir && !u->format->flat;
    }
    free(around);
    return taken;
}

/* A checkpoint that the walk did not find is gone if the walk has looked where it was, or
 * if nothing is there now. The walk does not look at what it cannot read, nor behind
 * links that it was not told to follow. */
static bool vanished(const struct walk *walk, const struct known *k,
                     const struct known_checkpoint *c)
{
    if (!walk_covers(walk, c->path) || found(walk, c->path))
        return false;
    if (walk_leads_back(walk, c->path))
        return true; /* its files are found by their own path */
    if (!c->file_count)
        return walk_saw(walk, c->path);
    const char *primary = k->files[c->first_file].path;
    const struct format *format = format_named(c->format);
    if (walk_inside(walk, primary) && !(format && format->part))
        return is_gone(primary); /* not named this time */
    if (format && format->part && taken_in(walk, c->path))
        return true; /* a part of other checkpoints is not a checkpoint itself */
    return is_gone(primary) ||
           (walk_listed(walk, c->path) && walk_saw(walk, primary) && walk_saw(walk, c->path));
}

/* The row of a file at a path that an earlier import passed over; NULL: none. */
static const struct known_file *passed_before(const struct known *k, const char *path)
{
    const struct known_file *f = known_file(k, path);
    while (f && f->checkpoint != KNOWN_NONE)
        f = f->next == KNOWN_NONE ? NULL : &k->files[f->next];
    return f;
}

/* Whether this import, or an earlier one since the file changed, found no checkpoint in it. */
static bool passed_over(const struct walk *walk, const struct known *k, const char *path,
                        const struct file_identity *now)
{
    if (named_find(walk->passed, walk->passed_count, sizeof(*walk->passed), path))
        return true;
    const struct known_file *f = passed_before(k, path);
    return f && file_same(&f->identity, now);
}

/* Whether the primary file of a checkpoint that seems to be gone is there, but with contents
 * that no format recognises. A set whose parts were found as checkpoints of their own is gone. */
static bool overwritten(const struct walk *walk, const struct known *k,
                        const struct known_checkpoint *c)
{
    struct file_identity now;
    struct error ignored = {.offset = NO_OFFSET};
    const struct known_file *primary = &k->files[c->first_file];
    if (!c->file_count || !primary->present || file_identify(primary->path, &now, &ignored) != OK ||
        file_same(&primary->identity, &now) || !passed_over(walk, k, primary->path, &now))
        return false;
    for (uint32_t i = 0; i < c->file_count; i++)
        if (found(walk, k->files[c->first_file + i].path))
            return false;
    return true;
}

/* The walk's issue about a file if it says what the file is now, such as a web page, or NULL. */
static const struct batch_issue *stray_issue(const struct walk *walk, const char *path)
{
    uint64_t i = 0;
    PARTITION_POINT(i, walk->issue_count, strcmp(walk->issues[i].path, path) < 0);
    for (; i < walk->issue_count && strcmp(walk->issues[i].path, path) == 0; i++)
        if (strcmp(walk->issues[i].code, "unrecognised") != 0)
            return &walk->issues[i];
    return NULL;
}

static void put_overwritten(struct writer *w, const struct walk *walk, const struct known *k,
                            const struct known_checkpoint *c, struct error *err)
{
    struct batch_file file = {.path = k->files[c->first_file].path};
    const struct batch_issue *stray = stray_issue(walk, file.path);
    struct batch_issue issue = {
        .path = file.path,
        .offset = NO_OFFSET,
        .code = "unrecognised",
        .message = "no longer a checkpoint of any format that is read here: the file was "
                   "damaged or replaced since it was imported",
    };
    if (stray)
        issue = *stray;
    struct batch b = {
        .path = c->path,
        .format = c->format,
        .state = STATE_DAMAGED,
        .files = &file, /* its issues, which the walk wrote, become the checkpoint's */
        .file_count = 1,
        .issues = &issue,
        .issue_count = 1,
        .failed = true,
    };
    writer_put(w, &b, err);
}

/* Report checkpoints below the roots that are gone. `w` NULL: only count them. */
static void report_vanished(struct importing *im, const struct known *k, struct writer *w,
                            struct import_report *report, struct error *err)
{
    for (uint32_t i = 0; i < k->checkpoint_count && err->status == OK; i++) {
        const struct known_checkpoint *c = &k->checkpoints[i];
        if (!vanished(im->walk, k, c))
            continue;
        if (overwritten(im->walk, k, c)) {
            report->failed++;
            report->failed_known++;
            if (w)
                put_overwritten(w, im->walk, k, c, err);
            continue;
        }
        report->vanished++;
        if (!w)
            continue;
        if (im->options->prune) {
            report->pruned++;
            writer_drop(w, c->id, err);
        } else {
            writer_vanished(w, c->id, c->path, err);
        }
    }
}

/* Whether a file is the one that an earlier import refused: it is not opened again, so its
 * issues are not found again. */
static bool still_refused(const struct known *k, const char *path)
{
    struct file_identity now;
    struct error ignored = {.offset = NO_OFFSET};
    const struct known_file *f = passed_before(k, path);
    return f && file_identify(path, &now, &ignored) == OK && file_same(&f->identity, &now);
}

/* --- the whole import ------------------------------------------------------------------- */

static void write_walk(struct importing *im, struct writer *w, struct error *err)
{
    struct batch b = {
        .passed = im->walk->passed,
        .passed_count = im->walk->passed_count,
        .issues = im->walk->issues,
        .issue_count = im->walk->issue_count,
    };
    for (uint64_t i = 0; i < im->walk->root_count && err->status == OK; i++)
        writer_clear_walked(w, im->walk->roots[i], err);
    if (err->status == OK)
        writer_put(w, &b, err);
}

/* Must follow the checkpoints that the notes are about. */
static void write_notes(struct importing *im, struct writer *w, struct error *err)
{
    const struct walk *walk = im->walk;
    for (uint64_t i = 0; i < walk->unit_count && err->status == OK; i++)
        if (walk->units[i].known)
            writer_clear_notes(w, walk->units[i].known, err);
    for (uint64_t i = 0; i < walk->note_count && err->status == OK; i++)
        writer_note(w, walk->notes[i].checkpoint, &walk->notes[i].issue, err);
    if (err->status == OK)
        writer_clear_settled(w, err);
}

#define WAIT_NS       20000000
#define NOTICED_AFTER 50 /* number of waits: one second */

/* SQLite's busy handler, called while another program is writing. */
static int wait_for_turn(void *context, int times)
{
    const struct import_options *o = context;
    if (interrupted(o))
        return 0;
    if (times == NOTICED_AFTER && o->waiting)
        o->waiting(o->context);
    nanosleep(&(struct timespec){.tv_nsec = WAIT_NS}, NULL);
    return 1;
}

static void write_all(struct importing *im, struct sqlite3 *db, const struct known *k,
                      struct import_report *report, struct error *err)
{
    struct writer *w = NULL;
    if (writer_open(db, im->looker, wait_for_turn, (void *)im->options, &w, err) != OK)
        return;
    /* Forgetting a file deletes its issues, so do it before new issues
     * of the same paths are written. */
    for (uint32_t i = 0; i < k->file_count && err->status == OK; i++)
        if (k->files[i].checkpoint == KNOWN_NONE && walk_covers(im->walk, k->files[i].path) &&
            is_gone(k->files[i].path))
            writer_forget_passed(w, k->files[i].path, err);
    /* Delete the issues of files that earlier imports refused and this walk looked at: this import finds
     * them again, unless the file was mended or is no longer a checkpoint. */
    for (uint32_t i = 0; i < k->refused_count && err->status == OK; i++)
        if (walk_covers(im->walk, k->refused[i]) && walk_saw(im->walk, k->refused[i]) &&
            !still_refused(k, k->refused[i]))
            writer_forget_passed(w, k->refused[i], err);
    write_walk(im, w, err);
    if (err->status == OK)
        index_all(im, w, report, err);
    write_notes(im, w, err);
    report_vanished(im, k, w, report, err);
    /* Even if it was stopped: only whole checkpoints have been written, so keep them. (Where
     * nobody stops it, a statement was interrupted: what it belongs to is not whole.) */
    if (err->status != OK && !(err->status == ERR_INTERRUPTED && interrupted(im->options))) {
        writer_abort(w);
        return;
    }
    struct error closing = {.offset = NO_OFFSET};
    if (writer_close(w, &closing) != OK && err->status == OK)
        *err = closing;
}

/* Find out what an import would do. */
static void look_all(struct importing *im, const struct known *k, struct import_report *report,
                     struct error *err)
{
    struct walk *walk = im->walk;
    report->before = arena_array(&walk->arena, k->refused_count + 1, sizeof(*report->before));
    if (!report->before)
        error_memory(err);
    for (uint32_t i = 0; report->before && i < k->refused_count; i++) {
        const char *path = k->refused[i];
        if (walk_covers(walk, path) && walk_saw(walk, path) && still_refused(k, path))
            report->before[report->before_count++] = arena_copy(&walk->arena, path, strlen(path));
    }
    if (err->status == OK)
        index_all(im, NULL, report, err);
    report_vanished(im, k, NULL, report, err);
}

static bool tick(void *context, uint64_t files)
{
    const struct import_options *o = context;
    if (o->progress)
        o->progress(o->context, "looking", files, 0);
    return !interrupted(o);
}

static void import_choose(struct importing *im, struct import_report *report, struct error *err)
{
    const struct walk *walk = im->walk;
    im->todo = calloc(walk->unit_count + 1, sizeof(*im->todo));
    if (!im->todo)
        error_memory(err);
    for (uint64_t i = 0; im->todo && i < walk->unit_count; i++) {
        if (walk->units[i].unchanged)
            report->unchanged++;
        else
            im->todo[im->todo_count++] = &walk->units[i];
    }
}

void import_looker(const struct classes *classes, char out[IMPORT_LOOKER_MAX])
{
    snprintf(out, IMPORT_LOOKER_MAX, "%s %s %016" PRIx64, CKPTDB_VERSION, CKPTDB_SOURCES,
             classes_digest(classes));
}

enum status import_run(struct sqlite3 *db, const struct import_options *options,
                       struct import_report *report, struct error *err)
{
    char looker[IMPORT_LOOKER_MAX];
    struct classes *classes = classes_load(db, err);
    struct known *known = NULL;
    *report = (struct import_report){0};
    if (classes)
        import_looker(classes, looker);
    if (!classes || known_load(db, looker, &known, err) != OK) {
        classes_free(classes);
        return err->status;
    }
    struct importing im = {.options = options, .looker = looker, .classes = classes};
    struct walk_options walk_options = {
        .threads = thread_count(options),
        .follow = options->follow,
        .salvage = options->salvage,
        .catalog = db ? sqlite3_db_filename(db, "main") : NULL,
        .known = known,
        .classes = classes,
        .tick = tick,
        .context = (void *)options,
    };
    store_hold(true);
    path_ask(options->paths, (size_t)options->path_count, false);
    walk_paths(options->paths, options->path_count, &walk_options, &im.walk, err);
    report->walk = im.walk;
    if (err->status == OK && interrupted(options)) /* what could not be looked at, is no issue */
        error_set(err, ERR_INTERRUPTED, NULL, NO_OFFSET, "interrupted");
    if (err->status == OK)
        import_choose(&im, report, err);
    if (err->status == OK && (options->dry_run || !db)) {
        look_all(&im, known, report, err);
    } else if (err->status == OK) {
        write_all(&im, db, known, report, err);
    }
    store_hold(false);
    if (err->status == ERR_BUSY && interrupted(options))
        err->status = ERR_INTERRUPTED; /* while waiting for the other program */
    free(im.todo);
    known_free(known);
    classes_free(classes);
    return err->status;
}
