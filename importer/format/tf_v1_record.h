/*
 * tf_v1_record.h - where one slice's elements lie in its record.
 *
 *   if (tf_v1_field_of(dtype, &field) && tf_v1_value_open(shard, &entry, &value, err) == OK &&
 *       tf_v1_value_find(value, &field, &v, err) == OK)
 *       use(v.count, v.packed ? v.list : v.message);
 */
#ifndef CKPTDB_FORMAT_TF_V1_RECORD_H
#define CKPTDB_FORMAT_TF_V1_RECORD_H

#include "importer/container/sstable.h"

/* How elements are kept in a TensorProto. */
struct tf_v1_field {
    uint32_t number;
    uint8_t width; /* bytes of an element */
    bool varints;  /* else as they are */
    bool strings;  /* one field each */
};

/* How elements of a DataType are kept. False: this version has no such elements. */
bool tf_v1_field_of(int32_t dtype, struct tf_v1_field *out);

struct tf_v1_run {
    uint64_t at, len; /* in the record's value */
};

struct tf_v1_value {
    struct tf_v1_run message; /* the TensorProto */
    struct tf_v1_run list;    /* its elements, where they are one packed run */
    bool packed;              /* they are: `list` counts */
    uint64_t count;           /* elements that are there */
};

/* A record's value as a source, to walk it: in memory, or (where that has its beginning only)
 * in the file. `entry` must stay valid. */
enum status tf_v1_value_open(const struct source *shard,
                             const struct sstable_entry *entry, struct source **out,
                             struct error *err);

/* Find the elements in a record and count them. ERR_CORRUPT where it is none. */
enum status tf_v1_value_find(const struct source *value, const struct tf_v1_field *field,
                             struct tf_v1_value *out, struct error *err);

/* The steps from a TensorProto (`packed` false) or a packed run to elements, as text that
 * follows a '|' or is alone; "" for none. `out` has TF_V1_STEPS bytes. */
#define TF_V1_STEPS 48
void tf_v1_steps(const struct tf_v1_field *, bool packed, char *out);

#endif
