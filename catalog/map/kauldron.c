/*
 * kauldron.c - Kauldron's new_to_old: subtrees of a model replaced by subtrees of a checkpoint.
 *
 * Rules are literal paths (kontext.h), new to old. They act in order, those of `opt_state` after
 * all others (the optimizer is made in between); a later one overrides inside an earlier one. Each
 * of the two phases looks all new paths up, then old path by old path with what is below it, then
 * writes; last, the leaves of the model decide what is taken over:
 *
 *   - One that the source lacks is an error, unless ignore_model_keys says to keep the model's.
 *   - What the source has besides is left out; once either option is given, keys of which the model
 *     has no node at all are an error, unless ignore_restored_keys has them.
 *   - To the original a null or {} of the model is a leaf as well, which takes what comes.
 *
 * A checkpoint does not tell a list from a dict of numbers: what has 0, 1, 2 is taken for a list
 * where a path counts from its end or cuts a slice.
 */
#include <stdlib.h>
#include <string.h>

#include "catalog/map/dialect.h"
#include "catalog/map/kontext.h"
#include "catalog/regex/regex.h"

#define INNER UINT64_C(1) /* in a map of nodes; leaves: their index + 2 */

/* A node's place is the map_text of its name; the root's, and a rest's that is nothing, has at NULL
 * (a key may be ''). */

/* Of an option: what selects keys. */
struct filters {
    struct regex **regex;
    size_t count;
    bool given;
    struct map_text error; /* of the first that is no path */
};

/* When a rule fails. */
enum step {
    STEP_NONE,
    STEP_NEW,
    STEP_OLD,
    STEP_WRITE,
    STEPS
};

struct entry {
    const struct map_rule *rule;
    bool late;
    struct kontext new, old;
    struct map_text target, origin; /* the nodes they lead to */
    bool found, sliced; /* both; the old one is a slice of the list `origin`: */
    int64_t *pick;      /* these of its elements */
    size_t picks;
    struct map_text error; /* of looking up and comparing */
    enum step step;
    struct map_text write_error;
};

struct loader {
    struct map_task *task;
    struct strmap old, new; /* nodes */
    struct filters restored, model;
    bool ignores;
    struct entry *entry; /* by turn */
    size_t entries;
    struct text key; /* reused */
};

/* --- nodes ------------------------------------------------------------------------------- */

/* Every node above the leaves, and they. Names that follow each other share most of theirs. */
static bool index_nodes(struct map_task *t, struct strmap *nodes,
                        const struct map_tree *tree)
{
    struct map_text last = {"", 0};
    bool added;
    for (size_t i = 0; i < tree->count; last = tree->leaf[i++].name) {
        struct map_text name = tree->leaf[i].name;
        size_t at = 0;
        while (at < name.len && at < last.len && name.at[at] == last.at[at])
            at++;
        for (; at <= name.len; at++) {
            if (at < name.len && name.at[at] != '/')
                continue;
            uint64_t *value = strmap_add(nodes, name.at, at, &added);
            if (!value) {
                t->failed = true;
                return false;
            }
            *value = at == name.len ? i + 2 : added ? INNER : *value;
        }
    }
    return true;
}

/* 0: there is no such node. */
static uint64_t node_at(const struct strmap *nodes, struct map_text place)
{
    const uint64_t *found = place.at ? strmap_get(nodes, place.at, place.len) : NULL;
    return !place.at ? INNER : found ? *found : 0;
}

static const struct map_leaf *leaf_at(const struct map_tree *tree,
                                      const struct strmap *nodes, struct map_text place)
{
    uint64_t node = node_at(nodes, place);
    return node > INNER ? &tree->leaf[node - 2] : NULL;
}

static struct map_text join(struct map_task *t, struct map_text place,
                            struct map_text rest)
{
    struct text name = {0};
    if (!place.at || !rest.at)
        return place.at ? place : rest;
    text_add(&name, place.at, place.len);
    text_addc(&name, '/');
    text_add(&name, rest.at, rest.len);
    return map_keep(t, &name);
}

