/*
 * zarr_codec.c - each codec of zarr as the steps that decode it (codec.h).
 *
 * Sources: numcodecs (filters and compressors), zarr-specs (codecs of version 3),
 * zarr-extensions ("numcodecs.X" and others).
 */
#include <stdio.h>
#include <string.h>

#include "importer/array/zarr_chain.h"

/* --- settings of a codec ---------------------------------------------------------------- */

/* A setting that is a NumPy type, as one of our names; `fallback` if it is missing. */
static bool type_setting(struct zarr_chain *c, const struct zarr_value *v,
                         const struct numpy_type *fallback, struct numpy_type *out)
{
    char text[NUMPY_TYPE_BYTES];
    struct dtype d;
    if ((v->type == JSON_FAIL || v->type == JSON_NULL) && fallback) {
        *out = *fallback;
        return true;
    }
    if (!zarr_word(c->z, v, text, sizeof(text)) || !numpy_type_parse(text, out))
        return false;
    dtype_find(out->dtype, &d);
    return d.kind == DTYPE_BOOL || d.kind == DTYPE_INT || d.kind == DTYPE_UINT ||
           d.kind == DTYPE_FLOAT || d.kind == DTYPE_COMPLEX || d.kind == DTYPE_TIME;
}

static bool whole_setting(struct zarr_chain *c, const struct zarr_value *v, uint64_t fallback,
                          uint64_t *out)
{
    struct json j;
    *out = fallback;
    if (v->type == JSON_FAIL || v->type == JSON_NULL)
        return true;
    zarr_enter(c->z, v, &j);
    return json_u64(&j, out);
}

bool zarr_bad_setting(struct zarr_chain *c)
{
    return zarr_unreadable(c->z, "its codec \"%s\" has settings that are not known here", c->word);
}

static bool compressor(struct zarr_chain *c, const char *step)
{
    bool ok = zarr_step(c, "%s:%s%llu", step, c->exact ? "" : "<", (unsigned long long)c->size);
    c->size = zarr_compressed_bound(c->size);
    c->exact = false;
    return ok;
}

/* Whether the decoder accepts the step just added: only the decoder knows its types. */
static bool decodes(const struct zarr_chain *c)
{
    char name[CODEC_STEP_BYTES];
    const char *step = c->steps[c->count - 1], *argument;
    struct codec_args args;
    struct codec_size size;
    if (!codec_chain_next(&step, name, &argument))
        return false;
    const struct codec *codec = codec_find(name);
    return codec && codec->decode && codec_args_parse(codec, argument, &args) &&
           codec_step_size(codec, &args, 0, &size);
}

/* --- filters between elements of two types ---------------------------------------------- */

/* A filter that takes elements of `stored` and yields elements of `decoded`; `settings` precede
 * the types in the step. In version 3 both are types of arrays and have no byte order. */
static bool typed_filter(struct zarr_chain *c, const char *step, const char *settings,
                         const struct numpy_type *decoded, const struct numpy_type *stored)
{
    struct dtype d;
    bool bytes = c->stage == ZARR_STAGE_BYTES, ok = true;
    if (!c->exact || !decoded->item || c->size % decoded->item ||
        (!bytes && strcmp(decoded->dtype, c->dtype) != 0))
        return zarr_bad_setting(c);
    if (bytes && decoded->swap)
        ok = zarr_step_swap(c, decoded->swap);
    if (*settings || strcmp(step, "astype") != 0 || strcmp(decoded->dtype, stored->dtype) != 0)
        ok = ok && zarr_step(c, "%s:%s%s,%s", step, settings, decoded->dtype, stored->dtype) &&
             (c->z->array->unreadable || decodes(c) || zarr_bad_setting(c));
    if (bytes && stored->swap)
        ok = ok && zarr_step_swap(c, stored->swap);
    if (!mul_u64(c->size / decoded->item, stored->item, &c->size))
        return zarr_bad_setting(c);
    dtype_find(stored->dtype, &d);
    snprintf(c->dtype, sizeof(c->dtype), "%s", stored->dtype);
    c->item = stored->item;
    c->swap = dtype_swap_width(&d);
    return ok;
}

