#include "catalog/sql/tensor_groups.h"

#include <stdlib.h>
#include <string.h>

#include "catalog/base/limits.h"
#include "catalog/base/list.h"
#include "catalog/data/model/packed_columns.h"
#include "catalog/db/ids.h"
#include "catalog/sql/vtab.h"

/* The catalog knows each layout's sizes, not which tensors have them: the tensors are sorted when their
 * layout is reached. */
struct sized {
    uint32_t *ords; /* NULL: it has not come yet */
    uint32_t at;
};

void groups_end(struct tensor_groups *g)
{
    sqlite3_finalize(g->stream);
    free(g->entry);
    for (size_t i = 0; i < g->sized_space; i++)
        free(g->sized[i].ords);
    free(g->sized);
    text_release(&g->key);
    block_free(g->row);
    if (g->run)
        groups_end(g->run);
    free(g->run);
    *g = (struct tensor_groups){.blocks = g->blocks};
}

int groups_between(struct tensor_groups *g, struct blocks *b, struct cell from, struct cell to)
{
    g->blocks = b;
    /* Of one name the index has the ids in order. */
    const bool one = from.at == to.at && from.len == to.len;
    sqlite3_stmt **find = one ? &b->find_named : &b->find_between;
    int rc = vtab_once(b->db, find,
                       one ? "SELECT id FROM _layout_tensors WHERE name = ?1 ORDER BY id"
                           : "SELECT id FROM _layout_tensors WHERE name BETWEEN ?1 AND ?2"
                             " ORDER BY id",
                       "");
    sqlite3_stmt *s = *find;
    if (rc == SQLITE_OK)
        rc = sqlite3_bind_text(s, 1, from.at, (int)from.len, SQLITE_STATIC);
    if (rc == SQLITE_OK && !one)
        rc = sqlite3_bind_text(s, 2, to.at, (int)to.len, SQLITE_STATIC);
    while (rc == SQLITE_OK && (rc = sqlite3_step(s)) == SQLITE_ROW) {
        const uint64_t id = (uint64_t)sqlite3_column_int64(s, 0);
        struct group_entry *entry = list_grow(g->entry, g->count, &g->space, sizeof(*entry));
        struct layout *l;
        if (!entry) {
            rc = SQLITE_NOMEM;
            break;
        }
        g->entry = entry;
        rc = blocks_layout(b, (int64_t)(id >> TENSOR_ORD_BITS), &l);
        if (rc == SQLITE_OK)
            g->entry[g->count++] =
                (struct group_entry){0, l->index, (uint32_t)(id & TENSOR_ORD_MASK), false};
    }
    sqlite3_reset(s);
    return rc == SQLITE_DONE ? SQLITE_OK : rc;
}

static const struct {
    int column;
    enum block_column block;
} in_blocks[] = {
    {TENSOR_NAME, BLOCK_NAME},         {TENSOR_DTYPE, BLOCK_DTYPE},
    {TENSOR_SHAPE, BLOCK_SHAPE},       {TENSOR_RANK, BLOCK_SHAPE},
    {TENSOR_ELEMENTS, BLOCK_ELEMENTS}, {TENSOR_NBYTES, BLOCK_NBYTES},
    {TENSOR_STORED, BLOCK_STORED},     {TENSOR_STORAGE, BLOCK_STORAGE},
    {TENSOR_FILE, BLOCK_FILE},         {TENSOR_OFFSET, BLOCK_FILE},
    {TENSOR_OFFSET, BLOCK_START},      {TENSOR_OFFSET, BLOCK_STORAGE},
};

unsigned tensor_block_columns(int column)
{
    unsigned set = 0;
    for (size_t i = 0; i < sizeof(in_blocks) / sizeof(in_blocks[0]); i++)
        if (in_blocks[i].column == column)
            set |= 1u << in_blocks[i].block;
    return set;
}

static unsigned columns_of_key(const struct tensor_plan *p)
{
    unsigned set = 0;
    for (int i = 0; i < p->keys; i++)
        set |= tensor_block_columns(p->key[i].column);
    return set;
}

/* --- by name ------------------------------------------------------------------------------ */

