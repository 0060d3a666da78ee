/*
 * job_reuse.h - share layouts between files with equal headers: all steps of a run often
 * have the same one.
 *
 *   if (!job_reuse(job, header, bytes)) {
 *       parse(header);                               emits tensors and facts
 *       job_reuse_offer(job, header, end);
 *   }
 */
#pragma once

#include "importer/job/job.h"

/* Look for a layout with exactly this header, which an earlier job of this import finished
 * without an issue, and whose last tensor ends after `data` bytes from the base, as many as the file
 * has. True: its tensors, and the facts from the header, are taken over and nothing needs to be
 * parsed. Otherwise call job_reuse_offer() after
 * parsing, when the facts so far come from the header and not from a neighbour; it has an
 * effect only if the job ends without an issue. It returns false if the header's bytes are
 * not needed any more; otherwise they must be in the arena when the job ends. */
bool job_reuse(struct job *, struct bytes header, uint64_t data);
bool job_reuse_offer(struct job *, struct bytes header, uint64_t data_end);

/* Layouts shared by equal headers, for all jobs of an import; thread-safe. */
struct reuse;
struct reuse *reuse_new(void);
void reuse_free(struct reuse *);
