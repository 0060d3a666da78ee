#include <string.h>

#include "catalog/base/list.h"
#include "catalog/sql/tensor_cursor.h"

static const char *const detail_sql[DETAILS] = {
    [DETAIL_LABEL] = "SELECT l.name, c.path FROM _checkpoints c LEFT JOIN _labels l"
                     " ON l.id = c.id WHERE c.id = ?1",
    [DETAIL_FILES] = "SELECT id, path, base FROM _files WHERE id BETWEEN ?1 AND ?2 ORDER BY id",
    [DETAIL_PLACES] = "SELECT id, storage, file, start, stored FROM _placements"
                      " WHERE id BETWEEN ?1 AND ?2",
    [DETAIL_HASHES] = "SELECT x.id, h.hash FROM _tensor_hashes x JOIN _content_hashes h"
                      " ON h.id = x.hash WHERE x.id BETWEEN ?1 AND ?2",
    [DETAIL_NAMED] = "SELECT id FROM _layout_tensors WHERE name = ?3 AND id BETWEEN ?1 AND ?2"
                     " ORDER BY id",
};

int tensor_detail(struct tensor_table *t, enum detail which, int64_t first, int64_t last,
                  sqlite3_stmt **out)
{
    int rc = t->detail[which]
                 ? SQLITE_OK
                 : sqlite3_prepare_v3(t->db, detail_sql[which], -1, SQLITE_PREPARE_PERSISTENT,
                                      &t->detail[which], NULL);
    *out = t->detail[which];
    if (rc == SQLITE_OK)
        rc = sqlite3_bind_int64(*out, 1, first);
    if (rc == SQLITE_OK && sqlite3_bind_parameter_count(*out) > 1)
        rc = sqlite3_bind_int64(*out, 2, last);
    return rc;
}

void tensor_leave(struct tensor_cursor *c)
{
    c->label_known = c->files.known = c->places.known = c->hashes.known = false;
    c->places.at = c->hashes.at = NULL;
    if (c->own.used) {
        arena_release(&c->own);
        c->own = (struct arena){0};
    }
}

static int copy_cell(struct arena *a, sqlite3_stmt *s, int column, struct cell *out)
{
    const char *text = (const char *)sqlite3_column_text(s, column);
    const size_t len = (size_t)sqlite3_column_bytes(s, column);
    *out = (struct cell){text ? arena_copy(a, text, len) : NULL, len};
    return text && !out->at ? SQLITE_NOMEM : SQLITE_OK;
}

int tensor_label(struct tensor_cursor *c)
{
    sqlite3_stmt *s = NULL;
    if (c->label_known)
        return SQLITE_OK;
    int rc = tensor_detail(table_of(c), DETAIL_LABEL, c->hit.checkpoint, 0, &s);
    if (rc == SQLITE_OK && (rc = sqlite3_step(s)) == SQLITE_ROW) {
        rc = copy_cell(&c->own, s, 0, &c->name);
        if (rc == SQLITE_OK)
            rc = copy_cell(&c->own, s, 1, &c->path);
        c->label_known = rc == SQLITE_OK;
    }
    sqlite3_reset(s);
    return rc == SQLITE_DONE ? SQLITE_OK : rc;
}

/* Whether so few tensors of the checkpoint are wanted that they are read one by one. */
static bool wants_few(const struct tensor_cursor *c)
{
    return c->end <= FEW_TENSORS && c->plan.order != IN_KEYS &&
           (c->hit.ord >= 0 || c->selection->ords || c->plan.access != BY_SCAN);
}

static int find_block(struct tensor_cursor *c)
{
    struct blocks *b = &table_of(c)->blocks;
    int rc = wants_few(c)
                 ? block_row(b, c->hit.layout, c->ord, c->read_columns, &c->own_row, &c->block)
                 : block_load(b, c->hit.layout, c->ord, c->read_columns, &c->block);
    c->block_round = b->round;
    c->block_end = c->block->first + (c->block == c->own_row ? 1 : BLOCK_TENSORS);
    return rc;
}

static inline int current_block(struct tensor_cursor *c)
{
    return c->block && c->ord >= c->block->first && c->ord < c->block_end &&
                   c->block_round == table_of(c)->blocks.round
               ? SQLITE_OK
               : find_block(c);
}

/* With -1 for its length SQLite need not copy a text once more to put a NUL after it. */
static int put_cell(sqlite3_context *ctx, struct cell cell)
{
    if (cell.at)
        sqlite3_result_text(ctx, cell.at, strlen(cell.at) == cell.len ? -1 : (int)cell.len,
                            SQLITE_TRANSIENT);
    return SQLITE_OK;
}

static int put_integer(sqlite3_context *ctx, int64_t number)
{
    if (number != NUMBER_NULL)
        sqlite3_result_int64(ctx, number);
    return SQLITE_OK;
}

/* Read rows of tensors of the checkpoint into a window around the one at `at`: a single one where few
 * tensors are wanted, else those of its block. How many there are to read, a damaged catalog may say
 * wrongly: so no window is longer. */
