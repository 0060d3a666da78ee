/*
 * array_list.c - read one directory of a zarr store: its entries, and the values of the
 * array in it. Chunk files are not opened or looked at: only their names count. If keys
 * contain '/', chunks are in directories of their own.
 */
#include "importer/array/array_list.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "catalog/base/name_list.h"
#include "catalog/data/store/directory.h"

/* --- reading a directory ---------------------------------------------------------------- */

bool array_path(char out[PATH_MAX], const char *root, const char *path, const char *name)
{
    int len =
        snprintf(out, PATH_MAX, "%s%s%s%s%s", root, *path ? "/" : "", path, *name ? "/" : "", name);
    return len > 0 && len < PATH_MAX;
}

void array_path_too_long(const char *root, const char *path, const char *name, struct error *err)
{
    error_set(err, ERR_IO, root, NO_OFFSET,
              "the path of a metadata file below it is too long: %.300s/%s", path, name);
}

const char *array_below(struct arena *arena, const char *path, const char *name)
{
    size_t a = strlen(path), b = strlen(name);
    char *out = arena_room(arena, a + b + 2);
    if (!out)
        return "";
    memcpy(out, path, a);
    if (a)
        out[a++] = '/';
    memcpy(out + a, name, b + 1);
    return out;
}

/* Context of directory_list(): where the entries go. */
struct listing_to {
    struct arena *arena;
    struct array_listing *listing;
};

static bool array_list_see_entry(void *context, const struct directory_entry *e)
{
    struct listing_to *to = context;
    struct array_listing *l = to->listing;
    const char *name = arena_copy(to->arena, e->name, strlen(e->name));
    if (e->kind == ENTRY_FILE)
        *PUSH(to->arena, l->files, l->file_count, l->file_space) = name;
    else if (e->kind != ENTRY_FOLDER)
        *PUSH(to->arena, l->odd, l->odd_count, l->odd_space) = name;
    else if (e->linked)
        *PUSH(to->arena, l->linked, l->linked_count, l->linked_space) = name;
    else
        *PUSH(to->arena, l->dirs, l->dir_count, l->dir_space) = name;
    return !to->arena->failed;
}

enum status array_list(struct arena *arena, const char *root, const char *path,
                       struct array_listing *l, struct error *err)
{
    char whole[PATH_MAX];
    struct listing_to to = {arena, l};
    *l = (struct array_listing){0};
    if (!array_path(whole, root, path, ""))
        return error_set(err, ERR_IO, root, NO_OFFSET, "a path that is too long");
    directory_list(whole, 0, &l->identity, array_list_see_entry, &to, err);
    return arena->failed ? error_memory_at(err, whole) : err->status;
}

bool array_listed(const struct array_listing *l, const char *name)
{
    for (size_t i = 0; i < l->file_count; i++)
        if (strcmp(l->files[i], name) == 0)
            return true;
    return false;
}

enum status array_read(struct arena *arena, const char *path, struct bytes *out,
                       struct file_identity *identity, struct error *err)
{
    struct source *s = NULL;
    uint8_t *bytes = NULL;
    *out = (struct bytes){0};
    source_open_file(path, SOURCE_HEADERS, &s, identity, err);
    if (s && s->size > LIMIT_ZARR_METADATA)
        error_set(err, ERR_LIMIT, path, NO_OFFSET, "metadata of more than %llu bytes",
                  (unsigned long long)LIMIT_ZARR_METADATA);
    else if (s && !(bytes = arena_room(arena, s->size)))
        error_memory_at(err, path);
    else if (s && source_read(s, 0, bytes, s->size, err) == OK)
        *out = (struct bytes){bytes, s->size};
    source_close(s);
    return err->status;
}

enum status array_read_metadata(const struct array_place *p, struct array_site *site,
                                const struct array_listing *l, struct array_metadata *out,
                                struct error *err)
{
    char whole[PATH_MAX];
    *out = (struct array_metadata){.version = array_listed(l, "zarr.json") ? 3 : 2};
    const char *name = out->version == 3 ? "zarr.json" : ".zarray";
    site->both = out->version == 3 && array_listed(l, ".zarray");
    if (out->version == 2 && !array_listed(l, name))
        return ERR_MISSING;
    if (array_path(whole, p->root, site->path, name)) {
        site->metadata_name = name;
        if (array_read(p->scratch, whole, &out->text, &site->metadata_identity, err) == OK)
            zarr_parse(out->text, out->version, whole, p->arena, &site->array, err);
    } else {
        array_path_too_long(p->root, site->path, name, err);
    }
    return err->status;
}

