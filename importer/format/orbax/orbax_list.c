/*
 * orbax_list.c - the arrays of an Orbax item that are in OCDBT databases.
 *
 *   manifest.ocdbt, d/...                     of the whole item: it refers to the values that
 *                                             the processes wrote, and has no copies
 *   ocdbt.process_ID/manifest.ocdbt, d/...    one for each process
 *
 * Below the array's own KEY, keys are as in zarr: KEY/.zarray, KEY/0.0 (version 2),
 * KEY/zarr.json, KEY/c/0/0 (version 3); an item that is a bare array has no KEY and no
 * '/'. KEY itself may hold '/'. Arrays of the same shape often have the same metadata, byte for
 * byte; such text is parsed once.
 *
 * If a save ended before its last step, merging, only the databases of the processes exist.
 * Together they are the item: each has the metadata of its arrays and its own chunks.
 *
 * Source: orbax/checkpoint/_src/serialization/{ocdbt_utils,tensorstore_utils}.py.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "catalog/base/name_list.h"
#include "catalog/data/store/store.h"
#include "importer/format/orbax/ocdbt_database.h"
#include "importer/format/orbax/orbax.h"
#include "importer/job/stray.h"

#define MANIFEST_PREFIX "manifest."
#define PARTS_MAX       33 /* of a chunk's key: TensorStore's maximum rank, 32, and the "c" */

/* A value that is not metadata: a chunk, kept until all arrays are known. */
struct loose {
    const char *key;
    size_t len;
    uint64_t array; /* position; ORBAX_NONE: it belongs to no array */
    struct grid_value value;
};

/* A file of the current database. */
struct listed_file {
    uint32_t file;              /* its number in the job */
    bool known, lost, reported; /* recorded in the job; missing or unreadable; reported so */
};

struct listing {
    struct orbax_store *store;
    struct job *job;
    struct arena *arena;
    const char *directory; /* of the current database */
    struct ocdbt *db;
    struct listed_file *files;
    size_t file_count, file_space;
    struct loose *loose;
    size_t loose_count, loose_space, array_space;
    struct strmap arrays; /* key -> position plus 1 */
    struct strmap parsed; /* metadata text -> position plus 1 in: */
    struct zarr_array **metadata;
    size_t metadata_count, metadata_space;
    unsigned databases;
    bool keys_lost;         /* some nodes could not be read, so keys may be missing */
    struct array_tree lost; /* the attributes that could not be read */
    struct error first_lost;
};

static void report_damage(void *context, bool warning, const struct error *error)
{
    struct listing *l = context;
    l->store->broken |= !warning;
    if (error->status == ERR_MEMORY)
        error_memory_at(l->job->err, l->directory);
    else
        job_issue_error(l->job, warning ? ISSUE_WARNING : ISSUE_ERROR, error);
}

static void report_from_database(void *context, bool warning, const struct error *error)
{
    struct listing *l = context;
    l->keys_lost |= !warning;
    report_damage(l, warning, error);
}

/* --- files -------------------------------------------------------------------------- */

static struct listed_file *file_slot(struct listing *l, uint32_t number)
{
    while (l->file_count <= number && !l->arena->failed)
        PUSH(l->arena, l->files, l->file_count, l->file_space);
    return l->arena->failed ? list_scratch() : &l->files[number];
}

/* Open a file of the database, and record it the first time. NULL if it is missing or is only a
 * git-lfs pointer; *err then says so. */
static struct source *orbax_list_open_file(struct listing *l, uint32_t number, const char *name,
                                           struct error *err)
{
    struct file_identity identity;
    struct source *s = NULL;
    struct listed_file *f = file_slot(l, number);
    const char *path = array_below(l->arena, l->directory, name);
    source_open_file(path, SOURCE_HEADERS, &s, &identity, err);
    if (s && (stray_is_pointer(s, err) || err->status != OK)) {
        source_close(s);
        s = NULL;
    }
    f->lost = !s;
    bool index = strncmp(name, MANIFEST_PREFIX, strlen(MANIFEST_PREFIX)) == 0;
    if (!f->known)
        job_seen(l->job, path, index ? "index" : "data", s ? &identity : NULL, &f->file);
    f->known = true;
    return s;
}

