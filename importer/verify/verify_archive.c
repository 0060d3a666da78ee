/*
 * verify_archive.c - check the CRC-32 of the members of zip archives (npz, torch), except
 * members that reading a tensor has covered: pickles, version files and everything else that
 * is not a tensor, and storages that tensors use only in part.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "catalog/base/work.h"
#include "catalog/data/codec/codec.h"
#include "catalog/data/read/checked.h"
#include "catalog/db/ids.h"
#include "catalog/db/statement.h"
#include "importer/container/zip.h"
#include "importer/job/format.h"
#include "importer/verify/verifier.h"

struct archive {
    struct verifier *verifier;
    const struct verified *checkpoint;
    const char *path;
    struct zip zip;
    const struct zip_member **todo;
    uint64_t count;
    sqlite3_stmt *inside; /* a tensor that begins at ?3 <= offset < ?4 of file ?2 */
};

static void *check_member(void *context, uint64_t number, uint64_t *bytes)
{
    const struct archive *a = context;
    const struct zip_member *m = a->todo[number];
    struct error *what = calloc(1, sizeof(*what));
    struct source *s = NULL;
    struct zip_run run;
    atomic_bool fine = false;
    if (!what)
        return NULL;
    what->offset = NO_OFFSET;
    *bytes = sizeof(*what);
    const struct checksum sum = {.kind = "crc32", .value = m->crc, .at = m->data, .fine = &fine};
    if (zip_run(&a->zip, m, &run, what) == OK &&
        source_open_view(a->zip.source, run.offset, run.stored, &s, what) == OK &&
        codec_chain_open(s, *run.codec ? run.codec : NULL, &s, NULL, what) == OK) {
        checksum_verify(s, &sum, what);
        source_close(s);
    }
    return what;
}

static enum status take_member(void *context, uint64_t number, void *thing, struct error *err)
{
    struct archive *a = context;
    const struct zip_member *m = a->todo[number];
    struct error *what = thing;
    char member[200];
    if (what->status == OK || what->status == ERR_UNSUPPORTED)
        return OK;
    if (what->status == ERR_MEMORY)
        return *err = *what, ERR_MEMORY;
    snprintf(member, sizeof(member), "member \"%.160s\"", m->name);
    error_prefix(what, member);
    db_bind(a->inside, "isii", a->checkpoint->fresh, a->path, m->data, m->data + m->stored);
    const bool tensor = sqlite3_step(a->inside) == SQLITE_ROW;
    verify_found(a->verifier, a->checkpoint->id, tensor ? db_text(a->inside, 0) : NULL, what);
    sqlite3_reset(a->inside);
    return err->status;
}

static bool stopped(void *context)
{
    return verify_stopped(((const struct archive *)context)->verifier);
}

size_t verify_run_key(char *key, const char *path, uint64_t offset)
{
    const size_t len = strlen(path);
    if (len > RUN_KEY_BYTES - sizeof(offset))
        return 0;
    memcpy(key, &offset, sizeof(offset));
    memcpy(key + sizeof(offset), path, len);
    return len + sizeof(offset);
}

static void check_members(struct archive *a, const struct strmap *covered, struct arena *arena)
{
    char key[RUN_KEY_BYTES];
    a->todo = arena_array(arena, a->zip.count + 1, sizeof(*a->todo));
    if (!a->todo)
        return;
    for (uint64_t i = 0; i < a->zip.count; i++) {
        const struct zip_member *m = &a->zip.members[i];
        struct zip_run run;
        struct error ignored = {.offset = NO_OFFSET};
        /* torch can write archives without checksums: they are 0 */
        if ((!m->crc && strncmp(a->checkpoint->format->name, "torch", 5) == 0) ||
            zip_check(&a->zip, m, &ignored) != OK || zip_run(&a->zip, m, &run, &ignored) != OK)
            continue;
        const size_t len = verify_run_key(key, a->path, run.offset);
        if (!(len && strmap_get(covered, key, len)))
            a->todo[a->count++] = m;
    }
    const struct work w = {.count = a->count,
                           .threads = a->verifier->options->threads,
                           .context = a,
                           .make = check_member,
                           .take = take_member,
                           .drop = free,
                           .stop = stopped};
    if (a->count)
        work_run(&w, a->verifier->err);
}

/* Damage to an archive's directory has been found with the headers; only passing trouble is new. */
static void check_file(struct archive *a, const struct strmap *covered)
{
    struct arena arena = {0};
    struct source *s = NULL;
    struct error what = {.offset = NO_OFFSET};
    uint8_t magic[4];
    if (source_open_file(a->path, 0, &s, NULL, &what) == OK && s->size >= sizeof(magic) &&
        source_read(s, 0, magic, sizeof(magic), &what) == OK &&
        memcmp(magic, "PK\3\4", sizeof(magic)) == 0 &&
        zip_open(s, ZIP_REWRITTEN, &arena, &a->zip, &what) == OK) {
        arena.err = a->verifier->err;
        check_members(a, covered, &arena);
    }
    source_close(s);
    arena_release(&arena);
    if (status_passes(what.status))
        verify_found(a->verifier, a->checkpoint->id, NULL, &what);
}

void verify_archives(struct verifier *v, const struct verified *c, const struct strmap *covered)
{
    static const char files_sql[] =
        "SELECT path FROM main._files WHERE id BETWEEN ?1" ID_FIRST "AND ?1" ID_LAST
        " AND size IS NOT NULL AND role <> 'directory'";
    static const char inside_sql[] =
        "SELECT name FROM main.tensor WHERE checkpoint_id = ?1 AND file = ?2"
        " AND offset >= ?3 AND offset < ?4 ORDER BY ord LIMIT 1";
    sqlite3_stmt *s = db_query(v->fresh, v->err, files_sql, "i", c->fresh);
    sqlite3_stmt *inside = db_query(v->fresh, v->err, inside_sql, "");
    while (db_row(s, "cannot list the files", v->err)) {
        struct archive a = {
            .verifier = v, .checkpoint = c, .path = db_text(s, 0), .inside = inside};
        check_file(&a, covered);
    }
    sqlite3_finalize(s);
    sqlite3_finalize(inside);
}
