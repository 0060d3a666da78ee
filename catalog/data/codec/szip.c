/*
 * szip.c - codec "szip:N,MASK,BLOCK,BITS,LINE": HDF5's filter 4. N: decoded bytes. MASK: options.
 * BLOCK: samples per block. BITS: bits per sample. LINE: samples per line.
 *
 *   u32 decoded bytes, then lines in adaptive entropy coding (CCSDS 121.0-B). A line is as many
 *   blocks as LINE samples need, the last one padded. With option 32 the first sample of a line is
 *   stored as it is, and the others as differences from their predecessors.
 *   A block is an id of 3 bits (4 if a sample has more than 8), and, depending on it:
 *     0      a bit; 0: a run of blocks of zeros, 1: pairs of small numbers
 *     all 1  samples, not compressed
 *     k + 1  the upper bits of each sample in unary (n zeros and a one); then k low bits of each
 * Samples of 32 and 64 bits are coded as bytes: the first bytes of all samples, then the second,
 * ...
 *
 * Source: CCSDS 121.0-B-2; libaec's sz_compat.c (what szip's parameters mean) and the numbers
 * that libaec makes; files of h5py.
 */
#include <stdlib.h>

#include "catalog/data/codec/codec.h"

#define HEADER_BYTES   4
#define OPTION_MSB     16 /* samples are big-endian */
#define OPTION_NN      32 /* differences from the previous sample are stored */
#define LINE_MAX_BYTES 65536
#define ZERO_REST      5  /* a run of zero blocks up to the end of a segment */
#define SEGMENT        64 /* blocks */
#define PAIR_MAX       90

struct szip_line {
    uint64_t size;
    uint32_t mask, block, bits, line;
    unsigned bytes;  /* of a sample */
    unsigned planes; /* bytes per element if stored bytewise; 1: an element is a sample */
    uint32_t blocks; /* of a line */
    unsigned id_bits;
};

struct szip_reader {
    const struct codec_step *step;
    const struct szip_line *p;
    struct bytes in;
    uint64_t bit, end;
    uint32_t *samples; /* of a padded line */
    uint32_t count;    /* samples read so far, */
    uint32_t block;    /* and blocks */
    struct error *err;
};

static bool parse_szip(const char *at, struct szip_line *p)
{
    uint64_t number[5];
    for (unsigned i = 0; i < 5; i++) {
        char *end;
        if (*at < '0' || *at > '9')
            return false;
        number[i] = strtoull(at, &end, 10);
        if (*end != (i < 4 ? ',' : '\0'))
            return false;
        at = end + 1;
    }
    *p = (struct szip_line){.size = number[0], .mask = (uint32_t)number[1]};
    if (number[2] < 2 || number[2] > 64 || number[2] % 2 || !number[4] ||
        number[4] > LINE_MAX_BYTES || !number[3] ||
        (number[3] > 16 && number[3] != 32 && number[3] != 64))
        return false;
    p->block = (uint32_t)number[2];
    p->line = (uint32_t)number[4];
    p->planes = number[3] > 16 ? (unsigned)number[3] / 8 : 1;
    p->bits = p->planes > 1 ? 8 : (uint32_t)number[3];
    p->bytes = p->bits > 8 ? 2 : 1;
    p->blocks = (p->line + p->block - 1) / p->block;
    p->id_bits = p->bits > 8 ? 4 : 3;
    return p->size % ((uint64_t)p->bytes * p->planes) == 0;
}

static bool szip_size(const char *argument, uint64_t in, struct codec_size *size)
{
    struct szip_line p;
    (void)in;
    if (!parse_szip(argument, &p))
        return false;
    *size = (struct codec_size){p.size, true};
    return true;
}

/* --- bits --------------------------------------------------------------------------------- */

static uint32_t take_bits(struct szip_reader *r, unsigned count)
{
    uint32_t value = 0;
    if (r->end - r->bit < count) {
        r->bit = r->end;
        codec_corrupt(r->step, r->err, "ends too early");
        return 0;
    }
    for (; count; count--, r->bit++)
        value = value << 1 | (r->in.at[r->bit / 8] >> (7 - r->bit % 8) & 1);
    return value;
}

/* A unary number: n zeros and a one. */
static uint32_t take_unary(struct szip_reader *r)
{
    uint32_t zeros = 0;
    while (r->bit < r->end && !(r->in.at[r->bit / 8] >> (7 - r->bit % 8) & 1)) {
        r->bit++;
        zeros++;
    }
    take_bits(r, 1);
    return zeros;
}

/* --- blocks ------------------------------------------------------------------------------- */

static void put_zero_blocks(struct szip_reader *r, uint32_t at)
{
    uint32_t run = take_unary(r) + 1;
    if (run == ZERO_REST) {
        uint32_t segment = SEGMENT - at % SEGMENT, left = r->p->blocks - at;
        run = segment < left ? segment : left;
    } else if (run > ZERO_REST) {
        run--;
    }
    if (run > r->p->blocks - at) {
        codec_corrupt(r->step, r->err, "more zeros than a line has room for");
        return;
    }
    r->block = at + run;
    uint32_t end = r->block * r->p->block;
    while (r->count < end)
        r->samples[r->count++] = 0;
}

