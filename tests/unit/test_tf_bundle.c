/*
 * Bundles that a small builder writes into a fresh directory, indexed and printed:
 *
 *   NAME DTYPE SHAPE range FILE+OFFSET:STORED CODEC
 *   NAME DTYPE SHAPE pieces FILE+OFFSET:STORED@ORIGIN/SHAPE ... CODEC
 *   ! an error's code    ? a warning's code    failed STATUS
 *
 * FILE is the number in the data file's name.
 */
#include <dirent.h>

#include "importer/job/job_run.h"
#include "tests/unit/table_builder.h"
#include "tests/unit/unit.h"

extern const struct format format_tf_bundle;
extern const struct format format_tf_state;

/* --- a directory ------------------------------------------------------------------------ */

struct directory {
    char path[FOLDER_BYTES];
    char *names[32]; /* sorted */
    uint64_t count;
};

static void directory_open(struct directory *d)
{
    *d = (struct directory){.count = 0};
    folder_make(d->path);
}

static void directory_write(struct directory *d, const char *name, struct bytes bytes)
{
    char path[512];
    snprintf(path, sizeof(path), "%s/%s", d->path, name);
    write_file(path, bytes.at, bytes.len);
    uint64_t at = d->count++;
    for (; at && strcmp(d->names[at - 1], name) > 0; at--)
        d->names[at] = d->names[at - 1];
    d->names[at] = strdup(name);
}

static void directory_close(struct directory *d)
{
    for (uint64_t i = 0; i < d->count; i++)
        free(d->names[i]);
    folder_remove(d->path);
}

/* --- protobuf --------------------------------------------------------------------------- */

static void put_field(struct text *out, unsigned field, int64_t value)
{
    if (!value)
        return;
    put_varint(out, field << 3);
    put_varint(out, (uint64_t)value);
}

static void put_message(struct text *out, unsigned field, struct text *message)
{
    put_varint(out, field << 3 | 2);
    put_varint(out, message->len);
    text_add(out, text_str(message), message->len);
    text_release(message);
}

/* "2,3"; "?": no rank. */
static void put_shape(struct text *out, const char *dims)
{
    struct text shape = {0};
    for (const char *at = dims; *at && *at != '?'; at += *at == ',') {
        struct text dim = {0};
        put_field(&dim, 1, strtoll(at, (char **)&at, 10));
        put_message(&shape, 2, &dim);
    }
    put_field(&shape, 3, *dims == '?');
    put_message(out, 2, &shape);
}

/* "0:2,-;2:1,-": start and length of each dimension, "-" for the whole dimension. */
static void put_slices(struct text *out, const char *slices)
{
    for (const char *at = slices; *at; at += *at == ';') {
        struct text slice = {0};
        for (; *at && *at != ';'; at += *at == ',') {
            struct text extent = {0};
            if (*at == '-' && (at[1] == ',' || at[1] == ';' || !at[1])) {
                at++;
            } else if (*at != '.') { /* ".": no dimensions */
                put_field(&extent, 1, strtoll(at, (char **)&at, 10));
                put_varint(&extent, 2 << 3);
                put_varint(&extent, (uint64_t)strtoll(at + 1, (char **)&at, 10));
            } else {
                at++;
                continue;
            }
            put_message(&slice, 1, &extent);
        }
        put_message(out, 7, &slice);
    }
}

/* Values of -64 to 8191 are enough here. */
static void put_ordered(struct text *out, int64_t value)
{
    if (value < 64) {
        text_addc(out, (char)(0x80 ^ value));
    } else {
        text_addc(out, (char)(0xC0 | value >> 8));
        text_addc(out, (char)value);
    }
}

static void put_slice_key(struct text *out, const char *name, const char *box)
{
    struct text extents = {0};
    char rank = 0;
    for (const char *at = box; *at && *at != '.'; at += *at == ',', rank++) {
        if (*at == '-' && (at[1] == ',' || !at[1])) {
            at++;
            text_add(&extents, "\x80\x7F", 2);
        } else {
            put_ordered(&extents, strtoll(at, (char **)&at, 10));
            put_ordered(&extents, strtoll(at + 1, (char **)&at, 10));
        }
    }
    text_addc(out, 0);
    text_adds(out, name);
    text_add(out, "\0\1", 2);
    if (rank)
        text_addc(out, 1);
    text_addc(out, rank);
    text_add(out, extents.at, extents.len);
    text_release(&extents);
}

/* --- cases ------------------------------------------------------------------------------ */

struct entry {
    const char *name;
    int64_t dtype;
    const char *dims;
    int64_t shard, offset, size;
    const char *box;    /* a slice: the key of this part of `name` */
    const char *slices; /* a partitioned tensor's list */
    const char *raw;    /* this value instead */
    size_t raw_len;
};

