/*
 * api_content.c - hashing, statistics and manifests.
 */
#include <stdlib.h>
#include <string.h>

#include "catalog/content/hashes.h"
#include "catalog/content/stats.h"
#include "catalog/content/twins.h"
#include "catalog/data/store/store.h"
#include "catalog/db/ids.h"
#include "catalog/export/refuse.h"
#include "catalog/library/library.h"

#define ASKED_AHEAD 64 /* checkpoints, and small files: as much as a remote store keeps */

/* State of work on several checkpoints, one after the other. */
struct working {
    ckptdb *catalog;
    const char *doing;
    struct refusals causes; /* why tensors of the current checkpoint could not be read */
    bool trouble;           /* some tensor could not be read */
    uint64_t before, total; /* bytes: of the checkpoints before the current one; of all */
    const struct ckptdb_content_options *options; /* for ckptdb_sha256() */
};

static bool work_stopped(void *context)
{
    return library_stopped(((const struct working *)context)->catalog);
}

static void work_progress(void *context, uint64_t done, uint64_t total)
{
    const struct working *w = context;
    const struct ckptdb_watch *watch = &w->catalog->watch;
    if (watch->progress)
        watch->progress(watch->context, w->doing, w->before + done, w->total ? w->total : total);
}

enum status library_begin_results(const ckptdb *c, enum overlay_results kind,
                                  const struct ckptdb_content_options *o, struct error *err)
{
    /* For twins, every tensor that could be equal is compared with the tensors of all
     * checkpoints. */
    return overlay_wanted(c->db)
               ? overlay_begin(c->db, kind, o->twins ? NULL : o->checkpoints, o->count, err)
               : OK;
}

void library_end_results(const ckptdb *c, int changes)
{
    if (overlay_wanted(c->db) && sqlite3_total_changes(c->db) != changes)
        library_say(c, "what was computed is not kept: the catalog is open for reading alone");
}

void ckptdb_content_forget(ckptdb *c)
{
    struct error ignored = {.offset = NO_OFFSET};
    const struct ckptdb_watch watch = c->watch;
    if (!overlay_wanted(c->db))
        return;
    /* The caller may have stopped the work: forgetting must not stop, too. */
    ckptdb_watch(c, NULL);
    c->writing++;
    overlay_end(c->db, &ignored);
    c->writing--;
    ckptdb_watch(c, watch.size ? &watch : NULL);
}

/* Note an error of a tensor, or (NULL) of the whole checkpoint. */
static void take_trouble(void *context, const char *tensor, const struct error *err)
{
    struct working *w = context;
    char text[sizeof(err->source) + sizeof(err->message) + 64];
    w->trouble = true;
    error_text(err, text, sizeof(text));
    if (tensor)
        refuse_tensor(&w->causes, tensor, "%s", text);
    else
        refuse(&w->causes, "%s", text);
}

/* Print a line for each cause of errors in the current checkpoint. */
static void say_trouble(struct working *w, int64_t checkpoint)
{
    static const char sql[] = "SELECT name FROM checkpoint WHERE id = ?1";
    struct error ignored = {.offset = NO_OFFSET};
    struct text lines = {0};
    if (!w->causes.count)
        return;
    sqlite3_stmt *row = db_query(w->catalog->db, &ignored, sql, "i", checkpoint);
    const char *name = db_row(row, NULL, &ignored) ? db_text(row, 0) : "";
    refusals_print(&w->causes, &lines);
    for (char *at = text_str(&lines) ? lines.at : NULL, *end; at && (end = strchr(at, '\n'));
         at = end + 1) {
        *end = '\0';
        library_say(w->catalog, "%s: %s", name, at);
    }
    sqlite3_finalize(row);
    text_release(&lines);
    refusals_release(&w->causes);
}

static struct content_work work_of(struct working *w, const struct ckptdb_content_options *o,
                                   time_t *begun)
{
    return (struct content_work){
        .db = w->catalog->db,
        .begun = begun,
        .threads = o->threads,
        .again = o->again,
        .twins = o->twins,
        .stop = work_stopped,
        .progress = work_progress,
        .trouble = take_trouble,
        .context = w,
    };
}

/* Take the options. `keeps`: the results are committed. */
static enum status begin_work(const ckptdb *c, const struct ckptdb_content_options *given,
                              bool keeps, struct ckptdb_content_options *o, bool *all,
                              struct error *err)
{
    if (all)
        *all = false;
    if (library_take(o, sizeof(*o), given, err) == OK && (!keeps || library_alone(c, err) == OK))
        library_known(c, o->checkpoints, o->count, err);
    return err->status;
}

/* Hash a checkpoint, or compute its statistics; or (measured) only say how much that would read. */
static enum status compute_one(const struct content_work *work, enum overlay_results kind,
                               const struct ckptdb_content_options *o, size_t i, struct error *err)
{
    bool complete;
    return kind == OVERLAY_HASHES
               ? content_hash(work, o->checkpoints[i], &complete, err)
               : content_stats(work, o->checkpoints[i], o->names, &complete, err);
}

/* Ask for the files of the next checkpoints that lie on other machines side by side, and read the small ones: one
 * checkpoint after the other would wait for its own. */