/* The file that holds a value. If it is lost and that was not reported, *why says why. */
static struct listed_file *orbax_list_find_file(struct listing *l, uint32_t number,
                                                struct error *why)
{
    const struct listed_file *f = file_slot(l, number);
    if (!f->known || (f->lost && !f->reported))
        source_close(orbax_list_open_file(l, number, ocdbt_file(l->db, number), why));
    return file_slot(l, number);
}

/* The job's number of the file that holds a value. *lost: the file is missing, which has been
 * reported. */
static uint32_t value_file(struct listing *l, uint32_t number, bool *lost)
{
    struct error err = {.offset = NO_OFFSET};
    struct listed_file *f = orbax_list_find_file(l, number, &err);
    if (f->lost && !f->reported)
        report_damage(l, false, &err);
    f->reported |= f->lost;
    *lost = f->lost;
    return f->file;
}

static enum status open_for_database(void *context, uint32_t number, const char *path,
                                     struct source **out, struct error *err)
{
    struct listing *l = context;
    *out = orbax_list_open_file(l, number, path, err);
    file_slot(l, number)->reported |= !*out; /* ocdbt_database.c reports it */
    if (l->job->err->status == OK)
        return err->status;
    source_close(*out);
    return error_memory_at(err, path);
}

/* --- directories -------------------------------------------------------------------- */

struct names {
    struct arena *arena;
    const char *prefix;
    const char **at;
    size_t count, space;
};

static bool orbax_list_add_name(void *context, const struct directory_entry *e)
{
    struct names *n = context;
    if (strncmp(e->name, n->prefix, strlen(n->prefix)) != 0)
        return true;
    *PUSH(n->arena, n->at, n->count, n->space) = arena_copy(n->arena, e->name, strlen(e->name));
    return !n->arena->failed;
}

/* The entries of a directory whose names begin with `prefix`, sorted. If it cannot be read to its
 * end, keys may be in the unread rest. */
static const char **names_in(struct listing *l, const char *directory, const char *prefix,
                             uint64_t *count)
{
    struct names n = {.arena = l->arena, .prefix = prefix};
    struct error err = {.offset = NO_OFFSET};
    if (directory_list(directory, 0, NULL, orbax_list_add_name, &n, &err) != OK)
        report_from_database(l, false, &err);
    names_sort(n.at, n.count);
    *count = n.count;
    return n.at;
}

static const char *const *manifest_names(void *context, uint64_t *count)
{
    struct listing *l = context;
    return names_in(l, l->directory, MANIFEST_PREFIX, count);
}

/* --- metadata ----------------------------------------------------------------------- */

static void report_array(struct listing *l, struct bytes key, struct error *err)
{
    char what[256];
    snprintf(what, sizeof(what), "array \"%.*s\"", ORBAX_SHOWN(key));
    error_prefix(err, what);
    job_issue_error(l->job, ISSUE_ERROR, err);
    if (err->status == ERR_MEMORY)
        error_memory_at(l->job->err, l->directory);
}

/* Parse metadata, unless the same text was parsed before. *out NULL: it is wrong (an issue) or
 * belongs to a group. */
static struct zarr_array *orbax_list_parse(struct listing *l, struct bytes text, int version,
                                           struct bytes key, bool *group)
{
    bool added;
    const char *kept;
    struct error err = {.offset = NO_OFFSET};
    uint64_t *known =
        strmap_keep(&l->parsed, l->arena, (const char *)text.at, text.len, &kept, &added);
    if (*known && l->metadata[*known - 1]->version == (unsigned)version)
        return l->metadata[*known - 1];
    struct zarr_array *a = arena_alloc(l->job->arena, sizeof(*a));
    if (!a)
        return NULL;
    if (zarr_parse(text, (unsigned)version, l->directory, l->job->arena, a, &err) != OK) {
        report_array(l, key, &err);
        return NULL;
    }
    *group = a->kind == ZARR_GROUP;
    if (*group)
        return NULL;
    *PUSH(l->arena, l->metadata, l->metadata_count, l->metadata_space) = a;
    *known = l->arena->failed ? 0 : l->metadata_count;
    return a;
}

