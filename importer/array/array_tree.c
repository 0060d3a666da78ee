/*
 * array_tree.c - find zarr arrays below a directory.
 *
 * Threads pop directories from a stack until all are done. A directory costs its listing and
 * its metadata file (.zarray, zarr.json, and .zattrs if there is one); chunk files are not
 * looked at: only their names count. Below an array, directories of chunks (keys with '/') are
 * not searched for arrays; others are.
 *
 * Each thread fills lists of its own, which are merged and sorted at the end, so the result
 * does not depend on the order of the threads.
 */
#include <errno.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "catalog/base/json.h"
#include "catalog/base/name_list.h"
#include "catalog/base/strmap.h"
#include "catalog/base/threads.h"
#include "importer/array/array_list.h"

/* --- shared by the threads -------------------------------------------------------------- */

struct task {
    struct task_link link;
    const char *path; /* relative to the root */
};

/* The results of one thread. */
struct found {
    struct error err;     /* lack of memory, which both arenas report to */
    struct arena arena;   /* holds the results */
    struct arena scratch; /* for one directory at a time */
    struct array_tree tree;
    size_t site_space, group_space, attribute_space;
    /* From the root's metadata: copies of the metadata of the nodes below (zarr_parts). */
    struct bytes consolidated;
    unsigned consolidated_version;
    struct found *next;
};

struct scan {
    const char *root;
    size_t ceiling; /* of each thread's arena */
    /* Arrays are foreign too; these are the root's own directories (array.h). */
    bool only_foreign;
    const char *const *own;
    size_t own_count;
    struct strmap files; /* names of those in which the job has files */
    struct tasks tasks;  /* stopped: out of memory */
    struct found *found; /* under the lock of tasks */
};

/* The path must be in an arena that outlives the scan. */
static void array_tree_push(struct scan *s, struct arena *arena, const char *path)
{
    struct task *t = arena_alloc(arena, sizeof(*t));
    if (!t) {
        tasks_stop(&s->tasks);
        return;
    }
    t->path = path;
    tasks_add(&s->tasks, &t->link);
}

/* --- one node --------------------------------------------------------------------------- */

struct node {
    struct scan *scan;
    struct found *found;
    const char *path;
    struct array_listing listing;
    struct error problem; /* why some part could not be read */
};

/* `identity` NULL: the file is recorded otherwise. */
static void add_attributes(struct node *n, const char *file, struct bytes text,
                           const struct file_identity *identity)
{
    struct found *f = n->found;
    struct array_tree *t = &f->tree;
    const bool blank = array_attributes_blank(text);
    struct array_attributes a = {.path = n->path, .file = file, .recorded = !identity};
    if (blank && !identity)
        return;
    if (!blank)
        a.text =
            (struct bytes){(const uint8_t *)arena_copy(&f->arena, text.at, text.len), text.len};
    if (identity)
        a.identity = *identity;
    *PUSH(&f->arena, t->attributes, t->attribute_count, f->attribute_space) = a;
}

/* Attributes that cannot be read do not affect the arrays. */
static void lose_attributes(struct found *f, const struct error *problem)
{
    struct array_tree *t = &f->tree;
    t->lost_attributes++;
    if (problem->status == ERR_MEMORY)
        arena_fail(&f->arena);
    if (t->lost && strcmp(problem->message, t->lost->message) >= 0)
        return;
    struct error *kept = arena_room(&f->arena, sizeof(*kept));
    if (kept)
        *kept = *problem;
    t->lost = kept;
}

static void read_attributes(struct node *n)
{
    struct found *f = n->found;
    struct error problem = {.offset = NO_OFFSET};
    struct bytes text = {0};
    struct file_identity identity;
    char whole[PATH_MAX];
    if (!array_listed(&n->listing, ".zattrs"))
        return;
    if (!array_path(whole, n->scan->root, n->path, ".zattrs"))
        array_path_too_long(n->scan->root, n->path, ".zattrs", &problem);
    else
        array_read(&f->scratch, whole, &text, &identity, &problem);
    if (problem.status == OK)
        add_attributes(n, ".zattrs", text, &identity);
    else
        lose_attributes(f, &problem);
}

