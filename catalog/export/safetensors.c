/*
 * safetensors.c - the file that Hugging Face's libraries load.
 *
 *   header_len  u64le, with the padding; at most 100,000,000
 *   header      JSON object, padded with spaces so that data begins at a multiple of 8:
 *               {"__metadata__":{...},NAME:{"dtype":"F32","shape":[2,3],
 *                "data_offsets":[begin,end]},...}  offsets count from the end of the header
 *   data        C order, little-endian, without gaps; ends with the file
 *
 * Source: the reference implementation, safetensors/src/tensor.rs. As there, data is
 * ordered by dtype, widest first, so that every tensor is aligned, then by name; the
 * header is in the same order. Keys of __metadata__ are sorted, so that equal content
 * gives equal files.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "catalog/export/export.h"

#define HEADER_MAX    ((size_t)100000000) /* the reference reader's */
#define HEADER_HUB    ((size_t)25000000)  /* where the tools of the Hub stop reading */
#define METADATA_NAME "__metadata__"
#define RANK_MAX      64
#define LENGTH_SIZE   8

/* In the order of the data. Quantised integers are written as the integers they are. */
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

/* PyTorch's pairs of 4-bit floats: the file states the shape of the single ones. */
static bool is_paired(const struct dtype *d)
{
    return strcmp(d->name, "float4_e2m1fn_x2") == 0;
}

static bool holds(const struct export_tensor *t, struct text *why, const char **instead)
{
    if (strcmp(t->name, METADATA_NAME) == 0)
        return !text_adds(why, "the format keeps its new name for itself");
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

static unsigned rank(const struct dtype *d)
{
    size_t i = spelling_of(d);
    return i < SPELLINGS ? spellings[i].order : 0;
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

static void add_tensor(struct text *out, const struct export_tensor *t)
{
    text_json(out, t->name, strlen(t->name));
    text_addf(out, ":{\"dtype\":\"%s\",\"shape\":[",
              spellings[spelling_of(&t->to)].spelling);
    for (unsigned d = 0; d < t->rank; d++) {
        unsigned long long size = t->shape[d];
        if (is_paired(&t->to) && d + 1 == t->rank)
            size *= 2;
        text_addf(out, d ? ",%llu" : "%llu", size);
    }
    unsigned long long end = t->offset + t->nbytes;
    text_addf(out, "],\"data_offsets\":[%llu,%llu]}", (unsigned long long)t->offset, end);
}

/* The length is known when the header is written, not while its bytes are counted. */
static bool begin(struct export_file *f, struct text *out)
{
    uint8_t len[LENGTH_SIZE];
    store_u64le(len, f->base - LENGTH_SIZE);
    text_add(out, len, sizeof(len));
    text_addc(out, '{');
    if (f->metadata)
        add_metadata(out, f->metadata);
    f->entries = 0;
    return !out->failed;
}

static bool entry(struct export_file *f, const struct export_tensor *t, struct text *out)
{
    text_adds(out, f->entries++ || f->metadata ? "," : "");
    add_tensor(out, t);
    return !out->failed;
}

static bool end(struct export_file *f, struct text *out)
{
    static const char spaces[LENGTH_SIZE] = "        ";
    text_addc(out, '}');
    text_add(out, spaces, (size_t)(f->base - f->table_len - 1));
    return !out->failed;
}

static enum status no_memory(const struct export_file *f, struct error *err)
{
    return error_set(err, ERR_MEMORY, f->path, NO_OFFSET, "no memory");
}

/* Offsets count from the end of the header; its bytes are counted on the way. */
static enum status place(struct export_file *f, struct export_tensor *t,
                         struct error *err)
{
    struct text text = {0};
    t->offset = f->data_end;
    t->lead_len = 0;
    if (!add_u64(f->data_end, t->nbytes, &f->data_end))
        return error_set(err, ERR_UNSUPPORTED, f->path, NO_OFFSET,
                         "more bytes than a file can have");
    bool ok = f->entries || begin(f, &text);
    if (!ok || !entry(f, t, &text))
        no_memory(f, err);
    f->table_len += text.len;
    text_release(&text);
    return err->status;
}

static enum status finish(struct export_file *f, struct error *err)
{
    uint64_t header = (f->table_len + 1 + 7) / 8 * 8 - LENGTH_SIZE;
    f->base = LENGTH_SIZE + header;
    if (header > HEADER_MAX)
        return error_set(
            err, ERR_UNSUPPORTED, f->path, NO_OFFSET,
            "its header would have more than %zu bytes, which no reader takes; "
            "use --names, --where or --shard-size",
            HEADER_MAX);
    if (!add_u64(f->base, f->data_end, &f->size))
        return error_set(err, ERR_UNSUPPORTED, f->path, NO_OFFSET,
                         "more bytes than a file can have");
    if (f->base > HEADER_HUB)
        snprintf(f->warning, sizeof(f->warning),
                 "the header has %llu bytes; tools of the Hugging Face Hub stop at %zu",
                 (unsigned long long)f->base, HEADER_HUB);
    return OK;
}

const struct exporter exporter_safetensors = {
    .name = "safetensors",
    .suffix = ".safetensors",
    .summary = "safetensors, as transformers and others load it",
    .holds = holds,
    .rank = rank,
    .place = place,
    .finish = finish,
    .begin = begin,
    .entry = entry,
    .end = end,
};
