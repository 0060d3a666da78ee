/*
 * dialect_t5x_assignment.c - T5X's apply_assignment_map: what the leaves of a target get from a source.
 *
 * The original makes three passes over a dict R:
 *   1  For each name of the target, in order, the first rule that matches decides. A rule without
 *      replacement skips the name; any other expands to an old name, removes that from U, a copy
 *      of the source, and puts its value into R under the target's name.
 *   2  What is left in U goes into R under its own name, unless that name is skipped, and
 *      replaces what pass 1 put there.
 *   3  Names of the target that R lacks are taken from the source if it has them.
 * Then it refuses rules that decided nothing, and turns R into a tree, in which a later leaf
 * `a` replaces an earlier `a/b`, and a later `a/b` cannot be put below an earlier leaf `a`.
 * Errors are looked for in this order, and only the first kind found is reported.
 */
#include <stdlib.h>
#include <string.h>

#include "catalog/maps/map/dialect.h"

#define LIST_ALWAYS                                                                                \
    1000 /* with at most this many names in the source, errors list them all; else only the first */

struct assignment {
    struct map_task *task;
    bool strict;
    struct strmap old; /* the source's leaves by name */
    bool doubled;      /* some leaves of the source have the same name */
    /* Of each target leaf: the source leaf that a rule takes; NULL: none */
    const struct map_leaf **from;
    bool *shown;           /* of each source leaf: the target has its name */
    bool *taken;           /* of each source leaf: a rule takes it for some name */
    bool *used;            /* of each rule: it decides some name */
    bool errors;           /* pass 1 met errors */
    bool listed;           /* some error lists all names already */
    struct map_text names; /* that list */
};

/* A key's `turn` says when it entered R: in which pass, and there by its place in the target
 * (pass 1) or the source (pass 2). A value that replaces another keeps its turn. */
enum pass { PASS_RULES = 1, PASS_REST, PASS_AGAIN };

static int64_t turn(enum pass pass, int64_t place)
{
    return ((int64_t)pass << 60) + place;
}

/* --- the passes -------------------------------------------------------------------------- */

static int by_name(const void *a, const void *b)
{
    const struct map_text *x = a, *y = b;
    return map_compare(*x, *y);
}

/* Python's list of the source's names, sorted. */
static struct map_text names_of_source(struct assignment *a)
{
    const struct map_tree *source = &a->task->source;
    struct map_text *name = arena_array(&a->task->arena, source->count, sizeof(*name));
    struct text out = {0};
    if (a->names.at || (!name && source->count))
        return a->names;
    for (size_t i = 0; i < source->count; i++)
        name[i] = source->leaf[i].name;
    if (source->count)
        qsort(name, source->count, sizeof(*name), by_name);
    for (size_t i = 0; i < source->count; i++) {
        text_adds(&out, i ? ", " : "");
        map_repr(&out, name[i]);
    }
    return a->names = map_keep(a->task, &out);
}

static struct map_text no_such_parameter(struct assignment *a, struct map_text name)
{
    struct text out = {0};
    text_adds(&out, "ValueError: Parameter '");
    text_add(&out, name.at, name.len);
    text_adds(&out, "' does not exist in restore checkpoint.");
    if (a->task->source.count <= LIST_ALWAYS || !a->listed) {
        struct map_text names = names_of_source(a);
        text_adds(&out, " Must be one of: [");
        text_add(&out, names.at, names.len);
        text_addc(&out, ']');
    }
    a->listed = true;
    return map_keep(a->task, &out);
}

static struct map_row *t5x_assignment_keep_leaf(struct assignment *a, const struct map_leaf *leaf)
{
    struct map_row *row = map_add(a->task, "kept");
    row->new_name = row->old_name = leaf->name;
    row->turn = turn(PASS_REST, leaf->place);
    map_take(row, leaf);
    return row;
}

/* The source's leaf of this name. Names are mostly asked for in the source's own order, so leaf
 * *next, the one after the last found, is tried before the hash table. */
static const struct map_leaf *leaf_called(const struct assignment *a, struct map_text name,
                                          size_t *next)
{
    const struct map_tree *source = &a->task->source;
    if (*next < source->count && !a->doubled) {
        const struct map_leaf *leaf = &source->leaf[*next];
        if (leaf->name.len == name.len && memcmp(leaf->name.at, name.at, name.len) == 0)
            return &source->leaf[(*next)++];
    }
    const struct map_leaf *leaf = map_leaf_called(source, &a->old, name);
    if (leaf)
        *next = (size_t)(leaf - source->leaf) + 1;
    return leaf;
}

