/*
 * pickle.c - the opcodes of protocols 0 to 5 (pickletools.py lists them), run symbolically.
 *
 *   stack    nodes; MARK remembers a height, below which nothing is taken
 *   memo     number -> node, a hash table: the numbers are the file's own
 *
 * An opcode that builds something pops its parts and pushes one node. Numbers, None, booleans
 * and the empty tuple never change, so that equal ones may be one node.
 */
#include "importer/container/pickle.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "catalog/base/limits.h"
#include "catalog/base/text.h"

#define WINDOW_BYTES ((size_t)32 << 10)
#define STACK_START  256 /* room; then doubled */
#define ITEMS_MIN    4   /* room of a list that grows; then doubled */

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
    uint64_t at, base; /* the next byte; what is added to offsets in messages */
    uint64_t op_at;    /* of the opcode that runs */
    uint8_t *window;   /* bytes of the source from window_at on */
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

/* --- failing ---------------------------------------------------------------------------- */

static bool fail(struct machine *m, enum status status, const char *what)
{
    error_set(m->err, status, m->source->name, m->base + m->op_at, "bad pickle: %s",
              what);
    if (status == ERR_CORRUPT)
        error_code(m->err, "bad-pickle");
    return false;
}

static bool no_memory(struct machine *m)
{
    error_set(m->err, ERR_MEMORY, m->source->name, NO_OFFSET, "no memory for a pickle");
    return false;
}

static bool cut_short(struct machine *m)
{
    error_set(m->err, ERR_CORRUPT, m->source->name, m->base + m->op_at,
              "bad pickle: it ends before its STOP: the file was cut short");
    error_code(m->err, "truncated");
    return false;
}

/* --- bytes ------------------------------------------------------------------------------ */

/* The next `len` bytes, at most WINDOW_BYTES; valid until the next call. NULL at the end. */
static const uint8_t *take(struct machine *m, size_t len)
{
    uint64_t end = m->window_at + m->window_len;
    if (m->at < m->window_at || m->at > end || end - m->at < len) {
        uint64_t left = m->source->size - m->at;
        size_t want = left < WINDOW_BYTES ? (size_t)left : WINDOW_BYTES;
        if (want < len) {
            cut_short(m);
            return NULL;
        }
        if (source_read(m->source, m->at, m->window, want, m->err) != OK)
            return NULL;
        m->window_at = m->at;
        m->window_len = want;
    }
    const uint8_t *found = m->window + (m->at - m->window_at);
    m->at += len;
    return found;
}

static bool take_number(struct machine *m, unsigned width, uint64_t *value)
{
    const uint8_t *b = take(m, width);
    if (!b)
        return false;
    *value = width == 1   ? b[0]
             : width == 2 ? load_u16le(b)
             : width == 4 ? load_u32le(b)
                          : load_u64le(b);
    return true;
}

static bool leaves(struct machine *m, uint64_t len)
{
    return len <= m->source->size - m->at || cut_short(m);
}

/* Memory for a text of `len` bytes; its place in the source stands in front of it. */
static char *text_room(struct machine *m, uint64_t len, uint64_t offset)
{
    if (len >= UINT32_MAX) {
        fail(m, ERR_LIMIT, "a text of more than 4 GiB");
        return NULL;
    }
    char *room = arena_room(m->p->arena, sizeof(offset) + (size_t)len + 1);
    if (!room) {
        no_memory(m);
        return NULL;
    }
    memcpy(room, &offset, sizeof(offset));
    room[sizeof(offset) + len] = '\0';
    m->p->text_bytes += len;
    return room + sizeof(offset);
}

uint64_t pickle_text_offset(const struct pickle_node *n)
{
    uint64_t offset;
    memcpy(&offset, n->text - sizeof(offset), sizeof(offset));
    return offset;
}

/* The next `len` bytes as a text. */
static char *take_text(struct machine *m, uint64_t len)
{
    if (!leaves(m, len))
        return NULL;
    char *text = text_room(m, len, m->at);
    if (!text)
        return NULL;
    if (len <= WINDOW_BYTES) {
        const uint8_t *bytes = take(m, (size_t)len);
        if (!bytes)
            return NULL;
        memcpy(text, bytes, (size_t)len);
        return text;
    }
    if (source_read(m->source, m->at, text, (size_t)len, m->err) != OK)
        return NULL;
    m->at += len;
    return text;
}

