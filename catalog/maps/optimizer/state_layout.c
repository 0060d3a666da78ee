/* state_layout.c - see layout.h. */
#include "catalog/maps/optimizer/state_layout.h"

#include <stdlib.h>
#include <string.h>

#define T5X_ROOT     "state/param_states"
#define CHILDREN_MAX 256 /* subfolders of a folder that are looked at, or may be states */
#define TOO_MANY     "a folder with more than 256 states, of which not all are looked at"
#define SAMPLE       1000 /* leaves of the state used to find the folder of parameters */
#define DEPTH_MAX    16   /* nesting of combinators */

struct piece {
    const char *at;
    size_t len;
};

/* Leaves [first, end) of the checkpoint. */
struct span {
    size_t first, end;
};

struct finder {
    const struct optimizer_held *leaves;
    const struct optimizer_tables *tables;
    struct optimizer_layout *out;
    struct arena *arena;
    struct piece root;              /* the folder of all state, without a '/' at the end */
    size_t value;                   /* length of the "/value" that ends every name, or 0 */
    struct optimizer_params params; /* of the whole checkpoint */
    struct strmap names;            /* their names to index, plus 1 */
    struct span span;               /* of the leaves of the folder that is visited */
};

static bool is(struct piece p, const char *word)
{
    return p.at && p.len == strlen(word) && memcmp(p.at, word, p.len) == 0;
}

static bool piece_is_integer(struct piece p)
{
    for (size_t i = 0; i < p.len; i++)
        if (p.at[i] < '0' || p.at[i] > '9')
            return false;
    return p.len > 0;
}

/* Whether it is a slot with one value per parameter, such as "mu". */
static bool is_slot(const struct finder *f, struct piece p)
{
    for (size_t i = 0; i < f->tables->slots; i++)
        if (strcmp(f->tables->slot[i].scope, "param") == 0 && is(p, f->tables->slot[i].slot))
            return true;
    return false;
}

/* Whether it is a field of a combinator's or transformation's state. */
static bool is_field(const struct finder *f, struct piece p)
{
    static const char *const more[] = {"inner_state", "inner_states", "inner_opt_state",
                                       "hyperparams", "hyperparams_states"};
    for (size_t i = 0; i < sizeof(more) / sizeof(more[0]); i++)
        if (is(p, more[i]))
            return true;
    for (size_t i = 0; i < f->tables->slots; i++)
        if (is(p, f->tables->slot[i].slot))
            return true;
    return false;
}

/* The first component of a path. */
static struct piece component(struct piece path)
{
    const char *slash = path.at ? memchr(path.at, '/', path.len) : NULL;
    return (struct piece){path.at, slash ? (size_t)(slash - path.at) : path.len};
}

static struct piece after(struct piece path, struct piece first)
{
    size_t skip = first.len + (first.len < path.len);
    return (struct piece){path.at + skip, path.len - skip};
}

/* The rest of a leaf's name below `folder`, without "/value"; at NULL: the leaf is not in it. */
static struct piece below(const struct finder *f, const struct optimizer_leaf *leaf,
                          struct piece folder)
{
    struct piece name = {leaf->name, leaf->len};
    if (!leaf->null && f->value && name.len > f->value &&
        memcmp(name.at + name.len - f->value, "/value", f->value) == 0)
        name.len -= f->value;
    if (!folder.at || folder.len == 0)
        return name;
    if (!name.at || name.len <= folder.len || memcmp(name.at, folder.at, folder.len) != 0 ||
        name.at[folder.len] != '/')
        return (struct piece){NULL, 0};
    return (struct piece){name.at + folder.len + 1, name.len - folder.len - 1};
}

/* --- where the state is ------------------------------------------------------------------------ */

/* Find the topmost folder that has a name which Flax, Orbax or NNX give to optimizer state. */
static bool find_named_root(struct finder *f)
{
    bool found = false;
    for (size_t i = 0; i < f->leaves->count; i++) {
        struct piece path = {f->leaves->at[i].name, f->leaves->at[i].len};
        while (path.len > 0) {
            struct piece first = component(path);
            size_t end = (size_t)(first.at - f->leaves->at[i].name) + first.len;
            if (found && end >= f->root.len)
                break;
            path = after(path, first);
            if (path.len == 0 || !(is(first, "opt_state") || is(first, "opt_states") ||
                                   is(first, "optimizer_state") || is(first, "optimizer_states")))
                continue;
            f->root = (struct piece){f->leaves->at[i].name, end};
            found = true;
            break;
        }
    }
    return found;
}

