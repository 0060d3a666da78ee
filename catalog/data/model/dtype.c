#include "catalog/data/model/dtype.h"

#include <stdio.h>
#include <string.h>
#include <strings.h>

#include "catalog/base/bits.h"
#include "catalog/base/nearest.h"

/* name, kind, bits, elements per block, bytes per block */
static const struct dtype dtypes[] = {
    {"bool", DTYPE_BOOL, 8, 1, 1},
    {"int8", DTYPE_INT, 8, 1, 1},
    {"int16", DTYPE_INT, 16, 1, 2},
    {"int32", DTYPE_INT, 32, 1, 4},
    {"int64", DTYPE_INT, 64, 1, 8},
    {"uint8", DTYPE_UINT, 8, 1, 1},
    {"uint16", DTYPE_UINT, 16, 1, 2},
    {"uint32", DTYPE_UINT, 32, 1, 4},
    {"uint64", DTYPE_UINT, 64, 1, 8},
    {"int2", DTYPE_INT, 2, 4, 1},
    {"int4", DTYPE_INT, 4, 2, 1},
    {"uint2", DTYPE_UINT, 2, 4, 1},
    {"uint4", DTYPE_UINT, 4, 2, 1},
    {"float16", DTYPE_FLOAT, 16, 1, 2},
    {"bfloat16", DTYPE_FLOAT, 16, 1, 2},
    {"float32", DTYPE_FLOAT, 32, 1, 4},
    {"float64", DTYPE_FLOAT, 64, 1, 8},
    {"float8_e5m2", DTYPE_FLOAT, 8, 1, 1},
    {"float8_e4m3fn", DTYPE_FLOAT, 8, 1, 1},
    {"float8_e4m3fnuz", DTYPE_FLOAT, 8, 1, 1},
    {"float8_e5m2fnuz", DTYPE_FLOAT, 8, 1, 1},
    {"float8_e4m3b11fnuz", DTYPE_FLOAT, 8, 1, 1},
    {"float8_e3m4", DTYPE_FLOAT, 8, 1, 1},
    {"float8_e4m3", DTYPE_FLOAT, 8, 1, 1},
    {"float8_e8m0fnu", DTYPE_FLOAT, 8, 1, 1},
    {"float6_e2m3fn", DTYPE_FLOAT, 6, 4, 3},
    {"float6_e3m2fn", DTYPE_FLOAT, 6, 4, 3},
    {"float4_e2m1fn", DTYPE_FLOAT, 4, 2, 1},
    {"float4_e2m1fn_x2", DTYPE_VOID, 8, 1, 1},
    {"complex32", DTYPE_COMPLEX, 32, 1, 4},
    {"complex64", DTYPE_COMPLEX, 64, 1, 8},
    {"complex128", DTYPE_COMPLEX, 128, 1, 16},
    {"qint8", DTYPE_INT, 8, 1, 1},
    {"quint8", DTYPE_UINT, 8, 1, 1},
    {"qint16", DTYPE_INT, 16, 1, 2},
    {"quint16", DTYPE_UINT, 16, 1, 2},
    {"qint32", DTYPE_INT, 32, 1, 4},
    {"quint4x2", DTYPE_UINT, 4, 2, 1},
    {"quint2x4", DTYPE_UINT, 2, 4, 1},
    {"bits8", DTYPE_VOID, 8, 1, 1},
    {"bits16", DTYPE_VOID, 16, 1, 2},
    {"bits1x8", DTYPE_VOID, 8, 1, 1},
    {"bits2x4", DTYPE_VOID, 8, 1, 1},
    {"bits4x2", DTYPE_VOID, 8, 1, 1},
    {"string", DTYPE_STRING, 0, 1, 0},
    {"variant", DTYPE_OPAQUE, 0, 1, 0},
    {"resource", DTYPE_OPAQUE, 0, 1, 0},
    /* ggml's block types: convert/ggml.h has their numbers. */
    {"q4_0", DTYPE_BLOCK, 0, 32, 18},
    {"q4_1", DTYPE_BLOCK, 0, 32, 20},
    {"q5_0", DTYPE_BLOCK, 0, 32, 22},
    {"q5_1", DTYPE_BLOCK, 0, 32, 24},
    {"q8_0", DTYPE_BLOCK, 0, 32, 34},
    {"q8_1", DTYPE_BLOCK, 0, 32, 36},
    {"q2_k", DTYPE_BLOCK, 0, 256, 84},
    {"q3_k", DTYPE_BLOCK, 0, 256, 110},
    {"q4_k", DTYPE_BLOCK, 0, 256, 144},
    {"q5_k", DTYPE_BLOCK, 0, 256, 176},
    {"q6_k", DTYPE_BLOCK, 0, 256, 210},
    {"q8_k", DTYPE_BLOCK, 0, 256, 292},
    {"iq2_xxs", DTYPE_BLOCK, 0, 256, 66},
    {"iq2_xs", DTYPE_BLOCK, 0, 256, 74},
    {"iq3_xxs", DTYPE_BLOCK, 0, 256, 98},
    {"iq1_s", DTYPE_BLOCK, 0, 256, 50},
    {"iq4_nl", DTYPE_BLOCK, 0, 32, 18},
    {"iq3_s", DTYPE_BLOCK, 0, 256, 110},
    {"iq2_s", DTYPE_BLOCK, 0, 256, 82},
    {"iq4_xs", DTYPE_BLOCK, 0, 256, 136},
    {"iq1_m", DTYPE_BLOCK, 0, 256, 56},
    {"tq1_0", DTYPE_BLOCK, 0, 256, 54},
    {"tq2_0", DTYPE_BLOCK, 0, 256, 66},
    {"mxfp4", DTYPE_BLOCK, 0, 32, 17},
    {"nvfp4", DTYPE_BLOCK, 0, 64, 36},
    {"q1_0", DTYPE_BLOCK, 0, 128, 18},
    {"q2_0", DTYPE_BLOCK, 0, 64, 18},
};

