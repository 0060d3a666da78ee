/*
 * szip.c - codec "szip:N,MASK,BLOCK,BITS,LINE": HDF5's filter 4. N: decoded bytes. MASK: options.
 * BLOCK: samples per block. BITS: bits per sample. LINE: samples per line.
 *
 *   u32 decoded bytes, then lines in adaptive entropy coding (CCSDS 121.0-B), which libaec decodes. A
 *   line is as many blocks as LINE samples need, the last one padded. Samples of 32 and 64 bits are
 *   coded as bytes: the first bytes of all samples, then the second, ...
 *
 * Source: CCSDS 121.0-B-2; libaec's sz_compat.c (what szip's parameters mean); files of h5py. The
 * library is safe with blocks of an even number of samples and while no run of zeros is so long that
 * its 32-bit numbers overflow: both are checked here first.
 */
#include <stdlib.h>

#include "catalog/data/codec/codec.h"
#include "catalog/data/codec/shared_library.h"

#define HEADER_BYTES 4
#define OPTION_MSB   16    /* samples are big-endian */
#define OPTION_NN    32    /* differences from the previous sample are stored */
#define ZEROS_MOST   65536 /* bytes; a number of 16 bits in unary has 8,192 */

struct szip_line {
    uint64_t size;
    uint32_t mask, block, bits, line;
    unsigned bytes;  /* of a sample */
    unsigned planes; /* bytes per element if stored bytewise; 1: an element is a sample */
    uint32_t blocks; /* of a line */
};

static bool take_args(const struct codec_args *args, struct szip_line *p)
{
    uint32_t bits = (uint32_t)args->number[3];
    *p = (struct szip_line){.size = args->number[0],
                            .mask = (uint32_t)args->number[1],
                            .block = (uint32_t)args->number[2],
                            .line = (uint32_t)args->number[4]};
    p->planes = bits > 16 ? bits / 8 : 1;
    p->bits = p->planes > 1 ? 8 : bits;
    p->bytes = p->bits > 8 ? 2 : 1;
    p->blocks = (p->line + p->block - 1) / p->block;
    return p->block % 2 == 0 && (bits <= 16 || bits == 32 || bits == 64) &&
           p->size % ((uint64_t)p->bytes * p->planes) == 0;
}

static bool szip_size(const struct codec_args *args, uint64_t in, struct codec_size *size)
{
    struct szip_line p;
    (void)in;
    (void)size; /* as stated */
    return take_args(args, &p);
}

static bool zeros_too_long(struct bytes in)
{
    size_t run = 0;
    for (size_t i = 0; i < in.len && run <= ZEROS_MOST; i++)
        run = in.at[i] ? 0 : run + 1;
    return run > ZEROS_MOST;
}

/* Store a line of samples that begins at byte `at` of all samples. */
static void put_line(const struct szip_line *p, uint8_t *out, uint64_t at, struct bytes line)
{
    uint64_t elements = p->size / p->planes;
    if (p->planes == 1)
        memcpy(out + at, line.at, line.len);
    else
        for (size_t i = 0; i < line.len; i++, at++)
            out[at % elements * p->planes + at / elements] = line.at[i];
}

/* Decode line by line into `line`, which has room for a padded one. Returns what is wrong, or NULL. */
static const char *read_lines(const struct libaec *lib, const struct szip_line *p,
                              struct aec_stream *s, uint8_t *line, uint8_t *out)
{
    size_t whole = (size_t)p->line * p->bytes, block = (size_t)p->block * p->bytes;
    for (uint64_t at = 0; at < p->size; at += whole) {
        bool last = p->size - at <= whole;
        size_t wanted = last ? (size_t)(p->size - at) : whole;
        /* The last line is padded to a whole block, the others to all of theirs. */
        s->next_out = line;
        s->avail_out = last ? (wanted + block - 1) / block * block : p->blocks * block;
        if (lib->decode(s, AEC_FLUSH) != AEC_OK)
            return "data is damaged";
        if (s->avail_out)
            return "ends too early";
        put_line(p, out, at, (struct bytes){line, wanted});
    }
    return NULL;
}

static enum status szip_decode(const struct codec_step *step, struct bytes in, uint8_t *out,
                               size_t room, size_t *made, struct error *err)
{
    const struct libaec *lib = library_aec(step, err);
    struct szip_line p = {0};
    if (!lib)
        return err->status;
    take_args(&step->args, &p);
    *made = (size_t)p.size;
    if (in.len < HEADER_BYTES)
        return codec_corrupt(step, err, "%zu bytes cannot hold its head", in.len);
    if (load_u32le(in.at) != p.size)
        return codec_corrupt(step, err, "holds %u decoded bytes, not %llu",
                             (unsigned)load_u32le(in.at), (unsigned long long)p.size);
    if (p.size > room || !p.size)
        return OK;
    struct aec_stream s = {
        .next_in = in.at + HEADER_BYTES,
        .avail_in = in.len - HEADER_BYTES,
        .bits_per_sample = p.bits,
        .block_size = p.block,
        .rsi = p.blocks,
        .flags = AEC_NOT_ENFORCE | (p.mask & OPTION_MSB ? AEC_DATA_MSB : 0) |
                 (p.mask & OPTION_NN ? AEC_DATA_PREPROCESS : 0),
    };
    if (zeros_too_long(in))
        return codec_corrupt(step, err, "more zeros than a line has room for");
    uint8_t *line = malloc((size_t)p.blocks * p.block * p.bytes);
    if (!line || lib->open(&s) != AEC_OK) {
        free(line);
        return error_set(err, ERR_MEMORY, step->name, step->offset, "no memory");
    }
    const char *wrong = read_lines(lib, &p, &s, line, out);
    lib->close(&s);
    free(line);
    return wrong ? codec_corrupt(step, err, "%s", wrong) : OK;
}

const struct codec codec_szip = {
    .name = "szip", .args = "N,N,2-64,1-64,1-65536", .size = szip_size, .decode = szip_decode};