/* Whether the node is at or below the place; *rest is its name from there. */
static bool is_below(struct map_text place, struct map_text name, struct map_text *rest)
{
    *rest = name;
    if (!place.at || !name.at)
        return !place.at;
    if (name.len < place.len || memcmp(name.at, place.at, place.len) != 0)
        return false;
    *rest = name.len == place.len
                ? (struct map_text){0}
                : (struct map_text){name.at + place.len + 1, name.len - place.len - 1};
    return name.len == place.len || name.at[place.len] == '/';
}

/* The place above; the root's own is the root. *part is the last component. */
static struct map_text above(struct map_text place, struct map_text *part)
{
    size_t len = place.len;
    while (len && place.at[len - 1] != '/')
        len--;
    *part = (struct map_text){place.at ? place.at + len : NULL, place.len - len};
    return len ? (struct map_text){place.at, len - 1} : (struct map_text){0};
}

/* --- looking paths up -------------------------------------------------------------------- */

/* Where a path has led so far: a node, or some elements of the list there. */
struct found {
    struct map_text place;
    int64_t *pick;
    size_t picks;
    bool sliced;
};

static struct map_text element(struct map_task *t, struct map_text list, int64_t i)
{
    return join(t, list, map_say(t, "%lld", (long long)i));
}

/* How many elements; 0: it is no list, as far as one can see. */
static int64_t list_length(struct map_task *t, const struct strmap *nodes,
                           struct map_text list)
{
    int64_t count = 0;
    while (!t->failed && node_at(nodes, element(t, list, count)))
        count++;
    return count;
}

/* A bound of a slice of `count` elements, as Python takes it. */
static int64_t bound(const struct kontext_part *part, int which, int64_t count, bool back)
{
    int64_t at = part->bound[which], least = back ? -1 : 0,
            most = back ? count - 1 : count;
    if (!part->has[which])
        return (which == 0) == back ? most : least;
    if (at < 0)
        at = at < -count ? -1 : at + count;
    return at < least ? least : at > most ? most : at;
}

static bool slice(struct map_task *t, const struct strmap *nodes,
                  const struct kontext_part *part, struct found *f)
{
    int64_t count = f->sliced ? (int64_t)f->picks : list_length(t, nodes, f->place);
    int64_t step = part->has[2] ? part->bound[2] : 1;
    int64_t at = bound(part, 0, count, step < 0), stop = bound(part, 1, count, step < 0);
    int64_t *pick = arena_array(&t->arena, (size_t)count + 1, sizeof(*pick));
    size_t picks = 0;
    t->failed = t->failed || !pick;
    if (t->failed || (!f->sliced && count == 0))
        return false;
    while (step > 0 ? at < stop : at > stop) {
        pick[picks++] = f->sliced ? f->pick[at] : at;
        if (step > count || step < -count)
            break;
        at += step;
    }
    *f = (struct found){f->place, pick, picks, true};
    return true;
}

/* One part further; false: there is nothing. */
static bool enter(struct map_task *t, const struct strmap *nodes,
                  const struct kontext_part *part, struct found *f)
{
    if (part->kind == KONTEXT_SLICE)
        return slice(t, nodes, part, f);
    int64_t i = part->kind == KONTEXT_NUMBER ? strtoll(part->text, NULL, 10) : 0;
    if (f->sliced) {
        int64_t count = (int64_t)f->picks;
        if (part->kind != KONTEXT_NUMBER || i >= count || i < -count)
            return false;
        *f =
            (struct found){.place = element(t, f->place, f->pick[i < 0 ? i + count : i])};
        return true;
    }
    struct map_text list = f->place;
    f->place = join(t, list, (struct map_text){part->text, part->len});
    if (node_at(nodes, f->place))
        return true;
    int64_t count = i < 0 ? list_length(t, nodes, list) : 0;
    if (i >= 0 || i < -count)
        return false;
    f->place = element(t, list, i + count);
    return true;
}

