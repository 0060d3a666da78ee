/*
 * zarr_chain.c - how chunks are encoded, as a chain of steps that decode (codec.h).
 *
 * Metadata lists codecs in the order in which they encode: version 2 its filters and then
 * the compressor, version 3 any that keep an array an array, one that makes bytes of it,
 * any that make bytes of bytes. The chain is the reverse. Elements are turned little-endian
 * as soon as a step needs numbers, and at the end of the chain in any case.
 *
 * Shards: {"chunk_shape", "codecs" (of a chunk inside), "index_codecs", "index_location"}
 * is a codec that makes bytes; codecs after it are those of the whole shard. Transposing
 * says for each axis of what is stored which axis it was before.
 *
 * Sources: numcodecs (filters and compressors), zarr-specs (codecs of version 3),
 * zarr-extensions ("numcodecs.X" and others).
 */
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "catalog/base/limits.h"
#include "catalog/codec/codec.h"
#include "importer/container/zarr_private.h"

#define STEPS_MAX 16 /* of one chain */

enum stage {
    STAGE_ARRAY, /* version 3, before the codec that makes bytes */
    STAGE_BYTES
};

struct chain {
    struct zarr_parsing *z;
    char steps[STEPS_MAX][CODEC_STEP_BYTES]; /* in the order of encoding */
    unsigned count, first; /* steps; those that are there without any codec */
    uint64_t size;         /* bytes that a chunk has after the codecs so far */
    bool exact;            /* `size`, no less */
    enum stage stage;
    unsigned item, swap; /* of the elements so far, as in struct zarr_type */
    char dtype[NUMPY_TYPE_BYTES + 16]; /* theirs */
    bool ordered;                      /* a step depends on the order of the elements */
    bool shuffled; /* and after it they were transposed: numcodecs then goes by strides */
    const char *word; /* name of the codec being added, for messages */
};

/* --- steps ------------------------------------------------------------------------------ */

static bool add(struct chain *c, const char *fmt, ...) PRINTF_LIKE(2, 3);
static bool add(struct chain *c, const char *fmt, ...)
{
    if (c->count == STEPS_MAX)
        return zarr_unreadable(c->z, "it has more than %d codecs", STEPS_MAX);
    va_list args;
    va_start(args, fmt);
    int len = vsnprintf(c->steps[c->count], CODEC_STEP_BYTES, fmt, args);
    va_end(args);
    if (len < 0 || len >= CODEC_STEP_BYTES)
        return zarr_unreadable(c->z, "its codec \"%s\" has too long settings", c->word);
    c->count++;
    return true;
}

/* Turning round twice is leaving alone. */
static bool add_swap(struct chain *c, unsigned width)
{
    char step[CODEC_STEP_BYTES];
    snprintf(step, sizeof(step), "swap:%u", width);
    if (c->count && strcmp(c->steps[c->count - 1], step) == 0)
        c->count--;
    else if (width > 1)
        return add(c, "%s", step);
    return true;
}

/* So many bytes that were compressed once more, at most. */
static uint64_t compressed_bound(uint64_t size)
{
    uint64_t bound;
    return add_u64(size, size / 4 + 4096, &bound) && bound <= INT64_MAX ? bound
                                                                        : INT64_MAX;
}

static bool compressor(struct chain *c, const char *step)
{
    bool ok = add(c, "%s:%s%llu", step, c->exact ? "" : "<", (unsigned long long)c->size);
    c->size = compressed_bound(c->size);
    c->exact = false;
    return ok;
}

/* --- settings of a codec ---------------------------------------------------------------- */

