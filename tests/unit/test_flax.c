/*
 * test_flax.c - Flax trees: rows of known bytes, and pieces of chunked arrays
 * put together again.
 */
#include "catalog/data/model/step.h"
#include "importer/container/flax_tree.h"
#include "importer/job/job_run.h"
#include "tests/unit/unit.h"

extern const struct format format_flax;

extern const struct format format_t5x;

static struct batch *index_as(const struct format *format, const void *bytes, size_t len)
{
    struct error err = {.offset = NO_OFFSET};
    struct batch *batch = NULL;
    struct job_request request = {
        .format = format, .path = "/n/file", .checkpoint_path = "/n/file"};
    assert_int_equal(
        source_open_memory(request.path, (struct bytes){bytes, len}, false, &request.source, &err),
        OK);
    job_run_index(&request, &batch, &err);
    assert_non_null(batch);
    assert_int_equal(err.status != OK, batch->failed);
    return batch;
}

static struct batch *index_bytes(const void *bytes, size_t len)
{
    return index_as(&format_flax, bytes, len);
}

static void print_fact(const struct batch_meta *m, struct text *out)
{
    text_addf(out, "fact %s ", m->key);
    if (m->type == FACT_TEXT)
        text_addf(out, "'%.*s'\n", (int)m->text_len, m->text);
    else if (m->type == FACT_INTEGER)
        text_addf(out, "%lld\n", (long long)m->integer);
    else
        text_addf(out, "%g\n", m->real);
}

/* Tensors, nodes, facts and issues, a line each. */
static void print_batch(const struct batch *b, struct text *out)
{
    for (uint64_t i = 0; b->layout && i < b->layout->tensor_count; i++) {
        const struct batch_tensor *t = &b->layout->tensors[i];
        const char *codec = t->coding ? t->coding->codec : NULL;
        text_addf(out, "%s %s%s", t->name, t->kind->dtype_unknown ? "?" : t->kind->dtype,
                  t->kind->shape_text ? t->kind->shape_text : "");
        if (t->storage == STORAGE_RANGE)
            text_addf(out, " %llu+%llu", (unsigned long long)t->offset,
                      (unsigned long long)t->stored);
        text_addf(out, "%s%s\n", codec ? " " : "", codec ? codec : "");
    }
    for (uint64_t i = 0; b->layout && i < b->layout->node_count; i++)
        text_addf(out, "node %s %s\n", b->layout->nodes[i].name, b->layout->nodes[i].kind);
    for (uint64_t i = 0; i < b->meta_count; i++)
        print_fact(&b->metas[i], out);
    for (uint64_t i = 0; i < b->issue_count; i++)
        text_addf(out, "issue %s\n", b->issues[i].code);
}

#define TREE(name, bytes, want)                                                                    \
    {                                                                                              \
        name, bytes, sizeof(bytes) - 1, want                                                       \
    }
