/*
 * gguf.c - models of llama.cpp and its relatives: one file, or one split into
 * STEM-00001-of-00003.gguf and so on, where each part is a complete GGUF file (gguf_header.h).
 *
 * Keys:
 *   split.no                           the part's number, from 0
 *   split.count, split.tensors.count   parts and tensors of the whole set
 *   comfy.gguf.orig_shape.NAME         the logical shape of a tensor that ComfyUI-GGUF has stored
 *                                      in rows of 256
 *
 * Oddities that ggml refuses, but that do not prevent reading, are only warnings here: gaps between
 * tensors, names of 64 bytes and more, version 1, more than 4 dimensions.
 *
 * Source: ggml's gguf.cpp and llama.cpp's split files.
 */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "catalog/base/name_list.h"
#include "catalog/base/strmap.h"
#include "catalog/export/format/gguf_header.h"
#include "importer/container/shard_name.h"
#include "importer/job/job.h"

#define SUFFIX        ".gguf"
#define MISSING_NAMED 100 /* missing parts that are recorded as files */

static int gguf_probe(const struct probe *p)
{
    return p->head.len >= 8 && memcmp(p->head.at, "GGUF", 4) == 0 ? 40 : 0;
}

/* --- one part ----------------------------------------------------------------------------- */

struct entry {
    struct gguf_tensor t;
    struct dtype dtype;
    uint64_t nbytes; /* valid if `sized` */
    bool sized;
};

struct part {
    struct job *job;
    struct gguf g;
    struct entry *entries; /* in the file's order */
    uint64_t count;
    uint32_t file;
    const char *path;
    struct strmap shapes; /* tensor name -> position in `values` + 1 */
    struct gguf_value *values;
    size_t value_count, value_space;
    uint64_t split_no, split_count, split_tensors;
    bool has_split;
};

/* The contents of a set's parts so far. */
struct set {
    struct strmap keys; /* stated as facts */
    uint64_t tensors;
};

static void state_value(struct job *job, const struct gguf *g, const char *key,
                        const struct gguf_value *v)
{
    struct text text = {0};
    switch (v->type) {
    case GGUF_F32:
    case GGUF_F64: job_meta_real(job, key, v->real); return;
    case GGUF_STRING: job_meta_text(job, key, (const char *)v->text.at, v->text.len); return;
    case GGUF_ARRAY:
    case GGUF_BOOL: gguf_json(g, v, &text); break;
    default:
        if (gguf_negative(v) || v->integer <= INT64_MAX) {
            job_meta_integer(job, key, (int64_t)v->integer);
            return;
        }
        text_addf(&text, "%" PRIu64, v->integer);
    }
    if (text_str(&text))
        job_meta_text(job, key, text_str(&text), text.len);
    else
        error_memory(job->err);
    text_release(&text);
}

/* Remember the shape that a comfy.gguf.orig_shape key states. */
static void keep_shape(struct part *p, const struct gguf_pair *pair)
{
    const size_t prefix = strlen(GGUF_ORIG_SHAPE);
    bool added;
    if (pair->key.len <= prefix || memcmp(pair->key.at, GGUF_ORIG_SHAPE, prefix) != 0 ||
        pair->value.type != GGUF_ARRAY || pair->value.elements != GGUF_I32)
        return;
    *PUSH(p->job->arena, p->values, p->value_count, p->value_space) = pair->value;
    *strmap_add(&p->shapes, (const char *)pair->key.at + prefix, pair->key.len - prefix, &added) =
        p->value_count;
}

static void note_split(struct part *p, const struct gguf_pair *pair)
{
    if (gguf_key_is(pair, "split.no")) {
        p->split_no = pair->value.integer;
    } else if (gguf_key_is(pair, "split.tensors.count")) {
        p->split_tensors = pair->value.integer;
    } else if (gguf_key_is(pair, "split.count")) {
        p->split_count = pair->value.integer;
        p->has_split = true;
    }
}

/* State a pair as a fact, unless an earlier part has stated its key; the key is escaped if it is not
 * UTF-8 or holds a NUL. */
static void state_pair(struct part *p, struct set *set, const struct gguf_pair *pair,
                       struct text *room)
{
    struct job *job = p->job;
    const char *kept, *key = (const char *)pair->key.at;
    bool added;
    text_reset(room);
    if (utf8_valid(key, pair->key.len) && !memchr(key, '\0', pair->key.len))
        text_add(room, key, pair->key.len);
    else
        text_escape(room, key, pair->key.len);
    if (!text_str(room))
        error_memory(job->err);
    else if (strmap_keep(&set->keys, job->arena, room->at, room->len, &kept, &added) && added)
        state_value(job, &p->g, kept, &pair->value);
}