static void add_site(struct found *f, const struct array_site *site)
{
    *PUSH(&f->arena, f->tree.sites, f->tree.count, f->site_space) = *site;
}

/* Whether the node is the root, and `name` a directory of its own. */
static bool is_own(const struct node *n, const char *name)
{
    const struct scan *s = n->scan;
    if (!*n->path && strmap_get(&s->files, name, strlen(name)))
        return true;
    for (size_t i = 0; !*n->path && i < s->own_count; i++) {
        const char *own = s->own[i];
        size_t len = strlen(own);
        if (len &&
            (own[len - 1] == '*' ? strncmp(own, name, len - 1) == 0 : strcmp(own, name) == 0))
            return true;
    }
    return false;
}

static void add_links(struct node *n)
{
    struct found *f = n->found;
    const char *first = NULL;
    for (size_t i = 0; i < n->listing.linked_count; i++) {
        const char *name = n->listing.linked[i];
        if (is_own(n, name))
            continue;
        if (!first || strcmp(name, first) < 0)
            first = name;
        f->tree.links++;
    }
    if (!first)
        return;
    const char *link = array_below(&f->arena, n->path, first);
    if (!f->tree.link || strcmp(link, f->tree.link) < 0)
        f->tree.link = link;
}

/* Continue with the directories below, except those that hold the array's own chunks. */
static void push_below(struct node *n, const struct zarr_array *array)
{
    struct arena *arena = &n->found->arena;
    for (size_t i = 0; i < n->listing.dir_count; i++) {
        const char *name = n->listing.dirs[i];
        if (!is_own(n, name) && !(array && array_begins_key(array, 0, name)))
            array_tree_push(n->scan, arena, array_below(arena, n->path, name));
    }
}

/* The root can hold copies of all metadata below it ("consolidated"). */
static void keep_consolidated(struct node *n, struct bytes text, unsigned version)
{
    struct found *f = n->found;
    if (*n->path || !text.at)
        return;
    const void *kept = arena_copy(&f->arena, text.at, text.len);
    f->consolidated = (struct bytes){kept, text.len};
    f->consolidated_version = version;
}

/* Read the root's copies in version 2 form. Stale or damaged ones are ignored: nodes
 * have their own metadata. If the file itself cannot be read, that is kept as for
 * attributes, since it may be the only metadata of an array. */
static void read_copies(struct node *n)
{
    struct found *f = n->found;
    struct error problem = {.offset = NO_OFFSET}, ignored = problem;
    struct bytes text;
    struct zarr_parts parts;
    char whole[PATH_MAX];
    if (*n->path || !array_listed(&n->listing, ".zmetadata") ||
        !array_path(whole, n->scan->root, "", ".zmetadata"))
        return;
    if (array_read(&f->scratch, whole, &text, NULL, &problem) != OK)
        lose_attributes(f, &problem);
    else if (zarr_parts(text, whole, &f->scratch, &parts, &ignored) == OK)
        keep_consolidated(n, parts.consolidated, 2);
}

/* Read the node's own metadata. Returns whether it is an array; also if its metadata is damaged. */
static bool read_node(struct node *n, struct array_site *site)
{
    struct found *f = n->found;
    struct array_metadata read;
    struct zarr_parts parts;
    struct error problem = {.offset = NO_OFFSET}, ignored = problem;
    enum status status =
        array_read_metadata(&(struct array_place){n->scan->root, &f->arena, &f->scratch}, site,
                            &n->listing, &read, &problem);
    if (status == ERR_MISSING && !site->metadata_name)
        return false;
    if (status != OK) {
        array_keep_problem(&f->arena, site, &problem);
        return true;
    }
    site->has_metadata = site->array.kind == ZARR_ARRAY;
    if (read.version == 3 &&
        zarr_parts(read.text, site->metadata_name, &f->scratch, &parts, &ignored) == OK) {
        add_attributes(n, site->metadata_name, parts.attributes,
                       site->has_metadata ? NULL : &site->metadata_identity);
        keep_consolidated(n, parts.consolidated, 3);
    }
    return site->has_metadata;
}

