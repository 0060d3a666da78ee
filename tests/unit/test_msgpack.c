/*
 * test_msgpack.c - heads of every kind, truncated values, windows that move.
 */
#include "importer/container/msgpack.h"
#include "tests/unit/unit.h"

/* A value as text: "nil", "true", "7", "-1", "0.5", "str 3", "bin 0", "ext 1 4", "list 2",
 * "map 1". */
static void print_item(const struct msgpack_item *item, char *out, size_t space)
{
    static const char *const words[] = {"nil", "",      "",    "",     "",
                                        "str", "bytes", "ext", "list", "map"};
    const char *word = words[item->type];
    unsigned long long number = item->type >= MSGPACK_ARRAY ? item->count : item->len;
    switch (item->type) {
    case MSGPACK_NIL: snprintf(out, space, "nil"); break;
    case MSGPACK_BOOL: snprintf(out, space, "%s", item->truth ? "true" : "false"); break;
    case MSGPACK_UNSIGNED: snprintf(out, space, "%llu", (unsigned long long)item->number); break;
    case MSGPACK_NEGATIVE: snprintf(out, space, "%lld", (long long)item->integer); break;
    case MSGPACK_REAL: snprintf(out, space, "%.17g", item->real); break;
    case MSGPACK_EXTENSION: snprintf(out, space, "ext %d %llu", item->kind, number); break;
    default: snprintf(out, space, "%s %llu", word, number);
    }
}

/* bytes, what they begin with; what follows them is 300 bytes of zeros */
static const struct {
    const char *bytes;
    size_t len;
    const char *want;
} heads[] = {
#define HEAD(bytes, want)                                                                          \
    {                                                                                              \
        bytes, sizeof(bytes) - 1, want                                                             \
    }
    HEAD("\x00", "0"),
    HEAD("\x7f", "127"),
    HEAD("\x80", "map 0"),
    HEAD("\x8f", "map 15"),
    HEAD("\x90", "list 0"),
    HEAD("\x9f", "list 15"),
    HEAD("\xa0", "str 0"),
    HEAD("\xbf", "str 31"),
    HEAD("\xc0", "nil"),
    HEAD("\xc1", "error"),
    HEAD("\xc2", "false"),
    HEAD("\xc3", "true"),
    HEAD("\xc4\x03", "bytes 3"),
    HEAD("\xc5\x01\x00", "bytes 256"),
    HEAD("\xc6\x00\x00\x00\x05", "bytes 5"),
    HEAD("\xc7\x03\x01", "ext 1 3"),
    HEAD("\xc8\x01\x00\xff", "ext -1 256"),
    HEAD("\xc9\x00\x00\x00\x07\x80", "ext -128 7"),
    HEAD("\xca\x3f\x00\x00\x00", "0.5"),
    HEAD("\xca\xff\x80\x00\x00", "-inf"),
    HEAD("\xcb\xbf\xf8\x00\x00\x00\x00\x00\x00", "-1.5"),
    HEAD("\xcc\xff", "255"),
    HEAD("\xcd\x01\x02", "258"),
    HEAD("\xce\xff\xff\xff\xff", "4294967295"),
    HEAD("\xcf\xff\xff\xff\xff\xff\xff\xff\xff", "18446744073709551615"),
    HEAD("\xd0\x80", "-128"),
    HEAD("\xd0\x7f", "127"),
    HEAD("\xd1\xff\xfe", "-2"),
    HEAD("\xd1\x7f\xff", "32767"),
    HEAD("\xd2\x80\x00\x00\x00", "-2147483648"),
    HEAD("\xd3\x80\x00\x00\x00\x00\x00\x00\x00", "-9223372036854775808"),
    HEAD("\xd3\x00\x00\x00\x00\x00\x00\x00\x07", "7"),
    HEAD("\xd4\x05", "ext 5 1"),
    HEAD("\xd5\x05", "ext 5 2"),
    HEAD("\xd6\x05", "ext 5 4"),
    HEAD("\xd7\x05", "ext 5 8"),
    HEAD("\xd8\x05", "ext 5 16"),
    HEAD("\xd9\x20", "str 32"),
    HEAD("\xda\x01\x01", "str 257"),
    HEAD("\xdb\x00\x00\x00\x01", "str 1"),
    HEAD("\xdc\x00\x10", "list 16"),
    HEAD("\xdd\x00\x00\x00\x11", "list 17"),
    HEAD("\xde\x00\x96", "map 150"),
    HEAD("\xdf\x00\x00\x00\x96", "map 150"),
    HEAD("\xe0", "-32"),
    HEAD("\xff", "-1"),
    /* more than there is */
    HEAD("\xc5\x01\x2d", "error"),
    HEAD("\xc6\xff\xff\xff\xff", "error"),
    HEAD("\xc9\xff\xff\xff\xff\x01", "error"),
    HEAD("\xdb\xff\xff\xff\xff", "error"),
    HEAD("\xdc\x01\x2d", "error"),
    HEAD("\xdd\xff\xff\xff\xff", "error"),
    HEAD("\xde\x00\x97", "error"),
    HEAD("\xdf\xff\xff\xff\xff", "error"),
#undef HEAD
};

