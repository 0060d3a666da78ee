#include <zlib.h>

#include "catalog/data/codec/codec.h"
#include "catalog/data/codec/strings.h"
#include "catalog/data/kernel/crc32c.h"
#include "tests/unit/unit.h"

/* Read every part of `s` and compare it with the expected whole. */
static void check_parts(const struct source *s, const uint8_t *all, size_t len)
{
    uint8_t part[64];
    struct error err = {.offset = NO_OFFSET};
    assert_int_equal(len, s->size);
    for (size_t from = 0; from <= len; from++)
        for (size_t to = from; to <= len && to - from <= sizeof(part); to++) {
            assert_int_equal(OK, source_read(s, from, part, to - from, &err));
            assert_memory_equal(all + from, part, to - from);
        }
}

TEST(test_chains)
{
    static const struct {
        const char *chain, *in;
        size_t in_len;
        enum status status;
        const char *out;
        size_t out_len;
    } cases[] = {
        {NULL, "abc", 3, OK, "abc", 3},
        {"", "abc", 3, OK, "abc", 3},
        {"skip:0", "abc", 3, OK, "abc", 3},
        {"skip:3", "abc", 3, OK, "", 0},
        {"skip:1|skip:1", "abc", 3, OK, "c", 1},
        {"skip:4", "abc", 3, ERR_CORRUPT, NULL, 0},
        {"skip", "abc", 3, ERR_CORRUPT, NULL, 0},
        {"skip:", "abc", 3, ERR_CORRUPT, NULL, 0},
        {"skip:1x", "abc", 3, ERR_CORRUPT, NULL, 0},
        {"skip:-1", "abc", 3, ERR_CORRUPT, NULL, 0},
        {"skip:99999999999999999999999", "abc", 3, ERR_CORRUPT, NULL, 0},
        {"swap:2", "abcdef", 6, OK, "badcfe", 6},
        {"swap:4", "abcdefgh", 8, OK, "dcbahgfe", 8},
        {"swap:8", "abcdefgh", 8, OK, "hgfedcba", 8},
        {"swap:16", "abcdefghijklmnop", 16, OK, "ponmlkjihgfedcba", 16},
        {"swap:3", "abcdef", 6, OK, "cbafed", 6},
        {"bits:i2,12,0", "\xff\x0f\x01\x70", 4, OK, "\xff\xff\x01\x00", 4},
        {"bits:i2,12,4", "\xf7\xff\x10\x80\x1f\x7f", 6, OK, "\xff\xff\x01\xf8\xf1\x07", 6},
        {"bits:u1,3,1", "\xff\x0e\x01", 3, OK, "\x07\x07\x00", 3},
        {"bits:i8,64,0", "\xff\1\2\3\4\5\6\x87", 8, OK, "\xff\1\2\3\4\5\6\x87", 8},
        {"bits:i2,12,0", "abc", 3, ERR_CORRUPT, NULL, 0},
        {"bits:i2,12,5", "ab", 2, ERR_CORRUPT, NULL, 0},
        {"bits:u4,0,0", "abcd", 4, ERR_CORRUPT, NULL, 0},
        {"skip:2|swap:2", "abcdef", 6, OK, "dcfe", 4},
        {"swap:4", "abcdef", 6, ERR_CORRUPT, NULL, 0},
        {"swap:1", "ab", 2, ERR_CORRUPT, NULL, 0},
        {"swap:17", "ab", 2, ERR_CORRUPT, NULL, 0},
        {"member:128", "abc", 3, OK, "abc", 3},
        {"member:x", "abc", 3, ERR_CORRUPT, NULL, 0},
        {"unpack:4", "\x01\x02\x03", 3, OK, "\x21\x03", 2},
        {"unpack:4", "\xf1\xf2", 2, OK, "\x21", 1},
        {"unpack:2", "\x03\x00\x01\x02\x03", 5, OK, "\x93\x03", 2},
        {"unpack:1", "\1\0\0\0\0\0\0\1\1", 9, OK, "\x81\x01", 2},
        {"unpack:6", "\x3f\x00\x3f\x01", 4, OK, "\x3f\xf0\x07", 3},
        {"unpack:8", "ab", 2, ERR_CORRUPT, NULL, 0},
        {"unpack:0", "ab", 2, ERR_CORRUPT, NULL, 0},
        {"nosuch", "ab", 2, ERR_UNSUPPORTED, NULL, 0},
        {"|skip:1", "ab", 2, ERR_UNSUPPORTED, NULL, 0},
        {"strings:tf", "ab", 2, ERR_UNSUPPORTED, NULL, 0},
        {"deflate:5", "\x03\x00", 2, ERR_CORRUPT, NULL, 0},
        {"deflate:99999999", "\x03\x00", 2, ERR_CORRUPT, NULL, 0},
        {"aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa:1",
         "ab", 2, ERR_UNSUPPORTED, NULL, 0},
    };
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        struct error err = {.offset = NO_OFFSET};
        struct source *s = NULL;
        uint8_t byte;
        printf("# %s\n", cases[i].chain ? cases[i].chain : "(none)");
        enum status status =
            codec_chain_open(memory(cases[i].in, cases[i].in_len), cases[i].chain, &s, NULL, &err);
        if (status == OK && cases[i].status != OK && s->size)
            status = source_read(s, s->size - 1, &byte, 1, &err);
        assert_int_equal(cases[i].status, status);
        if (cases[i].status == OK)
            check_parts(s, (const uint8_t *)cases[i].out, cases[i].out_len);
        else
            assert_true(err.message[0]);
        source_close(s);
    }
}

