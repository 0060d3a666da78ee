/*
 * export_gguf.c - GGUF, version 3, little-endian (gguf_header.h): what llama.cpp and its relatives load.
 *
 * In several files each is a complete one that says which it is; the first has the metadata:
 *   split.no, split.count    u16: the part's number, from 0, and how many there are
 *   split.tensors.count      i32: of all parts
 *
 * Data is in the order of the selection, each tensor at the next multiple of the alignment, as ggml
 * demands it, and so is the end of the file. Blocks of a source whose rows are not whole blocks (ComfyUI-GGUF
 * stores them as rows of another length) are written as rows again, with their shape as metadata.
 *
 * Source: ggml's gguf.cpp, llama.cpp's split files.
 */
#include <string.h>

#include "catalog/export/export_layout.h"
#include "catalog/export/format/gguf_facts.h"

#define VERSION       3
#define ALIGNMENT_MAX (UINT64_C(1) << 21) /* a huge page */
#define PARTS_MAX     UINT16_MAX
#define COMFY_ROW     256

/* --- what it holds ------------------------------------------------------------------------ */

/* Elements of a row as ggml sees it, whose first dimension must be whole blocks. */
static uint64_t row_of(const struct export_tensor *t)
{
    const uint64_t row = t->rank ? t->shape[t->rank - 1] : 1;
    if (row % t->to.block_elems == 0)
        return row;
    return t->elements % COMFY_ROW ? t->to.block_elems : COMFY_ROW;
}

static bool is_reshaped(const struct export_tensor *t)
{
    return t->to.block_elems > 1 && t->rank && t->shape[t->rank - 1] % t->to.block_elems;
}

/* A dtype that ggml has, and that holds these numbers. */
static const char *gguf_instead(const struct dtype *d)
{
    if (d->kind == DTYPE_BOOL || (dtype_is_integer(d) && d->bits < 8))
        return "int8";
    if (dtype_is_integer(d))
        return d->bits == 8 ? "int16" : d->bits == 16 ? "int32" : "int64";
    return d->kind == DTYPE_FLOAT || d->kind == DTYPE_BLOCK ? "float32" : export_dtype_instead(d);
}

static bool export_gguf_holds(const struct export_tensor *t, struct text *why, const char **instead)
{
    uint32_t type;
    const size_t len = strlen(t->name);
    if (len > GGML_NAME_MAX)
        return !text_addf(why, "its new name has %zu bytes, and ggml takes %d (--rename, --map)",
                          len, GGML_NAME_MAX);
    if (t->rank > GGML_RANK_MAX)
        return !text_addf(why, "%u dimensions; ggml has at most %d", t->rank, GGML_RANK_MAX);
    if (!gguf_type_of(t->to.name, &type)) {
        *instead = gguf_instead(&t->to);
        return !text_adds(why, "ggml has no such dtype");
    }
    for (unsigned d = 0; is_reshaped(t) && d < t->rank; d++)
        if (t->shape[d] > INT32_MAX || t->elements % t->to.block_elems)
            return !text_adds(why, "its rows are not whole blocks");
    return true;
}

/* --- the header --------------------------------------------------------------------------- */

/* A file, and the run of the plan's tensors in it. */
struct gguf_part {
    struct export_tensor *tensor;
    size_t count;
    uint32_t number, of;
    uint64_t alignment;
};

static void put_u32(struct text *out, uint32_t value)
{
    uint8_t word[4];
    store_u32le(word, value);
    text_add(out, word, sizeof(word));
}

static void put_u64(struct text *out, uint64_t value)
{
    uint8_t word[8];
    store_u64le(word, value);
    text_add(out, word, sizeof(word));
}

static void put_name(struct text *out, const char *prefix, const char *name)
{
    put_u64(out, strlen(prefix) + strlen(name));
    text_adds(out, prefix);
    text_adds(out, name);
}

/* A pair whose value is an integer of `len` bytes. */
static void put_number(struct text *out, const char *key, enum gguf_type type, uint64_t value,
                       size_t len)
{
    uint8_t word[8];
    store_u64le(word, value);
    put_name(out, "", key);
    put_u32(out, type);
    text_add(out, word, len);
}

static void put_shape(struct text *out, const struct export_tensor *t)
{
    put_name(out, GGUF_ORIG_SHAPE, t->name);
    put_u32(out, GGUF_ARRAY);
    put_u32(out, GGUF_I32);
    put_u64(out, t->rank);
    for (unsigned d = 0; d < t->rank; d++)
        put_u32(out, (uint32_t)t->shape[d]);
}

/* The pairs that are about this file. Returns how many. */
static uint64_t put_own_pairs(struct text *out, const struct gguf_part *part, uint64_t tensors)
{
    uint64_t count = 0;
    if (part->alignment != GGUF_ALIGNMENT) {
        put_number(out, GGUF_KEY_ALIGNMENT, GGUF_U32, part->alignment, 4);
        count++;
    }
    if (part->of > 1) {
        put_number(out, "split.no", GGUF_U16, part->number, 2);
        put_number(out, "split.count", GGUF_U16, part->of, 2);
        put_number(out, "split.tensors.count", GGUF_I32, tensors, 4);
        count += 3;
    }
    for (size_t i = 0; i < part->count; i++)
        if (is_reshaped(&part->tensor[i])) {
            put_shape(out, &part->tensor[i]);
            count++;
        }
    return count;
}

