/* O_TMPFILE, fallocate, sync_file_range and renameat2 are Linux's; glibc declares them so. */
#define _GNU_SOURCE /* NOLINT(bugprone-*,cert-*,readability-*): its own name */
#include "catalog/data/store/output.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/magic.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/vfs.h>
#include <unistd.h>

#include "catalog/data/store/leftover.h"

#define WRITEBACK_BYTES ((uint64_t)32 << 20)
#define NAME_TRIES      16
#define BLOCK           4096 /* of the file systems that share */
#define COPY_MOST       ((size_t)1 << 30)
#define MAP_BYTES       ((size_t)16 << 20)
#define MAPPED_WRITE    ((size_t)256 << 10)

struct output {
    const struct output_io *io;
    int fd;
    int directory;                 /* of the final file */
    const char *name;              /* last component of path[] */
    char temporary[LEFTOVER_NAME]; /* name until output_commit(); "": none */
    _Atomic uint64_t unsent;       /* bytes written since the last start of writeback */
    char path[];
};

/* --- the system's calls --- */

static int system_open_unnamed(int directory)
{
    /* system_link() names the file through /proc; without it the file could never get a name. */
    if (access("/proc/self/fd", X_OK) != 0)
        return -1;
    return openat(directory, ".", O_TMPFILE | O_RDWR | O_CLOEXEC, 0666);
}

static int system_open_named(int directory, const char *name)
{
    return openat(directory, name, O_CREAT | O_EXCL | O_RDWR | O_CLOEXEC | O_NOFOLLOW, 0666);
}

static int system_reserve(int fd, uint64_t size)
{
    int failed;
    do
        failed = size ? fallocate(fd, 0, 0, (off_t)size) : 0;
    while (failed && errno == EINTR);
    if (failed && (errno == EOPNOTSUPP || errno == ENOSYS))
        return ftruncate(fd, (off_t)size);
    return failed;
}

/* Whether copy_file_range() would move page after page through a pipe: the file system shares no bytes, or none
 * that lie so, and no server copies them. */
static bool system_pipes(int fd, off_t from_offset, off_t offset)
{
    struct statfs fs;
    const unsigned long kind = fstatfs(fd, &fs) == 0 ? (unsigned long)fs.f_type : 0;
    const bool shares = kind == BTRFS_SUPER_MAGIC || kind == XFS_SUPER_MAGIC;
    return kind == EXT4_SUPER_MAGIC || kind == TMPFS_MAGIC ||
           (shares && (from_offset - offset) % BLOCK != 0);
}

/* Where it pipes, writing from a mapping takes half the time. Only the system touches the mapping: for a
 * file that is cut short meanwhile there is an error, and no signal. */
static ssize_t system_copy(int from, off_t from_offset, int fd, off_t offset, size_t len)
{
    if (!system_pipes(fd, from_offset, offset))
        return copy_file_range(from, &from_offset, fd, &offset, len, 0);
    const size_t within = (size_t)(from_offset % sysconf(_SC_PAGESIZE));
    const size_t some = len < MAP_BYTES ? len : MAP_BYTES;
    char *bytes = mmap(NULL, within + some, PROT_READ, MAP_SHARED | MAP_POPULATE, from,
                       from_offset - (off_t)within);
    if (bytes == MAP_FAILED)
        return -1;
    size_t put = 0;
    while (put < some) { /* larger writes ask for large pages of the cache, which are slow to get */
        const size_t left = some - put;
        const ssize_t got = pwrite(fd, bytes + within + put,
                                   left < MAPPED_WRITE ? left : MAPPED_WRITE, offset + (off_t)put);
        if (got <= 0)
            break;
        put += (size_t)got;
    }
    munmap(bytes, within + some);
    return (ssize_t)put;
}

static int system_start_writeback(int fd)
{
    return sync_file_range(fd, 0, 0, SYNC_FILE_RANGE_WRITE);
}

static int system_link(int fd, int directory, const char *name)
{
    char self[64];
    snprintf(self, sizeof(self), "/proc/self/fd/%d", fd);
    return linkat(AT_FDCWD, self, directory, name, AT_SYMLINK_FOLLOW);
}

