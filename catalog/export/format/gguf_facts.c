#include "catalog/export/format/gguf_facts.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "catalog/base/json.h"
#include "catalog/base/strmap.h"
#include "catalog/data/codec/base64.h"
#include "catalog/data/convert/float_format.h"
#include "catalog/db/statement.h"
#include "catalog/export/format/gguf_header.h"
#include "catalog/export/metadata.h"

#define KEY_SPLIT   "split."
#define KEY_ARCH    "general.architecture"
#define KEY_QUANT   "general.quantization_version"
#define KEY_FILE    "general.file_type"
#define PROVENANCE  "ckptdb_"
#define TENSOR_ROPE "rope_freqs.weight"
#define QUANT_TODAY "2"

struct kind {
    enum gguf_type type; /* or of the elements */
    bool array;
};

struct gguf_fact {
    struct bytes key;
    enum gguf_type type;     /* of the value, */
    enum gguf_type elements; /* and of its elements */
    struct bytes value;      /* as in the file, after its type */
};

/* By key, in the order in which they were first stated. All in the arena. */
struct gguf_facts {
    struct arena *arena; /* with an `err` */
    struct error *err;
    struct gguf_fact *list;
    size_t count, space;
    struct strmap index; /* key -> position + 1 */
    const char **wanted; /* keys that a model needs, and nothing stated at first */
    size_t wanting, wanted_space;
    struct bytes rope; /* the tensor that the model needs beside its own; none: empty */
};

/* --- types -------------------------------------------------------------------------------- */

/* By number; `bits` of integers, negative: signed. */
static const struct {
    const char *name, *numpy;
    int bits;
} spelled[GGUF_TYPES] = {
    [GGUF_U8] = {"u8", "uint8", 8},       [GGUF_I8] = {"i8", "int8", -8},
    [GGUF_U16] = {"u16", "uint16", 16},   [GGUF_I16] = {"i16", "int16", -16},
    [GGUF_U32] = {"u32", "uint32", 32},   [GGUF_I32] = {"i32", "int32", -32},
    [GGUF_F32] = {"f32", "float32", 0},   [GGUF_BOOL] = {"bool", "bool", 0},
    [GGUF_STRING] = {"str", "string", 0}, [GGUF_ARRAY] = {"", "", 0},
    [GGUF_U64] = {"u64", "uint64", 64},   [GGUF_I64] = {"i64", "int64", -64},
    [GGUF_F64] = {"f64", "float64", 0},
};

static bool is_called(const char *name, size_t len, const char *known)
{
    return len && len == strlen(known) && memcmp(name, known, len) == 0;
}

/* The type of this name of `len` bytes. */
static bool kind_called(const char *name, size_t len, struct kind *out)
{
    out->array = text_ends_in(name, len, "[]");
    len -= out->array ? 2 : 0;
    for (unsigned i = 0; i < GGUF_TYPES; i++) {
        out->type = (enum gguf_type)i;
        if (is_called(name, len, spelled[i].name) || is_called(name, len, spelled[i].numpy))
            return true;
    }
    return false;
}

/* --- values as bytes ---------------------------------------------------------------------- */

/* A whole decimal number. False: it is none, or beyond 64 bits. */
static bool read_integer(const char *text, uint64_t *magnitude, bool *negative)
{
    char *end;
    *negative = *text == '-';
    text += *negative;
    errno = 0;
    *magnitude = strtoull(text, &end, 10);
    return *text >= '0' && *text <= '9' && !*end && !errno;
}

static bool put_integer(enum gguf_type type, const char *text, struct text *out)
{
    const int bits = abs(spelled[type].bits);
    const bool is_signed = spelled[type].bits < 0;
    uint64_t magnitude;
    bool negative;
    if (!read_integer(text, &magnitude, &negative))
        return false;
    const uint64_t most = is_signed  ? (UINT64_C(1) << (bits - 1)) - !negative
                          : negative ? 0
                                     : UINT64_MAX >> (64 - bits);
    return magnitude <= most && text_le(out, negative ? -magnitude : magnitude, (size_t)bits / 8);
}