/* delta, astype and quantize. What quantize encodes lost its precision: decoding is at most a cast. */
static bool filter_types(struct zarr_chain *c, const struct zarr_value *m)
{
    struct numpy_type decoded, stored;
    const bool delta = strcmp(c->word, "delta") == 0, both = strcmp(c->word, "astype") == 0;
    if (!type_setting(c, &m[0], NULL, &decoded) ||
        !type_setting(c, &m[1], both ? NULL : &decoded, &stored))
        return zarr_bad_setting(c);
    c->ordered |= delta;
    return typed_filter(c, delta ? "delta" : "astype", "", &decoded, &stored);
}

static bool filter_scale(struct zarr_chain *c, const struct zarr_value *m)
{
    struct numpy_type decoded, stored;
    const struct zarr_value *scale = &m[2], *offset = &m[3];
    char settings[CODEC_STEP_BYTES];
    if (!type_setting(c, &m[0], NULL, &decoded) || !type_setting(c, &m[1], &decoded, &stored) ||
        scale->type != JSON_NUMBER || offset->type != JSON_NUMBER)
        return zarr_bad_setting(c);
    int len = snprintf(settings, sizeof(settings), "%.*s,%.*s,", (int)scale->text.len,
                       (const char *)scale->text.at, (int)offset->text.len,
                       (const char *)offset->text.at);
    if (len < 0 || (size_t)len >= sizeof(settings))
        return zarr_bad_setting(c);
    return typed_filter(c, "fixedscaleoffset", settings, &decoded, &stored);
}

/* numcodecs' own format: a byte with the number of unused bits in the
 * last byte, then 8 bools per byte. */
static bool filter_packbits(struct zarr_chain *c, const struct zarr_value *m)
{
    (void)m;
    if (!c->exact || c->z->type.dtype.kind != DTYPE_BOOL || c->item != 1)
        return zarr_bad_setting(c);
    c->size = 1 + c->size / 8 + (c->size % 8 != 0);
    c->ordered = true;
    c->swap = 1;
    snprintf(c->dtype, sizeof(c->dtype), "uint8");
    return zarr_step(c, "packbits:bool");
}

/* --- the others ------------------------------------------------------------------------- */

static bool filter_nothing(struct zarr_chain *c, const struct zarr_value *m)
{
    (void)c;
    (void)m;
    return true;
}

static bool filter_shuffle(struct zarr_chain *c, const struct zarr_value *m)
{
    uint64_t width;
    if (!whole_setting(c, &m[0], 4, &width) || width > 255)
        return zarr_bad_setting(c);
    return width < 2 || zarr_step(c, "shuffle:%llu", (unsigned long long)width);
}

/* The checksum that the codec is named for: 4 bytes before or after the data. */
static bool add_sum(struct zarr_chain *c, const char *location)
{
    return add_u64(c->size, 4, &c->size) && zarr_step(c, "%s:%s", c->word, location);
}

static bool filter_sum(struct zarr_chain *c, const struct zarr_value *m)
{
    char word[8];
    if (m[0].type == JSON_FAIL || m[0].type == JSON_NULL)
        return add_sum(c, strcmp(c->word, "crc32c") == 0 ? "end" : "start");
    if (!zarr_word(c->z, &m[0], word, sizeof(word)) ||
        (strcmp(word, "start") != 0 && strcmp(word, "end") != 0))
        return zarr_bad_setting(c);
    return add_sum(c, word);
}

static bool filter_fletcher32(struct zarr_chain *c, const struct zarr_value *m)
{
    (void)m;
    return add_sum(c, "end");
}

static bool filter_jenkins(struct zarr_chain *c, const struct zarr_value *m)
{
    uint64_t begin;
    bool prefixed = m[1].type != JSON_FAIL && m[1].type != JSON_NULL;
    if (!whole_setting(c, &m[0], 0, &begin) || begin || prefixed)
        return zarr_bad_setting(c);
    return add_sum(c, "end");
}

/* What decoding needs to know of liblzma's presets 0 to 9: log 2 of the dictionary's size. */
static const uint8_t lzma_dictionaries[] = {18, 20, 21, 22, 22, 23, 23, 24, 25, 26};
#define LZMA_PRESET  6 /* the default */
#define LZMA_EXTREME ((uint64_t)1 << 31)

