/*
 * remote.c - the store for other machines: http and https, the hub, buckets.
 *
 * A path is a URL without a query. Folders are what lies between its slashes, as in a path of this machine.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "catalog/base/name_list.h"
#include "catalog/data/store/remote/object.h"

static bool remote_takes(const char *path)
{
    return kind_named(path) != NULL;
}

static bool remote_lists(const char *path)
{
    return kind_named(path)->list != NULL;
}

/* --- paths ----------------------------------------------------------------------------------- */

/* A URL that a catalog must not keep, nor a message show, is refused before any request. */
static enum status check_path(const char *path, struct error *err)
{
    const struct remote_kind *kind = kind_named(path);
    const char *host = path + strlen(kind->scheme);
    const size_t len = strcspn(host, "/");
    if (memchr(host, '@', len) && !kind->list)
        return error_set(
            err, ERR_ARGUMENT, NULL, NO_OFFSET,
            "a URL with a user's name in it would be kept in the catalog: put name and "
            "password into ~/.netrc");
    if (strpbrk(host, "?#") && !kind->list)
        return error_set(
            err, ERR_ARGUMENT, NULL, NO_OFFSET,
            "a URL with a query (?) or a fragment (#) is not taken: it may hold a secret, "
            "and the catalog would keep it");
    if (!len)
        return error_set(err, ERR_ARGUMENT, path, NO_OFFSET, "a URL without a host");
    for (const char *c = host; *c; c++)
        if ((unsigned char)*c < 0x20 || *c == 0x7f)
            return error_set(err, ERR_ARGUMENT, path, NO_OFFSET, "a URL with control characters");
    return OK;
}

/* Without "//" below the root, "." and "..", which do not lead above it. */
static char *remote_resolve(const char *path)
{
    const size_t root = kind_root(kind_named(path), path);
    char *out = malloc(strlen(path) + 2);
    if (!out)
        return NULL;
    memcpy(out, path, root);
    size_t at = root;
    for (const char *part = path + root; *part; part += strcspn(part, "/")) {
        part += strspn(part, "/");
        const size_t len = strcspn(part, "/");
        if (len == 2 && part[0] == '.' && part[1] == '.') {
            while (at > root && out[--at] != '/')
                ;
        } else if (len && !(len == 1 && part[0] == '.')) {
            out[at++] = '/';
            memcpy(out + at, part, len);
            at += len;
        }
    }
    out[at] = '\0';
    return out;
}

/* --- looking --------------------------------------------------------------------------------- */

/* The list of the folder around a path, and the path's entry in it; NULL and an error. The folder is
 * taken. */
static const struct remote_entry *entry_of(const struct remote_kind *kind, const char *path,
                                           struct object **around, struct error *err)
{
    const char *slash = strrchr(path, '/');
    char *folder = strndup(path, (size_t)(slash - path));
    *around = folder ? object_take(kind, folder, err) : NULL;
    if (!folder)
        error_memory_at(err, path);
    free(folder);
    const struct remote_folder *f = *around ? object_list(*around, err) : NULL;
    const struct remote_entry *e =
        f ? named_find(f->entries, f->count, sizeof(*e), slash + 1) : NULL;
    if (!e)
        error_set(err, ERR_MISSING, path, NO_OFFSET, "no such file");
    return e;
}

/* For a server that lists nothing: a path above a known file is a folder. */
static bool is_folder(const struct remote_kind *kind, const char *path)
{
    const size_t len = strlen(path), root = kind_root(kind, path);
    return len <= root || (len == root + 1 && path[root] == '/') ||
           (!kind->list && (path[len - 1] == '/' || object_below(path)));
}

/* A file, taken, its state known; NULL and an error. */
static struct object *take_file(const char *path, size_t ahead, struct error *err)
{
    const struct remote_kind *kind = kind_named(path);
    struct object *around = NULL, *o = NULL;
    const struct remote_entry *e = NULL;
    if (check_path(path, err) != OK)
        return NULL;
    if (kind->list && strlen(path) > kind_root(kind, path))
        e = entry_of(kind, path, &around, err);
    if (err->status == OK && (kind->list ? !e || e->folder : is_folder(kind, path))) {
        error_set(err, ERR_UNSUPPORTED, path, NO_OFFSET, "not a regular file");
        error_code(err, "missing-file");
    }
    if (err->status == OK && (o = object_take(kind, path, err))) {
        if (e)
            object_tell(o, e, object_list(around, err)->pin);
        else
            object_ask(o, ahead, err);
    }
    if (around)
        object_give(around);
    if (o && err->status != OK) {
        object_give(o);
        o = NULL;
    }
    return o;
}

