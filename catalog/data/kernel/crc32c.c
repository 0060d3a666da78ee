#include "catalog/data/kernel/crc32c.h"

#include "catalog/base/bits.h"
#include "catalog/data/kernel/cpu.h"

/*
 * Slicing by 8 (Kounavis and Berry, 2005): table k holds the CRC of a byte followed by k
 * zero bytes, so that eight look-ups process eight bytes at once.
 *
 * A CRC is linear: the entry for n is the XOR of the entries for n's set bits. The source therefore
 * lists only the entries 1, 2, 4, ... 128 of each table, and the compiler computes the other 248.
 */
#define BIT(n, b, entry) ((n) / (1u << (b)) % 2 ? UINT32_C(entry) : 0)
#define ENTRY(n, b0, b1, b2, b3, b4, b5, b6, b7)                                                   \
    (BIT(n, 0, b0) ^ BIT(n, 1, b1) ^ BIT(n, 2, b2) ^ BIT(n, 3, b3) ^ BIT(n, 4, b4) ^               \
     BIT(n, 5, b5) ^ BIT(n, 6, b6) ^ BIT(n, 7, b7))
#define ENTRIES_4(n, ...)                                                                          \
    ENTRY(n, __VA_ARGS__), ENTRY((n) + 1, __VA_ARGS__), ENTRY((n) + 2, __VA_ARGS__),               \
        ENTRY((n) + 3, __VA_ARGS__)
#define ENTRIES_16(n, ...)                                                                         \
    ENTRIES_4(n, __VA_ARGS__), ENTRIES_4((n) + 4, __VA_ARGS__), ENTRIES_4((n) + 8, __VA_ARGS__),   \
        ENTRIES_4((n) + 12, __VA_ARGS__)
#define ENTRIES_64(n, ...)                                                                         \
    ENTRIES_16(n, __VA_ARGS__), ENTRIES_16((n) + 16, __VA_ARGS__),                                 \
        ENTRIES_16((n) + 32, __VA_ARGS__), ENTRIES_16((n) + 48, __VA_ARGS__)
#define TABLE(...)                                                                                 \
    {                                                                                              \
        ENTRIES_64(0, __VA_ARGS__), ENTRIES_64(64, __VA_ARGS__), ENTRIES_64(128, __VA_ARGS__),     \
            ENTRIES_64(192, __VA_ARGS__)                                                           \
    }

/* clang-format off */
static const uint32_t tables[8][256] = {
    TABLE(0xF26B8303, 0xE13B70F7, 0xC79A971F, 0x8AD958CF, 0x105EC76F, 0x20BD8EDE, 0x417B1DBC, 0x82F63B78),
    TABLE(0x13A29877, 0x274530EE, 0x4E8A61DC, 0x9D14C3B8, 0x3FC5F181, 0x7F8BE302, 0xFF17C604, 0xFBC3FAF9),
    TABLE(0xA541927E, 0x4F6F520D, 0x9EDEA41A, 0x38513EC5, 0x70A27D8A, 0xE144FB14, 0xC76580D9, 0x8B277743),
    TABLE(0xDD45AAB8, 0xBF672381, 0x7B2231F3, 0xF64463E6, 0xE964B13D, 0xD725148B, 0xABA65FE7, 0x52A0C93F),
    TABLE(0x38116FAC, 0x7022DF58, 0xE045BEB0, 0xC5670B91, 0x8F2261D3, 0x1BA8B557, 0x37516AAE, 0x6EA2D55C),
    TABLE(0xEF306B19, 0xDB8CA0C3, 0xB2F53777, 0x6006181F, 0xC00C303E, 0x85F4168D, 0x0E045BEB, 0x1C08B7D6),
    TABLE(0x68032CC8, 0xD0065990, 0xA5E0C5D1, 0x4E2DFD53, 0x9C5BFAA6, 0x3D5B83BD, 0x7AB7077A, 0xF56E0EF4),
    TABLE(0x493C7D27, 0x9278FA4E, 0x211D826D, 0x423B04DA, 0x847609B4, 0x0D006599, 0x1A00CB32, 0x34019664),
};
/* clang-format on */