/* A setting that is a NumPy type, as a name of ours; `fallback` where there is none. */
static bool type_setting(struct chain *c, const struct zarr_value *v,
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

static bool whole_setting(struct chain *c, const struct zarr_value *v, uint64_t fallback,
                          uint64_t *out)
{
    struct json j;
    *out = fallback;
    if (v->type == JSON_FAIL || v->type == JSON_NULL)
        return true;
    zarr_enter(c->z, v, &j);
    return json_u64(&j, out);
}

static bool bad_setting(struct chain *c)
{
    return zarr_unreadable(c->z, "its codec \"%s\" has settings that are not known here",
                           c->word);
}

/* Does the decoder take the step that was just added? It knows which types it can do. */
static bool decodes(const struct chain *c)
{
    char name[CODEC_STEP_BYTES];
    const char *step = c->steps[c->count - 1], *argument;
    struct codec_size size;
    if (!codec_chain_next(&step, name, &argument))
        return false;
    const struct codec *codec = codec_find(name);
    return codec && codec->size && codec->size(argument, 0, &size);
}

/* --- filters between elements of two types ---------------------------------------------- */

/* The decoder takes elements of `stored` and makes elements of `decoded`; `settings` stand
 * before the types. Types of version 3 are those of arrays and have no byte order. */
static bool typed_filter(struct chain *c, const char *step, const char *settings,
                         const struct numpy_type *decoded,
                         const struct numpy_type *stored)
{
    struct dtype d;
    bool bytes = c->stage == STAGE_BYTES, ok = true;
    if (!c->exact || !decoded->item || c->size % decoded->item ||
        (!bytes && strcmp(decoded->dtype, c->dtype) != 0))
        return bad_setting(c);
    if (bytes && decoded->swap)
        ok = add_swap(c, decoded->swap);
    if (*settings || strcmp(step, "astype") != 0 ||
        strcmp(decoded->dtype, stored->dtype) != 0)
        ok = ok && add(c, "%s:%s%s,%s", step, settings, decoded->dtype, stored->dtype) &&
             (c->z->array->unreadable || decodes(c) || bad_setting(c));
    if (bytes && stored->swap)
        ok = ok && add_swap(c, stored->swap);
    if (!mul_u64(c->size / decoded->item, stored->item, &c->size))
        return bad_setting(c);
    dtype_find(stored->dtype, &d);
    snprintf(c->dtype, sizeof(c->dtype), "%s", stored->dtype);
    c->item = stored->item;
    c->swap = dtype_swap_width(&d);
    return ok;
}

static bool filter_delta(struct chain *c, const struct zarr_member *m)
{
    struct numpy_type decoded, stored;
    if (!type_setting(c, &m[0].value, NULL, &decoded) ||
        !type_setting(c, &m[1].value, &decoded, &stored))
        return bad_setting(c);
    c->ordered = true;
    return typed_filter(c, "delta", "", &decoded, &stored);
}

static bool filter_astype(struct chain *c, const struct zarr_member *m)
{
    struct numpy_type decoded, stored;
    if (!type_setting(c, &m[0].value, NULL, &decoded) ||
        !type_setting(c, &m[1].value, NULL, &stored))
        return bad_setting(c);
    return typed_filter(c, "astype", "", &decoded, &stored);
}

/* Precision was lost when it was encoded; decoding is at most a cast. */
static bool filter_quantize(struct chain *c, const struct zarr_member *m)
{
    struct numpy_type decoded, stored;
    if (!type_setting(c, &m[0].value, NULL, &decoded) ||
        !type_setting(c, &m[1].value, &decoded, &stored))
        return bad_setting(c);
    return typed_filter(c, "astype", "", &decoded, &stored);
}

static bool filter_scale(struct chain *c, const struct zarr_member *m)
{
    struct numpy_type decoded, stored;
    const struct zarr_value *scale = &m[2].value, *offset = &m[3].value;
    char settings[CODEC_STEP_BYTES];
    if (!type_setting(c, &m[0].value, NULL, &decoded) ||
        !type_setting(c, &m[1].value, &decoded, &stored) || scale->type != JSON_NUMBER ||
        offset->type != JSON_NUMBER)
        return bad_setting(c);
    int len = snprintf(settings, sizeof(settings), "%.*s,%.*s,", (int)scale->text.len,
                       (const char *)scale->text.at, (int)offset->text.len,
                       (const char *)offset->text.at);
    if (len < 0 || (size_t)len >= sizeof(settings))
        return bad_setting(c);
    return typed_filter(c, "fixedscaleoffset", settings, &decoded, &stored);
}

/* numcodecs' own: a byte that says how many bits of the last one are none, then 8 bools a
 * byte. */
static bool filter_packbits(struct chain *c, const struct zarr_member *m)
{
    (void)m;
    if (!c->exact || c->z->type.dtype.kind != DTYPE_BOOL || c->item != 1)
        return bad_setting(c);
    c->size = 1 + c->size / 8 + (c->size % 8 != 0);
    c->ordered = true;
    c->swap = 1;
    snprintf(c->dtype, sizeof(c->dtype), "uint8");
    return add(c, "packbits:bool");
}

/* --- the others ------------------------------------------------------------------------- */

static bool filter_nothing(struct chain *c, const struct zarr_member *m)
{
    (void)c;
    (void)m;
    return true;
}

static bool filter_shuffle(struct chain *c, const struct zarr_member *m)
{
    uint64_t width;
    if (!whole_setting(c, &m[0].value, 4, &width) || width > 255)
        return bad_setting(c);
    return width < 2 || add(c, "shuffle:%llu", (unsigned long long)width);
}

static bool add_sum(struct chain *c, const char *step, const char *where)
{
    return add_u64(c->size, 4, &c->size) && add(c, "%s:%s", step, where);
}

/* Checksums of 4 bytes, with the side on which they are as the one setting. */
static bool sum_at(struct chain *c, const struct zarr_member *m, const char *step,
                   const char *side)
{
    char word[8];
    const struct zarr_value *v = &m[0].value;
    if (v->type == JSON_FAIL || v->type == JSON_NULL)
        return add_sum(c, step, side);
    if (!zarr_word(c->z, v, word, sizeof(word)) ||
        (strcmp(word, "start") != 0 && strcmp(word, "end") != 0))
        return bad_setting(c);
    return add_sum(c, step, word);
}

static bool filter_crc32(struct chain *c, const struct zarr_member *m)
{
    return sum_at(c, m, "crc32", "start");
}

static bool filter_adler32(struct chain *c, const struct zarr_member *m)
{
    return sum_at(c, m, "adler32", "start");
}

static bool filter_crc32c(struct chain *c, const struct zarr_member *m)
{
    return sum_at(c, m, "crc32c", "end");
}

static bool filter_fletcher32(struct chain *c, const struct zarr_member *m)
{
    (void)m;
    return add_sum(c, "fletcher32", "end");
}

static bool filter_jenkins(struct chain *c, const struct zarr_member *m)
{
    uint64_t begin;
    bool prefixed = m[1].value.type != JSON_FAIL && m[1].value.type != JSON_NULL;
    if (!whole_setting(c, &m[0].value, 0, &begin) || begin || prefixed)
        return bad_setting(c);
    return add_sum(c, "jenkins_lookup3", "end");
}

/* What decoding must know of liblzma's presets, 0 to 9: the dictionary, as a power of 2. */
static const uint8_t lzma_dictionaries[] = {18, 20, 21, 22, 22, 23, 23, 24, 25, 26};
#define LZMA_PRESET  6 /* if none is said */
#define LZMA_EXTREME ((uint64_t)1 << 31)

/* liblzma's numbers of filters without a dictionary, with rawlzma.c's words and the setting
 * that they have. */
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

/* One filter, as Python's lzma has it: {"id": 33, "preset": 6}. */
static bool lzma_filter(struct chain *c, const struct zarr_value *v, struct text *out)
{
    struct zarr_member m[] = {
        {"id", {0}}, {"preset", {0}}, {"dict_size", {0}},    {"lc", {0}}, {"lp", {0}},
        {"pb", {0}}, {"dist", {0}},   {"start_offset", {0}}, {NULL, {0}},
    };
    uint64_t id, preset, dictionary, lc, lp, pb, dist, start;
    if (v->type != JSON_OBJECT || !zarr_members(c->z, v, m, NULL) ||
        !whole_setting(c, &m[0].value, 0, &id) ||
        !whole_setting(c, &m[1].value, LZMA_PRESET, &preset) ||
        (preset & ~LZMA_EXTREME) >= sizeof(lzma_dictionaries) ||
        !whole_setting(c, &m[2].value,
                       UINT64_C(1) << lzma_dictionaries[preset & ~LZMA_EXTREME],
                       &dictionary) ||
        !whole_setting(c, &m[3].value, 3, &lc) ||
        !whole_setting(c, &m[4].value, 0, &lp) ||
        !whole_setting(c, &m[5].value, 2, &pb) ||
        !whole_setting(c, &m[6].value, 1, &dist) ||
        !whole_setting(c, &m[7].value, 0, &start))
        return false;
    if (id == LZMA_1)
        return text_addf(out, ",lzma1=%llu/%llu/%llu/%llu",
                         (unsigned long long)dictionary, (unsigned long long)lc,
                         (unsigned long long)lp, (unsigned long long)pb);
    if (id == LZMA_2)
        return text_addf(out, ",lzma2=%llu", (unsigned long long)dictionary);
    for (size_t i = 0; i < sizeof(lzma_filters) / sizeof(lzma_filters[0]); i++)
        if (id == lzma_filters[i].id)
            return text_addf(out, ",%s=%llu", lzma_filters[i].word,
                             (unsigned long long)(id == LZMA_DELTA ? dist : start));
    return false;
}

static bool compress_raw_lzma(struct chain *c, const struct zarr_value *filters)
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
            add(c, "rawlzma:%s%llu%s", c->exact ? "" : "<", (unsigned long long)c->size,
                text_str(&text)) &&
            decodes(c);
    text_release(&text);
    c->size = compressed_bound(c->size);
    c->exact = false;
    return known || (c->z->err->status == OK && bad_setting(c));
}

