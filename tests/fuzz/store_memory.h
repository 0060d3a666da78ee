/*
 * store_memory.h - a tree of files in memory, below memory:/NAME.
 *
 *   const struct memory_file files[] = {{"w/.zarray", metadata}, {"w/0", chunk}};
 *   memory_mount("test", files, 2, &err);     memory:/test/w/.zarray is a file, memory:/test/w a folder
 *   memory_unmount("test");
 *
 * For tests and fuzzers of code that reads folders: nothing touches a disk. As long as no tree with
 * that name is mounted, such a path is an ordinary path in the file system. Included by one file of
 * a program.
 */
#pragma once

#include <errno.h>
#include <limits.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>

#include "catalog/base/search.h"
#include "catalog/data/store/store.h"

#define SCHEME "memory:/"

struct memory_file {
    const char *path; /* "a/b": no empty part, no "." and ".." */
    struct bytes bytes;
};

struct tree {
    struct tree *next;
    uint64_t device;
    size_t count;
    char *name;
    struct memory_file files[]; /* sorted by_path() */
};

static pthread_mutex_t memory_lock = PTHREAD_MUTEX_INITIALIZER;
static struct tree *mounted;
static uint64_t
    mounts; /* so far: the device number, so that no tree has an identity of an earlier one */

/* --- paths --------------------------------------------------------------------------------- */

/* '/' sorts before all other characters, so that the files below a folder are neighbours: "a/b",
 * "a/c", then "a-b". */
static int compare_paths(const char *a, const char *b)
{
    while (*a && *a == *b) {
        a++;
        b++;
    }
    const int left = *a == '/' ? 1 : (uint8_t)*a + 1, right = *b == '/' ? 1 : (uint8_t)*b + 1;
    return (*a ? left : 0) - (*b ? right : 0);
}

static int by_path(const void *a, const void *b)
{
    return compare_paths(((const struct memory_file *)a)->path,
                         ((const struct memory_file *)b)->path);
}

static bool is_below(const char *path, const char *folder)
{
    const size_t len = strlen(folder);
    return !len || (strncmp(path, folder, len) == 0 && path[len] == '/');
}

static bool is_path(const char *path)
{
    for (;;) {
        const size_t len = strcspn(path, "/");
        if (!len || len > NAME_MAX || (len <= 2 && strspn(path, ".") >= len))
            return false;
        if (!path[len])
            return true;
        path += len + 1;
    }
}

/* --- mounting ------------------------------------------------------------------------------ */

static struct tree *find_tree(const char *name, size_t len)
{
    struct tree *t = mounted;
    while (t && (strncmp(t->name, name, len) != 0 || t->name[len]))
        t = t->next;
    return t;
}

static enum status check_files(const struct tree *t, struct error *err)
{
    for (size_t i = 0; i < t->count; i++) {
        const char *path = t->files[i].path;
        const char *before = i ? t->files[i - 1].path : NULL;
        if (!is_path(path))
            return error_set(err, ERR_ARGUMENT, path, NO_OFFSET, "not a path");
        if (before && (strcmp(before, path) == 0 || is_below(path, before)))
            return error_set(err, ERR_ARGUMENT, path, NO_OFFSET, "there twice, or below a file");
    }
    return OK;
}

static void free_tree(struct tree *t)
{
    if (t)
        free(t->name);
    free(t);
}

/* --- the store's operations ----------------------------------------------------------------- */

/* A file or a folder in a tree. */
struct place {
    const struct tree *tree;
    const char *path; /* below the tree's root, which is "" */
    size_t len;       /* the place's own path is the first `len` bytes */
    size_t first;     /* index of the file, or of the first file below the folder */
    enum entry_kind kind;
};

/* The tree of a path, and the rest of the path after the tree's name; NULL if absent. */
static const struct tree *tree_of(const char *path, const char **below)
{
    if (strncmp(path, SCHEME, strlen(SCHEME)) != 0)
        return NULL;
    const char *name = path + strlen(SCHEME);
    const size_t len = strcspn(name, "/");
    pthread_mutex_lock(&memory_lock);
    const struct tree *t = find_tree(name, len);
    pthread_mutex_unlock(&memory_lock);
    *below = name + len + (name[len] == '/');
    return t;
}

static size_t first_from(const struct tree *t, const char *path)
{
    size_t at;
    PARTITION_POINT(at, t->count, compare_paths(t->files[at].path, path) < 0);
    return at;
}

static bool find_place(const char *path, struct place *out)
{
    out->tree = tree_of(path, &out->path);
    if (!out->tree)
        return false;
    out->len = strlen(out->path);
    out->first = first_from(out->tree, out->path);
    const char *found = out->first < out->tree->count ? out->tree->files[out->first].path : NULL;
    out->kind = found && strcmp(found, out->path) == 0 ? ENTRY_FILE : ENTRY_FOLDER;
    return !*out->path || (found && (out->kind == ENTRY_FILE || is_below(found, out->path)));
}

