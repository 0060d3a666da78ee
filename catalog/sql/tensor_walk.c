#include <stdlib.h>
#include <string.h>

#include "catalog/base/limits.h"
#include "catalog/base/list.h"
#include "catalog/data/model/packed_columns.h"
#include "catalog/data/model/tensor.h"
#include "catalog/sql/tensor_cursor.h"
#include "catalog/sql/vtab.h"

/* --- which tensors of a layout ------------------------------------------------------------ */

static bool passes(const struct tensor_cursor *c, const struct block *b, uint32_t ord)
{
    for (int i = 0; i < c->plan.tests; i++) {
        const struct tensor_test *t = &c->test[i];
        bool good = true;
        if (t->column == TENSOR_ORD)
            good = test_number(t, ord);
        else if (!b || i == c->named)
            continue;
        else if (t->column == TENSOR_NAME)
            good = test_text(t, block_text(b, ord, BLOCK_NAME));
        else if (t->column == TENSOR_DTYPE)
            good = test_text(t, block_text(b, ord, BLOCK_DTYPE));
        else if (t->column == TENSOR_SHAPE)
            good = test_text(t, block_text(b, ord, BLOCK_SHAPE));
        else if (t->column == TENSOR_RANK)
            good = test_number(t, shape_rank(block_text(b, ord, BLOCK_SHAPE)));
        else if (t->column == TENSOR_ELEMENTS)
            good = test_number(t, block_number(b, ord, BLOCK_ELEMENTS));
        else if (t->column == TENSOR_NBYTES)
            good = test_number(t, block_number(b, ord, BLOCK_NBYTES));
        if (!good)
            return false;
    }
    return true;
}

static int tensor_passes(struct tensor_cursor *c, struct layout *l, uint32_t ord, bool *good)
{
    const struct block *b = NULL;
    int rc = c->test_columns
                 ? block_row(&table_of(c)->blocks, l, ord, c->test_columns, &c->own_row, &b)
                 : SQLITE_OK;
    c->block = NULL;
    *good = rc == SQLITE_OK && passes(c, b, ord);
    return rc;
}

/* Tensors of one name are found by the catalog's index. */
static int select_named(struct tensor_cursor *c, struct layout *l, struct selection *s)
{
    const int64_t first = (int64_t)((uint64_t)l->id << TENSOR_ORD_BITS);
    const struct cell name = c->test[c->named].text;
    size_t space = 0;
    sqlite3_stmt *named = NULL;
    int rc = tensor_detail(table_of(c), DETAIL_NAMED, first, first + TENSOR_ORD_MASK, &named);
    if (rc == SQLITE_OK)
        rc = sqlite3_bind_text(named, 3, name.at, (int)name.len, SQLITE_STATIC);
    while (rc == SQLITE_OK && (rc = sqlite3_step(named)) == SQLITE_ROW) {
        const uint32_t ord = (uint32_t)(sqlite3_column_int64(named, 0) & TENSOR_ORD_MASK);
        bool good = false;
        rc = blocks_check(&table_of(c)->blocks, l);
        if (rc == SQLITE_OK && ord < l->tensors)
            rc = tensor_passes(c, l, ord, &good);
        if (!good)
            continue;
        uint32_t *ords = arena_grow(&c->arena, s->ords, s->count, &space, sizeof(*ords));
        if (!ords)
            rc = SQLITE_NOMEM;
        else
            (s->ords = ords)[s->count++] = ord;
    }
    sqlite3_reset(named);
    return rc == SQLITE_DONE ? SQLITE_OK : rc;
}

