/*
 * export_tf.c - a checkpoint of TensorFlow 2 (tensor bundle): a prefix.
 *
 *   PREFIX.data-00000-of-00002   tensors, C order, little-endian, at multiples of 64
 *   PREFIX.index                 an SSTable: "" -> BundleHeaderProto, NAME -> BundleEntryProto
 *
 * The SSTable has blocks of about 256 KiB, an empty block for what describes them, a block that finds
 * them, and a footer:
 *
 *   block    entries, u32le offsets of every 16th entry, u32le their number; then u8 0 (not compressed)
 *            and a masked CRC-32C
 *   entry    varints: bytes of the key that it shares with the entry before it, other bytes of the key,
 *            bytes of the value; these bytes
 *   footer   places of the last two blocks, zeros up to 40 bytes, u64le magic
 *
 * Sources: tensorflow/core/util/tensor_bundle/tensor_bundle.cc, core/protobuf/tensor_bundle.proto,
 * leveldb's doc/table_format.md.
 */
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "catalog/data/kernel/crc32c.h"
#include "catalog/export/export_layout.h"

#define ALIGNMENT      64
#define BLOCK_BYTES    262144
#define RESTART_EVERY  16
#define FOOTER_HANDLES 40
#define MAGIC          UINT64_C(0xDB4775248B80FB57)
#define RANK_MAX       254
#define NAME_MAX_TF    1048576 /* bytes: what we read ourselves */
#define SUFFIX         ".index"

/* tensorflow/core/framework/types.proto */
static const struct {
    const char *dtype;
    uint8_t number;
} data_types[] = {
    {"float32", 1},
    {"float64", 2},
    {"int32", 3},
    {"uint8", 4},
    {"int16", 5},
    {"int8", 6},
    {"complex64", 8},
    {"string", 7},
    {"int64", 9},
    {"bool", 10},
    {"qint8", 11},
    {"quint8", 12},
    {"qint32", 13},
    {"bfloat16", 14},
    {"qint16", 15},
    {"quint16", 16},
    {"uint16", 17},
    {"complex128", 18},
    {"float16", 19},
    {"uint32", 22},
    {"uint64", 23},
    {"float8_e5m2", 24},
    {"float8_e4m3fn", 25},
    {"float8_e4m3fnuz", 26},
    {"float8_e4m3b11fnuz", 27},
    {"float8_e5m2fnuz", 28},
};

/* 0: there is none. */
static unsigned data_type(const struct dtype *d)
{
    for (size_t i = 0; i < sizeof(data_types) / sizeof(data_types[0]); i++)
        if (strcmp(data_types[i].dtype, d->name) == 0)
            return data_types[i].number;
    return 0;
}

static bool export_tf_holds(const struct export_tensor *t, struct text *why, const char **instead)
{
    if (!*t->name)
        return !text_adds(why, "TensorFlow has no tensor with an empty name (--rename, --map)");
    if (strlen(t->name) > NAME_MAX_TF)
        return !text_addf(why, "its name has more than %d bytes (--rename, --map)", NAME_MAX_TF);
    if (t->rank > RANK_MAX)
        return !text_addf(why, "%u dimensions; TensorFlow has at most %d", t->rank, RANK_MAX);
    if (data_type(&t->to))
        return true;
    *instead = export_dtype_instead(&t->to);
    return !text_adds(why, "TensorFlow has no such dtype");
}

/* --- the values ------------------------------------------------------------------------- */

static void add_field(struct text *out, unsigned number, uint64_t value)
{
    if (value) { /* zeros are left out */
        text_addc(out, (char)(number << 3));
        text_varint(out, value);
    }
}

static void add_message(struct text *out, unsigned number, struct text *message)
{
    text_addc(out, (char)(number << 3 | 2));
    text_varint(out, message->len);
    text_add(out, message->at, message->len);
    out->failed = out->failed || message->failed;
    text_reset(message);
}

/* BundleEntryProto: dtype = 1, shape = 2 {dim = 2 {size = 1}}, shard_id = 3, offset = 4, size = 5,
 * crc32c = 6, fixed32 */
