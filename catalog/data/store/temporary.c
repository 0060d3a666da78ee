#include "catalog/data/store/temporary.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

static enum status cannot_write(const char *what, struct error *err)
{
    return error_errno(err, errno, what,
                       "cannot write the temporary file that this tensor needs ($TMPDIR "
                       "says where)");
}

int temporary_open(const char *what, struct error *err)
{
    char path[4096];
    /* NOLINTNEXTLINE(concurrency-mt-unsafe): nothing sets any */
    const char *folder = getenv("TMPDIR");
    int len = snprintf(path, sizeof(path), "%s/ckptdb-XXXXXX", folder && *folder ? folder : "/tmp");
    if (len < 0 || (size_t)len >= sizeof(path)) {
        error_set(err, ERR_IO, what, NO_OFFSET, "$TMPDIR is too long");
        return -1;
    }
    int fd = mkstemp(path);
    if (fd < 0)
        error_errno(err, errno, path,
                    "cannot make the temporary file that this tensor needs ($TMPDIR says where)");
    else
        unlink(path);
    return fd;
}

enum status temporary_clear(int fd, uint64_t size, const char *what, struct error *err)
{
    if (ftruncate(fd, 0) != 0 || ftruncate(fd, (off_t)size) != 0)
        return cannot_write(what, err);
    return OK;
}

enum status temporary_write(int fd, uint64_t offset, const void *bytes, size_t len,
                            const char *what, struct error *err)
{
    for (const uint8_t *at = bytes; len;) {
        ssize_t put = pwrite(fd, at, len, (off_t)offset);
        if (put < 0 && errno == EINTR)
            continue;
        if (put < 0)
            return cannot_write(what, err);
        at += put;
        offset += (uint64_t)put;
        len -= (size_t)put;
    }
    return OK;
}

enum status temporary_read(int fd, uint64_t offset, void *dst, size_t len, const char *what,
                           struct error *err)
{
    for (uint8_t *at = dst; len;) {
        ssize_t got = pread(fd, at, len, (off_t)offset);
        if (got < 0 && errno == EINTR)
            continue;
        if (got <= 0)
            return error_errno(err, got ? errno : EIO, what, "cannot read back the temporary file");
        at += got;
        offset += (uint64_t)got;
        len -= (size_t)got;
    }
    return OK;
}
