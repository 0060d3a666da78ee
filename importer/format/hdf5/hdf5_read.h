/*
 * hdf5_read.h - the basis of the parsers in hdf5_file.h: reading by address (hdf5_read.c), B-trees
 * (hdf5_btree.c), heaps (hdf5_heap.c), messages of objects (hdf5_object.c), types and shapes
 * (hdf5_type.c).
 *
 * Failures are sticky: hdf5.err has the first one, and nothing is read after it. A function then
 * returns something empty or zero, so that a cursor over it fails; loops ask hdf5_ok().
 *
 * Addresses count from hdf5.base. All numbers are little-endian.
 */
#pragma once

#include "catalog/base/cursor.h"
#include "importer/format/hdf5/hdf5_file.h"

enum hdf5_message_type {
    MESSAGE_NIL = 0x00,
    MESSAGE_SPACE = 0x01,
    MESSAGE_LINK_INFO = 0x02,
    MESSAGE_TYPE = 0x03,
    MESSAGE_OLD_FILL = 0x04,
    MESSAGE_FILL = 0x05,
    MESSAGE_LINK = 0x06,
    MESSAGE_EXTERNAL = 0x07,
    MESSAGE_LAYOUT = 0x08,
    MESSAGE_FILTERS = 0x0B,
    MESSAGE_ATTRIBUTE = 0x0C,
    MESSAGE_SHARED_TABLE = 0x0F,
    MESSAGE_CONTINUES = 0x10,
    MESSAGE_SYMBOLS = 0x11,
    MESSAGE_ATTRIBUTE_INFO = 0x15,
};

#define MESSAGE_IS_SHARED 0x02 /* message flag: the data is elsewhere */
#define SUM_BYTES         4

/* --- hdf5_read.c -------------------------------------------------------------------------- */

/* Small structures are read through windows: the library writes metadata in blocks of 2 KiB. */
#define HDF5_WINDOW_BYTES 4096
#define HDF5_WINDOWS      256

struct hdf5_window {
    uint64_t at; /* offset in the source + 1; 0: empty */
    size_t len;
    uint8_t bytes[HDF5_WINDOW_BYTES];
};

static inline bool hdf5_ok(const struct hdf5 *h)
{
    return h->err->status == OK;
}

/* Offset in the file of an address, for messages. */
uint64_t hdf5_place(const struct hdf5 *, uint64_t address);
/* Always false. */
bool hdf5_corrupt(const struct hdf5 *, uint64_t address, const char *fmt, ...) PRINTF_LIKE(3, 4);
/* Any other failure, at an offset in the file; `code` may be NULL. Always false. */
bool hdf5_fail(const struct hdf5 *, enum status, const char *code, uint64_t offset, const char *fmt,
               ...) PRINTF_LIKE(5, 6);

/* Room in an arena that may have another `err` than the file has now. NULL on failure. */
void *hdf5_room(struct hdf5 *, struct arena *, size_t size);

/* Read the bytes at an address into `dst` (zeros on failure) or the arena ({0} on failure). Counts
 * against the budget. */
bool hdf5_read(struct hdf5 *, uint64_t address, void *dst, size_t len);
struct bytes hdf5_take(struct hdf5 *, uint64_t address, uint64_t len, struct arena *);
/* A small structure at an address will be read. */
void hdf5_expect(struct hdf5 *, uint64_t address);
/* hdf5_take() of a structure that begins with a signature of 4 letters and ends with a
 * checksum, which the result leaves out. */
struct hdf5_part {
    uint64_t address, len;
    const char *signature;
};
struct bytes hdf5_take_summed(struct hdf5 *, struct hdf5_part, struct arena *);
/* Check that the last 4 bytes are the checksum of all bytes before them. */
bool hdf5_verify(const struct hdf5 *, uint64_t address, struct bytes, const char *what);

struct cursor hdf5_cursor(const struct hdf5 *, struct bytes, uint64_t address);
uint64_t hdf5_number(struct cursor *, unsigned bytes); /* 0 to 8 bytes */
uint64_t hdf5_address(const struct hdf5 *, struct cursor *);
uint64_t hdf5_length(const struct hdf5 *, struct cursor *);
/* Bytes needed for numbers up to `most`. */
unsigned hdf5_width(uint64_t most);
unsigned hdf5_log2(uint64_t number); /* rounded down; 0 for 0 */

/* --- hdf5_btree.c ------------------------------------------------------------------------- */

/* Called for each record, in no particular order. The bytes are valid during the call. */
struct hdf5_visitor {
    void (*visit)(void *context, struct bytes record);
    void *context;
};

/* Version 1: the records of leaves, each a key and the address that follows it. */
void hdf5_tree1(struct hdf5 *, uint64_t address, unsigned type, size_t key_bytes,
                struct hdf5_visitor);
/* Version 2, of this type. */
void hdf5_tree2(struct hdf5 *, uint64_t address, unsigned type, struct hdf5_visitor);

/* --- hdf5_heap.c -------------------------------------------------------------------------- */

/* A local heap's data: NUL-terminated names. */
struct bytes hdf5_local_heap(struct hdf5 *, uint64_t address, struct arena *);
/* The string at `offset` in it. */
bool hdf5_local_text(struct bytes heap, uint64_t offset, struct bytes *out);

/* An object of the global heap. */
struct bytes hdf5_global(struct hdf5 *, uint64_t collection, uint32_t index);

/* A fractal heap; NULL on failure. */
struct hdf5_heap *hdf5_heap_open(struct hdf5 *, uint64_t address, struct arena *);
/* The object with this id; *at is its offset in the source. */
struct bytes hdf5_heap_object(struct hdf5_heap *, struct bytes id, uint64_t *at);
void hdf5_heap_close(struct hdf5_heap *);

/* A list of links or attributes: a message that names a heap, and the tree whose records have the ids of
 * what is in it. */
struct hdf5_dense {
    unsigned tree, order_bytes;
    const char *what; /* for errors */
};
/* Visit the records, with the heap open. Returns whether they have an order of creation. */
bool hdf5_dense_list(struct hdf5 *, const struct hdf5_message *, const struct hdf5_dense *,
                     struct arena *, struct hdf5_heap **, struct hdf5_visitor);

/* --- hdf5_object.c ------------------------------------------------------------------------ */

/* The first message of a type, fetched if it is shared; its type is MESSAGE_NIL if absent. */
struct hdf5_message hdf5_message_find(struct hdf5 *, const struct hdf5_object *, unsigned type,
                                      struct arena *);
/* Replace a shared message by the real one. */
bool hdf5_message_fetch(struct hdf5 *, struct hdf5_message *m, struct arena *);

/* --- hdf5_type.c -------------------------------------------------------------------------- */

bool hdf5_type_parse(struct hdf5 *, struct cursor *, struct arena *, struct hdf5_type *);
bool hdf5_space_parse(struct hdf5 *, struct cursor *, struct hdf5_space *);
