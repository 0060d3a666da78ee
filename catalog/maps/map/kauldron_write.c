/*
 * kauldron_write.c - reads the rules of a set, looks up their paths, and finds the rules that fail as
 * a whole, and where the others write. Paths were looked up in the model, but they are written
 * to the state, where earlier rules of the phase may have replaced subtrees: a list may have
 * become a dict or have another length, a dict may have other keys.
 *
 * kontext walks a path part by part. All parts but the last must exist; the last one may be a new
 * key of a dict, but not a new element of a list. From the end of a list of 3 elements, the last
 * part may be -1 or -2, but not -3 (as in kontext).
 */
#include <stdlib.h>
#include <string.h>

#include "catalog/maps/map/kauldron_private.h"

/* A place in the state, and the latest rule that wrote there or above it. */
struct spot {
    struct map_text place;
    const struct entry *by; /* NULL: the model's own value */
};

enum spot_kind {
    SPOT_NOWHERE,
    SPOT_TENSOR,
    SPOT_NULL,
    SPOT_LIST,
    SPOT_DICT,
};

static const char *const spot_class[] = {
    [SPOT_NOWHERE] = "NoneType", [SPOT_TENSOR] = "int", [SPOT_NULL] = "NoneType",
    [SPOT_LIST] = "list",        [SPOT_DICT] = "dict",
};

static struct spot step_to(struct loader *l, struct spot from, struct map_text part)
{
    struct spot to = {kauldron_join(l->task, from.place, part), from.by};
    const uint64_t *by = strmap_get(&l->written, to.place.at, to.place.len);
    if (by && (!to.by || to.by < &l->entry[*by - 1]))
        to.by = &l->entry[*by - 1];
    return to;
}

/* With ignore_ options a rule writes the model's own subtree, with its leaves replaced by the
 * source's: whether the spot is such a leaf. */
static bool is_leaf_of_source(struct loader *l, struct spot spot)
{
    struct map_text rest, origin;
    if (!l->ignores || !spot.by)
        return false;
    kauldron_is_below(spot.by->target, spot.place, &rest);
    const struct map_leaf *leaf = rest.at && kauldron_origin_of(l, spot.by, rest, &origin)
                                      ? kauldron_leaf_at(&l->task->source, &l->old, origin)
                                      : NULL;
    return leaf && leaf->kind == MAP_TENSOR && !kauldron_is_ignored(l, &l->restored, rest);
}

/* What is at a spot; for a list, *length is set as well. */
static enum spot_kind kind_at(struct loader *l, struct spot spot, int64_t *length)
{
    static const enum spot_kind kinds[] = {
        [MAP_TENSOR] = SPOT_TENSOR,
        [MAP_NULL] = SPOT_NULL,
        [MAP_EMPTY_DICT] = SPOT_DICT,
        [MAP_EMPTY_LIST] = SPOT_LIST,
    };
    bool own = !spot.by || l->ignores;
    const struct map_tree *tree = own ? &l->task->target : &l->task->source;
    const struct strmap *nodes = own ? &l->new : &l->old;
    struct map_text rest, place = spot.place;
    *length = 0;
    if (is_leaf_of_source(l, spot))
        return SPOT_TENSOR;
    if (!own) {
        kauldron_is_below(spot.by->target, spot.place, &rest);
        if (spot.by->sliced && !rest.at) {
            *length = (int64_t)spot.by->picks;
            return SPOT_LIST;
        }
        if (!kauldron_origin_of(l, spot.by, rest, &place))
            return SPOT_NOWHERE;
    }
    const struct map_leaf *leaf = kauldron_leaf_at(tree, nodes, place);
    if (leaf)
        return kinds[leaf->kind];
    if (!kauldron_is_list(l->task, tree, nodes, place))
        return kauldron_node_at(nodes, place) ? SPOT_DICT : SPOT_NOWHERE;
    *length = kauldron_list_length(l->task, nodes, place);
    return SPOT_LIST;
}

/* Set the error "TYPE: Error trying to mutate path PATH: text"; `by`: the rule that wrote there
 * before. */
static bool fail_write(struct loader *l, struct entry *e, const struct entry *by, const char *type,
                       const struct map_text text)
{
    struct text path = {0}, error = {0};
    kontext_print(&e->new, &path);
    text_addf(&error, "%s: Error trying to mutate path %s: ", type, path.at ? path.at : "");
    text_release(&path);
    text_add(&error, text.at ? text.at : "", text.len);
    if (by)
        text_addf(&error, " (rule %lld wrote there before)", (long long)by->rule->ord);
    e->write_error = map_keep(l->task, &error);
    return false;
}