/* Whether a row of packed columns passes the tests of these. */
static bool row_passes(const struct tensor_cursor *c, const struct packed_columns *p, uint32_t row,
                       bool places)
{
    struct cell text[PACKED_TEXTS];
    for (int i = 0; i < PACKED_TEXTS; i++) {
        const struct span at = p->span[i][row];
        text[i] =
            at.len == SPAN_NULL ? (struct cell){0} : (struct cell){p->texts[i] + at.at, at.len};
    }
    const char *stored = storage_name(p->number[PACKED_STORAGE][row]);
    for (int i = 0; i < c->plan.tests; i++) {
        const struct tensor_test *t = &c->test[i];
        if ((t->column == TENSOR_DTYPE && !test_text(t, text[PACKED_DTYPE])) ||
            (t->column == TENSOR_SHAPE && !test_text(t, text[PACKED_SHAPE])) ||
            (t->column == TENSOR_RANK && !test_number(t, shape_rank(text[PACKED_SHAPE]))) ||
            (t->column == TENSOR_ELEMENTS && !test_number(t, p->number[PACKED_ELEMENTS][row])) ||
            (t->column == TENSOR_NBYTES && !test_number(t, p->number[PACKED_NBYTES][row])))
            return false;
        if (places && ((t->column == TENSOR_STORAGE &&
                        !test_text(t, (struct cell){stored, strlen(stored)})) ||
                       (t->column == TENSOR_FILE && (t->op == TEST_NULL || t->op == TEST_NOTNULL) &&
                        !test_number(t, p->number[PACKED_FILE][row]))))
            return false;
    }
    return true;
}

/* Select the tensors that pass the tests of packed columns. */
static int select_packed(struct tensor_cursor *c, const struct layout *l, bool places,
                         struct selection *s)
{
    const struct packed_columns *p = l->packed;
    uint32_t good = 0;
    bool *passes = arena_room(&c->arena, p->rows + 1);
    if (!passes)
        return SQLITE_NOMEM;
    for (uint32_t row = 0; row < p->rows; row++)
        good += passes[row] = row_passes(c, p, row, places);
    if (good == p->rows) {
        s->count = l->tensors;
    } else if (good) {
        s->ords = arena_room(&c->arena, ((size_t)l->tensors + 1) * sizeof(*s->ords));
        for (uint32_t ord = 0; s->ords && ord < l->tensors; ord++) {
            s->ords[s->count] = ord;
            s->count += passes[p->of[ord]];
        }
    }
    return good && !s->count && l->tensors ? SQLITE_NOMEM : SQLITE_OK;
}

static int select_tested(struct tensor_cursor *c, struct layout *l, bool places,
                         struct selection *s)
{
    struct blocks *blocks = &table_of(c)->blocks;
    int rc = c->test_kinds || places ? blocks_packed(blocks, l) : SQLITE_OK;
    if (rc == SQLITE_OK)
        rc = blocks_check(blocks, l);
    const bool packed = (c->test_kinds || places) && l->packed;
    s->count = packed ? 0 : l->tensors;
    if (rc == SQLITE_OK && packed)
        rc = select_packed(c, l, places, s);
    if (rc != SQLITE_OK || (packed && c->test_kinds == c->test_tensors) || !s->count)
        return rc;

    uint32_t *ords = arena_room(&c->arena, ((size_t)s->count + 1) * sizeof(*ords)), count = 0;
    const struct block *b = NULL;
    rc = ords ? SQLITE_OK : SQLITE_NOMEM;
    for (uint32_t i = 0; rc == SQLITE_OK && i < s->count; i++) {
        const uint32_t ord = s->ords ? s->ords[i] : i;
        if (c->test_columns && (!b || ord - b->first >= BLOCK_TENSORS))
            rc = block_load(blocks, l, ord, c->test_columns, &b);
        if (rc == SQLITE_OK && passes(c, b, ord))
            ords[count++] = ord;
    }
    s->ords = ords;
    s->count = count;
    return rc;
}

/* Make room for a selection of each layout that is known so far. */
static bool room_for_selections(struct tensor_cursor *c)
{
    const size_t space = 2 * table_of(c)->blocks.layout_space;
    if (c->selected_space >= space)
        return true;
    struct selection *list = realloc(c->selected, space * sizeof(*list));
    if (!list)
        return false;
    memset(list + c->selected_space, 0, (space - c->selected_space) * sizeof(*list));
    c->selected = list;
    c->selected_space = space;
    return true;
}