/* Formats 1 (xz) and 2 (alone) say themselves what they are; 3 (raw) does not. */
static bool compress_lzma(struct chain *c, const struct zarr_member *m)
{
    uint64_t format;
    if (!whole_setting(c, &m[0].value, 1, &format) || format > 3)
        return bad_setting(c);
    return format == 3 ? compress_raw_lzma(c, &m[1].value) : compressor(c, "lzma");
}

static bool compress(struct chain *c, const struct zarr_member *m)
{
    (void)m;
    return compressor(c, c->word);
}

/* Elements one a byte or one a few bytes, in an order of bytes that version 3 states here. */
static bool to_bytes(struct chain *c, const struct zarr_member *m)
{
    char word[8];
    bool stated = zarr_word(c->z, &m[0].value, word, sizeof(word));
    bool big = stated && strcmp(word, "big") == 0;
    if (stated ? !big && strcmp(word, "little") != 0 : c->swap > 1)
        return bad_setting(c);
    if (!c->item)
        return bad_setting(c);
    c->stage = STAGE_BYTES;
    return !big || add_swap(c, c->swap);
}

static bool strings_to_bytes(struct chain *c, const struct zarr_member *m)
{
    (void)m;
    if (c->z->type.dtype.kind != DTYPE_STRING || c->item || c->count)
        return bad_setting(c);
    c->stage = STAGE_BYTES;
    c->item = 1;
    return add(c, "strings:vlen");
}

