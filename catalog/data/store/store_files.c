/*
 * store_files.c - the store of the file system: reads files with pread(), and lists directories.
 */
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "catalog/data/store/store.h"

struct file_source {
    struct source base; /* must be first */
    int fd;
    char path[];
};

static enum status file_read(const struct source *s, uint64_t offset, void *dst, size_t len,
                             struct error *err)
{
    const struct file_source *f = (const struct file_source *)s;
    uint8_t *at = dst;
    while (len) {
        size_t want = len > (1u << 30) ? (1u << 30) : len;
        ssize_t got = pread(f->fd, at, want, (off_t)offset);
        if (got < 0 && errno == EINTR)
            continue;
        if (got < 0)
            return error_errno(err, errno, s->name, "cannot read");
        if (got == 0)
            return error_set(err, ERR_IO, s->name, offset,
                             "the file became shorter while it was read");
        at += got;
        offset += (uint64_t)got;
        len -= (size_t)got;
    }
    return OK;
}

static void file_close(struct source *s)
{
    close(((struct file_source *)s)->fd);
    free(s);
}

static const struct source_ops file_ops = {.read_at = file_read, .close = file_close};

int source_descriptor_of_file(const struct source *s);
int source_descriptor_of_file(const struct source *s)
{
    return s->ops == &file_ops ? ((const struct file_source *)s)->fd : -1;
}

/* In nanoseconds. A time after the year 2262, which file systems can hold and anybody can set, wraps
 * around: it only has to differ from other times. */
static int64_t nanoseconds(struct timespec t)
{
    return (int64_t)((uint64_t)t.tv_sec * 1000000000 + (uint64_t)t.tv_nsec);
}

static struct file_identity identity_of(const struct stat *st)
{
    return (struct file_identity){
        .size = (uint64_t)st->st_size,
        .mtime_ns = nanoseconds(st->st_mtim),
        .inode = st->st_ino,
        .device = st->st_dev,
    };
}

bool source_same(const struct source *s, const struct file_identity *then)
{
    struct stat st;
    if (s->ops != &file_ops)
        return true;
    if (fstat(((const struct file_source *)s)->fd, &st) != 0 || !st.st_nlink)
        return false;
    const struct file_identity now = identity_of(&st);
    return file_same(&now, then);
}

static enum entry_kind store_files_kind_of(const struct stat *st)
{
    return S_ISREG(st->st_mode) ? ENTRY_FILE : S_ISDIR(st->st_mode) ? ENTRY_FOLDER : ENTRY_SPECIAL;
}

/* Whether a failed call says that there is nothing at a path. That is so, too, where a name in it is
 * longer than a file system allows: this does not pass. But a path longer than PATH_MAX may lead
 * somewhere. */
static bool is_absent(int code, const char *path)
{
    return code == ENOENT || code == ENOTDIR || (code == ENAMETOOLONG && strlen(path) < PATH_MAX);
}

static enum status open_failed(struct error *err, int code, const char *path)
{
    if (is_absent(code, path))
        return error_set(err, ERR_MISSING, path, NO_OFFSET, "no such file");
    return error_errno(err, code, path, "cannot open");
}

static enum status files_open(const char *path, int flags, struct source **out,
                              struct file_identity *identity, struct error *err)
{
    struct stat st;
    struct file_source *f = NULL;
    int how = O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY;
    int fd = open(path, flags & SOURCE_NOFOLLOW ? how | O_NOFOLLOW : how);
    if (fd < 0)
        return open_failed(err, errno, path);
    if (fstat(fd, &st) != 0) {
        error_errno(err, errno, path, "cannot stat");
        goto fail;
    }
    if (!S_ISREG(st.st_mode)) {
        error_set(err, ERR_UNSUPPORTED, path, NO_OFFSET, "not a regular file");
        error_code(err, "missing-file");
        goto fail;
    }
    size_t len = strlen(path) + 1;
    f = malloc(sizeof(*f) + len);
    if (!f) {
        error_memory_at(err, path);
        goto fail;
    }
    memcpy(f->path, path, len);
    f->fd = fd;
    if (flags & SOURCE_HEADERS)
        posix_fadvise(fd, 0, 0, POSIX_FADV_RANDOM);
    f->base = (struct source){&file_ops, (uint64_t)st.st_size, f->path, false, NULL};
    if (identity)
        *identity = identity_of(&st);
    *out = &f->base;
    return OK;

fail:
    close(fd);
    return err->status;
}

