/*
 * dialect_orbax.c - Orbax's apply_transformations: what the leaves of a target get from a source.
 *
 * For each leaf of the target, every transform that matches is applied, in the order of the sorted
 * patterns: the last one wins, but an error of an earlier one is still raised. A rule without
 * replacement is use_fallback: with default_to_original it leaves the leaf unchanged, otherwise it
 * takes the source's value of the same name. A leaf that no transform matches takes the source's
 * value of the same name, if there is one and default_to_original is on. As in JAX's trees, null
 * leaves do not count.
 */
#include <stdlib.h>
#include <string.h>

#include "catalog/maps/map/dialect.h"

struct transforms {
    struct map_task *task;
    bool default_to_original, nested, ordered, strict;
    size_t *turn; /* of each rule: its position in the order of application */
    bool *used;   /* of each rule: whether it matches a leaf */
    struct strmap old;
};

/* What a transform does to a leaf. */
struct tried {
    enum {
        MAPPED,
        ORIGINAL, /* takes the source's own value */
        FALLBACK, /* leaves it unchanged */
        FAILED,
    } what;
    const struct map_match *by;
    const struct map_leaf *old;
    struct map_text old_name, error;
    size_t turn;
};

/* --- the order of transforms ------------------------------------------------------------- */

struct ordered {
    const struct map_rule *rule;
    bool nested;
};

/* The sort key of a byte of a pattern. The keys of a tree are sorted level by level, so '/'
 * sorts before any byte of a component: a/z before a-b. */
static int rank_of(char c, bool nested)
{
    return nested && c == '/' ? 1 : (unsigned char)c;
}

static int orbax_by_turn(const void *a, const void *b)
{
    const struct ordered *x = a, *y = b;
    const char *p = x->rule->pattern, *q = y->rule->pattern;
    for (; *p && *p == *q; p++)
        q++;
    int order = rank_of(*p, x->nested) - rank_of(*q, x->nested);
    return order ? order : (x->rule > y->rule) - (x->rule < y->rule);
}

static bool find_turns(struct transforms *t)
{
    struct map_task *task = t->task;
    struct ordered *rule = arena_array(&task->arena, task->rules + 1, sizeof(*rule));
    t->turn = arena_array(&task->arena, task->rules + 1, sizeof(*t->turn));
    t->used = arena_array(&task->arena, task->rules + 1, sizeof(*t->used));
    if (!rule || !t->turn || !t->used)
        return false;
    for (size_t i = 0; i < task->rules; i++)
        rule[i] = (struct ordered){&task->rule[i], t->nested};
    if (!t->ordered) /* otherwise rules apply in the order of `ord`, which they have already */
        qsort(rule, task->rules, sizeof(*rule), orbax_by_turn);
    for (size_t i = 0; i < task->rules; i++)
        t->turn[rule[i].rule - task->rule] = i;
    return true;
}

/* --- leaves ------------------------------------------------------------------------------ */

static const struct map_leaf *original(const struct transforms *t, struct map_text name)
{
    const struct map_leaf *leaf = map_leaf_called(&t->task->source, &t->old, name);
    return leaf && leaf->kind == MAP_TENSOR ? leaf : NULL;
}

static struct tried try_transform(struct transforms *t, const struct map_leaf *leaf,
                                  const struct map_match *by)
{
    size_t rule = (size_t)(map_rule_of(t->task, by->ord) - t->task->rule);
    struct tried tried = {.by = by,
                          .turn = t->turn[rule],
                          .old_name = by->outcome == RULE_OK ? by->text : leaf->name,
                          .error = by->outcome == RULE_ERROR ? by->text : (struct map_text){0}};
    t->used[rule] = true;
    tried.what = by->outcome == RULE_ERROR ? FAILED
                 : by->outcome == RULE_OK  ? MAPPED
                 : t->default_to_original  ? FALLBACK
                                           : ORIGINAL;
    if (tried.what == FALLBACK)
        return tried;
    tried.old = original(t, tried.old_name);
    if (tried.what == FAILED || tried.old)
        return tried;
    struct text error = {0};
    text_adds(&error, tried.what == MAPPED ? "ValueError: Transformation key \"" : "ValueError: ");
    text_add(&error, tried.old_name.at, tried.old_name.len);
    text_adds(&error, tried.what == MAPPED
                          ? "\" not found in origin tree."
                          : " not found in origin tree (`use_fallback` requested).");
    tried.error = map_keep(t->task, &error);
    tried.what = FAILED;
    return tried;
}

