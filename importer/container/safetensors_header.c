/*
 * safetensors_header.c - reads and checks the header of a safetensors file.
 *
 *   length   u64le, bytes of the header with its padding, at most 100,000,000
 *   header   JSON: {"__metadata__": {text: text}, NAME: {"dtype": text, "shape": [numbers],
 *            "data_offsets": [begin, end]}}; offsets are relative to the end of the header
 *   data     to the end of the file: every byte belongs to exactly one tensor
 *
 * Source: safetensors/src/tensor.rs, README.md.
 * Stricter than the reference: no duplicate keys, numbers are plain decimal up to 2^63 - 1,
 * at most 64 dimensions. Laxer: a dtype that the reference does not know is catalogued by its name.
 */
#include "importer/container/safetensors_header.h"

#include <stdlib.h>
#include <string.h>

#include "catalog/base/json.h"
#include "catalog/base/limits.h"
#include "catalog/base/strmap.h"
#include "catalog/data/model/tensor.h"

#define LENGTH_BYTES  8
#define RANK_MAX      64
#define DTYPE_LEN_MAX 64 /* bytes in the name of an unknown dtype */

static const struct {
    const char *name, *dtype;
    unsigned bits;
} dtypes[] = {
    {"BF16", "bfloat16", 16},
    {"F16", "float16", 16},
    {"F32", "float32", 32},
    {"F64", "float64", 64},
    {"I8", "int8", 8},
    {"I16", "int16", 16},
    {"I32", "int32", 32},
    {"I64", "int64", 64},
    {"U8", "uint8", 8},
    {"U16", "uint16", 16},
    {"U32", "uint32", 32},
    {"U64", "uint64", 64},
    {"BOOL", "bool", 8},
    {"C64", "complex64", 64},
    {"F8_E4M3", "float8_e4m3fn", 8},
    {"F8_E5M2", "float8_e5m2", 8},
    {"F8_E8M0", "float8_e8m0fnu", 8},
    {"F8_E4M3FNUZ", "float8_e4m3fnuz", 8},
    {"F8_E5M2FNUZ", "float8_e5m2fnuz", 8},
    {"F6_E2M3", "float6_e2m3fn", 6},
    {"F6_E3M2", "float6_e3m2fn", 6},
    {"F4", "float4_e2m1fn", 4},
};

struct parser {
    struct json json;
    struct arena *arena, *lists;
    struct strmap names, fact_keys;
    struct safetensors_header *header;
    size_t tensor_space, fact_space;
    struct safetensors_tensor tensor; /* the one being read: */
    unsigned bits;                    /* per element; 0 for an unknown dtype */
    unsigned seen;                    /* enum field */
};

static bool bad_header(struct parser *p, const char *code, const char *message)
{
    return json_fail(&p->json, ERR_CORRUPT, code, "%s", message);
}

/* --- one tensor ------------------------------------------------------------------------- */

enum field { FIELD_DTYPE = 1, FIELD_SHAPE = 2, FIELD_OFFSETS = 4, FIELD_ALL = 7 };

/* Note that the tensor has a field, which must be its first of the kind. */
static bool is_first(struct parser *p, enum field field)
{
    if (p->seen & field)
        return bad_header(p, "bad-header", "a key occurs twice in a tensor");
    p->seen |= field;
    return true;
}

static bool read_dtype(void *context, struct json *j)
{
    struct parser *p = context;
    struct safetensors_tensor *t = &p->tensor;
    if (!is_first(p, FIELD_DTYPE) || !json_want(j, JSON_STRING, "a dtype in quotes"))
        return false;
    for (size_t i = 0; i < sizeof(dtypes) / sizeof(dtypes[0]); i++) {
        if (json_is(j, dtypes[i].name)) {
            t->dtype = dtypes[i].dtype;
            p->bits = dtypes[i].bits;
            return true;
        }
    }
    if (j->text.len > DTYPE_LEN_MAX || memchr(j->text.at, '\0', j->text.len))
        return bad_header(p, "bad-header", "this is not the name of a dtype");
    char *name = arena_alloc(p->arena, j->text.len + sizeof("unknown()"));
    if (!name)
        return false;
    memcpy(name, "unknown(", 8);
    memcpy(name + 8, j->text.at, j->text.len);
    name[8 + j->text.len] = ')';
    t->dtype = name;
    p->bits = 0;
    if (!p->header->unknown_dtype.at)
        p->header->unknown_dtype = j->text;
    return true;
}