/* --- the table -------------------------------------------------------------------------- */

#define SETTINGS_MAX 4

enum place {
    ARRAY_TO_ARRAY = 1,
    ARRAY_TO_BYTES = 2,
    BYTES_TO_BYTES = 4,
    V2 = 8
};

static const struct {
    const char *name;
    unsigned places; /* enum place */
    bool (*add)(struct chain *, const struct zarr_member *settings);
    const char *settings[SETTINGS_MAX];
} known[] = {
    {"gzip", V2 | BYTES_TO_BYTES, compress, {NULL}},
    {"zlib", V2 | BYTES_TO_BYTES, compress, {NULL}},
    {"zstd", V2 | BYTES_TO_BYTES, compress, {NULL}},
    {"bz2", V2 | BYTES_TO_BYTES, compress, {NULL}},
    {"lz4", V2 | BYTES_TO_BYTES, compress, {NULL}},
    {"blosc", V2 | BYTES_TO_BYTES, compress, {NULL}},
    {"lzma", V2 | BYTES_TO_BYTES, compress_lzma, {"format", "filters"}},
    {"shuffle", V2 | BYTES_TO_BYTES, filter_shuffle, {"elementsize"}},
    {"crc32", V2 | BYTES_TO_BYTES, filter_crc32, {"location"}},
    {"adler32", V2 | BYTES_TO_BYTES, filter_adler32, {"location"}},
    {"crc32c", V2 | BYTES_TO_BYTES, filter_crc32c, {"location"}},
    {"fletcher32", V2 | BYTES_TO_BYTES, filter_fletcher32, {NULL}},
    {"jenkins_lookup3", V2 | BYTES_TO_BYTES, filter_jenkins, {"initval", "prefix"}},
    {"delta", V2 | ARRAY_TO_ARRAY, filter_delta, {"dtype", "astype"}},
    {"astype", V2 | ARRAY_TO_ARRAY, filter_astype, {"decode_dtype", "encode_dtype"}},
    {"quantize", V2 | ARRAY_TO_ARRAY, filter_quantize, {"dtype", "astype"}},
    {"bitround", V2 | ARRAY_TO_ARRAY, filter_nothing, {NULL}},
    {"fixedscaleoffset",
     V2 | ARRAY_TO_ARRAY,
     filter_scale,
     {"dtype", "astype", "scale", "offset"}},
    {"packbits", V2 | ARRAY_TO_ARRAY, filter_packbits, {NULL}},
    {"vlen-utf8", V2 | ARRAY_TO_BYTES, strings_to_bytes, {NULL}},
    {"vlen-bytes", V2 | ARRAY_TO_BYTES, strings_to_bytes, {NULL}},
    {"bytes", ARRAY_TO_BYTES, to_bytes, {"endian"}},
    {"endian", ARRAY_TO_BYTES, to_bytes, {"endian"}},
};

