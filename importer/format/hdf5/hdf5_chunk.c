/*
 * hdf5_chunk.c - locate the chunks of a dataset, by one of six kinds of index:
 *
 *   B-tree 1           a key (u32 bytes, u32 mask of skipped filters, offsets in elements) and
 *                      an address
 *   single             the address is in the layout
 *   implicit           all chunks are stored consecutively
 *   fixed array        "FAHD", "FADB": one entry per chunk; many entries come in pages
 *   extensible array   "EAHD", "EAIB", "EASB", "EADB": entries in blocks of growing size
 *   B-tree 2           one record per chunk, with its position in the grid
 *
 * An entry is an address and, for filtered chunks, the stored size and the mask. Arrays number
 * chunks in C order of the grid of the maximal shape. The extensible array moves its one
 * unlimited dimension to the front, so that growth only appends entries.
 */
#include "importer/format/hdf5/hdf5_read.h"

#include <stdlib.h>

#include "catalog/base/list.h"

struct chunk_walk {
    struct hdf5 *h;
    const struct hdf5_dataset *d;
    struct hdf5_chunks *out;
    struct arena arena;
    uint64_t grid[HDF5_RANK_MAX]; /* number of chunks along each axis now */
    /* For arrays only: */
    uint64_t steps[HDF5_RANK_MAX]; /* entries from one chunk to the next on an axis */
    unsigned order[HDF5_RANK_MAX]; /* axes, slowest first */
    uint64_t wanted;               /* later entries belong to chunks outside the present shape */
    bool filtered;
    unsigned size_bytes; /* width of a filtered chunk's stored size */
};

static void index_damaged(const struct chunk_walk *w, uint64_t address, const char *what)
{
    hdf5_corrupt(w->h, address, "an index of chunks: %s", what);
}

/* --- the list ----------------------------------------------------------------------------- */

/* Add the chunk at this position in the grid. One outside the present shape is
 * ignored: the dataset was larger once. */
static void add_chunk(struct chunk_walk *w, const uint64_t *place, struct hdf5_chunk chunk,
                      uint64_t address)
{
    struct hdf5_chunks *out = w->out;
    chunk.index = 0;
    if (address == HDF5_UNDEFINED)
        return;
    for (unsigned d = 0; d < w->d->space.rank; d++) {
        if (place[d] >= w->grid[d])
            return;
        chunk.index = chunk.index * w->grid[d] + place[d];
    }
    if (!w->h->chunks)
        hdf5_fail(w->h, ERR_LIMIT, NULL, NO_OFFSET, "more chunks than the file has room for");
    else if (!add_u64(address, w->h->base, &chunk.offset))
        index_damaged(w, address, "a chunk past the end");
    else
        *LIST_PUSH(w->h->err, out->at, out->count, out->space) = chunk;
    w->h->chunks -= w->h->chunks != 0;
}

/* --- B-trees ------------------------------------------------------------------------------ */

static void see_chunk1(void *context, struct bytes record)
{
    struct chunk_walk *w = context;
    struct cursor c = cursor_over(record, 0);
    uint64_t place[HDF5_RANK_MAX];
    struct hdf5_chunk chunk = {.stored = cursor_u32le(&c)};
    chunk.skipped = cursor_u32le(&c);
    for (unsigned d = 0; d < w->d->space.rank; d++) {
        place[d] = cursor_u64le(&c);
        if (place[d] % w->d->box[d])
            index_damaged(w, HDF5_UNDEFINED, "a chunk that is not at a chunk's place");
        place[d] /= w->d->box[d];
    }
    cursor_u64le(&c); /* offset within the element: 0 */
    uint64_t address = hdf5_address(w->h, &c);
    if (!cursor_ok(&c))
        hdf5_corrupt(w->h, HDF5_UNDEFINED, "a short key of a chunk");
    if (hdf5_ok(w->h))
        add_chunk(w, place, chunk, address);
}

/* The stored size of a chunk and its mask; only filtered chunks have these fields. */
static struct hdf5_chunk chunk_entry(struct chunk_walk *w, struct cursor *c)
{
    struct hdf5_chunk chunk = {.stored = w->d->chunk_bytes};
    if (w->filtered) {
        chunk.stored = hdf5_number(c, w->size_bytes);
        chunk.skipped = cursor_u32le(c);
    }
    return chunk;
}

