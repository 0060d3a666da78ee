/*
 * array_list.h - one directory of a zarr store: its entries, its metadata, and the values of the array
 * in it. All arenas report lack of memory to an `err` of their own.
 */
#pragma once

#include <limits.h>

#include "importer/array/array.h"

/* The entries of a directory. Links to files count as files. */
struct array_listing {
    const char **files, **dirs;
    size_t file_count, file_space, dir_count, dir_space;
    const char **odd; /* others: dangling links, pipes, what cannot be looked at */
    size_t odd_count, odd_space;
    const char **linked; /* links to directories */
    size_t linked_count, linked_space;
    struct file_identity identity;
};

/* "ROOT/PATH/NAME"; false if it is too long to exist. */
bool array_path(char out[PATH_MAX], const char *root, const char *path, const char *name);
void array_path_too_long(const char *root, const char *path, const char *name, struct error *);

/* List the directory ROOT/PATH. ERR_MISSING if it is absent. */
enum status array_list(struct arena *, const char *root, const char *path, struct array_listing *,
                       struct error *err);
bool array_listed(const struct array_listing *, const char *file);

/* Read a whole metadata file; `identity` may be NULL. */
enum status array_read(struct arena *, const char *path, struct bytes *out,
                       struct file_identity *identity, struct error *err);

/* A metadata file that was read. */
struct array_metadata {
    struct bytes text;
    unsigned version; /* of zarr: 2 or 3 */
};

/* Where arrays below a root are read: what is found lives in `arena`. */
struct array_place {
    const char *root;
    struct arena *arena, *scratch;
};

/* Read and parse the metadata file of the site's directory, which has been listed.
 * ERR_MISSING without an error: it has none. `out` is in the scratch arena. */
enum status array_read_metadata(const struct array_place *, struct array_site *,
                                const struct array_listing *, struct array_metadata *out,
                                struct error *err);

/* Whether `name`, as component number `depth` of a key, can be a directory of chunks. */
bool array_begins_key(const struct zarr_array *, unsigned depth, const char *name);

/* Find the values of the site's array, whose directory has been listed. Results are in the
 * first arena; `scratch` may be released afterwards. */
void array_find_values(struct arena *, struct arena *scratch, const char *root, struct array_site *,
                       const struct array_listing *);

/* Keep why a part of a site could not be read. Lack of memory is the arena's failure instead. */
void array_keep_problem(struct arena *, struct array_site *, const struct error *);
