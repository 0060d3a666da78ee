/*
 * guess.h - between guess.c and fuse.c: names as words, and tensors taken together as layers are.
 */
#ifndef CKPTDB_INFER_GUESS_H
#define CKPTDB_INFER_GUESS_H

#include "catalog/infer/infer.h"

#define WORDS_MAX 64
/* Layers of a side that are compared with each other; of more, only neighbours. */
#define GROUPS_MAX 1000

struct name_words {
    const char *at[WORDS_MAX];
    size_t len[WORDS_MAX];
    unsigned number[WORDS_MAX]; /* which number of the name it is, from 1; 0: a word */
    unsigned count, numbers;
};

/* Words at changes of kind and of case: SelfAttention is self and attention. */
void guess_words(const char *name, struct name_words *out);
/* 1: the same; less: one is the beginning of the other, or of its letters (wq and query are not). */
double guess_word_likeness(const char *a, size_t n, const char *b, size_t m);

/* Tensors whose names are equal but for their first number. */
struct layers {
    uint32_t *at;
    size_t count, space;
    const char *name; /* of the first */
    const char
        *shape; /* "dtype shape" of each, joined; the dtype is left out of `turned` */
    const char *turned; /* shapes of matrices turned around; NULL: they are none */
    bool unknown;       /* a shape is not known: it is like any */
    double place;       /* 0 to 1: where it is among those left */
    bool used;
};

struct side {
    struct layers *layers;
    size_t count, space;
};

struct guessing {
    struct infer_task *task;
    struct side side[2];
    bool apart[2];            /* the tensors of a side are not taken together */
    struct infer_words words; /* of the layers of both */
};

/* The tensor of a side that is the i-th of these layers. */
static inline const struct infer_tensor *guess_layer(const struct guessing *g, bool of_b,
                                                     const struct layers *l, size_t i)
{
    return of_b ? &g->task->b.at[l->at[i]] : &g->task->a.at[l->at[i]];
}

/*
 * Guess what was put together of several tensors, or cut up into them: siblings (names that differ in one
 * word: q, k, v) whose sizes add up to that of one tensor of the other side. `named`: only where that one's
 * name says so (qkv, gate_up). False: no memory.
 */
bool guess_fused(struct guessing *, bool named);

#endif
