/*
 * transform.h - shared by the files that find tensors which are equal after an operation:
 *
 *   sample.c      digests of tensors, first of some elements; which tensor has the same
 *   alone.c       a tensor of A, after operations, is one of B       [["transpose"]]
 *   pieces.c      a tensor of one side is cut, and each piece is one of the other side
 *   pairing.c     orders of axes; notes a pair
 *   transform.c   runs the others
 */
#pragma once

#include "catalog/base/text.h"
#include "catalog/maps/infer/infer.h"

#define MISSES_MAX  256 /* tensors without a hit: then these are other weights */
#define TRIED_FIRST 32  /* operations that were right before, and are tried first */

struct transforms {
    struct infer_task *task;
    struct strmap sampled[2]; /* "dtype shape digest" to the first of a side, plus 1 */
    uint32_t *next[2];        /* the next tensor with the same digest, plus 1 */
    struct strmap classes[2]; /* "dtype shape" whose tensors have all been sampled */
    struct strmap tried;      /* the keys for which alone.c has called try_ahead() */
    struct strmap ahead;      /* probes whose digests were computed ahead (sample.c) */
    const char *right[TRIED_FIRST];
    unsigned rights;
    size_t misses, hits;
    struct error *err; /* the arena's, too; an error in it stops everything */
};

static inline bool transforms_stopped(const struct transforms *x)
{
    return x->err->status != OK;
}

static inline const struct infer_tensor *transforms_tensor(const struct transforms *x, bool of_b,
                                                           size_t at)
{
    return of_b ? &x->task->b.at[at] : &x->task->a.at[at];
}

static inline bool transforms_used(const struct transforms *x, bool of_b, size_t at)
{
    return of_b ? x->task->used_b[at] : x->task->used_a[at] != 0;
}

/* --- sample.c ---------------------------------------------------------------------------------- */

/* Sample probes of the unused tensors of a side with this dtype and shape, from position `from`
 * on; in the task's arena. */
struct infer_probe *sample_list(struct transforms *, bool of_b, const char *dtype,
                                const char *shape, size_t from, size_t *count);
/* Sample all unused tensors of a side with this dtype and shape; returns their number. */
uint64_t sample_class(struct transforms *, bool of_b, const char *dtype, const char *shape);
/* The first unused tensor of each dtype and shape of a side; `out` has room for all. Returns the
 * number. */
size_t sample_classes(struct transforms *, bool of_b, uint32_t *out);
/* Compute the digests ahead that sample_find() will need for these sample probes, which are
 * changed. */
void sample_ahead(struct transforms *, const char *dtype, const char *shape, struct infer_probe *,
                  size_t count);
/* The unused tensor of the other side, of this dtype and shape, with the content of the probe;
 * INFER_NONE if absent. */
uint32_t sample_find(struct transforms *, const char *dtype, const char *shape,
                     const struct infer_probe *);

/* --- the others -------------------------------------------------------------------------------- */

/* The next permutation of the axes, in lexical order; false after the last. */
bool order_next(unsigned *axis, unsigned rank);
/* Append the operation that permutes axes: ["transpose"] if it reverses them, else
 * ["permute",[...]]. */
void order_put(struct text *, const unsigned *axis, unsigned rank);

/* Add the pairs that they find. `class` has room for the positions of all tensors of the larger
 * side. */
void transform_alone(struct transforms *, uint32_t *class);
void transform_pieces(struct transforms *, bool of_b, uint32_t *class);