#define DTYPES (sizeof(dtypes) / sizeof(dtypes[0]))

const struct dtype *dtype_at(size_t index)
{
    return index < DTYPES ? &dtypes[index] : NULL;
}

static bool find_void(const char *name, struct dtype *out)
{
    unsigned bits = 0;
    if (strncmp(name, "void", 4) != 0 || name[4] < '1' || name[4] > '9')
        return false;
    for (const char *c = name + 4; *c; c++) {
        if (*c < '0' || *c > '9' || bits > UINT16_MAX / 10)
            return false;
        bits = bits * 10 + (unsigned)(*c - '0');
    }
    if (bits % 8 || bits > UINT16_MAX)
        return false;
    *out = (struct dtype){name, DTYPE_VOID, (uint16_t)bits, 1, (uint16_t)(bits / 8)};
    return true;
}

static bool find_time(const char *name, struct dtype *out)
{
    size_t len = strlen(name);
    bool date = strncmp(name, "datetime64", 10) == 0;
    if (!date && strncmp(name, "timedelta64", 11) != 0)
        return false;
    const char *unit = name + (date ? 10 : 11);
    if (*unit && (unit[0] != '[' || name[len - 1] != ']'))
        return false;
    *out = (struct dtype){name, DTYPE_TIME, 64, 1, 8};
    return true;
}

void dtype_find(const char *name, struct dtype *out)
{
    for (size_t i = 0; i < DTYPES; i++) {
        if (strcmp(dtypes[i].name, name) == 0) {
            *out = dtypes[i];
            return;
        }
    }
    if (find_void(name, out) || find_time(name, out))
        return;
    *out = (struct dtype){name, DTYPE_UNKNOWN, 0, 1, 0};
}

bool dtype_nbytes(const struct dtype *d, uint64_t count, uint64_t *nbytes)
{
    if (!dtype_sized(d))
        return false;
    if (d->kind == DTYPE_BLOCK) {
        if (count % d->block_elems)
            return false;
        return mul_u64(count / d->block_elems, d->block_bytes, nbytes);
    }
    uint64_t whole;
    if (!mul_u64(count / d->block_elems, d->block_bytes, &whole))
        return false;
    uint64_t rest = count % d->block_elems * d->bits;
    return add_u64(whole, (rest + 7) / 8, nbytes);
}

unsigned dtype_swap_width(const struct dtype *d)
{
    if (d->kind == DTYPE_VOID || d->bits % 8)
        return 1;
    unsigned width = d->kind == DTYPE_COMPLEX ? d->bits / 16 : d->bits / 8;
    return width ? width : 1;
}

bool dtype_counts(const struct dtype *d)
{
    return d->kind != DTYPE_STRING && d->kind != DTYPE_OPAQUE;
}

/* What other programs call a dtype, in lower case: PyTorch, llama.cpp, safetensors and C; after
 * "np." what NumPy alone means by it. Letters with a width alone, such as i8, are safetensors'. */
