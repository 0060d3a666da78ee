#include <string.h>
#include <strings.h>

#include "catalog/export/export.h"
#include "catalog/export/npy_header.h"
#include "catalog/read/tensor_stream.h"
#include "shell/command/command.h"
#include "shell/command/settings.h"
#include "shell/render/get_print.h"
#include "shell/session/resolve.h"

#define SUMMARY_FROM 1000  /* elements; on a terminal more are shown in part */
#define NEAR_FEW     8     /* elements read at once for a summary */
#define NEAR_MANY    16384 /* and front to back */

static const struct option_spec options[] = {
    {"--slice", "S", "part of it, as NumPy has it: '0, :, -3:, ::2' or '..., 1'"},
    {"--map", "RULESET",
     "NAME is one that this rule set makes (translations, conversions)"},
    {"--set", PAIR, "a number that the map needs and the checkpoint does not state"},
    {"--dtype", "D", "convert the elements"},
    {"--format", "F",
     "text, json, csv, npy or raw; else FILE's suffix says it, else text"},
    {"-o", "FILE", "write to a file, which must not be there yet; - is standard output"},
    {"--full", NULL, "text: all elements, on a terminal too"},
    {NULL, NULL, NULL},
};

const struct command command_get;

/* What is asked for. */
struct get {
    struct session *session;
    const struct format *format;
    struct stored_tensor tensor;
    struct slice slices[TENSOR_RANK_MAX];
    bool sliced;
    uint64_t shape[TENSOR_RANK_MAX]; /* of the result */
    unsigned rank;
    struct dtype room;
    const struct dtype *dtype; /* NULL: its own */
    bool full;
    struct sink sink;
    struct progress *progress;
};

struct format {
    const char *name, *suffix; /* "npy", ".npy" */
    bool binary;
    enum status (*print)(const struct printing *, struct error *);
    enum status (*write)(struct get *, struct error *);
};

/* --- bytes ------------------------------------------------------------------------------ */

static enum status write_stream(struct get *g, struct tensor_stream *s, struct error *err)
{
    struct bytes block;
    uint64_t done = 0;
    while (tensor_stream_next(s, &block, err) == OK && block.len) {
        if (sink_write(&g->sink, block.at, block.len, err) != OK)
            return err->status;
        done += block.len;
        progress_set(g->progress, done, tensor_stream_nbytes(s));
    }
    return err->status;
}

static enum status open_stream(struct get *g, struct tensor_stream **out,
                               struct error *err)
{
    return tensor_stream_open(&g->tensor, g->sliced ? g->slices : NULL, g->dtype, out,
                              err);
}

/* A single string is its bytes. */
static enum status write_string(struct get *g, struct error *err)
{
    struct reader *r = NULL;
    struct string_table *table = NULL;
    struct bytes s;
    if (g->tensor.elements != 1)
        return error_set(err, ERR_UNSUPPORTED, g->tensor.checkpoint, NO_OFFSET,
                         "strings have no raw form; use --format json, csv or text");
    if (reader_open(&g->tensor, &r, err) == OK && reader_verify(r, err) == OK &&
        reader_strings(r, &table, err) == OK && string_at(table, 0, &s, err) == OK)
        sink_write(&g->sink, s.at, s.len, err);
    string_table_close(table);
    reader_close(r);
    return err->status;
}

static enum status write_raw(struct get *g, struct error *err)
{
    struct arena arena = {0};
    struct tensor_stream *s = NULL;
    if (g->tensor.dtype.kind == DTYPE_STRING)
        return write_string(g, err);
    if ((g->dtype || g->sliced || tensor_as_stored(&g->tensor, &arena, err) == OK) &&
        open_stream(g, &s, err) == OK)
        write_stream(g, s, err);
    tensor_stream_close(s);
    arena_release(&arena);
    return err->status;
}

static enum status write_npy(struct get *g, struct error *err)
{
    char descr[64];
    struct text head = {0};
    struct tensor_stream *s = NULL;
    const struct dtype *dtype = g->dtype ? g->dtype : &g->tensor.dtype;
    if (dtype->kind == DTYPE_STRING)
        return error_set(
            err, ERR_UNSUPPORTED, g->tensor.checkpoint, NO_OFFSET,
            "strings are not written as .npy; --format json or text has them");
    if (!npy_descr(dtype, descr))
        return error_set(err, ERR_UNSUPPORTED, g->tensor.checkpoint, NO_OFFSET,
                         "NumPy has no dtype %s; choose another with --dtype",
                         dtype->name);
    if (g->rank > NPY_RANK_MAX)
        return error_set(err, ERR_UNSUPPORTED, g->tensor.checkpoint, NO_OFFSET,
                         "NumPy has at most %d dimensions", NPY_RANK_MAX);
    if (open_stream(g, &s, err) == OK) {
        if (!npy_header(&head, descr, g->shape, g->rank))
            error_set(err, ERR_MEMORY, NULL, NO_OFFSET, "no memory");
        else if (sink_write(&g->sink, head.at, head.len, err) == OK)
            write_stream(g, s, err);
    }
    tensor_stream_close(s);
    text_release(&head);
    return err->status;
}

