/*
 * inference.h - the inside of infer_rules(), for the files that make it up: rules.c (which writes the
 * rules) and proof.c (which runs them over the names that they were made of).
 */
#ifndef CKPTDB_INFER_INFERENCE_H
#define CKPTDB_INFER_INFERENCE_H

#include "catalog/base/text.h"
#include "catalog/infer/draft.h"
#include "catalog/map/ruleset.h"

struct inference {
    const struct infer_item *item;
    const struct example *example; /* of each item */
    size_t count;
    struct words words;
    struct ruleset *set;
    struct text tables; /* members of the option "tables" */
    struct strmap table_names;
    bool converts, failed;
    bool too_long; /* a pattern: these rules will not do */
};

/* Tokens of a new name whose parts differ between `head` first and `tail` last tokens. */
struct parted {
    struct token *first;
    size_t count, head, tail;
};

struct parted infer_parted(struct inference *, const struct infer_item *);
/* What is between head and tail in a part's name. */
const char *infer_label(struct inference *, const struct parted *, const char *name);
/* Whether labels count up from *first, which is set. */
bool infer_labels_count(const char *const *label, size_t count, unsigned long *first);

/* Which items the rules get wrong, marked; how many. Where there are none, rules that decide nothing
 * (a name's own rule came before them) go. */
size_t infer_try_rules(struct inference *, bool *wrong);

#endif
