/*
 * listing.c - the entries of a directory, sorted by name.
 */
#include <string.h>

#include "catalog/base/name_list.h"
#include "importer/walk/walk_private.h"

const char *walk_join(struct arena *arena, const char *directory, const char *name)
{
    char *path = arena_room(arena, path_size(directory, name));
    return path ? path_join(path, directory, name) : NULL;
}

static bool listing_add_entry(struct arena *arena, struct entry **list, uint64_t *count,
                              size_t *space, const struct directory_entry *e)
{
    void *larger = arena_grow(arena, *list, *count, space, sizeof(**list));
    const char *name = arena_copy(arena, e->name, strlen(e->name));
    if (!larger || !name)
        return false;
    *list = larger;
    (*list)[(*count)++] =
        (struct entry){.name = name, .linked = e->linked, .identity = e->identity};
    return true;
}

bool listing_add(struct listing *l, const struct directory_entry *e)
{
    if (e->kind == ENTRY_UNKNOWN)
        return listing_add_entry(l->arena, &l->unseen, &l->unseen_count, &l->unseen_space, e);
    return e->kind == ENTRY_FOLDER
               ? listing_add_entry(l->arena, &l->dirs, &l->dir_count, &l->dir_space, e)
               : listing_add_entry(l->arena, &l->files, &l->file_count, &l->file_space, e);
}

void listing_sort(struct listing *l)
{
    named_sort(l->files, l->file_count, sizeof(*l->files));
    named_sort(l->dirs, l->dir_count, sizeof(*l->dirs));
    named_sort(l->unseen, l->unseen_count, sizeof(*l->unseen));
}

struct entry *listing_file(const struct listing *l, const char *name)
{
    return (struct entry *)named_find(l->files, l->file_count, sizeof(*l->files), name);
}

struct entry *listing_dir(const struct listing *l, const char *name)
{
    return (struct entry *)named_find(l->dirs, l->dir_count, sizeof(*l->dirs), name);
}

struct entry *listing_unseen(const struct listing *l, const char *name)
{
    return (struct entry *)named_find(l->unseen, l->unseen_count, sizeof(*l->unseen), name);
}
