/*
 * zarr_node.c - zarr's JSON for arrays.
 *
 *   version 2   NumPy's names of types; TensorStore's for types that NumPy lacks. fill_value null:
 *               every chunk is written, so an absent one means lost data
 *   version 3   names of types; zarr-python's objects for times and raw bytes; a fill value is
 *               required
 *
 * Sources: as importer/array/zarr_metadata.c; for types TensorStore's drivers zarr and zarr3.
 */
#include "catalog/export/format/zarr_node.h"

#include <stdlib.h>
#include <string.h>

#include "catalog/data/codec/codec.h"
#include "catalog/data/model/tensor.h"
#include "catalog/export/format/npy_header.h"

/* --- settings --------------------------------------------------------------------------- */

static const struct {
    const char *name;
    int level, least, most; /* level: the default */
} zarr_codecs[] = {
    [ZARR_NONE] = {"none", 0, 0, 0},
    [ZARR_GZIP] = {"gzip", 5, 0, 9},
    [ZARR_ZSTD] = {"zstd", 3, -7, 22},
    [ZARR_BLOSC] = {"blosc", 5, 0, 9},
};
#define CODECS (sizeof(zarr_codecs) / sizeof(zarr_codecs[0]))

static enum status bad_setting(const char *key, const char *value, const char *wanted,
                               struct error *err)
{
    return error_set(err, ERR_ARGUMENT, NULL, NO_OFFSET, "--option %s=%.100s: %s", key, value,
                     wanted);
}

enum status zarr_settings(const struct export_options *options, unsigned version,
                          struct zarr_how *out, struct error *err)
{
    const char *chunk = export_setting(options, "chunk");
    const char *codec = export_setting(options, "codec");
    const char *level = export_setting(options, "level");
    size_t i = ZARR_ZSTD;
    if (codec)
        for (i = 0; i < CODECS && strcmp(zarr_codecs[i].name, codec) != 0; i++)
            continue;
    if (i == CODECS)
        return bad_setting("codec", codec, "one of zstd, gzip, blosc, none", err);
    *out = (struct zarr_how){version, ZARR_CHUNK_BYTES, (enum zarr_codec)i, zarr_codecs[i].level};
    if (chunk && (!(out->chunk_bytes = export_size(chunk)) || out->chunk_bytes > ZARR_CHUNK_MOST))
        return bad_setting("chunk", chunk, "expected a number of bytes up to 1GiB", err);
    if (level && !codec_level(level, zarr_codecs[i].least, zarr_codecs[i].most, &out->level))
        return bad_setting("level", level, "the codec has no such level", err);
    return OK;
}

/* --- types ------------------------------------------------------------------------------ */

/* Types that zarr calls by another name. Quantised integers are written as plain integers. */
static const struct {
    const char *dtype, *v2, *v3;
} names[] = {
    {"bfloat16", "bfloat16", "bfloat16"},
    {"float8_e3m4", "float8_e3m4", "float8_e3m4"},
    {"float8_e4m3fn", "float8_e4m3fn", "float8_e4m3fn"},
    {"float8_e4m3fnuz", "float8_e4m3fnuz", "float8_e4m3fnuz"},
    {"float8_e4m3b11fnuz", "float8_e4m3b11fnuz", "float8_e4m3b11fnuz"},
    {"float8_e5m2", "float8_e5m2", "float8_e5m2"},
    {"float8_e5m2fnuz", "float8_e5m2fnuz", "float8_e5m2fnuz"},
    {"qint8", "|i1", "int8"},
    {"quint8", "|u1", "uint8"},
    {"qint16", "<i2", "int16"},
    {"quint16", "<u2", "uint16"},
    {"qint32", "<i4", "int32"},
};
#define NAMES (sizeof(names) / sizeof(names[0]))

static size_t zarr_node_name_of(const struct dtype *d)
{
    size_t i = 0;
    while (i < NAMES && strcmp(names[i].dtype, d->name) != 0)
        i++;
    return i;
}

bool zarr_has_dtype(const struct dtype *d)
{
    char descr[64];
    if (zarr_node_name_of(d) < NAMES)
        return true;
    if (!npy_descr(d, descr))
        return false;
    return d->kind == DTYPE_VOID || descr[1] != 'V';
}

bool zarr_is_common(const struct dtype *d)
{
    size_t i = zarr_node_name_of(d);
    return i == NAMES || strchr("<|", *names[i].v2);
}