static void add_bundle_entry(struct text *out, struct text *inner, const struct export_tensor *t)
{
    struct text dim = {0};
    uint8_t sum[5] = {6 << 3 | 5};
    add_field(out, 1, data_type(&t->to));
    for (unsigned d = 0; d < t->rank; d++) {
        add_field(&dim, 1, t->shape[d]);
        add_message(inner, 2, &dim);
    }
    add_message(out, 2, inner);
    add_field(out, 3, t->file);
    add_field(out, 4, t->offset);
    add_field(out, 5, t->nbytes + t->laid);
    store_u32le(sum + 1, crc32c_mask(t->tied ? t->twin->sum : t->sum));
    text_add(out, sum, sizeof(sum));
    text_release(&dim);
}

/* --- the table -------------------------------------------------------------------------- */

struct table_block {
    struct text entries, restarts;
    size_t count, every; /* restarts */
    const char *last;    /* the last key */
};

static void block_add(struct table_block *b, const char *key, struct bytes value)
{
    uint8_t at[4];
    size_t shared = 0;
    if (b->count++ % b->every == 0) {
        store_u32le(at, (uint32_t)b->entries.len);
        text_add(&b->restarts, at, sizeof(at));
    } else {
        while (key[shared] && key[shared] == b->last[shared])
            shared++;
    }
    text_varint(&b->entries, shared);
    text_varint(&b->entries, strlen(key) - shared);
    text_varint(&b->entries, value.len);
    text_adds(&b->entries, key + shared);
    text_add(&b->entries, value.at, value.len);
    b->last = key;
}

/* Lay a block out and begin it anew. Its place is added to `handle`. */
static void block_put(struct export_layout *l, struct table_block *b, struct text *handle)
{
    struct text *out = &b->entries;
    if (!b->count)
        text_le(&b->restarts, 0, 4);
    text_add(out, b->restarts.at, b->restarts.len);
    text_le(out, b->restarts.len / 4, 4);
    out->failed = out->failed || b->restarts.failed;
    text_varint(handle, l->at);
    text_varint(handle, out->len);
    text_addc(out, 0); /* not compressed */
    text_le(out, crc32c_mask(crc32c_extend(0, out->at, out->len)), 4);
    lay_add(l, out);
    text_reset(&b->restarts);
    b->count = 0;
}

struct table {
    struct export_layout *l;
    struct table_block data, index;
    struct text value, inner;
};

static void end_block(struct table *t)
{
    struct text handle = {0};
    const char *last = t->data.last;
    block_put(t->l, &t->data, &handle);
    block_add(&t->index, last, (struct bytes){(const uint8_t *)handle.at, handle.len});
    t->index.entries.failed = t->index.entries.failed || handle.failed;
    text_release(&handle);
}

/* The value under a key, which must stay. */
static void table_add(struct table *t, const char *key)
{
    block_add(&t->data, key, (struct bytes){(const uint8_t *)t->value.at, t->value.len});
    t->data.entries.failed = t->data.entries.failed || t->value.failed;
    text_reset(&t->value);
    if (t->data.entries.len >= BLOCK_BYTES)
        end_block(t);
}

static void table_end(struct table *t)
{
    struct table_block nothing = {.every = 1};
    struct text *footer = &t->value;
    uint8_t magic[8];
    if (t->data.count)
        end_block(t);
    block_put(t->l, &nothing, footer);
    block_put(t->l, &t->index, footer);
    while (!footer->failed && footer->len < FOOTER_HANDLES)
        text_addc(footer, 0);
    store_u64le(magic, MAGIC);
    text_add(footer, magic, sizeof(magic));
    lay_add(t->l, footer);
    struct text *used[] = {&nothing.entries,  &nothing.restarts, &t->data.entries,
                           &t->data.restarts, &t->index.entries, &t->index.restarts,
                           &t->value,         &t->inner};
    for (size_t i = 0; i < sizeof(used) / sizeof(used[0]); i++)
        text_release(used[i]);
}