struct header {
    int64_t shards, endianness, min_consumer, bad_consumer;
};

#define ENTRIES_MAX 8

struct bundle_case {
    const char *name;
    struct header header;
    const char *data; /* sizes of data files: "26,-,0"; "-": not there */
    struct entry entries[ENTRIES_MAX];
    const char *want;
};

static void put_header(struct table *t, const struct header *h)
{
    struct text value = {0}, version = {0};
    put_field(&value, 1, h->shards);
    put_field(&value, 2, h->endianness);
    put_field(&version, 1, 1);
    put_field(&version, 2, h->min_consumer);
    put_field(&version, 3, h->bad_consumer);
    put_message(&value, 3, &version);
    table_add(t, LITERAL(""), text_bytes(&value));
    text_release(&value);
}

static void put_value(struct text *value, const struct entry *e)
{
    put_field(value, 1, e->dtype);
    put_shape(value, e->dims);
    put_field(value, 3, e->shard);
    put_field(value, 4, e->offset);
    put_field(value, 5, e->size);
    text_addc(value, 6 << 3 | 5);
    put_u32(value, crc32c_mask(0x1234));
    if (e->slices)
        put_slices(value, e->slices);
}

static void put_tensor(struct table *t, const struct entry *e)
{
    struct text key = {0}, value = {0};
    if (e->box)
        put_slice_key(&key, e->name, e->box);
    else
        text_adds(&key, e->name);
    if (e->raw)
        text_add(&value, e->raw, e->raw_len);
    else
        put_value(&value, e);
    table_add(t, text_bytes(&key), text_bytes(&value));
    text_release(&key);
    text_release(&value);
}

static void write_data(struct directory *d, const char *sizes, int64_t shards)
{
    static const uint8_t zeros[4096];
    char name[64];
    long shard = 0;
    for (const char *at = sizes; *at; at += *at == ',', shard++) {
        if (*at == '-') {
            at++;
            continue;
        }
        struct bytes data = {zeros, strtoul(at, (char **)&at, 10)};
        snprintf(name, sizeof(name), "t.data-%05ld-of-%05ld", shard, (long)shards);
        directory_write(d, name, data);
    }
}

/* --- printing --------------------------------------------------------------------------- */

static void print_numbers(struct text *out, const uint64_t *list, unsigned rank)
{
    text_addc(out, '[');
    for (unsigned d = 0; d < rank; d++)
        text_addf(out, d ? ",%llu" : "%llu", (unsigned long long)list[d]);
    text_addc(out, ']');
}

static void print_place(struct text *out, const struct batch *b, uint32_t file, uint64_t offset,
                        uint64_t stored)
{
    const char *number = strstr(b->files[file].path, ".data-");
    assert_non_null(number);
    text_addf(out, " %ld+%llu:%llu", strtol(number + 6, NULL, 10), (unsigned long long)offset,
              (unsigned long long)stored);
}

static void print_tensor(struct text *out, struct batch *b, const struct batch_tensor *t)
{
    static const char *const storages[] = {"none", "range", "pieces", "chunks", "inline"};
    struct extent_list list = {0};
    struct error err = {0};
    text_addf(out, "%s %s ", t->name, t->kind->dtype);
    print_numbers(out, t->kind->shape, t->kind->rank);
    text_addf(out, " %s", storages[t->storage]);
    if (t->storage == STORAGE_RANGE)
        print_place(out, b, t->file, t->offset, t->stored);
    if (t->coding && t->coding->extents.len)
        assert_int_equal(extents_unpack(t->coding->extents, t->kind->shape, t->kind->rank,
                                        &b->arena, &list, &err),
                         OK);
    for (uint64_t i = 0; i < list.count; i++) {
        const struct extent *e = &list.at[i];
        print_place(out, b, e->file, e->offset, e->stored);
        text_addc(out, '@');
        print_numbers(out, e->origin, t->kind->rank);
        text_addc(out, '/');
        print_numbers(out, e->shape, t->kind->rank);
        assert_int_equal(b->sums[list.first_sum_plus_1 - 1 + i], 0x1234);
    }
    if (t->coding && t->coding->codec)
        text_addf(out, " %s", t->coding->codec);
    text_addc(out, '\n');
}

static void print_batch(struct text *out, struct batch *b, enum status status)
{
    text_adds(out, "");
    if (status != OK)
        text_addf(out, "failed %s\n", status_name(status));
    for (uint64_t i = 0; status == OK && i < b->layout->tensor_count; i++)
        print_tensor(out, b, &b->layout->tensors[i]);
    for (uint64_t i = 0; status == OK && i < b->issue_count; i++)
        text_addf(out, "%s %s\n", b->issues[i].warning ? "?" : "!", b->issues[i].code);
}

