/*
 * gguf_header.h - the header of a GGUF file: its key-value pairs and its table of tensors.
 *
 *   magic "GGUF"   4 bytes
 *   version        u32: 1 (counts, lengths and dimensions are u32), 2, 3 (u64)
 *   tensors, pairs counts
 *   each pair      key, u32 type, value
 *   each tensor    name, u32 rank, dimensions fastest first, u32 type, u64 offset
 *   padding        to the next multiple of general.alignment (32 unless stated)
 *   data           offsets count from here
 *
 * Everything, data included, may be big-endian: then the version's upper half is what a
 * little-endian reader sees.
 *
 *   struct gguf g;
 *   if (gguf_open(&g, source, err) == OK) {
 *       while (gguf_pair(&g, &pair)) ...
 *       while (gguf_tensor(&g, &tensor)) ...
 *   }
 *   gguf_close(&g);
 *
 * gguf_open() has walked the whole header once: neither loop can fail after that.
 *
 * Source: ggml's gguf.cpp and the format's text; what readers refuse was measured.
 */
#pragma once

#include "catalog/base/cursor.h"
#include "catalog/base/error.h"
#include "catalog/base/text.h"
#include "catalog/data/store/source.h"

#define GGUF_RANK_MAX 8 /* that is read */
/* What ggml takes; of a name in bytes. */
#define GGML_NAME_MAX 63
#define GGML_RANK_MAX 4

#define GGUF_ALIGNMENT     32 /* unless stated */
#define GGUF_KEY_ALIGNMENT "general.alignment"
/* Followed by the name of a tensor: its logical shape (i32 array, outermost first), as ComfyUI-GGUF has it,
 * which stores rows that are not whole blocks as rows of another length. */
#define GGUF_ORIG_SHAPE "comfy.gguf.orig_shape."

enum gguf_type {
    GGUF_U8,
    GGUF_I8,
    GGUF_U16,
    GGUF_I16,
    GGUF_U32,
    GGUF_I32,
    GGUF_F32,
    GGUF_BOOL,
    GGUF_STRING,
    GGUF_ARRAY,
    GGUF_U64,
    GGUF_I64,
    GGUF_F64,
    GGUF_TYPES,
};

/* One value. Integers are in `integer`, as two's complement; u64 as its bits. */
struct gguf_value {
    enum gguf_type type;
    uint64_t integer;
    double real;
    struct bytes text;       /* GGUF_STRING */
    enum gguf_type elements; /* GGUF_ARRAY: their type, */
    uint64_t count;          /* how many, */
    uint64_t at;             /* and the file offset of the first one; of another value of itself */
};

struct gguf_pair {
    struct bytes key;
    uint64_t offset; /* of the pair in the file */
    struct gguf_value value;
};

struct gguf_tensor {
    struct bytes name;
    unsigned rank;
    uint64_t shape[GGUF_RANK_MAX]; /* outermost first: the file has them the other way */
    uint32_t type;                 /* ggml's number */
    uint64_t offset;               /* from gguf.data */
    uint64_t at;                   /* of this entry in the file */
};

struct gguf {
    const char *name; /* of the source */
    uint32_t version;
    bool big;       /* big-endian */
    bool odd_bools; /* some bool is neither 0 nor 1 */
    uint64_t tensor_count, pair_count;
    uint64_t alignment; /* bytes, a power of two */
    uint64_t data;      /* offset of the tensors' data in the file */
    /* private to gguf_header.c */
    uint8_t *head;
    size_t len;
    struct cursor cursor;
    uint64_t pairs_left, tensors_left;
    bool bad; /* *err says why, or the bytes ended */
    struct error *err;
};

/* Read and check the header. ERR_CORRUPT with the offset; ERR_LIMIT; ERR_IO; ERR_MEMORY.
 * Does not check for repeated names. gguf_close() it in any case. */
enum status gguf_open(struct gguf *, const struct source *, struct error *err);
void gguf_close(struct gguf *);

/* The next pair, then the next tensor; false at the end. Bytes are valid until gguf_close(). */
bool gguf_pair(struct gguf *, struct gguf_pair *);
bool gguf_tensor(struct gguf *, struct gguf_tensor *);
bool gguf_key_is(const struct gguf_pair *, const char *key);

/* The dtype that ggml's number of a type means; NULL: removed from ggml, or not known. */
const char *gguf_dtype(uint32_t type);
/* The number of a dtype; false: ggml has no such type. Quantised integers are plain ones. */
bool gguf_type_of(const char *dtype, uint32_t *type);

/* Add the value to `out` as version 3 has it, little-endian, without its type in front. */
bool gguf_copy(const struct gguf *, const struct gguf_value *, struct text *out);

/* Whether a value of an integer type is negative. */
bool gguf_negative(const struct gguf_value *);

/* A value as JSON, arrays on one line. Numbers that JSON lacks become null. */
bool gguf_json(const struct gguf *, const struct gguf_value *, struct text *out);
