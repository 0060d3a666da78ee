/*
 * export_zarr.c - a folder that is a zarr group of version 2 or 3, with one file per chunk.
 *
 *   version 2                      version 3
 *   OUT/.zgroup                    OUT/zarr.json           the root; it also has the metadata of
 *   OUT/.zattrs                                            all nodes (consolidated metadata)
 *   OUT/.zmetadata
 *   OUT/encoder/.zgroup            OUT/encoder/zarr.json   a group for each '/' of a name
 *   OUT/encoder/w/.zarray          OUT/encoder/w/zarr.json
 *   OUT/encoder/w/0.0, 1.0 ...     OUT/encoder/w/c.0.0 ...
 *
 * A tensor called "" is the root itself, as an array. Each chunk is a run of elements in C order,
 * so that sources are read from front to back; chunks at the edge are padded with zeros.
 *
 * Sources: zarr-specs, "Zarr storage specification version 2", "Zarr core specification version
 * 3"; zarr-python 2 and 3 for consolidated metadata.
 */
#include <stdio.h>
#include <string.h>

#include "catalog/data/codec/encode.h"
#include "catalog/data/model/tensor.h"
#include "catalog/export/export_layout.h"
#include "catalog/export/format/zarr_folder.h"

#define RANK_MAX       64   /* of NumPy */
#define COMPONENT_MAX  255  /* bytes; the limit of file systems */
#define NAME_BYTES_MAX 3500 /* PATH_MAX, less room for the name of a chunk */

/* --- what can be held ------------------------------------------------------------------- */

static bool holds_part(const char *at, size_t len, unsigned version, struct text *why)
{
    if (!len)
        return !text_adds(why, "a name with nothing before or after a '/' (--rename, --map)");
    if (len > COMPONENT_MAX)
        return !text_addf(
            why, "a part of its name has more than the %d bytes of a file's (--rename, --map)",
            COMPONENT_MAX);
    if (*at == '.')
        return !text_adds(why,
                          "names that begin with '.' are files of zarr's own (--rename, --map)");
    if (memchr(at, '\\', len))
        return !text_adds(why, "zarr-python takes '\\' in a name for '/' (--rename, --map)");
    if (version == 3 &&
        (strncmp(at, "__", 2) == 0 || (len == 9 && strncmp(at, "zarr.json", 9) == 0)))
        return !text_addf(why, "the format keeps names like %.*s for itself (--rename, --map)",
                          len < 40 ? (int)len : 40, at);
    return true;
}

static bool holds_name(const char *name, unsigned version, struct text *why)
{
    if (strlen(name) > NAME_BYTES_MAX)
        return !text_addf(
            why, "its name has more than %d bytes, which no path can hold (--rename, --map)",
            NAME_BYTES_MAX);
    for (const char *at = name; *name; at++) {
        size_t len = strcspn(at, "/");
        if (!holds_part(at, len, version, why))
            return false;
        at += len;
        if (!*at)
            break;
    }
    return true;
}

static bool export_zarr_holds(const struct export_tensor *t, unsigned version, struct text *why,
                              const char **instead)
{
    if (!holds_name(t->name, version, why))
        return false;
    if (t->rank > RANK_MAX)
        return !text_addf(why, "%u dimensions; NumPy has at most %d", t->rank, RANK_MAX);
    if (zarr_has_dtype(&t->to) || (version == 2 && t->to.kind == DTYPE_STRING))
        return true;
    *instead = export_dtype_instead(&t->to);
    return !text_adds(why, "zarr has no such dtype");
}

/* --- files ------------------------------------------------------------------------------ */

/* The state of laying a hierarchy out. Version 3's root is laid out last, as it lists all nodes. */
struct hierarchy {
    struct export_layout *l;
    struct zarr_how how;
    struct text path, json;
    const char *before;         /* name of the previous tensor; NULL: none */
    bool root_is_array, listed; /* listed: the list of nodes has an entry */
    bool common;                /* zarr-python knows all dtypes so far */
};

static void put_file(struct hierarchy *z, const char *folder, size_t len, const char *file)
{
    text_reset(&z->path);
    text_add(&z->path, folder, len);
    text_addf(&z->path, "%s%s", len ? "/" : "", file);
    lay_file(z->l, text_str(&z->path));
}

static void export_zarr_add_group(struct hierarchy *z)
{
    text_adds(&z->json, z->how.version == 2 ? "{\"zarr_format\":2}"
                                            : "{\"zarr_format\":3,\"node_type\":\"group\","
                                              "\"attributes\":{}}");
}

static const char *const *attributes_of(const struct hierarchy *z)
{
    const char *const *metadata = z->l->options->metadata;
    return metadata && *metadata ? metadata : NULL;
}

/* Call `put` with the name of each group above a tensor, except groups that are above the
 * previous tensor, too. After "a/b/x", "a/c/y" has one new group, "a/c". */
