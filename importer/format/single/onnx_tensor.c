/*
 * onnx_tensor.c - one TensorProto: its type and shape, and where its elements are.
 *
 *   1 dims  2 data_type  3 segment  8 name  13 external_data (keys and values)  14 data_location
 *   9 raw_data      little-endian, packed low bits first
 *   4 float_data    float32, in pairs for complex64
 *   10 double_data  float64, and complex128
 *   5 int32_data    all integers up to 32 bits but uint32, the bits of narrow floats, and the
 *                   bytes of packed elements, one number each
 *   7 int64_data    11 uint64_data (uint32 too)    6 string_data
 *
 * A packed run of fixed width is stored like raw data; the other lists are decoded from the message
 * when they are read (codec/field.c, varints.c). onnx_external.c finds data in other files.
 *
 * Source: onnx.proto.
 */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "importer/format/single/onnx.h"

/* The field that holds the elements of a data type, and the width of its numbers once decoded. */
struct holder {
    const char *dtype;
    unsigned field;
    unsigned width; /* bytes a number is decoded to; 0: fixed width, or strings */
};

/* By data_type. For types of less than 8 bits, a number is one byte that holds several packed
 * elements. */
static const struct holder holders[] = {
    [1] = {"float32", 4, 0},        [2] = {"uint8", 5, 1},
    [3] = {"int8", 5, 1},           [4] = {"uint16", 5, 2},
    [5] = {"int16", 5, 2},          [6] = {"int32", 5, 4},
    [7] = {"int64", 7, 8},          [8] = {"string", 6, 0},
    [9] = {"bool", 5, 1},           [10] = {"float16", 5, 2},
    [11] = {"float64", 10, 0},      [12] = {"uint32", 11, 4},
    [13] = {"uint64", 11, 8},       [14] = {"complex64", 4, 0},
    [15] = {"complex128", 10, 0},   [16] = {"bfloat16", 5, 2},
    [17] = {"float8_e4m3fn", 5, 1}, [18] = {"float8_e4m3fnuz", 5, 1},
    [19] = {"float8_e5m2", 5, 1},   [20] = {"float8_e5m2fnuz", 5, 1},
    [21] = {"uint4", 5, 1},         [22] = {"int4", 5, 1},
    [23] = {"float4_e2m1fn", 5, 1}, [24] = {"float8_e8m0fnu", 5, 1},
    [25] = {"uint2", 5, 1},         [26] = {"int2", 5, 1},
};

#define RAW_DATA      9
#define CODEC_BYTES   64                /* room for the steps to a tensor's elements */
#define COUNTED_BYTES ((size_t)4 << 10) /* of packed numbers, which are counted */

/* A list of numbers, which may be spread over several fields. */
struct list {
    uint64_t fields, bytes;     /* how many fields, and the bytes of their contents */
    struct message_range first; /* contents */
    enum wire wire;             /* of the first */
};

struct tensor {
    struct message_range range;
    struct bytes name;
    uint64_t shape[TENSOR_RANK_MAX];
    unsigned rank;
    bool bad_shape, segmented, external;
    uint64_t type;
    struct list lists[17]; /* by field number: 4, 5, 6, 7, 9, 10, 11, 13 */
};

/* NULL if its data type is not known. */
static const struct holder *holder_of(const struct tensor *t)
{
    const bool known = t->type < sizeof(holders) / sizeof(holders[0]) && holders[t->type].dtype;
    return known ? &holders[t->type] : NULL;
}

static const char *shown_name(struct bytes name, char room[208])
{
    snprintf(room, 208, "%.*s", (int)(name.len < 200 ? name.len : 200), (const char *)name.at);
    return room;
}

/* --- reading -------------------------------------------------------------------------------- */

