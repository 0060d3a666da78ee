/* flock() and d_type are not in POSIX. */
#define _GNU_SOURCE /* NOLINT(bugprone-*,cert-*,readability-*): its own name */
#include "catalog/data/store/leftover.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/file.h>
#include <sys/random.h>
#include <sys/stat.h>
#include <unistd.h>

#define PREFIX     ".tmp-ckptdb-"
#define HEX_DIGITS 24

void leftover_name(char name[LEFTOVER_NAME])
{
    uint8_t random[HEX_DIGITS / 2];
    size_t len = (size_t)snprintf(name, LEFTOVER_NAME, PREFIX);
    if (getentropy(random, sizeof(random)) != 0)
        memset(random, 0, sizeof(random));
    for (size_t i = 0; i < sizeof(random); i++)
        len += (size_t)snprintf(name + len, LEFTOVER_NAME - len, "%02x", random[i]);
}

static bool is_name(const char *name)
{
    size_t len = sizeof(PREFIX) - 1;
    return strncmp(name, PREFIX, len) == 0 && strlen(name + len) == HEX_DIGITS &&
           strspn(name + len, "0123456789abcdef") == HEX_DIGITS;
}

bool leftover_claim(int fd)
{
    struct stat st;
    if (flock(fd, LOCK_EX | LOCK_NB) != 0)
        return errno != EWOULDBLOCK;
    return fstat(fd, &st) == 0 && st.st_nlink > 0;
}

/* Open a directory for listing; closedir() closes its descriptor, too. */
static DIR *open_list(int directory, const char *name)
{
    int fd = openat(directory, name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
    DIR *list = fd < 0 ? NULL : fdopendir(fd);
    if (fd >= 0 && !list)
        close(fd);
    return list;
}

void leftover_remove(int directory, const char *name)
{
    DIR *list = open_list(directory, name);
    /* NOLINTNEXTLINE(concurrency-mt-unsafe): a stream of this function's own */
    for (struct dirent *e; list && (e = readdir(list));)
        if (strcmp(e->d_name, ".") != 0 && strcmp(e->d_name, "..") != 0 &&
            unlinkat(dirfd(list), e->d_name, 0) != 0 && (errno == EISDIR || errno == EPERM))
            leftover_remove(dirfd(list), e->d_name);
    if (list)
        closedir(list);
    (void)unlinkat(directory, name, AT_REMOVEDIR);
}

/* Remove it if it belongs to this user and nobody holds its lock. This function holds the lock
 * until it is gone. */
static void sweep_one(int directory, const char *name)
{
    struct stat st;
    int fd = openat(directory, name, O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC);
    if (fd < 0)
        return;
    if (fstat(fd, &st) == 0 && st.st_uid == geteuid() && flock(fd, LOCK_EX | LOCK_NB) == 0) {
        if (S_ISREG(st.st_mode))
            (void)unlinkat(directory, name, 0);
        else if (S_ISDIR(st.st_mode))
            leftover_remove(directory, name);
    }
    close(fd);
}

void leftover_sweep(int directory)
{
    DIR *list = open_list(directory, ".");
    /* NOLINTNEXTLINE(concurrency-mt-unsafe): a stream of this function's own */
    for (struct dirent *e; list && (e = readdir(list));)
        if (is_name(e->d_name))
            sweep_one(directory, e->d_name);
    if (list)
        closedir(list);
}
