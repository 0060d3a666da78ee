/*
 * array_zip.c - zarr arrays in one zip archive, as zarr's ZipStore writes them.
 *
 *   NAME/.zarray, NAME/0.0 ...     of each array (version 2), or
 *   NAME/zarr.json, NAME/c/0/0     (version 3), as members
 *
 * The store is written like a folder: a value that changes becomes a second member of the same name, and
 * the last one counts. ZipStore stores members as they are; other programs that pack a folder deflate
 * them, which is then the first step of such a chunk's chain.
 *
 * Source: zarr/storage/_zip.py. Not read: shards that were deflated, since a chunk is read from
 * within.
 */
#include <stdio.h>
#include <string.h>

#include "catalog/base/name_list.h"
#include "catalog/data/model/tensor.h"
#include "importer/array/array.h"
#include "importer/container/zip.h"

#define OWN_CODEC_BYTES 64                    /* of the first step of a chunk */
#define PARTS_MAX       (TENSOR_RANK_MAX + 1) /* of a chunk's key: with the "c" */

struct zipped_array {
    const char *path; /* must be first */
    struct zarr_array array;
    struct grid_value *values;
    size_t count, space;
    bool deflated; /* values are, */
    uint64_t most; /* and decoded bytes of the largest of these */
};

struct zipped {
    struct job *job;
    struct zip zip;
    struct arena scratch; /* for the text of one node at a time */
    uint64_t text_left;   /* bytes of metadata that may still be decoded */
    struct zipped_array *arrays;
    size_t count, space;
    uint64_t strangers;                /* members that belong to no array, */
    const struct zip_member *stranger; /* and the first */
};

static void report_member(struct zipped *z, const struct zip_member *m,
                          enum issue_severity severity, struct error *err)
{
    if (err->status == ERR_MEMORY || err->status == ERR_IO) {
        *z->job->err = *err;
        return;
    }
    error_prefix(err, m->name);
    err->offset = m->header;
    job_issue_error(z->job, severity, err);
}

/* --- metadata --------------------------------------------------------------------------- */

/* Attributes that cannot be read do not affect the arrays. */
static void take_archived_attributes(struct zipped *z, const struct zip_member *m, const char *path,
                                     struct bytes text)
{
    struct error err = {.offset = NO_OFFSET};
    if (!array_attributes_blank(text))
        array_attributes_state(z->job, z->job->path, path, text, &err);
    if (err.status != OK)
        report_member(z, m, ISSUE_WARNING, &err);
}

static void take_node(struct zipped *z, const struct zip_member *m, enum array_key kind,
                      size_t path_len)
{
    struct error err = {.offset = NO_OFFSET}, ignored = err;
    struct bytes text = {0};
    struct zarr_parts parts = {0};
    const char *path = arena_copy(z->job->arena, m->name, path_len);
    const bool attributes = kind == ARRAY_ATTRIBUTES;
    if (zip_read(&z->zip, m, z->text_left, &z->scratch, &text, &err) == OK) {
        z->text_left -= text.len;
        struct zipped_array a = {.path = path};
        if (!attributes &&
            zarr_parse(text, kind == ARRAY_V2 ? 2 : 3, z->job->path, z->job->arena, &a.array,
                       &err) == OK &&
            a.array.kind == ZARR_ARRAY)
            *PUSH(z->job->arena, z->arrays, z->count, z->space) = a;
        if (kind == ARRAY_V3)
            zarr_parts(text, z->job->path, &z->scratch, &parts, &ignored);
    }
    if (err.status == OK)
        take_archived_attributes(z, m, path, attributes ? text : parts.attributes);
    else
        report_member(z, m, attributes ? ISSUE_WARNING : ISSUE_ERROR, &err);
    arena_release(&z->scratch);
}

/* Where an array is described in both versions, the third counts, as in folders. */
static void drop_second_versions(struct zipped *z)
{
    struct zipped_array *kept = z->arrays;
    unsigned long long both = 0;
    const char *one = "";
    named_sort(z->arrays, z->count, sizeof(*z->arrays));
    for (size_t i = 0; i < z->count; i++) {
        if (kept == z->arrays || strcmp(kept[-1].path, z->arrays[i].path) != 0) {
            *kept++ = z->arrays[i];
            continue;
        }
        if (z->arrays[i].array.version == 3)
            kept[-1] = z->arrays[i];
        one = both++ ? one : kept[-1].path;
    }
    z->count = z->count ? (size_t)(kept - z->arrays) : 0;
    if (both)
        job_issue(z->job, ISSUE_WARNING, NULL, NO_OFFSET, "both-versions",
                  "arrays with metadata of both versions of zarr: %llu, such as \"%.200s\"; "
                  "version 3 is read, as zarr itself does",
                  both, one);
}

/* --- values ----------------------------------------------------------------------------- */

/* The array that a member is a value of, found by cutting its name at each '/' from the end; NULL: of
 * none. */
