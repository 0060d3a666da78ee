/*
 * packed_columns.h - the columns of a layout's tensors that have few different values together, packed (the table
 * _layout_columns): dtype, shape, elements, nbytes, storage, file. A model of thousands of tensors has some dozens of
 * such rows, so that a reader of these columns skips the tensors' own rows, with their names and places.
 *
 *   varint  number of rows
 *   each:   dtype, shape: varint 0: NULL; else length + 1, and the text
 *           elements, nbytes, storage, file: varint 0: NULL; else 1, and the number as zigzag varint
 *   varint  number of tensors
 *   each:   varint row
 *   u32le   CRC-32C of these
 */
#pragma once

#include "catalog/base/bits.h"
#include "catalog/base/strmap.h"
#include "catalog/base/text.h"
#include "catalog/data/model/checks.h"

enum packed_text { PACKED_DTYPE, PACKED_SHAPE, PACKED_TEXTS };
enum packed_number { PACKED_ELEMENTS, PACKED_NBYTES, PACKED_STORAGE, PACKED_FILE, PACKED_NUMBERS };

/* A row to be packed. `at` NULL: SQL NULL; so is NUMBER_NULL. */
struct packed_row {
    struct bytes text[PACKED_TEXTS];
    int64_t number[PACKED_NUMBERS];
};

/* Zeroed at first. Failures are sticky, and told at the end. */
struct column_pack {
    struct text rows, tensors;
    struct strmap index;
    struct arena keys;
    uint64_t count; /* of tensors */
};

/* Add a tensor by what identifies its row. False: the row must be added next. */
bool column_pack_tensor(struct column_pack *, const void *key, size_t len);
void column_pack_row(struct column_pack *, const struct packed_row *);
/* Write all to `out`, nothing where tensors have too little in common, and release it. */
void column_pack_end(struct column_pack *, struct text *out);

/* Unpacked: tensor i has row of[i]. Texts have a NUL after each. */
struct packed_columns {
    uint32_t rows, tensors;
    struct span *span[PACKED_TEXTS];
    char *texts[PACKED_TEXTS];
    int64_t *number[PACKED_NUMBERS];
    uint32_t *of;
    size_t bytes; /* of memory, about */
};

enum packed_state { PACKED_GOOD, PACKED_DAMAGED, PACKED_NO_MEMORY };
enum packed_state packed_columns_read(struct bytes packed, struct packed_columns *);
void packed_columns_release(struct packed_columns *);
