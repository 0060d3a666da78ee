/*
 * hdf5_file.h - the structures of an HDF5 file: groups, links, datasets, attributes, and where the
 * bytes of a dataset lie. Everything is read by address from a source; nothing is trusted.
 *
 *   struct hdf5 h;
 *   struct hdf5_object o;
 *   if (hdf5_open(source, &h, err) && hdf5_object(&h, h.root, arena, &o))
 *       if (hdf5_kind(&o) == HDF5_GROUP)
 *           hdf5_links(&h, &o, arena, &links);
 *   hdf5_close(&h);
 *
 * All versions of superblocks (0 to 3), object headers (1, 2), groups (symbol tables, link
 * messages, fractal heaps), dataspaces, datatypes, layouts (1 to 5) and chunk indexes that the
 * library up to 2.0 writes. Checksums are verified wherever there is one.
 *
 * Cycles and repeated references stop at a budget: the bytes that may be read are in proportion to
 * the file's, and so are the chunks that may be listed. What a call gives lives in the caller's
 * arena, which has an `err`. Failures are sticky: the functions return false and do nothing more once
 * hdf5.err is set, which hdf5_catch() changes. They are ERR_CORRUPT ("bad-hdf5", or
 * "truncated" for data past the end), ERR_UNSUPPORTED, ERR_LIMIT, ERR_MEMORY and ERR_IO, with
 * the offset in the source.
 *
 * Source: "HDF5 File Format Specification", versions 1.1 to 4.0; files of h5py 3 and HDF5 1.8
 * to 2.0.
 */
#pragma once

#include "catalog/base/arena.h"
#include "catalog/base/strmap.h"
#include "catalog/data/model/grid.h"
#include "catalog/data/store/source.h"

#define HDF5_RANK_MAX  32
#define HDF5_UNDEFINED UINT64_MAX /* an address: nowhere */

#define HDF5_SHARED_HEAPS 8 /* heaps of shared messages, by message type */

struct hdf5_window;
struct hdf5_heap;
struct hdf5_collection;

struct hdf5 {
    const struct source *source; /* owned by the caller */
    struct error *err;           /* gets the first failure */
    uint64_t shift;              /* of the source in its file, for messages */
    uint64_t base;               /* of the superblock in it: all addresses count from here */
    uint64_t size;               /* bytes from there to the end of the source */
    unsigned offset_bytes, length_bytes; /* of an address, of a length */
    uint64_t root;                       /* the root group's object header */
    uint64_t end;    /* as the superblock has it: bytes from `base` to the end of the file */
    bool unclosed;   /* its writer did not close it */
    bool swmr;       /* and let others read meanwhile */
    uint64_t budget; /* bytes that may still be read, see above */
    bool foresees;   /* hdf5_foresee(): bytes that are not at hand are told, not read */
    uint64_t missed; /* the first byte that was not, + 1 */
    uint64_t chunks; /* chunks that may still be listed */
    uint64_t shared; /* address of the table of shared messages */
    struct hdf5_heap *shared_heap[HDF5_SHARED_HEAPS];
    struct hdf5_window *windows;
    struct arena held;         /* memory until hdf5_close() */
    struct strmap collections; /* of the global heap: address -> index in `collection` */
    struct hdf5_collection *collection;
    size_t collection_count, collection_space;
};

/* Whether the signature is at the beginning of the file, or after a user block
 * (of 512, 1024, 2048 ... bytes). */
bool hdf5_signature(struct bytes head, uint64_t *base);

bool hdf5_open(const struct source *, struct hdf5 *, struct error *);
void hdf5_close(struct hdf5 *); /* also after a failed hdf5_open() */

/* Read the headers of a file on another machine ahead: each object lies where it was made, between
 * other objects' data, so that reading one after the other would be a request each. */
void hdf5_foresee(struct hdf5 *);

/* Failures go to `err` from now on. Returns where they went before, to be restored. */
struct error *hdf5_catch(struct hdf5 *, struct error *err);

/* --- objects ------------------------------------------------------------------------------ */

struct hdf5_message {
    unsigned type, flags;
    struct bytes data;
    uint64_t at; /* of the data, in the source */
};

struct hdf5_object {
    uint64_t address;
    struct hdf5_message *messages;
    size_t count;
};

enum hdf5_kind { HDF5_GROUP, HDF5_DATASET, HDF5_NAMED_TYPE, HDF5_NOTHING };

bool hdf5_object(struct hdf5 *, uint64_t address, struct arena *, struct hdf5_object *out);
enum hdf5_kind hdf5_kind(const struct hdf5_object *);

/* --- groups ------------------------------------------------------------------------------- */

enum hdf5_link_kind { HDF5_HARD, HDF5_SOFT, HDF5_EXTERNAL, HDF5_OTHER_LINK };

struct hdf5_link {
    const char *name; /* with a NUL after it; may hold NUL */
    size_t len;
    enum hdf5_link_kind kind;
    uint64_t object;     /* HARD: the address of its header */
    uint64_t order;      /* of creation; 0 where it is not tracked */
    struct bytes target; /* SOFT: a path; EXTERNAL: a file, NUL, a path in it */
};