/* Keep the attributes of a node, if they are wanted and there are some. */
static void keep_attributes(struct listing *l, struct bytes key, struct bytes text)
{
    struct orbax_store *s = l->store;
    if (!s->attributed || array_attributes_blank(text))
        return;
    const void *kept = arena_copy(l->arena, text.at, text.len);
    *PUSH(l->arena, s->attributes, s->attribute_count, s->attribute_space) =
        (struct array_attributes){.path = arena_copy(l->arena, key.at, key.len),
                                  .text = {kept, text.len}};
}

/* Attributes that cannot be read do not affect the arrays. */
static void orbax_list_lose_attributes(struct listing *l, struct bytes key, const struct error *why)
{
    char what[256];
    if (why->status == ERR_MEMORY)
        error_memory_at(l->job->err, l->directory);
    if (l->lost.lost_attributes++)
        return;
    snprintf(what, sizeof(what), "\"%.*s\"", ORBAX_SHOWN(key));
    l->first_lost = *why;
    error_prefix(&l->first_lost, what);
    l->lost.lost = &l->first_lost;
}

static void take_attributes(struct listing *l, const struct ocdbt_entry *e, struct bytes key)
{
    struct error why = {.offset = NO_OFFSET};
    struct bytes text = e->value;
    const struct listed_file *f = text.at ? NULL : orbax_list_find_file(l, e->file, &why);
    if (f && f->lost && f->reported) /* all that is in it */
        return;
    if (!f || (!f->lost && ocdbt_value(l->db, e, LIMIT_JSON_SIDE_FILE, &text, &why) == OK))
        keep_attributes(l, key, text);
    else
        orbax_list_lose_attributes(l, key, &why);
}

/* The text of metadata that an entry holds; `at` NULL: it cannot be read (an issue). */
static struct bytes metadata_text(struct listing *l, const struct ocdbt_entry *e, struct bytes key)
{
    struct error err = {.offset = NO_OFFSET};
    struct bytes text = e->value;
    bool lost = false;
    if (text.at)
        return text;
    value_file(l, e->file, &lost);
    if (lost || ocdbt_value(l->db, e, LIMIT_JSON_SIDE_FILE, &text, &err) == OK)
        return text;
    report_array(l, key, &err);
    return (struct bytes){0};
}

static void add_array(struct listing *l, struct bytes key, struct zarr_array *array)
{
    bool added;
    const char *kept;
    struct orbax_store *s = l->store;
    uint64_t *at = strmap_keep(&l->arrays, l->arena, (const char *)key.at, key.len, &kept, &added);
    if (!added) { /* from another process's database, or in both zarr versions */
        struct orbax_array *known = &s->arrays[*at - 1];
        if (known->array && array && known->array != array)
            job_issue(l->job, ISSUE_WARNING, NULL, NO_OFFSET, "other-metadata",
                      "array \"%.*s\" has other metadata elsewhere: the first found counts",
                      ORBAX_SHOWN(key));
        if (!known->array)
            known->array = array;
        return;
    }
    *at = s->array_count + 1;
    *PUSH(l->arena, s->arrays, s->array_count, l->array_space) =
        (struct orbax_array){.key = kept,
                             .len = key.len,
                             .array = array,
                             .manifest = l->file_count ? l->files[0].file : NO_FILE};
}

/* --- entries ------------------------------------------------------------------------ */

static void add_loose(struct listing *l, const struct ocdbt_entry *e)
{
    bool lost;
    struct loose x = {
        .key = arena_copy(l->arena, e->key.at, e->key.len),
        .len = e->key.len,
        .array = ORBAX_NONE,
        .value = {.file = GRID_NO_FILE, .offset = e->offset, .stored = e->length},
    };
    if (e->value.at) {
        x.value.offset = 0;
        x.value.bytes = arena_copy(l->arena, e->value.at, e->value.len);
    }
    x.value.file = value_file(l, e->file, &lost);
    *PUSH(l->arena, l->loose, l->loose_count, l->loose_space) = x;
}