static int open_window(struct tensor_cursor *c, struct window *w, int64_t at, size_t size)
{
    const bool few = c->end <= FEW_TENSORS;
    w->known = false;
    w->first = few ? at : at - at % BLOCK_TENSORS;
    w->last = few ? at : w->first + BLOCK_TENSORS - 1;
    const size_t bytes = (size_t)(w->last - w->first + 1) * size;
    if (!w->at)
        w->at = arena_room(&c->own, bytes);
    if (w->at)
        memset(w->at, 0, bytes);
    return w->at ? SQLITE_OK : SQLITE_NOMEM;
}

static bool in_window(const struct window *w, int64_t at)
{
    return w->known && at >= w->first && at <= w->last;
}

/* Step through rows of the checkpoint with positions in a window; SQLITE_ROW, or SQLITE_OK at
 * the end. */
static int window_row(const struct window *w, sqlite3_stmt *s, int64_t *position)
{
    int rc;
    while ((rc = sqlite3_step(s)) == SQLITE_ROW) {
        *position = (sqlite3_column_int64(s, 0) & TENSOR_ORD_MASK) - w->first;
        if (*position >= 0 && *position <= w->last - w->first)
            return SQLITE_ROW;
    }
    return rc == SQLITE_DONE ? SQLITE_OK : rc;
}

static int current_place(struct tensor_cursor *c, struct place *out)
{
    if (!c->hit.placed) {
        int rc = current_block(c);
        if (rc != SQLITE_OK)
            return rc;
        const unsigned have = c->read_columns;
#define NUMBER(column) (have >> (column)&1 ? block_number(c->block, c->ord, (column)) : NUMBER_NULL)
        *out = (struct place){NUMBER(BLOCK_STORAGE), NUMBER(BLOCK_FILE), NUMBER(BLOCK_START),
                              NUMBER(BLOCK_STORED)};
#undef NUMBER
        return SQLITE_OK;
    }
    struct window *w = &c->places;
    if (!in_window(w, c->ord)) {
        sqlite3_stmt *s = NULL;
        int64_t at;
        int rc = open_window(c, w, c->ord, sizeof(struct place));
        for (int64_t i = 0; rc == SQLITE_OK && i <= w->last - w->first; i++)
            ((struct place *)w->at)[i] =
                (struct place){NUMBER_NULL, NUMBER_NULL, NUMBER_NULL, NUMBER_NULL};
        if (rc == SQLITE_OK)
            rc = tensor_detail(table_of(c), DETAIL_PLACES, tensor_id_of(c, w->first),
                               tensor_id_of(c, w->last), &s);
        while (rc == SQLITE_OK && (rc = window_row(w, s, &at)) == SQLITE_ROW) {
            int64_t *to = (int64_t *)&((struct place *)w->at)[at];
            rc = SQLITE_OK;
            for (int i = 0; i < 4; i++)
                to[i] = sqlite3_column_type(s, i + 1) == SQLITE_NULL
                            ? NUMBER_NULL
                            : sqlite3_column_int64(s, i + 1);
        }
        sqlite3_reset(s);
        w->known = rc == SQLITE_OK;
        if (rc != SQLITE_OK)
            return rc;
    }
    *out = ((struct place *)w->at)[c->ord - w->first];
    return SQLITE_OK;
}

/* Read the files of the checkpoint: the one that is asked for where few tensors are wanted, else the
 * first of them, and all when another is asked for. */
static int read_files(struct tensor_cursor *c, int64_t position)
{
    struct file_list *list = &c->files;
    const bool few = c->end <= FEW_TENSORS;
    sqlite3_stmt *s = NULL;
    size_t space = 0;
    *list = (struct file_list){.first = few ? position : 0,
                               .last = few                    ? position
                                       : position < FEW_FILES ? FEW_FILES - 1
                                                              : TENSOR_ORD_MASK};
    int rc = tensor_detail(table_of(c), DETAIL_FILES, tensor_id_of(c, list->first),
                           tensor_id_of(c, list->last), &s);
    while (rc == SQLITE_OK && (rc = sqlite3_step(s)) == SQLITE_ROW) {
        struct file_cell *at = arena_grow(&c->own, list->at, list->count, &space, sizeof(*at));
        if (!at) {
            rc = SQLITE_NOMEM;
            break;
        }
        list->at = at;
        at += list->count++;
        at->position = sqlite3_column_int64(s, 0) & TENSOR_ORD_MASK;
        at->base = sqlite3_column_int64(s, 2);
        rc = copy_cell(&c->own, s, 1, &at->path);
    }
    sqlite3_reset(s);
    list->known = rc == SQLITE_DONE;
    return rc == SQLITE_DONE ? SQLITE_OK : rc;
}

/* The file at a position of the checkpoint's; its path is NULL if there is none. */
static int current_file(struct tensor_cursor *c, int64_t position, struct file_cell *out)
{
    struct file_list *list = &c->files;
    *out = (struct file_cell){.base = 0};
    if (position < 0 || position > TENSOR_ORD_MASK)
        return SQLITE_OK;
    if (!list->known || position < list->first || position > list->last) {
        int rc = read_files(c, position);
        if (rc != SQLITE_OK)
            return rc;
    }
    size_t low = 0, high = list->count;
    while (low < high) {
        const size_t middle = low + (high - low) / 2;
        if (list->at[middle].position < position)
            low = middle + 1;
        else
            high = middle;
    }
    if (low < list->count && list->at[low].position == position)
        *out = list->at[low];
    return SQLITE_OK;
}

