/*
 * zarr_metadata.c - the metadata of one zarr node. Both versions are JSON objects:
 *
 *   .zarray    zarr_format 2, shape, chunks, dtype, compressor, fill_value, order, filters,
 *              [dimension_separator]; unknown keys are ignored
 *   .zgroup    zarr_format 2
 *   zarr.json  zarr_format 3, node_type "array" or "group"; arrays have shape, data_type,
 *              chunk_grid, chunk_key_encoding, fill_value, codecs, [attributes,
 *              dimension_names, storage_transformers]; groups have [attributes,
 *              consolidated_metadata]; an unknown key makes the array unreadable, unless
 *              its value is an object with "must_understand": false
 *
 * Sources: zarr-specs, "Zarr storage specification version 2" and "Zarr core specification
 * version 3"; zarr-python 2 and 3; TensorStore's drivers zarr and zarr3.
 */
#include "importer/array/zarr_metadata.h"

#include <string.h>

#include "catalog/data/model/tensor.h"
#include "importer/array/zarr_value.h"

/* --- shared by both versions ------------------------------------------------------------ */

/* The first `count` of the members that were looked for must be there. */
static bool need(struct zarr_parsing *z, const char *names, const struct zarr_value *m, int count)
{
    for (int i = 0; i < count; i++) {
        int len = (int)strcspn(names, " ");
        if (m[i].type == JSON_FAIL)
            return zarr_bad(z, NULL, "no \"%.*s\" in the metadata of an array", len, names);
        names += len + 1;
    }
    return true;
}

/* The shape of the level 0 boxes, which must have the rank of the array. */
static bool zarr_read_chunks(struct zarr_parsing *z, const struct zarr_value *v)
{
    struct zarr_array *a = z->array;
    struct grid_level *level = &a->grid.level[0];
    unsigned rank = 0;
    uint64_t elements = 1;
    if (!zarr_numbers(z, v, "the chunk shape", &level->shape, &rank))
        return false;
    if (rank != a->rank)
        return zarr_bad(z, v, "chunks of rank %u in an array of rank %u", rank, a->rank);
    for (unsigned d = 0; d < rank; d++) {
        if (!level->shape[d])
            return zarr_bad(z, v, "a chunk that is 0 long");
        if (!mul_u64(elements, level->shape[d], &elements) || elements > INT64_MAX)
            return zarr_bad(z, v, "a chunk of more than 2^63 elements");
    }
    a->grid.levels = 1;
    return true;
}

/* --- version 2 -------------------------------------------------------------------------- */

static bool read_order(struct zarr_parsing *z, const struct zarr_value *v)
{
    struct zarr_array *a = z->array;
    char word[4];
    bool fortran = zarr_word(z, v, word, sizeof(word)) && strcmp(word, "F") == 0;
    if (!fortran && strcmp(word, "C") != 0)
        return zarr_bad(z, v, "order is neither \"C\" nor \"F\"");
    if (!fortran || a->rank < 2)
        return true;
    uint8_t *order = arena_array(z->arena, a->rank, sizeof(*order));
    for (unsigned d = 0; order && d < a->rank; d++)
        order[d] = (uint8_t)(a->rank - 1 - d);
    a->grid.level[0].order = order;
    return order != NULL;
}

/* `fallback` if the metadata lacks it. */
static bool read_separator(struct zarr_parsing *z, const struct zarr_value *v, char fallback)
{
    char word[4];
    z->array->grid.separator = fallback;
    if (v->type == JSON_FAIL || v->type == JSON_NULL)
        return true;
    if (!zarr_word(z, v, word, sizeof(word)) || (strcmp(word, ".") != 0 && strcmp(word, "/") != 0))
        return zarr_bad(z, v, "a separator that is neither \".\" nor \"/\"");
    z->array->grid.separator = *word;
    return true;
}

static bool parse_v2(struct zarr_parsing *z, const struct zarr_value *text)
{
    enum {
        FORMAT,
        SHAPE,
        CHUNKS,
        DTYPE,
        ORDER,
        NEEDED,
        FILL = NEEDED,
        COMPRESSOR,
        FILTERS,
        SEPARATOR,
        END
    };
    static const char names[] =
        "zarr_format shape chunks dtype order fill_value compressor filters "
        "dimension_separator";
    struct zarr_value m[END];
    struct zarr_array *a = z->array;
    if (!zarr_members(z, text, names, m, NULL))
        return false;
    if (!zarr_is(z, &m[FORMAT], 2))
        return zarr_bad(z, &m[FORMAT], "zarr_format is not 2");
    if (m[SHAPE].type == JSON_FAIL && m[CHUNKS].type == JSON_FAIL) {
        a->kind = ZARR_GROUP;
        return true;
    }
    a->separator_guessed = m[SEPARATOR].type == JSON_FAIL;
    return need(z, names, m, NEEDED) && zarr_numbers(z, &m[SHAPE], "shape", &a->shape, &a->rank) &&
           zarr_read_chunks(z, &m[CHUNKS]) && read_order(z, &m[ORDER]) &&
           read_separator(z, &m[SEPARATOR], '.') && zarr_type_v2(z, &m[DTYPE]) &&
           zarr_chain_v2(z, &m[FILTERS], &m[COMPRESSOR]) && zarr_fill(z, &m[FILL]);
}

