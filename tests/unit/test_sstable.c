#include "importer/format/tensorflow/sstable_reader.h"
#include "tests/unit/table_builder.h"
#include "tests/unit/unit.h"

/* "key=value" lines of a table, read from a copy of just its size. */
static enum status read_all(struct bytes file, struct text *out, struct error *err)
{
    struct source *source = NULL;
    struct sstable_entry e;
    assert_int_equal(source_open_memory("t", file, true, &source, err), OK);
    struct sstable *table = sstable_open(source, err);
    while (table && sstable_next(table, &e)) {
        text_add(out, e.key.at, e.key.len);
        text_addc(out, '=');
        text_add(out, e.value.at, e.value.len);
        text_addc(out, '\n');
    }
    sstable_close(table);
    source_close(source);
    return err->status;
}

static void build(struct table *t, unsigned count)
{
    char key[32];
    table_add(t, LITERAL(""), LITERAL("head"));
    for (unsigned i = 0; i < count; i++) {
        int len = snprintf(key, sizeof(key), "layer/%03u/kernel", i);
        table_add(t, (struct bytes){(const uint8_t *)key, (size_t)len}, LITERAL("value"));
    }
}

TEST(well_formed)
{
    static const struct {
        unsigned count, entries_a_block;
        bool snappy;
    } cases[] = {{0, 0, false},  {3, 0, false}, {40, 7, false},
                 {40, 1, false}, {3, 0, true},  {40, 7, true}};
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        print_message("%u entries, %u a block, %s\n", cases[i].count, cases[i].entries_a_block,
                      cases[i].snappy ? "Snappy" : "raw");
        struct table t = {.entries_a_block = cases[i].entries_a_block, .snappy = cases[i].snappy};
        struct text got = {0}, want = {0};
        struct error err = {0};
        build(&t, cases[i].count);
        text_adds(&want, "=head\n");
        for (unsigned k = 0; k < cases[i].count; k++)
            text_addf(&want, "layer/%03u/kernel=value\n", k);
        assert_int_equal(read_all(table_finish(&t), &got, &err), OK);
        assert_string_equal(text_str(&got), text_str(&want));
        text_release(&got);
        text_release(&want);
        table_release(&t);
    }
}

TEST(no_entries)
{
    struct table t = {0};
    struct text got = {0};
    struct error err = {0};
    assert_int_equal(read_all(table_finish(&t), &got, &err), OK);
    assert_int_equal(got.len, 0);
    table_release(&t);
}

/* Every cut is an error. So is every changed byte, unless it changes nothing that is read. */
TEST(damage)
{
    struct table t = {.entries_a_block = 3};
    build(&t, 8);
    struct bytes file = table_finish(&t);
    struct text want = {0};
    struct error err = {0};
    assert_int_equal(read_all(file, &want, &err), OK);
    for (size_t len = 0; len < file.len; len++) {
        struct text got = {0};
        struct error cut = {0};
        assert_int_not_equal(read_all((struct bytes){file.at, len}, &got, &cut), OK);
        text_release(&got);
    }
    uint8_t *copy = malloc(file.len + 1);
    for (size_t i = 0; i < file.len * 8; i++) {
        struct text got = {0};
        struct error flip = {0};
        memcpy(copy, file.at, file.len);
        copy[i / 8] ^= (uint8_t)(1 << i % 8);
        if (read_all((struct bytes){copy, file.len}, &got, &flip) == OK)
            assert_string_equal(text_str(&got), text_str(&want));
        text_release(&got);
    }
    free(copy);
    text_release(&want);
    table_release(&t);
}

/* --- blocks and footers that lie -------------------------------------------------------- */

/* A table of one data block with this content and type. */
static struct bytes one_block(struct table *t, struct bytes content, uint8_t type)
{
    struct text handle = {0};
    uint64_t offset = put_block(&t->file, content, type);
    put_handle(&handle, offset, content.len);
    put_entry(&t->index, 0, LITERAL("z"), text_bytes(&handle));
    text_release(&handle);
    return table_finish(t);
}

