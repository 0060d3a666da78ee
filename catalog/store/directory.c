#include "catalog/store/directory.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/stat.h>

static struct file_identity identity_of(const struct stat *st)
{
    return (struct file_identity){
        .size = (uint64_t)st->st_size,
        .mtime_ns = (int64_t)st->st_mtim.tv_sec * 1000000000 + st->st_mtim.tv_nsec,
        .inode = st->st_ino,
        .device = st->st_dev,
    };
}

/* Without a look at it, where the directory says what it is. */
static bool kind_is_listed(const struct dirent *d, struct directory_entry *e)
{
    e->kind = d->d_type == DT_DIR ? ENTRY_FOLDER : ENTRY_FILE;
    return d->d_type == DT_DIR || d->d_type == DT_REG;
}

/* What stat() failed with, as a kind. */
static enum entry_kind failed(int code, struct directory_entry *e)
{
    e->trouble = code;
    return e->linked && (code == ENOENT || code == ELOOP || code == ENOTDIR)
               ? ENTRY_DANGLING
               : ENTRY_UNKNOWN;
}

/* False: gone meanwhile. */
static bool look(int fd, struct directory_entry *e)
{
    struct stat st;
    if (fstatat(fd, e->name, &st, AT_SYMLINK_NOFOLLOW) != 0) {
        if (errno == ENOENT)
            return false;
        e->kind = failed(errno, e);
        return true;
    }
    e->linked = S_ISLNK(st.st_mode);
    if (e->linked && fstatat(fd, e->name, &st, 0) != 0) {
        e->kind = failed(errno, e);
        return true;
    }
    e->identity = identity_of(&st);
    e->kind = S_ISREG(st.st_mode)   ? ENTRY_FILE
              : S_ISDIR(st.st_mode) ? ENTRY_FOLDER
                                    : ENTRY_SPECIAL;
    return true;
}

static enum status list_entries(DIR *d, const char *path, int flags,
                                bool (*see)(void *, const struct directory_entry *),
                                void *context, struct error *err)
{
    for (;;) {
        errno = 0;
        const struct dirent *entry = readdir(d);
        if (!entry)
            return errno ? error_errno(err, errno, path, "cannot read this directory")
                         : OK;
        struct directory_entry e = {.name = entry->d_name};
        if (strcmp(e.name, ".") == 0 || strcmp(e.name, "..") == 0)
            continue;
        bool known = !(flags & DIRECTORY_IDENTIFY) && kind_is_listed(entry, &e);
        if ((known || look(dirfd(d), &e)) && !see(context, &e))
            return OK;
    }
}

enum status directory_list(const char *path, int flags, struct file_identity *own,
                           bool (*see)(void *context, const struct directory_entry *),
                           void *context, struct error *err)
{
    struct stat st;
    DIR *d = opendir(path);
    if (!d && (errno == ENOENT || errno == ENOTDIR))
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
