/*
 * pcodec.h - the parts of the pcodec decoder.
 *
 * A file of pco: a head, and chunks. A chunk: how its numbers were taken apart (mode) into one or
 * two sequences of unsigned integers as wide as the numbers ("latents"), how differences were
 * taken of these (delta), and for each sequence its bins: ranges of values. A value is a bin, coded
 * by a table of asymmetric numeral systems (tANS), and an offset in it. Then come the values, in
 * batches of 256, each sequence of a batch with all bins before all offsets.
 *
 * Source: docs/format.md of github.com/pcodec/pcodec, format versions 0 to 4.1; what it leaves open
 * (how states are spread over bins, the bits of int_float_from_latent) by pco's behaviour.
 */
#ifndef CKPTDB_CODEC_PCODEC_H
#define CKPTDB_CODEC_PCODEC_H

#include "catalog/codec/codec.h"

#define PCO_BATCH       256
#define PCO_SIZE_LOG    14 /* of a table, at most */
#define PCO_WEIGHTS     32 /* of a convolution, at most */
#define PCO_WINDOW_LOG  18 /* that is read; pco itself writes no more than 15 */
#define PCO_INTERLEAVED 4

/* --- bits, the lowest of a byte first ------------------------------------------------------- */

struct pco_bits {
    struct bytes in;
    uint64_t at; /* bit; beyond the end zeros are read */
};

static inline bool pco_over(const struct pco_bits *b)
{
    return b->at > (uint64_t)b->in.len * 8;
}

uint64_t pco_take_at_end(struct pco_bits *b, unsigned count);

static inline uint64_t pco_low(uint64_t value, unsigned bits)
{
    return bits < 64 ? value & ((UINT64_C(1) << bits) - 1) : value;
}

/* The next `count` bits, at most 64. */
static inline uint64_t pco_take(struct pco_bits *b, unsigned count)
{
    uint64_t byte = b->at / 8;
    unsigned past = b->at % 8;
    if (b->in.len < 9 || byte > b->in.len - 9)
        return pco_take_at_end(b, count);
    uint64_t value = load_u64le(b->in.at + byte) >> past;
    if (count + past > 64)
        value |= (uint64_t)b->in.at[byte + 8] << (64 - past);
    b->at += count;
    return pco_low(value, count);
}

/* To the next byte; false: bits that are left out are not zeros. */
bool pco_align(struct pco_bits *b);

/* --- latents -------------------------------------------------------------------------------- */

enum pco_delta_kind {
    PCO_NO_DELTA,
    PCO_CONSECUTIVE, /* differences of differences ..., so often as there are states */
    PCO_LOOKBACK,    /* to a value before, of which another sequence says how far */
    PCO_CONVOLUTION, /* to a weighted sum of the values before */
};

struct pco_delta {
    enum pco_delta_kind kind;
    bool secondary;     /* also of the second sequence */
    uint32_t states;    /* values that are stored in front */
    unsigned window;    /* of lookbacks: 2^window */
    unsigned quantized; /* of a convolution: bits of its weights after the point */
    uint64_t bias;
    uint32_t weight[PCO_WEIGHTS];
};

/* A state of the table. */
struct pco_state {
    uint64_t lower;       /* of its bin */
    uint16_t next;        /* to which `bits` bits are added */
    uint8_t bits, offset; /* bits of an offset */
};

/* A sequence. */
struct pco_latents {
    unsigned width;    /* bits of a value */
    unsigned size_log; /* of the table */
    uint32_t bins;
    uint32_t state[PCO_INTERLEAVED];
    struct pco_delta delta; /* its own: kind none, where it has none */
    uint64_t moment[PCO_WEIGHTS];
    uint64_t *history; /* of lookbacks: a ring of values, within its room; the next one */
    uint64_t history_size, history_room, history_at;
    uint64_t value[PCO_BATCH];
    struct pco_state table[1 << PCO_SIZE_LOG];
};

/* What a function finds wrong; NULL: nothing. */
typedef const char *pco_fault;

/* What is said of a sequence for a chunk of so many numbers; `weight` has room for as many as there
 * are states in the largest table. */
pco_fault pco_read_bins(struct pco_latents *l, uint64_t numbers, uint16_t *weight,
                        struct pco_bits *b);
/* What is said of it for a page. */
pco_fault pco_read_page(struct pco_latents *l, struct pco_bits *b);
/* A batch of `count` values, of which `stored` are stored. `lookbacks`: as many. */
pco_fault pco_read_batch(struct pco_latents *l, const uint64_t *lookbacks,
                         unsigned stored, unsigned count, struct pco_bits *b);

/* --- numbers -------------------------------------------------------------------------------- */

enum pco_kind {
    PCO_UNSIGNED,
    PCO_SIGNED,
    PCO_FLOAT
};

struct pco_type {
    enum pco_kind kind;
    unsigned width, mantissa; /* bits; of a mantissa without its implicit one */
};

enum pco_mode_kind {
    PCO_CLASSIC,
    PCO_INT_MULT,
    PCO_FLOAT_MULT,
    PCO_FLOAT_QUANT,
    PCO_DICT
};

struct pco_mode {
    enum pco_mode_kind kind;
    uint64_t base; /* of multiples */
    unsigned quantum;
    struct pco_bits dict; /* its values, each as wide as a number */
    uint64_t dict_count;
};

/* False: a byte that stands for no type. */
bool pco_type_find(uint8_t byte, struct pco_type *type);
bool pco_mode_has_second(const struct pco_mode *m);
pco_fault pco_mode_check(const struct pco_mode *m, const struct pco_type *type);

/* The numbers of a batch, as little-endian bytes. Changes `first`. */
pco_fault pco_join(const struct pco_mode *m, const struct pco_type *type, uint64_t *first,
                   const uint64_t *second, unsigned count, uint8_t *out);

#endif