/* A leaf of the target that no rule matches takes the source's value of the same name, if any. */
static void keep_own(struct assignment *a, const struct map_leaf *leaf, const struct map_leaf *own)
{
    if (!own) {
        map_add(a->task, "missing")->new_name = leaf->name;
        return;
    }
    struct map_row *row = t5x_assignment_keep_leaf(a, own);
    if (!a->taken[own - a->task->source.leaf])
        return;
    row->turn = turn(PASS_AGAIN, leaf->place);
    row->note = "a rule takes it for another name too";
}

/* A rule takes the source's leaf `old` for the target's `leaf`. If pass 2 replaces its value by
 * `own`, there are two rows. */
static void take_old(struct assignment *a, const struct map_leaf *leaf, const struct map_match *by,
                     const struct map_leaf *old, const struct map_leaf *own)
{
    bool undone = own && !a->taken[own - a->task->source.leaf];
    struct map_row *row = map_add(a->task, !undone ? "mapped" : a->strict ? "error" : "dropped");
    row->new_name = leaf->name;
    row->old_name = by->text;
    row->by = by;
    row->turn = turn(PASS_RULES, leaf->place);
    map_take(row, old);
    row->dtype = map_dtype(by, old);
    if (!undone) {
        row->ops = old->kind == MAP_TENSOR ? by->ops : NULL;
        map_operate(a->task, row, old->dtype);
        return;
    }
    row->note = "undone: no rule takes the source's own value of this name, which replaces it";
    if (a->strict)
        row->error =
            map_say(a->task, "ValueError: the source's own value of this name replaces it");
    t5x_assignment_keep_leaf(a, own)->turn = turn(PASS_RULES, leaf->place);
}

/* The row (or rows) of one leaf of the target. `next`: as in leaf_called(). */
static void assign_leaf(struct assignment *a, const struct map_leaf *leaf, size_t *next)
{
    const struct map_tree *source = &a->task->source;
    const struct map_match *by = leaf->matches ? &a->task->match[leaf->match] : NULL;
    const struct map_leaf *own = leaf_called(a, leaf->name, next);
    const struct map_leaf *old = a->from[leaf - a->task->target.leaf];
    if (own)
        a->shown[own - source->leaf] = true;
    if (!by) {
        keep_own(a, leaf, own);
        return;
    }
    a->used[map_rule_of(a->task, by->ord) - a->task->rule] = true;
    if (old) {
        take_old(a, leaf, by, old, own);
        return;
    }
    struct map_row *row = map_add(a->task, by->outcome == RULE_DROPPED ? "dropped" : "error");
    row->new_name = leaf->name;
    row->by = by;
    row->dtype = by->cast;
    if (by->outcome == RULE_DROPPED) {
        row->note = own ? "the source's own value of this name is left out too" : NULL;
        return;
    }
    a->errors = true;
    row->error = by->outcome == RULE_OK ? no_such_parameter(a, by->text) : by->text;
    row->old_name = by->outcome == RULE_OK ? by->text : (struct map_text){0};
}

/* Find the leaf of the source that a rule takes for each name of the target. */
static void find_taken(struct assignment *a)
{
    struct map_task *t = a->task;
    size_t next = 0;
    for (size_t i = 0; i < t->target.count; i++) {
        const struct map_leaf *leaf = &t->target.leaf[i];
        const struct map_match *by = leaf->matches ? &t->match[leaf->match] : NULL;
        if (by && by->outcome == RULE_OK)
            a->from[i] = leaf_called(a, by->text, &next);
        if (a->from[i])
            a->taken[a->from[i] - t->source.leaf] = true;
    }
}

/* --- rules that decide nothing ----------------------------------------------------------- */

static int by_pattern(const void *a, const void *b)
{
    const struct map_rule *const *x = a, *const *y = b;
    return strcmp((*x)->pattern, (*y)->pattern);
}

/* Set rule[] to the distinct patterns, sorted, and used[] to whether each decides a name.
 * Returns how many there are. */
static size_t patterns(struct assignment *a, const struct map_rule **rule, bool *used)
{
    const struct map_task *t = a->task;
    size_t count = 0;
    for (size_t i = 0; i < t->rules; i++)
        rule[i] = &t->rule[i];
    if (t->rules)
        qsort(rule, t->rules, sizeof(*rule), by_pattern);
    for (size_t i = 0; i < t->rules; i++) {
        bool same = count && strcmp(rule[count - 1]->pattern, rule[i]->pattern) == 0;
        rule[count - same] = same ? rule[count - 1] : rule[i];
        used[count - same] = (same && used[count - 1]) || a->used[rule[i] - t->rule];
        count += !same;
    }
    return count;
}

/* Whether every rule decides a name; false: an error was added. The original compares the
 * number of rules with the number of distinct patterns that decided, so a pattern that occurs
 * twice is an error as well. */
