/*
 * bitshuffle.c - elements stored as bit planes, HDF5's filter 32008: "bitshuffle:N,E,B[,lz4|zstd]".
 * N: decoded bytes. E: bytes per element. B: elements per block (0: about 8 KiB).
 *
 * A block of n elements is 8 * E rows of n / 8 bytes. Row r holds bit r of all elements, eight
 * elements to a byte, the first in the lowest bit. With E = 2, B = 128: 16 rows of 16 bytes, and
 * bit 3 of element 9 is bit 1 of byte 1 in row 3. The last block is shorter, but a multiple of 8
 * elements; up to 7 elements after it are stored unchanged. Compressed data begins with u64 decoded
 * bytes and u32 decoded bytes per block; then each block is u32 stored bytes and these. All
 * big-endian.
 *
 * Source: bitshuffle's README and the header bshuf_h5filter.h; files of hdf5plugin 7.
 */
#include <limits.h>
#include <stdlib.h>

#include "catalog/data/codec/codec.h"
#include "catalog/data/codec/shared_library.h"

#define HEADER_BYTES 12
#define BLOCK_TARGET 8192 /* bytes of a block where the file does not say, */
#define BLOCK_LEAST  128  /* but at least this many elements */

enum compressor { AS_IT_IS, LZ4, ZSTD };

struct bitshuffled {
    uint64_t size, element, block; /* bytes, bytes, elements */
    enum compressor compressor;
};

static bool take_args(const struct codec_args *args, struct bitshuffled *b)
{
    *b = (struct bitshuffled){args->number[0], args->number[1], args->number[2], AS_IT_IS};
    if (!b->block) {
        b->block = BLOCK_TARGET / b->element / 8 * 8;
        b->block = b->block < BLOCK_LEAST ? BLOCK_LEAST : b->block;
    }
    if (*args->rest)
        b->compressor = strcmp(args->rest, ",lz4") == 0 ? LZ4 : ZSTD;
    return b->block % 8 == 0 && (b->compressor != ZSTD || strcmp(args->rest, ",zstd") == 0);
}

static bool bitshuffle_size(const struct codec_args *args, uint64_t in, struct codec_size *size)
{
    struct bitshuffled b;
    (void)in;
    (void)size; /* as stated */
    return take_args(args, &b);
}

/* Transpose an 8 x 8 matrix of bits: bit j of byte i becomes bit i of byte j (Hacker's Delight,
 * 7-3). */
static uint64_t turn_bits(uint64_t x)
{
    uint64_t t = (x ^ x >> 7) & UINT64_C(0x00AA00AA00AA00AA);
    x ^= t ^ t << 7;
    t = (x ^ x >> 14) & UINT64_C(0x0000CCCC0000CCCC);
    x ^= t ^ t << 14;
    t = (x ^ x >> 28) & UINT64_C(0x00000000F0F0F0F0);
    return x ^ t ^ t << 28;
}

/* One block of `count` elements, a multiple of 8: takes one byte from each of the 8 rows of a byte
 * of the element, and transposes them to that byte of 8 elements. */
static void unshuffle(const uint8_t *in, uint64_t count, uint64_t element, uint8_t *out)
{
    uint64_t row = count / 8;
    for (uint64_t byte = 0; byte < element; byte++)
        for (uint64_t i = 0; i < row; i++) {
            uint64_t bits = 0;
            for (unsigned k = 0; k < 8; k++)
                bits |= (uint64_t)in[(byte * 8 + k) * row + i] << 8 * k;
            bits = turn_bits(bits);
            for (unsigned e = 0; e < 8; e++)
                out[(i * 8 + e) * element + byte] = (uint8_t)(bits >> 8 * e);
        }
}

struct unpacking {
    const struct codec_step *step;
    const struct bitshuffled *b;
    const struct liblz4 *lz4;
    const struct libzstd *zstd;
    __typeof__(ZSTD_createDCtx()) context;
    uint8_t *block; /* room for one decompressed block */
    const uint8_t *at, *end;
    struct error *err;
};

