#include "catalog/data/store/store.h"

#include <stdatomic.h>
#include <string.h>

#include "catalog/base/threads.h"

#define THREADS_REMOTE 32
#define SMALL_BYTES    ((uint64_t)1 << 20)

const struct store *store_mounted;

static const struct store *store_of(const char *path)
{
    static const struct store *const stores[] = {&store_remote};
    if (store_mounted && store_mounted->takes(path))
        return store_mounted;
    for (size_t i = 0; i < sizeof(stores) / sizeof(*stores); i++)
        if (stores[i]->takes(path))
            return stores[i];
    return &store_files;
}

enum status source_open_file(const char *path, int flags, struct source **out,
                             struct file_identity *identity, struct error *err)
{
    return store_of(path)->open(path, flags, out, identity, err);
}

enum status directory_list(const char *path, int flags, struct file_identity *own,
                           bool (*see)(void *context, const struct directory_entry *),
                           void *context, struct error *err)
{
    return store_of(path)->list(path, flags, own, see, context, err);
}

enum status path_look(const char *path, enum entry_kind *kind, struct file_identity *identity,
                      struct error *err)
{
    return store_of(path)->look(path, kind, identity, err);
}

enum status file_identify(const char *path, struct file_identity *out, struct error *err)
{
    enum entry_kind kind;
    return path_look(path, &kind, out, err);
}

bool path_is(const char *path, enum entry_kind kind)
{
    enum entry_kind found;
    struct file_identity identity;
    struct error ignored = {.offset = NO_OFFSET};
    return path_look(path, &found, &identity, &ignored) == OK && found == kind;
}

bool path_is_local(const char *path)
{
    return store_of(path) != &store_remote;
}

unsigned path_threads(const char *path, unsigned local)
{
    return local < THREADS_REMOTE && !path_is_local(path) ? THREADS_REMOTE : local;
}

struct asking {
    const char *const *paths;
    size_t count;
    bool bytes;
    atomic_size_t next;
};

/* The store keeps what it read: here, too. */
static void read_small(const char *path, struct error *err)
{
    struct source *s;
    uint8_t last;
    if (source_open_file(path, SOURCE_HEADERS, &s, NULL, err) != OK)
        return;
    if (s->size && s->size <= SMALL_BYTES)
        s->ops->read_at(s, s->size - 1, &last, 1, err);
    s->ops->close(s);
}

static void ask(void *argument)
{
    struct asking *a = argument;
    enum entry_kind kind;
    struct file_identity identity;
    for (size_t i; (i = atomic_fetch_add(&a->next, 1)) < a->count;) {
        struct error ignored = {.offset = NO_OFFSET};
        if (path_is_local(a->paths[i]))
            continue;
        path_look(a->paths[i], &kind, &identity, &ignored);
        if (a->bytes && ignored.status == OK && kind == ENTRY_FILE)
            read_small(a->paths[i], &ignored);
    }
}

void path_ask(const char *const *paths, size_t count, bool bytes)
{
    struct asking a = {.paths = paths, .count = count, .bytes = bytes};
    size_t remote = 0;
    for (size_t i = 0; i < count && remote < THREADS_REMOTE; i++)
        remote += !path_is_local(paths[i]);
    if (remote > 1)
        threads_join(threads_start((unsigned)remote, ask, &a));
}

bool path_lists(const char *path)
{
    const struct store *store = store_of(path);
    return !store->lists || store->lists(path);
}

bool path_is_whole(const char *name)
{
    return name[0] == '/' || store_of(name) != &store_files;
}

char *path_resolve(const char *path)
{
    return store_of(path)->resolve(path);
}

bool file_same(const struct file_identity *a, const struct file_identity *b)
{
    return a->size == b->size && a->mtime_ns == b->mtime_ns && a->inode == b->inode &&
           a->device == b->device;
}

size_t path_size(const char *directory, const char *name)
{
    return strlen(directory) + strlen(name) + 2;
}

char *path_join(char *to, const char *directory, const char *name)
{
    size_t len = strcmp(directory, "/") == 0 ? 0 : strlen(directory);
    memcpy(to, directory, len);
    to[len] = '/';
    memcpy(to + len + 1, name, strlen(name) + 1);
    return to;
}
