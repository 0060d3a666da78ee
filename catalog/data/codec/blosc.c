/*
 * blosc.c - codec "blosc:N": one Blosc 1 frame of N decoded bytes.
 *
 *   version    u8, 1 or 2
 *   (codec)    u8, version of the inner format
 *   flags      u8: 1 byte shuffle, 2 stored, 4 bit shuffle; 5 upper bits: the inner codec
 *   typesize   u8
 *   nbytes     u32le, decoded
 *   blocksize  u32le
 *   cbytes     u32le, of the frame with this header
 *
 * Source: c-blosc/README_CHUNK_FORMAT.rst. The library trusts parts of the header, so they are
 * checked here first.
 */
#include <string.h>

#include "catalog/base/cursor.h"
#include "catalog/data/codec/codec.h"
#include "catalog/data/codec/shared_library.h"

#define HEADER_BYTES 16
#define VERSION_MOST 2
#define NO_CODEC     (-5) /* the library was built without the inner codec */

static enum status read_header(const struct codec_step *step, struct bytes in, uint32_t *nbytes,
                               struct error *err)
{
    struct cursor c = cursor_over(in, step->offset);
    uint8_t version = cursor_u8(&c);
    cursor_take(&c, 2);
    uint8_t typesize = cursor_u8(&c);
    *nbytes = cursor_u32le(&c);
    uint32_t blocksize = cursor_u32le(&c), cbytes = cursor_u32le(&c);
    if (!cursor_ok(&c))
        return codec_corrupt(step, err, "%zu bytes are not a frame", in.len);
    if (version < 1 || version > VERSION_MOST)
        return error_set(err, ERR_UNSUPPORTED, step->name, step->offset,
                         "%s: version %u of the format", step->codec, version);
    if (cbytes != in.len)
        return codec_corrupt(step, err, "a frame of %u bytes, but %zu are there", cbytes, in.len);
    if (*nbytes && (!typesize || !blocksize || blocksize > BLOSC_MAX_BUFFERSIZE ||
                    *nbytes > BLOSC_MAX_BUFFERSIZE))
        return codec_corrupt(step, err, "the header of the frame is damaged");
    return OK;
}

static enum status blosc_decode(const struct codec_step *step, struct bytes in, uint8_t *out,
                                size_t room, size_t *made, struct error *err)
{
    const struct libblosc *lib = library_blosc(step, err);
    uint32_t nbytes;
    if (!lib || read_header(step, in, &nbytes, err) != OK)
        return err->status;
    *made = nbytes;
    if (nbytes > room || !nbytes)
        return OK;
    int got = lib->decompress(in.at, out, nbytes, 1);
    if (got == NO_CODEC)
        return error_set(err, ERR_UNSUPPORTED, step->name, step->offset,
                         "%s: the library was built without the frame's inner codec", step->codec);
    if (got < 0 || (uint32_t)got != nbytes)
        return codec_corrupt(step, err, "data is damaged");
    return OK;
}

/* The library allocates four blocks, and a block may be the whole frame. */
static uint64_t blosc_memory(uint64_t out)
{
    uint64_t four;
    return mul_u64(out, 4, &four) ? four : UINT64_MAX;
}

/* "zstd,5,1,4": inner codec, whose name goes to `codec`, level, shuffle, bytes per element. */
static bool read_settings(const char *argument, char codec[16], struct codec_args *out)
{
    static const struct codec numbers = {.args = "0-9,0-2,1-255"};
    size_t len = strcspn(argument, ",");
    if (!len || len >= 16 || !argument[len])
        return false;
    memcpy(codec, argument, len);
    codec[len] = '\0';
    return codec_args_parse(&numbers, argument + len + 1, out);
}

static bool blosc_bound(const char *argument, uint64_t in, uint64_t *most)
{
    struct codec_args settings;
    char codec[16];
    *most = in + BLOSC_MAX_OVERHEAD;
    return read_settings(argument, codec, &settings) && in <= BLOSC_MAX_BUFFERSIZE;
}

static enum status blosc_encode(const struct codec_step *step, struct bytes in, uint8_t *out,
                                size_t room, size_t *made, struct error *err)
{
    const struct libblosc *lib = library_blosc(step, err);
    struct codec_args s;
    char codec[16];
    if (!lib)
        return err->status;
    if (!read_settings(step->args.text, codec, &s))
        return error_set(err, ERR_ARGUMENT, step->name, step->offset, "blosc: bad settings \"%s\"",
                         step->args.text);
    int got = lib->encode((int)s.number[0], (int)s.number[1], (size_t)s.number[2], in.len, in.at,
                          out, room, codec, 0, 1);
    if (got <= 0)
        return error_set(err, got == NO_CODEC ? ERR_UNSUPPORTED : ERR_IO, step->name, step->offset,
                         "blosc: the library cannot encode with %s", codec);
    *made = (size_t)got;
    return OK;
}

const struct codec codec_blosc = {.name = "blosc",
                                  .args = "S",
                                  .decode = blosc_decode,
                                  .memory = blosc_memory,
                                  .bound = blosc_bound,
                                  .encode = blosc_encode};
