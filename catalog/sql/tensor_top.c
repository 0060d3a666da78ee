/*
 * tensor_top.c - the first rows of `tensor` in the order of a statement that has a LIMIT. SQLite would sort all rows,
 * with all their columns. Here the tensors of a layout are put in order once, and of each checkpoint those are looked
 * at that are better than what was found so far.
 *
 * If SQLite wants more, because of a condition that only it can test, all rows are gone through again for the next ones.
 */
#include <stdlib.h>
#include <string.h>

#include "catalog/base/list.h"
#include "catalog/data/model/packed_columns.h"
#include "catalog/sql/tensor_cursor.h"

#define MOST_ROWS ((size_t)1 << 20)

void tensor_top_forget(struct tensor_cursor *c, bool again)
{
    struct top *t = &c->top;
    text_reset(&t->last);
    if (again && t->count)
        text_add(&t->last, t->row[t->count - 1].key, t->row[t->count - 1].len);
    for (size_t i = 0; i < t->count; i++)
        free(t->row[i].key);
    t->count = t->at = 0;
    t->full = t->left = false;
    if (again)
        return;
    free(t->row);
    text_release(&t->key);
    text_release(&t->last);
    *t = (struct top){0};
}

static int order_of_rows(const void *a, const void *b)
{
    const struct top_row *x = a, *y = b;
    return memcmp(x->key, y->key, x->len < y->len ? x->len : y->len);
}

static void keep_first(struct top *t)
{
    if (t->count)
        qsort(t->row, t->count, sizeof(*t->row), order_of_rows);
    for (; t->count > t->most; t->left = true)
        free(t->row[--t->count].key);
    t->full = t->count == t->most;
}

static int put_column(struct tensor_cursor *c, const struct block *block, uint32_t at, int column)
{
    struct text *key = &c->top.key;
    int64_t number = 0;
    int rc = SQLITE_OK;
    switch (column) {
    case TENSOR_ID: groups_key_number(key, tensor_id_of(c, c->ord)); break;
    case TENSOR_CHECKPOINT_ID: groups_key_number(key, c->hit.checkpoint); break;
    case TENSOR_ORD: groups_key_number(key, c->ord); break;
    case TENSOR_CHECKPOINT:
    case TENSOR_PATH:
        rc = tensor_label(c);
        groups_key_text(key, column == TENSOR_PATH ? c->path : c->name);
        break;
    case TENSOR_STORED:
        rc = c->hit.placed ? tensor_stored(c, &number) : SQLITE_OK;
        groups_key_number(key, c->hit.placed ? number : block_number(block, at, BLOCK_STORED));
        break;
    default: groups_key(key, block, at, column);
    }
    return rc;
}

static bool is_of_tensor(int column)
{
    return column >= TENSOR_NAME && column <= TENSOR_STORED;
}

/* Make the key of the current layout's tensor of the first so many keys. */
static int put_keys(struct tensor_cursor *c, uint32_t ord, int keys)
{
    struct blocks *b = &table_of(c)->blocks;
    struct layout *l = c->hit.layout;
    struct text *key = &c->top.key;
    struct block rows = {0};
    const struct block *block = &rows;
    unsigned columns = 0;
    for (int i = 0; i < keys; i++)
        columns |= tensor_block_columns(c->plan.key[i].column);
    const bool packable = groups_packable(columns);
    int rc = packable ? blocks_packed(b, l) : SQLITE_OK;
    uint32_t at = ord;
    if (rc == SQLITE_OK && packable && l->packed) {
        rows = groups_rows(l->packed);
        at = l->packed->of[ord];
    } else if (rc == SQLITE_OK && columns) {
        rc = block_load(b, l, ord, columns, &block);
    }
    text_reset(key);
    for (int i = 0; rc == SQLITE_OK && i < keys; i++) {
        const size_t from = key->len;
        rc = put_column(c, block, at, c->plan.key[i].column);
        for (size_t k = from; c->plan.key[i].backwards && k < key->len; k++)
            key->at[k] = (char)~key->at[k];
    }
    return rc;
}