static void see_chunk2(void *context, struct bytes record)
{
    struct chunk_walk *w = context;
    struct cursor c = cursor_over(record, 0);
    uint64_t place[HDF5_RANK_MAX], address = hdf5_address(w->h, &c);
    struct hdf5_chunk chunk = chunk_entry(w, &c);
    for (unsigned d = 0; d < w->d->space.rank; d++)
        place[d] = cursor_u64le(&c);
    if (cursor_ok(&c))
        add_chunk(w, place, chunk, address);
    else
        hdf5_corrupt(w->h, HDF5_UNDEFINED, "a short record of a chunk");
}

/* --- entries of arrays -------------------------------------------------------------------- */

static unsigned entry_bytes(const struct chunk_walk *w)
{
    return w->h->offset_bytes + (w->filtered ? w->size_bytes + 4 : 0);
}

/* Set up the numbering of array entries. `first` is the axis that varies slowest. Example:
 * a grid of 2 x 3 chunks has steps {3, 1} for first = 0; entry 4 is chunk (1, 1). */
static bool number_entries(struct chunk_walk *w, unsigned first)
{
    const struct hdf5_dataset *d = w->d;
    unsigned rank = d->space.rank;
    uint64_t step = 1;
    w->order[0] = first;
    for (unsigned i = 1; i < rank; i++)
        w->order[i] = i <= first ? i - 1 : i;
    w->wanted = 1;
    for (unsigned i = rank; i-- > 0;) {
        unsigned axis = w->order[i];
        uint64_t most = d->space.most[axis];
        w->steps[i] = step;
        if (i && (most == UINT64_MAX ||
                  !mul_u64(step, most / d->box[axis] + (most % d->box[axis] != 0), &step)))
            return index_damaged(w, d->address, "a shape that no array numbers"), false;
        uint64_t last;
        if (!w->grid[axis] || !mul_u64(w->grid[axis] - 1, w->steps[i], &last) ||
            !add_u64(w->wanted, last, &w->wanted))
            return index_damaged(w, d->address, "a shape that no array numbers"), false;
    }
    return true;
}

/* Read `count` consecutive entries, starting with number `first`. */
static void add_entries(struct chunk_walk *w, struct cursor *c, uint64_t first, uint64_t count)
{
    for (uint64_t i = 0; i < count && hdf5_ok(w->h); i++) {
        uint64_t place[HDF5_RANK_MAX], number = first + i, address = hdf5_address(w->h, c);
        struct hdf5_chunk chunk = chunk_entry(w, c);
        if (!cursor_ok(c))
            index_damaged(w, w->d->address, "entries are cut short");
        if (!cursor_ok(c) || address == HDF5_UNDEFINED || number >= w->wanted)
            continue;
        for (unsigned d = 0; d < w->d->space.rank; d++) {
            place[w->order[d]] = number / w->steps[d];
            number %= w->steps[d];
        }
        add_chunk(w, place, chunk, address);
    }
}

/* Read a page: consecutive entries with a checksum of their own. */
static void add_page(struct chunk_walk *w, uint64_t address, uint64_t first, uint64_t count)
{
    struct hdf5 *h = w->h;
    struct arena arena = {.err = h->err};
    uint64_t len;
    if (!mul_u64(count, entry_bytes(w), &len) || !add_u64(len, SUM_BYTES, &len))
        index_damaged(w, address, "a page of too many entries");
    struct bytes all = hdf5_ok(h) ? hdf5_take(h, address, len, &arena) : (struct bytes){0};
    if (hdf5_verify(h, address, all, "a page of chunks")) {
        struct cursor c = hdf5_cursor(h, all, address);
        add_entries(w, &c, first, count);
    }
    arena_release(&arena);
}

static bool bit_is_set(struct bytes bits, uint64_t at)
{
    return at / 8 < bits.len && bits.at[at / 8] >> (7 - at % 8) & 1;
}

/* --- fixed arrays ------------------------------------------------------------------------- */

