/*
 * adafactor_private.h - the inside of adafactor.c: the parts that a spec makes (adafactor_spec.c), and what
 * is said of them.
 */
#ifndef CKPTDB_OPTIMIZER_ADAFACTOR_PRIVATE_H
#define CKPTDB_OPTIMIZER_ADAFACTOR_PRIVATE_H

#include "catalog/optimizer/run.h"

enum word {
    WORD_NONE,
    WORD_BATCH,
    WORD_ROW,
    WORD_COLUMN,
    WORD_BAD,
};

/* How a parameter is to be factored. */
enum rule_kind {
    RULE_UNFACTORED,
    RULE_HEURISTIC,
    RULE_WORDS, /* one per dimension */
    RULE_MISSING,
};

struct rule {
    enum rule_kind kind;
    enum word *word;
    size_t count;
    bool has[WORD_BAD];
};

/* A line of factor_map. */
struct mapped {
    struct regex *regex;
    struct rule rule;
};

/* An Adafactor: a part of a MultiOptimizer, or the only one. */
struct part {
    const struct json_value *args, *axes, *filter;
    const struct json_value
        *logical;                   /* the rules on axes that are in force; NULL: none */
    const struct json_value *optax; /* it is no Adafactor */
    const struct json_value *spec;
    struct mapped *map; /* NULL: no factor_map */
    size_t mapped;
    struct members members;
};

struct adafactor {
    struct run *run;
    struct part *part;
    size_t parts;
    bool several; /* a MultiOptimizer */
};

/* --- adafactor_spec.c -------------------------------------------------------------------- */

/* As Python shows the words. */
extern const char *const adafactor_word_text[WORD_BAD];

enum word adafactor_word_called(const char *text);
/* In lower case, as far as ASCII goes. NULL: no memory. */
const char *adafactor_lowered(struct run *r, const struct json_value *v);
bool adafactor_read_parts(struct adafactor *a);

/* --- adafactor_parts.c ------------------------------------------------------------------- */

/* The parts that select a parameter: "[0, 1]". (A part's members are in order: `at` follows.) */
bool adafactor_selecting(struct adafactor *a, const struct optimizer_param *param,
                         size_t *at, struct text *out);
bool adafactor_check_overlap(struct adafactor *a);
/* The rule that a parameter's axes make. */
bool adafactor_axes_rule(struct run *r, const struct part *p,
                         const struct json_value *axes, struct rule *rule);
bool adafactor_check_axes(struct adafactor *a);

#endif
