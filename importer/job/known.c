#include "importer/job/known.h"

#include <stdlib.h>
#include <string.h>

#include "catalog/db/db.h"

static const char reading[] = "cannot read what is catalogued";

/* Text that is never NULL. */
static const char *known_keep(struct known *k, sqlite3_stmt *s, int column)
{
    const void *text = sqlite3_column_text(s, column);
    if (text)
        return arena_copy(&k->arena, text, (size_t)sqlite3_column_bytes(s, column));
    arena_fail(&k->arena);
    return "";
}

/* An array with room for as many rows as a query counts: fewer than KNOWN_NONE. */
static void *known_room(struct known *k, sqlite3 *db, const char *count, size_t size)
{
    sqlite3_int64 rows;
    db_number(db, count, NO_NAME, reading, &rows, k->arena.err);
    return rows < KNOWN_NONE ? arena_array(&k->arena, (size_t)rows + 1, size)
                             : arena_fail(&k->arena);
}

static void add_checkpoint(struct known *k, sqlite3_stmt *s, uint32_t *unused)
{
    (void)unused;
    bool added;
    struct known_checkpoint c = {.id = sqlite3_column_int64(s, 0),
                                 .path = known_keep(k, s, 1),
                                 .format = known_keep(k, s, 2),
                                 .stale = sqlite3_column_int(s, 3) != 0};
    *strmap_add(&k->by_checkpoint, c.path, strlen(c.path), &added) = k->checkpoint_count;
    k->checkpoints[k->checkpoint_count++] = c;
}

static void add_file(struct known *k, struct known_file f)
{
    bool added;
    uint64_t *at = strmap_add(&k->by_path, f.path, strlen(f.path), &added);
    f.next = added ? KNOWN_NONE : (uint32_t)*at;
    *at = k->file_count;
    k->files[k->file_count++] = f;
}

/* Files are sorted by checkpoint and position, checkpoints by id: both lists advance together. */
static void add_checkpoint_file(struct known *k, sqlite3_stmt *s, uint32_t *owner)
{
    int64_t id = sqlite3_column_int64(s, 0);
    while (*owner < k->checkpoint_count && k->checkpoints[*owner].id < id >> TENSOR_ORD_BITS)
        ++*owner;
    if (*owner == k->checkpoint_count || k->checkpoints[*owner].id != id >> TENSOR_ORD_BITS)
        return; /* a file without a checkpoint, in a damaged catalog */
    struct known_checkpoint *c = &k->checkpoints[*owner];
    if (c->file_count++ == 0)
        c->first_file = k->file_count;
    struct known_file f = {
        .path = known_keep(k, s, 1),
        .present = sqlite3_column_type(s, 2) != SQLITE_NULL,
        .checkpoint = *owner,
        .position = (uint32_t)(id & TENSOR_ORD_MASK),
    };
    if (!c->stale) /* the files of a stale checkpoint must not look unchanged */
        f.identity = db_identity(s, 2);
    add_file(k, f);
}

static void add_passed(struct known *k, sqlite3_stmt *s, uint32_t *unused)
{
    (void)unused;
    add_file(k, (struct known_file){
                    .path = known_keep(k, s, 0),
                    .present = true,
                    .identity = db_identity(s, 1),
                    .kind = sqlite3_column_bytes(s, 5) ? known_keep(k, s, 5) : NULL,
                    .checkpoint = KNOWN_NONE,
                });
}

static void add_refused(struct known *k, sqlite3_stmt *s, uint32_t *unused)
{
    (void)unused;
    k->refused[k->refused_count++] = known_keep(k, s, 0);
}

static void each_row(struct known *k, sqlite3 *db, const char *sql,
                     void (*add)(struct known *, sqlite3_stmt *, uint32_t *))
{
    sqlite3_stmt *s = db_query_to(db, k->arena.err, reading, sql, "");
    uint32_t state = 0;
    while (db_row(s, reading, k->arena.err))
        add(k, s, &state);
    sqlite3_finalize(s);
}

/* Issues and checkpoints are sorted by checkpoint id: both lists advance together. */
static void mark_again(struct known *k, sqlite3_stmt *s, uint32_t *at)
{
    int64_t id = sqlite3_column_int64(s, 0);
    while (*at < k->checkpoint_count && k->checkpoints[*at].id < id)
        ++*at;
    if (*at < k->checkpoint_count && k->checkpoints[*at].id == id)
        k->checkpoints[*at].again = true;
}

static void load_all(struct known *k, sqlite3 *db, const char *looker)
{
    const struct bytes name = {(const uint8_t *)looker, strlen(looker)};
    sqlite3_int64 same;
    db_number(db, "SELECT 1 FROM _looked WHERE looker = ?1", name, reading, &same, k->arena.err);
    k->checkpoints =
        known_room(k, db, "SELECT count(*) FROM _checkpoints", sizeof(*k->checkpoints));
    k->files =
        known_room(k, db, "SELECT (SELECT count(*) FROM _files) + (SELECT count(*) FROM _passed)",
                   sizeof(*k->files));
    k->refused =
        known_room(k, db, "SELECT count(DISTINCT path) FROM _issues WHERE checkpoint IS NULL",
                   sizeof(*k->refused));
    each_row(k, db, "SELECT DISTINCT path FROM _issues WHERE checkpoint IS NULL ORDER BY path",
             add_refused);
    each_row(k, db,
             same ? "SELECT c.id, c.path, c.format, n.state IS NULL OR"
                    "  c.id IN (SELECT id FROM _outdated)"
                    " FROM _checkpoints c LEFT JOIN _labels n ON n.id = c.id ORDER BY c.id"
                  : "SELECT id, path, format, 1 FROM _checkpoints ORDER BY id",
             add_checkpoint);
    each_row(k, db, "SELECT id, path, size, mtime_ns, inode, device FROM _files ORDER BY id",
             add_checkpoint_file);
    each_row(k, db,
             "SELECT DISTINCT checkpoint FROM _issues WHERE checkpoint > 0"
             "  AND code IN ('io', 'memory') ORDER BY checkpoint",
             mark_again);
    if (same)
        each_row(k, db,
                 "SELECT p.path, size, mtime_ns, inode, device, kind"
                 " FROM _passed p LEFT JOIN _unread u ON u.path = p.path",
                 add_passed);
}

enum status known_load(sqlite3 *db, const char *looker, struct known **out, struct error *err)
{
    struct known *k = calloc(1, sizeof(*k));
    if (!k)
        return error_memory(err);
    k->arena.err = k->by_path.err = k->by_checkpoint.err = err;
    /* In one transaction, so that counts and rows agree. */
    if (db && db_exec(db, "BEGIN", err) == OK)
        load_all(k, db, looker);
    if (db)
        sqlite3_exec(db, err->status == OK ? "COMMIT" : "ROLLBACK", NULL, NULL, NULL);
    k->arena.err = k->by_path.err = k->by_checkpoint.err = NULL;
    if (err->status == OK)
        *out = k;
    else
        known_free(k);
    return err->status;
}

void known_free(struct known *k)
{
    if (!k)
        return;
    strmap_release(&k->by_path);
    strmap_release(&k->by_checkpoint);
    arena_release(&k->arena);
    free(k);
}

const struct known_file *known_file(const struct known *k, const char *path)
{
    const uint64_t *at = strmap_get(&k->by_path, path, strlen(path));
    return at ? &k->files[*at] : NULL;
}

const struct known_checkpoint *known_checkpoint(const struct known *k, const char *path)
{
    const uint64_t *at = strmap_get(&k->by_checkpoint, path, strlen(path));
    return at ? &k->checkpoints[*at] : NULL;
}
