/*
 * tf_v1.c - TensorFlow checkpoints, version 1: tables of saved tensor slices.
 *
 *   PREFIX                    one SSTable (container/sstable.c), or, from a sharded saver,
 *   PREFIX-SSSSS-of-NNNNN     several, each complete in itself:
 *     ""                        SavedTensorSlices, with meta = 1, SavedTensorSliceMeta:
 *                                 tensor = 1, SavedSliceMeta: name, shape, dtype, slices here
 *                                 versions = 2, VersionDef
 *     00 NAME rank extents      one slice's elements (tf_v1_record.c); only the key, parsed by
 *                               tf_slices.c, says which slice it is
 *   PREFIX.meta               the graph; not read
 *
 * Each slice is one box of its tensor in the catalog. In a raw block of the table its bytes are
 * in the file as they are. If the block is compressed, or a tensor has slices in both kinds of
 * blocks, the extent is the block, and the steps "sstable|cut" cut the elements out.
 * Integers are varints, so they are read to count them; other elements are not read.
 *
 * Only the blocks have checksums. Large raw blocks are not verified, as that would mean
 * reading all tensors.
 *
 * Sources: tensorflow/core/util/saved_tensor_slice.proto, tensor_slice_writer.cc,
 * tensor_slice_reader.cc.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "catalog/base/name_list.h"
#include "catalog/base/strmap.h"
#include "catalog/data/codec/message.h"
#include "catalog/data/model/tiling.h"
#include "importer/container/shard_name.h"
#include "importer/format/tensorflow/protobuf.h"
#include "importer/format/tensorflow/sstable_reader.h"
#include "importer/format/tensorflow/tf_common.h"
#include "importer/format/tensorflow/tf_v1_record.h"
#include "importer/job/job.h"

#define GRAPH_SUFFIX ".meta"
#define PATH_BYTES   8192

/* Bytes after a block's content in the file: type and checksum. */
#define BLOCK_TRAILER 5

/* Of raw blocks larger than LARGE_BLOCK only the first ENTRY_HEAD bytes of each record are read. */
#define LARGE_BLOCK ((uint64_t)1 << 20)
#define ENTRY_HEAD  ((uint64_t)4 << 10)

/* Fields of SavedTensorSlices and SavedTensorSliceMeta. */
#define SLICES_META   1
#define META_TENSOR   1
#define META_VERSIONS 2

/* One slice. */
struct piece {
    uint64_t *origin, *shape;
    uint32_t file;
    bool compressed;
    /* Offset of the record's value in the block, decoded if compressed */
    uint64_t record;
    uint64_t block, block_stored; /* the block's offset and bytes in the file */
    struct tf_v1_value value;
};

/* Why a tensor is listed without data; `code` is NULL if it has its data. */
struct fault {
    const char *code, *what;
};

struct tensor {
    struct bytes name;
    struct tf_run run; /* dtype, rank, shape, elements */
    struct tf_v1_field field;
    bool readable;      /* `field` is set */
    uint64_t listed;    /* number of slices that the headers state */
    struct fault fault; /* the first one found */
    struct piece *pieces;
    size_t count, space;
};

struct v1 {
    struct job *job;
    struct text prefix; /* directory and PREFIX */
    size_t name_at;     /* where PREFIX begins in it */
    uint64_t shards;    /* NNNNN; 0: the one file is PREFIX */
    struct arena message;
    struct text key_name;
    struct strmap names;
    struct tensor *tensors;
    size_t count, space;
    uint64_t orphans;
    char first_orphan[200];
};

/* The current shard. */
struct shard {
    const struct source *source;
    const char *path;
    uint32_t file;
};

/* --- recognising ------------------------------------------------------------------------ */

static int tf_v1_probe(const struct probe *p)
{
    /* The empty key's value: SavedTensorSlices whose first field is `meta`, which begins with a
     * tensor or the versions. */
    struct cursor c = cursor_over(tf_first_value(p->head), 0);
    if (!sstable_ends(p->tail) || cursor_u8(&c) != (SLICES_META << 3 | WIRE_BYTES))
        return 0;
    const uint64_t len = cursor_varint(&c);
    const uint8_t tag = cursor_u8(&c);
    const bool begins = cursor_ok(&c) && (tag == (META_TENSOR << 3 | WIRE_BYTES) ||
                                          tag == (META_VERSIONS << 3 | WIRE_BYTES));
    return len == 0 || begins ? 64 + 8 : 0;
}

/* Whether `name` is like "PREFIX-00001-of-00002". s->stem is then the length of PREFIX. */
static bool parse_shard(const char *name, struct shard_name *s)
{
    return shard_name(name, s) && s->stem && !*s->rest && s->part < s->count;
}