static bool unknown_codec(struct chain *c)
{
    return zarr_unreadable(c->z, "its codec \"%s\" is not known here", c->word);
}

/* Add a codec by its name; `settings` is the object that holds them. */
static bool add_codec(struct chain *c, const char *name,
                      const struct zarr_value *settings, bool v2)
{
    size_t row = 0, rows = sizeof(known) / sizeof(known[0]);
    struct zarr_member m[SETTINGS_MAX + 1] = {{0}};
    unsigned places = v2                        ? V2
                      : c->stage == STAGE_ARRAY ? ARRAY_TO_ARRAY | ARRAY_TO_BYTES
                                                : BYTES_TO_BYTES;
    while (row < rows && strcmp(known[row].name, name) != 0)
        row++;
    c->word = name;
    if (row == rows)
        return unknown_codec(c);
    if (!(known[row].places & places))
        return zarr_unreadable(c->z, "its codec \"%s\" stands where none of its kind can",
                               name);
    for (size_t i = 0; i < SETTINGS_MAX && known[row].settings[i]; i++)
        m[i].name = known[row].settings[i];
    if (settings->type == JSON_OBJECT && !zarr_members(c->z, settings, m, NULL))
        return false;
    return known[row].add(c, m) && c->z->err->status == OK;
}

/* Begin with what makes logical elements of the decoded bytes. `chunk`: the shape of what
 * the chain decodes. */
static bool begin(struct chain *c, struct zarr_parsing *z, const uint64_t *chunk,
                  enum stage stage)
{
    const struct zarr_type *t = &z->type;
    *c = (struct chain){.z = z, .stage = stage, .item = t->item, .swap = t->swap};
    snprintf(c->dtype, sizeof(c->dtype), "%s", t->dtype.name);
    c->size = t->item ? t->item : LIMIT_STRINGS_CHUNK;
    c->exact = t->item != 0;
    c->word = "";
    for (unsigned d = 0; t->item && d < z->array->rank; d++)
        if (!mul_u64(c->size, chunk[d], &c->size) || c->size > INT64_MAX)
            return zarr_bad(z, NULL, "a chunk of more than 2^63 bytes");
    if (*t->strings)
        add(c, "strings:%s", t->strings);
    else if (t->dtype.bits % 8)
        add(c, "unpack:%u", t->dtype.bits);
    if (t->big)
        add_swap(c, t->swap);
    c->first = c->count;
    return z->err->status == OK;
}

