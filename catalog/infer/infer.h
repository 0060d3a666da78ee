/*
 * infer.h - rules found from examples: two lists of tensors in, a rule set out. Knows no SQLite.
 *
 *   infer_pairs(&task, &err)     which tensor of A is which of B: by content, by what content becomes
 *                                under an operation, or as a guess (pair.c, transform.h, guess.c)
 *   infer_rules(...)             pairs to as few rules as make them (rules.c)
 *
 * All that is made lives in the task's arena. Not for several threads at a time.
 */
#ifndef CKPTDB_INFER_INFER_H
#define CKPTDB_INFER_INFER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "catalog/base/arena.h"
#include "catalog/base/error.h"
#include "catalog/base/strmap.h"
#include "catalog/content/digest.h"
#include "catalog/map/ruleset.h"

#define INFER_RANK_MAX 8 /* of tensors that are looked at under operations */

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

/* How it is known what becomes of a tensor. */
enum infer_how {
    INFER_NOT,     /* it is not: dropped, or missing */
    INFER_CONTENT, /* the values are equal, after the operations */
    INFER_NAME, /* name, dtype and shape are equal, contents are not, or were not compared */
    INFER_GUESS, /* by shape, order and likeness of names */
};

/* What operations make several tensors of one, or one of several. */
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
    const char *const
        *made; /* names in B, of parts in their order; none: it is dropped */
    size_t count;
    enum infer_form form;
    /* JSON list, NULL: none. A '%' in it is where a join has its key, and where a division has
     * what follows its axis and sizes: the first number, or the labels. */
    const char *ops;
    int64_t key; /* of a join */
};

/* One tensor of B, and what it is made of; in A's order. */
struct infer_pair {
    uint32_t a, b; /* positions; INFER_NONE */
    uint32_t part; /* number of a part, or the key of a join */
    enum infer_how how;
    enum infer_form form;
    const char *ops; /* as in struct infer_item */
};
#define INFER_NONE UINT32_MAX

/* A tensor as operations and a cast (each NULL: none) make it. */
struct infer_probe {
    bool of_b;
    size_t at;
    const char *ops, *dtype;
    /* A digest of some elements, the same ones of any tensor of that dtype and as many elements;
     * else the content hash. */
    bool sample;
};

/* ERR_UNSUPPORTED, ERR_ARGUMENT, ERR_VALUE, ERR_LIMIT: a tensor has none. */
struct infer_digest {
    enum status status;
    char text[DIGEST_TEXT];
};

struct infer_task {
    struct arena *arena;
    struct infer_list a, b;
    /* Their digests, worked out on all cores. What ends it is what cannot be read, what changed, memory,
     * an interruption. NULL: contents are compared by their hashes alone. */
    enum status (*digest)(void *context, const struct infer_probe *, size_t count,
                          struct infer_digest *out, struct error *);
    void *context;
    /* Out: */
    struct infer_pair *pair;
    size_t pairs, pair_space;
    uint32_t *used_a; /* how many pairs a tensor of A has */
    bool *used_b;     /* whether a tensor of B is made */
};

/* Fill task->pair, sorted by a, then part. ERR_MEMORY, or what digest() ended it with. */
enum status infer_pairs(struct infer_task *, struct error *);

/* What becomes of each tensor of A, as items in A's order; *count of them is a.count. NULL: no
 * memory. */
struct infer_item *infer_items(struct infer_task *);

/*
 * As few rules as make of each old name what is made of it, verified by running them; set->arena is
 * given, and dialect, options and rules are filled in. Where rules for several names would be wrong for
 * one, it has a rule of its own. ERR_MEMORY.
 */
enum status infer_rules(const struct infer_item *, size_t count, struct ruleset *set,
                        struct error *);

/* --- between the files of this folder ------------------------------------------------------- */

/* Add a pair, and mark both as used. False: no memory. */
bool infer_add(struct infer_task *, struct infer_pair);
/* Pair what contents show, after operations. */
enum status infer_transforms(struct infer_task *, struct error *);
/* Pair what is left by names, shapes and order. False: no memory. */
bool infer_guess(struct infer_task *);

/* In how many of some names a word is: what is in all of them says little. */
struct infer_words {
    struct arena *arena;
    struct strmap counts; /* lower case */
    size_t names;
};
bool infer_words_add(struct infer_words *, const char *name); /* false: no memory */

/* How alike two names are, 0 to 2: words and numbers in common, in any order; q is like query. `words`
 * NULL: all words count the same. */
double infer_likeness(const struct infer_words *words, const char *a, const char *b);
/* Order of names with numbers as numbers: 2 before 10. */
int infer_name_order(const char *a, const char *b);

#endif
