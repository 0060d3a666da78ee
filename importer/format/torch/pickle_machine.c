/*
 * pickle_machine.c - the memo is a hash table, as the file chooses its numbers.
 */
#include "importer/format/torch/pickle_machine.h"

#include <stdlib.h>
#include <string.h>

#include "catalog/base/limits.h"
#include "catalog/base/list.h"

#define WINDOW_BYTES ((size_t)32 << 10)

#define ITEMS_MIN 4 /* initial room of a list; doubled when full */

struct memo_slot {
    uint32_t key;
    pickle_ref value; /* 0: free */
};

void machine_start(struct machine *m, const struct source *source, uint64_t offset, uint64_t base,
                   struct pickle *out, struct error *err)
{
    *m = (struct machine){.p = out,
                          .source = source,
                          .err = err,
                          .at = offset,
                          .base = base,
                          .window = malloc(WINDOW_BYTES),
                          .names.err = err,
                          .seed = hash_seed() | 1};
    if (!m->window)
        error_memory(err);
    else if (offset > source->size)
        machine_cut_short(m);
    for (unsigned i = 0; i <= NODE_EMPTY_TUPLE; i++)
        machine_node(m, (const enum pickle_kind[]){PICKLE_NOTHING, PICKLE_NONE, PICKLE_FALSE,
                                                   PICKLE_TRUE, PICKLE_TUPLE}[i]);
}

void machine_end(struct machine *m)
{
    m->p->end = m->at;
    strmap_release(&m->names);
    free(m->window);
    free(m->stack);
    free(m->marks);
    free(m->memo);
}

void machine_fail(struct machine *m, enum status status, const char *what)
{
    error_set(m->err, status, m->source->name, m->base + m->op_at, "bad pickle: %s", what);
    if (status == ERR_CORRUPT)
        error_code(m->err, "bad-pickle");
}

void machine_cut_short(struct machine *m)
{
    error_set(m->err, ERR_CORRUPT, m->source->name, m->base + m->op_at,
              "bad pickle: it ends before its STOP: the file was cut short");
    error_code(m->err, "truncated");
}

void machine_odd(struct machine *m, enum pickle_oddity_kind kind, pickle_ref node)
{
    struct pickle *p = m->p;
    const struct pickle_oddity *last = p->oddity_count ? &p->oddities[p->oddity_count - 1] : NULL;
    if (!last || last->kind != kind || last->node != node) /* once for a loop */
        *PUSH(p->arena, p->oddities, p->oddity_count, m->oddity_space) =
            (struct pickle_oddity){kind, node, m->base + m->op_at};
}

/* --- bytes ------------------------------------------------------------------------------ */