/* --- the values of an array ------------------------------------------------------------- */

struct keys {
    struct arena *arena, *scratch;
    struct array_site *site;
    uint64_t *indexes;
    size_t count, space, inside_count, inside_space;
    const char **stack; /* directories still to read: prefixes of keys */
    size_t stacked, stack_space;
};

static bool digits(const char *name)
{
    return *name && strspn(name, "0123456789") == strlen(name);
}

static void stranger(struct keys *k, const char *key)
{
    struct array_site *s = k->site;
    if (key[strspn(key, "/")] == '.')
        return;
    s->strangers++;
    if (!s->stranger || strcmp(key, s->stranger) <= 0)
        s->stranger = arena_copy(k->arena, key, strlen(key));
}

static void take_key(struct keys *k, const char *key)
{
    uint64_t index;
    const char *slash = strrchr(key, '/'), *name = slash ? slash + 1 : key;
    if (zarr_key_index(&k->site->array, key, strlen(key), &index))
        *PUSH(k->scratch, k->indexes, k->count, k->space) = index;
    else if (*name != '.' && strcmp(key, "zarr.json") != 0)
        stranger(k, key);
}

bool array_begins_key(const struct zarr_array *a, unsigned depth, const char *name)
{
    if (a->grid.separator != '/' || !a->grid.levels)
        return false;
    if (a->grid.prefixed && depth == 0)
        return strcmp(name, "c") == 0 && a->rank > 0;
    return depth + 1 < a->rank + (a->grid.prefixed ? 1u : 0u) && digits(name);
}

static unsigned components(const char *key)
{
    unsigned n = *key ? 1 : 0;
    for (; *key; key++)
        n += *key == '/';
    return n;
}

/* A chunk must be a file. Anything else with the name of a chunk would read as an absent one,
 * and so would all chunks in a linked directory, which is not followed (it could lead back here). */
static void take_odd(struct keys *k, const char *key, const char *name, bool linked)
{
    struct array_site *s = k->site;
    uint64_t index;
    const char *whole = array_below(k->arena, key, name);
    if (!zarr_key_index(&s->array, whole, strlen(whole), &index) &&
        !(linked && array_begins_key(&s->array, components(key), name)))
        return;
    s->no_files++;
    if (!s->no_file || strcmp(whole, s->no_file) < 0)
        s->no_file = whole;
}

static void take_all_odd(struct keys *k, const char *key, const struct array_listing *l)
{
    for (size_t i = 0; i < l->odd_count; i++)
        take_odd(k, key, l->odd[i], false);
    for (size_t i = 0; i < l->dir_count; i++)
        take_odd(k, key, l->dirs[i], false);
    for (size_t i = 0; i < l->linked_count; i++)
        take_odd(k, key, l->linked[i], true);
}

/* Take the files and directories of a directory inside the array's. `key` is its path there. */
static void take_inside(struct keys *k, const char *key, const struct array_listing *l)
{
    struct array_site *s = k->site;
    *PUSH(k->arena, s->inside, k->inside_count, k->inside_space) =
        (struct array_directory){array_below(k->arena, s->path, key), l->identity};
    take_all_odd(k, key, l);
    for (size_t i = 0; i < l->file_count; i++)
        take_key(k, array_below(k->scratch, key, l->files[i]));
    for (size_t i = 0; i < l->dir_count; i++) {
        const char *name = array_below(k->scratch, key, l->dirs[i]);
        if (array_begins_key(&s->array, components(key), l->dirs[i]))
            *PUSH(k->scratch, k->stack, k->stacked, k->stack_space) = name;
        else
            stranger(k, name);
    }
}

static int array_list_by_number(const void *a, const void *b)
{
    uint64_t x = *(const uint64_t *)a, y = *(const uint64_t *)b;
    return (x > y) - (x < y);
}

/* Version 2 arrays of old writers can have keys with '/'
 * although the metadata does not say so. */