/* Whether the checkpoint is nothing but a state of Optax: all names are paths of its fields,
 * and there are moments among them. */
static bool is_bare_state(const struct finder *f)
{
    bool moments = false;
    for (size_t i = 0; i < f->leaves->count; i++) {
        struct piece path = {f->leaves->at[i].name, f->leaves->at[i].len}, first = component(path);
        while (piece_is_integer(first) && path.len > 0) {
            path = after(path, first);
            first = component(path);
        }
        if (path.len == 0 && f->leaves->at[i].null)
            continue;
        if (!is_field(f, first))
            return false;
        moments = moments || is_slot(f, first) || is(first, "inner_state") ||
                  is(first, "inner_states") || is(first, "inner_opt_state");
    }
    return moments;
}

/* Set `value` if every tensor of the state is a variable of NNX: its name ends in "/value". */
static void find_value(struct finder *f)
{
    static const char value[] = "/value";
    size_t len = strlen(value), found = 0;
    for (size_t i = 0; i < f->leaves->count; i++) {
        const struct optimizer_leaf *leaf = &f->leaves->at[i];
        if (leaf->null || !below(f, leaf, f->root).at)
            continue;
        if (leaf->len <= len || memcmp(leaf->name + leaf->len - len, value, len) != 0)
            return;
        found++;
    }
    f->value = found ? len : 0;
}

/* --- for which parameters ------------------------------------------------------------------------ */

/* The parameter whose name is a suffix of a path in the state: place + 1; 0: none. For
 * 0/mu/a/kernel it is a/kernel. */
static uint64_t param_in(const struct strmap *names, struct piece path)
{
    while (path.len > 0) {
        const uint64_t *at = strmap_get(names, path.at, path.len);
        if (at && *at)
            return *at;
        path = after(path, component(path));
    }
    return 0;
}

/* The subfolders of a folder, and the span of the leaves of each. */
struct folders {
    struct piece parent, at[CHILDREN_MAX];
    struct span span[CHILDREN_MAX];
    size_t count;
    bool lost; /* there are more, and one of them is a combinator or a chain */
};

/* The index of a folder; folders->count if it is not there. */
static size_t folder_called(const struct folders *folders, struct piece name)
{
    size_t k = 0;
    while (k < folders->count &&
           (folders->at[k].len != name.len || memcmp(folders->at[k].at, name.at, name.len) != 0))
        k++;
    return k;
}

/* Whether a folder that holds something of this name is a combinator or a chain. */
static bool is_inner_name(struct piece name)
{
    return name.len && (piece_is_integer(name) || is(name, "inner_state") ||
                        is(name, "inner_states") || is(name, "inner_opt_state"));
}

static void list_folders(const struct finder *f, struct piece parent, struct folders *out)
{
    out->parent = parent;
    out->count = 0;
    out->lost = false;
    struct piece last = {NULL, 0};
    size_t at = 0;
    for (size_t i = f->span.first; i < f->span.end; i++) {
        struct piece path = below(f, &f->leaves->at[i], parent), first = component(path);
        if (!path.at)
            continue;
        if (!last.at || last.len != first.len || memcmp(last.at, first.at, last.len) != 0)
            at = folder_called(out, first);
        if (at == CHILDREN_MAX) {
            out->lost |= is_inner_name(component(after(path, first)));
            continue;
        }
        if (at == out->count) {
            out->at[at] = first;
            out->span[out->count++].first = i;
        }
        out->span[at].end = i + 1;
        last = first;
    }
}

/* parent/child; at NULL: out of memory. Either may be empty. */
static struct piece state_layout_join(const struct finder *f, struct piece parent,
                                      struct piece child)
{
    if (parent.len == 0 || child.len == 0)
        return child.len ? child : parent;
    /* Copy: the two need not be adjacent parts of one leaf's name. */
    char *path = arena_room(f->arena, parent.len + child.len + 2);
    if (!path)
        return (struct piece){NULL, 0};
    memcpy(path, parent.at, parent.len);
    path[parent.len] = '/';
    memcpy(path + parent.len + 1, child.at, child.len);
    path[parent.len + 1 + child.len] = 0;
    return (struct piece){path, parent.len + 1 + child.len};
}