/* A line without its newline. */
static char *take_line(struct machine *m, size_t *len)
{
    uint64_t begin = m->at;
    const uint8_t *end = NULL;
    while (!end) {
        uint64_t left = m->source->size - m->at;
        size_t n = left < WINDOW_BYTES ? (size_t)left : WINDOW_BYTES;
        uint64_t window_end = m->window_at + m->window_len;
        if (m->at >= m->window_at && m->at < window_end)
            n = (size_t)(window_end - m->at); /* what is there already */
        const uint8_t *bytes = n ? take(m, n) : NULL;
        if (!bytes) {
            cut_short(m);
            return NULL;
        }
        end = memchr(bytes, '\n', n);
        if (end)
            m->at -= n - (size_t)(end - bytes);
    }
    uint64_t size = m->at - begin;
    m->at = begin;
    char *text = take_text(m, size);
    m->at++;
    *len = (size_t)size;
    return text;
}

/* --- nodes ------------------------------------------------------------------------------ */

static pickle_ref new_node(struct machine *m, enum pickle_kind kind)
{
    struct pickle *p = m->p;
    uint32_t ref = p->node_count;
    if (ref >= LIMIT_PICKLE_NODES) {
        fail(m, ERR_LIMIT, "more values than this program takes from one pickle");
        return 0;
    }
    if (ref % PICKLE_PAGE == 0) {
        void *pages = arena_grow(p->arena, p->pages, p->page_count, &p->page_space,
                                 sizeof(*p->pages));
        struct pickle_node *page = arena_array(p->arena, PICKLE_PAGE, sizeof(*page));
        if (!pages || !page)
            return no_memory(m), 0;
        p->pages = pages;
        p->pages[p->page_count++] = page;
    }
    p->node_count++;
    pickle_at(p, ref)->kind = (uint8_t)kind;
    return ref;
}

static bool push(struct machine *m, pickle_ref ref)
{
    if (!ref)
        return false;
    if (m->depth == m->stack_space) {
        size_t space = 2 * m->stack_space;
        pickle_ref *stack = realloc(m->stack, space * sizeof(*stack));
        if (!stack)
            return no_memory(m);
        m->stack = stack;
        m->stack_space = space;
    }
    m->stack[m->depth++] = ref;
    return true;
}

static bool push_text(struct machine *m, const char *text, uint64_t len, uint8_t flags)
{
    pickle_ref ref = text ? new_node(m, PICKLE_TEXT) : 0;
    if (!ref)
        return false;
    struct pickle_node *n = pickle_at(m->p, ref);
    n->text = text;
    n->count = (uint32_t)len;
    n->flags = flags;
    return push(m, ref);
}

static bool push_int(struct machine *m, int64_t value)
{
    pickle_ref *slot = &m->p->small[(uint8_t)value];
    if (!*slot || pickle_at(m->p, *slot)->integer != value) {
        *slot = new_node(m, PICKLE_INT);
        if (!*slot)
            return false;
        pickle_at(m->p, *slot)->integer = value;
    }
    return push(m, *slot);
}

static bool push_real(struct machine *m, double value)
{
    pickle_ref ref = new_node(m, PICKLE_FLOAT);
    if (!ref)
        return false;
    pickle_at(m->p, ref)->real = value;
    return push(m, ref);
}

static bool push_bytes(struct machine *m, uint64_t len)
{
    if (!leaves(m, len))
        return false;
    pickle_ref ref = new_node(m, PICKLE_BYTES);
    struct pickle_data *data = arena_alloc(m->p->arena, sizeof(*data));
    if (!ref || !data)
        return ref ? no_memory(m) : false;
    *data = (struct pickle_data){m->at, len};
    pickle_at(m->p, ref)->data = data;
    m->at += len;
    return push(m, ref);
}

static bool pop(struct machine *m, pickle_ref *ref)
{
    if (m->depth <= m->fence) {
        fail(m, ERR_CORRUPT, "it takes more than there is on its stack");
        return false;
    }
    *ref = m->stack[--m->depth];
    return true;
}

/* How many items a list of `count` has room for: no field of its own says it. */
static uint64_t room_of(uint64_t count)
{
    uint64_t room = count ? ITEMS_MIN : 0;
    while (room < count)
        room *= 2;
    return room;
}

static bool add_items(struct machine *m, pickle_ref ref, const pickle_ref *items,
                      size_t count)
{
    struct pickle_node *n = pickle_at(m->p, ref);
    uint64_t all = (uint64_t)n->count + count, room = room_of(all);
    if (all > UINT32_MAX)
        return fail(m, ERR_LIMIT, "a list of more than 2^32 items");
    if (room > room_of(n->count)) {
        pickle_ref *more = arena_room(m->p->arena, (size_t)room * sizeof(*more));
        if (!more)
            return no_memory(m);
        if (n->count)
            memcpy(more, n->items, n->count * sizeof(*more));
        n->items = more;
    }
    if (count)
        memcpy(n->items + n->count, items, count * sizeof(*items));
    n->count = (uint32_t)all;
    return true;
}