static void ask_ahead(const struct content_work *work, enum overlay_results kind,
                      const struct ckptdb_content_options *o, size_t from, struct error *err)
{
    static const char sql[] = "SELECT path FROM _files WHERE id BETWEEN ?1" ID_FIRST
                              "AND ?1" ID_LAST "AND size IS NOT NULL";
    struct arena arena = {.err = err};
    const char **paths[2] = {0}; /* to look at, and to read */
    size_t count[2] = {0}, space[2] = {0};
    for (size_t i = from; i < o->count && i - from < ASKED_AHEAD && err->status == OK; i++) {
        uint64_t bytes = 0;
        struct content_work measuring = *work;
        measuring.measured = &bytes;
        sqlite3_stmt *s = db_query_to(work->db, err, DB_READING, sql, "i", o->checkpoints[i]);
        for (bool measured = false; db_row(s, DB_READING, err); measured = true) {
            const char *path = db_text(s, 0);
            if (path_is_local(path))
                break;
            if (!measured)
                compute_one(&measuring, kind, o, i, err);
            const bool reads = bytes && count[1] < ASKED_AHEAD;
            *PUSH(&arena, paths[reads], count[reads], space[reads]) =
                arena_copy(&arena, path, strlen(path));
        }
        sqlite3_finalize(s);
    }
    for (int reads = 0; reads < 2 && err->status == OK; reads++)
        path_ask(paths[reads], count[reads], reads);
    arena_release(&arena);
}

/* Work on one checkpoint after the other. With a watch, the bytes that each has to read are counted first. */
static void compute_all(struct working *w, const struct content_work *work,
                        enum overlay_results kind, const struct ckptdb_content_options *o,
                        struct error *err)
{
    uint64_t *bytes =
        o->count > 1 && w->catalog->watch.progress ? calloc(o->count, sizeof(*bytes)) : NULL;
    for (size_t i = 0; bytes && i < o->count && err->status == OK; i++) {
        struct content_work measuring = *work;
        measuring.measured = &bytes[i];
        compute_one(&measuring, kind, o, i, err);
        w->total += bytes[i];
    }
    for (size_t i = 0; i < o->count && err->status == OK; i++) {
        if (i % ASKED_AHEAD == 0)
            ask_ahead(work, kind, o, i, err);
        if (err->status != OK)
            break;
        compute_one(work, kind, o, i, err);
        say_trouble(w, o->checkpoints[i]);
        w->before += bytes ? bytes[i] : 0;
    }
    free(bytes);
}

/* Hash checkpoints, or compute their statistics, and keep the results. */
static enum ckptdb_status compute_content(ckptdb *c, enum overlay_results kind, const char *doing,
                                          const struct ckptdb_content_options *given, bool *all,
                                          struct ckptdb_error *error)
{
    struct error err = {.offset = NO_OFFSET};
    struct working w = {.catalog = c, .doing = doing};
    struct ckptdb_content_options o;
    time_t begun = 0;
    if (begin_work(c, given, true, &o, all, &err) != OK)
        return library_end(&err, error);
    const struct content_work work = work_of(&w, &o, &begun);
    c->writing++;
    library_begin_results(c, kind, &o, &err);
    if (kind == OVERLAY_HASHES && err.status == OK)
        content_find_links(c->db, &err);
    if (kind == OVERLAY_HASHES && o.twins && err.status == OK)
        twins_find(c->db, &err);
    const int before = sqlite3_total_changes(c->db);
    compute_all(&w, &work, kind, &o, &err);
    content_commit(c->db, &err);
    c->writing--;
    library_end_results(c, before);
    if (all)
        *all = err.status == OK && !w.trouble;
    return library_end(&err, error);
}

enum ckptdb_status ckptdb_hash(ckptdb *c, const struct ckptdb_content_options *options, bool *all,
                               struct ckptdb_error *error)
{
    return compute_content(c, OVERLAY_HASHES, "hashing", options, all, error);
}

enum ckptdb_status ckptdb_statistics(ckptdb *c, const struct ckptdb_content_options *options,
                                     bool *all, struct ckptdb_error *error)
{
    return compute_content(c, OVERLAY_STATISTICS, "reading", options, all, error);
}

static void give_sum(void *context, const char *hex, const char *name)
{
    const struct working *w = context;
    w->options->sum(w->options->context, hex, name);
}

enum ckptdb_status ckptdb_sha256(ckptdb *c, const struct ckptdb_content_options *given, bool *all,
                                 struct ckptdb_error *error)
{
    struct error err = {.offset = NO_OFFSET};
    struct ckptdb_content_options o;
    struct working w = {.catalog = c, .doing = "SHA-256", .options = &o};
    bool complete;
    if (begin_work(c, given, false, &o, all, &err) != OK)
        return library_end(&err, error);
    const struct content_work work = work_of(&w, &o, NULL);
    if (o.count != 1)
        error_set(&err, ERR_ARGUMENT, NULL, NO_OFFSET,
                  "a manifest belongs to one checkpoint: name it");
    else
        content_sha256(&work, o.checkpoints[0], give_sum, &complete, &err);
    if (o.count == 1)
        say_trouble(&w, o.checkpoints[0]);
    if (all)
        *all = err.status == OK && !w.trouble;
    return library_end(&err, error);
}

enum ckptdb_status ckptdb_found(ckptdb *c, int64_t checkpoint, const char *name, const char *file,
                                const char *message, struct ckptdb_error *error)
{
    static const char put[] = "INSERT INTO _damages VALUES (?1, ?2, ?3, NULL, 'manifest', ?4)";
    struct error err = {.offset = NO_OFFSET};
    c->writing++;
    db_run(c->db, &err, NULL, put, "isss", checkpoint, name, file, message);
    c->writing--;
    return library_end(&err, error);
}
