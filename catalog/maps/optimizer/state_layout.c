/* state_layout.c - see layout.h. */
#include "catalog/maps/optimizer/state_layout.h"

#include <stdlib.h>
#include <string.h>

#include "catalog/maps/optimizer/piece.h"

#define LINKS_MAX 256 /* of a chain, each for all parameters; and folders that may be theirs */
#define TOO_MANY  "a chain of more than 256 states, which is not looked at"
#define SAMPLE    1000 /* leaves of the state used to find the folder of parameters */
#define DEPTH_MAX 16   /* nesting of combinators */

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
    size_t *met;                    /* by parameter: the place that last met it, counted from 1 */
    size_t places;                  /* begun so far */
};

static bool failed(const struct finder *f)
{
    return f->arena->err->status != OK;
}

/* Whether it is a slot with one value per parameter, such as "mu". */
static bool is_slot(const struct finder *f, struct piece p)
{
    return piece_is_slot(p, f->tables, "param");
}

/* Whether it is a field of a combinator's or transformation's state. */
static bool is_field(const struct finder *f, struct piece p)
{
    static const char *const more[] = {"inner_state", "inner_states", "inner_opt_state",
                                       "hyperparams", "hyperparams_states"};
    for (size_t i = 0; i < sizeof(more) / sizeof(more[0]); i++)
        if (piece_is(p, more[i]))
            return true;
    return piece_is_slot(p, f->tables, NULL);
}

/* The rest of a leaf's name below `folder`, without "/value"; at NULL: the leaf is not in it. */
static struct piece below(const struct finder *f, const struct optimizer_leaf *leaf,
                          struct piece folder)
{
    struct piece name = {leaf->name, leaf->len};
    if (!leaf->null && f->value && name.len > f->value &&
        memcmp(name.at + name.len - f->value, "/value", f->value) == 0)
        name.len -= f->value;
    return folder.len ? piece_below(name, folder) : name;
}

/* --- where the state is ------------------------------------------------------------------------ */

