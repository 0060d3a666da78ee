#include "importer/format/tensorflow/protobuf.h"

/* While protobuf-c scans, it keeps some 40 bytes per field and about as many per small
 * message, and a field has at least two bytes. Since `message` may come out of a
 * decompressor, there is an absolute limit, too. */
#define CEILING_BASE     ((size_t)64 << 10)
#define CEILING_PER_BYTE ((size_t)128)
#define CEILING_MOST     ((size_t)256 << 20)

static void *arena_take(void *arena, size_t size)
{
    return arena_alloc(arena, size);
}

static void arena_keep(void *arena, void *at)
{
    (void)arena;
    (void)at;
}

void *protobuf_unpack(const ProtobufCMessageDescriptor *type, struct bytes message,
                      struct arena *arena, struct error *err)
{
    const struct error *last;
    const unsigned long before = error_troubles(&last);
    bool small = message.len < (CEILING_MOST - CEILING_BASE) / CEILING_PER_BYTE;
    arena->ceiling = small ? CEILING_BASE + message.len * CEILING_PER_BYTE : CEILING_MOST;
    ProtobufCAllocator allocator = {arena_take, arena_keep, arena};
    void *m = protobuf_c_message_unpack(type, &allocator, message.len, message.at);
    if (!m && error_troubles(&last) != before) /* the arena's ceiling does not count */
        error_memory(err);
    return m;
}