static const struct format output_formats[] = {
    {"text", ".txt", false, print_text, NULL}, {"json", ".json", false, print_json, NULL},
    {"csv", ".csv", false, print_csv, NULL},   {"npy", ".npy", true, NULL, write_npy},
    {"raw", ".raw", true, NULL, write_raw},
};

/* --- text ------------------------------------------------------------------------------- */

static void show_progress(void *context, uint64_t done)
{
    const struct get *g = context;
    progress_set(g->progress, done, 0);
}

static enum status write_text(struct get *g, struct error *err)
{
    struct cells *cells = NULL;
    const struct slice *slices = g->sliced ? g->slices : NULL;
    uint64_t count = slices ? slice_elements(slices, g->tensor.rank) : g->tensor.elements;
    bool terminal = !g->sink.file && g->session->out_is_terminal && !g->full;
    bool summary = terminal && g->format->print == print_text && count > SUMMARY_FROM;
    if (cells_open(&g->tensor, slices, g->dtype, summary ? NEAR_FEW : NEAR_MANY, &cells,
                   err) != OK)
        return err->status;
    struct printing p = {
        .cells = cells,
        .sink = &g->sink,
        .shape = g->shape,
        .rank = g->rank,
        .summary = summary,
        .progress = show_progress,
        .context = g,
    };
    if (g->format->print(&p, err) == OK && !summary && !slices)
        cells_verify(cells, err);
    cells_close(cells);
    return err->status;
}

/* --- the command ------------------------------------------------------------------------ */

static bool ends_in(const char *path, const char *suffix)
{
    size_t len = strlen(path), tail = strlen(suffix);
    return len >= tail && strcasecmp(path + len - tail, suffix) == 0;
}

/* By --format, else by the suffix of -o FILE (NULL: standard output), else text. */
static const struct format *find_format(const char *name, const char *path)
{
    const size_t count = sizeof(output_formats) / sizeof(output_formats[0]);
    for (size_t i = 0; i < count; i++)
        if (name ? strcmp(output_formats[i].name, name) == 0
                 : path && ends_in(path, output_formats[i].suffix))
            return &output_formats[i];
    if (name)
        complain("--format %s: text, json, csv, npy or raw", name);
    else if (path && exporter_for_path(path))
        complain("-o %s: `export` writes this format; get writes .txt, .json, .csv, .npy "
                 "and .raw",
                 path);
    else
        return &output_formats[0];
    return NULL;
}

/* -o FILE; NULL where that is standard output. */
static const char *output_path(const struct args *args)
{
    const char *path = args_option(&command_get, args, "-o");
    return path && strcmp(path, "-") != 0 ? path : NULL;
}

/* Options that need no tensor. */
static bool read_options(struct get *g, const struct args *args)
{
    const char *dtype = args_option(&command_get, args, "--dtype");
    const char *path = output_path(args);
    g->full = args_flag(&command_get, args, "--full");
    g->format = find_format(args_option(&command_get, args, "--format"), path);
    if (!g->format)
        return false;
    if (g->full && g->format->print != print_text) {
        complain("--full: only with --format text");
        return false;
    }
    if (dtype) {
        dtype_find(dtype, &g->room);
        g->dtype = &g->room;
        if (g->room.kind == DTYPE_UNKNOWN) {
            say_unknown_dtype("--dtype", dtype);
            return false;
        }
    }
    if (g->format->binary && g->session->out_is_terminal && !path) {
        complain("--format %s: not to a terminal; use -o FILE, or a pipe",
                 g->format->name);
        return false;
    }
    return true;
}

/* The slices, and the shape that is left. */
static bool read_slice(struct get *g, const char *text, struct error *err)
{
    bool drop[TENSOR_RANK_MAX] = {false};
    const struct stored_tensor *t = &g->tensor;
    g->sliced = text != NULL;
    if (text && slice_parse(text, t->shape, t->rank, g->slices, drop, err) != OK)
        return false;
    for (unsigned d = 0; d < t->rank; d++)
        if (!drop[d])
            g->shape[g->rank++] = text ? g->slices[d].count : t->shape[d];
    return true;
}