/* The node that a path leads to; else the error, as map_text. */
static bool look_up(struct map_task *t, const struct strmap *nodes,
                    const struct kontext *path, struct found *out, struct map_text *error)
{
    struct text text = {0};
    bool found = !kontext_fault(path, &text);
    *out = (struct found){0};
    for (size_t i = 0; found && i < path->parts; i++)
        if (!enter(t, nodes, &path->part[i], out)) {
            found = false;
            struct text printed = {0};
            kontext_print(path, &printed);
            text_addf(&text, "KeyError: Could not find path '%s' in the dict object.",
                      printed.at ? printed.at : "");
            text_release(&printed);
        }
    if (!found)
        *error = map_keep(t, &text);
    text_release(&text);
    return found;
}

/* --- what the options ignore ------------------------------------------------------------- */

static bool add_filter(struct loader *l, struct filters *f, struct map_text pattern)
{
    struct kontext path;
    struct text text = {0};
    struct error err = {0};
    size_t space = f->count;
    struct regex **grown =
        arena_grow(&l->task->arena, f->regex, f->count, &space, sizeof(*grown));
    if (!grown || !kontext_parse(&l->task->arena, pattern.at, pattern.len, &path))
        return false;
    f->regex = grown;
    f->given = true;
    if (!path.good) {
        kontext_fault(&path, &text);
        struct map_text error = map_keep(l->task, &text);
        f->error = f->error.at ? f->error : error;
        return true;
    }
    kontext_filter(&path, &text);
    const char *regex = text_str(&text);
    bool good = regex && regex_compile(regex, text.len, REGEX_MATCH, &f->regex[f->count],
                                       &err) == OK;
    f->count += good;
    text_release(&text);
    return good;
}

static bool read_filters(struct loader *l, const char *option, struct filters *f)
{
    struct map_text *pattern;
    size_t count = map_list(l->task, option, &pattern);
    for (size_t i = 0; i < count; i++)
        if (!add_filter(l, f, pattern[i]))
            return false;
    return true;
}

static void filters_release(struct filters *f)
{
    for (size_t i = 0; i < f->count; i++)
        regex_free(f->regex[i]);
}

/* The key as the original prints it; lives until the next call. */
static struct map_text print_key(struct loader *l, struct map_text rest)
{
    text_reset(&l->key);
    if (rest.at && rest.len == 0)
        text_adds(&l->key, "['']");
    else if (rest.at)
        kontext_print_name(rest.at, rest.len, &l->key);
    return (struct map_text){l->key.at ? l->key.at : "", l->key.len};
}

static bool is_ignored(struct loader *l, const struct filters *f, struct map_text rest)
{
    struct map_text key = print_key(l, rest);
    struct error err = {0};
    for (size_t i = 0; i < f->count; i++)
        if (regex_exec(f->regex[i], key.at, key.len, 0, &err) > 0)
            return true;
    return false;
}

static struct map_text unwanted_key(struct loader *l, const char *what,
                                    struct map_text rest, const char *option)
{
    struct map_text key = print_key(l, rest);
    return map_say(
        l->task,
        "ValueError: %s key in restored checkpoint: %s. If you don't want to load this "
        "key, please use a matching pattern in the `%s` argument.",
        what, key.at, option);
}

/* --- rules that fail as a whole ---------------------------------------------------------- */

/* The source's node for the rest of a name below a rule's new path; false: there is none to ask
 * for. */
