/*
 * deflate.c - codecs "deflate:N", "zlib:N" and "gzip:N": deflated bytes (RFC 1951), raw as in zip
 * members, in one zlib stream (RFC 1950), or in one or more gzip members (RFC 1952).
 *
 * Blocks: libdeflate, or zlib where that is absent. Sources: zlib.
 */
#include <stdlib.h>
#include <zlib.h>

#include "catalog/data/codec/shared_library.h"
#include "catalog/data/codec/stream.h"

/* The best ratio possible: 2 bits (a length and a distance code) copy 258 bytes, 1032 to 1. */
#define RATIO_MAX 1032
#define PIECE_MAX ((size_t)1 << 30) /* zlib counts in 32 bits */

/* The wrapper of the deflated bytes, as zlib's windowBits. */
enum { RAW = -15, ZLIB = 15, GZIP = 15 + 16 };

/* --- zlib --------------------------------------------------------------------------------- */

static void *zlib_new(int wrap)
{
    z_stream *z = calloc(1, sizeof(*z));
    if (z && inflateInit2(z, wrap) == Z_OK)
        return z;
    free(z);
    return NULL;
}

static void zlib_free(void *state)
{
    inflateEnd(state);
    free(state);
}

static void zlib_reset(void *state)
{
    inflateReset(state); /* fails only if the state is invalid */
}

static enum stream_result zlib_decode_piece(void *state, struct stream_piece *p,
                                            const char **message)
{
    z_stream *z = state;
    uInt in = (uInt)(p->in.len < PIECE_MAX ? p->in.len : PIECE_MAX);
    uInt room = (uInt)(p->room < PIECE_MAX ? p->room : PIECE_MAX);
    z->next_in = (uint8_t *)p->in.at; /* zlib has no const */
    z->avail_in = in;
    z->next_out = p->out;
    z->avail_out = room;
    int rc = inflate(z, Z_NO_FLUSH);
    p->in = (struct bytes){z->next_in, p->in.len - (in - z->avail_in)};
    p->out += room - z->avail_out;
    p->room -= room - z->avail_out;
    *message = z->msg;
    return rc == Z_STREAM_END                ? STREAM_ENDS
           : rc == Z_MEM_ERROR               ? STREAM_NO_MEMORY
           : rc == Z_OK || rc == Z_BUF_ERROR ? STREAM_GOES_ON
                                             : STREAM_DAMAGED;
}

/* --- sources ------------------------------------------------------------------------------ */

static void *create_stream(int wrap, const struct codec_step *step, struct error *err)
{
    void *state = zlib_new(wrap);
    if (!state)
        error_memory_at(err, step->name);
    return state;
}

#define STREAM(x, wrap, tail)                                                                      \
    static void *x##_create(const struct codec_step *step, struct error *err)                      \
    {                                                                                              \
        return create_stream(wrap, step, err);                                                     \
    }                                                                                              \
    static const struct stream_codec x##_stream = {                                                \
        #x, tail, RATIO_MAX, x##_create, zlib_reset, zlib_decode_piece, zlib_free};

STREAM(deflate, RAW, TAIL_ANYTHING) /* a zip member may have bytes after its stream */
STREAM(zlib, ZLIB, TAIL_NOTHING)
STREAM(gzip, GZIP, TAIL_PADDED)

/* --- blocks ------------------------------------------------------------------------------- */

/* Both functions decode one stream; TOO_LONG: it decodes to more than p->room bytes. */
enum outcome { DONE, TOO_LONG, DAMAGED, NO_MEMORY };

static enum outcome inflate_with_zlib(int wrap, struct stream_piece *p)
{
    void *z = zlib_new(wrap);
    if (!z)
        return NO_MEMORY;
    enum stream_result result = STREAM_GOES_ON;
    for (bool moved = true; moved && result == STREAM_GOES_ON;) {
        const char *message;
        size_t in = p->in.len, room = p->room;
        result = zlib_decode_piece(z, p, &message);
        moved = p->in.len != in || p->room != room;
    }
    zlib_free(z);
    if (result == STREAM_GOES_ON)
        return p->in.len && !p->room ? TOO_LONG : DAMAGED;
    return result == STREAM_ENDS ? DONE : result == STREAM_NO_MEMORY ? NO_MEMORY : DAMAGED;
}