static void put_dimensions(struct text *out, const struct export_tensor *t)
{
    if (is_reshaped(t)) {
        put_u32(out, 2);
        put_u64(out, row_of(t));
        put_u64(out, t->elements / row_of(t));
        return;
    }
    put_u32(out, t->rank);
    for (unsigned d = t->rank; d-- > 0;)
        put_u64(out, t->shape[d]);
}

static uint64_t aligned(uint64_t bytes, uint64_t alignment)
{
    return bytes + -bytes % alignment;
}

/* The table of tensors. */
static void put_infos(struct export_layout *l, const struct gguf_part *part)
{
    struct text text = {0};
    uint64_t offset = 0;
    for (size_t i = 0; i < part->count && lay_ok(l); i++) {
        const struct export_tensor *t = &part->tensor[i];
        uint32_t type = 0;
        gguf_type_of(t->to.name, &type);
        put_name(&text, "", t->name);
        put_dimensions(&text, t);
        put_u32(&text, type);
        put_u64(&text, offset);
        lay_add(l, &text);
        if (!add_u64(offset, t->nbytes, &offset) || offset > INT64_MAX)
            error_set(l->err, ERR_UNSUPPORTED, l->path, NO_OFFSET,
                      "more bytes than a file can have");
        offset = aligned(offset, part->alignment);
    }
    text_release(&text);
}

static void put_header(struct export_layout *l, const struct gguf_part *part)
{
    const struct export_description *facts = &l->options->description;
    const bool first = part->number == 0;
    struct text head = {0}, own = {0};
    const uint64_t count = put_own_pairs(&own, part, l->plan->count);
    text_adds(&head, "GGUF");
    put_u32(&head, VERSION);
    put_u64(&head, part->count);
    put_u64(&head, count + (first ? facts->count : 0));
    lay_add(l, &head);
    if (first && facts->bytes.len)
        lay_text(l, facts->bytes.at, facts->bytes.len);
    lay_add(l, &own);
    put_infos(l, part);
    lay_zeros(l, -l->at % part->alignment);
    text_release(&head);
    text_release(&own);
}

/* --- files -------------------------------------------------------------------------------- */

static void put_part(struct export_layout *l, const struct gguf_part *part)
{
    lay_file(l, lay_part_path(l, part->number, part->of));
    put_header(l, part);
    for (size_t i = 0; i < part->count && lay_ok(l); i++) {
        part->tensor[i].lead_len = 0;
        lay_tensor(l, &part->tensor[i]);
        lay_zeros(l, -l->at % part->alignment);
    }
}

static uint64_t alignment_of(const struct export_layout *l)
{
    const char *text = export_setting(l->options, "alignment");
    const uint64_t alignment = text ? export_size(text) : GGUF_ALIGNMENT;
    if (!alignment || (alignment & (alignment - 1)) || alignment > ALIGNMENT_MAX)
        error_set(l->err, ERR_ARGUMENT, NULL, NO_OFFSET,
                  "--option alignment=%.40s: not a power of two up to %llu", text,
                  (unsigned long long)ALIGNMENT_MAX);
    return alignment;
}

/* The first file is named last: whoever opens it finds the others. */
static void export_gguf_lay_out(struct export_layout *l)
{
    const uint32_t count = lay_parts(l);
    struct gguf_part part = {.alignment = alignment_of(l), .of = count};
    size_t *ends = arena_array(l->arena, count, sizeof(*ends));
    if (count > PARTS_MAX)
        error_set(l->err, ERR_ARGUMENT, l->path, NO_OFFSET,
                  "%u parts, and llama.cpp counts to %d: a larger --shard-size makes fewer", count,
                  PARTS_MAX);
    for (size_t i = 0; ends && i < l->plan->count; i++)
        ends[l->plan->tensor[i].file] = i + 1;
    for (uint32_t i = 1; ends && i <= count && lay_ok(l); i++) {
        part.number = i % count;
        const size_t begin = part.number ? ends[part.number - 1] : 0;
        part.tensor = l->plan->tensor + begin;
        part.count = ends[part.number] - begin;
        put_part(l, &part);
    }
}

static const struct export_setting settings[] = {
    {"alignment", "N", "bytes, a power of two; 32"},
    {NULL, NULL, NULL},
};

const struct exporter exporter_gguf = {
    .name = "gguf",
    .suffix = ".gguf",
    .summary = "GGUF, as llama.cpp loads it",
    .settings = settings,
    .parts = true,
    .keeps_metadata = true,
    .describe = gguf_describe,
    .holds = export_gguf_holds,
    .lay_out = export_gguf_lay_out,
};