uint32_t crc32c_extend_portable(uint32_t crc, const void *bytes, size_t len)
{
    const uint8_t *at = bytes;
    crc = ~crc;
    for (; len >= 8; at += 8, len -= 8) {
        uint32_t low = crc ^ load_u32le(at);
        crc = tables[7][low & 0xFF] ^ tables[6][low >> 8 & 0xFF] ^ tables[5][low >> 16 & 0xFF] ^
              tables[4][low >> 24] ^ tables[3][at[4]] ^ tables[2][at[5]] ^ tables[1][at[6]] ^
              tables[0][at[7]];
    }
    for (; len; at++, len--)
        crc = crc >> 8 ^ tables[0][(crc ^ *at) & 0xFF];
    return ~crc;
}

#if defined(__x86_64__) && defined(__GNUC__)

#    include <immintrin.h>

/*
 * Each crc32 instruction waits for the result of the previous one, so three independent runs of RUN
 * bytes are computed side by side. To join two runs A and B: advance crc(A) over len(B) zero bytes,
 * then XOR it with crc(B). Advancing over RUN zeros is linear: zeros[i] is what bit i becomes.
 */
#    define RUN ((size_t)4096)

static uint32_t over_run(uint64_t crc)
{
    static const uint32_t zeros[32] = {
        0xC2A5B65E, 0x80A71A4D, 0x04A2426B, 0x094484D6, 0x128909AC, 0x25121358, 0x4A2426B0,
        0x94484D60, 0x2D7CEC31, 0x5AF9D862, 0xB5F3B0C4, 0x6E0B1779, 0xDC162EF2, 0xBDC02B15,
        0x7E6C20DB, 0xFCD841B6, 0xFC5CF59D, 0xFD559DCB, 0xFF474D67, 0xFB62EC3F, 0xF329AE8F,
        0xE3BF2BEF, 0xC292212F, 0x80C834AF, 0x047C1FAF, 0x08F83F5E, 0x11F07EBC, 0x23E0FD78,
        0x47C1FAF0, 0x8F83F5E0, 0x1AEB9D31, 0x35D73A62,
    };
    uint32_t out = 0;
    for (unsigned i = 0; i < 32; i++)
        out ^= zeros[i] & (0 - (uint32_t)(crc >> i & 1));
    return out;
}

/* The raw CRC: without inverting the bits before and after. */
__attribute__((target("sse4.2"))) static uint32_t extend_sse42(uint32_t crc, const uint8_t *at,
                                                               size_t len)
{
    uint64_t wide = crc;
    for (; len >= 3 * RUN; at += 3 * RUN, len -= 3 * RUN) {
        uint64_t second = 0, third = 0;
        for (size_t i = 0; i < RUN; i += 8) {
            wide = _mm_crc32_u64(wide, load_u64le(at + i));
            second = _mm_crc32_u64(second, load_u64le(at + RUN + i));
            third = _mm_crc32_u64(third, load_u64le(at + 2 * RUN + i));
        }
        wide = over_run(over_run(wide) ^ second) ^ third;
    }
    for (; len >= 8; at += 8, len -= 8)
        wide = _mm_crc32_u64(wide, load_u64le(at));
    crc = (uint32_t)wide;
    for (; len; at++, len--)
        crc = _mm_crc32_u8(crc, *at);
    return crc;
}

/*
 * Folding (Gopal, Ozturk and others, "Fast CRC Computation for Generic Polynomials Using PCLMULQDQ
 * Instruction", 2009) of sixteen 128-bit lanes at once: a carry-less product moves a lane forward
 * to the lane FOLDED bytes after it, and is XORed into that (at the end: the lane 64 bytes after
 * it). The 64 bytes that remain have the CRC of everything folded. The factors of a move by
 * `distance` bits are x^(distance + 32) and x^(distance - 32) modulo the polynomial, bits reversed.
 */
