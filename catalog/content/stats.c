#include "catalog/content/stats.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "catalog/base/text.h"
#include "catalog/content/current.h"
#include "catalog/content/keep.h"
#include "catalog/content/stat_read.h"
#include "catalog/data/convert/convert.h"
#include "catalog/db/ids.h"
#include "catalog/db/statement.h"

#define CODES (1U << 16)

struct run {
    const struct content_work *work;
    struct stat_tables *tables;
    sqlite3_stmt *put, *link;
    /* The current tensor: */
    struct stat_sums sums;
    struct stat_grid grid;
    struct text *histogram;   /* of its only part; NULL: it has several parts */
    struct stat_count *codes; /* of its only part, or of all parts */
    size_t code_count;
    uint64_t *gathered;      /* counts of its parts so far, indexed by code */
    struct stat_count *room; /* room for `codes` */
    bool failed, absent;
    bool passes;     /* it failed for a reason that may pass */
    double *decoded; /* the number of each code of one dtype */
    const char *decoded_name;
    uint64_t uncommitted;
    bool complete;
};

/* --- from how often codes come -------------------------------------------------------------- */

static void decode_codes(struct run *run, const struct dtype *d, struct error *err)
{
    struct dtype to;
    struct converter c;
    const uint32_t count = d->bits == 8 ? 1U << 8 : CODES;
    uint16_t *codes;
    if (run->decoded_name && strcmp(run->decoded_name, d->name) == 0)
        return;
    if (!run->decoded)
        run->decoded = malloc(CODES * sizeof(*run->decoded));
    codes = malloc(CODES * sizeof(*codes));
    if (!run->decoded || !codes)
        error_memory(err);
    for (uint32_t i = 0; codes && i < count; i++) {
        if (d->bits == 8)
            ((uint8_t *)codes)[i] = (uint8_t)i;
        else
            codes[i] = (uint16_t)i;
    }
    dtype_find("float64", &to);
    if (err->status == OK && converter_find_stored(d, &to, &c, err) == OK &&
        converter_run(&c, codes, run->decoded, count, 0, err) == OK)
        run->decoded_name =
            d->name; /* a constant: only dtypes with parameters have names that are not */
    free(codes);
}

static void count_kinds(struct run *run, double tiny)
{
    struct stat_sums *s = &run->sums;
    for (size_t i = 0; i < run->code_count; i++) {
        const double x = run->decoded[run->codes[i].code];
        const uint64_t n = run->codes[i].count;
        s->nans += isnan(x) ? n : 0;
        s->infs += isinf(x) ? n : 0;
        if (!isfinite(x))
            continue;
        s->finite += n;
        s->zeros += x == 0 ? n : 0;
        s->subnormals += x != 0 && fabs(x) < tiny ? n : 0;
        s->least = x < s->least ? x : s->least;
        s->most = x > s->most ? x : s->most;
        s->mean += x * (double)n;
    }
}

/* Compute the sums and the grid from the counts of codes. */
static void sum_codes(struct run *run, const struct dtype *d, struct error *err)
{
    struct stat_sums *s = &run->sums;
    decode_codes(run, d, err);
    if (err->status != OK)
        return;
    count_kinds(run, stat_tiny(d));
    s->mean = s->finite ? s->mean / (double)s->finite : 0;
    if (s->finite)
        stat_grid_cover(&run->grid, s->least, s->most);
    for (size_t i = 0; i < run->code_count; i++) {
        const double x = run->decoded[run->codes[i].code];
        const uint64_t n = run->codes[i].count;
        if (!isfinite(x))
            continue;
        s->spread += (x - s->mean) * (x - s->mean) * (double)n;
        stat_grid_add(&run->grid, x, n);
    }
}

/* --- keeping -------------------------------------------------------------------------------- */

/* Returns an SQLite code. The texts must stay until the statement was run. */
static int bind_sums(sqlite3_stmt *s, const struct stored_tensor *t, const struct stat_sums *x,
                     const char *histogram)
{
    const double n = (double)x->finite;
    const bool known = x->finite != 0;
    const double plain = known ? 0.0 : NAN; /* added to what is known: -0.0 becomes 0.0 */
    struct stat_sums norm = *x;
    if (!isfinite(x->spread + n * (x->mean * x->mean)))
        stat_scale(&norm);
    return db_bind(s, "iiiiiidddddssi", t->elements, x->finite, x->zeros, x->nans, x->infs,
                   x->subnormals, x->least + plain, x->most + plain,
                   ldexp(x->mean, x->scale) + plain,
                   known ? ldexp(sqrt(x->spread / n), x->scale) : NAN,
                   ldexp(sqrt(norm.spread + n * (norm.mean * norm.mean)), norm.scale) + plain,
                   known ? histogram : NULL, t->dtype.name, t->id);
}

