/*
 * pcodec_latents.c - decodes a sequence of integers as pco stores it: bins coded by tANS, offsets
 * in them, and differences, which are added up again.
 */
#include <stdlib.h>

#include "catalog/data/codec/pcodec.h"

/* --- bits ----------------------------------------------------------------------------------- */

uint64_t pco_take_at_end(struct pco_bits *b, unsigned count)
{
    uint64_t value = 0;
    for (unsigned i = 0; i < count; i++) {
        uint64_t bit = b->at + i;
        if (bit / 8 < b->in.len)
            value |= (uint64_t)(b->in.at[bit / 8] >> bit % 8 & 1) << i;
    }
    b->at += count;
    return value;
}

bool pco_align(struct pco_bits *b)
{
    unsigned past = b->at % 8;
    return past == 0 || pco_take(b, 8 - past) == 0;
}

/* --- bins ----------------------------------------------------------------------------------- */

#define SIZE_LOG_BITS 4
#define BINS_BITS     15

/* Largest table accepted: this many states, and some more for each number; pco itself makes at most
 * four per number. Otherwise chunks of a few numbers with large tables could keep a processor busy
 * for hours. */
#define STATES_LEAST 64
#define STATES_MORE  16

/* Bits needed to write 0 to `width`, a power of two. */
static unsigned offset_bits(unsigned width)
{
    return (unsigned)__builtin_ctz(width) + 1;
}

/* Assign the states of the table to bins, as many to each as its weight, in strides of about 3/5
 * of the table so that the states of a bin are spread evenly. With 8 states (stride 5) and the
 * weights 3 and 5, bin 0 gets the states 0, 5, 2, and bin 1 gets 7, 4, 1, 6, 3. Until
 * link_states() a state's `next` holds its bin. */
static pco_fault spread(struct pco_latents *l, uint16_t *weights, struct pco_bits *b)
{
    const uint32_t size = UINT32_C(1) << l->size_log, stride = size * 3 / 5 | 1;
    uint32_t step = 0;
    for (uint32_t bin = 0; bin < l->bins; bin++) {
        uint32_t weight = (uint32_t)pco_take(b, l->size_log) + 1;
        uint64_t lower = pco_take(b, l->width);
        unsigned offset = (unsigned)pco_take(b, offset_bits(l->width));
        if (pco_over(b))
            return "ends inside its bins";
        if (offset > l->width)
            return "an offset is wider than its numbers";
        if (weight > size - step)
            return "its bins have more states than there are";
        weights[bin] = (uint16_t)weight;
        for (; weight; weight--, step++)
            l->table[stride * step & (size - 1)] =
                (struct pco_state){lower, (uint16_t)bin, 0, (uint8_t)offset};
    }
    return step == size ? NULL : "its bins have fewer states than there are";
}

/* In the order of the table, the states of a bin of weight w get the numbers w to 2 w - 1. The
 * next state is such a number, extended by as many bits from the file as make it at least
 * `size`, minus `size`. With size 8, w 3: the numbers 3, 4, 5 take 2, 1, 1 bits and lead to
 * states from 4, 0, 2 on. */
static void link_states(struct pco_latents *l, uint16_t *weights)
{
    const uint32_t size = UINT32_C(1) << l->size_log;
    for (uint32_t i = 0; i < size; i++) {
        struct pco_state *s = &l->table[i];
        uint32_t number = weights[s->next]++;
        s->bits = (uint8_t)(__builtin_clz(number) - __builtin_clz(size));
        s->next = (uint16_t)((number << s->bits) - size);
    }
}

pco_fault pco_read_bins(struct pco_latents *l, uint64_t numbers, uint16_t *weight,
                        struct pco_bits *b)
{
    l->size_log = (unsigned)pco_take(b, SIZE_LOG_BITS);
    l->bins = (uint32_t)pco_take(b, BINS_BITS);
    if (l->size_log > PCO_SIZE_LOG || l->bins > UINT32_C(1) << l->size_log)
        return "more bins than states, or a table that is too large";
    if (UINT64_C(1) << l->size_log > STATES_LEAST + STATES_MORE * numbers)
        return "a table of many more states than there are numbers";
    if (l->bins < 2 && l->size_log)
        return "a table for less than two bins";
    if (!l->bins) {
        l->table[0] = (struct pco_state){0};
        return NULL; /* nothing is stored */
    }
    pco_fault fault = spread(l, weight, b);
    if (!fault)
        link_states(l, weight);
    return fault;
}

/* --- pages ---------------------------------------------------------------------------------- */

/* Room for a window, plus a batch or the initial values, which leave the ring a little later. The
 * size is a power of two. */
static bool history_new(struct pco_latents *l)
{
    const uint64_t window = UINT64_C(1) << l->delta.window;
    l->history_size = 2 * (window > PCO_BATCH ? window : PCO_BATCH);
    l->history_at = 0;
    if (l->history_size <= l->history_room)
        return true;
    free(l->history);
    l->history = malloc((size_t)l->history_size * sizeof(*l->history));
    l->history_room = l->history ? l->history_size : 0;
    return l->history;
}

