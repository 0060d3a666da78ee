/*
 * flax_leaf.c - leaves of a Flax tree as tensors, nodes and facts.
 *
 * dtypes have the names that NumPy and ml_dtypes give them. Elements of less than 8 bits take one
 * byte each. NumPy names fixed-length texts by their bits: str96 is three characters of 4 bytes,
 * bytes24 is three bytes; void16 is two bytes without a meaning.
 */
#include "importer/container/flax_leaf.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "catalog/data/model/step.h"

#define FACT_TEXT_MOST ((uint64_t)1 << 20) /* bytes of one text that becomes a fact */
#define BOXES_FREE     ((uint64_t)1 << 20) /* bytes for the places of an array's pieces */

/* The arguments of "%.*s" for a name in a message, cut to 200 bytes. */
#define SHOWN(leaf) (int)((leaf)->name_len < 200 ? (leaf)->name_len : 200), (leaf)->name

/* --- dtypes ----------------------------------------------------------------------------- */

/* Whether the dtype is a fixed-length text like "str96" or "bytes24"; *codec then is the step that
 * decodes it: "strings:U3", "strings:S3". */
static bool find_text(const char *name, char *codec, size_t space, uint64_t *width)
{
    bool wide = strncmp(name, "str", 3) == 0;
    const char *digits = name + (wide ? 3 : 5);
    unsigned unit = wide ? 32 : 8;
    if (!wide && strncmp(name, "bytes", 5) != 0)
        return false;
    unsigned long bits = *digits >= '1' && *digits <= '9' ? strtoul(digits, NULL, 10) : 0;
    if (strlen(digits) > 8 || digits[strspn(digits, "0123456789")] || !bits || bits % unit)
        return false;
    *width = bits / 8;
    snprintf(codec, space, "strings:%c%lu", wide ? 'U' : 'S', bits / unit);
    return true;
}

static bool flax_leaf_is_plain(enum dtype_kind kind)
{
    return kind == DTYPE_BOOL || kind == DTYPE_INT || kind == DTYPE_UINT || kind == DTYPE_FLOAT ||
           kind == DTYPE_COMPLEX || kind == DTYPE_TIME || kind == DTYPE_VOID;
}

const char *flax_dtype(struct job *job, const char *name, const char **codec, uint64_t *width)
{
    char step[32] = "", unknown[FLAX_DTYPE_MAX + 16];
    struct dtype found;
    dtype_find(name, &found);
    *codec = NULL;
    *width = 0;
    if (find_text(name, step, sizeof(step), width)) {
        dtype_find(name = "string", &found);
    } else if (flax_leaf_is_plain(found.kind) && dtype_sized(&found)) {
        *width = found.bits < 8 ? 1 : found.bits / 8u;
        if (found.bits < 8)
            snprintf(step, sizeof(step), "unpack:%u", found.bits);
    } else {
        snprintf(unknown, sizeof(unknown), "unknown(%.*s)", FLAX_DTYPE_MAX, name);
        name = unknown;
    }
    if (step[0])
        *codec = arena_copy(job->arena, step, strlen(step));
    bool constant = found.kind != DTYPE_UNKNOWN && found.name != name;
    return constant ? found.name : arena_copy(job->arena, name, strlen(name));
}

/* --- chunked arrays --------------------------------------------------------------------- */

/* The boxes of a chunked array, as extents. */
struct boxes {
    struct flax_sink *sink;
    const struct flax_array *array;
    uint64_t stride[FLAX_RANK_MAX]; /* elements per step in each dimension */
    struct extent *list;
    size_t count, space;
};

/* Append the box of `count` steps in dimension `d`, and all of the later ones, that begins at
 * flat index `first`. */
static struct extent *add_box(struct boxes *b, uint64_t first, unsigned d, uint64_t count)
{
    const struct flax_array *a = b->array;
    struct arena *arena = b->sink->job->arena;
    uint64_t *origin = arena_array(arena, 2 * (size_t)a->rank, sizeof(*origin));
    if (!origin)
        return list_scratch();
    struct extent *e = PUSH(arena, b->list, b->count, b->space);
    *e = (struct extent){.file = b->sink->file, .origin = origin, .shape = origin + a->rank};
    for (unsigned i = 0; i < a->rank; i++) {
        e->origin[i] = first / b->stride[i];
        e->shape[i] = i < d ? 1 : i == d ? count : a->shape[i];
        first %= b->stride[i];
    }
    b->sink->box_bytes += sizeof(*e) + 2 * (uint64_t)a->rank * sizeof(*origin);
    return e;
}