static void guess_separator(struct zarr_array *a, const struct array_listing *l)
{
    uint64_t ignored;
    bool nested = false;
    if (!a->separator_guessed || a->rank < 2)
        return;
    for (size_t i = 0; i < l->file_count; i++)
        if (zarr_key_index(a, l->files[i], strlen(l->files[i]), &ignored))
            return;
    for (size_t i = 0; i < l->dir_count; i++)
        nested |= digits(l->dirs[i]);
    for (size_t i = 0; i < l->linked_count; i++)
        nested |= digits(l->linked[i]);
    if (nested)
        a->grid.separator = '/';
}

void array_keep_problem(struct arena *arena, struct array_site *s, const struct error *problem)
{
    struct error *kept =
        problem->status == ERR_MEMORY ? arena_fail(arena) : arena_room(arena, sizeof(*kept));
    if (kept)
        *kept = *problem;
    s->problem = kept;
}

void array_find_values(struct arena *arena, struct arena *scratch, const char *root,
                       struct array_site *site, const struct array_listing *top)
{
    struct keys k = {.arena = arena, .scratch = scratch, .site = site};
    guess_separator(&site->array, top);
    take_all_odd(&k, "", top);
    for (size_t i = 0; i < top->file_count; i++)
        take_key(&k, top->files[i]);
    for (size_t i = 0; i < top->dir_count; i++)
        if (array_begins_key(&site->array, 0, top->dirs[i]))
            *PUSH(scratch, k.stack, k.stacked, k.stack_space) = top->dirs[i];
    while (k.stacked && !scratch->failed && !arena->failed) {
        const char *key = k.stack[--k.stacked];
        struct error problem = {.offset = NO_OFFSET};
        struct array_listing l;
        if (array_list(scratch, root, array_below(scratch, site->path, key), &l, &problem) == OK)
            take_inside(&k, key, &l);
        else
            array_keep_problem(arena, site, &problem);
    }
    /* Turn the indexes found into runs, e.g. 0 1 2 7 8 into (0, 3) and (7, 2). */
    struct array_site *s = k.site;
    uint64_t runs = 0;
    if (k.count)
        qsort(k.indexes, k.count, sizeof(*k.indexes), array_list_by_number);
    for (size_t i = 0; i < k.count; i++)
        runs += i == 0 || k.indexes[i] != k.indexes[i - 1] + 1;
    s->runs = arena_array(k.arena, (size_t)(runs ? runs : 1), sizeof(*s->runs));
    for (size_t i = 0; s->runs && i < k.count; i++) {
        if (i == 0 || k.indexes[i] != k.indexes[i - 1] + 1)
            s->runs[s->run_count++] = (struct grid_run){k.indexes[i], 0};
        s->runs[s->run_count - 1].count++;
    }
    site->inside_count = k.inside_count;
    named_sort(site->inside, site->inside_count, sizeof(*site->inside));
}

/* Take the directory's own metadata, if there is some that can be read. */
static void take_own_metadata(struct job *job, struct arena *scratch, const char *root,
                              const struct array_listing *l, struct array_site *site)
{
    struct zarr_array given = site->array;
    struct error problem = {.offset = NO_OFFSET};
    struct array_metadata read;
    enum status status = array_read_metadata(&(struct array_place){root, job->arena, scratch}, site,
                                             l, &read, &problem);
    if (status == OK && site->array.kind == ZARR_ARRAY)
        return;
    site->array = given;
    if (status == OK)
        site->metadata_name = NULL; /* a group's */
    if (problem.status == OK)
        return;
    site->has_metadata = false;
    array_keep_problem(job->arena, site, &problem);
}

void array_site_list(struct job *job, const char *root, const struct zarr_array *array,
                     struct array_site *site)
{
    struct arena scratch = {.ceiling = job->arena->ceiling, .err = job->err};
    struct error problem = {.offset = NO_OFFSET};
    struct array_listing l;
    site->array = *array;
    site->has_metadata = true;
    site->found = array_list(&scratch, root, site->path, &l, &problem) == OK;
    site->identity = l.identity;
    if (site->found) {
        take_own_metadata(job, &scratch, root, &l, site);
        array_find_values(job->arena, &scratch, root, site, &l);
    } else if (problem.status != ERR_MISSING) {
        array_keep_problem(job->arena, site, &problem);
    }
    arena_release(&scratch);
}
