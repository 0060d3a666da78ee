/*
 * fields.h - the SHA-256 of a list of fields: it identifies layouts, facts and blocks (layout.c,
 * blocks.h). A file must not be able to pass for another: hence SHA-256, cut to 16 bytes.
 */
#pragma once

#include <nettle/sha2.h>
#include <string.h>

#include "catalog/base/bits.h"
#include "catalog/base/strmap.h"

#define FIELDS_DIGEST 16 /* bytes */

/* SHA-256 with a buffer: fields are short, and one call per field is slow. */
struct fields {
    struct sha256_ctx sha;
    size_t used;
    uint8_t buffer[4096];
};

static inline void fields_bytes(struct fields *f, const void *bytes, size_t len)
{
    if (len > sizeof(f->buffer) - f->used) {
        sha256_update(&f->sha, f->used, f->buffer);
        f->used = 0;
    }
    if (len > sizeof(f->buffer)) {
        sha256_update(&f->sha, len, bytes);
    } else if (len) {
        memcpy(f->buffer + f->used, bytes, len);
        f->used += len;
    }
}

static inline void fields_number(struct fields *f, uint64_t v)
{
    uint8_t code[VARINT_MAX];
    if (sizeof(f->buffer) - f->used >= sizeof(code))
        f->used += varint_put(f->buffer + f->used, v);
    else
        fields_bytes(f, code, varint_put(code, v));
}

/* The length first, so that different lists of fields never give the same bytes. */
static inline void fields_text(struct fields *f, const void *at, size_t len)
{
    fields_number(f, len);
    fields_bytes(f, at, len);
}

static inline void fields_string(struct fields *f, const char *s)
{
    fields_number(f, s != NULL);
    fields_text(f, s ? s : "", s ? strlen(s) : 0);
}

/* A tensor of a layout; `rank` -1: the shape is not known. */
static inline void fields_tensor(struct fields *f, const char *name, size_t len, const char *dtype,
                                 const uint64_t *shape, int rank)
{
    fields_text(f, name, len);
    fields_string(f, dtype);
    fields_number(f, (uint64_t)(rank + 1));
    for (int k = 0; k < rank; k++)
        fields_number(f, shape[k]);
}

/* The sum of this over the names is the same in whatever order they are. */
static inline uint64_t fields_sum(const char *name, size_t len)
{
    return hash_bytes(name, len, 9); /* any seed, but all catalogs have this one */
}

/* An empty leaf; `position` 0: wherever it is. */
static inline void fields_node(struct fields *f, const char *name, const char *kind,
                               uint64_t position)
{
    fields_string(f, name);
    fields_string(f, kind);
    fields_number(f, position);
}

static inline void fields_begin(struct fields *f)
{
    f->used = 0;
    sha256_init(&f->sha);
}

/* The digest; another list may begin. */
static inline void fields_end(struct fields *f, uint8_t out[FIELDS_DIGEST])
{
    sha256_update(&f->sha, f->used, f->buffer);
    sha256_digest(&f->sha, FIELDS_DIGEST, out);
    f->used = 0;
}