static void count_foreign(struct array_tree *t, const char *path)
{
    t->foreign++;
    if (!t->first_foreign || strcmp(path, t->first_foreign) < 0)
        t->first_foreign = path;
}

static bool is_zarr_node(const struct array_listing *l)
{
    return array_listed(l, ".zgroup") || array_listed(l, ".zarray") || array_listed(l, "zarr.json");
}

/* Count checkpoints of other formats below the root. Returns whether this directory is one. */
static bool note_foreign(struct node *n)
{
    static const char *const marks[] = {"_METADATA", "manifest.ocdbt", "pytreedef.json",
                                        "saved_model.pb"};
    const struct array_listing *l = &n->listing;
    struct found *f = n->found;
    if (!*n->path)
        return false;
    bool whole = n->scan->only_foreign && is_zarr_node(l);
    for (size_t i = 0; i < sizeof(marks) / sizeof(marks[0]) && !whole; i++)
        whole = array_listed(l, marks[i]);
    if (whole)
        count_foreign(&f->tree, n->path);
    for (size_t i = 0; !whole && i < l->file_count; i++)
        if (format_claims_name(l->files[i]))
            count_foreign(&f->tree, array_below(&f->arena, n->path, l->files[i]));
    return whole;
}

/* Whether the directory is named as hidden ones are, such as .git. An array can be named ".x". */
static bool is_hidden(const struct node *n)
{
    const char *slash = strrchr(n->path, '/');
    return *(slash ? slash + 1 : n->path) == '.';
}

static void take_node(struct node *n)
{
    struct found *f = n->found;
    struct array_tree *t = &f->tree;
    struct array_site site = {.path = n->path, .found = true, .identity = n->listing.identity};
    bool is_array = false;
    if (is_hidden(n) && !is_zarr_node(&n->listing))
        return;
    if (!n->scan->only_foreign) {
        is_array = read_node(n, &site);
        read_attributes(n);
        read_copies(n);
    }
    add_links(n);
    if (is_array) {
        if (site.has_metadata)
            array_find_values(&f->arena, &f->scratch, n->scan->root, &site, &n->listing);
        add_site(f, &site);
        push_below(n, site.has_metadata ? &site.array : NULL);
        return;
    }
    bool foreign = note_foreign(n);
    if (*n->path && !n->scan->only_foreign)
        *PUSH(&f->arena, t->groups, t->group_count, f->group_space) =
            (struct array_directory){n->path, n->listing.identity};
    if (!foreign)
        push_below(n, NULL);
}

static void array_tree_work(void *argument)
{
    struct scan *s = argument;
    struct found *f = calloc(1, sizeof(*f));
    if (!f) {
        tasks_stop(&s->tasks);
        return;
    }
    f->arena = f->scratch = (struct arena){.ceiling = s->ceiling, .err = &f->err};
    for (struct task *t = NULL; (t = tasks_next(&s->tasks, t));) {
        struct node n = {.scan = s, .found = f, .path = t->path, .problem.offset = NO_OFFSET};
        struct array_site site = {.path = t->path, .found = true};
        char whole[PATH_MAX];
        /* A directory that is hidden and another user's, such as .Trash-0: nobody expects it to be read. */
        const bool private = is_hidden(&n) && array_path(whole, s->root, t->path, "") &&
                             access(whole, R_OK | X_OK) != 0 && errno == EACCES;
        if (!private) {
            if (array_list(&f->scratch, s->root, t->path, &n.listing, &n.problem) == OK) {
                take_node(&n);
            } else if (n.problem.status != ERR_MISSING) { /* that was deleted meanwhile */
                array_keep_problem(&f->arena, &site, &n.problem);
                add_site(f, &site);
            }
        }
        arena_release(&f->scratch);
        if (f->err.status != OK)
            tasks_stop(&s->tasks);
    }
    pthread_mutex_lock(&s->tasks.lock);
    f->next = s->found;
    s->found = f;
    pthread_mutex_unlock(&s->tasks.lock);
}

/* --- merging ---------------------------------------------------------------------------- */

/* Append `more` elements to `list`, which has room for them. */
static void append(void *list, size_t *count, const void *from, size_t more, size_t size)
{
    if (more)
        memcpy((char *)list + *count * size, from, more * size);
    *count += more;
}

