/*
 * orbax_store.c - the arrays and strings of an Orbax item, wherever they are stored.
 *
 *   manifest.ocdbt, d/...          a database of arrays (orbax_list.c), or
 *   KEY/.zarray, KEY/zarr.json     one zarr directory for each array
 *   _strings.json                  {KEY: TEXT, ...}
 *
 * Source: orbax/checkpoint/_src/serialization/type_handlers.py.
 */
#include "importer/format/orbax/orbax.h"

#include <limits.h>
#include <stdio.h>
#include <string.h>

#include "catalog/base/json.h"
#include "importer/walk/walk.h"

#define STRINGS_FILE  "_strings.json"
#define STRINGS_CODEC "strings:vlen"

/* --- files -------------------------------------------------------------------------- */

static enum status read_whole(const struct source *s, struct arena *arena, struct bytes *out,
                              struct error *err)
{
    if (s->size > LIMIT_TREE_FILE)
        return error_set(err, ERR_LIMIT, s->name, NO_OFFSET,
                         "%llu bytes, most is %llu for such a file", (unsigned long long)s->size,
                         (unsigned long long)LIMIT_TREE_FILE);
    uint8_t *bytes = arena_alloc(arena, (size_t)s->size + 1);
    if (!bytes)
        return error_memory_at(err, s->name);
    if (source_read(s, 0, bytes, (size_t)s->size, err) == OK)
        *out = (struct bytes){bytes, (size_t)s->size};
    return err->status;
}

/* Open a file that may be missing: *out is then NULL, and the result OK. */
static enum status open_there(struct job *job, const char *path, const char *role,
                              struct source **out, uint32_t *file, struct error *err)
{
    struct file_identity identity;
    struct error absent = {.offset = NO_OFFSET};
    struct source *s = NULL;
    *out = NULL;
    if (file_identify(path, &identity, &absent) == ERR_MISSING)
        return OK;
    if (job_open_path(job, path, role, &s, file, err) == OK)
        *out = s;
    return err->status;
}

enum status orbax_read(struct job *job, const char *path, const char *role, struct arena *arena,
                       struct bytes *out, struct error *err)
{
    struct source *s;
    uint32_t file;
    *out = (struct bytes){0};
    enum status status = open_there(job, path, role, &s, &file, err);
    return status != OK || !s ? status : read_whole(s, arena, out, err);
}

/* --- strings ------------------------------------------------------------------------ */

struct strings {
    struct orbax_store *store;
    size_t space;
};

static bool read_text(void *context, struct json *j)
{
    struct strings *t = context;
    struct orbax_store *s = t->store;
    struct bytes key = j->text;
    if (!json_want(j, JSON_STRING, "a text"))
        return false;
    *PUSH(&s->arena, s->strings, s->string_count, t->space) =
        (struct orbax_string){(const char *)key.at, key.len, j->text};
    return true;
}

static void load_strings(struct orbax_store *s)
{
    static const struct json_member table[] = {{NULL, read_text}};
    struct strings strings = {.store = s};
    struct error err = {.offset = NO_OFFSET};
    struct bytes text = {0};
    struct source *source;
    struct json j;
    const char *path = array_below(s->job->arena, s->directory, STRINGS_FILE);
    if (open_there(s->job, path, "data", &source, &s->string_file, &err) == OK && source &&
        read_whole(source, &s->arena, &text, &err) == OK) {
        json_init(&j, cursor_over(text, 0), &s->arena, path, &err);
        if (json_object(&j, "an object", table, &strings))
            json_want(&j, JSON_END, "the end");
    }
    if (err.status == ERR_MEMORY)
        error_memory_at(s->job->err, s->directory);
    if (err.status != OK)
        job_issue_error(s->job, ISSUE_ERROR, &err);
}

/* Emit a string in the layout of zarr's vlen-utf8: the number of strings, u32le 1, then the length
 * of the only one, u32le, and its bytes. */
static void emit_string(struct orbax_store *s, const struct orbax_string *string, const char *name,
                        size_t len)
{
    uint64_t stored = 8 + (uint64_t)string->value.len;
    uint8_t *bytes = arena_alloc(s->job->arena, stored);
    struct extent *extent = arena_alloc(s->job->arena, sizeof(*extent));
    if (!bytes || !extent || string->value.len > UINT32_MAX) {
        error_memory_at(s->job->err, s->directory);
        return;
    }
    store_u32le(bytes, 1);
    store_u32le(bytes + 4, (uint32_t)string->value.len);
    memcpy(bytes + 8, string->value.at, string->value.len);
    *extent = (struct extent){.file = s->string_file, .stored = stored, .bytes = bytes};
    job_tensor(s->job, &(struct tensor_claim){
                           .name = name,
                           .name_len = len,
                           .dtype = "string",
                           .storage = STORAGE_INLINE,
                           .stored = stored,
                           .codec = STRINGS_CODEC,
                           .extents = extent,
                           .extent_count = 1,
                       });
}

/* --- the whole ---------------------------------------------------------------------- */

static void scan_folders(struct orbax_store *s)
{
    struct job *job = s->job;
    if (array_tree_scan(job, s->directory, &s->tree) != OK)
        return;
    array_groups_record(job, s->directory, &s->tree);
    s->array_count = s->tree.count;
    /* A bare array shares its directory with the other files of the item. */
    if (s->array_count && !*s->tree.sites[0].path)
        s->tree.sites[0].strangers = 0;
}

