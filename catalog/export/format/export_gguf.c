/*
 * export_gguf.c - GGUF, version 3, little-endian (gguf_header.h): what llama.cpp and its relatives load.
 *
 * Of several files, each is complete and says which it is; the first has the metadata:
 *   split.no, split.count    u16: the part's number, from 0, and how many there are
 *   split.tensors.count      i32: of all parts
 *
 * Data is in the order of the selection, each tensor at the next multiple of the alignment, as ggml
 * demands it, and so is the end of the file. Blocks of a source whose rows are not whole blocks (ComfyUI-GGUF
 * stores them as rows of another length) are written as rows again, with their shape as metadata.
 *
 * Source: ggml's gguf.cpp, llama.cpp's split files.
 */
#include <stdlib.h>
#include <string.h>

#include "catalog/base/list.h"
#include "catalog/export/export_layout.h"
#include "catalog/export/format/gguf_facts.h"
#include "catalog/export/format/gguf_header.h"
#include "catalog/maps/regex/regex.h"

#define VERSION       3
#define ALIGNMENT_MAX (UINT64_C(1) << 21) /* a huge page */
#define PARTS_MAX     UINT16_MAX
#define COMFY_ROW     256

/* --- what it holds ------------------------------------------------------------------------ */

/* Elements of a row as ggml sees it, whose first dimension must be whole blocks. */
static uint64_t innermost(const struct export_tensor *t)
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
    if (strlen(t->name) > GGML_NAME_MAX)
        return !text_addf(why, "its new name has more than the %d bytes of ggml (--rename, --map)",
                          GGML_NAME_MAX);
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

/* --- quantising --------------------------------------------------------------------------- */

/* --option quantize=TYPE[:REGEX] */
struct quantizing {
    const char *text;
    struct dtype to;
    struct regex *regex; /* NULL: all that can be */
    bool used;
};

/* The types of the option: blocks that numbers can become, and the floats of ggml. */
static bool is_target(const struct dtype *d)
{
    struct dtype single;
    struct converter c;
    struct error why = {.offset = NO_OFFSET};
    uint32_t type;
    dtype_find("float32", &single);
    return (d->kind == DTYPE_BLOCK || d->kind == DTYPE_FLOAT) && gguf_type_of(d->name, &type) &&
           converter_find(&single, d, &c, &why) == OK;
}

static void refuse_target(const char *text, int len, struct error *err)
{
    struct text known = {0};
    const struct dtype *d;
    for (size_t i = 0; (d = dtype_at(i)); i++)
        if (is_target(d))
            text_addf(&known, "%s%s", known.len ? ", " : "", d->name);
    error_set(err, ERR_ARGUMENT, NULL, NO_OFFSET,
              "--option quantize=%.100s: %.*s is no type to quantise to (%s)", text, len, text,
              text_str(&known) ? known.at : "");
    text_release(&known);
}

static void read_quantizing(struct quantizing *q, const char *text, struct arena *arena,
                            struct error *err)
{
    const char *colon = strchr(text, ':');
    const size_t len = colon ? (size_t)(colon - text) : strlen(text);
    const char *type = arena_copy(arena, text, len);
    struct error why = {.offset = NO_OFFSET};
    *q = (struct quantizing){.text = text};
    if (err->status != OK)
        return;
    dtype_called(type, &q->to);
    if (!is_target(&q->to))
        refuse_target(text, (int)(len < 60 ? len : 60), err);
    else if (colon && regex_compile(colon + 1, strlen(colon + 1), REGEX_SEARCH, &q->regex, &why))
        error_set(err, ERR_ARGUMENT, NULL, NO_OFFSET, "--option quantize=%.200s: %s", text,
                  why.message);
}

/* The first whose regex matches, else the one without, where this tensor's rows are whole blocks. */
static struct quantizing *quantizing_of(struct quantizing *q, size_t count,
                                        const struct export_tensor *t, struct error *err)
{
    const uint64_t row = t->rank ? t->shape[t->rank - 1] : 1;
    struct quantizing *rest = NULL;
    for (size_t i = 0; i < count && err->status == OK; i++) {
        if (!q[i].regex)
            rest = &q[i];
        else if (regex_exec(q[i].regex, t->name, strlen(t->name), 0, err) > 0)
            return &q[i];
    }
    return rest && t->rank > 1 && row % rest->to.block_elems == 0 ? rest : NULL;
}

/* Vectors become float32, as in llama.cpp's converters, unless --dtype says otherwise. */
static void quantize(struct export_plan *p, struct quantizing *q, size_t count, struct error *err)
{
    for (size_t i = 0; i < p->count && err->status == OK; i++) {
        struct export_tensor *t = &p->tensor[i];
        if (t->to.kind != DTYPE_FLOAT && t->to.kind != DTYPE_BLOCK)
            continue;
        struct quantizing *mine = quantizing_of(q, count, t, err);
        if (mine) {
            t->to = mine->to;
            mine->used = true;
        } else if (t->rank < 2 && !p->cast) {
            dtype_find("float32", &t->to);
        }
    }
    for (size_t i = 0; i < count && err->status == OK; i++)
        if (!q[i].used)
            refuse(&p->left_out, "--option quantize=%s: no tensor of floats is left for it",
                   q[i].text);
}