static bool read_size(struct parser *p, uint64_t *value)
{
    if (json_u64(&p->json, value) && *value <= INT64_MAX)
        return true;
    return bad_header(p, "bad-header", "a whole number from 0 to 2^63 - 1 expected");
}

static bool read_shape(void *context, struct json *j)
{
    struct parser *p = context;
    struct safetensors_tensor *t = &p->tensor;
    uint64_t shape[RANK_MAX];
    t->rank = 0;
    if (!is_first(p, FIELD_SHAPE) || !json_want(j, JSON_ARRAY, "a shape in brackets"))
        return false;
    while (json_next(j) != JSON_ARRAY_END) {
        if (j->type == JSON_FAIL)
            return false;
        if (t->rank == RANK_MAX)
            return bad_header(p, "bad-header", "a shape of more than 64 dimensions");
        if (!read_size(p, &shape[t->rank++]))
            return false;
    }
    t->shape = arena_array(p->lists, t->rank ? t->rank : 1, sizeof(*t->shape));
    if (t->shape)
        memcpy(t->shape, shape, t->rank * sizeof(*shape));
    return t->shape;
}

static bool read_offsets(void *context, struct json *j)
{
    struct parser *p = context;
    struct safetensors_tensor *t = &p->tensor;
    if (!is_first(p, FIELD_OFFSETS) || !json_want(j, JSON_ARRAY, "data_offsets in brackets") ||
        !json_want(j, JSON_NUMBER, "the first of two offsets") || !read_size(p, &t->begin) ||
        !json_want(j, JSON_NUMBER, "the second of two offsets") || !read_size(p, &t->end) ||
        !json_want(j, JSON_ARRAY_END, "the end of two offsets"))
        return false;
    return t->begin <= t->end || bad_header(p, "bad-header", "data that ends before it begins");
}

static bool check_bytes(struct parser *p)
{
    const struct safetensors_tensor *t = &p->tensor;
    uint64_t elements, total;
    if (!shape_elements(t->shape, t->rank, &elements) || !mul_u64(elements, p->bits, &total))
        return bad_header(p, "shape-overflow", "a shape of more than 2^64 bits");
    if (total % 8)
        return bad_header(p, "size-mismatch", "elements that do not fill whole bytes");
    if (total / 8 != t->end - t->begin)
        return bad_header(p, "size-mismatch",
                          "dtype and shape need another number of bytes than "
                          "data_offsets give");
    return true;
}

static bool read_unknown(void *context, struct json *j)
{
    struct parser *p = context;
    if (!p->header->unknown_key.at)
        p->header->unknown_key = j->text;
    return json_pass(j);
}

static bool read_fields(struct parser *p)
{
    static const struct json_member table[] = {{"dtype", read_dtype},
                                               {"shape", read_shape},
                                               {"data_offsets", read_offsets},
                                               {NULL, read_unknown}};
    return json_object(&p->json, "the object of a tensor", table, p) &&
           (p->seen == FIELD_ALL ||
            bad_header(p, "bad-header", "a tensor without dtype, shape or data_offsets"));
}

/*
 * Nearly all writers spell a tensor as {"dtype":"F32","shape":[2,3],"data_offsets":[0,24]}.
 * read_usual() matches exactly this text, three times as fast as the JSON tokeniser. Every other
 * spelling, and every error, is left to read_fields().
 */
