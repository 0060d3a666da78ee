/*
 * tf_bundle.c - TensorFlow checkpoints, version 2 ("tensor bundles").
 *
 *   PREFIX.index                  an SSTable (container/sstable.c):
 *     ""                            BundleHeaderProto: how many data files, byte order
 *     NAME                          BundleEntryProto: dtype, shape, data file, offset, size
 *     00 ...                        the same for one piece of a partitioned variable
 *                                   (tf_slices.c); the entry under its NAME has the whole
 *                                   shape and lists the pieces
 *   PREFIX.data-SSSSS-of-NNNNN    the elements: row-major, in the byte order of the writer, with
 *                                 nothing but padding between tensors
 *   PREFIX.meta                   the graph; not read
 *
 * Names are the keys, unchanged. Object-based checkpoints store their object graph as one more
 * string tensor, "_CHECKPOINTABLE_OBJECT_GRAPH".
 *
 * Elements of less than 8 bits take one byte each in the file. The codec "unpack:B" turns them
 * into the packed elements that the catalog counts (nbytes).
 *
 * An entry's crc32c covers the stored bytes, except for strings, where it covers the lengths as
 * numbers, the checksum of the lengths, and the bytes. A variant's is computed in yet another way;
 * nothing reads variants, so it is left out.
 *
 * Version 1 of the format stores the tensors in the table itself: tf_v1.c.
 *
 * Sources: tensorflow/core/util/tensor_bundle/{tensor_bundle.h,tensor_bundle.cc,naming.cc},
 * tensorflow/core/protobuf/tensor_bundle.proto.
 */
#include <stdio.h>
#include <string.h>

#include "catalog/base/text.h"
#include "catalog/data/kernel/crc32c.h"
#include "catalog/data/model/tiling.h"
#include "importer/format/tensorflow/protobuf.h"
#include "importer/format/tensorflow/sstable_reader.h"
#include "importer/format/tensorflow/tf_common.h"
#include "importer/format/tensorflow/tf_shards.h"
#include "importer/format/tensorflow/tf_slices.h"
#include "importer/job/job.h"
#include "tf_bundle.pb-c.h"

struct bundle {
    struct job *job;
    struct arena message; /* holds the current protobuf message */
    struct tf_shards shards;
    struct tf_slices slices;
    bool big_endian;
};

/* --- recognising ------------------------------------------------------------------------ */

static int tf_bundle_probe(const struct probe *p)
{
    /* A bundle's header begins with num_shards, perhaps endianness, version. */
    struct cursor c = cursor_over(tf_first_value(p->head), 0);
    if (cursor_u8(&c) != 0x08)
        return 0;
    cursor_varint32(&c);
    uint8_t tag = cursor_u8(&c);
    if (tag == 0x10) {
        cursor_varint32(&c);
        tag = cursor_u8(&c);
    }
    if (tag != 0x1A || !cursor_u8(&c) || cursor_u8(&c) != 0x08)
        return 0;
    return sstable_ends(p->tail) ? 48 + 64 : 48;
}

static bool tf_bundle_name(const char *name, struct text *out)
{
    return text_add(out, name, tf_prefix_length(name));
}

/* --- entries ---------------------------------------------------------------------------- */

/* The codec from stored bytes to elements; NULL if not needed. */
static const char *codec_of(const struct bundle *b, const struct dtype *dtype)
{
    if (dtype->kind == DTYPE_STRING)
        return "strings:tf";
    if (dtype->bits == 2 || dtype->bits == 4)
        return dtype->bits == 2 ? "unpack:2" : "unpack:4";
    if (!b->big_endian || !dtype_sized(dtype))
        return NULL;
    switch (dtype_swap_width(dtype)) {
    case 2: return "swap:2";
    case 4: return "swap:4";
    case 8: return "swap:8";
    default: return NULL;
    }
}

/* Whether run->size is possible for the elements. */
static bool size_is_right(const struct dtype *dtype, const struct tf_run *run)
{
    uint64_t bytes;
    /* Each string has a length of at least one byte; a checksum of 4 bytes follows the lengths. */
    if (dtype->kind == DTYPE_STRING)
        return run->elements == 0 || (run->size >= 4 && run->elements <= run->size - 4);
    if (!dtype_sized(dtype))
        return true;
    uint64_t width = dtype->bits < 8 ? 1 : dtype->bits / 8u;
    return mul_u64(run->elements, width, &bytes) && bytes == run->size;
}

