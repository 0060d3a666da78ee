/*
 * array.h - zarr arrays as tensors: metadata, and the values that a store holds.
 *
 * Stores come in two kinds: directories with a file a chunk (chunk_tree finds them, in
 * parallel), and key-value stores that list byte ranges (OCDBT).
 */
#ifndef CKPTDB_IMPORTER_ARRAY_H
#define CKPTDB_IMPORTER_ARRAY_H

#include "importer/container/zarr.h"
#include "importer/job.h"

/* --- in directories --------------------------------------------------------------------- */

/* What was found in one directory that holds, or should hold, an array. */
struct array_site {
    const char *path;     /* below the scan's root, '/'-joined; "" is the root */
    bool found;           /* the directory exists */
    bool has_metadata;    /* a .zarray or zarr.json was read and parsed: `array` is valid */
    struct error problem; /* status other than OK: why not */
    struct zarr_array array;
    const char *metadata_name; /* ".zarray", "zarr.json"; NULL: none */
    struct bytes attributes;   /* of .zattrs or zarr.json as text; empty: none */
    struct grid_run *runs;     /* the values there are */
    uint64_t run_count;
    uint64_t strangers; /* files that are no key of the array */
};

struct array_tree {
    struct array_site *sites; /* arrays, sorted bytewise by path */
    uint64_t count;
    /* Facts of the root group (.zattrs, zarr.json attributes) as JSON text; empty: none. */
    struct bytes attributes;
};

/* Find every array below `root` (absolute), reading directories and metadata on up to
 * job->threads threads. Links to directories are not followed out of the root. Everything
 * lives in job->arena. Fails only with ERR_MEMORY and ERR_LIMIT, or where the root cannot
 * be read. */
enum status array_tree_scan(struct job *, const char *root, struct array_tree *out);

/* The site at a path; NULL: none. */
struct array_site *array_tree_find(const struct array_tree *, const char *path);

/* List a directory that has no metadata of its own, for an array known from elsewhere:
 * fills found, array, runs. */
enum status array_site_list(struct job *, const char *root, struct array_site *,
                            const struct zarr_array *);

/* Emit the site's array under a name. Records its directory and metadata file; lost chunks,
 * unreadable codecs and problems become issues. `dtype` NULL: the array's own. */
enum status array_emit_site(struct job *, const char *root, const struct array_site *,
                            const char *name, size_t len, const char *dtype);

/* --- in lists --------------------------------------------------------------------------- */

/* Emit an array whose values are listed (grid.h; in any order). `where` names it in
 * messages. */
enum status array_emit_values(struct job *, const struct zarr_array *,
                              struct grid_value *values, uint64_t count, const char *name,
                              size_t len, const char *where);

#endif