#define ZEROS 300

/* From a source, and from a head that is the whole file: the same. */
static bool read_head(const uint8_t *bytes, size_t len, struct msgpack_item *item, uint64_t *at)
{
    struct error err = {.offset = NO_OFFSET}, other = {.offset = NO_OFFSET};
    struct arena arena = {0};
    struct source *source = NULL;
    struct msgpack m, head;
    struct msgpack_item again;
    assert_int_equal(source_open_memory("test", (struct bytes){bytes, len}, true, &source, &err),
                     OK);
    assert_int_equal(msgpack_open(&m, source, &arena, &err), OK);
    bool ok = msgpack_next(&m, item);
    msgpack_head(&head, (struct bytes){bytes, len}, len, &other);
    assert_int_equal(msgpack_next(&head, &again), ok);
    assert_int_equal(head.at, m.at);
    assert_int_equal(ok, err.status == OK);
    assert_int_equal(err.status, other.status);
    *at = m.at;
    source_close(source);
    arena_release(&arena);
    return ok;
}

TEST(every_head)
{
    for (size_t i = 0; i < sizeof(heads) / sizeof(heads[0]); i++) {
        uint8_t bytes[16 + ZEROS] = {0};
        char got[64] = "error";
        struct msgpack_item item;
        uint64_t at;
        memcpy(bytes, heads[i].bytes, heads[i].len);
        if (read_head(bytes, heads[i].len + ZEROS, &item, &at)) {
            print_item(&item, got, sizeof(got));
            uint64_t payload =
                item.type >= MSGPACK_STRING && item.type <= MSGPACK_EXTENSION ? item.len : 0;
            assert_int_equal(at, heads[i].len + payload);
            if (item.type >= MSGPACK_STRING && item.type <= MSGPACK_EXTENSION)
                assert_int_equal(item.data, heads[i].len);
        }
        if (strcmp(got, heads[i].want) != 0)
            print_error("%02x: %s, not %s\n", bytes[0], got, heads[i].want);
        assert_string_equal(got, heads[i].want);
    }
}

/* Every head that is cut is an error in a file, and no answer in a beginning. */
TEST(cut_heads)
{
    for (size_t i = 0; i < sizeof(heads) / sizeof(heads[0]); i++)
        for (size_t len = 0; len < heads[i].len; len++) {
            struct error err = {.offset = NO_OFFSET};
            struct msgpack_item item;
            struct msgpack m;
            uint64_t at;
            assert_false(read_head((const uint8_t *)heads[i].bytes, len, &item, &at));
            msgpack_head(&m, (struct bytes){(const uint8_t *)heads[i].bytes, len}, 1000, &err);
            assert_false(msgpack_next(&m, &item));
            assert_true(m.cut);
            assert_int_equal(err.status, OK);
        }
}

static bool skip_all(const uint8_t *bytes, size_t len, struct error *err)
{
    struct msgpack_item item;
    struct msgpack m;
    *err = (struct error){.offset = NO_OFFSET};
    msgpack_head(&m, (struct bytes){bytes, len}, len, err);
    return msgpack_next(&m, &item) && msgpack_skip(&m, &item) && m.at == len;
}

