#include "catalog/content/keep.h"

#include <string.h>

#include "catalog/content/current.h"
#include "catalog/db/overlay.h"

#define KEEP_SECONDS 2
#define KEEP_BYTES   (UINT64_C(1) << 32)

/* A read-only catalog needs no transaction, which would make other writers wait. */
static enum status keep_begin_work(const struct content_work *w, struct error *err)
{
    if (w->begun)
        *w->begun = time(NULL);
    return overlay_wanted(w->db) ? OK : db_exec(w->db, "BEGIN IMMEDIATE", err);
}

enum status keep_begin(const struct content_work *w, struct error *err)
{
    return sqlite3_get_autocommit(w->db) ? keep_begin_work(w, err) : OK;
}

enum status content_commit(sqlite3 *db, struct error *err)
{
    struct error ending = {.offset = NO_OFFSET};
    if (!sqlite3_get_autocommit(db) && db_exec(db, "COMMIT", &ending) != OK) {
        sqlite3_exec(db, "ROLLBACK", NULL, NULL, NULL);
        if (err->status == OK)
            *err = ending;
    }
    return err->status;
}

enum status keep_pause(const struct content_work *w, struct error *err)
{
    if (err->status == OK && w->begun && time(NULL) < *w->begun + KEEP_SECONDS)
        return OK;
    return content_commit(w->db, err);
}

void keep_bytes(const struct content_work *w, int64_t checkpoint, uint64_t bytes, uint64_t *since,
                struct error *err)
{
    *since += bytes;
    if (*since < KEEP_BYTES)
        return;
    *since = 0;
    char *before = content_stamp(w->db, checkpoint, err), *after = NULL;
    if (err->status == OK && content_commit(w->db, err) == OK && keep_begin_work(w, err) == OK)
        after = content_stamp(w->db, checkpoint, err);
    if (err->status == OK && (!before || !after || strcmp(before, after) != 0))
        error_set(err, ERR_CHANGED, NULL, NO_OFFSET,
                  "a checkpoint was imported anew or forgotten while it was read; try again");
    sqlite3_free(before);
    sqlite3_free(after);
}