TEST(bad_blocks)
{
#define RESTARTS "\0\0\0\0\1\0\0\0"
    const struct {
        const char *name;
        struct bytes content;
        uint8_t type;
        enum status status;
    } cases[] = {
        {"an empty block", LITERAL(RESTARTS), 0, OK},
        {"no restart points", LITERAL("\0\0\0\0"), 0, OK},
        {"nothing at all", LITERAL(""), 0, ERR_CORRUPT},
        {"3 bytes", LITERAL("\0\0\0"), 0, ERR_CORRUPT},
        {"more restart points than bytes", LITERAL("\0\0\0\0\2\0\0\0"), 0, ERR_CORRUPT},
        {"2^32 - 1 restart points", LITERAL("\0\0\0\0\377\377\377\377"), 0, ERR_CORRUPT},
        {"first key shares", LITERAL("\1\1\1ab" RESTARTS), 0, ERR_CORRUPT},
        {"key past the end", LITERAL("\0\5\1ab" RESTARTS), 0, ERR_CORRUPT},
        {"value past the end", LITERAL("\0\1\2ab" RESTARTS), 0, ERR_CORRUPT},
        {"key of 2^32 - 1 bytes", LITERAL("\0\377\377\377\377\17\1ab" RESTARTS), 0, ERR_CORRUPT},
        {"length in 6 bytes", LITERAL("\200\200\200\200\200\0\1\1ab" RESTARTS), 0, ERR_CORRUPT},
        {"shares more than there is", LITERAL("\0\1\1ab\2\1\1cd" RESTARTS), 0, ERR_CORRUPT},
        {"keys fall", LITERAL("\0\1\1bb\0\1\1ab" RESTARTS), 0, ERR_CORRUPT},
        {"key is a beginning of the last", LITERAL("\0\2\1abb\1\0\1b" RESTARTS), 0, ERR_CORRUPT},
        {"a key twice", LITERAL("\0\1\1ab\1\0\1b" RESTARTS), 0, OK},
        {"unknown compression", LITERAL(RESTARTS), 2, ERR_UNSUPPORTED},
        {"not Snappy", LITERAL("\377\377\377\377\377\377"), 1, ERR_CORRUPT},
        {"Snappy to 4 GB", LITERAL("\377\377\377\377\17\0a"), 1, ERR_CORRUPT},
        {"Snappy cut short", LITERAL("\10\34" RESTARTS "x"), 1, ERR_CORRUPT},
        {"Snappy to too little", LITERAL("\2\4ab"), 1, ERR_CORRUPT},
    };
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        print_message("%s\n", cases[i].name);
        struct table t = {0};
        struct text got = {0};
        struct error err = {0};
        read_all(one_block(&t, cases[i].content, cases[i].type), &got, &err);
        assert_int_equal(err.status, cases[i].status);
        assert_true(err.status == OK || err.message[0]);
        text_release(&got);
        table_release(&t);
    }
}

/* Through windows of any size come the same keys, lengths and places, and beginnings. */
TEST(heads_only)
{
    static const uint64_t heads[] = {1, 16, 40, 100, 5000, 1 << 20};
    struct table t = {.entries_a_block = 60};
    struct source *source = NULL;
    struct error err = {.offset = NO_OFFSET};
    uint8_t *value = calloc(1, 70000);
    char key[600];
    for (unsigned i = 0; i < 200; i++) {
        size_t len = (size_t)snprintf(key, sizeof(key), "%03u/%0*u", i, i * 7 % 400, i);
        memset(value, (int)i, 70000);
        table_add(&t, (struct bytes){(const uint8_t *)key, len},
                  (struct bytes){value, i % 9 ? i * 13 % 300 : i * 350});
    }
    struct bytes file = table_finish(&t);
    assert_int_equal(OK, source_open_memory("t", file, false, &source, &err));
    for (size_t n = 0; n < sizeof(heads) / sizeof(heads[0]); n++) {
        struct sstable_entry a, b;
        uint64_t left_out = 0;
        print_message("%u bytes\n", (unsigned)heads[n]);
        struct sstable *whole = sstable_open(source, &err), *partly = sstable_open(source, &err);
        assert_true(whole && partly);
        sstable_heads_only(partly, 1000, heads[n]);
        do {
            assert_true(sstable_next(whole, &a) == sstable_next(partly, &b));
            assert_int_equal(OK, err.status);
            assert_int_equal(a.key.len, b.key.len);
            assert_memory_equal(a.key.at, b.key.at, a.key.len);
            assert_int_equal(a.value_len, b.value_len);
            assert_int_equal(a.value.len, a.value_len);
            assert_true(b.value.len <= a.value.len);
            assert_memory_equal(a.value.at, b.value.at, b.value.len);
            assert_int_equal(a.offset, b.offset);
            assert_int_equal(a.value_at, b.value_at);
            assert_int_equal(a.block_stored, b.block_stored);
            assert_true(!a.key.at || memcmp(file.at + a.offset, a.value.at, a.value.len) == 0);
            left_out += a.value.len - b.value.len;
        } while (a.key.at);
        assert_null(b.key.at);
        assert_true((left_out > 0) == (heads[n] < 5001));
        sstable_close(whole);
        sstable_close(partly);
    }
    source_close(source);
    table_release(&t);
    free(value);
}