static int next_by_name(struct tensor_groups *g, struct layout **layout, uint32_t *ord, bool *same)
{
    int rc = g->ended ? SQLITE_DONE : sqlite3_step(g->stream);
    g->ended = rc != SQLITE_ROW;
    if (g->ended)
        return rc;
    const uint64_t id = (uint64_t)sqlite3_column_int64(g->stream, 0);
    const unsigned char *name = sqlite3_column_text(g->stream, 1);
    const size_t len = (size_t)sqlite3_column_bytes(g->stream, 1);
    *same = g->begun && g->key.len == len && (!len || memcmp(g->key.at, name, len) == 0);
    g->begun = true;
    text_reset(&g->key);
    if (!name || !text_add(&g->key, name, len))
        return SQLITE_NOMEM;
    *ord = (uint32_t)(id & TENSOR_ORD_MASK);
    rc = blocks_layout(g->blocks, (int64_t)(id >> TENSOR_ORD_BITS), layout);
    return rc == SQLITE_OK ? SQLITE_ROW : rc;
}

/* --- by size ------------------------------------------------------------------------------ */

static int put_in_order(struct tensor_groups *g, struct layout *l)
{
    const size_t layouts = g->blocks->layout_space;
    uint32_t count = l->tensors;
    if (g->sized_space < layouts) {
        struct sized *list = realloc(g->sized, layouts * sizeof(*list));
        if (!list)
            return SQLITE_NOMEM;
        memset(list + g->sized_space, 0, (layouts - g->sized_space) * sizeof(*list));
        g->sized = list;
        g->sized_space = layouts;
    }
    struct sized *s = &g->sized[l->index];
    if (s->ords)
        return SQLITE_OK;
    s->ords = malloc(((size_t)count + 1) * sizeof(*s->ords));
    return s->ords ? groups_sort_layout(g->blocks, g->plan, l, NULL, &count, s->ords)
                   : SQLITE_NOMEM;
}

/* Count the next tensors of a layout that have the current size. */
static int count_sized(struct tensor_groups *g)
{
    const struct sized *s = &g->sized[g->layout->index];
    const unsigned columns = columns_of_key(g->plan);
    const enum block_column column = columns >> BLOCK_NBYTES & 1 ? BLOCK_NBYTES : BLOCK_ELEMENTS;
    const struct block *block = NULL;
    int rc = SQLITE_OK;
    for (uint32_t at = s->at; at < g->layout->tensors; at++, g->left++) {
        rc = block_load(g->blocks, g->layout, s->ords[at], columns, &block);
        if (rc != SQLITE_OK || block_number(block, s->ords[at], column) != g->number)
            break;
    }
    return rc;
}

/* Go to the next size of a layout. */
static int next_size(struct tensor_groups *g)
{
    struct layout *l;
    int rc = g->ended ? SQLITE_DONE : sqlite3_step(g->stream);
    g->ended = rc != SQLITE_ROW;
    if (g->ended)
        return rc == SQLITE_DONE ? blocks_all_given(g->blocks, g->given) : rc;
    const int64_t number = sqlite3_column_type(g->stream, 1) == SQLITE_NULL
                               ? NUMBER_NULL
                               : sqlite3_column_int64(g->stream, 1);
    rc = blocks_layout(g->blocks, sqlite3_column_int64(g->stream, 0), &l);
    if (rc == SQLITE_OK)
        rc = put_in_order(g, l);
    if (rc != SQLITE_OK)
        return rc;
    g->same &= g->layout && number == g->number;
    g->layout = l;
    g->number = number;
    rc = count_sized(g);
    g->given += g->left;
    return rc == SQLITE_OK ? SQLITE_ROW : rc;
}

static int next_by_size(struct tensor_groups *g, struct layout **layout, uint32_t *ord, bool *same)
{
    while (!g->left) {
        int rc = next_size(g);
        if (rc != SQLITE_ROW)
            return rc;
    }
    struct sized *s = &g->sized[g->layout->index];
    *same = g->same;
    *layout = g->layout;
    *ord = s->ords[s->at++];
    g->left--;
    g->same = true;
    return SQLITE_ROW;
}

