/*
 * onnx.c - the weights of an ONNX model: initialisers and Constant nodes, in the main graph, in
 * graphs inside nodes, in functions and in training graphs.
 *
 *   ModelProto   1 ir_version 2 producer_name 3 producer_version 4 domain 5 model_version
 *                6 doc_string 7 graph 8 opset_import 14 metadata_props 20 training_info
 *                25 functions
 *   GraphProto   1 node 5 initializer 15 sparse_initializer
 *   NodeProto    2 output 4 op_type 5 attribute
 *   Attribute    1 name 5 t 6 g 11 graphs 22 sparse_tensor
 *   Function     7 node        Training     1 initialization 2 algorithm
 *   Entry        1 key 2 value  Opset       1 domain 2 version
 *
 * A model may be larger than protobuf's libraries accept, and its data is found by offset, so the
 * wire format is walked here (codec/message.h): only heads of fields are read. onnx_tensor.c
 * reads a tensor.
 *
 * Source: onnx.proto of ONNX; what onnx refuses was found by trying it.
 */
#include <string.h>

#include "importer/format/single/onnx.h"

#define DEPTH_MAX 64 /* of graphs in nodes of graphs */

/* --- which files ---------------------------------------------------------------------------- */

/* Whether a graph seems to begin at `at`: its first field is one that graphs have. */
static bool graph_begins(const struct cursor *at, uint64_t len)
{
    struct cursor c = *at;
    const uint32_t tag = cursor_varint32(&c);
    const uint32_t number = tag >> 3;
    if (!len)
        return false;
    return cursor_ok(&c) && (tag & 7) == WIRE_BYTES &&
           (number == 1 || number == 2 || number == 5 || (number >= 10 && number <= 16));
}

/* Whether models have such a field. */
static bool in_model(uint32_t number, uint32_t wire)
{
    const bool known = (number >= 1 && number <= 8) || number == 14 || number == 20 || number == 25;
    return known && wire == (number == 1 || number == 5 ? WIRE_VARINT : WIRE_BYTES);
}

/* ONNX has no magic number. The head must consist of fields of a model, up to a graph that fits
 * into the file. */
static int onnx_probe(const struct probe *p)
{
    struct cursor c = cursor_over(p->head, 0);
    const size_t dot = strlen(p->name) < 5 ? 0 : strlen(p->name) - 5;
    const int by_name = strcmp(p->name + dot, ".onnx") == 0 ? 8 : 0;
    if (!p->head.len)
        return 0;
    for (unsigned fields = 0; cursor_left(&c); fields++) {
        const uint32_t tag = cursor_varint32(&c), number = tag >> 3, wire = tag & 7;
        if (!cursor_ok(&c) || !in_model(number, wire))
            return 0;
        const uint64_t value = cursor_varint(&c);
        if (!cursor_ok(&c) || (fields == 0 && number == 1 && (value == 0 || value > 1000)))
            return 0;
        if (number == 7)
            return value <= p->size - cursor_offset(&c) && graph_begins(&c, value) ? 24 + by_name
                                                                                   : by_name;
        if (wire == WIRE_BYTES)
            cursor_take(&c, value);
    }
    return by_name;
}

/* --- graphs --------------------------------------------------------------------------------- */

/* Call `walk` on the contents of a field. */
static void inside(struct onnx *o, const struct message_field *f, void (*walk)(struct onnx *))
{
    if (f->wire != WIRE_BYTES)
        return;
    const struct message_range outer = onnx_enter(o, onnx_contents(f));
    walk(o);
    onnx_leave(o, outer);
}

static void walk_graph(struct onnx *);

/* The current node. */
struct node {
    struct message_range range; /* of the node */
    struct bytes output, type;
};

/* Walk one attribute, which may be the value of a Constant or hold graphs. */
static void walk_attribute(struct onnx *o, const struct node *n)
{
    struct message_field f;
    struct bytes name = {(const uint8_t *)"", 0};
    const struct message_range all = {o->message.at, o->message.end};
    const bool constant = onnx_text_is(n->type, "Constant");
    while (onnx_next(o, &f))
        if (f.number == 1 && !onnx_text(o, &f, &name))
            return;
    onnx_enter(o, all);
    while (onnx_next(o, &f)) {
        if (f.number == 6 || f.number == 11)
            inside(o, &f, walk_graph);
        else if (!constant || f.wire != WIRE_BYTES)
            continue;
        else if (f.number == 5 && onnx_text_is(name, "value"))
            onnx_tensor(o, onnx_contents(&f), n->output);
        else if (f.number == 22 && onnx_text_is(name, "sparse_value"))
            onnx_sparse(o, onnx_contents(&f), n->output);
    }
}

/* Walk one node. Its type and output may come after the attributes, so those are left for a
 * second pass; most nodes have none. */
static void walk_node(struct onnx *o)
{
    struct message_field f;
    struct node n = {.range = {o->message.at, o->message.end}};
    bool attributes = false, output = false;
    while (onnx_next(o, &f)) {
        attributes |= f.number == 5;
        if (f.number == 2 && !output) {
            output = true;
            onnx_text(o, &f, &n.output);
        } else if (f.number == 4) {
            onnx_text(o, &f, &n.type);
        }
    }
    if (!attributes)
        return;
    onnx_enter(o, n.range);
    while (onnx_next(o, &f)) {
        if (f.number != 5 || f.wire != WIRE_BYTES)
            continue;
        const struct message_range outer = onnx_enter(o, onnx_contents(&f));
        walk_attribute(o, &n);
        onnx_leave(o, outer);
    }
}

