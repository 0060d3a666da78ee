#include "importer/walk/walk.h"

#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "catalog/base/name_list.h"
#include "catalog/base/search.h"
#include "catalog/base/text.h"
#include "catalog/data/store/store.h"
#include "importer/container/shard_name.h"
#include "importer/walk/walker.h"

/* --- the queue of directories ----------------------------------------------------------- */

/* Queue a directory once, even if several links lead to it. `named`: only names in it were
 * asked for, which follow. NULL: it is not queued. */
static struct task *walk_push(struct walker *w, const char *path, bool named)
{
    struct arena *arena = &w->walk->arena;
    struct task *t = NULL;
    enum entry_kind kind;
    struct file_identity identity;
    struct error err = {.offset = NO_OFFSET};
    char key[40];
    const char *kept;
    bool added = named;
    pthread_mutex_lock(&w->lock);
    if (path_look(path, &kind, &identity, &err) != OK) {
        added = false;
        if (err.status != ERR_MISSING)
            walk_unseen(w, path, err.message);
    } else if (!named) {
        const int len = snprintf(key, sizeof(key), "%llx:%llx", (unsigned long long)identity.device,
                                 (unsigned long long)identity.inode);
        strmap_keep(&w->visited, arena, key, (size_t)len, &kept, &added);
    }
    if (added && (t = arena_alloc(arena, sizeof(*t)))) {
        t->path = arena_copy(arena, path, strlen(path));
        tasks_add(&w->tasks, &t->link);
    }
    pthread_mutex_unlock(&w->lock);
    return t;
}

/* --- reading one directory -------------------------------------------------------------- */

/* Folders with whole or partial copies of files elsewhere. In the Hugging Face cache,
 * .no_exist has empty files for what a repository lacks; Kauldron copies steps
 * being evaluated to _SNAPSHOTS-N. */
static bool never_entered(const char *name, bool hub_cache)
{
    return strcmp(name, ".git") == 0 || strncmp(name, "_SNAPSHOTS-", 11) == 0 ||
           (hub_cache && (strcmp(name, "blobs") == 0 || strcmp(name, ".no_exist") == 0));
}

/* Report an entry that cannot be read, but only if it was asked for by name, or
 * its name looks like a checkpoint's. */
static void report_entry(struct walker *w, const struct listing *l, const char *path,
                         const char *name, const char *code, const char *what)
{
    if (l->only ? !names_hold(l->only, l->only_count, name) : !format_claims_name(name))
        return;
    pthread_mutex_lock(&w->lock);
    walk_issue(w, path, false, code, "%s", what);
    pthread_mutex_unlock(&w->lock);
}

struct reading {
    struct walker *walker;
    struct listing *listing;
    int refused; /* errno if its entries cannot be looked at, else 0 */
};

/* SQLite would lose its locks of the catalog if this process opened one of its files and closed it. */
static bool is_of_catalog(const struct walker *w, const struct directory_entry *e)
{
    for (int i = 0; i < OWN_FILES; i++)
        if (w->own[i].inode && w->own[i].inode == e->identity.inode &&
            w->own[i].device == e->identity.device)
            return true;
    return false;
}

static void look_at_own(struct walker *w)
{
    static const char *const suffixes[OWN_FILES] = {"", "-journal", "-wal", "-shm"};
    const char *catalog = w->options->catalog;
    for (int i = 0; catalog && *catalog && i < OWN_FILES; i++) {
        char path[PATH_MAX + 16];
        enum entry_kind kind;
        struct error absent = {0};
        snprintf(path, sizeof(path), "%s%s", catalog, suffixes[i]);
        path_look(path, &kind, &w->own[i], &absent);
    }
}

static bool walk_see_entry(void *context, const struct directory_entry *e)
{
    struct reading *r = context;
    struct walker *w = r->walker;
    struct listing *l = r->listing;
    struct error err = {.offset = NO_OFFSET};
    const char *path = listing_path(l, e->name);
    if (e->kind == ENTRY_UNKNOWN && !e->linked && e->trouble == EACCES) {
        r->refused = e->trouble;
        return false;
    }
    switch (e->kind) {
    case ENTRY_FILE:
        if (is_of_catalog(w, e))
            report_entry(w, l, path, e->name, "not-a-file", "the catalog itself: never read");
        else
            listing_add(l, e);
        break;
    case ENTRY_FOLDER: listing_add(l, e); break;
    case ENTRY_DANGLING:
        report_entry(w, l, path, e->name, "dangling-link", "a link that leads nowhere");
        break;
    case ENTRY_SPECIAL:
        report_entry(w, l, path, e->name, "not-a-file",
                     "a pipe, socket or device, not a file: never read");
        break;
    case ENTRY_UNKNOWN:
        error_errno(&err, e->trouble, path, "cannot look at it");
        pthread_mutex_lock(&w->lock);
        walk_unseen(w, path, err.message);
        pthread_mutex_unlock(&w->lock);
        listing_add(l, e);
        break;
    }
    return l->arena->err->status == OK;
}

