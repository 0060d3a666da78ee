/*
 * around.c - which directories are checkpoints, and the checkpoint around a directory.
 *
 * Naming the directory of an array, or a file in it, imports the checkpoint that contains the
 * array. Directories are tried from the inside out as long as each is part of a checkpoint; on
 * the way there can be directories of parts ("c", "0", "d").
 */
#include <stdlib.h>
#include <string.h>

#include "importer/walk/walker.h"

struct looking {
    struct listing *listing;
    struct error *trouble; /* the first reason why a file could not be read */
};

static struct bytes around_peek(const struct probe_dir *p, const char *path)
{
    struct looking *looking = p->looking;
    struct listing *l = looking->listing;
    const char *whole = listing_path(l, path);
    struct bytes head = {0};
    struct error err = {.offset = NO_OFFSET};
    struct source *s = NULL;
    if (source_open_file(whole, SOURCE_HEADERS, &s, NULL, &err) != OK) {
        if (status_passes(err.status) && looking->trouble->status == OK)
            *looking->trouble = err;
        return head;
    }
    size_t len = s->size < PROBE_HEAD_BYTES ? (size_t)s->size : PROBE_HEAD_BYTES;
    uint8_t *bytes = arena_alloc(l->arena, len);
    if (bytes && source_read(s, 0, bytes, len, &err) == OK)
        head = (struct bytes){bytes, len};
    if (err.status != OK && looking->trouble->status == OK)
        *looking->trouble = err;
    source_close(s);
    return head;
}

const struct format *directory_format(struct listing *l, struct error *trouble)
{
    const char *slash = strrchr(l->path, '/');
    const char **dirs = arena_array(l->arena, l->dir_count + 1, sizeof(*dirs));
    struct looking looking = {.listing = l, .trouble = trouble};
    for (uint64_t i = 0; dirs && i < l->dir_count; i++)
        dirs[i] = l->dirs[i].name;
    struct probe_dir p = {
        .name = slash ? slash + 1 : l->path,
        .files = listing_names(l, l->arena),
        .file_count = l->file_count,
        .dirs = dirs,
        .dir_count = l->dir_count,
        .peek = around_peek,
        .looking = &looking,
    };
    const struct format *format = p.files && dirs ? format_for_dir(&p) : NULL;
    if (l->arena->err->status == OK)
        return format;
    error_memory_at(trouble, l->path);
    return NULL;
}

static bool around_see_entry(void *context, const struct directory_entry *e)
{
    struct listing *l = context;
    if (e->kind == ENTRY_FILE || e->kind == ENTRY_FOLDER)
        listing_add(l, e);
    return l->arena->err->status == OK;
}

static const struct format *format_of(struct walker *w, const char *path)
{
    struct error lack = {.offset = NO_OFFSET}, ignored = {.offset = NO_OFFSET};
    struct arena arena = {.err = &lack};
    struct listing l = {.path = path, .arena = &arena};
    const struct format *format = NULL;
    if (directory_list(path, 0, NULL, around_see_entry, &l, &ignored) == OK && lack.status == OK) {
        listing_sort(&l);
        format = directory_format(&l, &ignored);
    }
    if (lack.status != OK)
        walk_lacks(w);
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

bool checkpoint_around(struct walker *w, char *path)
{
    const size_t given = strlen(path);
    size_t best = 0;
    char *copy = strdup(path);
    if (!copy)
        walk_lacks(w);
    for (char *slash; copy && (slash = strrchr(copy, '/')) && slash != copy;) {
        const struct format *format = format_of(w, copy);
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