static void walk_fixed(struct chunk_walk *w)
{
    struct hdf5 *h = w->h;
    uint64_t len = 8u + h->length_bytes + h->offset_bytes + SUM_BYTES;
    struct bytes head =
        hdf5_take_summed(h, (struct hdf5_part){w->d->address, len, "FAHD"}, &w->arena);
    struct cursor c = hdf5_cursor(h, head, w->d->address);
    cursor_take(&c, 5);
    unsigned client = cursor_u8(&c), each = cursor_u8(&c), bits = cursor_u8(&c);
    uint64_t count = hdf5_length(h, &c), address = hdf5_address(h, &c);
    if (client != w->filtered || each != entry_bytes(w) || bits > 62)
        index_damaged(w, w->d->address, "a fixed array of other entries");
    if (address == HDF5_UNDEFINED || !hdf5_ok(h))
        return;
    uint64_t page = UINT64_C(1) << bits;
    uint64_t pages = count > page ? count / page + (count % page != 0) : 0;
    uint64_t fixed = 6u + h->offset_bytes, body;
    if (!mul_u64(pages ? 0 : count, each, &body) ||
        !add_u64(body, fixed + (pages + 7) / 8 + SUM_BYTES, &len)) {
        index_damaged(w, address, "a fixed array of too many entries");
        return;
    }
    struct bytes block = hdf5_take_summed(h, (struct hdf5_part){address, len, "FADB"}, &w->arena);
    c = hdf5_cursor(h, block, address);
    cursor_take(&c, fixed);
    if (!pages) {
        add_entries(w, &c, 0, count);
        return;
    }
    struct bytes written = cursor_take(&c, (pages + 7) / 8);
    for (uint64_t i = 0; i < pages && i * page < w->wanted && hdf5_ok(h); i++)
        if (bit_is_set(written, i))
            add_page(w, address + len + i * (page * each + SUM_BYTES), i * page,
                     count - i * page < page ? count - i * page : page);
}

/* --- extensible arrays -------------------------------------------------------------------- */

struct extensible {
    unsigned in_index;       /* entries in the index block itself */
    uint64_t least;          /* entries in the smallest data block */
    unsigned least_pointers; /* data blocks of the first separate super block */
    uint64_t page;           /* entries in a page */
    unsigned super_blocks;
    unsigned offset_bytes; /* width of a block's offset in the array */
};

/* Super block `u` has blocks_of(u) data blocks of entries_of(u) entries each: 1 x least, 1
 * x 2 least, 2 x 2 least, 2 x 4 least, 4 x 4 least, ... */
static uint64_t blocks_of(unsigned u)
{
    return UINT64_C(1) << u / 2;
}
static uint64_t entries_of(const struct extensible *e, unsigned u)
{
    return e->least << (u + 1) / 2;
}

/* Which pages of a block have been written: one bit per page, starting at bit `first`. */
struct pages {
    struct bytes bits;
    uint64_t first;
};

/* Read a data block of `count` entries. */
static void walk_data_block(struct chunk_walk *w, const struct extensible *e, uint64_t address,
                            uint64_t first, uint64_t count, struct pages written)
{
    struct hdf5 *h = w->h;
    struct arena arena = {.err = h->err};
    unsigned each = entry_bytes(w);
    bool paged = count > e->page;
    uint64_t fixed = 6u + h->offset_bytes + e->offset_bytes, len;
    if (address == HDF5_UNDEFINED || first >= w->wanted)
        return;
    if (!mul_u64(paged ? 0 : count, each, &len) || !add_u64(len, fixed + SUM_BYTES, &len) ||
        (paged && !written.bits.len)) {
        index_damaged(w, address, "a data block of too many entries");
        return;
    }
    struct bytes block = hdf5_take_summed(h, (struct hdf5_part){address, len, "EADB"}, &arena);
    struct cursor c = hdf5_cursor(h, block, address);
    cursor_take(&c, fixed);
    if (!paged)
        add_entries(w, &c, first, count);
    arena_release(&arena);
    uint64_t pages = paged ? count / e->page : 0;
    for (uint64_t i = 0; i < pages && first + i * e->page < w->wanted && hdf5_ok(h); i++)
        if (bit_is_set(written.bits, written.first + i))
            add_page(w, address + len + i * (e->page * each + SUM_BYTES), first + i * e->page,
                     e->page);
}

/* The page bits of all data blocks of a super block are stored consecutively without
 * padding, but the field has as many bytes as if each data block's bits began at a byte. */