/* A node with the `count` items on top of the stack, which it takes. */
static bool gather(struct machine *m, enum pickle_kind kind, size_t count)
{
    if (m->depth - m->fence < count)
        return fail(m, ERR_CORRUPT, "it takes more than there is on its stack");
    m->depth -= count;
    if (kind == PICKLE_TUPLE && !count)
        return push(m, NODE_EMPTY_TUPLE);
    pickle_ref ref = new_node(m, kind);
    if (!ref)
        return false;
    struct pickle_node *n = pickle_at(m->p, ref);
    if (kind != PICKLE_TUPLE)
        return add_items(m, ref, m->stack + m->depth, count) && push(m, ref);
    n->items = arena_room(m->p->arena, count * sizeof(*n->items));
    if (!n->items)
        return no_memory(m);
    memcpy(n->items, m->stack + m->depth, count * sizeof(*n->items));
    n->count = (uint32_t)count;
    return push(m, ref);
}

/* --- marks and memo --------------------------------------------------------------------- */

static bool mark(struct machine *m)
{
    if (m->mark_count == m->mark_space) {
        size_t space = m->mark_space ? 2 * m->mark_space : 64;
        size_t *marks = realloc(m->marks, space * sizeof(*marks));
        if (!marks)
            return no_memory(m);
        m->marks = marks;
        m->mark_space = space;
    }
    m->marks[m->mark_count++] = m->depth;
    m->fence = m->depth;
    return true;
}

/* Take the last mark; *count: how many values lie above it (still on the stack). */
static bool unmark(struct machine *m, size_t *count)
{
    if (!m->mark_count) {
        fail(m, ERR_CORRUPT, "a MARK is missing");
        return false;
    }
    *count = m->depth - m->marks[--m->mark_count];
    m->fence = m->mark_count ? m->marks[m->mark_count - 1] : 0;
    return true;
}

static struct memo_slot *memo_slot(const struct machine *m, uint32_t key)
{
    size_t at = (size_t)(((uint64_t)key + 1) * m->seed >> 32) & (m->memo_space - 1);
    while (m->memo[at].value && m->memo[at].key != key)
        at = (at + 1) & (m->memo_space - 1);
    return &m->memo[at];
}

static bool grow_memo(struct machine *m)
{
    struct memo_slot *old = m->memo;
    size_t old_space = m->memo_space;
    m->memo_space = old_space ? 2 * old_space : 256;
    m->memo = calloc(m->memo_space, sizeof(*m->memo));
    if (!m->memo) {
        m->memo = old;
        m->memo_space = old_space;
        return no_memory(m);
    }
    for (size_t i = 0; i < old_space; i++)
        if (old[i].value)
            *memo_slot(m, old[i].key) = old[i];
    free(old);
    return true;
}

static bool put(struct machine *m, uint64_t key)
{
    if (m->depth <= m->fence)
        return fail(m, ERR_CORRUPT, "it remembers a value that is not there");
    if (key > UINT32_MAX)
        return fail(m, ERR_CORRUPT, "a memo number beyond 32 bits");
    if (2 * m->memo_count >= m->memo_space && !grow_memo(m))
        return false;
    struct memo_slot *slot = memo_slot(m, (uint32_t)key);
    m->memo_count += !slot->value;
    *slot = (struct memo_slot){(uint32_t)key, m->stack[m->depth - 1]};
    return true;
}

static bool get(struct machine *m, uint64_t key)
{
    pickle_ref ref =
        key <= UINT32_MAX && m->memo_space ? memo_slot(m, (uint32_t)key)->value : 0;
    return ref ? push(m, ref)
               : fail(m, ERR_CORRUPT, "it asks for a value that was never remembered");
}

/* --- names ------------------------------------------------------------------------------ */

static const struct {
    const char *old, *today;
} modules[] = {
    {"__builtin__", "builtins"},
    {"copy_reg", "copyreg"},
    {"torch.tensor", "torch._tensor"},
    {"numpy._core", "numpy.core"},
    {"numpy._core.multiarray", "numpy.core.multiarray"},
    {"numpy._core.numeric", "numpy.core.numeric"},
};

/* "module.name" of today; false without memory. */
static bool spell(struct machine *m, const char *module, size_t module_len,
                  const char *name, size_t name_len, struct pickle_global *out)
{
    for (size_t i = 0; i < sizeof(modules) / sizeof(modules[0]); i++) {
        if (strlen(modules[i].old) == module_len &&
            memcmp(modules[i].old, module, module_len) == 0) {
            module = modules[i].today;
            module_len = strlen(module);
            break;
        }
    }
    char *text = arena_room(m->p->arena, module_len + name_len + 2);
    if (!text)
        return no_memory(m);
    memcpy(text, module, module_len);
    text[module_len] = '.';
    memcpy(text + module_len + 1, name, name_len);
    text[module_len + 1 + name_len] = '\0';
    *out = (struct pickle_global){.name = text,
                                  .len = module_len + 1 + name_len,
                                  .module_len = module_len,
                                  .offset = m->base + m->op_at};
    return true;
}