/* Find the topmost folder that has a name which Flax, Orbax or NNX give to optimizer state. */
static bool find_named_root(struct finder *f)
{
    bool found = false;
    for (size_t i = 0; i < f->leaves->count; i++) {
        struct piece path = {f->leaves->at[i].name, f->leaves->at[i].len};
        while (path.len > 0) {
            struct piece first = piece_first(path);
            size_t end = (size_t)(first.at - f->leaves->at[i].name) + first.len;
            if (found && end >= f->root.len)
                break;
            path = piece_after(path, first);
            if (path.len == 0 ||
                !(piece_is(first, "opt_state") || piece_is(first, "opt_states") ||
                  piece_is(first, "optimizer_state") || piece_is(first, "optimizer_states")))
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
        struct piece path = {f->leaves->at[i].name, f->leaves->at[i].len},
                     first = piece_first(path);
        while (piece_is_number(first) && path.len > 0) {
            path = piece_after(path, first);
            first = piece_first(path);
        }
        if (path.len == 0 && f->leaves->at[i].null)
            continue;
        if (!is_field(f, first))
            return false;
        moments = moments || is_slot(f, first) || piece_is(first, "inner_state") ||
                  piece_is(first, "inner_states") || piece_is(first, "inner_opt_state");
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
        path = piece_after(path, piece_first(path));
    }
    return 0;
}

struct folder {
    struct piece name;
    struct span span; /* of its leaves */
};

/* The subfolders of a folder. */
struct folders {
    struct piece parent;
    struct folder *at;
    size_t count, space;
    bool many; /* one after the first LINKS_MAX is a combinator or a chain */
};

/* Whether a folder that holds something of this name is a combinator or a chain. */
static bool is_inner_name(struct piece name)
{
    return name.len && (piece_is_number(name) || piece_is(name, "inner_state") ||
                        piece_is(name, "inner_states") || piece_is(name, "inner_opt_state"));
}

static void list_folders(const struct finder *f, struct piece parent, struct folders *out)
{
    struct strmap names = {.err = f->arena->err}; /* to index */
    *out = (struct folders){.parent = parent};
    struct piece last = {NULL, 0};
    size_t at = 0;
    bool added;
    for (size_t i = f->span.first; i < f->span.end && !failed(f); i++) {
        struct piece path = below(f, &f->leaves->at[i], parent), first = piece_first(path);
        if (!path.at)
            continue;
        if (!last.at || !piece_same(last, first)) {
            uint64_t *known = strmap_add(&names, first.at, first.len, &added);
            if (added) {
                *known = out->count;
                *PUSH(f->arena, out->at, out->count, out->space) =
                    (struct folder){first, {i, i + 1}};
            }
            at = *known;
            last = first;
        }
        if (at >= out->count) /* no memory */
            break;
        out->at[at].span.end = i + 1;
        out->many |= at >= LINKS_MAX && is_inner_name(piece_first(piece_after(path, first)));
    }
    strmap_release(&names);
}

/* parent/child; at NULL after a failure. Either may be empty. */
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

/* Among a sample of the state's leaves, count those that belong to a parameter in the folder. */
static size_t count_hits(const struct finder *f, struct piece folder)
{
    struct strmap names = {.err = f->arena->err};
    size_t hits = 0;
    /* Collect the names below a folder, without the state's own. */
    bool added;
    for (size_t i = 0; i < f->leaves->count; i++) {
        const struct optimizer_leaf *leaf = &f->leaves->at[i];
        struct piece name = below(f, leaf, folder);
        if (!leaf->null && name.at && !(f->root.len && below(f, leaf, f->root).at))
            *strmap_add(&names, name.at, name.len, &added) = i + 1;
    }
    for (size_t i = 0, seen = 0; i < f->leaves->count && seen < SAMPLE; i++) {
        struct piece path = below(f, &f->leaves->at[i], f->root);
        seen += path.at != NULL;
        hits += path.at && param_in(&names, path) != 0;
    }
    strmap_release(&names);
    return hits;
}

/* The folder that contains a path; "" at the top. */
static struct piece folder_of(struct piece path)
{
    while (path.len > 0 && path.at[path.len - 1] != '/')
        path.len--;
    path.len -= path.len > 0;
    return path;
}

/* The folder next to the state's that holds its parameters; at NULL: there is none. */
static struct piece find_folder(const struct finder *f)
{
    struct folders folders;
    struct piece found = {NULL, 0}, parent = folder_of(f->root);
    list_folders(f, parent, &folders);
    size_t best = 0;
    const size_t count = folders.count < LINKS_MAX ? folders.count : LINKS_MAX;
    for (size_t k = 0; k <= count && !failed(f); k++) {
        struct piece none = {"", 0}, one = k < count ? folders.at[k].name : none;
        struct piece path = state_layout_join(f, parent, one);
        const size_t hits = count_hits(f, path);
        if (hits > best) {
            best = hits;
            found = path;
        }
    }
    return found;
}

static void add_param(struct finder *f, struct piece name, const struct optimizer_leaf *leaf)
{
    bool added;
    const char *kept;
    uint64_t *at = strmap_keep(&f->names, f->arena, name.at, name.len, &kept, &added);
    if (!added)
        return;
    optimizer_add_param(&f->params, name.at, name.len, leaf->shape, leaf->dtype);
    *at = f->params.count;
}

/* Take the parameters from the names and shapes of the moments: the state is stored alone, or
 * parameters have other names. */
static void params_of_state(struct finder *f)
{
    for (size_t i = 0; i < f->leaves->count; i++) {
        const struct optimizer_leaf *leaf = &f->leaves->at[i];
        struct piece path = below(f, leaf, f->root);
        while (path.at && path.len > 0 && !is_slot(f, piece_first(path)))
            path = piece_after(path, piece_first(path));
        if (!path.at || leaf->null || path.len == 0)
            continue;
        path = piece_after(path, piece_first(path));
        if (path.len > 0)
            add_param(f, path, leaf);
    }
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
        list_folders(f, path, &in);
        if (in.count)
            return path;
    }
    return parent;
}

static void take_params(struct finder *f, struct piece folder)
{
    for (size_t i = 0; i < f->leaves->count; i++) {
        const struct optimizer_leaf *leaf = &f->leaves->at[i];
        struct piece name = below(f, leaf, folder);
        bool state = f->root.len == 0 || below(f, leaf, f->root).at != NULL;
        if (!leaf->null && name.at && !state && !piece_is(name, "step"))
            add_param(f, name, leaf);
    }
}

/* --- places ---------------------------------------------------------------------------------------- */

static struct optimizer_place new_place(const struct finder *f, struct piece root)
{
    return (struct optimizer_place){
        .params = {.arena = f->arena, .root = arena_copy(f->arena, root.at, root.len)},
        .held = {.arena = f->arena}};
}

static void release_place(struct optimizer_place *p)
{
    optimizer_release_params(&p->params);
    optimizer_release_held(&p->held);
}

static void keep_place(struct finder *f, struct optimizer_place place)
{
    struct optimizer_layout *l = f->out;
    const size_t before = l->count;
    *PUSH(f->arena, l->at, l->count, l->space) = place;
    if (l->count == before)
        release_place(&place);
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
    size_t k = 0;
    while (k < folders->count && !piece_same(folders->at[k].name, name))
        k++;
    return k < folders->count;
}

/* Whether a null leaf is an empty tuple, which Orbax and Flax save as null: Optax's EmptyState,
 * of a link without state, or (inside a slot, if there is a mask) its MaskedNode. */
