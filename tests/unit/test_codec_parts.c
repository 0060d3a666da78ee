/* Steps that take elements out of blocks that hold more: sstable, cut, field, varints; and
 * the strings of a message. */

#include "catalog/base/text.h"
#include "catalog/data/codec/codec.h"
#include "catalog/data/codec/strings.h"
#include "catalog/data/kernel/crc32c.h"
#include "catalog/data/model/tensor.h"
#include "tests/unit/unit.h"

static void check_parts(const struct source *s, const char *all, size_t len)
{
    uint8_t part[64];
    struct error err = {.offset = NO_OFFSET};
    assert_int_equal(len, s->size);
    for (size_t from = 0; from <= len; from++)
        for (size_t to = from; to <= len; to++) {
            assert_int_equal(OK, source_read(s, from, part, to - from, &err));
            assert_memory_equal(all + from, part, to - from);
        }
}

#define IN(text)  text, sizeof(text) - 1
#define OUT(text) OK, text, sizeof(text) - 1
#define BAD(why)  why, NULL, 0

#define MINUS_1 "\xff\xff\xff\xff\xff\xff\xff\xff\xff\x01"

TEST(test_chains)
{
    static const struct {
        const char *chain, *in;
        size_t in_len;
        enum status status;
        const char *out;
        size_t out_len;
    } cases[] = {
        /* clang-format off */
        {"cut:1,3", IN("abcde"), OUT("bcd")},
        {"cut:0,5", IN("abcde"), OUT("abcde")},
        {"cut:5,0", IN("abcde"), OUT("")},
        {"cut:1,2|cut:1,1", IN("abcde"), OUT("c")},
        {"cut:5,1", IN("abcde"), BAD(ERR_CORRUPT)},
        /* field 1 {9: "abcd"}, field 2 {7: 1, 300} */
        {"lists:1.9.0,2.7.2", IN("\x0a\6\x4a\4abcd\x12\5\x3a\3\1\xac\2"), OUT("abcd\1\0\x2c\1")},
        {"lists:2.7.2,1.9.0", IN("\x0a\6\x4a\4abcd\x12\5\x3a\3\1\xac\2"), OUT("\1\0\x2c\1" "abcd")},
        {"lists:3.1.0", IN("\x0a\6\x4a\4abcd"), OUT("")},
        {"lists:1.9.2", IN("\x0a\4\x4a\2\1\xac"), BAD(ERR_CORRUPT)},
        {"lists:1.9.0", IN("\x0a\6\x4a\4abc"), BAD(ERR_CORRUPT)},
        {"lists:1.9", IN(""), BAD(ERR_CORRUPT)},
        {"sparse:o,c,8,1,0,1,2,8,0,1", IN("\1\0\0\0\2\0\0\0" "\1\0\0\0\0\0\0\0"),
         OUT("\0\0\0\0\0\0\0\0" "\1\0\0\0\2\0\0\0")},
        {"sparse:o,c,1,1,0,1,2,8,0,1", IN("\1\0\0\0\0\0\0\0" "\1\0\0\0\0\0\0\0"), BAD(ERR_CORRUPT)},
        /* the last index at 2^64 - 1, whose end would be 0 */
        {"sparse:o,f,4,2,0,1,2x2,0,18446744073709551614,1", IN("\0\0\0\0\0\0\0\0"), BAD(ERR_CORRUPT)},
        {"lists:1.9.0;", IN(""), BAD(ERR_CORRUPT)},
        {"lists:1.9.9", IN("\x0a\0"), BAD(ERR_CORRUPT)},
        {"cut:6,0", IN("abcde"), BAD(ERR_CORRUPT)},
        {"cut:1,18446744073709551615", IN("abcde"), BAD(ERR_CORRUPT)},
        {"cut", IN("abcde"), BAD(ERR_CORRUPT)},
        {"cut:1", IN("abcde"), BAD(ERR_CORRUPT)},
        {"cut:,1", IN("abcde"), BAD(ERR_CORRUPT)},
        {"cut:1,", IN("abcde"), BAD(ERR_CORRUPT)},
        {"cut:1,2,3", IN("abcde"), BAD(ERR_CORRUPT)},
        {"varints:1", IN("\x00\x01\x7f"), OUT("\x00\x01\x7f")},
        {"varints:2", IN("\x01\xac\x02"), OUT("\x01\x00\x2c\x01")},
        {"varints:4", IN("\x07" MINUS_1), OUT("\x07\0\0\0\xff\xff\xff\xff")},
        {"varints:4", IN("\xff\xff\xff\xff\x0f"), OUT("\xff\xff\xff\xff")},
        {"varints:8", IN(MINUS_1 "\x80\x00"), OUT("\xff\xff\xff\xff\xff\xff\xff\xff"
                                                 "\0\0\0\0\0\0\0\0")},
        {"varints:3", IN("\x01"), OUT("\1\0\0")},
        {"varints:1", IN("\x80\x02"), BAD(ERR_CORRUPT)},     /* 256 */
        {"varints:1", IN("\xff\x01"), OUT("\xff")},          /* 255 */
        {"varints:1", IN("\x80\xff\xff\xff\xff\xff\xff\xff\xff\x01"), OUT("\x80")},
        {"varints:1", IN("\xff\xfe\xff\xff\xff\xff\xff\xff\xff\x01"), BAD(ERR_CORRUPT)},
        {"varints:4", IN("\x01\x80"), BAD(ERR_CORRUPT)},
        {"varints:8", IN("\xff\xff\xff\xff\xff\xff\xff\xff\xff\x02"), BAD(ERR_CORRUPT)},
        {"varints:8", IN("\x80\x80\x80\x80\x80\x80\x80\x80\x80\x80\0"), BAD(ERR_CORRUPT)},
        {"varints:4", IN(""), OUT("")},
        {"varints:0", IN("\1"), BAD(ERR_CORRUPT)},
        {"varints:9", IN("\1"), BAD(ERR_CORRUPT)},
        {"varints", IN("\1"), BAD(ERR_CORRUPT)},
        {"field:7", IN("\x3a\x02" "ab"), OUT("ab")},
        {"field:7", IN("\x3a\x02" "ab\x38\x81\x01\x08\x05\x3a\x01" "c"), OUT("ab\x81\x01" "c")},
        {"field:5", IN("\x2d" "abcd\x2d" "efgh\x0a\x01x"), OUT("abcdefgh")},
        {"field:6", IN("\x31" "abcdefgh"), OUT("abcdefgh")},
        {"field:1", IN("\x3a\x02" "ab"), OUT("")},
        {"field:7|varints:2", IN("\x38\x05\x3a\x02\x06\x07"), OUT("\5\0\6\0\7\0")},
        {"field:7", IN("\x3a\x03" "ab"), BAD(ERR_CORRUPT)},
        {"field:7", IN("\x3a"), BAD(ERR_CORRUPT)},
        {"field:7", IN("\x3b\x3c"), BAD(ERR_CORRUPT)},       /* groups */
        {"field:7", IN("\x02\x01" "a"), BAD(ERR_CORRUPT)},   /* number 0 */
        {"field:7", IN("\x38\xff"), BAD(ERR_CORRUPT)},
        {"field:0", IN(""), BAD(ERR_CORRUPT)},
        {"field:x", IN(""), BAD(ERR_CORRUPT)},
        {"strings:F8", IN(""), BAD(ERR_UNSUPPORTED)},
        /* clang-format on */
    };
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        struct error err = {.offset = NO_OFFSET};
        struct source *s = NULL;
        uint8_t all[64];
        printf("# %zu: %s\n", i, cases[i].chain);
        enum status status =
            codec_chain_open(memory(cases[i].in, cases[i].in_len), cases[i].chain, &s, NULL, &err);
        if (status == OK && cases[i].status != OK)
            status = source_read(s, 0, all, s->size, &err);
        assert_int_equal(cases[i].status, status);
        if (cases[i].status == OK)
            check_parts(s, cases[i].out, cases[i].out_len);
        else
            assert_true(err.message[0]);
        source_close(s);
    }
}