static bool put_real(enum gguf_type type, const char *text, struct text *out)
{
    uint8_t word[8];
    char *end;
    const double real = strtod(text, &end);
    const float narrow = type == GGUF_F32 ? strtof(text, NULL) : 0; /* rounded once */
    if (end == text || *end || strchr(" \t\n\v\f\r", *text))
        return false;
    if (type == GGUF_F64)
        memcpy(word, &real, sizeof(real));
    else
        memcpy(word, &narrow, sizeof(narrow));
    return (type == GGUF_F64 || !isinf(narrow) || isinf(real)) &&
           text_add(out, word, type == GGUF_F64 ? 8 : 4);
}

static void put_gguf_string(struct text *out, const void *bytes, size_t len)
{
    text_le(out, len, 8);
    text_add(out, bytes, len);
}

/* A text is none of this type: false. It has a NUL after it. */
static bool put_scalar(enum gguf_type type, struct bytes text, struct text *out)
{
    const char *at = (const char *)text.at;
    const bool is_true = is_called(at, text.len, "true");
    if (type == GGUF_STRING)
        put_gguf_string(out, at, text.len);
    else if (type == GGUF_BOOL)
        return (is_true || is_called(at, text.len, "false")) && text_addc(out, (char)is_true);
    return type == GGUF_STRING                    ? true
           : type == GGUF_F32 || type == GGUF_F64 ? put_real(type, at, out)
                                                  : put_integer(type, at, out);
}

static const struct bytes words[] = {
    [JSON_TRUE] = {(const uint8_t *)"true", 4}, [JSON_FALSE] = {(const uint8_t *)"false", 5}};

static bool put_array(enum gguf_type type, const struct json_value *array, struct text *out)
{
    if (json_type_of(array) != JSON_ARRAY)
        return false;
    text_le(out, type, 4);
    text_le(out, array->count, 8);
    for (const struct json_value *v = array->first; v; v = v->next) {
        const bool truth = v->type == JSON_TRUE || v->type == JSON_FALSE;
        const bool fits = truth                    ? type == GGUF_BOOL
                          : v->type == JSON_STRING ? type == GGUF_STRING
                                                   : v->type == JSON_NUMBER && type != GGUF_STRING;
        if (!fits || !put_scalar(type, truth ? words[v->type] : v->text, out))
            return false;
    }
    return true;
}

/* A JSON text as a tree in the arena; NULL: it is none. */
static const struct json_value *read_json(struct gguf_facts *f, const char *text)
{
    struct error ignored = {.offset = NO_OFFSET};
    const struct bytes bytes = {(const uint8_t *)text, strlen(text)};
    return *text == '[' ? json_read_tree(bytes, f->arena, &ignored) : NULL;
}

/* --- the list ----------------------------------------------------------------------------- */

static bool states(const struct gguf_facts *f, const char *key)
{
    return strmap_get(&f->index, key, strlen(key));
}

static struct gguf_fact *fact_of(struct gguf_facts *f, const void *key, size_t len)
{
    const char *kept;
    bool added = false;
    uint64_t *at = strmap_keep(&f->index, f->arena, key, len, &kept, &added);
    if (added) {
        *at = f->count + 1;
        PUSH(f->arena, f->list, f->count, f->space)->key =
            (struct bytes){(const uint8_t *)kept, len};
    }
    return f->err->status == OK ? &f->list[*at - 1] : list_scratch();
}

static void keep_value(struct gguf_facts *f, struct gguf_fact *fact, struct text *value)
{
    const size_t len = value->len;
    fact->value = (struct bytes){(const uint8_t *)text_keep(value, f->arena), len};
}

/* State a fact; an earlier one of the key is replaced. False, and nothing is changed: `value` is not of this type. */
static bool state(struct gguf_facts *f, const char *key, struct kind kind, const char *value)
{
    struct text text = {0};
    const struct bytes bytes = {(const uint8_t *)value, strlen(value)};
    const bool fits = kind.array ? put_array(kind.type, read_json(f, value), &text)
                                 : put_scalar(kind.type, bytes, &text);
    if (fits || text.failed) {
        struct gguf_fact *fact = fact_of(f, key, strlen(key));
        fact->type = kind.array ? GGUF_ARRAY : kind.type;
        fact->elements = kind.type;
        keep_value(f, fact, &text);
    }
    text_release(&text);
    return fits;
}

/* --- guessing a value's type -------------------------------------------------------------- */