/* --- directories ---------------------------------------------------------------------------- */

/* The kind of an entry whose stat() failed with `code`. */
static enum entry_kind kind_of_trouble(int code, struct directory_entry *e)
{
    e->trouble = code;
    return e->linked && (code == ELOOP || is_absent(code, e->name)) ? ENTRY_DANGLING
                                                                    : ENTRY_UNKNOWN;
}

/* Fill in kind and identity with stat(). False: the entry has vanished. */
static bool look_at_entry(int fd, struct directory_entry *e)
{
    struct stat st;
    if (fstatat(fd, e->name, &st, AT_SYMLINK_NOFOLLOW) != 0) {
        if (errno == ENOENT)
            return false;
        e->kind = kind_of_trouble(errno, e);
        return true;
    }
    e->linked = S_ISLNK(st.st_mode);
    if (e->linked && fstatat(fd, e->name, &st, 0) != 0) {
        e->kind = kind_of_trouble(errno, e);
        return true;
    }
    e->identity = identity_of(&st);
    e->kind = store_files_kind_of(&st);
    return true;
}

static enum status list_entries(DIR *d, const char *path, int flags,
                                bool (*see)(void *, const struct directory_entry *), void *context,
                                struct error *err)
{
    for (;;) {
        errno = 0;
        const struct dirent *entry = readdir(d);
        if (!entry)
            return errno ? error_errno(err, errno, path, "cannot read this directory") : OK;
        struct directory_entry e = {.name = entry->d_name};
        if (strcmp(e.name, ".") == 0 || strcmp(e.name, "..") == 0)
            continue;
        /* A link's kind is not listed, nor does every file system list kinds. */
        e.kind = entry->d_type == DT_DIR ? ENTRY_FOLDER : ENTRY_FILE;
        bool known =
            !(flags & DIRECTORY_IDENTIFY) && (entry->d_type == DT_DIR || entry->d_type == DT_REG);
        if ((known || look_at_entry(dirfd(d), &e)) && !see(context, &e))
            return OK;
    }
}

static enum status files_list(const char *path, int flags, struct file_identity *own,
                              bool (*see)(void *context, const struct directory_entry *),
                              void *context, struct error *err)
{
    struct stat st;
    DIR *d = opendir(path);
    if (!d && is_absent(errno, path))
        return error_set(err, ERR_MISSING, path, NO_OFFSET, "no such directory");
    if (!d)
        return error_errno(err, errno, path, "cannot read this directory");
    if (own && fstat(dirfd(d), &st) != 0)
        error_errno(err, errno, path, "cannot read this directory");
    else if (own)
        *own = identity_of(&st);
    if (err->status == OK)
        list_entries(d, path, flags, see, context, err);
    closedir(d);
    return err->status;
}

/* --- single paths --------------------------------------------------------------------------- */

static enum status files_look(const char *path, enum entry_kind *kind,
                              struct file_identity *identity, struct error *err)
{
    struct stat st;
    if (stat(path, &st) != 0)
        return open_failed(err, errno, path);
    *kind = store_files_kind_of(&st);
    *identity = identity_of(&st);
    return OK;
}

static char *files_resolve(const char *path)
{
    return realpath(path, NULL);
}

const struct store store_files = {
    .open = files_open,
    .list = files_list,
    .look = files_look,
    .resolve = files_resolve,
};