int tensor_top_trim(struct tensor_cursor *c, uint32_t *ords, uint32_t *count)
{
    struct top *t = &c->top;
    const struct packed_columns *p = c->hit.layout->packed;
    unsigned columns = 0;
    uint32_t kept = 0;
    int rc = SQLITE_OK, keys = 0;
    for (; keys < c->plan.keys && is_of_tensor(c->plan.key[keys].column); keys++)
        columns |= tensor_block_columns(c->plan.key[keys].column);
    if (!t->full || !keys)
        return SQLITE_OK;
    enum { UNKNOWN, GOOD, WORSE };
    const bool packed = p && groups_packable(columns);
    unsigned char *known = packed ? arena_alloc(&c->arena, p->rows + 1) : NULL;
    if (packed && !known)
        return SQLITE_NOMEM;
    for (uint32_t i = 0; rc == SQLITE_OK && i < *count; i++) {
        unsigned char is = packed ? known[p->of[ords[i]]] : UNKNOWN;
        if (is == UNKNOWN) {
            rc = put_keys(c, ords[i], keys);
            const struct top_row row = {.key = t->key.at, .len = t->key.len};
            is = rc == SQLITE_OK && order_of_rows(&row, &t->row[t->most - 1]) > 0 ? WORSE : GOOD;
        }
        if (packed)
            known[p->of[ords[i]]] = is;
        if (is == GOOD)
            ords[kept++] = ords[i];
    }
    t->left |= kept < *count;
    *count = kept;
    return rc == SQLITE_OK && t->key.failed ? SQLITE_NOMEM : rc;
}

/* Look at the current row; *worse: all that was wanted is better. */
static int look_at_row(struct tensor_cursor *c, bool *worse)
{
    struct top *t = &c->top;
    int rc = put_keys(c, c->ord, c->plan.keys);
    groups_key_number(&t->key, tensor_id_of(c, c->ord)); /* equal rows come by id */
    if (rc == SQLITE_OK && !text_str(&t->key))
        rc = SQLITE_NOMEM;
    struct top_row row = {t->key.at, t->key.len, c->hit};
    const struct top_row last = {.key = t->last.at, .len = t->last.len};
    *worse = rc == SQLITE_OK && t->full && order_of_rows(&row, &t->row[t->most - 1]) > 0;
    t->left |= *worse;
    if (rc != SQLITE_OK || *worse || (last.len && order_of_rows(&row, &last) <= 0))
        return rc;
    struct top_row *list = list_grow(t->row, t->count, &t->space, sizeof(*list));
    if (!list)
        return SQLITE_NOMEM;
    t->row = list;
    row.hit.ord = c->ord;
    row.key = text_steal(&t->key);
    list[t->count++] = row;
    if (t->count == 2 * t->most)
        keep_first(t);
    return SQLITE_OK;
}

int tensor_top_begin(struct tensor_cursor *c)
{
    struct top *t = &c->top;
    tensor_top_forget(c, true);
    t->most = !t->most ? c->plan.top : t->most < MOST_ROWS / 1024 ? t->most * 1024 : MOST_ROWS;
    c->eof = false;
    return text_str(&t->last) ? SQLITE_OK : SQLITE_NOMEM;
}

int tensor_top_look(struct tensor_cursor *c)
{
    const bool sorted = !c->grouped && !tensor_has_own_places(c);
    bool worse = false;
    int rc = SQLITE_OK;
    for (; rc == SQLITE_OK && c->at < c->end && !(worse && sorted); c->at++) {
        tensor_go(c);
        rc = look_at_row(c, &worse);
    }
    return rc;
}

bool tensor_top_next(struct tensor_cursor *c)
{
    struct top *t = &c->top;
    if (!t->at)
        keep_first(t);
    c->eof = t->at == t->count;
    if (c->eof)
        return !t->left;
    tensor_leave(c);
    c->block = NULL;
    c->hit = t->row[t->at++].hit;
    c->ord = (uint32_t)c->hit.ord;
    c->at = 0;
    c->end = 1;
    return true;
}
