/*
 * export_safetensors.c - the file that Hugging Face's libraries load.
 *
 *   header_len  u64le, with the padding; at most 100,000,000
 *   header      JSON object, padded with spaces so that data begins at a multiple of 8; large tensors that
 *               do not change lie in blocks of the disk as in their source:
 *               {"__metadata__":{...},NAME:{"dtype":"F32","shape":[2,3],
 *                "data_offsets":[begin,end]},...}  offsets count from the end of the header
 *   data        C order, little-endian, without gaps; ends with the file
 *
 * Source: the reference implementation, safetensors/src/tensor.rs. As there, data is ordered by
 * dtype, widest first, so that every tensor is aligned, then by name; the header is in the same
 * order. Keys of __metadata__ are sorted, so that equal content gives equal files.
 */
#include <stdio.h>
#include <string.h>

#include "catalog/export/export_layout.h"

#define HEADER_MAX    ((size_t)100000000) /* of the reference reader */
#define HEADER_HUB    ((size_t)25000000)  /* above it, tools of the Hub refuse to read */
#define METADATA_NAME "__metadata__"
#define RANK_MAX      64
#define LENGTH_SIZE   8
#define NO_SHIFT      UINT64_MAX

/* Sorted by the order of the data. Quantised integers are written as plain integers. */
static const struct {
    const char *dtype, *spelling;
    unsigned order;
} spellings[] = {
    {"uint64", "U64", 0},
    {"int64", "I64", 1},
    {"float64", "F64", 2},
    {"complex64", "C64", 3},
    {"float32", "F32", 4},
    {"uint32", "U32", 5},
    {"int32", "I32", 6},
    {"qint32", "I32", 6},
    {"bfloat16", "BF16", 7},
    {"float16", "F16", 8},
    {"uint16", "U16", 9},
    {"quint16", "U16", 9},
    {"int16", "I16", 10},
    {"qint16", "I16", 10},
    {"float8_e5m2fnuz", "F8_E5M2FNUZ", 11},
    {"float8_e4m3fnuz", "F8_E4M3FNUZ", 12},
    {"float8_e8m0fnu", "F8_E8M0", 13},
    {"float8_e4m3fn", "F8_E4M3", 14},
    {"float8_e5m2", "F8_E5M2", 15},
    {"int8", "I8", 16},
    {"qint8", "I8", 16},
    {"uint8", "U8", 17},
    {"quint8", "U8", 17},
    {"float6_e3m2fn", "F6_E3M2", 18},
    {"float6_e2m3fn", "F6_E2M3", 19},
    {"float4_e2m1fn", "F4", 20},
    {"float4_e2m1fn_x2", "F4", 20},
    {"bool", "BOOL", 21},
};

#define SPELLINGS (sizeof(spellings) / sizeof(spellings[0]))

static size_t spelling_of(const struct dtype *d)
{
    size_t i = 0;
    while (i < SPELLINGS && strcmp(spellings[i].dtype, d->name) != 0)
        i++;
    return i;
}

/* PyTorch packs two 4-bit floats into an element; the file states the shape in single floats. */
static bool is_paired(const struct dtype *d)
{
    return strcmp(d->name, "float4_e2m1fn_x2") == 0;
}

static bool export_safetensors_holds(const struct export_tensor *t, struct text *why,
                                     const char **instead)
{
    if (strcmp(t->name, METADATA_NAME) == 0)
        return !text_adds(why, "the format keeps its new name for itself (--rename, --map)");
    if (t->rank > RANK_MAX)
        return !text_addf(why, "%u dimensions; at most %d", t->rank, RANK_MAX);
    if (spelling_of(&t->to) == SPELLINGS) {
        *instead = export_dtype_instead(&t->to);
        return !text_adds(why, "safetensors has no such dtype");
    }
    if (is_paired(&t->to) && !t->rank)
        return !text_adds(why, "a pair of 4-bit floats without a dimension");
    if (t->to.bits % 8 && t->elements % 8 * t->to.bits % 8)
        return !text_adds(why, "its elements do not fill whole bytes");
    return true;
}

/* The order of the data. */
static int by_file_and_dtype(const struct export_tensor *a, const struct export_tensor *b)
{
    const unsigned p = spellings[spelling_of(&a->to)].order,
                   q = spellings[spelling_of(&b->to)].order;
    if (a->file != b->file)
        return a->file < b->file ? -1 : 1;
    return p != q ? (p < q ? -1 : 1) : export_by_name(a, b);
}

static void add_metadata(struct text *out, const char *const *metadata)
{
    text_adds(out, "\"" METADATA_NAME "\":{");
    for (size_t i = 0; metadata[i]; i += 2) {
        text_adds(out, i ? "," : "");
        text_json(out, metadata[i], strlen(metadata[i]));
        text_addc(out, ':');
        text_json(out, metadata[i + 1], strlen(metadata[i + 1]));
    }
    text_addc(out, '}');
}