static int system_rename(int directory, const char *from, const char *to, bool replace)
{
    if (replace)
        return renameat(directory, from, directory, to);
    if (renameat2(directory, from, directory, to, RENAME_NOREPLACE) == 0)
        return 0;
    if (errno != EINVAL && errno != ENOSYS)
        return -1;
    /* The file system does not know the flag. linkat() does not replace anything either. */
    if (linkat(directory, from, directory, to, 0) != 0) {
        if (errno != EPERM) /* EPERM: a folder, which cannot be linked */
            return -1;
        if (faccessat(directory, to, F_OK, AT_SYMLINK_NOFOLLOW) != 0)
            return renameat(directory, from, directory, to);
        errno = EEXIST;
        return -1;
    }
    (void)unlinkat(directory, from, 0);
    return 0;
}

static int system_unlink(int directory, const char *name)
{
    return unlinkat(directory, name, 0);
}

static int system_make_folder(int directory, const char *name)
{
    return mkdirat(directory, name, 0777);
}

static int system_exchange(int directory, const char *a, const char *b)
{
    return renameat2(directory, a, directory, b, RENAME_EXCHANGE);
}

const struct output_io output_system = {
    .open_unnamed = system_open_unnamed,
    .open_named = system_open_named,
    .reserve = system_reserve,
    .pwrite = pwrite,
    .copy = system_copy,
    .start_writeback = system_start_writeback,
    .fsync = fsync,
    .link = system_link,
    .rename = system_rename,
    .unlink = system_unlink,
    .make_folder = system_make_folder,
    .exchange = system_exchange,
    .sync_all = syncfs,
};

int output_directory(const char *path, const char **name, struct error *err)
{
    const char *slash = strrchr(path, '/');
    *name = slash ? slash + 1 : path;
    char *directory = slash ? strndup(path, (size_t)(*name - path)) : strdup(".");
    int fd = directory ? open(directory, O_RDONLY | O_DIRECTORY | O_CLOEXEC) : -1;
    if (!directory) {
        error_memory_at(err, path);
    } else if (fd < 0) {
        error_errno(err, errno, path, "cannot open its directory");
        err->status = ERR_ARGUMENT;
    }
    free(directory);
    return fd;
}

bool output_named(const char *name)
{
    return *name && strcmp(name, ".") != 0 && strcmp(name, "..") != 0;
}

static enum status open_directory(struct output *o, struct error *err)
{
    struct stat there;
    o->directory = output_directory(o->path, &o->name, err);
    if (o->directory < 0)
        return err->status;
    if (!output_named(o->name)) {
        error_set(err, ERR_ARGUMENT, o->path, NO_OFFSET,
                  *o->path ? "a directory; name a file in it" : "the empty name of a file");
    } else if (fstatat(o->directory, o->name, &there, AT_SYMLINK_NOFOLLOW) != 0 &&
               errno == ENAMETOOLONG) { /* found out now rather than after writing */
        error_errno(err, errno, o->path, "cannot name a file so");
        err->status = ERR_ARGUMENT;
    }
    return err->status;
}

/* Preferably without a name: such a file leaves nothing behind and is never taken for a
 * leftover. */
static enum status output_open_file(struct output *o, struct error *err)
{
    leftover_sweep(o->directory);
    o->fd = o->io->open_unnamed(o->directory);
    if (o->fd >= 0)
        (void)leftover_claim(o->fd); /* output_give_name() may give it a temporary name */
    for (int i = 0; o->fd < 0 && i < NAME_TRIES; i++) {
        char name[sizeof(o->temporary)];
        leftover_name(name);
        o->fd = o->io->open_named(o->directory, name);
        if (o->fd >= 0 && leftover_claim(o->fd)) {
            memcpy(o->temporary, name, sizeof(name));
        } else if (o->fd >= 0) {
            close(o->fd);
            o->fd = -1;
        } else if (errno != EEXIST) {
            break;
        }
    }
    if (o->fd >= 0)
        return OK;
    error_errno(err, errno, o->path, "cannot write in its directory");
    return err->status = ERR_ARGUMENT;
}

enum status output_open(const char *path, const struct output_io *io, struct output **out,
                        struct error *err)
{
    size_t size = strlen(path) + 1;
    struct output *o = calloc(1, sizeof(*o) + size);
    if (!o)
        return error_memory_at(err, path);
    memcpy(o->path, path, size);
    o->io = io ? io : &output_system;
    o->fd = o->directory = -1;
    if (open_directory(o, err) != OK || output_open_file(o, err) != OK) {
        output_close(o);
        return err->status;
    }
    *out = o;
    return OK;
}