/* Walk one graph. Its own tensors come before those in its nodes' graphs: of tensors with the
 * same name the outer one keeps it, and the inner one is renamed. */
static void walk_graph(struct onnx *o)
{
    struct message_field f;
    if (o->depth == DEPTH_MAX) {
        error_set(o->job->err, ERR_LIMIT, o->job->path, o->message.at,
                  "graphs in graphs, over %d deep", DEPTH_MAX);
        return;
    }
    const struct message_range all = {o->message.at, o->message.end};
    const uint64_t outer = o->graph;
    o->depth++;
    o->graph = ++o->graphs;
    while (onnx_next(o, &f)) {
        if (f.number == 5 && f.wire == WIRE_BYTES)
            onnx_tensor(o, onnx_contents(&f), (struct bytes){0});
        else if (f.number == 15 && f.wire == WIRE_BYTES)
            onnx_sparse(o, onnx_contents(&f), (struct bytes){0});
    }
    onnx_enter(o, all);
    while (onnx_next(o, &f))
        if (f.number == 1)
            inside(o, &f, walk_node);
    o->graph = outer;
    o->depth--;
}

static void walk_function(struct onnx *o)
{
    struct message_field f;
    o->graph = ++o->graphs;
    while (onnx_next(o, &f))
        if (f.number == 7)
            inside(o, &f, walk_node);
}

static void walk_training(struct onnx *o)
{
    struct message_field f;
    while (onnx_next(o, &f))
        if (f.number == 1 || f.number == 2)
            inside(o, &f, walk_graph);
}

/* --- the model ------------------------------------------------------------------------------ */

/* State a pair of metadata_props as a fact. */
static void walk_pair(struct onnx *o)
{
    struct bytes key, value;
    struct text safe = {.limit = LIMIT_NAME_BYTES};
    onnx_pair(o, &key, &value);
    if (o->job->err->status != OK)
        return;
    const char *name = (const char *)key.at;
    if (memchr(name, '\0', key.len) || !utf8_valid(name, key.len)) {
        text_escape(&safe, name, key.len);
        name = text_str(&safe);
    }
    if (name && *name)
        job_meta_text(o->job, name, (const char *)value.at, value.len);
    else
        job_issue(o->job, ISSUE_WARNING, NULL, o->message.at, "bad-metadata",
                  "a property of the metadata is left out: its key is %s",
                  name ? "empty" : "too long");
    text_release(&safe);
}

static void walk_opset(struct onnx *o)
{
    struct message_field f;
    struct bytes domain = {(const uint8_t *)"", 0};
    uint64_t version = 0;
    struct text key = {0};
    while (onnx_next(o, &f))
        if (f.number == 1)
            onnx_text(o, &f, &domain);
        else if (f.number == 2)
            onnx_number(o, &f, &version);
    text_adds(&key, "opset_import:");
    text_escape(&key, (const char *)domain.at, domain.len);
    if (o->job->err->status == OK && text_str(&key) && version <= INT64_MAX)
        job_meta_integer(o->job, domain.len ? text_str(&key) : "opset_import", (int64_t)version);
    text_release(&key);
}

static void state_field(struct onnx *o, const struct message_field *f)
{
    static const char *const texts[] = {
        [2] = "producer_name", [3] = "producer_version", [4] = "domain", [6] = "doc_string"};
    uint64_t number;
    struct bytes text;
    if (f->number == 1 || f->number == 5) {
        if (onnx_number(o, f, &number) && number <= INT64_MAX)
            job_meta_integer(o->job, f->number == 1 ? "ir_version" : "model_version",
                             (int64_t)number);
    } else if (onnx_text(o, f, &text) && text.len) {
        job_meta_text(o->job, texts[f->number], (const char *)text.at, text.len);
    }
}

static void walk_model(struct onnx *o)
{
    struct message_field f;
    unsigned graphs = 0;
    while (onnx_next(o, &f)) {
        if (f.number <= 6)
            state_field(o, &f);
        else if (f.number == 7 && ++graphs)
            inside(o, &f, walk_graph);
        else if (f.number == 8)
            inside(o, &f, walk_opset);
        else if (f.number == 14)
            inside(o, &f, walk_pair);
        else if (f.number == 20)
            inside(o, &f, walk_training);
        else if (f.number == 25)
            inside(o, &f, walk_function);
    }
    if (graphs == 0 && o->job->err->status == OK) {
        error_set(o->job->err, ERR_CORRUPT, o->job->path, NO_OFFSET, "a model without a graph");
        error_code(o->job->err, "no-graph");
    } else if (graphs > 1) {
        o->repeated_graph = true;
    }
}

static enum status onnx_index(struct job *job)
{
    struct onnx o = {.job = job,
                     .message = message_over(job->source),
                     .names.err = job->err,
                     .files.err = job->err};
    walk_model(&o);
    onnx_finish(&o);
    return job->err->status;
}

const struct format format_onnx = {
    .name = "onnx",
    .summary = "an ONNX model, with its external data",
    .suffixes = ".onnx",
    .separator = '.',
    .beside = {"config.json"},
    .probe = onnx_probe,
    .index = onnx_index,
};
