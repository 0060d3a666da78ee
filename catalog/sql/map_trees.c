#include "catalog/sql/map_trees.h"

#include <stdlib.h>

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

/* Read a tree and keep it. */
static int add_tree(struct map_trees *k, struct map_statements *m, const struct map_source *source,
                    struct map_kept **out)
{
    struct map_task task = {.arena = k->arena}; /* borrowed, returned below */
    struct map_kept *kept = arena_alloc(&task.arena, sizeof(*kept));
    struct map_kept **list =
        arena_grow(&task.arena, k->list, k->count, &k->space, sizeof(struct map_kept *));
    bool added;
    int rc = kept && list
                 ? map_load_tree(m, source->id, (size_t)source->tensors, &task, &kept->tree)
                 : SQLITE_NOMEM;
    k->arena = task.arena;
    k->list = list ? list : k->list;
    if (rc != SQLITE_OK)
        return rc;
    kept->layout = source->layout;
    kept->leaves = count_leaves(&kept->tree);
    uint64_t *place =
        strmap_add(&k->layouts, (const char *)&kept->layout, sizeof(kept->layout), &added);
    if (!place)
        return SQLITE_NOMEM;
    *place = k->count;
    k->list[k->count++] = *out = kept;
    k->leaves += kept->leaves;
    return SQLITE_OK;
}

int map_trees_get(struct map_trees *k, struct map_statements *m, const struct map_source *source,
                  struct map_kept **out)
{
    sqlite3_int64 layout = source->layout;
    const uint64_t *place = strmap_get(&k->layouts, (const char *)&layout, sizeof(layout));
    struct map_kept *kept = place ? k->list[*place] : NULL;
    bool fits = source->tensors >= 0 && source->tensors <= TREE_LEAVES &&
                k->leaves + (size_t)source->tensors <= KEPT_LEAVES;
    int rc = kept || !fits ? SQLITE_OK : add_tree(k, m, source, &kept);
    *out = kept;
    return rc;
}

/* Whether all names are distinct. Two names of one hash count as equal, which is safe: the
 * caller then does not use its shortcut. */
static bool names_differ(const struct map_tree *tree, size_t count, bool *memory)
{
    size_t space = 64;
    while (space < 2 * count)
        space *= 2;
    uint64_t *seen = calloc(space, sizeof(*seen));
    *memory = seen != NULL;
    bool differ = seen != NULL;
    for (size_t i = 0; differ && i < count; i++) {
        const struct map_text name = tree->leaf[i].name;
        uint64_t hash = hash_bytes(name.at, name.len, hash_seed()) | 1;
        size_t at = hash / 2 & (space - 1);
        while (seen[at] && seen[at] != hash)
            at = (at + 1) & (space - 1);
        differ = !seen[at];
        seen[at] = hash;
    }
    free(seen);
    return differ;
}

bool map_trees_compare(struct map_kept *kept)
{
    bool memory = true;
    if (!kept->compared)
        kept->differ = names_differ(&kept->tree, kept->leaves, &memory);
    return kept->compared = memory;
}

void map_trees_release(struct map_trees *k)
{
    strmap_release(&k->layouts);
    arena_release(&k->arena);
    *k = (struct map_trees){0};
}
