/*
 * deflate.c - deflated bytes (RFC 1951): raw, as zip members hold them ("deflate:4224"), in a
 * zlib stream (RFC 1950), or as gzip members (RFC 1952), of which there may be several.
 *
 * Blocks: libdeflate, or zlib where that is absent. Sources: zlib. A stream has no way in but
 * its beginning, so reading forward goes on where the last read ended and reading backward
 * starts again.
 */
#include <pthread.h>
#include <stdlib.h>
#include <zlib.h>

#include "catalog/codec/codec.h"
#include "catalog/codec/library.h"

#define IN_BYTES   ((size_t)64 << 10)
#define SKIP_BYTES ((size_t)16 << 10)
/* The format cannot do better than 1032 to 1 (a bit for a copy of 258 bytes). */
#define RATIO_MAX 1032
#define PIECE_MAX ((size_t)1 << 30) /* zlib counts in 32 bits */

/* What stands around the deflated bytes. */
struct wrap {
    const char *codec;
    int bits;     /* zlib's word for it */
    bool members; /* another one may follow, then zeros alone */
    bool strict; /* nothing else may follow (zip members may have more room than bytes) */
};

static const struct wrap wrap_deflate = {"deflate", -15, false, false};
static const struct wrap wrap_zlib = {"zlib", 15, false, true};
static const struct wrap wrap_gzip = {"gzip", 15 + 16, true, true};

/* --- sources ------------------------------------------------------------------------------ */