static struct batch *index_file(struct directory *d, const char *name, enum status *status)
{
    char path[512];
    struct batch *b = NULL;
    struct error err = {0};
    snprintf(path, sizeof(path), "%s/%s", d->path, name);
    struct job_request request = {
        .format = &format_tf_bundle,
        .path = path,
        .checkpoint_path = path,
        .siblings = (const char *const *)d->names,
        .sibling_count = d->count,
    };
    *status = job_run_index(&request, &b, &err);
    return b;
}

/* Index "t.index" as it is in the directory and print what comes out. */
static void index_and_print(struct directory *d, struct text *out)
{
    enum status status;
    struct batch *b = index_file(d, "t.index", &status);
    print_batch(out, b, status);
    batch_free(b);
}

#define FLOAT      1
#define INT32      3
#define UINT8      4
#define INT16      5
#define STRING     7
#define COMPLEX128 18
#define VARIANT    21
#define INT4       29
#define UINT4      30
#define INT2       31
#define FLOAT4     33

#define TENSOR(n, t, d, sh, off, len)                                                              \
    {                                                                                              \
        .name = (n), .dtype = (t), .dims = (d), .shard = (sh), .offset = (off), .size = (len)      \
    }
#define SLICE(n, t, d, sh, off, len, part)                                                         \
    {                                                                                              \
        .name = (n), .dtype = (t), .dims = (d), .shard = (sh), .offset = (off), .size = (len),     \
        .box = (part)                                                                              \
    }
#define SLICED(n, t, d, list)                                                                      \
    {                                                                                              \
        .name = (n), .dtype = (t), .dims = (d), .slices = (list)                                   \
    }
#define RAW(n, s)                                                                                  \
    {                                                                                              \
        .name = (n), .raw = (s), .raw_len = sizeof(s) - 1                                          \
    }
#define BIG_ENDIAN_1                                                                               \
    {                                                                                              \
        .shards = 1, .endianness = 1                                                               \
    }

