#include "importer/container/protobuf.h"

/* protobuf-c keeps some 40 bytes a field while it scans and about as many for each small
 * message, and a field has two bytes at least. The bytes themselves may come out of a
 * decompressor: hence a most. */
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
                      struct arena *arena)
{
    bool small = message.len < (CEILING_MOST - CEILING_BASE) / CEILING_PER_BYTE;
    arena->ceiling = small ? CEILING_BASE + message.len * CEILING_PER_BYTE : CEILING_MOST;
    ProtobufCAllocator allocator = {arena_take, arena_keep, arena};
    return protobuf_c_message_unpack(type, &allocator, message.len, message.at);
}