/* The steps in the order of decoding; NULL: none. */
static bool finish(struct chain *c, const char **codec)
{
    struct text t = {.limit = (size_t)STEPS_MAX * (CODEC_STEP_BYTES + 1)};
    *codec = NULL;
    for (unsigned i = c->count; i-- > 0;) {
        text_adds(&t, c->steps[i]);
        if (i)
            text_addc(&t, '|');
    }
    if (c->count && text_str(&t))
        *codec = arena_copy(c->z->arena, t.at, t.len);
    bool ok = *codec || !c->count;
    text_release(&t);
    return ok || zarr_no_memory(c->z);
}

/* --- version 2 -------------------------------------------------------------------------- */

/* One filter or compressor: {"id": …, settings}. */
static bool add_v2(struct chain *c, const struct zarr_value *v)
{
    char id[NUMPY_TYPE_BYTES];
    struct zarr_member m[] = {
        {"id", {0}},
        {NULL, {0}},
    };
    if (v->type != JSON_OBJECT)
        return zarr_bad(c->z, v, "a codec that is no object");
    if (!zarr_members(c->z, v, m, NULL))
        return false;
    if (!zarr_word(c->z, &m[0].value, id, sizeof(id)))
        return zarr_bad(c->z, v, "a codec without a short id");
    return add_codec(c, id, v, true);
}

bool zarr_chain_v2(struct zarr_parsing *z, const struct zarr_value *filters,
                   const struct zarr_value *compressor_value)
{
    struct zarr_array *a = z->array;
    struct chain c;
    struct zarr_value v;
    struct json j;
    if (!begin(&c, z, a->grid.level[0].shape, STAGE_BYTES))
        return false;
    if (filters->type == JSON_ARRAY) {
        zarr_enter(z, filters, &j);
        while (!a->unreadable && zarr_next(&j, &v))
            if (!add_v2(&c, &v))
                return false;
    } else if (filters->type != JSON_FAIL && filters->type != JSON_NULL) {
        return zarr_bad(z, filters, "filters is not a list");
    }
    if (z->err->status != OK)
        return false;
    if (z->type.dtype.kind == DTYPE_STRING && !c.item) {
        error_set(z->err, ERR_UNSUPPORTED, z->source, filters->at,
                  "object dtype: its elements are Python objects, which are not read");
        error_code(z->err, "object-dtype");
        return false;
    }
    bool none =
        compressor_value->type == JSON_FAIL || compressor_value->type == JSON_NULL;
    if (!a->unreadable && !none && !add_v2(&c, compressor_value))
        return false;
    return a->unreadable || finish(&c, &a->codec);
}

/* --- version 3 -------------------------------------------------------------------------- */

/* What the levels of shards share. */
struct levels {
    struct zarr_parsing *z;
    uint8_t *axes;   /* which axis of the array each stored axis is */
    bool transposed; /* it is not itself */
};

static bool transpose(struct levels *l, struct chain *c,
                      const struct zarr_value *settings)
{
    struct zarr_parsing *z = l->z;
    unsigned rank = z->array->rank, count;
    struct zarr_member m[] = {
        {"order", {0}},
        {NULL, {0}},
    };
    char word[4];
    uint64_t *order, reversed[UINT8_MAX];
    bool seen[UINT8_MAX] = {false};
    c->word = "transpose";
    if (settings->type != JSON_OBJECT || !zarr_members(z, settings, m, NULL))
        return z->err->status == OK && bad_setting(c);
    if (zarr_word(z, &m[0].value, word, sizeof(word))) { /* of drafts */
        if (strcmp(word, "C") == 0)
            return true;
        for (unsigned d = 0; d < rank; d++)
            reversed[d] = rank - 1 - d;
        order = reversed;
        count = strcmp(word, "F") == 0 ? rank : UINT8_MAX;
    } else if (!zarr_numbers(z, &m[0].value, "the order of a transpose codec", &order,
                             &count)) {
        return false;
    }
    uint8_t *axes = arena_array(z->arena, rank ? rank : 1, sizeof(*axes));
    if (!axes)
        return zarr_no_memory(z);
    for (unsigned d = 0; d < rank; d++) {
        if (count != rank || order[d] >= rank || seen[order[d]])
            return zarr_bad(z, settings,
                            "the order of a transpose codec is none of %u axes", rank);
        seen[order[d]] = true;
        axes[d] = l->axes[order[d]];
    }
    for (unsigned d = 0; d < rank; d++)
        c->shuffled |= c->ordered && axes[d] != l->axes[d];
    l->axes = axes;
    l->transposed = false;
    for (unsigned d = 0; d < rank; d++)
        l->transposed |= axes[d] != d;
    return true;
}

