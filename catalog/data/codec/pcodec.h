/*
 * pcodec.h - the parts of the pcodec decoder.
 *
 * A file of pco is a head and chunks. A chunk states how its numbers were split (mode) into one or
 * two sequences of unsigned integers as wide as the numbers ("latents"), how differences were
 * taken of these (delta), and the bins of each sequence: ranges of values. A value is a bin, coded
 * by a table of asymmetric numeral systems (tANS), and an offset in it. Then come the values, in
 * batches of 256; in each sequence of a batch all bins come before all offsets.
 *
 * Example: with the bins [0, 16) and [1000, 1256) the value 1042 is the second bin and the offset
 * 42, in 8 bits.
 *
 * Source: docs/format.md of github.com/pcodec/pcodec, format versions 0 to 4.1; what it leaves open
 * (how states are spread over bins, the bits of int_float_from_latent) from pco's behaviour.
 */
#ifndef CKPTDB_PCODEC_H
#define CKPTDB_PCODEC_H

#include "catalog/data/codec/codec.h"

#define PCO_BATCH       256
#define PCO_SIZE_LOG    14 /* log2 of the largest table */
#define PCO_WEIGHTS     32 /* most weights of a convolution */
#define PCO_WINDOW_LOG  18 /* log2 of the largest window read; pco writes at most 2^15 */
#define PCO_INTERLEAVED 4

/* --- bits, the lowest of a byte first ------------------------------------------------------- */

struct pco_bits {
    struct bytes in;
    uint64_t at; /* position in bits; reads past the end give zeros */
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

/* Move to the next whole byte; false if a bit skipped is not zero. */
bool pco_align(struct pco_bits *b);

/* --- latents -------------------------------------------------------------------------------- */

enum pco_delta_kind {
    PCO_NO_DELTA,
    PCO_CONSECUTIVE, /* from the previous value, taken `states` times */
    PCO_LOOKBACK,    /* from an earlier value; another sequence says how far back */
    PCO_CONVOLUTION, /* from a weighted sum of the previous values */
};

struct pco_delta {
    enum pco_delta_kind kind;
    bool secondary;     /* applies to the second sequence, too */
    uint32_t states;    /* initial values, stored before the batches */
    unsigned window;    /* lookbacks go back at most 2^window values */
    unsigned quantized; /* convolution: fractional bits of its weights */
    uint64_t bias;
    uint32_t weight[PCO_WEIGHTS];
};

/* A state of the tANS table. */
struct pco_state {
    uint64_t lower;       /* lower bound of its bin */
    uint16_t next;        /* the next state is this plus the next `bits` bits */
    uint8_t bits, offset; /* `offset`: bits of an offset in the bin */
};

/* A sequence of latents. */
struct pco_latents {
    unsigned width;    /* bits of a value */
    unsigned size_log; /* log2 of the table's size */
    uint32_t bins;
    uint32_t state[PCO_INTERLEAVED];
    struct pco_delta delta; /* that applies to this sequence; else PCO_NO_DELTA */
    uint64_t moment[PCO_WEIGHTS];
    uint64_t *history; /* lookbacks: ring of values; its size, room, next slot */
    uint64_t history_size, history_room, history_at;
    uint64_t value[PCO_BATCH];
    struct pco_state table[1 << PCO_SIZE_LOG];
};

/* A text that says what is wrong; NULL: nothing is. */
typedef const char *pco_fault;

/* Read the bins of a sequence, for a chunk of `numbers` numbers. `weight` is scratch space for as
 * many entries as the largest table has states. */
pco_fault pco_read_bins(struct pco_latents *l, uint64_t numbers, uint16_t *weight,
                        struct pco_bits *b);
/* Read a sequence's part of the head of a page: initial values and states. */
pco_fault pco_read_page(struct pco_latents *l, struct pco_bits *b);
/* Decode a batch of `count` values into l->value, of which `stored` are in the file (the last
 * ones of a page follow from the initial values). `lookbacks`: `stored` entries. */
pco_fault pco_read_batch(struct pco_latents *l, const uint64_t *lookbacks, unsigned stored,
                         unsigned count, struct pco_bits *b);

/* --- numbers -------------------------------------------------------------------------------- */

enum pco_kind {
    PCO_UNSIGNED,
    PCO_SIGNED,
    PCO_FLOAT
};

struct pco_type {
    enum pco_kind kind;
    unsigned width, mantissa; /* in bits; the mantissa without its implicit one */
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
    uint64_t base; /* INT_MULT, FLOAT_MULT: numbers are multiples of it */
    unsigned quantum;
    struct pco_bits dict; /* its values, each as wide as a number */
    uint64_t dict_count;
};

/* False if the byte is not a known type. */
bool pco_type_find(uint8_t byte, struct pco_type *type);
bool pco_mode_has_second(const struct pco_mode *m);
pco_fault pco_mode_check(const struct pco_mode *m, const struct pco_type *type);

/* Write the numbers of a batch as little-endian bytes. Overwrites `first`. */
pco_fault pco_join(const struct pco_mode *m, const struct pco_type *type, uint64_t *first,
                   const uint64_t *second, unsigned count, uint8_t *out);

#endif
