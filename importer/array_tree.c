/*
 * array_tree.c - find zarr arrays below a directory.
 *
 * Threads take directories from a stack until there are none. One directory costs its
 * listing and its metadata file (.zarray, zarr.json; .zattrs where there is one); of chunk
 * files only the names are seen, never more. Arrays are not entered, but for directories
 * that hold their chunks (keys with '/') and what lies between them.
 *
 * Each thread fills lists of its own; they are put together and sorted at the end, so the
 * result does not depend on who was first.
 */
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "catalog/base/text.h"
#include "catalog/base/threads.h"
#include "importer/array.h"
#include "importer/container/json.h"

/* --- what the threads share ------------------------------------------------------------- */

struct task {
    const char *path; /* below the root */
    struct task *next;
};

/* What one thread has found. */
struct found {
    struct arena arena;   /* of the results */
    struct arena scratch; /* of one directory */
    struct array_tree tree;
    size_t site_space, group_space, attribute_space;
    /* Of the root: what its metadata says of the nodes below (zarr_parts). */
    struct bytes consolidated;
    unsigned consolidated_version;
    struct found *next;
};

struct scan {
    const char *root;
    size_t ceiling; /* of each thread's arena */
    pthread_mutex_t lock;
    pthread_cond_t changed;
    struct task *tasks;
    uint64_t open_tasks; /* queued or being worked on */
    struct found *found;
    bool failed; /* no memory */
};

static void fail(struct scan *s)
{
    pthread_mutex_lock(&s->lock);
    s->failed = true;
    pthread_cond_broadcast(&s->changed);
    pthread_mutex_unlock(&s->lock);
}

/* The path lives in an arena that outlives the scan. */
static void push(struct scan *s, struct arena *arena, const char *path)
{
    struct task *t = arena_alloc(arena, sizeof(*t));
    if (!t) {
        fail(s);
        return;
    }
    pthread_mutex_lock(&s->lock);
    *t = (struct task){path, s->tasks};
    s->tasks = t;
    s->open_tasks++;
    pthread_cond_signal(&s->changed);
    pthread_mutex_unlock(&s->lock);
}

static struct task *pop(struct scan *s)
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

/* --- reading a directory ---------------------------------------------------------------- */

struct listing {
    const char **files, **dirs;
    uint64_t file_count, dir_count;
    size_t file_space, dir_space;
    uint64_t links; /* to directories */
    const char *link;
    struct file_identity identity;
};

/* "ROOT/PATH/NAME"; false: too long to exist. */
static bool whole_path(char out[PATH_MAX], const char *root, const char *path,
                       const char *name)
{
    int len = snprintf(out, PATH_MAX, "%s%s%s%s%s", root, *path ? "/" : "", path,
                       *name ? "/" : "", name);
    return len > 0 && len < PATH_MAX;
}

/* "PATH/NAME" below the root. */
static const char *below(struct arena *arena, const char *path, const char *name)
{
    size_t a = strlen(path), b = strlen(name);
    char *out = arena_alloc(arena, a + b + 2);
    if (out) {
        memcpy(out, path, a);
        if (a)
            out[a++] = '/';
        memcpy(out + a, name, b);
    }
    return out;
}

static bool add_name(struct arena *arena, const char ***list, uint64_t *count,
                     size_t *space, const char *name)
{
    const char *kept = arena_copy(arena, name, strlen(name));
    void *larger = arena_grow(arena, *list, *count, space, sizeof(**list));
    if (!kept || !larger)
        return false;
    *list = larger;
    (*list)[(*count)++] = kept;
    return true;
}

enum entry {
    ENTRY_FILE,
    ENTRY_DIRECTORY,
    ENTRY_LINK, /* to a directory */
    ENTRY_OTHER
};

/* What an entry is, without asking the disk where its directory says it. */
static enum entry entry_kind(int fd, const struct dirent *e)
{
    struct stat st;
    if (e->d_type == DT_REG)
        return ENTRY_FILE;
    if (e->d_type == DT_DIR)
        return ENTRY_DIRECTORY;
    bool linked = e->d_type == DT_LNK;
    if (e->d_type == DT_UNKNOWN && fstatat(fd, e->d_name, &st, AT_SYMLINK_NOFOLLOW) == 0)
        linked = S_ISLNK(st.st_mode);
    if ((!linked && e->d_type != DT_UNKNOWN) || fstatat(fd, e->d_name, &st, 0) != 0)
        return ENTRY_OTHER;
    return S_ISREG(st.st_mode)    ? ENTRY_FILE
           : !S_ISDIR(st.st_mode) ? ENTRY_OTHER
           : linked               ? ENTRY_LINK
                                  : ENTRY_DIRECTORY;
}