static void each_group(struct hierarchy *z, const char *name,
                       void (*put)(struct hierarchy *, const char *name, size_t len))
{
    const char *before = z->before;
    size_t same = 0;
    while (before && before[same] && before[same] == name[same])
        same++;
    for (const char *at = name; (at = strchr(at, '/')); at++)
        if ((size_t)(at - name) >= same)
            put(z, name, (size_t)(at - name));
    z->before = name;
}

static void put_group(struct hierarchy *z, const char *name, size_t len)
{
    put_file(z, name, len, z->how.version == 2 ? ".zgroup" : "zarr.json");
    export_zarr_add_group(z);
    lay_add(z->l, &z->json);
}

/* Call `see` for every tensor, in the order of the tree: a group comes before what is in it. */
static void each_array(struct hierarchy *z, void (*see)(struct hierarchy *, struct export_tensor *))
{
    struct export_tensor **order = export_order(z->l->plan, export_by_tree, z->l->err);
    z->before = NULL;
    for (size_t i = 0; i < z->l->plan->count && lay_ok(z->l); i++)
        see(z, order[i]);
}

/* All strings of a tensor are one chunk: their number, then each with its length in front. */
static void add_chunk_string(void *context, struct bytes string)
{
    struct export_layout *l = context;
    uint8_t len[4];
    store_u32le(len, (uint32_t)string.len);
    if (string.len > UINT32_MAX || !utf8_valid((const char *)string.at, string.len))
        error_set(l->err, ERR_UNSUPPORTED, l->path, NO_OFFSET,
                  "a string that is %s; --where \"dtype <> 'string'\" leaves strings out",
                  string.len > UINT32_MAX ? "longer than 4 GiB" : "not UTF-8");
    lay_text(l, len, sizeof(len));
    lay_text(l, string.at, string.len);
}

static void put_string_chunk(struct hierarchy *z, struct export_tensor *t)
{
    uint8_t count[4];
    t->laid = 0;
    if (!t->elements)
        return;
    text_reset(&z->path);
    text_addf(&z->path, "%s%s0", t->name, *t->name ? "/" : "");
    for (unsigned d = 1; d < t->rank; d++)
        text_adds(&z->path, ".0");
    lay_file(z->l, text_str(&z->path));
    if (t->elements > UINT32_MAX)
        error_set(z->l->err, ERR_UNSUPPORTED, z->l->path, NO_OFFSET,
                  "%s: more strings than a chunk of zarr has", t->old_name);
    store_u32le(count, (uint32_t)t->elements);
    lay_begin_strings(z->l, t);
    lay_text(z->l, count, sizeof(count));
    lay_each_string(z->l, t, add_chunk_string, z->l);
    lay_end_strings(z->l, t);
}

/* Lay out the new groups above an array, then the array. */
static void put_nodes(struct hierarchy *z, struct export_tensor *t)
{
    each_group(z, t->name, put_group);
    z->root_is_array = !*t->name;
    if (z->common && !zarr_is_common(&t->to) && z->l->options->warning)
        snprintf(z->l->options->warning, EXPORT_WARNING_BYTES,
                 "zarr-python has no %s: TensorStore reads all, zarr-python the rest, "
                 "without consolidated metadata (--dtype float32 converts)",
                 t->to.name);
    z->common = z->common && zarr_is_common(&t->to);
    put_file(z, t->name, strlen(t->name), z->how.version == 2 ? ".zarray" : "zarr.json");
    zarr_array(&z->how, t, *t->name ? NULL : attributes_of(z), &z->json);
    lay_add(z->l, &z->json);
    if (t->to.kind == DTYPE_STRING)
        put_string_chunk(z, t);
    else
        lay_pieces(z->l, t);
}

static void add_key(struct hierarchy *z, const char *name, size_t len, const char *file)
{
    struct text key = {0};
    text_add(&key, name, len);
    text_addf(&key, "%s%s", *file && len ? "/" : "", file);
    text_adds(&z->json, z->listed ? "," : "");
    z->listed = true;
    if (text_str(&key))
        text_json(&z->json, key.at, key.len);
    else
        z->json.failed = true;
    text_addc(&z->json, ':');
    text_release(&key);
}

static void list_group(struct hierarchy *z, const char *name, size_t len)
{
    add_key(z, name, len, z->how.version == 2 ? ".zgroup" : "");
    export_zarr_add_group(z);
    lay_add(z->l, &z->json);
}

/* Append the metadata of the same nodes to the list. */
static void list_nodes(struct hierarchy *z, struct export_tensor *t)
{
    each_group(z, t->name, list_group);
    add_key(z, t->name, strlen(t->name), z->how.version == 2 ? ".zarray" : "");
    zarr_array(&z->how, t, NULL, &z->json);
    lay_add(z->l, &z->json);
}

