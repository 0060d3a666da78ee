#include "catalog/sql/map_trees.h"

/* Larger trees are read each time: keeping them would cost more memory than it saves time. */
#define KEPT_LEAVES (1 << 20) /* leaves of all trees; each takes about 150 bytes */
#define TREE_LEAVES (1 << 18) /* leaves of one tree */

static size_t count_leaves(const struct map_tree *tree)
{
    size_t count = tree->count;
    while (count && (tree->leaf[count - 1].kind == MAP_EMPTY_DICT ||
                     tree->leaf[count - 1].kind == MAP_EMPTY_LIST))
        count--;
    return count;
}

static struct map_kept *find_tree(const struct map_trees *k, sqlite3_int64 layout)
{
    const uint64_t *place =
        strmap_get(&k->layouts, (const char *)&layout, sizeof(layout));
    return place ? k->list[*place] : NULL;
}

/* Read a tree and keep it. */
static int add_tree(struct map_trees *k, struct map_statements *m,
                    const struct map_source *source, struct map_kept **out)
{
    struct map_task task = {.arena = k->arena}; /* borrowed, returned below */
    struct map_kept *kept = arena_alloc(&task.arena, sizeof(*kept));
    struct map_kept **list =
        arena_grow(&task.arena, k->list, k->count, &k->space, sizeof(struct map_kept *));
    bool added;
    int rc =
        kept && list ? map_load_tree(m, source->id, &task, &kept->tree) : SQLITE_NOMEM;
    k->arena = task.arena;
    k->list = list ? list : k->list;
    if (rc != SQLITE_OK)
        return rc;
    kept->layout = source->layout;
    kept->leaves = count_leaves(&kept->tree);
    uint64_t *place = strmap_add(&k->layouts, (const char *)&kept->layout,
                                 sizeof(kept->layout), &added);
    if (!place)
        return SQLITE_NOMEM;
    *place = k->count;
    k->list[k->count++] = *out = kept;
    k->leaves += kept->leaves;
    return SQLITE_OK;
}

int map_trees_get(struct map_trees *k, struct map_statements *m,
                  const struct map_source *source, const struct map_kept **out)
{
    struct map_kept *kept = find_tree(k, source->layout);
    bool fits = source->tensors <= TREE_LEAVES &&
                k->leaves + (size_t)source->tensors <= KEPT_LEAVES;
    int rc = kept || !fits ? SQLITE_OK : add_tree(k, m, source, &kept);
    *out = kept;
    return rc;
}

void map_trees_release(struct map_trees *k)
{
    strmap_release(&k->layouts);
    arena_release(&k->arena);
    *k = (struct map_trees){0};
}
