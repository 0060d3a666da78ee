/*
 * write_outdated.c - checkpoints that another version of the program indexed. It may have read
 * them differently, so the next import reads them again; if the same tensors are found in the
 * same files, the hashes and statistics of their contents stay.
 */
#include <stdio.h>

#include "catalog/db/ids.h"
#include "catalog/db/write/write_rows.h"

static const char note[] =
    "CREATE TEMP TABLE IF NOT EXISTS was_checkpoint AS SELECT * FROM _checkpoints WHERE 0;"
    "CREATE TEMP TABLE IF NOT EXISTS was_file AS SELECT * FROM _files WHERE 0;"
    "CREATE TEMP TABLE IF NOT EXISTS was_placement AS SELECT * FROM _placements WHERE 0;"
    "INSERT INTO was_checkpoint SELECT * FROM _checkpoints WHERE id = %lld;"
    "INSERT INTO was_file SELECT f.* FROM was_checkpoint w  JOIN _files f ON f.id BETWEEN w.id" ID_FIRST
    "AND w.id" ID_LAST ";INSERT INTO was_placement SELECT p.* FROM was_checkpoint w"
    "  JOIN _placements p ON p.id BETWEEN w.id" ID_FIRST "AND w.id" ID_LAST;

/* New files, and other roles of files, make no difference. */
static const char same[] =
    "SELECT NOT EXISTS (SELECT id, layout, placed FROM was_checkpoint"
    "    EXCEPT SELECT id, layout, placed FROM _checkpoints WHERE id IN (SELECT id FROM was_checkpoint))"
    "  AND NOT EXISTS (SELECT id, path, size, mtime_ns, inode, device, base FROM was_file"
    "    EXCEPT SELECT id, path, size, mtime_ns, inode, device, base FROM _files"
    "    WHERE id IN (SELECT id FROM was_file))  AND NOT EXISTS (SELECT * FROM was_placement"
    "    EXCEPT SELECT * FROM _placements WHERE id IN (SELECT id FROM was_placement))";

static const char forget[] =
    "DELETE FROM _outdated WHERE id IN (SELECT id FROM was_checkpoint);"
    "DELETE FROM was_checkpoint; DELETE FROM was_file; DELETE FROM was_placement";

#define SQL_BYTES 1024

bool writer_kept(const struct writer *w)
{
    return w->kept;
}

/* The trigger _content_changed forgets, except for outdated checkpoints. */
void write_forget_content(struct writer *w, int64_t checkpoint, struct error *err)
{
    char sql[SQL_BYTES];
    const bool outdated = write_find(w, err, FIND_OUTDATED, "i", checkpoint) > 0;
    snprintf(sql, sizeof(sql),
             "DELETE FROM _outdated WHERE id = %lld;"
             "UPDATE _checkpoints SET imported = imported WHERE id = %lld;"
             "INSERT INTO _outdated SELECT %lld WHERE %d",
             (long long)checkpoint, (long long)checkpoint, (long long)checkpoint, outdated);
    write_exec(w, err, sql);
}

void write_outdated(struct writer *w, int64_t checkpoint, bool *outdated, struct error *err)
{
    char sql[SQL_BYTES];
    *outdated = write_find(w, err, FIND_OUTDATED, "i", checkpoint) > 0;
    snprintf(sql, sizeof(sql), note, (long long)checkpoint);
    if (*outdated)
        write_exec(w, err, sql);
}

void write_renewed(struct writer *w, int64_t checkpoint, struct error *err)
{
    sqlite3_int64 kept = 0;
    if (err->status == OK)
        db_number(w->db, same, NO_NAME, "cannot compare with what was catalogued", &kept, err);
    w->kept = kept != 0;
    if (write_exec(w, err, forget) == OK && !w->kept)
        write_forget_content(w, checkpoint, err);
}
