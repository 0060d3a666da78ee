#include "catalog/export/merges.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "catalog/data/compose/merge_recipe.h"
#include "catalog/db/db.h"

/* The steps come by id. Those without one come last. */
static const char merged_sql[] = "SELECT m.tensor_id, m.name, m.steps, m.status, m.own, l.name,"
                                 " ?3 IS NULL OR regexp_match(?3, m.name)"
                                 " FROM merged(?1, ?2) m LEFT JOIN _labels l ON l.id = m.adapter"
                                 " ORDER BY m.tensor_id IS NULL, m.tensor_id";

enum { TENSOR_ID, NAME, STEPS, STATUS, OWN, ADAPTER, CHOSEN };

static const char *column(sqlite3_stmt *s, int i)
{
    const char *text = db_text(s, i);
    return text ? text : "";
}

static void keep_steps(struct merges *m, sqlite3_stmt *s)
{
    struct text steps = {0};
    text_addf(&steps, "[%s,%s]", m->wide ? "\"float32\"" : "null", column(s, STEPS));
    *PUSH(&m->arena, m->list, m->count, m->space) =
        (struct merge_steps){sqlite3_column_int64(s, TENSOR_ID), text_keep(&steps, &m->arena)};
    text_release(&steps);
}

static void take_change(struct merges *m, sqlite3_stmt *s, struct export_plan *p)
{
    const char *status = column(s, STATUS), *name = column(s, NAME), *adapter = column(s, ADAPTER);
    if (strcmp(status, "ok") == 0)
        keep_steps(m, s);
    else if (strcmp(status, "added") == 0 && sqlite3_column_int(s, CHOSEN))
        *PUSH(&m->arena, m->own, m->own_count, m->own_space) = (struct merge_own){
            sqlite3_column_int64(s, OWN), arena_copy(&m->arena, name, strlen(name)),
            arena_copy(&m->arena, adapter, strlen(adapter))};
    else if (strcmp(status, "added") != 0 && strcmp(status, "elsewhere") != 0)
        refuse_tensor(&p->refusals, name, "%.200s cannot be merged: %.300s", adapter, status);
}

enum status merges_find(struct merges *m, sqlite3 *db, const struct selection *want,
                        struct export_plan *p, struct error *err)
{
    struct text adapters = {0};
    if (!m->adapters)
        return OK;
    for (size_t i = 0; i < m->adapters; i++)
        text_addf(&adapters, "%s[%" PRId64 ",%.17g]", i ? "," : "[", m->adapter[i].checkpoint,
                  m->adapter[i].factor);
    text_addc(&adapters, ']');
    m->arena.err = err;
    sqlite3_stmt *s = NULL;
    if (!text_str(&adapters))
        error_memory(err);
    else
        s = db_query(db, err, merged_sql, "sis", text_str(&adapters), want->checkpoint,
                     want->names);
    while (s && err->status == OK && db_row(s, "adapters", err))
        take_change(m, s, p);
    sqlite3_finalize(s);
    text_release(&adapters);
    return err->status;
}

void merges_finish(struct merges *m, sqlite3 *db, const struct selection *want,
                   struct export_plan *p, struct error *err)
{
    struct text all = {0};
    if (!m->adapters)
        return;
    for (size_t i = 0; i < m->own_count && err->status == OK; i++)
        if (want->map || want->where)
            refuse_tensor(&p->refusals, m->own[i].name,
                          "only %.200s has it, so --map and --where cannot apply to it: export the "
                          "merged checkpoint first, without them",
                          m->own[i].adapter);
        else
            export_plan_add(p, m->own[i].id, NULL, m->own[i].name, NULL, err);
    for (size_t i = 0; i < m->adapters && err->status == OK; i++) {
        sqlite3_stmt *s = db_query(db, err, "SELECT path FROM _checkpoints WHERE id = ?1", "i",
                                   m->adapter[i].checkpoint);
        if (s && db_row(s, "adapters", err)) {
            text_addf(&all, "%s%s", i ? ", " : "", column(s, 0));
            if (m->adapter[i].factor != 1)
                text_addf(&all, ":%g", m->adapter[i].factor);
            export_plan_reads(p, column(s, 0), err);
        }
        sqlite3_finalize(s);
    }
    m->described = text_keep(&all, &m->arena);
    text_release(&all);
}

/* --- look-ups -------------------------------------------------------------------------------- */

static int by_id(const void *id, const void *steps)
{
    const int64_t a = *(const int64_t *)id, b = ((const struct merge_steps *)steps)->id;
    return (a > b) - (a < b);
}

static const char *steps_of(const struct merges *m, int64_t id)
{
    const struct merge_steps *at =
        m->count ? bsearch(&id, m->list, m->count, sizeof(*m->list), by_id) : NULL;
    return at ? at->steps : NULL;
}

/* A part of a tensor that a map makes from several. These must have one dtype, so those into which nothing is
 * merged are not rounded either. */
static enum status load_part(void *merges, int64_t id, struct arena *arena,
                             struct stored_tensor *out, struct error *err)
{
    const struct merges *m = merges;
    const char *steps = steps_of(m, id);
    if (m->catalog.load(m->catalog.context, id, arena, out, err) != OK)
        return err->status;
    if (!steps && m->wide && out->dtype.kind == DTYPE_FLOAT && out->dtype.bits < 32)
        steps = "[\"float32\"]";
    return steps ? merge(steps, &m->catalog, arena, out, err) : OK;
}

enum status merges_load(const struct merges *m, int64_t id, const char *recipe, struct arena *arena,
                        struct stored_tensor *out, struct error *err)
{
    const struct composer merged = {load_part, (void *)m};
    const char *steps = steps_of(m, id);
    if (recipe)
        return compose(recipe, &merged, arena, out, err);
    if (m->catalog.load(m->catalog.context, id, arena, out, err) != OK)
        return err->status;
    return steps ? merge(steps, &m->catalog, arena, out, err) : OK;
}