/* Collect the names below a folder, without the state's own. */
static bool map_names(const struct finder *f, struct piece folder, struct strmap *names)
{
    bool added;
    for (size_t i = 0; i < f->leaves->count; i++) {
        const struct optimizer_leaf *leaf = &f->leaves->at[i];
        struct piece name = below(f, leaf, folder);
        if (leaf->null || !name.at || (f->root.len && below(f, leaf, f->root).at))
            continue;
        uint64_t *at = strmap_add(names, name.at, name.len, &added);
        if (!at)
            return false;
        *at = i + 1;
    }
    return true;
}

/* Among a sample of the state's leaves, count those that belong to a parameter in the folder. */
static bool count_hits(const struct finder *f, struct piece folder, size_t *hits)
{
    struct strmap names = {0};
    bool fine = map_names(f, folder, &names);
    *hits = 0;
    for (size_t i = 0, seen = 0; fine && i < f->leaves->count && seen < SAMPLE; i++) {
        struct piece path = below(f, &f->leaves->at[i], f->root);
        seen += path.at != NULL;
        *hits += path.at && param_in(&names, path) != 0;
    }
    strmap_release(&names);
    return fine;
}

/* The folder that contains a path; "" at the top. */
static struct piece folder_of(struct piece path)
{
    while (path.len > 0 && path.at[path.len - 1] != '/')
        path.len--;
    path.len -= path.len > 0;
    return path;
}

static bool find_folder(const struct finder *f, struct piece *folder, bool *found)
{
    struct folders folders;
    struct piece parent = folder_of(f->root);
    list_folders(f, parent, &folders);
    size_t best = 0;
    *found = false;
    for (size_t k = 0; k <= folders.count; k++) {
        struct piece none = {"", 0}, one = k < folders.count ? folders.at[k] : none;
        struct piece path = state_layout_join(f, parent, one);
        size_t hits;
        if (!path.at || !count_hits(f, path, &hits))
            return false;
        if (hits > best) {
            best = hits;
            *folder = path;
            *found = true;
        }
    }
    return true;
}

static bool add_param(struct finder *f, struct piece name, const struct optimizer_leaf *leaf)
{
    bool added;
    const char *kept;
    uint64_t *at = strmap_keep(&f->names, f->arena, name.at, name.len, &kept, &added);
    if (!at ||
        (added && !optimizer_add_param(&f->params, name.at, name.len, leaf->shape, leaf->dtype)))
        return false;
    *at = added ? f->params.count : *at;
    return true;
}

/* Take the parameters from the names and shapes of the moments: the state is stored alone, or
 * parameters have other names. */
static bool params_of_state(struct finder *f)
{
    for (size_t i = 0; i < f->leaves->count; i++) {
        const struct optimizer_leaf *leaf = &f->leaves->at[i];
        struct piece path = below(f, leaf, f->root);
        while (path.at && path.len > 0 && !is_slot(f, component(path)))
            path = after(path, component(path));
        if (!path.at || leaf->null || path.len == 0)
            continue;
        path = after(path, component(path));
        if (path.len > 0 && !add_param(f, path, leaf))
            return false;
    }
    return true;
}

/* JAX's order: the keys of a tree, sorted level by level. */
static int in_order(const void *a, const void *b)
{
    const struct optimizer_param *x = a, *y = b;
    for (size_t i = 0; i < x->len && i < y->len; i++) {
        int c = x->name[i] == '/' ? 1 : (unsigned char)x->name[i];
        int d = y->name[i] == '/' ? 1 : (unsigned char)y->name[i];
        if (c != d)
            return c - d;
    }
    return (x->len > y->len) - (x->len < y->len);
}