/* clang-format off */
static const struct {
    const char *name, *bytes;
    size_t len;
    const char *want;
} trees[] = {
    TREE("a float32 [2,3]",
         "\x81\xa1\x61\xc7\x26\x01\x93\x92\x02\x03\xa7" "float32" "\xc4\x18"
         "012345678901234567890123",
         "a float32[2,3] 20+24\n"),
    TREE("a root that is an array",
         "\xc7\x16\x01\x93\x91\x04\xa8" "bfloat16" "\xc4\x08" "01234567",
         " bfloat16[4] 17+8\n"),
    TREE("an array longer than its extension",
         "\x91\xc7\x10\x01\x93\x91\x04\xa8" "bfloat16" "\xc4\x08" "01",
         "issue truncated\n"),
    TREE("a root that is a scalar",
         "\xc7\x0e\x03\x93\x90\xa5" "int32" "\xc4\x04" "0123",
         " int32[] 13+4\n"),
    TREE("a scalar with a byte too many",
         "\xc7\x0f\x03\x93\x90\xa5" "int32" "\xc4\x04" "0123\0",
         "issue bad-array\n"),
    TREE("a root that is None", "\xc0", "node  null\n"),
    TREE("nothing", "", "issue truncated\n"),
    TREE("integers as keys, lists, and a name in two parts",
         "\x83\xcd\x01\x00\xc0\xff\x90\xa3" "a/b" "\x92\x80\x81\xa0\x05",
         "node 256 null\nnode -1 list\nnode a/b/0 dict\nfact a/b/1/ 5\n"),
    TREE("an empty key at the top", "\x81\xa0\x81\xa1" "a" "\xc0", "node /a null\n"),
    TREE("Python's values",
         "\x86\xa1" "a" "\xc3\xa1" "b" "\xcb\x3f\xe0\0\0\0\0\0\0\xa1" "c" "\xa2" "hi\xa1" "d" "\xcf\xff\xff\xff\xff\xff\xff\xff\xff\xa1" "e" "\xd0\x80"
         "\xa1" "f" "\xd8\x02\x92\xcb\x3f\xf0\0\0\0\0\0\0\x03\0\0\0\0\0",
         "fact a 'true'\nfact b 0.5\nfact c 'hi'\nfact d '18446744073709551615'\n"
         "fact e -128\nissue bad-number\n"),
    TREE("a complex number",
         "\x81\xa1" "f" "\xc7\x0b\x02\x92\xcb\x3f\xf0\0\0\0\0\0\0\x03",
         "fact f '[1,3]'\n"),
    TREE("int4, a byte an element",
         "\x81\xa1" "q" "\xc7\x0d\x01\x93\x91\x03\xa4" "int4" "\xc4\x03" "\1\2\3",
         "q int4[3] 16+3 unpack:4\n"),
    TREE("texts of a fixed length",
         "\x82\xa1" "u" "\xc7\x13\x01\x93\x91\x01\xa5" "str64" "\xc4\x08" "a\0\0\0b\0\0\0"
         "\xa1" "s" "\xc7\x11\x01\x93\x91\x02\xa7" "bytes16" "\xc4\x04" "abcd",
         "u string[1] 17+8 strings:U2\ns string[2] 43+4 strings:S2\n"),
    TREE("a dtype that is not known",
         "\x81\xa1" "x" "\xc7\x11\x01\x93\x91\x01\xa7" "complex" "\xc4\x04" "abcd",
         "x unknown(complex)[1] 19+4\n"),
    TREE("a negative dimension",
         "\x82\xa1" "x" "\xc7\x0f\x01\x93\x91\xff\xa5" "int32" "\xc4\x04" "abcd\xa1" "y" "\x07",
         "fact y 7\nissue bad-shape\n"),
};
/* clang-format on */

TEST(known_trees)
{
    for (size_t i = 0; i < sizeof(trees) / sizeof(trees[0]); i++) {
        struct text got = {0};
        struct batch *b = index_bytes(trees[i].bytes, trees[i].len);
        print_batch(b, &got);
        if (strcmp(text_str(&got), trees[i].want) != 0)
            print_error("%s: %s", trees[i].name, b->issue_count ? b->issues[0].message : "");
        assert_string_equal(text_str(&got), trees[i].want);
        text_release(&got);
        batch_free(b);
    }
}

