/*
 * hashing.h - work on contents (hashes, sums, statistics, damage) on behalf of a command: progress,
 * Ctrl-C, messages about trouble.
 */
#pragma once

#include "catalog/base/text.h"
#include "shell/session/session.h"

/* --jobs as text (NULL: not given) to a number; false after saying that it is not one. */
bool hash_jobs(const char *text, unsigned *threads);

/* Bytes of `doing` on a bar, for struct ckptdb_watch: the context is a struct byte_bar. */
struct byte_bar {
    struct session *session;
    struct progress *bar;
    char doing[16];
};
/* Start and stop showing progress on the bar. */
void bar_begin(struct byte_bar *, struct session *);
void bar_end(struct byte_bar *);
/* The exit status of work on contents: STATUS_NO if not everything could be read. `kept`: the text
 * added to the message about an interruption, if any. */
int content_status(const struct session *, const struct ckptdb_error *, bool all, const char *kept);

/* ckptdb_hash(), ckptdb_sha256() or ckptdb_statistics(). */
typedef enum ckptdb_status content_work(ckptdb *, const struct ckptdb_content_options *, bool *all,
                                        struct ckptdb_error *);
/* Work with a bar; what could not be read was reported. */
int content_run(struct session *, content_work *, const struct ckptdb_content_options *,
                const char *kept);
#define HASHES_KEPT "; what was hashed so far is kept"

/* Whether the rows of a command are for people: rounded numbers, pictures. */
bool content_for_people(const struct session *);

/* The checkpoints as a JSON list, for a statement. */
bool content_ids(const struct ckptdb_content_options *, struct text *out);
/* Print a query's rows, after work that ended with `status`, unless that is STATUS_TROUBLE. ?1 is the JSON
 * list of checkpoints, ?2 `text`. Returns the first status that is not STATUS_FINE. */
int content_print(struct session *, const struct ckptdb_content_options *, int status,
                  const char *sql, const char *text);