/* The state has counters only: the parameters are in the usual folder. */
static struct piece usual_folder(const struct finder *f, struct piece parent)
{
    static const char *const usual[] = {"params", "target", "model"};
    for (size_t k = 0; k < sizeof(usual) / sizeof(usual[0]); k++) {
        struct folders in;
        struct piece path =
            state_layout_join(f, parent, (struct piece){usual[k], strlen(usual[k])});
        if (!path.at)
            return path;
        list_folders(f, path, &in);
        if (in.count)
            return path;
    }
    return parent;
}

static bool take_params(struct finder *f, struct piece folder)
{
    for (size_t i = 0; i < f->leaves->count; i++) {
        const struct optimizer_leaf *leaf = &f->leaves->at[i];
        struct piece name = below(f, leaf, folder);
        bool state = f->root.len == 0 || below(f, leaf, f->root).at != NULL;
        if (!leaf->null && name.at && !state && !is(name, "step") && !add_param(f, name, leaf))
            return false;
    }
    return true;
}

static bool find_params(struct finder *f)
{
    struct piece folder;
    bool found;
    if (!find_folder(f, &folder, &found) || (found && !take_params(f, folder)) ||
        (f->params.count == 0 && !params_of_state(f)))
        return false;
    if (f->params.count == 0) {
        folder = usual_folder(f, folder_of(f->root));
        if (!folder.at || !take_params(f, folder))
            return false;
    }
    if (f->params.count)
        qsort(f->params.at, f->params.count, sizeof(*f->params.at), in_order);
    strmap_release(&f->names);
    for (size_t i = 0; i < f->params.count; i++) {
        bool added;
        uint64_t *at = strmap_add(&f->names, f->params.at[i].name, f->params.at[i].len, &added);
        if (!at)
            return false;
        *at = i + 1;
    }
    return true;
}

/* --- places ---------------------------------------------------------------------------------------- */

static struct optimizer_place *new_place(struct finder *f, struct piece root)
{
    struct optimizer_layout *l = f->out;
    struct optimizer_place *at = arena_grow(f->arena, l->at, l->count, &l->space, sizeof(*at));
    if (!at)
        return NULL;
    l->at = at;
    at += l->count;
    *at = (struct optimizer_place){.params = {.arena = f->arena}, .held = {.arena = f->arena}};
    at->params.root = arena_copy(f->arena, root.at, root.len);
    if (!at->params.root)
        return NULL;
    l->count++;
    return at;
}

/* Prefix a path with '/', as row names begin if the root is "": "" + "/0/mu". */
static const char *with_slash(const struct finder *f, struct piece path, size_t *len)
{
    char *name = arena_room(f->arena, path.len + 2);
    if (!name)
        return NULL;
    name[0] = '/';
    memcpy(name + 1, path.at, path.len);
    name[path.len + 1] = 0;
    *len = path.len + 1;
    return name;
}

static bool is_one_of(const struct folders *folders, struct piece name)
{
    return folder_called(folders, name) < folders->count;
}

/* Whether a null leaf is an empty tuple, which Orbax and Flax save as null: Optax's EmptyState,
 * of a link without state, or (inside a slot, if there is a mask) its MaskedNode. */
static bool is_empty_tuple(const struct finder *f, const struct optimizer_leaf *leaf,
                           struct piece path, bool masked)
{
    bool moments = false;
    for (; path.len && !moments; path = after(path, component(path)))
        moments = is_slot(f, component(path));
    return leaf->null && (masked || !moments);
}

/* Add the leaves below `root`, except for those in the folders `without`, under their full
 * names; met[i] is set if one of them belongs to parameter i. */
static bool take_leaves(struct finder *f, struct optimizer_place *place, struct piece root,
                        const struct folders *without, bool masked, bool *met)
{
    for (size_t i = f->span.first; i < f->span.end; i++) {
        struct optimizer_leaf leaf = f->leaves->at[i];
        struct piece path = below(f, &leaf, root);
        if (!path.at || (without && is_one_of(without, component(path))) ||
            is_empty_tuple(f, &leaf, path, masked))
            continue;
        uint64_t param = param_in(&f->names, path);
        if (param)
            met[param - 1] = true;
        leaf.len = (size_t)(path.at - leaf.name) + path.len;
        if (root.len == 0 && !(leaf.name = with_slash(f, path, &leaf.len)))
            return false;
        if (!optimizer_add_leaf(&place->held, &leaf))
            return false;
    }
    return true;
}