static int fail(const struct get *g, struct error *err)
{
    if (err->status == ERR_INTERRUPTED)
        return STATUS_INTERRUPTED;
    if (g->tensor.name && err->status != ERR_ARGUMENT)
        error_prefix(err, g->tensor.name);
    complain_error(err);
    return err->status == ERR_ARGUMENT || err->status == ERR_IO ? STATUS_TROUBLE
                                                                : STATUS_NO;
}

static enum status find_tensor(struct get *g, const struct mapped *which,
                               struct arena *arena, struct error *err)
{
    struct lookup *lookup = NULL;
    if (lookup_open(g->session->db, &lookup, err) != OK)
        return err->status;
    if (which->recipe)
        lookup_composed(lookup, which->recipe, arena, &g->tensor, err);
    else
        lookup_tensor(lookup, which->id, arena, &g->tensor, err);
    lookup_close(lookup);
    if (err->status == OK && !g->dtype && which->dtype[0] &&
        strcmp(which->dtype, g->tensor.dtype.name) != 0) {
        dtype_find(which->dtype, &g->room);
        g->dtype = &g->room;
    }
    return err->status;
}

static int get_tensor(struct get *g, const struct args *args, const struct mapped *which)
{
    struct arena arena = {0};
    struct error err = {.offset = NO_OFFSET};
    const char *path = output_path(args);
    if (find_tensor(g, which, &arena, &err) == OK &&
        read_slice(g, args_option(&command_get, args, "--slice"), &err) &&
        sink_open(&g->sink, g->session, path, &err) == OK) {
        g->progress =
            progress_new(g->session, "reading", g->format->binary ? "B" : "elements");
        if ((g->format->print ? write_text(g, &err) : g->format->write(g, &err)) == OK)
            sink_finish(&g->sink, &err);
        progress_free(g->progress);
    }
    int status = err.status == OK ? STATUS_FINE : fail(g, &err);
    sink_close(&g->sink);
    arena_release(&arena);
    return status;
}

static int get_run(struct session *s, const struct args *args)
{
    struct get g = {.session = s};
    if (!read_options(&g, args))
        return STATUS_TROUBLE;
    const char *map = args_option(&command_get, args, "--map");
    const char *name = args->count > 1 ? args->operand[1] : NULL;
    if (args->pairs && !map) {
        complain("--set: only with --map");
        return STATUS_TROUBLE;
    }
    if (map && !name) {
        complain("--map %s: NAME is wanted, one of those that the map makes", map);
        return STATUS_TROUBLE;
    }
    struct mapped which = {.id = -1};
    sqlite3_int64 checkpoint = session_checkpoint(s, args->operand[0]);
    int set = checkpoint && map ? settings_give(s, args, map, checkpoint) : STATUS_FINE;
    if (set != STATUS_FINE)
        return set;
    if (checkpoint && map)
        session_mapped(s, map, checkpoint, name, &which);
    else if (checkpoint)
        which.id = session_tensor(s, checkpoint, name);
    int status = which.id < 0 ? STATUS_NO : get_tensor(&g, args, &which);
    sqlite3_free(which.recipe);
    return status;
}

const struct command command_get = {
    .name = "get",
    .args =
        "CHECKPOINT [NAME] [--map RULESET] [--slice S] [--dtype D] [--format F] [-o FILE]",
    .summary = "print a tensor, or write its elements to a file",
    .help =
        "NAME may be left out where there is one tensor. Without --format the suffix of "
        "FILE\n"
        "decides: .txt, .json, .csv, .npy, .raw.\n\n"
        "text looks as NumPy prints; on a terminal more than 1000 elements are shown in\n"
        "part. json nests lists; NaN and infinities are null. csv has a line for each "
        "row\n"
        "of the last dimension. raw is C order, little-endian. Block types are shown\n"
        "dequantised. Checksums that the file states are verified.\n\n"
        "  ckptdb get llama/model.safetensors lm_head.weight --slice ':3, -4:'\n"
        "  ckptdb get t5/checkpoint_1000 target/encoder/scale --dtype float32 -o "
        "scale.npy\n"
        "  ckptdb get 3 step --format json\n"
        "  ckptdb get t5/model.ckpt-1000 target/token_embedder/embedding --map t5_to_t5x",
    .options = options,
    .min_args = 1,
    .max_args = 2,
    .catalog = CATALOG_READ,
    .no_rows = true,
    .pages = true,
    .run = get_run,
};