static bool list_entry(struct arena *arena, struct listing *l, int fd,
                       const struct dirent *e)
{
    switch (entry_kind(fd, e)) {
    case ENTRY_FILE:
        return add_name(arena, &l->files, &l->file_count, &l->file_space, e->d_name);
    case ENTRY_DIRECTORY:
        return add_name(arena, &l->dirs, &l->dir_count, &l->dir_space, e->d_name);
    case ENTRY_LINK:
        l->links++;
        if (!l->link || strcmp(e->d_name, l->link) < 0)
            l->link = arena_copy(arena, e->d_name, strlen(e->d_name));
        return l->link;
    case ENTRY_OTHER:
        break;
    }
    return true;
}

/* ERR_MISSING where there is no such directory. Links are followed only to the root. */
static enum status list(struct arena *arena, const char *root, const char *path,
                        struct listing *l, struct error *err)
{
    char whole[PATH_MAX];
    struct stat st;
    *l = (struct listing){0};
    if (!whole_path(whole, root, path, ""))
        return error_set(err, ERR_IO, root, NO_OFFSET, "a path that is too long");
    int how = O_RDONLY | O_DIRECTORY | O_CLOEXEC | (*path ? O_NOFOLLOW : 0);
    int fd = open(whole, how);
    if (fd < 0 && (errno == ENOENT || errno == ENOTDIR || errno == ELOOP))
        return error_set(err, ERR_MISSING, whole, NO_OFFSET, "no such directory");
    DIR *d = fd < 0 ? NULL : fdopendir(fd);
    if (!d || fstat(fd, &st) != 0) {
        error_errno(err, errno, whole, "cannot read this directory");
        if (d)
            closedir(d);
        else if (fd >= 0)
            close(fd);
        return err->status;
    }
    l->identity = (struct file_identity){(uint64_t)st.st_size,
                                         (int64_t)st.st_mtim.tv_sec * 1000000000 +
                                             st.st_mtim.tv_nsec,
                                         st.st_ino, st.st_dev};
    for (struct dirent *e; err->status == OK && (e = readdir(d));)
        if (strcmp(e->d_name, ".") != 0 && strcmp(e->d_name, "..") != 0 &&
            !list_entry(arena, l, fd, e))
            error_set(err, ERR_MEMORY, whole, NO_OFFSET, "no memory");
    closedir(d);
    return err->status;
}

static bool listed(const struct listing *l, const char *name)
{
    for (uint64_t i = 0; i < l->file_count; i++)
        if (strcmp(l->files[i], name) == 0)
            return true;
    return false;
}

/* All of a small file. */
static enum status read_file(struct arena *arena, const char *root, const char *path,
                             const char *name, struct bytes *out,
                             struct file_identity *identity, struct error *err)
{
    char whole[PATH_MAX];
    struct source *s = NULL;
    if (!whole_path(whole, root, path, name))
        return error_set(err, ERR_IO, root, NO_OFFSET, "a path that is too long");
    if (source_open_file(whole, SOURCE_HEADERS, &s, identity, err) != OK)
        return err->status;
    uint8_t *bytes = NULL;
    if (s->size > LIMIT_ZARR_METADATA)
        error_set(err, ERR_LIMIT, whole, NO_OFFSET, "metadata of more than %llu bytes",
                  (unsigned long long)LIMIT_ZARR_METADATA);
    else if (!(bytes = arena_alloc(arena, s->size ? s->size : 1)))
        error_set(err, ERR_MEMORY, whole, NO_OFFSET, "no memory");
    else if (source_read(s, 0, bytes, s->size, err) == OK)
        *out = (struct bytes){bytes, s->size};
    source_close(s);
    return err->status;
}

/* --- the values of an array ------------------------------------------------------------- */

