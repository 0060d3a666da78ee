/*
 * zarr_folder.h - arrays as T5X and Orbax keep them: a folder of zarr 2 for each, "a.b.kernel" for a/b/kernel,
 * whose chunks are files.
 */
#pragma once

#include "catalog/export/export_layout.h"
#include "catalog/export/format/zarr_node.h"

/* Append the path of a name's folder, with its '/': the name, with '.' for each '/'. Nothing if a tree is one array. */
void zarr_folder_path(struct text *out, const char *name);

/* Whether a folder can have this name, and zarr has the dtype (struct exporter, `holds`). */
bool zarr_folder_holds(const struct export_tensor *t, struct text *why, const char **instead);

/* Refuse names that are too long for a folder, and different names that share one folder. */
void zarr_folder_check(struct export_plan *, struct error *);

/* Lay out the metadata and the chunks. */
void zarr_folder_put(struct export_layout *, const struct zarr_how *, struct export_tensor *,
                     struct text *scratch);

/* Append the path of a chunk (struct exporter, `piece_path`); the key of a chunk alone: "0.0". */
void zarr_folder_piece(const struct zarr_how *, const struct export_tensor *, uint64_t piece,
                       struct text *out);
void zarr_chunk_key(const struct zarr_how *, const struct export_tensor *, uint64_t piece,
                    struct text *out);