/* Blocks get their checksum here. */
TEST(test_blocks)
{
    static const struct {
        const char *what, *chain, *content;
        size_t len;
        uint8_t type;
        enum status status;
        const char *out;
        size_t out_len;
    } cases[] = {
        /* clang-format off */
        {"raw", "sstable", IN("abc"), 0, OUT("abc")},
        {"raw, empty", "sstable", IN(""), 0, OUT("")},
        {"raw, a part", "sstable|cut:1,2", IN("abc"), 0, OUT("bc")},
        {"raw, past its end", "sstable|cut:1,3", IN("abc"), 0, BAD(ERR_CORRUPT)},
        {"nothing", "sstable", IN("\0"), 1, OUT("")},
        {"literal", "sstable", IN("\x03\x08" "abc"), 1, OUT("abc")},
        {"copy", "sstable|cut:8,2", IN("\x0a\x00" "a\x15\x01"), 1, OUT("aa")},
        {"no length", "sstable", IN(""), 1, BAD(ERR_CORRUPT)},
        {"too little", "sstable", IN("\x04\x08" "abc"), 1, BAD(ERR_CORRUPT)},
        {"too much", "sstable", IN("\x02\x08" "abc"), 1, BAD(ERR_CORRUPT)},
        {"bomb", "sstable", IN("\xff\xff\xff\xff\x0f\x08" "abc"), 1, BAD(ERR_CORRUPT)},
        {"unknown method", "sstable", IN("abc"), 2, BAD(ERR_UNSUPPORTED)},
        {"argument", "sstable:3", IN("abc"), 0, BAD(ERR_CORRUPT)},
        /* clang-format on */
    };
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        for (int damaged = 0; damaged < 2; damaged++) {
            struct error err = {.offset = NO_OFFSET};
            struct source *s = NULL;
            uint8_t block[64] = {0};
            size_t len = cases[i].len;
            printf("# %s%s\n", cases[i].what, damaged ? ", damaged" : "");
            memcpy(block, cases[i].content, len);
            block[len] = cases[i].type;
            store_u32le(block + len + 1,
                        crc32c_mask(crc32c_extend(0, block, len + 1)) ^ (unsigned)damaged);
            enum status status =
                codec_chain_open(memory(block, len + 5), cases[i].chain, &s, NULL, &err);
            if (damaged) {
                assert_int_equal(strchr(cases[i].chain, ':') == cases[i].chain + 7 ? ERR_CORRUPT
                                                                                   : ERR_CHECKSUM,
                                 status);
            } else {
                assert_int_equal(cases[i].status, status);
                if (status == OK)
                    check_parts(s, cases[i].out, cases[i].out_len);
            }
            source_close(s);
        }
    }
    struct error err = {.offset = NO_OFFSET};
    struct source *s = NULL;
    assert_int_equal(ERR_CORRUPT, codec_chain_open(memory("abcd", 4), "sstable", &s, NULL, &err));
}

