/*
 * job_private.h - the inside of a job, for the files that make it up: job.c and job_tensor.c (what
 * formats call), job_run.c, layout.c (sums and digests), reuse.c (layouts shared by equal headers).
 */
#ifndef CKPTDB_IMPORTER_JOB_PRIVATE_H
#define CKPTDB_IMPORTER_JOB_PRIVATE_H

#include "catalog/base/strmap.h"
#include "importer/job/job_run.h"

struct open_source {
    struct source *source;
    struct open_source *next;
};

/* A tensor's extents and their checksums, until job_finish() packs them. */
struct pending_extents {
    uint64_t tensor; /* position */
    const struct extent *list;
    uint64_t count;
    const uint32_t *sums; /* NULL: none */
};

struct job_private {
    const struct job_request *request;
    struct batch_layout *layout; /* being filled; NULL once a shared one was taken */
    struct strmap names;
    struct strmap kinds;                 /* by dtype and shape: the position in */
    const struct batch_kind **kind_list; /* this */
    uint64_t kind_count;
    size_t kind_space;
    struct dtype last_dtype;
    struct open_source *opened;
    struct pending_extents *pending;
    uint64_t pending_count;
    size_t tensor_space, pending_space, node_space, meta_space, issue_space, file_space;
    size_t sum_space;
    uint64_t name_bytes, issues_dropped;
    bool last_words; /* these issues are listed in any case */
    /* What job_reuse_offer() was given; empty: nothing. */
    struct bytes offered;
    uint64_t offered_end, offered_metas;
    struct text scratch;
};

static inline struct job_private *job_inside(struct job *job)
{
    return job->private;
}

/* job.c */
/* A file of the checkpoint; `identity` NULL: it is not there. */
enum status job_add_file(struct job *, const char *path, const char *role,
                         const struct file_identity *identity, uint32_t *file);
/* To be closed with the job. */
enum status job_keep_source(struct job *, struct source *);
/* A name as it is catalogued: UTF-8 without NUL. False: it cannot be (an issue was made). */
bool job_clean_name(struct job *, const char **name, size_t *len);

/* layout.c: pack extents, add up modules and dtypes, compute the digests. */
enum status layout_finish(struct job *, struct error *err);
/* folds.c: modules with repeated ones folded. ERR_MEMORY. */
enum status layout_fold(struct job *, struct batch_layout *);
void meta_digest(struct batch *);

/* reuse.c: after a job without issues, let others share its layout. */
void reuse_publish(struct job *);
void shared_layout_drop(struct shared_layout *);

#endif