/* clang-format off */
static const struct bundle_case cases[] = {
    {"header only", {.shards = 1}, "0", {{0}}, ""},
    {"no data files at all", {0}, "", {{0}}, ""},
    {"plain tensors", {.shards = 2}, "24,2",
     {TENSOR("a", FLOAT, "2,3", 0, 0, 24), TENSOR("b", INT16, "", 1, 0, 2),
      TENSOR("e", FLOAT, "3,0", 1, 2, 0)},
     "a float32 [2,3] range 0+0:24\n"
     "b int16 [] range 1+0:2\n"
     "e float32 [3,0] range 1+2:0\n"},
    {"big-endian", BIG_ENDIAN_1, "99",
     {TENSOR("c", COMPLEX128, "", 0, 0, 16), TENSOR("f", FLOAT, "2", 0, 0, 8),
      TENSOR("s", STRING, "1", 0, 0, 9), TENSOR("u", UINT8, "2", 0, 0, 2),
      TENSOR("u4", UINT4, "2", 0, 0, 2)},
     "c complex128 [] range 0+0:16 swap:8\n"
     "f float32 [2] range 0+0:8 swap:4\n"
     "s string [1] range 0+0:9 strings:tf\n"
     "u uint8 [2] range 0+0:2\n"
     "u4 uint4 [2] range 0+0:2 unpack:4\n"},
    {"elements of few bits take a byte", {.shards = 1}, "9",
     {TENSOR("f4", FLOAT4, "3", 0, 0, 3), TENSOR("i2", INT2, "3", 0, 3, 3),
      TENSOR("i4", INT4, "3", 0, 6, 3)},
     "f4 float4_e2m1fn [3] range 0+0:3 unpack:4\n"
     "i2 int2 [3] range 0+3:3 unpack:2\n"
     "i4 int4 [3] range 0+6:3 unpack:4\n"},
    {"references, unknown and missing dtypes", {.shards = 1}, "9",
     {TENSOR("a", 101, "1", 0, 0, 4), TENSOR("b", 34, "5", 0, 0, 7),
      TENSOR("c", 0, "1", 0, 0, 1), TENSOR("d", 134, "1", 0, 0, 1),
      TENSOR("e", -1, "1", 0, 0, 1)},
     "a float32 [1] range 0+0:4\n"
     "b unknown(34) [5] range 0+0:7\n"
     "c unknown(0) [1] range 0+0:1\n"
     "d unknown(134) [1] range 0+0:1\n"
     "e unknown(-1) [1] range 0+0:1\n"
     "! unknown-dtype\n! unknown-dtype\n! unknown-dtype\n! unknown-dtype\n"},
    {"strings and variants", {.shards = 1}, "50",
     {TENSOR("s", STRING, "3", 0, 0, 12), TENSOR("s0", STRING, "0", 0, 12, 4),
      TENSOR("s00", STRING, "0", 0, 12, 0), TENSOR("v", VARIANT, "16", 0, 16, 30)},
     "s string [3] range 0+0:12 strings:tf\n"
     "s0 string [0] range 0+12:4 strings:tf\n"
     "s00 string [0] range 0+12:0 strings:tf\n"
     "v variant [16] range 0+16:30\n"},
    {"strings that cannot fit", {.shards = 1}, "50",
     {TENSOR("a", STRING, "9", 0, 0, 12), TENSOR("b", STRING, "1099511627776", 0, 0, 50)},
     "a string [9] none\n"
     "b string [1099511627776] none\n"
     "! size-mismatch\n! size-mismatch\n"},
    {"a shard is missing", {.shards = 3}, "4,-,4",
     {TENSOR("a", FLOAT, "1", 0, 0, 4), TENSOR("b", FLOAT, "1", 1, 0, 4),
      TENSOR("c", FLOAT, "1", 1, 4, 4), TENSOR("d", FLOAT, "1", 2, 0, 4)},
     "a float32 [1] range 0+0:4\n"
     "b float32 [1] range 1+0:4\n"
     "c float32 [1] range 1+4:4\n"
     "d float32 [1] range 2+0:4\n"
     "! missing-shard\n"},
    {"a shard without tensors is missing", {.shards = 2}, "4,-",
     {TENSOR("a", FLOAT, "1", 0, 0, 4)},
     "a float32 [1] range 0+0:4\n"},
    {"a shard is cut short", {.shards = 1}, "6",
     {TENSOR("a", FLOAT, "1", 0, 0, 4), TENSOR("b", FLOAT, "1", 0, 4, 4)},
     "a float32 [1] range 0+0:4\n"
     "b float32 [1] none\n"
     "! truncated\n"},
    {"wrong sizes and places", {.shards = 1}, "99",
     {TENSOR("a", FLOAT, "2", 0, 0, 4), TENSOR("b", INT4, "4", 0, 0, 2),
      TENSOR("c", FLOAT, "1", 1, 0, 4), TENSOR("d", FLOAT, "1", -1, 0, 4),
      TENSOR("e", FLOAT, "1", 0, -4, 4), TENSOR("f", FLOAT, "1", 0, 0, -4),
      TENSOR("g", FLOAT, "1", 0, INT64_MAX, 4)},
     "a float32 [2] none\nb int4 [4] none\nc float32 [1] none\nd float32 [1] none\n"
     "e float32 [1] none\nf float32 [1] none\ng float32 [1] none\n"
     "! size-mismatch\n! size-mismatch\n! corrupt\n! corrupt\n! corrupt\n! corrupt\n"
     "! truncated\n"},
    {"impossible shapes", {.shards = 1}, "9",
     {TENSOR("a", FLOAT, "-1", 0, 0, 4),
      TENSOR("b", FLOAT, "4294967296,4294967296", 0, 0, 4),
      TENSOR("c", FLOAT, "4611686018427387904", 0, 0, 4), TENSOR("d", FLOAT, "?", 0, 0, 4),
      TENSOR("z", FLOAT, "1", 0, 0, 4)},
     "z float32 [1] range 0+0:4\n"
     "! bad-shape\n! bad-shape\n! size-mismatch\n! shape-overflow\n! bad-shape\n"},
    {"entries that are no messages", {.shards = 1}, "9",
     {RAW("a", "\xFF"), RAW("b", "\x12\x7F"), RAW("c", "\x0B\x0B\x0B\x0C"), RAW("d", ""),
      RAW("z", "\x08\x04\x12\x00\x28\x01")},
     "d unknown(0) [] range 0+0:0\n"
     "z uint8 [] range 0+0:1\n"
     "! corrupt\n! corrupt\n! corrupt\n! unknown-dtype\n"},
    {"unknown fields are passed over", {.shards = 1}, "9",
     {RAW("a", "\x08\x04\x12\x00\x28\x01\x7A\x02hi\xF8\x07\x05")},
     "a uint8 [] range 0+0:1\n"},
    {"a newer reader is asked for", {.shards = 1, .min_consumer = 2}, "", {{0}},
     "failed unsupported\n"},
    {"this reader is refused", {.shards = 1, .bad_consumer = 1}, "", {{0}},
     "failed unsupported\n"},
    {"a third byte order", {.shards = 1, .endianness = 2}, "", {{0}},
     "failed unsupported\n"},
    {"-1 data files", {.shards = -1}, "", {{0}}, "failed corrupt\n"},
    {"2^31 - 1 data files", {.shards = INT32_MAX}, "", {{0}}, "failed limit\n"},

    {"slices by row", {.shards = 2}, "12,12",
     {SLICE("emb", FLOAT, "1,3", 0, 0, 12, "0:1,-"),
      SLICE("emb", FLOAT, "1,3", 1, 0, 12, "1:1,-"),
      SLICED("emb", FLOAT, "2,3", "0:1,-;1:1,-")},
     "emb float32 [2,3] pieces 0+0:12@[0,0]/[1,3] 1+0:12@[1,0]/[1,3]\n"},
    {"slices in any order and of any size, big-endian", BIG_ENDIAN_1, "96",
     {SLICE("w", FLOAT, "2,2", 0, 0, 16, "0:2,0:2"),
      SLICE("w", FLOAT, "2,1", 0, 16, 8, "0:2,2:1"),
      SLICE("w", FLOAT, "1,3", 0, 24, 12, "2:1,-"),
      SLICED("w", FLOAT, "3,3", "2:1,-;0:2,2:1;0:2,0:2")},
     "w float32 [3,3] pieces 0+24:12@[2,0]/[1,3] 0+16:8@[0,2]/[2,1] 0+0:16@[0,0]/[2,2] swap:4\n"},
    {"slices of strings and of a scalar", {.shards = 1}, "40",
     {SLICE("s", STRING, "1", 0, 0, 6, "0:1"), SLICE("s", STRING, "2", 0, 6, 8, "1:2"),
      SLICE("t", FLOAT, "", 0, 20, 4, "."), SLICED("s", STRING, "3", "0:1;1:2"),
      SLICED("t", FLOAT, "", ".")},
     "s string [3] pieces 0+0:6@[0]/[1] 0+6:8@[1]/[2] strings:tf\n"
     "t float32 [] pieces 0+20:4@[]/[]\n"},
    {"a slice far down a dimension", {.shards = 1}, "900",
     {SLICE("w", UINT8, "64", 0, 0, 64, "0:64"), SLICE("w", UINT8, "64", 0, 64, 64, "64:64"),
      SLICED("w", UINT8, "128", "0:64;64:64")},
     "w uint8 [128] pieces 0+0:64@[0]/[64] 0+64:64@[64]/[64]\n"},
    {"slices overlap", {.shards = 1}, "90",
     {SLICE("w", FLOAT, "2", 0, 0, 8, "0:2"), SLICE("w", FLOAT, "2", 0, 8, 8, "1:2"),
      SLICED("w", FLOAT, "3", "0:2;1:2")},
     "w float32 [3] none\n! bad-slices\n"},
    {"slices overlap and leave a gap of the same size", {.shards = 1}, "90",
     {SLICE("w", FLOAT, "2", 0, 0, 8, "0:2"), SLICE("w", FLOAT, "2", 0, 8, 8, "1:2"),
      SLICED("w", FLOAT, "4", "0:2;1:2")},
     "w float32 [4] none\n! bad-slices\n"},
    {"a slice twice", {.shards = 1}, "90",
     {SLICE("w", FLOAT, "2", 0, 0, 8, "0:2"), SLICED("w", FLOAT, "4", "0:2;0:2")},
     "w float32 [4] none\n! bad-slices\n"},
    {"a gap", {.shards = 1}, "90",
     {SLICE("w", FLOAT, "2", 0, 0, 8, "0:2"), SLICED("w", FLOAT, "4", "0:2")},
     "w float32 [4] none\n! bad-slices\n"},
    {"a slice is missing", {.shards = 1}, "90",
     {SLICE("w", FLOAT, "2", 0, 0, 8, "0:2"), SLICED("w", FLOAT, "4", "0:2;2:2")},
     "w float32 [4] none\n! bad-slices\n"},
    {"a slice of another dtype", {.shards = 1}, "90",
     {SLICE("w", FLOAT, "2", 0, 0, 8, "0:2"), SLICE("w", INT32, "2", 0, 8, 8, "2:2"),
      SLICED("w", FLOAT, "4", "0:2;2:2")},
     "w float32 [4] none\n! bad-slices\n"},
    {"a slice of another shape", {.shards = 1}, "90",
     {SLICE("w", FLOAT, "2", 0, 0, 8, "0:1"), SLICE("w", FLOAT, "1", 0, 8, 4, "1:1"),
      SLICED("w", FLOAT, "2", "0:1;1:1")},
     "w float32 [2] none\n! bad-slices\n"},
    {"a slice of a wrong size", {.shards = 1}, "90",
     {SLICE("w", FLOAT, "2", 0, 0, 7, "0:2"), SLICED("w", FLOAT, "2", "0:2")},
     "w float32 [2] none\n! bad-slices\n"},
    {"a slice that starts before 0", {.shards = 1}, "90",
     {SLICE("w", FLOAT, "2", 0, 0, 8, "-3:2"), SLICED("w", FLOAT, "2", "-3:2")},
     "w float32 [2] none\n! bad-slices\n"},
    {"a slice past the end", {.shards = 1}, "90",
     {SLICE("w", FLOAT, "2", 0, 0, 8, "1:2"), SLICED("w", FLOAT, "2", "1:2")},
     "w float32 [2] none\n! bad-slices\n"},
    {"a slice of another rank", {.shards = 1}, "90",
     {SLICE("w", FLOAT, "2", 0, 0, 8, "0:2"), SLICED("w", FLOAT, "2,1", "0:2")},
     "w float32 [2,1] none\n! bad-slices\n? orphan-slices\n"},
    {"a slice in a missing shard", {.shards = 2}, "90,-",
     {SLICE("w", FLOAT, "1", 0, 0, 4, "0:1"), SLICE("w", FLOAT, "1", 1, 0, 4, "1:1"),
      SLICED("w", FLOAT, "2", "0:1;1:1")},
     "w float32 [2] pieces 0+0:4@[0]/[1] 1+0:4@[1]/[1]\n! missing-shard\n"},
    {"a slice cut short", {.shards = 1}, "6",
     {SLICE("w", FLOAT, "1", 0, 0, 4, "0:1"), SLICE("w", FLOAT, "1", 0, 4, 4, "1:1"),
      SLICED("w", FLOAT, "2", "0:1;1:1")},
     "w float32 [2] none\n! truncated\n"},
    {"slices of no tensor", {.shards = 1}, "90",
     {SLICE("w", FLOAT, "1", 0, 0, 4, "0:1"), TENSOR("z", FLOAT, "1", 0, 0, 4)},
     "z float32 [1] range 0+0:4\n? orphan-slices\n"},
    {"a tensor that is sliced and whole", {.shards = 1}, "90",
     {SLICE("w", FLOAT, "1", 0, 0, 4, "0:1"), TENSOR("w", FLOAT, "1", 0, 4, 4)},
     "w float32 [1] range 0+4:4\n? orphan-slices\n"},
};
/* clang-format on */

