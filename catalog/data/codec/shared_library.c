#include "catalog/data/codec/shared_library.h"

#define LIBRARY(lib, function, functions, package, ...)                                            \
    const struct lib *function(const struct codec_step *step, struct error *err)                   \
    {                                                                                              \
        static const char *const names[] = {__VA_ARGS__, NULL};                                    \
        static const struct loaded_symbol symbols[] = {functions(LOADED_SYMBOL)};                  \
        static struct lib table;                                                                   \
        static struct loaded_library library = {                                                   \
            names, package, symbols, sizeof(symbols) / sizeof(*symbols), &table, false, 0, ""};    \
        return err ? loaded_library(&library, step->codec, step->name, step->offset, err)          \
                   : loaded_library(&library, NULL, NULL, NO_OFFSET, NULL);                        \
    }

LIBRARY(libdeflate, library_deflate, LIBDEFLATE_FUNCTIONS, "Debian package libdeflate0",
        "libdeflate.so.0", "libdeflate.so")
LIBRARY(libzstd, library_zstd, ZSTD_FUNCTIONS, "Debian package libzstd1", "libzstd.so.1",
        "libzstd.so")
LIBRARY(liblz4, library_lz4, LZ4_FUNCTIONS, "Debian package liblz4-1", "liblz4.so.1", "liblz4.so")
LIBRARY(libbz2, library_bz2, BZIP2_FUNCTIONS, "Debian package libbz2-1.0", "libbz2.so.1.0",
        "libbz2.so.1", "libbz2.so")
LIBRARY(liblzma, library_lzma, LZMA_FUNCTIONS, "Debian package liblzma5", "liblzma.so.5",
        "liblzma.so")
LIBRARY(libblosc, library_blosc, BLOSC_FUNCTIONS, "Debian package libblosc1", "libblosc.so.1",
        "libblosc.so")
LIBRARY(libblosc2, library_blosc2, BLOSC2_FUNCTIONS,
        "of the Python package blosc2, to be found by LD_LIBRARY_PATH; or hdf5plugin and `h5repack "
        "-f GZIP=4` write a file that needs none",
        "libblosc2.so", "libblosc2.so.9", "libblosc2.so.8", "libblosc2.so.7", "libblosc2.so.6",
        "libblosc2.so.5", "libblosc2.so.4", "libblosc2.so.3", "libblosc2.so.2")
LIBRARY(libaec, library_aec, AEC_FUNCTIONS, "Debian package libaec0", "libaec.so.0", "libaec.so")
