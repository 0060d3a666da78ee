/*
 * t5x_spec.h - where T5X says that an array of its own folder is: a TensorStore spec, kept as a
 * map in the place of the array. Layout: t5x_spec.c.
 */
#ifndef CKPTDB_IMPORTER_FORMAT_T5X_SPEC_H
#define CKPTDB_IMPORTER_FORMAT_T5X_SPEC_H

#include "importer/container/msgpack.h"

#define T5X_WORD_MAX 32   /* bytes of a driver's or a dtype's name */
#define T5X_PATH_MAX 4096 /* bytes of a path, and of the metadata */

struct t5x_spec {
    char driver[T5X_WORD_MAX + 1], dtype[T5X_WORD_MAX + 1]; /* "": not stated */
    struct text path;     /* of the folder, as it is there */
    struct text metadata; /* the JSON text of a complete .zarray; empty: not stated */
    bool has_kvstore, has_output;
    struct msgpack_item base; /* what a spec of the driver "cast" converts: a map, */
    uint64_t base_at;         /* and where its first key is */
    bool has_base;
};

/* Is the map whose head was read, and whose first key comes next, a spec? Then *spec is filled
 * and the reader is after the map; else it is anywhere. An error of the reader's own
 * is set only where its bytes cannot be read. Release *spec in any case. */
bool t5x_spec_read(struct msgpack *, const struct msgpack_item *map, struct t5x_spec *);
/* Of a map that is none, from its first key on: was it meant for one? It has what makes T5X take
 * it for a spec, and holds texts, which no tree of parameters does. */
bool t5x_spec_meant(struct msgpack *, const struct msgpack_item *map);
void t5x_spec_release(struct t5x_spec *);

/* The folder that the spec means, below that of the checkpoint, to be freed; NULL: the path is
 * one that is not followed, or is not said. `last`: only its last component. */
char *t5x_spec_folder(const struct t5x_spec *, bool last);

#endif
