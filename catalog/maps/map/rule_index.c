/*
 * rule_index.c - finds the rules that could match a name by one literal of each rule's pattern.
 *
 * The literals make a trie, whose nodes are numbered level by level, so that the children of a node
 * follow each other. A node's `fail` is the node of the longest proper suffix of its text. The first
 * nodes have rows: the next node for every byte. The others (there may be millions) look among
 * their children, and then go on from `fail`.
 */
#include <stdlib.h>

#include "catalog/base/strmap.h"
#include "catalog/maps/map/rules_private.h"

#define ROWS_ROOM ((size_t)1 << 18) /* entries of all rows: a MiB */
#define KEPT      256               /* bytes of a name: the next one often begins alike */

struct node {
    uint32_t first; /* child; the children end where the next node's begin */
    uint32_t fail;
    /* The first of this node, its fail, the fail's fail, ... that ends a literal; 0: none */
    uint32_t hit;
    uint32_t literal, literals; /* that end here: positions in `rule` */
    uint32_t seen;              /* at which mark() */
};

/* A set of numbers of rules; bit i of `group` says whether word i of `rule` is not 0. */
struct marks {
    uint64_t *rule, *group;
};

struct rule_index {
    struct arena arena;
    struct node *node;
    uint8_t *byte;  /* by which each node is reached */
    uint32_t *rule; /* of each literal, in the literals' order */
    uint32_t *row;
    size_t nodes, rows, classes, groups;
    uint32_t now;
    uint8_t class[256]; /* of bytes; 0: in no literal */
    struct marks found, always;
    /* Of the last name: the node after each byte, whether it hits, and after how many bytes the
     * last one that hit was; SIZE_MAX: that is not kept */
    uint32_t state[KEPT + 1];
    uint64_t hits[KEPT / 64];
    size_t last;
};

/* A literal by which a rule is found. */
struct entry {
    const char *at;
    uint32_t len, rule;
};

static void marks_add(struct marks *m, size_t rule)
{
    m->rule[rule / 64] |= (uint64_t)1 << rule % 64;
    m->group[rule / 4096] |= (uint64_t)1 << rule / 64 % 64;
}

static bool marks_room(struct rule_index *x, struct marks *m)
{
    m->rule = arena_array(&x->arena, x->groups * 64, sizeof(*m->rule));
    m->group = arena_array(&x->arena, x->groups, sizeof(*m->group));
    return m->rule && m->group;
}

/* --- making ------------------------------------------------------------------------------ */

/*
 * Few names contain a good literal. It is long; and of two, the better one is in fewer patterns: names
 * look like patterns. A set of literals costs as much as its worst one.
 */
static uint64_t cost_of(const struct strmap *uses, struct regex_literals set, size_t rules)
{
    uint64_t most = 0, cost = 0;
    for (size_t i = 0; i < set.count; i++) {
        const struct regex_literal l = set.at[i];
        const uint64_t *count = strmap_get(uses, l.at, l.len);
        most = *count > most ? *count : most;
        cost += l.len < 32 ? rules >> 2 * l.len : 0;
    }
    return cost + most;
}

static const struct regex_literals *choose(const struct strmap *uses, const struct regex_keys *keys,
                                           size_t rules)
{
    const struct regex_literals *best = NULL;
    uint64_t least = 0;
    for (size_t i = 0; i < keys->count; i++) {
        const uint64_t cost = cost_of(uses, keys->set[i], rules);
        if (!best || cost < least || (cost == least && keys->set[i].at[0].len > best->at[0].len)) {
            best = &keys->set[i];
            least = cost;
        }
    }
    return best;
}

/* Read the sets of each pattern, and count in how many each literal is. */
static bool read_keys(const struct rules *s, struct arena *arena, struct regex_keys *keys,
                      struct strmap *uses)
{
    struct text pattern = {0};
    bool good = true, added;
    for (size_t i = 0; good && i < s->count; i++) {
        text_reset(&pattern);
        const enum regex_how how = rules_pattern(s, &s->rule[i], &pattern);
        good = text_str(&pattern) && regex_find_keys(pattern.at, pattern.len, how, arena, &keys[i]);
        for (size_t k = 0; good && k < keys[i].count; k++)
            for (size_t j = 0; good && j < keys[i].set[k].count; j++) {
                const struct regex_literal l = keys[i].set[k].at[j];
                uint64_t *count = strmap_add(uses, l.at, l.len, &added);
                good = count;
                if (count)
                    ++*count;
            }
    }
    text_release(&pattern);
    return good;
}

static int by_text(const void *a, const void *b)
{
    const struct entry *x = a, *y = b;
    int order = memcmp(x->at, y->at, x->len < y->len ? x->len : y->len);
    order = order ? order : (x->len > y->len) - (x->len < y->len);
    return order ? order : (x->rule > y->rule) - (x->rule < y->rule);
}