static enum gguf_type integer_like(const char *text)
{
    uint64_t magnitude;
    bool negative;
    if (!read_integer(text, &magnitude, &negative) ||
        (negative && magnitude > (uint64_t)INT64_MAX + 1))
        return GGUF_STRING;
    if (negative)
        return magnitude <= (uint64_t)INT32_MAX + 1 ? GGUF_I32 : GGUF_I64;
    return magnitude <= UINT32_MAX ? GGUF_U32 : GGUF_U64;
}

/* The type of llama.cpp's own keys: float32, where the number has one. */
static enum gguf_type real_like(const char *text)
{
    char *end;
    const double real = strtod(text, &end);
    const size_t len = strlen(text);
    if (*end || strspn(text, "0123456789+-.eE") != len || !strpbrk(text, ".eE") || !isfinite(real))
        return GGUF_STRING; /* such as whole numbers of more than 64 bits */
    return isinf((float)real) ? GGUF_F64 : GGUF_F32;
}

static enum gguf_type scalar_like(const char *text)
{
    enum gguf_type type = integer_like(text);
    if (strcmp(text, "true") == 0 || strcmp(text, "false") == 0)
        return GGUF_BOOL;
    return type == GGUF_STRING ? real_like(text) : type;
}

/* The type that a single element looks like, int32 or wider. False: it is null, an array or an object. */
static bool element_like(const struct json_value *v, enum gguf_type *out)
{
    const char *text = (const char *)v->text.at;
    *out = v->type == JSON_STRING ? GGUF_STRING : GGUF_BOOL;
    if (v->type != JSON_NUMBER)
        return v->type == JSON_STRING || v->type == JSON_TRUE || v->type == JSON_FALSE;
    *out = scalar_like(text);
    if (*out == GGUF_U32)
        *out = strtoull(text, NULL, 10) > INT32_MAX ? GGUF_I64 : GGUF_I32;
    else if (*out == GGUF_STRING)
        *out = GGUF_F64; /* a number of very many digits */
    return true;
}

/* One type for all elements, the widest, unless one has none. */
static bool array_like(const struct json_value *array, enum gguf_type *out)
{
    static const enum gguf_type widths[] = {GGUF_I32, GGUF_I64, GGUF_U64, GGUF_F32, GGUF_F64};
    const size_t count = sizeof(widths) / sizeof(widths[0]);
    size_t widest = 0;
    if (json_type_of(array) != JSON_ARRAY || !array->first || !element_like(array->first, out))
        return false;
    for (const struct json_value *v = array->first; v; v = v->next) {
        enum gguf_type type;
        size_t i = 0;
        if (!element_like(v, &type) ||
            (v->type == JSON_NUMBER) != (array->first->type == JSON_NUMBER))
            return false;
        while (i < count && widths[i] != type)
            i++;
        if (i == count && type != *out)
            return false;
        widest = i < count && i > widest ? i : widest;
    }
    if (array->first->type == JSON_NUMBER)
        *out = widths[widest];
    return true;
}

static struct kind kind_like(struct gguf_facts *f, const char *value)
{
    struct kind kind = {.type = GGUF_STRING};
    kind.array = array_like(read_json(f, value), &kind.type);
    if (!kind.array)
        kind.type = scalar_like(value);
    return kind;
}

/* --- facts from the user ------------------------------------------------------------------- */

static bool key_begins(const char *key, size_t len, const char *prefix)
{
    return len >= strlen(prefix) && memcmp(key, prefix, strlen(prefix)) == 0;
}

/* Keys that every export makes anew. */
static bool is_own_key(const char *key, size_t len)
{
    return is_called(key, len, GGUF_KEY_ALIGNMENT) || key_begins(key, len, KEY_SPLIT) ||
           key_begins(key, len, GGUF_ORIG_SHAPE);
}

/* KEY:TYPE states the type; otherwise a key of the source keeps its type, and a new one gets the type that the value
 * looks like. */