struct keys {
    struct arena *arena, *scratch;
    const char *root;
    struct array_site *site;
    uint64_t *indexes;
    uint64_t count;
    size_t space, inside_space, stack_space;
    const char *
        *stack; /* directories to be read, below the array's: keys without an end */
    uint64_t stacked;
    struct error *err;
};

static bool no_memory(struct keys *k)
{
    error_set(k->err, ERR_MEMORY, k->root, NO_OFFSET, "no memory to list chunks");
    return false;
}

static bool digits(const char *name)
{
    return *name && strspn(name, "0123456789") == strlen(name);
}

static bool stranger(struct keys *k, const char *key)
{
    struct array_site *s = k->site;
    if (key[strspn(key, "/")] == '.')
        return true;
    s->strangers++;
    if (s->stranger && strcmp(key, s->stranger) > 0)
        return true;
    s->stranger = arena_copy(k->arena, key, strlen(key));
    return s->stranger || no_memory(k);
}

static bool take_key(struct keys *k, const char *key)
{
    uint64_t index;
    const char *name = strrchr(key, '/');
    if (!zarr_key_index(&k->site->array, key, strlen(key), &index)) {
        name = name ? name + 1 : key;
        return *name == '.' || strcmp(key, "zarr.json") == 0 || stranger(k, key);
    }
    void *larger =
        arena_grow(k->scratch, k->indexes, k->count, &k->space, sizeof(*k->indexes));
    if (!larger)
        return no_memory(k);
    k->indexes = larger;
    k->indexes[k->count++] = index;
    return true;
}

/* May keys begin so, `depth` components before this one? */
static bool begins_key(const struct zarr_array *a, unsigned depth, const char *name)
{
    if (a->grid.separator != '/' || !a->grid.levels)
        return false;
    if (a->grid.prefixed && depth == 0)
        return strcmp(name, "c") == 0 && a->rank > 0;
    return depth + 1 < a->rank + (a->grid.prefixed ? 1u : 0u) && digits(name);
}

static bool stack(struct keys *k, const char *key)
{
    void *larger =
        arena_grow(k->scratch, k->stack, k->stacked, &k->stack_space, sizeof(*k->stack));
    if (!larger)
        return no_memory(k);
    k->stack = larger;
    k->stack[k->stacked++] = key;
    return true;
}

static unsigned components(const char *key)
{
    unsigned n = *key ? 1 : 0;
    for (; *key; key++)
        n += *key == '/';
    return n;
}

/* The files and directories of one directory inside the array's. */
static bool take_inside(struct keys *k, const char *key, const struct listing *l)
{
    struct array_site *s = k->site;
    void *larger = arena_grow(k->arena, s->inside, s->inside_count, &k->inside_space,
                              sizeof(*s->inside));
    const char *path = below(k->arena, s->path, key);
    if (!larger || !path)
        return no_memory(k);
    s->inside = larger;
    s->inside[s->inside_count++] = (struct array_directory){path, l->identity};
    for (uint64_t i = 0; i < l->file_count; i++) {
        const char *name = below(k->scratch, key, l->files[i]);
        if (!name || !take_key(k, name))
            return no_memory(k);
    }
    for (uint64_t i = 0; i < l->dir_count; i++) {
        const char *name = below(k->scratch, key, l->dirs[i]);
        if (!name)
            return no_memory(k);
        if (!(begins_key(&s->array, components(key), l->dirs[i]) ? stack(k, name)
                                                                 : stranger(k, name)))
            return false;
    }
    return true;
}

static int by_number(const void *a, const void *b)
{
    uint64_t x = *(const uint64_t *)a, y = *(const uint64_t *)b;
    return (x > y) - (x < y);
}

static int by_directory(const void *a, const void *b)
{
    return strcmp(((const struct array_directory *)a)->path,
                  ((const struct array_directory *)b)->path);
}

