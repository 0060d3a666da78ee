#include "shell/session/read_text.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "shell/session/session.h"

#define FILE_MOST ((size_t)16 << 20) /* bytes */

static bool read_stdin(struct text *out)
{
    char block[8192];
    for (size_t n; (n = fread(block, 1, sizeof(block), stdin)) > 0;)
        text_add(out, block, n);
    const int code = ferror(stdin) ? errno : 0;
    if (out->failed)
        complain("stdin: more than %zu MiB, or no memory", out->limit >> 20);
    else if (code)
        complain_errno(code, "stdin", "cannot read");
    return !out->failed && !code;
}

/* Read the rest of an open file. */
static bool read_descriptor(int fd, const char *path, struct text *out)
{
    char block[8192];
    struct stat st;
    ssize_t n;
    if (fstat(fd, &st) != 0)
        return complain_errno(errno, path, "cannot stat");
    if (!S_ISREG(st.st_mode)) {
        complain("%s: not a regular file", path);
        return false;
    }
    while ((n = read(fd, block, sizeof(block))) != 0) {
        if (n < 0 && errno != EINTR)
            return complain_errno(errno, path, "cannot read");
        if (n > 0 && !text_add(out, block, (size_t)n)) {
            complain("%s: more than %zu MiB, or no memory; rules and specs have kilobytes", path,
                     out->limit >> 20);
            return false;
        }
    }
    return true;
}

bool read_text(const char *path, struct text *out)
{
    if (!out->limit)
        out->limit = FILE_MOST;
    if (strcmp(path, "-") == 0)
        return read_stdin(out);
    /* O_NONBLOCK: opening a pipe must not wait for its other end. */
    const int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY);
    if (fd < 0 && (errno == ENOENT || errno == ENOTDIR)) {
        complain("%s: no such file", path);
        return false;
    }
    if (fd < 0)
        return complain_errno(errno, path, "cannot open");
    const bool good = read_descriptor(fd, path, out);
    close(fd);
    return good;
}
