/*
 * hdf5_header.h - object headers of HDF5 (version 1), which say what a dataset or a group is.
 *
 *   struct hdf5_header h = {0};
 *   hdf5_dataspace(&h, t);
 *   hdf5_datatype(&h, &t->to);
 *   hdf5_contiguous(&h, t->offset, t->nbytes);
 *   hdf5_header_end(&h, &out);          appends the header, and begins anew
 *   hdf5_header_release(&h);
 *
 * Source: HDF5 File Format Specification 3.0, section IV.A.
 */
#pragma once

#include "catalog/export/export.h"

#define HDF5_NOWHERE UINT64_MAX /* an address that there is none */
#define HDF5_ALIGN   8
#define HDF5_RANK    32

struct hdf5_header {
    struct text messages;
    unsigned count;
};

/* Whether HDF5 has a datatype for it: numbers as themselves, bool as h5py's enumeration, complex numbers
 * as its compound {r, i}; what h5py does not know (bfloat16, 8-bit floats) is opaque, and wants an
 * attribute "dtype", as Keras writes it. */
bool hdf5_has_dtype(const struct dtype *);
bool hdf5_is_opaque(const struct dtype *);

void hdf5_dataspace(struct hdf5_header *, const struct export_tensor *);
void hdf5_datatype(struct hdf5_header *, const struct dtype *);
/* Text in UTF-8 of `width` bytes, filled up with zeros. */
void hdf5_text_type(struct hdf5_header *, uint32_t width);
void hdf5_contiguous(struct hdf5_header *, uint64_t at, uint64_t nbytes);
/* Deflated if `level` is not negative, shuffled before. */
void hdf5_filters(struct hdf5_header *, int level, bool shuffled, uint32_t element);
/* Chunks that are found by the tree. */
void hdf5_chunked(struct hdf5_header *, const struct export_tensor *, uint64_t tree);
/* A group whose members are found by the tree of names and the heap of their texts. */
void hdf5_symbol_table(struct hdf5_header *, uint64_t tree, uint64_t heap);
/* A text attribute, whose value is the only object of a global heap at `heap`. */
void hdf5_attribute(struct hdf5_header *, const char *name, size_t len, uint64_t heap);

void hdf5_header_end(struct hdf5_header *, struct text *out);
void hdf5_header_release(struct hdf5_header *);

/* The heap that hdf5_attribute() is about. */
void hdf5_global_heap(struct text *out, const char *value, size_t len);