static void stats_keep(struct run *run, const struct stored_tensor *t, struct error *err)
{
    struct text own = {0}, *histogram = run->histogram ? run->histogram : &own;
    sqlite3 *db = run->work->db;
    if (stat_way(t) == STAT_CODES)
        sum_codes(run, &t->dtype, err);
    if (run->sums.finite && !histogram->len)
        stat_grid_print(histogram, &run->grid, run->sums.finite);
    if (!text_str(histogram) ||
        bind_sums(run->put, t, &run->sums, text_str(histogram)) != SQLITE_OK)
        error_memory(err);
    const bool kept = err->status == OK && sqlite3_step(run->put) == SQLITE_ROW;
    text_release(&own);
    if (err->status != OK)
        return;
    db_bind(run->link, "ii", t->id, kept ? sqlite3_column_int64(run->put, 0) : (int64_t)0);
    if (sqlite3_reset(run->put) != SQLITE_OK || !kept)
        db_error(db, "cannot keep statistics", err);
    else
        db_step(db, run->link, "cannot keep statistics", err);
}

static void begin_tensor(struct run *run)
{
    /* `narrow` is right for codes; otherwise the first part's grid replaces this one. */
    stat_grid_clear(&run->grid, true);
    run->sums = (struct stat_sums){.least = INFINITY, .most = -INFINITY};
    run->histogram = NULL;
    run->codes = NULL;
    run->code_count = 0;
    run->failed = run->absent = false;
}

/* --- the sweep ------------------------------------------------------------------------------ */

static uint64_t part_of_numbers(const struct stored_tensor *t)
{
    return sweep_parts_are_cheap(t) && stat_way(t) != STAT_NONE ? stat_part_bytes(t) : UINT64_MAX;
}

static void *stats_make_outcome(void *context, const struct sweep_part *p, uint64_t *bytes)
{
    return stat_read(((struct run *)context)->tables, p, bytes);
}

/* The counts of a tensor's only part are used as they are; counts of several parts are added up. */
static void take_codes(struct run *run, const struct sweep_part *p, struct stat_outcome *o)
{
    if (p->start == 0 && p->last && p->tensor->elements < STAT_HOLD) {
        run->codes = o->codes;
        run->code_count = o->code_count;
        return;
    }
    if (p->start == 0)
        memset(run->gathered, 0, CODES * sizeof(*run->gathered));
    for (size_t i = 0; i < o->code_count; i++)
        run->gathered[o->codes[i].code] += o->codes[i].count;
    if (!p->last)
        return;
    run->codes = run->room;
    for (uint32_t i = 0; i < CODES; i++)
        if (run->gathered[i])
            run->codes[run->code_count++] = (struct stat_count){i, run->gathered[i]};
}

static enum status stats_take_outcome(void *context, const struct sweep_part *p, void *thing,
                                      struct error *err)
{
    struct run *run = context;
    struct stat_outcome *o = thing;
    const struct content_work *w = run->work;
    if (o->err.status == ERR_MEMORY || o->err.status == ERR_INTERRUPTED)
        return *err = o->err, err->status;
    run->absent = run->absent || o->absent;
    if (o->err.status != OK && !o->absent && !run->failed) {
        run->failed = true;
        run->passes = status_passes(o->err.status);
        run->complete = false;
        if (w->trouble)
            w->trouble(w->context, p->tensor->name, &o->err);
    }
    for (size_t i = 0; i < o->group_count; i++)
        stat_join(&run->sums, &o->groups[i]);
    if (stat_way(p->tensor) == STAT_CODES)
        take_codes(run, p, o);
    else
        stat_grid_join(&run->grid, &o->grid);
    run->histogram = p->start == 0 && p->last ? &o->histogram : NULL;
    if (!p->last)
        return OK;
    if (run->absent || (run->failed && !run->passes))
        db_run(w->db, err, NULL, "DELETE FROM _tensor_statistics WHERE id = ?1", "i",
               p->tensor->id);
    else if (!run->failed)
        stats_keep(run, p->tensor, err);
    begin_tensor(run);
    if (err->status == OK)
        keep_bytes(w, p->tensor->id >> TENSOR_ORD_BITS, p->tensor->nbytes, &run->uncommitted, err);
    return err->status;
}