TEST(bundles)
{
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        const struct bundle_case *c = &cases[i];
        print_message("%s\n", c->name);
        struct table t = {.entries_a_block = 3};
        struct directory d;
        struct text got = {0};
        put_header(&t, &c->header);
        for (size_t k = 0; k < ENTRIES_MAX && c->entries[k].name; k++)
            put_tensor(&t, &c->entries[k]);
        directory_open(&d);
        write_data(&d, c->data, c->header.shards);
        directory_write(&d, "t.index", table_finish(&t));
        index_and_print(&d, &got);
        assert_string_equal(text_str(&got), c->want);
        text_release(&got);
        directory_close(&d);
        table_release(&t);
    }
}

/* --- names of files --------------------------------------------------------------------- */

/* One tensor in shard 0 of 2; the files beside the index are these. */
TEST(data_file_names)
{
    static const struct {
        const char *name;
        const char *files[3];
        const char *want;
    } files[] = {
        {"as it should be", {"t.data-00000-of-00002"}, "a float32 [1] range 0+0:4\n"},
        {"counted otherwise", {"t.data-00000-of-00005"}, "a float32 [1] range 0+0:4\n"},
        {"counted otherwise in two ways",
         {"t.data-00000-of-00003", "t.data-00000-of-00005"},
         "a float32 [1] range 0+0:4\n! missing-shard\n? extra-shard\n? extra-shard\n"},
        {"left over from another save",
         {"t.data-00000-of-00002", "t.data-00000-of-00003", "t.data-00002-of-00003"},
         "a float32 [1] range 0+0:4\n? extra-shard\n? extra-shard\n"},
        {"renamed by a browser",
         {"t (1).data-00000-of-00002"},
         "a float32 [1] range 0+0:4\n! missing-shard\n"},
        {"not data files",
         {"t.data-00000-of-00002", "t.data-00000-of-00002.tempstate17", "t.data-1-of-2"},
         "a float32 [1] range 0+0:4\n"},
    };
    for (size_t i = 0; i < sizeof(files) / sizeof(files[0]); i++) {
        print_message("%s\n", files[i].name);
        struct table t = {0};
        struct directory d;
        struct text got = {0};
        put_header(&t, &(struct header){.shards = 2});
        put_tensor(&t, &(struct entry)TENSOR("a", FLOAT, "1", 0, 0, 4));
        directory_open(&d);
        for (size_t k = 0; k < 3 && files[i].files[k]; k++)
            directory_write(&d, files[i].files[k], LITERAL("\0\0\x80\x3F"));
        directory_write(&d, "t.index", table_finish(&t));
        index_and_print(&d, &got);
        assert_string_equal(text_str(&got), files[i].want);
        text_release(&got);
        directory_close(&d);
        table_release(&t);
    }
}