/* The decompressed bytes of the next block; NULL: an error. */
static const uint8_t *next_block(struct unpacking *u, uint64_t bytes)
{
    const uint8_t *at = u->at;
    uint64_t left = (uint64_t)(u->end - at);
    if (u->b->compressor == AS_IT_IS) {
        if (left < bytes)
            return codec_corrupt(u->step, u->err, "ends inside a block"), NULL;
        u->at += bytes;
        return at;
    }
    uint64_t stored = left < 4 ? UINT64_MAX : load_u32be(at);
    if (stored > INT_MAX || stored > left - 4 || bytes > INT_MAX)
        return codec_corrupt(u->step, u->err, "ends inside a block"), NULL;
    u->at += 4 + stored;
    bool good = u->lz4 ? u->lz4->decompress((const char *)at + 4, (char *)u->block, (int)stored,
                                            (int)bytes) == (int)bytes
                       : u->zstd->decompress(u->context, u->block, (size_t)bytes, at + 4,
                                             (size_t)stored) == bytes;
    return good ? u->block : (codec_corrupt(u->step, u->err, "a block is damaged"), NULL);
}

static void unpack_blocks(struct unpacking *u, uint8_t *out)
{
    const struct bitshuffled *b = u->b;
    uint64_t elements = b->size / b->element, done = 0;
    while (elements - done >= 8) {
        uint64_t count = elements - done < b->block ? (elements - done) / 8 * 8 : b->block;
        const uint8_t *block = next_block(u, count * b->element);
        if (!block)
            return;
        unshuffle(block, count, b->element, out + done * b->element);
        done += count;
    }
    uint64_t rest = b->size - done * b->element;
    if ((uint64_t)(u->end - u->at) < rest)
        codec_corrupt(u->step, u->err, "ends before its last elements");
    else
        memcpy(out + done * b->element, u->at, (size_t)rest);
}

/* Compressed data states its decoded size again, and the size of its blocks. */
static void bitshuffle_read_head(struct unpacking *u, struct bitshuffled *b)
{
    if (u->end - u->at < HEADER_BYTES) {
        codec_corrupt(u->step, u->err, "is too short for its head");
        return;
    }
    uint64_t size = load_u64be(u->at), bytes = load_u32be(u->at + 8);
    u->at += HEADER_BYTES;
    if (size != b->size || bytes % (8 * b->element) || !bytes)
        codec_corrupt(u->step, u->err, "holds %llu decoded bytes in blocks of %llu",
                      (unsigned long long)size, (unsigned long long)bytes);
    else
        b->block = bytes / b->element;
}

static enum status bitshuffle_decode(const struct codec_step *step, struct bytes in, uint8_t *out,
                                     size_t room, size_t *made, struct error *err)
{
    struct bitshuffled b = {0};
    struct unpacking u = {.step = step, .b = &b, .at = in.at, .end = in.at + in.len, .err = err};
    take_args(&step->args, &b);
    *made = (size_t)b.size;
    const bool packed = b.compressor != AS_IT_IS;
    if (packed)
        bitshuffle_read_head(&u, &b);
    if (b.compressor == LZ4)
        u.lz4 = library_lz4(step, err);
    if (b.compressor == ZSTD)
        u.zstd = library_zstd(step, err);
    if (err->status != OK || b.size > room || !b.size || (packed && !u.lz4 && !u.zstd))
        return err->status;
    uint64_t bytes = b.block * b.element < b.size ? b.block * b.element : b.size;
    u.block = packed ? malloc((size_t)bytes + 1) : NULL;
    u.context = u.zstd ? u.zstd->create() : NULL;
    if (packed && (!u.block || (u.zstd && !u.context)))
        error_set(err, ERR_MEMORY, step->name, step->offset, "no memory");
    else
        unpack_blocks(&u, out);
    if (u.context)
        u.zstd->close(u.context);
    free(u.block);
    return err->status;
}

static uint64_t bitshuffle_memory(uint64_t out)
{
    return out < UINT64_MAX / 2 ? out + (1 << 20) : UINT64_MAX;
}

const struct codec codec_bitshuffle = {.name = "bitshuffle",
                                       .args = "N,1-65536,0-4294967295?",
                                       .size = bitshuffle_size,
                                       .decode = bitshuffle_decode,
                                       .memory = bitshuffle_memory};
