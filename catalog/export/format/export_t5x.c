/*
 * export_t5x.c - a step's folder as T5X writes it (version 3).
 *
 *   OUT/checkpoint                     msgpack: {version: 3, optimizer: {target: {...}, state: {step, ...}},
 *                                      flax_mutables: {...}}; scalars are arrays in it
 *   OUT/target.encoder.kernel/.zarray  other arrays, gzip, in chunks of up to 64 MiB; in the msgpack they
 *   OUT/target.encoder.kernel/0.0      are TensorStore specs that open them
 *
 * Names are as an import gives them: target/..., state/..., flax_mutables/... If no name begins so,
 * all are the target's. A state without its step gets step 0.
 *
 * Source: t5x/checkpoints.py (Checkpointer._save_train_state, _read_state_from_tensorstore).
 */
#include <string.h>

#include "catalog/export/format/msgpack_tree.h"
#include "catalog/export/format/zarr_folder.h"

#define TARGET   "target/"
#define STATE    "state/"
#define MUTABLES "flax_mutables/"
#define STEP     STATE "step"
#define VERSION  3

static const struct zarr_how arrays = {2, (uint64_t)64 << 20, ZARR_GZIP, 1};

static bool begins(const char *name, const char *with)
{
    return strncmp(name, with, strlen(with)) == 0;
}

static bool is_named_so(const char *name)
{
    return begins(name, TARGET) || begins(name, STATE) || begins(name, MUTABLES);
}

static bool export_t5x_holds(const struct export_tensor *t, struct text *why, const char **instead)
{
    if (strcmp(t->to.name, "uint16") == 0) {
        *instead = "int32";
        return !text_adds(why, "T5X takes uint16 for bfloat16");
    }
    if (!msgpack_holds_name(t->name, why))
        return false;
    return t->rank && msgpack_has_dtype(&t->to) ? zarr_folder_holds(t, why, instead)
                                                : msgpack_holds(t, why, instead);
}

/* Give all names of a plain tree the target's. */
static void name_target(struct export_plan *p, struct error *err)
{
    struct text name = {0};
    for (size_t i = 0; i < p->count && err->status == OK; i++) {
        text_reset(&name);
        text_addf(&name, TARGET "%s", p->tensor[i].name);
        p->tensor[i].name = arena_copy(&p->arena, name.failed ? "" : name.at, name.len);
        if (name.failed)
            error_memory(err);
    }
    text_release(&name);
}

static void export_t5x_check(struct export_plan *p, struct error *err)
{
    size_t named = 0;
    p->arena.err = err;
    for (size_t i = 0; i < p->count; i++)
        named += is_named_so(p->tensor[i].name);
    if (!named)
        name_target(p, err);
    for (size_t i = 0; named && i < p->count; i++)
        if (!is_named_so(p->tensor[i].name))
            refuse_tensor(&p->refusals, p->tensor[i].name,
                          "T5X has names that begin with " TARGET ", " STATE " or " MUTABLES
                          "; --names, --rename or --map can choose");
    export_check_tree(p, err);
    zarr_folder_check(p, err);
}

/* --- the index -------------------------------------------------------------------------- */

static void add_word(struct text *out, const char *word)
{
    msgpack_string(out, word, strlen(word));
}

static void add_map(struct text *out, unsigned entries)
{
    text_addc(out, (char)(0x80 | entries));
}