/* --- the files -------------------------------------------------------------------------- */

/* Begin a file of the prefix, which is the path without ".index". */
static void begin_file(struct export_layout *l, const char *suffix)
{
    const size_t len = strlen(l->path), cut = strlen(SUFFIX);
    const bool has = len > cut && strcmp(l->path + len - cut, SUFFIX) == 0;
    struct text path = {0};
    text_add(&path, l->path, has ? len - cut : len);
    text_adds(&path, suffix);
    lay_file(l, text_str(&path));
    text_release(&path);
}

/* Strings as they are laid out: first all lengths, as varints, and a masked checksum of these as numbers of 4
 * bytes (8 where they must be); then the strings. The entry's checksum goes on from the numbers'. */
struct tf_strings {
    struct export_layout *l;
    struct text text;
    uint32_t sum;
};

static void add_length(void *context, struct bytes string)
{
    struct tf_strings *s = context;
    uint8_t number[8];
    store_u64le(number, string.len);
    s->sum = crc32c_extend(s->sum, number, string.len > UINT32_MAX ? 8 : 4);
    text_varint(&s->text, string.len);
    lay_add(s->l, &s->text);
}

static void add_string(void *context, struct bytes string)
{
    struct tf_strings *s = context;
    s->sum = crc32c_extend(s->sum, string.at, string.len);
    lay_text(s->l, string.at, string.len);
}

static void put_tf_strings(struct export_layout *l, struct export_tensor *t)
{
    struct tf_strings s = {.l = l};
    uint8_t sum[4];
    lay_begin_strings(l, t);
    lay_each_string(l, t, add_length, &s);
    store_u32le(sum, crc32c_mask(s.sum));
    lay_text(l, sum, sizeof(sum));
    s.sum = crc32c_extend(s.sum, sum, sizeof(sum));
    lay_each_string(l, t, add_string, &s);
    lay_end_strings(l, t);
    t->sum = s.sum;
    text_release(&s.text);
}

static void put_data(struct export_layout *l, uint32_t part)
{
    for (size_t i = 0; i < l->plan->count && lay_ok(l); i++) {
        struct export_tensor *t = &l->plan->tensor[i];
        if (t->file != part)
            continue;
        if (t->twin && t->twin->file == part) {
            lay_tied(t);
            continue;
        }
        lay_zeros(l, -l->at % ALIGNMENT);
        t->lead_len = 0;
        if (t->to.kind == DTYPE_STRING)
            put_tf_strings(l, t);
        else
            lay_tensor(l, t);
    }
}

static void export_tf_lay_out(struct export_layout *l)
{
    const uint32_t count = lay_parts(l);
    struct table table = {.l = l, .data = {.every = RESTART_EVERY}, .index = {.every = 1}};
    char suffix[40];
    l->sums = SUM_CRC32C;
    for (uint32_t part = 0; part < count && lay_ok(l); part++) {
        snprintf(suffix, sizeof(suffix), ".data-%05" PRIu32 "-of-%05" PRIu32, part, count);
        begin_file(l, suffix);
        put_data(l, part);
    }
    begin_file(l, SUFFIX);
    struct export_tensor **order = export_order(l->plan, export_by_name, l->err);
    /* BundleHeaderProto: num_shards = 1, endianness = 2 (0: little), version = 3 {producer = 1} */
    add_field(&table.value, 1, count);
    add_field(&table.inner, 1, 1);
    add_message(&table.value, 3, &table.inner);
    table_add(&table, "");
    for (size_t i = 0; i < l->plan->count && lay_ok(l); i++) {
        add_bundle_entry(&table.value, &table.inner, order[i]);
        table_add(&table, order[i]->name);
    }
    table_end(&table);
}

const struct exporter exporter_tf = {
    .name = "tf",
    .suffix = SUFFIX,
    .summary = "TensorFlow 2, as tf.train.load_checkpoint takes it: OUT is a prefix",
    .parts = true,
    .ties = true,
    .holds = export_tf_holds,
    .lay_out = export_tf_lay_out,
};
