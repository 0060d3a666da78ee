/*
 * npz.c - NumPy arrays in a zip archive: numpy.savez, numpy.savez_compressed.
 *
 *   archive      container/zip.c, zip_member.c
 *   KEY.npy      one array per member: container/npyhead.c, then the elements
 *
 * A stored member's elements are a range of the file. A compressed member is one chunk: it is
 * decoded as a whole and its header skipped. The zip's own checksum covers header and elements, so
 * it can be checked unless bytes follow the elements in the member.
 *
 * An archive that was cut short has no directory: the members' own headers are used then, and
 * the last one's array may be whole although the member is not.
 *
 * Source: numpy/lib/npyio.py (savez), container/zip.c.
 * Not read: members that are not arrays (NumPy gives them as bytes), object and structured
 * arrays: an issue each.
 */
#include <stdio.h>
#include <string.h>

#include "catalog/base/text.h"
#include "importer/container/npyhead.h"
#include "importer/container/zip.h"
#include "importer/job/job.h"

#define LOCAL_MAGIC     "PK\3\4"
#define EMPTY_ZIP_MAGIC "PK\5\6"
#define SUFFIX          ".npy"
#define SUFFIX_BYTES    4
#define CODEC_MAX       (ZIP_CODEC_BYTES + 96) /* bytes of a chain of up to four steps */

/* The name of the first member decides (its length is the u16 at byte 26, the name begins at 30).
 * If there is no member, or the first is not an array, the archive's own name decides. */
static int npz_probe(const struct probe *p)
{
    bool named = text_ends_in(p->name, strlen(p->name), ".npz");
    if (p->head.len < 22)
        return 0;
    if (memcmp(p->head.at, EMPTY_ZIP_MAGIC, 4) == 0)
        return named ? 32 : 0;
    if (p->head.len < 30 || memcmp(p->head.at, LOCAL_MAGIC, 4) != 0)
        return 0;
    size_t len = load_u16le(p->head.at + 26);
    if (len <= p->head.len - 30 && text_ends_in(p->head.at + 30, len, SUFFIX))
        return 64;
    return named ? 32 : 0;
}

/* Read the header of a member and check the size of its array against the member's. */
static enum status npz_read_head(struct job *job, const struct zip *z, const struct zip_member *m,
                                 struct npy_head *head, struct error *err)
{
    uint8_t start[NPY_FIXED_BYTES];
    const char *where = job->source->name;
    uint64_t size;
    size_t got = 0;
    uint8_t *bytes = NULL;
    struct zip_member here = *m;
    if (job->source->size - m->data < m->stored)
        here.stored = job->source->size - m->data; /* it was cut short, and is as long as it says */
    if (zip_head(z, &here, start, sizeof(start), &got, err) == OK &&
        npy_head_size((struct bytes){start, got}, where, &size, err) == OK &&
        !(bytes = arena_alloc(job->arena, (size_t)size)))
        error_memory_at(err, where);
    if (!bytes || zip_head(z, &here, bytes, (size_t)size, &got, err) != OK ||
        npy_head_parse((struct bytes){bytes, got}, where, job->arena, head, err) != OK)
        return err->status;
    if (!m->cut && m->size - head->size < head->nbytes) {
        error_set(err, ERR_CORRUPT, where, m->data,
                  "the array needs %llu bytes, the member has %llu",
                  (unsigned long long)head->nbytes, (unsigned long long)(m->size - head->size));
        return error_code(err, "truncated");
    }
    return OK;
}

/* The codec from the member's bytes to elements: "deflate:4224|skip:128|swap:4"; NULL: none. */
static const char *codec_of(struct job *job, const struct zip_member *m, const struct zip_run *run,
                            const struct npy_head *head)
{
    char chain[CODEC_MAX] = "";
    unsigned long long skipped = head->size;
    int len = 0;
    if (*run->codec)
        len = snprintf(chain, sizeof(chain), "%s|skip:%llu", run->codec, skipped);
    else if (!m->cut && m->size == head->size + head->nbytes)
        len = snprintf(chain, sizeof(chain), "member:%llu", skipped);
    if (head->codec)
        len +=
            snprintf(chain + len, sizeof(chain) - (size_t)len, "%s%s", len ? "|" : "", head->codec);
    if (!len)
        return NULL;
    return arena_copy(job->arena, chain, (size_t)len);
}

