/*
 * tensor.h - a tensor as the catalog knows it: what it is, and where its bytes lie.
 *
 * This is the contract between the importer, which only describes, and the
 * reader (read.h), which turns any description into bytes:
 *
 *   storage   where the bytes are                          offset, stored
 *   range     one run of bytes in one file                 yes
 *   pieces    boxes of the tensor, each one run in a file  in extents
 *   chunks    runs to decode, or a grid of chunks          in extents, or in `grid`
 *   inline    in the catalog itself                        in extents
 *   none      nowhere: names only, lost, or not readable   no
 *
 * `codec` names the steps that turn the stored bytes of an extent into
 * elements, applied left to right and joined by '|', as in
 * "deflate:4224|skip:128|swap:4" (catalog/data/codec/codec.h). NULL: none.
 * After the steps an extent holds the elements of its box, C order, unless
 * `strides` (in elements, outermost first) says otherwise (Fortran order,
 * views). String tensors end their codec in "strings:..." (codec/strings.h).
 *
 * Where a run holds more than its extent (a compressed block with several values), the
 * chain has a step "cut", and each extent has its own numbers for it: cut_at, cut_len.
 *
 * A run can differ from the tensor's other ones. Its own `codec` (of an extent, or of a grid's
 * value) takes the place of the tensor's: this is how HDF5's filter masks are stated. The tensor
 * has "fletcher32:end|zlib:4096|shuffle:4", a chunk that was not deflated
 * "fletcher32:end|shuffle:4"; "" says no step at all. A last "unpack:" or "strings:" is of the
 * elements, the same for all runs, and is in the tensor's codec alone. A piece's own `strides` take
 * the place of the tensor's, and of C order: say one piece of a distributed checkpoint that was
 * saved as a transposed view. Its run then begins at the element at the box's origin, and holds at
 * least the one farthest from it.
 *
 *   struct extent e[] = {{.file = 0, .stored = 24, .origin = at0, .shape = box},
 *                        {.file = 1, .stored = 24, .origin = at2, .shape = box,
 *                         .strides = (int64_t[]){1, 2}}};    a 2 x 3 box, Fortran order
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "catalog/base/arena.h"
#include "catalog/base/bits.h"
#include "catalog/base/error.h"
#include "catalog/base/limits.h"
#include "catalog/data/model/dtype.h"
#include "catalog/data/model/grid.h"
#include "catalog/data/store/source.h"

#define TENSOR_RANK_MAX 254 /* TensorFlow's; others allow less */

enum storage {
    STORAGE_NONE,
    STORAGE_RANGE,
    STORAGE_PIECES,
    STORAGE_CHUNKS,
    STORAGE_INLINE,
    STORAGE_COMPOSED /* of other tensors (compose/compose.h, merge.h); never a row */
};

/* As the column `storage` has it; "none" for a number that no row should have. */
const char *storage_name(int64_t storage);

#define NO_FILE UINT32_MAX /* extent.file: its file is missing, or it has no file */

/* One run of stored bytes and the box of the tensor that it fills. */
struct extent {
    uint32_t file;     /* position in the checkpoint's files; of inline bytes the one that
                          they were read from; NO_FILE: not known */
    uint64_t offset;   /* in that file, in bytes, before the file's base is added */
    uint64_t stored;   /* bytes in the file */
    uint64_t *origin;  /* rank numbers, in elements; NULL: all zero */
    uint64_t *shape;   /* rank numbers, in elements; NULL: the whole tensor */
    const void *bytes; /* STORAGE_INLINE: `stored` bytes; else NULL */
    /* For the codec step "cut": which of the bytes decoded so far belong to this extent. */
    uint64_t cut_at, cut_len;
    /* Where they are not the tensor's: */
    const char *codec; /* its own steps; "": none; NULL: the tensor's */
    int64_t *strides;  /* rank numbers, in elements; NULL: the tensor's */
};

/* A file of a checkpoint. */
struct stored_file {
    const char *path; /* absolute */
    struct file_identity identity;
    uint64_t base;     /* added to every extent's offset, in bytes */
    uint32_t position; /* in the list of the checkpoint's files; a tensor's list has its own only */
    bool checked;      /* has an identity to check before reading */
    bool present;      /* false: was missing at import */
};

