/*
 * pcodec.c - codec "pcodec:N": a standalone file of pco (pcodec.h). Parts that are not whole bytes
 * are padded with zero bits to the next byte.
 *
 *   "pco!", u8 standalone version
 *   standalone version 3 and later: u8 type of all chunks, or 0
 *   standalone version 2 and later: 6 bits W - 1, W bits count of numbers; padding
 *   u8 format version (before standalone version 2 the byte above is both)
 *   format version 4 and later: u8 minor version
 *   chunks, each: u8 type, 24 bits count of numbers minus 1; mode, delta, bins; padding; one page
 *   u8 0: the end. Like pco itself this ignores what follows.
 */
#include <stdlib.h>

#include "catalog/data/codec/pcodec.h"

#define STANDALONE_MOST 3
#define MAJOR_MOST      4
#define STATE_BYTES     ((uint64_t)1 << 20)
#define HISTORY_BYTES   (2 * sizeof(uint64_t) << PCO_WINDOW_LOG)

enum sequence {
    DELTA,
    FIRST,
    SECOND,
    SEQUENCES
};

struct pco {
    struct pco_latents latents[SEQUENCES];
    uint16_t weight[1 << PCO_SIZE_LOG];
    uint64_t numbers; /* of the chunk */
    const struct codec_step *step;
    struct pco_bits bits;
    uint8_t major, uniform; /* version; the type of all chunks, or 0 */
    struct pco_type type;
    struct pco_mode mode;
    struct pco_delta delta;
    bool used[SEQUENCES];
};

/* --- the head ------------------------------------------------------------------------------- */

static pco_fault pcodec_read_head(struct pco *p)
{
    struct pco_bits *b = &p->bits;
    p->uniform = 0;
    if (b->in.len < 6 || memcmp(b->in.at, "pco!", 4) != 0)
        return "not a file of pco";
    b->at = 32;
    uint8_t standalone = b->in.at[4];
    if (standalone >= 2) {
        b->at += 8;
        p->uniform = standalone >= 3 ? (uint8_t)pco_take(b, 8) : 0;
        unsigned bits = (unsigned)pco_take(b, 6) + 1;
        pco_take(b, bits);
        if (!pco_align(b))
            return "bits that should be zeros, in its head";
    }
    p->major = (uint8_t)pco_take(b, 8);
    if (standalone <= STANDALONE_MOST && p->major >= 4)
        pco_take(b, 8);
    return pco_over(b) ? "ends inside its head" : NULL;
}

/* --- the head of a chunk -------------------------------------------------------------------- */

/* The values of the dictionary are not copied: p->mode.dict points at them. */
static pco_fault read_dict(struct pco *p)
{
    struct pco_bits *b = &p->bits;
    p->mode.dict_count = pco_take(b, 25);
    if (!pco_align(b))
        return "bits that should be zeros, before its dictionary";
    p->mode.dict = *b;
    if (pco_over(b) || p->mode.dict_count > ((uint64_t)b->in.len * 8 - b->at) / p->type.width)
        return "ends inside its dictionary";
    b->at += p->mode.dict_count * p->type.width;
    return NULL;
}

static pco_fault read_mode(struct pco *p)
{
    struct pco_bits *b = &p->bits;
    unsigned kind = (unsigned)pco_take(b, 4);
    p->mode = (struct pco_mode){.kind = (enum pco_mode_kind)kind};
    if (kind > PCO_DICT)
        return "a mode that is not known";
    if (kind == PCO_INT_MULT && p->major == 0)
        return "multiples as only its version 0.0.0 wrote them";
    if (kind == PCO_DICT)
        return read_dict(p);
    if (kind == PCO_INT_MULT || kind == PCO_FLOAT_MULT)
        p->mode.base = pco_take(b, p->type.width);
    if (kind == PCO_FLOAT_QUANT)
        p->mode.quantum = (unsigned)pco_take(b, 8);
    return pco_mode_check(&p->mode, &p->type);
}

static pco_fault read_lookback(struct pco *p)
{
    struct pco_delta *d = &p->delta;
    d->window = (unsigned)pco_take(&p->bits, 5) + 1;
    unsigned states = (unsigned)pco_take(&p->bits, 4);
    if (states > d->window)
        return "more first numbers than its window holds";
    d->states = UINT32_C(1) << states;
    d->secondary = pco_take(&p->bits, 1);
    return NULL;
}