static void take_found(struct array_tree *tree, const struct array_tree *t)
{
    tree->foreign += t->foreign;
    if (t->first_foreign &&
        (!tree->first_foreign || strcmp(t->first_foreign, tree->first_foreign) < 0))
        tree->first_foreign = t->first_foreign;
    tree->links += t->links;
    if (t->link && (!tree->link || strcmp(t->link, tree->link) < 0))
        tree->link = t->link;
    tree->lost_attributes += t->lost_attributes;
    if (t->lost && (!tree->lost || strcmp(t->lost->message, tree->lost->message) < 0))
        tree->lost = t->lost;
    append(tree->sites, &tree->count, t->sites, t->count, sizeof(*t->sites));
    append(tree->groups, &tree->group_count, t->groups, t->group_count, sizeof(*t->groups));
    append(tree->attributes, &tree->attribute_count, t->attributes, t->attribute_count,
           sizeof(*t->attributes));
}

static void array_tree_merge(struct scan *s, struct arena *arena, struct array_tree *tree)
{
    size_t sites = 1, groups = 1, attributes = 1;
    for (const struct found *f = s->found; f; f = f->next) {
        sites += f->tree.count;
        groups += f->tree.group_count;
        attributes += f->tree.attribute_count;
    }
    tree->sites = arena_array(arena, sites, sizeof(*tree->sites));
    tree->groups = arena_array(arena, groups, sizeof(*tree->groups));
    tree->attributes = arena_array(arena, attributes, sizeof(*tree->attributes));
    if (!tree->sites || !tree->groups || !tree->attributes)
        return;
    for (struct found *f = s->found; f; f = f->next) {
        take_found(tree, &f->tree);
        arena_adopt(arena, &f->arena);
    }
    named_sort(tree->sites, tree->count, sizeof(*tree->sites));
    named_sort(tree->groups, tree->group_count, sizeof(*tree->groups));
    named_sort(tree->attributes, tree->attribute_count, sizeof(*tree->attributes));
}

/* --- consolidated metadata -------------------------------------------------------------- */

/* Whether a path is relative and without "." and ".." components. */
static bool is_safe(const char *path)
{
    for (const char *at = path; *path;) {
        size_t len = strcspn(at, "/");
        if (!len || (len <= 2 && strncmp(at, "..", len) == 0))
            return false;
        if (!at[len])
            return true;
        at += len + 1;
    }
    return true;
}

/* Whether a directory is inside an array that is only known from the root's copies. */
static bool inside_array(const struct array_tree *tree, const char *path)
{
    char outer[PATH_MAX];
    size_t len = strlen(path);
    if (len >= sizeof(outer))
        return false;
    memcpy(outer, path, len + 1);
    for (char *end = outer + len; end; end = strrchr(outer, '/')) {
        *end = '\0';
        const struct array_site *site = array_tree_find(tree, outer);
        if (site && site->consolidated)
            return true;
    }
    return false;
}

struct consolidated {
    struct job *job;
    const char *root, *file;
    unsigned version;
    struct array_tree *tree;
    size_t before, space; /* number of sites found on disk; room for sites */
};

/* Add an array that the root's copies describe but whose own metadata was not found. */
static void add_consolidated(struct consolidated *c, const char *path, struct bytes metadata)
{
    struct job *job = c->job;
    struct array_tree *tree = c->tree;
    struct array_tree on_disk = {.sites = tree->sites, .count = c->before};
    struct array_site site = {.path = path};
    struct zarr_array array;
    struct error problem = {.offset = NO_OFFSET};
    if (!is_safe(path) || array_tree_find(&on_disk, path))
        return;
    if (zarr_parse(metadata, c->version, c->file, job->arena, &array, &problem) != OK) {
        job_issue_error(job, ISSUE_ERROR, &problem);
        return;
    }
    if (array.kind == ZARR_GROUP)
        return;
    array_site_list(job, c->root, &array, &site);
    site.consolidated = !site.metadata_name;
    if (job->err->status == OK)
        *PUSH(job->arena, tree->sites, tree->count, c->space) = site;
}

