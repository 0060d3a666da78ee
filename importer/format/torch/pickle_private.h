/*
 * pickle_private.h - the inside of pickle_graph.c, which runs opcodes: the machine, its stack and memo
 * (pickle_machine.c), and the opcodes that build and push (pickle_build.c, pickle_literal.c).
 */
#ifndef CKPTDB_PICKLE_PRIVATE_H
#define CKPTDB_PICKLE_PRIVATE_H

#include "catalog/base/limits.h"
#include "catalog/base/text.h"
#include "importer/format/torch/pickle_graph.h"

#define WINDOW_BYTES ((size_t)32 << 10)

#define STACK_START 256 /* initial room; doubled when full */

#define ITEMS_MIN 4 /* initial room of a list; doubled when full */

enum {
    NODE_NONE = 1,
    NODE_FALSE,
    NODE_TRUE,
    NODE_EMPTY_TUPLE,
};

struct memo_slot {
    uint32_t key;
    pickle_ref value; /* 0: free */
};

struct machine {
    struct pickle *p;
    const struct source *source;
    struct error *err;
    uint64_t at, base; /* offset of the next byte; added to offsets in messages */
    uint64_t op_at;    /* offset of the current opcode */
    uint8_t *window;   /* bytes of the source, from window_at */
    uint64_t window_at;
    size_t window_len;
    pickle_ref *stack;
    size_t depth, stack_space;
    size_t *marks;
    size_t mark_count, mark_space;
    size_t fence; /* the last mark's height */
    struct memo_slot *memo;
    size_t memo_count, memo_space; /* a power of two, or 0 */
    uint64_t seed;
};

/* --- pickle_machine.c -------------------------------------------------------------------- */

bool pickle_fail(struct machine *m, enum status status, const char *what);
bool pickle_no_memory(struct machine *m);
bool pickle_cut_short(struct machine *m);
/* The next `len` bytes, at most WINDOW_BYTES; valid until the next call. NULL at the end. */
const uint8_t *pickle_take(struct machine *m, size_t len);
bool pickle_take_number(struct machine *m, unsigned width, uint64_t *value);
/* Memory for a text of `len` bytes; its offset in the source is stored just before it. */
char *pickle_text_room(struct machine *m, uint64_t len, uint64_t offset);
/* The next `len` bytes as a text. */
char *pickle_take_text(struct machine *m, uint64_t len);
/* A line without its newline. */
char *pickle_take_line(struct machine *m, size_t *len);
pickle_ref pickle_new_node(struct machine *m, enum pickle_kind kind);
bool pickle_push(struct machine *m, pickle_ref ref);
bool pickle_push_text(struct machine *m, const char *text, uint64_t len, uint8_t flags);
bool pickle_push_int(struct machine *m, int64_t value);
bool pickle_push_real(struct machine *m, double value);
bool pickle_push_bytes(struct machine *m, uint64_t len);
bool pickle_pop(struct machine *m, pickle_ref *ref);
bool pickle_add_items(struct machine *m, pickle_ref ref, const pickle_ref *items, size_t count);
/* Push a node that holds the top `count` items, which are popped. */
bool pickle_gather(struct machine *m, enum pickle_kind kind, size_t count);
bool pickle_mark(struct machine *m);
/* Remove the last mark; *count: number of values above it (they stay on the stack). */
bool pickle_unmark(struct machine *m, size_t *count);
bool pickle_memo_put(struct machine *m, uint64_t key);
bool pickle_memo_get(struct machine *m, uint64_t key);

/* --- pickle_build.c ---------------------------------------------------------------------- */

bool pickle_do_global(struct machine *m);
bool pickle_do_stack_global(struct machine *m);
/* REDUCE and NEWOBJ: a callee and a tuple of arguments. */
bool pickle_do_call(struct machine *m);
bool pickle_do_newobj_ex(struct machine *m);
/* INST and OBJ: the arguments follow a mark; OBJ's first one is the class. */
bool pickle_do_inst(struct machine *m, bool named);
bool pickle_do_build(struct machine *m);
bool pickle_put_items(struct machine *m, enum pickle_kind kind, size_t count);
bool pickle_put_marked(struct machine *m, enum pickle_kind kind);
bool pickle_gather_marked(struct machine *m, enum pickle_kind kind);
bool pickle_do_pop(struct machine *m);
bool pickle_do_pop_mark(struct machine *m);
bool pickle_do_dup(struct machine *m);

/* --- pickle_literal.c -------------------------------------------------------------------- */

/* INT and LONG: decimal digits; "00" and "01" are booleans, LONG ends in 'L'. */
bool pickle_push_decimal(struct machine *m, bool is_long);
bool pickle_push_float_text(struct machine *m);
bool pickle_push_binary_float(struct machine *m);
/* UNICODE: Latin-1 with \uXXXX and \UXXXXXXXX. */
bool pickle_push_raw_unicode(struct machine *m);
/* STRING: a Python 2 string literal in quotes. */
bool pickle_push_quoted(struct machine *m);
bool pickle_text_of(struct machine *m, unsigned width, uint8_t flags);
bool pickle_bytes_of(struct machine *m, unsigned width);
bool pickle_int_of(struct machine *m, unsigned width);
bool pickle_long_of(struct machine *m, unsigned width);
bool pickle_memo_of(struct machine *m, unsigned width, bool (*op)(struct machine *, uint64_t));
bool pickle_push_persid(struct machine *m, bool line);
bool pickle_do_proto(struct machine *m);

#endif
