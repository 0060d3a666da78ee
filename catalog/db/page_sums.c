#include "catalog/db/page_sums.h"

#include <pthread.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "catalog/base/bits.h"
#include "catalog/data/kernel/crc32c.h"

/* In the file's header: 2 stands for WAL; the change counter; and another two numbers that each commit writes. */
#define MODE_AT     18
#define COUNTER_AT  24
#define COUNTER_END 28
#define VALID_AT    92
#define HEADER_END  100
#define MODE_WAL    2

#define SUM_SIZE 4
#define ROOM     64 /* pages more than there are, so that the row seldom changes its length */

/* A main database; the system's file is behind it. */
struct summed {
    sqlite3_file base;
    uint32_t *sums; /* of pages; 0: not known */
    size_t count;
    int page;           /* its size; 0: not known yet */
    uint32_t counter;   /* as last read or written */
    uint32_t stamp;     /* the counter for which the sums hold */
    uint32_t damaged;   /* a page, from 1 on */
    sqlite3_int64 data; /* PRAGMA data_version when the sums were read: others' commits change it */
    bool known, wal;
    bool own;      /* each sum was taken from what our programs wrote, not from what was found */
    bool doubtful; /* others may have written since, in WAL mode, without counting */
    bool wrote, saving;
};

static sqlite3_file *real_of(sqlite3_file *file)
{
    return (sqlite3_file *)((struct summed *)file + 1);
}

static uint32_t page_sum(size_t at, const uint8_t *page, size_t len)
{
    uint32_t sum = 0;
    if (at == 0) {
        sum = crc32c_extend(sum, page, COUNTER_AT);
        sum = crc32c_extend(sum, page + COUNTER_END, VALID_AT - COUNTER_END);
        sum = crc32c_extend(sum, page + HEADER_END, len - HEADER_END);
    } else {
        sum = crc32c_extend(sum, page, len);
    }
    return sum ? sum : 1;
}

static bool set_sum(struct summed *f, size_t at, uint32_t sum)
{
    if (at >= f->count) {
        uint32_t *more = realloc(f->sums, (at + at / 2 + ROOM) * sizeof(*more));
        if (!more)
            return false;
        memset(more + f->count, 0, (at + at / 2 + ROOM - f->count) * sizeof(*more));
        f->sums = more;
        f->count = at + at / 2 + ROOM;
    }
    f->sums[at] = sum;
    return true;
}

/* Whether these bytes are a page; *at counts from 0. */
static bool is_page(const struct summed *f, int len, sqlite3_int64 offset, size_t *at)
{
    if (!f->page || len != f->page || offset % f->page != 0)
        return false;
    *at = (size_t)(offset / f->page);
    return true;
}

/* Note what the bytes say about the file, if they are in its header. */
static void note_header(struct summed *f, const uint8_t *bytes, int len, sqlite3_int64 offset)
{
    if (offset > COUNTER_AT || offset + len < COUNTER_END)
        return;
    f->counter = load_u32be(bytes + COUNTER_AT - offset);
    if (offset <= MODE_AT) {
        f->wal = bytes[MODE_AT - offset] == MODE_WAL;
        f->doubtful |= f->wal;
    }
}

static int summed_read(sqlite3_file *file, void *bytes, int len, sqlite3_int64 offset)
{
    struct summed *f = (struct summed *)file;
    size_t at;
    const int rc = real_of(file)->pMethods->xRead(real_of(file), bytes, len, offset);
    if (rc != SQLITE_OK)
        return rc;
    note_header(f, bytes, len, offset);
    f->known = f->known && f->counter == f->stamp;
    if (!f->known || f->doubtful || !is_page(f, len, offset, &at) || at >= f->count ||
        !f->sums[at] || page_sum(at, bytes, (size_t)len) == f->sums[at])
        return SQLITE_OK;
    f->damaged = (uint32_t)at + 1;
    return SQLITE_CORRUPT;
}

static int summed_write(sqlite3_file *file, const void *bytes, int len, sqlite3_int64 offset)
{
    struct summed *f = (struct summed *)file;
    size_t at;
    f->wrote = true;
    note_header(f, bytes, len, offset);
    f->stamp = f->counter;
    f->known = f->known && is_page(f, len, offset, &at) &&
               set_sum(f, at, f->saving && at ? 0 : page_sum(at, bytes, (size_t)len));
    return real_of(file)->pMethods->xWrite(real_of(file), bytes, len, offset);
}