enum status output_reserve(struct output *o, uint64_t size, struct error *err)
{
    if (size > INT64_MAX)
        return error_set(err, ERR_ARGUMENT, o->path, NO_OFFSET, "larger than a file can be");
    if (o->io->reserve(o->fd, size) == 0)
        return OK;
    char doing[80];
    snprintf(doing, sizeof(doing), "cannot reserve %llu bytes", (unsigned long long)size);
    return error_errno(err, errno, o->path, doing);
}

int output_write_all(const struct output_io *io, int fd, uint64_t offset, const void *bytes,
                     size_t len)
{
    for (const char *at = bytes; len;) {
        ssize_t put = io->pwrite(fd, at, len, (off_t)offset);
        if (put < 0 && errno == EINTR)
            continue;
        if (put == 0)
            errno = ENOSPC;
        if (put <= 0)
            return -1;
        at += put;
        offset += (uint64_t)put;
        len -= (size_t)put;
    }
    return 0;
}

/* What comes before the first whole block is copied alone, as only whole blocks can be shared. */
uint64_t output_copy_all(const struct output_io *io, int fd, uint64_t offset, int from,
                         uint64_t from_offset, uint64_t len)
{
    uint64_t done = 0;
    const uint64_t head = -offset % BLOCK;
    while (done < len) {
        uint64_t some = done < head && head < len ? head - done : len - done;
        ssize_t got = io->copy(from, (off_t)(from_offset + done), fd, (off_t)(offset + done),
                               some < COPY_MOST ? (size_t)some : COPY_MOST);
        if (got < 0 && errno == EINTR)
            continue;
        if (got <= 0)
            break;
        done += (uint64_t)got;
    }
    return done;
}

static void count_unsent(struct output *o, uint64_t len, bool early)
{
    if (!early || atomic_fetch_add(&o->unsent, len) + len < WRITEBACK_BYTES)
        return;
    atomic_store(&o->unsent, 0);
    o->io->start_writeback(o->fd); /* only a hint: fsync reports the errors */
}

uint64_t output_copy(struct output *o, uint64_t offset, int from, uint64_t from_offset,
                     uint64_t len, bool early)
{
    const uint64_t done = output_copy_all(o->io, o->fd, offset, from, from_offset, len);
    count_unsent(o, done, early);
    return done;
}

enum status output_write(struct output *o, uint64_t offset, const void *bytes, size_t len,
                         bool early, struct error *err)
{
    if (output_write_all(o->io, o->fd, offset, bytes, len) != 0)
        return error_errno(err, errno, o->path, "cannot write");
    count_unsent(o, len, early);
    return OK;
}

enum status output_sync(struct output *o, struct error *err)
{
    if (o->io->fsync(o->fd) == 0)
        return OK;
    return error_errno(err, errno, o->path, "cannot write to the disk");
}

/* A link cannot replace an existing file, so a file without a name that may replace one is first
 * linked under a temporary name and then renamed. */
static int output_give_name(struct output *o, bool replace)
{
    if (!o->temporary[0]) {
        if (!replace)
            return o->io->link(o->fd, o->directory, o->name);
        char name[sizeof(o->temporary)];
        leftover_name(name);
        if (o->io->link(o->fd, o->directory, name) != 0)
            return -1;
        memcpy(o->temporary, name, sizeof(name));
    }
    if (o->io->rename(o->directory, o->temporary, o->name, replace) != 0)
        return -1;
    o->temporary[0] = '\0';
    return 0;
}

enum status output_commit(struct output *o, bool replace, struct error *err)
{
    if (output_give_name(o, replace) == 0)
        return OK;
    if (errno == EEXIST && !replace)
        return error_set(err, ERR_ARGUMENT, o->path, NO_OFFSET, "exists; --force writes over it");
    return error_errno(err, errno, o->path, "cannot give the finished file its name");
}

enum status output_sync_folder(const struct output_io *io, int directory, const char *path,
                               struct error *err)
{
    if (io->fsync(directory) == 0 || errno == EINVAL) /* not every system can */
        return OK;
    return error_errno(err, errno, path, "cannot write its directory to the disk");
}

void output_sync_name(struct output *o, struct error *err)
{
    output_sync_folder(o->io, o->directory, o->path, err);
}

void output_close(struct output *o)
{
    if (!o)
        return;
    if (o->temporary[0])
        o->io->unlink(o->directory, o->temporary);
    if (o->fd >= 0)
        close(o->fd);
    if (o->directory >= 0)
        close(o->directory);
    free(o);
}
