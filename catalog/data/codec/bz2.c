/* bz2.c - codec "bz2:N": one or more bzip2 streams. */
#include "catalog/data/codec/codec.h"
#include "catalog/data/codec/shared_library.h"

#define PIECE_MAX ((size_t)1 << 30) /* the library counts in 32 bits */
#define MEMORY    ((uint64_t)4 << 20)

/* Decode one stream. Adds to *used and *made the bytes that it consumed and produced; returns the
 * library's last result. */
static int decode_stream(const struct libbz2 *lib, struct bytes in, size_t *used, struct bytes out,
                         size_t *made)
{
    bz_stream z = {0};
    int rc = lib->init(&z, 0, 0);
    bool moved = true;
    while (rc == BZ_OK && moved) {
        size_t in_left = in.len - *used, out_left = out.len - *made;
        z.next_in = (char *)in.at + *used; /* the library has no const */
        z.avail_in = (unsigned)(in_left < PIECE_MAX ? in_left : PIECE_MAX);
        z.next_out = (char *)out.at + *made;
        z.avail_out = (unsigned)(out_left < PIECE_MAX ? out_left : PIECE_MAX);
        size_t in_before = z.avail_in, out_before = z.avail_out;
        rc = lib->decompress(&z);
        *used += in_before - z.avail_in;
        *made += out_before - z.avail_out;
        moved = z.avail_in != in_before || z.avail_out != out_before;
    }
    lib->close(&z);
    return rc;
}

static enum status bz2_decode(const struct codec_step *step, struct bytes in, uint8_t *out,
                              size_t room, size_t *made, struct error *err)
{
    const struct libbz2 *lib = library_bz2(step, err);
    if (!lib)
        return err->status;
    size_t used = 0;
    *made = 0;
    do {
        int rc = decode_stream(lib, in, &used, (struct bytes){out, room}, made);
        if (rc == BZ_MEM_ERROR)
            return error_set(err, ERR_MEMORY, step->name, step->offset, "no memory");
        if (rc == BZ_OK && *made == room && used < in.len) {
            *made = room + 1;
            return OK;
        }
        if (rc != BZ_STREAM_END)
            return codec_corrupt(step, err, "data is %s, at byte %zu",
                                 rc == BZ_OK ? "cut short" : "damaged", used);
    } while (used < in.len);
    return OK;
}

static uint64_t bz2_memory(uint64_t out)
{
    (void)out;
    return MEMORY;
}

const struct codec codec_bz2 = {
    .name = "bz2", .args = "S", .decode = bz2_decode, .memory = bz2_memory};