static size_t prefix_length(const char *name)
{
    struct shard_name s;
    return parse_shard(name, &s) ? s.stem : strlen(name);
}

static bool tf_v1_name(const char *name, struct text *out)
{
    return text_add(out, name, prefix_length(name));
}

/* Take the graph, and the next shard in the directory. As each shard takes its successor, only
 * the first remains as primary file. */
static enum status tf_v1_claim(struct claim *claim)
{
    struct shard_name own, next;
    struct text graph = {.limit = PATH_BYTES};
    text_add(&graph, claim->name, prefix_length(claim->name));
    text_adds(&graph, GRAPH_SUFFIX);
    if (text_str(&graph))
        claim_take(claim, text_str(&graph));
    text_release(&graph);
    if (!parse_shard(claim->name, &own))
        return OK;
    for (uint64_t i = names_from(claim->names, claim->count, claim->name) + 1; i < claim->count;
         i++) {
        const char *name = claim->names[i];
        if (strncmp(name, claim->name, own.stem) != 0)
            break;
        if (!parse_shard(name, &next) || next.stem != own.stem || next.count != own.count)
            continue;
        claim_take(claim, name);
        break;
    }
    return OK;
}

/* --- headers ---------------------------------------------------------------------------- */

/* Add a tensor that a shard lists; other shards may have listed it too. */
static void tf_v1_add_tensor(struct v1 *v, const Tf__SavedSliceMeta *m)
{
    struct bytes name = {m->name.data, m->name.len};
    struct tensor t = {.run.dtype = tf_dtype_plain(m->type), .listed = m->n_slice};
    bool added = false;
    const char *kept;
    if (!tf_shape(v->job, m->shape, name, &t.run))
        return;
    uint64_t *at =
        strmap_keep(&v->names, v->job->arena, (const char *)name.at, name.len, &kept, &added);
    if (!added) {
        struct tensor *known = &v->tensors[*at];
        known->listed += t.listed;
        if (known->run.dtype != t.run.dtype || known->run.rank != t.run.rank ||
            memcmp(known->run.shape, t.run.shape, t.run.rank * sizeof(*t.run.shape)) != 0)
            known->fault = (struct fault){"corrupt", "has another shape or dtype in another file"};
        return;
    }
    if (v->count >= LIMIT_TENSORS)
        error_set(v->job->err, ERR_LIMIT, v->job->path, NO_OFFSET, "more than %llu tensors",
                  (unsigned long long)LIMIT_TENSORS);
    *at = v->count;
    t.name = (struct bytes){(const uint8_t *)kept, name.len};
    t.readable = tf_v1_field_of(t.run.dtype, &t.field);
    *PUSH(v->job->arena, v->tensors, v->count, v->space) = t;
}

/* Unpack a field's contents into v->message. NULL: they are not such a message (no error is set),
 * or an error. */
static void *unpack(struct v1 *v, const ProtobufCMessageDescriptor *type, const struct source *in,
                    const struct message_field *f, struct error *err)
{
    void *m = NULL;
    if (f->wire != WIRE_BYTES || f->len > LIMIT_SSTABLE_BLOCK)
        return NULL;
    uint8_t *bytes = malloc(f->len ? (size_t)f->len : 1);
    if (!bytes)
        error_memory(v->job->err);
    else if (source_read(in, f->at, bytes, (size_t)f->len, err) == OK)
        m = protobuf_unpack(type, (struct bytes){bytes, (size_t)f->len}, &v->message, err);
    free(bytes);
    return m;
}

static void take_meta_field(struct v1 *v, const struct source *in, const struct message_field *f,
                            struct error *err)
{
    if (f->number == META_TENSOR) {
        const Tf__SavedSliceMeta *m = unpack(v, &tf__saved_slice_meta__descriptor, in, f, err);
        if (m)
            tf_v1_add_tensor(v, m);
        else
            error_set(err, ERR_CORRUPT, in->name, NO_OFFSET, "the list of tensors is damaged");
    } else if (f->number == META_VERSIONS) {
        const Tf__VersionDef *m = unpack(v, &tf__version_def__descriptor, in, f, err);
        if (err->status == OK)
            tf_version(v->job, m);
    }
    arena_release(&v->message);
}