/* The literals by which the rules are found, sorted; a rule that has none is always found. */
static struct entry *find_entries(struct rule_index *x, const struct rules *s, struct arena *arena,
                                  size_t *count)
{
    struct strmap uses = {0};
    struct regex_keys *keys = arena_array(arena, s->count + 1, sizeof(*keys));
    struct entry *entry = NULL;
    size_t total = 0;
    if (keys && read_keys(s, arena, keys, &uses)) {
        for (size_t i = 0; i < s->count; i++) {
            const struct regex_literals *set = choose(&uses, &keys[i], s->count);
            if (total > UINT32_MAX / 1024) /* nodes have numbers of 32 bits */
                set = NULL;
            keys[i] = (struct regex_keys){set, set ? set->count : 0};
            total += keys[i].count;
        }
        entry = arena_array(arena, total + 1, sizeof(*entry));
    }
    for (size_t i = *count = 0; entry && i < s->count; i++) {
        if (!keys[i].count)
            marks_add(&x->always, i);
        for (size_t k = 0; k < keys[i].count; k++) {
            const struct regex_literal l = keys[i].set->at[k];
            entry[(*count)++] = (struct entry){l.at, (uint32_t)l.len, (uint32_t)i};
        }
    }
    if (*count)
        qsort(entry, *count, sizeof(*entry), by_text);
    strmap_release(&uses);
    return entry;
}

/* Where the automaton goes from a node at a byte. */
static inline uint32_t step(const struct rule_index *x, uint32_t at, uint8_t byte)
{
    while (at >= x->rows) {
        for (uint32_t i = x->node[at].first; i < x->node[at + 1].first; i++)
            if (x->byte[i] == byte)
                return i;
        at = x->node[at].fail;
    }
    return x->row[at * x->classes + x->class[byte]];
}

/* Make room for the nodes of the sorted literals. */
static bool index_make_room(struct rule_index *x, const struct entry *entry, size_t count)
{
    size_t nodes = 1;
    for (size_t i = 0; i < count; i++) {
        size_t same = 0;
        for (size_t k = 0; k < entry[i].len; k++)
            x->class[(uint8_t)entry[i].at[k]] = 1;
        while (i && same < entry[i].len && same < entry[i - 1].len &&
               entry[i].at[same] == entry[i - 1].at[same])
            same++;
        nodes += entry[i].len - same;
    }
    x->classes = 1;
    for (size_t c = 0; c < 256; c++)
        x->class[c] = x->class[c] ? (uint8_t)x->classes++ : 0;
    x->rows = ROWS_ROOM / x->classes < nodes ? ROWS_ROOM / x->classes : nodes;
    x->nodes = nodes;
    x->node = arena_array(&x->arena, nodes + 1, sizeof(*x->node));
    x->byte = arena_alloc(&x->arena, nodes);
    x->rule = arena_array(&x->arena, count + 1, sizeof(*x->rule));
    x->row = arena_array(&x->arena, x->rows * x->classes, sizeof(*x->row));
    return x->node && x->byte && x->rule && x->row;
}

/* The literals that begin with a node's text, and its length. */
struct span {
    uint32_t from, to, depth;
};

/* Add the children of a node. Those before it are complete, its `fail` among them. */
static void add_children(struct rule_index *x, const struct entry *entry, uint32_t at,
                         struct span *span)
{
    struct node *node = &x->node[at];
    const struct span own = span[at];
    uint32_t i = own.from;
    while (i < own.to && entry[i].len == own.depth)
        i++;
    node->literal = own.from;
    node->literals = i - own.from;
    node->hit = node->literals ? at : x->node[node->fail].hit;
    node->first = (uint32_t)x->nodes;
    while (i < own.to) {
        const uint32_t from = i, child = (uint32_t)x->nodes++;
        x->byte[child] = (uint8_t)entry[i].at[own.depth];
        while (i < own.to && (uint8_t)entry[i].at[own.depth] == x->byte[child])
            i++;
        span[child] = (struct span){from, i, own.depth + 1};
        x->node[child].fail = at ? step(x, node->fail, x->byte[child]) : 0;
    }
    x->node[at + 1].first = (uint32_t)x->nodes;
    if (at >= x->rows)
        return;
    uint32_t *row = x->row + at * x->classes;
    if (at)
        memcpy(row, x->row + node->fail * x->classes, x->classes * sizeof(*row));
    for (uint32_t child = node->first; child < x->nodes; child++)
        row[x->class[x->byte[child]]] = child;
}

