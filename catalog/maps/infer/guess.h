/*
 * guess.h - shared by guess.c and fuse.c: the words of names, and tensors grouped as layers.
 */
#pragma once

#include "catalog/maps/infer/infer.h"

#define WORDS_MAX 64
/* With more groups of layers on a side, each is compared only with neighbours. */
#define GROUPS_MAX 1000

struct name_words {
    const char *at[WORDS_MAX];
    size_t len[WORDS_MAX];
    unsigned number[WORDS_MAX]; /* 1: the name's first number, 2 ...; 0: a word */
    unsigned count, numbers;
};

/* Split a name where the kind or the case of letters changes: SelfAttention is Self and
 * Attention. */
void guess_words(const char *name, struct name_words *out);
/* 1: equal; 0.7: one begins with the other; 0.4: the first three letters are equal; 0: neither
 * (wq, query). */
double guess_word_likeness(const char *a, size_t n, const char *b, size_t m);

/* Tensors whose names differ only in their first number. */
struct layers {
    uint32_t *at;
    size_t count, space;
    const char *name;   /* of the first one */
    const char *shape;  /* the shapes of all, joined: "[2,3] [2,3] " */
    const char *turned; /* the shapes transposed, if all are matrices; else NULL */
    bool unknown;       /* a shape is not known, so any fits */
    double place;       /* position of the first in its list, from 0 to 1 */
    bool used;
};

struct side {
    struct layers *layers;
    size_t count, space;
};

struct guessing {
    struct infer_task *task;
    struct side side[2];
    bool apart[2];            /* every tensor of the side is a group of its own */
    struct infer_words words; /* in the names of both sides */
};

/* The i-th tensor of a group. */
static inline const struct infer_tensor *guess_layer(const struct guessing *g, bool of_b,
                                                     const struct layers *l, size_t i)
{
    return of_b ? &g->task->b.at[l->at[i]] : &g->task->a.at[l->at[i]];
}

/*
 * Guess which tensors were fused into one, or split from one: siblings (names that differ in one
 * word: q, k, v) whose sizes add up to one tensor's size on the other side. `named`: only if that
 * tensor's name says so (qkv, gate_up). False: no memory.
 */
bool guess_fused(struct guessing *, bool named);