/* A tree of T5X, as a lone file: two arrays in it, and one that would be in a folder. */
TEST(tree_of_t5x)
{
    static const char hex[] =
        "82a776657273696f6e03a96f7074696d697a657282a674617267657482a17784a66472697665"
        "72a47a617272a76b7673746f726582a6647269766572a466696c65a470617468a97461726765"
        "742e772fa86d6574616461746183a66368756e6b73920204aa636f6d70726573736f7282a269"
        "64a4677a6970a56c6576656c01a57368617065920404a56474797065a7666c6f61743332a162"
        "c71501939102a7666c6f61743332c4080000803f00000040a5737461746581a473746570c70e"
        "019390a5696e743332c40407000000";
    static const char want[] = "target/w float32[4,4]\n"
                               "target/b float32[2] 168+8\n"
                               "state/step int32[] 201+4\n"
                               "fact version 3\n"
                               "issue missing-array\n";
    uint8_t bytes[sizeof(hex) / 2];
    struct text got = {0};
    (void)state;
    for (size_t i = 0; i < sizeof(bytes); i++) {
        char digits[3] = {hex[2 * i], hex[2 * i + 1]};
        bytes[i] = (uint8_t)strtoul(digits, NULL, 16);
    }
    struct probe probe = {.head = {bytes, sizeof(bytes)}, .name = "t", .size = sizeof(bytes)};
    assert_true(format_t5x.probe(&probe) > format_flax.probe(&probe));
    struct batch *b = index_as(&format_t5x, bytes, sizeof(bytes));
    print_batch(b, &got);
    assert_string_equal(text_str(&got), want);
    text_release(&got);
    batch_free(b);
}

static void add_be32(struct text *out, char first, uint64_t n)
{
    text_addc(out, first);
    for (int shift = 24; shift >= 0; shift -= 8)
        text_addc(out, (char)(n >> shift));
}

/* Maps far inside each other, around an array that is long for its one head. */
TEST(deep_tree_of_t5x)
{
    struct text file = {0}, got = {0}, want = {0};
    const uint32_t bytes = 1 << 20;
    text_adds(&want, "target");
    text_adds(&file, "\x82\xA7version\x03\xA9optimizer\x81\xA6target");
    for (int i = 0; i < 60; i++) {
        text_adds(&file, "\x83\xA1x\x80\xA1y\x80\xA1z");
        text_adds(&want, "/z");
    }
    add_be32(&file, (char)0xC9, bytes + 17);
    text_adds(&file, "\x01\x93\x91");
    add_be32(&file, (char)0xCE, bytes);
    text_adds(&file, "\xA4int8");
    add_be32(&file, (char)0xC6, bytes);
    for (uint32_t i = 0; i < bytes; i++)
        text_addc(&file, 1);
    struct batch *b = index_as(&format_t5x, text_str(&file), file.len);
    print_batch(b, &got);
    text_adds(&want, " int8[1048576] ");
    assert_int_equal(b->issue_count, 0);
    assert_memory_equal(text_str(&got), text_str(&want), want.len);
    batch_free(b);
    text_release(&want);
    text_release(&got);
    text_release(&file);
}

/* --- chunked arrays --------------------------------------------------------------------- */

/* Shapes of uint32 arrays, and how many elements their chunks have. */
static const struct {
    unsigned rank;
    uint64_t shape[5], chunk;
} cuts[] = {
    {0, {0}, 1},         {1, {17}, 5},      {1, {17}, 17},         {2, {17, 19}, 25},
    {2, {3, 100}, 99},   {2, {100, 3}, 1},  {3, {4, 5, 6}, 7},     {3, {4, 5, 6}, 31},
    {3, {4, 5, 6}, 119}, {3, {1, 1, 9}, 4}, {4, {3, 1, 5, 2}, 11}, {5, {2, 3, 2, 3, 2}, 13},
    {2, {0, 4}, 1},
};

static void add_key(struct text *out, uint64_t n)
{
    char digits[24];
    int len = snprintf(digits, sizeof(digits), "%llu", (unsigned long long)n);
    text_addc(out, (char)(0xA0 + len));
    text_adds(out, digits);
}

/* A chunk: a head, and elements whose values are their numbers. */
static void add_chunk(struct text *out, uint64_t first, uint64_t count)
{
    add_be32(out, (char)0xC9, 19 + 4 * count);
    text_add(out, "\x01\x93\x91", 3);
    add_be32(out, (char)0xCE, count);
    text_adds(out, "\xA6uint32");
    add_be32(out, (char)0xC6, 4 * count);
    for (uint32_t i = (uint32_t)first; i < first + count; i++)
        text_add(out, &(uint32_t){i}, 4);
}