static int summed_close(sqlite3_file *file)
{
    free(((struct summed *)file)->sums);
    return real_of(file)->pMethods->xClose(real_of(file));
}

/* --- passed on to the system ------------------------------------------------------------ */

static int summed_truncate(sqlite3_file *file, sqlite3_int64 size)
{
    return real_of(file)->pMethods->xTruncate(real_of(file), size);
}

static int summed_sync(sqlite3_file *file, int flags)
{
    return real_of(file)->pMethods->xSync(real_of(file), flags);
}

static int summed_size(sqlite3_file *file, sqlite3_int64 *size)
{
    return real_of(file)->pMethods->xFileSize(real_of(file), size);
}

static int summed_lock(sqlite3_file *file, int lock)
{
    return real_of(file)->pMethods->xLock(real_of(file), lock);
}

static int summed_unlock(sqlite3_file *file, int lock)
{
    return real_of(file)->pMethods->xUnlock(real_of(file), lock);
}

static int summed_reserved(sqlite3_file *file, int *reserved)
{
    return real_of(file)->pMethods->xCheckReservedLock(real_of(file), reserved);
}

static int summed_control(sqlite3_file *file, int what, void *argument)
{
    return real_of(file)->pMethods->xFileControl(real_of(file), what, argument);
}

static int summed_sector(sqlite3_file *file)
{
    return real_of(file)->pMethods->xSectorSize(real_of(file));
}

/* Without parts of pages, which newer versions of SQLite would read past the cache. */
static int summed_traits(sqlite3_file *file)
{
    const int subpage_read = 0x8000;
    return real_of(file)->pMethods->xDeviceCharacteristics(real_of(file)) & ~subpage_read;
}

static int summed_shm_map(sqlite3_file *file, int region, int size, int extend,
                          void volatile **memory)
{
    return real_of(file)->pMethods->xShmMap(real_of(file), region, size, extend, memory);
}

static int summed_shm_lock(sqlite3_file *file, int offset, int n, int flags)
{
    return real_of(file)->pMethods->xShmLock(real_of(file), offset, n, flags);
}

static void summed_shm_barrier(sqlite3_file *file)
{
    real_of(file)->pMethods->xShmBarrier(real_of(file));
}

static int summed_shm_unmap(sqlite3_file *file, int delete_it)
{
    return real_of(file)->pMethods->xShmUnmap(real_of(file), delete_it);
}

/* Version 2 has shared memory, for WAL; 3 would read through a map, past xRead. */
#define METHODS(version)                                                                           \
    {                                                                                              \
        .iVersion = version, .xClose = summed_close, .xRead = summed_read, .xWrite = summed_write, \
        .xTruncate = summed_truncate, .xSync = summed_sync, .xFileSize = summed_size,              \
        .xLock = summed_lock, .xUnlock = summed_unlock, .xCheckReservedLock = summed_reserved,     \
        .xFileControl = summed_control, .xSectorSize = summed_sector,                              \
        .xDeviceCharacteristics = summed_traits, .xShmMap = summed_shm_map,                        \
        .xShmLock = summed_shm_lock, .xShmBarrier = summed_shm_barrier,                            \
        .xShmUnmap = summed_shm_unmap                                                              \
    }
static const sqlite3_io_methods plain_methods = METHODS(1), wal_methods = METHODS(2);

/* --- the VFS ----------------------------------------------------------------------------- */

static int summed_open(sqlite3_vfs *vfs, const char *name, sqlite3_file *file, int flags, int *out)
{
    sqlite3_vfs *system = sqlite3_vfs_find(vfs->pAppData);
    if (!(flags & SQLITE_OPEN_MAIN_DB))
        return system->xOpen(system, name, file, flags, out);
    struct summed *f = (struct summed *)file;
    *f = (struct summed){.page = 0};
    const int rc = system->xOpen(system, name, real_of(file), flags, out);
    const sqlite3_io_methods *real = real_of(file)->pMethods;
    if (rc == SQLITE_OK)
        f->base.pMethods = real->iVersion >= 2 && real->xShmMap ? &wal_methods : &plain_methods;
    else if (real)
        real->xClose(real_of(file));
    return rc;
}

static sqlite3_vfs summing;

