#include "importer/array/array.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "catalog/base/name_list.h"
#include "catalog/base/text.h"
#include "catalog/data/store/store.h"
#include "importer/job/facts.h"

/* A tensor about to be emitted: its array, the grid with its values, and its directory. */
struct emission {
    const struct zarr_array *array;
    struct grid grid;
    const char *name;
    size_t len;
    const char *dtype;
    const char *where; /* its directory; NULL if it has none */
    uint64_t stored;
    bool stored_unknown;
};

/* Number of absent values, and the index of the first. */
static uint64_t count_absent(const struct zarr_array *a, const struct grid *g, uint64_t *first)
{
    uint64_t counts[TENSOR_RANK_MAX], all;
    if (!g->levels || !grid_counts(a->shape, a->rank, g->level[0].shape, counts, &all))
        return 0;
    *first = 0;
    for (uint64_t i = 0; g->in_files && i < g->run_count; i++)
        if (g->runs[i].first <= *first)
            *first = g->runs[i].first + g->runs[i].count;
    for (uint64_t i = 0; !g->in_files && i < g->value_count; i++)
        *first += g->values[i].index == *first;
    uint64_t there = grid_value_total(g);
    return there < all ? all - there : 0;
}

/* If the writer must have written all values, absent ones are lost: report them. */
static void check_absent(struct job *job, struct emission *e)
{
    uint64_t first, absent = count_absent(e->array, &e->grid, &first);
    struct text key = {.limit = 4096};
    if (!absent || !e->array->absent_is_lost || e->grid.incomplete)
        return;
    grid_key(&e->grid, e->array->shape, e->array->rank, first, &key);
    job_issue(job, ISSUE_ERROR, e->where, NO_OFFSET, "missing-chunk",
              "missing chunks of tensor \"%.*s\": %llu, the first is \"%s\"",
              (int)(e->len < 200 ? e->len : 200), e->name, (unsigned long long)absent,
              text_str(&key) ? text_str(&key) : "");
    text_release(&key);
    e->grid.incomplete = true;
}

static void array_emit(struct job *job, struct emission *e)
{
    const struct zarr_array *a = e->array;
    struct tensor_claim claim = {
        .name = e->name,
        .name_len = e->len,
        .dtype = e->dtype ? e->dtype : a->dtype,
        .shape = a->shape,
        .rank = a->rank,
        .storage = STORAGE_CHUNKS,
        .stored = e->stored,
        .stored_unknown = e->stored_unknown,
        .codec = a->codec,
        .grid = &e->grid,
    };
    if (a->unreadable) {
        job_issue(job, ISSUE_ERROR, e->where, NO_OFFSET, "unsupported",
                  "tensor \"%.*s\" cannot be read: %s", (int)(e->len < 200 ? e->len : 200), e->name,
                  a->unreadable);
        claim.storage = STORAGE_NONE;
        claim.codec = NULL;
        claim.grid = NULL;
        claim.stored = 0;
        claim.stored_unknown = true;
    } else {
        check_absent(job, e);
    }
    job_tensor(job, &claim);
}

/* --- arrays in directories -------------------------------------------------------------- */

/* The path ROOT/BELOW/NAME in `path`, which is released by the caller. */
static const char *array_join(struct job *job, struct text *path, const char *root,
                              const char *below, const char *name)
{
    text_reset(path);
    text_adds(path, root);
    if (*below)
        text_addf(path, "/%s", below);
    if (*name)
        text_addf(path, "/%s", name);
    if (!text_str(path))
        error_memory(job->err);
    return path->failed ? "" : text_str(path);
}

/* Record the array's directory, its metadata file and the directories
 * inside as files of the checkpoint. */
static void record(struct job *job, const char *root, const struct array_site *s, struct grid *g)
{
    struct text path = {0};
    uint32_t file;
    bool primary = !job->source && !*s->path && strcmp(root, job->path) == 0;
    if (primary)
        job_role(job, g->directory = 0, "chunks");
    else
        job_seen(job, array_join(job, &path, root, s->path, ""), "chunks",
                 s->found ? &s->identity : NULL, &g->directory);
    g->metadata = GRID_NO_FILE;
    if (s->metadata_name)
        job_seen(job, array_join(job, &path, root, s->path, s->metadata_name), "index",
                 &s->metadata_identity, &g->metadata);
    for (uint64_t i = 0; i < s->inside_count; i++)
        job_seen(job, array_join(job, &path, root, s->inside[i].path, ""), "chunks",
                 &s->inside[i].identity, &file);
    text_release(&path);
}