static void make_chunked(const uint64_t *shape, unsigned rank, uint64_t chunk, struct text *out)
{
    uint64_t elements = 1;
    text_adds(out, "\x83\xB9__msgpack_chunked_array__\xC3\xA5shape");
    text_addc(out, (char)(0x80 + rank));
    for (unsigned d = 0; d < rank; d++) {
        add_key(out, d);
        text_addc(out, (char)shape[d]);
        elements *= shape[d];
    }
    text_adds(out, "\xA6"
                   "chunks");
    uint64_t chunks = elements ? (elements + chunk - 1) / chunk : 1;
    add_be32(out, (char)0xDF, chunks);
    for (uint64_t i = 0; i < chunks; i++) {
        uint64_t left = elements - i * chunk;
        add_key(out, i);
        add_chunk(out, i * chunk, left < chunk ? left : chunk);
    }
}

/* Each element of each piece is where its value says. */
static uint64_t check_pieces(const struct batch_tensor *t, struct bytes file)
{
    struct arena arena = {0};
    struct extent_list list;
    struct error err = {.offset = NO_OFFSET};
    uint64_t seen = 0;
    const uint64_t *shape = t->kind->shape;
    assert_int_equal(extents_unpack(t->coding->extents, shape, t->kind->rank, &arena, &list, &err),
                     OK);
    for (uint64_t i = 0; i < list.count; i++) {
        const struct extent *e = &list.at[i];
        for (uint64_t k = 0; k < e->stored / 4; k++, seen++) {
            uint64_t rest = k, index = 0, stride = 1;
            for (unsigned d = t->kind->rank; d-- > 0; stride *= shape[d]) {
                index += (e->origin[d] + rest % e->shape[d]) * stride;
                rest /= e->shape[d];
            }
            assert_int_equal(rest, 0);
            assert_int_equal(load_u32le(file.at + e->offset + 4 * k), index);
        }
    }
    arena_release(&arena);
    return seen;
}

TEST(pieces)
{
    for (size_t i = 0; i < sizeof(cuts) / sizeof(cuts[0]); i++) {
        struct text file = {0};
        make_chunked(cuts[i].shape, cuts[i].rank, cuts[i].chunk, &file);
        struct batch *b = index_bytes(text_str(&file), file.len);
        print_message("case %zu%s\n", i, b->issue_count ? b->issues[0].message : "");
        assert_int_equal(b->issue_count, 0);
        assert_int_equal(b->layout->tensor_count, 1);
        const struct batch_tensor *t = &b->layout->tensors[0];
        const uint64_t elements = t->kind->elements;
        assert_int_equal(t->storage, elements ? STORAGE_PIECES : STORAGE_RANGE);
        if (elements)
            assert_int_equal(check_pieces(t, (struct bytes){(uint8_t *)file.at, file.len}),
                             elements);
        batch_free(b);
        text_release(&file);
    }
}

/* Memory goes to the chunks that exist, not to the announced ones. */
TEST(announced_chunks)
{
    struct text file = {0};
    const uint32_t zeros = 1 << 20;
    text_adds(&file, "\x83\xB9__msgpack_chunked_array__\xC3\xA5shape\x81\xA1"
                     "0\x01\xA6"
                     "chunks");
    add_be32(&file, (char)0xDF, zeros / 2);
    for (uint32_t i = 0; i < zeros; i++)
        text_addc(&file, 0);
    struct batch *b = index_bytes(text_str(&file), file.len);
    assert_int_equal(b->layout->tensor_count, 0);
    assert_string_equal(b->issues[0].code, "bad-chunks");
    assert_true(b->arena.used < zeros);
    batch_free(b);
    text_release(&file);
}

/* --- values that are kept --------------------------------------------------------------- */

