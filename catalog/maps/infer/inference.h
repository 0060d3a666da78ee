/*
 * inference.h - the inside of infer_rules(): draft_rules.c writes the rules, proof.c runs them over the
 * names that they were made from.
 */
#pragma once

#include "catalog/maps/infer/draft.h"
#include "catalog/maps/map/ruleset.h"

struct inference {
    const struct infer_item *item;
    const struct example *example; /* one per item */
    size_t count;
    struct words words;
    struct ruleset *set;
    struct text tables; /* members of the option "tables" */
    struct strmap table_names;
    bool converts;
    bool too_long; /* a pattern is too long: these rules cannot be used */
};

/* The new names of an item with parts: the first one's tokens; the first `head` and the last `tail`
 * are the same in all. */
struct parted {
    struct token *first;
    size_t count, head, tail;
};

struct parted infer_parted(struct inference *, const struct infer_item *);
/* The text between head and tail in the name of a part. */
const char *infer_label(struct inference *, const struct parted *, const char *name);
/* Whether the labels are consecutive numbers, from *first on. */
bool infer_labels_count(const char *const *label, size_t count, unsigned long *first);

/* Mark the items that the rules get wrong, and count them. If all are right, remove rules that
 * decide no name, because a name's own rule comes before them. */
size_t infer_try_rules(struct inference *, bool *wrong);