/*
 * Cut a flat run of elements into boxes, each the largest that begins where the last one ended.
 * There are at most two for each dimension. The run of elements 5 to 21 of shape [3,3,3] gives:
 *
 *   5         [0,1,2] shape [1,1,1]   to the end of a row
 *   6 to 8    [0,2,0] shape [1,1,3]   to the end of a matrix
 *   9 to 17   [1,0,0] shape [1,3,3]   whole matrices
 *   18 to 20  [2,0,0] shape [1,1,3]   whole rows
 *   21        [2,1,0] shape [1,1,1]   the rest
 */
static void flax_leaf_add_run(struct boxes *b, const struct flax_run *run, uint64_t first,
                              uint64_t width)
{
    const struct flax_array *a = b->array;
    uint64_t offset = run->offset;
    for (uint64_t left = run->elements; left;) {
        unsigned d = 0;
        while (d + 1 < a->rank && (first % b->stride[d] || b->stride[d] > left))
            d++;
        uint64_t steps = a->rank ? left / b->stride[d] : 1;
        uint64_t rest = a->rank ? a->shape[d] - first / b->stride[d] % a->shape[d] : 1;
        uint64_t count = steps < rest ? steps : rest;
        uint64_t elements = a->rank ? count * b->stride[d] : 1;
        struct extent *e = add_box(b, first, d, count);
        e->offset = offset;
        e->stored = elements * width;
        offset += elements * width;
        first += elements;
        left -= elements;
    }
}

/* NULL if the chunks fit the array, else what is wrong with them. */
static const char *check_chunks(const struct flax_array *a, uint64_t elements, uint64_t width)
{
    uint64_t sum = 0, bytes;
    for (uint64_t i = 0; i < a->run_count; i++)
        if (!add_u64(sum, a->runs[i].elements, &sum) ||
            !mul_u64(a->runs[i].elements, width, &bytes) || bytes != a->runs[i].len)
            return "has a chunk whose bytes are not what its shape and dtype need";
    return sum == elements ? NULL : "has chunks that do not cover it";
}

static void claim_chunks(struct flax_sink *s, const struct flax_array *a, uint64_t width,
                         struct tensor_claim *t)
{
    struct boxes b = {.sink = s, .array = a};
    uint64_t stride = 1, first = 0;
    uint64_t most = BOXES_FREE + s->source->size * 8;
    for (unsigned d = a->rank; d-- > 0;) {
        b.stride[d] = stride;
        stride *= a->shape[d];
    }
    for (uint64_t i = 0; i < a->run_count; i++) {
        flax_leaf_add_run(&b, &a->runs[i], first, width);
        if (s->box_bytes > most) {
            error_set(s->job->err, ERR_LIMIT, s->source->name, a->runs[i].offset,
                      "chunked arrays whose pieces take more than %llu bytes",
                      (unsigned long long)most);
            return;
        }
        first += a->runs[i].elements;
        t->stored += a->runs[i].len;
    }
    t->storage = b.count ? STORAGE_PIECES : STORAGE_RANGE;
    t->extents = b.list;
    t->extent_count = b.count;
}

/* --- tensors ---------------------------------------------------------------------------- */

static void emit_array(struct flax_sink *s, const struct flax_leaf *leaf)
{
    const struct flax_array *a = leaf->array;
    const char *wrong = NULL;
    uint64_t width, elements, bytes;
    struct tensor_claim t = {
        .name = leaf->name,
        .name_len = leaf->name_len,
        .shape = a->shape,
        .rank = a->rank,
        .file = s->file,
    };
    t.dtype = flax_dtype(s->job, a->dtype, &t.codec, &width);
    bool possible = shape_elements(a->shape, a->rank, &elements);
    if (possible && a->runs == &a->run) {
        if (width && (!mul_u64(a->run.elements, width, &bytes) || bytes != a->run.len))
            wrong = "has bytes that are not what its shape and dtype need";
        t.storage = STORAGE_RANGE;
        t.offset = a->run.offset;
        t.stored = a->run.len;
    } else if (possible) {
        wrong = width ? check_chunks(a, elements, width)
                      : "has chunks of a dtype whose size is not known";
        if (!wrong)
            claim_chunks(s, a, width, &t);
    }
    if (wrong) {
        job_issue(s->job, ISSUE_ERROR, s->source->name, a->runs[0].offset, "size-mismatch",
                  "tensor \"%.*s\" (%s) %s: listed without data", SHOWN(leaf), a->dtype, wrong);
        t.storage = STORAGE_NONE;
        t.codec = NULL;
        t.stored = 0;
    }
    job_tensor(s->job, &t);
}

