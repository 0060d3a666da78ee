/*
 * listing.c - the entries of a directory, sorted by name, and what their names say.
 */
#include <string.h>

#include "catalog/base/name_list.h"
#include "importer/walk/listing.h"

static void add_entry(struct arena *arena, struct entry **list, uint64_t *count, size_t *space,
                      const struct directory_entry *e)
{
    *PUSH(arena, *list, *count, *space) =
        (struct entry){.name = arena_copy(arena, e->name, strlen(e->name)),
                       .linked = e->linked,
                       .identity = e->identity};
}

void listing_add(struct listing *l, const struct directory_entry *e)
{
    if (e->kind == ENTRY_UNKNOWN)
        add_entry(l->arena, &l->unseen, &l->unseen_count, &l->unseen_space, e);
    else if (e->kind == ENTRY_FOLDER)
        add_entry(l->arena, &l->dirs, &l->dir_count, &l->dir_space, e);
    else
        add_entry(l->arena, &l->files, &l->file_count, &l->file_space, e);
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

const char *listing_path(const struct listing *l, const char *name)
{
    char *path = arena_room(l->arena, path_size(l->path, name));
    return path ? path_join(path, l->path, name) : "";
}

const char **listing_names(const struct listing *l, struct arena *arena)
{
    const char **names = arena_array(arena, l->file_count + 1, sizeof(*names));
    for (uint64_t i = 0; names && i < l->file_count; i++) {
        const char *name = l->files[i].name;
        names[i] = arena == l->arena ? name : arena_copy(arena, name, strlen(name));
    }
    return names;
}

bool listing_asks_for(const struct listing *l, const struct entry *e)
{
    return l->only && names_hold(l->only, l->only_count, e->name);
}

bool unfinished_name(const char *name)
{
    static const char *const marks[] = {".orbax-checkpoint-tmp", ".tmp-", ".tempstate",
                                        "checkpoint_tmp"};
    for (size_t i = 0; i < sizeof(marks) / sizeof(marks[0]); i++)
        if (strstr(name, marks[i]))
            return true;
    size_t len = strlen(name);
    const char *temp = strstr(name, "_temp_");
    /* "NAME-000001000-tmp", as big_vision writes it */
    const bool step = len > 14 && strcmp(name + len - 4, "-tmp") == 0 && name[len - 14] == '-' &&
                      strspn(name + len - 13, "0123456789") == 9;
    return step || (len > 5 && strcmp(name + len - 5, "_temp") == 0) ||
           (temp && temp[6] && !temp[6 + strspn(temp + 6, "0123456789abcdef")]);
}
