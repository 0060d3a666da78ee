/*
 * loaded.h - shared libraries that are loaded when they are first needed: the program starts faster, and runs
 * without one as long as nothing asks for it.
 *
 * A library is a struct of function pointers, filled in by name:
 *
 *   #define ZIP_FUNCTIONS(F) F(libzip, zip_open, open) F(libzip, zip_close, close)
 *   struct libzip { ZIP_FUNCTIONS(LOADED_FUNCTION) };
 *   static const struct loaded_symbol symbols[] = {ZIP_FUNCTIONS(LOADED_SYMBOL)};
 *
 * Any thread may ask at any time; a library stays loaded.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <time.h>

#include "catalog/base/error.h"

#define LOADED_FUNCTION(lib, f, name) __typeof__(f) *name;
#define LOADED_SYMBOL(lib, f, name)   {#f, offsetof(struct lib, name)},

struct loaded_symbol {
    const char *name;
    size_t at; /* offset of its function pointer in the library's struct */
};

struct loaded_library {
    const char *const *names; /* file names; the first that loads is used; ends in NULL */
    const char *package;      /* what to install: "Debian package libzstd1" */
    const struct loaded_symbol *symbols;
    size_t symbol_count;
    void *functions;
    bool loaded;
    time_t tried;  /* last attempt to load it, repeated after a second */
    char why[200]; /* why loading failed; "": there is no such file */
};

/* Its functions, or NULL and an error that names the package to install: ERR_IO, since it may pass. `user`
 * names what needs it, for the message; `err` NULL: no error is set. */
const void *loaded_library(struct loaded_library *, const char *user, const char *source,
                           uint64_t offset, struct error *err);
