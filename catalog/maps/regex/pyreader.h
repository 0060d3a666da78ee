/*
 * pyreader.h - the state of the pattern parser, shared by the files that read its parts:
 *
 *   pysyntax.c  main loop, quantifiers        pyset.c    characters, classes, sets
 *   pyescape.c  escapes                       pygroup.c  groups, flags, references
 *   pyliteral.c the literals in what is matched
 *
 * Each reads from `in` and writes the pattern for PCRE2 to `out`. There is no syntax tree: a
 * stack of open groups keeps what a quantifier would repeat and the width of everything.
 */
#pragma once

#include "catalog/base/arena.h"
#include "catalog/maps/regex/pysyntax.h"
#include "catalog/maps/regex/pytoken.h"
#include "catalog/maps/regex/regex.h"

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

/*
 * The literals in the texts that an expression matches: each begins with one of `head`, ends with one
 * of `tail`, and contains one of each set in `inside`; an empty set says nothing. If not `open`, each
 * is one of `head`, and nothing else; an empty set is then the empty text.
 */
struct known {
    struct regex_literals head, tail;
    const struct regex_keys *inside;
    bool open;
};

/* How many code points an expression can match, capped at FOREVER; and what is known about its texts. */
struct width {
    uint64_t low, high;
    struct known known;
};
#define WIDTH_NONE ((struct width){0, 0, {.open = false}})
#define WIDTH_ONE  ((struct width){1, 1, {.open = true}})

enum frame_kind {
    FRAME_WHOLE,
    FRAME_CAPTURE,
    FRAME_PLAIN, /* also atomic */
    FRAME_AHEAD,
    FRAME_BEHIND,
    FRAME_CONDITION,
};

/* The last item, which a quantifier would repeat. */
enum item {
    ITEM_NONE,
    ITEM_POSITION, /* ^ $ \b and the like: cannot be repeated */
    ITEM_REPEAT,   /* already has a quantifier */
    ITEM_OTHER,
};

/* An open group. */
struct frame {
    enum frame_kind kind;
    size_t pos;     /* of its parenthesis */
    unsigned group; /* its number, if it captures */
    unsigned flags; /* in force */
    bool outermost; /* a look-behind that is not inside another one */
    unsigned bars;  /* number of complete alternatives */
    enum item item; /* the last item, and its width */
    struct width item_width;
    bool ends;             /* it is a $ or \Z that only the end of the text matches */
    struct width branch;   /* width of the current alternative, without `item` */
    struct width branches; /* width of the complete alternatives */
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
    struct arena memory;              /* needed only while reading */
    const char *unsupported;          /* first unsupported feature; Python's errors come first */
    bool uneven_behind;               /* a look-behind without a fixed width */
    uint32_t folded;                  /* code points in ranges whose case PCRE2 must fold */
    const struct pysyntax_keys *keys; /* NULL: nobody asks for literals */
    uint32_t member[REGEX_LITERALS];  /* of the set that is being read */
    size_t members;                   /* more than there is room for: they do not count */
    struct group *group;              /* group[n] has number n + 1 */
    size_t group_space;
    struct condition *condition;
    size_t conditions, condition_space;
    unsigned behind; /* number of groups when the outermost look-behind began */
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

/* Note an item that was written, and its width. */
void reader_add(struct pyreader *, enum item, struct width);
struct width width_capped(uint64_t low, uint64_t high, struct known known);
struct width width_sum(struct pyreader *, struct width a, struct width b);

/* Remember a feature that Python has and this module lacks; the first one counts. */
void reader_unsupported(struct pyreader *, const char *what);

/* --- pyliteral.c ------------------------------------------------------------------- */

/* Combine what is known: one expression after another, one or the other, one repeated. */
struct known known_sum(struct pyreader *, struct known a, struct known b);
struct known known_either(struct pyreader *, struct known a, struct known b);
struct known known_repeat(struct pyreader *, struct known, uint64_t low, uint64_t high);
/* Of an expression that is one of `members`, as it is. */
struct known known_member(struct pyreader *);
/* Of the ends of the text. */
extern const struct known known_begin, known_end;
/* Turn what is known about the whole pattern into keys. False: no memory. */
bool known_finish(struct pyreader *, struct known);

/* --- pyset.c ----------------------------------------------------------------------- */

/* The inside of a set equal to the class \letter under the current flags; NULL: no such class. */
const char *pyset_class(struct pyreader *, uint32_t letter);
void pyset_literal(struct pyreader *, uint32_t c);
void pyset_read(struct pyreader *, struct token open);
/* Whether ASCII mode and ignoring case are both on, which PCRE2 10.42 does not support. */
bool pyset_folds_ascii(struct pyreader *);

/* --- pyescape.c -------------------------------------------------------------------- */

void pyescape_read(struct pyreader *, struct token);
/* Escapes that mean one character, inside and outside of sets. */
uint32_t pyescape_char(struct pyreader *, struct token);
/* The character of an octal escape: `t` and up to `more` digits. */
uint32_t pyescape_octal(struct pyreader *, struct token t, unsigned more);

/* --- pygroup.c --------------------------------------------------------------------- */

void pygroup_open(struct pyreader *, struct token);
void pygroup_bar(struct pyreader *, struct token);
void pygroup_close(struct pyreader *, struct token);
/* A backreference; `pos` is the position for an error. */
void pygroup_refer(struct pyreader *, uint32_t group, size_t pos);
/* The checks at the end of the pattern. */
void pygroup_check(struct pyreader *);
