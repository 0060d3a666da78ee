/*
 * job_reuse.h - headers that repeat: ten thousand steps of a run have one header in all but its length.
 *
 *   if (!job_reuse(job, header, &end)) {
 *       parse(header);                               emits tensors, states facts
 *       job_reuse_offer(job, header, end);
 *   }
 */
#ifndef CKPTDB_IMPORTER_JOB_REUSE_H
#define CKPTDB_IMPORTER_JOB_REUSE_H

#include "importer/job/job.h"

/* The layout of a header with exactly these bytes that an earlier job of this import
 * finished without an issue. True: the layout (tensors, and metadata stated in the header)
 * is taken over and nothing needs to be parsed; *data_end is then the end of the last
 * tensor's bytes relative to the base, to be compared with the file. Else remember the
 * bytes with job_reuse_offer() after a parse, when the facts stated so far are those of the header
 * and none of a neighbour; it counts only if the job ends without an issue. False: not needed
 * for them. Else they must be in the arena when the job ends. */
bool job_reuse(struct job *, struct bytes header, uint64_t *data_end);
bool job_reuse_offer(struct job *, struct bytes header, uint64_t data_end);

/* Layouts shared by equal headers, for all jobs of an import; thread-safe. */
struct reuse;
struct reuse *reuse_new(void);
void reuse_free(struct reuse *);

#endif