/* Take the metadata of an array or of a group; text.at NULL: it cannot be read. */
static void take_metadata(struct listing *l, struct bytes key, int version, struct bytes text)
{
    bool group = false;
    struct zarr_array *array = NULL;
    struct zarr_parts parts = {0};
    struct error ignored = {.offset = NO_OFFSET}; /* parsing says what is wrong */
    if (text.at)
        array = orbax_list_parse(l, text, version, key, &group);
    if (l->store->attributed && version == 3 && (array || group) &&
        zarr_parts(text, l->directory, l->arena, &parts, &ignored) == OK)
        keep_attributes(l, key, parts.attributes);
    if (!group)
        add_array(l, key, array);
}

/* Take all entries of the database in `directory`. Damaged parts become issues. False: it cannot be
 * read at all; *err says why. */
static bool take_database(struct listing *l, const char *directory, struct error *err)
{
    struct ocdbt_files files = {open_for_database, manifest_names, report_from_database, l};
    struct ocdbt_entry e;
    l->directory = directory;
    l->file_count = 0;
    if (ocdbt_open(&files, &l->db, err) != OK)
        return false;
    l->databases++;
    while (ocdbt_next(l->db, &e, err) == OK && e.key.at && l->job->err->status == OK) {
        struct bytes key = e.key;
        const enum array_key kind = array_key_kind(e.key, &key.len);
        if (kind == ARRAY_VALUE)
            add_loose(l, &e);
        else if (kind == ARRAY_ATTRIBUTES && l->store->attributed)
            take_attributes(l, &e, key);
        else if (kind == ARRAY_V2 || kind == ARRAY_V3)
            take_metadata(l, key, kind == ARRAY_V2 ? 2 : 3, metadata_text(l, &e, key));
    }
    if (err->status != OK) { /* a limit, or no memory: what was found is kept */
        report_from_database(l, false, err);
        if (err->status == ERR_MEMORY)
            error_memory_at(l->job->err, l->directory);
    }
    ocdbt_close(l->db);
    l->db = NULL;
    return true;
}

/* --- values to their arrays --------------------------------------------------------- */

/* Find the array of a value by cutting its key at each '/', from the end: "a/b/c/0/1" is tried as
 * "1" of "a/b/c/0", then "0/1" of "a/b/c", then "c/0/1" of "a/b", which is the key of a chunk in
 * an array of version 3. */
static void orbax_list_place(struct listing *l, struct loose *x)
{
    size_t begin = x->len + 1;
    for (unsigned parts = 0; parts < PARTS_MAX && begin > 0; parts++) {
        begin--; /* skip the '/' */
        while (begin && x->key[begin - 1] != '/')
            begin--;
        const uint64_t *at = strmap_get(&l->arrays, x->key, begin ? begin - 1 : 0);
        const struct zarr_array *a = at ? l->store->arrays[*at - 1].array : NULL;
        if (a && zarr_key_index(a, x->key + begin, x->len - begin, &x->value.index)) {
            x->array = *at - 1;
            l->store->arrays[x->array].count++;
            return;
        }
    }
}

static int orbax_list_by_index(const void *a, const void *b)
{
    const struct grid_value *x = a, *y = b;
    if (x->index != y->index)
        return x->index < y->index ? -1 : 1;
    if (x->file != y->file)
        return x->file < y->file ? -1 : 1;
    return x->offset < y->offset ? -1 : x->offset > y->offset;
}

/* Several processes may have stored the same chunk: keep the first in order of file and offset. */
static void drop_repeated(struct orbax_array *a)
{
    uint64_t kept = 0;
    if (a->count)
        qsort(a->values, a->count, sizeof(*a->values), orbax_list_by_index);
    for (uint64_t i = 0; i < a->count; i++)
        if (!kept || a->values[kept - 1].index != a->values[i].index)
            a->values[kept++] = a->values[i];
    a->count = kept;
}

