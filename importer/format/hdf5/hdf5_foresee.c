/*
 * hdf5_foresee.c - finds out in few round trips which headers will be read.
 *
 * The groups are walked as far as bytes are at hand. Other bytes are told to the source, their branch is left, and the
 * walk goes on elsewhere; then all told bytes are fetched at once, and the walk begins again.
 */
#include <stdlib.h>

#include "importer/format/hdf5/hdf5_read.h"

#define PASSES_MAX  32
#define DEPTH_MAX   16
#define OBJECTS_MAX 1000000 /* in all passes: a file may link to the same ones again and again */

struct foreseen {
    struct hdf5 *h;
    unsigned objects;
};

static void see_object(struct foreseen *f, uint64_t address, unsigned depth)
{
    struct error missing = {.offset = NO_OFFSET}, *before = hdf5_catch(f->h, &missing);
    struct arena arena = {.err = &missing};
    struct hdf5_object o;
    struct hdf5_links links = {0};
    struct hdf5_attributes attributes;
    struct hdf5_dataset data;
    struct hdf5_chunks chunks = {0};
    if (!hdf5_object(f->h, address, &arena, &o) || ++f->objects > OBJECTS_MAX)
        o.count = 0;
    if (o.count && hdf5_kind(&o) == HDF5_GROUP)
        hdf5_links(f->h, &o, &arena, &links);
    else if (o.count && hdf5_kind(&o) == HDF5_DATASET && hdf5_dataset(f->h, &o, &arena, &data) &&
             data.layout == HDF5_CHUNKED)
        hdf5_chunks(f->h, &data, &chunks);
    free(chunks.at);
    if (hdf5_ok(f->h) && o.count)
        hdf5_attributes(f->h, &o, &arena, &attributes, NULL);
    for (size_t i = 0; i < links.count && depth < DEPTH_MAX; i++)
        if (links.at[i].kind == HDF5_HARD)
            see_object(f, links.at[i].object, depth + 1);
    arena_release(&arena);
    hdf5_catch(f->h, before);
}

void hdf5_foresee(struct hdf5 *h)
{
    struct foreseen f = {.h = h};
    const uint64_t budget = h->budget, chunks = h->chunks;
    uint8_t byte;
    h->foresees = h->source->ops->at_hand != NULL;
    for (unsigned i = 0, before = 0, last = 0; i < PASSES_MAX && h->foresees && hdf5_ok(h); i++) {
        h->missed = 0;
        see_object(&f, h->root, 0);
        /* Fewer than in the last pass: there are more than the source keeps. */
        if (!h->missed || f.objects > OBJECTS_MAX || f.objects - before < last)
            break;
        last = f.objects - before;
        before = f.objects;
        source_read(h->source, h->missed - 1, &byte, 1, h->err);
    }
    h->foresees = false;
    h->budget = budget;
    h->chunks = chunks;
}
