/*
 * tf_v1_record.c - the record of one slice:
 *
 *   SavedTensorSlices   data = 2:
 *     SavedSlice        name = 1, slice = 2 (both in the key too), data = 3:
 *       TensorProto     the elements in the list of their dtype (fields below)
 *
 * Fixed-width lists (float_val, ...) are packed into one run of elements; a complex element is a
 * pair of its parts. The others are packed varints. By protobuf's rules lists need not be packed,
 * though TensorFlow's always are. Each string has a field of its own.
 *
 * Sources: tensorflow/core/util/saved_tensor_slice.proto, saved_tensor_slice_util.h,
 * tensorflow/core/framework/tensor.proto.
 */
#include "importer/format/tensorflow/tf_v1_record.h"

#include <stdio.h>

#include "catalog/data/codec/codec.h"
#include "catalog/data/codec/message.h"

/* Fields of the messages. */
#define SLICES_DATA 2
#define SLICE_DATA  3

#define FIXED(n, w)                                                                                \
    {                                                                                              \
        .number = (n), .width = (w)                                                                \
    }
#define VARINTS(n, w)                                                                              \
    {                                                                                              \
        .number = (n), .width = (w), .varints = true                                               \
    }

/* By DataType. */
static const struct tf_v1_field fields[] = {
    [1] = FIXED(5, 4),                    /* float32: float_val */
    [2] = FIXED(6, 8),                    /* float64: double_val */
    [3] = VARINTS(7, 4),                  /* int32: int_val */
    [4] = VARINTS(7, 1),                  /* uint8 */
    [5] = VARINTS(7, 2),                  /* int16 */
    [6] = VARINTS(7, 1),                  /* int8 */
    [7] = {.number = 8, .strings = true}, /* string_val */
    [8] = FIXED(9, 8),                    /* complex64: scomplex_val */
    [9] = VARINTS(10, 8),                 /* int64: int64_val */
    [10] = VARINTS(11, 1),                /* bool: bool_val */
    [11] = VARINTS(7, 1),                 /* qint8 */
    [12] = VARINTS(7, 1),                 /* quint8 */
    [13] = VARINTS(7, 4),                 /* qint32 */
    [14] = VARINTS(13, 2),                /* bfloat16: half_val */
    [15] = VARINTS(7, 2),                 /* qint16 */
    [16] = VARINTS(7, 2),                 /* quint16 */
    [17] = VARINTS(7, 2),                 /* uint16 */
    [18] = FIXED(12, 16),                 /* complex128: dcomplex_val */
    [19] = VARINTS(13, 2),                /* float16: half_val */
    [22] = VARINTS(16, 4),                /* uint32: uint32_val */
    [23] = VARINTS(17, 8),                /* uint64: uint64_val */
};

bool tf_v1_field_of(int32_t dtype, struct tf_v1_field *out)
{
    size_t count = sizeof(fields) / sizeof(fields[0]);
    if (dtype < 0 || (size_t)dtype >= count || !fields[dtype].number)
        return false;
    *out = fields[dtype];
    return true;
}

void tf_v1_steps(const struct tf_v1_field *f, bool packed, char *out)
{
    char list[24] = "";
    if (!packed)
        snprintf(list, sizeof(list), "field:%u%s", (unsigned)f->number, f->varints ? "|" : "");
    if (f->strings)
        snprintf(out, TF_V1_STEPS, "strings:F%u", (unsigned)f->number);
    else if (f->varints)
        snprintf(out, TF_V1_STEPS, "%svarints:%u", list, f->width);
    else
        snprintf(out, TF_V1_STEPS, "%s", list);
}

enum status tf_v1_value_open(const struct source *shard, const struct sstable_entry *entry,
                             struct source **out, struct error *err)
{
    if (entry->value.len == entry->value_len)
        return source_open_memory(shard->name, entry->value, false, out, err);
    return source_open_view(shard, entry->offset, entry->value_len, out, err);
}

/* Step into a field of the message in *run: *run becomes the field's contents, empty if it is
 * absent. A field that occurs twice, which protobuf would merge, is refused. */
static void descend(const struct source *value, uint32_t number, struct tf_v1_run *run,
                    struct error *err)
{
    struct source *part = NULL;
    struct message_field f;
    const uint64_t at = run->at;
    unsigned times = 0;
    if (source_open_view(value, at, run->len, &part, err) != OK)
        return;
    struct message m = message_over(part);
    run->len = 0;
    while (message_next(&m, &f, err) == OK && f.number) {
        if (f.number != number || f.wire != WIRE_BYTES)
            continue;
        times++;
        *run = (struct tf_v1_run){at + f.at, f.len};
    }
    source_close(part);
    if (times > 1)
        error_set(err, ERR_CORRUPT, value->name, NO_OFFSET, "a record has its data in %u parts",
                  times);
}

/* Find the list of elements. It is packed if the field occurs once, as one run. */
static void find_list(const struct source *value, const struct tf_v1_field *field,
                      struct tf_v1_value *v, struct error *err)
{
    struct source *part = NULL;
    struct message_field f;
    uint64_t times = 0;
    if (source_open_view(value, v->message.at, v->message.len, &part, err) != OK)
        return;
    struct message m = message_over(part);
    while (message_next(&m, &f, err) == OK && f.number) {
        if (f.number != field->number)
            continue;
        v->list = (struct tf_v1_run){v->message.at + f.at, f.len};
        v->packed = ++times == 1 && f.wire == WIRE_BYTES;
        v->count += field->strings && f.wire == WIRE_BYTES;
    }
    source_close(part);
}

/* Count the elements by decoding them. */
static void count_elements(const struct source *value, const struct tf_v1_field *field,
                           struct tf_v1_value *v, struct error *err)
{
    const struct tf_v1_run *run = v->packed ? &v->list : &v->message;
    struct source *s = NULL;
    char steps[TF_V1_STEPS];
    tf_v1_steps(field, v->packed, steps);
    if (source_open_view(value, run->at, run->len, &s, err) != OK ||
        codec_chain_open(s, steps, &s, NULL, err) != OK)
        return;
    v->count = s->size / field->width;
    if (s->size % field->width)
        error_set(err, ERR_CORRUPT, value->name, NO_OFFSET, "a record ends within an element");
    source_close(s);
}

void tf_v1_value_find(const struct source *shard, const struct sstable_entry *entry,
                      const struct tf_v1_field *field, struct tf_v1_value *out, struct error *err)
{
    struct tf_v1_value v = {.message = {0, entry->value_len}};
    struct source *value = NULL;
    if (tf_v1_value_open(shard, entry, &value, err) == OK)
        descend(value, SLICES_DATA, &v.message, err);
    if (err->status == OK)
        descend(value, SLICE_DATA, &v.message, err);
    if (err->status == OK)
        find_list(value, field, &v, err);
    if (err->status == OK && !field->strings)
        count_elements(value, field, &v, err);
    source_close(value);
    if (err->status == OK)
        *out = v;
}