/* The message about a missing data file names the file that it may be. */
TEST(missing_file_hints)
{
    static const struct {
        const char *name;
        const char *files[2];
        const char *hint; /* NULL: none */
    } hints[] = {
        {"nothing there", {NULL}, NULL},
        {"renamed by a browser", {"t (1).data-00000-of-00002"}, "t (1).data-00000-of-00002"},
        {"another checkpoint's", {"s.data-00000-of-00002", "s.index"}, NULL},
        {"another number", {"s.data-00001-of-00002"}, NULL},
    };
    for (size_t i = 0; i < sizeof(hints) / sizeof(hints[0]); i++) {
        print_message("%s\n", hints[i].name);
        struct table t = {0};
        struct directory d;
        enum status status;
        put_header(&t, &(struct header){.shards = 2});
        put_tensor(&t, &(struct entry)TENSOR("a", FLOAT, "1", 0, 0, 4));
        directory_open(&d);
        for (size_t k = 0; k < 2 && hints[i].files[k]; k++)
            directory_write(&d, hints[i].files[k], LITERAL("x"));
        directory_write(&d, "t.index", table_finish(&t));
        struct batch *b = index_file(&d, "t.index", &status);
        assert_int_equal(b->issue_count, 1);
        const char *said = strstr(b->issues[0].message, "is it");
        assert_int_equal(said != NULL, hints[i].hint != NULL);
        assert_true(!said || (hints[i].hint && strstr(said, hints[i].hint)));
        batch_free(b);
        directory_close(&d);
        table_release(&t);
    }
}

