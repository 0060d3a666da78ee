/*
 * around.c - the checkpoint that a directory is, or lies inside of.
 *
 * Somebody who names the directory of one array, or a file in it, means the checkpoint that
 * holds the array. Directories above are looked at from the inside out as long as each is a
 * checkpoint as a whole; on the way there may be directories of parts ("c", "0", "d").
 */
#include <dirent.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "importer/walk/walk_private.h"

static bool add(struct arena *arena, struct entry **list, uint64_t *count, size_t *space,
                const char *name)
{
    void *larger = arena_grow(arena, *list, *count, space, sizeof(**list));
    const char *kept = arena_copy(arena, name, strlen(name));
    if (!larger || !kept)
        return false;
    *list = larger;
    (*list)[(*count)++] = (struct entry){.name = kept};
    return true;
}

static bool is_directory(int fd, const struct dirent *e)
{
    struct stat st;
    if (e->d_type != DT_UNKNOWN && e->d_type != DT_LNK)
        return e->d_type == DT_DIR;
    return fstatat(fd, e->d_name, &st, 0) == 0 && S_ISDIR(st.st_mode);
}

static int by_name(const void *a, const void *b)
{
    return strcmp(((const struct entry *)a)->name, ((const struct entry *)b)->name);
}

/* The names alone. */
static bool list_names(struct listing *l)
{
    DIR *d = opendir(l->path);
    bool ok = d != NULL;
    for (struct dirent *e; ok && (e = readdir(d));) {
        if (strcmp(e->d_name, ".") == 0 || strcmp(e->d_name, "..") == 0)
            continue;
        ok = is_directory(dirfd(d), e)
                 ? add(l->arena, &l->dirs, &l->dir_count, &l->dir_space, e->d_name)
                 : add(l->arena, &l->files, &l->file_count, &l->file_space, e->d_name);
    }
    if (d)
        closedir(d);
    if (l->file_count)
        qsort(l->files, l->file_count, sizeof(*l->files), by_name);
    if (l->dir_count)
        qsort(l->dirs, l->dir_count, sizeof(*l->dirs), by_name);
    return ok;
}

static bool is_whole(const char *path)
{
    struct arena arena = {0};
    struct listing l = {.path = path, .arena = &arena};
    bool whole = list_names(&l) && directory_format(&l);
    arena_release(&arena);
    return whole;
}

/* Directories that hold nothing but parts of what is around them. */
static bool names_part(const char *name)
{
    static const char *const parts[] = {"c", "d", "ocdbt_data", "ocdbt_meta",
                                        "array_metadatas"};
    for (size_t i = 0; i < sizeof(parts) / sizeof(parts[0]); i++)
        if (strcmp(name, parts[i]) == 0)
            return true;
    return *name && strspn(name, "0123456789") == strlen(name);
}

bool checkpoint_around(char *path)
{
    size_t best = 0;
    char *copy = strdup(path);
    for (char *slash; copy && (slash = strrchr(copy, '/')) && slash != copy;) {
        if (is_whole(copy))
            best = strlen(copy);
        else if (best || !names_part(slash + 1))
            break;
        *slash = '\0';
    }
    free(copy);
    if (best)
        path[best] = '\0';
    return best;
}
