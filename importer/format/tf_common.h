/*
 * tf_common.h - what both versions of TensorFlow's checkpoints spell alike.
 */
#ifndef CKPTDB_FORMAT_TF_COMMON_H
#define CKPTDB_FORMAT_TF_COMMON_H

#include "importer/format/tf_slices.h"
#include "importer/job/job.h"

/* A name for a message, cut at a length that fits: "%.*s". */
#define SHOWN(name) (int)((name).len < 200 ? (name).len : 200), (const char *)(name).at

/* The value of the empty key, if that is the first in a table that begins like this: of a
 * raw block, or of a Snappy one, whose beginning is a literal. */
struct bytes tf_first_value(struct bytes head);

/* The dtype of a DataType, "unknown(N)" for a number that is none; NULL without memory. */
const char *tf_dtype(struct job *, int32_t number);
/* An issue where the dtype is unknown: the tensor is listed, and cannot be read. */
void tf_check_dtype(struct job *, const char *dtype, struct bytes name);
/* The number of the dtype that a reference refers to; others as they are. */
int32_t tf_dtype_plain(int32_t number);

/* Rank, shape and elements of run. False: an issue (the tensor is left out), or an error of
 * the job. */
bool tf_shape(struct job *, const Tf__TensorShapeProto *, struct bytes name,
              struct tf_run *run);

/* ERR_UNSUPPORTED where the writer shuts this reader out. `v` may be NULL. */
enum status tf_version(struct job *, const Tf__VersionDef *v);

/* "model.ckpt-1000": the step, and the run that it is of, the directory. */
void tf_step(struct job *, const char *prefix);

#endif