pco_fault pco_read_page(struct pco_latents *l, struct pco_bits *b)
{
    const struct pco_delta *d = &l->delta;
    uint64_t left = (uint64_t)b->in.len * 8 - b->at;
    if (d->kind == PCO_LOOKBACK && !history_new(l))
        return "no memory for a window of lookbacks";
    if (d->kind != PCO_NO_DELTA && d->states > left / l->width)
        return "ends inside its first numbers";
    for (uint32_t i = 0; d->kind != PCO_NO_DELTA && i < d->states; i++) {
        uint64_t first = pco_take(b, l->width);
        if (d->kind == PCO_LOOKBACK)
            l->history[l->history_at++] = first;
        else
            l->moment[i] = first;
    }
    for (unsigned i = 0; i < PCO_INTERLEAVED; i++)
        l->state[i] = (uint32_t)pco_take(b, l->size_log);
    return pco_over(b) ? "ends inside the head of a page" : NULL;
}

/* --- batches -------------------------------------------------------------------------------- */

static void read_stored(struct pco_latents *l, unsigned count, struct pco_bits *b)
{
    uint8_t offset[PCO_BATCH];
    for (unsigned i = 0; i < count; i++) {
        uint32_t *state = &l->state[i % PCO_INTERLEAVED];
        const struct pco_state *s = &l->table[*state];
        l->value[i] = s->lower;
        offset[i] = s->offset;
        *state = s->next + (uint32_t)pco_take(b, s->bits);
    }
    for (unsigned i = 0; i < count; i++)
        l->value[i] = pco_low(l->value[i] + pco_take(b, offset[i]), l->width);
}

/* Add up differences once for each order. Each pass shifts the values by one: the moments
 * (initial values) come out first, and the last differences of a page need not be stored. With
 * order 1, moment 10 and the differences 2, 3 the values are 10, 12, and 15 is the moment of the
 * next batch. */
static void undo_consecutive(struct pco_latents *l, unsigned count)
{
    for (unsigned order = l->delta.states; order-- > 0;) {
        uint64_t sum = l->moment[order];
        for (unsigned i = 0; i < count; i++) {
            uint64_t difference = l->value[i];
            l->value[i] = pco_low(sum, l->width);
            sum += difference;
        }
        l->moment[order] = sum;
    }
}

/* Add to each difference the value `lookbacks[i]` places before; before the first value there are
 * zeros. The output lags behind by the initial values. */
static pco_fault undo_lookback(struct pco_latents *l, const uint64_t *lookbacks, unsigned stored,
                               unsigned count)
{
    const uint64_t mask = l->history_size - 1, window = UINT64_C(1) << l->delta.window;
    const uint64_t begin = l->history_at;
    for (unsigned i = 0; i < stored; i++) {
        const uint64_t at = begin + i, back = lookbacks[i];
        if (!back || back > window)
            return "a lookback out of its window";
        const uint64_t before = back <= at ? l->history[(at - back) & mask] : 0;
        l->history[at & mask] = pco_low(l->value[i] + before, l->width);
    }
    for (unsigned i = 0; i < count; i++)
        l->value[i] = l->history[(begin - l->delta.states + i) & mask];
    l->history_at = begin + stored;
    return NULL;
}

/* The weighted sum of the previous values, in signed integers of twice the width; below 0 it is
 * 0. */
static uint64_t predict(const struct pco_latents *l, const uint64_t *before)
{
    const struct pco_delta *d = &l->delta;
    uint64_t sum = d->bias, sign = UINT64_C(1) << (2 * l->width - 1);
    for (unsigned i = 0; i < d->states; i++)
        sum += (uint64_t)(int32_t)d->weight[i] * before[i];
    sum = pco_low(sum, 2 * l->width);
    return sum & sign ? 0 : pco_low(sum >> d->quantized, l->width);
}

static void undo_convolution(struct pco_latents *l, unsigned count)
{
    uint64_t all[PCO_WEIGHTS + PCO_BATCH];
    const unsigned order = l->delta.states;
    memcpy(all, l->moment, order * sizeof(*all));
    for (unsigned i = 0; i < count; i++)
        all[order + i] = pco_low(l->value[i] + predict(l, all + i), l->width);
    memcpy(l->value, all, count * sizeof(*all));
    memcpy(l->moment, all + count, order * sizeof(*all));
}

pco_fault pco_read_batch(struct pco_latents *l, const uint64_t *lookbacks, unsigned stored,
                         unsigned count, struct pco_bits *b)
{
    const uint64_t middle = UINT64_C(1) << (l->width - 1);
    if (stored && !l->bins)
        return "values without bins";
    read_stored(l, stored, b);
    if (pco_over(b))
        return "ends inside its numbers";
    if (l->delta.kind == PCO_NO_DELTA)
        return NULL;
    for (unsigned i = 0; i < stored; i++)
        l->value[i] ^= middle;
    memset(l->value + stored, 0, (count - stored) * sizeof(*l->value));
    if (l->delta.kind == PCO_LOOKBACK)
        return undo_lookback(l, lookbacks, stored, count);
    if (l->delta.kind == PCO_CONSECUTIVE)
        undo_consecutive(l, count);
    else
        undo_convolution(l, count);
    return NULL;
}
