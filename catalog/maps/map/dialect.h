/*
 * dialect.h - what the original program of a kind of map makes of the names that its rules match.
 *
 * The rules of a set are tried on the names of a checkpoint (rules.h). A dialect gets the matches,
 * the trees of the checkpoints and the rules, and settles the result as the original's
 * dict or tree would: rows in, rows out, no SQLite. catalog/sql/map_cursor.c calls it.
 *
 * A new dialect is one file that defines a `const struct dialect`, and a line in dialects.def. If its
 * patterns are no regular expressions (MAP_PATH), map load and rule_status() must read them, too.
 * The shortest is dialect_t5x_translator.c: what a rule matches is renamed, and what is surprising
 * about that is left to a SELECT.
 *
 * Everything that a settler makes lives in the arena of its task. One thread at a time.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "catalog/base/arena.h"
#include "catalog/base/strmap.h"
#include "catalog/base/text.h"
#include "catalog/maps/map/rules.h"

/* A text that may hold NUL; at NULL: SQL's NULL. */
struct map_text {
    const char *at;
    size_t len;
};

/* A rule that matches a leaf's name. */
struct map_match {
    enum rule_outcome outcome;
    int64_t ord;
    struct map_text text;   /* the replacement, or the error as "Type: text" */
    const char *cast, *ops; /* as of struct rule_result */
};

enum map_kind {
    MAP_TENSOR,
    MAP_NULL,
    MAP_EMPTY_DICT,
    MAP_EMPTY_LIST,
};

/* A leaf of a checkpoint's tree. `place` orders the leaves; of a tensor it also says the
 * position in the file (map_ord()). */
struct map_leaf {
    struct map_text name;
    const char *dtype, *shape; /* NULL: none, or not known */
    int64_t place;
    uint32_t match, matches; /* its matches: `matches` from map_task.match[match] on */
    enum map_kind kind;
};

static inline int64_t map_ord(const struct map_leaf *leaf)
{
    return leaf->place >> 25;
}

/* In the order of `place`; empty containers come last. */
struct map_tree {
    struct map_leaf *leaf;
    size_t count;
};

struct map_rule {
    int64_t ord;
    const char *pattern;
    struct map_text replacement;
    bool operates; /* it has operations, even if only casts */
};

/* What becomes of a leaf. */
struct map_row {
    const char *status;         /* a constant */
    const struct map_leaf *old; /* the leaf whose value it is; NULL: none */
    const struct map_match *by; /* gives the column `rule`; NULL: none */
    struct map_text new_name, old_name;
    const char *dtype, *shape, *ops;
    struct map_text error;
    const char *note;
    int64_t rule; /* if `by` is NULL; NO_RULE: none */
    /* For a conversion: the row is number `nth` of its leaf's rows, and its tensor is number `part`
     * of the `parts` that make the result. Part 0 has the recipe (compose.h), which is NULL if
     * the result is the tensor itself. */
    size_t nth;
    int64_t part, parts;
    const char *recipe;
    const char *origin; /* of a restored row: "translated", "zeros" */
    int64_t turn;       /* the settler's own: when the name entered the original's dict */
    bool wins;          /* map_find_winners(): no later row has the same new name */
};

#define NO_RULE INT64_MIN

/* What operations make of a shape; texts are compared by address. `after` NULL: the slot is
 * free. */
struct map_operated {
    const char *ops, *shape, *dtype, *after;
};
#define MAP_OPERATED 16 /* slots; sets have few operations, and checkpoints few shapes */

struct map_task {
    struct arena arena;
    const char *options; /* of the rule set: JSON */
    const struct map_rule *rule;
    size_t rules;
    struct map_tree source, target;
    const struct map_match *match; /* of the target's names, or else of the source's */
    struct map_row *row;           /* the result, in order */
    size_t rows, row_space;
    int64_t source_id;
    struct rules *engine; /* that found the matches; NULL unless the dialect divides */
    struct map_operated operated[MAP_OPERATED]; /* the latest */
    bool has_target;                            /* restore: there is a model */
    bool strict;                                /* restore: the model must have all names */
    bool judged;                                /* map_find_winners() was called */
    bool failed;                                /* out of memory */
};

