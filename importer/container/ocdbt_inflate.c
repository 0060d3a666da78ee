#include "importer/container/ocdbt_inflate.h"

#include <dlfcn.h>
#include <stdlib.h>

#define LIBRARY "libzstd.so.1"
/* Bytes to start with, if that is not more than a few times what is packed. */
#define FIRST_BYTES ((size_t)64 << 10)

/* From zstd.h, which is not needed to build. */
struct ZSTD_inBuffer_s { /* NOLINT(readability-identifier-naming): the library's */
    const void *src;
    size_t size, pos;
};
struct ZSTD_outBuffer_s { /* NOLINT(readability-identifier-naming): the library's */
    void *dst;
    size_t size, pos;
};
#define ZSTD_RESET_SESSION 1

struct inflater {
    void *library;
    void *context;
    void *(*create)(void);
    size_t (*destroy)(void *);
    size_t (*reset)(void *, int);
    size_t (*stream)(void *, struct ZSTD_outBuffer_s *, struct ZSTD_inBuffer_s *);
    unsigned (*is_error)(size_t);
};

bool buffer_reserve(struct buffer *b, size_t len)
{
    if (b->at && len <= b->space)
        return true;
    uint8_t *at = realloc(b->at, len ? len : 1);
    if (!at)
        return false;
    *b = (struct buffer){at, len};
    return true;
}

/* Functions and data are of one size on every POSIX system. */
static bool find(void *library, const char *name, void *function)
{
    void *at = dlsym(library, name);
    memcpy(function, &at, sizeof(at));
    return at != NULL;
}

enum status inflater_new(struct inflater **out, struct error *err)
{
    struct inflater *z = calloc(1, sizeof(*z));
    if (!z)
        return error_set(err, ERR_MEMORY, NULL, NO_OFFSET, "no memory");
    z->library = dlopen(LIBRARY, RTLD_NOW | RTLD_LOCAL);
    if (!z->library || !find(z->library, "ZSTD_createDCtx", &z->create) ||
        !find(z->library, "ZSTD_freeDCtx", &z->destroy) ||
        !find(z->library, "ZSTD_DCtx_reset", &z->reset) ||
        !find(z->library, "ZSTD_decompressStream", &z->stream) ||
        !find(z->library, "ZSTD_isError", &z->is_error))
        error_set(err, ERR_UNSUPPORTED, NULL, NO_OFFSET,
                  "compressed with zstd: install the library " LIBRARY " (libzstd1)");
    else if (!(z->context = z->create()))
        error_set(err, ERR_MEMORY, NULL, NO_OFFSET, "no memory");
    if (!z->context) {
        inflater_free(z);
        return err->status;
    }
    *out = z;
    return OK;
}

void inflater_free(struct inflater *z)
{
    if (!z)
        return;
    if (z->context)
        z->destroy(z->context);
    if (z->library)
        dlclose(z->library);
    free(z);
}

/* Room for more than there is; one byte past `most` tells that it was not enough. */
static bool grow(struct buffer *b, size_t packed, uint64_t most)
{
    size_t want = b->space * 2, limit = (size_t)most + 1;
    if (want < FIRST_BYTES)
        want = FIRST_BYTES;
    if (want < packed * 4)
        want = packed * 4;
    return buffer_reserve(b, want < limit ? want : limit);
}

enum status inflate_zstd(struct inflater *z, struct bytes packed, uint64_t most,
                         struct buffer *out, size_t *len, const char *name,
                         uint64_t offset, struct error *err)
{
    struct ZSTD_inBuffer_s in = {packed.at, packed.len, 0};
    struct ZSTD_outBuffer_s decoded = {out->at, out->space, 0};
    size_t rest = 1;
    z->reset(z->context, ZSTD_RESET_SESSION);
    while (rest) {
        if (decoded.pos > most)
            return error_set(err, ERR_LIMIT, name, offset,
                             "decodes to more than %llu bytes, the most that is read",
                             (unsigned long long)most);
        if (decoded.pos == decoded.size && !grow(out, packed.len, most))
            return error_set(err, ERR_MEMORY, name, offset, "no memory for a node");
        decoded.dst = out->at;
        decoded.size = out->space;
        rest = z->stream(z->context, &decoded, &in);
        bool stuck = rest && in.pos == in.size && decoded.pos < decoded.size;
        if (z->is_error(rest) || stuck || decoded.pos > decoded.size)
            return error_set(err, ERR_CORRUPT, name, offset, "its zstd data is damaged");
    }
    if (in.pos != in.size)
        return error_set(err, ERR_CORRUPT, name, offset,
                         "bytes follow the end of its zstd data");
    *len = decoded.pos;
    return OK;
}
