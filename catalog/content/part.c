#include "catalog/content/part.h"

#include <nettle/sha2.h>
#include <stdlib.h>

#include "catalog/data/read/read.h"

#define PART_BLOCKS UINT64_C(8)         /* in a part */
#define READ_BYTES  ((size_t)256 << 10) /* stays in the cache until it is hashed */

uint64_t part_bytes(const struct stored_tensor *t)
{
    return sweep_parts_are_cheap(t) ? PART_BLOCKS * DIGEST_BLOCK : UINT64_MAX;
}

/* Pass a part's bytes to `use`, in order. */
static void part_read_bytes(const struct sweep_part *t, struct reader *r, uint8_t *room,
                            void (*use)(void *, struct bytes), void *context, struct error *err)
{
    for (uint64_t at = 0; at < t->len && err->status == OK;) {
        const uint64_t left = t->len - at;
        struct bytes got = {.len = left < READ_BYTES ? (size_t)left : READ_BYTES};
        if (sweep_go_on(t, err) == OK &&
            reader_borrow(r, NULL, t->start + at, room, &got, err) == OK)
            use(context, got);
        at += got.len;
    }
}

/* --- what is computed ------------------------------------------------------------------------ */

static void hash_bytes(void *blocks, struct bytes b)
{
    digest_blocks_add(blocks, b.at, b.len);
}

static void hash(const struct sweep_part *t, struct reader *r, uint8_t *room,
                 struct part_outcome *o)
{
    struct digest_blocks d = {digest_new(), o->blocks, 0};
    if (!d.digest) {
        error_memory(&o->err);
        return;
    }
    part_read_bytes(t, r, room, hash_bytes, &d, &o->err);
    digest_blocks_end(&d);
    digest_free(d.digest);
}

static void sha256_bytes(void *context, struct bytes b)
{
    sha256_update(context, b.len, b.at);
}

/* Read stored bytes without using them, to verify them. Absent chunks are skipped. */
static void part_check(const struct sweep_part *t, struct reader *r, uint8_t *room,
                       struct error *err)
{
    const uint64_t end = t->start + t->len;
    for (uint64_t at = reader_from(r, t->start); at < end && err->status == OK;
         at = reader_from(r, at)) {
        struct bytes got = {.len = READ_BYTES};
        got.len = end - at < READ_BYTES ? (size_t)(end - at) : got.len;
        if (sweep_go_on(t, err) == OK)
            reader_borrow(r, NULL, at, room, &got, err);
        at += got.len;
    }
}

/* -------------------------------------------------------------------------------------------- */

static void part_read_part(const struct sweep_part *t, enum part_reading reading, uint8_t *room,
                           struct part_outcome *o)
{
    struct reader *r = NULL;
    if (reader_open(t->tensor, t->files, &r, &o->err) != OK) {
        o->absent = t->tensor->storage == STORAGE_NONE || o->err.status == ERR_MISSING;
        return;
    }
    o->opened = true;
    if (t->tensor->dtype.kind == DTYPE_STRING) {
        /* Read all strings, which decodes the chunks that they are in. */
        struct string_table *table = NULL;
        struct bytes text;
        if (reader_strings(r, &table, &o->err) == OK)
            for (uint64_t i = 0; i < string_count(table); i++)
                if (sweep_go_on(t, &o->err) != OK || string_at(table, i, &text, &o->err) != OK)
                    break;
        if (table)
            string_table_close(table);
    } else if (reading == PART_SHA256) {
        struct sha256_ctx sha;
        sha256_init(&sha);
        part_read_bytes(t, r, room, sha256_bytes, &sha, &o->err);
        sha256_digest(&sha, SHA256_DIGEST_SIZE, o->blocks[0].at);
    } else if (reading == PART_HASHED) {
        hash(t, r, room, o);
    } else {
        part_check(t, r, room, &o->err);
    }
    /* Extents that were read from end to end have been verified already. */
    if (o->err.status == OK && t->start == 0 && t->last)
        reader_verify(r, &o->err);
    reader_close(r);
}

struct part_outcome *part_read(const struct sweep_part *t, enum part_reading reading,
                               uint64_t *bytes)
{
    struct error refused = {.offset = NO_OFFSET};
    const bool none = reading != PART_CHECKED && sweep_is_void(t->tensor, &refused);
    const uint64_t blocks = none                     ? 0
                            : reading == PART_SHA256 ? 2
                            : reading == PART_HASHED ? digest_block_count(t->len)
                                                     : 0;
    struct part_outcome *o = calloc(1, sizeof(*o) + (size_t)blocks * sizeof(o->blocks[0]));
    uint8_t *room = malloc((size_t)(t->len < READ_BYTES ? t->len : READ_BYTES) + 1);
    if (o && none)
        o->err = refused;
    else if (o && room)
        part_read_part(t, reading, room, o);
    else if (o)
        error_memory(&o->err);
    free(room);
    *bytes = sizeof(*o) + blocks * sizeof(o->blocks[0]);
    return o;
}