/* --- version 3 -------------------------------------------------------------------------- */

static bool read_grid(struct zarr_parsing *z, const struct zarr_value *v)
{
    char name[NUMPY_TYPE_BYTES];
    struct zarr_value configuration;
    struct zarr_value m;
    if (!zarr_extension(z, v, name, &configuration))
        return false;
    if (strcmp(name, "regular") != 0)
        return zarr_unreadable(z, "its chunk grid \"%s\" is not known here", name);
    if (configuration.type != JSON_OBJECT)
        return zarr_bad(z, v, "a regular chunk grid without a chunk_shape");
    return zarr_members(z, &configuration, "chunk_shape", &m, NULL) && zarr_read_chunks(z, &m);
}

static bool read_keys(struct zarr_parsing *z, const struct zarr_value *v)
{
    char name[NUMPY_TYPE_BYTES];
    struct zarr_value configuration;
    struct zarr_value m;
    if (!zarr_extension(z, v, name, &configuration))
        return false;
    bool v2 = strcmp(name, "v2") == 0;
    if (!v2 && strcmp(name, "default") != 0) {
        z->array->grid.levels = 0;
        z->array->grid.separator = '.';
        return zarr_unreadable(z, "its chunk keys \"%s\" are not known here", name);
    }
    z->array->grid.prefixed = !v2;
    if (!zarr_members(z, &configuration, "separator", &m, NULL))
        return false;
    return read_separator(z, &m, v2 ? '.' : '/');
}

/* For an unknown key: nothing, if its value is an object that allows readers to ignore it;
 * otherwise the array is unreadable. */
static bool must_understand(struct zarr_parsing *z, struct bytes name, const struct zarr_value *v)
{
    struct zarr_value m;
    if (v->type == JSON_OBJECT && !zarr_members(z, v, "must_understand", &m, NULL))
        return false;
    if (v->type == JSON_OBJECT && m.type == JSON_FALSE)
        return true;
    return zarr_unreadable(z, "it has the extension \"%.*s\", which is not known here",
                           (int)(name.len < 64 ? name.len : 64), (const char *)name.at);
}

static bool zarr_is_empty(const struct zarr_value *v)
{
    if (v->type == JSON_FAIL || v->type == JSON_NULL)
        return true;
    for (size_t i = 1; i + 1 < v->text.len; i++)
        if (v->text.at[i] > ' ')
            return false;
    return v->type == JSON_ARRAY;
}

static bool parse_v3(struct zarr_parsing *z, const struct zarr_value *text)
{
    enum {
        FORMAT,
        NODE,
        SHAPE,
        TYPE,
        GRID,
        KEYS,
        CODECS,
        NEEDED,
        FILL = NEEDED,
        TRANSFORMERS,
        ATTRIBUTES,
        NAMES,
        CONSOLIDATED,
        END
    };
    static const char names[] =
        "zarr_format node_type shape data_type chunk_grid chunk_key_encoding "
        "codecs fill_value storage_transformers attributes "
        "dimension_names consolidated_metadata";
    struct zarr_value m[END];
    struct zarr_array *a = z->array;
    char node[8];
    if (!zarr_members(z, text, names, m, must_understand))
        return false;
    if (!zarr_is(z, &m[FORMAT], 3))
        return zarr_bad(z, &m[FORMAT], "zarr_format is not 3");
    bool named = zarr_word(z, &m[NODE], node, sizeof(node));
    if (named && strcmp(node, "group") == 0) {
        a->kind = ZARR_GROUP;
        return true;
    }
    if (!named || strcmp(node, "array") != 0)
        return zarr_bad(z, &m[NODE], "node_type is neither array nor group");
    if (!zarr_is_empty(&m[TRANSFORMERS]))
        zarr_unreadable(z, "it has storage transformers, which are not known here");
    return need(z, names, m, NEEDED) && zarr_numbers(z, &m[SHAPE], "shape", &a->shape, &a->rank) &&
           zarr_type_v3(z, &m[TYPE]) && read_grid(z, &m[GRID]) && read_keys(z, &m[KEYS]) &&
           (!a->grid.levels || zarr_chain_v3(z, &m[CODECS])) && zarr_fill(z, &m[FILL]);
}

