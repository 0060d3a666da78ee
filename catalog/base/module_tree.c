#include "catalog/base/module_tree.h"

#include <stdlib.h>
#include <string.h>

#include "catalog/base/text.h"

#define RANGES_SHOWN 4 /* of a folded node's numbers */

/* hash_bytes() wants seeds with bits all over; these tell a dtype from a shape. */
#define SEED_DTYPE UINT64_C(0xA0761D6478BD642F)
#define SEED_SHAPE UINT64_C(0xE7037ED1A0B428DB)

/* Where the child of `parent` for a component is in the index, or would be. */
static uint32_t *find(const struct module_tree *t, uint32_t parent, const char *name,
                      size_t len)
{
    size_t mask = t->space * 2 - 1;
    size_t i = hash_bytes(name, len, hash_seed() + parent * SEED_DTYPE) & mask;
    for (; t->index[i]; i = (i + 1) & mask) {
        const struct module *m = &t->nodes[t->index[i]];
        if (m->parent == parent && m->len == len && memcmp(m->name, name, len) == 0)
            break;
    }
    return &t->index[i];
}

/* Not from the arena, which would keep every smaller array. */
static bool grow(struct module_tree *t)
{
    if (t->count < t->space)
        return true;
    size_t space = t->space ? t->space * 2 : 16;
    struct module *nodes =
        t->count > UINT32_MAX / 2 ? NULL : realloc(t->nodes, space * sizeof(*nodes));
    t->nodes = nodes ? nodes : t->nodes;
    uint32_t *index = nodes ? calloc(space * 2, sizeof(*index)) : NULL;
    if (!index)
        return false;
    free(t->index);
    t->index = index;
    t->space = space;
    for (uint32_t i = 1; i < t->count; i++)
        *find(t, nodes[i].parent, nodes[i].name, nodes[i].len) = i;
    return true;
}

bool module_tree_init(struct module_tree *t, char separator)
{
    *t = (struct module_tree){.separator = separator, .dtype = "", .shape = ""};
    if (!grow(t))
        return false;
    t->nodes[0] = (struct module){.name = "", .label = "", .dtype = "", .shape = ""};
    t->count = 1;
    return true;
}

void module_tree_release(struct module_tree *t)
{
    free(t->index);
    free(t->nodes);
    arena_release(&t->arena);
    *t = (struct module_tree){0};
}

/* --- building ----------------------------------------------------------------------------- */

/* The child of `parent` for the component at [begin, end) of a name; 0 without memory. */
static uint32_t child(struct module_tree *t, uint32_t parent, const char *name,
                      size_t begin, size_t end)
{
    if (!grow(t))
        return 0;
    uint32_t *found = find(t, parent, name + begin, end - begin);
    if (*found)
        return *found;
    struct module *nodes = t->nodes;
    uint32_t at = t->count++;
    *found = at;
    nodes[at] = (struct module){.name = name + begin,
                                .len = (uint32_t)(end - begin),
                                .parent = parent,
                                .dtype = "",
                                .shape = "",
                                .copies = 1};
    if (nodes[parent].last)
        nodes[nodes[parent].last].next = at;
    else
        nodes[parent].first = at;
    nodes[parent].last = at;
    return at;
}

static const char *copied(struct module_tree *t, const char *last, const char *text)
{
    if (t->borrows)
        return text;
    return last && strcmp(last, text) == 0 ? last
                                           : arena_copy(&t->arena, text, strlen(text));
}

/* How many modules of the last name are also those of this one. */
static unsigned shared_modules(const struct module_tree *t, const char *name, size_t len)
{
    size_t same = 0;
    unsigned depth = 0;
    while (t->last && same < len && t->last[same] == name[same])
        same++;
    while (depth < t->last_depth && t->last_end[depth] < same)
        depth++;
    return depth;
}

bool module_tree_add(struct module_tree *t, const char *name, const char *dtype,
                     const char *shape, uint64_t parameters, uint64_t nbytes)
{
    size_t len = strlen(name), begin = 0;
    const char *own = t->borrows ? name : arena_copy(&t->arena, name, len);
    if (!own)
        return false;
    unsigned depth = shared_modules(t, own, len);
    uint32_t node = depth ? t->last_node[depth - 1] : 0;
    if (depth)
        begin = t->last_end[depth - 1] + 1;
    for (; depth < MODULE_DEPTH; depth++) {
        const char *found = depth + 1 < MODULE_DEPTH
                                ? memchr(own + begin, t->separator, len - begin)
                                : NULL;
        size_t end = found ? (size_t)(found - own) : len;
        if (!(node = child(t, node, own, begin, end)))
            return false;
        if (!found)
            break;
        t->last_end[depth] = (uint32_t)end;
        t->last_node[depth] = node;
        begin = end + 1;
    }
    t->last = own;
    t->last_depth = depth < MODULE_DEPTH ? depth : MODULE_DEPTH - 1;
    struct module *m = &t->nodes[node];
    m->tensor = true;
    m->dtype = t->dtype = copied(t, t->dtype, dtype);
    m->shape = t->shape = copied(t, t->shape, shape);
    m->tensors++;
    m->parameters += parameters;
    m->nbytes += nbytes;
    return m->dtype && m->shape;
}