/* --- facts ------------------------------------------------------------------------------ */

static bool leave_out(struct flax_sink *s, const struct flax_leaf *leaf, const char *why)
{
    job_issue(s->job, ISSUE_WARNING, s->source->name, leaf->item->offset, "fact-left-out",
              "value \"%.*s\" %s: left out", SHOWN(leaf), why);
    return false;
}

/* Set the key of a fact. False: it is too long, or the limit of all facts is reached (an issue). */
static bool key_of(struct flax_sink *s, const struct flax_leaf *leaf, struct text *key)
{
    if (utf8_valid(leaf->name, leaf->name_len) && !memchr(leaf->name, '\0', leaf->name_len))
        text_add(key, leaf->name, leaf->name_len);
    else
        text_escape(key, leaf->name, leaf->name_len);
    if (!text_str(key))
        return leave_out(s, leaf, "has a path too long for a key");
    s->fact_bytes += key->len;
    return s->fact_bytes <= LIMIT_FACTS_BYTES ||
           leave_out(s, leaf, "is more than is kept of values that are not arrays");
}

static void state_text(struct flax_sink *s, const struct flax_leaf *leaf, const char *key)
{
    struct text value = {.limit = (size_t)FACT_TEXT_MOST};
    s->fact_bytes += leaf->item->len;
    if (leaf->item->len > FACT_TEXT_MOST || s->fact_bytes > LIMIT_FACTS_BYTES) {
        leave_out(s, leaf, "is a text too long to keep");
    } else if (msgpack_add(leaf->reader, leaf->item, &value) && text_str(&value)) {
        job_meta_text(s->job, key, text_str(&value), value.len);
    } else {
        error_memory(s->job->err);
    }
    text_release(&value);
}

static void state_number(struct job *job, const struct msgpack_item *item, const char *key)
{
    char digits[24];
    switch (item->type) {
    case MSGPACK_BOOL:
        job_meta_text(job, key, item->truth ? "true" : "false", item->truth ? 4 : 5);
        break;
    case MSGPACK_NEGATIVE: job_meta_integer(job, key, item->integer); break;
    case MSGPACK_REAL:
        if (isnan(item->real))
            job_meta_text(job, key, "NaN", 3);
        else
            job_meta_real(job, key, item->real);
        break;
    default:
        if (item->number <= INT64_MAX)
            job_meta_integer(job, key, (int64_t)item->number);
        else
            job_meta_text(
                job, key, digits,
                (size_t)snprintf(digits, sizeof(digits), "%llu", (unsigned long long)item->number));
    }
}

static void flax_leaf_state_fact(struct flax_sink *s, const struct flax_leaf *leaf)
{
    struct text key = {.limit = LIMIT_FACT_KEY};
    char pair[80];
    if (key_of(s, leaf, &key)) {
        if (leaf->kind == FLAX_TEXT)
            state_text(s, leaf, text_str(&key));
        else if (leaf->kind == FLAX_COMPLEX)
            job_meta_text(s->job, text_str(&key), pair,
                          (size_t)snprintf(pair, sizeof(pair), "[%.17g,%.17g]", leaf->complex[0],
                                           leaf->complex[1]));
        else
            state_number(s->job, leaf->item, text_str(&key));
    }
    text_release(&key);
}

void flax_leaf_emit(void *sink, const struct flax_leaf *leaf)
{
    static const char *const empty[] = {
        [FLAX_NULL] = "null", [FLAX_DICT] = "dict", [FLAX_LIST] = "list"};
    struct flax_sink *s = sink;
    if (leaf->kind == FLAX_ARRAY)
        emit_array(s, leaf);
    else if (leaf->kind <= FLAX_LIST)
        job_node(s->job, leaf->name, leaf->name_len, empty[leaf->kind]);
    else
        flax_leaf_state_fact(s, leaf);
}

bool flax_state_step(struct job *job)
{
    int64_t step;
    struct step_word row;
    const char *slash = strrchr(job->path, '/');
    if (!slash || !step_of_checkpoint(slash + 1, &step, &row))
        return false;
    size_t run = row.len             ? (size_t)(row.at + row.len - job->path)
                 : slash > job->path ? (size_t)(slash - job->path)
                                     : 1;
    job_step(job, step);
    job_run(job, arena_copy(job->arena, job->path, run), NULL);
    return true;
}