/* Whether `b` overrides `a`: the earliest error wins; without errors, the latest transform that
 * does something; then the latest fallback. */
static bool overrules(const struct tried *b, const struct tried *a)
{
    if ((a->what == FAILED) != (b->what == FAILED))
        return b->what == FAILED;
    if (a->what == FAILED)
        return b->turn < a->turn;
    if ((a->what == FALLBACK) != (b->what == FALLBACK))
        return a->what == FALLBACK;
    return b->turn > a->turn;
}

/* A leaf that transforms match. */
static void transform_leaf(struct transforms *t, const struct map_leaf *leaf)
{
    static const char *const status[] = {
        [MAPPED] = "mapped", [ORIGINAL] = "kept", [FALLBACK] = "missing", [FAILED] = "error"};
    struct tried decided = try_transform(t, leaf, &t->task->match[leaf->match]);
    for (uint32_t i = 1; i < leaf->matches; i++) {
        struct tried tried = try_transform(t, leaf, &t->task->match[leaf->match + i]);
        if (overrules(&tried, &decided))
            decided = tried;
    }
    struct map_row *row = map_add(t->task, status[decided.what]);
    row->new_name = leaf->name;
    row->by = decided.by;
    row->error = decided.error;
    if (decided.what != FALLBACK)
        row->old_name = decided.old_name;
    if (decided.old) {
        map_take(row, decided.old);
        row->dtype = map_dtype(decided.by, decided.old);
    }
    bool earlier = false;
    for (uint32_t i = 0; i < leaf->matches; i++) {
        const struct map_match *by = &t->task->match[leaf->match + i];
        size_t rule = (size_t)(map_rule_of(t->task, by->ord) - t->task->rule);
        earlier = earlier || t->turn[rule] < decided.turn;
    }
    if (earlier && decided.what != FAILED)
        row->note = "another rule that matches it too is overruled";
    if (decided.old && decided.what == MAPPED && !(t->strict && row->note)) {
        row->ops = decided.by->ops;
        map_operate(t->task, row, decided.old->dtype);
    }
}

/* A leaf that no transform matches. */
static void orbax_keep_leaf(struct transforms *t, const struct map_leaf *leaf)
{
    const struct map_leaf *own = t->default_to_original ? original(t, leaf->name) : NULL;
    struct map_row *row = map_add(t->task, own ? "kept" : "missing");
    row->new_name = leaf->name;
    if (!own)
        return;
    row->old_name = own->name;
    map_take(row, own);
}

/* In strict mode, rows with a note are errors, and so are rules that match nothing. */
static void orbax_refuse(struct transforms *t)
{
    struct map_task *task = t->task;
    for (size_t i = 0; i < task->rows; i++)
        if (task->row[i].note) {
            task->row[i].status = "error";
            task->row[i].error = map_say(task, "ValueError: %s", task->row[i].note);
        }
    for (size_t i = 0; i < task->rules; i++) {
        const char *pattern = task->rule[i].pattern;
        struct text error = {0};
        if (t->used[i])
            continue;
        text_adds(&error, "ValueError: no leaf matches ");
        map_repr(&error, (struct map_text){pattern, strlen(pattern)});
        map_add(task, "error")->error = map_keep(task, &error);
    }
}

static void orbax_settle(struct map_task *task)
{
    struct transforms t = {
        .task = task,
        .default_to_original = map_flag(task, "default_to_original", true),
        .nested = map_flag(task, "nested", false),
        .ordered = map_flag(task, "ordered", false),
        .strict = map_strict(task),
    };
    if (!find_turns(&t) || !map_index(task, &t.old, &task->source))
        task->failed = true;
    for (size_t i = 0; i < task->target.count && !task->failed; i++) {
        const struct map_leaf *leaf = &task->target.leaf[i];
        if (leaf->kind == MAP_TENSOR && leaf->matches)
            transform_leaf(&t, leaf);
        else if (leaf->kind == MAP_TENSOR)
            orbax_keep_leaf(&t, leaf);
    }
    if (t.strict && !task->failed)
        orbax_refuse(&t);
    strmap_release(&t.old);
}

const struct dialect dialect_orbax = {
    .name = "orbax",
    .view = MAP_ASSIGNMENT,
    .from_model = true,
    .trial = MAP_FULLMATCH,
    .each = true,
    .fills = true,
    .options = "mode tables default_to_original nested ordered ",
    .settle = orbax_settle,
};