/* False: do not look into the directory. Half a listing would lead to wrong conclusions
 * (sets without their shards), so it is all or nothing. */
static bool list_directory(struct walker *w, struct listing *l)
{
    struct error err = {.offset = NO_OFFSET};
    struct reading r = {.walker = w, .listing = l};
    directory_list(l->path, DIRECTORY_IDENTIFY, NULL, walk_see_entry, &r, &err);
    if (err.status == OK && r.refused)
        error_errno(&err, r.refused, l->path, "cannot look at what is in this directory");
    if (err.status == ERR_MISSING || l->arena->err->status != OK)
        return false;
    pthread_mutex_lock(&w->lock);
    if (err.status != OK)
        walk_unseen(w, l->path, err.message);
    else
        walk_remember(w, &w->walk->listed, l->path);
    pthread_mutex_unlock(&w->lock);
    listing_sort(l);
    return err.status == OK;
}

/* Whether a link leads to what the walk comes to without it: there its checkpoints have the paths
 * that they have in an import that follows no links. The walk passes over some directories, and
 * what is below them: links to those are followed. */
static bool leads_back(const struct walker *w, const char *path)
{
    char *real = path_resolve(path);
    bool back = real && walk_covers(w->walk, real);
    for (char *name = real, *end; back && name; name = end) {
        end = strchr(name, '/');
        if (end)
            *end++ = '\0';
        back = !never_entered(name, true) && !unfinished_name(name);
    }
    free(real);
    return back;
}

static void enter_below(struct walker *w, const struct listing *l)
{
    bool hub_cache = listing_dir(l, "snapshots") && listing_dir(l, "blobs");
    for (uint64_t i = 0; i < l->dir_count; i++) {
        const struct entry *e = &l->dirs[i];
        const char *path = listing_path(l, e->name);
        if (e->linked && !w->options->follow) {
            walk_avoided(w, path);
        } else if (e->linked && leads_back(w, path)) {
            walk_led_back(w, path);
        } else if (!never_entered(e->name, hub_cache) && unfinished_name(e->name)) {
            pthread_mutex_lock(&w->lock);
            walk_issue(w, path, true, "unfinished", "an unfinished save: not indexed");
            pthread_mutex_unlock(&w->lock);
        } else if (!never_entered(e->name, hub_cache)) {
            walk_push(w, path, false);
        }
    }
}

static void walk_work(void *argument)
{
    struct walker *w = argument;
    for (struct task *t = NULL; (t = tasks_next(&w->tasks, t));) {
        struct error lack = {.offset = NO_OFFSET};
        struct arena arena = {.err = &lack};
        struct listing l = {.path = t->path,
                            .whole = path_lists(t->path),
                            .asked = t->only ? ASKED_FILE : ASKED_ALL,
                            .only = t->only,
                            .only_count = t->only_count,
                            .arena = &arena};
        if (t->only)
            names_sort(t->only, t->only_count);
        if (list_directory(w, &l)) {
            bool whole = recognise(w, &l);
            if (!t->only && !whole)
                enter_below(w, &l);
        }
        arena_release(&arena);
        if (lack.status != OK)
            walk_lacks(w);
        pthread_mutex_lock(&w->lock);
        uint64_t seen = w->walk->files;
        pthread_mutex_unlock(&w->lock);
        if (w->options->tick && !w->options->tick(w->options->context, seen)) {
            pthread_mutex_lock(&w->lock);
            w->interrupted = true;
            pthread_mutex_unlock(&w->lock);
            tasks_stop(&w->tasks);
        }
    }
}

/* --- arguments -------------------------------------------------------------------------- */

static void add_root(struct walker *w, const char *path)
{
    struct walk *walk = w->walk;
    bool added;
    strmap_keep(&walk->rooted, &walk->arena, path, strlen(path), &walk->roots[walk->root_count++],
                &added);
}

#define PARTS_TRIED 16 /* numbers of shards that are looked for before a folder is listed */

