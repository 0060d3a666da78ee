/*
 * onnx_external.c - elements of a TensorProto that are in other files.
 *
 * External data must be below the model's folder, and so must the target of a link there: a model from
 * elsewhere could show any file of the reader's as its weights. The cache of Hugging Face is made of
 * such links. A tensor whose file is missing, or must not be read, gets no row: onnx refuses such a
 * model, and a row would list a tensor that nobody has.
 *
 * Source: onnx.proto, ExternalData.md and ExternalDataSecurity.md of ONNX.
 */
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "catalog/data/store/store.h"
#include "importer/format/single/onnx.h"

struct place {
    struct bytes location;
    uint64_t offset, length;
    bool has_length, bad; /* bad: an offset or a length that is not a number */
};

static bool decimal(struct bytes text, uint64_t *value)
{
    *value = 0;
    for (size_t i = 0; i < text.len; i++) {
        const unsigned digit = (unsigned)text.at[i] - '0';
        if (digit > 9 || !mul_u64(*value, 10, value) || !add_u64(*value, digit, value))
            return false;
    }
    return text.len != 0 && *value <= INT64_MAX;
}

static bool read_place(struct onnx *o, struct message_range tensor, struct place *p)
{
    struct message_field f;
    *p = (struct place){.location = {(const uint8_t *)"", 0}};
    const struct message_range outer = onnx_enter(o, tensor);
    while (onnx_next(o, &f)) {
        if (f.number != 13 || f.wire != WIRE_BYTES)
            continue;
        const struct message_range all = onnx_enter(o, onnx_contents(&f));
        /* Read a key and a value of external_data. */
        struct bytes key, value;
        onnx_pair(o, &key, &value);
        if (onnx_text_is(key, "location"))
            p->location = value;
        else if (onnx_text_is(key, "offset"))
            p->bad |= !decimal(value, &p->offset);
        else if (onnx_text_is(key, "length"))
            p->bad |= !(p->has_length = decimal(value, &p->length));
        onnx_leave(o, all);
    }
    onnx_leave(o, outer);
    return o->job->err->status == OK;
}

/* Whether a file is below a folder; both paths are resolved. */
static bool is_below(const char *path, const char *folder, size_t len)
{
    return strncmp(path, folder, len) == 0 && path[len] == '/';
}

/* Whether a link is one of the Hugging Face cache, from MODEL/snapshots/REVISION, or a folder in it, to
 * MODEL/blobs. */
static bool is_blob(const char *path, const char *folder)
{
    static const char above[] = "/snapshots/", blobs[] = "/blobs";
    const char *at = strstr(folder, above);
    for (; at; at = strstr(at + 1, above)) {
        const size_t model = (size_t)(at - folder);
        if (strncmp(path, folder, model) == 0 && is_below(path + model, blobs, sizeof(blobs) - 1))
            return true;
    }
    return false;
}

/* Whether the file of a location is what it seems to be: no link out of the model's folder. Else an
 * issue. */
static bool stays_inside(struct job *job, const char *location)
{
    const char *slash = strrchr(job->path, '/');
    struct text at = {0};
    text_add(&at, job->path, slash ? (size_t)(slash - job->path) : 0);
    char *folder = text_str(&at) ? path_resolve(at.at) : NULL;
    text_addf(&at, "/%s", location);
    char *path = text_str(&at) ? path_resolve(at.at) : NULL;
    const bool leaves =
        folder && path && !is_below(path, folder, strlen(folder)) && !is_blob(path, folder);
    if (leaves)
        job_issue(job, ISSUE_ERROR, NULL, NO_OFFSET, "linked-data",
                  "the external data \"%.200s\" is a link out of the model's folder, to %.200s: it "
                  "is not read, as in onnx (a copy or a hard link is)",
                  location, path);
    free(path);
    free(folder);
    text_release(&at);
    return !leaves;
}

/* The file of a location, opened when it is first named. */
static struct onnx_file *external_file(struct onnx *o, struct bytes location)
{
    struct job *job = o->job;
    struct error err = {.offset = NO_OFFSET};
    struct source *s = NULL;
    bool added;
    uint64_t *at = strmap_add(&o->files, (const char *)location.at, location.len, &added);
    if (!added)
        return &o->external[*at];
    *at = o->external_count;
    struct onnx_file *file = PUSH(job->arena, o->external, o->external_count, o->external_space);
    file->location = (const char *)location.at;
    file->lost = memchr(location.at, '\0', location.len) ||
                 job_open(job, file->location, "data", &s, &file->file, &err) != OK;
    if (!file->lost) {
        file->size = s->size;
        file->lost = !stays_inside(job, file->location);
    } else if (err.status == OK) {
        job_issue(job, ISSUE_ERROR, NULL, NO_OFFSET, "corrupt",
                  "the location of external data holds a NUL byte");
    } else {
        job_issue_error(job, ISSUE_ERROR, &err);
    }
    return file;
}

bool onnx_external(struct onnx *o, struct message_range tensor, const char *name,
                   struct tensor_claim *claim, uint64_t nbytes)
{
    struct place p;
    uint64_t end;
    if (!read_place(o, tensor, &p))
        return false;
    if (!p.location.len || p.bad) {
        job_issue(o->job, ISSUE_ERROR, NULL, tensor.at, "bad-external",
                  "tensor \"%s\": its external data has %s", name,
                  p.bad ? "an offset or a length that is not a number" : "no location");
        return false;
    }
    struct onnx_file *file = external_file(o, p.location);
    if (o->job->err->status != OK)
        return false;
    if (file->lost) {
        file->tensors++;
        return false;
    }
    if (!p.has_length)
        p.length = file->size > p.offset ? file->size - p.offset : 0;
    if (!add_u64(p.offset, p.length, &end) || end > file->size) {
        job_issue(o->job, ISSUE_ERROR, NULL, tensor.at, "truncated",
                  "tensor \"%s\": its data ends past the end of %s", name, file->location);
        return false;
    }
    /* Data without a stated length may extend to the end of the file; the tensor needs only
     * `nbytes`. */
    claim->storage = STORAGE_RANGE;
    claim->file = file->file;
    claim->offset = p.offset;
    claim->stored = p.has_length || p.length < nbytes ? p.length : nbytes;
    return true;
}

void onnx_external_report(struct onnx *o)
{
    for (size_t i = 0; i < o->external_count; i++)
        if (o->external[i].lost)
            job_issue(o->job, ISSUE_ERROR, NULL, NO_OFFSET, "missing-data",
                      "%" PRIu64 " tensors are left out: their data is in \"%.200s\"",
                      o->external[i].tensors, o->external[i].location);
}
