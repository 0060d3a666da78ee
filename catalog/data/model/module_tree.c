#include "catalog/data/model/module_tree.h"

#include <stdlib.h>
#include <string.h>

#include "catalog/base/bits.h"
#include "catalog/base/list.h"
#include "catalog/base/text.h"

#define FIRST_INDEX_MAX   16384 /* most slots that the index gets before they are needed */
#define RANGES_SHOWN      4     /* ranges of numbers in the label of a folded node */
#define MODULE_NAME_BYTES ((size_t)1 << 30)

/* Two seeds, so that a dtype and a shape of equal text have different hashes. */
#define SEED_DTYPE UINT64_C(0xA0761D6478BD642F)
#define SEED_SHAPE UINT64_C(0xE7037ED1A0B428DB)

/* The slot of the index with the child of `parent` called `name`, or the free slot for it. */
static uint32_t *module_tree_find(const struct module_tree *t, uint32_t parent, const char *name,
                                  size_t len)
{
    size_t mask = t->index_space - 1;
    size_t i = hash_bytes(name, len, hash_seed() + parent * SEED_DTYPE) & mask;
    for (; t->index[i]; i = (i + 1) & mask) {
        const struct module *m = &t->nodes[t->index[i]];
        if (m->parent == parent && m->len == len && memcmp(m->name, name, len) == 0)
            break;
    }
    return &t->index[i];
}

static bool grow_index(struct module_tree *t)
{
    if (t->index && t->count < t->index_space / 4 * 3)
        return true;
    free(t->index); /* rebuilt from the nodes below */
    t->index_space *= t->index ? 2 : 1;
    t->index = calloc(t->index_space, sizeof(*t->index));
    for (uint32_t i = 1; t->index && i < t->count; i++)
        *module_tree_find(t, t->nodes[i].parent, t->nodes[i].name, t->nodes[i].len) = i;
    return t->index != NULL;
}

bool module_tree_init(struct module_tree *t, char separator, uint64_t names)
{
    *t = (struct module_tree){.separator = separator, .index_space = 32};
    while (t->index_space / 4 < names && t->index_space < FIRST_INDEX_MAX)
        t->index_space *= 2;
    t->space = t->index_space / 2;
    t->nodes = malloc(t->space * sizeof(*t->nodes));
    t->kinds = list_grow(NULL, 0, &t->kind_space, sizeof(*t->kinds));
    if (!t->kinds || !t->nodes || !grow_index(t))
        return false;
    t->nodes[0] = (struct module){.name = ""};
    t->count = 1;
    t->kinds[0] = (struct module_kind){.dtype = "", .shape = ""};
    t->kind_count = 1;
    return true;
}

void module_tree_release(struct module_tree *t)
{
    free(t->index);
    free(t->nodes);
    free(t->kinds);
    strmap_release(&t->kind_map);
    text_release(&t->last);
    arena_release(&t->arena);
    *t = (struct module_tree){0};
}

const char *module_tree_dtype(const struct module_tree *t, const struct module *m)
{
    return t->kinds[m->kind].dtype;
}

const char *module_tree_shape(const struct module_tree *t, const struct module *m)
{
    return t->kinds[m->kind].shape;
}

/* --- building ----------------------------------------------------------------------------- */

static bool is_kind(const struct module_tree *t, uint32_t kind, const char *dtype,
                    const char *shape)
{
    const struct module_kind *k = &t->kinds[kind];
    return kind && (t->borrows ? k->shape == shape && k->dtype == dtype
                               : strcmp(k->shape, shape) == 0 && strcmp(k->dtype, dtype) == 0);
}

/* Both texts as one key: "float32\0[2,3]". */
static const char *pair_key(struct text *out, const char *dtype, const char *shape)
{
    text_reset(out);
    text_add(out, dtype, strlen(dtype) + 1);
    text_adds(out, shape);
    return text_str(out);
}

static uint32_t add_kind(struct module_tree *t, const char *dtype, const char *shape)
{
    struct module_kind *kinds = list_grow(t->kinds, t->kind_count, &t->kind_space, sizeof(*kinds));
    t->kinds = kinds ? kinds : t->kinds;
    struct text pair = {0};
    bool added = false;
    const char *kept, *key = kinds ? pair_key(&pair, dtype, shape) : NULL;
    uint64_t *at = key ? strmap_keep(&t->kind_map, &t->arena, key, pair.len, &kept, &added) : NULL;
    if (at && added) {
        *at = t->kind_count++;
        kinds[*at] = (struct module_kind){
            .dtype = t->borrows ? dtype : kept,
            .shape = t->borrows ? shape : kept + strlen(kept) + 1,
            .hash = hash_bytes(dtype, strlen(dtype), SEED_DTYPE) +
                    hash_bytes(shape, strlen(shape), SEED_SHAPE),
        };
    }
    text_release(&pair);
    return at ? (uint32_t)*at : 0;
}

