/*
 * gather.h - copy a strided box of elements from a source into strided memory.
 *
 * The one place that knows how to read well: dimensions are put in the order of the
 * source, neighbours that continue each other become one, long runs go straight to their
 * place, short ones that lie close together come through one small buffer.
 */
#ifndef CKPTDB_GATHER_H
#define CKPTDB_GATHER_H

#include "catalog/model/tensor.h"
#include "catalog/store/source.h"

struct gather_dim {
    uint64_t count;
    int64_t from; /* step in the source, in units */
    int64_t to;   /* step in memory, in units */
};

struct gather {
    size_t unit;   /* bytes of an element, or of a block of packed ones */
    uint64_t from; /* first unit in the source */
    uint64_t to;   /* first unit in memory */
    unsigned rank;
    struct gather_dim dim[TENSOR_RANK_MAX];
};

/* The caller vouches that every unit lies inside the source and inside dst. Changes *g. */
enum status gather_run(struct gather *g, const struct source *s, uint8_t *dst,
                       struct error *err);

/* Whether the units follow each other in the source and in memory alike. */
bool gather_is_run(const struct gather *g);

/* The same out of memory. A step of 0 in the source repeats a unit. */
void gather_copy(struct gather *g, const uint8_t *from, uint8_t *dst);

/* The same into a file, of which memory that were `dst` would begin at byte 0
 * (temporary.h). `what`: for messages. */
enum status gather_to_file(struct gather *g, const struct source *s, int fd,
                           const char *what, struct error *err);

#endif
