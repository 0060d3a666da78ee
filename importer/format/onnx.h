/*
 * onnx.h - the inside of the ONNX reader: onnx.c walks the model and finds the tensors,
 * onnx_tensor.c says where the elements of one are, onnx_external.c those in other files.
 */
#ifndef CKPTDB_IMPORTER_FORMAT_ONNX_H
#define CKPTDB_IMPORTER_FORMAT_ONNX_H

#include "catalog/base/strmap.h"
#include "catalog/codec/message.h"
#include "importer/job/job.h"

/* Bytes of the file that are a message. */
struct message_range {
    uint64_t at, end;
};

/* A file that tensors name as the place of their data. */
struct onnx_file {
    const char *location;
    uint32_t file;
    uint64_t size;
    bool lost;
    uint64_t tensors; /* that it has lost */
};

struct onnx {
    struct job *job;
    struct message message; /* at whatever is being walked */
    unsigned depth;         /* graphs that the walk is inside of */
    uint64_t graph, graphs; /* which one that is, from 1; how many were begun */
    struct strmap names;    /* of tensors, and the graph of each */
    struct strmap files;    /* location -> position + 1 in `external` */
    struct onnx_file *external;
    size_t external_count, external_space;
    /* What is reported once, with how often: */
    bool repeated_graph;
    uint64_t repeated_names, two_holders;
};

/* Go to other bytes; returns where the walk was, for onnx_leave(). */
struct message_range onnx_enter(struct onnx *, struct message_range inner);
void onnx_leave(struct onnx *, struct message_range outer);
struct message_range onnx_contents(const struct message_field *);

/* The next field; false at the end, or after an error of the job's. */
bool onnx_next(struct onnx *, struct message_field *);

/* A field's value. False: the field is of another wire type, or an error of the job's. A text
 * has a NUL after it, is in the job's arena, and is not checked to be UTF-8. */
bool onnx_number(struct onnx *, const struct message_field *, uint64_t *value);
bool onnx_text(struct onnx *, const struct message_field *, struct bytes *text);

/* The message at hand as a StringStringEntryProto: its texts, empty where there is none. */
void onnx_pair(struct onnx *, struct bytes *key, struct bytes *value);

/* Where the elements of a TensorProto with external data are; `shown` is its name, for messages.
 * False: nowhere, which an issue tells. */
bool onnx_external(struct onnx *, struct message_range, const char *shown,
                   struct tensor_claim *, uint64_t nbytes);
/* What was left out with each file that is not there. */
void onnx_external_report(struct onnx *);

/* Emit a TensorProto under its own name, or under `name` where that is given. */
void onnx_tensor(struct onnx *, struct message_range, struct bytes name);
/* The same of a SparseTensorProto: one row with the dense shape. */
void onnx_sparse(struct onnx *, struct message_range, struct bytes name);

/* Report that, and free what the walk has kept. */
void onnx_finish(struct onnx *);

#endif