struct part_search {
    const char *name;
    bool found;
};

static bool see_part(void *context, const struct directory_entry *e)
{
    struct part_search *search = context;
    size_t len = strlen(search->name);
    if (strncmp(e->name, search->name, len) != 0)
        return true;
    struct shard_name shard;
    search->found |=
        strcmp(e->name + len, ".index") == 0 || shard_number(e->name + len, SHARD_DIGITS, &shard);
    return !search->found;
}

static bool is_file(const char *directory, const char *name, const char *suffix)
{
    char path[PATH_MAX];
    enum entry_kind kind;
    struct file_identity identity;
    struct error missing = {.offset = NO_OFFSET};
    const int len = snprintf(path, sizeof(path), "%s/%s%s", directory, name, suffix);
    return len < (int)sizeof(path) && path_look(path, &kind, &identity, &missing) == OK;
}

/* Whether a name is only the prefix of files in the directory: TensorFlow's
 * PREFIX.index, PREFIX-00000-of-00002. */
static void find_parts(const char *directory, const char *name, const char *path, struct error *err)
{
    struct part_search search = {.name = name};
    /* Thousands may be named, which need not list the folder each. */
    if (is_file(directory, name, ".index"))
        return;
    for (unsigned parts = 1; parts <= PARTS_TRIED; parts++) {
        char suffix[32];
        snprintf(suffix, sizeof(suffix), "-00000-of-%05u", parts);
        if (is_file(directory, name, suffix))
            return;
    }
    if (directory_list(directory, 0, NULL, see_part, &search, err) == OK && !search.found)
        error_set(err, ERR_MISSING, path, NO_OFFSET, "no such file or directory");
}

/* The path of a file, or of a prefix of files, in parts. */
struct place {
    char *directory; /* absolute; malloc'ed */
    char path[PATH_MAX];
    const char *name; /* points into `path` */
};

static bool walk_find_place(const char *path, bool exists, struct place *out, struct error *err)
{
    char given[PATH_MAX];
    snprintf(given, sizeof(given), "%s", path);
    char *slash = strrchr(given, '/');
    const char *name = slash ? slash + 1 : given;
    if (slash == given)
        out->directory = strdup("/");
    else if (slash)
        *slash = '\0', out->directory = path_resolve(given);
    else
        out->directory = path_resolve(".");
    const char *base = out->directory && strcmp(out->directory, "/") != 0 ? out->directory : "";
    int len = snprintf(out->path, sizeof(out->path), "%s/%s", base, name);
    out->name = out->path + strlen(base) + 1;
    if (!out->directory || !*name || len >= (int)sizeof(out->path))
        error_set(err, ERR_MISSING, path, NO_OFFSET, "no such file or directory");
    else if (!exists)
        find_parts(out->directory, out->name, path, err);
    return err->status == OK;
}

/* Whether it is of no use to look for files that begin with a path: it is on another machine, which did not
 * answer, or does not say what else it has. The error is for who asked, unless it may pass. */
static bool is_settled(const char *path, const struct error *missing, struct error *err)
{
    if (path_is_local(path) || (missing->status == ERR_MISSING && path_lists(path)))
        return false;
    if (!status_passes(missing->status))
        *err = *missing;
    return true;
}

void walk_find(const char *path, struct error *err)
{
    struct place place = {0};
    enum entry_kind kind;
    struct file_identity identity;
    struct error missing = {.offset = NO_OFFSET};
    if (path_look(path, &kind, &identity, &missing) != OK && !is_settled(path, &missing, err))
        walk_find_place(path, false, &place, err);
    free(place.directory);
}

/* checkpoint_around(), which lists the directory, once for all names in it that were asked for. */
static bool around_once(struct walker *w, char *directory)
{
    const char *kept;
    bool added;
    uint64_t *length =
        strmap_keep(&w->around, &w->walk->arena, directory, strlen(directory), &kept, &added);
    if (added)
        *length = checkpoint_around(w, directory) ? strlen(directory) : 0;
    else if (*length)
        directory[*length] = '\0';
    return *length;
}

/* Queue a directory, or the checkpoint around it. */
static void push_directory(struct walker *w, char *real)
{
    around_once(w, real);
    add_root(w, real);
    walk_push(w, real, false);
}