static bool add_place(struct finder *f, struct piece root, const struct folders *without,
                      bool filtered)
{
    struct optimizer_place *place = new_place(f, root);
    bool *met = arena_array(f->arena, f->params.count + 1, sizeof(*met));
    if (!place || !met || !take_leaves(f, place, root, without, filtered, met))
        return false;
    if (!place->held.count) { /* only empty states, which identify nothing */
        f->out->count--;
        return true;
    }
    for (size_t i = 0; i < f->params.count; i++) {
        const struct optimizer_param *p = &f->params.at[i];
        if ((!filtered || met[i]) &&
            !optimizer_add_param(&place->params, p->name, p->len, p->shape ? p->shape->text : NULL,
                                 p->dtype))
            return false;
    }
    return true;
}

/* Add a place that says that not all states in a folder are looked at. */
static bool add_refused(struct finder *f, struct piece folder)
{
    struct optimizer_place *place = new_place(f, folder);
    if (place)
        place->error = TOO_MANY;
    return place != NULL;
}

static bool state_layout_has(const struct finder *f, struct piece folder, const char *name)
{
    for (size_t i = f->span.first; i < f->span.end; i++) {
        struct piece path = below(f, &f->leaves->at[i], folder);
        if (path.at && is(component(path), name))
            return true;
    }
    return false;
}

/* Whether the folder holds a combinator or a chain, rather than the state of one transformation. */
static bool is_inner(const struct finder *f, struct piece folder)
{
    for (size_t i = f->span.first; i < f->span.end; i++) {
        struct piece path = below(f, &f->leaves->at[i], folder);
        if (path.at && is_inner_name(component(path)))
            return true;
    }
    return false;
}

static bool state_layout_visit(struct finder *f, struct piece folder, bool filtered,
                               unsigned depth);

/* Visit the state of each label of a multi_transform. */
static bool visit_labels(struct finder *f, struct piece folder, unsigned depth)
{
    const struct span all = f->span;
    struct folders labels;
    bool good = true;
    list_folders(f, folder, &labels);
    if (labels.lost)
        good = add_refused(f, folder);
    for (size_t i = 0; good && i < labels.count; i++) {
        struct piece label = state_layout_join(f, folder, labels.at[i]);
        struct piece inner = state_layout_join(f, label, (struct piece){"inner_state", 11});
        f->span = labels.span[i];
        good = label.at && inner.at && state_layout_visit(f, inner, true, depth);
    }
    f->span = all;
    return good;
}

/* Visit those links of a chain that are chains or combinators themselves, and list them in
 * *found. */
static bool visit_links(struct finder *f, const struct folders *links, bool filtered,
                        unsigned depth, struct folders *found)
{
    const struct span all = f->span;
    bool good = true;
    found->count = 0;
    for (size_t i = 0; good && i < links->count; i++) {
        struct piece link = state_layout_join(f, links->parent, links->at[i]);
        f->span = links->span[i];
        good = link.at != NULL;
        if (!good || is_slot(f, links->at[i]) || !is_inner(f, link))
            continue;
        found->at[found->count++] = links->at[i];
        good = state_layout_visit(f, link, filtered, depth);
    }
    f->span = all;
    return good;
}

/* Whether a folder has moments outside its subfolders `links`. */
static bool holds_more(const struct finder *f, struct piece folder, const struct folders *links)
{
    for (size_t i = f->span.first; i < f->span.end; i++) {
        struct piece path = below(f, &f->leaves->at[i], folder);
        if (f->leaves->at[i].null || !path.at || is_one_of(links, component(path)))
            continue;
        for (; path.len; path = after(path, component(path)))
            if (is_slot(f, component(path)))
                return true;
    }
    return false;
}