static void state_given(struct gguf_facts *f, const struct export_subject *subject,
                        const struct metadata_pair *pair)
{
    struct kind kind;
    const char *colon = strrchr(pair->key, ':');
    const bool typed = colon && kind_called(colon + 1, strlen(colon + 1), &kind);
    const char *key =
        arena_copy(f->arena, pair->key, typed ? (size_t)(colon - pair->key) : strlen(pair->key));
    const uint64_t *known = strmap_get(&f->index, key, strlen(key));
    if (colon && !typed) {
        struct text line = {0};
        text_addf(&line, "--meta %s: '%s' is no type, and belongs to the key", key, colon + 1);
        if (text_str(&line))
            subject->say(subject->context, text_str(&line));
        text_release(&line);
    }
    if (!typed)
        kind = kind_like(f, pair->value);
    if (!typed && known) {
        const struct gguf_fact *fact = &f->list[*known - 1];
        if (fact->type != GGUF_ARRAY)
            kind = (struct kind){.type = fact->type};
        else if (kind.array && fact->elements != GGUF_ARRAY)
            kind.type = fact->elements;
    }
    if (!*key)
        error_set(f->err, ERR_ARGUMENT, NULL, NO_OFFSET, "--meta %s=: GGUF has no empty keys",
                  pair->key);
    else if (is_own_key(key, strlen(key)))
        error_set(f->err, ERR_ARGUMENT, NULL, NO_OFFSET,
                  "--meta %s: the export itself says this (--option alignment=N, --shard-size N)",
                  key);
    else if (!state(f, key, kind, pair->value))
        error_set(f->err, ERR_ARGUMENT, NULL, NO_OFFSET, "--meta %.200s=%.200s: no %s%s%s",
                  pair->key, pair->value, spelled[kind.type].name, kind.array ? "[]" : "",
                  typed ? "" : ", which the source has there; KEY:TYPE=VALUE states another type");
}

/* --- facts from the source ---------------------------------------------------------------- */

/* Take all pairs of a GGUF file as they are. */
static void read_gguf_header(struct gguf_facts *f, const struct source *s)
{
    struct gguf g;
    struct gguf_pair pair;
    struct text value = {0};
    if (gguf_open(&g, s, f->err) == OK) {
        while (f->err->status == OK && gguf_pair(&g, &pair)) {
            const char *key = (const char *)pair.key.at;
            if (is_own_key(key, pair.key.len))
                continue;
            struct gguf_fact *fact = fact_of(f, key, pair.key.len);
            fact->type = pair.value.type;
            fact->elements = pair.value.elements;
            gguf_copy(&g, &pair.value, &value);
            keep_value(f, fact, &value);
            text_reset(&value);
        }
    }
    text_release(&value);
    gguf_close(&g);
}

/* Make the tensor that stretches positions; `value` has what it is computed from. */
static bool make_rope(struct gguf_facts *f, const char *value)
{
    struct text text = {0};
    float how[6];
    const struct json_value *all = read_json(f, value);
    bool made = all && all->count == 6 && put_array(GGUF_F32, all, &text);
    if (made) {
        memcpy(how, text.at + text.len - sizeof(how), sizeof(how));
        text_reset(&text);
        made = gguf_rope_factors(how, &text);
    }
    if (made)
        f->rope =
            (struct bytes){.len = text.len, .at = (const uint8_t *)text_keep(&text, f->arena)};
    text_release(&text);
    return made;
}

/* State bytes, in the column or in base64, as a list of u8. */
static bool state_bytes(struct gguf_facts *f, const char *key, sqlite3_stmt *row, int column)
{
    const bool coded = sqlite3_column_type(row, column) == SQLITE_TEXT;
    struct bytes bytes = {sqlite3_column_blob(row, column),
                          (size_t)sqlite3_column_bytes(row, column)};
    uint8_t *room = coded ? arena_room(f->arena, bytes.len) : NULL;
    struct text text = {0};
    if (coded)
        bytes = (struct bytes){room, room ? base64_decode(bytes, room, bytes.len) : SIZE_MAX};
    if (bytes.len != SIZE_MAX) {
        struct gguf_fact *fact = fact_of(f, key, strlen(key));
        fact->type = GGUF_ARRAY;
        fact->elements = GGUF_U8;
        text_le(&text, GGUF_U8, 4);
        put_gguf_string(&text, bytes.at, bytes.len);
        keep_value(f, fact, &text);
    }
    text_release(&text);
    return bytes.len != SIZE_MAX;
}