TEST(long_texts)
{
    struct text file = {0};
    text_adds(&file, "\x82\xa1"
                     "a");
    add_be32(&file, (char)0xDB, 1 << 20);
    for (int i = 0; i < 1 << 20; i++)
        text_addc(&file, 'x');
    text_adds(&file, "\xa1"
                     "b");
    add_be32(&file, (char)0xDB, (1 << 20) + 1);
    for (int i = 0; i <= 1 << 20; i++)
        text_addc(&file, 'x');
    struct batch *b = index_bytes(text_str(&file), file.len);
    assert_int_equal(b->meta_count, 1);
    assert_int_equal(b->metas[0].text_len, 1 << 20);
    assert_int_equal(b->issue_count, 1);
    assert_string_equal(b->issues[0].code, "fact-left-out");
    batch_free(b);
    text_release(&file);
}

/* --- names and beginnings --------------------------------------------------------------- */

static const struct {
    const char *name;
    bool has;
    int64_t step;
} steps[] = {
    {"checkpoint_10", true, 10},
    {"checkpoint_0020", true, 20},
    {"checkpoint_-3", true, -3},
    {"checkpoint_0", true, 0},
    {"tiny.checkpoint_13", true, 13},
    {"streaming_params_7", true, 7},
    {"streaming_train_state_8", true, 8},
    {"checkpoint_0.5", false, 0},
    {"checkpoint_", false, 0},
    {"checkpoint_-", false, 0},
    {"checkpoint", false, 0},
    {"checkpoint_10x", false, 0},
    {"my_checkpoint_10", false, 0},
    {"streaming_params", false, 0},
    {"checkpoint_99999999999999999999", false, 0},
};

TEST(steps_of_names)
{
    for (size_t i = 0; i < sizeof(steps) / sizeof(steps[0]); i++) {
        int64_t step = 0;
        struct step_word run;
        print_message("%s\n", steps[i].name);
        assert_int_equal(step_of_checkpoint(steps[i].name, &step, &run), steps[i].has);
        assert_int_equal(step, steps[i].step);
    }
}

#define HEAD(name, bytes, size, bits)                                                              \
    {                                                                                              \
        name, bytes, sizeof(bytes) - 1, size, bits                                                 \
    }
static const struct {
    const char *name, *bytes;
    size_t len;
    uint64_t size;
    int bits;
} beginnings[] = {
    HEAD("an array",
         "\x81\xa1x\xc7\x11\x01\x93\x91\x01\xa7"
         "float32\xc4\x04",
         23, 64),
    HEAD("an array in the far", "\x82\xa1v\x03\xa1x", 10000, 16),
    HEAD("a whole map", "\x82\xa1v\x03\xa1x\xc0", 7, 24),
    HEAD("more after it", "\x82\xa1v\x03\xa1x\xc0", 8, 0),
    HEAD("an empty map", "\x80", 1, 24),
    HEAD("a pickle", "\x80\x02}q\0.", 6, 0),
    HEAD("a number", "\x05", 1, 0),
    HEAD("text", "\xC3\xA4 text", 7, 0),
    HEAD("another extension", "\x81\xa1x\xc7\x0f\x05", 10000, 0),
    HEAD("a key that is a list", "\x81\x90\x01", 3, 0),
    HEAD("a key that is not text", "\x81\xa2\xff\xfe\x01", 5, 0),
    HEAD("zeros after", "\x8f\x00\x00\x00", 10000, 16),
    HEAD("nothing", "", 0, 0),
};

TEST(evidence)
{
    for (size_t i = 0; i < sizeof(beginnings) / sizeof(beginnings[0]); i++) {
        struct bytes head = {(const uint8_t *)beginnings[i].bytes, beginnings[i].len};
        print_message("%s\n", beginnings[i].name);
        assert_int_equal(flax_evidence(head, beginnings[i].size), beginnings[i].bits);
    }
}

RUN_TESTS(NULL, NULL)