/* Longer than the buffers inside, and not a multiple of their size. */
TEST(test_long)
{
    enum { LEN = 300007 * 8 };
    uint8_t *in = malloc(LEN), *out = malloc(LEN);
    struct error err = {.offset = NO_OFFSET};
    struct source *s = NULL;
    for (size_t i = 0; i < LEN; i++)
        in[i] = (uint8_t)(i * 2654435761u >> 13);
    assert_int_equal(OK, codec_chain_open(memory(in, LEN), "swap:8|swap:8", &s, NULL, &err));
    assert_int_equal(OK, source_read(s, 3, out, LEN - 5, &err));
    assert_memory_equal(in + 3, out, LEN - 5);
    source_close(s);
    assert_int_equal(OK, codec_chain_open(memory(in, LEN), "unpack:3", &s, NULL, &err));
    assert_int_equal((LEN * UINT64_C(3) + 7) / 8, s->size);
    assert_int_equal(OK, source_read(s, 1, out, s->size - 1, &err));
    for (size_t i = 3; i < LEN; i++) { /* element i is at bits 3i .. 3i + 2 */
        uint64_t bit = i * 3 - 8;
        unsigned two = out[bit / 8] | (bit / 8 + 1 < s->size - 1 ? out[bit / 8 + 1] << 8 : 0);
        assert_int_equal(in[i] & 7, two >> bit % 8 & 7);
    }
    source_close(s);
    free(in);
    free(out);
}

/* --- deflate ---------------------------------------------------------------------------- */

static uint8_t *deflated(const void *in, size_t len, size_t *out_len)
{
    z_stream z = {0};
    assert_int_equal(Z_OK, deflateInit2(&z, 6, Z_DEFLATED, -15, 8, Z_DEFAULT_STRATEGY));
    uLong most = deflateBound(&z, len);
    uint8_t *out = malloc(most);
    z.next_in = (Bytef *)(uintptr_t)in;
    z.avail_in = (uInt)len;
    z.next_out = out;
    z.avail_out = (uInt)most;
    assert_int_equal(Z_STREAM_END, deflate(&z, Z_FINISH));
    *out_len = z.total_out;
    deflateEnd(&z);
    return out;
}

static enum status open_deflate(const uint8_t *in, size_t len, uint64_t declared,
                                struct source **out, struct error *err)
{
    char chain[40];
    snprintf(chain, sizeof(chain), "deflate:%llu", (unsigned long long)declared);
    return codec_chain_open(memory(in, len), chain, out, NULL, err);
}

enum { PLAIN = 500000 };

static uint8_t *plain_bytes(void)
{
    uint8_t *plain = malloc(PLAIN);
    for (size_t i = 0; i < PLAIN; i++)
        plain[i] = (uint8_t)(i % 7 ? i >> 9 : i * 2654435761u >> 24);
    return plain;
}

TEST(test_deflate)
{
    size_t len;
    uint8_t *plain = plain_bytes(), *got = malloc(PLAIN);
    uint8_t *packed = deflated(plain, PLAIN, &len);
    struct error err = {.offset = NO_OFFSET};
    struct source *s = NULL;
    assert_int_equal(OK, open_deflate(packed, len, PLAIN, &s, &err));
    assert_true(s->sequential);
    static const size_t ranges[][2] = {{0, PLAIN}, {100, 7},       {50, 100},      {400000, 100000},
                                       {0, 1},     {PLAIN - 1, 1}, {PLAIN - 1, 1}, {250000, 70000}};
    for (size_t i = 0; i < sizeof(ranges) / sizeof(ranges[0]); i++) {
        printf("# %zu + %zu\n", ranges[i][0], ranges[i][1]);
        assert_int_equal(OK, source_read(s, ranges[i][0], got, ranges[i][1], &err));
        assert_memory_equal(plain + ranges[i][0], got, ranges[i][1]);
    }
    struct source *kept = NULL;
    assert_int_equal(OK, source_open_spill(s, &kept, &err));
    assert_false(kept->sequential);
    assert_int_equal(OK, source_read(kept, 77, got, 4000, &err));
    assert_memory_equal(plain + 77, got, 4000);
    source_close(kept);
    free(plain);
    free(packed);
    free(got);
}