static bool state_layout_visit(struct finder *f, struct piece folder, bool filtered, unsigned depth)
{
    struct folders in;
    list_folders(f, folder, &in);
    struct piece inner = {NULL, 0};
    if (in.count == 0)
        return true;
    if (in.lost)
        return add_refused(f, folder);
    if (depth > DEPTH_MAX)
        return add_place(f, folder, NULL, filtered);
    if (state_layout_has(f, folder, "inner_states"))
        inner = state_layout_join(f, folder, (struct piece){"inner_states", 12});
    else if (state_layout_has(f, folder, "inner_opt_state"))
        inner = state_layout_join(f, folder, (struct piece){"inner_opt_state", 15});
    else if (state_layout_has(f, folder, "inner_state"))
        inner = state_layout_join(f, folder, (struct piece){"inner_state", 11});
    if (state_layout_has(f, folder, "inner_states"))
        return inner.at && visit_labels(f, inner, depth + 1);
    if (inner.at)
        return state_layout_visit(
            f, inner, filtered || !state_layout_has(f, folder, "inner_opt_state"), depth + 1);
    struct folders links;
    if (!visit_links(f, &in, filtered, depth + 1, &links))
        return false;
    return (links.count && !holds_more(f, folder, &links)) ||
           add_place(f, folder, &links, filtered);
}

/* --- all ------------------------------------------------------------------------------------------- */

static bool is_t5x(const struct optimizer_held *leaves)
{
    static const char root[] = T5X_ROOT "/", step[] = "state/step";
    for (size_t i = 0; i < leaves->count; i++) {
        const struct optimizer_leaf *leaf = &leaves->at[i];
        if ((leaf->len == strlen(step) && memcmp(leaf->name, step, leaf->len) == 0) ||
            (leaf->len > strlen(root) && memcmp(leaf->name, root, strlen(root)) == 0))
            return true;
    }
    return false;
}

static bool begins(const char *name, size_t len, const char *folder)
{
    return len > strlen(folder) && memcmp(name, folder, strlen(folder)) == 0;
}

/* Whether T5X keeps parameters under target/; otherwise all tensors outside state/ are
 * parameters. */
static bool has_target(const struct optimizer_held *leaves)
{
    for (size_t i = 0; i < leaves->count; i++)
        if (begins(leaves->at[i].name, leaves->at[i].len, "target/"))
            return true;
    return false;
}

static bool add_t5x_params(struct finder *f, const struct optimizer_params *params)
{
    struct optimizer_place *place = NULL;
    const bool target = has_target(f->leaves);
    for (size_t i = 0; i < params->count; i++) {
        const struct optimizer_param *p = &params->at[i];
        if (!target && begins(p->name, p->len, "state/"))
            continue;
        if (!place && (place = new_place(f, (struct piece){"", 0})))
            place->params.root = NULL;
        if (!place || !optimizer_add_param(&place->params, p->name, p->len,
                                           p->shape ? p->shape->text : NULL, p->dtype))
            return false;
    }
    return true;
}

static bool add_t5x(struct finder *f, const struct optimizer_params *params)
{
    if (!add_t5x_params(f, params))
        return false;
    for (size_t i = 0; f->out->count && i < f->leaves->count; i++) {
        const struct optimizer_leaf *leaf = &f->leaves->at[i];
        if (begins(leaf->name, leaf->len, "state/") && !optimizer_add_leaf(&f->out->at->held, leaf))
            return false;
    }
    return true;
}

enum status optimizer_find_layout(const struct optimizer_held *leaves,
                                  const struct optimizer_params *t5x_params,
                                  const struct optimizer_tables *tables,
                                  struct optimizer_layout *out, struct error *err)
{
    struct finder f = {.leaves = leaves,
                       .tables = tables,
                       .out = out,
                       .arena = out->arena,
                       .root = {"", 0},
                       .params = {.arena = out->arena},
                       .span = {0, leaves->count}};
    bool fine = true;
    if (is_t5x(leaves)) {
        fine = add_t5x(&f, t5x_params);
    } else if (find_named_root(&f) || (leaves->count && is_bare_state(&f))) {
        find_value(&f);
        fine = find_params(&f) && (!f.params.count || state_layout_visit(&f, f.root, false, 0));
    }
    strmap_release(&f.names);
    optimizer_release_params(&f.params);
    return fine ? OK : error_memory(err);
}

void optimizer_release_layout(struct optimizer_layout *l)
{
    for (size_t i = 0; i < l->count; i++) {
        optimizer_release_params(&l->at[i].params);
        optimizer_release_held(&l->at[i].held);
    }
    *l = (struct optimizer_layout){.arena = l->arena};
}
