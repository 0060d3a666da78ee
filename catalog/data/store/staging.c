#include "catalog/data/store/staging.h"

#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "catalog/base/text.h"
#include "catalog/data/store/leftover.h"

#define OPEN_MAX_FILES  32 /* open at a time; more than an export has threads */
#define WRITEBACK_BYTES ((uint64_t)32 << 20)
#define NAME_TRIES      16

/* A file that is open for staging_write(). */
struct slot {
    char *name; /* its own copy; NULL: none */
    int fd;
    unsigned users;
    uint64_t used;   /* value of the clock at the last use, to find the oldest */
    uint64_t unsent; /* bytes written since the last start of writeback */
};

struct staging {
    const struct output_io *io;
    int directory, folder;         /* descriptors of the folder's parent, and of the folder */
    const char *name;              /* final name of the folder, in path[] */
    char temporary[LEFTOVER_NAME]; /* its present name; "": none */
    pthread_mutex_t lock;          /* guards the slots */
    pthread_cond_t unused;
    struct slot slots[OPEN_MAX_FILES];
    uint64_t clock;
    char path[];
};

static enum status failed(struct staging *s, const char *name, const char *doing, struct error *err)
{
    char shown[400];
    int code = errno;
    snprintf(shown, sizeof(shown), "%.200s/%.190s", s->name, name);
    return error_errno(err, code, shown, doing);
}

/* --- the folder ------------------------------------------------------------------------- */

