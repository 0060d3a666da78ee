/*
 * api_export.c - plans and writes an export of tensors of the catalog (catalog/export/).
 */
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "catalog/export/merges.h"
#include "catalog/export/select.h"
#include "catalog/library/library.h"
#include "catalog/maps/regex/rename.h"

/* An export in progress. */
struct exporting {
    ckptdb *catalog;
    const struct ckptdb_export_options *options;
    const char *path;
    const struct exporter *exporter;
    struct selection want;
    struct merges merges;
    struct export_plan plan;
    struct error *err;
};

/* --- the catalog as the source of exported tensors ------------------------------------------ */

/* The float32 zero, of shape [1], that takes the place of a slot that the optimizer does not
 * use. */
static enum status load_zeros(struct arena *arena, struct stored_tensor *out, struct error *err)
{
    static const float zero = 0;
    uint64_t *shape = arena_array(arena, 1, sizeof(*shape));
    struct extent *extent = arena_alloc(arena, sizeof(*extent));
    if (!shape || !extent)
        return error_memory(err);
    shape[0] = 1;
    *extent = (struct extent){.file = NO_FILE, .stored = sizeof(zero), .bytes = &zero};
    *out = (struct stored_tensor){
        .id = EXPORT_ZEROS,
        .checkpoint = "zeros",
        .name = "zeros",
        .rank = 1,
        .shape = shape,
        .elements = 1,
        .nbytes = sizeof(zero),
        .storage = STORAGE_INLINE,
        .extents = extent,
        .extent_count = 1,
    };
    dtype_find("float32", &out->dtype);
    return OK;
}

static enum status shelf_load(void *context, int64_t id, const char *recipe, struct arena *arena,
                              struct stored_tensor *out, struct error *err)
{
    const struct exporting *x = context;
    if (id == EXPORT_ZEROS && !recipe)
        return load_zeros(arena, out, err);
    return x->merges.adapters ? merges_load(&x->merges, id, recipe, arena, out, err)
                              : library_tensor(x->catalog, id, recipe, arena, out, err);
}

static enum status load_stored(void *catalog, int64_t id, struct arena *arena,
                               struct stored_tensor *out, struct error *err)
{
    return library_tensor(catalog, id, NULL, arena, out, err);
}

/* --- the request --------------------------------------------------------------------------- */

/* Say which formats there are: their names, or the suffixes that choose them. */
static enum status refuse_format(const struct exporting *x)
{
    const char *format = x->options->format;
    struct text known = {0};
    for (size_t i = 0; exporters[i]; i++) {
        const char *suffix = exporters[i]->suffix;
        if (format || !i || strcmp(suffix, exporters[i - 1]->suffix) != 0)
            text_addf(&known, "%s%s", i ? ", " : "", format ? exporters[i]->name : suffix);
    }
    const char *list = text_str(&known) ? text_str(&known) : "";
    if (format)
        error_set(x->err, ERR_ARGUMENT, NULL, NO_OFFSET,
                  "format %s: not a format that can be written (%s)", format, list);
    else
        error_set(x->err, ERR_ARGUMENT, NULL, NO_OFFSET,
                  "%s: its suffix names no format that can be written (%s); or name the format",
                  x->path, list);
    text_release(&known);
    return x->err->status;
}

static enum status find_exporter(struct exporting *x)
{
    const char *format = x->options->format;
    x->exporter = format ? exporter_find(format) : exporter_for_path(x->path);
    return x->exporter ? OK : refuse_format(x);
}

static enum status library_export_check_options(struct exporting *x)
{
    const struct ckptdb_export_options *o = x->options;
    const struct exporter *e = x->exporter;
    if (o->metadata && *o->metadata && !e->keeps_metadata)
        error_set(x->err, ERR_ARGUMENT, NULL, NO_OFFSET, "format %s has no room for metadata",
                  e->name);
    else if (o->shard_size && !e->parts)
        error_set(x->err, ERR_ARGUMENT, NULL, NO_OFFSET,
                  "format %s has no files in parts (safetensors, torch, dcp, gguf and tf have)",
                  e->name);
    else if (o->sql && (o->names || o->where || o->map || o->target || o->renames))
        error_set(x->err, ERR_ARGUMENT, NULL, NO_OFFSET,
                  "a query of your own selects and names by itself");
    else if (o->target && !o->map)
        error_set(x->err, ERR_ARGUMENT, NULL, NO_OFFSET, "a target wants a map");
    else if (o->sql && (o->merge_count || o->joined_count))
        error_set(x->err, ERR_ARGUMENT, NULL, NO_OFFSET, "%s a checkpoint, not a query's tensors",
                  o->merge_count ? "adapters are merged into" : "others are joined to");
    else if (o->joined_count && (o->merge_count || o->target))
        error_set(x->err, ERR_ARGUMENT, NULL, NO_OFFSET, "%s one checkpoint, not several joined",
                  o->merge_count ? "adapters are merged into" : "a target is filled from");
    else if (o->prefer && strcmp(o->prefer, "first") != 0 && strcmp(o->prefer, "last") != 0)
        error_set(x->err, ERR_ARGUMENT, NULL, NO_OFFSET,
                  "--prefer %.60s: first or last checkpoint is wanted", o->prefer);
    if (x->err->status == OK)
        export_check_settings(e, o->settings, x->err);
    return x->err->status;
}

