#include "catalog/data/codec/shared_library.h"

#include <dlfcn.h>
#include <pthread.h>
#include <stddef.h>
#include <stdio.h>
#include <time.h>

struct symbol {
    const char *name;
    size_t at; /* offset of its function pointer in the library's struct */
};

struct library {
    const char *const *names; /* file names; the first that loads is used; ends in NULL */
    const char *package;
    const struct symbol *symbols;
    size_t symbol_count;
    void *functions;
    bool loaded;
    time_t tried;  /* last attempt to load it, repeated after a second */
    char why[200]; /* why loading failed; "": there is no such file */
};

/* Held while a library is loaded. `loaded` only ever goes from false to true. */
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;

/* Keep dlopen()'s message, unless it only says that there is no such file. */
static void keep_why(struct library *l)
{
    const char *why =
        dlerror(); /* NOLINT(concurrency-mt-unsafe): under the lock, and of a thread */
    if (why && !strstr(why, "No such file"))
        snprintf(l->why, sizeof(l->why), "%s", why);
}

static bool library_load(struct library *l)
{
    void *handle = NULL;
    l->why[0] = '\0';
    for (size_t i = 0; !handle && l->names[i]; i++)
        if (!(handle = dlopen(l->names[i], RTLD_NOW | RTLD_LOCAL)))
            keep_why(l);
    for (size_t i = 0; handle && i < l->symbol_count; i++) {
        void *found = dlsym(handle, l->symbols[i].name);
        if (!found) {
            keep_why(l);
            return false;
        }
        /* POSIX: a function's address fits */
        memcpy((char *)l->functions + l->symbols[i].at, &found, sizeof(found));
    }
    return handle != NULL;
}

static const void *library_of(struct library *l, const struct codec_step *step, struct error *err)
{
    pthread_mutex_lock(&lock);
    const time_t now = time(NULL);
    if (!l->loaded && l->tried != now) {
        l->loaded = library_load(l);
        l->tried = now;
    }
    bool loaded = l->loaded;
    if (!loaded && err && *l->why)
        error_set(err, ERR_IO, step->name, step->offset,
                  "%s needs %s (%s), which cannot be loaded: %s", step->codec, l->names[0],
                  l->package, l->why);
    else if (!loaded && err)
        error_set(err, ERR_IO, step->name, step->offset, "%s needs %s, which is not installed (%s)",
                  step->codec, l->names[0], l->package);
    pthread_mutex_unlock(&lock);
    return loaded ? l->functions : NULL;
}

#define SYMBOL(lib, f, name) {#f, offsetof(struct lib, name)},
#define LIBRARY(lib, function, functions, package, ...)                                            \
    const struct lib *function(const struct codec_step *step, struct error *err)                   \
    {                                                                                              \
        static const char *const names[] = {__VA_ARGS__, NULL};                                    \
        static const struct symbol symbols[] = {functions(SYMBOL)};                                \
        static struct lib table;                                                                   \
        static struct library library = {                                                          \
            names, package, symbols, sizeof(symbols) / sizeof(*symbols), &table, false, 0, ""};    \
        return library_of(&library, step, err);                                                    \
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
