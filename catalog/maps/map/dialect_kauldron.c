/*
 * dialect_kauldron.c - Kauldron's new_to_old: subtrees of a model replaced by subtrees of a checkpoint.
 *
 * Rules are literal paths (kontext.h), new to old. They are applied in order, in two phases: rules
 * for `opt_state` come after all others, because the original builds the optimizer in between. A
 * later rule may override parts of what an earlier one wrote. Each phase looks up all new paths,
 * then every old path with its subtree, then writes. Finally the leaves of the model decide what
 * they take from the source:
 *
 *   - A leaf that the source lacks is an error, unless ignore_model_keys says to keep the model's
 *     value.
 *   - Leaves that only the source has are left out. If either option is given, those for which the
 *     model has no node at all are an error, unless they match ignore_restored_keys.
 *   - A null or {} of the model is a leaf to the original, too, and takes whatever the source has
 *     there.
 *
 * A checkpoint does not distinguish a list from a dict whose keys are numbers. Where it matters
 * (an index from the end, a slice, a path that finds nothing), a node counts as a list if it has a
 * child 0 and all its children are numbers.
 */
#include <stdlib.h>
#include <string.h>

#include "catalog/maps/map/kauldron_private.h"

/* --- leaves of the model ----------------------------------------------------------------- */

/* What a rule does to a leaf. */
struct outcome {
    const struct entry *entry; /* NULL: no rule reaches it */
    enum {
        OWN,    /* keeps the model's value */
        MAPPED, /* takes a leaf or an empty container of the source */
        GROWN,  /* takes a subtree of the source: the model's structure changes */
        ABSENT, /* the source has nothing there */
    } what;
    const struct map_leaf *old;
    struct map_text place; /* in the source */
    bool inside;           /* the place is within the slice that the rule takes */
    struct map_text error;
    int64_t order; /* when the original would meet the error: phase, step, rule */
};

static struct map_text no_element(struct loader *l, struct map_text rest)
{
    return map_say(l->task, kauldron_is_position(rest, SIZE_MAX)
                                ? "IndexError: list index out of range"
                                : "TypeError: list indices must be integers or slices, not str");
}

/* The exception that the original raises on the way to a place that the source lacks: it gets
 * as far as the deepest node that exists. */
static struct map_text absence(struct loader *l, struct map_text place)
{
    struct map_text part = {0};
    while (!kauldron_node_at(&l->old, place))
        place = kauldron_above(place, &part);
    const struct map_leaf *leaf = kauldron_leaf_at(&l->task->source, &l->old, place);
    if (leaf && (leaf->kind == MAP_TENSOR || leaf->kind == MAP_NULL))
        return map_say(l->task, "TypeError: '%s' object is not subscriptable",
                       leaf->kind == MAP_TENSOR ? "int" : "NoneType");
    if (kauldron_is_list(l->task, &l->task->source, &l->old, place))
        return no_element(l, part);
    struct text text = {0};
    text_adds(&text, "KeyError: ");
    map_repr(&text, part);
    return map_keep(l->task, &text);
}

/* Whether a tensor of the source has replaced a subtree of the model above the leaf at `rest`. */
static bool is_replaced(struct loader *l, const struct entry *e, struct map_text rest)
{
    struct map_text part, place;
    for (rest = kauldron_above(rest, &part); rest.at; rest = kauldron_above(rest, &part)) {
        const struct map_leaf *leaf = kauldron_origin_of(l, e, rest, &place)
                                          ? kauldron_leaf_at(&l->task->source, &l->old, place)
                                          : NULL;
        if (leaf && leaf->kind == MAP_TENSOR && !kauldron_is_ignored(l, &l->restored, rest))
            return true;
    }
    return false;
}

/* Whether the model has a subtree `star` beside `name`, the end of a place. */
static bool is_beside(struct loader *l, struct map_text place, struct map_text name,
                      const char *star)
{
    text_reset(&l->key);
    text_add(&l->key, place.at, place.len - name.len);
    text_adds(&l->key, star);
    const uint64_t node = kauldron_node_at(&l->new, (struct map_text){l->key.at, l->key.len});
    return node && node < NODE_LEAF &&
           map_compare(name, (struct map_text){star, strlen(star)}) != 0;
}