static bool require_all(struct assignment *a)
{
    struct map_task *t = a->task;
    const struct map_rule **rule = arena_array(&t->arena, t->rules + 1, sizeof(*rule));
    bool *used = arena_array(&t->arena, t->rules + 1, sizeof(*used));
    struct text out = {0};
    size_t decide = 0;
    t->failed = t->failed || !rule || !used;
    if (t->failed)
        return false;
    size_t count = patterns(a, rule, used);
    for (size_t i = 0; i < count; i++)
        decide += used[i];
    if (decide == t->rules)
        return true;
    const char *separator = "ValueError: Unused patterns in `assignment_map`: {";
    text_adds(&out, separator);
    separator = "";
    for (size_t i = 0; i < count; i++)
        if (!used[i]) {
            text_addf(&out, "%s'%s'", separator, rule[i]->pattern);
            separator = ", ";
        }
    text_addc(&out, '}');
    map_add(t, "error")->error = map_keep(t, &out);
    return false;
}

/* --- the tree ---------------------------------------------------------------------------- */

static bool is_key(const struct map_row *row)
{
    return map_is(row, "mapped") || map_is(row, "kept");
}

/* The leaf that collides with the row: a key that is a proper prefix of the row's name, as `a` is
 * of `a/b`. If there are several, the topmost that entered before the row, or else the topmost. The
 * first `known` bytes are shared with a name that has no such prefix, so they are skipped. */
static struct map_row *find_above(struct assignment *a, const struct strmap *keys,
                                  const struct map_row *row, size_t known)
{
    struct map_row *later = NULL;
    for (size_t i = known; i < row->new_name.len; i++) {
        const uint64_t *found =
            row->new_name.at[i] == '/' ? strmap_get(keys, row->new_name.at, i) : NULL;
        struct map_row *above = found ? &a->task->row[*found - 1] : NULL;
        if (above && above->turn < row->turn)
            return above;
        later = later ? later : above;
    }
    return later;
}

/* The name of the Python class of a leaf's value. */
static const char *class_of(const struct map_leaf *leaf)
{
    bool scalar = !leaf->shape || strcmp(leaf->shape, "[]") == 0;
    return leaf->kind != MAP_TENSOR ? "NoneType" : scalar ? "int" : "LazyArray";
}

static void collide(struct assignment *a, struct map_row *row, const struct map_row *above)
{
    const char *rest = row->new_name.at + above->new_name.len + 1;
    size_t left = row->new_name.len - above->new_name.len - 1;
    struct text note = {0};
    if (above->turn < row->turn) {
        const char *class = class_of(above->old);
        row->status = "error";
        row->error =
            memchr(rest, '/', left)
                ? map_say(a->task, "TypeError: argument of type '%s' is not iterable", class)
                : map_say(a->task, "TypeError: '%s' object does not support item assignment",
                          class);
        return;
    }
    text_adds(&note, "hidden by the later leaf ");
    map_repr(&note, above->new_name);
    row->note = map_keep(a->task, &note).at;
    row->status = a->strict ? "error" : "dropped";
    if (a->strict)
        row->error = map_say(a->task, "ValueError: %s", row->note);
}

static size_t common(struct map_text x, struct map_text y)
{
    size_t i = 0;
    while (i < x.len && i < y.len && x.at[i] == y.at[i])
        i++;
    return i;
}

/* The offset of the next '/' of a name, from `at` on; its length if absent. */
static size_t next_folder(struct map_text name, size_t at)
{
    const char *slash = at < name.len ? memchr(name.at + at, '/', name.len - at) : NULL;
    return slash ? (size_t)(slash - name.at) : name.len;
}

/* A Bloom filter with two bits per key: it may say yes to a key that was not added, never no to one
 * that was. */
struct sieve {
    uint64_t *word;
    uint64_t mask, seed;
};

static bool sieve(const struct sieve *s, const char *at, size_t len, bool add)
{
    uint64_t hash = hash_bytes(at, len, s->seed), one = hash & s->mask,
             other = hash >> 32 & s->mask;
    bool has = s->word[one / 64] >> one % 64 & s->word[other / 64] >> other % 64 & 1;
    if (add) {
        s->word[one / 64] |= (uint64_t)1 << one % 64;
        s->word[other / 64] |= (uint64_t)1 << other % 64;
    }
    return has;
}

/* Walk over all folders ("a", "a/b") of the keys of R ("a/b/c"): add them to the filter, or if
 * that is NULL, return whether one is among `keys`. */
static bool sift_folders(const struct map_task *t, const struct sieve *into,
                         const struct strmap *keys)
{
    struct map_text last = {"", 0};
    for (size_t i = 0; i < t->rows; i++) {
        struct map_text name = t->row[i].new_name;
        if (!is_key(&t->row[i]))
            continue;
        for (size_t at = next_folder(name, common(last, name)); at < name.len;
             at = next_folder(name, at + 1))
            if (into)
                sieve(into, name.at, at, true);
            else if (strmap_get(keys, name.at, at))
                return true;
        last = name;
    }
    return false;
}

