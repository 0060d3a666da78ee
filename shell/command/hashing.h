/*
 * hashing.h - hashing on behalf of a command: progress, Ctrl-C, what is said of trouble.
 */
#ifndef CKPTDB_SHELL_HASHING_H
#define CKPTDB_SHELL_HASHING_H

#include "catalog/base/text.h"
#include "shell/session/session.h"

struct hash_request {
    int64_t *ids; /* of checkpoints */
    size_t count;
    unsigned threads;  /* 0: one a core */
    bool again, twins; /* of struct content_work */
};

/* --jobs as text (NULL: not given) to a number; says so and is false where it is none. */
bool hash_jobs(const char *text, unsigned *threads);

/* Hash them. STATUS_NO where something could not be read, which was said; STATUS_INTERRUPTED. */
int hash_request(struct session *, const struct hash_request *);

/* The ids as a JSON list, for a statement. */
bool hash_id_list(const struct hash_request *, struct text *out);

#endif
