/*
 * stream.c - a stream can only be decoded from its beginning: a read after the previous one
 * continues there, and a read before it starts again.
 */
#include "catalog/data/codec/stream.h"

#include <pthread.h>
#include <stdlib.h>

#define IN_BYTES   ((size_t)64 << 10)
#define SKIP_BYTES ((size_t)16 << 10)

struct stream_source {
    struct source base; /* must be first */
    const struct stream_codec *codec;
    pthread_mutex_t lock; /* guards all below */
    void *state;
    struct bytes left; /* bytes of in[] that are not decoded yet */
    uint64_t in_at;    /* bytes read from inner so far */
    uint64_t out_at;   /* bytes decoded so far */
    bool padded;       /* there was zero padding after a stream */
    bool ended;        /* the last stream was decoded to its end */
    uint8_t in[IN_BYTES];
    uint8_t skip[SKIP_BYTES];
};

/* The library's position in the file, for messages. */
static uint64_t file_offset(const struct stream_source *s)
{
    uint64_t begin;
    source_descriptor(s->base.inner, &begin);
    return begin + s->in_at - s->left.len;
}

/* Whether bytes are left to be decoded; reads more. False also after an error. */
static bool refill(struct stream_source *s, struct error *err)
{
    uint64_t left = s->base.inner->size - s->in_at;
    size_t len = left < IN_BYTES ? (size_t)left : IN_BYTES;
    if (!s->left.len && len && source_read(s->base.inner, s->in_at, s->in, len, err) == OK) {
        s->in_at += len;
        s->left = (struct bytes){s->in, len};
    }
    return s->left.len;
}

/* At the end of a stream: prepare for another one, or note that this was the last. */
static void next_stream(struct stream_source *s, struct error *err)
{
    enum stream_tail tail = s->codec->tail;
    while (tail != TAIL_ANYTHING && refill(s, err)) {
        bool padding = tail == TAIL_PADDED && !*s->left.at;
        if (!padding && (tail == TAIL_NOTHING || s->padded))
            error_set(err, ERR_CORRUPT, s->base.name, file_offset(s),
                      "bytes after the end of %s data", s->codec->codec);
        else if (!padding)
            s->codec->reset(s->state);
        if (!padding)
            return;
        s->padded = true;
        s->left = (struct bytes){s->left.at + 1, s->left.len - 1};
    }
    s->ended = err->status == OK;
}

/* Call the library once: decode up to `len` bytes into dst. Returns how many. */
static size_t stream_decode(struct stream_source *s, uint8_t *dst, size_t len, struct error *err)
{
    const char *codec = s->codec->codec, *message = NULL;
    if (s->ended || (!refill(s, err) && err->status != OK))
        return 0;
    struct stream_piece piece = {s->left, dst, len};
    enum stream_result result = s->codec->decode(s->state, &piece, &message);
    bool starved = !s->left.len;
    size_t got = len - piece.room;
    s->left = piece.in;
    s->out_at += got;
    if (result == STREAM_ENDS)
        next_stream(s, err);
    else if (result == STREAM_NO_MEMORY)
        error_memory_at(err, s->base.name);
    else if (result == STREAM_DAMAGED)
        error_set(err, ERR_CORRUPT, s->base.name, file_offset(s), "%s data is damaged%s%s", codec,
                  message ? ": " : "", message ? message : "");
    else if (!got && starved)
        error_set(err, ERR_CORRUPT, s->base.name, file_offset(s),
                  "%s data is cut short after %llu of %llu decoded bytes", codec,
                  (unsigned long long)s->out_at, (unsigned long long)s->base.size);
    return got;
}

static void decode_all(struct stream_source *s, uint8_t *dst, size_t len, struct error *err)
{
    while (len && err->status == OK) {
        size_t got = stream_decode(s, dst, len, err);
        if (!got && s->ended)
            error_set(err, ERR_CORRUPT, s->base.name, file_offset(s),
                      "%s data ends after %llu bytes, not %llu", s->codec->codec,
                      (unsigned long long)s->out_at, (unsigned long long)s->base.size);
        dst += got;
        len -= got;
    }
}

static enum status stream_read(const struct source *base, uint64_t offset, void *dst, size_t len,
                               struct error *err)
{
    struct stream_source *s = (struct stream_source *)base;
    pthread_mutex_lock(&s->lock);
    /* Decode up to `offset`, from the beginning if the stream is already past it. */
    if (offset < s->out_at) {
        s->codec->reset(s->state);
        s->left.len = 0;
        s->in_at = s->out_at = 0;
        s->ended = s->padded = false;
    }
    while (s->out_at < offset && err->status == OK) {
        uint64_t left = offset - s->out_at;
        decode_all(s, s->skip, left < SKIP_BYTES ? (size_t)left : SKIP_BYTES, err);
    }
    decode_all(s, dst, len, err);
    /* After the last expected byte the stream must end. */
    while (err->status == OK && s->out_at == base->size && !s->ended)
        if (stream_decode(s, s->skip, 1, err))
            error_set(err, ERR_CORRUPT, s->base.name, file_offset(s),
                      "%s data does not end after %llu bytes", s->codec->codec,
                      (unsigned long long)s->base.size);
    if (err->status != OK)
        s->out_at = UINT64_MAX; /* the state is lost: the next read starts again */
    pthread_mutex_unlock(&s->lock);
    return err->status;
}

static void stream_close(struct source *base)
{
    struct stream_source *s = (struct stream_source *)base;
    s->codec->close(s->state);
    pthread_mutex_destroy(&s->lock);
    free(s);
}

static const struct source_ops stream_ops = {.read_at = stream_read, .close = stream_close};

enum status stream_open(struct source *inner, const struct stream_codec *codec, uint64_t size,
                        struct source **out, struct error *err)
{
    if (codec->ratio && size / codec->ratio > inner->size)
        return error_set(err, ERR_CORRUPT, inner->name, NO_OFFSET,
                         "%llu %s bytes cannot hold the %llu bytes that are declared",
                         (unsigned long long)inner->size, codec->codec, (unsigned long long)size);
    struct stream_source *s = calloc(1, sizeof(*s));
    if (!s)
        return error_memory_at(err, inner->name);
    struct codec_step step = {.codec = codec->codec, .name = inner->name};
    source_descriptor(inner, &step.offset);
    s->state = codec->create(&step, err);
    if (!s->state) {
        free(s);
        return err->status;
    }
    pthread_mutex_init(&s->lock, NULL);
    s->base = (struct source){&stream_ops, size, inner->name, true, inner};
    s->codec = codec;
    s->left.at = s->in; /* not NULL even when empty: libraries do arithmetic on it */
    *out = &s->base;
    return OK;
}
