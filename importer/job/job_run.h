/*
 * job_run.h - run jobs: for the import, for verify, for tests and fuzzers.
 */
#pragma once

#include "importer/job/job_reuse.h"

struct job_request {
    const struct format *format;
    const char *path;            /* primary file or directory */
    const char *checkpoint_path; /* its path in the catalog */
    const char *const *siblings; /* may be empty */
    uint64_t sibling_count;
    struct source *source;         /* closed by the job; NULL: open `path` */
    struct reuse *reuse;           /* NULL: none */
    const struct classes *classes; /* NULL: no class is known */
    unsigned threads;              /* 0: one */
    bool salvage;                  /* as of struct job */
};

/* Run one job. The batch is usable even if the status is not OK: it then holds the
 * issue. Free it with batch_free(). */
enum status job_run_index(const struct job_request *, struct batch **out, struct error *err);
void batch_free(struct batch *);
