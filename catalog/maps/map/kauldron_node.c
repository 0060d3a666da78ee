/*
 * kauldron_node.c - a checkpoint as a tree of nodes, and looking up paths in it.
 */
#include <stdlib.h>
#include <string.h>

#include "catalog/maps/map/kauldron_private.h"

/* --- nodes ------------------------------------------------------------------------------- */

/* The node `child` is new; its last component begins at `start`. If that is no number, its
 * parent is NODE_NAMED. */
static void mark_named(struct strmap *nodes, struct map_text child, size_t start)
{
    struct map_text part = {child.at + start, child.len - start};
    if (start == 0 || kauldron_is_position(part, SIZE_MAX))
        return;
    uint64_t *parent = strmap_get(nodes, child.at, start - 1);
    if (parent && *parent == NODE_NUMBERED)
        *parent = NODE_NAMED;
}

/* Add a leaf and its ancestors. `last` is the name indexed before: the ancestors that both
 * share are there already. */
static bool index_leaf(struct strmap *nodes, struct map_text name, struct map_text last,
                       uint64_t leaf)
{
    size_t at = 0, start;
    bool added;
    while (at < name.len && at < last.len && name.at[at] == last.at[at])
        at++;
    for (start = at; start && name.at[start - 1] != '/';)
        start--;
    for (; at <= name.len; at++) {
        if (at < name.len && name.at[at] != '/')
            continue;
        uint64_t *value = strmap_add(nodes, name.at, at, &added);
        if (!value)
            return false;
        *value = at == name.len ? leaf : added ? NODE_NUMBERED : *value;
        if (added)
            mark_named(nodes, (struct map_text){name.at, at}, start);
        start = at + 1;
    }
    return true;
}

bool kauldron_index_nodes(struct map_task *t, struct strmap *nodes, const struct map_tree *tree)
{
    struct map_text last = {"", 0};
    for (size_t i = 0; i < tree->count && !t->failed; last = tree->leaf[i++].name)
        t->failed = !index_leaf(nodes, tree->leaf[i].name, last, i + NODE_LEAF);
    return !t->failed;
}

uint64_t kauldron_node_at(const struct strmap *nodes, struct map_text place)
{
    const uint64_t *found = place.at ? strmap_get(nodes, place.at, place.len) : NULL;
    return !place.at ? NODE_NAMED : found ? *found : 0;
}

const struct map_leaf *kauldron_leaf_at(const struct map_tree *tree, const struct strmap *nodes,
                                        struct map_text place)
{
    uint64_t node = kauldron_node_at(nodes, place);
    return node >= NODE_LEAF ? &tree->leaf[node - NODE_LEAF] : NULL;
}

struct map_text kauldron_join(struct map_task *t, struct map_text place, struct map_text rest)
{
    struct text name = {0};
    if (!place.at || !rest.at)
        return place.at ? place : rest;
    text_add(&name, place.at, place.len);
    text_addc(&name, '/');
    text_add(&name, rest.at, rest.len);
    return map_keep(t, &name);
}

bool kauldron_is_below(struct map_text place, struct map_text name, struct map_text *rest)
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

struct map_text kauldron_above(struct map_text place, struct map_text *part)
{
    size_t len = place.len;
    while (len && place.at[len - 1] != '/')
        len--;
    *part = (struct map_text){place.at ? place.at + len : NULL, place.len - len};
    return len ? (struct map_text){place.at, len - 1} : (struct map_text){0};
}

/* --- looking paths up -------------------------------------------------------------------- */

struct map_text kauldron_element(struct map_task *t, struct map_text list, int64_t i)
{
    return kauldron_join(t, list, map_say(t, "%lld", (long long)i));
}

bool kauldron_is_position(struct map_text rest, size_t length)
{
    size_t len = 0;
    while (len < rest.len && rest.at[len] >= '0' && rest.at[len] <= '9')
        len++;
    bool canonical = len == 1 || (len > 1 && len < 20 && *rest.at != '0');
    return canonical && (len == rest.len || rest.at[len] == '/') &&
           strtoull(rest.at, NULL, 10) < length;
}

bool kauldron_is_list(struct map_task *t, const struct map_tree *tree, const struct strmap *nodes,
                      struct map_text place)
{
    const struct map_leaf *leaf = kauldron_leaf_at(tree, nodes, place);
    if (leaf)
        return leaf->kind == MAP_EMPTY_LIST;
    return kauldron_node_at(nodes, place) == NODE_NUMBERED &&
           kauldron_node_at(nodes, kauldron_element(t, place, 0));
}

int64_t kauldron_list_length(struct map_task *t, const struct strmap *nodes, struct map_text list)
{
    int64_t count = 0;
    while (!t->failed && kauldron_node_at(nodes, kauldron_element(t, list, count)))
        count++;
    return count;
}

/* A bound of a slice of `count` elements, clamped as Python's slice.indices() does; `back`: the
 * step is negative. */
static int64_t bound(const struct kontext_part *part, int which, int64_t count, bool back)
{
    int64_t at = part->bound[which], least = back ? -1 : 0, most = back ? count - 1 : count;
    if (!part->has[which])
        return (which == 0) == back ? most : least;
    if (at < 0)
        at = at < -count ? -1 : at + count;
    return at < least ? least : at > most ? most : at;
}

static bool slice(struct map_task *t, const struct strmap *nodes, const struct kontext_part *part,
                  struct found *f)
{
    int64_t count = f->sliced ? (int64_t)f->picks : kauldron_list_length(t, nodes, f->place);
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

/* Follow one part of a path; false: there is no such node. */
static bool kauldron_node_enter(struct map_task *t, const struct strmap *nodes,
                                const struct kontext_part *part, struct found *f)
{
    if (part->kind == KONTEXT_SLICE)
        return slice(t, nodes, part, f);
    int64_t i = part->kind == KONTEXT_NUMBER ? strtoll(part->text, NULL, 10) : 0;
    if (f->sliced) {
        int64_t count = (int64_t)f->picks;
        if (part->kind != KONTEXT_NUMBER || i >= count || i < -count)
            return false;
        *f = (struct found){.place = kauldron_element(t, f->place, f->pick[i < 0 ? i + count : i])};
        return true;
    }
    struct map_text list = f->place;
    f->place = kauldron_join(t, list, (struct map_text){part->text, part->len});
    if (kauldron_node_at(nodes, f->place))
        return true;
    int64_t count = i < 0 ? kauldron_list_length(t, nodes, list) : 0;
    if (i >= 0 || i < -count)
        return false;
    f->place = kauldron_element(t, list, i + count);
    return true;
}

bool kauldron_look_up(struct map_task *t, const struct strmap *nodes, const struct kontext *path,
                      struct found *out, struct map_text *error)
{
    struct text text = {0};
    bool found = !kontext_fault(path, &text);
    *out = (struct found){0};
    for (size_t i = 0; found && i < path->parts; i++)
        if (!kauldron_node_enter(t, nodes, &path->part[i], out)) {
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
