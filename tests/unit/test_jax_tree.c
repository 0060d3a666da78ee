/*
 * Trees of JAX's pytree serialisation, printed one leaf per line:
 *
 *   NAME KEY DTYPE[SHAPE]    an array      NAME KEY TYPE    another leaf
 *   NAME (KIND)              a node without children
 */
#include "catalog/base/text.h"
#include "catalog/data/model/tensor.h"
#include "importer/format/orbax/jax_tree.h"
#include "tests/unit/unit.h"

#define COUNT(a) (sizeof(a) / sizeof((a)[0]))

static enum status parse(struct bytes json, struct text *out, struct error *err)
{
    struct arena arena = {.err = err};
    struct jax_tree tree = {0};
    jax_tree_parse(json, "t", &arena, &tree, err);
    for (uint64_t i = 0; i < tree.count; i++) {
        const struct jax_leaf *leaf = &tree.leaves[i];
        text_add(out, leaf->name, leaf->len);
        if (leaf->empty) {
            text_addf(out, " (%s)\n", leaf->empty);
            continue;
        }
        text_addf(out, " %s %s", leaf->key, leaf->dtype ? leaf->dtype : leaf->type);
        if (leaf->dtype)
            shape_print(out, leaf->shape, leaf->rank);
        assert_int_equal(leaf->array, leaf->dtype || strcmp(leaf->key, leaf->type) == 0);
        text_addc(out, '\n');
    }
    arena_release(&arena);
    return err->status;
}

static void expect(struct bytes json, enum status status, const char *want)
{
    struct text got = {0};
    struct error err = {.offset = NO_OFFSET};
    enum status is = parse(json, &got, &err);
    if (is != status)
        print_message("status %s: %s\n", status_name(is), err.message);
    assert_int_equal(is, status);
    assert_true(is == OK || err.message[0]);
    assert_string_equal(text_str(&got), want);
    text_release(&got);
}

static struct bytes bytes_of(const char *s)
{
    return (struct bytes){(const uint8_t *)s, strlen(s)};
}

/* --- FlatBuffers ------------------------------------------------------------------------ */

struct spec {
    const char *key; /* in the dict above */
    int kind;
    const struct spec *children;
    size_t count;
};

/* Make the distance at `at` lead to the end of the bytes so far. */
static void patch(struct text *out, size_t at)
{
    store_u32le(out->at + at, (uint32_t)(out->len - at));
}

/* A vector of distances; returns where the first is. */
static size_t put_vector(struct text *out, size_t field, size_t count)
{
    patch(out, field);
    put_u32(out, (uint32_t)count);
    size_t first = out->len;
    for (size_t i = 0; i < count; i++)
        put_u32(out, 0);
    return first;
}

#define VTABLE_BYTES 10

/* `at` is the distance to it. A vtable, then the table: kind, children, names. */
static void put_node(struct text *out, size_t at, const struct spec *s)
{
    static const uint8_t vtable[VTABLE_BYTES] = {VTABLE_BYTES, 0, 16, 0, 4, 0, 8, 0, 12, 0};
    text_add(out, vtable, sizeof(vtable));
    patch(out, at);
    put_u32(out, sizeof(vtable));
    put_u32(out, (uint32_t)s->kind);
    size_t fields = out->len;
    put_u32(out, 0);
    put_u32(out, 0);
    size_t children = put_vector(out, fields, s->count);
    size_t names = put_vector(out, fields + 4, s->kind == 4 ? s->count : 0);
    for (size_t i = 0; i < s->count; i++) {
        if (s->kind == 4) {
            patch(out, names + 4 * i);
            put_u32(out, (uint32_t)strlen(s->children[i].key));
            text_adds(out, s->children[i].key);
        }
        put_node(out, children + 4 * i, &s->children[i]);
    }
}

