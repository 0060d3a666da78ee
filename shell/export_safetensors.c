/*
 * export_safetensors.c - the file that Hugging Face's libraries load.
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

#include "shell/export.h"

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
    {"uint64",           "U64",         0 },
    {"int64",            "I64",         1 },
    {"float64",          "F64",         2 },
    {"complex64",        "C64",         3 },
    {"float32",          "F32",         4 },
    {"uint32",           "U32",         5 },
    {"int32",            "I32",         6 },
    {"qint32",           "I32",         6 },
    {"bfloat16",         "BF16",        7 },
    {"float16",          "F16",         8 },
    {"uint16",           "U16",         9 },
    {"quint16",          "U16",         9 },
    {"int16",            "I16",         10},
    {"qint16",           "I16",         10},
    {"float8_e5m2fnuz",  "F8_E5M2FNUZ", 11},
    {"float8_e4m3fnuz",  "F8_E4M3FNUZ", 12},
    {"float8_e8m0fnu",   "F8_E8M0",     13},
    {"float8_e4m3fn",    "F8_E4M3",     14},
    {"float8_e5m2",      "F8_E5M2",     15},
    {"int8",             "I8",          16},
    {"qint8",            "I8",          16},
    {"uint8",            "U8",          17},
    {"quint8",           "U8",          17},
    {"float6_e3m2fn",    "F6_E3M2",     18},
    {"float6_e2m3fn",    "F6_E2M3",     19},
    {"float4_e2m1fn",    "F4",          20},
    {"float4_e2m1fn_x2", "F4",          20},
    {"bool",             "BOOL",        21},
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

/* While they are sorted, `offset` is the place of the dtype. */
static int compare(const void *a, const void *b)
{
    const struct export_tensor *x = *(struct export_tensor *const *)a;
    const struct export_tensor *y = *(struct export_tensor *const *)b;
    if (x->offset != y->offset)
        return x->offset < y->offset ? -1 : 1;
    return strcmp(x->name, y->name);
}

static void sort(struct export_file *f)
{
    for (uint64_t i = 0; i < f->count; i++)
        f->tensors[i]->offset = spellings[spelling_of(&f->tensors[i]->to)].order;
    qsort(f->tensors, (size_t)f->count, sizeof(struct export_tensor *), compare);
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

/* Offsets from the end of the header, which is not known yet. */
static bool place(struct export_file *f, uint64_t *end)
{
    *end = 0;
    for (uint64_t i = 0; i < f->count; i++) {
        f->tensors[i]->offset = *end;
        if (!add_u64(*end, f->tensors[i]->nbytes, end))
            return false;
    }
    return true;
}

static void make_header(struct export_file *f, struct text *header)
{
    text_add(header, "\0\0\0\0\0\0\0", LENGTH_SIZE);
    text_addc(header, '{');
    if (f->metadata)
        add_metadata(header, f->metadata);
    for (uint64_t i = 0; i < f->count; i++) {
        text_adds(header, i || f->metadata ? "," : "");
        add_tensor(header, f->tensors[i]);
    }
    text_addc(header, '}');
    while (header->len % 8 && text_addc(header, ' '))
        continue;
    if (!header->failed)
        store_u64le(header->at, header->len - LENGTH_SIZE);
}

static enum status layout(struct export_file *f, struct error *err)
{
    uint64_t end;
    sort(f);
    if (!place(f, &end) || !add_u64(LENGTH_SIZE + HEADER_MAX, end, &f->size))
        return error_set(err, ERR_UNSUPPORTED, f->path, NO_OFFSET,
                         "more bytes than a file can have");
    f->head.limit = LENGTH_SIZE + HEADER_MAX;
    make_header(f, &f->head);
    if (f->head.failed)
        return error_set(
            err, ERR_UNSUPPORTED, f->path, NO_OFFSET,
            "its header would have more than %zu bytes, which no reader takes; "
            "use --names, --where or --shard-size",
            HEADER_MAX);
    if (f->head.len > HEADER_HUB)
        snprintf(f->warning, sizeof(f->warning),
                 "the header has %zu bytes; tools of the Hugging Face Hub stop at %zu",
                 f->head.len, HEADER_HUB);
    f->size = f->head.len + end;
    for (uint64_t i = 0; i < f->count; i++)
        f->tensors[i]->offset += f->head.len;
    return OK;
}

const struct exporter exporter_safetensors = {
    .name = "safetensors",
    .suffix = ".safetensors",
    .summary = "safetensors, as transformers and others load it",
    .holds = holds,
    .layout = layout,
};