/* State the facts of a Hugging Face model, and keep the keys that it needs but does not state. */
static void take_model(struct gguf_facts *f, const struct export_subject *subject)
{
    sqlite3_stmt *row = gguf_model(subject, f->arena, f->err);
    while (row && db_row(row, DB_READING, f->err)) {
        struct kind kind;
        const char *key = db_text(row, 0);
        const char *type = db_text(row, 1);
        if (!key || !type || !kind_called(type, strlen(type), &kind))
            continue;
        const bool bytes = kind.array && kind.type == GGUF_U8;
        const char *value = bytes ? NULL : db_text(row, 2);
        const bool stated = bytes                                    ? state_bytes(f, key, row, 2)
                            : value && strcmp(key, TENSOR_ROPE) != 0 ? state(f, key, kind, value)
                                                                     : value && make_rope(f, value);
        if (!stated)
            *PUSH(f->arena, f->wanted, f->wanting, f->wanted_space) =
                arena_copy(f->arena, key, strlen(key));
    }
    sqlite3_finalize(row);
}

/* The catalog keeps neither the width of an integer nor the type of an empty array: of a GGUF file,
 * its header tells. */
static void take_source(struct gguf_facts *f, sqlite3 *db, int64_t checkpoint)
{
    static const char sql[] = "SELECT c.path, f.size, f.mtime_ns, f.inode, f.device"
                              " FROM checkpoint c JOIN file f ON f.checkpoint_id = c.id"
                              " AND f.path = c.path WHERE c.id = ?1 AND c.format = 'gguf'";
    struct source *s = NULL;
    struct file_identity now;
    sqlite3_stmt *row = db_query(db, f->err, sql, "i", checkpoint);
    const bool found = row && db_row(row, DB_READING, f->err);
    const char *path = found ? db_text(row, 0) : NULL;
    const struct file_identity then = found ? db_identity(row, 1) : (struct file_identity){0};
    if (path && source_open_file(path, SOURCE_HEADERS, &s, &now, f->err) == OK) {
        if (file_same(&then, &now))
            read_gguf_header(f, s);
        else
            error_set(f->err, ERR_CHANGED, path, NO_OFFSET,
                      "it is not the file that was indexed; import it again");
    }
    source_close(s);
    sqlite3_finalize(row);
}

/* --- dtypes of the tensors ----------------------------------------------------------------- */

/* llama.cpp's number for a file that is mostly of a type. */
static const struct {
    const char *dtype, *number;
} file_types[] = {
    {"float32", "0"}, {"float16", "1"},   {"q4_0", "2"},     {"q4_1", "3"},    {"q8_0", "7"},
    {"q5_0", "8"},    {"q5_1", "9"},      {"q2_k", "10"},    {"q3_k", "12"},   {"q4_k", "15"},
    {"q5_k", "17"},   {"q6_k", "18"},     {"iq2_xxs", "19"}, {"iq2_xs", "20"}, {"iq3_xxs", "23"},
    {"iq1_s", "24"},  {"iq4_nl", "25"},   {"iq3_s", "26"},   {"iq2_s", "28"},  {"iq4_xs", "30"},
    {"iq1_m", "31"},  {"bfloat16", "32"}, {"tq1_0", "36"},   {"tq2_0", "37"},  {"mxfp4", "38"},
};
#define FILE_TYPES (sizeof(file_types) / sizeof(file_types[0]))

/* The dtype of most elements of matrices; NULL: none that has a number. */
static const char *file_type(const struct export_plan *plan)
{
    uint64_t elements[FILE_TYPES] = {0}, most = 0;
    const char *number = NULL;
    for (size_t i = 0; i < plan->count; i++)
        for (size_t k = 0; k < FILE_TYPES; k++)
            if (plan->tensor[i].rank > 1 &&
                strcmp(plan->tensor[i].to.name, file_types[k].dtype) == 0)
                elements[k] += plan->tensor[i].elements;
    for (size_t k = 0; k < FILE_TYPES; k++)
        if (elements[k] > most) {
            most = elements[k];
            number = file_types[k].number;
        }
    return number;
}

/* The facts about a model's dtypes, unless the source has stated them for the same dtypes. */
static void describe_dtypes(struct gguf_facts *f, const struct export_plan *plan, bool taken)
{
    const struct kind kind = {.type = GGUF_U32};
    const char *number = file_type(plan);
    bool blocks = false, converted = false;
    for (size_t i = 0; i < plan->count; i++) {
        const struct export_tensor *t = &plan->tensor[i];
        blocks |= t->to.kind == DTYPE_BLOCK;
        converted |= t->recipe || (t->stored && t->stored->composition) ||
                     strcmp(t->from.name, t->to.name) != 0;
    }
    if (number && states(f, KEY_ARCH) && (converted || !taken))
        state(f, KEY_FILE, kind, number);
    if (blocks && !states(f, KEY_QUANT))
        state(f, KEY_QUANT, kind, QUANT_TODAY);
}