/* The indexes found as runs. */
static bool make_runs(struct keys *k)
{
    struct array_site *s = k->site;
    uint64_t runs = 0;
    if (k->count)
        qsort(k->indexes, (size_t)k->count, sizeof(*k->indexes), by_number);
    for (uint64_t i = 0; i < k->count; i++)
        runs += i == 0 || k->indexes[i] != k->indexes[i - 1] + 1;
    s->runs = arena_array(k->arena, (size_t)(runs ? runs : 1), sizeof(*s->runs));
    if (!s->runs)
        return no_memory(k);
    for (uint64_t i = 0; i < k->count; i++) {
        if (i == 0 || k->indexes[i] != k->indexes[i - 1] + 1)
            s->runs[s->run_count++] = (struct grid_run){k->indexes[i], 0};
        s->runs[s->run_count - 1].count++;
    }
    return true;
}

/* Version 2 arrays of old writers have keys with '/' and do not say so. */
static void guess_separator(struct zarr_array *a, const struct listing *l)
{
    uint64_t ignored;
    bool nested = false;
    if (!a->separator_guessed || a->rank < 2)
        return;
    for (uint64_t i = 0; i < l->file_count; i++)
        if (zarr_key_index(a, l->files[i], strlen(l->files[i]), &ignored))
            return;
    for (uint64_t i = 0; i < l->dir_count; i++)
        nested |= digits(l->dirs[i]);
    if (nested)
        a->grid.separator = '/';
}

/* Why part of an array could not be looked at. */
static bool keep_problem(struct arena *arena, struct array_site *s,
                         const struct error *problem)
{
    struct error *kept = arena_alloc(arena, sizeof(*kept));
    if (kept)
        *kept = *problem;
    s->problem = kept;
    return kept;
}

/* Find the values of the site's array, whose directory has been read. */
static enum status find_values(struct arena *arena, struct arena *scratch,
                               const char *root, struct array_site *site,
                               const struct listing *top, struct error *err)
{
    struct keys k = {
        .arena = arena, .scratch = scratch, .root = root, .site = site, .err = err};
    guess_separator(&site->array, top);
    bool ok = true;
    for (uint64_t i = 0; i < top->file_count && ok; i++)
        ok = take_key(&k, top->files[i]);
    for (uint64_t i = 0; i < top->dir_count && ok; i++)
        if (begins_key(&site->array, 0, top->dirs[i]))
            ok = stack(&k, top->dirs[i]);
    while (ok && k.stacked) {
        const char *key = k.stack[--k.stacked];
        const char *path = below(scratch, site->path, key);
        struct error problem = {.offset = NO_OFFSET};
        struct listing l;
        if (!path)
            ok = no_memory(&k);
        else if (list(scratch, root, path, &l, &problem) == OK)
            ok = take_inside(&k, key, &l);
        else
            ok = keep_problem(arena, site, &problem) || no_memory(&k);
    }
    if (!ok || !make_runs(&k))
        return err->status;
    if (site->inside_count)
        qsort(site->inside, (size_t)site->inside_count, sizeof(*site->inside),
              by_directory);
    return OK;
}

enum status array_site_list(struct job *job, const char *root,
                            const struct zarr_array *array, struct array_site *site)
{
    struct arena scratch = {.ceiling = job->arena->ceiling};
    struct error problem = {.offset = NO_OFFSET};
    struct listing l;
    site->array = *array;
    site->has_metadata = true;
    site->found = list(&scratch, root, site->path, &l, &problem) == OK;
    site->identity = l.identity;
    if (site->found)
        find_values(job->arena, &scratch, root, site, &l, job->err);
    else if (problem.status != ERR_MISSING && !keep_problem(job->arena, site, &problem))
        error_set(job->err, ERR_MEMORY, job->path, NO_OFFSET, "no memory");
    arena_release(&scratch);
    return job->err->status;
}

/* --- one node --------------------------------------------------------------------------- */

struct node {
    struct scan *scan;
    struct found *found;
    const char *path;
    struct listing listing;
    struct error problem; /* with what was read of it */
};

static bool add_attributes(struct node *n, const char *file, struct bytes text)
{
    struct found *f = n->found;
    struct array_tree *t = &f->tree;
    size_t blank = 0;
    while (blank < text.len && strchr("{} \t\r\n", text.at[blank]))
        blank++;
    if (blank == text.len)
        return true;
    void *larger = arena_grow(&f->arena, t->attributes, t->attribute_count,
                              &f->attribute_space, sizeof(*t->attributes));
    char *kept = arena_copy(&f->arena, text.at, text.len);
    if (!larger || !kept)
        return false;
    t->attributes = larger;
    t->attributes[t->attribute_count++] = (struct array_attributes){
        n->path, file, {(const uint8_t *)kept, text.len}
    };
    return true;
}

