/*
 * export_orbax.c - the folder of an item as Orbax writes it: arrays of NumPy, zarr 2.
 *
 *   OUT/_METADATA              JSON: the keys of every name, and what it is
 *   OUT/_CHECKPOINT_METADATA   JSON: which handler restores it
 *   OUT/manifest.ocdbt, d/...  an OCDBT store (ocdbt_tree.h) of a.b.kernel/.zarray and a.b.kernel/0.0: chunks of
 *                              whole rows, up to 64 MiB, not compressed, side by side in one file
 *   OUT/a.b.kernel/...         without OCDBT: folders, chunks compressed
 *
 * Source: orbax/checkpoint/_src/metadata/tree.py, _src/serialization/tensorstore_utils.py.
 */
#include <string.h>

#include "catalog/export/format/ocdbt_tree.h"
#include "catalog/export/format/zarr_folder.h"

#define ALIGNMENT   64
#define CHUNK_BYTES ((uint64_t)64 << 20)

static const struct zarr_how folders = {2, CHUNK_BYTES, ZARR_ZSTD, 1};

static bool uses_ocdbt(const struct export_options *options)
{
    const char *value = export_setting(options, "ocdbt");
    return !value || strcmp(value, "false") != 0;
}

/* Orbax's own files and folders beside the arrays'; it takes a "checkpoint" for Flax's file. */
static const char *const own_names[] = {"checkpoint", "_METADATA",       "_CHECKPOINT_METADATA",
                                        "_sharding",  "array_metadatas", "manifest.ocdbt"};

static bool export_orbax_holds(const struct export_tensor *t, struct text *why,
                               const char **instead)
{
    for (size_t i = 0; i < sizeof(own_names) / sizeof(own_names[0]); i++)
        if (strcmp(t->name, own_names[i]) == 0)
            return !text_addf(why, "Orbax keeps the name %s for itself (--rename, --map)", t->name);
    return zarr_folder_holds(t, why, instead);
}

static void export_orbax_check(struct export_plan *p, struct error *err)
{
    export_check_tree(p, err);
    zarr_folder_check(p, err);
}

/* --- what is in it ---------------------------------------------------------------------- */

/* A text of Python. */
static void add_repr(struct text *out, const char *at, size_t len)
{
    const char quote = memchr(at, '\'', len) && !memchr(at, '"', len) ? '"' : '\'';
    text_addc(out, quote);
    for (size_t i = 0; i < len; i++) {
        if (at[i] == '\\' || at[i] == quote)
            text_addc(out, '\\');
        text_addc(out, at[i]);
    }
    text_addc(out, quote);
}

/* The tuple of a name's parts, as Python prints it; a tree that is one array has none. */
static void add_tuple(struct text *out, const char *name)
{
    size_t len = 0;
    text_addc(out, '(');
    for (const char *part = *name ? name : NULL; part; part = part[len] ? part + len + 1 : NULL) {
        len = strcspn(part, "/");
        text_adds(out, part == name ? "" : ", ");
        add_repr(out, part, len);
    }
    text_adds(out, *name && !strchr(name, '/') ? ",)" : ")");
}

static void add_keys(struct text *out, const char *name)
{
    size_t len = 0;
    for (const char *part = *name ? name : NULL; part; part = part[len] ? part + len + 1 : NULL) {
        len = strcspn(part, "/");
        text_adds(out, part == name ? "{\"key\":" : ",{\"key\":");
        text_json(out, part, len);
        text_adds(out, ",\"key_type\":2}"); /* of a dict */
    }
}

static void put_metadata(struct export_layout *l, struct text *out, struct text *tuple)
{
    struct export_tensor **order = export_order(l->plan, export_by_tree, l->err);
    lay_file(l, "_METADATA");
    text_adds(out, "{\"tree_metadata\":{");
    for (size_t i = 0; i < l->plan->count && lay_ok(l); i++) {
        text_adds(out, i ? "," : "");
        add_tuple(tuple, order[i]->name);
        if (text_str(tuple))
            text_json(out, tuple->at, tuple->len);
        text_reset(tuple);
        text_adds(out, ":{\"key_metadata\":[");
        add_keys(out, order[i]->name);
        text_adds(out, "],\"value_metadata\":{\"value_type\":\"np.ndarray\","
                       "\"skip_deserialize\":false}}");
        lay_add(l, out);
    }
    text_addf(out,
              "},\"use_ocdbt\":%s,\"use_zarr3\":false,"
              "\"store_array_data_equal_to_fill_value\":true,\"custom_metadata\":null}",
              uses_ocdbt(l->options) ? "true" : "false");
    lay_add(l, out);
    lay_file(l, "_CHECKPOINT_METADATA");
    text_adds(out,
              "{\"item_handlers\":\"orbax.checkpoint._src.handlers.standard_checkpoint_handler."
              "StandardCheckpointHandler\",\"metrics\":{},\"performance_metrics\":{},"
              "\"init_timestamp_nsecs\":1,\"commit_timestamp_nsecs\":1,\"custom_metadata\":{}}");
    lay_add(l, out);
}