/* Read all pairs. A repeated key makes the file ambiguous; like ggml, refuse it. */
static void gguf_read_pairs(struct part *p, struct set *set)
{
    struct gguf_pair pair;
    struct text room = {0};
    struct job *job = p->job;
    struct strmap own = {.err = job->err};
    while (job->err->status == OK && gguf_pair(&p->g, &pair)) {
        bool added = false;
        strmap_add(&own, (const char *)pair.key.at, pair.key.len, &added);
        if (!added) {
            error_set(job->err, ERR_CORRUPT, p->path, pair.offset, "the key \"%.*s\" occurs twice",
                      (int)(pair.key.len < 200 ? pair.key.len : 200), (const char *)pair.key.at);
            error_code(job->err, "duplicate-key");
        } else {
            keep_shape(p, &pair);
            note_split(p, &pair);
            state_pair(p, set, &pair, &room);
        }
    }
    strmap_release(&own);
    text_release(&room);
}

/* Give the tensor the shape that its comfy.gguf.orig_shape key states, if it has as many
 * elements. */
static void apply_shape(struct part *p, struct gguf_tensor *t)
{
    const uint64_t *at = strmap_get(&p->shapes, (const char *)t->name.at, t->name.len);
    const struct gguf_value *v = at ? &p->values[*at - 1] : NULL;
    uint64_t shape[GGUF_RANK_MAX], stated, stored;
    if (!v || v->count > GGUF_RANK_MAX)
        return;
    struct cursor c = cursor_over((struct bytes){p->g.head + v->at, p->g.len - v->at}, v->at);
    for (uint64_t d = 0; d < v->count; d++)
        shape[d] = p->g.big ? cursor_u32be(&c) : cursor_u32le(&c);
    if (!shape_elements(shape, (unsigned)v->count, &stated) ||
        !shape_elements(t->shape, t->rank, &stored) || stated != stored)
        return;
    memcpy(t->shape, shape, sizeof(shape));
    t->rank = (unsigned)v->count;
}

/* Set the dtype and the size in bytes; every row must consist of whole blocks. */
static void gguf_measure(struct part *p, struct entry *e)
{
    const struct gguf_tensor *t = &e->t;
    const char *known = gguf_dtype(t->type);
    uint64_t elements;
    char name[40];
    if (known) {
        dtype_find(known, &e->dtype);
    } else {
        snprintf(name, sizeof(name), "unknown(ggml %" PRIu32 ")", t->type);
        dtype_find(arena_copy(p->job->arena, name, strlen(name)), &e->dtype);
    }
    const uint64_t row = t->rank ? t->shape[t->rank - 1] : 1;
    e->sized = shape_elements(t->shape, t->rank, &elements) && elements <= INT64_MAX &&
               row % e->dtype.block_elems == 0 && dtype_nbytes(&e->dtype, elements, &e->nbytes) &&
               e->nbytes <= INT64_MAX;
    if (!e->sized && dtype_sized(&e->dtype))
        job_issue(
            p->job, ISSUE_ERROR, p->path, t->at, "bad-shape",
            "tensor \"%.*s\": its shape is impossible, or its rows are not whole blocks of %s",
            (int)(t->name.len < 200 ? t->name.len : 200), (const char *)t->name.at, e->dtype.name);
}

static void gguf_read_tensors(struct part *p)
{
    size_t space = 0;
    struct gguf_tensor t;
    while (p->job->err->status == OK && gguf_tensor(&p->g, &t)) {
        struct entry e = {.t = t};
        gguf_measure(p, &e);
        apply_shape(p, &e.t);
        *PUSH(p->job->arena, p->entries, p->count, space) = e;
    }
}

/* --- where the data lies ------------------------------------------------------------------ */

static int by_offset(const void *a, const void *b)
{
    const struct entry *x = *(struct entry *const *)a, *y = *(struct entry *const *)b;
    if (x->t.offset != y->t.offset)
        return x->t.offset < y->t.offset ? -1 : 1;
    return x->t.at < y->t.at ? -1 : 1;
}

/* Two tensors that overlap cannot both be right: report it, and do not read the second. */
static void report_overlap(struct part *p, const struct entry *a, struct entry *b)
{
    job_issue(p->job, ISSUE_ERROR, p->path, p->g.data + b->t.offset, "overlap",
              "tensors \"%.*s\" and \"%.*s\" overlap: the second is not read",
              (int)(a->t.name.len < 200 ? a->t.name.len : 200), (const char *)a->t.name.at,
              (int)(b->t.name.len < 200 ? b->t.name.len : 200), (const char *)b->t.name.at);
    b->sized = false;
}