/* A layout's selection for checkpoints that have its places, or that have their own. */
static struct selection *selection_of(const struct tensor_cursor *c, const struct layout *l,
                                      bool placed)
{
    return &c->selected[2 * l->index + placed];
}

#define STORAGES 5

/* The kind of storage for which the cursor goes through the checkpoints: by their words, which are
 * chunks, inline, none, pieces, range. */
static unsigned current_storage(const struct tensor_cursor *c)
{
    static const unsigned by_word[STORAGES] = {3, 4, 0, 2, 1};
    return by_word[c->plan.key[0].backwards ? STORAGES - 1 - c->storage : c->storage];
}

bool tensor_next_storage(struct tensor_cursor *c)
{
    do
        c->storage++;
    while (c->storage < STORAGES && !(c->storages >> current_storage(c) & 1));
    sqlite3_reset(c->stream);
    c->round++;
    arena_release(&c->arena);
    c->arena = (struct arena){0};
    return c->storage < STORAGES;
}

/* Keep only the tensors of a selection that have the current storage. */
static int select_stored(struct tensor_cursor *c, struct layout *l, struct selection *s)
{
    const struct selection all = *s;
    const unsigned wanted = current_storage(c);
    uint32_t *ords = arena_room(&c->arena, (size_t)all.count * sizeof(*ords) + 1);
    int rc = c->hit.placed ? SQLITE_OK : blocks_packed(&table_of(c)->blocks, l);
    const struct packed_columns *p = rc == SQLITE_OK && !c->hit.placed ? l->packed : NULL;
    if (!ords)
        rc = SQLITE_NOMEM;
    c->selection = &all;
    c->end = all.count;
    c->block = NULL;
    s->ords = ords;
    s->count = 0;
    for (uint32_t i = 0; rc == SQLITE_OK && i < all.count; i++) {
        unsigned storage = 0;
        c->ord = all.ords ? all.ords[i] : i;
        if (p)
            storage = storage_kind(p->number[PACKED_STORAGE][p->of[c->ord]]);
        else
            rc = tensor_storage(c, &storage);
        c->seen |= 1u << storage;
        if (rc == SQLITE_OK && storage == wanted)
            ords[s->count++] = c->ord;
    }
    c->block = NULL;
    c->selection = s;
    return rc;
}

/* Put a layout's tensors in the order that the keys give those of one checkpoint. */
static int sort_selected(struct tensor_cursor *c, struct layout *l, struct selection *s)
{
    if (s->count < 2)
        return SQLITE_OK;
    struct tensor_plan inside = {.once = c->plan.once};
    bool reversed = false;
    for (int i = 0; i < c->plan.keys; i++) {
        const int column = c->plan.key[i].column;
        if (column == TENSOR_ORD || column == TENSOR_ID) { /* no two are equal in these */
            reversed = c->plan.key[i].backwards;
            break;
        }
        if (column >= TENSOR_ORD)
            inside.key[inside.keys++] = c->plan.key[i];
    }
    uint32_t *ords = arena_room(&c->arena, ((size_t)s->count + 1) * sizeof(*ords));
    if (!ords)
        return SQLITE_NOMEM;
    for (uint32_t i = 0; i < s->count; i++) {
        const uint32_t at = reversed ? s->count - 1 - i : i;
        ords[i] = s->ords ? s->ords[at] : at;
    }
    s->ords = ords;
    int rc = c->plan.top ? tensor_top_trim(c, ords, &s->count) : SQLITE_OK;
    return rc == SQLITE_OK && inside.keys && s->count > 1
               ? groups_sort_layout(&table_of(c)->blocks, &inside, l, ords, &s->count, ords)
               : rc;
}

