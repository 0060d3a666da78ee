#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "catalog/export/select.h"
#include "shell/command/command.h"
#include "shell/command/settings.h"
#include "shell/render/render.h"

static const struct option_spec options[] = {
    {"--format", "F", "as `formats` lists them; else OUT's suffix says it"},
    {"--names", "REGEX",
     "only tensors in whose (old) name this is found, as Python searches"},
    {"--where", "SQL",
     "only tensors for which this is true: an expression over the columns "
     "of `tensor`"},
    {"--map", "RULESET", "give them the names, and the dtypes, that a map makes"},
    {"--target", "CHECKPOINT", "the model that an assigning map fills"},
    {"--set", PAIR, "a number that the map needs and the checkpoint does not state"},
    {"--dtype", "D", "convert to this dtype; a floating-point one leaves integers alone"},
    {"--sql", "SELECT",
     "tensors by a query of your own: columns tensor_id, new_name and, if "
     "you like, dtype"},
    {"--partial", NULL, "of a checkpoint that is incomplete or damaged, what is there"},
    {"--shard-size", "N",
     "several files of at most so many bytes (5GB, 500MiB) and an index"},
    {"--force", NULL, "write over what is there"},
    {"--option", PAIR, "what only one format has to choose; `ckptdb formats` lists it"},
    {"--meta", PAIR, "say this in the file's metadata"},
    {"--no-meta", NULL,
     "leave out the source's metadata, and where the export comes from"},
    {"--dry-run", NULL, "check everything, print the plan, write nothing"},
    {"--no-sync", NULL, "do not wait until everything is on the disk"},
    {NULL, NULL, NULL},
};

/* The command's options, read and checked. */
struct request {
    struct selection want;
    const struct exporter *exporter;
    const char *out, *dtype;
    bool dry, no_meta;
    struct export_options how;
    struct arena arena; /* of the pairs below */
    const char **settings, **metadata;
};

const struct command command_export;

static const char *option(const struct args *args, const char *name)
{
    return args_option(&command_export, args, name);
}

/* Which formats there are: their names, or the suffixes that say them. */
static void complain_format(const struct request *r, const char *format)
{
    struct text known = {0};
    for (size_t i = 0; exporters[i]; i++) {
        const char *suffix = exporters[i]->suffix;
        if (format || !i || strcmp(suffix, exporters[i - 1]->suffix) != 0)
            text_addf(&known, "%s%s", i ? ", " : "",
                      format ? exporters[i]->name : suffix);
    }
    const char *list = text_str(&known) ? text_str(&known) : "";
    if (format)
        complain("--format %s: not a format that can be written (%s)", format, list);
    else
        complain("%s: its suffix names no format that can be written (%s); or use "
                 "--format",
                 r->out, list);
    text_release(&known);
}

static bool find_format(struct request *r, const char *format)
{
    r->exporter = format ? exporter_find(format) : exporter_for_path(r->out);
    if (!r->exporter)
        complain_format(r, format);
    return r->exporter != NULL;
}

/* A copy of `len` bytes, or NULL as an end, to a list in the arena. */
static bool add_word(struct request *r, const char ***list, size_t *count, size_t *space,
                     const char *word, size_t len)
{
    void *grown = arena_grow(&r->arena, *list, *count, space, sizeof(**list));
    char *copy = word && grown ? arena_copy(&r->arena, word, len) : NULL;
    if (!grown || (word && !copy)) {
        complain("no memory");
        return false;
    }
    *list = grown;
    (*list)[(*count)++] = copy;
    return true;
}

/* Keys and values of an option that was given any number of times, then NULL. */
static bool read_pairs(struct request *r, const struct args *args, const char *name,
                       const char ***out)
{
    size_t count = 0, space = 0;
    *out = NULL;
    for (int i = 0; i < args->pairs; i++) {
        const char *key = args->pair[i].text, *equals = strchr(key, '=');
        if (strcmp(args->pair[i].option, name) == 0 && equals &&
            (!add_word(r, out, &count, &space, key, (size_t)(equals - key)) ||
             !add_word(r, out, &count, &space, equals + 1, strlen(equals + 1))))
            return false;
    }
    return add_word(r, out, &count, &space, NULL, 0);
}