/* Copy an entry into `run`, with the checks that need no other entry. False after an issue. */
static bool take_run(struct bundle *b, const Tf__BundleEntryProto *m, struct bytes name,
                     uint64_t offset, struct tf_run *run)
{
    if (!m) {
        job_issue(b->job, ISSUE_ERROR, NULL, offset, "corrupt",
                  "the entry of tensor \"%.*s\" cannot be read: left out", SHOWN(name));
        return false;
    }
    *run = (struct tf_run){
        .dtype = m->dtype,
        .shard = (uint32_t)m->shard_id,
        .offset = (uint64_t)m->offset,
        .size = (uint64_t)m->size,
        .crc = crc32c_unmask(m->crc32c),
    };
    return tf_shape(b->job, m->shape, name, run);
}

/* --- tensors ---------------------------------------------------------------------------- */

/* A reader takes a checksum of 0 for none. It is right where there are no bytes, otherwise practically never. */
static void check_stated(struct bundle *b, const struct tf_run *run, struct bytes name)
{
    if (!run->crc && run->size)
        job_issue(b->job, ISSUE_WARNING, NULL, NO_OFFSET, "checksum",
                  "tensor \"%.*s\" has %llu bytes, but states the checksum of none: they cannot be "
                  "verified",
                  SHOWN(name), (unsigned long long)run->size);
}

static void emit_range(struct bundle *b, const struct tf_run *run, struct bytes name,
                       struct tensor_claim *claim)
{
    struct dtype dtype;
    dtype_find(claim->dtype, &dtype);
    if (run->shard >= b->shards.count || run->offset > INT64_MAX || run->size > INT64_MAX) {
        job_issue(b->job, ISSUE_ERROR, NULL, NO_OFFSET, "corrupt",
                  "tensor \"%.*s\" lies at offset %lld of data file %ld, there are %lu: listed "
                  "without data",
                  SHOWN(name), (long long)run->offset, (long)(int32_t)run->shard,
                  (unsigned long)b->shards.count);
    } else if (!size_is_right(&dtype, run)) {
        job_issue(b->job, ISSUE_ERROR, NULL, NO_OFFSET, "size-mismatch",
                  "tensor \"%.*s\" has %llu bytes in its data file, which is not what its shape "
                  "and dtype need: listed without data",
                  SHOWN(name), (unsigned long long)run->size);
    } else {
        claim->storage = STORAGE_RANGE;
        claim->offset = run->offset;
        claim->stored = run->size;
        claim->codec = codec_of(b, &dtype);
        claim->sums = dtype.kind == DTYPE_OPAQUE ? NULL : &run->crc;
        if (claim->sums)
            check_stated(b, run, name);
        tf_shards_file(&b->shards, run->shard, &claim->file);
    }
    job_tensor(b->job, claim);
}

/* Fill one extent from the slice it names. NULL if it is right, else what is wrong with it. */
static const char *take_piece(struct bundle *b, const Tf__TensorSliceProto *m, struct bytes name,
                              const struct tf_run *whole, struct tf_slice **piece, struct extent *e)
{
    struct tf_extent spelled[TENSOR_RANK_MAX] = {{0}};
    struct dtype dtype;
    if (m->n_extent != whole->rank)
        return "lists a slice of another rank";
    /* Take the extents of a listed slice: as the list spells them into `spelled`, with numbers for
     * whole dimensions into `e`. False: they cannot be part of this tensor. */
    bool inside = true;
    for (unsigned d = 0; d < whole->rank; d++) {
        const Tf__TensorSliceProto__Extent *x = m->extent[d];
        bool cut = x->has_length_case == TF__TENSOR_SLICE_PROTO__EXTENT__HAS_LENGTH_LENGTH;
        spelled[d] = cut ? (struct tf_extent){x->start, x->length} : (struct tf_extent){0, -1};
        e->origin[d] = cut ? (uint64_t)x->start : 0;
        e->shape[d] = cut ? (uint64_t)x->length : whole->shape[d];
        inside = inside && (!cut || (x->start >= 0 && x->length >= 0));
    }
    *piece = tf_slices_find(&b->slices, name, spelled, whole->rank);
    if (!*piece)
        return "lists a slice that the index does not have";
    (*piece)->used = true;
    const struct tf_run *run = &(*piece)->run;
    if (!inside)
        return "lists a slice that begins before it";
    if (run->dtype != whole->dtype)
        return "has a slice of another dtype";
    if (memcmp(run->shape, e->shape, whole->rank * sizeof(*e->shape)) != 0)
        return "has a slice whose shape does not fit its place";
    dtype_find(tf_dtype(b->job, run->dtype), &dtype);
    if (run->shard >= b->shards.count || run->offset > INT64_MAX || run->size > INT64_MAX ||
        !size_is_right(&dtype, run))
        return "has a slice whose place or size cannot be right";
    e->offset = run->offset;
    e->stored = run->size;
    return NULL;
}

