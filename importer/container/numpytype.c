#include "importer/container/numpytype.h"

#include <stdio.h>
#include <string.h>

#include "catalog/data/model/dtype.h"

/* Canonical names by NumPy's kind and bytes per element. */
static const struct {
    const char *code, *dtype;
    unsigned item;
} kinds[] = {
    {"b1", "bool", 1},
    {"i1", "int8", 1},
    {"i2", "int16", 2},
    {"i4", "int32", 4},
    {"i8", "int64", 8},
    {"u1", "uint8", 1},
    {"u2", "uint16", 2},
    {"u4", "uint32", 4},
    {"u8", "uint64", 8},
    {"f2", "float16", 2},
    {"f4", "float32", 4},
    {"f8", "float64", 8},
    {"c8", "complex64", 8},
    {"c16", "complex128", 16},
    /* padded x87 numbers; only where they are is known */
    {"f12", "unknown(float96)", 12},
    {"f16", "unknown(float128)", 16},
    {"c24", "unknown(complex192)", 24},
    {"c32", "unknown(complex256)", 32},
};

/* The number in "S5", "U2", "V16": bytes or characters per element. */
static bool read_count(const char *digits, unsigned *count)
{
    *count = 0;
    if (*digits < '1' || *digits > '9')
        return false;
    for (; *digits >= '0' && *digits <= '9' && *count < 100000000; digits++)
        *count = *count * 10 + (unsigned)(*digits - '0');
    return !*digits;
}

/* S<bytes>, U<characters of 4 bytes>, V<bytes>. */
static bool set_sized(struct numpy_type *t, const char *code, bool big)
{
    unsigned count;
    struct dtype found;
    if (!read_count(code + 1, &count))
        return false;
    t->item = *code == 'U' ? count * 4 : count;
    if (*code == 'V') {
        snprintf(t->dtype, sizeof(t->dtype), "void%llu", count * 8ull);
        dtype_find(t->dtype, &found);
        if (found.kind == DTYPE_UNKNOWN)
            snprintf(t->dtype, sizeof(t->dtype), "unknown(V%u)", count);
        return true;
    }
    snprintf(t->dtype, sizeof(t->dtype), "string");
    snprintf(t->strings, sizeof(t->strings), "%c%u", *code, count);
    t->swap = *code == 'U' && big ? 4 : 0;
    return true;
}

/* "", "[unit]" or "[25unit]", which follows M8 and m8. */
static bool is_time_unit(const char *text)
{
    static const char units[] = " Y M W D h m s ms us ns ps fs as ";
    char unit[8];
    if (!*text)
        return true;
    if (*text++ != '[')
        return false;
    while (*text >= '0' && *text <= '9')
        text++;
    size_t len = strcspn(text, "]");
    if (len < 1 || len > 2 || strcmp(text + len, "]") != 0)
        return false;
    snprintf(unit, sizeof(unit), " %.*s ", (int)len, text);
    return strstr(units, unit) != NULL;
}

static bool set_time(struct numpy_type *t, const char *code)
{
    if (code[1] != '8' || !is_time_unit(code + 2))
        return false;
    snprintf(t->dtype, sizeof(t->dtype), "%s%s", *code == 'M' ? "datetime64" : "timedelta64",
             code + 2);
    t->item = 8;
    return true;
}

/* NumPy's kind and bytes, or a dtype by its own name: "float32", or "bfloat16" and others that NumPy
 * lacks but writers use. */
static bool set_numeric(struct numpy_type *t, const char *code)
{
    struct dtype found;
    for (size_t i = 0; i < sizeof(kinds) / sizeof(kinds[0]); i++) {
        if (strcmp(code, kinds[i].code) == 0) {
            t->item = kinds[i].item;
            snprintf(t->dtype, sizeof(t->dtype), "%s", kinds[i].dtype);
            return true;
        }
    }
    dtype_find(code, &found);
    bool plain = found.kind == DTYPE_BOOL || found.kind == DTYPE_INT || found.kind == DTYPE_UINT ||
                 found.kind == DTYPE_FLOAT || found.kind == DTYPE_COMPLEX;
    if (!plain || found.bits % 8 || !found.bits || *code == 'q')
        return false;
    t->item = found.block_bytes;
    snprintf(t->dtype, sizeof(t->dtype), "%s", found.name);
    return true;
}

bool numpy_type_parse(const char *text, struct numpy_type *out)
{
    struct numpy_type t = {0};
    struct dtype found;
    const char *code = text + (*text && strchr("<>|=", *text) != NULL);
    bool big = *text == '>';
    if (strlen(text) >= NUMPY_TYPE_BYTES)
        return false;
    bool sized = *code == 'S' || *code == 'U' || *code == 'V';
    bool time = *code == 'M' || (*code == 'm' && code[1] == '8');
    if (!(sized ? set_sized(&t, code, big) : time ? set_time(&t, code) : set_numeric(&t, code)))
        return false;
    dtype_find(t.dtype, &found);
    unsigned width = dtype_swap_width(&found);
    if (big && !sized && width > 1)
        t.swap = width;
    *out = t;
    return true;
}
