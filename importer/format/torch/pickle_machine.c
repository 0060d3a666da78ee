/*
 * pickle_machine.c - the machine's input, nodes, stack, marks and memo.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "catalog/base/list.h"
#include "importer/format/torch/pickle_private.h"

/* --- failing ---------------------------------------------------------------------------- */

bool pickle_fail(struct machine *m, enum status status, const char *what)
{
    error_set(m->err, status, m->source->name, m->base + m->op_at, "bad pickle: %s", what);
    if (status == ERR_CORRUPT)
        error_code(m->err, "bad-pickle");
    return false;
}

bool pickle_no_memory(struct machine *m)
{
    error_memory_at(m->err, m->source->name);
    return false;
}

bool pickle_cut_short(struct machine *m)
{
    error_set(m->err, ERR_CORRUPT, m->source->name, m->base + m->op_at,
              "bad pickle: it ends before its STOP: the file was cut short");
    error_code(m->err, "truncated");
    return false;
}

/* --- bytes ------------------------------------------------------------------------------ */

const uint8_t *pickle_take(struct machine *m, size_t len)
{
    uint64_t end = m->window_at + m->window_len;
    if (m->at < m->window_at || m->at > end || end - m->at < len) {
        uint64_t left = m->source->size - m->at;
        size_t want = left < WINDOW_BYTES ? (size_t)left : WINDOW_BYTES;
        if (want < len) {
            pickle_cut_short(m);
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

bool pickle_take_number(struct machine *m, unsigned width, uint64_t *value)
{
    const uint8_t *b = pickle_take(m, width);
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
    return len <= m->source->size - m->at || pickle_cut_short(m);
}

char *pickle_text_room(struct machine *m, uint64_t len, uint64_t offset)
{
    if (len >= UINT32_MAX) {
        pickle_fail(m, ERR_LIMIT, "a text of more than 4 GiB");
        return NULL;
    }
    char *room = arena_room(m->p->arena, sizeof(offset) + (size_t)len + 1);
    if (!room) {
        pickle_no_memory(m);
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

char *pickle_take_text(struct machine *m, uint64_t len)
{
    if (!leaves(m, len))
        return NULL;
    char *text = pickle_text_room(m, len, m->at);
    if (!text)
        return NULL;
    if (len <= WINDOW_BYTES) {
        const uint8_t *bytes = pickle_take(m, (size_t)len);
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

char *pickle_take_line(struct machine *m, size_t *len)
{
    uint64_t begin = m->at;
    const uint8_t *end = NULL;
    while (!end) {
        uint64_t left = m->source->size - m->at;
        size_t n = left < WINDOW_BYTES ? (size_t)left : WINDOW_BYTES;
        uint64_t window_end = m->window_at + m->window_len;
        if (m->at >= m->window_at && m->at < window_end)
            n = (size_t)(window_end - m->at); /* only what is already there */
        const uint8_t *bytes = n ? pickle_take(m, n) : NULL;
        if (!bytes) {
            pickle_cut_short(m);
            return NULL;
        }
        end = memchr(bytes, '\n', n);
        if (end)
            m->at -= n - (size_t)(end - bytes);
    }
    uint64_t size = m->at - begin;
    m->at = begin;
    char *text = pickle_take_text(m, size);
    m->at++;
    *len = (size_t)size;
    return text;
}

/* --- nodes ------------------------------------------------------------------------------ */

pickle_ref pickle_new_node(struct machine *m, enum pickle_kind kind)
{
    struct pickle *p = m->p;
    uint32_t ref = p->node_count;
    if (ref >= LIMIT_PICKLE_NODES) {
        pickle_fail(m, ERR_LIMIT, "more values than this program takes from one pickle");
        return 0;
    }
    if (ref % PICKLE_PAGE == 0) {
        void *pages =
            arena_grow(p->arena, p->pages, p->page_count, &p->page_space, sizeof(*p->pages));
        struct pickle_node *page = arena_array(p->arena, PICKLE_PAGE, sizeof(*page));
        if (!pages || !page)
            return pickle_no_memory(m), 0;
        p->pages = pages;
        p->pages[p->page_count++] = page;
    }
    p->node_count++;
    pickle_at(p, ref)->kind = (uint8_t)kind;
    return ref;
}

bool pickle_push(struct machine *m, pickle_ref ref)
{
    if (!ref)
        return false;
    pickle_ref *stack = list_grow(m->stack, m->depth, &m->stack_space, sizeof(*stack));
    if (!stack)
        return pickle_no_memory(m);
    m->stack = stack;
    m->stack[m->depth++] = ref;
    return true;
}

bool pickle_push_text(struct machine *m, const char *text, uint64_t len, uint8_t flags)
{
    pickle_ref ref = text ? pickle_new_node(m, PICKLE_TEXT) : 0;
    if (!ref)
        return false;
    struct pickle_node *n = pickle_at(m->p, ref);
    n->text = text;
    n->count = (uint32_t)len;
    n->flags = flags;
    return pickle_push(m, ref);
}

bool pickle_push_int(struct machine *m, int64_t value)
{
    pickle_ref *slot = &m->p->small[(uint8_t)value];
    if (!*slot || pickle_at(m->p, *slot)->integer != value) {
        *slot = pickle_new_node(m, PICKLE_INT);
        if (!*slot)
            return false;
        pickle_at(m->p, *slot)->integer = value;
    }
    return pickle_push(m, *slot);
}

bool pickle_push_real(struct machine *m, double value)
{
    pickle_ref ref = pickle_new_node(m, PICKLE_FLOAT);
    if (!ref)
        return false;
    pickle_at(m->p, ref)->real = value;
    return pickle_push(m, ref);
}

bool pickle_push_bytes(struct machine *m, uint64_t len)
{
    if (!leaves(m, len))
        return false;
    struct pickle_data *data = arena_alloc(m->p->arena, sizeof(*data));
    pickle_ref ref = data ? pickle_new_node(m, PICKLE_BYTES) : 0;
    if (!ref)
        return data ? false : pickle_no_memory(m);
    *data = (struct pickle_data){m->at, len};
    pickle_at(m->p, ref)->data = data;
    m->at += len;
    return pickle_push(m, ref);
}

bool pickle_pop(struct machine *m, pickle_ref *ref)
{
    if (m->depth <= m->fence) {
        pickle_fail(m, ERR_CORRUPT, "it takes more than there is on its stack");
        return false;
    }
    *ref = m->stack[--m->depth];
    return true;
}

/* How many items a list of `count` items has room for. Computed, so nodes need no field for it. */
static uint64_t room_of(uint64_t count)
{
    uint64_t room = count ? ITEMS_MIN : 0;
    while (room < count)
        room *= 2;
    return room;
}

bool pickle_add_items(struct machine *m, pickle_ref ref, const pickle_ref *items, size_t count)
{
    struct pickle_node *n = pickle_at(m->p, ref);
    uint64_t all = (uint64_t)n->count + count, room = room_of(all);
    if (all > UINT32_MAX)
        return pickle_fail(m, ERR_LIMIT, "a list of more than 2^32 items");
    if (room > room_of(n->count)) {
        pickle_ref *more = arena_room(m->p->arena, (size_t)room * sizeof(*more));
        if (!more)
            return pickle_no_memory(m);
        if (n->count)
            memcpy(more, n->items, n->count * sizeof(*more));
        n->items = more;
    }
    if (count)
        memcpy(n->items + n->count, items, count * sizeof(*items));
    n->count = (uint32_t)all;
    return true;
}

bool pickle_gather(struct machine *m, enum pickle_kind kind, size_t count)
{
    if (m->depth - m->fence < count)
        return pickle_fail(m, ERR_CORRUPT, "it takes more than there is on its stack");
    m->depth -= count;
    if (kind == PICKLE_TUPLE && !count)
        return pickle_push(m, NODE_EMPTY_TUPLE);
    pickle_ref ref = pickle_new_node(m, kind);
    if (!ref)
        return false;
    struct pickle_node *n = pickle_at(m->p, ref);
    if (kind != PICKLE_TUPLE)
        return pickle_add_items(m, ref, m->stack + m->depth, count) && pickle_push(m, ref);
    n->items = arena_room(m->p->arena, count * sizeof(*n->items));
    if (!n->items)
        return pickle_no_memory(m);
    memcpy(n->items, m->stack + m->depth, count * sizeof(*n->items));
    n->count = (uint32_t)count;
    return pickle_push(m, ref);
}

/* --- marks and memo --------------------------------------------------------------------- */

bool pickle_mark(struct machine *m)
{
    size_t *marks = list_grow(m->marks, m->mark_count, &m->mark_space, sizeof(*marks));
    if (!marks)
        return pickle_no_memory(m);
    m->marks = marks;
    m->marks[m->mark_count++] = m->depth;
    m->fence = m->depth;
    return true;
}

bool pickle_unmark(struct machine *m, size_t *count)
{
    if (!m->mark_count) {
        pickle_fail(m, ERR_CORRUPT, "a MARK is missing");
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
        return pickle_no_memory(m);
    }
    for (size_t i = 0; i < old_space; i++)
        if (old[i].value)
            *memo_slot(m, old[i].key) = old[i];
    free(old);
    return true;
}

bool pickle_memo_put(struct machine *m, uint64_t key)
{
    if (m->depth <= m->fence)
        return pickle_fail(m, ERR_CORRUPT, "it remembers a value that is not there");
    if (key > UINT32_MAX)
        return pickle_fail(m, ERR_CORRUPT, "a memo number beyond 32 bits");
    if (2 * m->memo_count >= m->memo_space && !grow_memo(m))
        return false;
    struct memo_slot *slot = memo_slot(m, (uint32_t)key);
    m->memo_count += !slot->value;
    *slot = (struct memo_slot){(uint32_t)key, m->stack[m->depth - 1]};
    return true;
}

bool pickle_memo_get(struct machine *m, uint64_t key)
{
    pickle_ref ref = key <= UINT32_MAX && m->memo_space ? memo_slot(m, (uint32_t)key)->value : 0;
    return ref ? pickle_push(m, ref)
               : pickle_fail(m, ERR_CORRUPT, "it asks for a value that was never remembered");
}
