/*
 * around.c - find the checkpoint around a directory.
 *
 * Naming the directory of an array, or a file in it, imports the checkpoint that contains the
 * array. Directories are tried from the inside out as long as each is part of a checkpoint; on
 * the way there can be directories of parts ("c", "0", "d").
 */
#include <stdlib.h>
#include <string.h>

#include "importer/walk/walk_private.h"

static bool around_see_entry(void *context, const struct directory_entry *e)
{
    return (e->kind != ENTRY_FILE && e->kind != ENTRY_FOLDER) || listing_add(context, e);
}

static const struct format *format_of(const char *path)
{
    struct arena arena = {0};
    struct error ignored = {.offset = NO_OFFSET};
    struct listing l = {.path = path, .arena = &arena};
    bool listed = directory_list(path, 0, NULL, around_see_entry, &l, &ignored) == OK;
    listing_sort(&l);
    const struct format *format = listed ? directory_format(&l, &ignored) : NULL;
    arena_release(&arena);
    return format;
}

/* Whether directories of this name hold only parts of the checkpoint around them. */
static bool names_part(const char *name)
{
    static const char *const parts[] = {"c", "d", "ocdbt_data", "ocdbt_meta", "array_metadatas"};
    for (size_t i = 0; i < sizeof(parts) / sizeof(parts[0]); i++)
        if (strcmp(name, parts[i]) == 0)
            return true;
    return *name && strspn(name, "0123456789") == strlen(name);
}

bool checkpoint_around(char *path)
{
    const size_t given = strlen(path);
    size_t best = 0;
    char *copy = strdup(path);
    for (char *slash; copy && (slash = strrchr(copy, '/')) && slash != copy;) {
        const struct format *format = format_of(copy);
        if (format && format->flat && strlen(copy) < given)
            break;
        if (format)
            best = strlen(copy);
        if (format ? !format->part : best || !names_part(slash + 1))
            break;
        *slash = '\0';
    }
    free(copy);
    if (best)
        path[best] = '\0';
    return best;
}