/* Of the index: its numbers' byte order, and whether a checksum follows them. */
static bool read_index_codecs(struct levels *l, const struct zarr_value *list,
                              struct grid_level *level)
{
    struct zarr_parsing *z = l->z;
    char name[NUMPY_TYPE_BYTES];
    struct zarr_value v, settings;
    struct json j;
    unsigned count = 0;
    if (list->type != JSON_ARRAY)
        return zarr_bad(z, list, "a shard without index_codecs");
    zarr_enter(z, list, &j);
    for (; zarr_next(&j, &v); count++) {
        struct zarr_member m[] = {
            {"endian", {0}},
            {NULL, {0}},
        };
        char word[8] = "";
        if (!zarr_extension(z, &v, name, &settings) ||
            (settings.type == JSON_OBJECT && !zarr_members(z, &settings, m, NULL)))
            return false;
        bool bytes =
            !count && (strcmp(name, "bytes") == 0 || strcmp(name, "endian") == 0);
        zarr_word(z, &m[0].value, word, sizeof(word));
        level->index_big |= bytes && strcmp(word, "big") == 0;
        level->index_summed |= count == 1 && strcmp(name, "crc32c") == 0;
        if (!(bytes && (level->index_big || strcmp(word, "little") == 0)) &&
            !(count == 1 && level->index_summed))
            return zarr_unreadable(z, "its shards' indexes have the codec \"%s\"", name);
    }
    return z->err->status == OK &&
           (count || zarr_bad(z, list, "a shard without index_codecs"));
}

/* The shape of the boxes inside those of `outer`, given for the stored axes. */
static bool read_inner_shape(struct levels *l, const struct zarr_value *v,
                             const struct grid_level *outer, struct grid_level *inner)
{
    struct zarr_parsing *z = l->z;
    uint64_t *stored;
    unsigned count;
    if (!zarr_numbers(z, v, "chunk_shape of a shard", &stored, &count))
        return false;
    if (count != z->array->rank)
        return zarr_bad(z, v, "chunks of rank %u in shards of rank %u", count,
                        z->array->rank);
    inner->shape = arena_array(z->arena, count ? count : 1, sizeof(*inner->shape));
    if (!inner->shape)
        return zarr_no_memory(z);
    for (unsigned d = 0; d < count; d++) {
        unsigned axis = l->axes[d];
        if (!stored[d] || outer->shape[axis] % stored[d])
            return zarr_bad(z, v, "a shard that is not cut into whole chunks");
        inner->shape[axis] = stored[d];
    }
    return true;
}

static uint8_t *order_now(const struct levels *l)
{
    return l->transposed ? l->axes : NULL;
}

/* So many bytes a shard has at most. */
static uint64_t shard_bound(uint64_t size, const struct grid_level *outer,
                            const struct grid_level *inner, unsigned rank)
{
    uint64_t chunks = 1, more, bound;
    for (unsigned d = 0; d < rank; d++)
        chunks *= outer->shape[d] / inner->shape[d]; /* no more than the elements */
    return mul_u64(chunks, 4096 + 16, &more) && add_u64(more, 4, &more) &&
                   add_u64(compressed_bound(size), more, &bound) && bound <= INT64_MAX
               ? bound
               : INT64_MAX;
}

/* {"chunk_shape", "codecs", "index_codecs", "index_location"}: opens a level. *within: the
 * codecs of the chunks inside. */
