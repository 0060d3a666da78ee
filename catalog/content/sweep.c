#include "catalog/content/sweep.h"

#include <stdlib.h>
#include <string.h>

#include "catalog/base/text.h"
#include "catalog/base/work.h"
#include "catalog/read/read.h"

#define BATCH_TENSORS 4096

struct sweeping {
    const struct sweep *sweep;
    struct arena arena; /* of a batch */
    struct lookup *lookup;
    struct file_cache *cache;
    struct stored_tensor *tensors;
    struct sweep_part *parts;
    size_t tensor_count, part_count, part_space;
    uint64_t done, total;
};

bool sweep_parts_are_cheap(const struct stored_tensor *t)
{
    return (t->storage == STORAGE_RANGE || t->storage == STORAGE_PIECES) && !t->sums &&
           (!t->codec || strncmp(t->codec, "swap:", 5) == 0);
}

/* --- batches -------------------------------------------------------------------------------- */

static bool add_part(struct sweeping *s, struct sweep_part part)
{
    struct sweep_part *list =
        arena_grow(&s->arena, s->parts, s->part_count, &s->part_space, sizeof(*list));
    if (!list)
        return false;
    s->parts = list;
    s->parts[s->part_count++] = part;
    return true;
}

static bool add_parts(struct sweeping *s, struct stored_tensor *t)
{
    const struct sweep *w = s->sweep;
    const uint64_t part = w->part ? w->part(t) : UINT64_MAX;
    uint64_t start = 0;
    while (t->nbytes - start > part) {
        if (!add_part(s, (struct sweep_part){t, start, part, false}))
            return false;
        start += part;
    }
    return add_part(s, (struct sweep_part){t, start, t->nbytes - start, true});
}

static enum status load_tensor(struct sweeping *s, int64_t id, struct error *err)
{
    const struct sweep *w = s->sweep;
    struct stored_tensor *t = &s->tensors[s->tensor_count];
    *t = (struct stored_tensor){0};
    if (lookup_tensor(s->lookup, id, &s->arena, t, err) != OK ||
        (w->as_stored && tensor_as_stored(t, &s->arena, err) != OK))
        return err->status;
    t->cache = s->cache;
    s->tensor_count++;
    return add_parts(s, t) ? OK : error_memory(err);
}

/* Load the next tensors; *more is false after the last. */
static enum status load_batch(struct sweeping *s, sqlite3_stmt *ids, bool *more,
                              struct error *err)
{
    int rc = SQLITE_ROW;
    s->tensor_count = s->part_count = s->part_space = 0;
    s->parts = NULL;
    while (s->tensor_count < BATCH_TENSORS && (rc = sqlite3_step(ids)) == SQLITE_ROW)
        if (load_tensor(s, sqlite3_column_int64(ids, 0), err) != OK)
            return err->status;
    *more = rc == SQLITE_ROW;
    return rc == SQLITE_ROW || rc == SQLITE_DONE
               ? OK
               : db_error(s->sweep->db, "cannot list the tensors", err);
}

static void *make_part(void *context, uint64_t number, uint64_t *bytes)
{
    const struct sweeping *s = context;
    return s->sweep->make(s->sweep->context, &s->parts[number], bytes);
}

static enum status take_part(void *context, uint64_t number, void *thing,
                             struct error *err)
{
    struct sweeping *s = context;
    const struct sweep *w = s->sweep;
    if (w->take(w->context, &s->parts[number], thing, err) != OK)
        return err->status;
    s->done += s->parts[number].len;
    if (w->progress)
        w->progress(w->watcher, s->done, s->total);
    return OK;
}

static bool stop(void *context)
{
    const struct sweep *w = ((const struct sweeping *)context)->sweep;
    return w->stop && w->stop(w->watcher);
}

static enum status run_batches(struct sweeping *s, sqlite3_stmt *ids, struct error *err)
{
    bool more = true;
    while (more && load_batch(s, ids, &more, err) == OK) {
        const struct work w = {.count = s->part_count,
                               .threads = s->sweep->threads,
                               .context = s,
                               .make = make_part,
                               .take = take_part,
                               .drop = s->sweep->drop,
                               .stop = stop};
        if (s->part_count && work_run(&w, err) != OK)
            break;
        arena_release(&s->arena);
    }
    return err->status;
}

/* --- all of it ------------------------------------------------------------------------------ */

static enum status sum_bytes(struct sweeping *s, sqlite3_stmt *ids, struct error *err)
{
    int rc;
    while ((rc = sqlite3_step(ids)) == SQLITE_ROW)
        s->total += (uint64_t)sqlite3_column_int64(ids, 1);
    sqlite3_reset(ids);
    return rc == SQLITE_DONE ? OK
                             : db_error(s->sweep->db, "cannot list the tensors", err);
}

static enum status list_ids(const struct sweep *w, sqlite3_stmt **ids, struct error *err)
{
    struct text sql = {0};
    text_addf(&sql,
              "SELECT t.id, t.nbytes FROM tensor t WHERE t.checkpoint_id = ?1"
              " AND t.storage <> 'none' AND (%s) ORDER BY %s",
              w->which ? w->which : "1", w->order ? w->order : "t.file, t.offset, t.ord");
    if (!text_str(&sql))
        error_memory(err);
    else if (sqlite3_prepare_v2(w->db, text_str(&sql), -1, ids, NULL) != SQLITE_OK)
        db_error(w->db, "cannot read the catalog", err);
    else
        sqlite3_bind_int64(*ids, 1, w->checkpoint);
    text_release(&sql);
    return err->status;
}

enum status sweep_run(const struct sweep *w, struct error *err)
{
    struct sweeping s = {.sweep = w, .cache = file_cache_new()};
    sqlite3_stmt *ids = NULL;
    s.tensors = calloc(BATCH_TENSORS, sizeof(*s.tensors));
    if (!s.cache || !s.tensors)
        error_memory(err);
    else if (list_ids(w, &ids, err) == OK && lookup_open(w->db, &s.lookup, err) == OK &&
             sum_bytes(&s, ids, err) == OK)
        run_batches(&s, ids, err);
    sqlite3_finalize(ids);
    if (s.lookup)
        lookup_close(s.lookup);
    arena_release(&s.arena);
    file_cache_free(s.cache);
    free(s.tensors);
    return err->status;
}