#define SAID_BYTES 2048 /* of a line to the watch */

/* Say that nothing was written; the reason was said to the watch, and is told here if it does not listen. */
static void refuse_for(const struct exporting *x, const char *reason, const char *advice)
{
    const bool heard = x->catalog->watch.say;
    error_set(x->err, ERR_UNSUPPORTED, NULL, NO_OFFSET, "nothing was written%s%s%s",
              heard ? "" : ": ", heard ? "" : reason, advice);
}

/* The checkpoints that the options name. */
static enum status library_export_check_known(const struct exporting *x)
{
    const struct ckptdb_export_options *o = x->options;
    for (size_t i = 0; i < o->merge_count; i++)
        library_known(x->catalog, &o->merges[i].checkpoint, 1, x->err);
    if (x->err->status == OK)
        library_known(x->catalog, o->joined, o->joined_count, x->err);
    return o->sql || x->err->status != OK
               ? x->err->status
               : library_known(x->catalog, (int64_t[]){o->checkpoint, o->target}, o->target ? 2 : 1,
                               x->err);
}

/* An incomplete checkpoint is exported only on request, so that the copy does not pass for a
 * whole one. */
static void library_export_check_whole(struct exporting *x, int64_t checkpoint)
{
    /* What an import missed may be there again: reading tells. */
    static const char sql[] =
        "SELECT c.name, coalesce(c.state, 'damaged'), (SELECT i.path || ': ' || i.message"
        " FROM issue i WHERE i.checkpoint_id = ?1 AND i.severity = 'error' LIMIT 1)"
        " FROM _labels c WHERE c.id = ?1 AND (c.state <> 'complete' OR c.state IS NULL"
        " AND EXISTS (SELECT 1 FROM _issues WHERE checkpoint = ?1 AND severity = 'error'))";
    const ckptdb *c = x->catalog;
    sqlite3_stmt *row;
    if (x->options->sql || x->options->partial)
        return;
    row = db_query(c->db, x->err, sql, "i", checkpoint);
    if (db_row(row, NULL, x->err)) {
        const char *why = db_text(row, 2);
        char line[SAID_BYTES];
        snprintf(line, sizeof(line), "%s is %s: %s", db_text(row, 0), db_text(row, 1),
                 why ? why : "see the view `issue`");
        library_say(c, "%s", line);
        refuse_for(x, line, "; --partial exports what is there");
    }
    sqlite3_finalize(row);
}

/* --- reports --------------------------------------------------------------------------------- */

static void say_note(const ckptdb *c, const struct selection_note *n, const char *what)
{
    if (n->count)
        library_say(c, "%s: %" PRIu64 " (%s%s)", what, n->count, n->first,
                    n->count > 1 ? ", ..." : "");
}

/* Say a line for each cause; *lines are these. */
static void say_causes(const ckptdb *c, const struct refusals *causes, struct text *lines)
{
    refusals_print(causes, lines);
    char *at = text_str(lines) ? lines->at : NULL;
    for (char *end; at && (end = strchr(at, '\n')); at = end + 1) {
        *end = '\0';
        library_say(c, "%s", at);
    }
}

/* --- planning, writing ----------------------------------------------------------------------- */

/* Whether the map leaves the plan as it is, before renames and casts, which nobody can have meant. */
static bool map_is_idle(const struct exporting *x, const struct selection_notes *notes)
{
    bool idle = x->options->map && !x->options->target && !notes->dropped;
    for (size_t i = 0; i < x->plan.count && idle; i++) {
        const struct export_tensor *t = &x->plan.tensor[i];
        idle = strcmp(t->name, t->old_name) == 0 && strcmp(t->from.name, t->to.name) == 0 &&
               !t->recipe && !(t->stored && t->stored->composition);
    }
    return idle;
}