/* If data ends past the end of the file, it was cut short; readers refuse the whole file. */
static void check_end(struct part *p, const struct source *s)
{
    struct error cut = {.offset = NO_OFFSET};
    uint64_t most = 0;
    for (uint64_t i = 0; i < p->count; i++) {
        const struct entry *e = &p->entries[i];
        uint64_t end = 0;
        if (e->sized && e->nbytes &&
            !(add_u64(p->g.data, e->t.offset, &end) && add_u64(end, e->nbytes, &end)))
            end = UINT64_MAX;
        most = end > most ? end : most;
    }
    if (most <= s->size)
        return;
    error_set(&cut, ERR_CORRUPT, s->name, s->size,
              "the tensors need a file of %" PRIu64 " bytes, it has %" PRIu64 ": it was cut short",
              most, s->size);
    error_code(&cut, "truncated");
    if (!job_cut(p->job, p->file, &cut))
        *p->job->err = cut;
}

/* ggml stores tensors one after the other, each padded. Overlaps are reported each, gaps and
 * unaligned tensors once. */
static void check_places(struct part *p)
{
    struct entry **order = malloc((size_t)(p->count + 1) * sizeof(struct entry *));
    uint64_t end = 0, own_end, gaps = 0, crooked = 0;
    const struct entry *last = NULL;
    if (!order) {
        error_memory(p->job->err);
        return;
    }
    for (uint64_t i = 0; i < p->count; i++)
        order[i] = &p->entries[i];
    qsort(order, (size_t)p->count, sizeof(struct entry *), by_offset);
    for (uint64_t i = 0; i < p->count; i++) {
        struct entry *e = order[i];
        crooked += e->t.offset % p->g.alignment != 0;
        if (!e->sized)
            continue;
        if (last && e->nbytes && e->t.offset < end) {
            report_overlap(p, last, e);
            continue;
        }
        gaps += e->t.offset - end >= p->g.alignment && e->t.offset > end;
        if (!add_u64(e->t.offset, e->nbytes, &own_end))
            own_end = UINT64_MAX;
        end = own_end > end ? own_end : end; /* an empty tensor may be inside another */
        last = e->nbytes ? e : last;
    }
    free(order);
    if (gaps && p->count == p->g.tensor_count)
        job_issue(p->job, ISSUE_WARNING, p->path, NO_OFFSET, "gaps",
                  "%" PRIu64
                  " tensors begin later than the one before them ends: ggml refuses this",
                  gaps);
    if (crooked)
        job_issue(p->job, ISSUE_WARNING, p->path, NO_OFFSET, "unaligned",
                  "%" PRIu64 " tensors do not begin at a multiple of %" PRIu64 " bytes", crooked,
                  p->g.alignment);
}

/* Report oddities that ggml's reader would refuse, but this one need not. */
static void report_oddities(struct part *p)
{
    uint64_t names = 0, ranks = 0, foreign = 0;
    for (uint64_t i = 0; i < p->count; i++) {
        names += p->entries[i].t.name.len > GGML_NAME_MAX;
        ranks += p->entries[i].t.rank > GGML_RANK_MAX;
        foreign += p->entries[i].dtype.kind == DTYPE_UNKNOWN;
    }
    const struct {
        bool found;
        const char *code, *why;
    } oddities[] = {
        {p->g.version == 1, "old-version", "version 1: today's ggml refuses it"},
        {p->g.odd_bools, "odd-bool", "a bool is neither 0 nor 1: taken for true"},
        {names, "long-names", "tensor names of 64 bytes and more: ggml refuses them"},
        {ranks, "high-rank", "tensors of more than 4 dimensions: ggml refuses them"},
        {foreign, "unknown-dtype",
         "tensors of types that ggml has removed, or that only forks have: listed, not read"},
    };
    for (size_t i = 0; i < sizeof(oddities) / sizeof(oddities[0]); i++)
        if (oddities[i].found)
            job_issue(p->job, ISSUE_WARNING, p->path, NO_OFFSET, oddities[i].code, "%s",
                      oddities[i].why);
}

/* --- tensors ------------------------------------------------------------------------------ */

/* Elements of a big-endian file are swapped. Its quantised blocks, which have fields of several
 * widths, are not read. */