static bool is_empty_tuple(const struct finder *f, const struct optimizer_leaf *leaf,
                           struct piece path, bool masked)
{
    bool moments = false;
    for (; path.len && !moments; path = piece_after(path, piece_first(path)))
        moments = is_slot(f, piece_first(path));
    return leaf->null && (masked || !moments);
}

/* Parameters that leaves of a place belong to, by their indexes. */
struct met {
    size_t *at;
    size_t count, space;
};

static int state_layout_by_index(const void *a, const void *b)
{
    const size_t x = *(const size_t *)a, y = *(const size_t *)b;
    return (x > y) - (x < y);
}

/* Add the leaves below `root`, except for those in the folders `without`, under their full
 * names, and list in *met which parameters they belong to, in order. */
static void take_leaves(struct finder *f, struct optimizer_place *place, struct piece root,
                        const struct folders *without, bool masked, struct met *met)
{
    if (!f->met && !(f->met = arena_array(f->arena, f->params.count, sizeof(*f->met))))
        return;
    f->places++;
    for (size_t i = f->span.first; i < f->span.end; i++) {
        struct optimizer_leaf leaf = f->leaves->at[i];
        struct piece path = below(f, &leaf, root);
        if (!path.at || (without && is_one_of(without, piece_first(path))) ||
            is_empty_tuple(f, &leaf, path, masked))
            continue;
        uint64_t param = param_in(&f->names, path);
        if (param && f->met[param - 1] != f->places) {
            f->met[param - 1] = f->places;
            *PUSH(f->arena, met->at, met->count, met->space) = param - 1;
        }
        leaf.len = (size_t)(path.at - leaf.name) + path.len;
        if (root.len == 0 && !(leaf.name = with_slash(f, path, &leaf.len)))
            return;
        optimizer_add_leaf(&place->held, &leaf);
    }
    if (met->count)
        qsort(met->at, met->count, sizeof(*met->at), state_layout_by_index);
}

static void add_known(struct optimizer_params *to, const struct optimizer_param *p)
{
    optimizer_add_param(to, p->name, p->len, p->shape ? p->shape->text : NULL, p->dtype);
}

static void add_place(struct finder *f, struct piece root, const struct folders *without,
                      bool filtered)
{
    struct optimizer_place place = new_place(f, root);
    struct met met = {0};
    take_leaves(f, &place, root, without, filtered, &met);
    if (!place.held.count) { /* only empty states, which identify nothing */
        release_place(&place);
        return;
    }
    const size_t count = filtered ? met.count : f->params.count;
    for (size_t i = 0; i < count && !failed(f); i++)
        add_known(&place.params, &f->params.at[filtered ? met.at[i] : i]);
    keep_place(f, place);
}

static bool state_layout_has(const struct finder *f, struct piece folder, const char *name)
{
    for (size_t i = f->span.first; i < f->span.end; i++) {
        struct piece path = below(f, &f->leaves->at[i], folder);
        if (path.at && piece_is(piece_first(path), name))
            return true;
    }
    return false;
}

/* Whether the folder holds a combinator or a chain, rather than the state of one transformation. */
static bool is_inner(const struct finder *f, struct piece folder)
{
    for (size_t i = f->span.first; i < f->span.end; i++) {
        struct piece path = below(f, &f->leaves->at[i], folder);
        if (path.at && is_inner_name(piece_first(path)))
            return true;
    }
    return false;
}

static void state_layout_visit(struct finder *f, struct piece folder, bool filtered,
                               unsigned depth);

/* Visit the state of each label of a multi_transform. */
static void visit_labels(struct finder *f, struct piece folder, unsigned depth)
{
    const struct span all = f->span;
    struct folders labels;
    list_folders(f, folder, &labels);
    for (size_t i = 0; i < labels.count && !failed(f); i++) {
        struct piece label = state_layout_join(f, folder, labels.at[i].name);
        struct piece inner = state_layout_join(f, label, (struct piece){"inner_state", 11});
        f->span = labels.at[i].span;
        state_layout_visit(f, inner, true, depth);
    }
    f->span = all;
}

/* Visit those links of a chain that are chains or combinators themselves, and list them in
 * *found. */
static void visit_links(struct finder *f, const struct folders *links, bool filtered,
                        unsigned depth, struct folders *found)
{
    const struct span all = f->span;
    *found = (struct folders){.parent = links->parent};
    for (size_t i = 0; i < links->count && !failed(f); i++) {
        struct piece link = state_layout_join(f, links->parent, links->at[i].name);
        f->span = links->at[i].span;
        if (is_slot(f, links->at[i].name) || !is_inner(f, link))
            continue;
        *PUSH(f->arena, found->at, found->count, found->space) = links->at[i];
        state_layout_visit(f, link, filtered, depth);
    }
    f->span = all;
}

