/*
 * onnx_constant.c - the value of a Constant node that is no tensor: a number, a text, or a list of
 * either, in the attribute itself.
 *
 *   AttributeProto   2 f  3 i  4 s  7 floats  8 ints  9 strings
 *
 * Source: onnx.proto, and the operator Constant in ONNX's Operators.md.
 */
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "importer/format/onnx.h"

struct kind {
    const char *attribute, *dtype;
    unsigned field;
    bool list;
};

static const struct kind kinds[] = {
    {"value_float", "float32", 2, false}, {"value_int", "int64", 3, false},
    {"value_string", "string", 4, false}, {"value_floats", "float32", 7, true},
    {"value_ints", "int64", 8, true},     {"value_strings", "string", 9, true},
};

/* What an attribute holds. */
struct held {
    uint64_t count;             /* of numbers or texts */
    uint64_t fields;            /* that they are in */
    struct message_range where; /* contents of the last field */
    bool bad;                   /* of another wire type, or half a number */
};

/* Add the number of varints in a packed list. */
static void count_varints(struct onnx *o, const struct message_field *f, struct held *h)
{
    uint8_t block[4096];
    uint8_t last = 0;
    for (uint64_t done = 0; done < f->len;) {
        const size_t n =
            f->len - done < sizeof(block) ? (size_t)(f->len - done) : sizeof(block);
        if (source_read(o->message.source, f->at + done, block, n, o->job->err) != OK)
            return;
        for (size_t i = 0; i < n; i++)
            h->count += block[i] < 0x80;
        last = block[n - 1];
        done += n;
    }
    h->bad |= last >= 0x80;
}

static void count_field(struct onnx *o, const struct kind *k,
                        const struct message_field *f, struct held *h)
{
    const bool packed = k->list && f->wire == WIRE_BYTES;
    h->fields++;
    h->where = onnx_contents(f);
    if (strcmp(k->dtype, "string") == 0) {
        h->bad |= f->wire != WIRE_BYTES;
        h->count++;
    } else if (!packed) {
        h->bad |=
            f->wire != (k->field == 2 || k->field == 7 ? WIRE_FIXED32 : WIRE_VARINT);
        h->count++;
    } else if (k->field == 7) {
        h->bad |= f->len % sizeof(float) != 0;
        h->count += f->len / sizeof(float);
    } else {
        count_varints(o, f, h);
    }
}

static void emit_constant(struct onnx *o, const struct kind *k, const struct held *h,
                          struct message_range all, struct bytes name)
{
    const bool texts = strcmp(k->dtype, "string") == 0,
               ints = k->field == 3 || k->field == 8;
    /* One field is all there is to read. Of several the list is put together; of several single
     * values the last one counts, as in protobuf. */
    const bool direct = !texts && (h->fields == 1 || !k->list);
    const struct message_range where = direct ? h->where : all;
    char codec[48] = "";
    if (texts)
        snprintf(codec, sizeof(codec), "strings:F%u", k->field);
    else
        snprintf(codec, sizeof(codec), "%s%s%s",
                 direct          ? ""
                 : k->field == 7 ? "field:7"
                                 : "field:8",
                 !direct && ints ? "|" : "", ints ? "varints:8" : "");
    const bool empty = !texts && !h->count;
    job_tensor(o->job, &(struct tensor_claim){.name = (const char *)name.at,
                                              .name_len = name.len,
                                              .dtype = k->dtype,
                                              .shape = &h->count,
                                              .rank = k->list,
                                              .storage = STORAGE_RANGE,
                                              .offset = where.at,
                                              .stored = empty ? 0 : where.end - where.at,
                                              .codec = *codec && !empty ? codec : NULL});
}

bool onnx_constant(struct onnx *o, struct bytes attribute, struct bytes name)
{
    const struct kind *k = NULL;
    const struct message_range all = {o->message.at, o->message.end};
    struct message_field f;
    struct held h = {0};
    for (size_t i = 0; i < sizeof(kinds) / sizeof(kinds[0]); i++)
        if (attribute.len == strlen(kinds[i].attribute) &&
            memcmp(attribute.at, kinds[i].attribute, attribute.len) == 0)
            k = &kinds[i];
    if (!k)
        return false;
    while (onnx_next(o, &f))
        if (f.number == k->field)
            count_field(o, k, &f, &h);
    /* a text is read by its field's number, so there must be only one */
    h.bad |= !k->list && (!h.fields || (h.fields > 1 && k->field == 4));
    if (o->job->err->status != OK)
        return true;
    if (!name.at) /* a node without an output */
        name = (struct bytes){(const uint8_t *)"", 0};
    if (h.bad)
        job_issue(o->job, ISSUE_ERROR, NULL, all.at, "size-mismatch",
                  "constant \"%.*s\": its %s cannot be read: left out",
                  (int)(name.len < 200 ? name.len : 200), (const char *)name.at,
                  k->attribute);
    else if (onnx_own_name(o, &name))
        emit_constant(o, k, &h, all, name);
    return true;
}