/* dims: one number per field, or packed. */
static void read_dims(struct onnx *o, struct tensor *t, const struct message_field *f)
{
    uint8_t bytes[10 * TENSOR_RANK_MAX];
    if (f->wire != WIRE_VARINT && f->wire != WIRE_BYTES)
        return;
    if (f->len > sizeof(bytes)) {
        t->bad_shape = true;
        return;
    }
    if (source_read(o->message.source, f->at, bytes, (size_t)f->len, o->job->err) != OK)
        return;
    struct cursor c = cursor_over((struct bytes){bytes, (size_t)f->len}, f->at);
    while (cursor_left(&c)) {
        const uint64_t dim = cursor_varint(&c);
        if (cursor_ok(&c) && (t->rank == TENSOR_RANK_MAX || dim > INT64_MAX))
            t->bad_shape = true;
        else if (cursor_ok(&c))
            t->shape[t->rank++] = dim;
    }
    t->bad_shape |= !cursor_ok(&c);
}

static void see_list(struct list *l, const struct message_field *f)
{
    if (!l->fields++) {
        l->first = onnx_contents(f);
        l->wire = f->wire;
    }
    l->bytes += f->len;
}

static struct list only(const struct message_field *f)
{
    struct list l = {0};
    see_list(&l, f);
    return l;
}

static bool read_tensor(struct onnx *o, struct message_range range, struct tensor *t)
{
    struct message_field f;
    uint64_t number;
    *t = (struct tensor){.range = range, .name = {(const uint8_t *)"", 0}};
    const struct message_range outer = onnx_enter(o, range);
    while (onnx_next(o, &f)) {
        if (f.number == 1)
            read_dims(o, t, &f);
        else if (f.number == 2)
            onnx_number(o, &f, &t->type);
        else if (f.number == 3)
            t->segmented = true;
        else if (f.number == 8)
            onnx_text(o, &f, &t->name);
        else if (f.number == 14 && onnx_number(o, &f, &number))
            t->external = number == 1;
        else if (f.number == RAW_DATA)
            t->lists[RAW_DATA] = only(&f); /* not repeated: the last one counts */
        else if (f.number < sizeof(t->lists) / sizeof(t->lists[0]))
            see_list(&t->lists[f.number], &f);
    }
    onnx_leave(o, outer);
    return o->job->err->status == OK;
}

/* --- data in the model ---------------------------------------------------------------------- */

/* The codec from a message with a list, or from the list itself if `direct`, to elements. */
static void steps_of(const struct holder *h, bool direct, char *out, size_t size)
{
    const bool strings = strcmp(h->dtype, "string") == 0;
    char list[32] = "";
    if (!direct && !strings)
        snprintf(list, sizeof(list), "field:%u%s", h->field, h->width ? "|" : "");
    if (strings)
        snprintf(out, size, "strings:F%u", h->field);
    else if (h->width)
        snprintf(out, size, "%svarints:%u", list, h->width);
    else
        snprintf(out, size, "%s", list);
}

/* Whether packed varints are as many as they should be. Of a long list only the last one is looked at:
 * its values are counted when they are read. */
static bool varints_fit(struct onnx *o, const struct list *l, uint64_t numbers)
{
    uint8_t bytes[COUNTED_BYTES];
    const uint64_t len = l->first.end - l->first.at;
    const size_t most = len < sizeof(bytes) ? (size_t)len : sizeof(bytes);
    uint64_t ends = 0;
    if (l->fields != 1 || l->wire != WIRE_BYTES || !len)
        return true;
    if (source_read(o->message.source, l->first.end - most, bytes, most, o->job->err) != OK)
        return true; /* the job has failed */
    for (size_t i = 0; i < most; i++)
        ends += bytes[i] < 0x80;
    return bytes[most - 1] < 0x80 && (most < len || ends == numbers);
}

/* Whether a list may have this length, given the bytes of its elements: a varint has 1 to 10
 * bytes. */
static bool list_fits(struct onnx *o, const struct holder *h, const struct list *l, uint64_t nbytes)
{
    if (strcmp(h->dtype, "string") == 0)
        return true;
    if (!h->width)
        return l->bytes == nbytes;
    const uint64_t numbers = (nbytes + h->width - 1) / h->width;
    return l->bytes >= numbers && l->bytes / 10 <= numbers && varints_fit(o, l, numbers);
}