static int select_tensors(struct tensor_cursor *c, struct layout *l, const struct selection **out)
{
    const bool stored = c->plan.order == IN_STORAGE;
    const bool apart = tensor_has_own_places(c);
    const bool own = stored && c->hit.placed;
    if (!room_for_selections(c))
        return SQLITE_NOMEM;
    /* The tensors in groups do not depend on their checkpoints. */
    const bool places = c->test_places && !c->grouped && !c->hit.placed;
    struct selection *s = own ? &c->placed_selected : selection_of(c, l, apart);
    int rc = SQLITE_OK;
    *out = s;
    if (s->round == c->round && !own)
        return SQLITE_OK;
    s->ords = NULL;
    s->count = 0;
    if (c->named >= 0)
        rc = select_named(c, l, s);
    else if (c->test_tensors || places)
        rc = select_tested(c, l, places, s);
    else if (c->plan.top && (rc = blocks_packed(&table_of(c)->blocks, l)) != SQLITE_OK)
        return rc;
    else
        s->count = (rc = blocks_check(&table_of(c)->blocks, l)) == SQLITE_OK ? l->tensors : 0;
    if (rc == SQLITE_OK && stored)
        rc = select_stored(c, l, s);
    if (rc == SQLITE_OK && tensor_keys_within(&c->plan) && !(c->plan.top && apart))
        rc = sort_selected(c, l, s);
    s->round = rc == SQLITE_OK ? c->round : 0;
    return rc;
}

/* --- which checkpoints -------------------------------------------------------------------- */

/* Whether the tests of checkpoints let the current one pass. */
static int checkpoint_passes(struct tensor_cursor *c, bool *good)
{
    *good = true;
    for (int i = 0; *good && i < c->plan.tests; i++) {
        const struct tensor_test *t = &c->test[i];
        int rc = SQLITE_OK;
        if (t->kind == TEST_NEVER) {
            *good = false;
        } else if (t->column == TENSOR_CHECKPOINT_ID) {
            *good = test_number(t, c->hit.checkpoint);
        } else if (t->column == TENSOR_CHECKPOINTS) {
            rc = blocks_holders(&table_of(c)->blocks, c->hit.layout);
            *good = test_number(t, (int64_t)c->hit.layout->holder_count);
        } else if (t->kind != TEST_NOTHING &&
                   (t->column == TENSOR_CHECKPOINT || t->column == TENSOR_PATH)) {
            rc = tensor_label(c);
            *good = rc == SQLITE_OK && test_text(t, t->column == TENSOR_PATH ? c->path : c->name);
        }
        if (rc != SQLITE_OK)
            return rc;
    }
    return SQLITE_OK;
}

int tensor_filter_layout(void *cursor, struct layout *l, const uint32_t **ords, uint32_t *count)
{
    struct tensor_cursor *c = cursor;
    const struct selection *s = NULL;
    bool good = !c->test_checkpoints;
    int rc = SQLITE_OK;
    for (size_t i = 0; rc == SQLITE_OK && !good && i < l->holder_count; i++) {
        tensor_leave(c);
        c->hit = (struct hit){l->holders[i].checkpoint, l, l->holders[i].placed, -1, 0};
        rc = checkpoint_passes(c, &good);
    }
    if (rc == SQLITE_OK && good)
        rc = select_tensors(c, l, &s);
    *ords = rc == SQLITE_OK && s ? s->ords : NULL;
    *count = rc == SQLITE_OK && s ? s->count : 0;
    return rc;
}

static int by_id(const void *a, const void *b)
{
    const struct ranked *x = a, *y = b;
    return x->checkpoint < y->checkpoint ? -1 : x->checkpoint > y->checkpoint;
}

