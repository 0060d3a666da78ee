/*
 * export_layout.h - the files of an export, as a format plans them.
 *
 * A file is a list of segments: text, zeros, checksums, the bytes of tensors. Everything has its
 * place and size before the first byte is written, except compressed data, which is in pieces
 * (lay_pieces()), each a file of its own. For example, a .npy file:
 *
 *   lay_file(l, l->path);
 *   lay_text(l, header.at, header.len);
 *   lay_tensor(l, t);
 *
 * Errors go to l->err, and after the first one nothing here does anything, so a format need not
 * check each call. Tensors come from scans of l->rows (rows.h), which has the texts, too: memory does
 * not grow with either.
 */
#ifndef CKPTDB_EXPORT_LAYOUT_H
#define CKPTDB_EXPORT_LAYOUT_H

#include "catalog/export/export.h"

struct export_layout {
    struct export_plan *plan;
    struct export_rows *rows; /* of the plan */
    const struct exporter *exporter;
    const struct export_options *options;
    const char *path; /* of the file or folder to be written */
    struct error *err;
    uint64_t at;          /* bytes of the current file so far */
    uint64_t nbytes;      /* of the tensors in all files so far */
    uint64_t placed;      /* tensors placed so far: the number of the next one */
    uint32_t files;       /* begun so far */
    bool sums;            /* there are checksums */
    uint64_t piece_bytes; /* of the largest piece, not encoded; 0: there are none */
    /* Private: */
    char *file_path;
    struct text text; /* text that is not in the rows yet, and where it begins */
    uint64_t text_at;
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

/* Place a tensor from a scan of the selection: its bytes, in C order and little-endian. Sets
 * t->file, offset and number; the caller sets lead_len. */
void lay_tensor(struct export_layout *, struct export_tensor *t);

/* Place a tensor in files of its own, cut by t->piece and t->run elements (rows.h). */
void lay_pieces(struct export_layout *, struct export_tensor *t);

/* Four bytes for a CRC-32: of `before`, then the data of the tensor with that number, which may
 * be placed later. */
void lay_crc32(struct export_layout *, uint64_t tensor, uint64_t nbytes, struct bytes before);

/* The tensors of the selection in spans of at most shard_size bytes, or in one span without a
 * shard_size. In the plan's arena. */
const struct export_span *lay_spans(struct export_layout *, uint32_t *count);

/* "DIR/model.safetensors": "DIR/model-00001-of-00002.safetensors", in the plan's arena; the
 * path itself if `count` is 1. */
const char *lay_part_path(struct export_layout *, uint32_t part, uint32_t count);

/* Complete the last file. */
void lay_finish(struct export_layout *);
void lay_release(struct export_layout *);

#endif
