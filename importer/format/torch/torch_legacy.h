/*
 * torch_legacy.h - the form of torch.save before 1.6, in which torch.storage is still pickled.
 *
 *   pickles   magic number, protocol 1001, a dict about the machine, the object, the keys of
 *             its storages (a list of texts)
 *   storages  in the order of this list: i64 number of elements, then the elements, without
 *             padding, always little-endian
 *
 * The classes in the object's persistent ids say how wide the elements are.
 */
#pragma once

#include "importer/format/torch/torch.h"

struct torch_legacy_storage {
    const char *key; /* text of `len` bytes, which may hold NUL */
    size_t len;
    const char *dtype;
    uint64_t bytes;  /* per element */
    uint64_t offset; /* of the first element in the source; NO_OFFSET: not found */
    uint64_t count;  /* number of elements that the data states */
};

struct torch_legacy {
    struct pickle object;
    struct torch_legacy_storage *storages;
    size_t count, space;
    struct strmap keys;  /* key -> position; to be released */
    uint64_t end;        /* after the last storage that was found */
    struct error broken; /* why storages may be missing; status OK: none are */
    bool cut;            /* they are behind the end that the file has lost */
};

/* Whether `head` is the beginning of such a file. */
bool torch_legacy_magic(struct bytes head);

/* Read the five pickles at `offset` of t->source and find the storages. Sets t->pickle,
 * t->find and t->container. False after setting *err or the job's error. Release out->keys then, too. */
bool torch_legacy_read(struct torch_tree *t, uint64_t offset, struct torch_legacy *out,
                       struct error *err);
bool torch_legacy_find(struct torch_tree *, const struct torch_key *, struct torch_run *,
                       struct error *);
