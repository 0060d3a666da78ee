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
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "catalog/base/json.h"
#include "catalog/base/name_list.h"
#include "catalog/base/strmap.h"
#include "catalog/base/threads.h"
#include "importer/array/array_private.h"

/* --- shared by the threads -------------------------------------------------------------- */

struct task {
    const char *path; /* relative to the root */
    struct task *next;
};

/* The results of one thread. */
struct found {
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
    pthread_mutex_t lock;
    pthread_cond_t changed;
    struct task *tasks;
    uint64_t open_tasks; /* queued or in progress */
    struct found *found;
    bool failed; /* out of memory */
};

static void array_tree_fail(struct scan *s)
{
    pthread_mutex_lock(&s->lock);
    s->failed = true;
    pthread_cond_broadcast(&s->changed);
    pthread_mutex_unlock(&s->lock);
}

/* The path must be in an arena that outlives the scan. */
static void array_tree_push(struct scan *s, struct arena *arena, const char *path)
{
    struct task *t = arena_alloc(arena, sizeof(*t));
    if (!t) {
        array_tree_fail(s);
        return;
    }
    pthread_mutex_lock(&s->lock);
    *t = (struct task){path, s->tasks};
    s->tasks = t;
    s->open_tasks++;
    pthread_cond_signal(&s->changed);
    pthread_mutex_unlock(&s->lock);
}

static struct task *array_tree_pop(struct scan *s)
{
    pthread_mutex_lock(&s->lock);
    while (!s->tasks && s->open_tasks && !s->failed)
        pthread_cond_wait(&s->changed, &s->lock);
    struct task *t = s->failed ? NULL : s->tasks;
    if (t)
        s->tasks = t->next;
    pthread_mutex_unlock(&s->lock);
    return t;
}

static void done(struct scan *s)
{
    pthread_mutex_lock(&s->lock);
    if (--s->open_tasks == 0)
        pthread_cond_broadcast(&s->changed);
    pthread_mutex_unlock(&s->lock);
}

/* --- one node --------------------------------------------------------------------------- */

struct node {
    struct scan *scan;
    struct found *found;
    const char *path;
    struct array_listing listing;
    struct error problem; /* why a part of it could not be read */
};

static bool add_attributes(struct node *n, const char *file, struct bytes text)
{
    struct found *f = n->found;
    struct array_tree *t = &f->tree;
    if (array_attributes_blank(text))
        return true;
    void *larger = arena_grow(&f->arena, t->attributes, t->attribute_count, &f->attribute_space,
                              sizeof(*t->attributes));
    char *kept = arena_copy(&f->arena, text.at, text.len);
    if (!larger || !kept)
        return false;
    t->attributes = larger;
    t->attributes[t->attribute_count++] =
        (struct array_attributes){n->path, file, {(const uint8_t *)kept, text.len}};
    return true;
}

/* Attributes that cannot be read do not affect the arrays. */
static bool lose_attributes(struct found *f, const struct error *problem)
{
    struct array_tree *t = &f->tree;
    if (problem->status == ERR_MEMORY)
        return false;
    t->lost_attributes++;
    if (t->lost && strcmp(problem->message, t->lost->message) >= 0)
        return true;
    struct error *kept = arena_alloc(&f->arena, sizeof(*kept));
    if (kept)
        *kept = *problem;
    t->lost = kept;
    return kept;
}

static bool read_attributes(struct node *n)
{
    struct found *f = n->found;
    struct error problem = {.offset = NO_OFFSET};
    struct bytes text = {0};
    char whole[PATH_MAX];
    if (!array_listed(&n->listing, ".zattrs"))
        return true;
    if (!array_path(whole, n->scan->root, n->path, ".zattrs"))
        array_path_too_long(n->scan->root, n->path, ".zattrs", &problem);
    else
        array_read(&f->scratch, whole, &text, NULL, &problem);
    return problem.status == OK ? add_attributes(n, ".zattrs", text) : lose_attributes(f, &problem);
}