/* Fill claim->extents with all pieces. NULL if they are right, else the first thing that is
 * wrong. */
static const char *take_pieces(struct bundle *b, const Tf__BundleEntryProto *m, struct bytes name,
                               const struct tf_run *whole, struct tensor_claim *claim)
{
    struct arena *arena = b->job->arena;
    struct extent *list = arena_array(arena, m->n_slices, sizeof(*list));
    uint32_t *sums = arena_array(arena, m->n_slices, sizeof(*sums));
    struct tiling tiling = tiling_of(whole->shape, whole->rank);
    const char *first_wrong = NULL;
    struct dtype dtype;
    uint64_t stored = 0;
    dtype_find(claim->dtype, &dtype);
    for (size_t i = 0; i < m->n_slices; i++) {
        struct tf_slice *piece = NULL;
        uint64_t *box = arena_array(arena, 2 * (size_t)whole->rank, sizeof(*box));
        if (!list || !sums || !box)
            return "";
        list[i].origin = box;
        list[i].shape = box + whole->rank;
        const char *wrong = take_piece(b, m->slices[i], name, whole, &piece, &list[i]);
        if (!wrong && !tiling_add(&tiling, list[i].origin, list[i].shape))
            wrong = "has a slice that reaches outside it";
        first_wrong = first_wrong ? first_wrong : wrong;
        if (wrong)
            continue;
        tf_shards_file(&b->shards, piece->run.shard, &list[i].file);
        sums[i] = piece->run.crc;
        if (dtype.kind != DTYPE_OPAQUE)
            check_stated(b, &piece->run, name);
        stored += piece->run.size;
    }
    if (first_wrong)
        return first_wrong;
    if (!tiling_complete(&tiling))
        return "has slices that overlap or leave a gap";
    claim->extents = list;
    claim->extent_count = m->n_slices;
    claim->sums = sums;
    claim->stored = stored;
    return NULL;
}

static void emit_pieces(struct bundle *b, const Tf__BundleEntryProto *m, struct bytes name,
                        const struct tf_run *whole, struct tensor_claim *claim)
{
    struct dtype dtype;
    dtype_find(claim->dtype, &dtype);
    const char *wrong = take_pieces(b, m, name, whole, claim);
    if (b->job->err->status != OK)
        return;
    if (wrong) {
        job_issue(b->job, ISSUE_ERROR, NULL, NO_OFFSET, "bad-slices",
                  "partitioned tensor \"%.*s\" %s: listed without data", SHOWN(name), wrong);
    } else {
        claim->storage = STORAGE_PIECES;
        claim->codec = codec_of(b, &dtype);
        if (dtype.kind == DTYPE_OPAQUE)
            claim->sums = NULL;
    }
    job_tensor(b->job, claim);
}

static void take_tensor(struct bundle *b, struct bytes name, const Tf__BundleEntryProto *m,
                        uint64_t offset)
{
    struct tf_run run;
    if (!take_run(b, m, name, offset, &run))
        return;
    struct tensor_claim claim = {
        .name = (const char *)name.at,
        .name_len = name.len,
        .dtype = tf_dtype(b->job, run.dtype),
        .shape = run.shape,
        .rank = run.rank,
    };
    tf_check_dtype(b->job, claim.dtype, name);
    if (m->n_slices)
        emit_pieces(b, m, name, &run, &claim);
    else
        emit_range(b, &run, name, &claim);
}