/* The TensorStore spec of an array. */
static void add_spec(struct text *out, struct text *folder, struct export_tensor *t)
{
    uint64_t chunk[TENSOR_RANK_MAX];
    zarr_cut(&arrays, t, chunk);
    add_map(out, 4);
    add_word(out, "driver");
    add_word(out, "zarr");
    add_word(out, "dtype");
    add_word(out, t->to.name);
    add_word(out, "kvstore");
    add_map(out, 2);
    add_word(out, "driver");
    add_word(out, "file");
    add_word(out, "path");
    zarr_folder_path(folder, t->name);
    msgpack_string(out, folder->at, folder->len);
    out->failed = out->failed || folder->failed;
    text_reset(folder);
    add_word(out, "metadata");
    add_map(out, 3);
    add_word(out, "chunks");
    msgpack_numbers(out, chunk, t->rank);
    add_word(out, "compressor");
    add_map(out, 2);
    add_word(out, "id");
    add_word(out, "gzip");
    add_word(out, "level");
    msgpack_number(out, (uint64_t)arrays.level);
    add_word(out, "shape");
    msgpack_numbers(out, t->shape, t->rank);
}

static void put_step_zero(struct msgpack_tree *tree)
{
    static const char zero[] = "\xc7\x0e\x03\x93\x90\xa5int32\xc4\x04\0\0\0\0"; /* a NumPy scalar */
    msgpack_tree_key(tree, "optimizer/" STEP);
    text_add(&tree->text, zero, sizeof(zero) - 1);
    lay_add(tree->l, &tree->text);
}

static void put_leaf(struct msgpack_tree *tree, struct export_tensor *t, struct text *scratch)
{
    struct export_layout *l = tree->l;
    text_addf(scratch, "%s%s", begins(t->name, MUTABLES) ? "" : "optimizer/", t->name);
    msgpack_tree_key(tree,
                     arena_copy(l->arena, text_str(scratch) ? scratch->at : "", scratch->len));
    text_reset(scratch);
    if (t->rank)
        add_spec(&tree->text, scratch, t);
    else
        msgpack_array(&tree->text, t);
    lay_add(l, &tree->text);
    if (!t->rank)
        lay_tensor(l, t);
}

static void put_index(struct export_layout *l, struct text *scratch)
{
    struct msgpack_tree tree = {.l = l};
    struct export_tensor **order = export_order(l->plan, export_by_tree, l->err);
    bool stepped = false;
    lay_file(l, "checkpoint");
    msgpack_tree_open(&tree);
    msgpack_tree_key(&tree, "version");
    msgpack_number(&tree.text, VERSION);
    lay_add(l, &tree.text);
    for (size_t i = 0; i < l->plan->count && lay_ok(l); i++) {
        stepped = stepped || strcmp(order[i]->name, STEP) == 0;
        if (!stepped && begins(order[i]->name, TARGET)) { /* what follows the state */
            put_step_zero(&tree);
            stepped = true;
        }
        put_leaf(&tree, order[i], scratch);
    }
    if (!stepped)
        put_step_zero(&tree);
    msgpack_tree_close(&tree);
}

static void export_t5x_lay_out(struct export_layout *l)
{
    struct text scratch = {0};
    put_index(l, &scratch);
    for (size_t i = 0; i < l->plan->count && lay_ok(l); i++)
        if (l->plan->tensor[i].rank)
            zarr_folder_put(l, &arrays, &l->plan->tensor[i], &scratch);
    text_release(&scratch);
}

static void export_t5x_piece_path(const struct export_options *options,
                                  const struct export_tensor *t, uint64_t piece, struct text *out)
{
    (void)options;
    zarr_folder_piece(&arrays, t, piece, out);
}

static void export_t5x_piece_chain(const struct export_options *options,
                                   const struct export_tensor *t, struct text *out)
{
    (void)options;
    zarr_chain(&arrays, &t->to, out);
}

static const char *const marks[] = {"checkpoint", NULL};

const struct exporter exporter_t5x = {
    .name = "t5x",
    .suffix = ".t5x",
    .summary =
        "a step's folder of T5X, as its load_t5x_checkpoint and Checkpointer.restore take it",
    .folder_marks = marks,
    .holds = export_t5x_holds,
    .check = export_t5x_check,
    .lay_out = export_t5x_lay_out,
    .piece_path = export_t5x_piece_path,
    .piece_chain = export_t5x_piece_chain,
};