/* Longer than the blocks and the marks inside. */
TEST(test_many_varints)
{
    enum { COUNT = 50021 };
    uint8_t *packed = malloc(COUNT * VARINT_MAX), *out = malloc(COUNT * 8);
    struct error err = {.offset = NO_OFFSET};
    struct source *s = NULL;
    size_t len = 0;
    for (uint64_t i = 0; i < COUNT; i++)
        len += varint_put(packed + len, i * i * i * i * i % 999999999989);
    assert_int_equal(OK, codec_chain_open(memory(packed, len), "varints:8", &s, NULL, &err));
    assert_int_equal(COUNT * 8, s->size);
    assert_int_equal(OK, source_read(s, 0, out, COUNT * 8, &err));
    for (uint64_t i = 0; i < COUNT; i++)
        assert_true(load_u64le(out + i * 8) == i * i * i * i * i % 999999999989);
    for (size_t at = 0; at + 100 < COUNT * 8; at += 4099) {
        uint8_t part[100];
        assert_int_equal(OK, source_read(s, at, part, sizeof(part), &err));
        assert_memory_equal(out + at, part, sizeof(part));
    }
    source_close(s);
    free(packed);
    free(out);
}

TEST(test_field_strings)
{
    static const struct {
        const char *what, *in;
        size_t len;
        uint64_t count;
        enum status status;
    } cases[] = {
        /* clang-format off */
        {"none", IN(""), 0, OK},
        {"one", IN("\x42\x02" "ab"), 1, OK},
        {"others between", IN("\x08\x07\x42\x00\x3a\x01z\x42\x03" "cde"), 2, OK},
        {"too few", IN("\x42\x02" "ab"), 2, ERR_CORRUPT},
        {"too many", IN("\x42\x00\x42\x00"), 1, ERR_CORRUPT},
        {"cut short", IN("\x42\x03" "ab"), 1, ERR_CORRUPT},
        {"no lengths", IN("\x40\x03"), 1, ERR_CORRUPT},
        {"more than bytes", IN("\x42\x00"), 1 << 20, ERR_CORRUPT},
        /* clang-format on */
    };
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        struct error err = {.offset = NO_OFFSET};
        struct strings *t = NULL;
        printf("# %s\n", cases[i].what);
        assert_int_equal(cases[i].status, strings_open(memory(cases[i].in, cases[i].len),
                                                       "strings:F8", cases[i].count, &t, &err));
        strings_close(t);
    }
}