/* liblzma's ids of the filters without a dictionary, and the words of rawlzma.c
 * for them. (Each has one setting.) */
static const struct {
    uint64_t id;
    const char *word;
} lzma_filters[] = {
    {3, "delta"}, {4, "x86"},      {5, "powerpc"}, {6, "ia64"},
    {7, "arm"},   {8, "armthumb"}, {9, "sparc"},
};
#define LZMA_DELTA 3
#define LZMA_2     33
#define LZMA_1     UINT64_C(0x4000000000000001)

/* One filter, in the notation of Python's lzma: {"id": 33, "preset": 6}. */
static bool lzma_filter(struct zarr_chain *c, const struct zarr_value *v, struct text *out)
{
    struct zarr_value m[8];
    uint64_t id, preset, dictionary, lc, lp, pb, dist, start;
    if (v->type != JSON_OBJECT ||
        !zarr_members(c->z, v, "id preset dict_size lc lp pb dist start_offset", m, NULL) ||
        !whole_setting(c, &m[0], 0, &id) || !whole_setting(c, &m[1], LZMA_PRESET, &preset) ||
        (preset & ~LZMA_EXTREME) >= sizeof(lzma_dictionaries) ||
        !whole_setting(c, &m[2], UINT64_C(1) << lzma_dictionaries[preset & ~LZMA_EXTREME],
                       &dictionary) ||
        !whole_setting(c, &m[3], 3, &lc) || !whole_setting(c, &m[4], 0, &lp) ||
        !whole_setting(c, &m[5], 2, &pb) || !whole_setting(c, &m[6], 1, &dist) ||
        !whole_setting(c, &m[7], 0, &start))
        return false;
    if (id == LZMA_1)
        return text_addf(out, ",lzma1=%llu/%llu/%llu/%llu", (unsigned long long)dictionary,
                         (unsigned long long)lc, (unsigned long long)lp, (unsigned long long)pb);
    if (id == LZMA_2)
        return text_addf(out, ",lzma2=%llu", (unsigned long long)dictionary);
    for (size_t i = 0; i < sizeof(lzma_filters) / sizeof(lzma_filters[0]); i++)
        if (id == lzma_filters[i].id)
            return text_addf(out, ",%s=%llu", lzma_filters[i].word,
                             (unsigned long long)(id == LZMA_DELTA ? dist : start));
    return false;
}

static bool compress_raw_lzma(struct zarr_chain *c, const struct zarr_value *filters)
{
    struct text text = {.limit = CODEC_STEP_BYTES};
    struct zarr_value v;
    struct json j;
    bool known = filters->type == JSON_ARRAY;
    if (known)
        zarr_enter(c->z, filters, &j);
    while (known && zarr_next(&j, &v))
        known = lzma_filter(c, &v, &text);
    known = known && text.len && text_str(&text) &&
            zarr_step(c, "rawlzma:%s%llu%s", c->exact ? "" : "<", (unsigned long long)c->size,
                      text_str(&text)) &&
            decodes(c);
    text_release(&text);
    c->size = zarr_compressed_bound(c->size);
    c->exact = false;
    return known || (c->z->err->status == OK && zarr_bad_setting(c));
}

/* Formats 1 (xz) and 2 (alone) describe themselves; 3 (raw) does not. */
static bool compress_lzma(struct zarr_chain *c, const struct zarr_value *m)
{
    uint64_t format;
    if (!whole_setting(c, &m[0], 1, &format) || format > 3)
        return zarr_bad_setting(c);
    return format == 3 ? compress_raw_lzma(c, &m[1]) : compressor(c, "lzma");
}

static bool compress(struct zarr_chain *c, const struct zarr_value *m)
{
    (void)m;
    return compressor(c, c->word);
}

/* Elements to bytes, in the byte order that version 3 states here.
 * Elements of one byte need none. */
static bool to_bytes(struct zarr_chain *c, const struct zarr_value *m)
{
    char word[8];
    bool stated = zarr_word(c->z, &m[0], word, sizeof(word));
    bool big = stated && strcmp(word, "big") == 0;
    if (stated ? !big && strcmp(word, "little") != 0 : c->swap > 1)
        return zarr_bad_setting(c);
    if (!c->item)
        return zarr_bad_setting(c);
    c->stage = ZARR_STAGE_BYTES;
    return !big || zarr_step_swap(c, c->swap);
}