static bool origin_of(struct loader *l, const struct entry *e, struct map_text rest,
                      struct map_text *out)
{
    *out = join(l->task, e->origin, rest);
    if (!e->sliced)
        return true;
    const char *slash = rest.at ? memchr(rest.at, '/', rest.len) : NULL;
    size_t len = slash ? (size_t)(slash - rest.at) : rest.len;
    char *end;
    unsigned long long i = rest.at && len ? strtoull(rest.at, &end, 10) : 0;
    if (!rest.at || !len || end != rest.at + len || i >= e->picks)
        return false;
    *out = element(l->task, e->origin, e->pick[i]);
    if (slash)
        *out = join(l->task, *out, (struct map_text){slash + 1, rest.len - len - 1});
    return true;
}

/* The rest below a rule's old path of a name of the source; the n-th element of a slice is called
 * n. False: it is not below it. */
static bool rest_of(struct loader *l, const struct entry *e, struct map_text name,
                    struct map_text *rest)
{
    if (!is_below(e->origin, name, rest))
        return false;
    for (size_t i = 0; e->sliced && i < e->picks; i++) {
        struct map_text inside;
        if (!is_below(element(l->task, e->origin, e->pick[i]), name, &inside))
            continue;
        *rest = join(l->task, map_say(l->task, "%zu", i), inside);
        return true;
    }
    return !e->sliced;
}

static bool has_restored(struct loader *l, const struct entry *e)
{
    const struct map_tree *source = &l->task->source;
    struct map_text rest;
    for (size_t i = 0; i < source->count; i++)
        if (source->leaf[i].kind == MAP_TENSOR &&
            rest_of(l, e, source->leaf[i].name, &rest))
            return true;
    return false;
}

static void fail(struct entry *e, enum step step, struct map_text error)
{
    e->error = error;
    e->step = step;
}

/* The same for what cannot be written: "Type: Error trying to mutate path PATH: text". */
static void fail_write(struct loader *l, struct entry *e, const char *type,
                       const char *text)
{
    struct text path = {0};
    kontext_print(&e->new, &path);
    e->write_error = map_say(l->task, "%s: Error trying to mutate path %s: %s", type,
                             path.at ? path.at : "", text);
    text_release(&path);
}

/* What an earlier rule of the same phase has put where the path leads through. */
static void check_entered(struct loader *l, struct entry *e)
{
    struct map_text part, rest, place, parent = above(e->target, &part);
    const struct entry *last = NULL;
    for (struct entry *q = l->entry; q < e; q++)
        if (q->late == e->late && q->found && is_below(q->target, parent, &rest))
            last = q;
    if (!last)
        return;
    is_below(last->target, parent, &rest);
    bool known = origin_of(l, last, rest, &place);
    if (last->sliced && !rest.at)
        return;
    const struct map_leaf *leaf =
        known ? leaf_at(&l->task->source, &l->old, place) : NULL;
    if (known &&
        (node_at(&l->old, place) == INNER || (leaf && leaf->kind == MAP_EMPTY_DICT)))
        return;
    struct text text = {0};
    bool tensor = leaf && leaf->kind == MAP_TENSOR;
    if (tensor) {
        text_adds(&text, "Cannot mutate leaf <class 'int'>. Tried to overwrite key ");
        map_repr(&text, part);
        text_adds(&text, ". Only dict, list can be recursed into.");
    } else {
        struct map_text key = print_key(l, parent);
        text_adds(&text, "an earlier entry has put a subtree without ");
        map_repr(&text, key);
        text_adds(&text, " there");
    }
    fail_write(l, e, tensor ? "ValueError" : "KeyError", text.at ? text.at : "");
    text_release(&text);
}

/* A list takes -1 down to less than its length, and no slices. */
static bool check_index(struct loader *l, struct entry *e)
{
    const struct kontext_part *last = &e->new.part[e->new.parts - 1];
    struct map_text part;
    for (size_t i = 0; i < e->new.parts; i++)
        if (e->new.part[i].kind == KONTEXT_SLICE) {
            fail_write(l, e, "TypeError", "bad operand type for abs(): 'slice'");
            return false;
        }
    above(e->target, &part);
    bool counted = last->kind == KONTEXT_NUMBER && *last->text == '-' && *part.at != '-';
    if (!counted || strcmp(part.at, "0") != 0)
        return true;
    struct map_text text =
        map_say(l->task, "Key %s out of range (length %s)", last->text, last->text + 1);
    fail_write(l, e, "KeyError", text.at ? text.at : "");
    return false;
}