/* Index entries whose handles lead astray, after one good block of 13 bytes. */
TEST(bad_handles)
{
    const struct {
        const char *name;
        struct bytes handle;
        enum status status;
    } cases[] = {
        {"the block once", LITERAL("\0\15"), OK},
        {"more than a handle", LITERAL("\0\15\7\7"), OK},
        {"no handle", LITERAL(""), ERR_CORRUPT},
        {"half a handle", LITERAL("\0"), ERR_CORRUPT},
        {"past the end", LITERAL("\0\177"), ERR_CORRUPT},
        {"offset of 2^64 - 1", LITERAL("\377\377\377\377\377\377\377\377\377\1\15"), ERR_CORRUPT},
        {"size of 2^64 - 1", LITERAL("\0\377\377\377\377\377\377\377\377\377\1"), ERR_CORRUPT},
        {"size of the block with its trailer", LITERAL("\0\22"), ERR_CORRUPT},
    };
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        print_message("%s\n", cases[i].name);
        struct table t = {0};
        struct text got = {0};
        struct error err = {0};
        put_block(&t.file, LITERAL("\0\1\1ab" RESTARTS), 0);
        put_entry(&t.index, 0, LITERAL("z"), cases[i].handle);
        read_all(table_finish(&t), &got, &err);
        assert_int_equal(err.status, cases[i].status);
        text_release(&got);
        table_release(&t);
    }
}

/* One block listed twice would make any number of entries from a few bytes. */
TEST(block_listed_twice)
{
    struct table t = {0};
    struct text got = {0};
    struct error err = {0};
    put_block(&t.file, LITERAL("\0\1\1ab" RESTARTS), 0);
    put_entry(&t.index, 0, LITERAL("a"), LITERAL("\0\15"));
    put_entry(&t.index, 0, LITERAL("b"), LITERAL("\0\15"));
    assert_int_equal(read_all(table_finish(&t), &got, &err), ERR_CORRUPT);
    assert_string_equal(text_str(&got), "a=b\n");
    text_release(&got);
    table_release(&t);
}

TEST(footers)
{
    static const struct {
        const char *name;
        uint64_t index, size;
    } cases[] = {
        {"index past the end", 0, 1000},           {"index over the footer", 0, 20},
        {"offset overflows", UINT64_MAX, 8},       {"size overflows", 0, UINT64_MAX},
        {"trailer overflows", UINT64_MAX - 10, 8},
    };
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        print_message("%s\n", cases[i].name);
        struct text file = {0}, got = {0};
        struct error err = {0};
        put_block(&file, LITERAL("\0\1\1ab" RESTARTS), 0);
        put_footer(&file, cases[i].index, cases[i].size);
        assert_int_equal(read_all(text_bytes(&file), &got, &err), ERR_CORRUPT);
        text_release(&file);
        text_release(&got);
    }
}

/* --- keys that grow --------------------------------------------------------------------- */

/* `count` keys that share all but their last byte, each of `len` bytes. */
static enum status grow_keys(size_t len, unsigned count)
{
    struct table t = {0};
    struct text content = {0}, first = {0};
    struct error err = {0};
    for (size_t i = 0; i < len; i++)
        text_addc(&first, 0);
    put_entry(&content, 0, text_bytes(&first), LITERAL(""));
    for (unsigned i = 1; i < count; i++) {
        uint8_t last = (uint8_t)i;
        put_entry(&content, len - 1, (struct bytes){&last, 1}, LITERAL(""));
    }
    put_restarts(&content);
    struct bytes file = one_block(&t, text_bytes(&content), 0);
    struct source *source = NULL;
    struct sstable_entry e;
    assert_int_equal(source_open_memory("t", file, true, &source, &err), OK);
    struct sstable *table = sstable_open(source, &err);
    assert_non_null(table);
    while (sstable_next(table, &e))
        assert_int_equal(e.key.len, len);
    sstable_close(table);
    source_close(source);
    text_release(&content);
    text_release(&first);
    table_release(&t);
    return err.status;
}

TEST(key_growth)
{
    assert_int_equal(grow_keys(1 << 20, 60), OK);
    assert_int_equal(grow_keys(1 << 20, 200), ERR_LIMIT);
    assert_int_equal(grow_keys((1 << 20) + 1, 1), ERR_LIMIT);
}

RUN_TESTS(NULL, NULL)
