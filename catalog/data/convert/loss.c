#include "catalog/data/convert/loss.h"

#include <math.h>
#include <string.h>

#include "catalog/base/bits.h"
#include "catalog/data/convert/convert.h"
#include "catalog/data/convert/ggml.h"

/* How many numbers of a run are zero, not finite, and NaN. */
struct tally {
    uint64_t zeros, infinite, nans; /* `infinite` includes NaN */
};

enum class { IS_ZERO = 1, IS_INFINITE = 2, IS_NAN = 4 };

/* The bits of the exponent: infinity, as an integer. 0: the format has no such rule. */
static uint64_t exponent_of(const struct dtype *d, unsigned bits)
{
    if (bits == 64)
        return UINT64_C(0x7FF0000000000000);
    if (bits == 32)
        return 0x7F800000;
    if (bits == 16)
        return strcmp(d->name, "bfloat16") == 0 ? 0x7F80 : 0x7C00;
    return 0;
}

static unsigned bits_of_number(const struct dtype *d)
{
    return d->kind == DTYPE_COMPLEX ? d->bits / 2U : d->bits;
}

/* One loop per width, without branches. */
#define TALLY(width, load)                                                                         \
    static void tally_##width(const uint8_t *at, uint64_t count, uint64_t exponent,                \
                              struct tally *t)                                                     \
    {                                                                                              \
        uint64_t zeros = 0, infinite = 0, nans = 0;                                                \
        for (uint64_t i = 0; i < count; i++, at += (width) / 8) {                                  \
            uint64_t magnitude = load(at) & (UINT64_MAX >> (65 - (width)));                        \
            zeros += magnitude == 0;                                                               \
            infinite += magnitude >= exponent;                                                     \
            nans += magnitude > exponent;                                                          \
        }                                                                                          \
        t->zeros += zeros;                                                                         \
        t->infinite += infinite;                                                                   \
        t->nans += nans;                                                                           \
    }
TALLY(64, load_u64le)
TALLY(32, load_u32le)
TALLY(16, load_u16le)

/* The 8-bit formats have no rule in common: classify all 256 codes first. */
static void tally_8(const struct dtype *d, const uint8_t *at, uint64_t count, struct tally *t)
{
    uint8_t classes[256] = {0};
    for (unsigned code = 0; code < 256; code++) {
        struct element e = {0};
        uint8_t byte = (uint8_t)code;
        element_get(d, &byte, 0, &e);
        classes[code] =
            (uint8_t)((e.real == 0 ? IS_ZERO : 0) | (isfinite(e.real) ? 0 : IS_INFINITE) |
                      (isnan(e.real) ? IS_NAN : 0));
    }
    for (uint64_t i = 0; i < count; i++) {
        uint8_t class = classes[at[i]];
        t->zeros += (class & IS_ZERO) != 0;
        t->infinite += (class & IS_INFINITE) != 0;
        t->nans += (class & IS_NAN) != 0;
    }
}

static struct tally tally(const struct dtype *d, const void *numbers, uint64_t count)
{
    struct tally t = {0};
    unsigned bits = bits_of_number(d);
    uint64_t exponent = exponent_of(d, bits);
    switch (bits) {
    case 64: tally_64(numbers, count, exponent, &t); break;
    case 32: tally_32(numbers, count, exponent, &t); break;
    case 16: tally_16(numbers, count, exponent, &t); break;
    default: tally_8(d, numbers, count, &t);
    }
    return t;
}

static bool is_counted(const struct dtype *d)
{
    unsigned bits = bits_of_number(d);
    return (d->kind == DTYPE_FLOAT || d->kind == DTYPE_COMPLEX) && d->block_elems == 1 &&
           (bits == 8 || bits == 16 || bits == 32 || bits == 64);
}

bool loss_possible(const struct dtype *from, const struct dtype *to)
{
    if (to->kind == DTYPE_BLOCK)
        return is_counted(from) && from->kind == DTYPE_FLOAT;
    return is_counted(from) && is_counted(to) && from->kind == to->kind &&
           strcmp(from->name, to->name) != 0;
}

static uint64_t grown(uint64_t before, uint64_t after)
{
    return after > before ? after - before : 0;
}

static void count_blocks(const struct dtype *from, const uint8_t *before, const struct dtype *to,
                         const uint8_t *after, uint64_t count, struct loss *loss)
{
    float numbers[1024]; /* whole blocks of any dtype */
    struct error ignored = {.offset = NO_OFFSET};
    struct dtype single;
    struct converter c;
    uint64_t bad;
    dtype_find("float32", &single);
    if (ggml_finite(to, after, count) || converter_find(to, &single, &c, &ignored) != OK)
        return;
    for (uint64_t i = 0, n; i < count; i += n) {
        n = count - i < 1024 ? count - i : 1024;
        if (c.run(&c, after + i / to->block_elems * to->block_bytes, numbers, n, &bad) != OK)
            return;
        const struct tally a = tally(from, before + i * from->block_bytes, n),
                           b = tally(&single, numbers, n);
        loss->out_of_range += grown(a.infinite, b.infinite);
        loss->to_nan += grown(a.nans, b.nans);
    }
}

void loss_count(const struct dtype *from, const void *before, const struct dtype *to,
                const void *after, uint64_t count, struct loss *loss)
{
    if (to->kind == DTYPE_BLOCK) {
        count_blocks(from, before, to, after, count, loss);
        return;
    }
    uint64_t numbers = from->kind == DTYPE_COMPLEX ? 2 * count : count;
    struct tally a = tally(from, before, numbers), b = tally(to, after, numbers);
    loss->out_of_range += grown(a.infinite, b.infinite);
    loss->to_zero += grown(a.zeros, b.zeros);
    loss->to_nan += grown(a.nans, b.nans);
}
