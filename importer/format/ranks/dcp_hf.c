/*
 * dcp_hf.c - a distributed checkpoint as HuggingFaceStorageWriter writes it: no .metadata, but one
 * safetensors file per rank and shard, shard-00001-model-00001-of-00002.safetensors. Its
 * __metadata__ has DCP_SHARDING_INFO, the JSON text {NAME: {"saved_offsets": [numbers]}}.
 *
 * The shape of a tensor is not stated: it is the smallest that holds all pieces. So nothing shows
 * that the last rank's file is missing, here or to PyTorch.
 *
 * Source: torch/distributed/checkpoint/hf_storage.py, _hf_utils.py.
 */
#include <stdlib.h>
#include <string.h>

#include "catalog/base/json.h"
#include "catalog/base/name_list.h"
#include "catalog/base/strmap.h"
#include "importer/array/array_list.h"
#include "importer/container/safetensors_header.h"
#include "importer/format/ranks/dcp_box.h"

#define INFO      "DCP_SHARDING_INFO"
#define PARTS_MAX 99999 /* five digits, at these places in the name of a shard: */
#define PART_AT   (sizeof("shard-#####-model-") - 1)
#define COUNT_AT  (sizeof("shard-#####-model-#####-of-") - 1)

/* Whether `name` is like "shard-00001-model-00001-of-00002.safetensors". */
static bool is_shard(const char *name)
{
    static const char shape[] = "shard-#####-model-#####-of-#####.safetensors";
    for (size_t i = 0; i < sizeof(shape); i++)
        if (shape[i] == '#' ? name[i] < '0' || name[i] > '9' : name[i] != shape[i])
            return false;
    return true;
}

static int dcp_hf_probe_dir(const struct probe_dir *p)
{
    for (uint64_t i = 0; i < p->file_count; i++) {
        if (!is_shard(p->files[i]))
            continue;
        struct bytes head = p->peek(p, p->files[i]);
        struct probe seen = {.head = head};
        return head.at && probe_holds(&seen, INFO) ? 64 : 0;
    }
    return 0;
}

/* A piece of a tensor, linked to the one found before it. */
struct piece {
    struct dcp_box box;
    uint32_t file;
    uint64_t offset, stored;
    struct piece *before;
};

struct found {
    const char *name;
    size_t len;
    const char *dtype;
    unsigned rank;
    uint64_t count;
    struct piece *last;
    bool torn; /* its pieces do not agree */
};

struct hf {
    struct job *job;
    struct strmap names; /* name -> position in found */
    struct found *found;
    size_t count, space;
};

/* --- offsets ---------------------------------------------------------------------------- */

struct offsets {
    struct strmap names; /* -> position in `numbers`; UINT64_MAX: no offsets stated */
    uint64_t *numbers;   /* for each name how many offsets, then the offsets */
    size_t used, space;
    uint64_t last; /* what `names` will have for the name being read */
};

static bool read_offsets(void *context, struct json *j)
{
    struct offsets *o = context;
    uint64_t value = 0;
    o->last = o->used;
    if (!json_want(j, JSON_ARRAY, "a list of offsets"))
        return false;
    PUSH(j->arena, o->numbers, o->used, o->space); /* for how many */
    while (json_next(j) == JSON_NUMBER) {
        if (!json_u64(j, &value))
            return json_fail(j, ERR_CORRUPT, NULL, "an offset expected");
        *PUSH(j->arena, o->numbers, o->used, o->space) = value;
    }
    if (j->arena->failed)
        return false;
    o->numbers[o->last] = o->used - o->last - 1;
    return j->type == JSON_ARRAY_END;
}

static bool read_name(void *context, struct json *j)
{
    static const struct json_member table[] = {{"saved_offsets", read_offsets}, {0}};
    struct offsets *o = context;
    const struct bytes name = j->text;
    bool added;
    o->last = UINT64_MAX;
    if (!json_object(j, "an object", table, o))
        return false;
    *strmap_add(&o->names, (const char *)name.at, name.len, &added) = o->last;
    return true;
}

static bool load_offsets(struct job *job, const struct safetensors_header *h, const char *path,
                         struct offsets *o, struct error *err)
{
    static const struct json_member table[] = {{NULL, read_name}};
    struct error lacking = {.offset = NO_OFFSET};
    for (uint64_t i = 0; i < h->fact_count; i++) {
        const struct safetensors_fact *f = &h->facts[i];
        struct json j;
        if (f->key.len != strlen(INFO) || memcmp(f->key.at, INFO, f->key.len) != 0)
            continue;
        json_init(&j, cursor_over(f->value, 0), job->arena, path, err);
        return json_object(&j, "an object", table, o);
    }
    error_set(&lacking, ERR_CORRUPT, path, NO_OFFSET,
              "it has no " INFO ": its tensors are taken to begin at 0, as PyTorch does");
    error_code(&lacking, "no-offsets");
    job_issue_error(job, ISSUE_WARNING, &lacking);
    return true;
}

/* --- pieces ----------------------------------------------------------------------------- */