/* Two numbers a and b are stored as one, (a + b) * (a + b + 1) / 2 + b: 2 and 1 as 7. */
static void put_pairs(struct szip_reader *r, uint32_t end)
{
    while (r->count < end && r->err->status == OK) {
        uint32_t both = take_unary(r), sum = 0;
        if (both > PAIR_MAX) {
            codec_corrupt(r->step, r->err, "a pair that is too large");
            return;
        }
        while ((sum + 1) * (sum + 2) / 2 <= both)
            sum++;
        uint32_t second = both - sum * (sum + 1) / 2;
        if (r->count % 2 == 0) /* else `a` stands for the line's first sample, read before */
            r->samples[r->count++] = sum - second;
        r->samples[r->count++] = second;
    }
}

static void put_split(struct szip_reader *r, uint32_t end, unsigned low)
{
    uint32_t first = r->count;
    while (r->count < end && r->err->status == OK)
        r->samples[r->count++] = take_unary(r) << low;
    for (uint32_t i = first; low && i < end && r->err->status == OK; i++)
        r->samples[i] |= take_bits(r, low);
}

static void szip_read_block(struct szip_reader *r)
{
    const struct szip_line *p = r->p;
    uint32_t first = r->count, at = r->block++, end = (at + 1) * p->block;
    uint32_t id = take_bits(r, p->id_bits);
    bool zeros = !id && !take_bits(r, 1);
    if (!first && p->mask & OPTION_NN)
        r->samples[r->count++] = take_bits(r, p->bits);
    if (r->err->status != OK)
        return;
    if (zeros)
        put_zero_blocks(r, at);
    else if (!id)
        put_pairs(r, end);
    else if (id + 1 == 1u << p->id_bits)
        while (r->count < end && r->err->status == OK)
            r->samples[r->count++] = take_bits(r, p->bits);
    else
        put_split(r, end, id - 1);
}

/* Undo the differences. They are mapped to unsigned numbers so that small ones of either sign
 * are small (0, -1, 1, -2 are 0, 1, 2, 3) as long as both signs stay in range; what is larger
 * can only go towards the far end of the range. With 8 bits after the sample 2: 3 means -2, but
 * 5 means 5 - 2 = 3 upwards, the sample 5. */
static void szip_add_up(struct szip_reader *r)
{
    uint32_t most = (UINT32_C(1) << r->p->bits) - 1, last = r->samples[0];
    for (uint32_t i = 1; i < r->count; i++) {
        uint32_t d = r->samples[i], half = d / 2 + d % 2;
        uint32_t flip = last > most / 2 ? most : 0;
        if (half <= (last ^ flip))
            last = d % 2 ? last - half : last + half;
        else
            last = flip ^ d;
        r->samples[i] = last &= most;
    }
}

/* --- all ---------------------------------------------------------------------------------- */

/* Store sample number `index` of the output. */
static void put_sample(const struct szip_line *p, uint8_t *out, uint64_t index, uint32_t value)
{
    if (p->planes > 1) {
        uint64_t elements = p->size / p->planes;
        out[index % elements * p->planes + index / elements] = (uint8_t)value;
    } else if (p->bytes == 1) {
        out[index] = (uint8_t)value;
    } else {
        bool big = p->mask & OPTION_MSB;
        out[2 * index + big] = (uint8_t)value;
        out[2 * index + !big] = (uint8_t)(value >> 8);
    }
}

static enum status read_lines(struct szip_reader *r, uint8_t *out)
{
    const struct szip_line *p = r->p;
    uint64_t samples = p->size / p->bytes;
    for (uint64_t done = 0; done < samples;) {
        uint64_t wanted = samples - done < p->line ? samples - done : p->line;
        r->count = r->block = 0;
        while (r->count < wanted && r->err->status == OK)
            szip_read_block(r);
        /* The padding of a line that is not the last is stored, too. */
        while (done + wanted < samples && r->count < p->blocks * p->block && r->err->status == OK)
            szip_read_block(r);
        if (r->err->status != OK)
            return r->err->status;
        if (p->mask & OPTION_NN)
            szip_add_up(r);
        for (uint64_t i = 0; i < wanted; i++)
            put_sample(p, out, done + i, r->samples[i]);
        done += wanted;
    }
    return OK;
}

static enum status szip_decode(const struct codec_step *step, struct bytes in, uint8_t *out,
                               size_t room, size_t *made, struct error *err)
{
    struct szip_line p = {0};
    struct szip_reader r = {.step = step, .p = &p, .in = in, .err = err};
    if (!parse_szip(step->argument, &p) || !p.block)
        return codec_corrupt(step, err, "bad argument");
    *made = (size_t)p.size;
    if (in.len < HEADER_BYTES)
        return codec_corrupt(step, err, "%zu bytes cannot hold its head", in.len);
    if (load_u32le(in.at) != p.size)
        return codec_corrupt(step, err, "holds %u decoded bytes, not %llu",
                             (unsigned)load_u32le(in.at), (unsigned long long)p.size);
    if (p.size > room || !p.size)
        return OK;
    r.bit = (uint64_t)HEADER_BYTES * 8;
    r.end = (uint64_t)in.len * 8;
    r.samples = calloc((size_t)p.blocks * p.block + 1, sizeof(*r.samples));
    if (!r.samples)
        return error_set(err, ERR_MEMORY, step->name, step->offset, "no memory");
    read_lines(&r, out);
    free(r.samples);
    return err->status;
}

const struct codec codec_szip = {.name = "szip", .size = szip_size, .decode = szip_decode};
