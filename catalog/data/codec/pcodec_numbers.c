/*
 * pcodec_numbers.c - puts numbers together from the integers into which pco split them.
 *
 * pco maps signed integers and floats to unsigned integers of the same order; ordered() undoes
 * that.
 */
#include "catalog/data/codec/pcodec.h"
#include "catalog/data/convert/float_format.h"

static const struct {
    uint8_t byte;
    struct pco_type type;
} types[] = {
    {1, {PCO_UNSIGNED, 32, 0}}, {2, {PCO_UNSIGNED, 64, 0}}, {3, {PCO_SIGNED, 32, 0}},
    {4, {PCO_SIGNED, 64, 0}},   {5, {PCO_FLOAT, 32, 23}},   {6, {PCO_FLOAT, 64, 52}},
    {7, {PCO_UNSIGNED, 16, 0}}, {8, {PCO_SIGNED, 16, 0}},   {9, {PCO_FLOAT, 16, 10}},
    {10, {PCO_UNSIGNED, 8, 0}}, {11, {PCO_SIGNED, 8, 0}},
};

bool pco_type_find(uint8_t byte, struct pco_type *type)
{
    for (size_t i = 0; i < sizeof(types) / sizeof(types[0]); i++)
        if (types[i].byte == byte) {
            *type = types[i].type;
            return true;
        }
    return false;
}

bool pco_mode_has_second(const struct pco_mode *m)
{
    return m->kind != PCO_CLASSIC && m->kind != PCO_DICT;
}

static uint64_t middle_of(const struct pco_type *type)
{
    return UINT64_C(1) << ((type->width - 1) % 64);
}

/* From a place in the order to the bits of its number; the next function is the inverse for
 * floats. */
static inline uint64_t ordered(const struct pco_type *type, uint64_t place)
{
    const uint64_t middle = middle_of(type);
    if (type->kind == PCO_UNSIGNED)
        return place;
    if (type->kind == PCO_SIGNED)
        return place ^ middle;
    /* Invert all bits of a negative float, but only the sign of a positive one; without a branch,
     * since random signs would be mispredicted. */
    const uint64_t positive = 0 - (place >> (type->width - 1) & 1);
    return place ^ (middle | (~positive & (middle - 1)));
}

static inline uint64_t pcodec_numbers_place_of(const struct pco_type *type, uint64_t bits)
{
    const uint64_t middle = middle_of(type);
    return bits & middle ? pco_low(~bits, type->width) : bits ^ middle;
}

pco_fault pco_mode_check(const struct pco_mode *m, const struct pco_type *type)
{
    const bool floats = type->kind == PCO_FLOAT;
    if (m->kind == PCO_INT_MULT && (floats || !m->base))
        return "multiples of an integer that cannot be";
    if ((m->kind == PCO_FLOAT_MULT || m->kind == PCO_FLOAT_QUANT) && !floats)
        return "integers in a form of floats";
    if (m->kind == PCO_FLOAT_QUANT && (!m->quantum || m->quantum > type->mantissa))
        return "floats quantized by too many bits";
    if (m->kind != PCO_FLOAT_MULT)
        return NULL;
    const uint64_t magnitude = pco_low(ordered(type, m->base), type->width - 1) >> type->mantissa;
    const uint64_t infinite = pco_low(UINT64_MAX, type->width - 1 - type->mantissa); /* exponent */
    const bool zero = !pco_low(ordered(type, m->base), type->width - 1);
    return zero || magnitude == infinite ? "multiples of a float that cannot be" : NULL;
}

/* --- multiples of floats -------------------------------------------------------------------- */

/* A latent counts floats that are integers: each integer up to 2^DIGITS, and from there on each
 * next float, since not every integer is a float any more. */
#define DEFINE_MULTIPLE(NAME, UINT, FLOAT, OF, BITS_OF, DIGITS)                                    \
    static uint64_t NAME(uint64_t latent, uint64_t base)                                           \
    {                                                                                              \
        const UINT middle = (UINT)1 << (sizeof(UINT) * 8 - 1), l = (UINT)latent;                   \
        const UINT exact = (UINT)1 << (DIGITS);                                                    \
        const bool minus = l < middle;                                                             \
        const UINT count = minus ? middle - 1 - l : l - middle;                                    \
        const FLOAT size =                                                                         \
            count < exact ? (FLOAT)count : OF((UINT)(BITS_OF((FLOAT)exact) + (count - exact)));    \
        return BITS_OF((minus ? -size : size) * OF((UINT)base));                                   \
    }

DEFINE_MULTIPLE(multiple_32, uint32_t, float, float_of, float_bits, 24)
DEFINE_MULTIPLE(multiple_64, uint64_t, double, double_of, double_bits, 53)

