/*
 * test_zarr.c - metadata of zarr arrays: how it is read, what is refused, which key means which
 * chunk.
 */
#include "catalog/base/json.h"
#include "catalog/base/text.h"
#include "importer/array/zarr_metadata.h"
#include "tests/unit/unit.h"

static void describe_level(struct text *t, const struct grid_level *level, unsigned rank)
{
    text_addc(t, ' ');
    for (unsigned d = 0; d < rank; d++)
        text_addf(t, d ? "x%llu" : "%llu", (unsigned long long)level->shape[d]);
    if (!rank)
        text_addc(t, '.');
    for (unsigned d = 0; level->order && d < rank; d++)
        text_addf(t, d ? "%u" : "@%u", level->order[d]);
    text_addf(t, "%s%s%s", level->index_first ? "f" : "", level->index_summed ? "s" : "",
              level->index_big ? "b" : "");
    if (level->codec)
        text_addf(t, "(%s)", level->codec);
}

/* Everything about an array in one line: "dtype [shape] codec; key rule; fill; levels; flags". */
static void describe(struct text *t, const struct zarr_array *a)
{
    text_addf(t, "%s [", a->dtype);
    for (unsigned d = 0; d < a->rank; d++)
        text_addf(t, d ? ",%llu" : "%llu", (unsigned long long)a->shape[d]);
    text_addf(t, "] %s", a->codec ? a->codec : "-");
    text_addf(t, " key%s%c", a->grid.prefixed ? "c" : "", a->grid.separator);
    for (size_t i = 0; i < a->grid.fill.len; i++)
        text_addf(t, i ? "%02x" : " fill %02x", a->grid.fill.at[i]);
    for (unsigned l = 0; l < a->grid.levels; l++)
        describe_level(t, &a->grid.level[l], a->rank);
    text_addf(t, "%s%s", a->absent_is_lost ? " lost" : "", a->separator_guessed ? " guessed" : "");
    if (a->unreadable)
        text_addf(t, " UNREADABLE %s", a->unreadable);
}

/* The description, "group", or "code: message". */
static char *parsed(const char *metadata, size_t len, unsigned version)
{
    struct error err = {.offset = NO_OFFSET};
    struct arena arena = {.err = &err};
    struct zarr_array a;
    struct text t = {0};
    /* A block of its own size, so that a sanitizer sees a byte too far. */
    char *exact = malloc(len ? len : 1);
    memcpy(exact, metadata, len);
    struct bytes text = {(const uint8_t *)exact, len};
    if (zarr_parse(text, version, "it", &arena, &a, &err) != OK)
        text_addf(&t, "%s: %s", error_word(&err), err.message);
    else if (a.kind == ZARR_GROUP)
        text_adds(&t, "group");
    else
        describe(&t, &a);
    arena_release(&arena);
    free(exact);
    return text_steal(&t);
}

static unsigned compare(const char *metadata, unsigned version, const char *expected)
{
    char *got = parsed(metadata, strlen(metadata), version);
    unsigned bad = strcmp(got, expected) != 0;
    if (bad)
        print_error("%s\n    is       %s\n    expected %s\n", metadata, got, expected);
    free(got);
    return bad;
}

/* --- texts: version 2 ---------------------------------------------------------------- */

#define V2(members) "{\"zarr_format\":2,\"order\":\"C\"," members "}"
/* [4,6] in [2,3], with this dtype and what follows. */
#define OF(dtype, rest)                                                                            \
    V2("\"shape\":[4,6],\"chunks\":[2,3],\"dtype\":" dtype ",\"dimension_separator\":"             \
       "\".\"," rest)
#define PLAIN(dtype)        OF(dtype, "\"compressor\":null,\"filters\":null,\"fill_value\":0")
#define FILL(dtype, fill)   OF(dtype, "\"compressor\":null,\"filters\":null,\"fill_value\":" fill)
#define PACK(dtype, packer) OF(dtype, "\"compressor\":" packer ",\"filters\":[],\"fill_value\":0")
#define FILTER(dtype, list) OF(dtype, "\"compressor\":null,\"filters\":[" list "],\"fill_value\":0")

