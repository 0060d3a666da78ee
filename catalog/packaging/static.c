/*
 * static.c - the static program (`make static`) does without shared libraries: their functions are
 * linked in, and the functions here, which the linker puts in place of dlopen() and dlsym(), find them by name.
 */
#include <string.h>

#include "catalog/data/codec/shared_library.h"
#include "catalog/data/codec/snappy.h"

/* As the linker's --wrap=dlopen has it, and so on. */
void *static_dlopen(const char *path, int flags);
void *static_dlsym(void *handle, const char *name);
const char *static_dlerror(void);
int static_dlclose(void *handle);

/* Of libedit (shell/line/editor.c, which knows their arguments). */
#define LIBEDIT_FUNCTIONS(F)                                                                       \
    F(libedit, el_init, )                                                                          \
    F(libedit, el_end, )                                                                           \
    F(libedit, el_set, )                                                                           \
    F(libedit, el_get, )                                                                           \
    F(libedit, el_gets, )                                                                          \
    F(libedit, el_line, )                                                                          \
    F(libedit, el_insertstr, )                                                                     \
    F(libedit, el_deletestr, )                                                                     \
    F(libedit, el_resize, )                                                                        \
    F(libedit, el_source, )                                                                        \
    F(libedit, history_init, )                                                                     \
    F(libedit, history_end, )                                                                      \
    F(libedit, history, )
#define DECLARE(lib, f, name) void f(void);
LIBEDIT_FUNCTIONS(DECLARE)

#define SYMBOL(lib, f, name) {#f, (void (*)(void))(f)},
static const struct {
    const char *name;
    void (*function)(void);
} symbols[] = {LIBDEFLATE_FUNCTIONS(SYMBOL) ZSTD_FUNCTIONS(SYMBOL) LZ4_FUNCTIONS(SYMBOL)
                   BZIP2_FUNCTIONS(SYMBOL) LZMA_FUNCTIONS(SYMBOL) BLOSC_FUNCTIONS(SYMBOL)
                       AEC_FUNCTIONS(SYMBOL) LIBEDIT_FUNCTIONS(SYMBOL)};

void *static_dlopen(const char *path, int flags)
{
    (void)path;
    (void)flags;
    return (void *)symbols;
}

void *static_dlsym(void *handle, const char *name)
{
    void *found = NULL;
    (void)handle;
    for (size_t i = 0; i < sizeof(symbols) / sizeof(*symbols); i++)
        if (strcmp(symbols[i].name, name) == 0)
            memcpy(&found, &symbols[i].function,
                   sizeof(found)); /* POSIX: a function's address fits */
    return found;
}

const char *static_dlerror(void)
{
    return "the static program loads no libraries";
}

int static_dlclose(void *handle)
{
    (void)handle;
    return 0;
}

/* --- Snappy, as blosc calls it: the library itself is C++ ------------------------------------- */

int snappy_compress(const char *in, size_t len, char *out, size_t *out_len);
size_t snappy_max_compressed_length(size_t len);
int snappy_uncompress(const char *in, size_t len, char *out, size_t *out_len);

/* What cannot be made smaller blosc stores as it is. */
int snappy_compress(const char *in, size_t len, char *out, size_t *out_len)
{
    (void)in, (void)len, (void)out, (void)out_len;
    return 1;
}

size_t snappy_max_compressed_length(size_t len)
{
    return 32 + len + len / 6;
}

int snappy_uncompress(const char *in, size_t len, char *out, size_t *out_len)
{
    const struct bytes block = {(const uint8_t *)in, len};
    uint64_t size;
    if (!snappy_length(block, &size) || size > *out_len ||
        !snappy_decode(block, (uint8_t *)out, (size_t)size))
        return 1;
    *out_len = (size_t)size;
    return 0;
}