/* Give tensors the statistics of other tensors that are known to have equal values. */
static enum status share(sqlite3 *db, int64_t checkpoint, struct error *err)
{
    static const char sql[] =
        "INSERT OR IGNORE INTO _tensor_statistics SELECT x.id, s.id FROM _tensor_hashes x"
        " JOIN _checkpoints c ON c.id = x.id" ID_OWNER
        " JOIN _layout_tensors t ON t.id = (c.layout" ID_FIRST ") + (x.id" ID_ORD
        ") JOIN _statistics s ON s.hash = x.hash AND s.dtype = t.dtype WHERE x.id BETWEEN ?1" ID_FIRST
        "AND ?1" ID_LAST;
    return db_run(db, err, "cannot keep statistics", sql, "i", checkpoint);
}

static void sweep_checkpoint(struct run *run, int64_t checkpoint, const char *regex,
                             struct error *err)
{
    const struct content_work *w = run->work;
    char *which = sqlite3_mprintf(
        "t.dtype NOT IN ('string', 'variant', 'resource')%s%s%Q",
        w->again ? "" : " AND NOT EXISTS (SELECT 1 FROM _tensor_statistics x WHERE x.id = t.id)",
        regex ? " AND t.name REGEXP " : " AND '' = ", regex ? regex : "");
    const struct sweep sweep = {
        .db = w->db,
        .checkpoint = checkpoint,
        .which = which,
        .threads = w->threads,
        .context = run,
        .part = part_of_numbers,
        .make = stats_make_outcome,
        .take = stats_take_outcome,
        .drop = stat_outcome_free,
        .watcher = w->context,
        .stop = w->stop,
        .progress = w->progress,
        .measured = w->measured,
    };
    if (!which) {
        error_memory(err);
        return;
    }
    begin_tensor(run);
    sweep_run(&sweep, err);
    sqlite3_free(which);
}

static void stats_prepare(struct run *run, struct error *err)
{
    static const char put[] =
        "INSERT INTO _statistics(elements, finite, zeros, nans, infs, subnormals, min, max,"
        " mean, std, l2, histogram, dtype, hash) VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9,"
        " ?10, ?11, ?12, ?13, (SELECT hash FROM _tensor_hashes WHERE id = ?14))"
        /* Equal values have equal statistics: the row exists, perhaps made by an older program. */
        " ON CONFLICT(hash, dtype) DO UPDATE SET min = excluded.min, max = excluded.max,"
        " mean = excluded.mean, std = excluded.std, l2 = excluded.l2,"
        " histogram = excluded.histogram RETURNING id";
    static const char link[] = "INSERT INTO _tensor_statistics VALUES (?1, ?2)"
                               " ON CONFLICT(id) DO UPDATE SET statistics = excluded.statistics";
    sqlite3 *db = run->work->db;
    run->tables = stat_tables_new();
    run->gathered = calloc(CODES, sizeof(*run->gathered));
    run->room = calloc(CODES, sizeof(*run->room));
    if (!run->tables || !run->gathered || !run->room)
        error_memory(err);
    run->put = db_query_to(db, err, "cannot keep statistics", put, "");
    run->link = db_query_to(db, err, "cannot keep statistics", link, "");
}

enum status content_stats(const struct content_work *w, int64_t checkpoint, const char *regex,
                          bool *complete, struct error *err)
{
    struct run run = {.work = w, .complete = true};
    if (w->measured) {
        sweep_checkpoint(&run, checkpoint, regex, err);
        return err->status;
    }
    const bool current = content_is_current(w, checkpoint, err);
    if (current && keep_begin(w, err) == OK && (w->again || share(w->db, checkpoint, err) == OK)) {
        stats_prepare(&run, err);
        if (err->status == OK)
            sweep_checkpoint(&run, checkpoint, regex, err);
    }
    sqlite3_finalize(run.put);
    sqlite3_finalize(run.link);
    stat_tables_free(run.tables);
    free(run.gathered);
    free(run.room);
    free(run.decoded);
    *complete = current && run.complete && err->status == OK;
    return keep_pause(w, err);
}