/* --- texts: version 3 ---------------------------------------------------------------- */

#define V3(members) "{\"zarr_format\":3,\"node_type\":\"array\"," members "}"
#define REST3                                                                                      \
    "\"shape\":[4,6],\"chunk_grid\":{\"name\":\"regular\",\"configuration\":"                      \
    "{\"chunk_shape\":[2,6]}},\"chunk_key_encoding\":{\"name\":\"default\"},"
#define TYPE3(type, fill)                                                                          \
    V3(REST3 "\"data_type\":" type ",\"fill_value\":" fill                                         \
             ",\"codecs\":[{\"name\":\"bytes\",\"configuration\":"                                 \
             "{\"endian\":\"little\"}}]")
#define CODECS3(type, list)                                                                        \
    V3(REST3 "\"data_type\":" type ",\"fill_value\":0,\"codecs\":[" list "]")
#define LITTLE           "{\"name\":\"bytes\",\"configuration\":{\"endian\":\"little\"}}"
#define BIG              "{\"name\":\"bytes\",\"configuration\":{\"endian\":\"big\"}}"
#define CRC              "{\"name\":\"crc32c\"}"
#define TRANSPOSE(order) "{\"name\":\"transpose\",\"configuration\":{\"order\":" order "}}"
#define SHARD(shape, inner, index)                                                                 \
    "{\"name\":\"sharding_indexed\",\"configuration\":{\"chunk_shape\":" shape                     \
    ",\"codecs\":[" inner "],\"index_codecs\":[" index "]}}"
#define KEYS3(keys)                                                                                \
    V3("\"shape\":[4],\"chunk_grid\":{\"name\":\"regular\",\"configuration\":"                     \
       "{\"chunk_shape\":[2]}},\"chunk_key_encoding\":" keys                                       \
       ",\"data_type\":\"int8\",\"fill_value\":0,\"codecs\":[\"bytes\"]")

static const struct {
    unsigned version;
    const char *text, *expected;
} texts[] = {
#define CASE(version, text, expected) {version, text, expected},
#include "tests/unit/zarr_cases.def"
#undef CASE
};

TEST(test_cases)
{
    unsigned bad = 0;
    for (size_t i = 0; i < sizeof(texts) / sizeof(texts[0]); i++)
        bad += compare(texts[i].text, texts[i].version, texts[i].expected);
    assert_int_equal(bad, 0);
}

TEST(test_limits)
{
    struct text t = {0};
    text_adds(&t, "{\"zarr_format\":2,\"order\":\"C\",\"dtype\":\"<f4\",\"shape\":[");
    for (int i = 0; i < 255; i++)
        text_adds(&t, i ? ",1" : "1");
    text_adds(&t, "],\"chunks\":[1]}");
    assert_int_equal(compare(text_str(&t), 2, "limit: shape has more than 254 numbers"), 0);
    text_reset(&t);
    for (int i = 0; i < 80; i++)
        text_adds(&t, "{\"a\":");
    assert_int_equal(compare(text_str(&t), 3, "limit: JSON nested more than 64 deep"), 0);
    text_release(&t);
}

/* Whatever value a byte gets, there is an answer. */
TEST(test_damage)
{
    static const char text[] = CODECS3(
        "\"int32\"", TRANSPOSE("[1,0]") "," SHARD("[3,1]", BIG ",\"gzip\"", LITTLE "," CRC));
    static const char bytes[] = {0, '"', '{', '}', '[', ']', ',', '9', '-', 'n', (char)0xFF};
    char copy[sizeof(text)];
    for (size_t i = 0; i + 1 < sizeof(text); i++) {
        for (size_t k = 0; k < sizeof(bytes); k++) {
            memcpy(copy, text, sizeof(text));
            copy[i] = bytes[k];
            char *got = parsed(copy, sizeof(text) - 1, 3);
            assert_non_null(got);
            free(got);
        }
        char *got = parsed(text, i, 3);
        assert_non_null(got);
        free(got);
    }
}

/* --- keys ------------------------------------------------------------------------------- */

