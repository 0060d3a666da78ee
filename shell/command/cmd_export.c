#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "catalog/base/text.h"
#include "shell/command/export_one.h"
#include "shell/command/rename_option.h"
#include "shell/command/set_option.h"

static const struct option_spec options[] = {
    {"--format", "F", "one that `formats` lists (default: by OUT's suffix)"},
    {"--names", "REGEX", "only tensors whose (old) name this matches, as Python's re.search does"},
    {"--where", "SQL",
     "only tensors for which this expression over the columns of `tensor` is true"},
    {"--map", "RULESET", "give them the names and dtypes that a map says"},
    {"--target", "CHECKPOINT", "the model to fill (assignment maps)"},
    {"--set", PAIR, "a number that the map needs and the checkpoint does not state"},
    RENAME_OPTION(" (after --map)"),
    PREFIX_OPTION,
    {"--all", "GLOB", "every checkpoint that GLOB matches, each into one output in the folder OUT"},
    {"--prefer", "first|last", "whose tensor to take where joined checkpoints share a name"},
    {"--merge", "ADAPTER[:FACTOR]", "merge a LoRA adapter into it, FACTOR times (default: 1)"},
    {"--dtype", "D", "convert to this dtype; a floating-point one leaves integers alone"},
    {"--sql", "SELECT", "tensors from a query: columns tensor_id, new_name and, optionally, dtype"},
    {"--partial", NULL, "export what is whole in an incomplete or damaged checkpoint"},
    {"--shard-size", "N", "write files of at most N bytes (5GB, 500MiB) and an index"},
    {"--force", NULL, "replace what is there"},
    {"--option", "OPTION=VALUE", "an option of the format; `ckptdb formats` lists them"},
    {"--meta", PAIR, "add this to the file's metadata (GGUF: KEY:TYPE=VALUE states its type)"},
    {"--no-meta", NULL, "leave out the source's metadata and the provenance"},
    {"--dry-run", NULL, "check everything, print the plan, write nothing"},
    {"--no-sync", NULL, "do not wait until everything is on the disk"},
    {NULL, NULL, NULL},
};

const struct command command_export;

static const char *option(const struct args *args, const char *name)
{
    return args_option(&command_export, args, name);
}

/* Collect the KEY=VALUE pairs of a repeatable option: keys and values alternate in `list`,
 * which ends with NULL; their text is in `room`, of PAIR_BYTES. False: they are too long. */
#define PAIR_BYTES 8192
static bool export_read_pairs(const struct args *args, const char *name, char *room,
                              const char *list[2 * PAIRS_MAX + 1])
{
    size_t count = 0, used = 0;
    for (int i = 0; i < args->pairs; i++) {
        const char *text = args->pair[i].text, *equals = strchr(text, '=');
        const size_t len = strlen(text);
        if (strcmp(args->pair[i].option, name) != 0 || !equals)
            continue;
        if (len + 1 > PAIR_BYTES - used) {
            complain("%s: too long", name);
            return false;
        }
        memcpy(room + used, text, len + 1);
        room[used + (size_t)(equals - text)] = '\0';
        list[count++] = room + used;
        list[count++] = room + used + (equals - text) + 1;
        used += len + 1;
    }
    list[count] = NULL;
    return true;
}

/* Check which options exclude or need each other. */
static bool check_usage(const struct args *args)
{
    static const char *const others[] = {"--names",  "--where", "--map", "--target", "--rename",
                                         "--prefix", "--merge", "--all", "--prefer"};
    const bool sql = option(args, "--sql");
    for (size_t i = 0; sql && i < sizeof(others) / sizeof(others[0]); i++) {
        if (option(args, others[i])) {
            complain("%s: not with --sql, which selects and names tensors itself", others[i]);
            return false;
        }
    }
    const bool all = option(args, "--all");
    if (sql || all ? args->count != 1 : args->count < 2) {
        complain(sql   ? "export --sql SELECT takes only OUT"
                 : all ? "export --all GLOB takes only OUT, a folder"
                       : "export takes CHECKPOINT and OUT");
        return false;
    }
    if (all && !option(args, "--format")) {
        complain("--all: --format says what the outputs are");
        return false;
    }
    if (option(args, "--prefer") && args->count < 3) {
        complain("--prefer: only where checkpoints are joined");
        return false;
    }
    if (strcmp(args->operand[args->count - 1], "-") == 0) {
        complain("export writes files, not standard output (a file called - is ./-)");
        return false;
    }
    if ((option(args, "--target") || option(args, "--set")) && !option(args, "--map")) {
        complain("%s: only with --map", option(args, "--target") ? "--target" : "--set");
        return false;
    }
    return true;
}