/* Queue the directory, but only for this name. */
static void push_name(struct walker *w, const char *path, bool exists, struct error *err)
{
    struct place place = {0};
    const bool found = walk_find_place(path, exists, &place, err);
    if (found && exists && !format_claims_name(place.name) && around_once(w, place.directory)) {
        push_directory(w, place.directory);
    } else if (found) {
        add_root(w, place.path);
        if (!exists)
            walk_remember(w, &w->walk->prefixes, place.path);
        /* Queue a name in a directory, before the walk begins: `import *.safetensors` names
         * thousands in one directory, which is listed once. */
        struct arena *arena = &w->walk->arena;
        const char *kept;
        bool added;
        uint64_t *at =
            strmap_keep(&w->named, arena, place.directory, strlen(place.directory), &kept, &added);
        if (added) {
            *at = w->by_name_count;
            *PUSH(arena, w->by_name, w->by_name_count, w->by_name_space) = walk_push(w, kept, true);
        }
        struct task *t = w->walk->err.status == OK ? w->by_name[*at] : NULL;
        if (t) /* else it cannot be looked into */
            *PUSH(arena, t->only, t->only_count, t->only_space) =
                arena_copy(arena, place.name, strlen(place.name));
    }
    free(place.directory);
}

static void push_argument(struct walker *w, const char *path, struct error *err)
{
    enum entry_kind kind;
    struct file_identity identity;
    struct error missing = {.offset = NO_OFFSET};
    const bool exists = path_look(path, &kind, &identity, &missing) == OK;
    if (!exists && is_settled(path, &missing, err)) {
        add_root(w, path);
        walk_unseen(w, path, missing.message);
        return;
    }
    if (!exists || kind != ENTRY_FOLDER) {
        push_name(w, path, exists, err);
        return;
    }
    char *real = path_resolve(path);
    if (!real)
        error_memory_at(err, path);
    else
        push_directory(w, real);
    free(real);
}

/* --- results ---------------------------------------------------------------------------- */

static int unit_by_path(const void *a, const void *b)
{
    const struct unit *x = a, *y = b;
    int order = strcmp(x->path, y->path);
    return order ? order : strcmp(x->primary, y->primary);
}

static int file_by_path(const void *a, const void *b)
{
    return strcmp(((const struct batch_file *)a)->path, ((const struct batch_file *)b)->path);
}

static int unread_by_path(const void *a, const void *b)
{
    return strcmp(((const struct unread_file *)a)->path, ((const struct unread_file *)b)->path);
}

static int issue_by_path(const void *a, const void *b)
{
    const struct batch_issue *x = a, *y = b;
    int order = strcmp(x->path, y->path);
    return order ? order : strcmp(x->message, y->message);
}

/* Two formats use the same path for a checkpoint (TensorFlow's versions 1 and 2). The
 * earlier line of formats.def is the one that the framework loads. */
static void settle_rivals(struct walker *w, struct unit *winner, const struct unit *other)
{
    struct unit loser = *other;
    if (strcmp(winner->primary, loser.primary) == 0)
        return; /* the same checkpoint, by two arguments */
    for (size_t i = 0; formats[i] != winner->format; i++) {
        if (formats[i] == loser.format) {
            loser = *winner;
            *winner = *other;
            break;
        }
    }
    walk_note(w, winner->path, loser.primary, "two-formats",
              "another checkpoint of the same name (%s): it is not in the catalog, as its "
              "framework loads the other (%s)",
              loser.format->name, winner->format->name);
}

/* Sort a list and keep one of those that are equal; returns how many are left. */
static uint64_t sort_once(void *list, uint64_t count, size_t size,
                          int (*order)(const void *, const void *))
{
    char *at = list;
    uint64_t kept = 0;
    if (count)
        qsort(list, count, size, order);
    for (uint64_t i = 0; i < count; i++)
        if (!kept || order(at + (kept - 1) * size, at + i * size) != 0)
            memmove(at + kept++ * size, at + i * size, size);
    return kept;
}

static void sort_results(struct walk *walk)
{
    if (walk->passed_count)
        qsort(walk->passed, walk->passed_count, sizeof(*walk->passed), file_by_path);
    walk->issue_count =
        sort_once(walk->issues, walk->issue_count, sizeof(*walk->issues), issue_by_path);
    walk->unread_count =
        sort_once(walk->unread, walk->unread_count, sizeof(*walk->unread), unread_by_path);
}

/* Whether one of the sorted paths names a file of the prefix. PATH: the path at place `at`. */
#define HAS_PART(walk, prefix, at, count, PATH)                                                    \
    do {                                                                                           \
        PARTITION_POINT(at, count, strcmp(PATH, prefix) < 0);                                      \
        for (; at < (count) && strncmp(PATH, prefix, strlen(prefix)) == 0; at++)                   \
            if (walk_prefixes(walk, PATH))                                                         \
                return true;                                                                       \
    } while (0)

