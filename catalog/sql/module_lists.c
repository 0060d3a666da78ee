#include "catalog/sql/module_lists.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

#include "catalog/base/list.h"
#include "catalog/db/ids.h"
#include "catalog/sql/vtab.h"

void module_lists_forget(struct module_lists *m)
{
    for (size_t i = 0; i < m->space; i++)
        if (m->list[i]) {
            module_sums_release(&m->list[i]->sums);
            free(m->list[i]);
        }
    free(m->list);
    m->list = NULL;
    m->space = 0;
}

void module_lists_close(struct module_lists *m)
{
    module_lists_forget(m);
    block_free(m->own);
    text_release(&m->name);
    blocks_close(&m->blocks);
    sqlite3_finalize(m->find);
    sqlite3_finalize(m->rows);
}

/* --- reading ------------------------------------------------------------------------------- */

static int state_code(struct module_lists *m, const struct module_list *l,
                      enum module_sums_state state)
{
    return state == MODULE_SUMS_GOOD ? SQLITE_OK
           : state == MODULE_SUMS_NO_MEMORY
               ? SQLITE_NOMEM
               : blocks_damaged(&m->blocks, l->layout->id, CHECK_FAILS);
}

/* The packed modules of a layout; SQLITE_DONE: it has no such row. */
static int read_packed(struct module_lists *m, struct module_list *l)
{
    if (!m->find && !m->find_failed)
        m->find_failed =
            sqlite3_prepare_v2(m->blocks.db, "SELECT sums FROM _layout_module_sums WHERE id = ?1",
                               -1, &m->find, NULL) != SQLITE_OK;
    if (m->find_failed) /* only earlier programs wrote the catalog */
        return SQLITE_DONE;
    sqlite3_bind_int64(m->find, 1, l->layout->id);
    int rc = sqlite3_step(m->find);
    if (rc == SQLITE_ROW) {
        const struct bytes packed = {sqlite3_column_blob(m->find, 0),
                                     (size_t)sqlite3_column_bytes(m->find, 0)};
        rc = state_code(m, l, module_sums_unpack(packed, &l->sums));
    }
    sqlite3_reset(m->find);
    return rc;
}

/* The same from rows, as the view by_module has them. */
static int pack_rows(struct module_lists *m, struct module_list *l)
{
    struct module_pack pack = {0};
    struct text packed = {0};
    int rc = vtab_once(
        m->blocks.db, &m->rows,
        "SELECT tensor, length, depth, tensors, parameters, nbytes FROM _layout_modules"
        " WHERE id BETWEEN ?1" ID_FIRST "AND ?1" ID_LAST " UNION ALL"
        " SELECT id" ID_ORD ", module,"
        "  module + 1 - length(replace(substr(name, 1, module), substr(name, module + 1, 1), '')),"
        "  1, iif(dtype IN ('string', 'variant', 'resource'), 0, coalesce(elements, 0)),"
        "  coalesce(nbytes, 0) FROM _layout_tensors"
        " WHERE id BETWEEN ?1" ID_FIRST "AND ?1" ID_LAST " AND module ORDER BY 3, 1",
        "i", l->layout->id);
    while (rc == SQLITE_OK && (rc = sqlite3_step(m->rows)) == SQLITE_ROW) {
        const struct packed_module module = {(uint32_t)sqlite3_column_int64(m->rows, 0),
                                             (uint32_t)sqlite3_column_int64(m->rows, 1),
                                             (uint32_t)sqlite3_column_int64(m->rows, 2),
                                             {sqlite3_column_int64(m->rows, 3),
                                              sqlite3_column_int64(m->rows, 4),
                                              sqlite3_column_int64(m->rows, 5)}};
        module_pack_add(&pack, &module);
        rc = SQLITE_OK;
    }
    sqlite3_reset(m->rows);
    module_pack_end(&pack, &packed);
    if (rc == SQLITE_DONE && packed.failed)
        rc = SQLITE_NOMEM;
    if (rc == SQLITE_DONE)
        rc = state_code(
            m, l,
            module_sums_unpack((struct bytes){(const uint8_t *)packed.at, packed.len}, &l->sums));
    text_release(&packed);
    return rc;
}

int module_lists_read(struct module_lists *m, struct module_list *l, size_t depth)
{
    int rc = state_code(m, l, module_sums_read(&l->sums, depth));
    const struct module_depth *d = &l->sums.depth[depth];
    for (uint32_t i = 0; rc == SQLITE_OK && i < d->count; i++)
        if (l->sums.module[d->first + i].tensor >= l->layout->tensors)
            rc = blocks_damaged(&m->blocks, l->layout->id, "has modules without tensors");
    l->sums.depth[depth].read = rc == SQLITE_OK;
    return rc;
}

