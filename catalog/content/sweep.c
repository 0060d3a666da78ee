#include "catalog/content/sweep.h"

#include <stdlib.h>
#include <string.h>

#include "catalog/base/list.h"
#include "catalog/base/text.h"
#include "catalog/base/threads.h"
#include "catalog/base/work.h"
#include "catalog/data/compose/merge_recipe.h"
#include "catalog/data/read/read.h"
#include "catalog/data/store/store.h"

#define BATCH_TENSORS 4096
#define DECODE_BYTES  (UINT64_C(256) << 20) /* what more threads than cores may decode at once */

struct sweeping {
    const struct sweep *sweep;
    struct arena arena; /* of the current batch */
    struct lookup *lookup;
    struct file_cache *files;
    struct stored_tensor *tensors;
    struct sweep_part *parts;
    size_t part_count, part_space;
    int64_t *ids; /* of all tensors in the sweep */
    size_t id_count, id_space;
    uint64_t done, total;
};

bool sweep_parts_are_cheap(const struct stored_tensor *t)
{
    if (t->merging)
        return sweep_parts_are_cheap(t->merging->base);
    return (t->storage == STORAGE_RANGE || t->storage == STORAGE_PIECES) && !t->sums &&
           (!t->codec || strncmp(t->codec, "swap:", 5) == 0);
}

#define VOID_BYTES (UINT64_C(1) << 40) /* grids of at least this size */
#define VOID_RATIO 1024                /* are void if chunks hold less than 1/1024 */

bool sweep_is_void(const struct stored_tensor *t, struct error *err)
{
    uint64_t chunk, inside;
    if (!t->grid || t->nbytes < VOID_BYTES ||
        !shape_elements(t->grid->level[0].shape, t->rank, &chunk) ||
        !mul_u64(chunk, grid_value_total(t->grid), &inside) || inside > t->elements / VOID_RATIO)
        return false;
    error_set(err, ERR_LIMIT, t->checkpoint, NO_OFFSET,
              "chunks hold only %llu of its %llu elements: a tensor this empty is not read",
              (unsigned long long)inside, (unsigned long long)t->elements);
    return true;
}

/* --- batches -------------------------------------------------------------------------------- */

static void add_parts(struct sweeping *s, struct stored_tensor *t)
{
    const struct sweep *w = s->sweep;
    const uint64_t part = w->part ? w->part(t) : UINT64_MAX;
    uint64_t start = 0;
    bool last = false;
    for (; !last && !s->arena.failed; start += part) {
        last = t->nbytes - start <= part;
        *PUSH(&s->arena, s->parts, s->part_count, s->part_space) =
            (struct sweep_part){t, start, last ? t->nbytes - start : part, last, s->files, w};
    }
}

static enum status load_batch(struct sweeping *s, size_t first, struct error *err)
{
    s->part_count = s->part_space = 0;
    s->parts = NULL;
    for (size_t i = first; i < s->id_count && i < first + BATCH_TENSORS && err->status == OK; i++) {
        struct stored_tensor *t = &s->tensors[i - first];
        *t = (struct stored_tensor){0};
        lookup_tensor(s->lookup, s->ids[i], &s->arena, t, err);
        if (s->sweep->as_stored && err->status == OK)
            tensor_as_stored(t, &s->arena, err);
        if (err->status == OK)
            add_parts(s, t);
    }
    return err->status;
}

/* One a core, or more, where they wait for other machines and not for each other's memory. */
static unsigned batch_threads(const struct sweeping *s, size_t count)
{
    unsigned cores = threads_cores(), n = cores;
    uint64_t most = THREADS_MAX;
    for (size_t i = 0; i < count; i++) {
        const struct stored_tensor *t = &s->tensors[i];
        for (uint32_t f = 0; f < t->file_count; f++)
            n = path_threads(t->files[f].path, n);
        if (!sweep_parts_are_cheap(t) && t->nbytes > DECODE_BYTES / most)
            most = DECODE_BYTES / t->nbytes;
        if (most <= cores)
            return cores;
    }
    return n < most ? n : (unsigned)most;
}

static void *make_part(void *context, uint64_t number, uint64_t *bytes)
{
    const struct sweeping *s = context;
    return s->sweep->make(s->sweep->context, &s->parts[number], bytes);
}

static enum status sweep_take_part(void *context, uint64_t number, void *thing, struct error *err)
{
    struct sweeping *s = context;
    const struct sweep *w = s->sweep;
    const enum status status = w->take(w->context, &s->parts[number], thing, err);
    s->done += s->parts[number].len;
    if (status == OK && w->progress)
        w->progress(w->watcher, s->done, s->total);
    return status;
}

static bool stop(void *context)
{
    const struct sweep *w = ((const struct sweeping *)context)->sweep;
    return w->stop && w->stop(w->watcher);
}

enum status sweep_go_on(const struct sweep_part *p, struct error *err)
{
    const struct sweep *w = p->sweep;
    return w->stop && w->stop(w->watcher)
               ? error_set(err, ERR_INTERRUPTED, NULL, NO_OFFSET, "interrupted")
               : OK;
}

static void run_batches(struct sweeping *s, struct error *err)
{
    for (size_t i = 0; i < s->id_count && load_batch(s, i, err) == OK; i += BATCH_TENSORS) {
        const size_t left = s->id_count - i, count = left < BATCH_TENSORS ? left : BATCH_TENSORS;
        const unsigned asked = s->sweep->threads;
        const struct work w = {.count = s->part_count,
                               .threads = asked ? asked : batch_threads(s, count),
                               .context = s,
                               .make = make_part,
                               .take = sweep_take_part,
                               .drop = s->sweep->drop,
                               .stop = stop};
        if (s->part_count && work_run(&w, err) != OK)
            break;
        arena_release(&s->arena);
    }
}

/* --- the whole sweep ------------------------------------------------------------------------ */

/* List all tensors in advance: asking the view again for each batch would take as long as reading
 * many small tensors. */
static void list_ids(struct sweeping *s, struct error *err)
{
    const struct sweep *w = s->sweep;
    struct text sql = {0};
    text_addf(&sql,
              "SELECT t.id, t.nbytes FROM tensor t WHERE t.checkpoint_id = ?1"
              " AND t.storage <> 'none' AND (%s) ORDER BY %s",
              w->which ? w->which : "1", w->order ? w->order : "t.file, t.offset, t.ord");
    if (!text_str(&sql))
        error_memory(err);
    sqlite3_stmt *ids = db_query_to(w->db, err, DB_READING, text_str(&sql), "i", w->checkpoint);
    while (db_row(ids, "cannot list the tensors", err)) {
        *LIST_PUSH(err, s->ids, s->id_count, s->id_space) = sqlite3_column_int64(ids, 0);
        s->total += (uint64_t)sqlite3_column_int64(ids, 1);
    }
    sqlite3_finalize(ids);
    text_release(&sql);
}

void sweep_run(const struct sweep *w, struct error *err)
{
    struct sweeping s = {.sweep = w, .arena.err = err, .files = file_cache_new()};
    s.tensors = calloc(BATCH_TENSORS, sizeof(*s.tensors));
    if (!s.files || !s.tensors)
        error_memory(err);
    else
        list_ids(&s, err);
    if (w->measured)
        *w->measured += s.total;
    else if (err->status == OK && lookup_open(w->db, &s.lookup, err) == OK)
        run_batches(&s, err);
    if (s.lookup)
        lookup_close(s.lookup);
    arena_release(&s.arena);
    file_cache_free(s.files);
    free(s.tensors);
    free(s.ids);
}