static bool push_global(struct machine *m, const char *module, size_t module_len,
                        const char *name, size_t name_len)
{
    struct pickle *p = m->p;
    struct pickle_global found;
    bool added;
    if (!spell(m, module, module_len, name, name_len, &found))
        return false;
    uint64_t *at = strmap_add(&p->global_names, found.name, found.len, &added);
    if (!at)
        return no_memory(m);
    if (added) {
        void *list = arena_grow(p->arena, p->globals, p->global_count, &p->global_space,
                                sizeof(*p->globals));
        if (!list)
            return no_memory(m);
        p->globals = list;
        *at = p->global_count;
        p->globals[p->global_count++] = found;
    }
    int64_t index = (int64_t)*at;
    pickle_ref ref = new_node(m, PICKLE_GLOBAL);
    if (!ref)
        return false;
    pickle_at(p, ref)->integer = index;
    return push(m, ref);
}

static bool do_global(struct machine *m)
{
    size_t module_len = 0, name_len = 0;
    const char *module = take_line(m, &module_len);
    const char *name = module ? take_line(m, &name_len) : NULL;
    return name && push_global(m, module, module_len, name, name_len);
}

static bool do_stack_global(struct machine *m)
{
    pickle_ref name, module;
    if (!pop(m, &name) || !pop(m, &module))
        return false;
    const struct pickle_node *a = pickle_at(m->p, module), *b = pickle_at(m->p, name);
    if (a->kind != PICKLE_TEXT || b->kind != PICKLE_TEXT)
        return fail(m, ERR_CORRUPT, "a class whose name is not text");
    return push_global(m, a->text, a->count, b->text, b->count);
}

/* --- calls ------------------------------------------------------------------------------ */

static bool push_call(struct machine *m, pickle_ref callee, pickle_ref args,
                      pickle_ref kwargs)
{
    const struct pickle_node *c = pickle_at(m->p, callee);
    if (c->kind == PICKLE_GLOBAL)
        m->p->globals[c->integer].called = true;
    pickle_ref ref = new_node(m, PICKLE_CALL);
    struct pickle_call *call = arena_alloc(m->p->arena, sizeof(*call));
    if (!ref || !call)
        return ref ? no_memory(m) : false;
    *call = (struct pickle_call){.callee = callee, .args = args, .kwargs = kwargs};
    pickle_at(m->p, ref)->call = call;
    return push(m, ref);
}

/* REDUCE and NEWOBJ: a callee and a tuple of arguments. */
static bool do_call(struct machine *m)
{
    pickle_ref args, callee;
    return pop(m, &args) && pop(m, &callee) && push_call(m, callee, args, 0);
}

static bool do_newobj_ex(struct machine *m)
{
    pickle_ref kwargs, args, callee;
    return pop(m, &kwargs) && pop(m, &args) && pop(m, &callee) &&
           push_call(m, callee, args, kwargs);
}

/* INST and OBJ: the arguments lie above a mark; OBJ's first is the class. */
static bool do_inst(struct machine *m, bool named)
{
    size_t count;
    pickle_ref callee, args;
    if (named) {
        if (!do_global(m) || !pop(m, &callee) || !unmark(m, &count) ||
            !gather(m, PICKLE_TUPLE, count) || !pop(m, &args))
            return false;
        return push_call(m, callee, args, 0);
    }
    if (!unmark(m, &count))
        return false;
    if (!count)
        return fail(m, ERR_CORRUPT, "an object without a class");
    return gather(m, PICKLE_TUPLE, count - 1) && pop(m, &args) && pop(m, &callee) &&
           push_call(m, callee, args, 0);
}

static bool do_build(struct machine *m)
{
    pickle_ref state;
    if (!pop(m, &state))
        return false;
    if (m->depth <= m->fence)
        return fail(m, ERR_CORRUPT, "a state for nothing");
    const struct pickle_node *n = pickle_at(m->p, m->stack[m->depth - 1]);
    if (n->kind != PICKLE_CALL)
        return fail(m, ERR_CORRUPT, "a state for something that has none");
    if (n->call->state)
        n->call->more_state = state;
    else
        n->call->state = state;
    return true;
}

/* --- items ------------------------------------------------------------------------------ */