int module_lists_get(struct module_lists *m, struct layout *layout, struct module_list **out)
{
    if (layout->index < m->space && m->list[layout->index]) {
        *out = m->list[layout->index];
        return SQLITE_OK;
    }
    if (m->space < m->blocks.layout_space) {
        struct module_list **list =
            realloc(m->list, m->blocks.layout_space * sizeof(struct module_list *));
        if (!list)
            return SQLITE_NOMEM;
        memset(list + m->space, 0, (m->blocks.layout_space - m->space) * sizeof(*list));
        m->list = list;
        m->space = m->blocks.layout_space;
    }
    struct module_list *l = calloc(1, sizeof(*l));
    if (!l)
        return SQLITE_NOMEM;
    l->layout = layout;
    int rc = read_packed(m, l);
    l->plain = rc == SQLITE_OK;
    if (rc == SQLITE_DONE)
        rc = pack_rows(m, l);
    if (rc != SQLITE_OK) {
        module_sums_release(&l->sums);
        free(l);
        return rc;
    }
    *out = m->list[layout->index] = l;
    return SQLITE_OK;
}

int module_name(struct module_lists *m, struct module_list *l, uint32_t at, struct cell *out)
{
    const struct module_place *p = &l->sums.module[at];
    const struct block *block = NULL;
    int rc = module_read(m, l, at);
    if (rc == SQLITE_OK)
        rc = blocks_check(&m->blocks, l->layout);
    if (rc == SQLITE_OK)
        rc = block_row(&m->blocks, l->layout, p->tensor, 1u << BLOCK_NAME, &m->own, &block);
    if (rc != SQLITE_OK)
        return rc;
    const struct cell whole = block_text(block, p->tensor, BLOCK_NAME);
    text_reset(&m->name);
    text_add(&m->name, whole.at, whole.at ? module_bytes(whole.at, whole.len, p->length) : 0);
    *out = (struct cell){text_str(&m->name), m->name.len};
    return out->at ? SQLITE_OK : SQLITE_NOMEM;
}

/* --- sorting ------------------------------------------------------------------------------- */

#define DEPTHS 64

/* The values of a column that entries have, each once. */
struct ranking {
    bool values;           /* entries are of module_lists_sort_values() */
    struct strmap numbers; /* of values to their place in `value` */
    struct arena arena;    /* of these */
    struct ranked {
        struct cell bytes; /* a name, or a number that memcmp() orders */
        uint32_t first;    /* place before sorting */
    } * value;
    size_t count, space;
    uint32_t *of, *rank;            /* [entry], [first] */
    const struct module_list *list; /* of the last entry; the place of each of its sums' values */
    uint32_t *of_sum;
    size_t of_sum_space;
    uint32_t of_depth[DEPTHS]; /* the same for depths, plus 1; 0: not known */
};

static int by_bytes(const void *a, const void *b)
{
    const struct ranked *x = a, *y = b;
    const size_t less = x->bytes.len < y->bytes.len ? x->bytes.len : y->bytes.len;
    const int sign = memcmp(x->bytes.at, y->bytes.at, less);
    return sign ? sign : (x->bytes.len > less) - (y->bytes.len > less);
}

static int rank_value(struct ranking *r, struct cell bytes, uint32_t *out)
{
    const char *kept;
    bool added = false;
    uint64_t *place = strmap_keep(&r->numbers, &r->arena, bytes.at, bytes.len, &kept, &added);
    struct ranked *list = list_grow(r->value, r->count, &r->space, sizeof(*list));
    r->value = list ? list : r->value;
    if (!place || !list)
        return SQLITE_NOMEM;
    if (added) {
        *place = r->count;
        r->value[r->count] = (struct ranked){{kept, bytes.len}, (uint32_t)r->count};
        r->count++;
    }
    *out = (uint32_t)*place;
    return SQLITE_OK;
}

/* Forget the sums' values of the list before. */
static int rank_list(struct ranking *r, const struct module_list *l)
{
    r->list = l;
    if (!r->of_sum || r->of_sum_space < l->sums.sum_count) {
        uint32_t *list = realloc(r->of_sum, (l->sums.sum_count + 1) * sizeof(*list));
        if (!list)
            return SQLITE_NOMEM;
        r->of_sum = list;
        r->of_sum_space = l->sums.sum_count;
    }
    for (size_t i = 0; i < l->sums.sum_count; i++)
        r->of_sum[i] = 0;
    return SQLITE_OK;
}

