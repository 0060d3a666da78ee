/*
 * pickle_machine.h - the stack machine that runs pickles: its input, nodes, stack, marks and
 * memo. pickle_graph.c has the opcodes.
 *
 * Failures are sticky (arena.h): *err, or the arena's, after which no opcode runs. Until the one that
 * failed ends, references and numbers are 0, and bytes and texts NULL: what is pushed then is nothing,
 * so that opcodes are straight lines.
 */
#pragma once

#include "catalog/base/strmap.h"
#include "importer/format/torch/pickle_graph.h"

/* Nodes that all pickles share: equal values that cannot change need only one. */
enum {
    NODE_NONE = 1,
    NODE_FALSE,
    NODE_TRUE,
    NODE_EMPTY_TUPLE,
};

struct opcode;
struct memo_slot;

struct machine {
    struct pickle *p;
    const struct source *source;
    struct error *err;
    const struct opcode *op; /* the current opcode */
    uint64_t op_at;          /* its offset */
    uint64_t at, base;       /* offset of the next byte; added to offsets in messages */
    uint8_t *window;         /* bytes of the source, from window_at */
    uint64_t window_at;
    size_t window_len;
    pickle_ref *stack;
    size_t depth, stack_space;
    size_t *marks; /* heights of the stack */
    size_t mark_count, mark_space;
    size_t fence; /* the last mark's height, below which nothing is popped */
    struct memo_slot *memo;
    size_t memo_count, memo_space; /* a power of two, or 0 */
    uint64_t seed;                 /* of the memo */
    struct strmap names;           /* of globals -> position in them */
    size_t page_count, page_space, global_space, oddity_space;
    pickle_ref small[256]; /* the last node of an integer with these low bits */
};

void machine_start(struct machine *, const struct source *, uint64_t offset, uint64_t base,
                   struct pickle *out, struct error *);
void machine_end(struct machine *);

void machine_fail(struct machine *, enum status, const char *what);
void machine_cut_short(struct machine *);
void machine_odd(struct machine *, enum pickle_oddity_kind, pickle_ref);

/* The next `len` bytes, at most 32 KiB, valid until the next call; NULL after a failure, as at the end
 * of the file. */
const uint8_t *machine_take(struct machine *, size_t len);
uint64_t machine_take_number(struct machine *, unsigned width);
/* Memory for a text of `len` bytes; its offset in the source is stored just before it. */
char *machine_text_room(struct machine *, uint64_t len, uint64_t offset);
/* The next `len` bytes as a text. */
char *machine_take_text(struct machine *, uint64_t len);
/* A line without its newline. */
char *machine_take_line(struct machine *, size_t *len);

pickle_ref machine_node(struct machine *, enum pickle_kind);
void machine_push(struct machine *, pickle_ref);
/* `text` may be NULL after a failure. */
void machine_push_text(struct machine *, enum pickle_kind, const char *text, uint64_t len,
                       uint8_t flags);
void machine_push_int(struct machine *, int64_t value);
void machine_push_real(struct machine *, double value);
/* Push the next `len` bytes, which stay in the source. */
void machine_push_bytes(struct machine *, uint64_t len);
pickle_ref machine_pop(struct machine *);
/* For a node. */
void machine_add_items(struct machine *, pickle_ref, const pickle_ref *items, size_t count);
/* Push a node that holds the top `count` items, which are popped. */
void machine_gather(struct machine *, enum pickle_kind, size_t count);

void machine_mark(struct machine *);
/* Remove the last mark. Returns how many values are above it (they stay on the stack). */
size_t machine_unmark(struct machine *);
void machine_remember(struct machine *, uint64_t key);
void machine_recall(struct machine *, uint64_t key);
