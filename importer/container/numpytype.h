/*
 * numpytype.h - a dtype as NumPy spells it: "<f4", "|S5", ">U2", "<M8[ns]", "|V2".
 */
#pragma once

#include <stdbool.h>

#define NUMPY_TYPE_BYTES 64 /* of its text; "<M8[1234567890us]" is a long one */

struct numpy_type {
    char dtype[NUMPY_TYPE_BYTES + 16]; /* canonical, or "unknown(X)" */
    unsigned item;                     /* bytes per element */
    unsigned swap;                     /* big-endian, in units of this many bytes; 0: not */
    char strings[NUMPY_TYPE_BYTES];    /* dtype string: "S5", "U2" (codec/strings.h); else "" */
};

/* False: not a type, or one without a dtype here ("O", lists of fields). */
bool numpy_type_parse(const char *text, struct numpy_type *out);