static void add_piece(struct hf *hf, const struct safetensors_tensor *t, const struct offsets *o,
                      uint32_t file)
{
    struct arena *arena = hf->job->arena;
    uint64_t zeros[TENSOR_RANK_MAX] = {0};
    const uint64_t *at = strmap_get(&o->names, t->name, t->name_len), *origin = zeros;
    struct piece *piece = arena_alloc(arena, sizeof(*piece));
    bool added;
    uint64_t *place = strmap_add(&hf->names, t->name, t->name_len, &added);
    if (added) {
        *place = hf->count;
        *PUSH(arena, hf->found, hf->count, hf->space) =
            (struct found){t->name, t->name_len, t->dtype, t->rank, 0, NULL, false};
    }
    if (hf->job->err->status != OK)
        return;
    struct found *f = &hf->found[*place];
    if (at && o->numbers && *at != UINT64_MAX) {
        f->torn |= o->numbers[*at] != t->rank;
        origin = f->torn ? zeros : o->numbers + *at + 1;
    }
    f->torn |= t->rank != f->rank || strcmp(t->dtype, f->dtype) != 0;
    *piece = (struct piece){
        .file = file, .offset = t->begin, .stored = t->end - t->begin, .before = f->last};
    if (!dcp_box_set(arena, origin, t->shape, t->rank, &piece->box))
        return;
    f->last = piece;
    f->count++;
}

static void read_shard(struct hf *hf, const char *name)
{
    struct job *job = hf->job;
    struct error err = {.offset = NO_OFFSET};
    struct safetensors_header h;
    struct offsets offsets = {.names.err = job->err};
    struct source *s;
    struct bytes text;
    uint32_t file;
    if (job_open(job, name, "data", &s, &file, &err) == OK &&
        safetensors_load(s, job->arena, &text, &err) == OK &&
        safetensors_parse(text, s->name, job->arena, job->arena, &h, &err) == OK &&
        (safetensors_check_end(s, text, h.data_end, &err) == OK || job_cut(job, file, &err)) &&
        load_offsets(job, &h, s->name, &offsets, &err)) {
        job_base(job, file, 8 + text.len);
        safetensors_report(job, s->name, &h);
        for (uint64_t i = 0; i < h.count && job->err->status == OK; i++)
            add_piece(hf, &h.tensors[i], &offsets, file);
    } else if (job->err->status == OK) {
        job_issue_error(job, ISSUE_ERROR, &err);
    }
    strmap_release(&offsets.names);
}

/* --- tensors ---------------------------------------------------------------------------- */

static void state_tensor(struct job *job, const struct found *f)
{
    struct error err = {.offset = NO_OFFSET};
    struct dcp_pieces pieces = {.dtype = f->dtype, .rank = f->rank, .file = f->last->file};
    uint64_t shape[TENSOR_RANK_MAX] = {0};
    if (f->torn) {
        error_set(&err, ERR_CORRUPT, job->path, NO_OFFSET,
                  "its pieces differ in dtype or number of dimensions");
        error_code(&err, "bad-chunk");
        pieces.dtype = NULL;
        dcp_pieces_emit(job, f->name, f->len, &pieces, &err);
        return;
    }
    for (const struct piece *p = f->last; p; p = p->before)
        for (unsigned d = 0; d < f->rank; d++) {
            uint64_t end;
            if (!add_u64(p->box.origin[d], p->box.shape[d], &end))
                end = UINT64_MAX;
            shape[d] = end > shape[d] ? end : shape[d];
        }
    if (!dcp_pieces_set(job->arena, shape, f->count, &pieces))
        return;
    for (const struct piece *p = f->last; p; p = p->before) {
        if (dcp_box_empty(&p->box))
            continue;
        pieces.boxes[pieces.count] = p->box;
        pieces.extents[pieces.count++] = (struct extent){.file = p->file,
                                                         .offset = p->offset,
                                                         .stored = p->stored,
                                                         .origin = p->box.origin,
                                                         .shape = p->box.shape};
    }
    dcp_pieces_emit(job, f->name, f->len, &pieces, &err);
}

/* A rank without elements of a file's tensors writes no such file, so one that is missing from
 * some ranks proves nothing. But a file that is missing from all ranks has tensors that nobody
 * knows. */
static void report_missing(struct job *job, const struct array_listing *l)
{
    bool *seen = arena_array(job->arena, PARTS_MAX + 1, sizeof(*seen));
    unsigned long parts = 0, missing = 0, first = 0;
    if (!seen)
        return;
    for (uint64_t i = 0; i < l->file_count; i++) {
        if (!is_shard(l->files[i]))
            continue;
        const unsigned long of = strtoul(l->files[i] + COUNT_AT, NULL, 10);
        seen[strtoul(l->files[i] + PART_AT, NULL, 10)] = true;
        parts = of > parts ? of : parts;
    }
    for (unsigned long part = parts; part > 0; part--)
        if (!seen[part]) {
            first = part;
            missing++;
        }
    if (missing)
        job_issue(job, ISSUE_ERROR, NULL, NO_OFFSET, "missing-shard",
                  "%lu of %lu files are missing from all ranks, the first is "
                  "model-%05lu-of-%05lu: their tensors are not known",
                  missing, parts, first, parts);
}

static enum status dcp_hf_index(struct job *job)
{
    struct hf hf = {.job = job, .names.err = job->err};
    struct array_listing l = {0};
    if (array_list(job->arena, job->path, "", &l, job->err) == OK)
        names_sort(l.files, l.file_count);
    for (uint64_t i = 0; i < l.file_count && job->err->status == OK; i++)
        if (is_shard(l.files[i]))
            read_shard(&hf, l.files[i]);
    for (size_t i = 0; i < hf.count && job->err->status == OK; i++)
        state_tensor(job, &hf.found[i]);
    if (job->err->status == OK)
        report_missing(job, &l);
    strmap_release(&hf.names);
    return job->err->status;
}

const struct format format_dcp_hf = {
    .name = "dcp-hf",
    .summary = "PyTorch Distributed Checkpoint in safetensors files",
    .suffixes = "",
    .separator = '.',
    .probe_dir = dcp_hf_probe_dir,
    .flat = true,
    .index = dcp_hf_index,
};