static int rank_number(struct ranking *r, int64_t number, uint32_t *known, uint32_t *out)
{
    char bytes[sizeof(uint64_t)];
    const uint64_t high = (uint64_t)number ^ (uint64_t)1 << 63;
    int rc = SQLITE_OK;
    for (int i = 0; !*known && i < 8; i++)
        bytes[i] = (char)(high >> (56 - 8 * i));
    if (!*known && (rc = rank_value(r, (struct cell){bytes, sizeof(bytes)}, out)) == SQLITE_OK)
        *known = *out + 1;
    *out = *known - 1;
    return rc;
}

static int rank_entry(struct module_lists *m, struct ranking *r, const struct module_entry *e,
                      enum module_column column, uint32_t *out)
{
    struct module_list *l = m->list[e->layout];
    uint32_t unknown = 0;
    assert(l);
    if (column == MODULE_NAME) {
        struct cell name = {0};
        int rc = module_name(m, l, e->at, &name);
        return rc == SQLITE_OK ? rank_value(r, name, out) : rc;
    }
    if (column == MODULE_DEPTH) {
        const size_t i = r->values ? e->at : module_depth_at(l, e->at);
        const uint32_t depth = l->sums.depth[i].depth;
        return rank_number(r, depth, depth < DEPTHS ? &r->of_depth[depth] : &unknown, out);
    }
    if (r->list != l && rank_list(r, l) != SQLITE_OK)
        return SQLITE_NOMEM;
    int rc = r->values ? SQLITE_OK : module_read(m, l, e->at);
    if (rc != SQLITE_OK)
        return rc;
    const uint32_t sum = r->values ? e->at : l->sums.module[e->at].sum;
    return rank_number(r, module_sum_number(&l->sums.sum[sum], column), &r->of_sum[sum], out);
}

/* Sort entries by rank, and number those that are alike in it and were alike before. */
static int place_entries(const struct ranking *r, struct module_entry *e, size_t count)
{
    struct module_entry *sorted = malloc((count + 1) * sizeof(*sorted));
    size_t *place = calloc(r->count + 1, sizeof(*place));
    uint32_t *of = malloc((count + 1) * sizeof(*of)), group = 0;
    const bool good = sorted && place && of;
    for (size_t i = 0; good && i < count; i++)
        place[r->rank[r->of[i]] + 1]++;
    for (size_t i = 0; good && i < r->count; i++)
        place[i + 1] += place[i];
    for (size_t i = 0; good && i < count; i++) {
        const size_t to = place[r->rank[r->of[i]]]++;
        sorted[to] = e[i];
        of[to] = r->of[i];
    }
    for (size_t i = 0; good && i < count; i++) {
        group += i && (of[i] != of[i - 1] || sorted[i].group != sorted[i - 1].group);
        e[i] = (struct module_entry){sorted[i].layout, sorted[i].at, group};
    }
    free(sorted);
    free(place);
    free(of);
    return good ? SQLITE_OK : SQLITE_NOMEM;
}

static int sort_by(struct module_lists *m, struct module_entry *e, size_t count,
                   struct module_key key, bool values)
{
    struct ranking r = {.values = values, .of = malloc((count + 1) * sizeof(uint32_t))};
    int rc = r.of ? SQLITE_OK : SQLITE_NOMEM;
    for (size_t i = 0; rc == SQLITE_OK && i < count; i++)
        rc = rank_entry(m, &r, &e[i], key.column, &r.of[i]);
    if (rc == SQLITE_OK && !(r.rank = malloc((r.count + 1) * sizeof(uint32_t))))
        rc = SQLITE_NOMEM;
    if (rc == SQLITE_OK && r.count)
        qsort(r.value, r.count, sizeof(*r.value), by_bytes);
    for (size_t i = 0; rc == SQLITE_OK && i < r.count; i++)
        r.rank[r.value[i].first] = (uint32_t)(key.backwards ? r.count - 1 - i : i);
    if (rc == SQLITE_OK)
        rc = place_entries(&r, e, count);
    strmap_release(&r.numbers);
    arena_release(&r.arena);
    free(r.value);
    free(r.of);
    free(r.rank);
    free(r.of_sum);
    return rc;
}

int module_lists_sort(struct module_lists *m, struct module_entry *e, size_t count,
                      const struct module_key *key, size_t keys)
{
    int rc = SQLITE_OK;
    for (size_t i = 0; i < count; i++)
        e[i].group = 0;
    while (rc == SQLITE_OK && keys--)
        rc = sort_by(m, e, count, key[keys], false);
    return rc;
}

int module_lists_sort_values(struct module_lists *m, struct module_entry *e, size_t count,
                             struct module_key key)
{
    for (size_t i = 0; i < count; i++)
        e[i].group = 0;
    return sort_by(m, e, count, key, true);
}
