/*
 * test_zip.c - members of a zip archive, found and read. The refused directories are in
 * tests/fixtures/npz.
 */
#include <zlib.h>

#include "catalog/base/text.h"
#include "importer/container/zip.h"
#include "tests/unit/unit.h"

#define CONTENT_BYTES 10000

struct made {
    struct text bytes;
    struct arena arena;
    struct source *source;
    struct zip zip;
    uint8_t content[CONTENT_BYTES];
};

static void add16(struct text *t, unsigned v)
{
    uint8_t b[2];
    store_u16le(b, (uint16_t)v);
    text_add(t, b, 2);
}

static void add32(struct text *t, size_t v)
{
    uint8_t b[4];
    store_u32le(b, (uint32_t)v);
    text_add(t, b, 4);
}

/* The fields that a local header and a directory entry share. */
static void add_common(struct text *t, unsigned method, size_t stored, size_t size,
                       const char *name)
{
    add16(t, 20);
    add16(t, 0);
    add16(t, method);
    add32(t, 0);
    add32(t, 0);
    add32(t, stored);
    add32(t, size);
    add16(t, (unsigned)strlen(name));
    add16(t, 0);
}

static size_t deflate_raw(const uint8_t *bytes, size_t len, uint8_t *out, size_t space)
{
    z_stream z = {0};
    assert_int_equal(deflateInit2(&z, 9, Z_DEFLATED, -MAX_WBITS, 8, Z_DEFAULT_STRATEGY), Z_OK);
    z.next_in = (uint8_t *)bytes;
    z.avail_in = (uInt)len;
    z.next_out = out;
    z.avail_out = (uInt)space;
    assert_int_equal(deflate(&z, Z_FINISH), Z_STREAM_END);
    size_t made = space - z.avail_out;
    deflateEnd(&z);
    return made;
}

/* An archive of "s" (stored) and "d" (deflated), which both claim `claimed` bytes. */
static void make(struct made *m, size_t claimed)
{
    uint8_t squeezed[CONTENT_BYTES * 2];
    struct error err = {.offset = NO_OFFSET};
    struct text *t = &m->bytes;
    *m = (struct made){0};
    for (size_t i = 0; i < CONTENT_BYTES; i++)
        m->content[i] = (uint8_t)(i * i >> 7);
    size_t len = deflate_raw(m->content, CONTENT_BYTES, squeezed, sizeof(squeezed));
    text_add(t, "PK\3\4", 4);
    add_common(t, ZIP_STORED, CONTENT_BYTES, CONTENT_BYTES, "s");
    text_add(t, "s", 1);
    text_add(t, m->content, CONTENT_BYTES);
    size_t second = t->len;
    text_add(t, "PK\3\4", 4);
    add_common(t, ZIP_DEFLATE, len, claimed, "d");
    text_add(t, "d", 1);
    text_add(t, squeezed, len);
    size_t directory = t->len;
    for (int i = 0; i < 2; i++) {
        text_add(t, "PK\1\2", 4);
        add16(t, 20);
        if (i == 0)
            add_common(t, ZIP_STORED, CONTENT_BYTES, CONTENT_BYTES, "s");
        else
            add_common(t, ZIP_DEFLATE, len, claimed, "d");
        add16(t, 0);
        add16(t, 0);
        add16(t, 0);
        add32(t, 0);
        add32(t, i ? second : 0);
        text_adds(t, i ? "d" : "s");
    }
    size_t end = t->len;
    text_add(t, "PK\5\6", 4);
    add32(t, 0);
    add16(t, 2);
    add16(t, 2);
    add32(t, end - directory);
    add32(t, directory);
    add16(t, 0);
    assert_non_null(text_str(t));
    assert_int_equal(source_open_memory("test.zip", (struct bytes){(uint8_t *)t->at, t->len}, false,
                                        &m->source, &err),
                     OK);
    assert_int_equal(zip_open(m->source, ZIP_UNIQUE, &m->arena, &m->zip, &err), OK);
}

static void unmake(struct made *m)
{
    source_close(m->source);
    arena_release(&m->arena);
    text_release(&m->bytes);
}

TEST(test_read)
{
    static struct made m;
    static const char *const names[] = {"s", "d"};
    make(&m, CONTENT_BYTES);
    assert_int_equal(m.zip.count, 2);
    assert_null(zip_find(&m.zip, "S"));
    for (int i = 0; i < 2; i++) {
        static const size_t heads[] = {0, 1, 5000, CONTENT_BYTES, CONTENT_BYTES + 1};
        const struct zip_member *member = zip_find(&m.zip, names[i]);
        struct error err = {.offset = NO_OFFSET};
        struct bytes all;
        assert_non_null(member);
        assert_int_equal(zip_read(&m.zip, member, CONTENT_BYTES, &m.arena, &all, &err), OK);
        assert_int_equal(all.len, CONTENT_BYTES);
        assert_memory_equal(all.at, m.content, CONTENT_BYTES);
        for (size_t k = 0; k < sizeof(heads) / sizeof(heads[0]); k++) {
            uint8_t start[CONTENT_BYTES + 1];
            size_t want = heads[k] < CONTENT_BYTES ? heads[k] : CONTENT_BYTES, got = 0;
            assert_int_equal(zip_head(&m.zip, member, start, heads[k], &got, &err), OK);
            assert_int_equal(got, want);
            assert_memory_equal(start, m.content, want);
        }
        assert_int_equal(zip_read(&m.zip, member, CONTENT_BYTES - 1, &m.arena, &all, &err),
                         ERR_LIMIT);
    }
    unmake(&m);
}

/* A member that claims more than its stream holds is an error, not zeros; one that claims
 * less is cut where it says. */
TEST(test_wrong_size)
{
    static struct made m;
    struct error err = {.offset = NO_OFFSET};
    struct bytes all;
    make(&m, CONTENT_BYTES + 1);
    assert_int_equal(
        zip_read(&m.zip, zip_find(&m.zip, "d"), CONTENT_BYTES * 2, &m.arena, &all, &err),
        ERR_CORRUPT);
    unmake(&m);
    error_clear(&err);
    make(&m, CONTENT_BYTES - 1);
    assert_int_equal(
        zip_read(&m.zip, zip_find(&m.zip, "d"), CONTENT_BYTES * 2, &m.arena, &all, &err), OK);
    assert_int_equal(all.len, CONTENT_BYTES - 1);
    unmake(&m);
}

RUN_TESTS(NULL, NULL)