/* The container below the `count` top values that they go to: its own list or dict. */
static pickle_ref container(struct machine *m, size_t count, enum pickle_kind kind)
{
    if (m->depth - m->fence <= count) {
        fail(m, ERR_CORRUPT, "items for a container that is not there");
        return 0;
    }
    pickle_ref ref = m->stack[m->depth - count - 1];
    const struct pickle_node *n = pickle_at(m->p, ref);
    if (n->kind == kind)
        return ref;
    if (n->kind != PICKLE_CALL) {
        fail(m, ERR_CORRUPT, "items for something that holds none of the kind");
        return 0;
    }
    struct pickle_call *call = n->call;
    pickle_ref *own = kind == PICKLE_DICT ? &call->dict : &call->list;
    if (!*own)
        *own = new_node(m, kind == PICKLE_DICT ? PICKLE_DICT : PICKLE_LIST);
    return *own;
}

static bool put_items(struct machine *m, enum pickle_kind kind, size_t count)
{
    if (kind == PICKLE_DICT && count % 2)
        return fail(m, ERR_CORRUPT, "an odd number of keys and values");
    pickle_ref into = container(m, count, kind);
    if (!into || !add_items(m, into, m->stack + m->depth - count, count))
        return false;
    m->depth -= count;
    return true;
}

static bool put_marked(struct machine *m, enum pickle_kind kind)
{
    size_t count;
    return unmark(m, &count) && put_items(m, kind, count);
}

static bool gather_marked(struct machine *m, enum pickle_kind kind)
{
    size_t count;
    if (!unmark(m, &count))
        return false;
    if (kind == PICKLE_DICT && count % 2)
        return fail(m, ERR_CORRUPT, "an odd number of keys and values");
    return gather(m, kind, count);
}

static bool do_pop(struct machine *m)
{
    size_t count;
    pickle_ref ignored;
    return m->depth > m->fence || !m->mark_count ? pop(m, &ignored) : unmark(m, &count);
}

static bool do_pop_mark(struct machine *m)
{
    size_t count;
    if (!unmark(m, &count))
        return false;
    m->depth -= count;
    return true;
}

static bool do_dup(struct machine *m)
{
    if (m->depth <= m->fence)
        return fail(m, ERR_CORRUPT, "it takes more than there is on its stack");
    return push(m, m->stack[m->depth - 1]);
}

/* --- numbers and texts ------------------------------------------------------------------ */

/* A text node of decimal digits. */
static bool push_big(struct machine *m, const char *digits, size_t len)
{
    char *text = text_room(m, len, NO_OFFSET);
    pickle_ref ref = text ? new_node(m, PICKLE_BIGINT) : 0;
    if (!ref)
        return false;
    memcpy(text, digits, len);
    pickle_at(m->p, ref)->text = text;
    pickle_at(m->p, ref)->count = (uint32_t)len;
    return push(m, ref);
}

/* Two's complement, little-endian, of more than 8 bytes, to decimal digits. */
static bool push_wide(struct machine *m, const uint8_t *bytes, size_t len)
{
    uint8_t number[LIMIT_PICKLE_INT];
    char digits[LIMIT_PICKLE_INT * 5 / 2 + 2];
    size_t at = sizeof(digits);
    bool negative = bytes[len - 1] & 0x80, any = true, carry = negative;
    for (size_t i = 0; i < len; i++) {
        number[i] = negative ? (uint8_t)(~bytes[i] + carry) : bytes[i];
        carry = carry && number[i] == 0;
    }
    while (any) {
        unsigned rest = 0;
        any = false;
        for (size_t i = len; i-- > 0;) {
            unsigned part = rest << 8 | number[i];
            number[i] = (uint8_t)(part / 10);
            rest = part % 10;
            any |= number[i] != 0;
        }
        digits[--at] = (char)('0' + rest);
    }
    if (negative)
        digits[--at] = '-';
    return push_big(m, digits + at, sizeof(digits) - at);
}

static bool push_long(struct machine *m, uint64_t len)
{
    uint64_t value = 0;
    if (len > LIMIT_PICKLE_INT)
        return fail(m, ERR_LIMIT, "an integer of more than 1,024 bytes");
    const uint8_t *bytes = take(m, (size_t)len);
    if (!bytes)
        return false;
    size_t n = (size_t)len;
    while (n > 8 && bytes[n - 1] == (bytes[n - 2] & 0x80 ? 0xff : 0))
        n--;
    if (n > 8)
        return push_wide(m, bytes, n);
    for (size_t i = 0; i < n; i++)
        value |= (uint64_t)bytes[i] << (8 * i);
    if (n && n < 8 && bytes[n - 1] & 0x80)
        value |= UINT64_MAX << (8 * n);
    return push_int(m, (int64_t)value);
}

