#include "catalog/data/model/grid.h"

#include <string.h>

#include "catalog/base/search.h"
#include "catalog/base/text.h"

/* --- geometry --------------------------------------------------------------------------- */

bool grid_counts(const uint64_t *shape, unsigned rank, const uint64_t *box, uint64_t *counts,
                 uint64_t *all)
{
    bool fits = true;
    *all = 1;
    for (unsigned d = 0; d < rank; d++) {
        if (!box[d])
            return false;
        counts[d] = shape[d] / box[d] + (shape[d] % box[d] != 0);
        fits = fits && mul_u64(*all, counts[d], all);
    }
    return fits;
}

static bool order_valid(const uint8_t *order, unsigned rank)
{
    bool seen[UINT8_MAX + 1] = {false};
    for (unsigned d = 0; order && d < rank; d++) {
        if (order[d] >= rank || seen[order[d]])
            return false;
        seen[order[d]] = true;
    }
    return true;
}

static bool levels_valid(const struct grid *g, unsigned rank)
{
    if (!g->levels || g->levels > GRID_LEVELS_MAX)
        return false;
    for (unsigned l = 0; l < g->levels; l++) {
        uint64_t elements = 1;
        if (!g->level[l].shape)
            return false;
        for (unsigned d = 0; d < rank; d++) {
            uint64_t size = g->level[l].shape[d];
            if (!size || (l && g->level[l - 1].shape[d] % size) ||
                !mul_u64(elements, size, &elements))
                return false;
        }
        if (!order_valid(g->level[l].order, rank))
            return false;
    }
    return true;
}

static bool runs_valid(const struct grid *g, uint64_t all)
{
    uint64_t end = 0;
    for (uint64_t i = 0; i < g->run_count; i++) {
        const struct grid_run *r = &g->runs[i];
        if (r->first < end || !r->count || !add_u64(r->first, r->count, &end) || end > all)
            return false;
    }
    return true;
}

unsigned own_codec_number(struct own_codecs *list, const char *codec)
{
    for (unsigned i = list->count; i-- > 0;) /* most often it is the last one again */
        if (list->at[i] == codec || strcmp(list->at[i], codec) == 0)
            return i;
    if (list->count < OWN_CODECS_MAX)
        list->at[list->count++] = codec;
    else
        return OWN_CODECS_MAX;
    return list->count - 1;
}

/* Collect the different codecs of listed values; false if there are more than OWN_CODECS_MAX. */
static bool own_codecs_of(const struct grid *g, struct own_codecs *list)
{
    list->count = 0;
    for (uint64_t i = 0; !g->in_files && i < g->value_count; i++)
        if (g->values[i].codec && own_codec_number(list, g->values[i].codec) == OWN_CODECS_MAX)
            return false;
    return true;
}

static bool values_valid(const struct grid *g, uint64_t all)
{
    for (uint64_t i = 0; i < g->value_count; i++) {
        const struct grid_value *v = &g->values[i];
        if (v->index >= all || (i && v->index <= g->values[i - 1].index) ||
            (grid_value_inline(v) && (v->stored > GRID_INLINE_MAX || (v->stored && !v->bytes))))
            return false;
    }
    return true;
}

bool grid_valid(const struct grid *g, const uint64_t *shape, unsigned rank)
{
    uint64_t counts[UINT8_MAX], all;
    if (rank >= UINT8_MAX || !g->level[0].shape || !levels_valid(g, rank) ||
        !grid_counts(shape, rank, g->level[0].shape, counts, &all))
        return false;
    struct own_codecs codecs;
    if (g->in_files)
        return runs_valid(g, all);
    return values_valid(g, all) && own_codecs_of(g, &codecs) && (!codecs.count || g->levels == 1);
}

/* --- values ----------------------------------------------------------------------------- */

void grid_box(const struct grid *g, const uint64_t *shape, unsigned rank, uint64_t index,
              uint64_t *origin, uint64_t *inside)
{
    const uint64_t *box = g->level[0].shape;
    for (unsigned d = rank; d-- > 0;) {
        uint64_t count = shape[d] / box[d] + (shape[d] % box[d] != 0);
        origin[d] = count ? index % count * box[d] : 0;
        inside[d] = shape[d] - origin[d] < box[d] ? shape[d] - origin[d] : box[d];
        index /= count ? count : 1;
    }
}

