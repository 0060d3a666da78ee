/*
 * api_verify.c - verifies checkpoints.
 */
#include <string.h>

#include "catalog/library/library.h"
#include "catalog/sql/open.h"
#include "importer/verify/verify.h"

static void verify_progress(void *context, const char *unit, uint64_t done, uint64_t total)
{
    const struct ckptdb_watch *watch = &((const ckptdb *)context)->watch;
    if (watch->progress)
        watch->progress(watch->context, strcmp(unit, "B") == 0 ? "verifying" : "checking", done,
                        total);
}

static void verify_renewed(void *context, const char *path)
{
    library_say(context, "%s was imported anew while it was verified: verify it again", path);
}

enum ckptdb_status ckptdb_verify(ckptdb *c, const struct ckptdb_content_options *given,
                                 uint64_t *skipped, struct ckptdb_error *error)
{
    struct error err = {.offset = NO_OFFSET};
    struct ckptdb_content_options o;
    size_t passed = 0;
    if (skipped)
        *skipped = 0;
    if (library_take(&o, sizeof(o), given, &err) != OK || library_alone(c, &err) != OK ||
        library_known(c, o.checkpoints, o.count, &err) != OK)
        return library_end(&err, error);
    struct verify_options options = {
        .ids = o.checkpoints,
        .count = o.count,
        .threads = o.threads,
        .quick = o.quick,
        .again = o.again,
        .context = c,
        .stop = library_stopped,
        .progress = verify_progress,
        .renewed = verify_renewed,
    };
    c->writing++;
    if (library_begin_results(c, OVERLAY_DAMAGE, &o, &err) == OK) {
        const int before = sqlite3_total_changes(c->db);
        if (db_open("", DB_SCRATCH, &options.scratch, &err) == OK)
            verify_run(c->db, &options, &passed, &err);
        db_close(options.scratch);
        library_end_results(c, before);
    }
    c->writing--;
    if (skipped)
        *skipped = passed;
    return library_end(&err, error);
}