/* Read the record of the empty key, the first of a shard. */
static void take_header(struct v1 *v, const struct shard *s, const struct sstable_entry *e,
                        struct error *err)
{
    struct source *value = NULL, *meta = NULL;
    struct message_field f, inner;
    if (!e->key.at || e->key.len)
        error_set(err, ERR_UNSUPPORTED, s->path, NO_OFFSET,
                  "an SSTable, but not one of a TensorFlow checkpoint");
    if (err->status != OK || tf_v1_value_open(s->source, e, &value, err) != OK)
        return;
    struct message m = message_over(value);
    while (err->status == OK && v->job->err->status == OK && message_next(&m, &f, err) == OK &&
           f.number) {
        if (f.number != SLICES_META || f.wire != WIRE_BYTES)
            continue;
        if (source_open_view(value, f.at, f.len, &meta, err) == OK) {
            struct message list = message_over(meta);
            while (err->status == OK && v->job->err->status == OK &&
                   message_next(&list, &inner, err) == OK && inner.number)
                take_meta_field(v, meta, &inner, err);
        }
        source_close(meta);
        meta = NULL;
    }
    source_close(value);
}

/* --- records ---------------------------------------------------------------------------- */

/* Set a piece's box from the extents in its key. False: it cannot be a box of this tensor. */
static bool take_box(struct v1 *v, const struct tensor *t, const struct tf_extent *extents,
                     struct piece *p)
{
    unsigned rank = t->run.rank;
    bool good = true;
    p->origin = arena_array(v->job->arena, 2 * (size_t)rank, sizeof(*p->origin));
    if (!p->origin)
        return false;
    p->shape = p->origin + rank;
    for (unsigned d = 0; d < rank; d++) {
        bool whole = extents[d].start == 0 && extents[d].length == -1;
        p->origin[d] = (uint64_t)extents[d].start;
        p->shape[d] = whole ? t->run.shape[d] : (uint64_t)extents[d].length;
        good = good && (whole || (extents[d].start >= 0 && extents[d].length >= 0));
    }
    return good;
}

static uint64_t box_elements(const struct piece *p, unsigned rank)
{
    uint64_t elements;
    return shape_elements(p->shape, rank, &elements) ? elements : UINT64_MAX;
}

/* Find the elements of a record. Errors in it become the tensor's fault. */
static void take_value(struct v1 *v, const struct shard *s, struct tensor *t,
                       const struct sstable_entry *e, struct piece *p)
{
    struct error err = {.offset = NO_OFFSET};
    tf_v1_value_find(s->source, e, &t->field, &p->value, &err);
    if (err.status == ERR_MEMORY || err.status == ERR_IO) {
        *v->job->err = err;
        return;
    }
    if (err.status != OK)
        t->fault =
            (struct fault){"corrupt", arena_copy(v->job->arena, err.message, strlen(err.message))};
    else if (p->value.count != box_elements(p, t->run.rank))
        t->fault = (struct fault){"size-mismatch", p->value.count < box_elements(p, t->run.rank)
                                                       ? "has fewer elements than its shape"
                                                       : "has more elements than its shape"};
    p->file = s->file;
    p->compressed = e->compressed;
    p->block = e->offset - (e->compressed ? 0 : e->value_at);
    p->block_stored = e->block_stored + BLOCK_TRAILER;
    p->record = e->value_at;
}

static void take_record(struct v1 *v, const struct shard *s, const struct sstable_entry *e)
{
    struct tf_extent *extents;
    unsigned rank;
    struct piece p = {0};
    if (!tf_slice_key(e->key, &v->key_name, v->job->arena, &extents, &rank)) {
        job_issue(v->job, ISSUE_ERROR, s->path, e->offset, "corrupt",
                  "a key of the table is not a slice's: left out");
        return;
    }
    struct bytes name = {(const uint8_t *)text_str(&v->key_name), v->key_name.len};
    const uint64_t *known = strmap_get(&v->names, (const char *)name.at, name.len);
    if (!known) {
        if (!v->orphans++)
            snprintf(v->first_orphan, sizeof(v->first_orphan), "%s",
                     v->key_name.len ? text_str(&v->key_name) : "");
        return;
    }
    struct tensor *t = &v->tensors[*known];
    if (t->fault.code || !t->readable)
        return;
    if (rank != t->run.rank || !take_box(v, t, extents, &p)) {
        t->fault = (struct fault){"bad-slices", "has a slice that does not fit its shape"};
        return;
    }
    take_value(v, s, t, e, &p);
    *PUSH(v->job->arena, t->pieces, t->count, t->space) = p;
}

/* --- tensors ---------------------------------------------------------------------------- */

/* How all pieces of a tensor are read: they share one codec. */
struct arrangement {
    bool blocks; /* as parts of blocks that must be decoded */
    bool packed;
    bool plain; /* packed varints of one byte each, the same as bytes */
};