static int give_hash(struct tensor_cursor *c, sqlite3_context *ctx)
{
    struct window *w = &c->hashes;
    if (!in_window(w, c->ord)) {
        sqlite3_stmt *s = NULL;
        int64_t at;
        int rc = open_window(c, w, c->ord, sizeof(struct cell));
        if (rc == SQLITE_OK)
            rc = tensor_detail(table_of(c), DETAIL_HASHES, tensor_id_of(c, w->first),
                               tensor_id_of(c, w->last), &s);
        while (rc == SQLITE_OK && (rc = window_row(w, s, &at)) == SQLITE_ROW)
            rc = copy_cell(&c->own, s, 1, &((struct cell *)w->at)[at]);
        sqlite3_reset(s);
        w->known = rc == SQLITE_OK;
        if (rc != SQLITE_OK)
            return rc;
    }
    return put_cell(ctx, ((struct cell *)w->at)[c->ord - w->first]);
}

static int give_place(struct tensor_cursor *c, sqlite3_context *ctx, int column)
{
    static const char *const words[] = {"none", "range", "pieces", "chunks", "inline"};
    struct place p;
    struct file_cell f;
    int rc = current_place(c, &p);
    if (rc != SQLITE_OK)
        return rc;
    if (column == TENSOR_STORED)
        return put_integer(ctx, p.stored);
    if (column == TENSOR_STORAGE) {
        const int64_t word = p.storage > 0 && p.storage < 5 ? p.storage : 0;
        sqlite3_result_text(ctx, words[word], -1, SQLITE_STATIC);
        return SQLITE_OK;
    }
    if (p.file == NUMBER_NULL || (rc = current_file(c, p.file, &f)) != SQLITE_OK)
        return rc;
    if (column == TENSOR_FILE)
        return put_cell(ctx, f.path);
    int64_t offset;
    if (p.storage != 1 || !f.path.at || p.start == NUMBER_NULL)
        return SQLITE_OK;
    if (__builtin_add_overflow(p.start, f.base, &offset))
        sqlite3_result_double(ctx, (double)p.start + (double)f.base); /* as SQL adds */
    else
        sqlite3_result_int64(ctx, offset);
    return SQLITE_OK;
}

static int give_label(struct tensor_cursor *c, sqlite3_context *ctx, int column)
{
    int rc = tensor_label(c);
    return rc == SQLITE_OK ? put_cell(ctx, column == TENSOR_PATH ? c->path : c->name) : rc;
}

static int give_of_block(struct tensor_cursor *c, sqlite3_context *ctx, int column)
{
    if (column == TENSOR_NAME && c->named >= 0)
        return put_cell(ctx, c->test[c->named].text);
    int rc = current_block(c);
    if (rc != SQLITE_OK)
        return rc;
    switch (column) {
    case TENSOR_NAME:
        return put_cell(ctx, block_text(c->block, c->ord, BLOCK_NAME));
    case TENSOR_DTYPE:
        return put_cell(ctx, block_text(c->block, c->ord, BLOCK_DTYPE));
    case TENSOR_SHAPE:
        return put_cell(ctx, block_text(c->block, c->ord, BLOCK_SHAPE));
    case TENSOR_RANK:
        return put_integer(ctx, shape_rank(block_text(c->block, c->ord, BLOCK_SHAPE)));
    case TENSOR_ELEMENTS:
        return put_integer(ctx, block_number(c->block, c->ord, BLOCK_ELEMENTS));
    default:
        return put_integer(ctx, block_number(c->block, c->ord, BLOCK_NBYTES));
    }
}

int tensor_cell(struct tensor_cursor *c, sqlite3_context *ctx, int column)
{
    int rc = SQLITE_OK;
    if (c->values) {
        int at = 0;
        for (int i = 0; i < column; i++)
            at += (int)(c->plan.used >> i & 1);
        sqlite3_result_value(ctx, sqlite3_column_value(c->values, at));
        return SQLITE_OK;
    }
    switch (column) {
    case TENSOR_ID:
        sqlite3_result_int64(ctx, tensor_id_of(c, c->ord));
        break;
    case TENSOR_CHECKPOINT_ID:
        sqlite3_result_int64(ctx, c->hit.checkpoint);
        break;
    case TENSOR_ORD:
        sqlite3_result_int64(ctx, c->ord);
        break;
    case TENSOR_CHECKPOINT:
    case TENSOR_PATH:
        rc = give_label(c, ctx, column);
        break;
    case TENSOR_STORED:
    case TENSOR_STORAGE:
    case TENSOR_FILE:
    case TENSOR_OFFSET:
        rc = give_place(c, ctx, column);
        break;
    case TENSOR_HASH:
        rc = give_hash(c, ctx);
        break;
    default:
        rc = give_of_block(c, ctx, column);
    }
    return rc;
}