/* Attributes that cannot be read are the node's loss, not its arrays'. */
static bool read_attributes(struct node *n)
{
    struct found *f = n->found;
    struct error ignored = {.offset = NO_OFFSET};
    struct bytes text;
    if (!listed(&n->listing, ".zattrs") ||
        read_file(&f->scratch, n->scan->root, n->path, ".zattrs", &text, NULL,
                  &ignored) != OK)
        return ignored.status != ERR_MEMORY;
    return add_attributes(n, ".zattrs", text);
}

static bool add_site(struct node *n, const struct array_site *site)
{
    struct found *f = n->found;
    void *larger = arena_grow(&f->arena, f->tree.sites, f->tree.count, &f->site_space,
                              sizeof(*f->tree.sites));
    if (!larger)
        return false;
    f->tree.sites = larger;
    f->tree.sites[f->tree.count++] = *site;
    return true;
}

static bool add_group(struct node *n)
{
    struct found *f = n->found;
    struct array_tree *t = &f->tree;
    if (!*n->path)
        return true;
    void *larger = arena_grow(&f->arena, t->groups, t->group_count, &f->group_space,
                              sizeof(*t->groups));
    if (!larger)
        return false;
    t->groups = larger;
    t->groups[t->group_count++] = (struct array_directory){n->path, n->listing.identity};
    return true;
}

static bool add_links(struct node *n)
{
    struct found *f = n->found;
    if (!n->listing.links)
        return true;
    const char *link = below(&f->arena, n->path, n->listing.link);
    f->tree.links += n->listing.links;
    if (link && (!f->tree.link || strcmp(link, f->tree.link) < 0))
        f->tree.link = link;
    return link;
}

/* Go on below, but into the directories of the array's own keys. */
static bool push_below(struct node *n, const struct zarr_array *array)
{
    for (uint64_t i = 0; i < n->listing.dir_count; i++) {
        const char *name = n->listing.dirs[i];
        if (*name == '.' || (array && begins_key(array, 0, name)))
            continue;
        const char *path = below(&n->found->arena, n->path, name);
        if (!path)
            return false;
        push(n->scan, &n->found->arena, path);
    }
    return true;
}

static const char *metadata_name(const struct listing *l, unsigned *version)
{
    *version = listed(l, "zarr.json") ? 3 : 2;
    return *version == 3 ? "zarr.json" : listed(l, ".zarray") ? ".zarray" : NULL;
}

/* The root may hold copies of all metadata below it. */
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

/* Stale or damaged copies are no loss. */
static bool read_copies(struct node *n)
{
    struct found *f = n->found;
    struct error ignored = {.offset = NO_OFFSET};
    struct bytes text;
    struct zarr_parts parts;
    if (*n->path || !listed(&n->listing, ".zmetadata"))
        return true;
    if (read_file(&f->scratch, n->scan->root, "", ".zmetadata", &text, NULL, &ignored) !=
            OK ||
        zarr_parts(text, "", &f->scratch, &parts, &ignored) != OK)
        return ignored.status != ERR_MEMORY;
    return keep_consolidated(n, parts.consolidated, 2);
}

/* The node's own metadata, which makes it an array. */
static bool read_node(struct node *n, struct array_site *site, bool *is_array)
{
    struct found *f = n->found;
    unsigned version;
    enum zarr_kind kind = ZARR_GROUP;
    struct bytes text;
    struct zarr_parts parts;
    struct error problem = {.offset = NO_OFFSET};
    char whole[PATH_MAX];
    const char *name = metadata_name(&n->listing, &version);
    if (!name || !whole_path(whole, n->scan->root, n->path, name))
        return true;
    site->metadata_name = name;
    if (read_file(&f->scratch, n->scan->root, n->path, name, &text,
                  &site->metadata_identity, &problem) == OK &&
        zarr_parse(text, version, whole, &f->arena, &kind, &site->array, &problem) ==
            OK) {
        *is_array = site->has_metadata = kind == ZARR_ARRAY;
        return version == 2 ||
               zarr_parts(text, whole, &f->scratch, &parts, &problem) != OK ||
               (add_attributes(n, name, parts.attributes) &&
                keep_consolidated(n, parts.consolidated, 3));
    }
    *is_array = true;
    return problem.status != ERR_MEMORY && keep_problem(&f->arena, site, &problem);
}