static void register_summing(void)
{
    sqlite3_vfs *system = sqlite3_vfs_find(NULL);
    if (!system || sqlite3_vfs_find("ckptdb-sums"))
        return;
    summing = *system; /* whose other methods do not look at which VFS they are of */
    summing.szOsFile += (int)sizeof(struct summed);
    summing.zName = "ckptdb-sums";
    summing.pAppData = (void *)system->zName;
    summing.pNext = NULL;
    summing.xOpen = summed_open;
    if (sqlite3_vfs_register(&summing, 0) != SQLITE_OK)
        summing.zName = NULL;
}

const char *page_sums_vfs(void)
{
    static pthread_once_t once = PTHREAD_ONCE_INIT;
    pthread_once(&once, register_summing);
    return summing.zName;
}

static struct summed *summed_of(sqlite3 *db, const char *schema)
{
    sqlite3_file *file = NULL;
    if (sqlite3_file_control(db, schema, SQLITE_FCNTL_FILE_POINTER, &file) != SQLITE_OK || !file ||
        (file->pMethods != &wal_methods && file->pMethods != &plain_methods))
        return NULL;
    return (struct summed *)file;
}

uint32_t page_sums_damaged(sqlite3 *db, const char **file)
{
    const char *schema;
    for (int i = 0; (schema = sqlite3_db_name(db, i)); i++) {
        const struct summed *f = summed_of(db, schema);
        *file = sqlite3_db_filename(db, schema);
        if (f && f->damaged)
            return f->damaged;
    }
    return 0;
}

bool page_sums_vouch(sqlite3 *db)
{
    const struct summed *f = summed_of(db, "main");
    return f && f->known && f->own && !f->doubtful;
}

/* --- the table --------------------------------------------------------------------------- */

static sqlite3_int64 number(sqlite3 *db, const char *before, const char *schema, const char *after)
{
    sqlite3_stmt *s = NULL;
    sqlite3_int64 found = -1;
    char *sql = sqlite3_mprintf("%s \"%w\".%s", before, schema, after);
    if (sql && sqlite3_prepare_v2(db, sql, -1, &s, NULL) == SQLITE_OK &&
        sqlite3_step(s) == SQLITE_ROW)
        found = sqlite3_column_int64(s, 0);
    sqlite3_finalize(s);
    sqlite3_free(sql);
    return found;
}

static void take_sums(struct summed *f, const uint8_t *at, size_t len)
{
    const size_t count = len / SUM_SIZE;
    uint32_t *sums = count > 1 ? malloc(count * sizeof(*sums)) : NULL;
    if (!sums || load_u32le(at) != f->counter || f->wal) {
        free(sums);
        return;
    }
    for (size_t i = 1; i < count; i++)
        sums[i - 1] = load_u32le(at + i * SUM_SIZE);
    free(f->sums);
    f->sums = sums;
    f->count = count - 1;
    f->stamp = f->counter;
    f->known = true;
    f->own = len % SUM_SIZE && at[len - 1];
    f->doubtful = false;
}

void page_sums_load(sqlite3 *db, const char *schema)
{
    struct summed *f = summed_of(db, schema);
    sqlite3_stmt *s = NULL;
    char *sql =
        f ? sqlite3_mprintf("SELECT sums FROM \"%w\"._page_sums WHERE id = 1", schema) : NULL;
    if (!sql)
        return;
    f->known = false;
    f->page = (int)number(db, "PRAGMA", schema, "page_size");
    f->data = number(db, "PRAGMA", schema, "data_version");
    if (sqlite3_prepare_v2(db, sql, -1, &s, NULL) == SQLITE_OK && sqlite3_step(s) == SQLITE_ROW)
        take_sums(f, sqlite3_column_blob(s, 0), (size_t)sqlite3_column_bytes(s, 0));
    sqlite3_finalize(s);
    sqlite3_free(sql);
    sqlite3_db_release_memory(db); /* what was read up to now was not checked */
}

void page_sums_begin(sqlite3 *db)
{
    struct summed *f = summed_of(db, "main");
    if (!f)
        return;
    f->page = (int)number(db, "PRAGMA", "main", "page_size");
    f->data = number(db, "PRAGMA", "main", "data_version");
    f->stamp = f->counter;
    f->known = f->own = true;
}