/* The view that shows what a map makes. A dialect has one of the first three. */
enum map_view {
    MAP_TRANSLATION, /* old names to new; a SELECT settles (schema/map/translation.sql) */
    MAP_ASSIGNMENT,  /* onto a model: there is always a target */
    MAP_CONVERSION,  /* rows settled for a checkpoint alone: take this one if in doubt */
    MAP_RESTORE,     /* a translation, then dialect->restore() */
};

/* How a pattern is tried on a name. */
enum map_trial {
    MAP_MATCH,     /* re.match(pattern + '$', name) */
    MAP_FULLMATCH, /* re.fullmatch(pattern, name) */
    MAP_PATH,      /* not at all: patterns are not regular expressions */
};

struct dialect {
    const char *name; /* in ruleset.dialect */
    enum map_view view;
    bool from_model; /* rules go from a target's names to a source's */
    enum map_trial trial;
    bool each;       /* all matching rules count, not only the first */
    bool containers; /* empty containers are leaves, too */
    bool divides;    /* one name may become several; rows name the source's tensors */
    bool fills;      /* a model keeps its own value for what the source lacks */
    /* Every rule must decide a name, unless the option require_all is false */
    bool required;
    const char *options; /* that its sets may have, each followed by a space */
    void (*settle)(struct map_task *);
    void (*restore)(struct map_task *); /* for MAP_RESTORE; NULL: not possible */
    /* For counts: the status of every leaf that no rule matches, provided each has exactly one
     * row, whose status does not depend on other leaves. NULL: such leaves must be settled as
     * well. `all`: no rule matches any leaf, and all have different names. The function is NULL
     * if all leaves must always be settled. */
    const char *(*unmatched)(struct map_task *, bool all);
};

#define DIALECT(x) extern const struct dialect dialect_##x;
#include "catalog/maps/map/dialects.def"
#undef DIALECT

/* NULL if absent. */
const struct dialect *dialect_find(const char *name);
/* The names of all, in the order of dialects.def; NULL at the end. */
const char *dialect_name(size_t i);

/* T5X's restore_from_t5_checkpoint after its translation, whose rows the task has (t5_restore.c). */
void t5_restore(struct map_task *);

/* The rule of a match. */
const struct map_rule *map_rule_of(const struct map_task *, int64_t ord);

/* Set `wins` of all rows. False: out of memory. */
bool map_find_winners(struct map_task *);

/* --- for settlers ------------------------------------------------------------------------ */

/* An option of the rule set as a truth value of SQL; `otherwise` if it is missing or null. */
bool map_flag(struct map_task *, const char *key, bool otherwise);
/* Whether an option is this text. */
bool map_says(struct map_task *, const char *key, const char *word);
/* Whether the option `mode` is "strict". */
bool map_strict(struct map_task *);

/* The texts of a list option, in the arena. Returns how many. */
size_t map_list(struct map_task *, const char *key, struct map_text **out);

/* Append a row, empty except for NO_RULE. Valid until the next one is added. Never NULL. */
struct map_row *map_add(struct map_task *, const char *status);
/* Make room for about as many rows as there will be. */
void map_reserve(struct map_task *, size_t rows);
/* Make it the leaf's value: old, dtype, shape. */
void map_take(struct map_row *, const struct map_leaf *);

bool map_is(const struct map_row *, const char *status);
/* The status of a leaf that a rule matched. */
const char *map_status(enum rule_outcome);

/* Copy the text to the arena, and release it. */
struct map_text map_keep(struct map_task *, struct text *);
/* printf() into the arena. */
struct map_text map_say(struct map_task *, const char *fmt, ...) PRINTF_LIKE(2, 3);
/* Compares bytes, as memcmp() does. */
int map_compare(struct map_text, struct map_text);
/* Append a name as Python prints a str. */
void map_repr(struct text *, struct map_text name);
/* Append a shape, "[2,3]", as Python prints a tuple. */
void map_tuple(struct text *, const char *shape);

/* Leaves by name: the index of the last one in the tree, plus 1. */
bool map_index(struct map_task *, struct strmap *, const struct map_tree *);
/* NULL if absent. */
const struct map_leaf *map_leaf_called(const struct map_tree *, const struct strmap *,
                                       struct map_text name);

/* The dtype that a rule makes of a leaf's. */
const char *map_dtype(const struct map_match *, const struct map_leaf *);

/* Apply the operations to the row's shape; if that is not possible, the row becomes an error.
 * `dtype` is the stored tensor's. */
void map_operate(struct map_task *, struct map_row *, const char *dtype);