static void export_safetensors_add_tensor(struct text *out, const struct export_tensor *t,
                                          uint64_t offset)
{
    text_json(out, t->name, strlen(t->name));
    text_addf(out, ":{\"dtype\":\"%s\",\"shape\":[", spellings[spelling_of(&t->to)].spelling);
    for (unsigned d = 0; d < t->rank; d++) {
        unsigned long long size = t->shape[d];
        if (is_paired(&t->to) && d + 1 == t->rank)
            size *= 2;
        text_addf(out, d ? ",%llu" : "%llu", size);
    }
    unsigned long long begin = offset, end = offset + t->nbytes;
    text_addf(out, "],\"data_offsets\":[%llu,%llu]}", begin, end);
}

/* The tensors of one file, in the order of their data. */
struct part {
    struct export_tensor **tensor;
    size_t count;
};

/* Lay out the JSON object. Its data offsets count from the end of the header. */
static void put_entries(struct export_layout *l, const struct part *part)
{
    const char *const *metadata = l->options->metadata;
    struct text text = {0};
    uint64_t offset = 0;
    text_addc(&text, '{');
    if (metadata && *metadata)
        add_metadata(&text, metadata);
    const char *comma = text.len > 1 ? "," : "";
    for (size_t i = 0; i < part->count && lay_ok(l); i++) {
        const struct export_tensor *t = part->tensor[i];
        text_adds(&text, comma);
        export_safetensors_add_tensor(&text, t, offset);
        lay_add(l, &text);
        if (!add_u64(offset, t->nbytes, &offset))
            error_set(l->err, ERR_UNSUPPORTED, l->path, NO_OFFSET,
                      "more bytes than a file can have");
        comma = ",";
    }
    text_addc(&text, '}');
    lay_add(l, &text);
    text_release(&text);
}

/* How many bytes the data should begin after a multiple of a block, so that most blocks hold what they do
 * in its source, where it may be shared. */
static uint64_t shift_of(const struct part *part)
{
    uint64_t bytes[LAY_BLOCK / LENGTH_SIZE] = {0}, at = 0, best = 0;
    for (size_t i = 0; i < part->count; at += part->tensor[i++]->nbytes) {
        const struct export_tensor *t = part->tensor[i];
        const uint64_t shift = (t->source_offset - at) % LAY_BLOCK;
        if (lay_shares(t) && shift % LENGTH_SIZE == 0)
            bytes[shift / LENGTH_SIZE] += t->nbytes;
    }
    for (uint64_t i = 1; i < LAY_BLOCK / LENGTH_SIZE; i++)
        if (bytes[i] > bytes[best])
            best = i;
    return bytes[best] ? best * LENGTH_SIZE : NO_SHIFT;
}

static void put_header(struct export_layout *l, const struct part *part)
{
    char spaces[LAY_BLOCK];
    uint8_t len[LENGTH_SIZE];
    const uint64_t shift = shift_of(part);
    memset(spaces, ' ', sizeof(spaces));
    lay_zeros(l, LENGTH_SIZE);
    put_entries(l, part);
    lay_text(l, spaces,
             (size_t)(shift == NO_SHIFT ? -l->at % LENGTH_SIZE : (shift - l->at) % LAY_BLOCK));
    store_u64le(len, l->at - LENGTH_SIZE);
    lay_fill(l, 0, len, sizeof(len));
    if (lay_ok(l) && l->at - LENGTH_SIZE > HEADER_MAX)
        error_set(l->err, ERR_UNSUPPORTED, l->path, NO_OFFSET,
                  "its header would have more than %zu bytes, which no reader takes; "
                  "use --names, --where or --shard-size",
                  HEADER_MAX);
    if (l->at > HEADER_HUB && l->options->warning)
        snprintf(l->options->warning, EXPORT_WARNING_BYTES,
                 "the header has %llu bytes; tools of the Hugging Face Hub stop at %zu",
                 (unsigned long long)l->at, HEADER_HUB);
}

static void put_part(struct export_layout *l, const struct part *part, const char *path)
{
    lay_file(l, path);
    put_header(l, part);
    for (size_t i = 0; i < part->count && lay_ok(l); i++) {
        part->tensor[i]->lead_len = 0;
        lay_tensor(l, part->tensor[i]);
    }
}

static void export_safetensors_lay_out(struct export_layout *l)
{
    const uint32_t count = lay_parts(l);
    const char **paths = arena_array(l->arena, count, sizeof(*paths));
    struct export_tensor **order = export_order(l->plan, by_file_and_dtype, l->err);
    struct part part = {order, 0};
    for (uint32_t i = 0; i < count && lay_ok(l); i++, part.tensor += part.count) {
        size_t left = l->plan->count - (size_t)(part.tensor - order);
        for (part.count = 0; left && part.tensor[part.count]->file == i; left--)
            part.count++;
        paths[i] = lay_part_path(l, i, count);
        put_part(l, &part, paths[i]);
    }
    if (count > 1)
        lay_index(l, paths);
}

/* transformers refuses a file without it. */
static const char *const own_metadata[] = {"format", "pt", NULL};

const struct exporter exporter_safetensors = {
    .name = "safetensors",
    .suffix = ".safetensors",
    .summary = "safetensors, as transformers and others load it",
    .parts = true,
    .keeps_metadata = true,
    .own_metadata = own_metadata,
    .holds = export_safetensors_holds,
    .lay_out = export_safetensors_lay_out,
};