static pco_fault read_convolution(struct pco *p)
{
    struct pco_delta *d = &p->delta;
    d->quantized = (unsigned)pco_take(&p->bits, 5);
    d->bias = pco_take(&p->bits, 64) ^ UINT64_C(1) << 63;
    d->states = (uint32_t)pco_take(&p->bits, 5) + 1;
    for (uint32_t i = 0; i < d->states; i++)
        d->weight[i] = (uint32_t)pco_take(&p->bits, 32) ^ UINT32_C(1) << 31;
    unsigned width = p->mode.kind == PCO_DICT ? 32 : p->type.width;
    return width > 32 ? "a convolution of numbers of 64 bits" : NULL;
}

static pco_fault read_delta(struct pco *p)
{
    unsigned kind = p->major < 3 ? PCO_CONSECUTIVE : (unsigned)pco_take(&p->bits, 4);
    p->delta = (struct pco_delta){.kind = (enum pco_delta_kind)kind};
    if (kind == PCO_LOOKBACK)
        return read_lookback(p);
    if (kind == PCO_CONVOLUTION)
        return read_convolution(p);
    if (kind == PCO_NO_DELTA)
        return NULL;
    if (kind != PCO_CONSECUTIVE)
        return "differences of a kind that is not known";
    p->delta.states = (uint32_t)pco_take(&p->bits, 3);
    if (p->major >= 3)
        p->delta.secondary = pco_take(&p->bits, 1);
    else if (!p->delta.states)
        p->delta.kind = PCO_NO_DELTA;
    return p->delta.states || p->major < 3 ? NULL : "differences of order 0";
}

static void pcodec_lay_out(struct pco *p)
{
    const bool dict = p->mode.kind == PCO_DICT;
    p->used[DELTA] = p->delta.kind == PCO_LOOKBACK;
    p->used[FIRST] = true;
    p->used[SECOND] = pco_mode_has_second(&p->mode);
    p->latents[DELTA].width = 32;
    p->latents[FIRST].width = dict ? 32 : p->type.width;
    p->latents[SECOND].width = p->type.width;
    p->latents[DELTA].delta.kind = PCO_NO_DELTA;
    p->latents[FIRST].delta = p->delta;
    p->latents[SECOND].delta = p->delta;
    if (!p->delta.secondary)
        p->latents[SECOND].delta.kind = PCO_NO_DELTA;
}

/* Everything before the first batch: bins, then the head of the page. */
static pco_fault read_tables(struct pco *p)
{
    pco_fault fault = NULL;
    pcodec_lay_out(p);
    for (unsigned i = 0; i < SEQUENCES && !fault; i++)
        if (p->used[i])
            fault = pco_read_bins(&p->latents[i], p->numbers, p->weight, &p->bits);
    if (!fault && !pco_align(&p->bits))
        fault = "bits that should be zeros, before a page";
    for (unsigned i = 0; i < SEQUENCES && !fault; i++)
        if (p->used[i])
            fault = pco_read_page(&p->latents[i], &p->bits);
    if (!fault && !pco_align(&p->bits))
        fault = "bits that should be zeros, in a page";
    return fault;
}

/* --- numbers -------------------------------------------------------------------------------- */

static pco_fault read_sequence(struct pco *p, enum sequence which, unsigned stored, unsigned count)
{
    struct pco_latents *l = &p->latents[which];
    if (!p->used[which])
        return NULL;
    if (l->delta.kind == PCO_NO_DELTA && which != DELTA)
        stored = count;
    return pco_read_batch(l, p->latents[DELTA].value, stored, count, &p->bits);
}

static pco_fault pcodec_read_numbers(struct pco *p, uint8_t *out)
{
    pco_fault fault = NULL;
    uint64_t left = p->numbers;
    while (left && !fault) {
        unsigned count = left < PCO_BATCH ? (unsigned)left : PCO_BATCH;
        uint64_t after = left > p->delta.states ? left - p->delta.states : 0;
        unsigned stored = after < count ? (unsigned)after : count;
        for (unsigned i = 0; i < SEQUENCES && !fault; i++)
            fault = read_sequence(p, (enum sequence)i, stored, count);
        if (!fault)
            fault = pco_join(&p->mode, &p->type, p->latents[FIRST].value, p->latents[SECOND].value,
                             count, out);
        out += (size_t)count * (p->type.width / 8);
        left -= count;
    }
    if (!fault && !pco_align(&p->bits))
        fault = "bits that should be zeros, after a page";
    return fault;
}