TEST(test_many_field_strings)
{
    enum { COUNT = 3001 };
    uint8_t *message = malloc(COUNT * 40);
    struct error err = {.offset = NO_OFFSET};
    struct strings *t = NULL;
    struct bytes got;
    size_t len = 0;
    for (size_t i = 0; i < COUNT; i++) {
        message[len++] = 0x42;
        message[len++] = (uint8_t)(i % 30);
        memset(message + len, (int)(i % 251), i % 30);
        len += i % 30;
    }
    assert_int_equal(OK,
                     strings_open(memory(message, len), "sstable|cut|strings:F8", COUNT, &t, &err));
    for (uint64_t n = 0; n < 2 * COUNT; n++) {
        uint64_t i = n < COUNT ? n : n * 977 % COUNT;
        assert_int_equal(OK, strings_at(t, i, &got, &err));
        assert_int_equal(i % 30, got.len);
        for (size_t b = 0; b < got.len; b++)
            assert_int_equal(i % 251, got.at[b]);
    }
    assert_int_equal(ERR_ARGUMENT, strings_at(t, COUNT, &got, &err));
    strings_close(t);
    free(message);
}

static uint8_t changing[40 * 30];

static enum status read_changing(const struct source *s, uint64_t offset, void *dst, size_t len,
                                 struct error *err)
{
    (void)s;
    (void)err;
    memcpy(dst, changing + offset, len);
    return OK;
}

/* A message that has lost a string since its strings were counted. */
TEST(test_lost_field_string)
{
    static const struct source_ops ops = {.read_at = read_changing};
    struct source *s = calloc(1, sizeof(*s));
    struct error err = {.offset = NO_OFFSET};
    struct strings *t = NULL;
    struct bytes got;
    for (size_t i = 0; i < sizeof(changing); i += 30)
        memcpy(changing + i, "\x42\x1c", 2);
    *s = (struct source){.ops = &ops, .size = sizeof(changing), .name = "changing"};
    assert_int_equal(OK, strings_open(s, "strings:F8", 40, &t, &err));
    assert_int_equal(OK, strings_at(t, 39, &got, &err));
    assert_int_equal(28, got.len);
    changing[30] = 0x4a;
    assert_int_equal(OK, strings_at(t, 0, &got, &err));
    assert_int_equal(ERR_CHANGED, strings_at(t, 39, &got, &err));
    strings_close(t);
}

/* Each extent has its own numbers in the tensor's chain. */
TEST(test_cuts)
{
    static const struct {
        const char *chain, *filled;
    } cases[] = {
        {NULL, NULL},
        {"cut", "cut:7,300"},
        {"cut:1,2|cutter|cut", "cut:1,2|cutter|cut:7,300"},
    };
    struct extent e = {.cut_at = 7, .cut_len = 300};
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        struct stored_tensor t = {.codec = cases[i].chain, .checkpoint = "test"};
        struct error err = {.offset = NO_OFFSET};
        char filled[CHAIN_BYTES];
        const char *chain;
        printf("# %s\n", cases[i].chain ? cases[i].chain : "(none)");
        assert_int_equal(OK, extent_chain(&t, &e, filled, &chain, &err));
        if (cases[i].filled)
            assert_string_equal(cases[i].filled, chain);
        else
            assert_null(chain);
    }
    char longest[CHAIN_BYTES + 8] = "", filled[CHAIN_BYTES];
    memset(longest, 'x', CHAIN_BYTES);
    memcpy(longest + CHAIN_BYTES - 6, "|cut", 5);
    struct stored_tensor t = {.codec = longest, .checkpoint = "test"};
    struct error err = {.offset = NO_OFFSET};
    const char *chain;
    assert_int_equal(ERR_CORRUPT, extent_chain(&t, &e, filled, &chain, &err));
}

