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
    const char *folder; /* "data/weights/" */
    struct torch_tensor tensor;
    struct bytes name, path;
    bool pickled, sized, strided;
};

struct as_int {
    uint64_t value;
    bool found;
};

static bool read_as_int(void *context, struct json *j)
{
    struct as_int *n = context;
    if (json_next(j) == JSON_NUMBER)
        n->found |= json_u64(j, &n->value);
    return json_skip(j);
}

/* Read the rest of {"as_int": N} or N, whose first token was just read; fails for {"as_expr": …}. */
static bool take_int(struct json *j, uint64_t *value)
{
    static const struct json_member table[] = {{"as_int", read_as_int}, {0}};
    struct as_int n = {0};
    if (j->type == JSON_NUMBER)
        n.found = json_u64(j, &n.value) || json_fail(j, ERR_CORRUPT, NULL, "a bad number");
    else if (j->type != JSON_OBJECT)
        json_fail(j, ERR_CORRUPT, NULL, "a number expected");
    else if (json_members(j, table, &n) && !n.found)
        json_fail(j, ERR_CORRUPT, NULL, "a size that is not a number");
    *value = n.value;
    return j->type != JSON_FAIL;
}

/* Read a list of sizes, at most TENSOR_RANK_MAX. */
static bool read_ints(struct json *j, uint64_t *out, unsigned *count)
{
    *count = 0;
    bool ok = json_want(j, JSON_ARRAY, "a list of sizes");
    while (ok && json_next(j) != JSON_ARRAY_END)
        ok = *count < TENSOR_RANK_MAX ? take_int(j, &out[(*count)++])
                                      : json_fail(j, ERR_LIMIT, NULL, "too many dimensions");
    return ok;
}

static bool read_dtype(void *context, struct json *j)
{
    struct listing *l = context;
    uint64_t number = 0;
    json_next(j);
    const bool read = take_int(j, &number),
               known = number < sizeof(scalar_types) / sizeof(scalar_types[0]);
    l->tensor.dtype = known ? scalar_types[number] : NULL;
    return read;
}

static bool read_sizes(void *context, struct json *j)
{
    struct listing *l = context;
    return l->sized = read_ints(j, l->tensor.shape, &l->tensor.rank);
}

static bool read_strides(void *context, struct json *j)
{
    struct listing *l = context;
    struct torch_tensor *x = &l->tensor;
    uint64_t strides[TENSOR_RANK_MAX];
    unsigned count;
    if (!read_ints(j, strides, &count))
        return false;
    for (unsigned d = 0; d < count; d++)
        x->strides[d] = strides[d] <= INT64_MAX ? (int64_t)strides[d] : INT64_MAX;
    l->strided = count == x->rank;
    return true;
}

static bool read_offset(void *context, struct json *j)
{
    struct listing *l = context;
    json_next(j);
    return take_int(j, &l->tensor.offset);
}

static bool read_meta(void *context, struct json *j)
{
    static const struct json_member table[] = {{"dtype", read_dtype},
                                               {"sizes", read_sizes},
                                               {"strides", read_strides},
                                               {"storage_offset", read_offset},
                                               {0}};
    if (json_next(j) != JSON_OBJECT)
        return j->type == JSON_NULL || json_fail(j, ERR_CORRUPT, NULL, "an object expected");
    return json_members(j, table, context);
}

static bool read_file(void *context, struct json *j)
{
    struct listing *l = context;
    const bool read = json_want(j, JSON_STRING, "the name of a file");
    l->path = j->text;
    return read;
}

static bool read_pickled(void *context, struct json *j)
{
    struct listing *l = context;
    l->pickled = json_next(j) == JSON_TRUE;
    return json_skip(j);
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

static bool read_weight(void *context, struct json *j)
{
    static const struct json_member table[] = {
        {"path_name", read_file}, {"use_pickle", read_pickled}, {"tensor_meta", read_meta}, {0}};
    struct listing *l = context;
    l->name = j->text;
    l->tensor = (struct torch_tensor){.swap = 1};
    l->path = (struct bytes){0};
    l->pickled = l->sized = l->strided = false;
    if (json_object(j, "an object", table, l))
        emit_entry(l);
    return j->err->status == OK;
}

static bool read_weights(void *context, struct json *j)
{
    static const struct json_member table[] = {{NULL, read_weight}};
    return json_object(j, "an object", table, context);
}

void torch_export_state(struct torch_tree *t, struct torch_zip *z)
{
    static const char *const folders[] = {"data/weights/", "data/constants/"};
    static const char suffix[] = "_config.json";
    static const struct json_member table[] = {{"config", read_weights}, {0}};
    struct listing *l = arena_alloc(t->arena, sizeof(*l));
    struct json json;
    struct bytes text;
    for (size_t f = 0; l && f < sizeof(folders) / sizeof(folders[0]); f++) {
        for (uint64_t i = 0; i < z->zip.count && t->job->err->status == OK; i++) {
            /* FOLDER/NAME_…_config.json; NAME is the exported program's */
            const struct zip_member *m = &z->zip.members[i];
            const size_t skip = z->root_len + 1, n = strlen(folders[f]);
            if (m->name_len <= skip + n + sizeof(suffix) ||
                memcmp(m->name + skip, folders[f], n) != 0 ||
                !text_ends_in(m->name, m->name_len, suffix))
                continue;
            *l = (struct listing){.t = t, .z = z, .folder = folders[f]};
            if (zip_read(&z->zip, m, LIMIT_HEADER_BYTES, t->arena, &text, t->job->err) != OK)
                break;
            json_init(&json, cursor_over(text, z->base + m->data), t->arena, z->zip.source->name,
                      t->job->err);
            if (json_object(&json, "an object", table, l))
                json_want(&json, JSON_END, "the end");
        }
    }
}
