/*
 * test_packed_columns.c - columns are the same after packing, and no bytes are read beyond their end.
 */
#include <stdlib.h>
#include <string.h>

#include "catalog/data/model/packed_columns.h"
#include "tests/unit/unit.h"

#define TENSORS 700

static const char *const dtypes[] = {"float32", NULL, "", "bfloat16"};

static struct packed_row row_of(unsigned kind)
{
    struct packed_row r = {.number = {kind % 5 ? (int64_t)kind * 1000003 : NUMBER_NULL,
                                      INT64_MAX - kind, -(int64_t)kind, NUMBER_NULL}};
    const char *text[PACKED_TEXTS] = {dtypes[kind % 4], kind % 3 ? "[2,3]" : NULL};
    for (int i = 0; i < PACKED_TEXTS; i++)
        r.text[i] = (struct bytes){(const uint8_t *)text[i], text[i] ? strlen(text[i]) : 0};
    return r;
}

static void pack(unsigned tensors, unsigned kinds, struct text *out)
{
    struct column_pack p = {0};
    for (unsigned i = 0; i < tensors; i++) {
        const unsigned kind = i * 7 % kinds;
        if (!column_pack_tensor(&p, &kind, sizeof(kind))) {
            const struct packed_row row = row_of(kind);
            column_pack_row(&p, &row);
        }
    }
    column_pack_end(&p, out);
    assert_non_null(text_str(out));
}

static enum packed_state read_all(const char *at, size_t len, struct packed_columns *c)
{
    return packed_columns_read((struct bytes){(const uint8_t *)at, len}, c);
}

TEST(test_round_trip)
{
    for (unsigned tensors = 0; tensors <= TENSORS; tensors += 70) {
        struct text packed = {0};
        struct packed_columns c;
        pack(tensors, 60, &packed);
        assert_int_equal(read_all(packed.at, packed.len, &c), PACKED_GOOD);
        assert_int_equal(c.tensors, tensors);
        for (unsigned i = 0; i < tensors; i++) {
            const struct packed_row r = row_of(i * 7 % 60);
            for (int k = 0; k < PACKED_TEXTS; k++) {
                const struct span s = c.span[k][c.of[i]];
                assert_int_equal(s.len, r.text[k].at ? r.text[k].len : SPAN_NULL);
                if (r.text[k].at)
                    assert_string_equal(c.texts[k] + s.at, r.text[k].at);
            }
            for (int k = 0; k < PACKED_NUMBERS; k++)
                assert_true(c.number[k][c.of[i]] == r.number[k]);
        }
        packed_columns_release(&c);
        text_release(&packed);
    }
}

/* Tensors with little in common are not packed. */
TEST(test_little_in_common)
{
    struct text packed = {0};
    pack(TENSORS, TENSORS / 4 + 1, &packed);
    assert_int_equal(packed.len, 0);
    pack(TENSORS, TENSORS / 4, &packed);
    assert_true(packed.len > TENSORS);
    text_release(&packed);
}

/* Whatever the bytes are, also with a checksum that fits. */
TEST(test_hostile)
{
    struct text packed = {0};
    pack(40, 9, &packed);
    for (size_t len = 0; len < packed.len; len++)
        for (unsigned change = 0; change < 256; change += 15) {
            struct packed_columns c;
            char *copy = malloc(len + 4);
            assert_non_null(copy);
            memcpy(copy, packed.at, len);
            if (len)
                copy[(len * 7 + change) % len] ^= (char)change;
            const uint32_t crc = crc32c_extend(0, copy, len);
            memcpy(copy + len, &crc, sizeof(crc));
            if (read_all(copy, len + 4, &c) == PACKED_GOOD)
                for (uint32_t i = 0; i < c.tensors; i++)
                    assert_true(c.of[i] < c.rows);
            packed_columns_release(&c);
            copy[len] ^= 1; /* a checksum that does not fit */
            assert_int_equal(read_all(copy, len + 4, &c), PACKED_DAMAGED);
            free(copy);
        }
    text_release(&packed);
}

RUN_TESTS(NULL, NULL)
