/*
 * job_private.h - the inside of a job, for the files that make it up: job.c and job_tensor.c (what
 * formats call), job_run.c, layout.c (sums and digests), reuse.c (layouts shared by equal headers).
 */
#pragma once

#include "catalog/base/strmap.h"
#include "importer/job/job_run.h"

struct open_source {
    struct source *source;
    struct open_source *next;
};

/* A tensor's extents and their checksums, until layout_finish() packs them. */
struct pending_extents {
    uint64_t tensor; /* its position */
    const struct extent *list;
    uint64_t count;
    const uint32_t *sums; /* NULL: none */
};

/* The losses of a file that was cut short. */
struct lost_data {
    uint64_t tensors;
    const char *first; /* a tensor's name; NULL: none */
    const char *why;   /* NULL: nobody has said */
};

#define KINDS_NEAR 16

struct job_private {
    const struct job_request *request;
    struct batch_layout *layout; /* being filled; NULL after a shared one was taken */
    struct strmap names;
    struct strmap kinds;                 /* dtype and shape -> index in */
    const struct batch_kind **kind_list; /* this list */
    const struct batch_kind *kind_near[KINDS_NEAR];
    uint64_t kind_count;
    size_t kind_space;
    struct dtype last_dtype;
    struct open_source *opened;
    struct pending_extents *pending;
    size_t pending_count;
    size_t tensor_space, pending_space, node_space, meta_space, issue_space, file_space;
    size_t sum_space;
    struct lost_data *lost; /* by the file's number */
    size_t lost_count, lost_space;
    uint64_t name_bytes, issues_dropped;
    bool last_words; /* issues are listed even beyond the limit */
    /* Set by job_reuse_offer(); empty: not called. */
    struct bytes offered;
    /* What job_reuse() looked for, and its hash. */
    struct bytes looked;
    uint64_t looked_hash;
    uint64_t offered_end, offered_metas;
    struct text scratch;
};

static inline struct job_private *job_inside(struct job *job)
{
    return job->private;
}

/* job.c */
/* Close this source at the end of the job; false: now, without memory. */
bool job_keep_source(struct job *, struct source *);
/* Turn a name into one for the catalog: UTF-8 without NUL. False after an issue: it cannot be. */
bool job_clean_name(struct job *, const char **name, size_t *len);

/* job_tensor.c: report what files have lost. */
void job_report_lost(struct job *);

/* The separator of the components of a layout's names: the format's own, or, if no name has that
 * one, '/' or '.' if any name has it. A layout is shared by formats with other separators. */
char layout_separator(const struct batch_layout *, char own);

/* layout.c: pack extents, sum up modules and dtypes, compute the digests. */
void layout_finish(struct job *);
/* folds.c: modules with repeated ones folded. */
void layout_fold(struct job *, struct batch_layout *, char separator);
void meta_digest(struct batch *);

/* reuse.c: share the layout of a job without issues with later jobs. */
void reuse_publish(struct job *);
void shared_layout_drop(struct shared_layout *);