/* --- by sorting --------------------------------------------------------------------------- */

/* Keys are written so that memcmp() orders them as SQLite does: NULL, then numbers, then texts.
 * Keys in descending order have their bits inverted. */
void groups_key_number(struct text *out, int64_t n)
{
    unsigned char bytes[9] = {n != NUMBER_NULL};
    const uint64_t high = (uint64_t)n ^ (uint64_t)1 << 63;
    for (int i = 0; i < 8; i++)
        bytes[1 + i] = (unsigned char)(high >> (56 - 8 * i));
    text_add(out, bytes, n == NUMBER_NULL ? 1 : sizeof(bytes));
}

void groups_key_text(struct text *out, struct cell cell)
{
    text_addc(out, cell.at ? 1 : 0);
    while (cell.at) { /* a NUL in it is followed by 1, the one at its end by 0 */
        const size_t part = strlen(cell.at);
        text_add(out, cell.at, part + 1);
        if (part >= cell.len)
            break;
        text_addc(out, 1);
        cell = (struct cell){cell.at + part + 1, cell.len - part - 1};
    }
    text_addc(out, '\0');
}

void groups_key(struct text *out, const struct block *b, uint32_t ord, int column)
{
    switch (column) {
    case TENSOR_NAME: groups_key_text(out, block_text(b, ord, BLOCK_NAME)); break;
    case TENSOR_DTYPE: groups_key_text(out, block_text(b, ord, BLOCK_DTYPE)); break;
    case TENSOR_SHAPE: groups_key_text(out, block_text(b, ord, BLOCK_SHAPE)); break;
    case TENSOR_RANK: groups_key_number(out, shape_rank(block_text(b, ord, BLOCK_SHAPE))); break;
    case TENSOR_STORED: groups_key_number(out, block_number(b, ord, BLOCK_STORED)); break;
    case TENSOR_ELEMENTS: groups_key_number(out, block_number(b, ord, BLOCK_ELEMENTS)); break;
    default: groups_key_number(out, block_number(b, ord, BLOCK_NBYTES));
    }
}

bool groups_packable(unsigned columns)
{
    return !(columns & (1u << BLOCK_NAME | 1u << BLOCK_STORED));
}

struct block groups_rows(const struct packed_columns *p)
{
    return (struct block){
        .span = {[BLOCK_DTYPE] = p->span[PACKED_DTYPE], [BLOCK_SHAPE] = p->span[PACKED_SHAPE]},
        .bytes = {[BLOCK_DTYPE] = p->texts[PACKED_DTYPE], [BLOCK_SHAPE] = p->texts[PACKED_SHAPE]},
        .number = {[BLOCK_ELEMENTS - BLOCK_TEXTS] = p->number[PACKED_ELEMENTS],
                   [BLOCK_NBYTES - BLOCK_TEXTS] = p->number[PACKED_NBYTES]},
    };
}

#define FEW_ROWS 64 /* each looks through all tensors of a layout */

struct sorting {
    struct tensor_groups *groups;
    const struct tensor_plan *plan;
    struct strmap keys; /* each to its place in `key` */
    struct arena arena;
    struct sort_key {
        const char *at;
        size_t len;
        uint32_t first; /* place before sorting */
    } * key;
    size_t key_count, key_space, entry_space;
    struct text written;
    unsigned columns; /* of blocks, that keys are made of */
    bool rows;        /* each packed row of this layout has one entry */
    bool named;       /* names or stored sizes are in the keys: packed columns have none */
    uint32_t *of_row; /* the places of keys of a layout's packed rows, plus 1; 0: not known yet */
    size_t row_space;
};

