/*
 * hdf5_codec.c - turns HDF5's filters into a codec chain. The writer applied the filters from
 * first to last, so the chain undoes them from last to first. Then the byte order of the elements
 * is corrected. Filters shuffle, deflate of a chunk of 4096 big-endian float32:
 * "zlib:16384|shuffle:4|swap:4".
 *
 * Source: the specification of the file format, IV.A.2.l; the registry of filters of The HDF Group.
 */
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "importer/format/hdf5/hdf5_walk.h"

enum filter {
    DEFLATE = 1,
    SHUFFLE = 2,
    FLETCHER32 = 3,
    SZIP = 4,
    NBIT = 5,
    SCALE_OFFSET = 6,
    BZIP2 = 307,
    LZF = 32000,
    BLOSC = 32001,
    LZ4 = 32004,
    BITSHUFFLE = 32008,
    ZSTD = 32015,
    BLOSC2 = 32026,
};

#define SLACK 65536 /* bytes that a filter may add to a chunk that it cannot make smaller */

struct chain {
    char *out;
    size_t len;
    struct error *err;
};

static bool PRINTF_LIKE(2, 3) add_step(struct chain *c, const char *fmt, ...)
{
    char step[CHAIN_BYTES];
    va_list args;
    va_start(args, fmt);
    int n = vsnprintf(step, sizeof(step), fmt, args);
    va_end(args);
    if (n < 0 || (size_t)n + 2 > CHAIN_BYTES - c->len) {
        error_set(c->err, ERR_UNSUPPORTED, NULL, NO_OFFSET, "more filters than can be undone");
        return false;
    }
    if (c->len)
        c->out[c->len++] = '|';
    memcpy(c->out + c->len, step, (size_t)n + 1);
    c->len += (size_t)n;
    return true;
}

static uint32_t value_of(const struct hdf5_filter *f, unsigned i)
{
    return i < f->count ? load_u32le(f->values + (size_t)4 * i) : 0;
}

/* The size of a chunk after a filter is undone; if not exact, an upper bound, written "<65536". */
struct chunk_size {
    uint64_t bytes;
    bool exact;
};

static bool add_decoder(struct chain *c, const char *codec, struct chunk_size size)
{
    return add_step(c, "%s:%s%llu", codec, size.exact ? "" : "<", (unsigned long long)size.bytes);
}

/* The scale-offset filter: "scaleoffset:T,D,N[,F]" (codec/scaleoffset.c). */
static bool add_scale_offset(struct chain *c, const struct hdf5_filter *f)
{
    static const char *const names[2][2][9] = {
        {{[1] = "u1", [2] = "u2", [4] = "u4", [8] = "u8"},
         {[1] = "i1", [2] = "i2", [4] = "i4", [8] = "i8"}},
        {{[4] = "f4", [8] = "f8"}, {[4] = "f4", [8] = "f8"}}};
    uint32_t kind = value_of(f, 0), count = value_of(f, 2), class = value_of(f, 3);
    uint32_t size = value_of(f, 4), is_signed = value_of(f, 5), big = value_of(f, 6);
    const char *type =
        class < 2 && size < 9 && is_signed < 2 ? names[class][is_signed][size] : NULL;
    if (f->count != 20 || !type || (class ? kind != 0 : kind != 2))
        return error_set(c->err, ERR_UNSUPPORTED, NULL, NO_OFFSET,
                         "the scale-offset filter with values that the library never writes"),
               false;
    if (!class && value_of(f, 1) == size * 8)
        return true; /* all bits are kept: the filter changed nothing */
    int scale = class ? (int)value_of(f, 1) : 0;
    char fill[24] = "";
    if (value_of(f, 7))
        snprintf(fill, sizeof(fill), ",%llx",
                 (unsigned long long)(value_of(f, 8) |
                                      (size == 8 ? (uint64_t)value_of(f, 9) << 32 : 0)));
    return add_step(c, "scaleoffset:%s,%d,%u%s", type, scale, (unsigned)count, fill) &&
           (!big || size == 1 || add_step(c, "swap:%u", (unsigned)size));
}

/* The n-bit filter, for integers only: "nbit:T,P,N" (codec/nbit.c). */
static bool add_nbit(struct chain *c, const struct hdf5_filter *f, const struct hdf5_dataset *d)
{
    uint32_t size = value_of(f, 4), bits = value_of(f, 6);
    bool is_signed = strncmp(d->type.dtype, "int", 3) == 0;
    bool fits = value_of(f, 0) == 8 && value_of(f, 3) == 1 && value_of(f, 7) == d->type.narrow_at &&
                size == d->type.item && (is_signed || strncmp(d->type.dtype, "uint", 4) == 0);
    if (value_of(f, 1)) /* the type uses all its bits: nothing was packed */
        return true;
    if (!fits || !bits || bits > size * 8)
        return error_set(c->err, ERR_UNSUPPORTED, NULL, NO_OFFSET,
                         "the n-bit filter on types other than integers"),
               false;
    return add_step(c, "nbit:%c%u,%u,%u", is_signed ? 'i' : 'u', (unsigned)size, (unsigned)bits,
                    (unsigned)value_of(f, 2)) &&
           (d->type.swap < 2 || add_step(c, "swap:%u", d->type.swap));
}