static void check_write(struct loader *l, struct entry *e)
{
    if (e->new.parts == 0)
        fail_write(l, e, "ValueError", "Path is empty");
    else if (check_index(l, e) && !l->ignores)
        check_entered(l, e);
}

/* Look both paths up, and see whether the rule can be carried out at all. */
static bool read_entry(struct loader *l, struct entry *e)
{
    struct map_task *t = l->task;
    struct found new, old;
    struct map_text pattern = {e->rule->pattern, strlen(e->rule->pattern)}, error = {0};
    const struct map_text *replacement = &e->rule->replacement;
    if (!kontext_parse(&t->arena, pattern.at, pattern.len, &e->new) ||
        !kontext_parse(&t->arena, replacement->at, replacement->len, &e->old))
        return false;
    bool has_new = look_up(t, &l->new, &e->new, &new, &error);
    e->target = new.place;
    if (!has_new)
        fail(e, STEP_NEW, error);
    bool has_old = look_up(t, &l->old, &e->old, &old, &error);
    e->origin = old.place;
    e->sliced = old.sliced;
    e->pick = old.pick;
    e->picks = old.picks;
    e->found = has_new && has_old;
    if (has_new && !has_old)
        fail(e, STEP_OLD, error);
    if (!e->found)
        return true;
    const struct map_leaf *leaf =
        e->sliced ? NULL : leaf_at(&t->source, &l->old, e->origin);
    if (l->ignores && l->restored.error.at && has_restored(l, e))
        fail(e, STEP_OLD, l->restored.error);
    else if (l->ignores && leaf && leaf->kind == MAP_TENSOR &&
             !is_ignored(l, &l->restored, (struct map_text){0}))
        fail(e, STEP_OLD,
             map_say(t, "ValueError: Error trying to mutate path : Path is empty"));
    else
        check_write(l, e);
    return true;
}

static bool is_late(const char *path)
{
    return strncmp(path, "opt_state", 9) == 0 && (path[9] == '\0' || path[9] == '.');
}

static bool read_entries(struct loader *l)
{
    struct map_task *t = l->task;
    l->entry = arena_array(&t->arena, t->rules + 1, sizeof(*l->entry));
    if (!l->entry)
        return false;
    for (int late = 0; late < 2; late++)
        for (size_t i = 0; i < t->rules; i++)
            if (t->rule[i].replacement.at && is_late(t->rule[i].pattern) == late) {
                struct entry *e = &l->entry[l->entries++];
                e->rule = &t->rule[i];
                e->late = late;
                if (!read_entry(l, e))
                    return false;
            }
    return true;
}

/* --- leaves of the model ----------------------------------------------------------------- */

/* What a rule does to a leaf. */
struct outcome {
    const struct entry *entry; /* NULL: no rule reaches it */
    enum {
        OWN,    /* keeps the model's value */
        MAPPED, /* takes a leaf, or what is empty, of the source */
        GROWN,  /* takes a subtree */
        ABSENT, /* which the source has not */
    } what;
    const struct map_leaf *old;
    struct map_text place; /* in the source */
    bool inside;           /* of the slice that is the source */
    struct map_text error;
    int64_t order; /* in which errors come */
};

/* What the original meets instead of a leaf that the source lacks: up to what it has. */
static struct map_text absence(struct loader *l, struct map_text place)
{
    struct map_text part = {0};
    while (!node_at(&l->old, place))
        place = above(place, &part);
    const struct map_leaf *leaf = leaf_at(&l->task->source, &l->old, place);
    if (leaf && (leaf->kind == MAP_TENSOR || leaf->kind == MAP_NULL))
        return map_say(l->task, "TypeError: '%s' object is not subscriptable",
                       leaf->kind == MAP_TENSOR ? "int" : "NoneType");
    struct text text = {0};
    text_adds(&text, "KeyError: ");
    map_repr(&text, part);
    return map_keep(l->task, &text);
}

