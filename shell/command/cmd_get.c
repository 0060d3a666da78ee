#include <string.h>
#include <strings.h>

#include "shell/command/command.h"
#include "shell/command/rename_option.h"
#include "shell/command/set_option.h"
#include "shell/render/get_print.h"
#include "shell/session/resolve.h"

#define SUMMARY_FROM 1000  /* above this many elements, a terminal gets a summary */
#define NEAR_FEW     8     /* elements read at a time for a summary */
#define NEAR_MANY    16384 /* and for all elements, front to back */
#define NPY_PREAMBLE 10    /* bytes before the text of a .npy file's header */

static const struct option_spec options[] = {
    {"--slice", "S", "a part, as NumPy writes it: '0, :, -3:, ::2' or '..., 1'"},
    {"--map", "RULESET", "NAME is a new name, made by this rule set (translations, conversions)"},
    {"--set", PAIR, "a number that the map needs and the checkpoint does not state"},
    RENAME_OPTION(" (after --map): NAME is the new one"),
    PREFIX_OPTION,
    {"--dtype", "D", "convert the elements"},
    {"--format", "F", "text, json, csv, npy or raw (default: by FILE's suffix, else text)"},
    {"-o", "FILE", "write to a new file; - is standard output"},
    {"--full", NULL, "text: print all elements, on a terminal too"},
    {NULL, NULL, NULL},
};

const struct command command_get;

/* The request. */
struct get {
    struct session *session;
    const struct format *format;
    ckptdb_tensor *tensor;
    const struct ckptdb_tensor_info *info; /* of the tensor */
    struct ckptdb_slice slices[CKPTDB_RANK_MAX];
    bool sliced;
    uint64_t shape[CKPTDB_RANK_MAX]; /* shape of the result */
    uint64_t elements;
    unsigned rank;
    const char *dtype; /* NULL: the tensor's own */
    bool full;
    struct sink sink;
    struct progress *progress;
};

struct format {
    const char *name, *suffix; /* "npy", ".npy" */
    bool binary;
    void (*print)(const struct printing *);
    void (*write)(struct get *);
};

static const struct ckptdb_slice *slices_of(const struct get *g)
{
    return g->sliced ? g->slices : NULL;
}

/* --- bytes ------------------------------------------------------------------------------ */

static void write_stream(struct get *g, const char *dtype)
{
    struct ckptdb_error *err = &g->sink.err;
    ckptdb_stream *s = NULL;
    const void *block;
    size_t len;
    uint64_t done = 0;
    if (ckptdb_stream_open(g->tensor, slices_of(g), dtype, &s, err) == CKPTDB_OK)
        while (ckptdb_stream_next(s, &block, &len, err) == CKPTDB_OK && len &&
               sink_write(&g->sink, block, len))
            progress_set(g->progress, done += len, ckptdb_stream_size(s));
    ckptdb_stream_close(s);
}

static bool write_bytes(void *context, uint64_t index, const void *bytes, size_t len)
{
    (void)index;
    return sink_write(context, bytes, len);
}

/* The raw form of a single string is its bytes. */
static void write_raw(struct get *g)
{
    struct ckptdb_error err;
    if (strcmp(g->info->dtype, "string") != 0)
        write_stream(g, g->dtype || g->sliced ? g->dtype : CKPTDB_AS_STORED);
    else if (g->info->elements != 1)
        sink_fail(&g->sink, CKPTDB_UNSUPPORTED,
                  "%s: strings have no raw form; use --format json, csv or text", g->info->name);
    else if (ckptdb_strings(g->tensor, write_bytes, &g->sink, &err) != CKPTDB_OK)
        g->sink.err = err;
}

