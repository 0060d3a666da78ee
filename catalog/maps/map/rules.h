/*
 * rules.h - an ordered list of rules that turn names into new names. Knows no SQLite.
 *
 * The first rule whose pattern matches decides: its steps run in order, each naming one more
 * group; then its replacement is expanded, with Python's rules and these groups:
 *
 *   pattern      (encoder|decoder)/block_(\d+)/(\w*)
 *   step         slot: table `slots` at \3      step n: int of \2
 *   replacement  target/\1/layers_\g<n>\g<slot>
 *
 * Patterns and templates compile when first tried, so one that is never tried is not an error.
 * schema/rules/README.md is the manual of steps. Not for more than one thread at a time.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum rules_shape {
    RULES_TRANSLATOR, /* re.match(pattern + '$', name) */
    RULES_FULLMATCH,  /* re.fullmatch(pattern, name) */
};

enum rule_outcome {
    RULE_UNMATCHED,
    RULE_OK,
    RULE_DROPPED, /* the rule has no replacement */
    RULE_ERROR,   /* the original would raise */
};

struct rule_result {
    enum rule_outcome outcome;
    int64_t ord;      /* of the rule that decided; 0 when none did */
    const char *text; /* the new name, or the error as "Type: text"; a NUL after it */
    size_t len;
    const char *cast; /* dtype the rule casts to; NULL: none */
    const char *ops;  /* operations on the tensor, JSON, numbers filled in; NULL: none */
    /* Why it is an error that does not depend on the rules, and is not remembered */
    bool no_memory;
};

struct rules;

struct rules *rules_new(enum rules_shape shape);
void rules_free(struct rules *);

/*
 * Building; strings are copied. False: no memory.
 *
 * A rule: `replacement` NULL drops. `fault`, if not NULL, is the error of every name that the
 * pattern matches ("ValueError: unknown operation 'fold'").
 */
bool rules_add(struct rules *, int64_t ord, const char *pattern, const char *replacement,
               const char *cast, const char *fault);
/* More of the operations of the last rule: their text as it is, or a template that gives a
 * number. */
bool rules_add_ops(struct rules *, const char *text, bool number);
/* A step of the last rule: its group, its operation, its arguments. A step that makes no
 * sense is an error of the names that reach it. */
bool rules_add_step(struct rules *, const char *const *word, unsigned count);
/* A value of table[key]. A list is added value by value, in order, `listed`; an empty one as
 * one NULL. */
bool rules_add_value(struct rules *, const char *table, const char *key, const char *value,
                     bool listed);

/* The result of the step "setting" for `key`: `value`, or if that is NULL the error `fault`, whole. */
bool rules_add_setting(struct rules *, const char *key, const char *value, const char *fault);

/* Apply the rules to a name. The answer for the last name is kept, so asking again
 * costs a comparison. It lives until the next call. */
const struct rule_result *rules_apply(struct rules *, const char *name, size_t len);

/* The same for the rules from number *at on, counted from 0; *at becomes the number after the one that
 * decides. */
const struct rule_result *rules_apply_from(struct rules *, size_t *at, const char *name,
                                           size_t len);

/* The same for a part of the tensor, by its label, the value of the step "part". */
const struct rule_result *rules_apply_part(struct rules *, const char *part, const char *name,
                                           size_t len);

/* Apply the rule `ord` alone to a name: RULE_UNMATCHED also if there is no such rule. */
const struct rule_result *rules_apply_one(struct rules *, int64_t ord, const char *name,
                                          size_t len);

/* The first fault of any rule, tried or not: "Type: text", with the rule's ord and its part that is
 * wrong ("pattern"). NULL: all compile. */
const char *rules_fault(struct rules *, int64_t *ord, const char **what);
