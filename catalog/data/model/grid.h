/*
 * grid.h - an array cut into a regular grid of chunks, each stored as a value of its own:
 * a file in a directory (zarr), or a run of bytes that a list names (OCDBT).
 *
 * A value can be a shard: a grid of smaller chunks with an index of where they lie in it,
 * and these can be shards again. Level 0 is the stored value; the last level is the chunk
 * that the tensor's codec decodes. Chunks at the edges of the array have the full size, too:
 * elements outside the array are padding.
 *
 * Source: zarr version 2 and 3 specifications, sharding_indexed codec; TensorStore.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "catalog/base/arena.h"
#include "catalog/base/bits.h"
#include "catalog/base/cursor.h"
#include "catalog/base/error.h"

struct text;

#define GRID_LEVELS_MAX 3 /* a chunk in a shard in a shard */
#define GRID_NO_FILE    UINT32_MAX
#define GRID_ABSENT     UINT64_MAX /* both numbers of a shard's index: no such chunk */

struct grid_level {
    /* Of one box, in elements along the tensor's axes; 1 or more each; divides the shape of
     * the level above. */
    uint64_t *shape;
    /* The order of what is inside a box (the entries of a shard's index, the elements of a
     * chunk), as axes of the tensor, slowest-varying first. NULL: C order. */
    uint8_t *order;
    /* Of a shard, which any level but the last is: */
    bool index_first;  /* its index is at its beginning, else at its end */
    bool index_summed; /* 4 bytes follow the index: its CRC-32C, little-endian */
    bool index_big;    /* the index's numbers are big-endian */
    const char *codec; /* steps that decode the stored value into the shard; NULL: none */
};

/* A value that a list names. */
struct grid_value {
    uint64_t index;    /* in C order of the level 0 grid */
    uint32_t file;     /* position in the checkpoint's files; of an inline value the one that
                          it was read from; GRID_NO_FILE: inline, and that is not known */
    uint64_t offset;   /* in that file, in bytes, before the file's base is added */
    uint64_t stored;   /* bytes */
    const void *bytes; /* inline: `stored` bytes, at most GRID_INLINE_MAX; else NULL */
    /* Steps instead of the tensor's (tensor.h), where a value is a chunk. NULL: the tensor's. */
    const char *codec;
};

/* Is the value in the catalog itself? */
static inline bool grid_value_inline(const struct grid_value *v)
{
    return v->bytes || v->file == GRID_NO_FILE;
}

/* The distinct codecs of single values, in order of first appearance. */
#define OWN_CODECS_MAX 256
struct own_codecs {
    unsigned count;
    const char *at[OWN_CODECS_MAX];
};

/* The position of a codec (not NULL) in the list, where a new one is appended; OWN_CODECS_MAX if
 * the list is full. */
unsigned own_codec_number(struct own_codecs *, const char *codec);
void own_codecs_pack(struct text *, const struct own_codecs *);
/* Damage fails the cursor. False: no memory. */
bool own_codecs_unpack(struct cursor *, struct arena *, struct own_codecs *);

/* A number of a packed row of the catalog. */
void packed_put(struct text *, uint64_t);

#define GRID_INLINE_MAX (UINT64_C(1) << 20)

/* Values [first, first + count) of the level 0 grid, in C order. */
struct grid_run {
    uint64_t first, count;
};

struct grid {
    unsigned levels; /* 1: no shards */
    struct grid_level level[GRID_LEVELS_MAX];

    bool in_files; /* the values are files; else listed */
    /* The file that describes the array and must be the same as at import: its own metadata file
     * (values in files) or the manifest of the database (listed values). Position in the
     * checkpoint's files; GRID_NO_FILE: none. */
    uint32_t metadata;
    /* In files: DIRECTORY/KEY. The key is the indexes along the axes, decimal, joined by
     * `separator`; "c" and a separator come first if `prefixed`. Of rank 0: "0", or "c". */
    uint32_t directory; /* position in the checkpoint's files */
    char separator;
    bool prefixed;
    struct grid_run *runs; /* the values present at import, ascending */
    uint64_t run_count;
    /* Listed: the values present, sorted by index. */
    struct grid_value *values;
    uint64_t value_count;

    /* Where a value or a chunk of a shard is absent, every element is `fill`: one element,
     * logical, little-endian (of strings: the text); empty: zeros. */
    struct bytes fill;
    /* Import found (and reported) lost values: the tensor cannot be read. */
    bool incomplete;
};

/* How many boxes of a level there are along each axis of an array (`counts`, room for rank numbers)
 * and in all; false on overflow. */
bool grid_counts(const uint64_t *shape, unsigned rank, const uint64_t *box, uint64_t *counts,
                 uint64_t *all);

/* Whether the grid makes sense for such an array: levels, shapes, orders, runs and values
 * within the grid and ascending. */
bool grid_valid(const struct grid *, const uint64_t *shape, unsigned rank);

/* Where the value at `index` is, and how much of its box lies inside the array: rank
 * numbers each. */
void grid_box(const struct grid *, const uint64_t *shape, unsigned rank, uint64_t index,
              uint64_t *origin, uint64_t *inside);

/* The key of the value at `index`, below the directory. */
bool grid_key(const struct grid *, const uint64_t *shape, unsigned rank, uint64_t index,
              struct text *out);

/* Is there a value? In files only. */
bool grid_holds(const struct grid *, uint64_t index);
/* Of a list; NULL: absent. */
const struct grid_value *grid_value_at(const struct grid *, uint64_t index);

/* How many values there are. */
uint64_t grid_value_total(const struct grid *);

/* The checkpoint's files that the grid refers to, one after another: *at begins at 0; NULL
 * at the end. They can be renumbered through it. */
uint32_t *grid_next_file(struct grid *, uint64_t *at);

/*
 * The packed form, in the `extents` column after EXTENTS_GRID (tensor.h):
 *
 *   varint  flags: bit 0 in files, 1 prefixed, 2 incomplete, 3 has metadata file, 4 values
 *           have codecs of their own, 5 inline values have files
 *   varint  levels, then each: rank varints shape; varint flags: bit 0 order follows,
 *           1 index first, 2 summed, 3 big-endian, 4 codec follows; [rank bytes order];
 *           [varint length, codec]
 *   varint  length of fill, fill
 *   files:  varint directory, [varint metadata], byte separator, varint runs, each: varint
 *           first minus the end of the run before it, varint count
 *   listed: [varint codecs, each: varint length, text], [varint metadata], varint values, each:
 *           [varint its codec among these, plus 1; 0: the tensor's],
 *           varint index minus the one before (the first: index),
 *           varint file + 1 (0: inline), varint stored, then [varint file + 1 (0: none)] and
 *           the bytes, or zigzag varint of offset minus the end of the value before it in the
 *           list (0 for the first)
 */
bool grid_pack(struct text *out, const struct grid *, unsigned rank);

/* Everything but the text of codecs is checked; inline bytes point into the cursor's. */
enum status grid_unpack(struct cursor *, const uint64_t *shape, unsigned rank, struct arena *,
                        struct grid *out, struct error *err);