static bool place_inside(struct onnx *o, const struct tensor *t, struct tensor_claim *claim,
                         const struct holder *h, uint64_t nbytes, char codec[CODEC_BYTES])
{
    char room[208];
    const struct list *raw = &t->lists[RAW_DATA], *typed = &t->lists[h->field];
    const bool strings = strcmp(h->dtype, "string") == 0;
    o->two_holders += raw->fields && raw->bytes && typed->fields;
    claim->storage = STORAGE_RANGE;
    claim->offset = t->range.at;
    if (!nbytes && !strings)
        return true; /* an empty tensor needs no data */
    if (raw->fields && !strings) {
        claim->offset = raw->first.at;
        claim->stored = raw->first.end - raw->first.at;
        return true;
    }
    if ((!typed->fields && !strings) || !list_fits(o, h, typed, nbytes)) {
        job_issue(o->job, ISSUE_ERROR, NULL, t->range.at, "size-mismatch",
                  "tensor \"%s\": its data is not as long as its shape and dtype need",
                  shown_name(t->name, room));
        return false;
    }
    const bool direct = typed->fields == 1 && typed->wire == WIRE_BYTES && !strings;
    const struct message_range where = direct ? typed->first : t->range;
    claim->offset = where.at;
    claim->stored = where.end - where.at;
    steps_of(h, direct, codec, CODEC_BYTES);
    claim->codec = *codec ? codec : NULL;
    return true;
}

/* --- emitting ------------------------------------------------------------------------------- */

/* Make a tensor's name unique: if another graph has it too, append the graph's number,
 * "w@graph2". */
static void name_tensor(struct onnx *o, struct tensor_claim *claim, struct bytes name)
{
    char number[40];
    bool added;
    claim->name = (const char *)name.at;
    claim->name_len = name.len;
    uint64_t *graph = strmap_add(&o->names, claim->name, name.len, &added);
    if (added)
        *graph = o->graph;
    if (*graph == o->graph)
        return;
    o->repeated_names++;
    int len = snprintf(number, sizeof(number), "@graph%" PRIu64, o->graph);
    char *apart = arena_alloc(o->job->arena, name.len + sizeof(number));
    if (!apart)
        return;
    memcpy(apart, name.at, name.len);
    memcpy(apart + name.len, number, (size_t)len);
    claim->name = apart;
    claim->name_len = name.len + (size_t)len;
}

/* Find the size in bytes of a tensor, 0 if its type is not known (`holder` NULL); false after an issue. */
static bool measure_tensor(struct onnx *o, const struct tensor *t, const char *name,
                           const struct holder *holder, uint64_t *nbytes)
{
    struct dtype dtype = {0};
    uint64_t elements;
    *nbytes = 0;
    if (holder)
        dtype_find(holder->dtype, &dtype);
    if (!t->bad_shape && shape_elements(t->shape, t->rank, &elements) &&
        (!holder || !dtype_sized(&dtype) || dtype_nbytes(&dtype, elements, nbytes)))
        return true;
    job_issue(o->job, ISSUE_ERROR, NULL, t->range.at, "shape-overflow",
              "tensor \"%s\": its shape is impossible: left out", name);
    return false;
}

