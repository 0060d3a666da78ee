#include "catalog/db/ahead.h"

#include <pthread.h>
#include <stdlib.h>
#include <time.h>

#include "catalog/base/threads.h"

#define WORTH_BYTES (16 << 20) /* a disk writes less than this in a moment */
#define PAUSE_NS    20000000

struct ahead {
    sqlite3_file *file;
    const char *path;
    struct threads *thread;
    pthread_mutex_t lock;
    pthread_cond_t wake;
    bool ends;
    int rc; /* of the syncs: an SQLite code; the thread's own until it has ended */
};

/* Pause; false: the thread must end. */
static bool ahead_pause(struct ahead *a)
{
    struct timespec until;
    clock_gettime(CLOCK_REALTIME, &until);
    until.tv_nsec += PAUSE_NS;
    until.tv_sec += until.tv_nsec / 1000000000;
    until.tv_nsec %= 1000000000;
    pthread_mutex_lock(&a->lock);
    if (!a->ends)
        pthread_cond_timedwait(&a->wake, &a->lock, &until);
    bool more = !a->ends;
    pthread_mutex_unlock(&a->lock);
    return more;
}

/* By SQLite's own method, since closing a descriptor of ours would release its locks. It only
 * reads the file's descriptor, which nobody changes meanwhile. */
static void ahead_sync(void *argument)
{
    struct ahead *a = argument;
    do
        a->rc = a->file->pMethods->xSync(a->file, SQLITE_SYNC_NORMAL | SQLITE_SYNC_DATAONLY);
    while (a->rc == SQLITE_OK && ahead_pause(a));
}

static sqlite3_file *file_of(sqlite3 *db, int which)
{
    sqlite3_file *file = NULL;
    const int rc = sqlite3_file_control(db, "main", which, &file);
    return rc == SQLITE_OK && file && file->pMethods ? file : NULL;
}

struct ahead *ahead_start(sqlite3 *db, bool wal)
{
    const char *path = sqlite3_db_filename(db, "main");
    sqlite3_file *file =
        file_of(db, wal ? SQLITE_FCNTL_JOURNAL_POINTER : SQLITE_FCNTL_FILE_POINTER);
    sqlite3_int64 size = WORTH_BYTES;
    if (!path || !*path || !file || (!wal && file->pMethods->xFileSize(file, &size) != SQLITE_OK) ||
        size < WORTH_BYTES)
        return NULL;
    struct ahead *a = calloc(1, sizeof(*a));
    if (!a)
        return NULL;
    a->file = file;
    a->path = path;
    pthread_mutex_init(&a->lock, NULL);
    pthread_cond_init(&a->wake, NULL);
    a->thread = threads_start(1, ahead_sync, a);
    return a;
}

enum status ahead_end(struct ahead *a, struct error *err)
{
    if (!a)
        return err->status;
    pthread_mutex_lock(&a->lock);
    a->ends = true;
    pthread_cond_signal(&a->wake);
    pthread_mutex_unlock(&a->lock);
    threads_join(a->thread);
    if (a->rc != SQLITE_OK && err->status == OK)
        error_set(err, ERR_IO, a->path, NO_OFFSET, "cannot write the catalog: %s",
                  sqlite3_errstr(a->rc));
    pthread_cond_destroy(&a->wake);
    pthread_mutex_destroy(&a->lock);
    free(a);
    return err->status;
}
