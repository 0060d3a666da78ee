/*
 * array.h - zarr arrays as tensors: metadata, and the values that a store holds.
 *
 * Stores come in two kinds: directories with one file per chunk (found in parallel), and
 * key-value stores that list byte ranges (OCDBT, zip archives).
 */
#pragma once

#include "importer/array/zarr_metadata.h"
#include "importer/job/job.h"

/* "PATH/NAME", or "NAME" if the path is ""; "" after a failure of the arena. */
const char *array_below(struct arena *, const char *path, const char *name);

/* Whether a directory in a probed one is a zarr node by itself, whatever its name. */
bool array_probe_node(const struct probe_dir *, const char *name);

/* What a key of a store is, by its last component: "a/b/.zarray" is ARRAY_V2 of "a/b". */
enum array_key {
    ARRAY_VALUE, /* none of the others: an array's, if anything's */
    ARRAY_V2,
    ARRAY_V3, /* or a group's */
    ARRAY_ATTRIBUTES,
    ARRAY_COPIES /* that a group exists, and copies of metadata below it */
};
/* *node_len: the length of the node's path in the key, 3 in the example. */
enum array_key array_key_kind(struct bytes key, size_t *node_len);

/* --- in directories --------------------------------------------------------------------- */

/* A directory that was listed, and its identity then. */
struct array_directory {
    const char *path; /* below the scan's root, '/'-joined; "" is the root */
    struct file_identity identity;
};

/* A directory that holds, or should hold, an array. */
struct array_site {
    const char *path;            /* below the scan's root, '/'-joined; "" is the root */
    bool found;                  /* the directory exists */
    bool has_metadata;           /* a .zarray or zarr.json was read and parsed: `array` is valid */
    bool both;                   /* .zarray is there, too: zarr.json is read */
    bool consolidated;           /* only the root's copy was found, not its own */
    const struct error *problem; /* why metadata or values are missing; or NULL */
    struct zarr_array array;
    const char *metadata_name; /* ".zarray", "zarr.json"; NULL: none */
    struct file_identity identity, metadata_identity;
    struct array_directory *inside; /* its sub-directories that hold values */
    uint64_t inside_count;
    struct grid_run *runs; /* the values that exist */
    uint64_t run_count;
    uint64_t no_files;    /* entries with the name of a chunk that are not files, */
    const char *no_file;  /* and the first of these names */
    uint64_t strangers;   /* files that are not keys of the array, */
    const char *stranger; /* and the name of one */
};

/* Attributes of a node: JSON text, an object. */
struct array_attributes {
    const char *path;              /* of the node, below the scan's root */
    const char *file;              /* ".zattrs", "zarr.json" */
    struct bytes text;             /* empty if it states nothing */
    bool recorded;                 /* the file is the array's own metadata; else */
    struct file_identity identity; /* it is to be recorded: an edit is a change */
};

/* All lists are sorted bytewise by path. */
struct array_tree {
    struct array_site *sites; /* arrays */
    size_t count;
    struct array_directory *groups; /* the other directories, the root left out */
    size_t group_count;
    struct array_attributes *attributes; /* of groups and arrays */
    size_t attribute_count;
    uint64_t foreign;          /* files and directories below the root that are not zarr, but named
                         like checkpoints of other formats: not looked into, */
    const char *first_foreign; /* and the path of one */
    uint64_t lost_attributes;  /* .zattrs and .zmetadata that could not be read, */
    const struct error *lost;  /* and why, for one */
    uint64_t links;            /* links to directories, which are not followed, */
    const char *link;          /* and the path of one */
};

/* Find every array below `root` (absolute), reading directories and metadata on up to
 * job->threads threads. Everything lives in job->arena. Fails only with ERR_MEMORY and
 * ERR_LIMIT, or where the root cannot be read. */
enum status array_tree_scan(struct job *, const char *root, struct array_tree *out);

/* Record a root that is not the job's primary, there or not, as a file of the checkpoint, so that a
 * later import notices what is added to it. Call this before the root is read. */
void array_root_record(struct job *, const char *root);
/* The same for all groups, after a scan. */
void array_groups_record(struct job *, const char *root, const struct array_tree *);

/* Warn about entries that the scan passed over: checkpoints of other formats, links to directories,
 * attributes that could not be read. */
void array_tree_report(struct job *, const char *root, const struct array_tree *);

/* Warn about checkpoints below a root whose own arrays are not in directories (zarr arrays count as
 * checkpoints too), of links to directories, and of directories that cannot be read. Directories
 * of the root are not searched if their names are in `own`, where a name that ends in '*' stands
 * for all names with that beginning, or if the job has files in them. */
void array_tree_report_foreign(struct job *, const char *root, const char *const *own,
                               size_t own_count);

/* The site at a path; NULL if absent. */
struct array_site *array_tree_find(const struct array_tree *, const char *path);

/* List the directory site->path, which the scan has not seen (it may be behind a link), for the
 * values of an array described elsewhere: fills in everything. The directory's own metadata counts
 * if it has some. If they cannot be read, has_metadata is false, and `array` what was given. */
void array_site_list(struct job *, const char *root, const struct zarr_array *,
                     struct array_site *site);

/* Emit the site's array under a name. Records its directories and metadata file; lost
 * values, unreadable codecs and problems become issues. `dtype` NULL: the array's own. */
void array_emit_site(struct job *, const char *root, const struct array_site *, const char *name,
                     size_t len, const char *dtype);

/* Whether attributes state nothing: "{}". */
bool array_attributes_blank(struct bytes text);
/* State attributes as facts: the root's (name "") under their keys, other nodes' under "NAME:KEY".
 * What is wrong with the text goes to *err, which names `source`. */
void array_attributes_state(struct job *, const char *source, const char *name, struct bytes text,
                            struct error *err);

/* --- in lists --------------------------------------------------------------------------- */

/* Emit an array whose values are listed (grid.h; in any order, sorted in place). */
void array_emit_values(struct job *, const struct zarr_array *, uint32_t list,
                       struct grid_value *values, uint64_t count, struct bytes name);

/* Emit all arrays of the job's file, which is a zip archive, by their paths, and state the attributes
 * in it. */
enum status array_emit_archive(struct job *);