static enum status remote_open(const char *path, int flags, struct source **out,
                               struct file_identity *identity, struct error *err)
{
    const bool headers = flags & SOURCE_HEADERS || object_importing();
    struct object *o = take_file(path, headers ? OBJECT_HEAD : 1, err);
    if (o && identity)
        *identity = object_identity(o);
    return o ? object_open(o, headers, out, err) : err->status;
}

static enum status look_at_folder(const struct remote_kind *kind, const char *path,
                                  struct file_identity *identity, struct error *err)
{
    struct object *o = object_take(kind, path, err);
    if (o && (!kind->list || object_list(o, err)))
        *identity = object_identity(o);
    if (o)
        object_give(o);
    return err->status;
}

static enum status remote_look(const char *path, enum entry_kind *kind,
                               struct file_identity *identity, struct error *err)
{
    const struct remote_kind *store = kind_named(path);
    struct object *around = NULL, *o;
    if (check_path(path, err) != OK)
        return err->status;
    bool folder = is_folder(store, path);
    if (!folder && store->list) {
        const struct remote_entry *e = entry_of(store, path, &around, err);
        folder = e && e->folder;
        if (around)
            object_give(around);
    }
    if (folder && !store->list && !object_below(path))
        error_set(err, ERR_UNSUPPORTED, path, NO_OFFSET,
                  "a web server does not say what is in a folder: name the files");
    if (err->status != OK)
        return err->status;
    *kind = folder ? ENTRY_FOLDER : ENTRY_FILE;
    if (folder)
        return look_at_folder(store, path, identity, err);
    if (!(o = take_file(path, OBJECT_HEAD, err)))
        return err->status;
    *identity = object_identity(o);
    object_give(o);
    return OK;
}

/* --- listing --------------------------------------------------------------------------------- */

static enum status see_entry(const struct remote_kind *kind, const char *folder,
                             const struct remote_entry *e, const char *pin,
                             struct directory_entry *out, struct error *err)
{
    struct text path = {0};
    text_addf(&path, "%s/%s", folder, e->name);
    struct object *o = text_str(&path) ? object_take(kind, path.at, err) : NULL;
    if (path.failed)
        error_memory_at(err, folder);
    if (o && kind->list && !e->folder)
        object_tell(o, e, pin);
    *out = (struct directory_entry){.name = e->name, .kind = e->folder ? ENTRY_FOLDER : ENTRY_FILE};
    if (o)
        out->identity = object_identity(o);
    if (o)
        object_give(o);
    text_release(&path);
    return err->status;
}

static enum status remote_list(const char *path, int flags, struct file_identity *own,
                               bool (*see)(void *context, const struct directory_entry *),
                               void *context, struct error *err)
{
    const struct remote_kind *kind = kind_named(path);
    struct remote_folder known = {.arena.err = err, .path = path};
    const struct remote_folder *f = &known;
    struct object *o = check_path(path, err) == OK ? object_take(kind, path, err) : NULL;
    struct directory_entry entry;
    (void)flags;
    if (o && kind->list)
        f = object_list(o, err);
    else if (o)
        object_names(&known);
    if (o && own)
        *own = object_identity(o);
    for (size_t i = 0; err->status == OK && i < f->count; i++)
        if (see_entry(kind, path, &f->entries[i], f->pin, &entry, err) == OK &&
            !see(context, &entry))
            break;
    if (o)
        object_give(o);
    arena_release(&known.arena);
    return err->status;
}

const struct store store_remote = {
    .takes = remote_takes,
    .lists = remote_lists,
    .open = remote_open,
    .list = remote_list,
    .look = remote_look,
    .resolve = remote_resolve,
};