/* The adapters of --merge; `list` has room for PAIRS_MAX. False after a message. */
static bool take_merges(struct session *s, const struct args *args, struct ckptdb_merge *list,
                        size_t *count)
{
    for (int i = 0; i < args->pairs; i++) {
        const char *text = args->pair[i].text, *colon = strrchr(text, ':');
        char *name = NULL, *end = NULL;
        struct ckptdb_merge m = {.factor = 1};
        if (strcmp(args->pair[i].option, "--merge") != 0)
            continue;
        const double factor = colon && colon[1] ? strtod(colon + 1, &end) : 1;
        const bool factored = end && !*end && isfinite(factor);
        m.factor = factored ? factor : 1;
        name = factored ? strndup(text, (size_t)(colon - text)) : strdup(text);
        m.checkpoint = name ? session_checkpoint(s, name) : 0;
        if (!name)
            complain("no memory");
        free(name);
        if (!m.checkpoint)
            return false;
        list[(*count)++] = m;
    }
    return true;
}

/* An export into one output; for programs it reports an object. */
static int write_export(struct session *s, const char *path, struct ckptdb_export_options *o)
{
    struct export_result result = {.listed = true};
    struct text t = {0};
    int status = export_one(s, path, o, &result);
    if (status != STATUS_FINE || o->dry_run)
        return status;
    text_addc(&t, '{');
    export_report(&t, path, &result);
    text_addc(&t, '}');
    status = render_report(s, &t);
    text_release(&t);
    return status;
}

/* Export what all operands but OUT name, joined; with --sql none. */
static int export_joined(struct session *s, const struct args *args,
                         struct ckptdb_export_options *o)
{
    const size_t count = (size_t)args->count - 1;
    int64_t *ids = calloc(count + 1, sizeof(*ids));
    int status = ids ? STATUS_FINE : STATUS_TROUBLE;
    if (!ids)
        complain("no memory");
    for (size_t i = 0; i < count && status == STATUS_FINE; i++) {
        ids[i] = session_checkpoint(s, args->operand[i]);
        if (!ids[i])
            status = STATUS_NO;
        else if (o->map)
            status = settings_give(s, args, o->map, ids[i]);
    }
    if (status == STATUS_FINE) {
        o->checkpoint = ids[0];
        o->joined = ids + 1;
        o->joined_count = count > 1 ? count - 1 : 0;
        status = write_export(s, args->operand[count], o);
    }
    free(ids);
    return status;
}

static int export_run(struct session *s, const struct args *args)
{
    char words[2][PAIR_BYTES];
    const char *metadata[2 * PAIRS_MAX + 1], *settings[2 * PAIRS_MAX + 1];
    struct text renames = {0};
    struct ckptdb_merge merges[PAIRS_MAX];
    const char *all = option(args, "--all"), *out = args->operand[0];
    struct ckptdb_export_options o = {
        .size = sizeof(o),
        .names = option(args, "--names"),
        .where = option(args, "--where"),
        .map = option(args, "--map"),
        .sql = option(args, "--sql"),
        .format = option(args, "--format"),
        .dtype = option(args, "--dtype"),
        .partial = args_option(&command_export, args, "--partial"),
        .force = args_option(&command_export, args, "--force"),
        .no_sync = args_option(&command_export, args, "--no-sync"),
        .dry_run = args_option(&command_export, args, "--dry-run"),
        .no_metadata = args_option(&command_export, args, "--no-meta"),
        .metadata = metadata,
        .settings = settings,
        .merges = merges,
        .prefer = option(args, "--prefer"),
    };
    const char *size = option(args, "--shard-size");
    if (!check_usage(args))
        return STATUS_TROUBLE;
    if (size && !(o.shard_size = ckptdb_size(size))) {
        complain("--shard-size %s: not a number of bytes", size);
        return STATUS_TROUBLE;
    }
    if (!export_read_pairs(args, "--option", words[0], settings) ||
        !export_read_pairs(args, "--meta", words[1], metadata))
        return STATUS_TROUBLE;
    const char *target = option(args, "--target");
    if (target && !(o.target = session_checkpoint(s, target)))
        return STATUS_NO;
    if (!take_merges(s, args, merges, &o.merge_count))
        return STATUS_NO;
    if (!renames_take(s, args, &renames)) {
        text_release(&renames);
        return STATUS_TROUBLE;
    }
    o.renames = renames.len ? text_str(&renames) : NULL;
    const int status = all ? export_all(s, args, all, out, &o) : export_joined(s, args, &o);
    text_release(&renames);
    return status;
}