static void place_values(struct listing *l)
{
    const struct loose *first = NULL;
    uint64_t strangers = 0;
    for (uint64_t i = 0; i < l->loose_count; i++) {
        orbax_list_place(l, &l->loose[i]);
        strangers += l->loose[i].array == ORBAX_NONE;
        if (!first && l->loose[i].array == ORBAX_NONE)
            first = &l->loose[i];
    }
    if (first && !l->store->broken)
        job_issue(l->job, ISSUE_WARNING, NULL, NO_OFFSET, "not-in-array",
                  "values that belong to no array: %llu, the first \"%.*s\"",
                  (unsigned long long)strangers, (int)(first->len < 200 ? first->len : 200),
                  first->key);
    /* If nodes were lost, an absent chunk may have been in one: do not take it for fill values. */
    for (size_t i = 0; l->keys_lost && i < l->metadata_count; i++)
        l->metadata[i]->absent_is_lost = true;
    struct orbax_store *s = l->store;
    struct grid_value *values = arena_array(l->arena, l->loose_count + 1, sizeof(*values));
    if (!values)
        return;
    for (uint64_t i = 0; i < s->array_count; i++) {
        s->arrays[i].values = values;
        values += s->arrays[i].count;
        s->arrays[i].count = 0;
    }
    for (uint64_t i = 0; i < l->loose_count; i++) {
        const struct loose *x = &l->loose[i];
        if (x->array != ORBAX_NONE)
            s->arrays[x->array].values[s->arrays[x->array].count++] = x->value;
    }
    for (uint64_t i = 0; l->databases > 1 && i < s->array_count; i++)
        drop_repeated(&s->arrays[i]);
}

static int by_key(const void *a, const void *b)
{
    const struct orbax_array *x = a, *y = b;
    size_t both = x->len < y->len ? x->len : y->len;
    int order = memcmp(x->key, y->key, both);
    return order ? order : (x->len > y->len) - (x->len < y->len);
}

/* --- databases ---------------------------------------------------------------------- */

static bool take_processes(struct listing *l)
{
    uint64_t count;
    const char **names = names_in(l, l->store->directory, l->store->processes, &count);
    bool any = false;
    for (uint64_t i = 0; i < count && l->job->err->status == OK; i++) {
        struct error err = {.offset = NO_OFFSET};
        const char *directory = array_below(l->arena, l->store->directory, names[i]);
        if (take_database(l, directory, &err))
            any = true;
        else
            report_from_database(l, false, &err);
    }
    return any;
}

static bool take_databases(struct listing *l)
{
    struct error err = {.offset = NO_OFFSET}, absent = err;
    struct file_identity identity;
    const char *path = array_below(l->arena, l->store->directory, OCDBT_MANIFEST);
    /* If it cannot be told whether there is a manifest, opening it says why. */
    bool merged = file_identify(path, &identity, &absent) != ERR_MISSING;
    if (merged && take_database(l, l->store->directory, &err))
        return true;
    if (merged)
        report_damage(l, false, &err);
    bool any = take_processes(l);
    if (any)
        job_issue(l->job, ISSUE_ERROR, NULL, NO_OFFSET, "unmerged",
                  "the databases of the processes %s: listed from these, which the "
                  "library itself does not do",
                  merged ? "can be read, the one that joins them cannot"
                         : "were never merged (" OCDBT_MANIFEST " is missing)");
    return any || merged;
}

bool orbax_list(struct orbax_store *s)
{
    struct listing l = {.store = s,
                        .job = s->job,
                        .arena = &s->arena,
                        .directory = s->directory,
                        .arrays.err = s->job->err,
                        .parsed.err = s->job->err};
    bool listed = take_databases(&l);
    if (listed && s->job->err->status == OK) {
        const bool sorted = l.databases <= 1; /* a single one lists the arrays by key */
        if (!sorted && s->array_count)
            qsort(s->arrays, s->array_count, sizeof(*s->arrays), by_key);
        for (uint64_t i = 0; !sorted && i < s->array_count; i++)
            *strmap_get(&l.arrays, s->arrays[i].key, s->arrays[i].len) = i + 1;
        place_values(&l);
    }
    array_tree_report(s->job, s->directory, &l.lost);
    strmap_release(&l.arrays);
    strmap_release(&l.parsed);
    return listed;
}