/* "datetime64[25us]" is the unit "us" with a scale factor of 25. */
static void add_time_v3(const struct dtype *d, struct text *out)
{
    const char *at = strchr(d->name, '['), *unit = "generic";
    unsigned long scale = 1;
    size_t len = strlen(unit);
    if (at) {
        size_t digits = strspn(at + 1, "0123456789");
        scale = digits ? strtoul(at + 1, NULL, 10) : 1;
        unit = at + 1 + digits;
        len = strcspn(unit, "]");
    }
    text_addf(out,
              "{\"name\":\"numpy.%s\",\"configuration\":{\"unit\":\"%.*s\",\"scale_factor\":%lu}}",
              d->name[0] == 'd' ? "datetime64" : "timedelta64", (int)len, unit, scale);
}

static void add_type_v3(const struct dtype *d, struct text *out)
{
    size_t i = zarr_node_name_of(d);
    if (d->kind == DTYPE_TIME)
        add_time_v3(d, out);
    else if (d->kind == DTYPE_VOID)
        text_addf(out, "{\"name\":\"raw_bytes\",\"configuration\":{\"length_bytes\":%u}}",
                  d->block_bytes);
    else
        text_addf(out, "\"%s\"", i < NAMES ? names[i].v3 : d->name);
}

static void add_zero_v3(const struct dtype *d, struct text *out)
{
    switch (d->kind) {
    case DTYPE_BOOL: text_adds(out, "false"); break;
    case DTYPE_FLOAT: text_adds(out, "0.0"); break;
    case DTYPE_COMPLEX: text_adds(out, "[0.0,0.0]"); break;
    case DTYPE_VOID: /* zero bytes in base64 */
        text_addc(out, '"');
        for (unsigned i = 0; i < (d->block_bytes + 2U) / 3 * 4; i++)
            text_addc(out, i < (d->block_bytes * 4U + 2) / 3 ? 'A' : '=');
        text_addc(out, '"');
        break;
    default: text_addc(out, '0');
    }
}

/* --- chunks ----------------------------------------------------------------------------- */

void zarr_cut(const struct zarr_how *how, struct export_tensor *t, uint64_t *chunk)
{
    uint64_t most = how->chunk_bytes / t->to.block_bytes, inner = 1, next;
    unsigned d = t->rank;
    most = most ? most : 1;
    for (; d; d--, inner = next) {
        uint64_t size = t->shape[d - 1] ? t->shape[d - 1] : 1;
        if (!mul_u64(inner, size, &next) || next > most)
            break;
        chunk[d - 1] = size;
    }
    t->piece = t->run = inner;
    if (!d--)
        return;
    /* As few chunks as fit, of nearly equal size: [100, 200, 300] of float32, with chunks of up
     * to 8 MiB (34 times of 200 * 300 elements), is cut into four chunks of [25, 200, 300]. */
    uint64_t size = t->shape[d], fit = most / inner, parts = (size - 1) / fit + 1;
    chunk[d] = (size - 1) / parts + 1;
    t->piece = chunk[d] * inner;
    if (!mul_u64(size, inner, &t->run))
        t->run = UINT64_MAX; /* only if the tensor has no elements */
    while (d--)
        chunk[d] = 1;
}

/* The element size for Blosc's shuffle. */
static unsigned width_of(const struct dtype *d)
{
    return d->kind == DTYPE_VOID || d->block_bytes > 255 ? 1 : d->block_bytes;
}

void zarr_chain(const struct zarr_how *how, const struct dtype *d, struct text *out)
{
    if (how->codec == ZARR_BLOSC)
        text_addf(out, "blosc:zstd,%d,1,%u", how->level, width_of(d));
    else if (how->codec != ZARR_NONE)
        text_addf(out, "%s:%d", zarr_codecs[how->codec].name, how->level);
}

/* --- nodes ------------------------------------------------------------------------------ */

static void add_compressor_v2(const struct zarr_how *how, struct text *out)
{
    if (how->codec == ZARR_NONE)
        text_adds(out, "null");
    else if (how->codec == ZARR_BLOSC)
        text_addf(out,
                  "{\"id\":\"blosc\",\"cname\":\"zstd\",\"clevel\":%d,\"shuffle\":1,"
                  "\"blocksize\":0}",
                  how->level);
    else
        text_addf(out, "{\"id\":\"%s\",\"level\":%d}", zarr_codecs[how->codec].name, how->level);
}

