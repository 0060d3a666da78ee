/*
 * blosc2.c - codec "blosc2:N": a contiguous frame of Blosc2 with one chunk, as HDF5's filter 32026
 * stores it: a header in MessagePack, the chunk, its index. Of two dimensions and more the chunk holds
 * blocks one after the other, each padded to its shape (metalayer "b2nd").
 *
 * The library would trust the frame's sizes, and for codecs and filters that it lacks it starts a
 * Python to look for a plugin. So the frame is taken apart here, and the library gets chunks of its
 * own codecs and filters alone.
 *
 * Source: c-blosc2/README_CFRAME_FORMAT.rst, README_CHUNK_FORMAT.rst, README_B2ND_METALAYER.rst.
 */
#include <assert.h>
#include <stdlib.h>

#include "catalog/base/cursor.h"
#include "catalog/data/codec/codec.h"
#include "catalog/data/codec/shared_library.h"

#define CHUNK_HEADER 32
#define DIMS_MOST    16
#define EXTENDED     0x05 /* of a chunk's flags: its header has the pipeline of filters */
#define INSTRUMENTED 0x80
#define FILTER_MOST  4    /* none, byte shuffle, bit shuffle, delta, truncated precision */
#define PADDED_MOST  8    /* times what comes out: what is padded, and the library's four blocks */
#define ZEROS        0x81 /* the first byte of an offset that stands for a chunk of zeros */

struct frame {
    const struct libblosc2 *lib;
    uint64_t memory;          /* that decoding may still take */
    struct bytes data, index; /* the chunks, which start at their offsets; the chunk of offsets */
    uint64_t item, bytes;     /* of an element; of what comes out */
    uint64_t padded;          /* what the chunk decodes to */
    unsigned dims;            /* 0: no blocks */
    uint32_t shape[DIMS_MOST], block[DIMS_MOST];
};

static void expect(struct cursor *c, const char *literal, size_t len)
{
    struct bytes got = cursor_take(c, len);
    if (got.at && memcmp(got.at, literal, len) != 0)
        cursor_fail(c);
}

static uint32_t tagged_u32(struct cursor *c, const char *tag)
{
    expect(c, tag, 1);
    return cursor_u32be(c);
}

static uint64_t tagged_u64(struct cursor *c, const char *tag)
{
    expect(c, tag, 1);
    return cursor_u64be(c);
}

/* "b2nd": [version, dimensions, [shape], [chunk's shape], [block's shape], ...]. */
static void read_blocks(struct cursor *c, struct frame *f)
{
    expect(c, "\xc6", 1);
    cursor_take(c, 4);
    expect(c, "\x97\x00", 2);
    f->dims = cursor_u8(c);
    const char list = (char)(0x90 | f->dims);
    if (!f->dims || f->dims >= DIMS_MOST)
        cursor_fail(c);
    uint64_t padded = f->item, bytes = f->item;
    expect(c, &list, 1);
    for (unsigned i = 0; i < f->dims && cursor_ok(c); i++) {
        uint64_t n = tagged_u64(c, "\xd3");
        f->shape[i] = (uint32_t)n;
        if (!n || n > INT32_MAX || !mul_u64(bytes, n, &bytes))
            cursor_fail(c);
    }
    expect(c, &list, 1);
    for (unsigned i = 0; i < f->dims && cursor_ok(c); i++)
        if (tagged_u32(c, "\xd2") != f->shape[i])
            cursor_fail(c);
    expect(c, &list, 1);
    for (unsigned i = 0; i < f->dims && cursor_ok(c); i++) {
        uint32_t n = f->block[i] = tagged_u32(c, "\xd2");
        if (!n || n > INT32_MAX ||
            !mul_u64(padded, ((uint64_t)f->shape[i] + n - 1) / n * n, &padded))
            cursor_fail(c);
    }
    f->bytes = bytes;
    f->padded = padded;
}

static enum status read_frame(const struct codec_step *step, struct bytes in, struct frame *f,
                              struct error *err)
{
    struct cursor c = cursor_over(in, step->offset);
    expect(&c,
           "\x9e\xa8"
           "b2frame\0",
           10);
    uint32_t head = tagged_u32(&c, "\xd2");
    tagged_u64(&c, "\xcf");
    expect(&c, "\xa4", 1);
    cursor_take(&c, 4);
    f->bytes = f->padded = tagged_u64(&c, "\xd3");
    uint64_t packed = tagged_u64(&c, "\xd3");
    f->item = tagged_u32(&c, "\xd2");
    tagged_u32(&c, "\xd2"); /* bytes a block and a chunk: the chunk says them again */
    tagged_u32(&c, "\xd2");
    cursor_take(&c, 7); /* numbers of threads, whether there are metalayers behind the chunks */
    expect(&c, "\xd8", 1);
    cursor_take(&c, 17); /* the pipeline of filters: the chunk says it again */
    expect(&c, "\x93\xcd", 2);
    cursor_take(&c, 2);
    expect(&c, "\xde", 1);
    uint16_t layers = cursor_u16be(&c);
    if (layers) {
        expect(&c,
               "\xa4"
               "b2nd",
               5);
        uint32_t at = tagged_u32(&c, "\xd2");
        if (layers > 1 || at > in.len)
            cursor_fail(&c);
        c.at = cursor_ok(&c) ? in.at + at : c.at;
        read_blocks(&c, f);
    }
    if (!cursor_ok(&c) || head > in.len || packed > in.len - head)
        return codec_corrupt(step, err, "%zu bytes are not a frame of one chunk", in.len);
    f->data = (struct bytes){in.at + head, (size_t)packed};
    f->index = (struct bytes){f->data.at + packed, in.len - head - (size_t)packed};
    return OK;
}