static bool make(struct rule_index *x, const struct rules *s, struct arena *arena)
{
    size_t count;
    x->groups = s->count / 4096 + 1;
    if (!marks_room(x, &x->found) || !marks_room(x, &x->always))
        return false;
    const struct entry *entry = find_entries(x, s, arena, &count);
    struct span *span = entry && index_make_room(x, entry, count)
                            ? arena_array(arena, x->nodes, sizeof(*span))
                            : NULL;
    if (!span)
        return false;
    for (size_t i = 0; i < count; i++)
        x->rule[i] = entry[i].rule;
    span[0] = (struct span){0, (uint32_t)count, 0};
    const size_t nodes = x->nodes;
    x->nodes = 1;
    for (uint32_t at = 0; at < nodes; at++)
        add_children(x, entry, at, span);
    x->state[0] = step(x, 0, (uint8_t)REGEX_BEGIN);
    x->now = 1;
    return true;
}

struct rule_index *rule_index_new(const struct rules *s)
{
    struct rule_index *x = calloc(1, sizeof(*x));
    struct arena arena = {0};
    const bool made = x && make(x, s, &arena);
    arena_release(&arena);
    if (made)
        return x;
    rule_index_free(x);
    return NULL;
}

void rule_index_free(struct rule_index *x)
{
    if (x)
        arena_release(&x->arena);
    free(x);
}

/* --- asking ------------------------------------------------------------------------------ */

static void mark_rules(struct rule_index *x, uint32_t at)
{
    for (at = x->node[at].hit; at; at = x->node[x->node[at].fail].hit) {
        struct node *node = &x->node[at];
        if (node->seen == x->now) /* and all after it */
            return;
        node->seen = x->now;
        for (uint32_t i = 0; i < node->literals; i++)
            marks_add(&x->found, x->rule[node->literal + i]);
    }
}

/* Go back to where the last name was after `same` bytes, and forget the rules found since. */
static uint32_t resume(struct rule_index *x, size_t same)
{
    if (x->last <= same)
        return x->state[same];
    for (size_t i = 0; i < x->groups; i++)
        for (; x->found.group[i]; x->found.group[i] &= x->found.group[i] - 1)
            x->found.rule[i * 64 + (size_t)__builtin_ctzll(x->found.group[i])] = 0;
    if (++x->now == 0) { /* it starts again: what was seen long ago must not count */
        for (size_t i = 0; i < x->nodes; i++)
            x->node[i].seen = 0;
        x->now = 1;
    }
    for (size_t i = 0; i < KEPT / 64; i++) {
        const size_t first = i * 64;
        x->hits[i] &= same <= first        ? 0
                      : same - first >= 64 ? UINT64_MAX
                                           : ((uint64_t)1 << (same - first)) - 1;
        for (uint64_t left = x->hits[i]; left; left &= left - 1)
            mark_rules(x, x->state[first + (size_t)__builtin_ctzll(left) + 1]);
    }
    x->last = same;
    return x->state[same];
}

/* Mark the rules of literals that end at the end of the name. */
static void mark_end(struct rule_index *x, uint32_t at)
{
    at = step(x, at, (uint8_t)REGEX_END);
    if (!x->node[at].hit)
        return;
    mark_rules(x, at);
    x->last = SIZE_MAX;
}

void rule_index_mark(struct rule_index *x, const char *name, size_t len, size_t same)
{
    const size_t body = len && name[len - 1] == '\n' ? len - 1 : len;
    size_t i = same < body ? same : body;
    i = i < KEPT ? i : KEPT;
    uint32_t at = resume(x, i);
    for (; i < len; i++) {
        if (i == body)
            mark_end(x, at);
        at = step(x, at, (uint8_t)name[i]);
        const bool hit = x->node[at].hit;
        if (hit) {
            mark_rules(x, at);
            x->last = i < KEPT && x->last != SIZE_MAX ? i + 1 : SIZE_MAX;
        }
        if (i < KEPT) {
            x->state[i + 1] = at;
            x->hits[i / 64] |= (uint64_t)hit << i % 64;
        }
    }
    mark_end(x, at);
}

size_t rule_index_next(const struct rule_index *x, size_t at)
{
    size_t word = at / 64, group = word / 64;
    if (group >= x->groups)
        return SIZE_MAX;
    uint64_t bits = (x->found.rule[word] | x->always.rule[word]) >> at % 64 << at % 64;
    uint64_t words =
        (x->found.group[group] | x->always.group[group]) & ~(((uint64_t)2 << word % 64) - 1);
    if (!bits) {
        while (!words && ++group < x->groups)
            words = x->found.group[group] | x->always.group[group];
        if (!words)
            return SIZE_MAX;
        word = group * 64 + (size_t)__builtin_ctzll(words);
        bits = x->found.rule[word] | x->always.rule[word];
    }
    return word * 64 + (size_t)__builtin_ctzll(bits);
}

enum regex_how rules_pattern(const struct rules *s, const struct rule *r, struct text *pattern)
{
    const bool translates = s->shape == RULES_TRANSLATOR;
    text_adds(pattern, r->pattern);
    text_adds(pattern, translates ? "$" : "");
    return translates ? REGEX_MATCH : REGEX_FULLMATCH;
}