/* Append a child to `parent`; `found` is its free slot of the index. */
static uint32_t new_child(struct module_tree *t, uint32_t parent, uint32_t *found, const char *name,
                          size_t len)
{
    struct module *nodes = t->nodes;
    uint32_t at = t->count++;
    *found = at;
    nodes[at] = (struct module){.name = name, .len = (uint32_t)len, .parent = parent};
    if (nodes[parent].last)
        nodes[nodes[parent].last].next = at;
    else
        nodes[parent].first = at;
    nodes[parent].last = at;
    return at;
}

/* How many leading modules this name shares with the previous one: 2 for a.b.w after a.b.c.w. */
static unsigned shared_modules(const struct module_tree *t, const char *name, size_t len)
{
    unsigned depth = 0;
    len = len < t->last.len ? len : t->last.len;
    const size_t same = len ? bytes_in_common(t->last.at, name, len) : 0;
    while (depth < t->last_depth && t->last_end[depth] < same)
        depth++;
    return depth;
}

/* The node of a name, created with the modules above it where they are missing; 0 without
 * memory. Once a component is new all that follow are, so only the rest of the name from there
 * is copied. */
static uint32_t node_of(struct module_tree *t, const char *name, size_t len)
{
    unsigned depth = shared_modules(t, name, len);
    uint32_t node = depth ? t->last_node[depth - 1] : 0;
    size_t begin = depth ? t->last_end[depth - 1] + 1 : 0, from = 0;
    const char *own = t->borrows ? name : NULL; /* text that lasts: name + from, or a copy */
    for (; depth < MODULE_DEPTH; depth++) {
        const char *found =
            depth + 1 < MODULE_DEPTH ? memchr(name + begin, t->separator, len - begin) : NULL;
        size_t end = found ? (size_t)(found - name) : len;
        struct module *nodes = list_grow(t->nodes, t->count, &t->space, sizeof(*nodes));
        t->nodes = nodes ? nodes : t->nodes;
        const bool room = nodes && t->count < UINT32_MAX && grow_index(t);
        uint32_t *child = room ? module_tree_find(t, node, name + begin, end - begin) : NULL;
        if (child && !*child && !own) {
            from = begin;
            own = arena_copy(&t->arena, name + begin, len - begin);
        }
        if (!child || (!*child && !own))
            return 0;
        node = *child ? *child : new_child(t, node, child, own + (begin - from), end - begin);
        if (!found)
            break;
        t->last_end[depth] = (uint32_t)end;
        t->last_node[depth] = node;
        begin = end + 1;
    }
    t->last_depth = depth < MODULE_DEPTH ? depth : MODULE_DEPTH - 1;
    return node;
}

bool module_tree_add(struct module_tree *t, const char *name, const char *dtype, const char *shape,
                     uint64_t parameters, uint64_t nbytes)
{
    size_t len = strlen(name);
    /* The position of a kind in kinds[]; 0 without memory. Models have few kinds, and neighbouring
     * tensors often have the same: a small cache saves most look-ups. */
    uint32_t *near =
        t->borrows ? &t->kind_near[(uintptr_t)shape / 16 % MODULE_KINDS_NEAR] : &t->kind_last;
    if (!is_kind(t, *near, dtype, shape))
        *near = add_kind(t, dtype, shape);
    uint32_t kind = *near;
    uint32_t node = kind && len < MODULE_NAME_BYTES ? node_of(t, name, len) : 0;
    text_reset(&t->last);
    if (!node || !text_add(&t->last, name, len))
        return false;
    struct module *m = &t->nodes[node];
    m->kind = kind;
    m->tensors++;
    m->parameters += parameters;
    m->nbytes += nbytes;
    return true;
}

/* --- folding ------------------------------------------------------------------------------ */

/* The last run of digits in a name, without leading zeros; false without digits, or with more than
 * 18, which could overflow. */
static bool find_number(const char *name, size_t len, size_t *begin, size_t *end)
{
    size_t e = len;
    while (e > 0 && (name[e - 1] < '0' || name[e - 1] > '9'))
        e--;
    size_t b = e;
    while (b > 0 && name[b - 1] >= '0' && name[b - 1] <= '9')
        b--;
    while (b + 1 < e && name[b] == '0')
        b++;
    *begin = b;
    *end = e;
    return e > b && e - b <= 18;
}

struct folding {
    struct module_tree *tree;
    struct strmap groups; /* from fold_key() to the first node of the group */
    struct text key;
};

