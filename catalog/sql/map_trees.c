#include "catalog/sql/map_trees.h"

#define KEPT_BYTES ((size_t)128 << 20) /* about a million leaves */

struct kept_tree {
    sqlite3_int64 layout; /* the key of its place */
    struct map_tree tree; /* with containers, which come last */
    size_t leaves;        /* without */
};

static size_t count_leaves(const struct map_tree *tree)
{
    size_t count = tree->count;
    while (count && (tree->leaf[count - 1].kind == MAP_EMPTY_DICT ||
                     tree->leaf[count - 1].kind == MAP_EMPTY_LIST))
        count--;
    return count;
}

static struct kept_tree *find(const struct map_trees *k, sqlite3_int64 layout)
{
    const uint64_t *place =
        strmap_get(&k->layouts, (const char *)&layout, sizeof(layout));
    return place ? k->list[*place] : NULL;
}

/* Read a tree to keep it. */
static int add(struct map_trees *k, struct map_statements *m,
               const struct map_source *source, struct kept_tree **out)
{
    struct map_task task = {.arena = k->arena}; /* which is given back below */
    struct kept_tree *kept = arena_alloc(&task.arena, sizeof(*kept));
    struct kept_tree **list =
        arena_grow(&task.arena, k->list, k->count, &k->space, sizeof(*list));
    uint64_t *place = NULL;
    bool added;
    int rc =
        kept && list ? map_load_tree(m, source->id, &task, &kept->tree) : SQLITE_NOMEM;
    k->arena = task.arena;
    k->list = list ? list : k->list;
    if (rc != SQLITE_OK)
        return rc;
    kept->layout = source->layout;
    kept->leaves = count_leaves(&kept->tree);
    place = strmap_add(&k->layouts, (const char *)&kept->layout, sizeof(kept->layout),
                       &added);
    if (!place)
        return SQLITE_NOMEM;
    *place = k->count;
    k->list[k->count++] = *out = kept;
    return SQLITE_OK;
}

int map_trees_load(struct map_trees *k, struct map_statements *m, const struct dialect *d,
                   struct rules *rules, const struct map_source *source,
                   struct map_task *t, struct map_tree *out)
{
    struct kept_tree *kept = find(k, source->layout);
    if (!kept && k->arena.used > KEPT_BYTES)
        return map_load_leaves(m, d, rules, source->id, t, out);
    int rc = kept ? SQLITE_OK : add(k, m, source, &kept);
    if (rc != SQLITE_OK)
        return rc;
    *out = kept->tree;
    if (rules || !d->containers)
        out->count = kept->leaves;
    return !rules || map_match_leaves(d, rules, t, out) ? SQLITE_OK : SQLITE_NOMEM;
}

void map_trees_release(struct map_trees *k)
{
    strmap_release(&k->layouts);
    arena_release(&k->arena);
    *k = (struct map_trees){0};
}