struct deflate_source {
    struct source base; /* must be first */
    struct source *inner;
    const struct wrap *wrap;
    pthread_mutex_t lock; /* over all below */
    z_stream stream;
    uint64_t in_at;  /* of inner: bytes handed to zlib so far */
    uint64_t out_at; /* decoded so far */
    bool ended;      /* zlib saw the end of the stream, or of the last member */
    bool padded;     /* zeros stand behind it */
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

/* Behind a stream: does another member begin? Zeros behind the last are padding. */
static enum status next_member(struct deflate_source *d, struct error *err)
{
    z_stream *z = &d->stream;
    while (d->wrap->strict) {
        if (refill(d, err) != OK)
            return err->status;
        if (!z->avail_in)
            break;
        if (*z->next_in && (!d->wrap->members || d->padded))
            return error_set(err, ERR_CORRUPT, d->base.name, file_offset(d),
                             "bytes behind the end of %s data", d->wrap->codec);
        if (*z->next_in)
            return inflateReset(z) == Z_OK
                       ? OK
                       : error_set(err, ERR_IO, d->base.name, NO_OFFSET, "zlib failed");
        d->padded = true;
        z->next_in++;
        z->avail_in--;
    }
    d->ended = true;
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
    if (rc == Z_STREAM_END)
        return next_member(d, err);
    if (rc == Z_MEM_ERROR)
        return error_set(err, ERR_MEMORY, d->base.name, NO_OFFSET, "no memory");
    if (rc == Z_DATA_ERROR || rc == Z_NEED_DICT || rc == Z_STREAM_ERROR)
        return error_set(err, ERR_CORRUPT, d->base.name, file_offset(d),
                         "%s data is damaged: %s", d->wrap->codec,
                         d->stream.msg ? d->stream.msg : "no such stream");
    if (!*got && d->in_at == d->inner->size && !d->stream.avail_in)
        return error_set(err, ERR_CORRUPT, d->base.name, file_offset(d),
                         "%s data is cut short after %llu of %llu decoded bytes",
                         d->wrap->codec, (unsigned long long)d->out_at,
                         (unsigned long long)d->base.size);
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
                             "%s data ends after %llu bytes, not %llu", d->wrap->codec,
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
        d->ended = d->padded = false;
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
                             "%s data does not end after %llu bytes", d->wrap->codec,
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

static enum status wrap_open(struct source *inner, const struct wrap *wrap,
                             const char *argument, struct source **out, struct error *err)
{
    struct codec_size size;
    if (!codec_stated_size(argument, inner->size, &size) || !size.exact)
        return codec_bad_argument(inner, wrap->codec, argument, err);
    if (size.most / RATIO_MAX > inner->size) {
        error_set(err, ERR_CORRUPT, inner->name, NO_OFFSET,
                  "%llu %s bytes cannot hold the %llu bytes that are declared",
                  (unsigned long long)inner->size, wrap->codec,
                  (unsigned long long)size.most);
        source_close(inner);
        return err->status;
    }
    struct deflate_source *d = calloc(1, sizeof(*d));
    if (!d || inflateInit2(&d->stream, wrap->bits) != Z_OK) {
        free(d);
        return codec_no_memory(inner, err);
    }
    pthread_mutex_init(&d->lock, NULL);
    d->base = (struct source){&deflate_ops, size.most, inner->name, true};
    d->inner = inner;
    d->wrap = wrap;
    *out = &d->base;
    return OK;
}

static enum status deflate_open(struct source *inner, const char *argument,
                                struct source **out, struct error *err)
{
    return wrap_open(inner, &wrap_deflate, argument, out, err);
}

extern const struct codec codec_zlib, codec_gzip;

/* What "<N" bytes are is only known at their end. */
static enum status exact_open(struct source *inner, const struct codec *codec,
                              const struct wrap *wrap, const char *argument,
                              struct source **out, struct error *err)
{
    return *argument == '<' ? codec_open_whole(inner, codec, argument, out, err)
                            : wrap_open(inner, wrap, argument, out, err);
}

static enum status zlib_open(struct source *inner, const char *argument,
                             struct source **out, struct error *err)
{
    return exact_open(inner, &codec_zlib, &wrap_zlib, argument, out, err);
}

static enum status gzip_open(struct source *inner, const char *argument,
                             struct source **out, struct error *err)
{
    return exact_open(inner, &codec_gzip, &wrap_gzip, argument, out, err);
}

/* --- blocks ------------------------------------------------------------------------------- */

/* One stream or member: what is left of the block, and what became of it. */
struct piece {
    struct bytes in;
    uint8_t *out;
    size_t room, used, made;
};

enum outcome {
    DONE,
    TOO_LONG,
    DAMAGED,
    NO_MEMORY
};

static enum outcome inflate_with_zlib(const struct wrap *wrap, struct piece *p)
{
    z_stream z = {0};
    if (inflateInit2(&z, wrap->bits) != Z_OK)
        return NO_MEMORY;
    size_t used = 0, made = 0;
    int rc = Z_OK;
    while (rc == Z_OK) {
        size_t in = p->in.len - used, out = p->room - made;
        z.next_in = (uint8_t *)p->in.at + used; /* zlib has no const */
        z.avail_in = (uInt)(in < PIECE_MAX ? in : PIECE_MAX);
        z.next_out = p->out + made;
        z.avail_out = (uInt)(out < PIECE_MAX ? out : PIECE_MAX);
        size_t in_before = z.avail_in, out_before = z.avail_out;
        rc = inflate(&z, Z_NO_FLUSH);
        used += in_before - z.avail_in;
        made += out_before - z.avail_out;
    }
    inflateEnd(&z);
    p->used = used;
    p->made = made;
    if (rc == Z_STREAM_END)
        return DONE;
    if (rc == Z_BUF_ERROR && made == p->room && used < p->in.len)
        return TOO_LONG;
    return rc == Z_MEM_ERROR ? NO_MEMORY : DAMAGED;
}

static enum outcome inflate_with_libdeflate(const struct libdeflate *lib, void **state,
                                            const struct wrap *wrap, struct piece *p)
{
    if (!*state)
        *state = lib->open();
    if (!*state)
        return NO_MEMORY;
    __typeof__(lib->gzip) decompress = wrap == &wrap_gzip   ? lib->gzip
                                       : wrap == &wrap_zlib ? lib->zlib
                                                            : lib->deflate;
    switch (
        decompress(*state, p->in.at, p->in.len, p->out, p->room, &p->used, &p->made)) {
    case LIBDEFLATE_SUCCESS:
        return DONE;
    case LIBDEFLATE_INSUFFICIENT_SPACE:
        return TOO_LONG;
    default:
        return DAMAGED;
    }
}

/* Whether only padding is left. */
static bool all_zero(struct bytes bytes)
{
    for (size_t i = 0; i < bytes.len; i++)
        if (bytes.at[i])
            return false;
    return true;
}

static enum status wrap_decode(const struct codec_step *step, const struct wrap *wrap,
                               struct piece p, size_t *made, struct error *err)
{
    const struct libdeflate *lib = library_deflate(step, NULL);
    const uint8_t *begin = p.in.at;
    for (*made = 0;;) {
        switch (lib ? inflate_with_libdeflate(lib, step->state, wrap, &p)
                    : inflate_with_zlib(wrap, &p)) {
        case TOO_LONG:
            *made += p.room + 1;
            return OK;
        case NO_MEMORY:
            return error_set(err, ERR_MEMORY, step->name, step->offset, "no memory");
        case DAMAGED:
            return codec_corrupt(step, err, "data is damaged or cut short, from byte %zu",
                                 (size_t)(p.in.at - begin));
        case DONE:
            break;
        }
        *made += p.made;
        p.in = (struct bytes){p.in.at + p.used, p.in.len - p.used};
        p.out += p.made;
        p.room -= p.made;
        if (!p.in.len || !wrap->strict || (wrap->members && all_zero(p.in)))
            return OK;
        if (!wrap->members)
            return codec_corrupt(step, err, "%zu bytes behind the end", p.in.len);
    }
}

static enum status deflate_decode(const struct codec_step *step, struct bytes in,
                                  uint8_t *out, size_t room, size_t *made,
                                  struct error *err)
{
    return wrap_decode(step, &wrap_deflate, (struct piece){in, out, room, 0, 0}, made,
                       err);
}

static enum status zlib_decode(const struct codec_step *step, struct bytes in,
                               uint8_t *out, size_t room, size_t *made, struct error *err)
{
    return wrap_decode(step, &wrap_zlib, (struct piece){in, out, room, 0, 0}, made, err);
}

static enum status gzip_decode(const struct codec_step *step, struct bytes in,
                               uint8_t *out, size_t room, size_t *made, struct error *err)
{
    return wrap_decode(step, &wrap_gzip, (struct piece){in, out, room, 0, 0}, made, err);
}

static void deflate_release(void *state)
{
    library_deflate(NULL, NULL)->close(state);
}

const struct codec codec_deflate = {.name = "deflate",
                                    .open = deflate_open,
                                    .size = codec_stated_size,
                                    .decode = deflate_decode,
                                    .release = deflate_release};
const struct codec codec_zlib = {.name = "zlib",
                                 .open = zlib_open,
                                 .size = codec_stated_size,
                                 .decode = zlib_decode,
                                 .release = deflate_release};
const struct codec codec_gzip = {.name = "gzip",
                                 .open = gzip_open,
                                 .size = codec_stated_size,
                                 .decode = gzip_decode,
                                 .release = deflate_release};