/* A run's own steps, and the tensor's steps for the elements. */
TEST(test_own_chains)
{
    static const struct {
        const char *tensor, *own, *chain;
    } cases[] = {
        {NULL, NULL, NULL},
        {NULL, "", NULL},
        {NULL, "swap:2", "swap:2"},
        {"zlib:8", NULL, "zlib:8"},
        {"zlib:8", "", NULL},
        {"zlib:8|unpack:4", "", "unpack:4"},
        {"unpack:4", "zlib:8", "zlib:8|unpack:4"},
        {"zlib:8|strings:S2", "skip:1|bz2:8", "skip:1|bz2:8|strings:S2"},
        {"unpack:4|swap:2", "skip:1", "skip:1"},
        {"zlib:9", "cut|swap:2", "cut:7,300|swap:2"},
        {"cut|unpack:4", "skip:1|cut", "skip:1|cut:7,300|unpack:4"},
        {"cut|unpack:4", "skip:1", "skip:1|unpack:4"},
    };
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        struct extent e = {.cut_at = 7, .cut_len = 300, .codec = cases[i].own};
        struct stored_tensor t = {.codec = cases[i].tensor, .checkpoint = "test"};
        struct error err = {.offset = NO_OFFSET};
        char filled[CHAIN_BYTES];
        const char *chain;
        printf("# %zu\n", i);
        assert_int_equal(OK, extent_chain(&t, &e, filled, &chain, &err));
        if (cases[i].chain)
            assert_string_equal(cases[i].chain, chain);
        else
            assert_null(chain);
    }
}

TEST(test_packed_cuts)
{
    uint64_t origin[] = {0, 2}, shape[] = {3, 4};
    struct extent list[] = {
        {.file = 0, .offset = 100, .stored = 50, .cut_at = 1, .cut_len = 2},
        {.file = 1, .offset = 9, .stored = 5, .cut_at = 1u << 20, .cut_len = 0},
    };
    struct text packed = {0};
    struct arena arena = {0};
    struct extent_list out;
    struct error err = {.offset = NO_OFFSET};
    for (size_t i = 0; i < 2; i++) {
        list[i].origin = origin;
        list[i].shape = shape;
    }
    assert_true(extents_pack(&packed, list, 2, 2, 0, EXTENTS_BOXES | EXTENTS_CUTS));
    assert_int_equal(OK, extents_unpack((struct bytes){(uint8_t *)packed.at, packed.len}, shape, 2,
                                        &arena, &out, &err));
    for (size_t i = 0; i < 2; i++) {
        assert_int_equal(list[i].offset, out.at[i].offset);
        assert_int_equal(list[i].cut_at, out.at[i].cut_at);
        assert_int_equal(list[i].cut_len, out.at[i].cut_len);
        assert_int_equal(4, out.at[i].shape[1]);
    }
    text_release(&packed);
    arena_release(&arena);
}

/* Extents with codecs and strides of their own beside one without; cut anywhere they are
 * refused. */
TEST(test_packed_own)
{
    uint64_t origin[] = {0, 2}, shape[] = {3, 4};
    int64_t strides[] = {-1, INT64_MAX};
    struct extent list[] = {
        {.offset = 100, .stored = 50, .codec = "swap:2", .strides = strides},
        {.file = 1, .offset = 9, .stored = 5},
        {.offset = 9, .stored = 5, .codec = ""},
        {.offset = 9, .stored = 5, .codec = "swap:2"},
    };
    struct text packed = {0};
    struct arena arena = {0};
    struct extent_list out;
    struct error err = {.offset = NO_OFFSET};
    for (size_t i = 0; i < 4; i++) {
        list[i].origin = origin;
        list[i].shape = shape;
    }
    assert_true(extents_pack(&packed, list, 4, 2, 0, EXTENTS_BOXES));
    assert_int_equal(OK, extents_unpack((struct bytes){(uint8_t *)packed.at, packed.len}, shape, 2,
                                        &arena, &out, &err));
    assert_string_equal("swap:2", out.at[0].codec);
    assert_null(out.at[1].codec);
    assert_string_equal("", out.at[2].codec);
    assert_string_equal("swap:2", out.at[3].codec);
    assert_memory_equal(strides, out.at[0].strides, sizeof(strides));
    assert_null(out.at[1].strides);
    for (size_t i = 0; i < 4; i++)
        assert_int_equal(list[i].offset, out.at[i].offset);
    for (size_t len = 0; len < packed.len; len++)
        assert_int_equal(ERR_CORRUPT, extents_unpack((struct bytes){(uint8_t *)packed.at, len},
                                                     shape, 2, &arena, &out, &err));
    text_release(&packed);
    arena_release(&arena);
}

RUN_TESTS(NULL, NULL)