static struct map_text repr_of(struct loader *l, const struct kontext_part *part)
{
    struct text text = {0};
    if (part->kind == KONTEXT_NUMBER)
        text_add(&text, part->text, part->len);
    else
        map_repr(&text, (struct map_text){part->text, part->len});
    return map_keep(l->task, &text);
}

/* Part i, not the last, does not exist. */
static bool fail_on_the_way(struct loader *l, struct entry *e, size_t i, enum spot_kind kind,
                            const struct entry *by)
{
    const struct kontext_part *part = &e->new.part[i];
    struct map_text name = repr_of(l, part);
    const char *type = "RuntimeError", *text = "it is a leaf";
    if (kind == SPOT_DICT) {
        type = "KeyError";
        text = "no such key";
    } else if (kind == SPOT_LIST && part->kind == KONTEXT_NUMBER) {
        type = "IndexError";
        text = "list index out of range";
    } else if (kind == SPOT_LIST) {
        type = "TypeError";
        text = "list indices must be integers or slices, not str";
    }
    return fail_write(l, e, by, type,
                      map_say(l->task, "Error accessing %s in <class '%s'>: %s",
                              name.at ? name.at : "", spot_class[kind], text));
}

/* The last part cannot be written. */
static bool fail_at_last(struct loader *l, struct entry *e, enum spot_kind kind, int64_t length,
                         const struct entry *by)
{
    struct map_task *t = l->task;
    const struct kontext_part *part = &e->new.part[e->new.parts - 1];
    struct map_text name = repr_of(l, part);
    const char *key = name.at ? name.at : "";
    if (kind != SPOT_LIST)
        return fail_write(l, e, by, "ValueError",
                          map_say(t,
                                  "Cannot mutate leaf <class '%s'>. Tried to overwrite "
                                  "key %s. Only dict, list can be recursed into.",
                                  spot_class[kind], key));
    if (part->kind != KONTEXT_NUMBER)
        return fail_write(l, e, by, "TypeError", map_say(t, "Expected list index, got %s.", key));
    return fail_write(l, e, by, "KeyError",
                      map_say(t, "Key %s out of range (length %lld)", key, (long long)length));
}

/* Follow part i of the new path from *at. */
static bool step_into(struct loader *l, struct entry *e, size_t i, struct spot *at)
{
    const struct kontext_part *part = &e->new.part[i];
    struct spot next = step_to(l, *at, (struct map_text){part->text, part->len});
    bool last = i + 1 == e->new.parts;
    int64_t length, n;
    if (!is_leaf_of_source(l, *at) && kind_at(l, next, &length) != SPOT_NOWHERE) {
        *at = next;
        return true;
    }
    enum spot_kind kind = kind_at(l, *at, &length);
    if (kind == SPOT_LIST && part->kind == KONTEXT_NUMBER) {
        n = strtoll(part->text, NULL, 10);
        if (n < 0 && (last ? n > -length : n >= -length)) {
            *at = step_to(l, *at, map_say(l->task, "%lld", (long long)(n + length)));
            return true;
        }
    }
    if (!last)
        return fail_on_the_way(l, e, i, kind, at->by);
    if (kind != SPOT_DICT)
        return fail_at_last(l, e, kind, length, at->by);
    *at = next;
    return true;
}

static bool has_slice(const struct kontext *path)
{
    for (size_t i = 0; i < path->parts; i++)
        if (path->part[i].kind == KONTEXT_SLICE)
            return true;
    return false;
}

/* The original takes a key `*` or `**` on the way for a glob, and writes to its neighbours, too; it fails at a
 * leaf among them. False after setting an error; true where there is no neighbour. */
static bool is_alone(struct loader *l, struct entry *e, size_t i, struct map_text parent)
{
    const struct kontext_part *part = &e->new.part[i];
    const struct map_text star = {part->text, part->len};
    const struct map_tree *model = &l->task->target;
    const struct map_text key = repr_of(l, &e->new.part[i + 1]);
    struct map_text rest, inside;
    bool alone = true;
    for (size_t k = 0; k < model->count; k++) {
        const struct map_leaf *leaf = &model->leaf[k];
        if (!kauldron_is_below(parent, leaf->name, &rest) || kauldron_is_below(star, rest, &inside))
            continue;
        alone = false;
        const bool entered = leaf->kind == MAP_TENSOR || leaf->kind == MAP_NULL;
        if (part->len == 1 && i + 2 == e->new.parts && entered && !memchr(rest.at, '/', rest.len))
            return fail_write(
                l, e, NULL, "ValueError",
                map_say(l->task,
                        "Cannot mutate leaf <class '%s'>. Tried to overwrite key %s. Only dict, "
                        "list can be recursed into.",
                        spot_class[leaf->kind == MAP_NULL ? SPOT_NULL : SPOT_TENSOR],
                        key.at ? key.at : ""));
    }
    if (!alone)
        e->write_error = kauldron_glob_error(l, star);
    return alone;
}