static void walk_super_block(struct chunk_walk *w, const struct extensible *e, uint64_t address,
                             unsigned u, uint64_t first)
{
    struct hdf5 *h = w->h;
    struct arena arena = {.err = h->err};
    uint64_t blocks = blocks_of(u), count = entries_of(e, u), len;
    uint64_t pages = count > e->page ? count / e->page : 0; /* per data block */
    uint64_t fixed = 6u + h->offset_bytes + e->offset_bytes;
    if (address == HDF5_UNDEFINED || first >= w->wanted)
        return;
    if (!mul_u64(blocks, (pages + 7) / 8 + h->offset_bytes, &len) ||
        !add_u64(len, fixed + SUM_BYTES, &len)) {
        index_damaged(w, address, "a super block of too many blocks");
        return;
    }
    struct bytes all = hdf5_take_summed(h, (struct hdf5_part){address, len, "EASB"}, &arena);
    struct cursor c = hdf5_cursor(h, all, address);
    cursor_take(&c, fixed);
    struct pages written = {.bits = cursor_take(&c, blocks * ((pages + 7) / 8))};
    for (uint64_t i = 0; i < blocks && hdf5_ok(h); i++) {
        written.first = i * pages;
        walk_data_block(w, e, hdf5_address(h, &c), first + i * count, count, written);
    }
    arena_release(&arena);
}

/* Read the index block: entries, addresses of the data blocks of the first super blocks,
 * addresses of the other super blocks. */
static void walk_index_block(struct chunk_walk *w, const struct extensible *e, uint64_t address)
{
    struct hdf5 *h = w->h;
    unsigned direct = 2 * hdf5_log2(e->least_pointers);
    direct = direct < e->super_blocks ? direct : e->super_blocks;
    uint64_t pointers = 2 * ((uint64_t)e->least_pointers - 1) + (e->super_blocks - direct);
    uint64_t len = 6u + h->offset_bytes + (uint64_t)e->in_index * entry_bytes(w) +
                   pointers * h->offset_bytes + SUM_BYTES;
    uint64_t first = e->in_index;
    struct bytes all = hdf5_take_summed(h, (struct hdf5_part){address, len, "EAIB"}, &w->arena);
    struct cursor c = hdf5_cursor(h, all, address);
    cursor_take(&c, 6u + h->offset_bytes);
    add_entries(w, &c, 0, e->in_index);
    for (unsigned u = 0; u < e->super_blocks && first < w->wanted && hdf5_ok(h); u++) {
        uint64_t count = entries_of(e, u), blocks = blocks_of(u), all_entries;
        if (u >= direct)
            walk_super_block(w, e, hdf5_address(h, &c), u, first);
        for (uint64_t i = 0; u < direct && i < blocks && hdf5_ok(h); i++)
            walk_data_block(w, e, hdf5_address(h, &c), first + i * count, count, (struct pages){0});
        if (!mul_u64(count, blocks, &all_entries) || !add_u64(first, all_entries, &first))
            break;
    }
}

static void walk_extensible(struct chunk_walk *w)
{
    struct hdf5 *h = w->h;
    struct extensible e;
    uint64_t len = 12u + 6u * h->length_bytes + h->offset_bytes + SUM_BYTES;
    struct bytes head =
        hdf5_take_summed(h, (struct hdf5_part){w->d->address, len, "EAHD"}, &w->arena);
    struct cursor c = hdf5_cursor(h, head, w->d->address);
    cursor_take(&c, 5);
    unsigned client = cursor_u8(&c), each = cursor_u8(&c), bits = cursor_u8(&c);
    e.in_index = cursor_u8(&c);
    e.least = cursor_u8(&c);
    e.least_pointers = cursor_u8(&c);
    unsigned page_bits = cursor_u8(&c);
    cursor_take(&c, 6 * (uint64_t)h->length_bytes);
    uint64_t address = hdf5_address(h, &c);
    if (client != w->filtered || each != entry_bytes(w) || bits > 64 || page_bits > 62 ||
        !e.least || e.least & (e.least - 1) || e.least_pointers < 2 ||
        e.least_pointers & (e.least_pointers - 1) || bits < hdf5_log2(e.least))
        index_damaged(w, w->d->address, "an extensible array that makes no sense");
    if (address == HDF5_UNDEFINED || !hdf5_ok(h))
        return;
    e.page = UINT64_C(1) << page_bits;
    e.super_blocks = 1 + bits - hdf5_log2(e.least);
    e.offset_bytes = (bits + 7) / 8;
    walk_index_block(w, &e, address);
}

/* --- the other indexes -------------------------------------------------------------------- */