const uint8_t *machine_take(struct machine *m, size_t len)
{
    uint64_t end = m->window_at + m->window_len;
    if (m->at < m->window_at || m->at > end || end - m->at < len) {
        uint64_t left = m->source->size - m->at;
        size_t want = left < WINDOW_BYTES ? (size_t)left : WINDOW_BYTES;
        if (want < len) {
            machine_cut_short(m);
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

uint64_t machine_take_number(struct machine *m, unsigned width)
{
    const uint8_t *b = machine_take(m, width);
    if (!b)
        return 0;
    return width == 1   ? b[0]
           : width == 2 ? load_u16le(b)
           : width == 4 ? load_u32le(b)
                        : load_u64le(b);
}

char *machine_text_room(struct machine *m, uint64_t len, uint64_t offset)
{
    if (len >= UINT32_MAX) {
        machine_fail(m, ERR_LIMIT, "a text of more than 4 GiB");
        return NULL;
    }
    char *room = arena_room(m->p->arena, sizeof(offset) + (size_t)len + 1);
    if (!room)
        return NULL;
    memcpy(room, &offset, sizeof(offset));
    room[sizeof(offset) + len] = '\0';
    m->p->text_bytes += len;
    return room + sizeof(offset);
}

char *machine_take_text(struct machine *m, uint64_t len)
{
    if (len > m->source->size - m->at) {
        machine_cut_short(m);
        return NULL;
    }
    char *text = machine_text_room(m, len, m->at);
    const uint8_t *bytes = text && len <= WINDOW_BYTES ? machine_take(m, (size_t)len) : NULL;
    if (bytes)
        return memcpy(text, bytes, (size_t)len);
    if (!text || len <= WINDOW_BYTES ||
        source_read(m->source, m->at, text, (size_t)len, m->err) != OK)
        return NULL;
    m->at += len;
    return text;
}

char *machine_take_line(struct machine *m, size_t *len)
{
    uint64_t begin = m->at;
    const uint8_t *end = NULL;
    *len = 0;
    while (!end) {
        uint64_t left = m->source->size - m->at;
        size_t n = left < WINDOW_BYTES ? (size_t)left : WINDOW_BYTES;
        uint64_t window_end = m->window_at + m->window_len;
        if (m->at >= m->window_at && m->at < window_end)
            n = (size_t)(window_end - m->at); /* only what is already there */
        const uint8_t *bytes = n ? machine_take(m, n) : NULL;
        if (!bytes) {
            machine_cut_short(m);
            return NULL;
        }
        end = memchr(bytes, '\n', n);
        if (end)
            m->at -= n - (size_t)(end - bytes);
    }
    *len = (size_t)(m->at - begin);
    m->at = begin;
    char *text = machine_take_text(m, *len);
    m->at++;
    return text;
}

/* --- nodes ------------------------------------------------------------------------------ */

pickle_ref machine_node(struct machine *m, enum pickle_kind kind)
{
    struct pickle *p = m->p;
    uint32_t ref = p->node_count;
    if (ref >= LIMIT_PICKLE_NODES) {
        machine_fail(m, ERR_LIMIT, "more values than this program takes from one pickle");
        return 0;
    }
    if (ref % PICKLE_PAGE == 0) {
        struct pickle_node *page = arena_array(p->arena, PICKLE_PAGE, sizeof(*page));
        *PUSH(p->arena, p->pages, m->page_count, m->page_space) = page;
        if (p->arena->failed)
            return 0;
    }
    p->node_count++;
    pickle_at(p, ref)->kind = (uint8_t)kind;
    return ref;
}

void machine_push(struct machine *m, pickle_ref ref)
{
    if (ref)
        *LIST_PUSH(m->err, m->stack, m->depth, m->stack_space) = ref;
}

void machine_push_text(struct machine *m, enum pickle_kind kind, const char *text, uint64_t len,
                       uint8_t flags)
{
    pickle_ref ref = text ? machine_node(m, kind) : 0;
    if (!ref)
        return;
    struct pickle_node *n = pickle_at(m->p, ref);
    n->text = text;
    n->count = (uint32_t)len;
    n->flags = flags;
    machine_push(m, ref);
}

void machine_push_int(struct machine *m, int64_t value)
{
    pickle_ref *slot = &m->small[(uint8_t)value];
    if (!*slot || pickle_at(m->p, *slot)->integer != value) {
        *slot = machine_node(m, PICKLE_INT);
        pickle_at(m->p, *slot)->integer = value;
    }
    machine_push(m, *slot);
}

void machine_push_real(struct machine *m, double value)
{
    pickle_ref ref = machine_node(m, PICKLE_FLOAT);
    pickle_at(m->p, ref)->real = value;
    machine_push(m, ref);
}

void machine_push_bytes(struct machine *m, uint64_t len)
{
    if (len > m->source->size - m->at) {
        machine_cut_short(m);
        return;
    }
    struct pickle_data *data = arena_alloc(m->p->arena, sizeof(*data));
    if (!data) /* before there is a node, so that each has its data */
        return;
    *data = (struct pickle_data){m->at, len};
    pickle_ref ref = machine_node(m, PICKLE_BYTES);
    pickle_at(m->p, ref)->data = data;
    m->at += len;
    machine_push(m, ref);
}

pickle_ref machine_pop(struct machine *m)
{
    if (m->depth > m->fence)
        return m->stack[--m->depth];
    machine_fail(m, ERR_CORRUPT, "it takes more than there is on its stack");
    return 0;
}

/* How many items a list of `count` items has room for. Computed, so nodes need no field for it. */
static uint64_t room_of(uint64_t count)
{
    uint64_t room = count ? ITEMS_MIN : 0;
    while (room < count)
        room *= 2;
    return room;
}

void machine_add_items(struct machine *m, pickle_ref ref, const pickle_ref *items, size_t count)
{
    struct pickle_node *n = pickle_at(m->p, ref);
    uint64_t all = (uint64_t)n->count + count, room = room_of(all);
    if (all > UINT32_MAX) {
        machine_fail(m, ERR_LIMIT, "a list of more than 2^32 items");
        return;
    }
    if (room > room_of(n->count)) {
        pickle_ref *more = arena_room(m->p->arena, (size_t)room * sizeof(*more));
        if (!more)
            return;
        if (n->count)
            memcpy(more, n->items, n->count * sizeof(*more));
        n->items = more;
    }
    if (count)
        memcpy(n->items + n->count, items, count * sizeof(*items));
    n->count = (uint32_t)all;
}

void machine_gather(struct machine *m, enum pickle_kind kind, size_t count)
{
    if (m->depth - m->fence < count) {
        machine_fail(m, ERR_CORRUPT, "it takes more than there is on its stack");
        return;
    }
    m->depth -= count;
    pickle_ref ref = kind == PICKLE_TUPLE && !count ? NODE_EMPTY_TUPLE : machine_node(m, kind);
    if (!ref)
        return;
    struct pickle_node *n = pickle_at(m->p, ref);
    if (kind != PICKLE_TUPLE) {
        machine_add_items(m, ref, m->stack + m->depth, count);
    } else if (count && (n->items = arena_room(m->p->arena, count * sizeof(*n->items)))) {
        memcpy(n->items, m->stack + m->depth, count * sizeof(*n->items));
        n->count = (uint32_t)count;
    }
    machine_push(m, ref);
}

/* --- marks and memo --------------------------------------------------------------------- */

void machine_mark(struct machine *m)
{
    *LIST_PUSH(m->err, m->marks, m->mark_count, m->mark_space) = m->depth;
    m->fence = m->depth;
}

size_t machine_unmark(struct machine *m)
{
    if (!m->mark_count) {
        machine_fail(m, ERR_CORRUPT, "a MARK is missing");
        return 0;
    }
    size_t count = m->depth - m->marks[--m->mark_count];
    m->fence = m->mark_count ? m->marks[m->mark_count - 1] : 0;
    return count;
}

static struct memo_slot *memo_slot(const struct machine *m, uint32_t key)
{
    size_t at = (size_t)(((uint64_t)key + 1) * m->seed >> 32) & (m->memo_space - 1);
    while (m->memo[at].value && m->memo[at].key != key)
        at = (at + 1) & (m->memo_space - 1);
    return &m->memo[at];
}

static void grow_memo(struct machine *m)
{
    struct memo_slot *old = m->memo;
    size_t old_space = m->memo_space, space = old_space ? 2 * old_space : 256;
    struct memo_slot *larger = calloc(space, sizeof(*larger));
    if (!larger) {
        error_memory(m->err);
        return;
    }
    m->memo = larger;
    m->memo_space = space;
    for (size_t i = 0; i < old_space; i++)
        if (old[i].value)
            *memo_slot(m, old[i].key) = old[i];
    free(old);
}

void machine_remember(struct machine *m, uint64_t key)
{
    if (m->depth <= m->fence)
        machine_fail(m, ERR_CORRUPT, "it remembers a value that is not there");
    else if (key > UINT32_MAX)
        machine_fail(m, ERR_CORRUPT, "a memo number beyond 32 bits");
    else if (2 * m->memo_count >= m->memo_space)
        grow_memo(m);
    if (m->err->status != OK)
        return;
    struct memo_slot *slot = memo_slot(m, (uint32_t)key);
    m->memo_count += !slot->value;
    *slot = (struct memo_slot){(uint32_t)key, m->stack[m->depth - 1]};
}

void machine_recall(struct machine *m, uint64_t key)
{
    pickle_ref ref = key <= UINT32_MAX && m->memo_space ? memo_slot(m, (uint32_t)key)->value : 0;
    if (!ref)
        machine_fail(m, ERR_CORRUPT, "it asks for a value that was never remembered");
    machine_push(m, ref);
}
