/*
 * test_module_sums.c - sums of modules are the same after packing, and no bytes are read beyond their end.
 */
#include <stdlib.h>
#include <string.h>

#include "catalog/data/kernel/crc32c.h"
#include "catalog/data/model/module_sums.h"
#include "tests/unit/unit.h"

#define MODULES 700

static struct packed_module module_of(unsigned i)
{
    const uint32_t depth = i % 7 ? 1 + i % 5 : 40;
    return (struct packed_module){
        (i * 37) % 5000, 3 + i % 90, depth, {i % 11, i % 13 * 1000003, -(int64_t)(i % 3)}};
}

static void pack(unsigned modules, struct text *out)
{
    struct module_pack p = {0};
    for (unsigned depth = 1; depth <= 40; depth++)
        for (unsigned i = 0; i < modules; i++) {
            const struct packed_module m = module_of(i);
            if (m.depth == depth)
                module_pack_add(&p, &m);
        }
    module_pack_end(&p, out);
    assert_non_null(text_str(out));
}

static enum module_sums_state read_all(const char *at, size_t len, struct module_sums *s)
{
    enum module_sums_state state = module_sums_unpack((struct bytes){(const uint8_t *)at, len}, s);
    for (size_t i = 0; state == MODULE_SUMS_GOOD && i < s->depths; i++)
        state = module_sums_read(s, i);
    return state;
}

TEST(test_round_trip)
{
    for (unsigned modules = 0; modules <= MODULES; modules += 70) {
        struct text packed = {0};
        struct module_sums s;
        unsigned found = 0;
        pack(modules, &packed);
        assert_int_equal(read_all(packed.at, packed.len, &s), MODULE_SUMS_GOOD);
        assert_int_equal(s.count, modules);
        for (size_t d = 0; d < s.depths; d++)
            assert_true(!d || s.depth[d].depth > s.depth[d - 1].depth);
        for (unsigned i = 0; i < modules; i++) {
            const struct packed_module m = module_of(i);
            for (size_t d = 0; d < s.depths; d++)
                for (uint32_t k = s.depth[d].first; k < s.depth[d].first + s.depth[d].count; k++)
                    if (s.depth[d].depth == m.depth && s.module[k].tensor == m.tensor &&
                        s.module[k].length == m.length &&
                        memcmp(&s.sum[s.module[k].sum], &m.sum, sizeof(m.sum)) == 0) {
                        s.module[k].length = UINT32_MAX;
                        found++;
                        d = s.depths - 1;
                        break;
                    }
        }
        assert_int_equal(found, modules);
        module_sums_release(&s);
        text_release(&packed);
    }
}

/* Whatever the bytes are, also with a checksum that fits. */
TEST(test_hostile)
{
    struct text packed = {0};
    pack(30, &packed);
    for (size_t len = 0; len < packed.len; len++)
        for (unsigned change = 0; change < 256; change += 15) {
            struct module_sums s;
            char *copy = malloc(len + 4);
            assert_non_null(copy);
            memcpy(copy, packed.at, len);
            if (len)
                copy[(len * 7 + change) % len] ^= (char)change;
            const uint32_t crc = crc32c_extend(0, copy, len);
            memcpy(copy + len, &crc, sizeof(crc));
            read_all(copy, len + 4, &s);
            module_sums_release(&s);
            if (len >= 4) { /* a checksum that does not fit */
                copy[len] ^= 1;
                assert_int_equal(read_all(copy, len + 4, &s), MODULE_SUMS_DAMAGED);
            }
            free(copy);
        }
    text_release(&packed);
}

TEST(test_characters)
{
    const char name[] = "l\xc3\xa4yer.\xe2\x82\xac.w";
    assert_int_equal(module_characters(name, strlen(name)), 9);
    assert_int_equal(module_bytes(name, strlen(name), 5), 6);
    assert_int_equal(module_bytes("a\0b", 3, 3), 1);
    assert_int_equal(module_bytes("ab", 2, 9), 2);
}

RUN_TESTS(NULL, NULL)