/* Versions that are legal, but newer than what this file reads. */
static enum status check_known(struct pco *p, struct error *err)
{
    const struct codec_step *step = p->step;
    uint8_t standalone = p->bits.in.at[4];
    if (standalone > STANDALONE_MOST || p->major > MAJOR_MOST)
        return error_set(err, ERR_UNSUPPORTED, step->name, step->offset,
                         "%s: version %u of its files with version %u of its format: the "
                         "newest that are read are %d and %d",
                         step->codec, standalone, p->major, STANDALONE_MOST, MAJOR_MOST);
    return OK;
}

static enum status check_window(struct pco *p, struct error *err)
{
    const struct codec_step *step = p->step;
    if (p->delta.kind != PCO_LOOKBACK || p->delta.window <= PCO_WINDOW_LOG)
        return OK;
    return error_set(err, ERR_UNSUPPORTED, step->name, step->offset,
                     "%s: lookbacks in 2^%u numbers, most is 2^%u", step->codec, p->delta.window,
                     PCO_WINDOW_LOG);
}

static enum status pcodec_fail(const struct pco *p, pco_fault fault, struct error *err)
{
    return codec_corrupt(p->step, err, "%s (byte %llu)", fault,
                         (unsigned long long)(p->bits.at / 8));
}

/* Decode the next chunk into `out`. *made is 0 at the end of the file, and above `room` if the
 * chunk does not fit (then nothing is decoded). */
static enum status pcodec_read_chunk(struct pco *p, uint8_t *out, size_t room, size_t *made,
                                     struct error *err)
{
    uint8_t byte = (uint8_t)pco_take(&p->bits, 8);
    *made = 0;
    if (pco_over(&p->bits))
        return pcodec_fail(p, "ends without the byte that ends it", err);
    if (!byte)
        return OK;
    if (!pco_type_find(byte, &p->type) || (p->uniform && byte != p->uniform))
        return pcodec_fail(p, "numbers of a type that is not known, or not the file's", err);
    p->numbers = pco_take(&p->bits, 24) + 1;
    *made = (size_t)p->numbers * (p->type.width / 8);
    if (*made > room)
        return OK;
    pco_fault fault = read_mode(p);
    if (!fault)
        fault = read_delta(p);
    if (!fault && check_window(p, err) != OK)
        return err->status;
    if (!fault)
        fault = read_tables(p);
    if (!fault)
        fault = pcodec_read_numbers(p, out);
    return fault ? pcodec_fail(p, fault, err) : OK;
}

static enum status pcodec_decode(const struct codec_step *step, struct bytes in, uint8_t *out,
                                 size_t room, size_t *made, struct error *err)
{
    if (!*step->state)
        *step->state = calloc(1, sizeof(struct pco));
    struct pco *p = *step->state;
    if (!p)
        return error_set(err, ERR_MEMORY, step->name, step->offset, "no memory");
    p->step = step;
    p->bits = (struct pco_bits){.in = in};
    size_t some = 1;
    pco_fault fault = pcodec_read_head(p);
    *made = 0;
    if (fault)
        return pcodec_fail(p, fault, err);
    if (check_known(p, err) != OK)
        return err->status;
    while (some && *made <= room) {
        if (pcodec_read_chunk(p, out + *made, room - *made, &some, err) != OK)
            return err->status;
        *made = some > room - *made ? room + 1 : *made + some;
    }
    return OK;
}

static uint64_t pcodec_memory(uint64_t out)
{
    (void)out;
    return STATE_BYTES + 2 * HISTORY_BYTES;
}

static void pcodec_release(void *state)
{
    struct pco *p = state;
    for (unsigned i = 0; i < SEQUENCES; i++)
        free(p->latents[i].history);
    free(p);
}

const struct codec codec_pcodec = {.name = "pcodec",
                                   .size = codec_stated_size,
                                   .decode = pcodec_decode,
                                   .memory = pcodec_memory,
                                   .release = pcodec_release};
