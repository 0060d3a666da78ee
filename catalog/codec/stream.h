/*
 * stream.h - a source that is decoded from its beginning as it is read, for codecs whose
 * libraries work that way: bytes too large for memory are read in a bounded part of it.
 */
#ifndef CKPTDB_CODEC_STREAM_H
#define CKPTDB_CODEC_STREAM_H

#include "catalog/codec/codec.h"

/* What a library is given; it moves both ends on. */
struct stream_piece {
    struct bytes in;
    uint8_t *out;
    size_t room;
};

enum stream_result {
    STREAM_GOES_ON,
    STREAM_ENDS, /* a stream is complete; `in` is what is after it */
    STREAM_DAMAGED,
    STREAM_NO_MEMORY,
};

/* What may follow a complete stream. */
enum stream_tail {
    TAIL_ANYTHING, /* not looked at */
    TAIL_NOTHING,
    TAIL_STREAMS, /* more of the same */
    TAIL_PADDED,  /* more of the same, then zeros */
};

struct stream_codec {
    const char *codec; /* its name, for messages */
    enum stream_tail tail;
    uint64_t
        ratio; /* no more bytes than that come out of one; 0: the format has no limit */
    /* The library's state; on failure NULL, and an error. */
    void *(*create)(const struct codec_step *step, struct error *err);
    void (*reset)(void *state); /* for another stream */
    enum stream_result (*decode)(void *state, struct stream_piece *piece,
                                 const char **message);
    void (*close)(void *state);
};

/* A source of as many bytes as `argument` says; "<N", which does not say it, is decoded
 * into memory. Owns `inner`. */
enum status stream_open(struct source *inner, const struct stream_codec *codec,
                        const char *argument, struct source **out, struct error *err);

#endif