#    define FOLDED      ((size_t)256)
#    define TARGET_FOLD __attribute__((target("avx512f,vpclmulqdq,pclmul,sse4.2")))

TARGET_FOLD static __m512i carry(__m512i lanes, __m512i factors, __m512i next)
{
    return _mm512_ternarylogic_epi64(_mm512_clmulepi64_epi128(lanes, factors, 0x00),
                                     _mm512_clmulepi64_epi128(lanes, factors, 0x11), next,
                                     0x96); /* XOR of all three */
}

/* As extend_sse42(), for at least FOLDED bytes. */
TARGET_FOLD static uint32_t extend_folding(uint32_t crc, const uint8_t *at, size_t len)
{
    const __m512i near =
        _mm512_broadcast_i32x4(_mm_set_epi64x(0x9E4ADDF8, 0x740EEF02)); /* 512 bits */
    const __m512i far =
        _mm512_broadcast_i32x4(_mm_set_epi64x(0xB9E02B86, 0xDCB17AA4)); /* 2048 bits */
    __m512i a = _mm512_loadu_si512(at), b = _mm512_loadu_si512(at + 64);
    __m512i c = _mm512_loadu_si512(at + 128), d = _mm512_loadu_si512(at + 192);
    uint8_t left[64];
    a = _mm512_xor_si512(a, _mm512_zextsi128_si512(_mm_cvtsi32_si128((int)crc)));
    for (at += FOLDED, len -= FOLDED; len >= FOLDED; at += FOLDED, len -= FOLDED) {
        a = carry(a, far, _mm512_loadu_si512(at));
        b = carry(b, far, _mm512_loadu_si512(at + 64));
        c = carry(c, far, _mm512_loadu_si512(at + 128));
        d = carry(d, far, _mm512_loadu_si512(at + 192));
    }
    _mm512_storeu_si512(left, carry(carry(carry(a, near, b), near, c), near, d));
    return extend_sse42(extend_sse42(0, left, sizeof(left)), at, len);
}

uint32_t crc32c_extend(uint32_t crc, const void *bytes, size_t len)
{
    if (len >= FOLDED && CPU_HAS(AVX512F) && CPU_HAS(VPCLMULQDQ))
        return ~extend_folding(~crc, bytes, len);
    return crc32c_extend_runs(crc, bytes, len);
}

uint32_t crc32c_extend_runs(uint32_t crc, const void *bytes, size_t len)
{
    if (CPU_HAS(SSE4_2))
        return ~extend_sse42(~crc, bytes, len);
    return crc32c_extend_portable(crc, bytes, len);
}

#else

uint32_t crc32c_extend(uint32_t crc, const void *bytes, size_t len)
{
    return crc32c_extend_portable(crc, bytes, len);
}

uint32_t crc32c_extend_runs(uint32_t crc, const void *bytes, size_t len)
{
    return crc32c_extend_portable(crc, bytes, len);
}

#endif

/* A product of polynomials modulo the CRC's: the highest bit is x^0. */
static uint32_t multiply(uint32_t a, uint32_t b)
{
    uint32_t product = 0;
    for (; a; a <<= 1) {
        product ^= a >> 31 ? b : 0;
        b = b >> 1 ^ (b & 1 ? UINT32_C(0x82F63B78) : 0);
    }
    return product;
}

/* A byte that follows multiplies by x^8, so `len` bytes multiply by x^(8 len). */
uint32_t crc32c_combine(uint32_t a, uint32_t b, uint64_t len)
{
    for (uint32_t power = UINT32_C(1) << 23; len; len >>= 1, power = multiply(power, power))
        a = len & 1 ? multiply(power, a) : a;
    return a ^ b;
}