bool grid_key(const struct grid *g, const uint64_t *shape, unsigned rank, uint64_t index,
              struct text *out)
{
    uint64_t origin[UINT8_MAX], inside[UINT8_MAX];
    if (rank >= UINT8_MAX)
        return false;
    grid_box(g, shape, rank, index, origin, inside);
    if (g->prefixed)
        text_addc(out, 'c');
    else if (!rank)
        text_addc(out, '0');
    for (unsigned d = 0; d < rank; d++) {
        if (d || g->prefixed)
            text_addc(out, g->separator);
        text_addf(out, "%llu", (unsigned long long)(origin[d] / g->level[0].shape[d]));
    }
    return !out->failed;
}

bool grid_holds(const struct grid *g, uint64_t index)
{
    uint64_t at;
    PARTITION_POINT(at, g->run_count, g->runs[at].first + g->runs[at].count <= index);
    return at < g->run_count && g->runs[at].first <= index;
}

const struct grid_value *grid_value_at(const struct grid *g, uint64_t index)
{
    uint64_t at;
    PARTITION_POINT(at, g->value_count, g->values[at].index < index);
    return at < g->value_count && g->values[at].index == index ? &g->values[at] : NULL;
}

uint64_t grid_value_total(const struct grid *g)
{
    uint64_t total = 0;
    for (uint64_t i = 0; g->in_files && i < g->run_count; i++)
        total += g->runs[i].count;
    return g->in_files ? total : g->value_count;
}

/* The at-th reference to a file: directory and metadata file of values in files; else the metadata
 * file, then the file of each listed value. */
static uint32_t *file_at(struct grid *g, uint64_t at)
{
    if (g->in_files)
        return at == 0 ? &g->directory : &g->metadata;
    return at == 0 ? &g->metadata : &g->values[at - 1].file;
}

uint32_t *grid_next_file(struct grid *g, uint64_t *at)
{
    uint64_t count = g->in_files ? 2 : 1 + g->value_count;
    while (*at < count) {
        uint32_t *file = file_at(g, (*at)++);
        if (*file != GRID_NO_FILE)
            return file;
    }
    return NULL;
}

/* --- packed ----------------------------------------------------------------------------- */

enum {
    IN_FILES = 1,
    PREFIXED = 2,
    INCOMPLETE = 4,
    WITH_METADATA = 8,
    OWN_CODECS = 16,
    WITH_SOURCES = 32
};

enum { ORDERED = 1, INDEX_FIRST = 2, INDEX_SUMMED = 4, INDEX_BIG = 8, WITH_CODEC = 16 };

void packed_put(struct text *out, uint64_t v)
{
    uint8_t code[VARINT_MAX];
    text_add(out, code, varint_put(code, v));
}

static void put_bytes(struct text *out, const void *bytes, size_t len)
{
    packed_put(out, len);
    if (len)
        text_add(out, bytes, len);
}

static void pack_level(struct text *out, const struct grid_level *l, unsigned rank)
{
    for (unsigned d = 0; d < rank; d++)
        packed_put(out, l->shape[d]);
    packed_put(out, (l->order ? ORDERED : 0U) | (l->index_first ? INDEX_FIRST : 0U) |
                        (l->index_summed ? INDEX_SUMMED : 0U) | (l->index_big ? INDEX_BIG : 0U) |
                        (l->codec ? WITH_CODEC : 0U));
    if (l->order)
        text_add(out, l->order, rank);
    if (l->codec)
        put_bytes(out, l->codec, strlen(l->codec));
}

static void pack_runs(struct text *out, const struct grid *g)
{
    uint64_t end = 0;
    packed_put(out, g->directory);
    if (g->metadata != GRID_NO_FILE)
        packed_put(out, g->metadata);
    text_addc(out, g->separator);
    packed_put(out, g->run_count);
    for (uint64_t i = 0; i < g->run_count; i++) {
        packed_put(out, g->runs[i].first - end);
        packed_put(out, g->runs[i].count);
        end = g->runs[i].first + g->runs[i].count;
    }
}

void own_codecs_pack(struct text *out, const struct own_codecs *list)
{
    packed_put(out, list->count);
    for (unsigned i = 0; i < list->count; i++)
        put_bytes(out, list->at[i], strlen(list->at[i]));
}