/* The next position in the grid of chunks, in C order; false after the last. */
static bool next_place(const struct chunk_walk *w, uint64_t *place)
{
    for (unsigned d = w->d->space.rank; d-- > 0; place[d] = 0)
        if (++place[d] < w->grid[d])
            return true;
    return false;
}

/* Chunks are numbered in the maximal shape, which may be beyond counting: only chunks
 * inside the present shape are looked for. */
static void walk_implicit(struct chunk_walk *w)
{
    uint64_t place[HDF5_RANK_MAX] = {0};
    const uint64_t size = w->h->size, each = w->d->chunk_bytes;
    do {
        uint64_t number = 0, at;
        for (unsigned d = 0; d < w->d->space.rank; d++)
            number += place[d] * w->steps[d]; /* below `wanted`, which has no overflow */
        if (!mul_u64(number, each, &at) || !add_u64(at, w->d->address, &at) || at > size ||
            each > size - at)
            index_damaged(w, w->d->address, "chunks past the end of the file");
        else
            add_chunk(w, place, (struct hdf5_chunk){.stored = each}, at);
    } while (hdf5_ok(w->h) && next_place(w, place));
}

static void walk_index(struct chunk_walk *w)
{
    const struct hdf5_dataset *d = w->d;
    const uint64_t place[HDF5_RANK_MAX] = {0};
    unsigned growing = 0; /* the unlimited axis, which an extensible array numbers slowest */
    for (unsigned i = d->space.rank; i-- > 0;)
        growing = d->space.most[i] == UINT64_MAX ? i : growing;
    switch (d->index) {
    case 0:
        hdf5_tree1(w->h, d->address, 1, 8u + 8u * (d->space.rank + 1u),
                   (struct hdf5_visitor){see_chunk1, w});
        break;
    case 1:
        add_chunk(w, place,
                  (struct hdf5_chunk){.stored = d->single_size, .skipped = d->single_mask},
                  d->address);
        break;
    case 2:
        if (number_entries(w, 0))
            walk_implicit(w);
        break;
    case 3:
        if (number_entries(w, 0))
            walk_fixed(w);
        break;
    case 4:
        if (number_entries(w, growing))
            walk_extensible(w);
        break;
    default:
        hdf5_tree2(w->h, d->address, w->filtered ? 11 : 10, (struct hdf5_visitor){see_chunk2, w});
    }
}

static int chunk_by_index(const void *a, const void *b)
{
    const struct hdf5_chunk *x = a, *y = b;
    return (x->index > y->index) - (x->index < y->index);
}

bool hdf5_chunks(struct hdf5 *h, const struct hdf5_dataset *d, struct hdf5_chunks *out)
{
    struct chunk_walk w = {.h = h, .d = d, .out = out, .arena.err = h->err, .filtered = d->filters};
    uint64_t all;
    bool sorted = true;
    *out = (struct hdf5_chunks){0};
    /* Stored sizes have room for twice the bytes of a chunk, as filters can make it larger. */
    unsigned size_bytes = 1 + (hdf5_log2(d->chunk_bytes) + 8) / 8;
    w.size_bytes = d->version > 4 ? h->length_bytes : size_bytes < 8 ? size_bytes : 8;
    if (d->address == HDF5_UNDEFINED)
        return hdf5_ok(h);
    if (!grid_counts(d->space.shape, d->space.rank, d->box, w.grid, &all))
        index_damaged(&w, d->address, "more chunks than can be counted");
    else if (all)
        walk_index(&w);
    arena_release(&w.arena);
    for (size_t i = 1; i < out->count; i++)
        sorted = sorted && out->at[i - 1].index < out->at[i].index;
    if (!sorted)
        qsort(out->at, out->count, sizeof(*out->at), chunk_by_index);
    for (size_t i = 1; i < out->count && hdf5_ok(h); i++)
        if (out->at[i - 1].index == out->at[i].index)
            index_damaged(&w, d->address, "a chunk that is there twice");
    return hdf5_ok(h);
}

bool hdf5_chunk_is_partial(const struct hdf5_dataset *d, uint64_t index)
{
    for (unsigned i = d->space.rank; i-- > 0;) {
        uint64_t shape = d->space.shape[i], box = d->box[i];
        uint64_t count = shape / box + (shape % box != 0);
        if (count && index % count == shape / box)
            return true;
        index = count ? index / count : 0;
    }
    return false;
}