static int rank_checkpoints(struct tensor_cursor *c)
{
    sqlite3_stmt *s = NULL;
    int rc =
        sqlite3_prepare_v2(table_of(c)->db, "SELECT id FROM _labels ORDER BY name", -1, &s, NULL);
    while (rc == SQLITE_OK && (rc = sqlite3_step(s)) == SQLITE_ROW) {
        struct ranked *list =
            list_grow(c->ranked, c->ranked_count, &c->ranked_space, sizeof(*list));
        rc = list ? SQLITE_OK : SQLITE_NOMEM;
        if (!list)
            break;
        c->ranked = list;
        list[c->ranked_count] =
            (struct ranked){sqlite3_column_int64(s, 0), (int64_t)c->ranked_count};
        c->ranked_count++;
    }
    sqlite3_finalize(s);
    if (c->ranked_count)
        qsort(c->ranked, c->ranked_count, sizeof(*c->ranked), by_id);
    return rc == SQLITE_DONE ? SQLITE_OK : rc;
}

/* Where a checkpoint comes among those that have tensors of one key; without a name, first. */
static int64_t rank_of(const struct tensor_cursor *c, int64_t checkpoint, const struct layout *l)
{
    if (c->plan.then == THEN_COUNT)
        return (int64_t)l->holder_count;
    if (c->plan.then != THEN_CHECKPOINT)
        return checkpoint;
    const struct ranked wanted = {checkpoint, 0};
    const struct ranked *found =
        c->ranked_count ? bsearch(&wanted, c->ranked, c->ranked_count, sizeof(wanted), by_id)
                        : NULL;
    return found ? found->rank : -1;
}

static int add_hits(struct tensor_cursor *c, struct layout *l)
{
    int rc = blocks_holders(&table_of(c)->blocks, l);
    if (rc == SQLITE_OK && c->plan.then == THEN_CHECKPOINT && !c->ranked_count)
        rc = rank_checkpoints(c);
    const size_t wanted = table_of(c)->by_name && l->holder_count ? 1 : l->holder_count;
    for (size_t i = 0; rc == SQLITE_OK && i < wanted; i++) {
        struct hit *list = list_grow(c->list, c->list_count, &c->list_space, sizeof(*list));
        if (!list)
            return SQLITE_NOMEM;
        c->list = list;
        const struct holder *h = &l->holders[i];
        c->list[c->list_count++] =
            (struct hit){h->checkpoint, l, h->placed, -1, rank_of(c, h->checkpoint, l)};
    }
    return rc;
}

static int by_rank(const void *a, const void *b)
{
    const struct hit *x = a, *y = b;
    return x->rank < y->rank ? -1 : x->rank > y->rank;
}

static int by_rank_backwards(const void *a, const void *b)
{
    return by_rank(b, a);
}

static int by_place(const void *a, const void *b)
{
    const struct group_pick *x = a, *y = b;
    return x->layout->id != y->layout->id ? (x->layout->id < y->layout->id ? -1 : 1)
           : x->ord < y->ord              ? -1
                                          : x->ord > y->ord;
}

/* Whether the tests let the group's tensor pass. Where names come by the index, and only they are tested, each is
 * tested once, and no tensor is read for it. */
static int group_passes(struct tensor_cursor *c, bool same, bool *good)
{
    const struct tensor_groups *g = &c->groups;
    bool named = c->group_named;
    for (int i = 0; i < c->plan.tests; i++)
        named &= c->test[i].column == TENSOR_NAME;
    *good = c->group_ord < c->group_layout->tensors;
    if (!named)
        return *good && (c->test_columns || c->plan.tests)
                   ? tensor_passes(c, c->group_layout, c->group_ord, good)
                   : SQLITE_OK;
    if (!same)
        c->group_good = true;
    for (int i = 0; !same && c->group_good && i < c->plan.tests; i++)
        c->group_good = test_text(&c->test[i], (struct cell){g->key.at, g->key.len});
    *good &= c->group_good;
    return SQLITE_OK;
}