/* INT and LONG: decimal digits; "00" and "01" are booleans, LONG ends in 'L'. */
static bool push_decimal(struct machine *m, bool is_long)
{
    size_t len = 0;
    const char *line = take_line(m, &len);
    if (!line)
        return false;
    if (!is_long && len == 2 && line[0] == '0' && (line[1] == '0' || line[1] == '1'))
        return push(m, line[1] == '1' ? NODE_TRUE : NODE_FALSE);
    if (len && line[len - 1] == 'L')
        len--;
    size_t sign = len && line[0] == '-';
    bool fits = len > sign && len <= LIMIT_PICKLE_INT;
    for (size_t i = sign; i < len; i++)
        fits = fits && line[i] >= '0' && line[i] <= '9';
    if (!fits)
        return fail(m, ERR_CORRUPT, "an integer that is none");
    return len - sign <= 18 ? push_int(m, strtoll(line, NULL, 10))
                            : push_big(m, line, len);
}

static bool push_float_text(struct machine *m)
{
    size_t len = 0;
    char *end = NULL;
    const char *line = take_line(m, &len);
    if (!line)
        return false;
    double value = strtod(line, &end);
    return len && end == line + len ? push_real(m, value)
                                    : fail(m, ERR_CORRUPT, "a float that is none");
}

static bool push_binary_float(struct machine *m)
{
    const uint8_t *b = take(m, 8);
    double value;
    if (!b)
        return false;
    uint64_t bits = load_u64be(b);
    memcpy(&value, &bits, sizeof(value));
    return push_real(m, value);
}

static bool hex_digits(const char *at, size_t count, uint32_t *value)
{
    *value = 0;
    for (size_t i = 0; i < count; i++) {
        char c = at[i];
        int digit = c >= '0' && c <= '9'   ? c - '0'
                    : c >= 'a' && c <= 'f' ? c - 'a' + 10
                    : c >= 'A' && c <= 'F' ? c - 'A' + 10
                                           : -1;
        if (digit < 0)
            return false;
        *value = *value << 4 | (uint32_t)digit;
    }
    return true;
}

static size_t put_utf8(char *to, uint32_t c)
{
    if (c < 0x80)
        return to[0] = (char)c, 1;
    if (c < 0x800) {
        to[0] = (char)(0xc0 | c >> 6);
        to[1] = (char)(0x80 | (c & 0x3f));
        return 2;
    }
    if (c < 0x10000) {
        to[0] = (char)(0xe0 | c >> 12);
        to[1] = (char)(0x80 | (c >> 6 & 0x3f));
        to[2] = (char)(0x80 | (c & 0x3f));
        return 3;
    }
    to[0] = (char)(0xf0 | c >> 18);
    to[1] = (char)(0x80 | (c >> 12 & 0x3f));
    to[2] = (char)(0x80 | (c >> 6 & 0x3f));
    to[3] = (char)(0x80 | (c & 0x3f));
    return 4;
}

/* UNICODE: Latin-1 with \uXXXX and \UXXXXXXXX. */
static bool push_raw_unicode(struct machine *m)
{
    size_t len = 0, made = 0;
    const char *line = take_line(m, &len);
    char *text = line ? text_room(m, 2 * (uint64_t)len, NO_OFFSET) : NULL;
    if (!text)
        return false;
    for (size_t i = 0; i < len;) {
        uint32_t c = (uint8_t)line[i];
        size_t digits = c != '\\' || i + 1 == len ? 0
                        : line[i + 1] == 'u'      ? 4
                        : line[i + 1] == 'U'      ? 8
                                                  : 0;
        i++;
        if (digits) {
            if (len - i - 1 < digits || !hex_digits(line + i + 1, digits, &c) ||
                c > 0x10ffff)
                return fail(m, ERR_CORRUPT, "a text with a bad escape");
            i += 1 + digits;
        }
        made += put_utf8(text + made, c);
    }
    text[made] = '\0';
    return push_text(m, text, made, 0);
}

static char unescaped(char c)
{
    static const char from[] = "abfnrtv", to[] = "\a\b\f\n\r\t\v";
    const char *at = c ? strchr(from, c) : NULL;
    if (at)
        c = to[at - from];
    return c;
}

/* STRING: a Python 2 string literal in quotes. */
static bool push_quoted(struct machine *m)
{
    size_t len = 0, made = 0;
    const char *line = take_line(m, &len);
    if (!line)
        return false;
    if (len < 2 || (line[0] != '\'' && line[0] != '"') || line[len - 1] != line[0])
        return fail(m, ERR_CORRUPT, "a string without its quotes");
    char *text = text_room(m, len, NO_OFFSET);
    for (size_t i = 1; text && i < len - 1; i++) {
        uint32_t c;
        if (line[i] != '\\') {
            text[made++] = line[i];
        } else if (line[++i] == 'x' && len - 1 - i > 2 &&
                   hex_digits(line + i + 1, 2, &c)) {
            text[made++] = (char)c;
            i += 2;
        } else if (i < len - 1) {
            text[made++] = unescaped(line[i]);
        }
    }
    if (text)
        text[made] = '\0';
    return push_text(m, text, made, PICKLE_STR8);
}