/* The key that siblings share if they can be folded: parent, content, and the name without its
 * number at [begin, end). */
static bool fold_key(struct text *key, const struct module *m, size_t begin, size_t end)
{
    text_reset(key);
    text_add(key, &m->parent, sizeof(m->parent));
    text_add(key, &m->hash, sizeof(m->hash));
    text_add(key, m->name, begin);
    text_addc(key, '\0');
    text_add(key, m->name + end, m->len - end);
    return text_str(key) != NULL;
}

static bool fold(struct folding *f, uint32_t at)
{
    struct module_tree *t = f->tree;
    struct module *m = &t->nodes[at];
    const struct module *parent = &t->nodes[m->parent];
    size_t begin, end;
    const char *kept;
    bool added;
    m->hidden = parent->hidden || parent->folded;
    if (m->hidden || !find_number(m->name, m->len, &begin, &end))
        return true;
    uint64_t *leader =
        fold_key(&f->key, m, begin, end)
            ? strmap_keep(&f->groups, &t->arena, f->key.at, f->key.len, &kept, &added)
            : NULL;
    if (!leader)
        return false;
    if (added) {
        *leader = at;
        return true;
    }
    struct module *first = &t->nodes[*leader];
    m->folded = true;
    m->leader = (uint32_t)*leader;
    m->like = first->like;
    first->like = at;
    first->copies++;
    return true;
}

/* The number in the name of a node; the node must have one. */
static uint64_t module_tree_number_of(const struct module *m)
{
    size_t begin, end;
    uint64_t number = 0;
    find_number(m->name, m->len, &begin, &end);
    for (size_t i = begin; i < end; i++)
        number = number * 10 + (uint64_t)(m->name[i] - '0');
    return number;
}

static int compare_numbers(const void *a, const void *b)
{
    const uint64_t *x = a, *y = b;
    return (*x > *y) - (*x < *y);
}

/* "layers.{0..11}": the numbers of all nodes that are folded into this one. */
static bool label_group(const struct module_tree *t, const struct module *m, struct text *label)
{
    uint64_t *numbers = calloc(m->copies, sizeof(*numbers));
    size_t count = 0, begin, end;
    if (!numbers)
        return false;
    numbers[count++] = module_tree_number_of(m);
    for (uint32_t i = m->like; i; i = t->nodes[i].like)
        numbers[count++] = module_tree_number_of(&t->nodes[i]);
    qsort(numbers, count, sizeof(*numbers), compare_numbers);
    find_number(m->name, m->len, &begin, &end);
    text_add(label, m->name, begin);
    text_addc(label, '{');
    /* "0..31", "0..3,7,9..11" or, if there are more than RANGES_SHOWN, "0,2,4,6,...,30". */
    size_t shown = 0;
    for (size_t i = 0; i < count;) {
        size_t k = i + 1;
        while (k < count && numbers[k] == numbers[k - 1] + 1)
            k++;
        if (++shown <= RANGES_SHOWN || k == count) {
            text_adds(label, i == 0 ? "" : shown > RANGES_SHOWN + 1 ? ",...," : ",");
            text_addf(label, "%llu", (unsigned long long)numbers[i]);
            if (k - i > 1)
                text_addf(label, "%s%llu", k - i > 2 ? ".." : ",",
                          (unsigned long long)numbers[k - 1]);
        }
        i = k;
    }
    text_addc(label, '}');
    free(numbers);
    return text_add(label, m->name + end, m->len - end);
}

static bool add_label(const struct module_tree *t, uint32_t node, struct text *label)
{
    const struct module *m = &t->nodes[node];
    return m->copies > 1 ? label_group(t, m, label) : text_add(label, m->name, m->len);
}

/* Multiply the sums of a node by the number of modules it represents: a child in layers.{0..11} by
 * 12. Parents come first, so that each child finds its parent's factor. */
static void finish_node(struct module_tree *t, struct module *m)
{
    if (m->hidden || m->folded)
        return;
    m->times = t->nodes[m->parent].times * m->copies;
    m->tensors *= (uint32_t)m->times;
    m->parameters *= m->times;
    m->nbytes *= m->times;
}