static void emit_tensor(struct onnx *o, struct tensor *t)
{
    const struct holder *holder = holder_of(t);
    uint64_t nbytes;
    char room[208], codec[CODEC_BYTES] = "";
    const char *name = shown_name(t->name, room);
    struct tensor_claim claim = {.shape = t->shape, .rank = t->rank};
    if (!measure_tensor(o, t, name, holder, &nbytes))
        return;
    if (t->segmented) {
        job_issue(o->job, ISSUE_ERROR, NULL, t->range.at, "unsupported",
                  "tensor \"%s\" is in segments, which no known program writes", name);
        return;
    }
    if (!holder) {
        claim.name = (const char *)t->name.at;
        claim.name_len = t->name.len;
        char dtype[48];
        snprintf(dtype, sizeof(dtype), "unknown(onnx %" PRIu64 ")", t->type);
        claim.dtype = arena_copy(o->job->arena, dtype, strlen(dtype));
        job_issue(o->job, ISSUE_WARNING, NULL, t->range.at, "unknown-dtype",
                  "tensor \"%s\" has data type %" PRIu64 ", which is not known: listed, not read",
                  name, t->type);
        job_tensor(o->job, &claim);
        return;
    }
    claim.dtype = holder->dtype;
    if (!(t->external ? onnx_external(o, t->range, name, &claim, nbytes)
                      : place_inside(o, t, &claim, holder, nbytes, codec)))
        return;
    name_tensor(o, &claim, t->name);
    job_tensor(o->job, &claim);
}

void onnx_tensor(struct onnx *o, struct message_range range, struct bytes name)
{
    struct tensor t;
    if (!read_tensor(o, range, &t))
        return;
    if (name.at)
        t.name = name;
    emit_tensor(o, &t);
}

/* --- sparse tensors ------------------------------------------------------------------------- */

struct sparse {
    struct message_range range;
    struct tensor values, indices;
    struct tensor dense; /* only its shape */
    unsigned parts;      /* messages of values and of indices, must be 2 */
};

static bool read_sparse(struct onnx *o, struct message_range range, struct sparse *s)
{
    struct message_field f;
    *s = (struct sparse){.range = range};
    s->values.name = s->indices.name = (struct bytes){(const uint8_t *)"", 0};
    const struct message_range outer = onnx_enter(o, range);
    while (onnx_next(o, &f)) {
        if (f.number == 3)
            read_dims(o, &s->dense, &f);
        else if (f.wire == WIRE_BYTES && (f.number == 1 || f.number == 2) && ++s->parts)
            read_tensor(o, onnx_contents(&f), f.number == 1 ? &s->values : &s->indices);
    }
    onnx_leave(o, outer);
    return o->job->err->status == OK;
}

/* Where a sparse tensor's numbers are, for the step "lists" (codec/lists.c): the field, and the
 * width of its numbers if they are varints, else 0. */
struct numbers {
    unsigned field, width;
};

/* False: the numbers are not in the message, or their length is wrong. */
static bool numbers_of(struct onnx *o, const struct tensor *t, const struct holder *h,
                       uint64_t nbytes, struct numbers *n)
{
    const bool raw = t->lists[RAW_DATA].fields != 0;
    *n = raw ? (struct numbers){RAW_DATA, 0} : (struct numbers){h->field, h->width};
    if (t->external || t->segmented)
        return false;
    return raw ? t->lists[RAW_DATA].bytes == nbytes : list_fits(o, h, &t->lists[h->field], nbytes);
}

/* How the codec adds up values with the same index (codec/sparse.c). */
static char adding(const struct dtype *d)
{
    if (dtype_is_integer(d))
        return 'i';
    if (d->kind == DTYPE_COMPLEX && d->bits >= 64)
        return 'c';
    if (d->kind == DTYPE_FLOAT && d->bits >= 32)
        return 'f';
    return d->kind == DTYPE_FLOAT && d->bits == 16 ? 'h' : '-';
}

/* Whether the codec can read such a sparse tensor. An index is one number, into the flattened
 * tensor, or one number per dimension. */
static bool sparse_known(const struct sparse *s, const struct dtype *dtype)
{
    const unsigned rank = s->dense.rank;
    const struct tensor *i = &s->indices;
    const bool shaped = i->rank == 1 || (i->rank == 2 && i->shape[1] == rank);
    return s->parts == 2 && dtype->block_elems == 1 && s->values.rank == 1 && shaped &&
           i->type == 7 && rank && rank <= 16 && !s->dense.bad_shape &&
           i->shape[0] == s->values.shape[0] && i->shape[0] <= UINT64_MAX / 8 / 16;
}

