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

/* Read {"as_int": N} or N; fails for {"as_expr": …}. */
static bool torch_export_read_size(struct listing *l, uint64_t *value)
{
    struct json *j = &l->json;
    enum json_type type = json_next(j);
    if (type == JSON_NUMBER)
        return json_u64(j, value) || json_fail(j, ERR_CORRUPT, NULL, "a bad number");
    if (type != JSON_OBJECT)
        return json_fail(j, ERR_CORRUPT, NULL, "a number expected");
    bool found = false;
    while ((type = json_next(j)) == JSON_KEY) {
        bool is_int = json_is(j, "as_int");
        if (json_next(j) == JSON_FAIL)
            return false;
        if (is_int && json_u64(j, value))
            found = true;
        if (!json_skip(j))
            return false;
    }
    return type == JSON_OBJECT_END &&
           (found || json_fail(j, ERR_CORRUPT, NULL, "a size that is not a number"));
}

static bool torch_export_read_sizes(struct listing *l, uint64_t *out, unsigned *count)
{
    struct json *j = &l->json;
    *count = 0;
    if (!json_want(j, JSON_ARRAY, "a list of sizes"))
        return false;
    for (;;) {
        struct json ahead = *j;
        enum json_type type = json_next(&ahead);
        if (type == JSON_ARRAY_END)
            return json_next(j) == JSON_ARRAY_END;
        if (*count == TENSOR_RANK_MAX)
            return json_fail(j, ERR_LIMIT, NULL, "too many dimensions");
        if (!torch_export_read_size(l, &out[(*count)++]))
            return false;
    }
}

static bool torch_export_read_dtype(struct listing *l)
{
    uint64_t number = 0;
    if (!torch_export_read_size(l, &number))
        return false;
    l->tensor.dtype =
        number < sizeof(scalar_types) / sizeof(scalar_types[0]) ? scalar_types[number] : NULL;
    return true;
}

static bool read_strides(struct listing *l)
{
    struct torch_tensor *x = &l->tensor;
    uint64_t strides[TENSOR_RANK_MAX] = {0};
    unsigned count;
    if (!torch_export_read_sizes(l, strides, &count))
        return false;
    for (unsigned d = 0; d < count; d++)
        x->strides[d] = strides[d] <= INT64_MAX ? (int64_t)strides[d] : INT64_MAX;
    l->strided = count == x->rank;
    return true;
}

static bool read_meta(struct listing *l)
{
    struct json *j = &l->json;
    struct torch_tensor *x = &l->tensor;
    enum json_type type;
    if (!json_want(j, JSON_OBJECT, "an object"))
        return false;
    while ((type = json_next(j)) == JSON_KEY) {
        if (json_is(j, "dtype")) {
            if (!torch_export_read_dtype(l))
                return false;
        } else if (json_is(j, "sizes")) {
            if (!torch_export_read_sizes(l, x->shape, &x->rank))
                return false;
            l->sized = true;
        } else if (json_is(j, "strides")) {
            if (!read_strides(l))
                return false;
        } else if (json_is(j, "storage_offset")) {
            if (!torch_export_read_size(l, &x->offset))
                return false;
        } else if (json_next(j) == JSON_FAIL || !json_skip(j)) {
            return false;
        }
    }
    return type == JSON_OBJECT_END;
}

static bool torch_export_read_entry(struct listing *l)
{
    struct json *j = &l->json;
    enum json_type type;
    l->tensor = (struct torch_tensor){.swap = 1};
    l->path = (struct bytes){0};
    l->pickled = l->sized = l->strided = false;
    if (!json_want(j, JSON_OBJECT, "an object"))
        return false;
    while ((type = json_next(j)) == JSON_KEY) {
        if (json_is(j, "path_name")) {
            if (!json_want(j, JSON_STRING, "the name of a file"))
                return false;
            l->path = j->text;
        } else if (json_is(j, "use_pickle")) {
            l->pickled = json_next(j) == JSON_TRUE;
        } else if (json_is(j, "tensor_meta")) {
            struct json ahead = *j;
            if (json_next(&ahead) == JSON_NULL)
                json_next(j);
            else if (!read_meta(l))
                return false;
        } else if (json_next(j) == JSON_FAIL || !json_skip(j)) {
            return false;
        }
    }
    return type == JSON_OBJECT_END;
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

static bool emit_entry(struct listing *l)
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
        return true;
    }
    t->names.err = t->job->err;
    strmap_keep(&t->names, t->arena, (const char *)l->name.at, l->name.len, &kept, &added);
    if (added && t->job->err->status == OK) { /* constants repeat names of weights */
        torch_export_place(l, &err);
        torch_emit(t, kept, l->name.len, x, &err);
    }
    return t->job->err->status == OK;
}

static bool read_config(struct listing *l)
{
    struct json *j = &l->json;
    enum json_type type;
    if (!json_want(j, JSON_OBJECT, "an object"))
        return false;
    while ((type = json_next(j)) == JSON_KEY) {
        if (!json_is(j, "config")) {
            if (json_next(j) == JSON_FAIL || !json_skip(j))
                return false;
            continue;
        }
        if (!json_want(j, JSON_OBJECT, "an object"))
            return false;
        while ((type = json_next(j)) == JSON_KEY) {
            l->name = j->text;
            if (!torch_export_read_entry(l) || !emit_entry(l))
                return false;
        }
        if (type != JSON_OBJECT_END)
            return false;
    }
    return type == JSON_OBJECT_END && json_want(j, JSON_END, "the end");
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