static void report_site(struct job *job, const struct array_site *s, const char *where,
                        struct emission *e)
{
    int len = (int)(e->len < 200 ? e->len : 200);
    if (s->consolidated)
        job_issue(job, ISSUE_WARNING, where, NO_OFFSET, "no-metadata",
                  "the metadata file of \"%.*s\" is missing; the root's copy was taken", len,
                  e->name);
    if (!s->found) {
        job_issue(job, ISSUE_ERROR, where, NO_OFFSET, "missing-chunk",
                  "the directory of tensor \"%.*s\" is missing, and its chunks with it", len,
                  e->name);
        e->grid.incomplete = true;
    }
    if (s->no_files && e->grid.levels) {
        job_issue(job, ISSUE_ERROR, where, NO_OFFSET, "bad-chunk",
                  "chunks of tensor \"%.*s\" that are not files (folders, links to folders, "
                  "links that lead nowhere): %llu, the first is \"%.200s\"",
                  len, e->name, (unsigned long long)s->no_files, s->no_file);
        e->grid.incomplete = true;
    }
    if (s->strangers && e->grid.levels)
        job_issue(job, ISSUE_WARNING, where, NO_OFFSET, "stray-file",
                  "entries that are not chunks of array \"%.*s\": %llu, such as \"%.200s\"", len,
                  e->name, (unsigned long long)s->strangers, s->stranger);
}

void array_emit_site(struct job *job, const char *root, const struct array_site *s,
                     const char *name, size_t len, const char *dtype)
{
    struct text where = {0};
    struct emission e = {.array = &s->array,
                         .grid = s->array.grid,
                         .name = name,
                         .len = len,
                         .dtype = dtype,
                         .stored_unknown = true};
    e.where = array_join(job, &where, root, s->path, "");
    if (s->problem)
        job_issue_error(job, ISSUE_ERROR, s->problem);
    e.grid.in_files = true;
    e.grid.runs = s->runs;
    e.grid.run_count = s->run_count;
    record(job, root, s, &e.grid);
    if (s->has_metadata) {
        report_site(job, s, e.where, &e);
        e.grid.incomplete |= s->problem != NULL;
        array_emit(job, &e);
    }
    text_release(&where);
}

void array_root_record(struct job *job, const char *root)
{
    struct file_identity identity;
    struct error absent = {.offset = NO_OFFSET};
    uint32_t file;
    if (strcmp(root, job->path) == 0)
        return;
    bool found = file_identify(root, &identity, &absent) == OK;
    job_seen(job, root, "directory", found ? &identity : NULL, &file);
}

void array_groups_record(struct job *job, const char *root, const struct array_tree *tree)
{
    struct text path = {0};
    uint32_t file;
    for (size_t i = 0; i < tree->group_count; i++)
        job_seen(job, array_join(job, &path, root, tree->groups[i].path, ""), "directory",
                 &tree->groups[i].identity, &file);
    text_release(&path);
}