/* Report slices that no tensor lists: their data cannot be reached. */
static void report_orphans(struct bundle *b)
{
    const struct tf_slice *first = NULL;
    uint64_t orphans = 0;
    for (uint64_t i = 0; i < b->slices.count; i++) {
        const struct tf_slice *s = &b->slices.list[i];
        orphans += !s->used;
        first = first || s->used ? first : s;
    }
    if (first)
        job_issue(b->job, ISSUE_WARNING, NULL, NO_OFFSET, "orphan-slices",
                  "%llu slices belong to no tensor; the first is one of \"%.200s\"",
                  (unsigned long long)orphans, first->name);
}

/* --- the index -------------------------------------------------------------------------- */

static enum status take_header(struct bundle *b, const struct sstable_entry *e)
{
    struct job *job = b->job;
    if (!e->key.at || e->key.len)
        return error_set(job->err, ERR_UNSUPPORTED, job->path, NO_OFFSET,
                         "an SSTable, but not the index of a TensorFlow checkpoint");
    const Tf__BundleHeaderProto *m =
        protobuf_unpack(&tf__bundle_header_proto__descriptor, e->value, &b->message, job->err);
    if (!m || m->num_shards < 0)
        return error_set(job->err, ERR_CORRUPT, job->path, e->offset,
                         "the header of the bundle cannot be read");
    if (m->endianness != 0 && m->endianness != 1)
        return error_set(job->err, ERR_UNSUPPORTED, job->path, e->offset,
                         "byte order %ld is neither little (0) nor big (1)", (long)m->endianness);
    if ((uint64_t)m->num_shards > LIMIT_SHARDS)
        return error_set(job->err, ERR_LIMIT, job->path, e->offset,
                         "%ld data files, the most is %llu", (long)m->num_shards,
                         (unsigned long long)LIMIT_SHARDS);
    b->big_endian = m->endianness == 1;
    tf_shards_count(&b->shards, (uint32_t)m->num_shards);
    return tf_version(job, m->version);
}

static void take_entries(struct bundle *b, struct sstable *table)
{
    static const struct bytes slice = {(const uint8_t *)"(a slice)", 9};
    struct error *err = b->job->err;
    struct sstable_entry e;
    struct tf_run run;
    while (sstable_next(table, &e)) {
        const Tf__BundleEntryProto *m =
            protobuf_unpack(&tf__bundle_entry_proto__descriptor, e.value, &b->message, err);
        const bool of_slice = e.key.len && e.key.at[0] == 0;
        if (err->status == OK && !of_slice)
            take_tensor(b, e.key, m, e.offset);
        else if (err->status == OK && take_run(b, m, slice, e.offset, &run) &&
                 !tf_slices_add(&b->slices, e.key, &run, b->job->arena))
            job_issue(b->job, ISSUE_ERROR, NULL, e.offset, "corrupt",
                      "a key of the index begins with a zero byte but is not a slice's: left out");
        arena_release(&b->message);
    }
}

static void take_table(struct bundle *b, struct sstable *table)
{
    struct sstable_entry first;
    struct error *err = b->job->err;
    sstable_next(table, &first);
    if (err->status == OK)
        take_header(b, &first);
    arena_release(&b->message);
    if (err->status == OK)
        tf_shards_list(&b->shards, false);
    take_entries(b, table);
    if (err->status != OK)
        return;
    report_orphans(b);
    tf_shards_list(&b->shards, true);
}

static enum status tf_bundle_index(struct job *job)
{
    struct bundle b = {.job = job, .slices.name.limit = LIMIT_NAME_BYTES};
    struct sstable *table = NULL;
    job_role(job, 0, "index");
    job_sum_kind(job, "crc32c");
    if (tf_shards_open(&b.shards, job) == OK) {
        tf_step(job, tf_shards_name(&b.shards));
        table = sstable_open(job->source, job->err);
        if (table)
            take_table(&b, table);
    }
    sstable_close(table);
    arena_release(&b.message);
    text_release(&b.shards.prefix);
    text_release(&b.slices.name);
    return job->err->status;
}

const struct format format_tf_bundle = {
    .name = "tf_bundle",
    .summary = "TensorFlow checkpoints, version 2, and SavedModel variables",
    .suffixes = ".index",
    .separator = '/',
    .set = true,
    .probe = tf_bundle_probe,
    .checkpoint_name = tf_bundle_name,
    .claim = tf_shards_claim,
    .index = tf_bundle_index,
};