static bool add_site(struct node *n, const struct array_site *site)
{
    struct found *f = n->found;
    void *larger =
        arena_grow(&f->arena, f->tree.sites, f->tree.count, &f->site_space, sizeof(*f->tree.sites));
    if (!larger)
        return false;
    f->tree.sites = larger;
    f->tree.sites[f->tree.count++] = *site;
    return true;
}

static bool array_tree_add_group(struct node *n)
{
    struct found *f = n->found;
    struct array_tree *t = &f->tree;
    if (!*n->path)
        return true;
    void *larger =
        arena_grow(&f->arena, t->groups, t->group_count, &f->group_space, sizeof(*t->groups));
    if (!larger)
        return false;
    t->groups = larger;
    t->groups[t->group_count++] = (struct array_directory){n->path, n->listing.identity};
    return true;
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

static bool add_links(struct node *n)
{
    struct found *f = n->found;
    const char *first = NULL;
    for (uint64_t i = 0; i < n->listing.linked_count; i++) {
        const char *name = n->listing.linked[i];
        if (is_own(n, name))
            continue;
        if (!first || strcmp(name, first) < 0)
            first = name;
        f->tree.links++;
    }
    if (!first)
        return true;
    const char *link = array_below(&f->arena, n->path, first);
    if (link && (!f->tree.link || strcmp(link, f->tree.link) < 0))
        f->tree.link = link;
    return link;
}

/* Continue with the directories below, except those that hold the array's own chunks. */
static bool push_below(struct node *n, const struct zarr_array *array)
{
    for (uint64_t i = 0; i < n->listing.dir_count; i++) {
        const char *name = n->listing.dirs[i];
        if (is_own(n, name) || (array && array_begins_key(array, 0, name)))
            continue;
        const char *path = array_below(&n->found->arena, n->path, name);
        if (!path)
            return false;
        array_tree_push(n->scan, &n->found->arena, path);
    }
    return true;
}

/* The root can hold copies of all metadata below it ("consolidated"). */
static bool keep_consolidated(struct node *n, struct bytes text, unsigned version)
{
    struct found *f = n->found;
    if (*n->path || !text.at)
        return true;
    char *kept = arena_copy(&f->arena, text.at, text.len);
    f->consolidated = (struct bytes){(const uint8_t *)kept, text.len};
    f->consolidated_version = version;
    return kept;
}

/* Read the root's copies in version 2 form. Stale or damaged ones are ignored: nodes
 * have their own metadata. If the file itself cannot be read, that is kept as for
 * attributes, since it may be the only metadata of an array. */
static bool read_copies(struct node *n)
{
    struct found *f = n->found;
    struct error problem = {.offset = NO_OFFSET};
    struct bytes text;
    struct zarr_parts parts;
    char whole[PATH_MAX];
    if (*n->path || !array_listed(&n->listing, ".zmetadata") ||
        !array_path(whole, n->scan->root, "", ".zmetadata"))
        return true;
    if (array_read(&f->scratch, whole, &text, NULL, &problem) != OK)
        return lose_attributes(f, &problem);
    if (zarr_parts(text, whole, &f->scratch, &parts, &problem) != OK)
        return problem.status != ERR_MEMORY;
    return keep_consolidated(n, parts.consolidated, 2);
}

/* Read the node's own metadata. *is_array is also set if it is damaged. */
static bool read_node(struct node *n, struct array_site *site, bool *is_array)
{
    struct found *f = n->found;
    struct array_metadata read;
    struct zarr_parts parts;
    struct error problem = {.offset = NO_OFFSET};
    enum status status =
        array_read_metadata(&(struct array_place){n->scan->root, &f->arena, &f->scratch}, site,
                            &n->listing, &read, &problem);
    if (status == ERR_MISSING && !site->metadata_name)
        return true;
    if (status == OK) {
        *is_array = site->has_metadata = site->array.kind == ZARR_ARRAY;
        if (read.version == 2)
            return true;
        return zarr_parts(read.text, site->metadata_name, &f->scratch, &parts, &problem) == OK
                   ? add_attributes(n, site->metadata_name, parts.attributes) &&
                         keep_consolidated(n, parts.consolidated, 3)
                   : problem.status != ERR_MEMORY;
    }
    *is_array = true;
    return problem.status != ERR_MEMORY && array_keep_problem(&f->arena, site, &problem);
}

static bool count_foreign(struct node *n, const char *name)
{
    struct array_tree *t = &n->found->tree;
    const char *path = *name ? array_below(&n->found->arena, n->path, name) : n->path;
    t->foreign++;
    if (path && (!t->first_foreign || strcmp(path, t->first_foreign) < 0))
        t->first_foreign = path;
    return path;
}

static bool is_zarr_node(const struct array_listing *l)
{
    return array_listed(l, ".zgroup") || array_listed(l, ".zarray") || array_listed(l, "zarr.json");
}

/* Count checkpoints of other formats below the root. *whole: this directory is one. */
static bool note_foreign(struct node *n, bool *whole)
{
    static const char *const marks[] = {"_METADATA", "manifest.ocdbt", "pytreedef.json",
                                        "saved_model.pb"};
    const struct array_listing *l = &n->listing;
    if (!*n->path)
        return true;
    for (size_t i = 0; i < sizeof(marks) / sizeof(marks[0]) && !*whole; i++)
        *whole = array_listed(l, marks[i]);
    *whole = *whole || (n->scan->only_foreign && is_zarr_node(l));
    if (*whole)
        return count_foreign(n, "");
    for (uint64_t i = 0; i < l->file_count; i++)
        if (format_claims_name(l->files[i]) && !count_foreign(n, l->files[i]))
            return false;
    return true;
}

/* Whether the directory is named as hidden ones are, such as .git. An array can be named ".x". */
static bool is_hidden(const struct node *n)
{
    const char *slash = strrchr(n->path, '/');
    return *(slash ? slash + 1 : n->path) == '.';
}

/* Whether the directory is hidden and another user's, such as .Trash-0: nobody expects it to be
 * read, so it is not even tried. */
static bool is_private(const struct node *n)
{
    char whole[PATH_MAX];
    return is_hidden(n) && array_path(whole, n->scan->root, n->path, "") &&
           access(whole, R_OK | X_OK) != 0 && errno == EACCES;
}

static bool take_node(struct node *n)
{
    struct found *f = n->found;
    struct array_site site = {.path = n->path, .found = true, .identity = n->listing.identity};
    struct error err = {.offset = NO_OFFSET};
    bool is_array = false, foreign = false;
    if (is_hidden(n) && !is_zarr_node(&n->listing))
        return true;
    if (n->scan->only_foreign)
        return add_links(n) && note_foreign(n, &foreign) && (foreign || push_below(n, NULL));
    if (!read_node(n, &site, &is_array) || !read_attributes(n) || !read_copies(n) || !add_links(n))
        return false;
    if (!is_array)
        return note_foreign(n, &foreign) && array_tree_add_group(n) &&
               (foreign || push_below(n, NULL));
    if (site.has_metadata &&
        array_find_values(&f->arena, &f->scratch, n->scan->root, &site, &n->listing, &err) != OK)
        return false;
    return add_site(n, &site) && push_below(n, site.has_metadata ? &site.array : NULL);
}

static void array_tree_work(void *argument)
{
    struct scan *s = argument;
    struct found *f = calloc(1, sizeof(*f));
    if (!f) {
        array_tree_fail(s);
        return;
    }
    f->arena.ceiling = f->scratch.ceiling = s->ceiling;
    for (struct task *t; (t = array_tree_pop(s)); done(s)) {
        struct node n = {.scan = s, .found = f, .path = t->path};
        struct array_site site = {.path = t->path, .found = true};
        n.problem.offset = NO_OFFSET;
        bool ok;
        if (is_private(&n))
            ok = true;
        else if (array_list(&f->scratch, s->root, t->path, &n.listing, &n.problem) == OK)
            ok = take_node(&n);
        else /* deleted meanwhile, or not readable */
            ok = n.problem.status == ERR_MISSING ||
                 (n.problem.status != ERR_MEMORY &&
                  array_keep_problem(&f->arena, &site, &n.problem) && add_site(&n, &site));
        arena_release(&f->scratch);
        if (!ok)
            array_tree_fail(s);
    }
    pthread_mutex_lock(&s->lock);
    f->next = s->found;
    s->found = f;
    pthread_mutex_unlock(&s->lock);
}

/* --- merging ---------------------------------------------------------------------------- */

/* Append `more` elements to `list`, which has room for them; false if `list` is NULL. */
static bool append(void *list, uint64_t *count, const void *from, uint64_t more, size_t size)
{
    if (!list)
        return false;
    if (more)
        memcpy((char *)list + *count * size, from, (size_t)more * size);
    *count += more;
    return true;
}

static bool take_found(struct array_tree *tree, const struct array_tree *t)
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
    return append(tree->sites, &tree->count, t->sites, t->count, sizeof(*t->sites)) &&
           append(tree->groups, &tree->group_count, t->groups, t->group_count,
                  sizeof(*t->groups)) &&
           append(tree->attributes, &tree->attribute_count, t->attributes, t->attribute_count,
                  sizeof(*t->attributes));
}

