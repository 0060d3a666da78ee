/*
 * transform.h - between the files that find which tensor is another under an operation:
 *
 *   sample.c      what tensors hold, some elements first; who has the same
 *   alone.c       a under an operation is b        [["transpose"]]
 *   pieces.c      a tensor of one side is cut, and each piece is one of the other side
 *   transform.c   the order of axes, and all of it
 */
#ifndef CKPTDB_INFER_TRANSFORM_H
#define CKPTDB_INFER_TRANSFORM_H

#include "catalog/base/text.h"
#include "catalog/infer/infer.h"

#define MISSES_MAX  256 /* tensors under trial without a hit: these are other weights */
#define TRIED_FIRST 32  /* operations that were right before are tried before others */

struct transforms {
    struct infer_task *task;
    struct strmap
        sampled[2];    /* "dtype shape digest" to the first tensor of a side, plus 1 */
    uint32_t *next[2]; /* the next one with the same, plus 1 */
    struct strmap classes[2]; /* "dtype shape" that have been sampled */
    struct strmap tried;      /* what try_ahead() (alone.c) was called for */
    struct strmap ahead;      /* probes to where their digests are (sample.c) */
    const char *right[TRIED_FIRST];
    unsigned rights;
    size_t misses, hits;
    struct error *err; /* set: stop */
};

static inline bool transforms_stopped(const struct transforms *x)
{
    return x->err->status != OK;
}

static inline void transforms_no_room(struct transforms *x)
{
    error_set(x->err, ERR_MEMORY, NULL, NO_OFFSET, "no memory to infer");
}

static inline const struct infer_tensor *transforms_tensor(const struct transforms *x,
                                                           bool of_b, size_t at)
{
    return of_b ? &x->task->b.at[at] : &x->task->a.at[at];
}

static inline bool transforms_used(const struct transforms *x, bool of_b, size_t at)
{
    return of_b ? x->task->used_b[at] : x->task->used_a[at] != 0;
}

/* --- sample.c ---------------------------------------------------------------------------------- */

/* Probes (of samples) of those of a side that have this dtype and shape and are not used, from the position
 * `from` on; in the task's arena. */
struct infer_probe *sample_list(struct transforms *, bool of_b, const char *dtype,
                                const char *shape, size_t from, size_t *count);
/* Sample all tensors of a side that have this dtype and shape, and are not used. How many there are. */
uint64_t sample_class(struct transforms *, bool of_b, const char *dtype,
                      const char *shape);
/* One tensor of each dtype and shape of a side that are not used yet; `out` has room for all. */
size_t sample_classes(struct transforms *, bool of_b, uint32_t *out);
/* Read ahead what these probes (of samples, and changed) are, as far as sample_find() will ask for it. */
void sample_ahead(struct transforms *, const char *dtype, const char *shape,
                  struct infer_probe *, size_t count);
/* The tensor of the other side, of this dtype and shape, that has the content of a probe; INFER_NONE:
 * there is none that is not used already. */
uint32_t sample_find(struct transforms *, const char *dtype, const char *shape,
                     const struct infer_probe *);

/* --- the others -------------------------------------------------------------------------------- */

/* Count the order of axes up, as numbers; false after the last. */
bool order_next(unsigned *axis, unsigned rank);
/* The operation that puts axes in this order: ["transpose"] where it is the reverse, else ["permute",[...]]. */
void order_put(struct text *, const unsigned *axis, unsigned rank);

/* Pair what they find; `class` is room for a position of each tensor of the larger side. */
void transform_alone(struct transforms *, uint32_t *class);
void transform_pieces(struct transforms *, bool of_b, uint32_t *class);

#endif