static bool take_node(struct node *n)
{
    struct found *f = n->found;
    struct array_site site = {
        .path = n->path, .found = true, .identity = n->listing.identity};
    struct error err = {.offset = NO_OFFSET};
    bool is_array = false;
    if (!read_node(n, &site, &is_array) || !read_attributes(n) || !read_copies(n) ||
        !add_links(n))
        return false;
    if (!is_array)
        return add_group(n) && push_below(n, NULL);
    if (site.has_metadata && find_values(&f->arena, &f->scratch, n->scan->root, &site,
                                         &n->listing, &err) != OK)
        return false;
    return add_site(n, &site) && push_below(n, site.has_metadata ? &site.array : NULL);
}

static void work(void *argument)
{
    struct scan *s = argument;
    struct found *f = calloc(1, sizeof(*f));
    if (!f) {
        fail(s);
        return;
    }
    f->arena.ceiling = f->scratch.ceiling = s->ceiling;
    for (struct task *t; (t = pop(s)); done(s)) {
        struct node n = {.scan = s, .found = f, .path = t->path};
        struct array_site site = {.path = t->path, .found = true};
        n.problem.offset = NO_OFFSET;
        bool ok;
        if (list(&f->scratch, s->root, t->path, &n.listing, &n.problem) == OK)
            ok = take_node(&n);
        else /* gone meanwhile, or not to be read */
            ok = n.problem.status == ERR_MISSING ||
                 (n.problem.status != ERR_MEMORY &&
                  keep_problem(&f->arena, &site, &n.problem) && add_site(&n, &site));
        arena_release(&f->scratch);
        if (!ok)
            fail(s);
    }
    pthread_mutex_lock(&s->lock);
    f->next = s->found;
    s->found = f;
    pthread_mutex_unlock(&s->lock);
}

/* --- putting it together ---------------------------------------------------------------- */

static int by_site(const void *a, const void *b)
{
    return strcmp(((const struct array_site *)a)->path,
                  ((const struct array_site *)b)->path);
}

static int by_node(const void *a, const void *b)
{
    return strcmp(((const struct array_attributes *)a)->path,
                  ((const struct array_attributes *)b)->path);
}

static void *appended(struct arena *arena, void *to, uint64_t *count, const void *from,
                      uint64_t more, uint64_t all, size_t size)
{
    if (!to)
        to = arena_array(arena, (size_t)(all ? all : 1), size);
    if (to && more)
        memcpy((char *)to + *count * size, from, (size_t)more * size);
    *count += more;
    return to;
}

static bool merge(struct scan *s, struct arena *arena, struct array_tree *tree)
{
    uint64_t sites = 0, groups = 0, attributes = 0;
    bool ok = true;
    for (struct found *f = s->found; f; f = f->next) {
        sites += f->tree.count;
        groups += f->tree.group_count;
        attributes += f->tree.attribute_count;
    }
    for (struct found *f = s->found; f && ok; f = f->next) {
        const struct array_tree *t = &f->tree;
        tree->sites = appended(arena, tree->sites, &tree->count, t->sites, t->count,
                               sites, sizeof(*t->sites));
        tree->groups = appended(arena, tree->groups, &tree->group_count, t->groups,
                                t->group_count, groups, sizeof(*t->groups));
        tree->attributes =
            appended(arena, tree->attributes, &tree->attribute_count, t->attributes,
                     t->attribute_count, attributes, sizeof(*t->attributes));
        ok = tree->sites && tree->groups && tree->attributes;
        tree->links += t->links;
        if (t->link && (!tree->link || strcmp(t->link, tree->link) < 0))
            tree->link = t->link;
        arena_adopt(arena, &f->arena);
    }
    if (!ok)
        return false;
    qsort(tree->sites, (size_t)sites, sizeof(*tree->sites), by_site);
    qsort(tree->groups, (size_t)groups, sizeof(*tree->groups), by_directory);
    qsort(tree->attributes, (size_t)attributes, sizeof(*tree->attributes), by_node);
    return true;
}

