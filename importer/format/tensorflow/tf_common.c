/*
 * tf_common.c - names and checks that both versions of TensorFlow's format share.
 *
 * Sources: tensorflow/core/framework/{types,versions,tensor_shape}.proto.
 */
#include "importer/format/tensorflow/tf_common.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "catalog/base/cursor.h"

/* The version of both formats that this program reads. */
#define VERSION 1

/* DataType by number. 101 to 133 are references to 1 to 33; other numbers are unknown. */
static const char *const dtype_names[] = {
    [1] = "float32",
    [2] = "float64",
    [3] = "int32",
    [4] = "uint8",
    [5] = "int16",
    [6] = "int8",
    [7] = "string",
    [8] = "complex64",
    [9] = "int64",
    [10] = "bool",
    [11] = "qint8",
    [12] = "quint8",
    [13] = "qint32",
    [14] = "bfloat16",
    [15] = "qint16",
    [16] = "quint16",
    [17] = "uint16",
    [18] = "complex128",
    [19] = "float16",
    [20] = "resource",
    [21] = "variant",
    [22] = "uint32",
    [23] = "uint64",
    [24] = "float8_e5m2",
    [25] = "float8_e4m3fn",
    [26] = "float8_e4m3fnuz",
    [27] = "float8_e4m3b11fnuz",
    [28] = "float8_e5m2fnuz",
    [29] = "int4",
    [30] = "uint4",
    [31] = "int2",
    [32] = "uint2",
    [33] = "float4_e2m1fn",
};

#define DTYPES         (sizeof(dtype_names) / sizeof(dtype_names[0]))
#define REFERENCE_BASE 100

/*
 * An SSTable begins with its first entry: varints shared, fresh, length; then `fresh` bytes of
 * key and the value. For the empty key that is 00 00 LENGTH VALUE, so a raw block begins with a
 * zero byte. A Snappy block has its decoded size, a varint, and the tag of a literal before that.
 */
struct bytes tf_first_value(struct bytes head)
{
    struct cursor c = cursor_over(head, 0);
    if (head.len && head.at[0] != 0) {
        cursor_varint32(&c);
        uint8_t tag = cursor_u8(&c);
        if (tag & 3)
            cursor_fail(&c);
        cursor_take(&c, tag >> 2 < 60 ? 0 : (tag >> 2) - 59u);
    }
    uint32_t shared = cursor_varint32(&c), fresh = cursor_varint32(&c);
    uint32_t len = cursor_varint32(&c);
    if (shared || fresh || !cursor_ok(&c))
        return (struct bytes){0};
    size_t left = cursor_left(&c);
    return cursor_take(&c, len < left ? len : left);
}

const char *tf_dtype(struct job *job, int32_t number)
{
    int32_t plain = tf_dtype_plain(number);
    if (plain > 0 && (size_t)plain < DTYPES)
        return dtype_names[plain];
    char text[32];
    int len = snprintf(text, sizeof(text), "unknown(%ld)", (long)number);
    return arena_copy(job->arena, text, (size_t)len);
}

void tf_check_dtype(struct job *job, const char *dtype, struct bytes name)
{
    if (strncmp(dtype, "unknown(", 8) == 0)
        job_issue(job, ISSUE_ERROR, NULL, NO_OFFSET, "unknown-dtype",
                  "tensor \"%.*s\" has a dtype that is not known, number %s: it cannot be read",
                  SHOWN(name), dtype + strlen("unknown"));
}

int32_t tf_dtype_plain(int32_t number)
{
    return number > REFERENCE_BASE ? number - REFERENCE_BASE : number;
}

bool tf_shape(struct job *job, const Tf__TensorShapeProto *shape, struct bytes name,
              struct tf_run *run)
{
    size_t rank = shape ? shape->n_dim : 0;
    if (rank > TENSOR_RANK_MAX || (shape && shape->unknown_rank)) {
        job_issue(job, ISSUE_ERROR, NULL, NO_OFFSET, "bad-shape",
                  "tensor \"%.*s\" has no shape, or one of more than %d dimensions: left out",
                  SHOWN(name), TENSOR_RANK_MAX);
        return false;
    }
    run->rank = (unsigned)rank;
    run->shape = arena_array(job->arena, rank, sizeof(*run->shape));
    if (!run->shape)
        return false;
    bool good = true;
    for (size_t d = 0; d < rank; d++) {
        good = good && shape->dim[d]->size >= 0;
        run->shape[d] = (uint64_t)shape->dim[d]->size;
    }
    if (good && shape_elements(run->shape, run->rank, &run->elements))
        return true;
    job_issue(job, ISSUE_ERROR, NULL, NO_OFFSET, "bad-shape",
              "the shape of tensor \"%.*s\" has a negative dimension or overflows: left out",
              SHOWN(name));
    return false;
}

enum status tf_version(struct job *job, const Tf__VersionDef *v)
{
    bool refused = v && v->min_consumer > VERSION;
    for (size_t i = 0; v && i < v->n_bad_consumers; i++)
        refused = refused || v->bad_consumers[i] == VERSION;
    if (refused)
        return error_set(job->err, ERR_UNSUPPORTED, job->path, NO_OFFSET,
                         "the checkpoint asks for readers of version %ld; this one is %d",
                         (long)v->min_consumer, VERSION);
    return OK;
}

void tf_step(struct job *job, const char *prefix)
{
    const char *dash = strrchr(prefix, '-');
    const char *slash = strrchr(job->path, '/');
    size_t digits = dash ? strspn(dash + 1, "0123456789") : 0;
    if (digits == 0 || digits > 18 || dash[1 + digits] || !slash)
        return;
    const size_t len = slash > job->path ? (size_t)(slash - job->path) : 1;
    job_step(job, strtoll(dash + 1, NULL, 10));
    job_run(job, arena_copy(job->arena, job->path, len), NULL);
}
