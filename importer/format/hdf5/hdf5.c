/*
 * hdf5.c - a single HDF5 file: Keras weights and whole models (.h5, .weights.h5, .keras before
 * version 3), files of h5py and others. hdf5_walk.h describes how its contents are catalogued.
 *
 * Source: container/hdf5.h; keras/src/saving/saving_lib.py, keras/src/legacy/saving.
 */
#include <string.h>
#include <strings.h>

#include "importer/format/hdf5/hdf5_walk.h"

static bool named_hdf5(const char *name)
{
    static const char *const suffixes[] = {".h5", ".hdf5"};
    size_t len = strlen(name);
    for (size_t i = 0; i < sizeof(suffixes) / sizeof(*suffixes); i++) {
        size_t n = strlen(suffixes[i]);
        if (len > n && strcasecmp(name + len - n, suffixes[i]) == 0)
            return true;
    }
    return false;
}

/* After a user block of 4096 bytes or more the signature is outside the probe's head. The name then
 * decides, unless the file begins like text. */
static int hdf5_probe(const struct probe *p)
{
    uint64_t base;
    if (hdf5_signature(p->head, &base))
        return 64;
    bool text = !p->head.len || memchr("<{[v\t\r\n ", p->head.at[0], 8);
    return p->size > PROBE_HEAD_BYTES && !text && named_hdf5(p->name) ? 8 : 0;
}

static enum status hdf5_index(struct job *job)
{
    struct hdf5_tree t = {.job = job, .path = job->path};
    if (hdf5_tree_index(&t, job->source, job->err) == OK)
        job_meta_neighbour(job, "config.json");
    return job->err->status;
}

const struct format format_hdf5 = {
    .name = "hdf5",
    .summary = "HDF5: Keras models and weights, and any other",
    .suffixes = ".h5 .hdf5",
    .separator = '/',
    .probe = hdf5_probe,
    .index = hdf5_index,
};
