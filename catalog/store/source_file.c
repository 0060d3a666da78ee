#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "catalog/store/source.h"

struct file_source {
    struct source base; /* must be first */
    int fd;
    char path[];
};

static enum status file_read(const struct source *s, uint64_t offset, void *dst,
                             size_t len, struct error *err)
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

static struct file_identity identity_of(const struct stat *st)
{
    return (struct file_identity){
        .size = (uint64_t)st->st_size,
        .mtime_ns = (int64_t)st->st_mtim.tv_sec * 1000000000 + st->st_mtim.tv_nsec,
        .inode = st->st_ino,
        .device = st->st_dev,
    };
}

static enum status open_failed(struct error *err, int code, const char *path)
{
    if (code == ENOENT || code == ENOTDIR)
        return error_set(err, ERR_MISSING, path, NO_OFFSET, "no such file");
    return error_errno(err, code, path, "cannot open");
}

enum status source_open_file(const char *path, int flags, struct source **out,
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
        goto fail;
    }
    size_t len = strlen(path) + 1;
    f = malloc(sizeof(*f) + len);
    if (!f) {
        error_set(err, ERR_MEMORY, path, NO_OFFSET, "no memory");
        goto fail;
    }
    memcpy(f->path, path, len);
    f->fd = fd;
    if (flags & SOURCE_HEADERS)
        posix_fadvise(fd, 0, 0, POSIX_FADV_RANDOM);
    f->base = (struct source){&file_ops, (uint64_t)st.st_size, f->path, false};
    if (identity)
        *identity = identity_of(&st);
    *out = &f->base;
    return OK;

fail:
    close(fd);
    return err->status;
}

enum status file_identify(const char *path, struct file_identity *out, struct error *err)
{
    struct stat st;
    if (stat(path, &st) != 0)
        return open_failed(err, errno, path);
    *out = identity_of(&st);
    return OK;
}

bool file_same(const struct file_identity *a, const struct file_identity *b)
{
    return a->size == b->size && a->mtime_ns == b->mtime_ns && a->inode == b->inode &&
           a->device == b->device;
}
