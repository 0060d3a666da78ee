/*
 * t5x_spec.h - the TensorStore spec, a map, that T5X writes in place of an array stored in a
 * folder of its own. t5x_spec.c describes the layout.
 */
#pragma once

#include "importer/container/msgpack.h"

#define T5X_WORD_MAX 32   /* bytes of a driver's or a dtype's name */
#define T5X_PATH_MAX 4096 /* bytes of a path, and of the metadata */

struct t5x_spec {
    char driver[T5X_WORD_MAX + 1], dtype[T5X_WORD_MAX + 1]; /* "": not stated */
    struct text path;     /* of the folder, as the spec states it */
    struct text metadata; /* the JSON text of a complete .zarray; empty: not stated */
    bool has_kvstore, has_output;
    struct msgpack_item base; /* driver "cast": the map of the spec that it converts, */
    uint64_t base_at;         /* and the offset of its first key */
    bool has_base;
};

/* Whether the map whose head was just read is a spec. If so, *spec is filled and the reader is
 * after the map; if not, the reader may be anywhere in it. The reader's error is set only if
 * reading fails. Release *spec in any case. */
bool t5x_spec_read(struct msgpack *, const struct msgpack_item *map, struct t5x_spec *);
/* Whether a map that is not a valid spec was meant to be one: it has the members by which T5X
 * recognises a spec, and holds texts, which no tree of parameters does. The reader must be at its
 * first key. */
bool t5x_spec_meant(struct msgpack *, const struct msgpack_item *map);
void t5x_spec_release(struct t5x_spec *);

/* *out: the path of the spec's folder, relative to the checkpoint's; NULL: there is no path, or it is
 * not safe to follow. `last`: only its last component. False: no memory. */
bool t5x_spec_folder(const struct t5x_spec *, bool last, struct arena *, char **out);