TEST(steps)
{
    static const struct {
        const char *index, *checkpoint;
        int64_t step; /* -1: none */
    } names[] = {
        {"model.ckpt-1000.index", "model.ckpt-1000", 1000},
        {"m-0.index", "m-0", 0},
        {"variables.index", "variables", -1},
        {"model-7b.index", "model-7b", -1},
        {"model-.index", "model-", -1},
        {"a-1-22.index", "a-1-22", 22},
        {"m-1234567890123456789.index", "m-1234567890123456789", -1},
        {"no_suffix-3", "no_suffix-3", 3},
        {".index", ".index", -1},
    };
    for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++) {
        print_message("%s\n", names[i].index);
        struct table t = {0};
        struct directory d;
        struct text name = {0};
        enum status status;
        put_header(&t, &(struct header){.shards = 1});
        directory_open(&d);
        directory_write(&d, names[i].index, table_finish(&t));
        struct batch *b = index_file(&d, names[i].index, &status);
        assert_int_equal(status, OK);
        assert_int_equal(b->has_step, names[i].step >= 0);
        if (b->has_step) {
            assert_true(b->step == names[i].step);
            assert_string_equal(b->run, d.path);
        }
        assert_true(format_tf_bundle.checkpoint_name(names[i].index, &name));
        assert_string_equal(text_str(&name), names[i].checkpoint);
        text_release(&name);
        batch_free(b);
        directory_close(&d);
        table_release(&t);
    }
}

/* --- whole files ------------------------------------------------------------------------ */

/* A partitioned float32 [2,3] and an int16, as TensorFlow lays them out. */
static const char known_index[] =
    "00000608011a020801000c1300656d62000101028081807f080112081202080112020803280c"
    "35735b89710804158181807f080112081202080112020803200c280c3556c203bd00031e656d"
    "620801120812020802120208033a060a0210010a003a080a04080110010a0000010d77080512"
    "002018280235f100b21f0000000001000000003961d36e000000000100000000c0f2a1b00001"
    "0378008401000000000100000000ac0e6b6189010896010f0000000000000000000000000000"
    "000000000000000000000000000000000000000057fb808b247547db";

TEST(known_bytes)
{
    struct directory d;
    struct text file = {0};
    put_hex(&file, known_index);
    directory_open(&d);
    directory_write(&d, "t.data-00000-of-00001",
                    LITERAL("\0\0\x80\x3F\0\0\0\x40\0\0\x40\x40\0\0\x80\x40\0\0\xA0\x40"
                            "\0\0\xC0\x40\7\0"));
    directory_write(&d, "t.index", text_bytes(&file));
    enum status status;
    struct batch *b = index_file(&d, "t.index", &status);
    assert_int_equal(status, OK);
    assert_int_equal(b->layout->tensor_count, 2);
    assert_string_equal(b->sum_kind, "crc32c");
    assert_int_equal(b->sums[1], crc32c_extend(0, "\7\0", 2));
    assert_int_equal(b->sum_count, 4);
    batch_free(b);
    text_release(&file);
    directory_close(&d);
}