/* Data too large for memory goes to an unlinked file; if none can be made,
 * the error says what to do. */
TEST(test_spill_to_file)
{
    enum { LARGE = 9 << 20 };
    size_t len;
    uint8_t *plain = calloc(1, LARGE), got[100];
    for (size_t i = 0; i < LARGE; i += 1000)
        plain[i] = (uint8_t)(i / 1000);
    uint8_t *packed = deflated(plain, LARGE, &len);
    struct error err = {.offset = NO_OFFSET};
    struct source *s = NULL;
    assert_int_equal(OK, open_deflate(packed, len, LARGE, &s, &err));
    assert_int_equal(OK, source_open_spill(s, &s, &err));
    for (size_t at = LARGE - 100; at > 100000; at -= 99991) {
        assert_int_equal(OK, source_read(s, at, got, sizeof(got), &err));
        assert_memory_equal(plain + at, got, sizeof(got));
    }
    source_close(s);

    assert_int_equal(0, setenv("TMPDIR", "/no/such/folder", 1));
    assert_int_equal(OK, open_deflate(packed, len, LARGE, &s, &err));
    assert_int_equal(ERR_IO, source_open_spill(s, &s, &err));
    assert_non_null(strstr(err.message, "$TMPDIR"));
    error_clear(&err);
    assert_int_equal(0, setenv("TMPDIR", "/tmp", 1));
    assert_int_equal(OK, open_deflate(packed, len - 9, LARGE, &s, &err));
    assert_int_equal(ERR_CORRUPT, source_open_spill(s, &s, &err));
    free(plain);
    free(packed);
}

TEST(test_deflate_damage)
{
    size_t len;
    uint8_t *plain = plain_bytes(), *got = malloc(PLAIN + 1);
    uint8_t *packed = deflated(plain, PLAIN, &len), *damaged = malloc(len);
    memcpy(damaged, packed, len);
    memset(damaged + len / 2, 0xFF, 40);
    const struct {
        const char *what;
        const uint8_t *in;
        size_t len;
        uint64_t declared, read;
        const char *message;
    } cases[] = {
        {"declared shorter", packed, len, PLAIN - 1, PLAIN - 1, "does not end"},
        {"declared longer", packed, len, PLAIN + 1, PLAIN + 1, "ends after"},
        {"cut", packed, len - 10, PLAIN, PLAIN, "cut short"},
        {"no end", packed, len - 1, PLAIN, PLAIN, ""},
        {"damaged", damaged, len, PLAIN, PLAIN, ""},
        {"empty", packed, 0, 1, 1, "cut short"},
        {"a bomb is not believed", packed, 10, UINT64_C(1) << 40, 0, "cannot hold"},
    };
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        struct error err = {.offset = NO_OFFSET};
        struct source *s = NULL;
        printf("# %s\n", cases[i].what);
        enum status status = open_deflate(cases[i].in, cases[i].len, cases[i].declared, &s, &err);
        if (status == OK)
            status = source_read(s, 0, got, cases[i].read, &err);
        assert_int_equal(ERR_CORRUPT, status);
        assert_non_null(strstr(err.message, cases[i].message));
        assert_string_equal("memory", err.source);
        source_close(s);
    }
    free(plain);
    free(packed);
    free(damaged);
    free(got);
}

/* --- strings ---------------------------------------------------------------------------- */