/* Whether a leaf of the source has replaced a subtree of the model that the leaf is in. */
static bool is_replaced(struct loader *l, const struct entry *e, struct map_text rest)
{
    struct map_text part, place;
    for (rest = above(rest, &part); rest.at; rest = above(rest, &part)) {
        const struct map_leaf *leaf = origin_of(l, e, rest, &place)
                                          ? leaf_at(&l->task->source, &l->old, place)
                                          : NULL;
        if (leaf && leaf->kind == MAP_TENSOR && !is_ignored(l, &l->restored, rest))
            return true;
    }
    return false;
}

/* Once keys may be ignored only tensors are keys. */
static void reconcile(struct loader *l, const struct map_leaf *leaf, struct map_text rest,
                      struct outcome *o)
{
    bool tensor = o->old && o->old->kind == MAP_TENSOR;
    bool needed = !tensor && leaf->kind == MAP_TENSOR;
    if (tensor)
        o->what = is_ignored(l, &l->restored, rest) ? OWN : MAPPED;
    else if (needed && l->model.error.at)
        o->error = l->model.error;
    else if (needed && !is_ignored(l, &l->model, rest))
        o->error = unwanted_key(l, "Missing", rest, "ignore_model_keys");
    else if (!needed || !is_replaced(l, o->entry, rest))
        o->what = OWN;
}

static int64_t order_of(const struct loader *l, const struct entry *e, enum step step)
{
    return ((int64_t)(e->late * STEPS + (int)step) << 32) + (e - l->entry);
}

static struct outcome try_entry(struct loader *l, const struct entry *e,
                                const struct map_leaf *leaf, struct map_text rest)
{
    struct outcome o = {.entry = e, .what = ABSENT, .error = e->error};
    if (e->error.at) {
        o.order = order_of(l, e, e->step);
        return o;
    }
    o.inside = origin_of(l, e, rest, &o.place);
    uint64_t node = o.inside ? node_at(&l->old, o.place) : 0;
    o.old = o.inside ? leaf_at(&l->task->source, &l->old, o.place) : NULL;
    if (l->ignores)
        reconcile(l, leaf, rest, &o);
    else if (node || (e->sliced && !rest.at))
        o.what = o.old ? MAPPED : GROWN;
    o.order = order_of(l, e, o.error.at ? STEP_OLD : STEP_WRITE);
    o.error = o.error.at ? o.error : e->write_error;
    return o;
}

/* The first error that the original meets, else what the rule does that comes last. That the source
 * lacks a leaf shows when a phase is over, if no later rule of it has put one there. */
static struct outcome decide(struct loader *l, const struct map_leaf *leaf)
{
    struct outcome last = {0}, failed = {0};
    struct map_text rest;
    for (size_t i = 0; i < l->entries; i++) {
        const struct entry *e = &l->entry[i];
        if (e->step == STEP_NEW || !is_below(e->target, leaf->name, &rest))
            continue;
        bool over = last.entry && e->late != last.entry->late && last.what == ABSENT;
        if (over && !failed.entry)
            failed = last;
        last = try_entry(l, e, leaf, rest);
        if (last.error.at && (!failed.entry || last.order < failed.order))
            failed = last;
    }
    if (last.entry && last.what == ABSENT && (!failed.entry || last.order < failed.order))
        failed = last;
    if (!failed.entry)
        return last;
    if (!failed.error.at && failed.inside)
        failed.error = absence(l, failed.place);
    else if (!failed.error.at)
        failed.error = map_say(l->task, "IndexError: list index out of range");
    return failed;
}