static void emit_tensor(struct part *p, const struct entry *e)
{
    const unsigned width = p->g.big ? dtype_swap_width(&e->dtype) : 1;
    const bool blocks = e->dtype.kind == DTYPE_BLOCK;
    char swap[16];
    snprintf(swap, sizeof(swap), "swap:%u", width);
    struct tensor_claim t = {
        .name = (const char *)e->t.name.at,
        .name_len = e->t.name.len,
        .dtype = e->dtype.name,
        .shape = e->t.shape,
        .rank = e->t.rank,
        .storage = e->sized && !(p->g.big && blocks) ? STORAGE_RANGE : STORAGE_NONE,
        .file = p->file,
    };
    if (t.storage == STORAGE_RANGE) {
        t.offset = e->t.offset;
        t.stored = e->nbytes;
        t.codec = width > 1 && !blocks ? swap : NULL;
    }
    job_tensor(p->job, &t);
}

static void emit_tensors(struct part *p)
{
    bool blocks = false;
    job_base(p->job, p->file, p->g.data);
    for (uint64_t i = 0; i < p->count && p->job->err->status == OK; i++) {
        blocks |= p->g.big && p->entries[i].dtype.kind == DTYPE_BLOCK;
        emit_tensor(p, &p->entries[i]);
    }
    if (blocks)
        job_issue(p->job, ISSUE_WARNING, p->path, NO_OFFSET, "big-endian-blocks",
                  "quantised tensors of a big-endian file are listed, not read");
}

/* Index one file completely. */
static enum status index_part(struct job *job, struct set *set, uint32_t file,
                              const struct source *s, struct part *p)
{
    *p = (struct part){.job = job, .file = file, .path = s->name, .shapes.err = job->err};
    if (gguf_open(&p->g, s, job->err) == OK) {
        gguf_read_pairs(p, set);
        gguf_read_tensors(p);
        check_end(p, s);
    }
    if (job->err->status == OK)
        check_places(p);
    if (job->err->status == OK) {
        report_oddities(p);
        emit_tensors(p);
        set->tensors += p->count;
    }
    strmap_release(&p->shapes);
    gguf_close(&p->g);
    return job->err->status;
}

/* --- split files -------------------------------------------------------------------------- */

static bool split_name(const char *name, struct shard_name *out)
{
    return shard_name(name, out) && strcmp(out->rest, SUFFIX) == 0 && out->part >= 1 &&
           out->part <= out->count;
}

/* Whether `name` belongs to another part of the same split; *out is set. *own was parsed from the
 * name `of`. */
static bool same_split(const char *name, const char *of, const struct shard_name *own,
                       struct shard_name *out)
{
    return split_name(name, out) && out->count == own->count && out->stem == own->stem &&
           out->part != own->part && memcmp(name, of, own->stem) == 0;
}

/* The first part that exists takes the others. All have its stem, so that they are beside each
 * other in the sorted names. */
static enum status gguf_claim(struct claim *c)
{
    struct shard_name own, other;
    if (!split_name(c->name, &own))
        return OK;
    char *stem = strndup(c->name, own.stem);
    if (!stem)
        return ERR_MEMORY;
    const uint64_t first = names_from(c->names, c->count, stem);
    uint64_t end = first;
    bool is_first = true;
    for (; is_first && end < c->count && strncmp(c->names[end], stem, own.stem) == 0; end++)
        is_first = !same_split(c->names[end], c->name, &own, &other) || other.part > own.part;
    for (uint64_t i = first; is_first && i < end; i++)
        if (same_split(c->names[i], c->name, &own, &other))
            claim_take(c, c->names[i]);
    free(stem);
    return OK;
}

/* Report a part whose name and keys disagree. */
static void check_split(struct job *job, const struct part *p, const struct shard_name *name)
{
    if (p->has_split && (p->split_count != name->count || p->split_no + 1 != name->part))
        job_issue(job, ISSUE_WARNING, p->path, NO_OFFSET, "split-disagrees",
                  "its keys say part %" PRIu64 " of %" PRIu64 ", its name %" PRIu64 " of %" PRIu64,
                  p->split_no + 1, p->split_count, name->part, name->count);
}

/* Index a part after the first. If it cannot be used, only its own tensors are lost. False: it is missing, which
 * is allowed (`missing`). */
