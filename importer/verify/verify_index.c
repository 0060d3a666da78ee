/*
 * verify_index.c - the first part of a verification: read headers and indexes again, into a
 * catalog of their own (verifier.fresh), and attach the user's to it.
 */
#include <stdlib.h>
#include <string.h>

#include "catalog/base/name_list.h"
#include "catalog/base/work.h"
#include "catalog/data/store/directory.h"
#include "catalog/data/store/store.h"
#include "catalog/db/page_sums.h"
#include "catalog/db/schema.h"
#include "catalog/db/write/writer.h"
#include "importer/job/job_run.h"
#include "importer/verify/verifier.h"

static const char *if_any(const char *text)
{
    return text && *text ? text : NULL;
}

/* Record a finding: name, file, code and message; any may be NULL. */
static void put(struct verifier *v, int64_t checkpoint, const char *const row[4], uint64_t offset)
{
    const int64_t at = (int64_t)offset;
    db_run(v->fresh, v->err, "cannot verify",
           "INSERT INTO temp.found VALUES (?1, ?2, ?3, ?4, ?5, ?6)", "isspss", checkpoint,
           if_any(row[0]), if_any(row[1]), offset == NO_OFFSET ? NULL : &at, if_any(row[2]),
           if_any(row[3]));
}

void verify_found(struct verifier *v, int64_t checkpoint, const char *name,
                  const struct error *what)
{
    const char *const row[4] = {name, what->source, error_word(what), what->message};
    put(v, checkpoint, row, what->offset);
}

sqlite3_stmt *verify_query(struct verifier *v, const char *sql, const struct verified *c)
{
    sqlite3_stmt *s = db_query(v->fresh, v->err, sql, "");
    if (!s)
        return NULL;
    sqlite3_bind_int64(s, sqlite3_bind_parameter_index(s, ":known"), c->id);
    sqlite3_bind_int64(s, sqlite3_bind_parameter_index(s, ":fresh"), c->fresh);
    sqlite3_bind_int(s, sqlite3_bind_parameter_index(s, ":by_this_program"), c->by_this_program);
    return s;
}

struct names {
    struct arena *arena;
    const char **at;
    uint64_t count;
    size_t space;
};

static bool add_name(void *context, const struct directory_entry *e)
{
    struct names *n = context;
    if (e->kind == ENTRY_FILE)
        *PUSH(n->arena, n->at, n->count, n->space) = arena_copy(n->arena, e->name, strlen(e->name));
    return !n->arena->failed;
}

void verify_siblings(struct verifier *v, struct verified *c)
{
    struct names n = {.arena = &v->arena};
    const char *slash = strrchr(c->primary, '/');
    size_t len = slash && slash != c->primary ? (size_t)(slash - c->primary) : 1;
    len = path_is(c->primary, ENTRY_FOLDER) ? strlen(c->primary) : len;
    c->directory = arena_copy(&v->arena, c->primary, len);
    bool added;
    uint64_t *lister = strmap_add(&v->listers, c->directory, strlen(c->directory), &added);
    if (!added) {
        const struct verified *first = &v->list[*lister];
        c->siblings = first->siblings;
        c->sibling_count = first->sibling_count;
        c->unlisted = first->unlisted;
        return;
    }
    *lister = (uint64_t)(c - v->list);
    error_clear(&c->unlisted);
    directory_list(c->directory, 0, NULL, add_name, &n, &c->unlisted);
    names_sort(n.at, n.count);
    c->siblings = n.at;
    c->sibling_count = n.count;
}

static void *index_anew(void *context, uint64_t number, uint64_t *bytes)
{
    const struct verifier *v = context;
    const struct verified *c = &v->list[number];
    struct error err = {.offset = NO_OFFSET};
    struct batch *batch = NULL;
    const struct job_request request = {
        .format = c->format,
        .path = c->primary,
        .checkpoint_path = c->path,
        .siblings = c->siblings,
        .sibling_count = c->sibling_count,
        .reuse = v->reuse,
        .classes = v->classes,
    };
    job_run_index(&request, &batch, &err);
    *bytes = batch ? batch->arena.used : 0;
    return batch;
}

