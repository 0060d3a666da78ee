/*
 * export_layout.h - the files of an export, as a format plans them.
 *
 * A file is a list of segments: text, zeros, checksums, the bytes of tensors. Everything has its
 * place and size before the first byte is written, except compressed data, which is in pieces: each a file of its
 * own (lay_pieces()), or chunks behind all else (lay_chunks()). For example, a .npy file:
 *
 *   lay_file(l, l->path);
 *   lay_text(l, header.at, header.len);
 *   lay_tensor(l, t);
 *
 * A format lays an export out twice, and must do the same both times: first it is measured, then,
 * when the tensors are written, the texts between them are passed to l->put. No text is kept.
 *
 * Errors go to l->err, and after the first one nothing here does anything, so a format need not
 * check each call.
 */
#pragma once

#include "catalog/export/export.h"

/* A file, once it is measured. */
struct export_file {
    const char *path; /* NULL in a folder if no tensor is placed in it */
    uint64_t size;
};

/* Checksums of tensors' data that a format needs; SUM_CRC32: of zip. */
enum data_sum { SUM_NONE, SUM_CRC32, SUM_CRC32C };

struct export_layout {
    struct export_plan *plan;
    const struct exporter *exporter;
    const struct export_options *options;
    const char *path; /* of the file or folder to be written */
    struct error *err;
    /* Text of the current file, which has the number files - 1; NULL: only measure */
    void (*put)(struct export_layout *, uint64_t at, struct bytes text);
    void *context;
    struct arena *arena;      /* for the format, until the export ends */
    struct text file_path;    /* of the current file; "" before the first */
    uint64_t at;              /* bytes of the current file so far */
    uint64_t nbytes;          /* of the tensors in all files so far */
    uint64_t placed;          /* tensors placed so far: the number of the next one */
    size_t files;             /* begun so far */
    bool holds;               /* there is a tensor in the current file */
    enum data_sum sums;       /* that each tensor gets */
    uint64_t pieces;          /* of all tensors: files of their own */
    uint64_t piece_bytes;     /* of the largest piece, not encoded; 0: no pieces */
    struct export_file *file; /* `measured` complete ones */
    size_t measured, space;
    uint64_t end;     /* of the file with the chunks behind it, where texts are put; else 0 */
    struct text text; /* not put yet: the end of the current file */
};

bool lay_ok(const struct export_layout *);

/* Begin a file; this completes the previous one. `path` is relative to the folder if the format
 * writes one, otherwise it is the path itself. */
void lay_file(struct export_layout *, const char *path);

void lay_text(struct export_layout *, const void *bytes, size_t len);
/* As lay_text(), for JSON and the like: takes the contents of `text` and empties it. */
void lay_add(struct export_layout *, struct text *text);
void lay_zeros(struct export_layout *, uint64_t count);
/* Overwrite zeros of this file with text. */
void lay_fill(struct export_layout *, uint64_t at, const void *bytes, size_t len);

/* Place a tensor: its bytes, in C order and little-endian. Sets t->file, offset and number. */
void lay_tensor(struct export_layout *, struct export_tensor *t);

/* Whether it is worth a block to place the tensor at the same distance from a block's beginning as in its source
 * (source_offset): it is large, does not change, and file systems can share whole blocks. */
#define LAY_BLOCK ((uint64_t)4096)
bool lay_shares(const struct export_tensor *t);

/* Place a tensor where its twin is. */
void lay_tied(struct export_tensor *t);

/* Call `each` with the strings of a tensor, in C order. They are read each time. */
void lay_each_string(struct export_layout *, const struct export_tensor *t,
                     void (*each)(void *context, struct bytes), void *context);
/* The data of a tensor of strings is laid out between these two calls: sets t->file, offset and laid. */
void lay_begin_strings(struct export_layout *, struct export_tensor *t);
void lay_end_strings(struct export_layout *, struct export_tensor *t);

/* Place a tensor in files of its own, cut by t->piece and t->run elements. */
void lay_pieces(struct export_layout *, struct export_tensor *t);

/* Pieces do not extend over the end of a run: runs of 10 elements in pieces of 4 are pieces of 4, 4 and 2. */
uint64_t lay_pieces_per_run(const struct export_tensor *);

/* Place a tensor of one dimension or more, and of one element or more, in chunks of a shape, at most the tensor's in each
 * dimension. They are written behind all else of an export's only file, encoded, in the order in which they are ready; when
 * texts are put, t->places says where. Chunks at the edges are filled up with zeros. */
void lay_chunks(struct export_layout *, struct export_tensor *t, const uint64_t *chunk);

/* Four bytes for a CRC-32: of bytes whose own is `before`, then the data of the tensor, which may be placed
 * later. */
void lay_crc32(struct export_layout *, const struct export_tensor *t, uint32_t before);

/* Distribute the tensors over files of at most shard_size bytes, or one file without a shard_size:
 * sets their `file`. Returns the number of files. */
uint32_t lay_parts(struct export_layout *);

/* "DIR/model.safetensors": "DIR/model-00001-of-00002.safetensors", in the arena; the path itself
 * if `count` is 1. */
const char *lay_part_path(struct export_layout *, uint32_t part, uint32_t count);
/* What follows the last '/' of a path. */
const char *lay_file_name(const char *path);

/* Lay out the index of several parts, as transformers reads it: "PATH.index.json", with "NAME": "FILE" for every
 * tensor. As the last file it gets its name last. */
void lay_index(struct export_layout *, const char *const *paths);

/* Complete the last file. */
void lay_finish(struct export_layout *);
void lay_release(struct export_layout *);