/* Which options exclude each other, or need another. */
static bool check_usage(const struct args *args, const struct request *r)
{
    static const char *const others[] = {"--names", "--where", "--map", "--target"};
    for (size_t i = 0; r->want.sql && i < sizeof(others) / sizeof(others[0]); i++) {
        if (option(args, others[i])) {
            complain("%s: not with --sql, which selects and names by itself", others[i]);
            return false;
        }
    }
    if (args->count != (r->want.sql ? 1 : 2)) {
        complain(r->want.sql ? "export --sql SELECT takes OUT alone"
                             : "export takes CHECKPOINT and OUT");
        return false;
    }
    if ((option(args, "--target") || option(args, "--set")) && !r->want.map) {
        complain("%s: only with --map", option(args, "--target") ? "--target" : "--set");
        return false;
    }
    return true;
}

static bool read_request(const struct args *args, struct request *r)
{
    const char *shard = option(args, "--shard-size");
    *r = (struct request){
        .want = {.names = option(args, "--names"),
                 .where = option(args, "--where"),
                 .map = option(args, "--map"),
                 .sql = option(args, "--sql")},
        .out = args->operand[args->count - 1],
        .dtype = option(args, "--dtype"),
        .dry = args_flag(&command_export, args, "--dry-run"),
        .no_meta = args_flag(&command_export, args, "--no-meta"),
        .how = {.force = args_flag(&command_export, args, "--force"),
                .sync = !args_flag(&command_export, args, "--no-sync")},
    };
    if (!check_usage(args, r) || !find_format(r, option(args, "--format")) ||
        !read_pairs(r, args, "--option", &r->settings) ||
        !read_pairs(r, args, "--meta", &r->metadata))
        return false;
    if (*r->metadata && !r->exporter->keeps_metadata) {
        complain("--meta: format %s has no room for metadata", r->exporter->name);
        return false;
    }
    r->how.settings = r->settings;
    if (shard && !(r->how.shard_size = export_size(shard))) {
        complain("--shard-size %s: not a number of bytes", shard);
        return false;
    }
    if (shard && !r->exporter->parts) {
        complain("--shard-size: only safetensors has files in parts");
        return false;
    }
    return true;
}

static bool find_checkpoints(struct session *s, const struct args *args,
                             struct request *r)
{
    const char *target = option(args, "--target");
    if (!r->want.sql && !(r->want.checkpoint = session_checkpoint(s, args->operand[0])))
        return false;
    return !target || (r->want.target = session_checkpoint(s, target));
}

/* A copy must not pass for the whole of a checkpoint that never was whole. */
static bool is_whole(struct session *s, sqlite3_int64 checkpoint)
{
    static const char sql[] =
        "SELECT c.name, coalesce(c.state, 'damaged'), (SELECT i.path || ': ' || i.message"
        " FROM issue i WHERE i.checkpoint_id = ?1 AND i.severity = 'error' LIMIT 1)"
        " FROM checkpoint c WHERE c.id = ?1 AND (c.state <> 'complete' OR c.state IS NULL"
        " AND EXISTS (SELECT 1 FROM issues WHERE checkpoint = ?1 AND severity = 'error'))";
    sqlite3_stmt *row = session_prepare(s, sql, "i", (int64_t)checkpoint);
    bool whole = row && sqlite3_step(row) != SQLITE_ROW;
    if (row && !whole) {
        const char *why = (const char *)sqlite3_column_text(row, 2);
        complain("%s is %s: %s", sqlite3_column_text(row, 0), sqlite3_column_text(row, 1),
                 why ? why : "see the view `issue`");
        complain("nothing was written; --partial exports what is there");
    }
    sqlite3_finalize(row);
    return whole;
}

/* The catalog as the source of what is exported. */
struct shelf {
    sqlite3 *db;
    struct lookup *lookup;
};

static enum status shelf_begin(void *context, struct error *err)
{
    struct shelf *shelf = context;
    return db_exec(shelf->db, "SAVEPOINT export", err);
}

