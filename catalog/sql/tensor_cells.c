#include <string.h>

#include "catalog/data/model/tensor.h"
#include "catalog/db/statement.h"
#include "catalog/sql/tensor_cursor.h"
#include "catalog/sql/vtab.h"

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
    int rc = vtab_once(t->db, &t->detail[which], detail_sql[which], "ii", first, last);
    *out = t->detail[which];
    return rc;
}

void tensor_leave(struct tensor_cursor *c)
{
    c->label_known = c->files.known = c->places.known = c->hashes.known = false;
    c->files.at = c->places.at = c->hashes.at = NULL;
    if (c->own.used) {
        arena_release(&c->own);
        c->own = (struct arena){0};
    }
}

static int copy_cell(struct arena *a, sqlite3_stmt *s, int column, struct cell *out)
{
    const char *text = db_text(s, column);
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

static int find_block(struct tensor_cursor *c)
{
    struct blocks *b = &table_of(c)->blocks;
    /* Few tensors of a checkpoint are read one by one. */
    const bool few = c->end <= FEW_TENSORS && c->plan.order != IN_KEYS &&
                     (c->hit.ord >= 0 || c->selection->ords || c->plan.access != BY_SCAN);
    int rc = few ? block_row(b, c->hit.layout, c->ord, c->read_columns, &c->own_row, &c->block)
                 : block_load(b, c->hit.layout, c->ord, c->read_columns, &c->block);
    if (rc != SQLITE_OK) {
        c->block = NULL;
        return rc;
    }
    c->block_round = b->round;
    c->block_end = c->block->first + (c->block == c->own_row ? 1 : BLOCK_TENSORS);
    return SQLITE_OK;
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

/* The kinds of windows: the statement that reads one, the size of a row, and how a row is taken. */
struct windowed {
    enum detail detail;
    size_t size;
    int (*take)(struct arena *, sqlite3_stmt *, void *row);
};

static int64_t number_at(sqlite3_stmt *s, int column)
{
    return sqlite3_column_type(s, column) == SQLITE_NULL ? NUMBER_NULL
                                                         : sqlite3_column_int64(s, column);
}

static int take_place(struct arena *a, sqlite3_stmt *s, void *row)
{
    (void)a;
    *(struct place *)row =
        (struct place){number_at(s, 1), number_at(s, 2), number_at(s, 3), number_at(s, 4), true};
    return SQLITE_OK;
}

static int take_file(struct arena *a, sqlite3_stmt *s, void *row)
{
    struct file_cell *f = row;
    f->base = sqlite3_column_int64(s, 2);
    return copy_cell(a, s, 1, &f->path);
}

static int take_hash(struct arena *a, sqlite3_stmt *s, void *row)
{
    return copy_cell(a, s, 1, row);
}

/* Find the row for a position of the checkpoint, 0 if absent. Reads a window around
 * it: that position alone where few tensors are wanted, or `alone` says so, else its block. A
 * damaged catalog may state a wrong number of tensors, so no window is longer. */
static int look_in_window(struct tensor_cursor *c, struct window *w, const struct windowed *what,
                          int64_t at, bool alone, const void **out)
{
    int rc = SQLITE_OK;
    if (!w->known || at < w->first || at > w->last) {
        sqlite3_stmt *s = NULL;
        alone |= c->end <= FEW_TENSORS;
        w->known = false;
        w->first = alone ? at : at - at % BLOCK_TENSORS;
        w->last = alone ? at : w->first + BLOCK_TENSORS - 1;
        const size_t bytes = (size_t)(w->last - w->first + 1) * what->size;
        if (!w->at && !(w->at = arena_room(&c->own, bytes)))
            return SQLITE_NOMEM;
        memset(w->at, 0, bytes);
        rc = tensor_detail(table_of(c), what->detail, tensor_id_of(c, w->first),
                           tensor_id_of(c, w->last), &s);
        while (rc == SQLITE_OK && (rc = sqlite3_step(s)) == SQLITE_ROW) {
            const int64_t k = (sqlite3_column_int64(s, 0) & TENSOR_ORD_MASK) - w->first;
            rc = k < 0 || k > w->last - w->first
                     ? SQLITE_OK
                     : what->take(&c->own, s, w->at + (size_t)k * what->size);
        }
        sqlite3_reset(s);
        rc = rc == SQLITE_DONE ? SQLITE_OK : rc;
        w->known = rc == SQLITE_OK;
    }
    *out = w->at + (size_t)(at - w->first) * what->size;
    return rc;
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
                              NUMBER(BLOCK_STORED), true};
#undef NUMBER
        return SQLITE_OK;
    }
    static const struct windowed places = {DETAIL_PLACES, sizeof(*out), take_place};
    const void *row;
    int rc = look_in_window(c, &c->places, &places, c->ord, false, &row);
    *out = rc == SQLITE_OK && ((const struct place *)row)->known
               ? *(const struct place *)row
               : (struct place){NUMBER_NULL, NUMBER_NULL, NUMBER_NULL, NUMBER_NULL, false};
    return rc;
}