static void write_npy(struct get *g)
{
    struct ckptdb_error err;
    char *head;
    size_t len;
    if (ckptdb_npy_header(g->dtype ? g->dtype : g->info->dtype, g->shape, g->rank, &head, &len,
                          &err) != CKPTDB_OK)
        sink_fail(&g->sink, err.status, "%.300s: %s", g->info->name, err.message);
    else if (sink_write(&g->sink, head, len))
        write_stream(g, g->dtype);
    const char *dtype = g->dtype ? g->dtype : g->info->dtype;
    char *raw = head ? strstr(head + NPY_PREAMBLE, "'|V") : NULL;
    if (raw && g->sink.err.status == CKPTDB_OK && strncmp(dtype, "void", 4) != 0)
        complain("NumPy sees raw %.*s for %s: x.view(ml_dtypes.%s) gives the numbers, or "
                 "--dtype float32 here",
                 (int)strcspn(raw + 1, "'"), raw + 1, dtype, dtype);
    ckptdb_free(head);
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

static void write_text(struct get *g)
{
    ckptdb_cells *cells = NULL;
    struct ckptdb_error *err = &g->sink.err;
    bool terminal = !g->sink.file && g->session->out_is_terminal && !g->full;
    bool summary = terminal && g->format->print == print_text && g->elements > SUMMARY_FROM;
    if (ckptdb_cells_open(g->tensor, slices_of(g), g->dtype, summary ? NEAR_FEW : NEAR_MANY, &cells,
                          err) != CKPTDB_OK)
        return;
    struct printing p = {
        .cells = cells,
        .sink = &g->sink,
        .shape = g->shape,
        .rank = g->rank,
        .summary = summary,
        .progress = show_progress,
        .context = g,
    };
    g->format->print(&p);
    if (err->status == CKPTDB_OK && !summary && !g->sliced)
        ckptdb_cells_verify(cells, err);
    ckptdb_cells_close(cells);
}

/* --- the command ------------------------------------------------------------------------ */

/* Whether export writes a format with this suffix. */
struct suffix {
    const char *text;
    bool exported;
};

static bool see_format(void *context, const struct ckptdb_format *f)
{
    struct suffix *s = context;
    const char *at = f->writes ? strstr(f->suffixes, s->text) : NULL;
    s->exported = at && strchr(" ", at[strlen(s->text)]);
    return !s->exported;
}

/* The format given by --format, else by the suffix of -o FILE (NULL:
 * standard output), or else, where there is none, text. */
static const struct format *find_format(const char *name, const char *path)
{
    const size_t count = sizeof(output_formats) / sizeof(output_formats[0]);
    const char *slash = path ? strrchr(path, '/') : NULL, *file = slash ? slash + 1 : path;
    const char *dot = file && *file ? strrchr(file + 1, '.') : NULL; /* .hidden has none */
    struct suffix suffix = {.text = dot && dot[1] ? dot : NULL};
    for (size_t i = 0; i < count; i++)
        if (name ? strcmp(output_formats[i].name, name) == 0
                 : suffix.text && strcasecmp(suffix.text, output_formats[i].suffix) == 0)
            return &output_formats[i];
    if (name) {
        complain("--format %s: text, json, csv, npy or raw", name);
        return NULL;
    }
    if (!suffix.text)
        return &output_formats[0];
    ckptdb_formats(see_format, &suffix);
    if (suffix.exported)
        complain("-o %s: `export` writes this format; get writes .txt, .json, .csv, .npy and .raw",
                 path);
    else
        complain("-o %s: the suffix names no format: --format text, json, csv, npy or raw", path);
    return NULL;
}

/* The path of -o FILE; NULL for standard output. */
static const char *output_path(const struct args *args)
{
    const char *path = args_option(&command_get, args, "-o");
    return path && strcmp(path, "-") != 0 ? path : NULL;
}

/* Read the options that do not depend on the tensor. */
static bool read_options(struct get *g, const struct args *args)
{
    const char *dtype = args_option(&command_get, args, "--dtype");
    const char *path = output_path(args);
    g->full = args_option(&command_get, args, "--full");
    g->format = find_format(args_option(&command_get, args, "--format"), path);
    if (!g->format)
        return false;
    if (g->full && g->format->print != print_text) {
        complain("--full: only with --format text");
        return false;
    }
    if (dtype && !ckptdb_dtype(dtype, &g->dtype)) {
        say_unknown_dtype("--dtype", dtype);
        return false;
    }
    if (g->format->binary && g->session->out_is_terminal && !path) {
        complain("--format %s: not to a terminal; use -o FILE, or a pipe", g->format->name);
        return false;
    }
    return true;
}

/* Parse the slice and compute the shape of the result. */
static void read_slice(struct get *g, const char *text)
{
    bool drop[CKPTDB_RANK_MAX] = {false};
    g->sliced = text != NULL;
    g->elements = text ? 1 : g->info->elements;
    if (text && ckptdb_slice_parse(g->tensor, text, g->slices, drop, &g->sink.err) != CKPTDB_OK)
        return;
    for (unsigned d = 0; d < g->info->rank; d++) {
        const uint64_t count = text ? g->slices[d].count : g->info->shape[d];
        g->elements *= text ? count : 1;
        if (!drop[d])
            g->shape[g->rank++] = count;
    }
}

static int get_tensor(struct get *g, const struct args *args)
{
    g->info = ckptdb_tensor_info(g->tensor);
    read_slice(g, args_option(&command_get, args, "--slice"));
    sink_open(&g->sink, output_path(args));
    if (g->sink.err.status == CKPTDB_OK) {
        g->progress = progress_new(g->session, "reading", g->format->binary ? "B" : "elements");
        (g->format->print ? write_text : g->format->write)(g);
        sink_finish(&g->sink);
        progress_free(g->progress);
    }
    int status = g->sink.err.status == CKPTDB_OK ? STATUS_FINE : complain_status(&g->sink.err);
    sink_close(&g->sink);
    return status;
}

/* Find the tensor that a map and renames make, or which has this name. */
static int get_open(struct get *g, const struct args *args, const char *map, const char *renames)
{
    struct session *s = g->session;
    struct ckptdb_error err;
    const char *name = args->count > 1 ? args->operand[1] : NULL;
    const sqlite3_int64 checkpoint = session_checkpoint(s, args->operand[0]);
    const int status = checkpoint && map ? settings_give(s, args, map, checkpoint) : STATUS_FINE;
    if (status != STATUS_FINE || !checkpoint)
        return checkpoint ? status : STATUS_NO;
    if (map || renames) {
        g->tensor = session_mapped(s, map, renames, checkpoint, name);
        if (g->tensor && (renames || strcmp(ckptdb_tensor_info(g->tensor)->name, name) == 0))
            renames_say_idle(s, checkpoint, map, renames);
    } else {
        const sqlite3_int64 id = session_tensor(s, checkpoint, name);
        if (id >= 0 && ckptdb_tensor_open(s->open, id, &g->tensor, &err) != CKPTDB_OK)
            complain_status(&err);
    }
    return g->tensor ? STATUS_FINE : STATUS_NO;
}

static int get_run(struct session *s, const struct args *args)
{
    struct get g = {.session = s, .sink = {.session = s}};
    struct text renames = {0};
    const char *map = args_option(&command_get, args, "--map");
    int status = STATUS_TROUBLE;
    const bool good = read_options(&g, args) && renames_take(s, args, &renames);
    if (good && args_option(&command_get, args, "--set") && !map)
        complain("--set: only with --map");
    else if (good && map && args->count < 2)
        complain("--map %s: NAME is missing: a name that the map makes", map);
    else if (good && renames.len && args->count < 2)
        complain("--rename and --prefix: NAME is missing: the new one");
    else if (good)
        status = get_open(&g, args, map, renames.len ? text_str(&renames) : NULL);
    text_release(&renames);
    if (status == STATUS_FINE)
        status = get_tensor(&g, args);
    ckptdb_tensor_close(g.tensor);
    return status;
}

const struct command command_get = {
    .name = "get",
    .args =
        "CHECKPOINT [NAME] [--map RULESET] [--rename REGEX=NEW] [--slice S] [--dtype D] [--format F] [-o FILE]",
    .summary = "print a tensor, or write its elements to a file",
    .help = "NAME may be left out if the checkpoint has only one tensor. Without --format the\n"
            "suffix of FILE decides: .txt, .json, .csv, .npy, .raw; without a suffix, text.\n"
            "\n"
            "text looks as NumPy prints it; on a terminal, tensors of more than 1000 elements\n"
            "are abbreviated. json is nested lists, in which NaN and infinities are null. csv\n"
            "has one line for each row of the last dimension. raw is C order, little-endian.\n"
            "Block types are dequantised. Of a file that was cut short, tensors that are whole\n"
            "can be read. Checksums stored in the file are verified.\n"
            "A dtype may also have another program's name: bf16, F32, torch.half, <f4.\n"
            "\n"
            "  ckptdb get llama/model.safetensors lm_head.weight --slice ':3, -4:'\n"
            "  ckptdb get t5/checkpoint_1000 target/encoder/scale --dtype float32 -o scale.npy\n"
            "  ckptdb get 3 step --format json\n"
            "  ckptdb get t5/model.ckpt-1000 target/token_embedder/embedding --map t5_to_t5x\n"
            "  ckptdb get ddp.pt fc.weight --prefix module.=",
    .options = options,
    .min_args = 1,
    .max_args = 2,
    .catalog = CATALOG_READ,
    .traits = NO_ROWS | PAGES,
    .run = get_run,
};
