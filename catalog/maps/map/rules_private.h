/*
 * rules_private.h - shared by the files of rules.h: rules.c adds and applies rules, rule_index.c finds
 * those that could match a name, rule_template.c expands templates, rule_step.c runs the steps that
 * compute further groups, and the operations.
 */
#pragma once

#include <string.h>

#include "catalog/base/arena.h"
#include "catalog/maps/map/rules.h"
#include "catalog/maps/regex/regex.h"

#define STEP_ARGS   3 /* most arguments of a step */
#define STEP_RECENT 8

enum step_kind {
    STEP_TABLE,
    STEP_INT,
    STEP_INDEX,
    STEP_IF,
    STEP_NAME,
    STEP_SUB,
    STEP_PART,
    STEP_SETTING,
    STEP_DROP,
};

/* The name of a kind of step, and how many arguments it takes besides the name of a table. */
struct step_form {
    const char *name;
    enum step_kind kind;
    bool table; /* the first argument names a table */
    unsigned least, most;
};

/* A run of bytes, borrowed from the name, a table or a buffer. */
struct run {
    const char *at;
    size_t len;
};

/*
 * A template is split at its references to steps, which the regex library does not know. The two
 * most common kinds of pieces, plain text and "\\N", need no compiled template.
 */
struct piece {
    enum { PIECE_TEXT, PIECE_GROUP, PIECE_STEP, PIECE_TEMPLATE } kind;
    struct run text;
    unsigned number; /* of the group or the step */
    struct template *template;
};

struct expansion {
    const char *source;
    size_t len;
    struct piece *piece;
    size_t count, space;
    bool ready;
    const char *fault; /* why it cannot be expanded */
};

/* Where a key of a table is: `count` values from there on. */
struct found {
    const struct value *at;
    size_t count;
};

struct step {
    const char *group;
    const struct step_form *form;
    const char *table;
    struct expansion arg[STEP_ARGS];
    unsigned args;
    const char *fault;
    const struct value *entry; /* of the table; set by find_table() */
    size_t entries;
    struct found recent[STEP_RECENT]; /* of some keys, by find_values() */
    bool found;
    struct run value;
    struct text own;     /* holds `value` if it is not a run of something else */
    struct regex *regex; /* of a sub */
    struct template *template;
};

/* A piece of the text of a rule's operations: literal, or a template whose result is a number. */
struct op_piece {
    struct expansion text;
    bool number;
};

struct rule {
    int64_t ord;
    const char *pattern;
    bool drops;
    struct expansion replacement;
    const char *cast;
    const char *fault; /* the error of every name that it matches; NULL: none */
    struct step *step;
    size_t steps, step_space;
    struct op_piece *op;
    size_t ops, op_space;
    struct regex *regex;
    const char *pattern_fault; /* the error of every name; NULL: none */
};

struct value {
    const char *table, *key, *text; /* text NULL: an empty list */
    size_t key_len, text_len;
    size_t order;
    bool listed;
};

/* The value of a setting (setting.h), or why it has none. */
struct known {
    const char *key, *value, *fault;
};

struct rules {
    struct arena arena;
    enum rules_shape shape;
    struct known *setting;
    size_t settings, setting_space;
    struct rule *rule;
    size_t count, space;
    struct value *value;
    size_t values, value_space;
    bool sorted;
    struct text key, number, out, ops;
    struct text name;         /* the name that `result` is about */
    struct text part;         /* and the part of its tensor; empty: the whole */
    bool known;               /* `name` is UTF-8 */
    bool marked;              /* and the index has marked the rules that it could match */
    size_t shared;            /* bytes that it shares with the name marked last; or fewer */
    struct rule_index *index; /* NULL: not made yet */
    bool answered;            /* `result` is valid */
    bool lacked;              /* the last call ran out of memory */
    bool dropped;             /* by a step of the rule that ran last */
    bool one;                 /* `result` is the answer of the rule `asked` alone */
    int64_t asked;
    size_t after; /* the position after that rule: often the next that is asked */
    struct rule_result result;
};

/* --- rule_fault.c --------------------------------------------------------------------------- */