static bool index_other(struct job *job, struct set *set, const char *name,
                        const struct shard_name *split, bool missing)
{
    struct source *s = NULL;
    struct error err = {.offset = NO_OFFSET};
    struct part p;
    uint32_t file;
    if (job_open(job, name, "data", &s, &file, &err) == OK) {
        if (index_part(job, set, file, s, &p) == OK) {
            check_split(job, &p, split);
            return true;
        }
        err = *job->err;
        error_clear(job->err);
    }
    missing = missing && err.status == ERR_MISSING;
    if (err.status == ERR_MEMORY)
        *job->err = err;
    else if (!missing)
        job_issue_error(job, ISSUE_ERROR, &err);
    return !missing;
}

/* Report all missing parts in one issue, and record the first MISSING_NAMED as missing files; a web server may have
 * those, which lists nothing. A part before the first is there, but could not be read: if this checkpoint had it, it
 * would never be looked at again. */
static void gguf_report_missing(struct job *job, struct set *set, const char *first_name,
                                const struct shard_name *own, const bool *there, uint64_t known)
{
    uint64_t missing = 0;
    struct text name = {0};
    uint64_t count;
    const char *const *beside = job_siblings(job, &count);
    for (uint64_t part = 1; part <= known && job->err->status == OK; part++) {
        struct text at = {0};
        struct shard_name split;
        if (there[part])
            continue;
        if (missing < MISSING_NAMED)
            text_addf(&at, "%.*s-%05" PRIu64 "-of-%05" PRIu64 SUFFIX, (int)own->stem, first_name,
                      part, own->count);
        const bool found = at.len && text_str(&at) && !names_hold(beside, count, at.at) &&
                           split_name(at.at, &split) && index_other(job, set, at.at, &split, true);
        if (!found && !missing && text_str(&at))
            text_adds(&name, at.at);
        missing += !found;
        text_release(&at);
    }
    if (own->count > known)
        missing += own->count - known;
    if (missing)
        job_issue(job, ISSUE_ERROR, NULL, NO_OFFSET, "missing-shard",
                  "%" PRIu64 " of %" PRIu64 " split files are missing: %s%s", missing, own->count,
                  text_str(&name) ? text_str(&name) : "", missing > 1 ? " and others" : "");
    text_release(&name);
}

/* Index the other parts that the name of the first promises. A file that has such a name, but neither a
 * neighbour nor keys of a split, is a whole model: llama.cpp takes it as one. */
static void index_split(struct job *job, struct set *set, const struct part *first,
                        const char *name, const struct shard_name *own)
{
    const uint64_t known = own->count < LIMIT_SHARDS ? own->count : LIMIT_SHARDS;
    bool *there = arena_array(job->arena, (size_t)known + 1, sizeof(*there));
    if (!there)
        return;
    check_split(job, first, own);
    /* Index the parts after the first, in order. */
    uint64_t count;
    const char *const *names = job_siblings(job, &count);
    there[own->part <= known ? own->part : 0] = true;
    bool split = first->has_split;
    for (uint64_t i = 0; i < count && job->err->status == OK; i++) {
        struct shard_name other;
        if (!same_split(names[i], name, own, &other) || other.part <= own->part)
            continue;
        if (other.part <= known)
            there[other.part] = true;
        split = true;
        index_other(job, set, names[i], &other, false);
    }
    if (job->err->status != OK || !split)
        return;
    gguf_report_missing(job, set, name, own, there, known);
    if (first->split_tensors && first->split_tensors != set->tensors)
        job_issue(job, ISSUE_WARNING, NULL, NO_OFFSET, "split-disagrees",
                  "split.tensors.count is %" PRIu64 ", the files have %" PRIu64,
                  first->split_tensors, set->tensors);
}

static enum status gguf_index(struct job *job)
{
    struct set set = {.keys.err = job->err};
    struct part first;
    struct shard_name own;
    const char *slash = strrchr(job->path, '/');
    const char *name = slash ? slash + 1 : job->path;
    if (index_part(job, &set, 0, job->source, &first) == OK) {
        if (split_name(name, &own))
            index_split(job, &set, &first, name, &own);
        else if (first.has_split && first.split_count > 1)
            job_issue(job, ISSUE_WARNING, NULL, NO_OFFSET, "split-renamed",
                      "part %" PRIu64 " of %" PRIu64 " of a split model, but its name does not"
                      " say so: the other parts are not looked for",
                      first.split_no + 1, first.split_count);
    }
    strmap_release(&set.keys);
    return job->err->status;
}

const struct format format_gguf = {
    .name = "gguf",
    .summary = "a GGUF model, or one split into several files",
    .suffixes = ".gguf",
    .separator = '.',
    .set = true,
    .beside = {"config.json"},
    .probe = gguf_probe,
    .claim = gguf_claim,
    .index = gguf_index,
};