static void put_root_v2(struct hierarchy *z)
{
    if (attributes_of(z)) {
        lay_file(z->l, ".zattrs");
        zarr_attributes(attributes_of(z), &z->json);
        lay_add(z->l, &z->json);
    }
    if (z->root_is_array)
        return;
    put_group(z, "", 0);
    if (!z->common)
        return;
    lay_file(z->l, ".zmetadata");
    text_adds(&z->json, "{\"metadata\":{\".zgroup\":");
    export_zarr_add_group(z);
    z->listed = true;
    if (attributes_of(z)) {
        text_adds(&z->json, ",\".zattrs\":");
        zarr_attributes(attributes_of(z), &z->json);
    }
    each_array(z, list_nodes);
    text_adds(&z->json, "},\"zarr_consolidated_format\":1}");
    lay_add(z->l, &z->json);
}

static void put_root_v3(struct hierarchy *z)
{
    if (z->root_is_array)
        return;
    lay_file(z->l, "zarr.json");
    text_adds(&z->json, "{\"zarr_format\":3,\"node_type\":\"group\",\"attributes\":");
    zarr_attributes(attributes_of(z), &z->json);
    if (z->common) {
        text_adds(&z->json, ",\"consolidated_metadata\":{\"kind\":\"inline\","
                            "\"must_understand\":false,\"metadata\":{");
        each_array(z, list_nodes);
        text_adds(&z->json, "}}");
    }
    text_addc(&z->json, '}');
    lay_add(z->l, &z->json);
}

/* Fail early if the codec's library is not installed. */
static void try_codec(const struct zarr_how *how, struct error *err)
{
    struct encoder *encoder = NULL;
    struct text chain = {0};
    struct dtype byte;
    dtype_find("uint8", &byte);
    zarr_chain(how, &byte, &chain);
    if (text_str(&chain))
        encoder_open(text_str(&chain), &encoder, err);
    encoder_close(encoder);
    text_release(&chain);
}

static void export_zarr_lay_out(struct export_layout *l, unsigned version)
{
    struct hierarchy z = {.l = l, .common = true};
    if (zarr_settings(l->options, version, &z.how, l->err) == OK && !l->put)
        try_codec(&z.how, l->err);
    each_array(&z, put_nodes);
    if (version == 2)
        put_root_v2(&z);
    else
        put_root_v3(&z);
    text_release(&z.path);
    text_release(&z.json);
}

/* --- pieces ----------------------------------------------------------------------------- */

/* Settings that lay_out() has checked. */
static struct zarr_how how_of(const struct export_options *options, unsigned version)
{
    struct error ignored = {.offset = NO_OFFSET};
    struct zarr_how how = {0};
    zarr_settings(options, version, &how, &ignored);
    return how;
}

static void piece_path(const struct export_options *options, const struct export_tensor *t,
                       unsigned version, uint64_t piece, struct text *out)
{
    const struct zarr_how how = how_of(options, version);
    text_addf(out, "%s%s", t->name, *t->name ? "/" : "");
    zarr_chunk_key(&how, t, piece, out);
}

/* --- the two formats -------------------------------------------------------------------- */

static const struct export_setting settings[] = {
    {"chunk", "SIZE", "at most, not compressed; 8MiB"},
    {"codec", "zstd|gzip|blosc|none", "zstd"},
    {"level", "N", "zstd 3, gzip 5, blosc 5"},
    {NULL, NULL, NULL},
};

static const char *const marks_v2[] = {".zgroup", ".zarray", NULL};
static const char *const marks_v3[] = {"zarr.json", NULL};

#define ZARR(v, title, ending, about, marks)                                                       \
    static bool holds_v##v(const struct export_tensor *t, struct text *why, const char **instead)  \
    {                                                                                              \
        return export_zarr_holds(t, v, why, instead);                                              \
    }                                                                                              \
    static void lay_out_v##v(struct export_layout *l)                                              \
    {                                                                                              \
        export_zarr_lay_out(l, v);                                                                 \
    }                                                                                              \
    static void path_v##v(const struct export_options *options, const struct export_tensor *t,     \
                          uint64_t piece, struct text *out)                                        \
    {                                                                                              \
        piece_path(options, t, v, piece, out);                                                     \
    }                                                                                              \
    static void chain_v##v(const struct export_options *options, const struct export_tensor *t,    \
                           struct text *out)                                                       \
    {                                                                                              \
        const struct zarr_how how = how_of(options, v);                                            \
        zarr_chain(&how, &t->to, out);                                                             \
    }                                                                                              \
    const struct exporter exporter_##title = {                                                     \
        .name = #title,                                                                            \
        .suffix = ending,                                                                          \
        .summary = about,                                                                          \
        .settings = settings,                                                                      \
        .keeps_metadata = true,                                                                    \
        .folder_marks = marks,                                                                     \
        .holds = holds_v##v,                                                                       \
        .check = export_check_tree,                                                                \
        .lay_out = lay_out_v##v,                                                                   \
        .piece_path = path_v##v,                                                                   \
        .piece_chain = chain_v##v,                                                                 \
    };

ZARR(2, zarr, ".zarr", "zarr version 2: a group, one file per chunk", marks_v2)
ZARR(3, zarr3, ".zarr", "zarr version 3: a group, one file per chunk (read as zarr)", marks_v3)