static struct zipped_array *array_of(struct zipped *z, const struct zip_member *m, uint64_t *index)
{
    const char *name = m->name;
    char *path = arena_copy(&z->scratch, name, m->name_len);
    struct zipped_array *found = NULL;
    size_t begin = path ? m->name_len + 1 : 0;
    for (unsigned parts = 0; parts < PARTS_MAX && begin > 0 && !found; parts++) {
        begin--; /* skip the '/' */
        while (begin && path[begin - 1] != '/')
            begin--;
        path[begin ? begin - 1 : 0] = '\0';
        found = named_find(z->arrays, z->count, sizeof(*z->arrays), path);
        if (found && !zarr_key_index(&found->array, name + begin, m->name_len - begin, index))
            found = NULL;
    }
    return found;
}

static void take_value(struct zipped *z, const struct zip_member *m)
{
    struct error err = {.offset = NO_OFFSET};
    struct grid_value v = {.offset = m->data, .stored = m->stored};
    struct zipped_array *a = array_of(z, m, &v.index);
    if (!a && !z->strangers++)
        z->stranger = m;
    if (!a)
        return;
    if (m->method != ZIP_STORED && m->method != ZIP_DEFLATE)
        error_set(&err, ERR_UNSUPPORTED, z->job->path, m->header,
                  "a chunk that is compressed by method %u; 0 (stored) and 8 (deflate) are read",
                  m->method);
    if (err.status == OK && zip_check(&z->zip, m, &err) == OK) {
        v.codec = m->method == ZIP_DEFLATE ? "deflate" : NULL; /* named in full below */
        a->deflated |= v.codec != NULL;
        a->most = v.codec && m->size > a->most ? m->size : a->most;
        *PUSH(z->job->arena, a->values, a->count, a->space) = v;
        return;
    }
    a->array.grid.incomplete = true;
    report_member(z, m, ISSUE_ERROR, &err);
}

/* Give deflated values their chains: one for all, since a tensor has few chains of its own. */
static void name_chains(struct zipped *z, struct zipped_array *a)
{
    struct zarr_array *array = &a->array;
    const char *rest = array->codec;
    const size_t len = rest ? codec_of_bytes(rest) : 0;
    char chain[OWN_CODEC_BYTES];
    if (array->grid.levels > 1) {
        array->unreadable = "its shards were compressed by the zip archive: store them (zip -0)";
        return;
    }
    const int first = snprintf(chain, sizeof(chain), len ? "deflate:<%llu|" : "deflate:%llu",
                               (unsigned long long)a->most);
    char *own = arena_room(z->job->arena, (size_t)first + len + 1);
    if (!own)
        return;
    memcpy(own, chain, (size_t)first);
    memcpy(own + first, rest ? rest : "", len);
    own[(size_t)first + len] = '\0';
    for (size_t i = 0; i < a->count; i++)
        a->values[i].codec = a->values[i].codec ? own : NULL;
}

/* --- the archive ------------------------------------------------------------------------ */

/* Take the members that are metadata, or the others; of entries for folders, none. */
static void take_members(struct zipped *z, bool metadata)
{
    for (uint64_t i = 0; i < z->zip.count && z->job->err->status == OK; i++) {
        const struct zip_member *m = &z->zip.members[i];
        const struct bytes name = {(const uint8_t *)m->name, m->name_len};
        size_t path_len;
        enum array_key kind = array_key_kind(name, &path_len);
        if (memchr(name.at, '\0', name.len)) /* no path: a name that belongs to nothing */
            kind = ARRAY_VALUE;
        if (m->replaced || kind == ARRAY_COPIES || (m->name_len && m->name[m->name_len - 1] == '/'))
            continue;
        if (kind == ARRAY_VALUE && !metadata)
            take_value(z, m);
        else if (kind != ARRAY_VALUE && metadata)
            take_node(z, m, kind, path_len);
    }
    arena_release(&z->scratch);
}

enum status array_emit_archive(struct job *job)
{
    struct zipped z = {.job = job, .scratch = {.ceiling = LIMIT_ARENA_BYTES, .err = job->err}};
    if (zip_open(job->source, ZIP_REWRITTEN, job->arena, &z.zip, job->err) != OK)
        return job->err->status;
    zip_report(job, NULL, &z.zip, 0);
    add_u64(job->source->size, LIMIT_ZARR_METADATA, &z.text_left);
    take_members(&z, true);
    drop_second_versions(&z);
    take_members(&z, false);
    if (z.strangers)
        job_issue(job, ISSUE_WARNING, NULL, z.stranger->header, "not-in-array",
                  "members that belong to no array: %llu, the first \"%.200s\"",
                  (unsigned long long)z.strangers, z.stranger->name);
    job_expect(job, z.count);
    for (size_t i = 0; i < z.count && job->err->status == OK; i++) {
        struct zipped_array *a = &z.arrays[i];
        if (a->deflated)
            name_chains(&z, a);
        array_emit_values(job, &a->array, 0, a->values, a->count,
                          (struct bytes){(const uint8_t *)a->path, strlen(a->path)});
    }
    return job->err->status;
}