/* --- the public functions --------------------------------------------------------------- */

enum status zarr_parse(struct bytes metadata, unsigned version, const char *source,
                       struct arena *arena, struct zarr_array *out, struct error *err)
{
    struct zarr_array a = {.version = version};
    struct zarr_parsing z = {.arena = arena, .source = source, .err = err, .array = &a};
    struct zarr_value text = {JSON_OBJECT, metadata, 0};
    struct json j;
    /* The whole text must be JSON, including the parts that are not used. */
    json_init(&j, cursor_over(metadata, 0), arena, source, err);
    j.python = true;
    if (!json_want(&j, JSON_OBJECT, "an object") || !json_skip(&j) ||
        !json_want(&j, JSON_END, "the end"))
        return err->status;
    a.grid.in_files = true;
    a.grid.metadata = GRID_NO_FILE;
    bool good = version == 2 ? parse_v2(&z, &text) : parse_v3(&z, &text);
    if (arena->failed)
        return error_memory_at(err, source);
    if (!good)
        zarr_bad(&z, NULL, "not the metadata of a zarr node");
    else
        *out = a;
    return err->status;
}

enum status zarr_parts(struct bytes metadata, const char *source, struct arena *arena,
                       struct zarr_parts *out, struct error *err)
{
    struct zarr_array unused = {0};
    struct zarr_parsing z = {.arena = arena, .source = source, .err = err, .array = &unused};
    struct zarr_value text = {JSON_OBJECT, metadata, 0};
    struct zarr_value m[3];
    struct zarr_value inner = {0};
    *out = (struct zarr_parts){.attributes = {0}};
    if (!zarr_members(&z, &text, "attributes consolidated_metadata metadata", m, NULL) ||
        (m[1].type == JSON_OBJECT && !zarr_members(&z, &m[1], "metadata", &inner, NULL)))
        return err->status;
    if (m[0].type == JSON_OBJECT)
        out->attributes = m[0].text;
    const struct zarr_value *nodes = inner.type == JSON_OBJECT ? &inner : &m[2];
    if (nodes->type == JSON_OBJECT)
        out->consolidated = nodes->text;
    return OK;
}

bool zarr_next_node(struct json *j, unsigned version, struct bytes *path, struct bytes *metadata)
{
    static const char end[] = "/.zarray";
    const size_t len = sizeof(end) - 1;
    struct zarr_value v;
    while (json_next(j) == JSON_KEY) {
        struct bytes key = j->text;
        bool root = version == 2 && json_is(j, end + 1);
        if (!zarr_next(j, &v))
            return false;
        if (version == 2 && !root &&
            (key.len < len || memcmp(key.at + key.len - len, end, len) != 0))
            continue;
        *path = (struct bytes){key.at, root ? 0 : version == 2 ? key.len - len : key.len};
        *metadata = v.text;
        return true;
    }
    return false;
}

/* --- keys ------------------------------------------------------------------------------- */

/* Parse a decimal number without sign or leading zeros at the front of
 * `at`. Returns its length, or 0. */
static size_t zarr_read_index(const char *at, size_t len, uint64_t *value)
{
    size_t n = 0;
    *value = 0;
    for (; n < len && at[n] >= '0' && at[n] <= '9'; n++)
        if (!mul_u64(*value, 10, value) || !add_u64(*value, (uint64_t)(at[n] - '0'), value))
            return 0;
    return n > 1 && at[0] == '0' ? 0 : n;
}

bool zarr_key_index(const struct zarr_array *a, const char *key, size_t len, uint64_t *index)
{
    const struct grid *g = &a->grid;
    bool first = true;
    if (!g->levels)
        return false;
    if (g->prefixed) {
        if (!len || *key != 'c')
            return false;
        key++;
        len--;
        first = false;
    } else if (!a->rank) {
        *index = 0;
        return len == 1 && *key == '0';
    }
    *index = 0;
    for (unsigned d = 0; d < a->rank; d++, first = false) {
        uint64_t box = g->level[0].shape[d], at;
        uint64_t count = a->shape[d] / box + (a->shape[d] % box != 0);
        if (!first) {
            if (!len || *key != g->separator)
                return false;
            key++;
            len--;
        }
        size_t digits = zarr_read_index(key, len, &at);
        if (!digits || at >= count || !mul_u64(*index, count, index) || !add_u64(*index, at, index))
            return false;
        key += digits;
        len -= digits;
    }
    return len == 0;
}