/* --- opcodes with a number -------------------------------------------------------------- */

static bool text_of(struct machine *m, unsigned width, uint8_t flags)
{
    uint64_t len;
    return take_number(m, width, &len) && push_text(m, take_text(m, len), len, flags);
}

static bool bytes_of(struct machine *m, unsigned width)
{
    uint64_t len;
    return take_number(m, width, &len) && push_bytes(m, len);
}

static bool int_of(struct machine *m, unsigned width)
{
    uint64_t value;
    return take_number(m, width, &value) &&
           push_int(m, width == 4 ? (int32_t)value : (int64_t)value);
}

static bool long_of(struct machine *m, unsigned width)
{
    uint64_t len;
    return take_number(m, width, &len) && push_long(m, len);
}

static bool memo_of(struct machine *m, unsigned width,
                    bool (*op)(struct machine *, uint64_t))
{
    uint64_t key = 0;
    if (width)
        return take_number(m, width, &key) && op(m, key);
    size_t len = 0;
    const char *line = take_line(m, &len);
    if (!line)
        return false;
    bool fits = len && len <= 10;
    for (size_t i = 0; fits && i < len; i++) {
        fits = line[i] >= '0' && line[i] <= '9';
        key = key * 10 + (uint64_t)(line[i] - '0');
    }
    return fits ? op(m, key) : fail(m, ERR_CORRUPT, "a memo number that is none");
}

static bool push_persid(struct machine *m, bool line)
{
    size_t len = 0;
    if (line) {
        const char *text = take_line(m, &len);
        if (!push_text(m, text, len, 0))
            return false;
    }
    return gather(m, PICKLE_PERSID, 1);
}

static bool do_proto(struct machine *m)
{
    uint64_t protocol;
    if (!take_number(m, 1, &protocol))
        return false;
    return protocol <= 5 || fail(m, ERR_UNSUPPORTED, "a protocol after 5");
}

/* --- running ---------------------------------------------------------------------------- */

/* The opcodes that push one value of their own. */
static bool run_value(struct machine *m, uint8_t op)
{
    switch (op) {
    case 'N':
        return push(m, NODE_NONE);
    case 0x88:
        return push(m, NODE_TRUE);
    case 0x89:
        return push(m, NODE_FALSE);
    case 'I':
        return push_decimal(m, false);
    case 'L':
        return push_decimal(m, true);
    case 'J':
        return int_of(m, 4);
    case 'K':
        return int_of(m, 1);
    case 'M':
        return int_of(m, 2);
    case 0x8a:
        return long_of(m, 1);
    case 0x8b:
        return long_of(m, 4); /* a negative length is past the limit */
    case 'F':
        return push_float_text(m);
    case 'G':
        return push_binary_float(m);
    case 'S':
        return push_quoted(m);
    case 'T':
        return text_of(m, 4, PICKLE_STR8);
    case 'U':
        return text_of(m, 1, PICKLE_STR8);
    case 'V':
        return push_raw_unicode(m);
    case 'X':
        return text_of(m, 4, 0);
    case 0x8c:
        return text_of(m, 1, 0);
    case 0x8d:
        return text_of(m, 8, 0);
    case 'B':
        return bytes_of(m, 4);
    case 'C':
        return bytes_of(m, 1);
    case 0x8e:
    case 0x96:
        return bytes_of(m, 8);
    case 'c':
        return do_global(m);
    case 'P':
        return push_persid(m, true);
    default:
        return fail(m, ERR_CORRUPT, "a byte that is no opcode");
    }
}

/* Those that build on what is on the stack. */
static bool run_container(struct machine *m, uint8_t op)
{
    switch (op) {
    case ')':
        return gather(m, PICKLE_TUPLE, 0);
    case 0x85:
    case 0x86:
    case 0x87:
        return gather(m, PICKLE_TUPLE, op - 0x84u);
    case 't':
        return gather_marked(m, PICKLE_TUPLE);
    case ']':
        return gather(m, PICKLE_LIST, 0);
    case 'l':
        return gather_marked(m, PICKLE_LIST);
    case 'a':
        return put_items(m, PICKLE_LIST, 1);
    case 'e':
        return put_marked(m, PICKLE_LIST);
    case '}':
        return gather(m, PICKLE_DICT, 0);
    case 'd':
        return gather_marked(m, PICKLE_DICT);
    case 's':
        return put_items(m, PICKLE_DICT, 2);
    case 'u':
        return put_marked(m, PICKLE_DICT);
    case 0x8f:
        return gather(m, PICKLE_SET, 0);
    case 0x90:
        return put_marked(m, PICKLE_SET);
    case 0x91:
        return gather_marked(m, PICKLE_SET);
    case 'Q':
        return push_persid(m, false);
    default:
        return run_value(m, op);
    }
}