/* Find the place of a tensor's key. */
static int place_key(struct sorting *s, const struct block *b, uint32_t ord, uint32_t *out)
{
    const char *kept;
    bool added;
    text_reset(&s->written);
    for (int i = 0; i < s->plan->keys; i++) {
        const size_t from = s->written.len;
        groups_key(&s->written, b, ord, s->plan->key[i].column);
        for (size_t k = from; s->plan->key[i].backwards && k < s->written.len; k++)
            s->written.at[k] = (char)~s->written.at[k];
    }
    if (!text_str(&s->written))
        return SQLITE_NOMEM;
    uint64_t *place =
        strmap_keep(&s->keys, &s->arena, s->written.at, s->written.len, &kept, &added);
    struct sort_key *key = list_grow(s->key, s->key_count, &s->key_space, sizeof(*key));
    s->key = key ? key : s->key;
    if (!place || !key)
        return SQLITE_NOMEM;
    if (added) {
        *place = s->key_count;
        s->key[s->key_count] = (struct sort_key){kept, s->written.len, (uint32_t)s->key_count};
        s->key_count++;
    }
    *out = (uint32_t)*place;
    return SQLITE_OK;
}

static int sort_by_bytes(const void *a, const void *b)
{
    const struct sort_key *x = a, *y = b;
    const size_t less = x->len < y->len ? x->len : y->len;
    const int sign = memcmp(x->at, y->at, less);
    return sign ? sign : (x->len > less) - (y->len > less);
}

/* Put the entries in the order of their keys; entries of one key keep their order. */
static int sort_entries(struct sorting *s)
{
    struct tensor_groups *g = s->groups;
    struct group_entry *sorted = malloc((g->count + 1) * sizeof(*sorted));
    uint32_t *rank = malloc((s->key_count + 1) * sizeof(*rank));
    size_t *place = calloc(s->key_count + 1, sizeof(*place));
    if (sorted && rank && place) {
        if (s->key_count)
            qsort(s->key, s->key_count, sizeof(*s->key), sort_by_bytes);
        for (size_t i = 0; i < s->key_count; i++)
            rank[s->key[i].first] = (uint32_t)i;
        for (size_t i = 0; i < g->count; i++)
            place[(g->entry[i].rank = rank[g->entry[i].rank]) + 1]++;
        for (size_t i = 0; i < s->key_count; i++)
            place[i + 1] += place[i];
        for (size_t i = 0; i < g->count; i++)
            sorted[place[g->entry[i].rank]++] = g->entry[i];
        free(g->entry);
        g->entry = sorted;
        g->space = g->count + 1;
        sorted = NULL;
    }
    const bool good = rank && place && !sorted;
    free(rank);
    free(place);
    free(sorted);
    return good ? SQLITE_OK : SQLITE_NOMEM;
}

/* Forget the keys of the packed rows of the layout before. */
static int begin_rows(struct sorting *s, const struct layout *l)
{
    const size_t rows = l->packed ? l->packed->rows : 0;
    if (s->row_space < rows) {
        uint32_t *list = realloc(s->of_row, rows * sizeof(*list));
        if (!list)
            return SQLITE_NOMEM;
        s->of_row = list;
        s->row_space = rows;
    }
    if (rows)
        memset(s->of_row, 0, rows * sizeof(*s->of_row));
    return SQLITE_OK;
}

static int sort_tensor(struct sorting *s, struct layout *l, uint32_t ord)
{
    struct tensor_groups *g = s->groups;
    const struct block *block = NULL;
    int rc = SQLITE_OK;
    const bool packed = !s->named && l->packed && s->of_row;
    const uint32_t row = packed ? l->packed->of[ord] : 0;
    uint32_t place = packed ? s->of_row[row] : 0;
    if (place && s->rows)
        return rc;
    if (rc == SQLITE_OK && !place) {
        const struct block rows = packed ? groups_rows(l->packed) : (struct block){0};
        rc = packed ? SQLITE_OK : block_load(g->blocks, l, ord, s->columns, &block);
        if (rc == SQLITE_OK)
            rc = place_key(s, packed ? &rows : block, packed ? row : ord, &place);
        place++;
    }
    if (packed)
        s->of_row[row] = place;
    struct group_entry *entry = list_grow(g->entry, g->count, &s->entry_space, sizeof(*entry));
    if (!entry)
        return SQLITE_NOMEM;
    g->entry = entry;
    g->entry[g->count++] = (struct group_entry){place - 1, l->index, s->rows ? row : ord, s->rows};
    return rc;
}