/* Whether a prefix is a checkpoint that was found, or an issue, also of an earlier import, says
 * what is wrong with its files. The first `issue_count` issues of the walk are sorted. */
static bool prefix_is_told(const struct walker *w, const char *prefix, uint64_t issue_count)
{
    const struct walk *walk = w->walk;
    const struct known *k = w->options->known;
    uint64_t at = 0;
    PARTITION_POINT(at, walk->unit_count, strcmp(walk->units[at].path, prefix) < 0);
    if (at < walk->unit_count && strcmp(walk->units[at].path, prefix) == 0)
        return true;
    HAS_PART(walk, prefix, at, issue_count, walk->issues[at].path);
    HAS_PART(walk, prefix, at, k->refused_count, k->refused[at]);
    return false;
}

/* Report the prefixes that came to nothing. The lists are sorted. */
static void report_prefixes(struct walker *w)
{
    struct walk *walk = w->walk;
    const uint64_t sorted = walk->issue_count;
    for (uint64_t i = 0; walk->prefixes.count && i < walk->root_count; i++) {
        const char *root = walk->roots[i], *slash = strrchr(root, '/');
        if (!strmap_get(&walk->prefixes, root, strlen(root)) || !walk_saw(walk, root) ||
            prefix_is_told(w, root, sorted))
            continue;
        if (slash && unfinished_name(slash + 1))
            walk_issue(w, root, true, "unfinished", "an unfinished save: not indexed");
        else
            walk_issue(w, root, false, "unrecognised",
                       "files begin with this name, but are no checkpoint that is called "
                       "so: import them by their own names, or their folder");
    }
    sort_results(walk);
}

/* Whether memory has sufficed so far. */
static enum status walk_ask(const struct walker *w, struct error *err)
{
    return w->walk->err.status == OK ? OK : error_memory(err);
}

static enum status walk_run(struct walker *w, struct error *err)
{
    struct threads *threads =
        w->options->threads > 1 ? threads_start(w->options->threads - 1, walk_work, w) : NULL;
    walk_work(w);
    threads_join(threads);
    if (w->interrupted)
        return error_set(err, ERR_INTERRUPTED, NULL, NO_OFFSET, "interrupted");
    struct walk *walk = w->walk;
    if (walk->err.status == OK) {
        /* Arguments can overlap, so keep each checkpoint only once. */
        uint64_t kept = 0;
        if (walk->unit_count)
            qsort(walk->units, walk->unit_count, sizeof(*walk->units), unit_by_path);
        for (uint64_t i = 0; i < walk->unit_count; i++)
            if (!kept || strcmp(walk->units[kept - 1].path, walk->units[i].path) != 0)
                walk->units[kept++] = walk->units[i];
            else
                settle_rivals(w, &walk->units[kept - 1], &walk->units[i]);
        walk->unit_count = kept;
        sort_results(walk);
        report_prefixes(w);
    }
    return walk_ask(w, err);
}

enum status walk_paths(const char *const *paths, int count, const struct walk_options *options,
                       struct walk **out, struct error *err)
{
    struct walk *walk = calloc(1, sizeof(*walk));
    struct walker w = {
        .options = options, .walk = walk, .lock = PTHREAD_MUTEX_INITIALIZER, .tasks = TASKS_NONE};
    if (!walk)
        return error_memory(err);
    struct strmap *const maps[] = {&w.visited,    &w.named,        &w.around,
                                   &walk->listed, &walk->unseen,   &walk->back,
                                   &walk->whole,  &walk->prefixes, &walk->rooted};
    for (size_t i = 0; i < sizeof(maps) / sizeof(*maps); i++)
        maps[i]->err = &walk->err;
    walk->arena.err = &walk->err;
    walk->err.offset = NO_OFFSET;
    walk->roots = arena_array(&walk->arena, (size_t)count, sizeof(*walk->roots));
    look_at_own(&w);
    for (int i = 0; i < count && walk_ask(&w, err) == OK && err->status == OK; i++)
        push_argument(&w, paths[i], err);
    if (walk_ask(&w, err) == OK && err->status == OK)
        walk_run(&w, err);
    strmap_release(&w.visited);
    strmap_release(&w.named);
    strmap_release(&w.around);
    if (err->status == OK)
        *out = walk;
    else
        walk_free(walk);
    return err->status;
}