/* Take the tensors of the next group, and one more, with which the one after it begins. */
static int pick_group(struct tensor_cursor *c)
{
    const bool runs = c->plan.then || c->plan.once == EACH_KEY || !c->plan.keys;
    int rc = SQLITE_ROW;
    c->pick_count = 0;
    c->pick_mixed = false;
    do {
        bool same = false, good = false;
        if (!c->group_left)
            rc = groups_next(&c->groups, &c->group_layout, &c->group_ord, &same);
        if (rc != SQLITE_ROW)
            break;
        if (!c->group_left && c->pick_count &&
            !(same && (runs || c->group_layout == c->pick[c->pick_count - 1].layout))) {
            c->group_left = true;
            break;
        }
        c->group_left = false;
        const int tested = group_passes(c, same, &good);
        if (tested != SQLITE_OK)
            return tested;
        if (!good)
            continue;
        if (c->group_named && !c->pick_count) {
            text_reset(&c->group_name);
            if (!text_add(&c->group_name, c->groups.key.at, c->groups.key.len))
                return SQLITE_NOMEM;
        }
        struct group_pick *pick = list_grow(c->pick, c->pick_count, &c->pick_space, sizeof(*pick));
        if (!pick)
            return SQLITE_NOMEM;
        c->pick = pick;
        c->pick[c->pick_count] = (struct group_pick){c->group_layout, c->group_ord};
        c->pick_mixed |=
            c->pick_count && by_place(&c->pick[c->pick_count - 1], &c->pick[c->pick_count]) > 0;
        c->pick_count++;
    } while (true);
    return rc;
}

/* Sort a layout's tensors of a group by the later keys. */
static int sort_later(struct tensor_cursor *c, struct layout *l, struct selection *s)
{
    const struct tensor_plan *p = &c->plan;
    struct tensor_plan later = {.keys = p->later};
    if (!p->later || s->count < 2)
        return SQLITE_OK;
    memcpy(later.key, p->key + p->keys, (size_t)p->later * sizeof(p->key[0]));
    return groups_sort_layout(&table_of(c)->blocks, &later, l, s->ords, &s->count, s->ords);
}

/* Make the list of checkpoints of the next group, and the selections of their layouts. */
static int next_group(struct tensor_cursor *c)
{
    for (size_t i = 0; i < c->pick_count; i++)
        selection_of(c, c->pick[i].layout, false)->round = 0;
    c->list_count = c->list_at = 0;
    int rc = pick_group(c);
    if (!c->pick_count)
        return rc;
    if (rc != SQLITE_ROW && rc != SQLITE_DONE)
        return rc;
    if (c->pick_mixed)
        qsort(c->pick, c->pick_count, sizeof(*c->pick), by_place);
    if (c->arena.used)
        arena_release(&c->arena);
    c->arena = (struct arena){0};
    uint32_t *ords = arena_room(&c->arena, c->pick_count * sizeof(*ords));
    if (!ords || !room_for_selections(c))
        return SQLITE_NOMEM;
    bool mixed = false;
    for (size_t i = 0, k; i < c->pick_count; i = k) {
        struct layout *l = c->pick[i].layout;
        for (k = i; k < c->pick_count && c->pick[k].layout == l; k++)
            ords[k] = c->pick[k].ord;
        *selection_of(c, l, false) = (struct selection){c->round, ords + i, (uint32_t)(k - i)};
        const size_t before = c->list_count;
        rc = sort_later(c, l, selection_of(c, l, false));
        if (rc == SQLITE_OK)
            rc = add_hits(c, l);
        mixed |= before && before < c->list_count &&
                 c->list[before].checkpoint < c->list[before - 1].checkpoint;
        if (rc != SQLITE_OK)
            return rc;
        /* Holders of all layouts may have been read, and with them layouts. */
        if (!room_for_selections(c))
            return SQLITE_NOMEM;
    }
    mixed |= c->plan.backwards || c->plan.then >= THEN_CHECKPOINT;
    if (mixed && (c->plan.then || !c->plan.keys))
        qsort(c->list, c->list_count, sizeof(*c->list),
              c->plan.backwards ? by_rank_backwards : by_rank);
    return SQLITE_ROW;
}