TEST(leave_out)
{
    enum { DEEP = 1000000 };
    struct error err;
    uint8_t *bytes = malloc(DEEP + 1);
    memset(bytes, 0x91, DEEP);
    bytes[DEEP] = 0xC0;
    assert_true(skip_all(bytes, DEEP + 1, &err));
    assert_false(skip_all(bytes, DEEP, &err));
    assert_int_equal(err.status, ERR_CORRUPT);
    memset(bytes, 0x9F, DEEP); /* each holds 15, and so on: more items than bytes */
    assert_false(skip_all(bytes, DEEP, &err));
    assert_int_equal(err.status, ERR_CORRUPT);
    assert_true(err.offset < DEEP / 4);
    free(bytes);
    assert_true(skip_all((const uint8_t *)"\x82\xa1\x61\x92\x01\xc4\x02xy\x02\x80", 11, &err));
}

/* A source that counts the bytes read. */
struct counting {
    struct source base;
    const uint8_t *bytes;
    uint64_t *read;
};

static enum status counting_read(const struct source *s, uint64_t offset, void *dst, size_t len,
                                 struct error *err)
{
    const struct counting *c = (const struct counting *)s;
    (void)err;
    memcpy(dst, c->bytes + offset, len);
    *c->read += len;
    return OK;
}

/* Ten thousand small values, then ten large ones: all are found, and little of the large ones except
 * the heads is read. */
TEST(windows)
{
    static const struct source_ops ops = {.read_at = counting_read};
    enum { SMALL = 10000, LARGE = 10, LARGE_BYTES = 1 << 20 };
    size_t size = SMALL * 9 + LARGE * (5 + LARGE_BYTES), at = 0;
    uint8_t *bytes = calloc(1, size);
    uint64_t read = 0;
    struct error err = {.offset = NO_OFFSET};
    struct arena arena = {0};
    struct msgpack_item item;
    struct msgpack m;
    for (uint64_t i = 0; i < SMALL; i++, at += 9) {
        bytes[at] = 0xCF;
        bytes[at + 7] = (uint8_t)(i >> 8);
        bytes[at + 8] = (uint8_t)i;
    }
    for (unsigned i = 0; i < LARGE; i++, at += 5 + LARGE_BYTES)
        memcpy(bytes + at, "\xC6\x00\x10\x00\x00", 5);
    struct counting source = {{&ops, size, "test", false, NULL}, bytes, &read};
    assert_int_equal(msgpack_open(&m, &source.base, &arena, &err), OK);
    for (uint64_t i = 0; i < SMALL; i++) {
        assert_true(msgpack_next(&m, &item));
        assert_int_equal(item.number, i);
    }
    for (unsigned i = 0; i < LARGE; i++) {
        char first[8];
        assert_true(msgpack_next(&m, &item));
        assert_int_equal(item.type, MSGPACK_BYTES);
        assert_int_equal(item.len, LARGE_BYTES);
        item.len = sizeof(first);
        assert_true(msgpack_read(&m, &item, first));
    }
    assert_int_equal(m.at, m.end);
    assert_true(read < 2 * SMALL * 9 + LARGE * 8192 + 65536);
    arena_release(&arena);
    free(bytes);
}

TEST(texts)
{
    static const uint8_t bytes[] = "\xa5hello\xa0";
    struct error err = {.offset = NO_OFFSET};
    struct text text = {.limit = 7};
    struct msgpack_item item;
    struct msgpack m;
    msgpack_head(&m, (struct bytes){bytes, 7}, 7, &err);
    assert_true(msgpack_next(&m, &item));
    assert_true(msgpack_is(&m, &item, "hello"));
    assert_false(msgpack_is(&m, &item, "hell"));
    assert_false(msgpack_is(&m, &item, "hello!"));
    assert_true(msgpack_add(&m, &item, &text));
    assert_string_equal(text_str(&text), "hello");
    assert_false(msgpack_add(&m, &item, &text));
    assert_null(text_str(&text));
    assert_int_equal(err.status, OK);
    assert_false(msgpack_want(&m, &item, MSGPACK_MAP, "a map"));
    assert_int_equal(err.status, ERR_CORRUPT);
    assert_string_equal(err.message, "a map expected");
    assert_int_equal(err.offset, 6);
    assert_false(msgpack_next(&m, &item));
    text_release(&text);
}

RUN_TESTS(NULL, NULL)