/* Index a place at or above leaf i of the model, if it is beside a subtree `*` or `**`. */
static bool index_place(struct loader *l, size_t i, struct map_text place)
{
    const struct map_leaf *leaf = &l->task->target.leaf[i];
    struct map_text part;
    const struct map_text parent = kauldron_above(place, &part);
    const bool star = is_beside(l, place, part, "*");
    const bool entered =
        place.len == leaf->name.len && (leaf->kind == MAP_TENSOR || leaf->kind == MAP_NULL);
    uint64_t *value;
    bool added;
    if (!parent.at || (!star && (entered || !is_beside(l, place, part, "**"))))
        return true;
    if (star && entered) {
        if (!(value = strmap_add(&l->beside_star, parent.at, parent.len, &added)))
            return false;
        *value = i;
    }
    if (!(value = strmap_add(&l->neighbours, parent.at, parent.len, &added)))
        return false;
    *PUSH(&l->task->arena, l->neighbour, l->neighbour_count, l->neighbour_space) =
        (struct neighbour){.name = part, .next = (size_t)*value};
    *value = l->neighbour_count;
    return true;
}

/* Index the model's nodes that stand beside a subtree named `*` or `**`, by their parent; leaves beside `*` once
 * more. */
static bool index_beside_star(struct loader *l)
{
    const struct map_tree *model = &l->task->target;
    struct map_text part;
    bool good = true;
    for (size_t i = 0; i < model->count && good; i++) {
        bool added = true;
        for (struct map_text place = model->leaf[i].name; place.at && added && good;
             place = kauldron_above(place, &part))
            good = strmap_add(&l->seen, place.at, place.len, &added) &&
                   (!added || index_place(l, i, place));
    }
    return good;
}

/* Whether all neighbours of a key of `rest`, with `after` behind it, take a tensor of their own after what the
 * original writes to them, too. */
static bool neighbours_recover(struct loader *l, const struct entry *e, struct map_text rest,
                               struct map_text key, struct map_text after, uint64_t first)
{
    const size_t before = (size_t)(key.at - rest.at), above = e->origin.at ? e->origin.len + 1 : 0;
    bool own = key.len == 1 && !e->sliced;
    for (size_t i = (size_t)first; i && own; i = l->neighbour[i - 1].next) {
        const struct map_text name = l->neighbour[i - 1].name;
        struct text *place = &l->place;
        text_reset(place);
        if (above)
            text_addf(place, "%.*s/", (int)e->origin.len, e->origin.at);
        text_add(place, rest.at, before);
        text_add(place, name.at, name.len);
        text_addc(place, '/');
        if (!text_add(place, after.at, after.len))
            return false;
        const struct map_leaf *leaf =
            kauldron_leaf_at(&l->task->source, &l->old, (struct map_text){place->at, place->len});
        own = map_compare(name, key) > 0 && leaf && leaf->kind == MAP_TENSOR &&
              !kauldron_is_ignored(l, &l->restored,
                                   (struct map_text){place->at + above, place->len - above});
    }
    return own;
}

/* What star_fault() does not find: the original writes to neighbours of a key, and they keep that. */
static struct map_text neighbour_fault(struct loader *l, const struct entry *e,
                                       const struct map_leaf *leaf, struct map_text rest)
{
    struct map_text part, place = leaf->name;
    for (struct map_text above = rest; above.at;) {
        above = kauldron_above(above, &part);
        place = kauldron_above(place, &part);
        const bool glob = part.len && part.len <= 2 && memcmp(part.at, "**", part.len) == 0;
        const char *after = part.at + part.len + 1;
        const uint64_t *first = glob && after < rest.at + rest.len
                                    ? strmap_get(&l->neighbours, place.at, place.len)
                                    : NULL;
        if (first && !neighbours_recover(
                         l, e, rest, part,
                         (struct map_text){after, (size_t)(rest.at + rest.len - after)}, *first))
            return kauldron_glob_error(l, part);
    }
    return (struct map_text){0};
}

/* The original writes by the printed path, where it takes a key `*` on the way for all keys: it
 * fails at a leaf among them. at NULL: there is none. */
