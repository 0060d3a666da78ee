#include "importer/format/orbax/ocdbt_inflate.h"

#include <stdlib.h>

#include "catalog/data/codec/shared_library.h"

/* Initial size, unless the packed data is large. */
#define FIRST_BYTES ((size_t)64 << 10)

bool buffer_reserve(struct buffer *b, size_t len)
{
    if (b->at && len <= b->space)
        return true;
    uint8_t *at = realloc(b->at, len ? len : 1);
    if (!at)
        return false;
    b->at = at;
    b->space = len;
    return true;
}

/* Make `b` larger. It may get one byte over `most`, which proves that `most` was too little. */
static bool ocdbt_inflate_grow(struct buffer *b, size_t packed, uint64_t most)
{
    size_t want = b->space * 2, limit = (size_t)most + 1;
    if (want < FIRST_BYTES)
        want = FIRST_BYTES;
    if (want < packed * 4)
        want = packed * 4;
    return buffer_reserve(b, want < limit ? want : limit);
}

enum status ocdbt_inflate(struct inflater *z, struct bytes packed, uint64_t most,
                          struct ocdbt_place at, struct buffer *out, struct error *err)
{
    struct codec_step step = {.codec = "zstd", .name = at.name, .offset = at.offset};
    const struct libzstd *lib = library_zstd(&step, err);
    if (!lib)
        return err->status;
    if (!z->context && !(z->context = lib->create()))
        return error_set(err, ERR_MEMORY, at.name, at.offset, "no memory for a node");
    lib->reset(z->context, ZSTD_reset_session_only);
    ZSTD_inBuffer in = {packed.at, packed.len, 0};
    ZSTD_outBuffer decoded = {out->at, out->space, 0};
    for (size_t rest = 1; rest;) {
        if (decoded.pos > most)
            return error_set(err, ERR_LIMIT, at.name, at.offset,
                             "decodes to more than %llu bytes, the most that is read",
                             (unsigned long long)most);
        if (decoded.pos == decoded.size && !ocdbt_inflate_grow(out, packed.len, most))
            return error_set(err, ERR_MEMORY, at.name, at.offset, "no memory for a node");
        decoded.dst = out->at;
        decoded.size = out->space;
        rest = lib->stream(z->context, &decoded, &in);
        bool cut = in.pos == in.size && decoded.pos < decoded.size && rest;
        if (lib->is_error(rest) || cut)
            return error_set(err, ERR_CORRUPT, at.name, at.offset, "its zstd data is damaged");
    }
    if (in.pos != in.size)
        return error_set(err, ERR_CORRUPT, at.name, at.offset,
                         "bytes follow the end of its zstd data");
    out->len = decoded.pos;
    return OK;
}

void inflater_release(struct inflater *z)
{
    if (z->context)
        library_zstd(NULL, NULL)->close(z->context);
}
