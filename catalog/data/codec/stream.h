/*
 * stream.h - a source that is decoded while it is read, for codecs with a streaming library: data
 * of any size takes a fixed amount of memory.
 */
#pragma once

#include "catalog/data/codec/codec.h"

/* Input and output of one call; the library advances both. */
struct stream_piece {
    struct bytes in;
    uint8_t *out;
    size_t room;
};

enum stream_result {
    STREAM_GOES_ON,
    STREAM_ENDS, /* a stream is complete; `in` is what follows it */
    STREAM_DAMAGED,
    STREAM_NO_MEMORY,
};

/* What may follow a complete stream. */
enum stream_tail {
    TAIL_ANYTHING, /* ignored */
    TAIL_NOTHING,
    TAIL_STREAMS, /* more of the same */
    TAIL_PADDED,  /* more of the same, then zeros */
};

struct stream_codec {
    const char *codec; /* its name, for messages */
    enum stream_tail tail;
    uint64_t ratio; /* most decoded bytes per stored byte; 0: the format has no limit */
    /* The library's state; NULL and an error on failure. */
    void *(*create)(const struct codec_step *step, struct error *err);
    void (*reset)(void *state); /* prepares for another stream */
    enum stream_result (*decode)(void *state, struct stream_piece *piece, const char **message);
    void (*close)(void *state);
};

/* A source of `size` bytes: codec.open. */
enum status stream_open(struct source *inner, const struct stream_codec *codec, uint64_t size,
                        struct source **out, struct error *err);
