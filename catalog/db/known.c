#include "catalog/db/known.h"

#include <stdlib.h>
#include <string.h>

#include "catalog/db/db.h"

static const char reading[] = "cannot read what is catalogued";

static char *known_keep(struct known *k, sqlite3_stmt *s, int column)
{
    const void *text = sqlite3_column_text(s, column);
    return text ? arena_copy(&k->arena, text, (size_t)sqlite3_column_bytes(s, column)) : NULL;
}

/* Count rows, of which there must be fewer than KNOWN_NONE. */
static bool count_known(sqlite3 *db, const char *sql, uint32_t *count, struct error *err)
{
    sqlite3_int64 n;
    db_number(db, sql, NO_NAME, reading, &n, err);
    *count = (uint32_t)n;
    return err->status == OK && n < KNOWN_NONE;
}

static bool add_checkpoint(struct known *k, sqlite3_stmt *s)
{
    bool added;
    struct known_checkpoint c = {.id = sqlite3_column_int64(s, 0),
                                 .path = known_keep(k, s, 1),
                                 .format = known_keep(k, s, 2),
                                 .stale = sqlite3_column_int(s, 3) != 0};
    if (!c.path || !c.format)
        return false;
    uint64_t *at = strmap_add(&k->by_checkpoint, c.path, strlen(c.path), &added);
    if (!at)
        return false;
    *at = k->checkpoint_count;
    k->checkpoints[k->checkpoint_count++] = c;
    return true;
}

static bool add_file(struct known *k, struct known_file f)
{
    bool added;
    uint64_t *at = f.path ? strmap_add(&k->by_path, f.path, strlen(f.path), &added) : NULL;
    if (!at)
        return false;
    f.next = added ? KNOWN_NONE : (uint32_t)*at;
    *at = k->file_count;
    k->files[k->file_count++] = f;
    return true;
}

/* Files are sorted by checkpoint and position, checkpoints by id: both lists advance together. */
static bool add_checkpoint_file(struct known *k, sqlite3_stmt *s, uint32_t *owner)
{
    int64_t id = sqlite3_column_int64(s, 0);
    while (*owner < k->checkpoint_count && k->checkpoints[*owner].id < id >> TENSOR_ORD_BITS)
        ++*owner;
    if (*owner == k->checkpoint_count || k->checkpoints[*owner].id != id >> TENSOR_ORD_BITS)
        return true; /* the file of no checkpoint, in a damaged catalog */
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
    return add_file(k, f);
}

static bool add_passed(struct known *k, sqlite3_stmt *s, uint32_t *unused)
{
    (void)unused;
    return add_file(k, (struct known_file){
                           .path = known_keep(k, s, 0),
                           .present = true,
                           .identity = db_identity(s, 1),
                           .kind = sqlite3_column_bytes(s, 5) ? known_keep(k, s, 5) : NULL,
                           .checkpoint = KNOWN_NONE,
                       });
}

static bool add_refused(struct known *k, sqlite3_stmt *s, uint32_t *unused)
{
    (void)unused;
    return (k->refused[k->refused_count++] = known_keep(k, s, 0));
}

static bool add_one_checkpoint(struct known *k, sqlite3_stmt *s, uint32_t *unused)
{
    (void)unused;
    return add_checkpoint(k, s);
}

static bool each_row(struct known *k, sqlite3 *db, const char *sql,
                     bool (*add)(struct known *, sqlite3_stmt *, uint32_t *), struct error *err)
{
    sqlite3_stmt *s = NULL;
    uint32_t state = 0;
    bool added = true;
    if (sqlite3_prepare_v2(db, sql, -1, &s, NULL) != SQLITE_OK)
        db_error(db, reading, err);
    while (added && s && db_row(s, reading, err))
        added = add(k, s, &state);
    sqlite3_finalize(s);
    return added && err->status == OK;
}

/* Issues and checkpoints are sorted by checkpoint id: both lists advance together. */
static bool mark_again(struct known *k, sqlite3_stmt *s, uint32_t *at)
{
    int64_t id = sqlite3_column_int64(s, 0);
    while (*at < k->checkpoint_count && k->checkpoints[*at].id < id)
        ++*at;
    if (*at < k->checkpoint_count && k->checkpoints[*at].id == id)
        k->checkpoints[*at].again = true;
    return true;
}

/* False: *err says why; if it does not, there was no memory. */
static bool load_all(struct known *k, sqlite3 *db, const char *looker, struct error *err)
{
    const struct bytes name = {(const uint8_t *)looker, strlen(looker)};
    sqlite3_int64 same;
    uint32_t checkpoints, files, refused;
    if (db_number(db, "SELECT 1 FROM _looked WHERE looker = ?1", name, reading, &same, err) != OK ||
        !count_known(db, "SELECT count(*) FROM _checkpoints", &checkpoints, err) ||
        !count_known(db, "SELECT (SELECT count(*) FROM _files) + (SELECT count(*) FROM _passed)",
                     &files, err) ||
        !count_known(db, "SELECT count(DISTINCT path) FROM _issues WHERE checkpoint IS NULL",
                     &refused, err))
        return false;
    k->checkpoints = arena_array(&k->arena, (size_t)checkpoints + 1, sizeof(*k->checkpoints));
    k->files = arena_array(&k->arena, (size_t)files + 1, sizeof(*k->files));
    k->refused = arena_array(&k->arena, (size_t)refused + 1, sizeof(*k->refused));
    return k->checkpoints && k->files && k->refused &&
           each_row(k, db,
                    "SELECT DISTINCT path FROM _issues WHERE checkpoint IS NULL ORDER BY path",
                    add_refused, err) &&
           each_row(k, db,
                    same ? "SELECT c.id, c.path, c.format, n.state IS NULL OR"
                           "  c.id IN (SELECT id FROM _outdated)"
                           " FROM _checkpoints c LEFT JOIN _labels n ON n.id = c.id ORDER BY c.id"
                         : "SELECT id, path, format, 1 FROM _checkpoints ORDER BY id",
                    add_one_checkpoint, err) &&
           each_row(k, db, "SELECT id, path, size, mtime_ns, inode, device FROM _files ORDER BY id",
                    add_checkpoint_file, err) &&
           each_row(k, db,
                    "SELECT DISTINCT checkpoint FROM _issues WHERE checkpoint > 0"
                    "  AND code IN ('io', 'memory') ORDER BY checkpoint",
                    mark_again, err) &&
           (!same || each_row(k, db,
                              "SELECT p.path, size, mtime_ns, inode, device, kind"
                              " FROM _passed p LEFT JOIN _unread u ON u.path = p.path",
                              add_passed, err));
}

enum status known_load(sqlite3 *db, const char *looker, struct known **out, struct error *err)
{
    struct known *k = calloc(1, sizeof(*k));
    if (!k)
        return error_memory(err);
    /* In one transaction, so that counts and rows agree. */
    if (db && (db_exec(db, "BEGIN", err) != OK || !load_all(k, db, looker, err))) {
        if (err->status == OK)
            error_memory(err);
        sqlite3_exec(db, "ROLLBACK", NULL, NULL, NULL);
        known_free(k);
        return err->status;
    }
    if (db)
        sqlite3_exec(db, "COMMIT", NULL, NULL, NULL);
    *out = k;
    return OK;
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