void array_tree_report(struct job *job, const char *root, const struct array_tree *tree)
{
    const char *one = NULL;
    unsigned long long both = 0;
    for (size_t i = 0; i < tree->count; i++) {
        one = both || !tree->sites[i].both ? one : tree->sites[i].path;
        both += tree->sites[i].both;
    }
    if (both)
        job_issue(job, ISSUE_WARNING, root, NO_OFFSET, "both-versions",
                  "arrays with metadata of both versions of zarr: %llu, such as \"%.200s\"; "
                  "version 3 is read, as zarr itself does",
                  both, *one ? one : ".");
    if (tree->foreign == 1)
        job_issue(job, ISSUE_WARNING, array_below(job->arena, root, tree->first_foreign), NO_OFFSET,
                  "passed-over",
                  "a checkpoint of another format inside one: not looked at (import it by its own "
                  "path)");
    else if (tree->foreign)
        job_issue(job, ISSUE_WARNING, root, NO_OFFSET, "passed-over",
                  "checkpoints of other formats inside this one: %llu, such as \"%.200s\"; "
                  "looked at only where they are imported by their own paths",
                  (unsigned long long)tree->foreign, tree->first_foreign);
    if (tree->links)
        job_issue(job, ISSUE_WARNING, root, NO_OFFSET, "linked-directory",
                  "links to directories, which are not followed: %llu, such as \"%.200s\"",
                  (unsigned long long)tree->links, tree->link);
    if (!tree->lost)
        return;
    struct error first = *tree->lost;
    char what[80];
    snprintf(what, sizeof(what), "attributes that cannot be read: %llu, the first",
             (unsigned long long)tree->lost_attributes);
    error_prefix(&first, what);
    job_issue_error(job, ISSUE_WARNING, &first);
}

struct array_site *array_tree_find(const struct array_tree *tree, const char *path)
{
    return named_find(tree->sites, tree->count, sizeof(*tree->sites), path);
}

/* --- attributes -------------------------------------------------------------------------- */

bool array_attributes_blank(struct bytes text)
{
    size_t blank = 0;
    while (blank < text.len && strchr("{} \t\r\n", text.at[blank]))
        blank++;
    return blank == text.len;
}

void array_attributes_state(struct job *job, const char *source, const char *name,
                            struct bytes text, struct error *err)
{
    struct text key = {0};
    struct json j;
    text_adds(&key, name);
    if (*name)
        text_addc(&key, ':');
    json_init(&j, cursor_over(text, 0), job->arena, source, err);
    j.python = true;
    if (text_str(&key))
        facts_state(job, &j, text_str(&key), '/');
    else
        error_memory(job->err);
    text_release(&key);
}

/* --- arrays in lists of keys ------------------------------------------------------------ */

static int array_by_index(const void *a, const void *b)
{
    uint64_t x = ((const struct grid_value *)a)->index;
    uint64_t y = ((const struct grid_value *)b)->index;
    return (x > y) - (x < y);
}

void array_emit_values(struct job *job, const struct zarr_array *a, uint32_t list,
                       struct grid_value *values, uint64_t count, struct bytes name)
{
    struct emission e = {
        .array = a, .grid = a->grid, .name = (const char *)name.at, .len = name.len};
    if (count)
        qsort(values, (size_t)count, sizeof(*values), array_by_index);
    e.grid.in_files = false;
    e.grid.metadata = list;
    e.grid.values = values;
    e.grid.value_count = count;
    for (uint64_t i = 0; i < count; i++)
        if (!add_u64(e.stored, values[i].stored, &e.stored) || e.stored > INT64_MAX)
            e.stored = INT64_MAX;
    array_emit(job, &e);
}

bool array_probe_node(const struct probe_dir *p, const char *name)
{
    static const char *const files[] = {".zarray", ".zgroup", "zarr.json"};
    char path[512];
    for (size_t i = 0; i < sizeof(files) / sizeof(*files); i++)
        if (snprintf(path, sizeof(path), "%s/%s", name, files[i]) < (int)sizeof(path) &&
            p->peek(p, path).at)
            return true;
    return false;
}

enum array_key array_key_kind(struct bytes key, size_t *node_len)
{
    static const struct {
        const char *name;
        enum array_key kind;
    } names[] = {{".zarray", ARRAY_V2},
                 {"zarr.json", ARRAY_V3},
                 {".zattrs", ARRAY_ATTRIBUTES},
                 {".zgroup", ARRAY_COPIES},
                 {".zmetadata", ARRAY_COPIES}};
    size_t begin = key.len;
    while (begin && key.at[begin - 1] != '/')
        begin--;
    *node_len = begin ? begin - 1 : 0;
    for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++)
        if (key.len - begin == strlen(names[i].name) &&
            memcmp(key.at + begin, names[i].name, key.len - begin) == 0)
            return names[i].kind;
    return ARRAY_VALUE;
}
