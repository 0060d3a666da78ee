/*
 * shared_library.h - the compression libraries, each loaded when it is first needed (loaded.h).
 *
 * Each function returns the library's functions, or NULL and an error that names the package to
 * install (`err` NULL: no error is set). The error is ERR_IO, since it may pass: the
 * library can be installed. Any thread may call them at any time; a library stays loaded.
 */
#pragma once

#include <blosc.h>
#include <bzlib.h>
#include <libaec.h>
#include <libdeflate.h>
#include <lz4.h>
#include <lzma.h>
#include <zstd.h>
#include <zstd_errors.h>

#include "catalog/data/codec/codec.h"
#include "catalog/data/store/loaded.h"

/* Debian 12 has no headers of Blosc2: this is what is used here, alike in all versions. A version
 * whose struct is longer reads zeros. */
struct blosc2_dparams {
    int nthreads;
    void *schunk, *postfilter, *postparams;
    int32_t typesize;
    uint64_t later[8];
};
void *blosc2_create_dctx(struct blosc2_dparams params);
void blosc2_free_ctx(void *context);
int blosc2_decompress_ctx(void *context, const void *in, int32_t in_len, void *out, int32_t room);

#define LIBDEFLATE_FUNCTIONS(F)                                                                    \
    F(libdeflate, libdeflate_alloc_decompressor, create)                                           \
    F(libdeflate, libdeflate_free_decompressor, close)                                             \
    F(libdeflate, libdeflate_deflate_decompress_ex, deflate)                                       \
    F(libdeflate, libdeflate_zlib_decompress_ex, zlib)                                             \
    F(libdeflate, libdeflate_gzip_decompress_ex, gzip)                                             \
    F(libdeflate, libdeflate_crc32, crc32)                                                         \
    F(libdeflate, libdeflate_adler32, adler32)                                                     \
    F(libdeflate, libdeflate_alloc_compressor, create_encoder)                                     \
    F(libdeflate, libdeflate_free_compressor, close_encoder)                                       \
    F(libdeflate, libdeflate_gzip_compress, encode_gzip)                                           \
    F(libdeflate, libdeflate_zlib_compress, encode_zlib)
#define ZSTD_FUNCTIONS(F)                                                                          \
    F(libzstd, ZSTD_createDCtx, create)                                                            \
    F(libzstd, ZSTD_freeDCtx, close)                                                               \
    F(libzstd, ZSTD_DCtx_reset, reset)                                                             \
    F(libzstd, ZSTD_decompressDCtx, decompress)                                                    \
    F(libzstd, ZSTD_decompressStream, stream)                                                      \
    F(libzstd, ZSTD_isError, is_error)                                                             \
    F(libzstd, ZSTD_getErrorCode, code)                                                            \
    F(libzstd, ZSTD_getErrorName, message)                                                         \
    F(libzstd, ZSTD_createCCtx, create_encoder)                                                    \
    F(libzstd, ZSTD_freeCCtx, close_encoder)                                                       \
    F(libzstd, ZSTD_compressCCtx, encode)
#define LZ4_FUNCTIONS(F) F(liblz4, LZ4_decompress_safe, decompress)
#define BZIP2_FUNCTIONS(F)                                                                         \
    F(libbz2, BZ2_bzDecompressInit, init)                                                          \
    F(libbz2, BZ2_bzDecompress, decompress)                                                        \
    F(libbz2, BZ2_bzDecompressEnd, close)
#define LZMA_FUNCTIONS(F)                                                                          \
    F(liblzma, lzma_auto_decoder, init)                                                            \
    F(liblzma, lzma_raw_decoder, raw)                                                              \
    F(liblzma, lzma_code, code)                                                                    \
    F(liblzma, lzma_end, close)
#define BLOSC_FUNCTIONS(F)                                                                         \
    F(libblosc, blosc_decompress_ctx, decompress)                                                  \
    F(libblosc, blosc_compress_ctx, encode)
#define BLOSC2_FUNCTIONS(F)                                                                        \
    F(libblosc2, blosc2_create_dctx, create)                                                       \
    F(libblosc2, blosc2_free_ctx, close)                                                           \
    F(libblosc2, blosc2_decompress_ctx, decompress)
#define AEC_FUNCTIONS(F)                                                                           \
    F(libaec, aec_decode_init, open)                                                               \
    F(libaec, aec_decode, decode)                                                                  \
    F(libaec, aec_decode_end, close)

struct libdeflate {
    LIBDEFLATE_FUNCTIONS(LOADED_FUNCTION)
};
struct libzstd {
    ZSTD_FUNCTIONS(LOADED_FUNCTION)
};
struct liblz4 {
    LZ4_FUNCTIONS(LOADED_FUNCTION)
};
struct libbz2 {
    BZIP2_FUNCTIONS(LOADED_FUNCTION)
};
struct liblzma {
    LZMA_FUNCTIONS(LOADED_FUNCTION)
};
struct libblosc {
    BLOSC_FUNCTIONS(LOADED_FUNCTION)
};
struct libblosc2 {
    BLOSC2_FUNCTIONS(LOADED_FUNCTION)
};
struct libaec {
    AEC_FUNCTIONS(LOADED_FUNCTION)
};

const struct libdeflate *library_deflate(const struct codec_step *step, struct error *err);
const struct libzstd *library_zstd(const struct codec_step *step, struct error *err);
const struct liblz4 *library_lz4(const struct codec_step *step, struct error *err);
const struct libbz2 *library_bz2(const struct codec_step *step, struct error *err);
const struct liblzma *library_lzma(const struct codec_step *step, struct error *err);
const struct libblosc *library_blosc(const struct codec_step *step, struct error *err);
const struct libblosc2 *library_blosc2(const struct codec_step *step, struct error *err);
const struct libaec *library_aec(const struct codec_step *step, struct error *err);