struct stored_tensor {
    int64_t id;
    const char *checkpoint; /* path, for messages */
    const char *name;
    struct dtype dtype;
    unsigned rank;
    uint64_t *shape;
    uint64_t elements, nbytes; /* logical; nbytes 0 where the dtype has no size */
    bool from_catalog;         /* inline bytes came from files that must be unchanged */
    enum storage storage;
    const char *codec; /* NULL: none */
    int64_t *strides;  /* rank numbers, in elements; NULL: C order */
    struct extent *extents;
    uint64_t extent_count;
    struct grid *grid;               /* an array in chunks (no extents, no strides); else NULL */
    struct composition *composition; /* of a composed tensor; else NULL */
    struct merging *merging;         /* of one into which adapters are merged; else NULL */
    /* Checksums, one an extent, in its order, not masked, 0 where an extent has none; NULL
       where the format has none. "crc32c": of the stored bytes; "crc32": of a zip member
       (the codec step "member:N" says how far before the extent it begins). */
    const char *sum_kind;
    uint32_t *sums;
    const struct stored_file *files;
    uint32_t file_count;
};

/*
 * The packed form of an extent list, as stored in a row's `extents` column.
 *
 *   varint  flags: bit 0 boxes follow, bit 1 bytes are inline, bit 2 a grid (grid.h) and
 *           nothing else follows, bit 3 cuts follow, bit 4 codecs, bit 5 strides, bit 6 inline
 *           bytes have files
 *   varint  first checksum: position in the checkpoint's list, plus 1; 0: none
 *   varint  count
 *   codecs: varint how many, each: varint length, text
 *   each:   [varint its codec among these, plus 1; 0: the tensor's],
 *           varint file + 1 (0: no file), zigzag varint of offset minus the end of the
 *           extent before it in the list (0 for the first), varint stored,
 *           [varint cut_at, varint cut_len], [rank varints origin, rank varints shape],
 *           [byte 1 and rank zigzag varints strides, or byte 0: the tensor's]
 *   inline: the bytes instead of file and offset, after `stored`; with bit 6 the file, too
 */
#define EXTENTS_BOXES   1
#define EXTENTS_INLINE  2
#define EXTENTS_GRID    4
#define EXTENTS_CUTS    8
#define EXTENTS_CODECS  16
#define EXTENTS_STRIDES 32
#define EXTENTS_FROM    64

/* Whether the steps have a "cut". */
bool codec_cuts(const char *chain);

/* The length of the part of a chain (NULL: none) that decodes a run's bytes: all but a last
 * "unpack:" or "strings:" step, which turns bytes into elements. */
size_t codec_of_bytes(const char *chain);

#define CHAIN_BYTES 512

/* The chain of a run: its own steps (NULL: the tensor's), then the tensor's last step for elements.
 * *chain is the tensor's text, or one written to `out` (CHAIN_BYTES bytes), or NULL: no steps.
 * ERR_CORRUPT if it does not fit. */
enum status run_chain(const struct stored_tensor *, const char *own, char *out, const char **chain,
                      struct error *err);

/* The same for an extent, with its numbers in the step "cut". */
enum status extent_chain(const struct stored_tensor *, const struct extent *, char *out,
                         const char **chain, struct error *err);

struct text;

/* Append the packed list to `out` (a byte buffer here). `flags`: EXTENTS_BOXES, _INLINE and _CUTS
 * as they apply; codecs and strides are packed if an extent has its own. */
bool extents_pack(struct text *out, const struct extent *list, uint64_t count, unsigned rank,
                  uint64_t first_sum_plus_1, unsigned flags);

/* The same for a grid. */
void extents_pack_grid(struct text *out, const struct grid *, unsigned rank);

struct extent_list {
    struct extent *at;
    uint64_t count;
    uint64_t first_sum_plus_1;
    struct grid *grid; /* NULL: extents */
};

/* Unpack into the arena. Every number is checked; inline bytes point into `packed`. */
enum status extents_unpack(struct bytes packed, const uint64_t *shape, unsigned rank,
                           struct arena *arena, struct extent_list *out, struct error *err);

/* Product of the dimensions; false on overflow (a zero anywhere does not save a
 * product that overflows before it). */
bool shape_elements(const uint64_t *shape, unsigned rank, uint64_t *elements);

/* "[2,3]" to numbers (at most TENSOR_RANK_MAX) in the arena; false if it is not such a list (*shape
 * is left alone), or there is no memory (it is NULL). */
bool shape_parse(const char *json, struct arena *arena, uint64_t **shape, unsigned *rank);
bool shape_print(struct text *out, const uint64_t *shape, unsigned rank);