/* Children are after their parents, so one walk back adds everything up. The order of
 * children does not count in the hash: files may hold two layers in different order. */
static void add_up(struct module_tree *t)
{
    for (uint32_t i = t->count; i-- > 1;) {
        struct module *m = &t->nodes[i], *parent = &t->nodes[m->parent];
        if (m->tensor) {
            m->hash += hash_bytes(m->dtype, strlen(m->dtype), SEED_DTYPE);
            m->hash += hash_bytes(m->shape, strlen(m->shape), SEED_SHAPE);
        }
        parent->tensors += m->tensors;
        parent->parameters += m->parameters;
        parent->nbytes += m->nbytes;
        parent->hash += hash_bytes(m->name, m->len, m->hash ^ SEED_DTYPE);
    }
}

/* --- folding ------------------------------------------------------------------------------ */

/* The last run of digits in a name, without leading zeros; false if there is none. */
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

/* What siblings that may be folded have in common, as a key. */
static const char *fold_key(struct module_tree *t, const struct module *m, size_t begin,
                            size_t end, size_t *len)
{
    size_t rest = m->len - end, fixed = sizeof(m->parent) + sizeof(m->hash);
    *len = fixed + begin + 1 + rest;
    char *key = arena_alloc(&t->arena, *len);
    if (!key)
        return NULL;
    memcpy(key, &m->parent, sizeof(m->parent));
    memcpy(key + sizeof(m->parent), &m->hash, sizeof(m->hash));
    memcpy(key + fixed, m->name, begin);
    memcpy(key + fixed + begin + 1, m->name + end, rest); /* between them a NUL */
    return key;
}

static bool fold(struct module_tree *t, struct strmap *groups, uint32_t at)
{
    struct module *m = &t->nodes[at];
    const struct module *parent = &t->nodes[m->parent];
    size_t begin, end, len;
    m->hidden = parent->hidden || parent->leader;
    if (m->hidden || !find_number(m->name, m->len, &begin, &end))
        return true;
    const char *key = fold_key(t, m, begin, end, &len);
    bool added;
    uint64_t *leader = key ? strmap_add(groups, key, len, &added) : NULL;
    if (!leader)
        return false;
    if (added) {
        *leader = at;
        return true;
    }
    struct module *first = &t->nodes[*leader];
    m->leader = (uint32_t)*leader;
    m->like = first->like;
    first->like = at;
    first->copies++;
    return true;
}

/* The number in the name of a node that has one. */
static uint64_t number_of(const struct module *m)
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

/* "0..31", "0..3,7,9..11" or, of many ranges, the first and "..." and the last. */
static void add_ranges(struct text *out, const uint64_t *number, size_t count)
{
    size_t shown = 0;
    for (size_t i = 0; i < count;) {
        size_t k = i + 1;
        while (k < count && number[k] == number[k - 1] + 1)
            k++;
        if (++shown <= RANGES_SHOWN || k == count) {
            text_adds(out, i == 0 ? "" : shown > RANGES_SHOWN + 1 ? ",...," : ",");
            text_addf(out, "%llu", (unsigned long long)number[i]);
            if (k - i > 1)
                text_addf(out, "%s%llu", k - i > 2 ? ".." : ",",
                          (unsigned long long)number[k - 1]);
        }
        i = k;
    }
}

static bool label_group(struct module_tree *t, struct module *m)
{
    uint64_t *numbers = arena_array(&t->arena, m->copies, sizeof(*numbers));
    struct text label = {0};
    size_t count = 0, begin, end;
    if (!numbers)
        return false;
    numbers[count++] = number_of(m);
    for (uint32_t i = m->like; i; i = t->nodes[i].like)
        numbers[count++] = number_of(&t->nodes[i]);
    qsort(numbers, count, sizeof(*numbers), compare_numbers);
    find_number(m->name, m->len, &begin, &end);
    text_add(&label, m->name, begin);
    text_addc(&label, '{');
    add_ranges(&label, numbers, count);
    text_addc(&label, '}');
    text_add(&label, m->name + end, m->len - end);
    m->label = text_str(&label) ? arena_copy(&t->arena, label.at, label.len) : NULL;
    text_release(&label);
    return m->label != NULL;
}