/* Copies in the arena of the rules. */
const char *rules_keep(struct rules *, const char *string);
struct expansion rules_expansion(struct rules *, const char *source);
/* "Type: text" that lives as long as the rules. */
const char *rules_fault_of(struct rules *, const char *type, const char *text, const char *detail);
/* The same for an error, with the class of the exception that Python raises. */
const char *rules_fault_from(struct rules *, const struct error *err);
/* Out of memory: no fault of the rules, recognised by its address, and not remembered. */
extern const char rules_no_memory[];
/* Report an error of matching. Returns false. */
bool rules_fail_match(struct rules *, const struct error *err);
/* Report a fault: it is then in s->out. Returns false. */
bool rules_fail(struct rules *, const char *fault);

/* --- rule_index.c --------------------------------------------------------------------------- */

/*
 * Finds the rules that could match a name, at a cost that does not grow with their number:
 * by one literal of each rule's pattern, with all literals looked for at once (Aho and Corasick). A
 * rule whose pattern has none, or is wrong, could match any name.
 */
struct rule_index;
/* NULL: no memory. */
struct rule_index *rule_index_new(const struct rules *);
void rule_index_free(struct rule_index *);
/* Mark the rules that a name, which is UTF-8, could match. It begins with `same` bytes of the name marked
 * last. */
void rule_index_mark(struct rule_index *, const char *name, size_t len, size_t same);
/* The first marked rule from `at` on; SIZE_MAX: none. */
size_t rule_index_next(const struct rule_index *, size_t at);
/* How a rule's pattern is compiled: appended to `pattern`. */
enum regex_how rules_pattern(const struct rules *, const struct rule *, struct text *pattern);

/* --- rule_template.c ----------------------------------------------------------------------- */

void rules_expansion_release(struct expansion *);
/* Split the template and compile its pieces; it may refer to the first `steps` steps. */
void rules_prepare(struct rules *, const struct rule *, size_t steps, struct expansion *);
/* Expand the template with the match's groups and the first `steps` steps. *out may point to
 * existing text; otherwise it is built in `buffer`, which is emptied first. False: the error is
 * reported. */
bool rules_expand_any(struct rules *, struct rule *, size_t steps, struct expansion *,
                      struct text *buffer, struct run *out);

/* The text of a piece that is not a template. */
static inline struct run rules_piece_run(const struct rules *s, const struct rule *r,
                                         const struct piece *p)
{
    size_t begin = 0, end = 0;
    if (p->kind == PIECE_TEXT)
        return p->text;
    if (p->kind == PIECE_STEP)
        return r->step[p->number].value;
    regex_span(r->regex, p->number, &begin, &end);
    return (struct run){s->name.at + begin, end - begin};
}

/* rules_expand_any(), without a call for the many templates of one piece. */
static inline bool rules_expand(struct rules *s, struct rule *r, size_t steps, struct expansion *e,
                                struct text *buffer, struct run *out)
{
    if (!e->ready || e->fault || e->count != 1 || e->piece[0].kind == PIECE_TEMPLATE)
        return rules_expand_any(s, r, steps, e, buffer, out);
    *out = rules_piece_run(s, r, &e->piece[0]);
    return true;
}

/* memcpy() without a call for up to 16 bytes, which most runs have: two halves that may overlap. */
static inline void rules_copy(char *to, const char *from, size_t len)
{
    if (len > 16) {
        memcpy(to, from, len);
    } else if (len >= 8) {
        memcpy(to, from, 8);
        memcpy(to + len - 8, from + len - 8, 8);
    } else if (len >= 4) {
        memcpy(to, from, 4);
        memcpy(to + len - 4, from + len - 4, 4);
    } else {
        for (size_t i = 0; i < len; i++)
            to[i] = from[i];
    }
}

/* text_add(), inlined for the many short runs that make up a name. */
static inline void rules_append(struct text *t, struct run run)
{
    if (t->space - t->len <= run.len) {
        text_add(t, run.at, run.len);
        return;
    }
    rules_copy(t->at + t->len, run.at, run.len);
    t->len += run.len;
    t->at[t->len] = '\0';
}

/* --- rule_step.c --------------------------------------------------------------------------- */

/* All return false after reporting an error. */
bool rules_run_step(struct rules *, struct rule *, size_t at);
bool rules_run_ops(struct rules *, struct rule *);
bool rules_compile_sub(struct rules *, struct step *);