static void drop_batch(void *batch)
{
    batch_free(batch);
}

static bool index_stopped(void *context)
{
    return verify_stopped(context);
}

/* Warnings of an import are not damage, except for a wrong checksum; nor is what a pickle would run. */
static enum status take_batch(void *context, uint64_t number, void *batch, struct error *err)
{
    struct verifier *v = context;
    struct verified *c = &v->list[number];
    const struct batch *b = batch;
    for (uint64_t i = 0; i < b->issue_count; i++) {
        const struct batch_issue *x = &b->issues[i];
        const char *const row[4] = {NULL, x->path, x->code, x->message};
        c->unread |= strcmp(x->code, status_name(ERR_IO)) == 0 ||
                     strcmp(x->code, status_name(ERR_MEMORY)) == 0;
        if (x->warning ? strcmp(x->code, "checksum") == 0 : strcmp(x->code, "dangerous-call") != 0)
            put(v, c->id, row, x->offset);
    }
    if (err->status == OK && !b->failed)
        writer_put(v->writer, b, err);
    if (v->options->progress)
        v->options->progress(v->options->context, "checkpoints", number + 1, v->readable);
    return err->status;
}

/* Of a catalog in memory no other connection knows: a copy is attached. */
static void attach_known(struct verifier *v)
{
    const char *file = sqlite3_db_filename(v->catalog, "main");
    const bool in_memory = !file || !*file;
    sqlite3_int64 size = 0;
    char *uri = db_uri(in_memory ? ":memory:" : file, !in_memory);
    unsigned char *image = in_memory ? sqlite3_serialize(v->catalog, "main", &size, 0) : NULL;
    if (!uri || (in_memory && !image))
        error_memory(v->err);
    db_run(v->fresh, v->err, "cannot verify", "ATTACH ?1 AS known", "s", uri);
    if (v->err->status != OK)
        sqlite3_free(image);
    else if (in_memory && sqlite3_deserialize(v->fresh, "known", image, size, size,
                                              SQLITE_DESERIALIZE_FREEONCLOSE |
                                                  SQLITE_DESERIALIZE_READONLY) != SQLITE_OK)
        error_memory(v->err);
    free(uri);
    page_sums_load(v->fresh, "known");
    if (v->err->status == OK)
        db_exec(v->fresh, schema_text("schema/verify/views.sql"), v->err);
}

void verify_index(struct verifier *v)
{
    static const char found[] = "CREATE TEMP TABLE found (checkpoint INTEGER, name TEXT, file TEXT,"
                                " offset INTEGER, code TEXT, message TEXT);"
                                "CREATE INDEX temp.found_by_checkpoint ON found(checkpoint)";
    struct error *err = v->err;
    const struct work work = {.count = v->readable,
                              .threads = v->options->threads,
                              .context = v,
                              .make = index_anew,
                              .take = take_batch,
                              .drop = drop_batch,
                              .stop = index_stopped};
    v->reuse = reuse_new();
    if (!v->reuse)
        error_memory(err);
    if (err->status == OK && db_exec(v->fresh, found, err) == OK &&
        writer_open(v->fresh, NULL, NULL, NULL, &v->writer, err) == OK) {
        if (work_run(&work, err) == OK)
            writer_close(v->writer, err);
        else
            writer_abort(v->writer);
    }
    reuse_free(v->reuse);
    for (size_t i = 0; i < v->count && err->status == OK; i++) {
        const char *path = v->list[i].path;
        sqlite3_int64 id = 0;
        db_number(v->fresh, "SELECT id FROM main._checkpoints WHERE path = ?1",
                  (struct bytes){(const uint8_t *)path, strlen(path)}, NULL, &id, err);
        v->list[i].fresh = id;
    }
    if (err->status == OK)
        attach_known(v);
}