static struct file_identity identity_of(const struct place *p)
{
    const uint64_t number = 2 * (uint64_t)p->first + (p->kind == ENTRY_FILE);
    return (struct file_identity){
        .size = p->kind == ENTRY_FILE ? p->tree->files[p->first].bytes.len : 0,
        .inode = number << 16 | (p->len & 0xFFFF), /* "a" and "a/b" may begin at the same file */
        .device = p->tree->device,
    };
}

static bool memory_takes(const char *path)
{
    const char *below;
    return tree_of(path, &below) != NULL;
}

static enum status memory_open(const char *path, int flags, struct source **out,
                               struct file_identity *identity, struct error *err)
{
    struct place p;
    (void)flags;
    if (!find_place(path, &p))
        return error_set(err, ERR_MISSING, path, NO_OFFSET, "no such file");
    if (p.kind != ENTRY_FILE) {
        error_set(err, ERR_UNSUPPORTED, path, NO_OFFSET, "not a regular file");
        return error_code(err, "missing-file");
    }
    if (identity)
        *identity = identity_of(&p);
    return source_open_memory(path, p.tree->files[p.first].bytes, false, out, err);
}

static enum status memory_look(const char *path, enum entry_kind *kind,
                               struct file_identity *identity, struct error *err)
{
    struct place p;
    if (!find_place(path, &p))
        return error_set(err, ERR_MISSING, path, NO_OFFSET, "no such file");
    *kind = p.kind;
    *identity = identity_of(&p);
    return OK;
}

static enum status memory_list(const char *path, int flags, struct file_identity *own,
                               bool (*see)(void *, const struct directory_entry *), void *context,
                               struct error *err)
{
    struct place p;
    char name[NAME_MAX + 1];
    (void)flags;
    if (!find_place(path, &p) || p.kind != ENTRY_FOLDER)
        return error_set(err, ERR_MISSING, path, NO_OFFSET, "no such directory");
    if (own)
        *own = identity_of(&p);
    const size_t skip = strlen(p.path) + (*p.path != '\0');
    for (size_t i = p.first; i < p.tree->count && is_below(p.tree->files[i].path, p.path);) {
        const char *rest = p.tree->files[i].path + skip;
        const size_t len = strcspn(rest, "/");
        const struct place inner = {p.tree, p.tree->files[i].path, skip + len, i,
                                    rest[len] ? ENTRY_FOLDER : ENTRY_FILE};
        memcpy(name, rest, len);
        name[len] = '\0';
        const struct directory_entry entry = {
            .name = name, .kind = inner.kind, .identity = identity_of(&inner)};
        if (!see(context, &entry))
            return OK;
        do /* skip all other files below this folder */
            i++;
        while (i < p.tree->count && is_below(p.tree->files[i].path, p.path) &&
               strncmp(p.tree->files[i].path + skip, name, len) == 0 &&
               p.tree->files[i].path[skip + len] == '/');
    }
    return OK;
}

static char *memory_resolve(const char *path)
{
    struct place p;
    size_t len = strlen(path);
    while (len && path[len - 1] == '/')
        len--;
    char *copy = strndup(path, len);
    if (copy && find_place(copy, &p))
        return copy;
    free(copy);
    errno = ENOENT;
    return NULL;
}

static const struct store store_memory = {
    .takes = memory_takes,
    .open = memory_open,
    .list = memory_list,
    .look = memory_look,
    .resolve = memory_resolve,
};

/* The files' paths and bytes must outlive the mount, and nothing may be reading them when it is
 * unmounted. ERR_ARGUMENT: an invalid or duplicate path, a path below a file, a NAME in use. */
static enum status memory_mount(const char *name, const struct memory_file *files, size_t count,
                                struct error *err)
{
    struct tree *t = calloc(1, sizeof(*t) + count * sizeof(*files));
    if (!t || !(t->name = strdup(name))) {
        free_tree(t);
        return error_memory_at(err, name);
    }
    t->count = count;
    if (count)
        memcpy(t->files, files, count * sizeof(*files));
    qsort(t->files, count, sizeof(*files), by_path);
    pthread_mutex_lock(&memory_lock);
    store_mounted = &store_memory;
    if (!is_path(name) || strchr(name, '/') || find_tree(name, strlen(name)))
        error_set(err, ERR_ARGUMENT, name, NO_OFFSET, "not a name, or one in use");
    else if (check_files(t, err) == OK) {
        t->device = ++mounts;
        t->next = mounted;
        mounted = t;
        t = NULL;
    }
    pthread_mutex_unlock(&memory_lock);
    free_tree(t);
    return err->status;
}

static void memory_unmount(const char *name)
{
    pthread_mutex_lock(&memory_lock);
    for (struct tree **at = &mounted; *at; at = &(*at)->next) {
        struct tree *t = *at;
        if (strcmp(t->name, name) == 0) {
            *at = t->next;
            free_tree(t);
            break;
        }
    }
    pthread_mutex_unlock(&memory_lock);
}