static void map_leaf(struct loader *l, const struct map_leaf *leaf,
                     const struct outcome *o, struct map_row *row)
{
    map_take(row, o->old);
    row->old_name = o->place;
    if (o->old->kind != MAP_TENSOR)
        row->old = NULL;
    if (leaf->shape && o->old->shape && strcmp(leaf->shape, o->old->shape) != 0) {
        struct text error = {0};
        row->status = "error";
        text_adds(&error, "ValueError: Requested shape: ");
        map_tuple(&error, leaf->shape);
        text_adds(&error, " is not compatible with the stored shape: ");
        map_tuple(&error, o->old->shape);
        text_adds(&error, ". Truncating/padding is disabled.");
        row->error = map_keep(l->task, &error);
    }
    if (leaf->kind != MAP_TENSOR || o->old->kind != MAP_TENSOR)
        row->note = "of model and source one is empty here: the structure changes";
    else if (leaf->dtype && o->old->dtype && strcmp(leaf->dtype, o->old->dtype) != 0)
        row->note = map_say(l->task, "cast to %s", leaf->dtype).at;
}

static int by_new_name(const void *a, const void *b)
{
    const struct map_row *x = a, *y = b;
    return map_compare(x->new_name, y->new_name);
}

/* A subtree of the source where the model has a leaf. */
static void grow(struct loader *l, const struct map_leaf *leaf, const struct outcome *o)
{
    struct map_task *t = l->task;
    size_t first = t->rows;
    struct map_text rest;
    for (size_t i = 0; i < t->source.count && !t->failed; i++) {
        const struct map_leaf *old = &t->source.leaf[i];
        if (old->kind != MAP_TENSOR ||
            !(o->inside ? is_below(o->place, old->name, &rest)
                        : rest_of(l, o->entry, old->name, &rest)))
            continue;
        struct map_row *row = map_add(t, "mapped");
        map_take(row, old);
        row->new_name = join(t, leaf->name, rest);
        row->old_name = old->name;
        row->rule = o->entry->rule->ord;
        row->note = "the model has a leaf here: its structure changes";
    }
    if (t->rows > first)
        qsort(t->row + first, t->rows - first, sizeof(*t->row), by_new_name);
}

static void settle_leaf(struct loader *l, const struct map_leaf *leaf)
{
    struct outcome o = decide(l, leaf);
    bool tensor = leaf->kind == MAP_TENSOR, failed = o.error.at != NULL;
    if (o.entry && !failed && o.what == GROWN) {
        grow(l, leaf, &o);
        return;
    }
    bool taken = o.entry && !failed && o.what == MAPPED;
    if (!tensor && !failed && !(taken && o.old->kind == MAP_TENSOR))
        return; /* nothing is no row */
    struct map_row *row = map_add(l->task, failed  ? "error"
                                           : taken ? "mapped"
                                                   : "missing");
    row->new_name = leaf->name;
    row->error = o.error;
    if (o.entry)
        row->rule = o.entry->rule->ord;
    if (o.entry && !failed && o.what == OWN)
        row->note = "ignored: the model keeps its own";
    if (taken)
        map_leaf(l, leaf, &o, row);
}

/* --- rules and keys that no leaf of the model shows -------------------------------------- */

static bool reaches(struct loader *l, const struct entry *e)
{
    const struct map_tree *target = &l->task->target;
    struct map_text rest;
    for (size_t i = 0; e->step != STEP_NEW && i < target->count; i++)
        if (is_below(e->target, target->leaf[i].name, &rest))
            return true;
    return false;
}

/* A path's name, if it is one. */
static struct map_text name_of(struct loader *l, const struct kontext *path)
{
    struct map_text name = {0};
    if (!path->good || path->globs)
        return name;
    for (size_t i = 0; i < path->parts; i++)
        name =
            join(l->task, name, (struct map_text){path->part[i].text, path->part[i].len});
    return name.at ? name : (struct map_text){"", 0};
}