TEST(probes)
{
    struct table v2 = {0}, snappy = {.snappy = true}, other = {0}, v1 = {0};
    put_header(&v2, &(struct header){.shards = 1});
    put_header(&snappy, &(struct header){.shards = 2, .endianness = 1});
    table_add(&other, LITERAL("key"), LITERAL("value"));
    table_add(&v1, LITERAL(""), LITERAL("\x0A\x02\x12\x00"));
    const struct {
        const char *name;
        const struct format *format;
        struct bytes file;
        bool by_head, at_all;
    } probed[] = {
        {"version 2", &format_tf_bundle, table_finish(&v2), true, true},
        {"version 2, Snappy", &format_tf_bundle, table_finish(&snappy), true, true},
        {"version 1", &format_tf_bundle, table_finish(&v1), false, false},
        {"another table", &format_tf_bundle, table_finish(&other), false, false},
        {"nothing", &format_tf_bundle, LITERAL(""), false, false},
        {"zeros", &format_tf_bundle, LITERAL("\0\0\0\0\0\0\0\0\0\0\0\0"), false, false},
        {"state", &format_tf_state, LITERAL("model_checkpoint_path: \"m\""), true, true},
        {"msgpack", &format_tf_state, LITERAL("\x82\xA6target"), false, false},
    };
    for (size_t i = 0; i < sizeof(probed) / sizeof(probed[0]); i++) {
        print_message("%s\n", probed[i].name);
        struct bytes file = probed[i].file;
        size_t tail = file.len < PROBE_TAIL_BYTES ? file.len : PROBE_TAIL_BYTES;
        struct probe p = {.head = file, .name = "checkpoint", .size = file.len};
        assert_int_equal(probed[i].format->probe(&p) > 0, probed[i].by_head);
        p.tail = (struct bytes){file.at + file.len - tail, tail};
        assert_int_equal(probed[i].format->probe(&p) > 0, probed[i].at_all);
        for (size_t len = 0; len < file.len; len++) { /* no cut makes it read too far */
            uint8_t *cut = malloc(len + 1);
            memcpy(cut, file.at, len);
            p = (struct probe){{realloc(cut, len ? len : 1), len}, {0}, "x", len, NULL};
            probed[i].format->probe(&p);
            free((void *)p.head.at);
        }
    }
    table_release(&v2);
    table_release(&snappy);
    table_release(&other);
    table_release(&v1);
}

/* Not a bundle at all, or not this version: reported as such. */
TEST(other_tables)
{
    const struct {
        const char *name;
        struct bytes key, value;
        const char *want;
    } tables[] = {
        {"version 1", LITERAL(""), LITERAL("\x0A\x02\x12\x00"), "failed corrupt\n"},
        {"no header", LITERAL("a"), LITERAL("\x08\x01"), "failed unsupported\n"},
        {"header is no message", LITERAL(""), LITERAL("\x08"), "failed corrupt\n"},
    };
    for (size_t i = 0; i < sizeof(tables) / sizeof(tables[0]); i++) {
        print_message("%s\n", tables[i].name);
        struct table t = {0};
        struct directory d;
        struct text got = {0};
        table_add(&t, tables[i].key, tables[i].value);
        directory_open(&d);
        directory_write(&d, "t.index", table_finish(&t));
        index_and_print(&d, &got);
        assert_string_equal(text_str(&got), tables[i].want);
        text_release(&got);
        directory_close(&d);
        table_release(&t);
    }
}

/* Every byte of a message in turn, under a checksum that is right: nothing but a clean answer
 * comes out, and no tensor that lies outside its file. */
TEST(hostile_bytes)
{
    static const char value[] = "\x08\x01\x12\x08\x12\x02\x08\x02\x12\x02\x08\x03\x28\x18\x35"
                                "abcd\x3A\x06\x0A\x02\x10\x01\x0A\x00";
    for (size_t at = 0; at < sizeof(value) - 1; at++) {
        for (unsigned byte = 0; byte < 256; byte++) {
            char changed[sizeof(value)];
            memcpy(changed, value, sizeof(value));
            changed[at] = (char)byte;
            struct table t = {0};
            struct source *source = NULL;
            struct error err = {0}, ignored = {0};
            struct batch *b = NULL;
            put_header(&t, &(struct header){.shards = 1});
            table_add(&t, LITERAL("w"),
                      (struct bytes){(const uint8_t *)changed, sizeof(value) - 1});
            source_open_memory("/x/t.index", table_finish(&t), true, &source, &ignored);
            struct job_request request = {.format = &format_tf_bundle,
                                          .path = "/x/t.index",
                                          .checkpoint_path = "/x/t",
                                          .source = source};
            job_run_index(&request, &b, &err);
            assert_int_equal(err.status, OK);
            /* Its data file is not there: at most it says where the data should be. */
            for (uint64_t i = 0; i < b->layout->tensor_count; i++)
                assert_true(b->layout->tensors[i].storage == STORAGE_NONE ||
                            !b->files[b->layout->tensors[i].file].present);
            batch_free(b);
            table_release(&t);
        }
    }
}

RUN_TESTS(NULL, NULL)