/* The codec chain from the message to the dense tensor. False if no chain exists. */
static bool sparse_chain(struct onnx *o, const struct sparse *s, const struct holder *h,
                         struct text *chain)
{
    struct dtype dtype;
    struct numbers values, indices;
    uint64_t nbytes, elements;
    const bool flat = s->indices.rank == 1;
    const unsigned rank = s->dense.rank;
    dtype_find(h->dtype, &dtype);
    if (!sparse_known(s, &dtype) || !shape_elements(s->dense.shape, rank, &elements))
        return false;
    const uint64_t count = s->values.shape[0];
    if (!dtype_nbytes(&dtype, count, &nbytes) || !numbers_of(o, &s->values, h, nbytes, &values) ||
        !numbers_of(o, &s->indices, &holders[7], 8 * count * (flat ? 1 : rank), &indices))
        return false;
    text_addf(chain, "lists:1.%u.%u,2.%u.%u|", values.field, values.width, indices.field,
              indices.width);
    text_addf(chain, "sparse:o,%c,%u,%" PRIu64 ",0,1,", adding(&dtype), dtype.block_bytes, count);
    for (unsigned d = 0; !flat && d < rank; d++)
        text_addf(chain, "%s%" PRIu64, d ? "x" : "", s->dense.shape[d]);
    if (flat)
        text_addf(chain, "%" PRIu64, elements);
    text_addf(chain, ",%" PRIu64 ",%u,%u", nbytes, flat ? 0 : 1, flat ? 1 : rank);
    return text_str(chain) && chain->len < CHAIN_BYTES;
}

void onnx_sparse(struct onnx *o, struct message_range range, struct bytes name)
{
    struct sparse *s = malloc(sizeof(*s));
    struct text chain = {0};
    char room[208];
    struct tensor_claim claim = {0};
    if (!s) {
        error_memory(o->job->err);
        return;
    }
    if (read_sparse(o, range, s)) {
        const struct holder *h = holder_of(&s->values);
        if (!name.at)
            name = s->values.name;
        claim = (struct tensor_claim){
            .dtype = h ? h->dtype : NULL, .shape = s->dense.shape, .rank = s->dense.rank};
        if (h && sparse_chain(o, s, h, &chain)) {
            claim.storage = STORAGE_RANGE;
            claim.offset = range.at;
            claim.stored = range.end - range.at;
            claim.codec = text_str(&chain);
        } else {
            job_issue(o->job, ISSUE_WARNING, NULL, range.at, "unsupported",
                      "the sparse tensor \"%s\" is of a kind that is not read",
                      shown_name(name, room));
        }
        if (h && !s->dense.bad_shape) {
            name_tensor(o, &claim, name);
            job_tensor(o->job, &claim);
        }
    }
    text_release(&chain);
    free(s);
}

/* --- at the end ----------------------------------------------------------------------------- */

void onnx_finish(struct onnx *o)
{
    struct job *job = o->job;
    if (job->err->status == OK) {
        if (o->repeated_graph)
            job_issue(job, ISSUE_WARNING, NULL, NO_OFFSET, "repeated-graph",
                      "the model has its graph in several parts: all are read");
        if (o->repeated_names)
            job_issue(job, ISSUE_WARNING, NULL, NO_OFFSET, "repeated-name",
                      "%" PRIu64 " tensors of inner graphs share a name with others:"
                      " \"@graph\" and a number tell them apart",
                      o->repeated_names);
        if (o->two_holders)
            job_issue(job, ISSUE_WARNING, NULL, NO_OFFSET, "two-holders",
                      "%" PRIu64
                      " tensors have raw data and a list of numbers: the raw data counts",
                      o->two_holders);
        onnx_external_report(o);
    }
    strmap_release(&o->names);
    strmap_release(&o->files);
}