static void add_codecs_v3(const struct zarr_how *how, const struct dtype *d, struct text *out)
{
    text_adds(out, "[{\"name\":\"bytes\"");
    if (dtype_swap_width(d) > 1)
        text_adds(out, ",\"configuration\":{\"endian\":\"little\"}");
    text_addc(out, '}');
    if (how->codec == ZARR_BLOSC)
        text_addf(out,
                  ",{\"name\":\"blosc\",\"configuration\":{\"cname\":\"zstd\","
                  "\"clevel\":%d,\"shuffle\":\"shuffle\",\"typesize\":%u,\"blocksize\":0}}",
                  how->level, width_of(d));
    else if (how->codec != ZARR_NONE)
        text_addf(out, ",{\"name\":\"%s\",\"configuration\":{\"level\":%d%s}}",
                  zarr_codecs[how->codec].name, how->level,
                  how->codec == ZARR_ZSTD ? ",\"checksum\":false" : "");
    text_addc(out, ']');
}

void zarr_attributes(const char *const *attributes, struct text *out)
{
    text_addc(out, '{');
    for (size_t i = 0; attributes && attributes[i]; i += 2) {
        text_adds(out, i ? "," : "");
        text_json(out, attributes[i], strlen(attributes[i]));
        text_addc(out, ':');
        text_json(out, attributes[i + 1], strlen(attributes[i + 1]));
    }
    text_addc(out, '}');
}

/* Objects that are text, in one chunk. */
static void add_strings_v2(const struct export_tensor *t, struct text *out)
{
    uint64_t chunk[TENSOR_RANK_MAX];
    for (unsigned d = 0; d < t->rank; d++)
        chunk[d] = t->shape[d] ? t->shape[d] : 1;
    text_adds(out, "{\"zarr_format\":2,\"shape\":");
    shape_print(out, t->shape, t->rank);
    text_adds(out, ",\"chunks\":");
    shape_print(out, chunk, t->rank);
    text_adds(out, ",\"dtype\":\"|O\",\"compressor\":null,\"fill_value\":\"\",\"order\":\"C\","
                   "\"filters\":[{\"id\":\"vlen-utf8\"}],\"dimension_separator\":\".\"}");
}

void zarr_array(const struct zarr_how *how, struct export_tensor *t, const char *const *attributes,
                struct text *out)
{
    uint64_t chunk[TENSOR_RANK_MAX];
    if (t->to.kind == DTYPE_STRING) {
        add_strings_v2(t, out);
        return;
    }
    zarr_cut(how, t, chunk);
    text_addf(out, "{\"zarr_format\":%u,", how->version);
    text_adds(out, how->version == 2 ? "\"shape\":" : "\"node_type\":\"array\",\"shape\":");
    shape_print(out, t->shape, t->rank);
    if (how->version == 2) {
        text_adds(out, ",\"chunks\":");
        shape_print(out, chunk, t->rank);
        text_adds(out, ",\"dtype\":");
        char descr[64];
        size_t i = zarr_node_name_of(&t->to);
        if (i < NAMES)
            text_addf(out, "\"%s\"", names[i].v2);
        else if (npy_descr(&t->to, descr))
            text_addf(out, "\"%s\"", descr);
        text_adds(out, ",\"compressor\":");
        add_compressor_v2(how, out);
        text_adds(out, ",\"fill_value\":null,\"order\":\"C\",\"filters\":null,"
                       "\"dimension_separator\":\".\"}");
        return;
    }
    text_adds(out, ",\"data_type\":");
    add_type_v3(&t->to, out);
    text_adds(out, ",\"chunk_grid\":{\"name\":\"regular\",\"configuration\":{\"chunk_shape\":");
    shape_print(out, chunk, t->rank);
    text_adds(out, "}},\"chunk_key_encoding\":{\"name\":\"default\",\"configuration\":"
                   "{\"separator\":\".\"}},\"fill_value\":");
    add_zero_v3(&t->to, out);
    text_adds(out, ",\"codecs\":");
    add_codecs_v3(how, &t->to, out);
    text_adds(out, ",\"attributes\":");
    zarr_attributes(attributes, out);
    text_addc(out, '}');
}