static void say_fault(struct loader *l, const struct entry *e)
{
    struct map_text error = e->error.at ? e->error : e->write_error;
    if (!error.at || reaches(l, e))
        return;
    struct map_row *row = map_add(l->task, "error");
    row->new_name = name_of(l, &e->new);
    row->old_name = name_of(l, &e->old);
    row->rule = e->rule->ord;
    row->error = error;
}

static void say_unexpected(struct loader *l, const struct entry *e)
{
    struct map_task *t = l->task;
    struct map_text rest;
    for (size_t i = 0; l->ignores && !e->error.at && i < t->source.count && !t->failed;
         i++) {
        const struct map_leaf *old = &t->source.leaf[i];
        if (old->kind != MAP_TENSOR || !rest_of(l, e, old->name, &rest) ||
            node_at(&l->new, join(t, e->target, rest)) ||
            is_ignored(l, &l->restored, rest))
            continue;
        struct map_row *row = map_add(t, "error");
        row->old_name = old->name;
        row->rule = e->rule->ord;
        row->error = unwanted_key(l, "Unexpected", rest, "ignore_restored_keys");
    }
}

static int by_ord(const void *a, const void *b)
{
    const struct entry *const *x = a, *const *y = b;
    return ((*x)->rule->ord > (*y)->rule->ord) - ((*x)->rule->ord < (*y)->rule->ord);
}

static void say_rest(struct loader *l)
{
    struct map_task *t = l->task;
    const struct entry **entry = arena_array(&t->arena, l->entries + 1, sizeof(*entry));
    t->failed = t->failed || !entry;
    for (size_t i = 0; entry && i < l->entries; i++)
        entry[i] = &l->entry[i];
    if (entry)
        qsort(entry, l->entries, sizeof(*entry), by_ord);
    for (size_t i = 0; entry && i < l->entries; i++)
        say_fault(l, entry[i]);
    for (size_t i = 0; entry && i < l->entries; i++)
        say_unexpected(l, entry[i]);
}

/* --- all --------------------------------------------------------------------------------- */

static void finish(struct loader *l)
{
    struct map_task *t = l->task;
    bool strict = map_strict(t);
    for (size_t i = 0; i < t->rows && !t->failed; i++) {
        struct map_row *row = &t->row[i];
        if (strict && row->note) {
            row->status = "error";
            row->error = map_say(t, "ValueError: %s", row->note);
        }
        if (row->rule != NO_RULE && map_rule_of(t, row->rule)->operates) {
            row->status = "error";
            row->error =
                map_say(t, "ValueError: rules of dialect kauldron know no operations");
        }
    }
}

static void load(struct loader *l)
{
    struct map_task *t = l->task;
    for (int tensors = 1; tensors >= 0; tensors--)
        for (size_t i = 0; i < t->target.count && !t->failed; i++)
            if ((t->target.leaf[i].kind == MAP_TENSOR) == tensors)
                settle_leaf(l, &t->target.leaf[i]);
    say_rest(l);
    finish(l);
}

static void settle(struct map_task *t)
{
    struct loader l = {.task = t};
    bool good = index_nodes(t, &l.old, &t->source) &&
                index_nodes(t, &l.new, &t->target) &&
                read_filters(&l, "ignore_restored_keys", &l.restored) &&
                read_filters(&l, "ignore_model_keys", &l.model);
    l.ignores = l.restored.given || l.model.given;
    if (good && read_entries(&l))
        load(&l);
    else
        t->failed = true;
    filters_release(&l.restored);
    filters_release(&l.model);
    text_release(&l.key);
    strmap_release(&l.old);
    strmap_release(&l.new);
}

const struct dialect dialect_kauldron = {
    .name = "kauldron",
    .view = MAP_ASSIGNMENT,
    .from_model = true,
    .trial = MAP_PATH,
    .containers = true,
    .fills = true,
    .options = "mode tables ignore_restored_keys ignore_model_keys ",
    .settle = settle,
};
