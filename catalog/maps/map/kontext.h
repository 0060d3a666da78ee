/*
 * kontext.h - the path language of Kauldron's kontext.
 *
 *   path    = [first {rest}]          the empty path is the root
 *   first   = name | '[' literal ']'  rest = '.' name | '[' literal ']'
 *   name    = identifier | ['-'|'+'] digits | '*' | '**'
 *   literal = an integer, a 'string', True, False, None, or a slice: [-1:], [::2]
 *
 * Spaces and tabs between tokens mean nothing. Other literals that kontext takes (floats, bytes,
 * tuples) name nothing a checkpoint holds: they are an error here.
 */
#pragma once

#include "catalog/base/arena.h"
#include "catalog/base/text.h"

enum kontext_kind {
    KONTEXT_KEY,
    KONTEXT_NUMBER,
    KONTEXT_SLICE,
    KONTEXT_STAR,
    KONTEXT_STARS,
};

struct kontext_part {
    enum kontext_kind kind;
    const char *text; /* the key; the number, as int() prints it */
    size_t len;
    bool has[3]; /* of a slice: start, stop, step */
    int64_t bound[3];
};

struct kontext {
    const char *source; /* as it was parsed */
    size_t len;
    struct kontext_part *part;
    size_t parts;
    bool good, globs;
    size_t stopped; /* if not good: the byte offset at which parsing stopped */
};

/* Parse into the arena; false: out of memory. A text that is no path is not `good`. */
bool kontext_parse(struct arena *, const char *text, size_t len, struct kontext *out);

/* Append the exception that the original raises when it looks up the path, as "Type: text";
 * false: none. */
bool kontext_fault(const struct kontext *, struct text *out);

/* Append the path as kontext prints it. */
void kontext_print(const struct kontext *, struct text *out);
/* Append a name of the catalog, components joined by '/', as the path that kontext prints. */
void kontext_print_name(const char *name, size_t len, struct text *out);

/* Append a regular expression for the printed paths that the path, as a pattern, selects. */
void kontext_filter(const struct kontext *, struct text *out);