static void export_gguf_retype(struct export_plan *p, const char *const *stated, struct error *err)
{
    struct quantizing *q = NULL, *rest = NULL;
    size_t count = 0, space = 0;
    p->arena.err = err;
    for (; stated && *stated && err->status == OK; stated += 2) {
        struct quantizing one;
        if (strcmp(*stated, "quantize") != 0)
            continue;
        read_quantizing(&one, stated[1], &p->arena, err);
        *LIST_PUSH(err, q, count, space) = one;
    }
    for (size_t i = 0; i < count && err->status == OK; i++) {
        if (!q[i].regex && rest && strcmp(rest->to.name, q[i].to.name) != 0)
            error_set(err, ERR_ARGUMENT, NULL, NO_OFFSET,
                      "--option quantize=%.100s contradicts --option quantize=%.100s", q[i].text,
                      rest->text);
        rest = q[i].regex ? rest : &q[i];
    }
    if (count && err->status == OK)
        quantize(p, q, count, err);
    for (size_t i = 0; i < count; i++)
        regex_free(q[i].regex);
    free(q);
}

/* --- the header --------------------------------------------------------------------------- */

/* A file, and the run of the plan's tensors in it. */
struct gguf_part {
    struct export_tensor *tensor;
    size_t count;
    uint32_t number, of;
    uint64_t alignment;
    const struct export_description *facts; /* that the first has */
};

static void put_name(struct text *out, const char *prefix, const char *name)
{
    text_le(out, strlen(prefix) + strlen(name), 8);
    text_adds(out, prefix);
    text_adds(out, name);
}

/* A pair whose value is an integer of `len` bytes. */
static void put_fact(struct text *out, const char *key, enum gguf_type type, uint64_t value,
                     size_t len)
{
    put_name(out, "", key);
    text_le(out, type, 4);
    text_le(out, value, len);
}

static void put_shape(struct text *out, const struct export_tensor *t)
{
    put_name(out, GGUF_ORIG_SHAPE, t->name);
    text_le(out, GGUF_ARRAY, 4);
    text_le(out, GGUF_I32, 4);
    text_le(out, t->rank, 8);
    for (unsigned d = 0; d < t->rank; d++)
        text_le(out, (uint32_t)t->shape[d], 4);
}

/* The pairs that are about this file. Returns how many. */
static uint64_t put_own_pairs(struct text *out, const struct gguf_part *part, uint64_t tensors)
{
    uint64_t count = 0;
    if (part->alignment != GGUF_ALIGNMENT) {
        put_fact(out, GGUF_KEY_ALIGNMENT, GGUF_U32, part->alignment, 4);
        count++;
    }
    if (part->of > 1) {
        put_fact(out, "split.no", GGUF_U16, part->number, 2);
        put_fact(out, "split.count", GGUF_U16, part->of, 2);
        put_fact(out, "split.tensors.count", GGUF_I32, tensors, 4);
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
        text_le(out, 2, 4);
        text_le(out, innermost(t), 8);
        text_le(out, t->elements / innermost(t), 8);
        return;
    }
    text_le(out, t->rank, 4);
    for (unsigned d = t->rank; d-- > 0;)
        text_le(out, t->shape[d], 8);
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
        text_le(&text, type, 4);
        text_le(&text, offset, 8);
        lay_add(l, &text);
        if (!add_u64(offset, t->nbytes, &offset) || offset > INT64_MAX)
            error_set(l->err, ERR_UNSUPPORTED, l->path, NO_OFFSET,
                      "more bytes than a file can have");
        offset += -offset % part->alignment;
    }
    if (part->facts && part->facts->tensor) {
        put_name(&text, "", part->facts->tensor);
        text_le(&text, 1, 4);
        text_le(&text, part->facts->values.len / 4, 8);
        text_le(&text, 0, 4); /* float32 */
        text_le(&text, offset, 8);
        lay_add(l, &text);
    }
    text_release(&text);
}

static void put_part_header(struct export_layout *l, const struct gguf_part *part)
{
    const struct export_description *facts = part->facts;
    const bool more = l->options->description.tensor;
    struct text head = {0}, own = {0};
    const uint64_t count = put_own_pairs(&own, part, l->plan->count + more);
    text_adds(&head, "GGUF");
    text_le(&head, VERSION, 4);
    text_le(&head, part->count + (facts && more), 8);
    text_le(&head, count + (facts ? facts->count : 0), 8);
    lay_add(l, &head);
    if (facts && facts->bytes.len)
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
    put_part_header(l, part);
    for (size_t i = 0; i < part->count && lay_ok(l); i++) {
        part->tensor[i].lead_len = 0;
        lay_tensor(l, &part->tensor[i]);
        lay_zeros(l, -l->at % part->alignment);
    }
    if (part->facts && part->facts->tensor) {
        lay_text(l, part->facts->values.at, part->facts->values.len);
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

/* The first file is named last: by then the others are there. */
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
        part.facts = part.number ? NULL : &l->options->description;
        put_part(l, &part);
    }
}

static const struct export_setting settings[] = {
    {"alignment", "N", "bytes, a power of two; 32"},
    {"quantize", "TYPE[:REGEX]",
     "q8_0, q4_k, ...: the tensors whose new names match, else all matrices"},
    {NULL, NULL, NULL},
};

const struct exporter exporter_gguf = {
    .name = "gguf",
    .suffix = ".gguf",
    .summary = "GGUF, as llama.cpp loads it",
    .settings = settings,
    .repeats = "quantize",
    .parts = true,
    .keeps_metadata = true,
    .describe = gguf_describe,
    .retype = export_gguf_retype,
    .holds = export_gguf_holds,
    .lay_out = export_gguf_lay_out,
};