/* --- all ---------------------------------------------------------------------------------- */

/* The catalog's facts about the sources. The first `taken` facts came from GGUF files, where only the facts
 * about their origin are out of date. */
static void state_carried(struct gguf_facts *f, const struct metadata_pair *pair, size_t taken)
{
    const struct kind kind = {.type = pair->kind == METADATA_INTEGER ? integer_like(pair->value)
                                      : pair->kind == METADATA_REAL  ? GGUF_F64
                                                                     : GGUF_STRING};
    const uint64_t *known = strmap_get(&f->index, pair->key, strlen(pair->key));
    if (*pair->key && !is_own_key(pair->key, strlen(pair->key)) &&
        (!known || *known > taken || strncmp(pair->key, PROVENANCE, strlen(PROVENANCE)) == 0))
        state(f, pair->key, kind, pair->value);
}

static void put_pairs(const struct gguf_facts *f, struct text *out)
{
    for (size_t i = 0; i < f->count; i++) {
        const struct gguf_fact *fact = &f->list[i];
        put_gguf_string(out, fact->key.at, fact->key.len);
        text_le(out, fact->type, 4);
        text_add(out, fact->value.at, fact->value.len);
    }
}

/* The keys that llama.cpp cannot do without, in one line. */
static void tell_missing(const struct gguf_facts *f, const struct export_subject *subject)
{
    struct text line = {0};
    size_t missing = 0;
    if (!states(f, KEY_ARCH)) {
        text_adds(&line, "without " KEY_ARCH ", llama.cpp does not load the file; --meta " KEY_ARCH
                         "=NAME states it");
        missing = 1;
    }
    for (size_t i = 0; i < f->wanting && states(f, KEY_ARCH); i++)
        if (!states(f, f->wanted[i]))
            text_addf(
                &line, "%s%s",
                missing++ ? ", " : "llama.cpp looks for keys that are not known: ", f->wanted[i]);
    if (missing && text_str(&line))
        subject->say(subject->context, text_str(&line));
    text_release(&line);
}

/* Whether a model needs this tensor beside its own: its layers have llama.cpp's names, and it lacks the tensor. */
static bool lacks(const struct export_plan *plan, const char *name)
{
    bool layers = false;
    for (size_t i = 0; i < plan->count; i++) {
        layers |= strncmp(plan->tensor[i].name, "blk.", 4) == 0;
        if (strcmp(plan->tensor[i].name, name) == 0)
            return false;
    }
    return layers;
}

enum status gguf_describe(const struct export_subject *subject, struct arena *arena,
                          struct export_description *out, struct error *err)
{
    struct gguf_facts f = {.arena = arena, .err = err, .index = {.err = err}};
    const struct export_metadata *all = subject->metadata;
    struct text text = {0};
    for (size_t i = 0; i < subject->checkpoints && err->status == OK; i++)
        take_source(&f, subject->db, subject->checkpoint[i]);
    const size_t taken = f.count;
    if (subject->checkpoints && !taken)
        take_model(&f, subject);
    for (size_t i = 0; i < all->count && err->status == OK; i++)
        if (all->list[i].kind != METADATA_GIVEN)
            state_carried(&f, &all->list[i], taken);
    describe_dtypes(&f, subject->plan, taken > 0);
    for (size_t i = 0; i < all->count && err->status == OK; i++)
        if (all->list[i].kind == METADATA_GIVEN)
            state_given(&f, subject, &all->list[i]);
    if (err->status == OK)
        tell_missing(&f, subject);
    put_pairs(&f, &text);
    out->count = f.count;
    if (f.rope.len && lacks(subject->plan, TENSOR_ROPE)) {
        out->tensor = TENSOR_ROPE;
        out->values = f.rope;
    }
    out->bytes.len = text.len;
    out->bytes.at = (const uint8_t *)text_keep(&text, arena);
    text_release(&text);
    strmap_release(&f.index);
    return err->status;
}
