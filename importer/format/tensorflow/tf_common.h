/*
 * tf_common.h - dtypes, shapes and versions, which both versions of TensorFlow's format spell
 * alike.
 */
#pragma once

#include "importer/format/tensorflow/tf_slices.h"
#include "importer/job/job.h"

/* The arguments of "%.*s" for a name in a message, cut to 200 bytes. */
#define SHOWN(name) (int)((name).len < 200 ? (name).len : 200), (const char *)(name).at

/* The value of the empty key, if that is the first key of the table that begins with `head`; cut
 * where `head` ends. The first block must be raw, or Snappy that begins with a literal. */
struct bytes tf_first_value(struct bytes head);

/* The dtype of a DataType, "unknown(N)" for an unknown number. */
const char *tf_dtype(struct job *, int32_t number);
/* Report an unknown dtype: the tensor is listed, but cannot be read. */
void tf_check_dtype(struct job *, const char *dtype, struct bytes name);
/* The DataType that a reference type refers to: 101 gives 1. Other numbers are unchanged. */
int32_t tf_dtype_plain(int32_t number);

/* Set rank, shape and elements of `run`. False after an issue (the tensor is then left out), or
 * after an error of the job. */
bool tf_shape(struct job *, const Tf__TensorShapeProto *, struct bytes name, struct tf_run *run);

/* ERR_UNSUPPORTED if the writer demands a newer reader. `v` may be NULL. */
enum status tf_version(struct job *, const Tf__VersionDef *v);

/* State the step, 1000 for the prefix "model.ckpt-1000", and the run, which is the directory. */
void tf_step(struct job *, const char *prefix);
