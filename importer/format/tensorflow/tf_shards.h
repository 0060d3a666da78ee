/*
 * tf_shards.h - the files of a tensor bundle, and the file of each shard.
 *
 *   struct tf_shards s;
 *   if (tf_shards_open(&s, job) == OK) {
 *       tf_shards_count(&s, 2);
 *       tf_shards_list(&s, false);
 *       ... tf_shards_file(&s, shard, &file) ...
 *       tf_shards_list(&s, true);
 *   }
 *   text_release(&s.prefix);
 *
 * Every file that tf_shards_claim() takes becomes a file of the checkpoint.
 */
#pragma once

#include "catalog/base/text.h"
#include "importer/job/job.h"

struct tf_shard {
    uint32_t file; /* position in the checkpoint's files, plus 1; 0: not searched yet */
    bool renamed;  /* its name states another number of shards */
};

struct tf_shards {
    struct job *job;
    struct text prefix; /* directory and PREFIX */
    size_t name_at;     /* where PREFIX begins in it */
    struct tf_shard *list;
    uint32_t count;
    bool advised; /* a possible new name of a missing shard was suggested */
};

/* Length of PREFIX in the name of an index, "PREFIX.index". */
size_t tf_prefix_length(const char *index_name);

enum status tf_shards_claim(struct claim *);

/* Here and below, errors are the job's. */
enum status tf_shards_open(struct tf_shards *, struct job *);
/* Set the number of shards that the header states, at most LIMIT_SHARDS. */
void tf_shards_count(struct tf_shards *, uint32_t count);

const char *tf_shards_name(struct tf_shards *); /* PREFIX */

/* The file of a shard (< count). If it is missing, that is reported once. */
void tf_shards_file(struct tf_shards *, uint32_t shard, uint32_t *file);

/* Add files to the checkpoint that no entry may name. Call it before the entries for the bundle's
 * own data files, even those without a tensor, and `after` them for the graph and for unused data
 * files. */
void tf_shards_list(struct tf_shards *, bool after);
