/*
 * pysyntax.h - read a pattern as Python 3.11 reads a str pattern, and write it for PCRE2.
 *
 * What is written needs UTF and ALT_CIRCUMFLEX and no other option: groups have no names,
 * classes are spelled out as sets, and verbose mode, comments, \u, {,n} and scoped ASCII
 * mode are gone. That makes it mean the same in every PCRE2 from 10.40 on.
 *
 * Python has, and is refused with ERR_UNSUPPORTED: \N{NAME}, the flag t, more than 65535
 * repetitions, patterns over 64 KiB or 200 groups deep, and what PCRE2 finds too large.
 *
 * Python does otherwise, in corners where its own engine is irregular:
 *   - a backreference under (?i) folds case as PCRE2 does, so that `s` is also U+017F;
 *   - a range up to letters beyond U+FFFF under (?ai) folds ASCII letters only;
 *   - groups inside a possessive repeat, inside a repeat of something that can
 *     match the empty string, or asked for by a condition in themselves, as in
 *     (a|(?(1)b)c)*, may report another span.
 */
#ifndef CKPTDB_REGEX_PYSYNTAX_H
#define CKPTDB_REGEX_PYSYNTAX_H

#include "catalog/base/strmap.h"
#include "catalog/base/text.h"

struct pysyntax {
    struct text pcre;    /* the pattern for PCRE2 */
    unsigned groups;     /* without group 0 */
    bool possessive;     /* a group is repeated without going back: (a)*+ */
    uint64_t letters;    /* are in every text that it matches: regex_letters() */
    uint64_t least;      /* code points of such a text */
    struct strmap names; /* group names to numbers; they point into `source` */
    char *source;
};

/* `pattern` is valid UTF-8. Release `out` in any case. err->code is the class of Python's
 * exception: "error", "OverflowError" or "ValueError". */
enum status pysyntax_read(const char *pattern, size_t len, struct pysyntax *out,
                          struct error *err);
void pysyntax_release(struct pysyntax *);

#endif
