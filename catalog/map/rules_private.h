/*
 * rules_private.h - the inside of rules.h: rules.c adds rules and asks them, rule_template.c makes texts
 * of templates, rule_step.c runs the steps that compute further groups, and operations.
 */
#ifndef CKPTDB_MAP_RULES_PRIVATE_H
#define CKPTDB_MAP_RULES_PRIVATE_H

#include <string.h>

#include "catalog/base/arena.h"
#include "catalog/map/rules.h"
#include "catalog/regex/regex.h"

#define STEP_ARGS 3 /* most arguments of a step */

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

/* What a step is called and how many arguments it takes; the first is a table, or not. */
struct step_form {
    const char *name;
    enum step_kind kind;
    bool table;
    unsigned least, most;
};

/* A run of bytes: of the name, of a table, of a buffer. */
struct run {
    const char *at;
    size_t len;
};

/*
 * A template cut at its references to steps, which the regex knows nothing of. The two
 * kinds that make up nearly all templates, plain text and "\\N", do without it.
 */
struct piece {
    enum {
        PIECE_TEXT,
        PIECE_GROUP,
        PIECE_STEP,
        PIECE_TEMPLATE
    } kind;
    struct run text;
    unsigned number; /* of the group, of the step */
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

struct step {
    const char *group;
    const struct step_form *form;
    const char *table;
    struct expansion arg[STEP_ARGS];
    unsigned args;
    const char *fault;
    const struct value *entry; /* the table's, once looked for */
    size_t entries;
    bool found;
    struct run value;
    struct text own;     /* where value is, if it had to be made */
    struct regex *regex; /* of a sub */
    struct template *template;
};

/* Of the text of a rule's operations: unchanged, or the number that a template gives. */
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
    const char *fault; /* met when it matches */
    struct step *step;
    size_t steps, step_space;
    struct op_piece *op;
    size_t ops, op_space;
    struct regex *regex;
    const char *pattern_fault; /* met when it is tried */
};

struct value {
    const char *table, *key, *text; /* text NULL: an empty list */
    size_t key_len, text_len;
    size_t order;
    bool listed;
};

/* What a checkpoint, or a person, says of itself (setting.h). */
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
    struct text name; /* whose answer `result` is */
    struct text part; /* and of which part of its tensor; empty: of all */
    bool known;       /* to be UTF-8 */
    uint64_t letters; /* regex_letters() of it */
    bool answered;
    bool lacked;  /* memory, when the rules were asked last */
    bool dropped; /* by a step of the rule that ran last */
    bool one;     /* by the rule `asked` alone */
    int64_t asked;
    struct rule_result result;
};

/* Copies in the arena of the rules. */
const char *rules_keep(struct rules *, const char *string);
struct expansion rules_expansion(struct rules *, const char *source);
/* "Type: text" that lives as long as the rules. */
const char *rules_fault_of(struct rules *, const char *type, const char *text,
                           const char *detail);
/* The same of an error, under the class of the exception that Python raises. */
const char *rules_fault_from(struct rules *, const struct error *err);
/* The fault that is none of the rules': it is told by its address, and forgotten once told. */
extern const char rules_no_memory[];
/* Tell an error of a match. False. */
bool rules_fail_match(struct rules *, const struct error *err);
/* Tell the fault, which is then in s->out. False. */
bool rules_fail(struct rules *, const char *fault);

/* --- rule_template.c ----------------------------------------------------------------------- */

void rules_expansion_release(struct expansion *);
/* Cut the template up and compile it; groups of the first `steps` steps are there. */
void rules_prepare(struct rules *, const struct rule *, size_t steps, struct expansion *);
/* What the template makes of the match and the first `steps` steps; made in `buffer`, which
 * is emptied, where it is not just a run of something. False: the error is reported. */
bool rules_expand(struct rules *, struct rule *, size_t steps, struct expansion *,
                  struct text *buffer, struct run *out);

/* text_add() for the many short runs that a name is put together from. */
static inline void rules_append(struct text *t, struct run run)
{
    if (t->space - t->len <= run.len) {
        text_add(t, run.at, run.len);
        return;
    }
    memcpy(t->at + t->len, run.at, run.len);
    t->len += run.len;
    t->at[t->len] = '\0';
}

/* --- rule_step.c --------------------------------------------------------------------------- */

/* All of these: false, and the error is reported. */
bool rules_run_step(struct rules *, struct rule *, size_t at);
bool rules_run_ops(struct rules *, struct rule *);
bool rules_compile_sub(struct rules *, struct step *);

#endif
