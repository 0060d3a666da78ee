/*
 * onnx.h - the inside of the ONNX reader: onnx.c walks the model and finds the tensors,
 * onnx_tensor.c locates a tensor's elements, onnx_external.c elements in other files; all read
 * by onnx_message.c.
 */
#pragma once

#include "catalog/base/strmap.h"
#include "catalog/data/codec/message.h"
#include "importer/job/job.h"

/* The bytes of the file that hold a message. */
struct message_range {
    uint64_t at, end;
};

/* A file with external data of tensors. */
struct onnx_file {
    const char *location;
    uint32_t file;
    uint64_t size;
    bool lost;
    uint64_t tensors; /* if lost: tensors left out because of it */
};

struct onnx {
    struct job *job;
    struct message message; /* the message being walked */
    unsigned depth;         /* nesting of graphs */
    uint64_t graph, graphs; /* number of the current graph, from 1; graphs so far */
    struct strmap names;    /* tensor name -> number of its graph */
    struct strmap files;    /* location -> position in `external` */
    struct onnx_file *external;
    size_t external_count, external_space;
    /* Oddities that are counted, and reported once: */
    bool repeated_graph;
    uint64_t repeated_names, two_holders;
};

/* Walk another message; returns the current one, for onnx_leave(). */
struct message_range onnx_enter(struct onnx *, struct message_range inner);
void onnx_leave(struct onnx *, struct message_range outer);
struct message_range onnx_contents(const struct message_field *);

/* Read the next field; false at the end, or after setting the job's error. */
bool onnx_next(struct onnx *, struct message_field *);

/* Read a field's value. False: the field is of another wire type, or the job's error is set. A
 * text is NUL-terminated, in the job's arena, and not checked to be UTF-8. */
bool onnx_number(struct onnx *, const struct message_field *, uint64_t *value);
bool onnx_text(struct onnx *, const struct message_field *, struct bytes *text);
bool onnx_text_is(struct bytes text, const char *word);

/* Read the current message as a StringStringEntryProto; a missing text is empty. */
void onnx_pair(struct onnx *, struct bytes *key, struct bytes *value);

/* Set where the elements of a TensorProto with external data are; `shown` is its name, for
 * messages. False after an issue: they cannot be found. */
bool onnx_external(struct onnx *, struct message_range, const char *shown, struct tensor_claim *,
                   uint64_t nbytes);
/* Report how many tensors were left out for each missing file. */
void onnx_external_report(struct onnx *);

/* Emit a TensorProto under `name`, or under its own name if name.at is NULL. */
void onnx_tensor(struct onnx *, struct message_range, struct bytes name);
/* The same for a SparseTensorProto: one row with the dense shape. */
void onnx_sparse(struct onnx *, struct message_range, struct bytes name);

/* Report the oddities and missing files, and free the walk's memory. */
void onnx_finish(struct onnx *);