static void put_base64(struct text *out, struct bytes in)
{
    static const char digits[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
    for (size_t i = 0; i < in.len; i += 3) {
        uint32_t word = (uint32_t)in.at[i] << 16;
        word |= i + 1 < in.len ? (uint32_t)in.at[i + 1] << 8 : 0;
        word |= i + 2 < in.len ? in.at[i + 2] : 0;
        text_addc(out, digits[word >> 18]);
        text_addc(out, digits[word >> 12 & 63]);
        text_addc(out, i + 1 < in.len ? digits[word >> 6 & 63] : '=');
        text_addc(out, i + 2 < in.len ? digits[word & 63] : '=');
    }
}

/* A file of a FlatBuffer and a list of leaves. */
static void put_file(struct text *out, struct bytes flat, const char *ids)
{
    text_adds(out, "{\"__jax_pytreedef_repr\": \"");
    put_base64(out, flat);
    text_addf(out, "\", \"__jax_leaf_ids\": %s}", ids);
}

static void build(struct text *flat, const struct spec *root)
{
    put_u32(flat, 0);
    put_node(flat, 0, root);
}

#define NODE(key, kind, list)                                                                      \
    {                                                                                              \
        key, kind, list, COUNT(list)                                                               \
    }
#define LEAF(key)                                                                                  \
    {                                                                                              \
        key, 0, NULL, 0                                                                            \
    }

/* clang-format off */
static const struct spec pair[] = {LEAF("kernel"), LEAF("bias")};
static const struct spec trained[] = {{NULL, 1, NULL, 0}, {NULL, 2, NULL, 0}, {NULL, 5, NULL, 0},
                                    {NULL, 4, NULL, 0}, LEAF(NULL)};
static const struct spec top[] = {NODE("a/b", 4, pair), NODE("opt", 2, trained), LEAF("")};
static const struct spec root = {NULL, 4, top, COUNT(top)};
/* clang-format on */

#define IDS                                                                                        \
    "[\"Array(bfloat16[5])\", \"Array(int32[])\", \"Array(float32[4, 3])\", "                      \
    "\"Array(float8_e4m3fn[0,1])\"]"
#define LISTED                                                                                     \
    "a/b/kernel 0 bfloat16[5]\na/b/bias 1 int32[]\nopt/0 (null)\nopt/1 (list)\n"                   \
    "opt/2 (list)\nopt/3 (dict)\nopt/4 2 float32[4,3]\n 3 float8_e4m3fn[0,1]\n"

TEST(flat_buffers)
{
    struct text flat = {0}, file = {0};
    build(&flat, &root);
    put_file(&file, text_bytes(&flat), IDS);
    expect(text_bytes(&file), OK, LISTED);
    text_release(&file);
    text_release(&flat);
}

TEST(root_alone)
{
    /* clang-format off */
    static const struct {
        struct spec root;
        const char *ids, *want;
    } cases[] = {
        {LEAF(NULL), "[\"Array(int8[2])\"]", " 0 int8[2]\n"},
        {{NULL, 1, NULL, 0}, "[]", " (null)\n"},
        {{NULL, 4, NULL, 0}, "[]", " (dict)\n"},
    };
    /* clang-format on */
    for (size_t i = 0; i < COUNT(cases); i++) {
        struct text flat = {0}, file = {0};
        build(&flat, &cases[i].root);
        put_file(&file, text_bytes(&flat), cases[i].ids);
        expect(text_bytes(&file), OK, cases[i].want);
        text_release(&file);
        text_release(&flat);
    }
}

/* No byte of a FlatBuffer may lead outside. */
TEST(flat_damage)
{
    struct text flat = {0};
    build(&flat, &root);
    for (size_t i = 0; i < flat.len * 8; i++) {
        struct text file = {0}, got = {0};
        struct error err = {.offset = NO_OFFSET};
        flat.at[i / 8] ^= (char)(1 << i % 8);
        put_file(&file, text_bytes(&flat), IDS);
        parse(text_bytes(&file), &got, &err);
        flat.at[i / 8] ^= (char)(1 << i % 8);
        text_release(&file);
        text_release(&got);
    }
    for (size_t len = 0; len < flat.len; len++) {
        struct text file = {0}, got = {0};
        struct error err = {.offset = NO_OFFSET};
        put_file(&file, (struct bytes){(const uint8_t *)flat.at, len}, IDS);
        assert_int_not_equal(parse(text_bytes(&file), &got, &err), OK);
        text_release(&file);
        text_release(&got);
    }
    text_release(&flat);
}

/* A list of `count` children that are all one table, `levels` times. */
static void put_shared(struct text *flat, unsigned levels, unsigned count)
{
    struct spec list = {NULL, 3, NULL, 0};
    struct spec leaf = LEAF(NULL);
    put_u32(flat, 0);
    size_t at = 0;
    for (unsigned i = 0; i < levels; i++) {
        put_node(flat, at, &list);
        size_t field = flat->len - 16; /* children; then names, and two empty vectors */
        at = put_vector(flat, field, count);
        for (unsigned k = 1; k < count; k++, at += 4) /* to the next table, as the last */
            store_u32le(flat->at + at, (uint32_t)(flat->len + VTABLE_BYTES - at));
    }
    put_node(flat, at, &leaf);
}

TEST(shared_nodes)
{
    struct text flat = {0}, file = {0};
    put_shared(&flat, 50, 1);
    put_file(&file, text_bytes(&flat), "[\"Array(int8[2])\"]");
    struct text got = {0};
    struct error err = {.offset = NO_OFFSET};
    assert_int_equal(parse(text_bytes(&file), &got, &err), OK);
    text_release(&got);
    text_reset(&flat);
    text_reset(&file);
    put_shared(&flat, 70, 1);
    put_file(&file, text_bytes(&flat), "[\"Array(int8[2])\"]");
    expect(text_bytes(&file), ERR_LIMIT, "");
    text_reset(&flat);
    text_reset(&file);
    put_shared(&flat, 40, 2); /* 2^40 leaves */
    put_file(&file, text_bytes(&flat), "[\"Array(int8[2])\"]");
    expect(text_bytes(&file), ERR_CORRUPT, "");
    text_release(&file);
    text_release(&flat);
}

/* --- JSON ------------------------------------------------------------------------------- */

#define FILE_OF(tree, ids) "{\"__jax_pytreedef_repr\": " tree ", \"__jax_leaf_ids\": " ids "}"
#define DICT(keys, children)                                                                       \
    "{\"name\": \"builtins.dict\", \"node_aux_data\": " keys                                       \
    ", \"node_type\": \"node\", \"children\": [" children "]}"
#define LIST(children)                                                                             \
    "{\"name\": \"builtins.list\", \"node_aux_data\": null, \"node_type\": \"node\", "             \
    "\"children\": [" children "]}"
#define JSON_LEAF "{\"node_type\": \"leaf\", \"leaf_id\": 0}"
#define EMPTY     "AAAAAA=="

TEST(json_trees)
{
    /* clang-format off */
    static const struct {
        const char *name, *json;
        enum status status;
        const char *want;
    } cases[] = {
        {"a leaf", FILE_OF(JSON_LEAF, "[\"Array[[2, 3], float32] -> 0\"]"), OK,
         " 0 float32[2,3]\n"},
        {"a dict",
         FILE_OF(DICT("[\"b\", \"w\"]", LIST(JSON_LEAF "," JSON_LEAF) "," JSON_LEAF),
                 "[\"Array[[], int32] -> 0\", \"int -> 1\", \"null -> 2\"]"),
         OK, "b/0 0 int32[]\nb/1 1 int\nw 2 null\n"},
        {"keys in a pair", FILE_OF(DICT("[null, [\"x\", 7]]", JSON_LEAF "," JSON_LEAF),
                                   "[\"int -> 0\", \"Array[[1], bool] -> 10\"]"),
         OK, "x 0 int\n7 10 bool[1]\n"},
        {"fewer keys than children", FILE_OF(DICT("[\"x\"]", JSON_LEAF "," JSON_LEAF), "[0, 1]"),
         OK, "x 0 0\n1 1 1\n"},
        {"null", FILE_OF(LIST(JSON_LEAF "," JSON_LEAF), "[null, \"Array(int8[])\"]"), OK,
         "0 0 null\n1 1 int8[]\n"},
        {"numbers as texts", FILE_OF(JSON_LEAF, "[\"12\"]"), OK, " 12 12\n"},
        {"empty nodes", FILE_OF(LIST(LIST("") "," DICT("[]", "")), "[]"), OK,
         "0 (list)\n1 (dict)\n"},
        {"none", FILE_OF("{\"name\": \"builtins.NoneType\", \"node_aux_data\": [null, null], "
                         "\"node_type\": \"static_node\", \"children\": []}", "[]"),
         OK, " (null)\n"},
        {"another member", "{\"__jax_leaf_count\": 1, \"__jax_leaf_ids\": [0], "
                           "\"__jax_pytreedef_repr\": " JSON_LEAF "}",
         OK, " 0 0\n"},
        {"an aux that is an object", FILE_OF(DICT("{\"a\": [1]}", JSON_LEAF), "[0]"), OK,
         "0 0 0\n"},
        {"nothing", "", ERR_CORRUPT, ""},
        {"no object", "[]", ERR_CORRUPT, ""},
        {"no tree", "{\"__jax_leaf_ids\": []}", ERR_CORRUPT, ""},
        {"no leaves", "{\"__jax_pytreedef_repr\": " JSON_LEAF "}", ERR_CORRUPT, ""},
        {"a tree that is a number", FILE_OF("7", "[]"), ERR_CORRUPT, ""},
        {"fewer leaves", FILE_OF(JSON_LEAF, "[]"), ERR_CORRUPT, ""},
        {"more leaves", FILE_OF(JSON_LEAF, "[0, 1]"), ERR_CORRUPT, ""},
        {"a child that is a number", FILE_OF(LIST("7"), "[]"), ERR_CORRUPT, ""},
        {"a leaf that is a list", FILE_OF(JSON_LEAF, "[[]]"), ERR_CORRUPT, ""},
        {"a type with NUL", FILE_OF(JSON_LEAF, "[\"int\\u0000 -> 1\"]"), ERR_CORRUPT, ""},
        {"a shape that is none", FILE_OF(JSON_LEAF, "[\"Array(int8[-1])\"]"), ERR_CORRUPT, ""},
        {"half a shape", FILE_OF(JSON_LEAF, "[\"Array(int8[1\"]"), ERR_CORRUPT, ""},
        {"no shape", FILE_OF(JSON_LEAF, "[\"Array(\"]"), ERR_CORRUPT, ""},
        {"half an old shape", FILE_OF(JSON_LEAF, "[\"Array[[1\"]"), ERR_CORRUPT, ""},
        {"no base64", FILE_OF("\"abc\"", "[]"), ERR_CORRUPT, ""},
        {"an empty FlatBuffer", FILE_OF("\"\"", "[]"), ERR_CORRUPT, ""},
        {"a FlatBuffer of zeros", FILE_OF("\"" EMPTY "\"", "[]"), ERR_CORRUPT, ""},
        {"text after", FILE_OF(JSON_LEAF, "[0]") "x", ERR_CORRUPT, ""},
    };
    /* clang-format on */
    for (size_t i = 0; i < COUNT(cases); i++) {
        print_message("%s\n", cases[i].name);
        expect(bytes_of(cases[i].json), cases[i].status, cases[i].want);
    }
}

TEST(json_cut)
{
    const char *whole = FILE_OF(DICT("[null, [\"x\", 7]]", LIST(JSON_LEAF) "," JSON_LEAF),
                                "[\"int -> 0\", \"Array[[1], bool] -> 1\"]");
    for (size_t len = 0; len < strlen(whole); len++) {
        struct text got = {0};
        struct error err = {.offset = NO_OFFSET};
        assert_int_not_equal(parse((struct bytes){(const uint8_t *)whole, len}, &got, &err), OK);
        text_release(&got);
    }
}

RUN_TESTS(NULL, NULL)
