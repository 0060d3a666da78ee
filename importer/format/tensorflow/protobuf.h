/*
 * protobuf.h - protobuf-c messages unpacked into an arena.
 *
 *   Tf__BundleEntryProto *m = protobuf_unpack(&tf__bundle_entry_proto__descriptor, value, &a, err);
 *   use(m); arena_release(&a);
 *
 * Nothing is freed one by one. The arena's ceiling is set for the message: memory stays
 * in proportion to its bytes whatever they say.
 */
#pragma once

#include <protobuf-c/protobuf-c.h>

#include "catalog/base/arena.h"
#include "catalog/base/bits.h"
#include "catalog/base/error.h"

/* NULL if the bytes are not such a message, or without memory, which alone sets *err. `arena` must
 * be empty. */
void *protobuf_unpack(const ProtobufCMessageDescriptor *type, struct bytes message,
                      struct arena *arena, struct error *err);