static inline bool match(struct cursor *c, const char *word)
{
    size_t len = strlen(word);
    bool same = cursor_left(c) >= len && memcmp(c->at, word, len) == 0;
    if (same)
        cursor_take(c, len);
    return same;
}

static inline bool match_size(struct cursor *c, uint64_t *value)
{
    size_t left = cursor_left(c), n = 0;
    *value = 0;
    for (; n < left && n < 18 && c->at[n] >= '0' && c->at[n] <= '9'; n++)
        *value = *value * 10 + (uint64_t)(c->at[n] - '0');
    bool plain = n && (n == 1 || *c->at != '0');
    cursor_take(c, n);
    return plain;
}

static bool match_dtype(struct cursor *c, struct safetensors_tensor *t, unsigned *bits)
{
    for (size_t i = 0; i < sizeof(dtypes) / sizeof(dtypes[0]); i++) {
        struct cursor after = *c;
        if (match(&after, dtypes[i].name) && match(&after, "\"")) {
            t->dtype = dtypes[i].dtype;
            *bits = dtypes[i].bits;
            *c = after;
            return true;
        }
    }
    return false;
}

static bool match_shape(struct cursor *c, uint64_t *shape, unsigned *rank)
{
    *rank = 0;
    if (match(c, "]"))
        return true;
    do {
        if (*rank == RANK_MAX || !match_size(c, &shape[(*rank)++]))
            return false;
    } while (match(c, ","));
    return match(c, "]");
}

static bool read_usual(struct parser *p)
{
    struct cursor c = p->json.cursor;
    struct safetensors_tensor found = p->tensor;
    uint64_t shape[RANK_MAX];
    unsigned known;
    if (!match(&c, "{\"dtype\":\"") || !match_dtype(&c, &found, &known) ||
        !match(&c, ",\"shape\":[") || !match_shape(&c, shape, &found.rank) ||
        !match(&c, ",\"data_offsets\":[") || !match_size(&c, &found.begin) || !match(&c, ",") ||
        !match_size(&c, &found.end) || !match(&c, "]}") || found.begin > found.end)
        return false;
    found.shape = arena_array(p->lists, found.rank ? found.rank : 1, sizeof(*found.shape));
    if (!found.shape)
        return false;
    memcpy(found.shape, shape, found.rank * sizeof(*shape));
    json_taken(&p->json, (size_t)(c.at - p->json.cursor.at));
    p->tensor = found;
    p->bits = known;
    return true;
}

/* --- the header ------------------------------------------------------------------------- */

static bool add_name(struct parser *p, struct strmap *names)
{
    bool added;
    const struct json *j = &p->json;
    strmap_add(names, (const char *)j->text.at, j->text.len, &added);
    return added ||
           json_fail(&p->json, ERR_CORRUPT, "duplicate-name", "\"%.*s\" occurs twice in the header",
                     (int)(j->text.len < 200 ? j->text.len : 200), (const char *)j->text.at);
}

static bool read_tensor(void *context, struct json *j)
{
    struct parser *p = context;
    struct safetensors_header *h = p->header;
    p->tensor =
        (struct safetensors_tensor){(const char *)j->text.at, j->text.len, NULL, NULL, 0, 0, 0};
    p->bits = p->seen = 0;
    if (!add_name(p, &p->names) || (!read_usual(p) && !read_fields(p)) ||
        (p->bits && !check_bytes(p)))
        return false;
    *PUSH(p->lists, h->tensors, h->count, p->tensor_space) = p->tensor;
    return !p->lists->failed;
}

static bool read_fact(void *context, struct json *j)
{
    struct parser *p = context;
    struct safetensors_header *h = p->header;
    struct bytes key = j->text;
    if (!add_name(p, &p->fact_keys))
        return false;
    if (memchr(key.at, '\0', key.len))
        return bad_header(p, "bad-header", "a key of __metadata__ holds a NUL character");
    if (!json_want(j, JSON_STRING, "a text in __metadata__"))
        return false;
    *PUSH(p->arena, h->facts, h->fact_count, p->fact_space) =
        (struct safetensors_fact){key, j->text};
    return !p->arena->failed;
}

