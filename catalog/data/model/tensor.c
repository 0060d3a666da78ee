#include "catalog/data/model/tensor.h"

#include <stdio.h>
#include <string.h>

#include "catalog/base/cursor.h"
#include "catalog/base/text.h"

const char *storage_name(int64_t storage)
{
    static const char *const words[] = {"none", "range", "pieces", "chunks", "inline"};
    return words[storage > STORAGE_NONE && storage <= STORAGE_INLINE ? storage : STORAGE_NONE];
}

/* Set the flags for extents that have strides, a source file or a codec of their own, and collect
 * these codecs; false if there are too many. */
static bool own_of(const struct extent *list, uint64_t count, struct own_codecs *codecs,
                   unsigned *flags)
{
    for (uint64_t i = 0; i < count; i++) {
        if (list[i].strides)
            *flags |= EXTENTS_STRIDES;
        if (*flags & EXTENTS_INLINE && list[i].file != NO_FILE)
            *flags |= EXTENTS_FROM;
        if (list[i].codec && own_codec_number(codecs, list[i].codec) == OWN_CODECS_MAX)
            return false;
    }
    if (codecs->count)
        *flags |= EXTENTS_CODECS;
    return true;
}

/* `end`: where the previous extent ends. */
static void pack_one(struct text *out, const struct extent *e, unsigned rank, unsigned flags,
                     uint64_t end)
{
    if (!(flags & EXTENTS_INLINE) || flags & EXTENTS_FROM)
        packed_put(out, e->file == NO_FILE ? 0 : (uint64_t)e->file + 1);
    if (!(flags & EXTENTS_INLINE))
        packed_put(out, zigzag((int64_t)(e->offset - end)));
    packed_put(out, e->stored);
    if (flags & EXTENTS_CUTS) {
        packed_put(out, e->cut_at);
        packed_put(out, e->cut_len);
    }
    if (flags & EXTENTS_INLINE)
        text_add(out, e->bytes, e->stored);
    if (flags & EXTENTS_BOXES) {
        for (unsigned d = 0; d < rank; d++)
            packed_put(out, e->origin ? e->origin[d] : 0);
        for (unsigned d = 0; d < rank; d++)
            packed_put(out, e->shape[d]);
    }
    if (flags & EXTENTS_STRIDES) {
        text_addc(out, e->strides ? 1 : 0);
        for (unsigned d = 0; e->strides && d < rank; d++)
            packed_put(out, zigzag(e->strides[d]));
    }
}

bool extents_pack(struct text *out, const struct extent *list, uint64_t count, unsigned rank,
                  uint64_t first_sum_plus_1, unsigned flags)
{
    uint64_t end = 0;
    struct own_codecs codecs = {.count = 0};
    if (!own_of(list, count, &codecs, &flags))
        return false;
    packed_put(out, flags);
    packed_put(out, first_sum_plus_1);
    packed_put(out, count);
    if (flags & EXTENTS_CODECS)
        own_codecs_pack(out, &codecs);
    for (uint64_t i = 0; i < count; i++) {
        const struct extent *e = &list[i];
        if (flags & EXTENTS_CODECS)
            packed_put(out, e->codec ? own_codec_number(&codecs, e->codec) + 1 : 0);
        pack_one(out, e, rank, flags, end);
        end = e->offset + e->stored;
    }
    return !out->failed;
}

void extents_pack_grid(struct text *out, const struct grid *grid, unsigned rank)
{
    packed_put(out, EXTENTS_GRID);
    grid_pack(out, grid, rank);
}

static uint64_t *unpack_numbers(struct cursor *c, unsigned rank, struct arena *arena)
{
    uint64_t *numbers = arena_array(arena, rank ? rank : 1, sizeof(*numbers));
    for (unsigned d = 0; numbers && d < rank; d++)
        numbers[d] = cursor_varint(c);
    return numbers;
}

static const char *codec_at(struct cursor *c, const struct own_codecs *list)
{
    uint64_t number = cursor_varint(c);
    if (number > list->count)
        cursor_fail(c);
    return number && number <= list->count ? list->at[number - 1] : NULL;
}