/* Computed in float32, which holds the product of two float16 exactly. */
static uint64_t multiple_16(const struct float_format *half, uint64_t latent, uint64_t base)
{
    const uint32_t middle = 1u << 15, exact = 1u << 11, l = (uint32_t)latent;
    const bool minus = l < middle;
    const uint32_t count = minus ? middle - 1 - l : l - middle;
    const uint32_t bits =
        count < exact
            ? float_bits((float)count)
            : float_decode(half, float_encode32(half, float_bits((float)exact)) + (count - exact));
    const float size = float_of(minus ? bits ^ UINT32_C(1) << 31 : bits);
    return float_encode32(half, float_bits(size * float_of(float_decode(half, (uint32_t)base))));
}

static void join_multiples(const struct pco_mode *m, const struct pco_type *type, uint64_t *first,
                           const uint64_t *second, unsigned count)
{
    const struct float_format *half = float_format_find("float16");
    const uint64_t base = ordered(type, m->base), middle = middle_of(type);
    for (unsigned i = 0; i < count; i++) {
        uint64_t number = type->width == 64   ? multiple_64(first[i], base)
                          : type->width == 32 ? multiple_32(first[i], base)
                                              : multiple_16(half, first[i], base);
        first[i] =
            pco_low(pcodec_numbers_place_of(type, number) + (second[i] ^ middle), type->width);
    }
}

/* --- all ------------------------------------------------------------------------------------ */

static void join_quanta(const struct pco_mode *m, const struct pco_type *type, uint64_t *first,
                        const uint64_t *second, unsigned count)
{
    const uint64_t least_positive = middle_of(type) >> m->quantum;
    const uint64_t most = pco_low(UINT64_MAX, m->quantum);
    for (unsigned i = 0; i < count; i++) {
        uint64_t low = first[i] >= least_positive ? second[i] : most - second[i];
        first[i] = pco_low((first[i] << m->quantum) + low, type->width);
    }
}

static pco_fault look_up(const struct pco_mode *m, const struct pco_type *type, uint64_t *first,
                         unsigned count)
{
    for (unsigned i = 0; i < count; i++) {
        struct pco_bits at = m->dict;
        if (first[i] >= m->dict_count)
            return "a number that is not in its dictionary";
        at.at += first[i] * type->width;
        first[i] = pco_take(&at, type->width);
    }
    return NULL;
}

/* A loop for each width, so that the compiler can vectorise it. */
#define DEFINE_STORE(NAME, BYTES, STORE)                                                           \
    static void NAME(const struct pco_type *type, const uint64_t *value, unsigned count,           \
                     uint8_t *out)                                                                 \
    {                                                                                              \
        const struct pco_type t = {type->kind, 8 * (BYTES), 0};                                    \
        for (unsigned i = 0; i < count; i++)                                                       \
            STORE(out + (size_t)i * (BYTES), ordered(&t, value[i]));                               \
    }

static inline void store_8(uint8_t *at, uint64_t value)
{
    *at = (uint8_t)value;
}

static inline void store_16(uint8_t *at, uint64_t value)
{
    store_u16le(at, (uint16_t)value);
}

static inline void store_32(uint8_t *at, uint64_t value)
{
    store_u32le(at, (uint32_t)value);
}

DEFINE_STORE(store_all_8, 1, store_8)
DEFINE_STORE(store_all_16, 2, store_16)
DEFINE_STORE(store_all_32, 4, store_32)
DEFINE_STORE(store_all_64, 8, store_u64le)

static void store(const struct pco_type *type, const uint64_t *value, unsigned count, uint8_t *out)
{
    if (type->width == 64)
        store_all_64(type, value, count, out);
    else if (type->width == 32)
        store_all_32(type, value, count, out);
    else if (type->width == 16)
        store_all_16(type, value, count, out);
    else
        store_all_8(type, value, count, out);
}

pco_fault pco_join(const struct pco_mode *m, const struct pco_type *type, uint64_t *first,
                   const uint64_t *second, unsigned count, uint8_t *out)
{
    pco_fault fault = NULL;
    if (m->kind == PCO_FLOAT_MULT)
        join_multiples(m, type, first, second, count);
    else if (m->kind == PCO_FLOAT_QUANT)
        join_quanta(m, type, first, second, count);
    else if (m->kind == PCO_DICT)
        fault = look_up(m, type, first, count);
    for (unsigned i = 0; m->kind == PCO_INT_MULT && i < count; i++)
        first[i] = pco_low(first[i] * m->base + second[i], type->width);
    if (!fault)
        store(type, first, count, out);
    return fault;
}
