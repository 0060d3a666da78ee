/*
 * module_sums.h - the modules of a layout and their sums, packed (the table _layout_module_sums): the rows of
 * by_module for a layout, readable without its names. Modules of one model have few different sums, which are
 * there once; modules of one depth are together, so that a reader of one depth reads no other.
 *
 *   varint  number of sums
 *   each:   varint tensors, parameters, nbytes
 *   varint  number of depths
 *   each:   varint depth, number of modules, their bytes
 *   each module of each depth: zigzag varint tensor (less the one before, of this depth), varint length, sum
 *   u32le   CRC-32C of these
 */
#pragma once

#include "catalog/base/bits.h"
#include "catalog/base/strmap.h"
#include "catalog/base/text.h"

struct module_sum {
    int64_t tensors, parameters, nbytes;
};

/* A module: the first `length` characters of the name of a tensor in it, and the place of its sum. */
struct module_place {
    uint32_t tensor, length, sum;
};

/* A module to be packed, with its depth (components) and its own sum. */
struct packed_module {
    uint32_t tensor, length, depth;
    struct module_sum sum;
};

/* Zeroed at first. */
struct module_pack {
    struct text sums, depths, modules;
    struct strmap index; /* of sums */
    struct arena arena;
    size_t depth_count;
    uint32_t depth; /* of the last modules: their number, and where they begin */
    size_t count, begin;
    int64_t before; /* the last tensor */
};

/* Modules come by depth, then by tensor. */
void module_pack_add(struct module_pack *, const struct packed_module *);
/* Write them to `out` and release them; out->failed: no memory. */
void module_pack_end(struct module_pack *, struct text *out);

/* Unpacked: the modules of depth[i] are those from depth[i].first on; module[] has them after
 * module_sums_read(). */
struct module_sums {
    struct module_sum *sum;
    struct module_depth {
        uint32_t depth, first, count;
        bool read;
        struct bytes packed;
    } * depth;
    struct module_place *module;
    size_t sum_count, depths, count;
    uint8_t *packed;
};

enum module_sums_state { MODULE_SUMS_GOOD, MODULE_SUMS_DAMAGED, MODULE_SUMS_NO_MEMORY };
enum module_sums_state module_sums_unpack(struct bytes packed, struct module_sums *);
/* Read the modules of depth[i]. */
enum module_sums_state module_sums_read(struct module_sums *, size_t i);
void module_sums_release(struct module_sums *);

/* The bytes that the first `length` characters of a name have, as SQLite counts them: a NUL ends a text. */
size_t module_bytes(const char *name, size_t len, uint32_t length);
/* The number of characters in all of a text. */
uint32_t module_characters(const char *text, size_t len);