/* *out stays NULL where the tensor's strides apply. False: no memory. */
static bool unpack_strides(struct cursor *c, unsigned rank, struct arena *arena, int64_t **out)
{
    unsigned own = cursor_u8(c);
    if (own > 1)
        cursor_fail(c);
    if (own != 1)
        return true;
    int64_t *strides = arena_array(arena, rank ? rank : 1, sizeof(*strides));
    for (unsigned d = 0; strides && d < rank; d++)
        strides[d] = unzigzag(cursor_varint(c));
    *out = strides;
    return strides != NULL;
}

/* State of extents_unpack(). */
struct unpacking {
    struct cursor *c;
    struct arena *arena;
    unsigned rank, flags;
    struct own_codecs codecs;
    uint64_t end; /* of the previous extent */
};

static bool unpack_one(struct unpacking *u, struct extent *e)
{
    struct cursor *c = u->c;
    *e = (struct extent){.file = NO_FILE};
    if (u->flags & EXTENTS_CODECS)
        e->codec = codec_at(c, &u->codecs);
    if (!(u->flags & EXTENTS_INLINE) || u->flags & EXTENTS_FROM) {
        uint64_t file = cursor_varint(c);
        if (file > UINT32_MAX)
            cursor_fail(c);
        e->file = file ? (uint32_t)(file - 1) : NO_FILE;
    }
    if (!(u->flags & EXTENTS_INLINE))
        e->offset = u->end + (uint64_t)unzigzag(cursor_varint(c));
    e->stored = cursor_varint(c);
    u->end = e->offset + e->stored;
    if (u->flags & EXTENTS_CUTS) {
        e->cut_at = cursor_varint(c);
        e->cut_len = cursor_varint(c);
    }
    if (u->flags & EXTENTS_INLINE)
        e->bytes = cursor_take(c, e->stored).at;
    if (u->flags & EXTENTS_BOXES) {
        e->origin = unpack_numbers(c, u->rank, u->arena);
        e->shape = unpack_numbers(c, u->rank, u->arena);
        if (!e->origin || !e->shape)
            return false;
    }
    return !(u->flags & EXTENTS_STRIDES) || unpack_strides(c, u->rank, u->arena, &e->strides);
}

enum status extents_unpack(struct bytes packed, const uint64_t *shape, unsigned rank,
                           struct arena *arena, struct extent_list *out, struct error *err)
{
    struct cursor c = cursor_over(packed, 0);
    struct extent_list list = {0};
    struct unpacking u = {.c = &c, .arena = arena, .rank = rank};
    u.flags = cursor_varint32(&c);
    if (u.flags & EXTENTS_GRID) {
        struct grid *grid = arena_alloc(arena, sizeof(*grid));
        if (!grid)
            return error_memory_at(err, "catalog");
        if (grid_unpack(&c, shape, rank, arena, grid, err) == OK)
            *out = (struct extent_list){.grid = grid};
        return err->status;
    }
    list.first_sum_plus_1 = cursor_varint(&c);
    list.count = cursor_varint(&c);
    if (!cursor_ok(&c) || list.count > cursor_left(&c))
        return error_set(err, ERR_CORRUPT, "catalog", NO_OFFSET, "extent list cut short");
    list.at = arena_array(arena, list.count ? list.count : 1, sizeof(*list.at));
    if (!list.at || (u.flags & EXTENTS_CODECS && !own_codecs_unpack(&c, arena, &u.codecs)))
        return error_memory_at(err, "catalog");
    for (uint64_t i = 0; i < list.count; i++) {
        if (!unpack_one(&u, &list.at[i]))
            return error_memory_at(err, "catalog");
        if (!cursor_ok(&c))
            return error_set(err, ERR_CORRUPT, "catalog", NO_OFFSET, "extent list cut short");
    }
    *out = list;
    return OK;
}

/* The step "cut" in a chain, or NULL. */
static const char *find_cut(const char *chain)
{
    for (const char *at = chain; at && *at;) {
        size_t len = strcspn(at, "|");
        if (len == 3 && strncmp(at, "cut", 3) == 0)
            return at;
        at += len + (at[len] == '|');
    }
    return NULL;
}