static struct map_text star_fault(struct loader *l, const struct map_leaf *leaf,
                                  struct map_text rest)
{
    struct map_text part, next = {0}, entered = {0}, place = leaf->name;
    const uint64_t *beside = NULL;
    struct text error = {0};
    bool last = false;
    size_t behind = 0;
    for (struct map_text above = rest; above.at; behind++, next = part) {
        above = kauldron_above(above, &part);
        place = kauldron_above(place, &part);
        const uint64_t *found = behind && part.len == 1 && *part.at == '*'
                                    ? strmap_get(&l->beside_star, place.at, place.len)
                                    : NULL;
        if (found)
            beside = found, entered = next, last = behind == 1;
    }
    if (!beside)
        return (struct map_text){0};
    const char *class = l->task->target.leaf[*beside].kind == MAP_NULL ? "NoneType" : "int";
    text_addf(&error, "%s: Error trying to mutate path ", last ? "ValueError" : "RuntimeError");
    struct text path = {0};
    kontext_print_name(rest.at, rest.len, &path);
    text_add(&error, path.at, path.len);
    text_release(&path);
    if (last)
        text_addf(&error, ": Cannot mutate leaf <class '%s'>. Tried to overwrite key ", class);
    else
        text_adds(&error, ": Error accessing ");
    if (kauldron_is_position(entered, SIZE_MAX))
        text_add(&error, entered.at, entered.len);
    else
        map_repr(&error, entered);
    if (last)
        text_adds(&error, ". Only dict, list can be recursed into.");
    else
        text_addf(&error, " in <class '%s'>: ", class);
    return map_keep(l->task, &error);
}

/* With an ignore_ option, only tensors count as keys. */
static void reconcile(struct loader *l, const struct map_leaf *leaf, struct map_text rest,
                      struct outcome *o)
{
    bool tensor = o->old && o->old->kind == MAP_TENSOR;
    bool needed = !tensor && leaf->kind == MAP_TENSOR;
    if (tensor)
        o->what = kauldron_is_ignored(l, &l->restored, rest) ? OWN : MAPPED;
    if (o->what == MAPPED && l->beside_star.count)
        o->error = star_fault(l, leaf, rest);
    if (o->what == MAPPED && !o->error.at && l->neighbour_count)
        o->error = neighbour_fault(l, o->entry, leaf, rest);
    if (needed && l->model.error.at)
        o->error = l->model.error;
    else if (needed && !kauldron_is_ignored(l, &l->model, rest))
        o->error = kauldron_unwanted_key(l, "Missing", rest, "ignore_model_keys");
    else if (!tensor && !is_replaced(l, o->entry, rest))
        o->what = OWN;
    if (!o->error.at)
        o->error = l->restored.broken.at ? l->restored.broken : l->model.broken;
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
    o.inside = kauldron_origin_of(l, e, rest, &o.place);
    uint64_t node = o.inside ? kauldron_node_at(&l->old, o.place) : 0;
    o.old = o.inside ? kauldron_leaf_at(&l->task->source, &l->old, o.place) : NULL;
    if (l->ignores)
        reconcile(l, leaf, rest, &o);
    else if (node || (e->sliced && !rest.at))
        o.what = o.old ? MAPPED : GROWN;
    o.order = order_of(l, e, o.error.at ? STEP_OLD : STEP_WRITE);
    o.error = o.error.at ? o.error : e->write_error;
    return o;
}

static int by_order(const void *a, const void *b)
{
    const struct entry *const *x = a, *const *y = b;
    return (*x > *y) - (*x < *y);
}

/* Index the entries that write somewhere, by where. */
static bool index_targets(struct loader *l)
{
    bool added;
    for (struct entry *e = l->entry + l->entries; e-- > l->entry;) {
        if (e->step == STEP_NEW)
            continue;
        uint64_t *first =
            e->target.at ? strmap_add(&l->targets, e->target.at, e->target.len, &added) : NULL;
        if (e->target.at && !first)
            return false;
        e->next = first ? (size_t)*first : l->at_root;
        if (first)
            *first = (uint64_t)(e - l->entry) + 1;
        else
            l->at_root = (size_t)(e - l->entry) + 1;
    }
    return true;
}

