/*
 * hdf5_private.h - the inside of hdf5_file.h: hdf5_file.c (superblock, reading by address),
 * hdf5_object.c (object headers), hdf5_btree.c (B-trees), hdf5_heap.c (local, global and fractal
 * heaps), hdf5_group.c (links), hdf5_type.c (datatypes, dataspaces), hdf5_dataset.c (layouts,
 * filters, fill values), hdf5_chunk.c (chunk indexes), hdf5_attribute.c.
 *
 * Addresses count from hdf5.base. All numbers are little-endian.
 */
#ifndef CKPTDB_HDF5_PRIVATE_H
#define CKPTDB_HDF5_PRIVATE_H

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

/* --- hdf5_file.c -------------------------------------------------------------------------- */

/* Offset in the file of an address, for messages. */
uint64_t hdf5_place(const struct hdf5 *, uint64_t address);
enum status hdf5_corrupt(const struct hdf5 *, struct error *, uint64_t address, const char *fmt,
                         ...) PRINTF_LIKE(4, 5);
enum status hdf5_no_memory(const struct hdf5 *, struct error *);

/* Read the bytes at an address into `dst` or the arena. Counts against the budget. */
enum status hdf5_read(struct hdf5 *, uint64_t address, void *dst, size_t len, struct error *);
enum status hdf5_take(struct hdf5 *, uint64_t address, uint64_t len, struct arena *,
                      struct bytes *out, struct error *);
/* The same for a structure that begins with a signature of 4 letters and ends with a
 * checksum, which *out leaves out. */
struct hdf5_part {
    uint64_t address, len;
    const char *signature;
};
enum status hdf5_take_summed(struct hdf5 *, struct hdf5_part, struct arena *, struct bytes *out,
                             struct error *);
/* Check that the last 4 bytes are the checksum of all bytes before them. */
enum status hdf5_verify(const struct hdf5 *, uint64_t address, struct bytes, const char *what,
                        struct error *);

struct cursor hdf5_cursor(const struct hdf5 *, struct bytes, uint64_t address);
uint64_t hdf5_number(struct cursor *, unsigned bytes); /* 0 to 8 bytes */
uint64_t hdf5_address(const struct hdf5 *, struct cursor *);
uint64_t hdf5_length(const struct hdf5 *, struct cursor *);
/* Bytes needed for numbers up to `most`. */
unsigned hdf5_width(uint64_t most);
unsigned hdf5_log2(uint64_t number); /* rounded down; 0 for 0 */

/* --- hdf5_object.c ------------------------------------------------------------------------ */

/* The first message of a type, fetched if it is shared; out->type
 * is MESSAGE_NIL if there is none. */
enum status hdf5_message_find(struct hdf5 *, const struct hdf5_object *, unsigned type,
                              struct arena *, struct hdf5_message *out, struct error *);
/* Replace a shared message by the real one. */
enum status hdf5_message_fetch(struct hdf5 *, struct hdf5_message *m, struct arena *,
                               struct error *);

/* --- hdf5_btree.c ------------------------------------------------------------------------- */

/* Called for each record, in no particular order. The bytes are valid during the call. */
struct hdf5_visitor {
    enum status (*visit)(void *context, struct bytes record, struct error *err);
    void *context;
};

/* Version 1: the records of leaves, each a key and the address that follows it. */
enum status hdf5_tree1(struct hdf5 *, uint64_t address, unsigned type, size_t key_bytes,
                       struct hdf5_visitor, struct error *);
/* Version 2, of this type. */
enum status hdf5_tree2(struct hdf5 *, uint64_t address, unsigned type, struct hdf5_visitor,
                       struct error *);

/* --- hdf5_heap.c -------------------------------------------------------------------------- */

/* A local heap's data: NUL-terminated names. */
enum status hdf5_local_heap(struct hdf5 *, uint64_t address, struct arena *, struct bytes *out,
                            struct error *);
/* The string at `offset` in it. */
bool hdf5_local_text(struct bytes heap, uint64_t offset, struct bytes *out);

/* An object of the global heap. */
enum status hdf5_global(struct hdf5 *, uint64_t collection, uint32_t index, struct bytes *out,
                        struct error *);

/* A fractal heap. */
enum status hdf5_heap_open(struct hdf5 *, uint64_t address, struct arena *, struct hdf5_heap **out,
                           struct error *);
/* The object with this id; *at is its offset in the source. */
enum status hdf5_heap_object(struct hdf5_heap *, struct bytes id, struct bytes *out, uint64_t *at,
                             struct error *);
void hdf5_heap_close(struct hdf5_heap *);

/* --- hdf5_type.c -------------------------------------------------------------------------- */

enum status hdf5_type_parse(struct hdf5 *, struct cursor *, struct arena *, struct hdf5_type *,
                            struct error *);
enum status hdf5_space_parse(struct hdf5 *, struct cursor *, struct hdf5_space *, struct error *);

#endif