/* The zeros, of shape (1,), that stand for an optimizer's slot which is not used. */
static enum status load_zeros(struct arena *arena, struct stored_tensor *out,
                              struct error *err)
{
    static const float zero = 0;
    uint64_t *shape = arena_array(arena, 1, sizeof(*shape));
    struct extent *extent = arena_alloc(arena, sizeof(*extent));
    if (!shape || !extent)
        return error_set(err, ERR_MEMORY, NULL, NO_OFFSET, "no memory");
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

static enum status shelf_load(void *context, int64_t id, const char *recipe,
                              struct arena *arena, struct stored_tensor *out,
                              struct error *err)
{
    struct shelf *shelf = context;
    if (recipe)
        return lookup_composed(shelf->lookup, recipe, arena, out, err);
    if (id == EXPORT_ZEROS)
        return load_zeros(arena, out, err);
    return lookup_tensor(shelf->lookup, id, arena, out, err);
}

/* Nothing was written, so there is nothing that could fail. */
static void shelf_end(void *context)
{
    struct shelf *shelf = context;
    sqlite3_exec(shelf->db, "RELEASE export", NULL, NULL, NULL);
}

static int print_plan(struct session *s, const struct export_plan *p)
{
    sqlite3_stmt *listing = export_rows_listing(p->rows);
    if (listing)
        return render_listing(s, listing);
    complain("no memory for the plan");
    return STATUS_NO;
}

static void print_refusals(const struct refusals *r)
{
    struct text lines = {0};
    refusals_print(r, &lines);
    for (char *at = lines.at, *end; text_str(&lines) && at && (end = strchr(at, '\n'));
         at = end + 1) {
        *end = '\0';
        complain("%s", at);
    }
    complain("nothing was written");
    text_release(&lines);
}

static void print_note(const struct selection_note *n, const char *what)
{
    if (n->count)
        complain("%s: %" PRIu64 " (%s%s)", what, n->count, n->first,
                 n->count > 1 ? ", ..." : "");
}

static void print_notes(const struct selection_notes *n, const struct export_plan *p)
{
    if (n->leaves)
        complain("left out, being empty leaves and no tensors: %" PRIu64, n->leaves);
    print_note(&n->absent, "left out, having no source: names of the target");
    print_note(&n->extra, "passed on, as the map does it: names that the target has not");
    if (p->uncast)
        complain("not floating-point, and keeping their dtype: %" PRIu64 " of %" PRIu64
                 " tensors",
                 p->uncast, p->count);
}

static int status_of(const struct error *err)
{
    switch (err->status) {
    case OK:
        return STATUS_FINE;
    case ERR_ARGUMENT:
    case ERR_IO:
        return STATUS_TROUBLE;
    case ERR_INTERRUPTED:
        return STATUS_INTERRUPTED;
    default:
        return STATUS_NO;
    }
}

/* What the export says of itself: the source's own, where it comes from, what its format always
 * says, and last what the user says. */
static enum status describe(struct session *s, struct request *r,
                            const struct export_plan *p, struct error *err)
{
    struct export_metadata all = {.arena = &r->arena};
    const char *const *own = r->exporter->own_metadata;
    if (!r->exporter->keeps_metadata)
        return OK;
    if (!r->no_meta && selection_metadata(s->db, &r->want, p, &all, err) != OK)
        return err->status;
    for (; own && *own; own += 2)
        metadata_add(&all, own[0], own[1]);
    for (const char **pair = r->metadata; *pair; pair += 2)
        metadata_add(&all, pair[0], pair[1]);
    r->how.metadata = metadata_pairs(&all);
    return r->how.metadata ? OK
                           : error_set(err, ERR_MEMORY, NULL, NO_OFFSET, "no memory");
}

struct guard {
    sqlite3 *db;
    const struct export_plan *plan;
};

static enum status guard(void *context, const char *path, struct error *err)
{
    const struct guard *g = context;
    return selection_guard(g->db, g->plan, path, err);
}

static void report_progress(void *context, uint64_t done, uint64_t total)
{
    progress_set(context, done, total);
}

static void print_loss(const struct export_loss *l)
{
    if (l->tensors)
        complain("lost by conversion: out of range %" PRIu64 ", rounded to zero %" PRIu64
                 ", became NaN %" PRIu64 ", in %" PRIu64 " of the tensors (%s%s)",
                 l->all.out_of_range, l->all.to_zero, l->all.to_nan, l->tensors, l->first,
                 l->tensors > 1 ? ", ..." : "");
}

static int write_plan(struct session *s, struct request *r, struct export_plan *plan,
                      struct error *err)
{
    char warning[EXPORT_WARNING_BYTES] = "";
    struct guard context = {s->db, plan};
    struct export_loss loss = {0};
    if (describe(s, r, plan, err) != OK)
        return status_of(err);
    r->how.interrupted = &session_interrupted;
    r->how.warning = warning;
    r->how.loss = &loss;
    r->how.guard = guard;
    r->how.guard_context = &context;
    struct progress *progress = progress_new(s, "export", "B");
    r->how.progress = report_progress;
    r->how.progress_context = progress;
    export_write(plan, r->exporter, r->out, &r->how, r->dry, err);
    progress_free(progress);
    if (err->status == OK && warning[0])
        complain("%s", warning);
    if (err->status == OK)
        print_loss(&loss);
    return err->status == OK && r->dry ? print_plan(s, plan) : status_of(err);
}

static int export_run(struct session *s, const struct args *args)
{
    struct error err = {.offset = NO_OFFSET};
    struct shelf shelf = {.db = s->db};
    struct export_plan plan = {.loader = {shelf_begin, shelf_end, shelf_load, &shelf}};
    struct selection_notes notes;
    struct request r;
    int status = STATUS_TROUBLE;
    if (!read_request(args, &r))
        goto done;
    plan.partial = args_flag(&command_export, args, "--partial");
    if (!find_checkpoints(s, args, &r) ||
        (!r.want.sql && !plan.partial && !is_whole(s, r.want.checkpoint))) {
        status = STATUS_NO;
        goto done;
    }
    if (r.want.map &&
        (status = settings_give(s, args, r.want.map, r.want.checkpoint)) != STATUS_FINE)
        goto done;
    status = STATUS_TROUBLE;
    if (lookup_open(s->db, &shelf.lookup, &err) != OK)
        goto done;
    /* One state of the catalog for the whole plan; not for the copying, which can be long
     * and must not keep others from writing. */
    if (shelf_begin(&shelf, &err) != OK)
        goto done;
    selection_run(s->db, &r.want, &plan, &notes, &err);
    shelf_end(&shelf);
    if (err.status != OK || (r.dtype && export_plan_cast(&plan, r.dtype, &err) != OK) ||
        export_plan_check(&plan, r.exporter, &err) != OK)
        goto done;
    if (plan.refusals.count) {
        print_refusals(&plan.refusals);
        status = STATUS_NO;
        goto done;
    }
    print_notes(&notes, &plan);
    if (plan.left_out)
        complain("%llu tensors without bytes are left out",
                 (unsigned long long)plan.left_out);
    status = write_plan(s, &r, &plan, &err);

done:
    if (err.status != OK) {
        complain_error(&err);
        status = status_of(&err);
    }
    lookup_close(shelf.lookup);
    export_plan_release(&plan);
    arena_release(&r.arena);
    return status;
}

const struct command command_export = {
    .name = "export",
    .args = "CHECKPOINT OUT [--names REGEX] [--map RULESET] ... | --sql SELECT OUT",
    .summary = "write tensors, under their or other names, to a new file",
    .help =
        "The format follows the suffix of OUT: .safetensors, .npz, .npy (one tensor), .zarr (a\n"
        "folder, version 2; --format zarr3 for version 3), .msgpack (Flax).\n"
        "Everything is checked before the first byte is written: two tensors of one "
        "name, a\n"
        "name that no rule matches, a file that changed since it was indexed, a dtype "
        "that\n"
        "the format does not have. OUT appears whole or not at all.\n"
        "\n"
        "--names and --where select by the names and columns of the source, also with a "
        "map.\n"
        "--dtype float32, bfloat16, ... converts floating-point tensors and leaves "
        "integers\n"
        "and bools as they are, as T5X and PyTorch do; where all selected are integers "
        "they\n"
        "are converted. Any other dtype is for all that is selected. What that loses is\n"
        "counted, and with --dry-run read to be counted.\n"
        "NumPy has no bfloat16 and no 8-bit floats: they are written as raw |V2 and |V1, "
        "as\n"
        "ml_dtypes does it; --dtype float32 makes them readable by NumPy alone.\n"
        "In parts, a crash while the finished files get their names leaves parts "
        "without\n"
        "an index, never an index without its parts.\n"
        "\n"
        "  export model.safetensors embed.npy --names '^model\\.embed' --dtype float32\n"
        "  export model.ckpt-1000 t5x.safetensors --map t5_to_t5x --names "
        "'^(enc|dec)oder'\n"
        "  export --sql \"SELECT id AS tensor_id, 'layer.' || ord AS new_name FROM "
        "tensor\n"
        "     WHERE checkpoint_id = 1 AND nbytes < 1000\" small.npz\n",
    .options = options,
    .min_args = 1,
    .max_args = 2,
    .catalog = CATALOG_READ,
    .run = export_run,
};
