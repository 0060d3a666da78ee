/*
 * adafactor_private.h - shared by the files of adafactor.c: the parts that a spec describes
 * (adafactor_spec.c), and how they are checked (adafactor_parts.c).
 */
#pragma once

#include "catalog/maps/optimizer/engine.h"

enum word {
    WORD_NONE,
    WORD_BATCH,
    WORD_ROW,
    WORD_COLUMN,
    WORD_BAD,
};

/* How a parameter is factored. */
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

/* An element of factor_map: [REGEX, RULE]. */
struct mapped {
    struct regex *regex;
    struct rule rule;
};

/* An Adafactor: a part of a MultiOptimizer, or the only one. */
struct part {
    const struct json_value *args, *axes, *filter;
    /* The logical_factor_rules that apply; NULL: none */
    const struct json_value *logical;
    const struct json_value *optax; /* set if the part is an Optax optimizer instead */
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

/* The words as Python prints them. */
extern const char *const adafactor_word_text[WORD_BAD];

enum word adafactor_word_called(const char *text);
/* A value as text, ASCII letters in lower case. */
const char *adafactor_lowered(struct run *r, const struct json_value *v);
void adafactor_read_parts(struct adafactor *a);

/* --- adafactor_parts.c ------------------------------------------------------------------- */

/* Append the parts that select a parameter: "[0, 1]"; returns whether there are several. Call
 * it for all parameters in order: at[k], 0 at first, is the position in the members of part k. */
bool adafactor_selecting(struct adafactor *a, const struct optimizer_param *param, size_t *at,
                         struct text *out);
void adafactor_check_overlap(struct adafactor *a);
/* The rule that follows from a parameter's axes. */
struct rule adafactor_axes_rule(struct run *r, const struct part *p, const struct json_value *axes);
void adafactor_check_axes(struct adafactor *a);