static struct arrangement arrangement_of(const struct tensor *t)
{
    struct arrangement a = {.packed = !t->field.strings, .plain = t->field.width == 1};
    for (size_t i = 0; i < t->count; i++) {
        const struct piece *p = &t->pieces[i];
        a.blocks = a.blocks || p->compressed;
        a.packed = a.packed && (p->value.packed || !p->value.count);
        a.plain = a.plain && p->value.list.len == p->value.count;
    }
    return a;
}

static struct extent extent_of(const struct piece *p, const struct arrangement *a)
{
    const struct tf_v1_run *run = a->packed ? &p->value.list : &p->value.message;
    struct extent e = {.file = p->file, .origin = p->origin, .shape = p->shape};
    if (a->blocks) {
        e.offset = p->block;
        e.stored = p->block_stored;
        e.cut_at = p->record + run->at;
        e.cut_len = run->len;
    } else {
        e.offset = p->block + p->record + run->at;
        e.stored = run->len;
    }
    return e;
}

/* Check that the slices make up the tensor; `code` NULL: they do. */
static struct fault check_pieces(const struct tensor *t)
{
    struct tiling tiling = tiling_of(t->run.shape, t->run.rank);
    if (t->fault.code)
        return t->fault;
    if (!t->readable)
        return (struct fault){"unsupported",
                              "has a dtype that this version of the format does not store"};
    if (t->count < t->listed || !t->count)
        return (struct fault){"missing-data", "is not stored, or only in part"};
    for (size_t i = 0; i < t->count; i++)
        if (!tiling_add(&tiling, t->pieces[i].origin, t->pieces[i].shape))
            return (struct fault){"bad-slices", "has a slice that reaches outside it"};
    if (!tiling_complete(&tiling))
        return (struct fault){"bad-slices", "has slices that overlap or leave a gap"};
    return (struct fault){0};
}

static void tf_v1_place(struct v1 *v, const struct tensor *t, struct tensor_claim *claim)
{
    char steps[TF_V1_STEPS] = "", chain[TF_V1_STEPS + 16];
    struct arrangement a = arrangement_of(t);
    struct extent *list = arena_array(v->job->arena, t->count, sizeof(*list));
    if (!(a.packed && a.plain))
        tf_v1_steps(&t->field, a.packed, steps);
    const int len = snprintf(chain, sizeof(chain), "%s%s%s", a.blocks ? "sstable|cut" : "",
                             a.blocks && steps[0] ? "|" : "", steps);
    if (len)
        claim->codec = arena_copy(v->job->arena, chain, (size_t)len);
    if (!list)
        return;
    for (size_t i = 0; i < t->count; i++) {
        list[i] = extent_of(&t->pieces[i], &a);
        claim->stored += list[i].stored;
    }
    claim->storage = a.blocks ? STORAGE_CHUNKS : STORAGE_PIECES;
    claim->stored_unknown = a.blocks; /* blocks are shared between tensors */
    if (t->count == 1 && !a.blocks) {
        claim->storage = STORAGE_RANGE;
        claim->file = list[0].file;
        claim->offset = list[0].offset;
    } else {
        claim->extents = list;
        claim->extent_count = t->count;
    }
}

static void tf_v1_emit(struct v1 *v, const struct tensor *t)
{
    struct tensor_claim claim = {
        .name = (const char *)t->name.at,
        .name_len = t->name.len,
        .dtype = tf_dtype(v->job, t->run.dtype),
        .shape = t->run.shape,
        .rank = t->run.rank,
    };
    struct fault fault = check_pieces(t);
    tf_check_dtype(v->job, claim.dtype, t->name);
    if (fault.code)
        job_issue(v->job, ISSUE_ERROR, NULL, NO_OFFSET, fault.code,
                  "tensor \"%.*s\" %s: listed without data", SHOWN(t->name), fault.what);
    else
        tf_v1_place(v, t, &claim);
    job_tensor(v->job, &claim);
}

/* --- shards ----------------------------------------------------------------------------- */

static void take_table(struct v1 *v, const struct shard *s, struct error *err)
{
    struct sstable_entry e;
    struct sstable *table = sstable_open(s->source, err);
    if (!table)
        return;
    sstable_heads_only(table, LARGE_BLOCK, ENTRY_HEAD);
    sstable_next(table, &e);
    if (err->status == OK)
        take_header(v, s, &e, err);
    while (v->job->err->status == OK && sstable_next(table, &e))
        take_record(v, s, &e);
    sstable_close(table);
}

/* A shard that cannot be read to its end is an issue; the tensors that it lists still get rows.
 * But if it is the only file and lists none, the job fails. */
