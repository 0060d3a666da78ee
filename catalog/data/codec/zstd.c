/*
 * zstd.c - codec "zstd:N": one or more Zstandard frames (RFC 8878). Frames need not state their
 * decoded size (TensorStore's do not).
 */

#include "catalog/data/codec/shared_library.h"
#include "catalog/data/codec/stream.h"

static void *zstd_create(const struct codec_step *step, struct error *err)
{
    const struct libzstd *lib = library_zstd(step, err);
    void *state = lib ? lib->create() : NULL;
    if (lib && !state)
        error_set(err, ERR_MEMORY, step->name, step->offset, "no memory");
    return state;
}

static void zstd_close(void *state)
{
    library_zstd(NULL, NULL)->close(state);
}

static void zstd_reset(void *state)
{
    library_zstd(NULL, NULL)->reset(state, ZSTD_reset_session_only);
}

static enum stream_result zstd_decode_piece(void *state, struct stream_piece *p,
                                            const char **message)
{
    const struct libzstd *lib = library_zstd(NULL, NULL);
    ZSTD_inBuffer in = {p->in.at, p->in.len, 0};
    ZSTD_outBuffer out = {p->out, p->room, 0};
    size_t rc = lib->stream(state, &out, &in);
    p->in = (struct bytes){p->in.at + in.pos, p->in.len - in.pos};
    p->out += out.pos;
    p->room -= out.pos;
    *message = lib->message(rc);
    if (!lib->is_error(rc))
        return rc ? STREAM_GOES_ON : STREAM_ENDS;
    return lib->code(rc) == ZSTD_error_memory_allocation ? STREAM_NO_MEMORY : STREAM_DAMAGED;
}

static const struct stream_codec zstd_stream = {.codec = "zstd",
                                                .tail = TAIL_STREAMS,
                                                .create = zstd_create,
                                                .reset = zstd_reset,
                                                .decode = zstd_decode_piece,
                                                .close = zstd_close};

static enum status zstd_decode(const struct codec_step *step, struct bytes in, uint8_t *out,
                               size_t room, size_t *made, struct error *err)
{
    const struct libzstd *lib = library_zstd(step, err);
    if (!lib)
        return err->status;
    if (!*step->state)
        *step->state = lib->create();
    if (!*step->state)
        return error_set(err, ERR_MEMORY, step->name, step->offset, "no memory");
    if (!in.len)
        return codec_corrupt(step, err, "no bytes, not even an empty frame");
    size_t got = lib->decompress(*step->state, out, room, in.at, in.len);
    if (!lib->is_error(got)) {
        *made = got;
        return OK;
    }
    switch (lib->code(got)) {
    case ZSTD_error_dstSize_tooSmall: *made = room + 1; return OK;
    case ZSTD_error_memory_allocation:
        return error_set(err, ERR_MEMORY, step->name, step->offset, "no memory");
    default: return codec_corrupt(step, err, "data is damaged: %s", lib->message(got));
    }
}

#define LEVEL_LEAST (-7)
#define LEVEL_MOST  22

static bool zstd_bound(const char *argument, uint64_t in, uint64_t *most)
{
    int level;
    return codec_level(argument, LEVEL_LEAST, LEVEL_MOST, &level) &&
           add_u64(in, in / 256 + 512, most);
}

static enum status zstd_encode(const struct codec_step *step, struct bytes in, uint8_t *out,
                               size_t room, size_t *made, struct error *err)
{
    const struct libzstd *lib = library_zstd(step, err);
    int level = 0;
    if (!lib)
        return err->status;
    if (!*step->state && !(*step->state = lib->create_encoder()))
        return error_set(err, ERR_MEMORY, step->name, step->offset, "no memory");
    codec_level(step->args.text, LEVEL_LEAST, LEVEL_MOST, &level);
    *made = lib->encode(*step->state, out, room, in.at, in.len, level);
    if (!lib->is_error(*made))
        return OK;
    bool memory = lib->code(*made) == ZSTD_error_memory_allocation;
    return error_set(err, memory ? ERR_MEMORY : ERR_IO, step->name, step->offset, "zstd: %s",
                     lib->message(*made));
}

static void zstd_encode_release(void *state)
{
    library_zstd(NULL, NULL)->close_encoder(state);
}

const struct codec codec_zstd = {.name = "zstd",
                                 .stream = &zstd_stream,
                                 .args = "S",
                                 .decode = zstd_decode,
                                 .release = zstd_close,
                                 .bound = zstd_bound,
                                 .encode = zstd_encode,
                                 .encode_release = zstd_encode_release};