/* Whoever else wrote the file changed at least one page of those that have a sum. */
static bool sum_all(struct summed *f, sqlite3_int64 pages)
{
    sqlite3_file *real = real_of(&f->base);
    uint8_t *page = malloc((size_t)f->page);
    bool fine = page && pages > 0;
    for (sqlite3_int64 i = 0; fine && i < pages; i++) {
        const size_t at = (size_t)i;
        fine = real->pMethods->xRead(real, page, f->page, i * f->page) == SQLITE_OK;
        const uint32_t sum = fine ? page_sum(at, page, (size_t)f->page) : 0;
        f->own = f->own && (at >= f->count || !f->sums[at] || f->sums[at] == sum);
        fine = fine && set_sum(f, at, sum);
    }
    f->stamp = f->counter;
    free(page);
    return fine;
}

/* Write the row in place, so that no page changes but its own, and the header's counter. */
static bool write_row_in_place(sqlite3 *db, const struct summed *f, int len)
{
    sqlite3_blob *blob = NULL;
    uint8_t *row = calloc(1, (size_t)len);
    bool fine =
        row && sqlite3_blob_open(db, "main", "_page_sums", "sums", 1, 1, &blob) == SQLITE_OK;
    if (fine) {
        store_u32le(row, f->counter + 1);
        for (size_t i = 0; i < f->count && i + 1 < (size_t)len / SUM_SIZE; i++)
            store_u32le(row + (i + 1) * SUM_SIZE, f->sums[i]);
        row[len - 1] = f->own;
        fine = sqlite3_blob_write(blob, row, len, 0) == SQLITE_OK;
    }
    fine = sqlite3_blob_close(blob) == SQLITE_OK && fine;
    free(row);
    return fine;
}

/* In a transaction of its own, after which page 1 has its sum, too. */
static bool widen_row(sqlite3 *db, struct summed *f)
{
    static const char sql[] =
        "INSERT OR REPLACE INTO main._page_sums SELECT 1, zeroblob(4 * (page_count + page_count / 8 + 64) + 1)"
        " FROM pragma_page_count WHERE NOT EXISTS (SELECT 1 FROM main._page_sums"
        " WHERE id = 1 AND length(sums) >= 4 * (page_count + 2) AND length(sums) % 4); COMMIT";
    f->known = f->known || sum_all(f, number(db, "PRAGMA", "main", "page_count"));
    return f->known && sqlite3_exec(db, sql, NULL, NULL, NULL) == SQLITE_OK;
}

/* The row's own pages have no sums: which ones these are shows when it is written for the first time. */
static bool write_sums(sqlite3 *db, struct summed *f)
{
    const sqlite3_int64 pages = number(db, "PRAGMA", "main", "page_count"),
                        len = number(db, "SELECT length(sums) FROM", "main",
                                     "_page_sums WHERE id = 1");
    f->saving = true;
    return f->known && pages > 0 && len > (pages + 1) * SUM_SIZE &&
           write_row_in_place(db, f, (int)len) && sqlite3_db_cacheflush(db) == SQLITE_OK &&
           write_row_in_place(db, f, (int)len) &&
           sqlite3_exec(db, "COMMIT", NULL, NULL, NULL) == SQLITE_OK;
}

void page_sums_save(sqlite3 *db)
{
    struct summed *f = summed_of(db, "main");
    if (!f || f->damaged || !sqlite3_get_autocommit(db) || sqlite3_db_readonly(db, "main") != 0)
        return;
    sqlite3_set_authorizer(db, NULL, NULL);
    sqlite3_progress_handler(db, 0, NULL, NULL);
    sqlite3_busy_timeout(db, 0);
    if (!f->wrote)
        page_sums_load(db, "main");
    if ((!f->wrote && f->known) || f->wal)
        return;
    f->page = (int)number(db, "PRAGMA", "main", "page_size");
    f->known =
        f->known && (!f->doubtful || number(db, "PRAGMA", "main", "data_version") == f->data);
    const bool done =
        sqlite3_exec(db, "BEGIN IMMEDIATE", NULL, NULL, NULL) == SQLITE_OK && widen_row(db, f) &&
        sqlite3_exec(db, "BEGIN IMMEDIATE", NULL, NULL, NULL) == SQLITE_OK && write_sums(db, f);
    if (!done)
        sqlite3_exec(db, "ROLLBACK", NULL, NULL, NULL);
}