static bool read_metadata(void *context, struct json *j)
{
    static const struct json_member table[] = {{NULL, read_fact}};
    struct parser *p = context;
    if (!add_name(p, &p->names))
        return false;
    if (json_next(j) == JSON_NULL)
        return true;
    return j->type == JSON_OBJECT
               ? json_members(j, table, p)
               : bad_header(p, "bad-header", "__metadata__ is not an object of texts");
}

/* --- the data --------------------------------------------------------------------------- */

static int by_offset(const void *a, const void *b)
{
    const struct safetensors_tensor *x = *(const struct safetensors_tensor *const *)a;
    const struct safetensors_tensor *y = *(const struct safetensors_tensor *const *)b;
    if (x->begin != y->begin)
        return x->begin < y->begin ? -1 : 1;
    return (x->end > y->end) - (x->end < y->end);
}

static bool is_ordered(const struct safetensors_header *h)
{
    bool ordered = true;
    for (uint64_t i = 1; i < h->count && ordered; i++) {
        const struct safetensors_tensor *pair[] = {&h->tensors[i - 1], &h->tensors[i]};
        ordered = by_offset(&pair[0], &pair[1]) <= 0;
    }
    return ordered;
}

/* Pointers to the tensors, sorted by (begin, end); NULL: no memory. */
static const struct safetensors_tensor **sorted(struct parser *p)
{
    const struct safetensors_header *h = p->header;
    const struct safetensors_tensor **order =
        arena_array(p->lists, (size_t)h->count + 1, sizeof(*order));
    if (!order)
        return NULL;
    for (uint64_t i = 0; i < h->count; i++)
        order[i] = &h->tensors[i];
    qsort(order, (size_t)h->count, sizeof(*order), by_offset);
    return order;
}

/* Every byte of the data must belong to exactly one tensor: no holes, no overlaps. */
static bool check_cover(struct parser *p)
{
    struct safetensors_header *h = p->header;
    bool ordered = is_ordered(h); /* most writers list tensors by offset */
    const struct safetensors_tensor **order = ordered ? NULL : sorted(p);
    if (!ordered && !order)
        return false;
    for (uint64_t i = 0; i < h->count; i++) {
        const struct safetensors_tensor *t = ordered ? &h->tensors[i] : order[i];
        if (t->begin != h->data_end) {
            bool hole = t->begin > h->data_end;
            return json_fail(&p->json, ERR_CORRUPT, hole ? "hole" : "overlap",
                             "tensor \"%.*s\" begins at byte %llu of the data, but the one "
                             "before it ends at %llu",
                             (int)(t->name_len < 200 ? t->name_len : 200), t->name,
                             (unsigned long long)t->begin, (unsigned long long)h->data_end);
        }
        h->data_end = t->end;
    }
    return true;
}

enum status safetensors_load(const struct source *s, struct arena *arena, struct bytes *text,
                             struct error *err)
{
    uint8_t length[LENGTH_BYTES];
    if (s->size < LENGTH_BYTES) {
        error_set(err, ERR_CORRUPT, s->name, s->size, "the file ends inside its first 8 bytes");
        return error_code(err, "truncated");
    }
    if (source_read(s, 0, length, sizeof(length), err) != OK)
        return err->status;
    uint64_t len = load_u64le(length);
    if (len > LIMIT_HEADER_BYTES)
        return error_set(err, ERR_LIMIT, s->name, 0,
                         "a safetensors header of %llu bytes, most is %llu",
                         (unsigned long long)len, (unsigned long long)LIMIT_HEADER_BYTES);
    if (len > s->size - LENGTH_BYTES) {
        error_set(err, ERR_CORRUPT, s->name, s->size,
                  "the header needs %llu bytes, the file has %llu: it was cut short",
                  (unsigned long long)(len + LENGTH_BYTES), (unsigned long long)s->size);
        return error_code(err, "truncated");
    }
    uint8_t *bytes = arena_room(arena, (size_t)len);
    *text = (struct bytes){bytes, (size_t)len};
    return bytes ? source_read(s, LENGTH_BYTES, bytes, (size_t)len, err)
                 : error_memory_at(err, s->name);
}