static void library_export_rename(struct exporting *x)
{
    const char *json = x->options->renames;
    struct renames renames = {0};
    if (json)
        renames_read(json, strlen(json), &renames, x->err);
    for (size_t i = 0; i < renames.count && x->err->status == OK; i++)
        if (!export_plan_rename(&x->plan, &renames.at[i], x->err) && x->err->status == OK)
            library_say(x->catalog, "rename '%s': it changes no name", renames.at[i].pattern);
    renames_release(&renames);
}

/* That an adapter fits a checkpoint does not mean that it was made for this one. */
static void say_other_base(const struct exporting *x, int64_t adapter)
{
    static const char sql[] =
        "SELECT l.name, o.name FROM adapter_base(?1) b JOIN _labels l ON l.id = ?1"
        " JOIN _labels o ON o.id = b.base WHERE b.component = '' AND b.base <> ?2";
    sqlite3_stmt *row =
        db_query(x->catalog->db, x->err, sql, "ii", adapter, x->options->checkpoint);
    if (row && db_row(row, "adapters", x->err))
        library_say(x->catalog, "%s is an adapter of %s, by what it states", db_text(row, 0),
                    db_text(row, 1));
    sqlite3_finalize(row);
}

/* Select from the checkpoint, and from those that are joined to it. */
static enum status select_all(struct exporting *x, struct selection_notes *notes)
{
    struct selection want = x->want;
    selection_run(x->catalog->db, &want, &x->plan, notes, x->err);
    for (size_t i = 0; i < x->options->joined_count && x->err->status == OK; i++) {
        x->plan.joined++;
        want.checkpoint = x->options->joined[i];
        selection_run(x->catalog->db, &want, &x->plan, notes, x->err);
    }
    return x->err->status;
}

/* The plan is made in one transaction, of one state of the catalog; not the copying, which may be
 * long and must not keep others from writing. */
static enum status make_plan(struct exporting *x)
{
    struct selection_notes notes = {0};
    const char *dtype = x->options->dtype;
    if (db_exec(x->catalog->db, "SAVEPOINT export", x->err) != OK)
        return x->err->status;
    if (merges_find(&x->merges, x->catalog->db, &x->want, &x->plan, x->err) == OK &&
        select_all(x, &notes) == OK)
        merges_finish(&x->merges, x->catalog->db, &x->want, &x->plan, x->err);
    /* Nothing was written in it, so releasing it cannot fail. */
    sqlite3_exec(x->catalog->db, "RELEASE export", NULL, NULL, NULL);
    const bool idle = map_is_idle(x, &notes);
    if (x->err->status == OK)
        library_export_rename(x);
    if (x->err->status == OK && x->options->prefer)
        export_plan_prefer(&x->plan, strcmp(x->options->prefer, "last") == 0, x->err);
    if (x->err->status == OK && dtype)
        export_plan_cast(&x->plan, dtype, x->err);
    if (x->err->status == OK && x->exporter->retype)
        x->exporter->retype(&x->plan, x->options->settings, x->err);
    if (x->err->status != OK || export_plan_check(&x->plan, x->exporter, x->err) != OK)
        return x->err->status;
    struct text lines = {0};
    if (x->plan.refusals.count) {
        say_causes(x->catalog, &x->plan.refusals, &lines);
        refuse_for(x, lines.at ? lines.at : "no memory", ""); /* the first line */
    } else {
        const ckptdb *c = x->catalog;
        const struct export_plan *p = &x->plan;
        if (notes.leaves)
            library_say(c, "left out, being empty leaves and no tensors: %" PRIu64, notes.leaves);
        say_note(c, &notes.absent, "left out, having no source: names of the target");
        say_note(c, &notes.extra, "passed on, as the map does it: names that the target lacks");
        if (p->uncast)
            library_say(c,
                        "not floating-point, and keeping their dtype: %" PRIu64 " of %" PRIu64
                        " tensors",
                        p->uncast, p->count);
        for (size_t i = 0; i < x->merges.adapters; i++)
            say_other_base(x, x->merges.adapter[i].checkpoint);
        say_causes(c, &p->left_out, &lines);
        if (idle)
            library_say(c, "map %s: it changes no name", x->options->map);
    }
    text_release(&lines);
    return x->err->status;
}

/* The checkpoints whose metadata goes along. The last value of a key counts, so the preferred one is the last. */
static size_t carried_from(const struct exporting *x, struct arena *arena, int64_t **list)
{
    const struct ckptdb_export_options *o = x->options;
    const bool last = o->prefer && strcmp(o->prefer, "last") == 0;
    *list = arena_array(arena, o->joined_count + 1, sizeof(**list));
    if (!*list || o->sql || o->no_metadata)
        return 0;
    for (size_t i = 0; i <= o->joined_count; i++) {
        const size_t which = last ? i : o->joined_count - i;
        (*list)[i] = which ? o->joined[which - 1] : o->checkpoint;
    }
    return o->joined_count + 1;
}

