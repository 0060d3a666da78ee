/*
 * npy.c - one NumPy array in a .npy file.
 *
 *   header       container/npyhead.c
 *   elements     to the end of the file
 *
 * Bytes after the elements are legal (several arrays may be appended to one file): only the
 * first array is read, and a warning mentions the rest.
 *
 * Source: numpy/lib/format.py.
 * Not read: object arrays (they are pickles) and structured ones; npyhead.c refuses them.
 */
#include <string.h>

#include "importer/container/npyhead.h"
#include "importer/job/job.h"

static int npy_probe(const struct probe *p)
{
    bool magic =
        p->head.len >= NPY_MAGIC_BYTES && memcmp(p->head.at, NPY_MAGIC, NPY_MAGIC_BYTES) == 0;
    return magic ? 8 * NPY_MAGIC_BYTES : 0;
}

static void npy_read_head(struct job *job, struct npy_head *head)
{
    const struct source *s = job->source;
    uint8_t start[NPY_FIXED_BYTES];
    size_t len = s->size < sizeof(start) ? (size_t)s->size : sizeof(start);
    uint64_t size;
    if (source_read(s, 0, start, len, job->err) != OK ||
        npy_head_size((struct bytes){start, len}, s->name, &size, job->err) != OK)
        return;
    len = s->size < size ? (size_t)s->size : (size_t)size;
    uint8_t *bytes = arena_alloc(job->arena, len);
    if (bytes && source_read(s, 0, bytes, len, job->err) == OK)
        npy_head_parse((struct bytes){bytes, len}, s->name, job->arena, head, job->err);
}

/* All elements must be there; bytes after them are only worth a warning. */
static void check_size(struct job *job, const struct npy_head *head)
{
    const struct source *s = job->source;
    uint64_t there = s->size - head->size;
    if (there < head->nbytes) {
        error_set(job->err, ERR_CORRUPT, s->name, s->size,
                  "the array needs %llu bytes, the file has %llu: it was cut short",
                  (unsigned long long)head->nbytes, (unsigned long long)there);
        error_code(job->err, "truncated");
    } else {
        job_base(job, 0, head->size);
        job_trailing(job, NULL, head->size + head->nbytes, there - head->nbytes, "the array");
    }
}

static enum status npy_index(struct job *job)
{
    struct npy_head head = {0};
    npy_read_head(job, &head);
    if (job->err->status == OK)
        check_size(job, &head);
    const char *slash = strrchr(job->path, '/');
    const char *name = slash ? slash + 1 : job->path;
    const char *dot = strrchr(name, '.');
    return job_tensor(job, &(struct tensor_claim){
                               .name = name,
                               .name_len = dot && dot > name ? (size_t)(dot - name) : strlen(name),
                               .dtype = head.dtype,
                               .shape = head.shape,
                               .rank = head.rank,
                               .storage = STORAGE_RANGE,
                               .stored = head.nbytes,
                               .codec = head.codec,
                               .strides = head.strides,
                           });
}

const struct format format_npy = {
    .name = "npy",
    .summary = "a NumPy array",
    .suffixes = ".npy",
    .separator = '/',
    .probe = npy_probe,
    .index = npy_index,
};