/* Whether some key of R is also a folder of another. Almost never, and the filter finds that
 * out without a hash table of all keys. */
static bool has_folder_key(struct assignment *a)
{
    struct map_task *t = a->task;
    struct strmap keys = {0}; /* keys that may be folders */
    struct sieve folders = {.mask = 1023, .seed = hash_seed()};
    bool added;
    while (folders.mask / 16 < t->rows && folders.mask < UINT32_MAX)
        folders.mask = folders.mask * 2 + 1;
    folders.word = calloc(folders.mask / 64 + 1, sizeof(*folders.word));
    if (!folders.word) {
        t->failed = true;
        return false;
    }
    sift_folders(t, &folders, NULL);
    for (size_t i = 0; i < t->rows && !t->failed; i++) {
        struct map_text name = t->row[i].new_name;
        if (is_key(&t->row[i]) && sieve(&folders, name.at, name.len, false))
            t->failed = !strmap_add(&keys, name.at, name.len, &added);
    }
    bool found = !t->failed && keys.count && sift_folders(t, NULL, &keys);
    strmap_release(&keys);
    free(folders.word);
    return found;
}

static void make_tree(struct assignment *a)
{
    struct map_task *t = a->task;
    struct strmap keys = {0};
    struct map_text last = {"", 0};
    struct map_row **above = arena_array(&t->arena, t->rows + 1, sizeof(*above));
    bool added;
    for (size_t i = 0; above && i < t->rows; i++) {
        uint64_t *value = !is_key(&t->row[i]) ? NULL
                                              : strmap_add(&keys, t->row[i].new_name.at,
                                                           t->row[i].new_name.len, &added);
        t->failed = t->failed || (is_key(&t->row[i]) && !value);
        if (value)
            *value = i + 1;
    }
    t->failed = t->failed || !above;
    for (size_t i = 0; !t->failed && i < t->rows; i++) {
        if (!is_key(&t->row[i]))
            continue;
        above[i] = find_above(a, &keys, &t->row[i], common(last, t->row[i].new_name));
        last = above[i] ? (struct map_text){"", 0} : t->row[i].new_name;
    }
    for (size_t i = 0; !t->failed && i < t->rows; i++)
        if (above[i])
            collide(a, &t->row[i], above[i]);
    strmap_release(&keys);
}

/* --- all --------------------------------------------------------------------------------- */

static void assign(struct assignment *a)
{
    struct map_task *t = a->task;
    size_t next = 0;
    a->doubled = a->old.count < t->source.count;
    find_taken(a);
    map_reserve(t, t->target.count + t->source.count);
    for (size_t i = 0; i < t->target.count && !t->failed; i++)
        assign_leaf(a, &t->target.leaf[i], &next);
    /* Rows for what pass 2 keeps under names that the target does not have. */
    const struct map_tree *source = &a->task->source;
    for (size_t i = 0; i < source->count; i++) {
        const struct map_leaf *leaf = &source->leaf[i];
        if (!a->taken[i] && !a->shown[i])
            t5x_assignment_keep_leaf(a, leaf)->note = "the target has no such name";
    }
    if (a->errors || (map_flag(t, "require_all", true) && !require_all(a)))
        return;
    if (has_folder_key(a))
        make_tree(a);
}

static void t5x_assignment_settle(struct map_task *t)
{
    struct assignment a = {
        .task = t,
        .strict = map_strict(t),
        .taken = arena_array(&t->arena, t->source.count + 1, sizeof(*a.taken)),
        .shown = arena_array(&t->arena, t->source.count + 1, sizeof(*a.shown)),
        .from = arena_array(&t->arena, t->target.count + 1, sizeof(*a.from)),
        .used = arena_array(&t->arena, t->rules + 1, sizeof(*a.used)),
    };
    if (!a.taken || !a.shown || !a.from || !a.used || !map_index(t, &a.old, &t->source))
        t->failed = true;
    else if (!map_flag(t, "is_resuming", false))
        assign(&a);
    else /* the original ignores the target, and makes no tree */
        for (size_t i = 0; i < t->source.count; i++)
            t5x_assignment_keep_leaf(&a, &t->source.leaf[i]);
    strmap_release(&a.old);
}

const struct dialect dialect_t5x_assignment = {
    .name = "t5x-assignment",
    .view = MAP_ASSIGNMENT,
    .from_model = true,
    .trial = MAP_FULLMATCH,
    .required = true,
    .options = "mode tables require_all is_resuming ",
    .settle = t5x_assignment_settle,
};
