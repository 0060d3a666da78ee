/*
 * torch_export.c - the weights of a torch.export archive (.pt2).
 *
 *   data/weights/model_weights_config.json       {"config": {NAME: {"path_name": FILE,
 *   data/constants/model_constants_config.json     "use_pickle": …, "tensor_meta": {"dtype",
 *   data/weights/FILE, data/constants/FILE         "sizes", "strides", "storage_offset"}}}}
 *
 * A size is {"as_int": N}. A file holds one storage, raw; several names may share it.
 *
 * Source: torch/export/pt2_archive/_package.py, torch/_export/serde/schema.py.
 * Not read: tensors that are pickled (use_pickle), objects among the constants: an issue each.
 */
#include <stdio.h>
#include <string.h>

#include "catalog/base/json.h"
#include "importer/format/torch/torch_zip.h"

/* ScalarType of the schema; torch.dtype has other numbers. */
static const char *const scalar_types[] = {
    [1] = "uint8",
    [2] = "int8",
    [3] = "int16",
    [4] = "int32",
    [5] = "int64",
    [6] = "float16",
    [7] = "float32",
    [8] = "float64",
    [9] = "complex32",
    [10] = "complex64",
    [11] = "complex128",
    [12] = "bool",
    [13] = "bfloat16",
    [28] = "uint16",
    [29] = "float8_e4m3fn",
    [30] = "float8_e5m2",
    [31] = "float8_e4m3fnuz",
    [32] = "float8_e5m2fnuz",
};

struct listing {
    struct torch_tree *t;
    const struct torch_zip *z;
    struct json json;
    const char *folder; /* "data/weights/" */
    struct torch_tensor tensor;
    struct bytes name, path;
    bool pickled, sized, strided;
};

/* The reader of JSON keeps its failure, after which nothing more is read or emitted. */

/* Read {"as_int": N} or N; fails for {"as_expr": …}. */
static void read_as_int(struct json *j, uint64_t *value)
{
    enum json_type type = json_next(j);
    bool found = false;
    if (type != JSON_OBJECT) {
        if (type != JSON_NUMBER || !json_u64(j, value))
            json_fail(j, ERR_CORRUPT, NULL,
                      type == JSON_NUMBER ? "a bad number" : "a number expected");
        return;
    }
    while (json_next(j) == JSON_KEY) {
        bool is_int = json_is(j, "as_int");
        if (json_next(j) == JSON_NUMBER)
            found |= is_int && json_u64(j, value);
        json_skip(j);
    }
    if (!found)
        json_fail(j, ERR_CORRUPT, NULL, "a size that is not a number");
}

/* Read a list of them, at most TENSOR_RANK_MAX. */
static void read_as_ints(struct json *j, uint64_t *out, unsigned *count)
{
    *count = 0;
    json_want(j, JSON_ARRAY, "a list of sizes");
    for (;;) {
        struct json ahead = *j;
        if (json_next(&ahead) == JSON_ARRAY_END || j->type == JSON_FAIL) {
            *j = ahead;
            return;
        }
        if (*count < TENSOR_RANK_MAX)
            read_as_int(j, &out[(*count)++]);
        else
            json_fail(j, ERR_LIMIT, NULL, "too many dimensions");
    }
}

static void read_meta(struct listing *l)
{
    struct json *j = &l->json;
    struct torch_tensor *x = &l->tensor;
    uint64_t number = 0, strides[TENSOR_RANK_MAX] = {0};
    unsigned count;
    json_want(j, JSON_OBJECT, "an object");
    while (json_next(j) == JSON_KEY) {
        if (json_is(j, "dtype")) {
            read_as_int(j, &number);
            const bool known = number < sizeof(scalar_types) / sizeof(scalar_types[0]);
            x->dtype = known ? scalar_types[number] : NULL;
        } else if (json_is(j, "sizes")) {
            read_as_ints(j, x->shape, &x->rank);
            l->sized = true;
        } else if (json_is(j, "strides")) {
            read_as_ints(j, strides, &count);
            for (unsigned d = 0; d < count; d++)
                x->strides[d] = strides[d] <= INT64_MAX ? (int64_t)strides[d] : INT64_MAX;
            l->strided = count == x->rank;
        } else if (json_is(j, "storage_offset")) {
            read_as_int(j, &x->offset);
        } else {
            json_next(j);
            json_skip(j);
        }
    }
}

