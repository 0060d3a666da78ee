/*
 * msgpack.h - msgpack values, one head after the other: no tree, no recursion, payloads
 * left where they are.
 *
 *   struct msgpack m;
 *   struct msgpack_item item;
 *   if (msgpack_open(&m, source, arena, err) == OK)
 *       while (m.at < m.end && msgpack_next(&m, &item))
 *           ...            an array or a map: its items come next;
 *                          a string, bytes or an extension: its bytes are at item.data
 *
 * Only what is needed is read: after a skipped payload the next bytes are read in
 * small portions, which grow while reading goes on without a gap. Every length is compared with the
 * bytes that are left, and so is every number of items, since each takes a byte at least.
 *
 * After an error, which is in m->err, every call returns false until it is cleared
 * there. A caller that can go on puts another error and another place there.
 */
#pragma once

#include "catalog/base/arena.h"
#include "catalog/base/text.h"
#include "catalog/data/store/source.h"

enum msgpack_type {
    MSGPACK_NIL,
    MSGPACK_BOOL,
    MSGPACK_UNSIGNED, /* any integer that is not negative */
    MSGPACK_NEGATIVE,
    MSGPACK_REAL,
    MSGPACK_STRING,
    MSGPACK_BYTES,
    MSGPACK_EXTENSION,
    MSGPACK_ARRAY,
    MSGPACK_MAP,
};

struct msgpack_item {
    enum msgpack_type type;
    uint64_t offset; /* of its first byte in the source */
    union {
        bool truth;
        uint64_t number;   /* MSGPACK_UNSIGNED */
        int64_t integer;   /* MSGPACK_NEGATIVE */
        double real;       /* MSGPACK_REAL */
        uint64_t count;    /* items of an array, pairs of a map */
        struct {           /* strings, bytes, extensions */
            uint64_t data; /* offset of the payload in the source */
            uint64_t len;  /* its bytes */
            int8_t kind;   /* MSGPACK_EXTENSION */
        };
    };
};

struct msgpack {
    const struct source *source; /* NULL: only the window can be read */
    struct error *err;
    uint64_t at, end;      /* the next byte, and where values must end; in the source */
    const uint8_t *window; /* bytes of the source ... */
    uint64_t window_at;    /* ... from here */
    size_t window_len;
    uint8_t *buffer; /* what the window is read into */
    size_t portion;  /* to read next */
    uint64_t heads;  /* how many have been read */
    bool cut;        /* the bytes of a head ended before the value did: no error */
};

/* Read `source`, which must outlive it, from its beginning. The arena keeps the window. */
enum status msgpack_open(struct msgpack *, const struct source *source, struct arena *,
                         struct error *);

/* Read the first bytes of a file of `size` bytes; the rest is not available. Where they end,
 * `cut` is set and calls return false. */
void msgpack_head(struct msgpack *, struct bytes head, uint64_t size, struct error *);

/* The head of the next value; m->at is then after its payload, or before its first item. */
bool msgpack_next(struct msgpack *, struct msgpack_item *);

/* The same; another type is an error: "`what` expected". */
bool msgpack_want(struct msgpack *, struct msgpack_item *, enum msgpack_type, const char *what);

/* Leave out the items of a value whose head was just read, however they are nested. */
bool msgpack_skip(struct msgpack *, const struct msgpack_item *);

/* Payload bytes. Does not move m->at. */
bool msgpack_read(struct msgpack *, const struct msgpack_item *, void *dst);
/* Append the payload to a text; false also past the text's limit (then without an error). */
bool msgpack_add(struct msgpack *, const struct msgpack_item *, struct text *);
/* Whether the payload is `word`. */
bool msgpack_is(struct msgpack *, const struct msgpack_item *, const char *word);

/* Set an error at `offset`; false. */
bool msgpack_fail(struct msgpack *, uint64_t offset, enum status, const char *code, const char *fmt,
                  ...) PRINTF_LIKE(5, 6);

static inline bool msgpack_is_text(const struct msgpack_item *item)
{
    return item->type == MSGPACK_STRING || item->type == MSGPACK_BYTES;
}