struct hdf5_links {
    struct hdf5_link *at; /* by creation where the group tracks it, else by name */
    size_t count, space;
};

bool hdf5_links(struct hdf5 *, const struct hdf5_object *, struct arena *, struct hdf5_links *out);

/* --- datatypes and dataspaces ------------------------------------------------------------- */

enum hdf5_class {
    HDF5_PLAIN,     /* `dtype` says everything */
    HDF5_TEXT,      /* of `size` bytes */
    HDF5_VLEN_TEXT, /* of variable length, in the global heap */
    HDF5_RAW,       /* opaque bytes: `dtype` is voidN unless an attribute knows better */
    HDF5_NO_TENSOR, /* `what` says what it is */
};

enum hdf5_padding { HDF5_TO_NUL, HDF5_NULS, HDF5_SPACES };

struct hdf5_type {
    enum hdf5_class class;
    const char *dtype; /* canonical; a constant or in the arena */
    uint32_t size;     /* bytes of an element as stored, array dimensions included */
    uint32_t item;     /* the same without array dimensions */
    unsigned swap;     /* big-endian, in units of this many bytes; 0: no */
    /* Only this many bits of an integer count, from bit narrow_at on; 0: all. What the others hold
     * is not known unless the n-bit filter made them. */
    unsigned narrow, narrow_at;
    enum hdf5_padding padding;
    unsigned rank; /* of an array type: dimensions that come after the dataset's */
    uint64_t shape[HDF5_RANK_MAX];
    const char *what; /* HDF5_NO_TENSOR: "a compound", ... */
};

struct hdf5_space {
    bool null; /* has no elements and no shape */
    unsigned rank;
    uint64_t shape[HDF5_RANK_MAX];
    uint64_t most[HDF5_RANK_MAX]; /* UINT64_MAX: no limit */
};

/* --- datasets ----------------------------------------------------------------------------- */

struct hdf5_filter {
    unsigned id;
    unsigned count;        /* of its values, */
    const uint8_t *values; /* 4 bytes each, little-endian */
    const char *name;      /* for messages; "" */
};

#define HDF5_FILTERS_MAX 32

enum hdf5_layout { HDF5_COMPACT, HDF5_CONTIGUOUS, HDF5_CHUNKED, HDF5_VIRTUAL };

struct hdf5_dataset {
    struct hdf5_type type;
    struct hdf5_space space;
    enum hdf5_layout layout;
    bool external;     /* the data is in other files */
    uint64_t offset;   /* COMPACT, CONTIGUOUS: in the source; HDF5_UNDEFINED: not written */
    uint64_t stored;   /* bytes there */
    struct bytes fill; /* an element as stored; empty: zeros */
    struct hdf5_filter filter[HDF5_FILTERS_MAX];
    unsigned filters;
    /* CHUNKED: */
    uint64_t box[HDF5_RANK_MAX]; /* shape of a chunk */
    uint64_t chunk_bytes;        /* size of a chunk without filters */
    unsigned index;              /* of the kinds below */
    uint64_t address;            /* of the index */
    unsigned flags, version;
    uint64_t single_size;
    uint32_t single_mask;
};

bool hdf5_dataset(struct hdf5 *, const struct hdf5_object *, struct arena *,
                  struct hdf5_dataset *out);

/* A stored chunk. */
struct hdf5_chunk {
    uint64_t index;  /* in C order of the dataset's chunks */
    uint64_t offset; /* in the source */
    uint64_t stored;
    uint32_t skipped; /* bit i: filter i was not applied */
};

struct hdf5_chunks {
    struct hdf5_chunk *at; /* ascending, without duplicates; malloc'ed */
    size_t count, space;
};

/* The chunks of a chunked dataset; free out->at, even after a failure. */
bool hdf5_chunks(struct hdf5 *, const struct hdf5_dataset *, struct hdf5_chunks *out);

/* Whether a chunk is partly outside the array: filters may not apply to it. */
bool hdf5_chunk_is_partial(const struct hdf5_dataset *, uint64_t index);

/* --- attributes --------------------------------------------------------------------------- */

struct hdf5_attribute {
    const char *name; /* with a NUL after it */
    size_t len;
    struct hdf5_type type;
    struct hdf5_space space;
    struct bytes data;
    uint64_t order; /* of creation */
};

struct hdf5_attributes {
    struct hdf5_attribute *at; /* by creation where that is tracked, else by name */
    size_t count, space;
};

/* Attributes that cannot be read are left out; *odd (may be NULL) says why the first one was. */
bool hdf5_attributes(struct hdf5 *, const struct hdf5_object *, struct arena *,
                     struct hdf5_attributes *out, struct error *odd);

/* The text of an element of HDF5_VLEN_TEXT (16 bytes with addresses of 8) or HDF5_TEXT. */
bool hdf5_text(struct hdf5 *, const struct hdf5_type *, struct bytes element, struct bytes *out);