/* Whether a folder has moments outside its subfolders `links`. */
static bool holds_more(const struct finder *f, struct piece folder, const struct folders *links)
{
    for (size_t i = f->span.first; i < f->span.end; i++) {
        struct piece path = below(f, &f->leaves->at[i], folder);
        if (f->leaves->at[i].null || !path.at || is_one_of(links, piece_first(path)))
            continue;
        for (; path.len; path = piece_after(path, piece_first(path)))
            if (is_slot(f, piece_first(path)))
                return true;
    }
    return false;
}

static void state_layout_visit(struct finder *f, struct piece folder, bool filtered, unsigned depth)
{
    struct folders in, links;
    list_folders(f, folder, &in);
    /* After a failure the lists mean nothing. */
    if (in.count == 0 || failed(f))
        return;
    if (in.many) { /* the states in it are not looked at */
        struct optimizer_place place = new_place(f, folder);
        place.error = TOO_MANY;
        keep_place(f, place);
    } else if (depth > DEPTH_MAX) {
        add_place(f, folder, NULL, filtered);
    } else if (state_layout_has(f, folder, "inner_states")) {
        visit_labels(f, state_layout_join(f, folder, (struct piece){"inner_states", 12}),
                     depth + 1);
    } else if (state_layout_has(f, folder, "inner_opt_state")) {
        state_layout_visit(f, state_layout_join(f, folder, (struct piece){"inner_opt_state", 15}),
                           filtered, depth + 1);
    } else if (state_layout_has(f, folder, "inner_state")) {
        state_layout_visit(f, state_layout_join(f, folder, (struct piece){"inner_state", 11}), true,
                           depth + 1);
    } else {
        visit_links(f, &in, filtered, depth + 1, &links);
        if (!links.count || holds_more(f, folder, &links))
            add_place(f, folder, &links, filtered);
    }
}

/* --- all ------------------------------------------------------------------------------------------- */

static bool is_t5x(const struct optimizer_held *leaves)
{
    static const char root[] = STATE_ROOT "/", step[] = "state/step";
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

static void add_t5x(struct finder *f, const struct optimizer_params *params)
{
    bool target =
        false; /* T5X keeps parameters there; otherwise all tensors outside state/ are some */
    for (size_t i = 0; i < f->leaves->count; i++)
        target |= begins(f->leaves->at[i].name, f->leaves->at[i].len, "target/");
    struct optimizer_place place = new_place(f, (struct piece){"", 0});
    place.params.root = NULL;
    for (size_t i = 0; i < params->count; i++)
        if (target || !begins(params->at[i].name, params->at[i].len, "state/"))
            add_known(&place.params, &params->at[i]);
    for (size_t i = 0; place.params.count && i < f->leaves->count; i++)
        if (begins(f->leaves->at[i].name, f->leaves->at[i].len, "state/"))
            optimizer_add_leaf(&place.held, &f->leaves->at[i]);
    if (place.params.count)
        keep_place(f, place);
    else
        release_place(&place);
}

enum status optimizer_find_layout(const struct optimizer_held *leaves,
                                  const struct optimizer_params *t5x_params,
                                  const struct optimizer_tables *tables,
                                  struct optimizer_layout *out)
{
    struct finder f = {.leaves = leaves,
                       .tables = tables,
                       .out = out,
                       .arena = out->arena,
                       .root = {"", 0},
                       .params = {.arena = out->arena},
                       .names.err = out->arena->err,
                       .span = {0, leaves->count}};
    if (is_t5x(leaves)) {
        add_t5x(&f, t5x_params);
    } else if (find_named_root(&f) || (leaves->count && is_bare_state(&f))) {
        find_value(&f);
        struct piece folder = find_folder(&f);
        bool added;
        if (folder.at)
            take_params(&f, folder);
        if (f.params.count == 0)
            params_of_state(&f);
        if (f.params.count == 0)
            take_params(&f, usual_folder(&f, folder_of(f.root)));
        if (f.params.count)
            qsort(f.params.at, f.params.count, sizeof(*f.params.at), in_order);
        strmap_release(&f.names);
        for (size_t i = 0; i < f.params.count; i++)
            *strmap_add(&f.names, f.params.at[i].name, f.params.at[i].len, &added) = i + 1;
        if (f.params.count)
            state_layout_visit(&f, f.root, false, 0);
    }
    strmap_release(&f.names);
    optimizer_release_params(&f.params);
    return out->arena->err->status;
}

void optimizer_release_layout(struct optimizer_layout *l)
{
    for (size_t i = 0; i < l->count; i++)
        release_place(&l->at[i]);
    *l = (struct optimizer_layout){.arena = l->arena};
}
