/*
 * deflate.c - a raw deflate stream (RFC 1951) of exactly N decoded bytes, as zip members
 * hold: "deflate:4224". A stream has no way in but its beginning, so reading forward goes
 * on where the last read ended and reading backward starts again.
 */
#include <pthread.h>
#include <stdlib.h>
#include <zlib.h>

#include "catalog/codec/codec.h"

#define IN_BYTES   ((size_t)64 << 10)
#define SKIP_BYTES ((size_t)16 << 10)
/* The format cannot do better than 1032 to 1 (a bit for a copy of 258 bytes). */
#define RATIO_MAX 1032

struct deflate_source {
    struct source base; /* must be first */
    struct source *inner;
    pthread_mutex_t lock; /* over all below */
    z_stream stream;
    uint64_t in_at;  /* of inner: bytes handed to zlib so far */
    uint64_t out_at; /* decoded so far */
    bool ended;      /* zlib saw the end of the stream */
    uint8_t in[IN_BYTES];
    uint8_t skip[SKIP_BYTES];
};

/* Where zlib stands in the file. */
static uint64_t file_offset(const struct deflate_source *d)
{
    uint64_t begin;
    source_descriptor(d->inner, &begin);
    return begin + d->in_at - d->stream.avail_in;
}

static enum status refill(struct deflate_source *d, struct error *err)
{
    uint64_t left = d->inner->size - d->in_at;
    size_t len = left < IN_BYTES ? (size_t)left : IN_BYTES;
    if (d->stream.avail_in || !len)
        return OK;
    if (source_read(d->inner, d->in_at, d->in, len, err) != OK)
        return err->status;
    d->in_at += len;
    d->stream.next_in = d->in;
    d->stream.avail_in = (uInt)len;
    return OK;
}

/* One call of zlib: decodes up to `len` bytes into dst; *got says how many. */
static enum status decode(struct deflate_source *d, uint8_t *dst, size_t len, size_t *got,
                          struct error *err)
{
    *got = 0;
    if (d->ended)
        return OK;
    if (refill(d, err) != OK)
        return err->status;
    d->stream.next_out = dst;
    d->stream.avail_out = (uInt)len;
    int rc = inflate(&d->stream, Z_NO_FLUSH);
    *got = len - d->stream.avail_out;
    d->out_at += *got;
    d->ended = rc == Z_STREAM_END;
    if (rc == Z_MEM_ERROR)
        return error_set(err, ERR_MEMORY, d->base.name, NO_OFFSET, "no memory");
    if (rc == Z_DATA_ERROR || rc == Z_NEED_DICT || rc == Z_STREAM_ERROR)
        return error_set(err, ERR_CORRUPT, d->base.name, file_offset(d),
                         "deflated data is damaged: %s",
                         d->stream.msg ? d->stream.msg : "not a raw deflate stream");
    if (!*got && !d->ended && d->in_at == d->inner->size && !d->stream.avail_in)
        return error_set(err, ERR_CORRUPT, d->base.name, file_offset(d),
                         "deflated data is cut short after %llu of %llu decoded bytes",
                         (unsigned long long)d->out_at, (unsigned long long)d->base.size);
    return OK;
}

static enum status decode_all(struct deflate_source *d, uint8_t *dst, size_t len,
                              struct error *err)
{
    while (len) {
        size_t got, want = len < (1u << 30) ? len : (1u << 30);
        if (decode(d, dst, want, &got, err) != OK)
            return err->status;
        if (!got && d->ended)
            return error_set(err, ERR_CORRUPT, d->base.name, file_offset(d),
                             "deflated data ends after %llu bytes, not %llu",
                             (unsigned long long)d->out_at,
                             (unsigned long long)d->base.size);
        dst += got;
        len -= got;
    }
    return OK;
}

/* Move to `offset`, from the beginning if it has gone by. */
static enum status move_to(struct deflate_source *d, uint64_t offset, struct error *err)
{
    if (offset < d->out_at) {
        if (inflateReset(&d->stream) != Z_OK)
            return error_set(err, ERR_IO, d->base.name, NO_OFFSET, "zlib cannot reset");
        d->stream.avail_in = 0;
        d->in_at = d->out_at = 0;
        d->ended = false;
    }
    while (d->out_at < offset) {
        uint64_t left = offset - d->out_at;
        size_t len = left < SKIP_BYTES ? (size_t)left : SKIP_BYTES;
        if (decode_all(d, d->skip, len, err) != OK)
            return err->status;
    }
    return OK;
}

/* After the last byte that there should be: is the stream at its end too? */
static enum status check_end(struct deflate_source *d, struct error *err)
{
    while (!d->ended) {
        size_t got;
        if (decode(d, d->skip, 1, &got, err) != OK)
            return err->status;
        if (got)
            return error_set(err, ERR_CORRUPT, d->base.name, file_offset(d),
                             "deflated data does not end after %llu bytes",
                             (unsigned long long)d->base.size);
    }
    return OK;
}

static enum status deflate_read(const struct source *base, uint64_t offset, void *dst,
                                size_t len, struct error *err)
{
    struct deflate_source *d = (struct deflate_source *)base;
    pthread_mutex_lock(&d->lock);
    enum status status = move_to(d, offset, err);
    if (status == OK)
        status = decode_all(d, dst, len, err);
    if (status == OK && d->out_at == base->size)
        status = check_end(d, err);
    if (status != OK)
        d->out_at = UINT64_MAX; /* the state is lost: the next read starts again */
    pthread_mutex_unlock(&d->lock);
    return status;
}

static void deflate_close(struct source *base)
{
    struct deflate_source *d = (struct deflate_source *)base;
    inflateEnd(&d->stream);
    pthread_mutex_destroy(&d->lock);
    source_close(d->inner);
    free(d);
}

static const struct source_ops deflate_ops = {.read_at = deflate_read,
                                              .close = deflate_close};

static enum status deflate_open(struct source *inner, const char *argument,
                                struct source **out, struct error *err)
{
    uint64_t size;
    if (!codec_number(argument, &size))
        return codec_bad_argument(inner, "deflate", argument, err);
    if (size / RATIO_MAX > inner->size) {
        error_set(err, ERR_CORRUPT, inner->name, NO_OFFSET,
                  "%llu deflated bytes cannot hold the %llu bytes that are declared",
                  (unsigned long long)inner->size, (unsigned long long)size);
        source_close(inner);
        return err->status;
    }
    struct deflate_source *d = calloc(1, sizeof(*d));
    if (!d || inflateInit2(&d->stream, -15) != Z_OK) {
        free(d);
        return codec_no_memory(inner, err);
    }
    pthread_mutex_init(&d->lock, NULL);
    d->base = (struct source){&deflate_ops, size, inner->name, true};
    d->inner = inner;
    *out = &d->base;
    return OK;
}

const struct codec codec_deflate = {.name = "deflate", .open = deflate_open};
