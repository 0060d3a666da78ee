/*
 * tf_shards.h - the files of a tensor bundle: which they are, and where each shard is.
 *
 *   struct tf_shards s;
 *   if (tf_shards_open(&s, job) == OK && tf_shards_count(&s, 2) == OK &&
 *       tf_shards_list(&s, false) == OK)
 *       ... tf_shards_file(&s, shard, &file) ...
 *   tf_shards_list(&s, true);
 *   tf_shards_close(&s);
 *
 * Every file that tf_shards_claim() takes becomes a file of the checkpoint.
 */
#ifndef CKPTDB_FORMAT_TF_SHARDS_H
#define CKPTDB_FORMAT_TF_SHARDS_H

#include "catalog/base/text.h"
#include "importer/job/job.h"

struct tf_shard {
    uint32_t file; /* position in the checkpoint's files, plus 1; 0: not asked for yet */
    bool renamed;  /* found under another number of files */
};

struct tf_shards {
    struct job *job;
    struct text prefix; /* directory and PREFIX */
    size_t name_at;     /* where PREFIX begins in it */
    struct tf_shard *list;
    uint32_t count;
    bool advised; /* about a shard under another name */
};

/* Length of PREFIX in the name of an index, "PREFIX.index". */
size_t tf_prefix_length(const char *index_name);

enum status tf_shards_claim(struct claim *);

/* Errors are the job's. */
enum status tf_shards_open(struct tf_shards *, struct job *);
/* How many the header says there are: at most LIMIT_SHARDS. */
enum status tf_shards_count(struct tf_shards *, uint32_t count);
void tf_shards_close(struct tf_shards *);

const char *tf_shards_name(struct tf_shards *); /* PREFIX */

/* The file of a shard (< count); looked for and, where it is missing, reported once. */
enum status tf_shards_file(struct tf_shards *, uint32_t shard, uint32_t *file);

/* Add the files that no entry may name: before the entries the bundle's own data files, also
 * those without a tensor; `after` them the graph, and data files it has no use for. */
enum status tf_shards_list(struct tf_shards *, bool after);

#endif