static bool array_tree_merge(struct scan *s, struct arena *arena, struct array_tree *tree)
{
    uint64_t sites = 1, groups = 1, attributes = 1;
    for (const struct found *f = s->found; f; f = f->next) {
        sites += f->tree.count;
        groups += f->tree.group_count;
        attributes += f->tree.attribute_count;
    }
    tree->sites = arena_array(arena, (size_t)sites, sizeof(*tree->sites));
    tree->groups = arena_array(arena, (size_t)groups, sizeof(*tree->groups));
    tree->attributes = arena_array(arena, (size_t)attributes, sizeof(*tree->attributes));
    for (struct found *f = s->found; f; f = f->next) {
        if (!take_found(tree, &f->tree))
            return false;
        arena_adopt(arena, &f->arena);
    }
    named_sort(tree->sites, tree->count, sizeof(*tree->sites));
    named_sort(tree->groups, tree->group_count, sizeof(*tree->groups));
    named_sort(tree->attributes, tree->attribute_count, sizeof(*tree->attributes));
    return true;
}

static void array_tree_release(struct scan *s)
{
    for (struct found *f = s->found, *next; f; f = next) {
        next = f->next;
        arena_release(&f->arena);
        arena_release(&f->scratch);
        free(f);
    }
    pthread_cond_destroy(&s->changed);
    pthread_mutex_destroy(&s->lock);
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

static void forget_inside(struct array_tree *tree)
{
    uint64_t kept = 0;
    for (uint64_t i = 0; i < tree->group_count; i++)
        if (!inside_array(tree, tree->groups[i].path))
            tree->groups[kept++] = tree->groups[i];
    tree->group_count = kept;
}

struct consolidated {
    struct job *job;
    const char *root, *file;
    unsigned version;
    struct array_tree *tree;
    uint64_t before; /* number of sites found on disk */
    size_t space;
};

/* Add an array that the root's copies describe but whose own metadata was not found. */
static enum status add_consolidated(struct consolidated *c, const char *path, struct bytes metadata)
{
    struct job *job = c->job;
    struct array_tree *tree = c->tree;
    struct array_tree on_disk = {.sites = tree->sites, .count = c->before};
    struct array_site site = {.path = path};
    struct zarr_array array;
    struct error problem = {.offset = NO_OFFSET};
    if (!is_safe(path) || array_tree_find(&on_disk, path))
        return OK;
    if (zarr_parse(metadata, c->version, c->file, job->arena, &array, &problem) != OK) {
        if (problem.status == ERR_MEMORY)
            return job_no_memory(job);
        job_issue_error(job, ISSUE_ERROR, &problem);
        return OK;
    }
    if (array.kind == ZARR_GROUP)
        return OK;
    if (array_site_list(job, c->root, &array, &site) != OK)
        return job->err->status;
    site.consolidated = !site.metadata_name;
    void *larger =
        arena_grow(job->arena, tree->sites, tree->count, &c->space, sizeof(*tree->sites));
    if (!larger)
        return job_no_memory(job);
    tree->sites = larger;
    tree->sites[tree->count++] = site;
    return OK;
}

static enum status take_consolidated(struct job *job, const char *root, const struct found *f,
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
        return OK;
    json_init(&j, cursor_over(f->consolidated, 0), job->arena, file, &problem);
    j.python = true;
    json_next(&j);
    while (zarr_next_node(&j, c.version, &path, &metadata)) {
        if (memchr(path.at, '\0', path.len))
            continue;
        const char *kept = arena_copy(job->arena, path.at, path.len);
        if (!kept)
            return job_no_memory(job);
        if (add_consolidated(&c, kept, metadata) != OK)
            return job->err->status;
    }
    if (tree->count == c.before)
        return OK;
    named_sort(tree->sites, tree->count, sizeof(*tree->sites));
    forget_inside(tree);
    return OK;
}

/* --- the whole scan --------------------------------------------------------------------- */

static enum status put_together(struct scan *s, struct job *job, struct array_tree *tree)
{
    if (s->failed || !array_tree_merge(s, job->arena, tree))
        return job_no_memory(job);
    for (const struct found *f = s->found; f; f = f->next)
        if (take_consolidated(job, s->root, f, tree) != OK)
            return job->err->status;
    if (tree->count > LIMIT_TENSORS)
        return error_set(job->err, ERR_LIMIT, job->path, NO_OFFSET, "more than %llu arrays",
                         (unsigned long long)LIMIT_TENSORS);
    return OK;
}

static enum status run_scan(struct job *job, struct scan *s, unsigned thread_count,
                            struct array_tree *out)
{
    const struct arena *a = job->arena;
    struct array_tree tree = {0};
    s->ceiling = a->ceiling ? a->ceiling - a->used : 0;
    pthread_mutex_init(&s->lock, NULL);
    pthread_cond_init(&s->changed, NULL);
    array_tree_push(s, job->arena, "");
    struct threads *threads =
        thread_count > 1 ? threads_start(thread_count - 1, array_tree_work, s) : NULL;
    array_tree_work(s);
    threads_join(threads);
    if (put_together(s, job, &tree) == OK)
        *out = tree;
    array_tree_release(s);
    return job->err->status;
}

enum status array_tree_scan(struct job *job, const char *root, struct array_tree *out)
{
    struct scan s = {.root = root};
    struct array_listing l;
    struct arena scratch = {0};
    enum status status = array_list(&scratch, root, "", &l, job->err);
    arena_release(&scratch);
    return status == OK ? run_scan(job, &s, job->threads, out) : status;
}

/* A database can refer to files in any directory: note those of the root that have files of the
 * job. */
static enum status note_own_files(struct scan *s, struct job *job)
{
    size_t len = strlen(s->root);
    for (uint64_t i = 0; i < job->batch->file_count; i++) {
        const char *path = job->batch->files[i].path;
        bool added;
        if (strncmp(path, s->root, len) != 0 || path[len] != '/')
            continue;
        path += len + 1;
        if (strchr(path, '/') && !strmap_add(&s->files, path, strcspn(path, "/"), &added))
            return job_no_memory(job);
    }
    return OK;
}

/* Most roots have nothing but their own directories: threads would cost more than the search. */
enum status array_tree_report_foreign(struct job *job, const char *root, const char *const *own,
                                      size_t own_count)
{
    struct scan s = {.root = root, .only_foreign = true, .own = own, .own_count = own_count};
    struct array_tree tree = {0};
    if (note_own_files(&s, job) == OK)
        run_scan(job, &s, 1, &tree);
    strmap_release(&s.files);
    if (job->err->status != OK)
        return job->err->status;
    for (uint64_t i = 0; i < tree.count; i++)
        job_issue_error(job, ISSUE_WARNING, tree.sites[i].problem);
    array_tree_report(job, root, &tree);
    return job->err->status;
}