static bool open_shard(struct levels *l, struct chain *c,
                       const struct zarr_value *settings, struct zarr_value *within)
{
    struct zarr_parsing *z = l->z;
    struct grid *g = &z->array->grid;
    struct zarr_member m[] = {
        {"chunk_shape", {0}},    {"codecs", {0}}, {"index_codecs", {0}},
        {"index_location", {0}}, {NULL, {0}},
    };
    char word[8];
    if (c->stage != STAGE_ARRAY || c->count != c->first)
        return zarr_unreadable(z, "its shards are filtered as a whole");
    if (g->levels == GRID_LEVELS_MAX)
        return zarr_unreadable(z, "its shards are nested more than %d deep",
                               GRID_LEVELS_MAX - 1);
    if (settings->type != JSON_OBJECT)
        return zarr_bad(z, settings, "a shard without settings");
    if (!zarr_members(z, settings, m, NULL))
        return false;
    struct grid_level *outer = &g->level[g->levels - 1], *inner = &g->level[g->levels];
    if (m[3].value.type != JSON_FAIL) {
        bool stated = zarr_word(z, &m[3].value, word, sizeof(word));
        outer->index_first = stated && strcmp(word, "start") == 0;
        if (!outer->index_first && (!stated || strcmp(word, "end") != 0))
            return zarr_bad(z, &m[3].value, "index_location is neither start nor end");
    }
    if (m[1].value.type != JSON_ARRAY)
        return zarr_bad(z, settings, "a shard without codecs");
    *within = m[1].value;
    outer->order = order_now(l);
    if (!read_inner_shape(l, &m[0].value, outer, inner) ||
        !read_index_codecs(l, &m[2].value, outer))
        return false;
    g->levels++;
    c->count = 0;
    c->size = shard_bound(c->size, outer, inner, z->array->rank);
    c->exact = false;
    c->stage = STAGE_BYTES;
    return true;
}

/* One list of codecs. *inner: those of the chunks inside its boxes, where they are shards. */
static bool read_codecs(struct levels *l, const struct zarr_value *list,
                        struct zarr_value *inner)
{
    struct zarr_parsing *z = l->z;
    struct zarr_array *a = z->array;
    unsigned level = a->grid.levels - 1;
    char name[NUMPY_TYPE_BYTES];
    struct zarr_value v, settings;
    struct chain c;
    struct json j;
    *inner = (struct zarr_value){0};
    if (!begin(&c, z, a->grid.level[level].shape, STAGE_ARRAY))
        return false;
    zarr_enter(z, list, &j);
    while (!a->unreadable && zarr_next(&j, &v)) {
        if (!zarr_extension(z, &v, name, &settings))
            return false;
        const char *word = strncmp(name, "numcodecs.", 10) == 0 ? name + 10 : name;
        bool ok = strcmp(name, "transpose") == 0 && c.stage == STAGE_ARRAY
                      ? transpose(l, &c, &settings)
                  : strcmp(name, "sharding_indexed") == 0
                      ? open_shard(l, &c, &settings, inner)
                      : add_codec(&c, word, &settings, false);
        if (!ok)
            return false;
    }
    if (z->err->status != OK)
        return false;
    if (a->unreadable)
        return true;
    if (c.stage == STAGE_ARRAY)
        return zarr_bad(z, list, "no codec makes bytes of the elements");
    if (c.shuffled)
        return zarr_unreadable(z, "its filters depend on an order that is transposed");
    if (inner->type == JSON_ARRAY)
        return finish(&c, &a->grid.level[level].codec);
    a->grid.level[level].order = order_now(l);
    return finish(&c, &a->codec);
}

bool zarr_chain_v3(struct zarr_parsing *z, const struct zarr_value *outermost)
{
    struct levels l = {.z = z};
    struct zarr_value list = *outermost, inner;
    unsigned rank = z->array->rank;
    l.axes = arena_array(z->arena, rank ? rank : 1, sizeof(*l.axes));
    if (!l.axes)
        return zarr_no_memory(z);
    for (unsigned d = 0; d < rank; d++)
        l.axes[d] = (uint8_t)d;
    for (; list.type != JSON_FAIL; list = inner) {
        if (list.type != JSON_ARRAY)
            return zarr_bad(z, &list, "codecs is not a list");
        if (!read_codecs(&l, &list, &inner))
            return false;
        if (z->array->unreadable)
            break;
    }
    return true;
}