static void read_weight(struct listing *l)
{
    struct json *j = &l->json;
    l->tensor = (struct torch_tensor){.swap = 1};
    l->path = (struct bytes){0};
    l->pickled = l->sized = l->strided = false;
    json_want(j, JSON_OBJECT, "an object");
    while (json_next(j) == JSON_KEY) {
        struct json ahead = *j;
        if (json_is(j, "path_name")) {
            json_want(j, JSON_STRING, "the name of a file");
            l->path = j->text;
        } else if (json_is(j, "use_pickle")) {
            l->pickled = json_next(j) == JSON_TRUE;
            json_skip(j);
        } else if (json_is(j, "tensor_meta") && json_next(&ahead) != JSON_NULL) {
            read_meta(l);
        } else {
            json_next(j);
            json_skip(j);
        }
    }
}

static bool torch_export_place(struct listing *l, struct error *err)
{
    char name[256];
    struct torch_tensor *x = &l->tensor;
    int len = snprintf(name, sizeof(name), "%s%.*s", l->folder,
                       (int)(l->path.len < 200 ? l->path.len : 0), (const char *)l->path.at);
    const struct zip_member *m = torch_zip_member(l->z, name, (size_t)len);
    if (l->pickled)
        return torch_fail(l->t, err, "unsupported", "it is pickled: that is not read");
    if (!m)
        return torch_fail(l->t, err, "missing-storage", "its file \"%.100s\" is not there", name);
    if (!torch_zip_member_run(l->z, m, &x->run, err))
        return false;
    struct dtype dtype;
    dtype_find(x->dtype, &dtype);
    x->swap = l->z->big_endian ? dtype_swap_width(&dtype) : 1;
    x->bound = x->run.size;
    return true;
}

static void emit_entry(struct listing *l)
{
    struct torch_tree *t = l->t;
    struct torch_tensor *x = &l->tensor;
    struct error err = {.offset = NO_OFFSET};
    const char *kept;
    bool added;
    if (!x->dtype || !l->sized || !l->strided) {
        job_issue(t->job, ISSUE_WARNING, t->path, NO_OFFSET, "not-a-tensor",
                  "\"%.*s\" is not a tensor of a known dtype: left out",
                  (int)(l->name.len < 200 ? l->name.len : 200), (const char *)l->name.at);
        return;
    }
    t->names.err = t->job->err;
    strmap_keep(&t->names, t->arena, (const char *)l->name.at, l->name.len, &kept, &added);
    if (added && t->job->err->status == OK) { /* constants repeat names of weights */
        torch_export_place(l, &err);
        torch_emit(t, kept, l->name.len, x, &err);
    }
}

static void read_config(struct listing *l)
{
    struct json *j = &l->json;
    json_want(j, JSON_OBJECT, "an object");
    while (j->err->status == OK && json_next(j) == JSON_KEY) {
        if (!json_is(j, "config")) {
            json_next(j);
            json_skip(j);
            continue;
        }
        json_want(j, JSON_OBJECT, "an object");
        while (j->err->status == OK && json_next(j) == JSON_KEY) {
            l->name = j->text;
            read_weight(l);
            if (j->err->status == OK)
                emit_entry(l);
        }
    }
    json_want(j, JSON_END, "the end");
}

/* Whether a member is FOLDER/NAME_…_config.json; NAME is the exported program's. */
static bool is_config(const struct torch_zip *z, const struct zip_member *m, const char *folder)
{
    static const char suffix[] = "_config.json";
    size_t skip = z->root_len + 1, n = strlen(folder);
    return m->name_len > skip + n + sizeof(suffix) && memcmp(m->name + skip, folder, n) == 0 &&
           strcmp(m->name + m->name_len - (sizeof(suffix) - 1), suffix) == 0;
}

void torch_export_state(struct torch_tree *t, struct torch_zip *z)
{
    static const char *const folders[] = {"data/weights/", "data/constants/"};
    struct listing *l = arena_alloc(t->arena, sizeof(*l));
    struct bytes text;
    for (size_t f = 0; l && f < sizeof(folders) / sizeof(folders[0]); f++) {
        for (uint64_t i = 0; i < z->zip.count && t->job->err->status == OK; i++) {
            const struct zip_member *m = &z->zip.members[i];
            if (!is_config(z, m, folders[f]))
                continue;
            *l = (struct listing){.t = t, .z = z, .folder = folders[f]};
            if (zip_read(&z->zip, m, LIMIT_HEADER_BYTES, t->arena, &text, t->job->err) != OK)
                break;
            json_init(&l->json, cursor_over(text, z->base + m->data), t->arena, z->zip.source->name,
                      t->job->err);
            read_config(l);
        }
    }
}