TEST(test_strings)
{
    static const struct {
        const char *what, *chain;
        const void *in;
        size_t len;
        uint64_t count;
        enum status status;
        const char *all; /* joined by '|' */
    } cases[] = {
        {"tf", "strings:tf",
         "\x02\x00\x03\x1b\x42\x8b\xca"
         "abcde",
         12, 3, OK, "ab||cde|"},
        {"tf, lengths damaged", "strings:tf",
         "\x01\x01\x03\x1b\x42\x8b\xca"
         "abcde",
         12, 3, ERR_CHECKSUM, NULL},
        {"tf, one byte short", "strings:tf",
         "\x02\x00\x03\x1b\x42\x8b\xca"
         "abcd",
         11, 3, ERR_CORRUPT, NULL},
        {"tf, one byte over", "strings:tf",
         "\x02\x00\x03\x1b\x42\x8b\xca"
         "abcdef",
         13, 3, ERR_CORRUPT, NULL},
        {"tf, cut in the lengths", "strings:tf", "\x02\x80", 2, 2, ERR_CORRUPT, NULL},
        {"tf, a length past the end", "strings:tf",
         "\xff\xff\xff\xff\xff\xff\xff\xff\xff\x01"
         "abcd",
         14, 1, ERR_CORRUPT, NULL},
        {"tf, more strings than bytes", "strings:tf", "\0\0\0\0", 4, UINT64_C(1) << 40, ERR_CORRUPT,
         NULL},
        {"tf, none", "strings:tf", "\xd8\xea\x82\xa2", 4, 0, OK, ""},
        {"tf, none and nothing", "strings:tf", "", 0, 0, OK, ""},
        {"S3", "strings:S3", "ab\0\0\0\0a\0b", 9, 3, OK, "ab||a_b|"},
        {"S3, not whole", "strings:S3", "abcd", 4, 1, ERR_CORRUPT, NULL},
        {"S0", "strings:S0", "", 0, 2, OK, "||"},
        {"U2", "strings:U2", "a\0\0\0\xe4\0\0\0\x2c\x67\0\0\0\0\0\0\0\xf6\x01\0\0\0\0\0", 24, 3, OK,
         "a\xc3\xa4|\xe6\x9c\xac|\xf0\x9f\x98\x80|"},
        {"U1, a surrogate", "strings:U1", "\x00\xd8\0\0", 4, 1, OK, "\xed\xa0\x80|"},
        {"U1, beyond Unicode", "strings:U1", "\0\0\x11\0", 4, 1, ERR_CORRUPT, NULL},
        {"U huge", "strings:U4611686018427387904", "", 0, 1, ERR_UNSUPPORTED, NULL},
        {"no such encoding", "strings:X2", "", 0, 1, ERR_UNSUPPORTED, NULL},
        {"none", NULL, "", 0, 1, ERR_UNSUPPORTED, NULL},
    };
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        struct error err = {.offset = NO_OFFSET};
        struct strings *t = NULL;
        char all[64] = "";
        printf("# %s\n", cases[i].what);
        enum status status = strings_open(memory(cases[i].in, cases[i].len), cases[i].chain,
                                          cases[i].count, &t, &err);
        for (uint64_t k = 0; status == OK && k < cases[i].count; k++) {
            struct bytes s;
            size_t at = strlen(all);
            status = strings_at(t, k, &s, &err);
            for (size_t b = 0; status == OK && b < s.len; b++)
                all[at++] = s.at[b] ? (char)s.at[b] : '_';
            all[at] = '|';
        }
        assert_int_equal(cases[i].status, status);
        if (status == OK)
            assert_string_equal(cases[i].all, all);
        strings_close(t);
    }
}

/* Many strings, some longer than the window: any order gives the same. */
TEST(test_many_strings)
{
    enum { COUNT = 5000 };
    uint8_t *in = malloc(COUNT * 60 + 200000), varint[VARINT_MAX];
    size_t len = 0, lengths[COUNT];
    uint32_t sum = 0, whole, found = 0;
    for (size_t i = 0; i < COUNT; i++) {
        lengths[i] = i == 777 ? 150000 : i * 37 % 50;
        size_t n = varint_put(varint, lengths[i]);
        memcpy(in + len, varint, n);
        len += n;
        store_u32le(varint, (uint32_t)lengths[i]);
        sum = crc32c_extend(sum, varint, 4);
    }
    store_u32le(in + len, crc32c_mask(sum));
    whole = crc32c_extend(sum, in + len, 4);
    len += 4;
    size_t data = len;
    for (size_t i = 0; i < COUNT; i++) {
        memset(in + len, (int)(i % 251), lengths[i]);
        len += lengths[i];
    }
    whole = crc32c_extend(whole, in + data, len - data);
    struct error err = {.offset = NO_OFFSET};
    struct source *s = memory(in, len);
    assert_int_equal(OK, strings_tf_sum(s, COUNT, &found, &err));
    assert_int_equal(whole, found);
    struct strings *t = NULL;
    assert_int_equal(OK, strings_open(s, "strings:tf", COUNT, &t, &err));
    for (size_t k = 0; k < 2 * COUNT; k++) {
        size_t i = k < COUNT ? k : k * 7919 % COUNT;
        struct bytes got;
        assert_int_equal(OK, strings_at(t, i, &got, &err));
        assert_int_equal(lengths[i], got.len);
        for (size_t b = 0; b < got.len; b++)
            assert_int_equal(i % 251, got.at[b]);
    }
    strings_close(t);
    free(in);
}

RUN_TESTS(NULL, NULL)