/* Set l->over to the entries that write at or above a name, in their order. Returns how many. */
static size_t find_over(struct loader *l, struct map_text name)
{
    size_t count = 0, next = l->at_root;
    for (size_t end = 0;; end++) {
        for (; next; next = l->entry[next - 1].next) {
            const struct entry **grown =
                arena_grow(&l->task->arena, l->over, count, &l->over_space, sizeof(*grown));
            l->task->failed = l->task->failed || !grown;
            if (!grown)
                return 0;
            l->over = grown;
            l->over[count++] = &l->entry[next - 1];
        }
        while (end < name.len && name.at[end] != '/')
            end++;
        if (end > name.len)
            break;
        const uint64_t *first = strmap_get(&l->targets, name.at, end);
        next = first ? (size_t)*first : 0;
    }
    if (count > 1)
        qsort(l->over, count, sizeof(*l->over), by_order);
    return count;
}

/* The error that the original would meet first; without errors, what the last rule does. A leaf
 * that the source lacks is noticed only at the end of a phase: a later rule of the phase may
 * supply it. */
static struct outcome decide(struct loader *l, const struct map_leaf *leaf)
{
    struct outcome last = {0}, failed = {0};
    struct map_text rest = {0};
    const size_t count = find_over(l, leaf->name);
    for (size_t i = 0; i < count; i++) {
        const struct entry *e = l->over[i];
        kauldron_is_below(e->target, leaf->name, &rest);
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
    else if (!failed.error.at && kauldron_is_below(failed.entry->target, leaf->name, &rest))
        failed.error = no_element(l, rest);
    return failed;
}

static void map_leaf(struct loader *l, const struct map_leaf *leaf, const struct outcome *o,
                     struct map_row *row)
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

/* Add rows for all that an entry puts below the place `at`: the source's tensors below *from,
 * or all that the entry takes if `from` is NULL. */
static void grow_from(struct loader *l, const struct entry *e, struct map_text at,
                      const struct map_text *from)
{
    struct map_task *t = l->task;
    struct map_text rest;
    for (size_t i = 0; i < t->source.count && !t->failed; i++) {
        const struct map_leaf *old = &t->source.leaf[i];
        if (old->kind != MAP_TENSOR || !(from ? kauldron_is_below(*from, old->name, &rest)
                                              : kauldron_rest_of(l, e, old->name, &rest)))
            continue;
        struct map_row *row = map_add(t, "mapped");
        map_take(row, old);
        row->new_name = kauldron_join(t, at, rest);
        row->old_name = old->name;
        row->rule = e->rule->ord;
        row->note = "the model has a leaf here: its structure changes";
    }
}

/* Put a subtree of the source where the model has a leaf. Later rules may write into it
 * (kauldron_write.c has looked up where), and replace what is there. */
static void kauldron_grow(struct loader *l, const struct map_leaf *leaf, const struct outcome *o)
{
    struct map_task *t = l->task;
    size_t first = t->rows, kept;
    struct map_text rest;
    grow_from(l, o->entry, leaf->name, o->inside ? &o->place : NULL);
    for (const struct entry *e = o->entry + 1; e < l->entry + l->entries; e++) {
        if (e->late != o->entry->late || e->error.at || e->write_error.at ||
            !kauldron_is_below(leaf->name, e->target, &rest))
            continue;
        kept = first;
        for (size_t i = first; i < t->rows; i++)
            if (!kauldron_is_below(e->target, t->row[i].new_name, &rest))
                t->row[kept++] = t->row[i];
        t->rows = kept;
        grow_from(l, e, e->target, NULL);
    }
    if (t->rows > first)
        qsort(t->row + first, t->rows - first, sizeof(*t->row), by_new_name);
}

static void settle_leaf(struct loader *l, const struct map_leaf *leaf)
{
    struct outcome o = decide(l, leaf);
    bool tensor = leaf->kind == MAP_TENSOR, failed = o.error.at != NULL;
    if (o.entry && !failed && o.what == GROWN) {
        kauldron_grow(l, leaf, &o);
        return;
    }
    bool taken = o.entry && !failed && o.what == MAPPED && o.old;
    if (!tensor && !failed && !(taken && o.old->kind == MAP_TENSOR))
        return; /* a null or {} that stays empty has no row */
    struct map_row *row = map_add(l->task, failed ? "error" : taken ? "mapped" : "missing");
    row->new_name = leaf->name;
    row->error = o.error;
    if (o.entry)
        row->rule = o.entry->rule->ord;
    if (o.entry && !failed && o.what == OWN)
        row->note = "ignored: the model keeps its own";
    if (taken)
        map_leaf(l, leaf, &o, row);
}

/* --- errors that belong to no leaf of the model ------------------------------------------ */

/* Whether the model has a leaf at or below the place where an entry writes. */
static bool reaches(const struct loader *l, const struct entry *e)
{
    return e->step != STEP_NEW && l->task->target.count && kauldron_node_at(&l->new, e->target);
}

/* A path as a name of the catalog; at NULL if the path has a fault. */
static struct map_text kauldron_name_of(struct loader *l, const struct kontext *path)
{
    struct map_text name = {0};
    if (!path->good || path->globs)
        return name;
    for (size_t i = 0; i < path->parts; i++)
        name =
            kauldron_join(l->task, name, (struct map_text){path->part[i].text, path->part[i].len});
    return name.at ? name : (struct map_text){"", 0};
}

static void say_fault(struct loader *l, const struct entry *e)
{
    struct map_text error = e->error.at ? e->error : e->write_error;
    if (!error.at || reaches(l, e))
        return;
    struct map_row *row = map_add(l->task, "error");
    row->new_name = kauldron_name_of(l, &e->new);
    row->old_name = kauldron_name_of(l, &e->old);
    row->rule = e->rule->ord;
    row->error = error;
}

static void say_unexpected(struct loader *l, const struct entry *e)
{
    struct map_task *t = l->task;
    struct map_text rest;
    for (size_t i = 0; l->ignores && !e->error.at && i < t->source.count && !t->failed; i++) {
        const struct map_leaf *old = &t->source.leaf[i];
        if (old->kind != MAP_TENSOR || !kauldron_rest_of(l, e, old->name, &rest) ||
            kauldron_node_at(&l->new, kauldron_join(t, e->target, rest)) ||
            kauldron_is_ignored(l, &l->restored, rest))
            continue;
        struct map_row *row = map_add(t, "error");
        row->old_name = old->name;
        row->rule = e->rule->ord;
        row->error = kauldron_unwanted_key(l, "Unexpected", rest, "ignore_restored_keys");
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

static void kauldron_finish(struct loader *l)
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
            row->error = map_say(t, "ValueError: rules of dialect kauldron know no operations");
        }
    }
}

