/*
 * pyreader.h - the state of reading a pattern, shared by the files that read its parts:
 *
 *   pysyntax.c  the whole, quantifiers        pyset.c    characters, classes, sets
 *   pyescape.c  what follows a backslash      pygroup.c  groups, flags, references
 *
 * Each reads from `in` and writes to `out` what PCRE2 is to see. There is no tree: a
 * stack of open groups knows what a quantifier would repeat and how wide everything is.
 */
#ifndef CKPTDB_REGEX_PYREADER_H
#define CKPTDB_REGEX_PYREADER_H

#include "catalog/base/arena.h"
#include "catalog/regex/pysyntax.h"
#include "catalog/regex/pytoken.h"

#define NESTING_MAX 200        /* under PCRE2's own 250 */
#define FOREVER     UINT32_MAX /* Python's MAXREPEAT: no upper bound */

/* In the order of FLAG_LETTERS. */
enum flag {
    FLAG_I = 1 << 0,
    FLAG_L = 1 << 1,
    FLAG_M = 1 << 2,
    FLAG_S = 1 << 3,
    FLAG_X = 1 << 4,
    FLAG_A = 1 << 5,
    FLAG_T = 1 << 6,
    FLAG_U = 1 << 7,
    FLAGS_TYPE = FLAG_A | FLAG_L | FLAG_U,
};
#define FLAG_LETTERS "iLmsxatu"

/* How many code points an expression may take; both ends stop at FOREVER. And letters that are in
 * every text it matches (regex_letters()). */
struct width {
    uint64_t low, high;
    uint64_t letters;
};
#define WIDTH_NONE ((struct width){0, 0, 0})
#define WIDTH_ONE  ((struct width){1, 1, 0})

enum frame_kind {
    FRAME_WHOLE,
    FRAME_CAPTURE,
    FRAME_PLAIN, /* also atomic */
    FRAME_AHEAD,
    FRAME_BEHIND,
    FRAME_CONDITION,
};

/* What a quantifier would repeat. */
enum item {
    ITEM_NONE,
    ITEM_POSITION, /* ^ $ \b and the like: not repeatable */
    ITEM_REPEAT,   /* has its quantifier */
    ITEM_OTHER,
};

/* An open group. */
struct frame {
    enum frame_kind kind;
    size_t pos;     /* of its parenthesis */
    unsigned group; /* its number, if it captures */
    unsigned flags; /* in force */
    bool outermost; /* of look-behinds */
    unsigned bars;  /* alternatives closed */
    enum item item; /* the last one, and how wide it is */
    struct width item_width;
    struct width branch;   /* this alternative without `item` */
    struct width branches; /* the alternatives closed */
};

struct group {
    struct width width;
    bool closed;
};

/* A condition on a group that may come later or never. */
struct condition {
    struct name name;
    uint32_t group;
};

struct pyreader {
    struct tokens in;
    struct text *out;
    struct pysyntax *syntax;
    struct error *err;
    struct arena memory;     /* of what only reading needs */
    const char *unsupported; /* the first such thing, in case Python has no complaint */
    bool uneven_behind;
    uint32_t folded;     /* code points in ranges that PCRE2 is to fold */
    struct group *group; /* group[n] has number n + 1 */
    size_t group_space;
    struct condition *condition;
    size_t conditions, condition_space;
    unsigned behind; /* groups there were when the outermost look-behind began */
    bool in_behind;
    unsigned depth;
    struct frame frames[NESTING_MAX + 1];
};

static inline struct frame *reader_top(struct pyreader *p)
{
    return &p->frames[p->depth];
}
static inline bool reader_failed(const struct pyreader *p)
{
    return p->err->status != OK;
}

/* Account for an item that was written. */
void reader_add(struct pyreader *, enum item, struct width);
struct width width_capped(uint64_t low, uint64_t high, uint64_t letters);
struct width width_sum(struct width a, struct width b);

/* Remember what is fine in Python and cannot be done here, unless something was before.
 * */
void reader_unsupported(struct pyreader *, const char *what);

/* --- pyset.c ----------------------------------------------------------------------- */

/* The inside of a set for the class \letter, as the flags are; NULL: it is none. */
const char *pyset_class(struct pyreader *, uint32_t letter);
void pyset_literal(struct pyreader *, uint32_t c);
void pyset_read(struct pyreader *, struct token open);
/* ASCII mode that ignores case, which PCRE2 10.42 cannot do. */
bool pyset_folds_ascii(struct pyreader *);

/* --- pyescape.c -------------------------------------------------------------------- */

void pyescape_read(struct pyreader *, struct token);
/* Escapes that are one character inside and outside of a set. */
uint32_t pyescape_char(struct pyreader *, struct token);
/* A number of octal digits: `t` and up to `more`. */
uint32_t pyescape_octal(struct pyreader *, struct token t, unsigned more);

/* --- pygroup.c --------------------------------------------------------------------- */

void pygroup_open(struct pyreader *, struct token);
void pygroup_bar(struct pyreader *, struct token);
void pygroup_close(struct pyreader *, struct token);
/* A backreference; `pos` is where to complain. */
void pygroup_refer(struct pyreader *, uint32_t group, size_t pos);
/* What can only be asked at the end of the pattern. */
void pygroup_check(struct pyreader *);

#endif