static void release(struct scan *s)
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

/* --- what the root's metadata says of the others ---------------------------------------- */

/* Relative, without components that lead elsewhere. */
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

/* Is a directory inside that of an array without metadata of its own? */
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
    uint64_t before; /* sites that were found on disk */
    size_t space;
};

/* An array that the root knows and whose own metadata was not found. */
static enum status add_consolidated(struct consolidated *c, const char *path,
                                    struct bytes metadata)
{
    struct job *job = c->job;
    struct array_tree *tree = c->tree;
    struct array_tree on_disk = {.sites = tree->sites, .count = c->before};
    struct array_site site = {.path = path, .consolidated = true};
    struct zarr_array array;
    enum zarr_kind kind = ZARR_GROUP;
    struct error problem = {.offset = NO_OFFSET};
    if (!is_safe(path) || array_tree_find(&on_disk, path))
        return OK;
    if (zarr_parse(metadata, c->version, c->file, job->arena, &kind, &array, &problem) !=
        OK) {
        if (problem.status == ERR_MEMORY)
            return error_set(job->err, ERR_MEMORY, job->path, NO_OFFSET, "no memory");
        job_issue_error(job, ISSUE_ERROR, &problem);
        return OK;
    }
    if (kind == ZARR_GROUP)
        return OK;
    if (array_site_list(job, c->root, &array, &site) != OK)
        return job->err->status;
    void *larger =
        arena_grow(job->arena, tree->sites, tree->count, &c->space, sizeof(*tree->sites));
    if (!larger)
        return error_set(job->err, ERR_MEMORY, job->path, NO_OFFSET, "no memory");
    tree->sites = larger;
    tree->sites[tree->count++] = site;
    return OK;
}

static enum status take_consolidated(struct job *job, const char *root,
                                     const struct found *f, struct array_tree *tree)
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
    if (!f->consolidated.at || !whole_path(file, root, "", name))
        return OK;
    json_init(&j, cursor_over(f->consolidated, 0), job->arena, file, &problem);
    json_next(&j);
    while (zarr_next_node(&j, c.version, &path, &metadata)) {
        if (memchr(path.at, '\0', path.len))
            continue;
        const char *kept = arena_copy(job->arena, path.at, path.len);
        if (!kept)
            return error_set(job->err, ERR_MEMORY, job->path, NO_OFFSET, "no memory");
        if (add_consolidated(&c, kept, metadata) != OK)
            return job->err->status;
    }
    if (tree->count == c.before)
        return OK;
    qsort(tree->sites, (size_t)tree->count, sizeof(*tree->sites), by_site);
    forget_inside(tree);
    return OK;
}

/* --- all of it -------------------------------------------------------------------------- */

static enum status put_together(struct scan *s, struct job *job, struct array_tree *tree)
{
    if (s->failed || !merge(s, job->arena, tree))
        return error_set(job->err, ERR_MEMORY, job->path, NO_OFFSET,
                         "no memory left to list so many directories");
    for (const struct found *f = s->found; f; f = f->next)
        if (take_consolidated(job, s->root, f, tree) != OK)
            return job->err->status;
    if (tree->count > LIMIT_TENSORS)
        return error_set(job->err, ERR_LIMIT, job->path, NO_OFFSET,
                         "more than %llu arrays", (unsigned long long)LIMIT_TENSORS);
    return OK;
}

enum status array_tree_scan(struct job *job, const char *root, struct array_tree *out)
{
    const struct arena *a = job->arena;
    struct scan s = {.root = root, .ceiling = a->ceiling ? a->ceiling - a->used : 0};
    struct array_tree tree = {0};
    struct listing l;
    struct arena scratch = {0};
    enum status status = list(&scratch, root, "", &l, job->err);
    arena_release(&scratch);
    if (status != OK)
        return status;
    pthread_mutex_init(&s.lock, NULL);
    pthread_cond_init(&s.changed, NULL);
    push(&s, job->arena, "");
    struct threads *threads =
        job->threads > 1 ? threads_start(job->threads - 1, work, &s) : NULL;
    work(&s);
    threads_join(threads);
    if (put_together(&s, job, &tree) == OK)
        *out = tree;
    release(&s);
    return job->err->status;
}
