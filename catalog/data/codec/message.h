/*
 * message.h - walks over the fields of a protobuf message in a source.
 *
 *   struct message m = message_over(source);
 *   struct message_field f;
 *   while ((status = message_next(&m, &f, err)) == OK && f.number)
 *       use(f.number, f.at, f.len);
 *
 * Only the fields' heads are read. Groups, which nothing writes any longer, are ERR_CORRUPT.
 */
#pragma once

#include "catalog/data/store/source.h"

enum wire { WIRE_VARINT = 0, WIRE_FIXED64 = 1, WIRE_BYTES = 2, WIRE_FIXED32 = 5 };

struct message_field {
    uint64_t number; /* 0: the message has ended */
    enum wire wire;
    uint64_t head;    /* offset of the field, at its number */
    uint64_t at, len; /* its contents; for a varint, the bytes of the varint */
};

struct message {
    const struct source *source; /* the caller's */
    uint64_t at;  /* of the next field; the caller may move it back to an earlier one */
    uint64_t end; /* of the message; may be set, with `at`, to enter a field */
    uint64_t window_at;
    size_t window_len;
    uint8_t window[512];
};

struct message message_over(const struct source *);
enum status message_next(struct message *, struct message_field *, struct error *);
