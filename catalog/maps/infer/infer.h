/*
 * infer.h - rules found from examples: two lists of tensors in, a rule set out. Knows no SQLite.
 *
 *   infer_pairs(&task, &err)     which tensor of A is which of B: by content, by content after an
 *                                operation, or as a guess (pair.c, transform.h, guess.c)
 *   infer_rules(...)             from the pairs, as few rules as possible (draft_rules.c)
 *
 * All results live in the task's arena. One thread at a time.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "catalog/base/arena.h"
#include "catalog/base/error.h"
#include "catalog/base/strmap.h"
#include "catalog/data/kernel/digest.h"
#include "catalog/maps/map/ruleset.h"

#define INFER_RANK_MAX 8 /* of tensors that operations are tried on */

/* A tensor of one of the two checkpoints, in the file's order. */
struct infer_tensor {
    const char *name;
    const char *dtype, *shape; /* NULL: not known */
    const char *hash;          /* content hash; NULL: not known */
    uint64_t elements;
    uint64_t size[INFER_RANK_MAX];
    unsigned rank; /* of `size`; INFER_RANK_MAX + 1: larger, or not known */
};

struct infer_list {
    struct infer_tensor *at;
    size_t count;
};

/* How the pair of a tensor is known. */
enum infer_how {
    INFER_NOT,     /* it has none: dropped, or missing */
    INFER_CONTENT, /* the values are equal, after the operations */
    /* Name, dtype and shape are equal; contents differ, or were not compared. */
    INFER_NAME,
    INFER_GUESS, /* by shape, order and similar names */
};

/* Operations that make several tensors of one, or one of several. */
enum infer_form {
    INFER_PLAIN,
    INFER_UNSTACK,
    INFER_SPLIT,
    INFER_COPIES,
    INFER_JOIN,
};

/* What becomes of a tensor of A. */
struct infer_item {
    const char *old;
    const char *const *made; /* names in B, in the order of the parts; none: it is dropped */
    size_t count;
    enum infer_form form;
    /* JSON list; NULL: none. A '%' stands for the key of a join, or for the last argument of a
     * division: the number of the first part, or the labels. */
    const char *ops;
    int64_t key; /* of a join */
};

/* A tensor of B and the tensor that it is made of, in A's order. */
struct infer_pair {
    uint32_t a, b; /* positions in the lists; INFER_NONE: no such tensor */
    uint32_t part; /* number of the part, or key of the join */
    enum infer_how how;
    enum infer_form form;
    const char *ops; /* as in struct infer_item */
};
#define INFER_NONE UINT32_MAX

/* A tensor after operations and a cast (NULL: none), whose digest is wanted. */
struct infer_probe {
    bool of_b;
    size_t at;
    const char *ops, *dtype;
    /* Digest some elements only, the same ones of all tensors with this dtype and size;
     * otherwise, the digest is the content hash. */
    bool sample;
};

/* ERR_UNSUPPORTED, ERR_ARGUMENT, ERR_VALUE, ERR_LIMIT: the tensor has no such digest. */
struct infer_digest {
    enum status status;
    char text[DIGEST_TEXT];
};

struct infer_task {
    struct arena *arena;
    struct infer_list a, b;
    /* Compute digests, on all cores. Fails only if a tensor cannot be read or has changed, without
     * memory, or when interrupted. NULL: contents are compared only by the hashes in the lists. */
    enum status (*digest)(void *context, const struct infer_probe *, size_t count,
                          struct infer_digest *out, struct error *);
    void *context;
    /* Out: */
    struct infer_pair *pair;
    size_t pairs, pair_space;
    uint32_t *used_a; /* number of pairs with the tensor of A */
    bool *used_b;     /* the tensor of B has a pair */
};

/* Fill task->pair, sorted by a, then part. ERR_MEMORY, or the error of digest(). */
enum status infer_pairs(struct infer_task *, struct error *);

/* What becomes of each tensor of A, as a.count items in A's order. NULL: no memory. */
struct infer_item *infer_items(struct infer_task *);

/*
 * As few rules as possible that make the right names of each old name, which running them
 * verifies. The caller sets set->arena; dialect, options and rules are filled in. A name that a
 * common rule would get wrong has a rule of its own. ERR_MEMORY; ERR_UNSUPPORTED: a name is too
 * long for a pattern.
 */
enum status infer_rules(const struct infer_item *, size_t count, struct ruleset *set,
                        struct error *);

/* --- between the files of this folder ------------------------------------------------------- */

/* Add a pair, and count both tensors as used. False: no memory. */
bool infer_add(struct infer_task *, struct infer_pair);
/* Pair tensors whose contents are equal after operations. */
enum status infer_transforms(struct infer_task *, struct error *);
/* Pair what is left, by names, shapes and order. False: no memory. */
bool infer_guess(struct infer_task *);

/* How many names contain a word: a word in most names says little. */
struct infer_words {
    struct arena *arena;
    struct strmap counts; /* keys in lower case */
    size_t names;
};
bool infer_words_add(struct infer_words *, const char *name); /* false: no memory */

/* How similar two names are, from 0 to 2: by the words and numbers that they share, in any order;
 * q is like query. `words` NULL: all words count the same. */
double infer_likeness(const struct infer_words *words, const char *a, const char *b);
/* Compare names with their numbers as numbers: 2 comes before 10. */
int infer_name_order(const char *a, const char *b);