/* With `all` (all tensors, in any order within a key) the tensors of a packed row can share one entry. */
static int sort_layout(struct sorting *s, struct layout *l, const uint32_t *ords, uint32_t count,
                       bool all)
{
    s->columns = columns_of_key(s->plan);
    s->named = !groups_packable(s->columns);
    int rc = count && !s->named ? blocks_packed(s->groups->blocks, l) : SQLITE_OK;
    if (rc == SQLITE_OK && count)
        rc = blocks_check(s->groups->blocks, l);
    if (rc == SQLITE_OK)
        rc = begin_rows(s, l);
    s->rows = all && !s->named && l->packed && l->packed->rows <= FEW_ROWS;
    for (uint32_t i = 0; rc == SQLITE_OK && i < count; i++)
        rc = sort_tensor(s, l, ords ? ords[i] : i);
    return rc;
}

static void sort_end(struct sorting *s)
{
    text_release(&s->written);
    strmap_release(&s->keys);
    arena_release(&s->arena);
    free(s->key);
    free(s->of_row);
}

static int sort_all(struct tensor_groups *g, const struct tensor_plan *p, groups_filter *filter,
                    void *of)
{
    struct sorting s = {.groups = g, .plan = p};
    int rc = blocks_all_holders(g->blocks);
    for (size_t i = 0; rc == SQLITE_OK && i < g->blocks->layout_count; i++) {
        struct layout *l = g->blocks->layout[i];
        const uint32_t *ords = NULL;
        uint32_t count = l->tensors;
        if (!l->holder_count)
            continue;
        rc = filter ? filter(of, l, &ords, &count) : SQLITE_OK;
        if (rc == SQLITE_OK)
            rc = sort_layout(&s, l, ords, count, !filter);
    }
    if (rc == SQLITE_OK)
        rc = sort_entries(&s);
    sort_end(&s);
    return rc;
}

int groups_sort_layout(struct blocks *b, const struct tensor_plan *p, struct layout *l,
                       const uint32_t *ords, uint32_t *count, uint32_t *sorted)
{
    struct tensor_groups g = {.blocks = b};
    struct sorting s = {.groups = &g, .plan = p};
    int rc = sort_layout(&s, l, ords, *count, false);
    if (rc == SQLITE_OK)
        rc = sort_entries(&s);
    *count = 0;
    for (size_t i = 0; rc == SQLITE_OK && i < g.count; i++)
        if (p->once != EACH_KEY || !i || g.entry[i].rank != g.entry[i - 1].rank)
            sorted[(*count)++] = g.entry[i].ord;
    sort_end(&s);
    groups_end(&g);
    return rc;
}

int groups_ordered(struct tensor_groups *g, struct blocks *b, const struct tensor_plan *p,
                   groups_filter *filter, void *of)
{
#define BY_NAME "SELECT id, name FROM _layout_tensors WHERE name BETWEEN ?1 AND ?2 ORDER BY name"
    static const char *const by_name[] = {BY_NAME, BY_NAME " DESC"};
#define BY_SIZE(column, order)                                                                     \
    "SELECT DISTINCT id" ID_OWNER ", " column " FROM _layout_kinds ORDER BY " column order
    static const char *const by_size[][2] = {
        {BY_SIZE("elements", ""), BY_SIZE("elements", " DESC")},
        {BY_SIZE("nbytes", ""), BY_SIZE("nbytes", " DESC")},
    };
    const int head = plan_head(p);
    g->blocks = b;
    g->head = g->tail = *p;
    g->head.keys = head;
    g->tail.keys = p->keys - head;
    memmove(g->tail.key, p->key + head, (size_t)g->tail.keys * sizeof(p->key[0]));
    if (g->tail.keys && !(g->run = calloc(1, sizeof(*g->run))))
        return SQLITE_NOMEM;
    if (g->run)
        g->run->blocks = b;
    p = g->plan = &g->head;
    if (filter || !plan_streams(p))
        return sort_all(g, p, filter, of);
    const int column = p->key[0].column;
    const char *const *orders = column == TENSOR_NAME ? by_name : by_size[column == TENSOR_NBYTES];
    g->by_size = column != TENSOR_NAME;
    int rc = sqlite3_prepare_v2(b->db, orders[p->key[0].backwards], -1, &g->stream, NULL);
    if (rc != SQLITE_OK || g->by_size)
        return rc;
    rc = sqlite3_bind_text(g->stream, 1, g->from.at, (int)g->from.len, SQLITE_STATIC);
    if (rc == SQLITE_OK) /* blobs come after all texts */
        rc = g->to.at ? sqlite3_bind_text(g->stream, 2, g->to.at, (int)g->to.len, SQLITE_STATIC)
                      : sqlite3_bind_zeroblob(g->stream, 2, 0);
    return rc;
}