/* The file at a position of the checkpoint's; its path is NULL if absent. Files of a second block
 * are read one by one: tensors may alternate between blocks. */
static int current_file(struct tensor_cursor *c, int64_t position, struct file_cell *out)
{
    static const struct windowed files = {DETAIL_FILES, sizeof(*out), take_file};
    const void *row;
    *out = (struct file_cell){.base = 0};
    if (position < 0 || position > TENSOR_ORD_MASK)
        return SQLITE_OK;
    int rc = look_in_window(c, &c->files, &files, position, c->files.known, &row);
    if (rc == SQLITE_OK)
        *out = *(const struct file_cell *)row;
    return rc;
}

static int give_hash(struct tensor_cursor *c, sqlite3_context *ctx)
{
    static const struct windowed hashes = {DETAIL_HASHES, sizeof(struct cell), take_hash};
    const void *row;
    int rc = look_in_window(c, &c->hashes, &hashes, c->ord, false, &row);
    return rc == SQLITE_OK ? put_cell(ctx, *(const struct cell *)row) : rc;
}

int tensor_storage(struct tensor_cursor *c, unsigned *out)
{
    struct place p;
    int rc = current_place(c, &p);
    *out = rc == SQLITE_OK ? storage_kind(p.storage) : 0;
    return rc;
}

int tensor_stored(struct tensor_cursor *c, int64_t *out)
{
    struct place p = {.stored = NUMBER_NULL};
    int rc = current_place(c, &p);
    *out = p.stored;
    return rc;
}

int tensor_file(struct tensor_cursor *c, int64_t *position)
{
    struct place p = {.file = NUMBER_NULL};
    int rc = current_place(c, &p);
    *position = p.file >= 0 && p.file <= TENSOR_ORD_MASK ? p.file : FILE_NONE;
    return rc;
}

static int give_place(struct tensor_cursor *c, sqlite3_context *ctx, int column)
{
    struct place p;
    struct file_cell f;
    if (column == TENSOR_FILE && c->plan.order == IN_FILE)
        return put_cell(ctx, c->file.path);
    int rc = current_place(c, &p);
    if (rc != SQLITE_OK)
        return rc;
    if (column == TENSOR_STORED)
        return put_integer(ctx, p.stored);
    if (column == TENSOR_STORAGE) {
        sqlite3_result_text(ctx, storage_name(p.storage), -1, SQLITE_STATIC);
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

static int give_of_block(struct tensor_cursor *c, sqlite3_context *ctx, int column)
{
    if (column == TENSOR_NAME && c->named >= 0)
        return put_cell(ctx, c->test[c->named].text);
    if (column == TENSOR_NAME && c->group_named)
        return put_cell(ctx, (struct cell){text_str(&c->group_name), c->group_name.len});
    int rc = current_block(c);
    if (rc != SQLITE_OK)
        return rc;
    switch (column) {
    case TENSOR_NAME: return put_cell(ctx, block_text(c->block, c->ord, BLOCK_NAME));
    case TENSOR_DTYPE: return put_cell(ctx, block_text(c->block, c->ord, BLOCK_DTYPE));
    case TENSOR_SHAPE: return put_cell(ctx, block_text(c->block, c->ord, BLOCK_SHAPE));
    case TENSOR_RANK:
        return put_integer(ctx, shape_rank(block_text(c->block, c->ord, BLOCK_SHAPE)));
    case TENSOR_ELEMENTS: return put_integer(ctx, block_number(c->block, c->ord, BLOCK_ELEMENTS));
    default: return put_integer(ctx, block_number(c->block, c->ord, BLOCK_NBYTES));
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
    case TENSOR_ID: sqlite3_result_int64(ctx, tensor_id_of(c, c->ord)); break;
    case TENSOR_CHECKPOINT_ID: sqlite3_result_int64(ctx, c->hit.checkpoint); break;
    case TENSOR_ORD: sqlite3_result_int64(ctx, c->ord); break;
    case TENSOR_CHECKPOINT:
    case TENSOR_PATH:
        rc = tensor_label(c);
        if (rc == SQLITE_OK)
            rc = put_cell(ctx, column == TENSOR_PATH ? c->path : c->name);
        break;
    case TENSOR_STORED:
    case TENSOR_STORAGE:
    case TENSOR_FILE:
    case TENSOR_OFFSET: rc = give_place(c, ctx, column); break;
    case TENSOR_HASH: rc = give_hash(c, ctx); break;
    case TENSOR_CHECKPOINTS:
        rc = blocks_holders(&table_of(c)->blocks, c->hit.layout);
        sqlite3_result_int64(ctx, (sqlite3_int64)c->hit.layout->holder_count);
        break;
    default: rc = give_of_block(c, ctx, column);
    }
    return rc;
}
