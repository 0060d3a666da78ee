/*
 * checksum.c - codecs that verify and remove a checksum stored with the bytes: 4 bytes,
 * little-endian, after them ("crc32c:end") or before them ("crc32:start").
 *
 *   crc32c, crc32, adler32   the common ones
 *   fletcher32               over 16-bit big-endian numbers, as in netCDF and HDF5
 *   jenkins_lookup3          Bob Jenkins' hashlittle() of May 2006 with the seed 0, as in HDF5
 *
 * Sources: numcodecs/checksum32.py, fletcher32.pyx; zarr v3 crc32c codec, version 1.0.
 */
#include <zlib.h>

#include "catalog/data/codec/checksum.h"

#include "catalog/data/codec/codec.h"
#include "catalog/data/codec/shared_library.h"
#include "catalog/data/kernel/crc32c.h"

#define SUM_BYTES 4

static enum status sum_trim(const struct codec_step *step, uint32_t (*sum)(struct bytes),
                            struct bytes *bytes, struct error *err)
{
    bool start = step->args.number[0];
    if (bytes->len < SUM_BYTES)
        return codec_corrupt(step, err, "%zu bytes cannot hold a checksum", bytes->len);
    size_t len = bytes->len - SUM_BYTES;
    struct bytes data = {bytes->at + (start ? SUM_BYTES : 0), len};
    uint32_t stored = load_u32le(bytes->at + (start ? 0 : len)), found = sum(data);
    if (stored != found)
        return error_set(err, ERR_CHECKSUM, step->name, step->offset,
                         "%s of %zu bytes is %08x, but %08x is stored", step->codec, len,
                         (unsigned)found, (unsigned)stored);
    *bytes = data;
    return OK;
}

static uint32_t crc32c_of(struct bytes data)
{
    return crc32c_extend(0, data.at, data.len);
}

uint32_t crc32_extend(uint32_t crc, const void *bytes, size_t len)
{
    const struct libdeflate *lib = library_deflate(NULL, NULL);
    return lib ? lib->crc32(crc, bytes, len) : (uint32_t)crc32_z(crc, bytes, len);
}

static uint32_t crc32_of(struct bytes data)
{
    return crc32_extend(0, data.at, data.len);
}

static uint32_t adler32_of(struct bytes data)
{
    const struct libdeflate *lib = library_deflate(NULL, NULL);
    return lib ? lib->adler32(1, data.at, data.len) : (uint32_t)adler32_z(1, data.at, data.len);
}

/* One step of reducing a sum modulo 65,535: the carries above 16 bits are added at the low end. */
static uint32_t fold(uint32_t sum)
{
    return (sum & 0xFFFF) + (sum >> 16);
}

static uint32_t fletcher32_of(struct bytes data)
{
    enum { RUN = 360 }; /* numbers whose sum of sums fits in 32 bits */
    uint32_t sum = 0, sums = 0;
    size_t left = data.len / 2;
    const uint8_t *at = data.at;
    while (left) {
        size_t run = left < RUN ? left : RUN;
        left -= run;
        for (; run; run--, at += 2) {
            sum += load_u16be(at);
            sums += sum;
        }
        sum = fold(sum);
        sums = fold(sums);
    }
    if (data.len % 2) {
        sum += (uint32_t)*at << 8;
        sums += sum;
        sum = fold(sum);
        sums = fold(sums);
    }
    return fold(sums) << 16 | fold(sum);
}

static uint32_t turn(uint32_t x, unsigned by)
{
    return x << by | x >> (32 - by);
}

/* lookup3's mix() after each 12 bytes, and its final(). */
static void lookup3_mix(uint32_t v[3])
{
    static const uint8_t by[] = {4, 6, 8, 16, 19, 4};
    for (unsigned i = 0; i < 6; i++) {
        uint32_t *a = &v[i % 3], *b = &v[(i + 1) % 3], *c = &v[(i + 2) % 3];
        *a -= *c;
        *a ^= turn(*c, by[i]);
        *c += *b;
    }
}

static void lookup3_final(uint32_t v[3])
{
    static const uint8_t by[] = {14, 11, 25, 16, 4, 14, 24};
    for (unsigned i = 0; i < 7; i++) {
        uint32_t *x = &v[(i + 2) % 3];
        const uint32_t *y = &v[(i + 1) % 3];
        *x ^= *y;
        *x -= turn(*y, by[i]);
    }
}

uint32_t jenkins_lookup3(struct bytes data)
{
    uint32_t begin = UINT32_C(0xDEADBEEF) + (uint32_t)data.len;
    uint32_t v[3] = {begin, begin, begin};
    if (!data.len)
        return begin;
    const uint8_t *at = data.at;
    size_t left = data.len;
    for (; left > 12; left -= 12, at += 12) {
        for (size_t i = 0; i < 3; i++)
            v[i] += load_u32le(at + 4 * i);
        lookup3_mix(v);
    }
    uint8_t last[12] = {0};
    memcpy(last, at, left);
    for (size_t i = 0; i < 3; i++)
        v[i] += load_u32le(last + 4 * i);
    lookup3_final(v);
    return v[2];
}

#define CHECKSUM(kind, sum)                                                                        \
    static enum status kind##_trim(const struct codec_step *step, struct bytes *bytes,             \
                                   struct error *err)                                              \
    {                                                                                              \
        return sum_trim(step, sum, bytes, err);                                                    \
    }                                                                                              \
    const struct codec codec_##kind = {.name = #kind, .args = "=end|start", .trim = kind##_trim};

CHECKSUM(crc32c, crc32c_of)
CHECKSUM(crc32, crc32_of)
CHECKSUM(adler32, adler32_of)
CHECKSUM(fletcher32, fletcher32_of)
CHECKSUM(jenkins_lookup3, jenkins_lookup3)