static bool strings_to_bytes(struct zarr_chain *c, const struct zarr_value *m)
{
    (void)m;
    if (c->z->type.dtype.kind != DTYPE_STRING || c->item || c->count)
        return zarr_bad_setting(c);
    c->stage = ZARR_STAGE_BYTES;
    c->item = 1;
    return zarr_step(c, "strings:vlen");
}

/* --- the table -------------------------------------------------------------------------- */

#define SETTINGS_MAX 4 /* of one codec */

enum place { ARRAY_TO_ARRAY = 1, ARRAY_TO_BYTES = 2, BYTES_TO_BYTES = 4, V2 = 8 };

static const struct {
    const char *name;
    unsigned places; /* enum place */
    bool (*add)(struct zarr_chain *, const struct zarr_value *settings);
    const char *settings; /* their names, for zarr_members() */
} known[] = {
    {"gzip", V2 | BYTES_TO_BYTES, compress, ""},
    {"zlib", V2 | BYTES_TO_BYTES, compress, ""},
    {"zstd", V2 | BYTES_TO_BYTES, compress, ""},
    {"bz2", V2 | BYTES_TO_BYTES, compress, ""},
    {"lz4", V2 | BYTES_TO_BYTES, compress, ""},
    {"blosc", V2 | BYTES_TO_BYTES, compress, ""},
    {"lzma", V2 | BYTES_TO_BYTES, compress_lzma, "format filters"},
    {"shuffle", V2 | BYTES_TO_BYTES, filter_shuffle, "elementsize"},
    {"crc32", V2 | BYTES_TO_BYTES, filter_sum, "location"},
    {"adler32", V2 | BYTES_TO_BYTES, filter_sum, "location"},
    {"crc32c", V2 | BYTES_TO_BYTES, filter_sum, "location"},
    {"fletcher32", V2 | BYTES_TO_BYTES, filter_fletcher32, ""},
    {"jenkins_lookup3", V2 | BYTES_TO_BYTES, filter_jenkins, "initval prefix"},
    {"delta", V2 | ARRAY_TO_ARRAY, filter_types, "dtype astype"},
    {"astype", V2 | ARRAY_TO_ARRAY, filter_types, "decode_dtype encode_dtype"},
    {"quantize", V2 | ARRAY_TO_ARRAY, filter_types, "dtype astype"},
    {"bitround", V2 | ARRAY_TO_ARRAY, filter_nothing, ""},
    {"fixedscaleoffset", V2 | ARRAY_TO_ARRAY, filter_scale, "dtype astype scale offset"},
    {"packbits", V2 | ARRAY_TO_ARRAY, filter_packbits, ""},
    {"vlen-utf8", V2 | ARRAY_TO_BYTES, strings_to_bytes, ""},
    {"vlen-bytes", V2 | ARRAY_TO_BYTES, strings_to_bytes, ""},
    {"bytes", ARRAY_TO_BYTES, to_bytes, "endian"},
    {"endian", ARRAY_TO_BYTES, to_bytes, "endian"},
};

bool zarr_add_codec(struct zarr_chain *c, const char *name, const struct zarr_value *settings,
                    bool v2)
{
    size_t row = 0, rows = sizeof(known) / sizeof(known[0]);
    struct zarr_value m[SETTINGS_MAX];
    unsigned places = v2                             ? V2
                      : c->stage == ZARR_STAGE_ARRAY ? ARRAY_TO_ARRAY | ARRAY_TO_BYTES
                                                     : BYTES_TO_BYTES;
    while (row < rows && strcmp(known[row].name, name) != 0)
        row++;
    c->word = name;
    if (row == rows)
        return zarr_unreadable(c->z, "its codec \"%s\" is not known here", name);
    if (!(known[row].places & places))
        return zarr_unreadable(c->z, "its codec \"%s\" is in a place for another kind", name);
    return zarr_members(c->z, settings, known[row].settings, m, NULL) && known[row].add(c, m) &&
           c->z->err->status == OK;
}