static int next_of_head(struct tensor_groups *g, struct layout **layout, uint32_t *ord, bool *same)
{
    if (g->by_size)
        return next_by_size(g, layout, ord, same);
    if (g->stream)
        return next_by_name(g, layout, ord, same);
    for (; g->at < g->count; g->at++, g->ord = 0) {
        const struct group_entry *e = &g->entry[g->at];
        struct layout *l = g->blocks->layout[e->layout];
        int rc = e->row ? blocks_packed(g->blocks, l) : SQLITE_OK;
        while (rc == SQLITE_OK && e->row && g->ord < l->tensors && l->packed->of[g->ord] != e->ord)
            g->ord++;
        if (rc == SQLITE_OK && g->ord == (e->row ? l->tensors : 1))
            continue;
        *same = g->begun && g->rank == e->rank;
        *layout = l;
        *ord = e->row ? g->ord : e->ord;
        g->ord++;
        g->rank = e->rank;
        g->begun = true;
        return rc == SQLITE_OK ? SQLITE_ROW : rc;
    }
    return SQLITE_DONE;
}

/* Take the tensors that are alike in the keys of the head. */
static int take_run(struct tensor_groups *g)
{
    struct tensor_groups *run = g->run;
    int rc = SQLITE_ROW;
    *run = (struct tensor_groups){
        .blocks = g->blocks, .entry = run->entry, .space = run->space, .row = run->row};
    for (;;) {
        bool same = false;
        if (!g->next.layout)
            rc = next_of_head(g, &g->next.layout, &g->next.ord, &same);
        if (rc != SQLITE_ROW || (run->count && !same))
            break;
        struct group_entry *entry = list_grow(run->entry, run->count, &run->space, sizeof(*entry));
        if (!entry)
            return SQLITE_NOMEM;
        run->entry = entry;
        if (g->next.ord < g->next.layout->tensors)
            run->entry[run->count++] =
                (struct group_entry){0, g->next.layout->index, g->next.ord, false};
        g->next.layout = NULL;
    }
    if (rc != SQLITE_ROW)
        g->next.layout = NULL;
    return rc == SQLITE_DONE && run->count ? SQLITE_ROW : rc;
}

int groups_sort(struct tensor_groups *g, const struct tensor_plan *p)
{
    struct sorting s = {.groups = g, .plan = p};
    const unsigned columns = columns_of_key(p);
    int rc = SQLITE_OK;
    for (size_t i = 0; rc == SQLITE_OK && i < g->count; i++) {
        struct group_entry *e = &g->entry[i];
        const struct block *block = NULL;
        uint32_t place = 0;
        rc = block_row(g->blocks, g->blocks->layout[e->layout], e->ord, columns, &g->row, &block);
        if (rc == SQLITE_OK)
            rc = place_key(&s, block, e->ord, &place);
        e->rank = place;
    }
    if (rc == SQLITE_OK)
        rc = sort_entries(&s);
    sort_end(&s);
    return rc;
}

int groups_next(struct tensor_groups *g, struct layout **layout, uint32_t *ord, bool *same)
{
    int rc = next_of_head(g->run ? g->run : g, layout, ord, same);
    while (rc == SQLITE_DONE && g->run) {
        if ((rc = take_run(g)) != SQLITE_ROW)
            return rc;
        if (g->run->count > 1 && (rc = groups_sort(g->run, &g->tail)) != SQLITE_OK)
            return rc;
        rc = next_of_head(g->run, layout, ord, same);
    }
    return rc;
}