TEST(test_keys)
{
    static const struct {
        const char *rule; /* "." or "c/" … */
        unsigned rank;
        const char *key;
        int64_t index; /* -1: none */
    } cases[] = {
        {".", 2, "0.0", 0},    {".", 2, "1.2", 5},
        {".", 2, "2.0", -1},   {".", 2, "0.3", -1},
        {".", 2, "0.00", -1},  {".", 2, "01.0", -1},
        {".", 2, "-1.0", -1},  {".", 2, "0.+1", -1},
        {".", 2, "0", -1},     {".", 2, "0.", -1},
        {".", 2, "0.0.0", -1}, {".", 2, "0/0", -1},
        {".", 2, "0.0 ", -1},  {".", 2, "", -1},
        {".", 2, "c/0/0", -1}, {".", 2, "99999999999999999999.0", -1},
        {"/", 2, "1/2", 5},    {"/", 2, "1.2", -1},
        {"c/", 2, "c/1/2", 5}, {"c/", 2, "c/1", -1},
        {"c/", 2, "c1/2", -1}, {"c/", 2, "1/2", -1},
        {"c.", 2, "c.0.1", 1}, {".", 1, "1", 1},
        {".", 1, "2", -1},     {"c/", 0, "c", 0},
        {"c/", 0, "0", -1},    {".", 0, "0", 0},
        {".", 0, "c", -1},     {".", 0, "00", -1},
    };
    uint64_t shape[] = {4, 7}, box[] = {2, 3};
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        bool prefixed = cases[i].rule[0] == 'c';
        struct zarr_array a = {.rank = cases[i].rank, .shape = shape};
        uint64_t index = 99;
        a.grid.levels = 1;
        a.grid.level[0].shape = box;
        a.grid.prefixed = prefixed;
        a.grid.separator = cases[i].rule[prefixed];
        bool found = zarr_key_index(&a, cases[i].key, strlen(cases[i].key), &index);
        if (found != (cases[i].index >= 0) || (found && (int64_t)index != cases[i].index))
            print_error("%s rank %u: \"%s\"\n", cases[i].rule, cases[i].rank, cases[i].key);
        assert_int_equal(found, cases[i].index >= 0);
        if (found)
            assert_int_equal(index, cases[i].index);
    }
}

/* --- what else a node says -------------------------------------------------------------- */

TEST(test_consolidated)
{
    static const char v2_text[] =
        "{\"zarr_consolidated_format\":1,\"metadata\":{\".zgroup\":{},\"a/.zarray\":{\"x\":1},"
        "\"a/.zattrs\":{},\"b/c/.zarray\":[],\".zarray\":{},\"a.zarray\":{}}}";
    static const char v3_text[] =
        "{\"attributes\":{\"k\":NaN},\"consolidated_metadata\":{\"kind\":\"inline\","
        "\"metadata\":{\"a\":{\"x\":1},\"b/c\":[],\"\":{}}}}";
    for (unsigned version = 2; version <= 3; version++) {
        const char *text = version == 2 ? v2_text : v3_text;
        struct error err = {.offset = NO_OFFSET};
        struct arena arena = {.err = &err};
        struct zarr_parts parts;
        struct text got = {0};
        struct json j;
        struct bytes path, metadata;
        assert_int_equal(zarr_parts((struct bytes){(const uint8_t *)text, strlen(text)}, "it",
                                    &arena, &parts, &err),
                         OK);
        assert_int_equal(parts.attributes.len, version == 3 ? strlen("{\"k\":NaN}") : 0);
        json_init(&j, cursor_over(parts.consolidated, 0), &arena, "it", &err);
        json_next(&j);
        while (zarr_next_node(&j, version, &path, &metadata))
            text_addf(&got, "%.*s=%.*s;", (int)path.len, (const char *)path.at, (int)metadata.len,
                      (const char *)metadata.at);
        assert_string_equal(text_str(&got), "a={\"x\":1};b/c=[];={};");
        text_release(&got);
        arena_release(&arena);
    }
}

RUN_TESTS(NULL, NULL)