static enum status make_folder(struct staging *s, struct error *err)
{
    for (int i = 0; i < NAME_TRIES; i++) {
        char name[LEFTOVER_NAME];
        leftover_name(name);
        if (s->io->make_folder(s->directory, name) != 0) {
            if (errno == EEXIST)
                continue;
            break;
        }
        s->folder = openat(s->directory, name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
        if (s->folder >= 0 && leftover_claim(s->folder)) {
            memcpy(s->temporary, name, sizeof(name));
            return OK;
        }
        if (s->folder >= 0)
            close(s->folder);
        s->folder = -1;
    }
    error_errno(err, errno, s->path, "cannot write in its directory");
    return err->status = ERR_ARGUMENT;
}

enum status staging_open(const char *path, const struct output_io *io, struct staging **out,
                         struct error *err)
{
    size_t size = strlen(path) + 1;
    struct staging *s = calloc(1, sizeof(*s) + size);
    if (!s)
        return error_memory_at(err, path);
    memcpy(s->path, path, size);
    while (size > 2 && s->path[size - 2] == '/') /* "x.zarr/" is "x.zarr" */
        s->path[--size - 1] = '\0';
    s->io = io ? io : &output_system;
    s->directory = s->folder = -1;
    pthread_mutex_init(&s->lock, NULL);
    pthread_cond_init(&s->unused, NULL);
    s->directory = output_directory(s->path, &s->name, err);
    if (s->directory >= 0 && !output_named(s->name))
        error_set(err, ERR_ARGUMENT, s->path, NO_OFFSET, "no name for the file to be written");
    if (err->status == OK) {
        leftover_sweep(s->directory);
        make_folder(s, err);
    }
    if (err->status != OK) {
        staging_close(s);
        return err->status;
    }
    *out = s;
    return OK;
}

/* --- files ------------------------------------------------------------------------------ */

/* Create the folders above a file that do not exist yet. */
static bool staging_make_folders(struct staging *s, const char *name)
{
    char *path = strdup(name);
    bool ok = path != NULL;
    for (char *at = path; ok && (at = strchr(at, '/')); at++) {
        *at = '\0';
        ok = s->io->make_folder(s->folder, path) == 0 || errno == EEXIST;
        *at = '/';
    }
    free(path);
    return ok;
}

static int make_file(struct staging *s, const char *name)
{
    int fd = s->io->open_named(s->folder, name);
    if (fd < 0 && errno == ENOENT && staging_make_folders(s, name))
        fd = s->io->open_named(s->folder, name);
    return fd;
}

enum status staging_put(struct staging *s, const char *name, struct bytes bytes, struct error *err)
{
    int fd = make_file(s, name);
    if (fd < 0)
        return failed(s, name, "cannot make the file", err);
    if (output_write_all(s->io, fd, 0, bytes.at, bytes.len) != 0)
        failed(s, name, "cannot write", err);
    if (close(fd) != 0)
        failed(s, name, "cannot write", err);
    return err->status;
}

enum status staging_create(struct staging *s, const char *name, uint64_t size, struct error *err)
{
    int fd = make_file(s, name);
    if (fd < 0)
        return failed(s, name, "cannot make the file", err);
    if (s->io->reserve(fd, size) != 0)
        failed(s, name, "cannot reserve its bytes", err);
    close(fd);
    return err->status;
}

char *staging_path(const struct staging *s, const char *name)
{
    struct text path = {0};
    text_add(&path, s->path, (size_t)(s->name - s->path));
    text_addf(&path, "%s/%s", s->temporary, name);
    return text_steal(&path);
}

/* --- files that stay open ---------------------------------------------------------------- */

/* The slot of a file, else the least recently used slot that is free, else NULL. The caller
 * holds the lock. */
static struct slot *staging_find_slot(struct staging *s, const char *name)
{
    struct slot *oldest = NULL;
    for (int i = 0; i < OPEN_MAX_FILES; i++) {
        struct slot *slot = &s->slots[i];
        if (slot->name && strcmp(slot->name, name) == 0)
            return slot;
        if (!slot->users && (!oldest || slot->used < oldest->used))
            oldest = slot;
    }
    return oldest;
}

static void close_slot(struct slot *slot)
{
    if (slot->name)
        close(slot->fd);
    free(slot->name);
    *slot = (struct slot){.fd = -1};
}

static enum status open_slot(struct staging *s, struct slot *slot, const char *name,
                             struct error *err)
{
    close_slot(slot);
    int fd = openat(s->folder, name, O_RDWR | O_CLOEXEC | O_NOFOLLOW);
    if (fd < 0)
        return failed(s, name, "cannot open the file", err);
    slot->name = strdup(name);
    slot->fd = fd;
    if (slot->name)
        return OK;
    close(fd);
    return error_memory_at(err, s->path);
}

static struct slot *take_slot(struct staging *s, const char *name, struct error *err)
{
    struct slot *slot;
    pthread_mutex_lock(&s->lock);
    while (!(slot = staging_find_slot(s, name)))
        pthread_cond_wait(&s->unused, &s->lock);
    bool there = slot->name && strcmp(slot->name, name) == 0;
    bool ok = there || open_slot(s, slot, name, err) == OK;
    if (ok) {
        slot->users++;
        slot->used = ++s->clock;
    }
    pthread_mutex_unlock(&s->lock);
    return ok ? slot : NULL;
}

static void give_slot(struct staging *s, struct slot *slot, uint64_t written, bool early)
{
    bool hint = false;
    pthread_mutex_lock(&s->lock);
    slot->unsent += written;
    if (early && slot->unsent >= WRITEBACK_BYTES) {
        hint = true;
        slot->unsent = 0;
    }
    pthread_mutex_unlock(&s->lock);
    if (hint)
        s->io->start_writeback(slot->fd); /* only a hint: fsync reports the errors */
    pthread_mutex_lock(&s->lock);
    slot->users--;
    pthread_cond_signal(&s->unused);
    pthread_mutex_unlock(&s->lock);
}

enum status staging_write(struct staging *s, const char *name, uint64_t offset, struct bytes bytes,
                          bool early, struct error *err)
{
    struct slot *slot = take_slot(s, name, err);
    if (slot && output_write_all(s->io, slot->fd, offset, bytes.at, bytes.len) != 0)
        failed(s, name, "cannot write", err);
    if (slot)
        give_slot(s, slot, bytes.len, early);
    return err->status;
}

uint64_t staging_copy(struct staging *s, const char *name, uint64_t offset, struct staged_part part,
                      bool early, struct error *err)
{
    struct slot *slot = take_slot(s, name, err);
    const uint64_t done =
        slot ? output_copy_all(s->io, slot->fd, offset, part.from, part.offset, part.len) : 0;
    if (slot)
        give_slot(s, slot, done, early);
    return done;
}

void staging_sync_file(struct staging *s, const char *name, struct error *err)
{
    struct slot *slot = take_slot(s, name, err);
    if (slot && s->io->fsync(slot->fd) != 0)
        failed(s, name, "cannot write to the disk", err);
    if (slot)
        give_slot(s, slot, 0, false);
}

/* One call for the whole file system: fsync() of thousands of chunk files would take minutes. */
void staging_sync(struct staging *s, struct error *err)
{
    if (s->io->sync_all(s->folder) != 0)
        error_errno(err, errno, s->path, "cannot write to the disk");
}

/* --- names ------------------------------------------------------------------------------ */

/* If the file system cannot exchange two names, there is a moment when neither folder has the final
 * name. The old folder is then called ".old-...", which is not the name of a leftover, so that no
 * other process removes it. */
static int replace_folder(struct staging *s)
{
    char old[LEFTOVER_NAME];
    if (s->io->exchange(s->directory, s->temporary, s->name) == 0)
        return 0;
    if (errno != EINVAL && errno != ENOSYS)
        return -1;
    leftover_name(old);
    memcpy(old, ".old", 4);
    if (s->io->rename(s->directory, s->name, old, false) != 0)
        return -1;
    if (s->io->rename(s->directory, s->temporary, s->name, false) == 0) {
        memcpy(s->temporary, old, sizeof(old)); /* removed by staging_close() */
        return 0;
    }
    (void)s->io->rename(s->directory, old, s->name, false);
    return -1;
}

enum status staging_commit_folder(struct staging *s, bool replace, struct error *err)
{
    if (s->io->rename(s->directory, s->temporary, s->name, false) == 0) {
        s->temporary[0] = '\0';
        return OK;
    }
    if (errno == EEXIST && replace && replace_folder(s) == 0)
        return OK;
    if (errno == EEXIST && !replace)
        return error_set(err, ERR_ARGUMENT, s->path, NO_OFFSET, "exists; --force writes over it");
    return error_errno(err, errno, s->path, "cannot give the finished folder its name");
}

enum status staging_commit_file(struct staging *s, const char *name, bool replace,
                                struct error *err)
{
    struct text from = {0};
    text_addf(&from, "%s/%s", s->temporary, name);
    if (!text_str(&from)) {
        error_memory_at(err, name);
    } else if (s->io->rename(s->directory, text_str(&from), name, replace) != 0) {
        if (errno == EEXIST && !replace)
            error_set(err, ERR_ARGUMENT, name, NO_OFFSET, "exists; --force writes over it");
        else
            error_errno(err, errno, name, "cannot give the finished file its name");
    }
    text_release(&from);
    return err->status;
}

void staging_clear(struct staging *s, const char *name)
{
    s->io->unlink(s->directory, name);
}

void staging_sync_names(struct staging *s, struct error *err)
{
    output_sync_folder(s->io, s->directory, s->path, err);
}

void staging_close(struct staging *s)
{
    if (!s)
        return;
    for (int i = 0; i < OPEN_MAX_FILES; i++)
        close_slot(&s->slots[i]);
    if (s->temporary[0])
        leftover_remove(s->directory, s->temporary);
    if (s->folder >= 0)
        close(s->folder);
    if (s->directory >= 0)
        close(s->directory);
    pthread_mutex_destroy(&s->lock);
    pthread_cond_destroy(&s->unused);
    free(s);
}
