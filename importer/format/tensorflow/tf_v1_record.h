/*
 * tf_v1_record.h - where the elements of a slice are in its record.
 *
 *   if (tf_v1_field_of(dtype, &field))
 *       tf_v1_value_find(shard, &entry, &field, &v, err);
 *   if (err->status == OK)
 *       use(v.count, v.packed ? v.list : v.message);
 */
#pragma once

#include "importer/format/tensorflow/sstable_reader.h"

/* How elements are stored in a TensorProto. */
struct tf_v1_field {
    uint32_t number;
    uint8_t width; /* bytes per element */
    bool varints;  /* else of fixed width */
    bool strings;  /* one field for each */
};

/* How elements of a DataType are stored. False: this version of the format has no such elements. */
bool tf_v1_field_of(int32_t dtype, struct tf_v1_field *out);

struct tf_v1_run {
    uint64_t at, len; /* in the record's value */
};

struct tf_v1_value {
    struct tf_v1_run message; /* the TensorProto */
    struct tf_v1_run list;    /* its elements, if they are one packed run */
    bool packed;              /* they are, so `list` is valid */
    uint64_t count;           /* number of elements stored */
};

/* Open a record's value as a source: over the entry's memory, or, if that holds only its
 * beginning, over the file. `entry` must stay valid. */
enum status tf_v1_value_open(const struct source *shard, const struct sstable_entry *entry,
                             struct source **out, struct error *err);

/* Find the elements in a record and count them. ERR_CORRUPT: it is not a valid record. */
void tf_v1_value_find(const struct source *shard, const struct sstable_entry *entry,
                      const struct tf_v1_field *field, struct tf_v1_value *out, struct error *err);

/* The codec steps from a TensorProto (`packed` false) or a packed run to elements, "" if none are
 * needed. `out` has TF_V1_STEPS bytes. */
#define TF_V1_STEPS 48
void tf_v1_steps(const struct tf_v1_field *, bool packed, char *out);