static void kauldron_load(struct loader *l)
{
    struct map_task *t = l->task;
    for (int tensors = 1; tensors >= 0; tensors--)
        for (size_t i = 0; i < t->target.count && !t->failed; i++)
            if ((t->target.leaf[i].kind == MAP_TENSOR) == tensors)
                settle_leaf(l, &t->target.leaf[i]);
    say_rest(l);
    kauldron_finish(l);
}

static void kauldron_settle(struct map_task *t)
{
    struct loader l = {.task = t};
    bool good = kauldron_index_nodes(t, &l.old, &t->source) &&
                kauldron_index_nodes(t, &l.new, &t->target) &&
                kauldron_read_filters(&l, "ignore_restored_keys", &l.restored) &&
                kauldron_read_filters(&l, "ignore_model_keys", &l.model);
    l.ignores = l.restored.given || l.model.given;
    good = good && (!l.ignores || index_beside_star(&l));
    if (good && kauldron_read_entries(&l) && index_targets(&l))
        kauldron_load(&l);
    else
        t->failed = true;
    kauldron_filters_release(&l.restored);
    kauldron_filters_release(&l.model);
    text_release(&l.key);
    text_release(&l.place);
    strmap_release(&l.written);
    strmap_release(&l.targets);
    strmap_release(&l.beside_star);
    strmap_release(&l.neighbours);
    strmap_release(&l.seen);
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
    .settle = kauldron_settle,
};