static void say_line(void *context, const char *line)
{
    library_say(((const struct exporting *)context)->catalog, "%s", line);
}

/* The metadata of the export. The last value of a key counts: first the source's own and where it
 * comes from, then what the format always states, then what the user states. */
static void library_export_describe(struct exporting *x, struct arena *arena,
                                    struct export_options *how)
{
    struct export_metadata all = {.arena = arena};
    const char *const *own = x->exporter->own_metadata;
    const char *const *pair = x->options->metadata;
    if (!x->exporter->keeps_metadata)
        return;
    int64_t *from;
    const size_t sources = carried_from(x, arena, &from);
    for (size_t i = 0; i < sources; i++)
        selection_metadata(x->catalog->db, from[i], &x->plan, &all, x->err);
    if (sources)
        selection_provenance(x->catalog->db, &x->want, &x->plan, &all, x->err);
    if (!x->options->no_metadata && x->merges.adapters)
        metadata_add(&all, "ckptdb_merge", x->merges.described, METADATA_TEXT);
    for (; own && *own; own += 2)
        metadata_add(&all, own[0], own[1], METADATA_TEXT);
    for (; pair && *pair; pair += 2)
        metadata_add(&all, pair[0], pair[1], METADATA_GIVEN);
    const struct export_subject subject = {
        .db = x->catalog->db,
        .checkpoint = from,
        .checkpoints = sources,
        .plan = &x->plan,
        .metadata = &all,
        .say = say_line,
        .context = x,
    };
    if (x->exporter->describe && x->err->status == OK)
        x->exporter->describe(&subject, arena, &how->description, x->err);
    how->metadata = metadata_pairs(&all);
}

static enum status guard(void *context, const char *path, struct error *err)
{
    const struct exporting *x = context;
    return selection_guard(x->catalog->db, &x->plan, path, err);
}

static void tell_progress(void *context, uint64_t done, uint64_t total)
{
    const ckptdb *c = ((const struct exporting *)context)->catalog;
    c->watch.progress(c->watch.context, "exporting", done, total);
}

static bool stopped(void *context)
{
    return library_stopped(((const struct exporting *)context)->catalog);
}

static int by_place(const struct export_tensor *a, const struct export_tensor *b)
{
    if (a->file != b->file)
        return a->file < b->file ? -1 : 1;
    return a->number < b->number ? -1 : a->number > b->number;
}

/* A plan whose list is too long for SQLite is a limit, and not lack of memory. */
#define PLAN_LIST_MAX ((size_t)1000000000)

/* The caller gets a statement: SQLite lists what it is given as JSON. */
static void give_plan(struct exporting *x)
{
    static const char sql[] =
        "SELECT value ->> 0 AS tensor_id, value ->> 1 AS old_name,"
        " value ->> 2 AS new_name, value ->> 3 AS dtype, value ->> 4 AS shape,"
        " value ->> 5 AS nbytes FROM json_each(?1)";
    struct export_tensor **order = export_order(&x->plan, by_place, x->err);
    struct text json = {.limit = PLAN_LIST_MAX};
    for (size_t i = 0; order && i < x->plan.count; i++) {
        const struct export_tensor *t = order[i];
        text_addf(&json, "%s[%" PRId64 ",", i ? "," : "[", t->id);
        text_json(&json, t->old_name, strlen(t->old_name));
        text_addc(&json, ',');
        text_json(&json, t->name, strlen(t->name));
        text_addc(&json, ',');
        text_json(&json, t->to.name, strlen(t->to.name));
        text_adds(&json, ",\"");
        shape_print(&json, t->shape, t->rank);
        text_addf(&json, "\",%" PRIu64 "]", t->nbytes + t->laid);
    }
    text_addc(&json, ']');
    if (json.failed && json.len > PLAN_LIST_MAX / 2)
        error_set(x->err, ERR_LIMIT, NULL, NO_OFFSET,
                  "the list of the plan would have more than %zu bytes", PLAN_LIST_MAX);
    else if (!text_str(&json))
        error_memory(x->err);
    sqlite3_stmt *rows = db_query(x->catalog->db, x->err, sql, "s", text_str(&json));
    text_release(&json);
    if (rows)
        x->options->planned(x->options->context, rows);
}

static int by_cast(const struct export_tensor *a, const struct export_tensor *b)
{
    const int from = strcmp(a->from.name, b->from.name);
    return from ? from : strcmp(a->to.name, b->to.name);
}