static enum outcome inflate_with_libdeflate(const struct libdeflate *lib, void **state, int wrap,
                                            struct stream_piece *p)
{
    if (!*state)
        *state = lib->create();
    if (!*state)
        return NO_MEMORY;
    __typeof__(lib->gzip) inflate_all = wrap == GZIP   ? lib->gzip
                                        : wrap == ZLIB ? lib->zlib
                                                       : lib->deflate;
    size_t used, made;
    switch (inflate_all(*state, p->in.at, p->in.len, p->out, p->room, &used, &made)) {
    case LIBDEFLATE_SUCCESS:
        p->in = (struct bytes){p->in.at + used, p->in.len - used};
        p->out += made;
        p->room -= made;
        return DONE;
    case LIBDEFLATE_INSUFFICIENT_SPACE: return TOO_LONG;
    default: return DAMAGED;
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

static enum status inflate_block(const struct codec_step *step, int wrap, struct stream_piece p,
                                 size_t *made, struct error *err)
{
    const struct libdeflate *lib = library_deflate(step, NULL);
    const size_t room = p.room, stored = p.in.len;
    do {
        switch (lib ? inflate_with_libdeflate(lib, step->state, wrap, &p)
                    : inflate_with_zlib(wrap, &p)) {
        case TOO_LONG: *made = room + 1; return OK;
        case NO_MEMORY: return error_set(err, ERR_MEMORY, step->name, step->offset, "no memory");
        case DAMAGED:
            return codec_corrupt(step, err, "the stream at byte %zu is damaged or cut short",
                                 stored - p.in.len);
        case DONE: break;
        }
    } while (wrap == GZIP && !all_zero(p.in));
    if (wrap == ZLIB && p.in.len)
        return codec_corrupt(step, err, "%zu bytes after the end", p.in.len);
    *made = room - p.room;
    return OK;
}

static void libdeflate_close(void *state)
{
    library_deflate(NULL, NULL)->close(state);
}

/* --- encoding ----------------------------------------------------------------------------- */

#define LEVEL_MOST 9

static bool deflate_bound(const char *argument, uint64_t in, uint64_t *most)
{
    int level;
    return codec_level(argument, 0, LEVEL_MOST, &level) && add_u64(in, in / 512 + 4096, most);
}

static size_t encode_with_zlib(int level, int wrap, struct bytes in, uint8_t *out, size_t room)
{
    z_stream z = {0};
    if (in.len > PIECE_MAX ||
        deflateInit2(&z, level, Z_DEFLATED, wrap, MAX_MEM_LEVEL, Z_DEFAULT_STRATEGY) != Z_OK)
        return 0;
    z.next_in = (uint8_t *)in.at; /* zlib has no const */
    z.avail_in = (uInt)in.len;
    z.next_out = out;
    z.avail_out = (uInt)(room < UINT32_MAX ? room : UINT32_MAX);
    size_t made = deflate(&z, Z_FINISH) == Z_STREAM_END ? (size_t)z.total_out : 0;
    deflateEnd(&z);
    return made;
}

static enum status deflate_block(const struct codec_step *step, int wrap, struct stream_piece p,
                                 size_t *made, struct error *err)
{
    const struct libdeflate *lib = library_deflate(step, NULL);
    int level = 0;
    codec_level(step->args.text, 0, LEVEL_MOST, &level);
    if (lib && !*step->state)
        *step->state = lib->create_encoder(level);
    if (lib && *step->state)
        *made = (wrap == GZIP ? lib->encode_gzip : lib->encode_zlib)(*step->state, p.in.at,
                                                                     p.in.len, p.out, p.room);
    else
        *made = encode_with_zlib(level, wrap, p.in, p.out, p.room);
    return *made ? OK : error_set(err, ERR_MEMORY, step->name, step->offset, "no memory");
}

static void deflate_encode_release(void *state)
{
    library_deflate(NULL, NULL)->close_encoder(state);
}

#define BLOCK(x, wrap, ...)                                                                        \
    static enum status x##_decode(const struct codec_step *step, struct bytes in, uint8_t *out,    \
                                  size_t room, size_t *made, struct error *err)                    \
    {                                                                                              \
        return inflate_block(step, wrap, (struct stream_piece){in, out, room}, made, err);         \
    }                                                                                              \
    const struct codec codec_##x = {.name = #x,                                                    \
                                    .stream = &x##_stream,                                         \
                                    .args = "S",                                                   \
                                    .decode = x##_decode,                                          \
                                    .release = libdeflate_close,                                   \
                                    __VA_ARGS__};
#define ENCODED_BLOCK(x, wrap)                                                                     \
    static enum status x##_encode(const struct codec_step *step, struct bytes in, uint8_t *out,    \
                                  size_t room, size_t *made, struct error *err)                    \
    {                                                                                              \
        return deflate_block(step, wrap, (struct stream_piece){in, out, room}, made, err);         \
    }                                                                                              \
    BLOCK(x, wrap, .bound = deflate_bound, .encode = x##_encode,                                   \
          .encode_release = deflate_encode_release)

BLOCK(deflate, RAW, .bound = NULL)
ENCODED_BLOCK(zlib, ZLIB)
ENCODED_BLOCK(gzip, GZIP)