static uint64_t blosc2_memory(uint64_t out)
{
    uint64_t some;
    return mul_u64(out, PADDED_MOST, &some) && add_u64(some, 1 << 18, &some) ? some : UINT64_MAX;
}

static enum status decode_chunk(const struct codec_step *step, const struct frame *f,
                                struct bytes in, uint8_t *out, uint32_t len, struct error *err)
{
    if (!in.at || in.len < CHUNK_HEADER || (in.at[2] & EXTENDED) != EXTENDED)
        return codec_corrupt(step, err, "%zu bytes are not a chunk", in.len);
    const uint8_t *filters = in.at + 16;
    uint32_t nbytes = load_u32le(in.at + 4), block = load_u32le(in.at + 8);
    uint32_t packed = load_u32le(in.at + 12);
    if (packed < CHUNK_HEADER || packed > in.len || packed > INT32_MAX || nbytes != len || !block ||
        !in.at[3])
        return codec_corrupt(step, err, "the header of a chunk is damaged");
    if (4 * (uint64_t)block > f->memory)
        return codec_corrupt(step, err, "blocks of %u bytes", block);
    bool known =
        in.at[2] >> 5 != 2 && in.at[2] >> 5 < 5 && !in.at[30] && !(in.at[31] & INSTRUMENTED);
    for (unsigned i = 0; i < 6; i++)
        known &= filters[i] <= FILTER_MOST;
    if (in.at[0] > 5 || !known)
        return error_set(err, ERR_UNSUPPORTED, step->name, step->offset,
                         "%s: a codec, a filter or a version that only plugins know", step->codec);
    void *context = f->lib->create((struct blosc2_dparams){.nthreads = 1, .typesize = 8});
    if (!context)
        return error_memory(err);
    int got = f->lib->decompress(context, in.at, (int32_t)packed, out, (int32_t)len);
    f->lib->close(context);
    return got >= 0 && (uint64_t)got == len ? OK : codec_corrupt(step, err, "data is damaged");
}

/* The padded blocks at `from` to rows at `out`. */
static void place_blocks(const struct frame *f, const uint8_t *from, uint8_t *out)
{
    const unsigned last = f->dims - 1;
    uint32_t at[DIMS_MOST] = {0};
    uint64_t block_bytes = f->item * f->block[last], rows = 1;
    for (unsigned i = 0; i < last; i++) {
        block_bytes *= f->block[i];
        rows *= f->shape[i];
    }
    while (rows--) {
        uint64_t number = 0, inner = 0;
        for (unsigned i = 0; i < last; i++) {
            assert(f->block[i] && f->block[i + 1]);
            number = (number + at[i] / f->block[i]) *
                     (((uint64_t)f->shape[i + 1] + f->block[i + 1] - 1) / f->block[i + 1]);
            inner = (inner + at[i] % f->block[i]) * f->block[i + 1];
        }
        for (uint64_t x = 0, n; x < f->shape[last]; x += n, number++) {
            n = f->shape[last] - x < f->block[last] ? f->shape[last] - x : f->block[last];
            memcpy(out, from + number * block_bytes + inner * f->item, n * f->item);
            out += n * f->item;
        }
        for (unsigned i = last; i-- > 0 && ++at[i] == f->shape[i];)
            at[i] = 0;
    }
}

static enum status blosc2_decode(const struct codec_step *step, struct bytes in, uint8_t *out,
                                 size_t room, size_t *made, struct error *err)
{
    struct frame f = {.lib = library_blosc2(step, err)};
    uint8_t offset_bytes[8] = {0};
    if (!f.lib || read_frame(step, in, &f, err) != OK)
        return err->status;
    *made = f.bytes > room ? room + 1 : (size_t)f.bytes;
    if (f.bytes > room || !f.bytes)
        return OK;
    f.memory = blosc2_memory(f.bytes);
    if (f.padded > INT32_MAX || f.padded > f.memory)
        return codec_corrupt(step, err, "%llu bytes padded to %llu", (unsigned long long)f.bytes,
                             (unsigned long long)f.padded);
    if (decode_chunk(step, &f, f.index, offset_bytes, sizeof(offset_bytes), err) != OK)
        return err->status;
    uint64_t offset = load_u64le(offset_bytes);
    if (offset >> 56 == ZEROS) {
        memset(out, 0, (size_t)f.bytes);
        return OK;
    }
    if (offset > f.data.len)
        return codec_corrupt(step, err, "its chunk is not inside");
    struct bytes chunk = {f.data.at + offset, f.data.len - (size_t)offset};
    if (memcmp(f.shape, f.block, sizeof(f.shape)) == 0)
        return decode_chunk(step, &f, chunk, out, (uint32_t)f.bytes, err);
    f.memory -= f.padded;
    uint8_t *blocks = malloc((size_t)f.padded);
    enum status status =
        blocks ? decode_chunk(step, &f, chunk, blocks, (uint32_t)f.padded, err) : error_memory(err);
    if (status == OK)
        place_blocks(&f, blocks, out);
    free(blocks);
    return status;
}

const struct codec codec_blosc2 = {.name = "blosc2",
                                   .args = "S",
                                   .decode = blosc2_decode,
                                   .padded = PADDED_MOST,
                                   .memory = blosc2_memory};