static void pack_values(struct text *out, const struct grid *g, struct own_codecs *codecs,
                        bool sources)
{
    uint64_t end = 0, last = 0;
    if (codecs->count)
        own_codecs_pack(out, codecs);
    if (g->metadata != GRID_NO_FILE)
        packed_put(out, g->metadata);
    packed_put(out, g->value_count);
    for (uint64_t i = 0; i < g->value_count; i++) {
        const struct grid_value *v = &g->values[i];
        bool in_line = grid_value_inline(v);
        if (codecs->count)
            packed_put(out, v->codec ? own_codec_number(codecs, v->codec) + 1 : 0);
        packed_put(out, v->index - last);
        packed_put(out, in_line ? 0 : (uint64_t)v->file + 1);
        packed_put(out, v->stored);
        last = v->index;
        if (in_line && sources)
            packed_put(out, v->file == GRID_NO_FILE ? 0 : (uint64_t)v->file + 1);
        if (in_line) {
            text_add(out, v->stored ? v->bytes : "", v->stored);
            continue;
        }
        packed_put(out, zigzag((int64_t)(v->offset - end)));
        end = v->offset + v->stored;
    }
}

bool grid_pack(struct text *out, const struct grid *g, unsigned rank)
{
    bool metadata = g->metadata != GRID_NO_FILE, sources = false;
    struct own_codecs codecs;
    for (uint64_t i = 0; !g->in_files && i < g->value_count; i++)
        sources |= grid_value_inline(&g->values[i]) && g->values[i].file != GRID_NO_FILE;
    if (!own_codecs_of(g, &codecs))
        return false;
    packed_put(out, (g->in_files ? IN_FILES : 0U) | (g->prefixed ? PREFIXED : 0U) |
                        (g->incomplete ? INCOMPLETE : 0U) | (metadata ? WITH_METADATA : 0U) |
                        (codecs.count ? OWN_CODECS : 0U) | (sources ? WITH_SOURCES : 0U));
    packed_put(out, g->levels);
    for (unsigned l = 0; l < g->levels; l++)
        pack_level(out, &g->level[l], rank);
    put_bytes(out, g->fill.at, g->fill.len);
    if (g->in_files)
        pack_runs(out, g);
    else
        pack_values(out, g, &codecs, sources);
    return !out->failed;
}

/* State of grid_unpack(). */
struct unpacking {
    struct cursor *c;
    struct arena *arena;
    unsigned rank;
    bool no_memory;
    struct own_codecs codecs;
};

static void *room(struct unpacking *u, uint64_t count, size_t size)
{
    if (count > cursor_left(u->c)) /* each entry takes at least one byte */
        cursor_fail(u->c);
    void *list = cursor_ok(u->c) ? arena_array(u->arena, (size_t)(count ? count : 1), size) : NULL;
    u->no_memory |= cursor_ok(u->c) && !list;
    return list;
}

static const char *unpack_text(struct unpacking *u)
{
    struct bytes b = cursor_take(u->c, cursor_varint(u->c));
    const char *copy = cursor_ok(u->c) ? arena_copy(u->arena, b.at, b.len) : NULL;
    u->no_memory |= cursor_ok(u->c) && !copy;
    return copy;
}

static void unpack_level(struct unpacking *u, struct grid_level *l)
{
    l->shape = room(u, u->rank, sizeof(*l->shape));
    for (unsigned d = 0; l->shape && d < u->rank; d++)
        l->shape[d] = cursor_varint(u->c);
    uint64_t flags = cursor_varint(u->c);
    l->index_first = flags & INDEX_FIRST;
    l->index_summed = flags & INDEX_SUMMED;
    l->index_big = flags & INDEX_BIG;
    if (flags & ORDERED) {
        struct bytes order = cursor_take(u->c, u->rank);
        l->order = room(u, 0, u->rank + 1);
        if (l->order && u->rank)
            memcpy(l->order, order.at, u->rank);
    }
    if (flags & WITH_CODEC)
        l->codec = unpack_text(u);
}

/* The packed form is the file's position plus 1; 0: none. */
static uint32_t unpack_file(struct unpacking *u)
{
    uint64_t file = cursor_varint(u->c);
    if (file > GRID_NO_FILE)
        cursor_fail(u->c);
    return file ? (uint32_t)(file - 1) : GRID_NO_FILE;
}