bool module_tree_finish(struct module_tree *t)
{
    struct folding f = {.tree = t};
    bool good = true;
    /* Children come after their parents in nodes[], so one backward pass adds everything up. A sum
     * makes the hash independent of the children's order: two equal layers may be stored in
     * different orders. */
    for (uint32_t i = t->count; i-- > 1;) {
        struct module *m = &t->nodes[i], *parent = &t->nodes[m->parent];
        m->hash += t->kinds[m->kind].hash;
        m->like = 0; /* from here on the union holds this instead of `last` */
        m->copies = 1;
        parent->tensors += m->tensors;
        parent->parameters += m->parameters;
        parent->nbytes += m->nbytes;
        parent->hash += hash_bytes(m->name, m->len, m->hash ^ SEED_DTYPE);
    }
    for (uint32_t i = 1; i < t->count && good; i++)
        good = fold(&f, i);
    strmap_release(&f.groups);
    text_release(&f.key);
    t->nodes[0].times = t->nodes[0].copies = 1;
    for (uint32_t i = 1; i < t->count; i++)
        finish_node(t, &t->nodes[i]);
    return good;
}

/* Follow the name from the root; where a module is folded, continue in the one it is folded
 * into. */
uint32_t module_tree_shown(const struct module_tree *t, const char *name)
{
    uint32_t node = 0;
    for (unsigned depth = 0; depth < MODULE_DEPTH; depth++) {
        const char *found = depth + 1 < MODULE_DEPTH ? strchr(name, t->separator) : NULL;
        node = *module_tree_find(t, node, name, found ? (size_t)(found - name) : strlen(name));
        if (node && t->nodes[node].folded)
            node = t->nodes[node].leader;
        if (!node || !found)
            break;
        name = found + 1;
    }
    return node;
}

/* --- visiting ----------------------------------------------------------------------------- */

struct walk {
    struct module_tree *tree;
    struct text label, path;
    size_t path_end[MODULE_DEPTH + 2]; /* length of `path` at each depth */
    uint32_t at[MODULE_DEPTH + 2];     /* next node to visit, by depth */
    bool rail[MODULE_DEPTH + 2];
    unsigned depth;
    bool apart;  /* do not join a node with its only child */
    bool failed; /* no memory for a label */
};

static uint32_t skip_folded(const struct module_tree *t, uint32_t node)
{
    while (node && t->nodes[node].folded)
        node = t->nodes[node].next;
    return node;
}

/* Write the label of a node, joined with its child while that is the only one and the node is not a
 * tensor itself: "a.b.c". Returns the last node. */
static uint32_t module_tree_join(struct walk *w, uint32_t node)
{
    const struct module_tree *t = w->tree;
    text_reset(&w->label);
    w->failed |= !add_label(t, node, &w->label);
    while (!w->apart && !t->nodes[node].kind) {
        const uint32_t child = skip_folded(t, t->nodes[node].first);
        if (!child || skip_folded(t, t->nodes[child].next))
            break;
        node = child;
        text_addc(&w->label, t->separator);
        w->failed |= !add_label(t, node, &w->label);
    }
    return node;
}

/* Fill *visit with the next node; false at the end, or after a failure. */
static bool module_tree_step(struct walk *w, struct module_visit *visit)
{
    const struct module_tree *t = w->tree;
    while (w->depth > 0 && !w->at[w->depth])
        w->depth--;
    if (w->depth == 0)
        return false;
    unsigned depth = w->depth;
    uint32_t node = w->at[depth];
    w->at[depth] = skip_folded(t, t->nodes[node].next);
    w->rail[depth - 1] = w->at[depth] != 0;
    node = module_tree_join(w, node);
    w->path.len = w->path_end[depth - 1];
    if (depth > 1)
        text_addc(&w->path, t->separator);
    text_add(&w->path, w->label.at ? w->label.at : "", w->label.len);
    w->path_end[depth] = w->path.len;
    *visit = (struct module_visit){.node = node, .depth = depth, .rail = w->rail};
    visit->label = text_str(&w->label);
    visit->path = text_str(&w->path);
    w->at[++w->depth] = skip_folded(t, t->nodes[node].first);
    return visit->label && visit->path && !w->failed;
}

static bool walk_end(struct walk *w)
{
    const bool good = !w->label.failed && !w->path.failed && !w->failed;
    text_release(&w->label);
    text_release(&w->path);
    return good;
}

bool module_tree_modules(struct module_tree *t,
                         void (*see)(void *, const struct module_visit *, const struct module *),
                         void *context)
{
    struct walk w = {.tree = t, .depth = 1, .apart = true};
    struct module_visit visit;
    w.at[1] = skip_folded(t, t->nodes[0].first);
    while (module_tree_step(&w, &visit))
        if (t->nodes[visit.node].first)
            see(context, &visit, &t->nodes[visit.node]);
    return walk_end(&w);
}

bool module_tree_visit(struct module_tree *t, void (*see)(void *, const struct module_visit *),
                       void *context)
{
    struct walk w = {.tree = t, .depth = 1};
    struct module_visit visit;
    w.at[1] = skip_folded(t, t->nodes[0].first);
    while (module_tree_step(&w, &visit))
        see(context, &visit);
    return walk_end(&w);
}
