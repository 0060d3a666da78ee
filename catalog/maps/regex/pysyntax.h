/*
 * pysyntax.h - parses a pattern as Python 3.11 parses a str pattern, and rewrites it for PCRE2.
 *
 * The result needs the options UTF and ALT_CIRCUMFLEX and no others: groups have no names,
 * classes are written out as sets, and verbose mode, comments, \u, {,n} and scoped ASCII
 * mode are replaced. So it means the same in every PCRE2 from 10.40 on.
 *
 * Refused with ERR_UNSUPPORTED, though valid in Python: \N{NAME}, the flag t, more than 65535
 * repetitions, patterns over 64 KiB or 200 groups deep, and what is too large for PCRE2.
 *
 * Different from Python, in corners where Python's own engine is irregular:
 *   - a backreference under (?i) folds case as PCRE2 does, so that `s` is also U+017F;
 *   - a range up to letters beyond U+FFFF under (?ai) folds ASCII letters only;
 *   - groups inside a possessive repeat, inside a repeat of something that can
 *     match the empty string, or tested by a condition inside themselves, as in
 *     (a|(?(1)b)c)*, may report another span.
 */
#pragma once

#include "catalog/base/strmap.h"
#include "catalog/base/text.h"
#include "catalog/maps/regex/regex.h"

struct pysyntax {
    struct text pcre;    /* the pattern for PCRE2 */
    unsigned groups;     /* without group 0 */
    bool possessive;     /* a group has a possessive quantifier: (a)*+ */
    struct strmap names; /* group names to numbers; they point into `source` */
    char *source;
};

/* The arguments of regex_find_keys(). */
struct pysyntax_keys {
    enum regex_how how;
    struct arena *arena;
    struct regex_keys *out;
};

/* `pattern` is valid UTF-8. Release `out` in any case. err->code is the class of Python's
 * exception: "error", "OverflowError" or "ValueError". `keys` NULL: they are not wanted. */
enum status pysyntax_read(const char *pattern, size_t len, const struct pysyntax_keys *keys,
                          struct pysyntax *out, struct error *err);
void pysyntax_release(struct pysyntax *);
