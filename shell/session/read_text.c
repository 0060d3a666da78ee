#include "shell/session/read_text.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "catalog/base/error.h"
#include "shell/session/session.h"

#define FILE_MOST ((size_t)16 << 20) /* bytes */

static bool read_stdin(struct text *out)
{
    char block[8192];
    for (size_t n; (n = fread(block, 1, sizeof(block), stdin)) > 0;)
        text_add(out, block, n);
    struct error err = {.offset = NO_OFFSET};
    if (ferror(stdin))
        error_errno(&err, errno, "stdin", "cannot read");
    if (out->failed)
        complain("stdin: more than %zu MiB, or no memory", out->limit >> 20);
    else if (err.status != OK)
        complain_error(&err);
    return !out->failed && err.status == OK;
}

/* Read the rest of an open file. */
static void read_descriptor(int fd, const char *path, struct text *out, struct error *err)
{
    char block[8192];
    struct stat st;
    ssize_t n;
    if (fstat(fd, &st) != 0)
        error_errno(err, errno, path, "cannot stat");
    else if (!S_ISREG(st.st_mode))
        error_set(err, ERR_UNSUPPORTED, path, NO_OFFSET, "not a regular file");
    while (err->status == OK && (n = read(fd, block, sizeof(block))) != 0) {
        if (n < 0 && errno != EINTR)
            error_errno(err, errno, path, "cannot read");
        else if (n > 0 && !text_add(out, block, (size_t)n))
            error_set(err, ERR_LIMIT, path, NO_OFFSET,
                      "more than %zu MiB, or no memory; rules and specs have kilobytes",
                      out->limit >> 20);
    }
}

/* O_NONBLOCK: opening a pipe must not wait for its other end. */
static bool read_text_file(const char *path, struct text *out)
{
    struct error err = {.offset = NO_OFFSET};
    int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY);
    if (fd >= 0) {
        read_descriptor(fd, path, out, &err);
        close(fd);
    } else if (errno == ENOENT || errno == ENOTDIR) {
        error_set(&err, ERR_MISSING, path, NO_OFFSET, "no such file");
    } else {
        error_errno(&err, errno, path, "cannot open");
    }
    if (err.status != OK)
        complain_error(&err);
    return err.status == OK;
}

bool read_text(const char *path, struct text *out)
{
    if (!out->limit)
        out->limit = FILE_MOST;
    return strcmp(path, "-") == 0 ? read_stdin(out) : read_text_file(path, out);
}