/* --- the store -------------------------------------------------------------------------- */

/* Chunks of whole rows, so that they follow each other; the last is filled up with zeros. */
static void put_values(struct ocdbt_tree *tree, struct export_tensor *t, struct text *key,
                       struct text *json)
{
    struct export_layout *l = tree->l;
    struct zarr_how how = {2, CHUNK_BYTES, ZARR_NONE, 0};
    const uint64_t row = t->rank && t->shape[0] ? t->nbytes / t->shape[0] : t->nbytes;
    how.chunk_bytes = row > CHUNK_BYTES ? row : CHUNK_BYTES;
    zarr_folder_path(key, t->name);
    const size_t folder = key->len;
    text_adds(key, ".zarray");
    zarr_array(&how, t, NULL, json);
    if (json->failed || !text_str(key))
        error_memory_at(l->err, l->path);
    if (!lay_ok(l))
        return;
    ocdbt_add(tree, text_str(key), json->at, json->len);
    const uint64_t elements = t->piece, size = elements * t->to.block_bytes;
    lay_zeros(l, -l->at % ALIGNMENT);
    t->lead_len = 0;
    lay_tensor(l, t);
    for (uint64_t i = 0; i * elements < t->elements && lay_ok(l); i++) {
        key->len = folder;
        zarr_chunk_key(&how, t, i, key);
        if (text_str(key))
            ocdbt_add_range(tree, text_str(key), t->offset + i * size, size);
        else
            error_memory_at(l->err, l->path);
    }
    if (t->elements % elements)
        lay_zeros(l, size - t->nbytes % size);
}

static void put_store(struct export_layout *l, struct text *key, struct text *json)
{
    struct ocdbt_tree tree = {.l = l};
    lay_file(l, OCDBT_DATA_FILE);
    for (size_t i = 0; i < l->plan->count && lay_ok(l); i++) {
        put_values(&tree, &l->plan->tensor[i], key, json);
        text_reset(key);
        text_reset(json);
    }
    ocdbt_finish(&tree);
}

static void export_orbax_lay_out(struct export_layout *l)
{
    struct text text = {0}, other = {0};
    const char *value = export_setting(l->options, "ocdbt");
    if (value && strcmp(value, "true") != 0 && strcmp(value, "false") != 0)
        error_set(l->err, ERR_ARGUMENT, NULL, NO_OFFSET,
                  "--option ocdbt=%.60s: expected true or false", value);
    put_metadata(l, &text, &other);
    if (uses_ocdbt(l->options))
        put_store(l, &text, &other);
    else
        for (size_t i = 0; i < l->plan->count && lay_ok(l); i++)
            zarr_folder_put(l, &folders, &l->plan->tensor[i], &text);
    text_release(&text);
    text_release(&other);
}

static void export_orbax_piece_path(const struct export_options *options,
                                    const struct export_tensor *t, uint64_t piece, struct text *out)
{
    (void)options;
    zarr_folder_piece(&folders, t, piece, out);
}

static void export_orbax_piece_chain(const struct export_options *options,
                                     const struct export_tensor *t, struct text *out)
{
    (void)options;
    zarr_chain(&folders, &t->to, out);
}

static const struct export_setting settings[] = {
    {"ocdbt", "true|false", "one store, or a folder for each array; true"},
    {NULL, NULL, NULL},
};

static const char *const marks[] = {"_METADATA", NULL};

const struct exporter exporter_orbax = {
    .name = "orbax",
    .suffix = ".orbax",
    .summary = "an item's folder of Orbax, as StandardCheckpointer().restore takes it",
    .settings = settings,
    .folder_marks = marks,
    .holds = export_orbax_holds,
    .check = export_orbax_check,
    .lay_out = export_orbax_lay_out,
    .piece_path = export_orbax_piece_path,
    .piece_chain = export_orbax_piece_chain,
};