static int next_hit(struct tensor_cursor *c)
{
    int rc = SQLITE_ROW;
    if (c->grouped) {
        while (rc == SQLITE_ROW && c->list_at == c->list_count)
            rc = next_group(c);
        if (rc == SQLITE_ROW)
            c->hit = c->list[c->list_at++];
        return rc;
    }
    rc = sqlite3_step(c->stream);
    if (rc == SQLITE_DONE && c->plan.order == IN_STORAGE) {
        c->storages = c->storage ? c->storages : c->seen;
        if (tensor_next_storage(c))
            rc = sqlite3_step(c->stream);
    }
    if (rc == SQLITE_DONE && c->later) {
        vtab_give_back(&table_of(c)->idle[c->kind], &c->stream);
        c->stream = c->later;
        c->kind = c->later_kind;
        c->later = NULL;
        c->unfiled = !c->unfiled;
        c->file.position = FILE_NONE;
        c->file.path = (struct cell){0};
        rc = sqlite3_step(c->stream);
    }
    if (rc == SQLITE_DONE && c->plan.order == IN_FILE && c->given != c->wanted)
        rc = blocks_lack_files(&table_of(c)->blocks);
    if (rc != SQLITE_ROW)
        return rc;
    c->hit.checkpoint = sqlite3_column_int64(c->stream, 0);
    c->hit.placed = sqlite3_column_int(c->stream, 2) != 0;
    c->hit.ord =
        sqlite3_column_type(c->stream, 3) == SQLITE_NULL ? -1 : sqlite3_column_int64(c->stream, 3);
    if (c->plan.order == IN_FILE && !c->unfiled && (rc = tensor_take_file(c)) != SQLITE_OK)
        return rc;
    const int64_t layout = sqlite3_column_int64(c->stream, 1);
    rc = c->hit.ord < 0 ? blocks_find(&table_of(c)->blocks, layout, &c->hit.layout)
                        : blocks_layout(&table_of(c)->blocks, layout, &c->hit.layout);
    return rc == SQLITE_OK ? SQLITE_ROW : rc;
}

/* The first of n ascending numbers that is not below one. */
static uint32_t first_from(const struct selection *s, int64_t ord)
{
    uint32_t low = 0, high = s->count;
    while (low < high) {
        const uint32_t middle = low + (high - low) / 2;
        if ((s->ords ? s->ords[middle] : middle) < ord)
            low = middle + 1;
        else
            high = middle;
    }
    return low;
}

int tensor_walk(struct tensor_cursor *c)
{
    int rc;
    while ((rc = next_hit(c)) == SQLITE_ROW) {
        bool good;
        tensor_leave(c);
        rc = checkpoint_passes(c, &good);
        if (rc != SQLITE_OK)
            return rc;
        if (!good)
            continue;
        c->at = 0;
        c->block = NULL;
        if (c->hit.ord >= 0) {
            c->end = c->hit.ord < (int64_t)c->hit.layout->tensors;
        } else {
            rc = select_tensors(c, c->hit.layout, &c->selection);
            if (rc == SQLITE_OK && c->plan.order == IN_FILE)
                rc = tensor_select_filed(c, c->selection);
            if (rc != SQLITE_OK)
                return rc;
            c->end = c->selection->count;
            if (c->first_id >> TENSOR_ORD_BITS == c->hit.checkpoint && !c->plan.backwards &&
                !c->plan.keys)
                c->at = first_from(c->selection, c->first_id & TENSOR_ORD_MASK);
        }
        if (c->at < c->end) {
            tensor_go(c);
            return SQLITE_OK;
        }
    }
    c->eof = rc == SQLITE_DONE;
    return rc == SQLITE_DONE ? SQLITE_OK : rc;
}