static void take_shard(struct v1 *v, const struct shard *s)
{
    struct error err = {.offset = NO_OFFSET};
    take_table(v, s, &err);
    if (v->job->err->status != OK || err.status == OK)
        return;
    if (err.status == ERR_MEMORY || (!v->shards && !v->count))
        *v->job->err = err;
    else
        job_issue_error(v->job, ISSUE_ERROR, &err);
}

static void open_shard(struct v1 *v, const char *path)
{
    struct error err = {.offset = NO_OFFSET};
    struct shard s = {.path = path};
    struct source *source = NULL;
    if (strcmp(path, v->job->path) == 0) {
        s.source = v->job->source;
        take_shard(v, &s);
        return;
    }
    if (job_file(v->job, path, "data", &s.file, &err) == OK)
        source_open_file(path, SOURCE_HEADERS, &source, NULL, &err);
    if (err.status == ERR_MEMORY) {
        error_memory(v->job->err);
    } else if (err.status != OK) {
        const bool absent = err.status == ERR_MISSING && !err.code;
        job_issue(v->job, ISSUE_ERROR, path, NO_OFFSET, absent ? "missing-shard" : error_word(&err),
                  "file %.200s%s%.200s: its tensors are not known", path + v->name_at,
                  absent ? " is missing" : ": ", absent ? "" : err.message);
    } else {
        s.source = source;
        take_shard(v, &s);
    }
    source_close(source);
}

/* Find the prefix and the number of shards. */
static enum status find_files(struct v1 *v)
{
    struct job *job = v->job;
    const char *slash = strrchr(job->path, '/');
    struct shard_name shard;
    v->name_at = slash ? (size_t)(slash - job->path) + 1 : 0;
    const char *name = job->path + v->name_at;
    v->shards = parse_shard(name, &shard) ? shard.count : 0;
    if (v->shards > LIMIT_SHARDS)
        return error_set(job->err, ERR_LIMIT, job->path, NO_OFFSET, "%llu files, the most is %llu",
                         (unsigned long long)v->shards, (unsigned long long)LIMIT_SHARDS);
    text_add(&v->prefix, job->path, v->name_at + prefix_length(name));
    if (!text_str(&v->prefix))
        return error_set(job->err, ERR_LIMIT, job->path, NO_OFFSET, "a path of over %d bytes",
                         PATH_BYTES);
    tf_step(job, text_str(&v->prefix) + v->name_at);
    return OK;
}

static enum status tf_v1_index(struct job *job)
{
    struct v1 v = {.job = job,
                   .prefix.limit = PATH_BYTES,
                   .key_name.limit = LIMIT_NAME_BYTES,
                   .names.err = job->err};
    struct shard whole = {.source = job->source, .path = job->path};
    struct error err = {.offset = NO_OFFSET};
    uint64_t count;
    uint32_t file;
    if (find_files(&v) == OK && v.shards) {
        struct text path = {.limit = PATH_BYTES};
        for (uint64_t i = 0; i < v.shards && v.job->err->status == OK; i++) {
            text_reset(&path);
            text_adds(&path, text_str(&v.prefix));
            text_addf(&path, "-%05llu-of-%05llu", (unsigned long long)i,
                      (unsigned long long)v.shards);
            if (text_str(&path))
                open_shard(&v, text_str(&path));
            else
                error_memory(v.job->err);
        }
        text_release(&path);
    } else if (job->err->status == OK) {
        take_shard(&v, &whole);
    }
    for (size_t i = 0; i < v.count && job->err->status == OK; i++)
        tf_v1_emit(&v, &v.tensors[i]);
    if (v.orphans && job->err->status == OK)
        job_issue(job, ISSUE_WARNING, NULL, NO_OFFSET, "orphan-slices",
                  "%llu slices belong to no tensor; the first is one of \"%.200s\"",
                  (unsigned long long)v.orphans, v.first_orphan);
    text_adds(&v.prefix, GRAPH_SUFFIX);
    const char *graph = text_str(&v.prefix), *const *names = job_siblings(job, &count);
    if (job->err->status == OK && graph && names_hold(names, count, graph + v.name_at) &&
        job_file(job, graph, "graph", &file, &err) == ERR_MEMORY)
        error_memory(job->err);
    arena_release(&v.message);
    strmap_release(&v.names);
    text_release(&v.prefix);
    text_release(&v.key_name);
    return job->err->status;
}

const struct format format_tf_v1 = {
    .name = "tf_v1",
    .summary = "TensorFlow checkpoints, version 1",
    .suffixes = "",
    .separator = '/',
    .set = true,
    .probe = tf_v1_probe,
    .checkpoint_name = tf_v1_name,
    .claim = tf_v1_claim,
    .index = tf_v1_index,
};