static void npz_add_tensor(struct job *job, const struct zip_member *m, const struct zip_run *run,
                           const struct npy_head *head)
{
    /* all that the checksum covers */
    bool whole = !m->cut && m->size == head->size + head->nbytes;
    struct tensor_claim t = {
        .name = m->name,
        .name_len = m->name_len - SUFFIX_BYTES,
        .dtype = head->dtype,
        .shape = head->shape,
        .rank = head->rank,
        .storage = STORAGE_RANGE,
        .offset = m->data + head->size,
        .stored = head->nbytes,
        .codec = codec_of(job, m, run, head),
        .strides = head->strides,
        .sums = whole ? &m->crc : NULL,
    };
    if (*run->codec) {
        struct extent *chunk = arena_alloc(job->arena, sizeof(*chunk));
        if (!chunk)
            return;
        *chunk = (struct extent){.offset = run->offset, .stored = run->stored};
        t.storage = STORAGE_CHUNKS;
        t.stored = run->stored;
        t.extents = chunk;
        t.extent_count = 1;
    }
    job_tensor(job, &t);
}

static void npz_add_member(struct job *job, const struct zip *z, const struct zip_member *m)
{
    struct error err = {.offset = NO_OFFSET};
    struct npy_head head = {0};
    struct zip_run run;
    if (!text_ends_in(m->name, m->name_len, SUFFIX)) {
        if (!text_ends_in(m->name, m->name_len, "/"))
            job_issue(job, ISSUE_WARNING, NULL, m->header, "not-an-array",
                      "member \"%.200s\" is not a NumPy array: left out", m->name);
        return;
    }
    if (zip_run(z, m, &run, &err) != OK || npz_read_head(job, z, m, &head, &err) != OK) {
        if (err.status == ERR_MEMORY || err.status == ERR_IO) {
            *job->err = err;
            return;
        }
        if (m->cut) {
            job_issue(job, ISSUE_ERROR, NULL, m->header, "truncated",
                      "member \"%.200s\" was cut short in the header of its array", m->name);
            return;
        }
        error_prefix(&err, m->name);
        err.offset = m->header; /* the parser counts from the start of the array */
        job_issue_error(job, ISSUE_ERROR, &err);
        return;
    }
    uint64_t end = head.size + head.nbytes;
    if (m->size > end && !m->cut)
        job_issue(job, ISSUE_WARNING, NULL, m->data, "trailing-bytes",
                  "%llu bytes follow the array in member \"%.200s\"",
                  (unsigned long long)(m->size - end), m->name);
    npz_add_tensor(job, m, &run, &head);
}

static enum status npz_index(struct job *job)
{
    struct zip z = {0};
    struct error cut = {.offset = NO_OFFSET};
    if (zip_open(job->source, ZIP_UNIQUE, job->arena, &z, &cut) != OK && job->salvage &&
        strcmp(error_word(&cut), "truncated") == 0)
        zip_salvage(job->source, job->arena, &z, job->err);
    if (z.count)
        job_cut(job, 0, &cut);
    if (cut.status != OK && job->err->status == OK)
        *job->err = cut;
    if (job->err->status == OK) {
        zip_report(job, NULL, &z, 0);
        job_sum_kind(job, "crc32");
    }
    for (uint64_t i = 0; i < z.count && job->err->status == OK; i++)
        npz_add_member(job, &z, &z.members[i]);
    return job->err->status;
}

const struct format format_npz = {
    .name = "npz",
    .summary = "NumPy arrays in a zip archive",
    .suffixes = ".npz",
    .separator = '/',
    .probe = npz_probe,
    .index = npz_index,
};