/* Sums of what stands for several are those of all. Parents come first, so that a child is
 * multiplied by all that is folded above it. */
static bool finish_node(struct module_tree *t, struct module *m)
{
    if (m->hidden || m->leader)
        return true;
    m->times = t->nodes[m->parent].times * m->copies;
    m->tensors *= m->times;
    m->parameters *= m->times;
    m->nbytes *= m->times;
    t->nodes[m->parent].shown++;
    if (m->copies > 1)
        return label_group(t, m);
    m->label = arena_copy(&t->arena, m->name, m->len);
    return m->label != NULL;
}

bool module_tree_finish(struct module_tree *t)
{
    struct strmap groups = {0};
    bool good = true;
    add_up(t);
    for (uint32_t i = 1; i < t->count && good; i++)
        good = fold(t, &groups, i);
    strmap_release(&groups);
    t->nodes[0].times = 1;
    for (uint32_t i = 1; i < t->count && good; i++)
        good = finish_node(t, &t->nodes[i]);
    return good;
}

/* Follow the name from the root; where a module is folded into another, go on in that one. */
uint32_t module_tree_shown(const struct module_tree *t, const char *name)
{
    uint32_t node = 0;
    for (unsigned depth = 0; depth < MODULE_DEPTH; depth++) {
        const char *found = depth + 1 < MODULE_DEPTH ? strchr(name, t->separator) : NULL;
        node = *find(t, node, name, found ? (size_t)(found - name) : strlen(name));
        if (node && t->nodes[node].leader)
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
    size_t path_end[MODULE_DEPTH + 2]; /* of path, by depth */
    uint32_t at[MODULE_DEPTH + 2];     /* next node to visit, by depth */
    bool rail[MODULE_DEPTH + 2];
    unsigned depth;
    bool apart; /* a node is not written together with its only child */
};

static uint32_t skip_folded(const struct module_tree *t, uint32_t node)
{
    while (node && t->nodes[node].leader)
        node = t->nodes[node].next;
    return node;
}

/* The node and, while it has nothing but one child, that child with it. */
static uint32_t join(struct walk *w, uint32_t node)
{
    const struct module_tree *t = w->tree;
    text_reset(&w->label);
    text_adds(&w->label, t->nodes[node].label);
    while (!w->apart && t->nodes[node].shown == 1 && !t->nodes[node].tensor) {
        node = skip_folded(t, t->nodes[node].first);
        text_addc(&w->label, t->separator);
        text_adds(&w->label, t->nodes[node].label);
    }
    return node;
}

/* Go to the next node in `*visit`; false at the end. */
static bool step(struct walk *w, struct module_visit *visit)
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
    node = join(w, node);
    w->path.len = w->path_end[depth - 1];
    if (depth > 1)
        text_addc(&w->path, t->separator);
    text_add(&w->path, w->label.at ? w->label.at : "", w->label.len);
    w->path_end[depth] = w->path.len;
    *visit = (struct module_visit){.node = node, .depth = depth, .rail = w->rail};
    visit->label = text_str(&w->label);
    visit->path = text_str(&w->path);
    w->at[++w->depth] = skip_folded(t, t->nodes[node].first);
    return visit->label && visit->path;
}

static bool walk_end(struct walk *w)
{
    const bool good = !w->label.failed && !w->path.failed;
    text_release(&w->label);
    text_release(&w->path);
    return good;
}

bool module_tree_modules(struct module_tree *t,
                         void (*see)(void *, const struct module_visit *,
                                     const struct module *),
                         void *context)
{
    struct walk w = {.tree = t, .depth = 1, .apart = true};
    struct module_visit visit;
    w.at[1] = skip_folded(t, t->nodes[0].first);
    while (step(&w, &visit))
        if (t->nodes[visit.node].first)
            see(context, &visit, &t->nodes[visit.node]);
    return walk_end(&w);
}

bool module_tree_visit(struct module_tree *t,
                       void (*see)(void *, const struct module_visit *), void *context)
{
    struct walk w = {.tree = t, .depth = 1};
    struct module_visit visit;
    w.at[1] = skip_folded(t, t->nodes[0].first);
    while (step(&w, &visit))
        see(context, &visit);
    return walk_end(&w);
}