/* Set an entry's `target` to where it writes, or `write_error`. Its paths must have been found. */
static void write_entry(struct loader *l, struct entry *e)
{
    struct spot at = {0};
    bool added;
    if (e->new.parts == 0) {
        fail_write(l, e, NULL, "ValueError", map_say(l->task, "Path is empty"));
        return;
    }
    if (has_slice(&e->new)) {
        fail_write(l, e, NULL, "NotImplementedError",
                   map_say(l->task, "Slice keys are not yet supported. Please open an issue."));
        return;
    }
    for (size_t i = 0; i < e->new.parts; i++) {
        const struct kontext_part *part = &e->new.part[i];
        const bool glob = part->len && part->len <= 2 && strspn(part->text, "*") == part->len;
        if (glob && i + 1 < e->new.parts && !is_alone(l, e, i, at.place))
            return;
        if (!step_into(l, e, i, &at))
            return;
    }
    e->target = at.place;
    uint64_t *by = strmap_add(&l->written, at.place.at, at.place.len, &added);
    if (by)
        *by = (uint64_t)(e - l->entry) + 1;
    else
        l->task->failed = true;
}

/* --- rules that fail as a whole ---------------------------------------------------------- */

static bool has_restored(struct loader *l, const struct entry *e)
{
    const struct map_tree *source = &l->task->source;
    struct map_text rest;
    for (size_t i = 0; i < source->count; i++)
        if (source->leaf[i].kind == MAP_TENSOR &&
            kauldron_rest_of(l, e, source->leaf[i].name, &rest))
            return true;
    return false;
}

static void fail_entry(struct entry *e, enum step step, struct map_text error)
{
    e->error = error;
    e->step = step;
}

/* Look up both paths, and find out whether the rule can be applied at all. */
static bool read_entry(struct loader *l, struct entry *e)
{
    struct map_task *t = l->task;
    struct found new, old;
    struct map_text pattern = {e->rule->pattern, strlen(e->rule->pattern)}, error = {0};
    const struct map_text *replacement = &e->rule->replacement;
    if (!kontext_parse(&t->arena, pattern.at, pattern.len, &e->new) ||
        !kontext_parse(&t->arena, replacement->at, replacement->len, &e->old))
        return false;
    bool has_new = kauldron_look_up(t, &l->new, &e->new, &new, &error);
    e->target = new.place;
    if (!has_new)
        fail_entry(e, STEP_NEW, error);
    bool has_old = kauldron_look_up(t, &l->old, &e->old, &old, &error);
    e->origin = old.place;
    e->sliced = old.sliced;
    e->pick = old.pick;
    e->picks = old.picks;
    e->found = has_new && has_old;
    if (has_new && !has_old)
        fail_entry(e, STEP_OLD, error);
    if (!e->found)
        return true;
    const struct map_leaf *leaf =
        e->sliced ? NULL : kauldron_leaf_at(&t->source, &l->old, e->origin);
    if (l->ignores && l->restored.error.at && has_restored(l, e))
        fail_entry(e, STEP_OLD, l->restored.error);
    else if (l->ignores && leaf && leaf->kind == MAP_TENSOR &&
             !kauldron_is_ignored(l, &l->restored, (struct map_text){0}))
        fail_entry(e, STEP_OLD,
                   map_say(t, "ValueError: Error trying to mutate path : Path is empty"));
    else
        write_entry(l, e);
    return true;
}

static bool is_late(const char *path)
{
    return strncmp(path, "opt_state", 9) == 0 && (path[9] == '\0' || path[9] == '.');
}

bool kauldron_read_entries(struct loader *l)
{
    struct map_task *t = l->task;
    l->entry = arena_array(&t->arena, t->rules + 1, sizeof(*l->entry));
    if (!l->entry)
        return false;
    for (int late = 0; late < 2; late++) {
        strmap_release(&l->written);
        for (size_t i = 0; i < t->rules; i++)
            if (t->rule[i].replacement.at && is_late(t->rule[i].pattern) == late) {
                struct entry *e = &l->entry[l->entries++];
                e->rule = &t->rule[i];
                e->late = late;
                if (!read_entry(l, e))
                    return false;
            }
    }
    return true;
}
