/*
 * fuzz_msgpack.c - msgpack values, one after the other. Walking into a value and leaving it
 * out must end in the same place or both fail; a head reads as the file does.
 */
#include <stdlib.h>

#include "importer/container/msgpack.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static uint64_t items_of(const struct msgpack_item *item)
{
    return item->type == MSGPACK_ARRAY ? item->count
           : item->type == MSGPACK_MAP ? 2 * item->count
                                       : 0;
}

/* All items of a value, however nested, which skipping says there are. */
static void enter(struct msgpack m, const struct msgpack_item *item, uint64_t end)
{
    struct msgpack_item inner;
    for (uint64_t left = items_of(item); left; left--) {
        if (!msgpack_next(&m, &inner) || inner.offset >= m.at || m.at > m.end)
            abort();
        left += items_of(&inner);
    }
    if (m.at != end)
        abort();
}

static void read_payload(struct msgpack *m, const struct msgpack_item *item)
{
    struct text whole = {.limit = 4096};
    if (item->type < MSGPACK_STRING || item->type > MSGPACK_EXTENSION)
        return;
    if (item->data > m->end || item->len > m->end - item->data)
        abort();
    if (msgpack_add(m, item, &whole) != (item->len <= whole.limit))
        abort();
    text_release(&whole);
}

static void read_all(struct msgpack *m)
{
    struct msgpack_item item;
    while (m->at < m->end && msgpack_next(m, &item)) {
        struct msgpack before = *m;
        read_payload(m, &item);
        if (msgpack_skip(m, &item) && !m->source) /* whose window stays as it is */
            enter(before, &item, m->at);
    }
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct error err = {.offset = NO_OFFSET}, other = {.offset = NO_OFFSET};
    struct arena arena = {0};
    struct source *source = NULL;
    struct msgpack m, head;
    if (source_open_memory("fuzzed", (struct bytes){data, size}, false, &source, &err) != OK ||
        msgpack_open(&m, source, &arena, &err) != OK)
        abort();
    read_all(&m);
    msgpack_head(&head, (struct bytes){data, size}, size, &other);
    read_all(&head);
    if (m.at != head.at || err.status != other.status)
        abort();
    source_close(source);
    arena_release(&arena);
    return 0;
}