const struct command command_export = {
    .name = "export",
    .args =
        "CHECKPOINT... OUT [--names REGEX] [--map RULESET] ... | --all GLOB OUT | --sql SELECT OUT",
    .summary = "write tensors to a new file, under their own or other names",
    .help =
        "The suffix of OUT decides the format: .safetensors, .pt, .pth, .ckpt and .bin\n"
        "(PyTorch), .gguf, .npz, .npy (one tensor), .h5 and .hdf5, .msgpack (Flax), .zarr\n"
        "(a folder, version 2), .index (TensorFlow; the prefix is what precedes it). --format\n"
        "names any format, also dcp, tf, t5x, orbax and zarr3, whatever OUT is called.\n"
        "Everything is checked before the first byte is written: two tensors of the same\n"
        "name, a name that no rule matches, a file that changed since it was indexed, a\n"
        "dtype that the format does not have. OUT appears complete or not at all.\n"
        "\n"
        "Several CHECKPOINTs are joined in one output; each is selected, mapped and renamed by\n"
        "itself. Equal names are an error, unless --prefer says whose tensor is taken.\n"
        "--all GLOB writes each checkpoint that `ls GLOB` would list into the folder OUT, which\n"
        "is made. Each is called by its name, plus --format's suffix if it has none; a '/' makes a\n"
        "folder. A failure is reported, the rest goes on, and the exit status is 1.\n"
        "\n"
        "An incomplete or damaged checkpoint is refused. With --partial, what is whole in it\n"
        "is exported, such as the tensors before the place where a file was cut short, and\n"
        "the others are named.\n"
        "\n"
        "--names and --where look at the names and columns of the source, with a map too;\n"
        "of tensors that a map joins, they must choose all or none.\n"
        "--rename and --prefix change names after the map (if there is one), in\n"
        "the order given: in REGEX \\= is an equals sign, NEW has \\1\n"
        "and \\g<name> for groups.\n"
        "--dtype float32, bfloat16, ... converts floating-point tensors and leaves\n"
        "integers and bools as they are, as T5X and PyTorch do; if only integers are\n"
        "selected, they are converted. Any other dtype applies to everything selected.\n"
        "--merge adds what a LoRA adapter (peft, kohya, diffusers) changes, FACTOR times, as\n"
        "peft's merge_and_unload() does in float32, rounded once, in the order given. What does\n"
        "not fit, or cannot be merged, is refused by name.\n"
        "--option quantize=TYPE[:REGEX] (GGUF; several times) quantises the tensors whose new\n"
        "names match REGEX; without one, all others with whole blocks and two or more\n"
        "dimensions, to the bytes of ggml's reference quantisers; vectors become float32.\n"
        "Numbers that a conversion makes infinite, zero or NaN are counted; --dry-run\n"
        "reads the tensors to count them.\n"
        "\n"
        "NumPy has no bfloat16 and no 8-bit floats: they are written as raw |V2 and |V1,\n"
        "as ml_dtypes does; with --dtype float32 NumPy alone can read them. With\n"
        "--shard-size, a crash while the finished files are being renamed leaves shards\n"
        "without an index, never an index without its shards.\n"
        "\n"
        "  ckptdb export model.safetensors embed.npy --names '^model\\.embed' --dtype float32\n"
        "  ckptdb export ddp.pt model.safetensors --prefix module.= --rename 'norm(\\d)=ln_\\1'\n"
        "  ckptdb export model.safetensors pytorch_model.bin --shard-size 5GB\n"
        "  ckptdb export data@1000 checkpoint_1000 --format t5x --map t5_to_t5x\n"
        "  ckptdb export org/base merged.safetensors --merge lora/checkpoint-30 --merge style:0.5\n"
        "  ckptdb export model.ckpt-1000 t5x.safetensors --map t5_to_t5x --names '^(enc|dec)oder'\n"
        "  ckptdb export m.safetensors m.gguf --option quantize=q4_k --option quantize=q6_k:^output\n"
        "  ckptdb export broken.pt rescued.safetensors --partial\n"
        "  ckptdb export encoder.pt decoder.pt both.safetensors --prefer last\n"
        "  ckptdb export --all 'runs/*' backup --format safetensors --dtype bfloat16\n"
        "  ckptdb export --sql \"SELECT id AS tensor_id, 'layer.' || ord AS new_name FROM tensor\n"
        "     WHERE checkpoint_id = 1 AND nbytes < 1000\" small.npz\n",
    .options = options,
    .min_args = 1,
    .max_args = -1,
    .catalog = CATALOG_READ,
    .run = export_run,
};