static bool run_opcode(struct machine *m, uint8_t op)
{
    switch (op) {
    case '(':
        return mark(m);
    case '0':
        return do_pop(m);
    case '1':
        return do_pop_mark(m);
    case '2':
        return do_dup(m);
    case 'p':
        return memo_of(m, 0, put);
    case 'q':
        return memo_of(m, 1, put);
    case 'r':
        return memo_of(m, 4, put);
    case 0x94:
        return put(m, m->memo_count);
    case 'g':
        return memo_of(m, 0, get);
    case 'h':
        return memo_of(m, 1, get);
    case 'j':
        return memo_of(m, 4, get);
    case 'R':
    case 0x81:
        return do_call(m);
    case 0x92:
        return do_newobj_ex(m);
    case 'i':
        return do_inst(m, true);
    case 'o':
        return do_inst(m, false);
    case 'b':
        return do_build(m);
    case 0x93:
        return do_stack_global(m);
    case 0x80:
        return do_proto(m);
    case 0x95:
        return take(m, 8) != NULL; /* a frame's size: it says nothing that counts */
    case 0x82:
    case 0x83:
    case 0x84:
        return fail(m, ERR_UNSUPPORTED, "an extension code, which no file explains");
    case 0x97:
    case 0x98:
        return fail(m, ERR_UNSUPPORTED, "a buffer that is not in the file");
    default:
        return run_container(m, op);
    }
}

/* Nodes 0 to NODE_EMPTY_TUPLE. */
static bool fixed_nodes(struct machine *m)
{
    static const enum pickle_kind kinds[] = {PICKLE_NOTHING, PICKLE_NONE, PICKLE_FALSE,
                                             PICKLE_TRUE, PICKLE_TUPLE};
    for (size_t i = 0; i < sizeof(kinds) / sizeof(kinds[0]); i++)
        if (new_node(m, kinds[i]) != i)
            return false;
    return true;
}

static bool run(struct machine *m)
{
    m->stack = malloc(STACK_START * sizeof(*m->stack));
    m->stack_space = m->stack ? STACK_START : 0;
    if (!m->stack)
        return no_memory(m);
    if (!fixed_nodes(m))
        return false;
    for (;;) {
        m->op_at = m->at;
        const uint8_t *op = take(m, 1);
        if (!op)
            return false;
        if (*op == '.')
            return pop(m, &m->p->root);
        if (!run_opcode(m, *op))
            return false;
    }
}

enum status pickle_run(const struct source *source, uint64_t offset, uint64_t base,
                       struct arena *arena, struct pickle *out, struct error *err)
{
    *out = (struct pickle){.arena = arena};
    struct machine m = {.p = out,
                        .source = source,
                        .err = err,
                        .at = offset,
                        .base = base,
                        .window = malloc(WINDOW_BYTES),
                        .seed = hash_seed() | 1};
    if (!m.window)
        no_memory(&m);
    else if (offset > source->size)
        cut_short(&m);
    else
        run(&m);
    out->end = m.at;
    free(m.window);
    free(m.stack);
    free(m.marks);
    free(m.memo);
    return err->status;
}

void pickle_release(struct pickle *p)
{
    strmap_release(&p->global_names);
}

/* --- looking ---------------------------------------------------------------------------- */

pickle_ref pickle_item(const struct pickle *p, pickle_ref ref, uint32_t i)
{
    const struct pickle_node *n = pickle_at(p, ref);
    bool has = n->kind == PICKLE_TUPLE || n->kind == PICKLE_LIST ||
               n->kind == PICKLE_DICT || n->kind == PICKLE_SET ||
               n->kind == PICKLE_PERSID;
    return has && i < n->count ? n->items[i] : 0;
}

bool pickle_is_text(const struct pickle *p, pickle_ref ref, const char *text)
{
    const struct pickle_node *n = pickle_at(p, ref);
    return n->kind == PICKLE_TEXT && n->count == strlen(text) &&
           memcmp(n->text, text, n->count) == 0;
}

pickle_ref pickle_get(const struct pickle *p, pickle_ref dict, const char *key)
{
    const struct pickle_node *n = pickle_at(p, dict);
    for (uint32_t i = n->kind == PICKLE_DICT ? n->count : 0; i >= 2; i -= 2)
        if (pickle_is_text(p, n->items[i - 2], key))
            return n->items[i - 1];
    return 0;
}
