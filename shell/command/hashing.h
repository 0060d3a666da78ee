/*
 * hashing.h - hashing on behalf of a command: progress, Ctrl-C, messages about trouble.
 */
#ifndef CKPTDB_HASHING_H
#define CKPTDB_HASHING_H

#include "catalog/base/text.h"
#include "shell/session/session.h"

struct hash_request {
    int64_t *ids; /* of checkpoints */
    size_t count;
    unsigned threads;  /* 0: one per core */
    bool again, twins; /* of struct ckptdb_content_options */
};

/* --jobs as text (NULL: not given) to a number; complains and returns false if it is none. */
bool hash_jobs(const char *text, unsigned *threads);

/* Bytes of `doing` on a bar, for struct ckptdb_watch: the context is a struct byte_bar. */
struct byte_bar {
    struct session *session;
    struct progress *bar;
    char doing[16];
};
void show_bytes(void *context, const char *doing, uint64_t done, uint64_t total);
/* Look on with it, and no longer. */
void bar_begin(struct byte_bar *, struct session *);
void bar_end(struct byte_bar *);
/* What work on contents ended with: STATUS_NO where not all could be read. `kept`: what is said of an
 * interruption, where anything is. */
int content_status(const struct session *, const struct ckptdb_error *, bool all, const char *kept);

/* Hash them. STATUS_NO if something could not be read, which was reported; STATUS_INTERRUPTED. */
int hash_request(struct session *, const struct hash_request *);

/* The ids as a JSON list, for a statement. */
bool hash_id_list(const struct hash_request *, struct text *out);

#endif
