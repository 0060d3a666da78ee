/*
 * verify_findings.c - the findings of a verification, until they are rows of the user's catalog.
 */
#include "importer/verify/verifier.h"

enum status verify_findings(struct verifier *v, struct error *err)
{
    return db_exec(v->fresh,
                   "CREATE TEMP TABLE found (checkpoint INTEGER, name TEXT, file TEXT,"
                   " offset INTEGER, code TEXT, message TEXT);"
                   "CREATE INDEX temp.found_by_checkpoint ON found(checkpoint)",
                   err);
}

static const char *if_any(const char *text)
{
    return text && *text ? text : NULL;
}

enum status verify_put(struct verifier *v, int64_t checkpoint, const char *const row[4],
                       uint64_t offset, struct error *err)
{
    const int64_t at = (int64_t)offset;
    return db_run(v->fresh, err, "cannot verify",
                  "INSERT INTO temp.found VALUES (?1, ?2, ?3, ?4, ?5, ?6)", "isspss", checkpoint,
                  if_any(row[0]), if_any(row[1]), offset == NO_OFFSET ? NULL : &at, if_any(row[2]),
                  if_any(row[3]));
}

enum status verify_found(struct verifier *v, int64_t checkpoint, const char *name,
                         const struct error *what, struct error *err)
{
    const char *const row[4] = {name, what->source, error_word(what), what->message};
    return verify_put(v, checkpoint, row, what->offset, err);
}