bool codec_cuts(const char *chain)
{
    return find_cut(chain) != NULL;
}

static enum status too_long(const struct stored_tensor *t, struct error *err)
{
    return error_set(err, ERR_CORRUPT, t->checkpoint, NO_OFFSET,
                     "a chain of codec steps longer than %d bytes", CHAIN_BYTES);
}

size_t codec_of_bytes(const char *chain)
{
    const char *bar = chain ? strrchr(chain, '|') : NULL;
    const char *last = bar ? bar + 1 : chain;
    if (!chain)
        return 0;
    if (strncmp(last, "unpack:", 7) != 0 && strncmp(last, "strings:", 8) != 0)
        return strlen(chain);
    return bar ? (size_t)(bar - chain) : 0;
}

enum status run_chain(const struct stored_tensor *t, const char *own, char *out, const char **chain,
                      struct error *err)
{
    *chain = t->codec;
    if (!own)
        return OK;
    const char *rest = t->codec ? t->codec + codec_of_bytes(t->codec) : "";
    rest += *rest == '|';
    int len = snprintf(out, CHAIN_BYTES, "%s%s%s", own, *own && *rest ? "|" : "", rest);
    if (len >= CHAIN_BYTES)
        return too_long(t, err);
    *chain = len ? out : NULL;
    return OK;
}

enum status extent_chain(const struct stored_tensor *t, const struct extent *e, char *out,
                         const char **chain, struct error *err)
{
    char uncut[CHAIN_BYTES];
    if (run_chain(t, e->codec, out, chain, err) != OK)
        return err->status;
    const char *cut = find_cut(*chain);
    if (!cut)
        return OK;
    if (*chain == out) {
        memcpy(uncut, out, strlen(out) + 1);
        cut = uncut + (cut - out);
        *chain = uncut;
    }
    size_t before = (size_t)(cut - *chain);
    int len = before < CHAIN_BYTES
                  ? snprintf(out, CHAIN_BYTES, "%.*scut:%llu,%llu%s", (int)before, *chain,
                             (unsigned long long)e->cut_at, (unsigned long long)e->cut_len, cut + 3)
                  : CHAIN_BYTES;
    if (len >= CHAIN_BYTES)
        return too_long(t, err);
    *chain = out;
    return OK;
}

bool shape_elements(const uint64_t *shape, unsigned rank, uint64_t *elements)
{
    *elements = 1;
    for (unsigned d = 0; d < rank; d++)
        if (!mul_u64(*elements, shape[d], elements))
            return false;
    return true;
}

static const char *parse_number(const char *at, uint64_t *value)
{
    if (*at < '0' || *at > '9')
        return NULL;
    for (*value = 0; *at >= '0' && *at <= '9'; at++)
        if (!mul_u64(*value, 10, value) || !add_u64(*value, (uint64_t)(*at - '0'), value))
            return NULL;
    return at;
}

bool shape_parse(const char *json, struct arena *arena, uint64_t **shape, unsigned *rank)
{
    uint64_t numbers[TENSOR_RANK_MAX];
    unsigned n = 0;
    const char *at = json;
    if (*at++ != '[')
        return false;
    while (*at != ']') {
        if (n == TENSOR_RANK_MAX || (n && *at++ != ','))
            return false;
        while (*at == ' ')
            at++;
        if (!(at = parse_number(at, &numbers[n++])))
            return false;
    }
    if (at[1])
        return false;
    *rank = n;
    *shape = arena_array(arena, n ? n : 1, sizeof(**shape));
    for (unsigned d = 0; *shape && d < n; d++)
        (*shape)[d] = numbers[d];
    return *shape != NULL;
}

bool shape_print(struct text *out, const uint64_t *shape, unsigned rank)
{
    text_addc(out, '[');
    for (unsigned d = 0; d < rank; d++) {
        char digits[24];
        char *at = digits + sizeof(digits);
        uint64_t v = shape[d];
        do
            *--at = (char)('0' + v % 10);
        while (v /= 10);
        if (d)
            *--at = ',';
        text_add(out, at, (size_t)(digits + sizeof(digits) - at));
    }
    return text_addc(out, ']');
}