static const char *const aliases[][2] = {
    {"fp16", "float16"},
    {"f16", "float16"},
    {"half", "float16"},
    {"bf16", "bfloat16"},
    {"bfloat", "bfloat16"},
    {"brain", "bfloat16"},
    {"fp32", "float32"},
    {"f32", "float32"},
    {"float", "float32"},
    {"single", "float32"},
    {"fp64", "float64"},
    {"f64", "float64"},
    {"double", "float64"},
    {"f8_e4m3", "float8_e4m3fn"},
    {"fp8", "float8_e4m3fn"},
    {"f8_e5m2", "float8_e5m2"},
    {"f8_e8m0", "float8_e8m0fnu"},
    {"fp8_e4m3", "float8_e4m3fn"},
    {"fp8_e5m2", "float8_e5m2"},
    {"i8", "int8"},
    {"i16", "int16"},
    {"short", "int16"},
    {"i32", "int32"},
    {"int", "int32"},
    {"i64", "int64"},
    {"long", "int64"},
    {"u8", "uint8"},
    {"byte", "uint8"},
    {"u16", "uint16"},
    {"u32", "uint32"},
    {"u64", "uint64"},
    {"boolean", "bool"},
    {"c64", "complex64"},
    {"cfloat", "complex64"},
    {"c128", "complex128"},
    {"cdouble", "complex128"},
    {"chalf", "complex32"},
    {"np.float", "float64"},
    {"np.float_", "float64"},
    {"np.int", "int64"},
    {"np.int_", "int64"},
    {"np.intc", "int32"},
    {"np.uint", "uint64"},
    {"np.byte", "int8"},
    {"np.ubyte", "uint8"},
    {"np.bool_", "bool"},
};
#define ALIASES (sizeof(aliases) / sizeof(aliases[0]))

/* Of a NumPy type string with its byte order: <f4, |u1. */
static const char *array_alias(const char *name)
{
    static const char *const types[][2] = {
        {"b1", "bool"},      {"i1", "int8"},        {"i2", "int16"},   {"i4", "int32"},
        {"i8", "int64"},     {"u1", "uint8"},       {"u2", "uint16"},  {"u4", "uint32"},
        {"u8", "uint64"},    {"f2", "float16"},     {"f4", "float32"}, {"f8", "float64"},
        {"c8", "complex64"}, {"c16", "complex128"},
    };
    const size_t order = strspn(name, "<>=|");
    for (size_t i = 0; order == 1 && i < sizeof(types) / sizeof(types[0]); i++)
        if (strcmp(name + order, types[i][0]) == 0)
            return types[i][1];
    return NULL;
}

const char *dtype_alias(const char *name)
{
    static const char *const modules[][2] = {
        {"torch.", ""},     {"np.", "np."},        {"numpy.", "np."},
        {"jnp.", "np."},    {"jax.numpy.", "np."}, {"tf.", ""},
        {"ml_dtypes.", ""}, {"dt_", ""},           {"ggml_type_", ""},
    };
    char word[40];
    const char *rest = name, *module = "";
    for (size_t i = 0; rest == name && i < sizeof(modules) / sizeof(modules[0]); i++)
        if (strncasecmp(name, modules[i][0], strlen(modules[i][0])) == 0) {
            rest = name + strlen(modules[i][0]);
            module = modules[i][1];
        }
    snprintf(word, sizeof(word), "%s%.30s", module, rest);
    for (size_t i = 0; i < ALIASES; i++)
        if (strcasecmp(word, aliases[i][0]) == 0)
            return aliases[i][1];
    for (size_t i = 0; i < DTYPES; i++)
        if (strcasecmp(rest, dtypes[i].name) == 0)
            return strcmp(name, dtypes[i].name) == 0 ? NULL : dtypes[i].name;
    for (size_t i = 0; i < ALIASES; i++)
        if (strcasecmp(rest, aliases[i][0]) == 0)
            return aliases[i][1];
    return array_alias(name);
}

void dtype_called(const char *name, struct dtype *out)
{
    const char *known = dtype_alias(name);
    dtype_find(known ? known : name, out);
}

const char *dtype_nearest(const char *name)
{
    struct nearest nearest = {.wanted = name};
    const char *best = dtype_alias(name);
    for (size_t i = 0; !best && i < DTYPES; i++)
        nearest_offer(&nearest, dtypes[i].name, dtypes[i].name);
    for (size_t i = 0; !best && i < ALIASES; i++)
        nearest_offer(&nearest, aliases[i][0], aliases[i][1]);
    for (size_t i = 0; !best && nearest.count && i < DTYPES; i++)
        if (strcmp(dtypes[i].name, nearest.name[0]) == 0)
            best = dtypes[i].name;
    nearest_release(&nearest);
    return best;
}