/* Say which dtypes become which. */
static void say_casts(struct exporting *x)
{
    struct export_plan *p = &x->plan;
    struct export_tensor **order = export_order(p, by_cast, x->err);
    for (size_t i = 0, end; order && i < p->count; i = end) {
        const struct export_tensor *t = order[i];
        for (end = i + 1; end < p->count && by_cast(t, order[end]) == 0;)
            end++;
        if (strcmp(t->from.name, t->to.name) != 0)
            library_say(x->catalog, "%s becomes %s in %zu tensor%s", t->from.name, t->to.name,
                        end - i, end - i == 1 ? "" : "s");
    }
}

/* Their files must stay as they are, as if they were read, too. */
static void spare(struct exporting *x)
{
    static const char sql[] = "SELECT path FROM _checkpoints WHERE id = ?1";
    for (size_t i = 0; i < x->options->spared_count && x->err->status == OK; i++) {
        sqlite3_stmt *row = db_query(x->catalog->db, x->err, sql, "i", x->options->spared[i]);
        if (row && db_row(row, "checkpoints", x->err))
            export_plan_reads(&x->plan, db_text(row, 0), x->err);
        sqlite3_finalize(row);
    }
}

static void write_plan(struct exporting *x)
{
    const struct ckptdb_export_options *o = x->options;
    char warning[EXPORT_WARNING_BYTES] = "";
    struct export_loss loss = {0};
    struct export_sum sum = {0};
    struct arena arena = {.err = x->err};
    struct export_options how = {
        .force = o->force,
        .sync = !o->no_sync,
        .threads = o->threads,
        .shard_size = o->shard_size,
        .settings = o->settings,
        .stop = stopped,
        .progress = x->catalog->watch.progress ? tell_progress : NULL,
        .context = x,
        .guard = guard,
        .guard_context = x,
        .loss = &loss,
        .sum = &sum,
        .warning = warning,
    };
    library_export_describe(x, &arena, &how);
    if (x->err->status == OK)
        spare(x);
    if (x->err->status == OK)
        export_write(&x->plan, x->exporter, x->path, &how, o->dry_run, x->err);
    arena_release(&arena);
    if (x->err->status != OK)
        return;
    if (o->dry_run)
        say_casts(x);
    if (warning[0])
        library_say(x->catalog, "%s", warning);
    if (loss.tensors)
        library_say(x->catalog,
                    "lost by conversion: out of range %" PRIu64 ", rounded to zero %" PRIu64
                    ", became NaN %" PRIu64 ", in %" PRIu64 " of the tensors (%s%s)",
                    loss.all.out_of_range, loss.all.to_zero, loss.all.to_nan, loss.tensors,
                    loss.first, loss.tensors > 1 ? ", ..." : "");
    if (o->done)
        *o->done =
            (struct ckptdb_exported){x->exporter->name, x->plan.count, sum.nbytes, sum.files};
    if (o->dry_run && o->planned)
        give_plan(x);
}

enum ckptdb_status ckptdb_export(ckptdb *c, const char *path,
                                 const struct ckptdb_export_options *given,
                                 struct ckptdb_error *error)
{
    struct error err = {.offset = NO_OFFSET};
    struct ckptdb_export_options o;
    if (library_take(&o, sizeof(o), given, &err) != OK)
        return library_end(&err, error);
    struct exporting x = {
        .catalog = c,
        .options = &o,
        .path = path,
        .want = {.checkpoint = o.checkpoint,
                 .names = o.names,
                 .where = o.where,
                 .map = o.map,
                 .target = o.target,
                 .sql = o.sql},
        .merges = {.adapter = o.merges,
                   .adapters = o.merge_count,
                   .wide = o.dtype,
                   .catalog = {load_stored, c}},
        .plan = {.loader = {shelf_load, &x}, .partial = o.partial},
        .err = &err,
    };
    if (find_exporter(&x) == OK && library_export_check_options(&x) == OK &&
        library_export_check_known(&x) == OK)
        library_export_check_whole(&x, o.checkpoint);
    for (size_t i = 0; i < o.joined_count && err.status == OK; i++)
        library_export_check_whole(&x, o.joined[i]);
    for (size_t i = 0; i < o.merge_count && err.status == OK; i++)
        library_export_check_whole(&x, o.merges[i].checkpoint);
    if (err.status == OK && make_plan(&x) == OK)
        write_plan(&x);
    export_plan_release(&x.plan);
    arena_release(&x.merges.arena);
    return library_end(&err, error);
}

uint64_t ckptdb_size(const char *text)
{
    return export_size(text);
}