/* Find the arrays: in databases if there are any, else, or if `in_folders`, in folders. */
static void find_arrays(struct orbax_store *s, bool in_folders)
{
    struct file_identity identity;
    struct error absent = {.offset = NO_OFFSET};
    if (in_folders)
        scan_folders(s);
    if (s->array_count) {
        const char *path = array_below(s->job->arena, s->directory, "manifest.ocdbt");
        if (file_identify(path, &identity, &absent) == OK)
            job_issue(s->job, ISSUE_WARNING, path, NO_OFFSET, "passed-over",
                      "_METADATA says that the arrays are not in this database: those in "
                      "folders beside it are taken, as Orbax does");
        return;
    }
    if (s->job->err->status == OK)
        s->listed = orbax_list(s);
    if (s->job->err->status == OK && !s->listed && !in_folders)
        scan_folders(s);
}

static void open_store(struct orbax_store *s, struct job *job, const char *directory,
                       bool in_folders)
{
    s->job = job;
    s->directory = directory;
    s->arena = (struct arena){.ceiling = LIMIT_ARENA_BYTES, .err = job->err};
    s->keys.err = job->err;
    array_root_record(job, directory);
    find_arrays(s, in_folders);
    if (job->err->status == OK) {
        /* Warn of files below the directory that are not part of the store. */
        char processes[64];
        const char *const own[] = {"d", "ocdbt.*", "array_metadatas", processes};
        snprintf(processes, sizeof(processes), "%s*", s->processes);
        if (s->listed)
            array_tree_report_foreign(s->job, s->directory, own, sizeof(own) / sizeof(own[0]));
        else
            array_tree_report(s->job, s->directory, &s->tree);
        load_strings(s);
        uint64_t count = orbax_store_count(s);
        s->used = arena_array(&s->arena, count ? count : 1, sizeof(*s->used));
        for (uint64_t i = 0; i < count && s->job->err->status == OK; i++) {
            size_t len;
            bool added;
            const char *key = orbax_store_key(s, i, &len);
            uint64_t *at = strmap_add(&s->keys, key, len, &added);
            if (added)
                *at = i + 1;
        }
    }
}

void orbax_store_open_of(struct orbax_store *s, struct job *job, const char *directory,
                         const char *processes)
{
    *s = (struct orbax_store){.processes = processes};
    open_store(s, job, directory, false);
}

void orbax_store_open_plain(struct orbax_store *s, struct job *job, const char *directory)
{
    *s = (struct orbax_store){.processes = ORBAX_PROCESS_PREFIX, .attributed = true};
    open_store(s, job, directory, false);
}

void orbax_store_open(struct orbax_store *s, struct job *job, const char *directory,
                      bool in_folders)
{
    *s = (struct orbax_store){.processes = ORBAX_PROCESS_PREFIX};
    open_store(s, job, directory, in_folders);
}

void orbax_store_miss_absent(struct orbax_store *s)
{
    for (uint64_t i = 0; i < s->array_count; i++) {
        struct zarr_array *a = s->listed ? s->arrays[i].array : &s->tree.sites[i].array;
        if (a)
            a->absent_is_lost = true;
    }
}

uint64_t orbax_store_count(const struct orbax_store *s)
{
    return s->array_count + s->string_count;
}

const char *orbax_store_key(const struct orbax_store *s, uint64_t position, size_t *len)
{
    if (position >= s->array_count) {
        const struct orbax_string *string = &s->strings[position - s->array_count];
        *len = string->len;
        return string->key;
    }
    if (s->listed) {
        *len = s->arrays[position].len;
        return s->arrays[position].key;
    }
    *len = strlen(s->tree.sites[position].path);
    return s->tree.sites[position].path;
}

uint64_t orbax_store_find(const struct orbax_store *s, const char *key, size_t len)
{
    const uint64_t *at = strmap_get(&s->keys, key, len);
    /* The name "a/" is stored below "a/": TensorStore adds a '/' only if the name lacks it. */
    if (!at && len && key[len - 1] == '/')
        at = strmap_get(&s->keys, key, len - 1);
    return at ? *at - 1 : ORBAX_NONE;
}

const uint64_t *orbax_store_shape(const struct orbax_store *s, uint64_t position, unsigned *rank)
{
    const struct zarr_array *a = NULL;
    if (position < s->array_count && s->listed)
        a = s->arrays[position].array;
    else if (position < s->array_count && s->tree.sites[position].has_metadata)
        a = &s->tree.sites[position].array;
    *rank = a ? a->rank : 0;
    return a ? a->shape : NULL;
}

char *orbax_name_of_key(struct arena *arena, const char *key, size_t len)
{
    char *name = arena_copy(arena, key, len);
    for (size_t at = 0; at < len && !arena->failed; at++)
        if (name[at] == '.')
            name[at] = '/';
    return name;
}

void orbax_store_emit(struct orbax_store *s, uint64_t position, const char *name, size_t len)
{
    bool known = true; /* else its metadata could not be read, which is reported already */
    s->used[position] = true;
    if (position >= s->array_count) {
        emit_string(s, &s->strings[position - s->array_count], name, len);
    } else if (s->listed) {
        struct orbax_array *a = &s->arrays[position];
        known = a->array != NULL;
        if (known)
            array_emit_values(s->job, a->array, a->manifest, a->values, a->count,
                              (struct bytes){(const uint8_t *)name, len});
    } else {
        known = s->tree.sites[position].has_metadata;
        array_emit_site(s->job, s->directory, &s->tree.sites[position], name, len, NULL);
    }
    if (!known)
        job_tensor(s->job, &(struct tensor_claim){.name = name,
                                                  .name_len = len,
                                                  .dtype_unknown = true,
                                                  .shape_unknown = true});
}

void orbax_store_release(struct orbax_store *s)
{
    strmap_release(&s->keys);
    arena_release(&s->arena);
}
