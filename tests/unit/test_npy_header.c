#include "catalog/base/bits.h"
#include "catalog/export/format/npy_header.h"
#include "tests/unit/unit.h"

TEST(test_descr)
{
    static const struct {
        const char *dtype, *descr; /* NULL: refused */
    } cases[] = {
        {"bool", "|b1"},
        {"int8", "|i1"},
        {"uint8", "|u1"},
        {"int64", "<i8"},
        {"uint16", "<u2"},
        {"qint32", "<i4"},
        {"float16", "<f2"},
        {"float32", "<f4"},
        {"float64", "<f8"},
        {"bfloat16", "|V2"},
        {"float8_e4m3fn", "|V1"},
        {"float8_e8m0fnu", "|V1"},
        {"complex64", "<c8"},
        {"complex128", "<c16"},
        {"void48", "|V6"},
        {"float4_e2m1fn_x2", "|V1"},
        {"datetime64[us]", "<M8[us]"},
        {"datetime64", "<M8"},
        {"timedelta64[25s]", "<m8[25s]"},
        {"datetime64[s']", NULL},
        {"datetime64[s]]", NULL},
        {"complex32", NULL},
        {"int4", NULL},
        {"uint2", NULL},
        {"float6_e2m3fn", NULL},
        {"q4_0", NULL},
        {"string", NULL},
        {"variant", NULL},
        {"unknown(X)", NULL},
    };
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        struct dtype d;
        char descr[64] = "";
        dtype_find(cases[i].dtype, &d);
        bool ok = npy_descr(&d, descr);
        if (ok != (cases[i].descr != NULL) || (ok && strcmp(descr, cases[i].descr) != 0))
            printf("case %s: %s\n", cases[i].dtype, ok ? descr : "refused");
        assert_int_equal(ok, cases[i].descr != NULL);
        if (ok)
            assert_string_equal(descr, cases[i].descr);
    }
}

TEST(test_header)
{
    static const struct {
        unsigned rank;
        uint64_t shape[3];
        const char *tuple;
    } cases[] = {
        {0, {0}, "()"},
        {1, {3}, "(3,)"},
        {1, {0}, "(0,)"},
        {2, {2, 3}, "(2, 3)"},
        {3, {1, UINT64_MAX, 7}, "(1, 18446744073709551615, 7)"},
    };
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        struct text out = {0};
        char want[200];
        printf("case %s\n", cases[i].tuple);
        assert_true(npy_header(&out, "<f4", cases[i].shape, cases[i].rank));
        assert_int_equal(out.len % 64, 0);
        assert_memory_equal(out.at, "\x93NUMPY\x01\x00", 8);
        assert_int_equal(load_u16le(out.at + 8), out.len - 10);
        snprintf(want, sizeof(want), "{'descr': '<f4', 'fortran_order': False, 'shape': %s, }",
                 cases[i].tuple);
        assert_memory_equal(out.at + 10, want, strlen(want));
        for (size_t at = 10 + strlen(want); at + 1 < out.len; at++)
            assert_int_equal(out.at[at], ' ');
        assert_int_equal(out.at[out.len - 1], '\n');
        text_release(&out);
    }
}

RUN_TESTS(NULL, NULL)
