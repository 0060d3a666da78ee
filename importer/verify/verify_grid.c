/*
 * verify_grid.c - find chunks that are in the catalog and are gone now. Formats take an
 * absent chunk for fill values, so only the catalog can tell.
 */

#include "catalog/base/text.h"
#include "catalog/data/store/directory.h"
#include "catalog/db/schema.h"
#include "importer/verify/verifier.h"

#define NAMED_MAX 100 /* most lost chunks of one tensor to name; the others are counted */

struct grids {
    struct verifier *verifier;
    const struct verified *checkpoint;
    /* lookup_tensor() looks for checksums in "main", which is wrong for the fresh catalog, but
     * grids have none. */
    struct lookup *catalog, *fresh;
    const struct stored_tensor *then, *now;
    uint64_t lost;
};

static void lost_chunk(struct grids *g, uint64_t index)
{
    const struct stored_tensor *t = g->then;
    struct error what = {.offset = NO_OFFSET};
    struct text key = {0};
    if (g->lost++ >= NAMED_MAX)
        return;
    const bool known = grid_key(t->grid, t->shape, t->rank, index, &key);
    if (t->grid->in_files) {
        struct text path = {0};
        text_addf(&path, "%s/%s", t->files[t->grid->directory].path, known ? text_str(&key) : "?");
        error_set(&what, ERR_MISSING, text_str(&path) ? text_str(&path) : "", NO_OFFSET,
                  "the chunk was there when it was indexed, but is gone");
        text_release(&path);
    } else {
        error_set(&what, ERR_MISSING, t->checkpoint, NO_OFFSET,
                  "chunk %llu was there when it was indexed, but is gone",
                  (unsigned long long)index);
    }
    text_release(&key);
    error_code(&what, "missing-chunk");
    verify_found(g->verifier, g->checkpoint->id, t->name, &what);
}

static void compare_grids(struct grids *g)
{
    struct error what = {.offset = NO_OFFSET};
    if (!g->then->grid || !g->now->grid || g->then->grid->in_files != g->now->grid->in_files)
        return; /* the header has changed, which is reported elsewhere */
    const struct error *err = g->verifier->err;
    const struct grid *then = g->then->grid, *now = g->now->grid;
    for (uint64_t i = 0; i < then->run_count; i++) {
        const struct grid_run *run = &then->runs[i];
        for (uint64_t k = 0; k < run->count && err->status == OK; k++)
            if (!grid_holds(now, run->first + k))
                lost_chunk(g, run->first + k);
    }
    for (uint64_t i = 0; i < then->value_count && err->status == OK; i++)
        if (!grid_value_at(now, then->values[i].index))
            lost_chunk(g, then->values[i].index);
    if (g->lost <= NAMED_MAX)
        return;
    error_set(&what, ERR_MISSING, g->then->checkpoint, NO_OFFSET,
              "%llu more chunks were there when it was indexed, but are gone",
              (unsigned long long)(g->lost - NAMED_MAX));
    error_code(&what, "missing-chunk");
    verify_found(g->verifier, g->checkpoint->id, g->then->name, &what);
}

static void compare_tensor(struct grids *g, int64_t then, int64_t now)
{
    struct error *err = g->verifier->err;
    struct arena arena = {0};
    struct stored_tensor a, b;
    if (lookup_tensor(g->catalog, then, &arena, &a, err) == OK &&
        lookup_tensor(g->fresh, now, &arena, &b, err) == OK) {
        g->then = &a;
        g->now = &b;
        g->lost = 0;
        compare_grids(g);
        g->then = g->now = NULL;
    }
    arena_release(&arena);
}

void verify_grids(struct verifier *v, const struct verified *c)
{
    struct error *err = v->err;
    struct grids g = {.verifier = v, .checkpoint = c};
    sqlite3_stmt *s = verify_query(v, schema_text("schema/verify/grid.sql"), c);
    if (lookup_open(v->catalog, &g.catalog, err) == OK)
        lookup_open(v->fresh, &g.fresh, err);
    while (db_row(s, "cannot compare chunks", err))
        compare_tensor(&g, sqlite3_column_int64(s, 0), sqlite3_column_int64(s, 1));
    lookup_close(g.catalog);
    lookup_close(g.fresh);
    sqlite3_finalize(s);
}