static void take_consolidated(struct job *job, const char *root, const struct found *f,
                              struct array_tree *tree)
{
    char file[PATH_MAX];
    const char *name = f->consolidated_version == 3 ? "zarr.json" : ".zmetadata";
    struct json j;
    struct error problem = {.offset = NO_OFFSET};
    struct bytes path, metadata;
    struct consolidated c = {.job = job,
                             .root = root,
                             .file = file,
                             .version = f->consolidated_version,
                             .tree = tree,
                             .before = tree->count,
                             .space = tree->count};
    if (!f->consolidated.at || !array_path(file, root, "", name))
        return;
    json_init(&j, cursor_over(f->consolidated, 0), job->arena, file, &problem);
    j.python = true;
    json_next(&j);
    while (job->err->status == OK && zarr_next_node(&j, c.version, &path, &metadata))
        if (!memchr(path.at, '\0', path.len))
            add_consolidated(&c, arena_copy(job->arena, path.at, path.len), metadata);
    if (tree->count == c.before)
        return;
    named_sort(tree->sites, tree->count, sizeof(*tree->sites));
    uint64_t kept = 0;
    for (uint64_t i = 0; i < tree->group_count; i++)
        if (!inside_array(tree, tree->groups[i].path))
            tree->groups[kept++] = tree->groups[i];
    tree->group_count = kept;
}

/* --- the whole scan --------------------------------------------------------------------- */

static enum status run_scan(struct job *job, struct scan *s, unsigned thread_count,
                            struct array_tree *out)
{
    const struct arena *a = job->arena;
    struct array_tree tree = {0};
    s->ceiling = a->ceiling ? a->ceiling - a->used : 0;
    s->tasks = TASKS_NONE;
    array_tree_push(s, job->arena, "");
    struct threads *threads =
        thread_count > 1 ? threads_start(thread_count - 1, array_tree_work, s) : NULL;
    array_tree_work(s);
    threads_join(threads);
    if (s->tasks.stopped)
        error_memory(job->err);
    array_tree_merge(s, job->arena, &tree);
    for (const struct found *f = s->found; f && job->err->status == OK; f = f->next)
        take_consolidated(job, s->root, f, &tree);
    if (tree.count > LIMIT_TENSORS)
        error_set(job->err, ERR_LIMIT, job->path, NO_OFFSET, "more than %llu arrays",
                  (unsigned long long)LIMIT_TENSORS);
    if (job->err->status == OK)
        *out = tree;
    for (struct found *f = s->found, *next; f; f = next) {
        next = f->next;
        arena_release(&f->arena);
        arena_release(&f->scratch);
        free(f);
    }
    return job->err->status;
}

enum status array_tree_scan(struct job *job, const char *root, struct array_tree *out)
{
    struct scan s = {.root = root};
    struct array_listing l;
    struct arena scratch = {.err = job->err};
    enum status status = array_list(&scratch, root, "", &l, job->err);
    arena_release(&scratch);
    return status == OK ? run_scan(job, &s, job->threads, out) : status;
}

/* Most roots have nothing but their own directories: threads would cost more than the search. */
void array_tree_report_foreign(struct job *job, const char *root, const char *const *own,
                               size_t own_count)
{
    struct scan s = {.root = root,
                     .only_foreign = true,
                     .own = own,
                     .own_count = own_count,
                     .files.err = job->err};
    struct array_tree tree = {0};
    const size_t len = strlen(root);
    /* A database can refer to files in any directory: note the root's that have files of the job. */
    for (uint64_t i = 0; i < job->batch->file_count; i++) {
        const char *path = job->batch->files[i].path;
        bool added;
        if (strncmp(path, root, len) == 0 && path[len] == '/' && strchr(path + len + 1, '/'))
            strmap_add(&s.files, path + len + 1, strcspn(path + len + 1, "/"), &added);
    }
    run_scan(job, &s, 1, &tree); /* leaves the tree empty if it fails */
    strmap_release(&s.files);
    for (size_t i = 0; i < tree.count; i++)
        job_issue_error(job, ISSUE_WARNING, tree.sites[i].problem);
    array_tree_report(job, root, &tree);
}