static bool add_bitshuffle(struct chain *c, const struct hdf5_filter *f, struct chunk_size size)
{
    static const char *const compressors[] = {"", NULL, ",lz4", ",zstd"};
    uint32_t compressor = value_of(f, 4);
    if (compressor > 3 || !compressors[compressor] || !value_of(f, 2) || !size.exact)
        return error_set(c->err, ERR_UNSUPPORTED, NULL, NO_OFFSET,
                         "bitshuffle with values that its plugin never writes"),
               false;
    return add_step(c, "bitshuffle:%llu,%u,%u%s", (unsigned long long)size.bytes,
                    (unsigned)value_of(f, 2), (unsigned)value_of(f, 3), compressors[compressor]);
}

/* Filters of HDF5's registry that are not undone here, and the plugin of hdf5plugin that undoes them. */
static const struct plugin {
    unsigned id;
    const char *name, *file;
} plugins[] = {
    {32013, "ZFP", "libh5zfp.so"},
    {32017, "SZ", "libh5sz.so"},
    {32018, "FCIDECOMP", "libh5fcidecomp.so"},
    {32024, "SZ3", "libh5sz3.so"},
    {32028, "SPERR", "libh5sperr.so"},
    {32033, "HTJ2K", "libh5htj2k.so"},
};

static bool refuse(struct chain *c, const struct hdf5_filter *f)
{
    for (size_t i = 0; i < sizeof(plugins) / sizeof(*plugins); i++)
        if (plugins[i].id == f->id) {
            error_set(
                c->err, ERR_UNSUPPORTED, NULL, NO_OFFSET,
                "compressed with %s (filter %u), which cannot be undone here: HDF5's plugin %s "
                "can (Python package hdf5plugin; `h5repack -f GZIP=4` then writes a file that "
                "is read)",
                plugins[i].name, f->id, plugins[i].file);
            return false;
        }
    error_set(c->err, ERR_UNSUPPORTED, NULL, NO_OFFSET,
              "compressed with filter %u%s%.60s%s, which cannot be undone here", f->id,
              *f->name ? " (" : "", f->name, *f->name ? ")" : "");
    return false;
}

static bool add_filter(struct chain *c, const struct hdf5_filter *f, const struct hdf5_dataset *d,
                       struct chunk_size size)
{
    switch ((enum filter)f->id) {
    case DEFLATE: return add_decoder(c, "zlib", size);
    case SHUFFLE: return value_of(f, 0) < 2 || add_step(c, "shuffle:%u", (unsigned)value_of(f, 0));
    case FLETCHER32: return add_step(c, "fletcher32:end");
    case SCALE_OFFSET: return add_scale_offset(c, f);
    case SZIP:
        if (f->count < 4 || !size.exact)
            return refuse(c, f);
        return add_step(c, "szip:%llu,%u,%u,%u,%u", (unsigned long long)size.bytes,
                        (unsigned)value_of(f, 0), (unsigned)value_of(f, 1),
                        (unsigned)value_of(f, 2), (unsigned)value_of(f, 3));
    case NBIT: return add_nbit(c, f, d);
    case BZIP2: return add_decoder(c, "bz2", size);
    case LZF: return add_decoder(c, "lzf", size);
    case BLOSC: return add_decoder(c, "blosc", size);
    case BLOSC2: return add_decoder(c, "blosc2", size);
    case LZ4: return add_decoder(c, "lz4blocks", size);
    case BITSHUFFLE: return add_bitshuffle(c, f, size);
    case ZSTD: return add_decoder(c, "zstd", size);
    default: return refuse(c, f);
    }
}

bool hdf5_chain(const struct hdf5_dataset *d, uint32_t skipped, bool whole, bool strings,
                char out[CHAIN_BYTES], struct error *err)
{
    struct chunk_size size[HDF5_FILTERS_MAX + 1] = {{d->chunk_bytes, true}};
    struct chain c = {.out = out, .err = err};
    *out = '\0';
    for (unsigned i = 0; i < d->filters; i++) {
        size[i + 1] = size[i];
        if (skipped >> i & 1)
            continue;
        if (d->filter[i].id == FLETCHER32)
            size[i + 1].bytes += 4;
        else if (d->filter[i].id != SHUFFLE)
            size[i + 1] = (struct chunk_size){size[i].bytes + size[i].bytes / 4 + SLACK, false};
    }
    bool packed = false;
    for (unsigned i = 0; i < d->filters; i++)
        packed |= d->filter[i].id == NBIT && !whole && !(skipped >> i & 1);
    for (unsigned i = whole ? 0 : d->filters; i-- > 0;)
        if (!(skipped >> i & 1) && !add_filter(&c, &d->filter[i], d, size[i]))
            return false;
    if (d->type.swap > 1 && !add_step(&c, "swap:%u", d->type.swap))
        return false;
    if (d->type.narrow && !packed &&
        !add_step(&c, "bits:%c%u,%u,%u", *d->type.dtype, (unsigned)d->type.item, d->type.narrow,
                  d->type.narrow_at))
        return false;
    static const char kind[] = {[HDF5_TO_NUL] = 'Z', [HDF5_NULS] = 'S', [HDF5_SPACES] = 'P'};
    return !strings || d->type.class != HDF5_TEXT ||
           add_step(&c, "strings:%c%u", kind[d->type.padding], (unsigned)d->type.item);
}