static void unpack_value(struct unpacking *u, struct grid_value *v, bool sources, uint64_t last,
                         uint64_t *end)
{
    uint64_t codec = u->codecs.count ? cursor_varint(u->c) : 0;
    if (codec > u->codecs.count || !add_u64(last, cursor_varint(u->c), &v->index))
        cursor_fail(u->c);
    else if (codec)
        v->codec = u->codecs.at[codec - 1];
    v->file = unpack_file(u);
    v->stored = cursor_varint(u->c);
    v->bytes = NULL;
    if (v->file == GRID_NO_FILE) {
        v->file = sources ? unpack_file(u) : GRID_NO_FILE;
        v->bytes = v->stored ? cursor_take(u->c, v->stored).at : (const void *)"";
        return;
    }
    v->offset = *end + (uint64_t)unzigzag(cursor_varint(u->c));
    *end = v->offset + v->stored;
}

bool own_codecs_unpack(struct cursor *c, struct arena *arena, struct own_codecs *list)
{
    uint64_t count = cursor_varint(c);
    if (count > OWN_CODECS_MAX)
        cursor_fail(c);
    for (uint64_t i = 0; i < count && cursor_ok(c); i++) {
        struct bytes text = cursor_take(c, cursor_varint(c));
        if (!cursor_ok(c))
            break;
        if (!(list->at[i] = arena_copy(arena, text.at, text.len)))
            return false;
        list->count++;
    }
    return true;
}

static void unpack_values(struct unpacking *u, struct grid *g, uint64_t flags)
{
    uint64_t end = 0, last = 0;
    if (flags & OWN_CODECS && !own_codecs_unpack(u->c, u->arena, &u->codecs))
        u->no_memory = true;
    g->metadata = flags & WITH_METADATA ? cursor_varint32(u->c) : GRID_NO_FILE;
    g->value_count = cursor_varint(u->c);
    g->values = room(u, g->value_count, sizeof(*g->values));
    for (uint64_t i = 0; g->values && i < g->value_count && cursor_ok(u->c); i++) {
        unpack_value(u, &g->values[i], flags & WITH_SOURCES, last, &end);
        last = g->values[i].index;
    }
}

enum status grid_unpack(struct cursor *c, const uint64_t *shape, unsigned rank, struct arena *arena,
                        struct grid *out, struct error *err)
{
    struct unpacking u = {.c = c, .arena = arena, .rank = rank};
    struct grid g = {0};
    uint64_t flags = cursor_varint(c);
    g.in_files = flags & IN_FILES;
    g.prefixed = flags & PREFIXED;
    g.incomplete = flags & INCOMPLETE;
    g.levels = cursor_varint32(c);
    if (g.levels > GRID_LEVELS_MAX)
        cursor_fail(c);
    for (unsigned l = 0; l < g.levels && cursor_ok(c); l++)
        unpack_level(&u, &g.level[l]);
    g.fill = cursor_take(c, cursor_varint(c));
    if (g.in_files) {
        uint64_t end = 0;
        g.directory = cursor_varint32(u.c);
        g.metadata = flags & WITH_METADATA ? cursor_varint32(u.c) : GRID_NO_FILE;
        g.separator = (char)cursor_u8(u.c);
        g.run_count = cursor_varint(u.c);
        g.runs = room(&u, g.run_count, sizeof(*g.runs));
        for (uint64_t i = 0; g.runs && i < g.run_count && cursor_ok(u.c); i++) {
            struct grid_run *r = &g.runs[i];
            if (!add_u64(end, cursor_varint(u.c), &r->first))
                cursor_fail(u.c);
            r->count = cursor_varint(u.c);
            if (!add_u64(r->first, r->count, &end))
                cursor_fail(u.c);
        }
    } else {
        unpack_values(&u, &g, flags);
    }
    if (u.no_memory)
        return error_memory_at(err, "catalog");
    if (!cursor_ok(c) || (g.in_files && g.separator != '.' && g.separator != '/') ||
        !grid_valid(&g, shape, rank))
        return error_set(err, ERR_CORRUPT, "catalog", NO_OFFSET,
                         "the row of a tensor's chunks is damaged");
    *out = g;
    return OK;
}