/* Make room for all tensors at once. A tensor needs a brace and at least as many bytes as the
 * shortest spelling of one, so this is never more than the header allows, and exact unless names
 * hold braces. */
static void expect_tensors(struct parser *p, struct bytes text)
{
    size_t braces = 0,
           most = text.len / sizeof("\"\":{\"dtype\":\"U8\",\"shape\":[],\"data_offsets\":[0,0]}");
    const uint8_t *end = text.at + text.len, *at = text.at;
    while (at < end && (at = memchr(at, '{', (size_t)(end - at)))) {
        braces++;
        at++;
    }
    size_t space = braces < most ? braces : most;
    p->header->tensors = arena_room(p->lists, space * sizeof(*p->header->tensors));
    p->tensor_space = p->header->tensors ? space : 0;
    strmap_reserve(&p->names, space); /* without memory it grows, or says so */
}

static void parser_release(struct parser *p)
{
    strmap_release(&p->names);
    strmap_release(&p->fact_keys);
}

enum status safetensors_parse(struct bytes text, const char *source, struct arena *arena,
                              struct arena *lists, struct safetensors_header *out,
                              struct error *err)
{
    static const struct json_member table[] = {{"__metadata__", read_metadata},
                                               {NULL, read_tensor}};
    struct safetensors_header header = {0};
    struct parser p = {
        .arena = arena, .lists = lists, .names.err = err, .fact_keys.err = err, .header = &header};
    expect_tensors(&p, text);
    json_init(&p.json, cursor_over(text, LENGTH_BYTES), arena, source, err);
    if (json_object(&p.json, "the header's object", table, &p) &&
        json_want(&p.json, JSON_END, "the end of the header") && check_cover(&p))
        *out = header;
    else if (err->status == ERR_CORRUPT)
        error_code(err, "bad-header");
    else
        error_memory(err); /* unless it says already what is wrong: the arenas may have another */
    parser_release(&p);
    return err->status;
}

enum status safetensors_facts(struct bytes text, const char *source, struct arena *arena,
                              struct safetensors_header *out, struct bytes *rest, struct error *err)
{
    struct parser p = {.arena = arena, .names.err = err, .fact_keys.err = err, .header = out};
    *out = (struct safetensors_header){0};
    *rest = text;
    json_init(&p.json, cursor_over(text, LENGTH_BYTES), arena, source, err);
    if (json_want(&p.json, JSON_OBJECT, "the header's object") && json_next(&p.json) == JSON_KEY &&
        json_is(&p.json, "__metadata__") && read_metadata(&p, &p.json)) {
        size_t used = (size_t)(p.json.cursor.at - text.at);
        *rest = (struct bytes){text.at + used, text.len - used};
    }
    parser_release(&p);
    if (arena->failed)
        error_memory(err);
    return err->status == ERR_CORRUPT ? error_code(err, "bad-header") : err->status;
}

enum status safetensors_check_end(const struct source *s, struct bytes text, uint64_t data_end,
                                  struct error *err)
{
    uint64_t there = s->size - LENGTH_BYTES - text.len;
    if (there == data_end)
        return OK;
    if (there < data_end) {
        error_set(err, ERR_CORRUPT, s->name, s->size,
                  "the tensors need %llu bytes of data, the file has %llu: it was cut short",
                  (unsigned long long)data_end, (unsigned long long)there);
        return error_code(err, "truncated");
    }
    error_set(err, ERR_CORRUPT, s->name, LENGTH_BYTES + text.len + data_end,
              "%llu bytes follow the last tensor", (unsigned long long)(there - data_end));
    return error_code(err, "trailing-bytes");
}
