#include "catalog/sql/tensor_blocks.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "catalog/base/limits.h"
#include "catalog/base/list.h"
#include "catalog/base/text.h"
#include "catalog/data/model/packed_columns.h"
#include "catalog/db/ids.h"
#include "catalog/db/statement.h"
#include "catalog/sql/function.h"
#include "catalog/sql/vtab.h"

#define ASK_ALL_AFTER 32 /* layouts whose holders are looked up one by one */
#define ROWS_SHARE    32 /* 1/32 of a layout's tensors are read one by one, then blocks */

static_assert(BLOCK_TEXTS == CHECK_TEXTS && BLOCK_COLUMNS == CHECK_NUMBERS, "as they are checked");

static const char *const column_names[BLOCK_COLUMNS] = {
    [BLOCK_NAME] = "name",         [BLOCK_DTYPE] = "dtype",   [BLOCK_SHAPE] = "shape",
    [BLOCK_ELEMENTS] = "elements", [BLOCK_NBYTES] = "nbytes", [BLOCK_STORED] = "stored",
    [BLOCK_STORAGE] = "storage",   [BLOCK_FILE] = "file",     [BLOCK_START] = "start",
};

/* --- cells ------------------------------------------------------------------------------- */

int64_t shape_rank(struct cell shape)
{
    if (!shape.at)
        return NUMBER_NULL;
    int64_t rank = shape.len != 2 || memcmp(shape.at, "[]", 2) != 0;
    for (size_t i = 0; i < shape.len && shape.at[i]; i++)
        rank += shape.at[i] == ',';
    return rank;
}

/* --- layouts ----------------------------------------------------------------------------- */

const char *blocks_damage(const struct blocks *b)
{
    return b->damage;
}

int blocks_damaged(struct blocks *b, int64_t layout, const char *what)
{
    snprintf(b->damage, sizeof(b->damage),
             "the catalog is damaged: layout %lld %s; " DB_IMPORT_ANEW, (long long)layout, what);
    return SQLITE_CORRUPT_VTAB;
}

void block_free(struct block *block)
{
    if (!block)
        return;
    for (int i = 0; i < BLOCK_TEXTS; i++) {
        if (!(block->shared >> i & 1))
            free(block->bytes[i]);
        free(block->span[i]);
    }
    for (int i = 0; i < BLOCK_COLUMNS - BLOCK_TEXTS; i++)
        free(block->number[i]);
    free(block);
}

static size_t block_total(const struct layout *l)
{
    return (l->tensors + BLOCK_TENSORS - 1) / BLOCK_TENSORS;
}

static void drop_packed(struct layout *l)
{
    if (l->packed)
        packed_columns_release(l->packed);
    free(l->packed);
    l->packed = NULL;
    l->packed_known = false;
}

static void drop_blocks(struct blocks *b)
{
    for (size_t i = 0; i < b->layout_count; i++) {
        struct layout *l = b->layout[i];
        l->rows = 0;
        for (size_t k = 0; l->block && k < block_total(l); k++) {
            block_free(l->block[k]);
            l->block[k] = NULL;
        }
        drop_packed(l);
    }
    b->bytes = 0;
    b->round++;
}

void blocks_forget(struct blocks *b)
{
    drop_blocks(b);
    for (size_t i = 0; i < b->layout_count; i++) {
        free(b->layout[i]->block);
        free(b->layout[i]->holders);
        free(b->layout[i]->checks);
        free(b->layout[i]);
    }
    free(b->layout);
    strmap_release(&b->by_id);
    b->layout = NULL;
    b->layout_count = b->layout_space = 0;
    b->by_id = (struct strmap){0};
    b->asked = 0;
    b->all_holders = false;
}

void blocks_close(struct blocks *b)
{
    blocks_forget(b);
    sqlite3_finalize(b->anchor);
    sqlite3_finalize(b->find_layout);
    sqlite3_finalize(b->find_last);
    sqlite3_finalize(b->find_holders);
    sqlite3_finalize(b->find_named);
    sqlite3_finalize(b->find_between);
    sqlite3_finalize(b->find_checks);
    sqlite3_finalize(b->find_packed);
    for (size_t i = 0; i < sizeof(b->load) / sizeof(b->load[0]); i++)
        sqlite3_finalize(b->load[i].stmt);
}

/* A transaction that writes may be rolled back, which changes no version: rows are read anew in it every
 * time. */
bool blocks_renew(struct blocks *b)
{
    unsigned version = 0;
    if (b->cursors)
        return false;
    sqlite3_file_control(b->db, "main", SQLITE_FCNTL_DATA_VERSION, &version);
    const bool writing = sqlite3_txn_state(b->db, "main") == SQLITE_TXN_WRITE;
    if (version == b->version && !writing && !b->written)
        return false;
    blocks_forget(b);
    b->version = version;
    b->written = writing;
    return true;
}

int blocks_enter(struct blocks *b, bool *renewed)
{
    int rc = SQLITE_OK;
    *renewed = false;
    if (!b->cursors) {
        rc = vtab_once(b->db, &b->anchor, "SELECT 1 FROM main.sqlite_schema", "");
        if (rc == SQLITE_OK && (rc = sqlite3_step(b->anchor)) == SQLITE_ROW)
            rc = SQLITE_OK;
        if (rc == SQLITE_OK)
            *renewed = blocks_renew(b);
        else
            sqlite3_reset(b->anchor);
    }
    b->cursors += rc == SQLITE_OK;
    return rc;
}

void blocks_leave(struct blocks *b)
{
    if (!--b->cursors)
        sqlite3_reset(b->anchor);
}

static int add_layout(struct blocks *b, int64_t id, int64_t tensors, struct layout **out)
{
    struct layout **list = list_grow(b->layout, b->layout_count, &b->layout_space, sizeof(*list));
    if (!list)
        return SQLITE_NOMEM;
    b->layout = list;
    struct layout *l = calloc(1, sizeof(*l));
    if (!l)
        return SQLITE_NOMEM;
    *l =
        (struct layout){.id = id, .index = (uint32_t)b->layout_count, .tensors = (uint32_t)tensors};
    bool added;
    uint64_t *place = strmap_add(&b->by_id, (const char *)&l->id, sizeof(l->id), &added);
    if (!place) {
        free(l);
        return SQLITE_NOMEM;
    }
    *place = b->layout_count;
    b->layout[b->layout_count++] = l;
    *out = l;
    return SQLITE_OK;
}

static const char miscounted[] = "has more or fewer tensors than it says";

int blocks_find(struct blocks *b, int64_t id, struct layout **out)
{
    const uint64_t *known = strmap_get(&b->by_id, (const char *)&id, sizeof(id));
    if (known) {
        *out = b->layout[*known];
        return SQLITE_OK;
    }
    int rc =
        vtab_once(b->db, &b->find_layout, "SELECT tensors FROM _layouts WHERE id = ?1", "i", id);
    if (rc != SQLITE_OK)
        return rc;
    rc = sqlite3_step(b->find_layout);
    if (rc == SQLITE_ROW) {
        const int64_t tensors = sqlite3_column_int64(b->find_layout, 0);
        rc = tensors >= 0 && tensors <= TENSOR_ORD_MASK + 1 ? add_layout(b, id, tensors, out)
                                                            : blocks_damaged(b, id, miscounted);
    } else if (rc == SQLITE_DONE) {
        rc = blocks_damaged(b, id, "is missing");
    }
    sqlite3_reset(b->find_layout);
    return rc;
}

static int allot_blocks(struct layout *l)
{
    l->block = calloc(block_total(l) + 1, sizeof(*l->block));
    return l->block ? SQLITE_OK : SQLITE_NOMEM;
}

int blocks_check(struct blocks *b, struct layout *l)
{
    if (l->block)
        return SQLITE_OK;
    if (l->packed) /* it has as many */
        return allot_blocks(l);
    int rc = vtab_once(b->db, &b->find_last,
                       "SELECT coalesce((max(id)" ID_ORD ") + 1, 0) FROM _layout_tensors"
                       " WHERE id BETWEEN ?1" ID_FIRST "AND ?1" ID_LAST,
                       "i", l->id);
    if (rc != SQLITE_OK)
        return rc;
    rc = sqlite3_step(b->find_last);
    if (rc == SQLITE_ROW)
        rc = sqlite3_column_int64(b->find_last, 0) == l->tensors
                 ? SQLITE_OK
                 : blocks_damaged(b, l->id, miscounted);
    sqlite3_reset(b->find_last);
    return rc == SQLITE_OK ? allot_blocks(l) : rc;
}

int blocks_layout(struct blocks *b, int64_t id, struct layout **out)
{
    int rc = blocks_find(b, id, out);
    return rc == SQLITE_OK ? blocks_check(b, *out) : rc;
}

/* --- holders ----------------------------------------------------------------------------- */

static int add_holder(struct layout *l, size_t *space, struct holder holder)
{
    struct holder *list = list_grow(l->holders, l->holder_count, space, sizeof(*list));
    if (!list)
        return SQLITE_NOMEM;
    l->holders = list;
    l->holders[l->holder_count++] = holder;
    return SQLITE_OK;
}

int blocks_all_holders(struct blocks *b)
{
    sqlite3_stmt *all = NULL;
    struct layout *l = NULL;
    size_t space = 0;
    if (b->all_holders)
        return SQLITE_OK;
    for (size_t i = 0; i < b->layout_count; i++)
        b->layout[i]->holder_count = 0;
    int rc = sqlite3_prepare_v2(
        b->db, "SELECT layout, id, placed FROM _checkpoints ORDER BY layout, id", -1, &all, NULL);
    while (rc == SQLITE_OK && (rc = sqlite3_step(all)) == SQLITE_ROW) {
        const int64_t id = sqlite3_column_int64(all, 0);
        rc = SQLITE_OK;
        if (!l || l->id != id) {
            rc = blocks_find(b, id, &l);
            if (rc == SQLITE_OK && l) {
                free(l->holders);
                l->holders = NULL;
                space = 0;
            }
        }
        if (rc == SQLITE_OK && l)
            rc = add_holder(
                l, &space,
                (struct holder){sqlite3_column_int64(all, 1), sqlite3_column_int(all, 2) != 0});
    }
    sqlite3_finalize(all);
    b->all_holders = rc == SQLITE_DONE;
    return rc == SQLITE_DONE ? SQLITE_OK : rc;
}

int blocks_holders(struct blocks *b, struct layout *l)
{
    size_t space = 0;
    if (b->all_holders || l->holders_known)
        return SQLITE_OK;
    if (b->asked++ >= ASK_ALL_AFTER)
        return blocks_all_holders(b);
    int rc =
        vtab_once(b->db, &b->find_holders,
                  "SELECT id, placed FROM _checkpoints WHERE layout = ?1 ORDER BY id", "i", l->id);
    if (rc != SQLITE_OK)
        return rc;
    l->holder_count = 0;
    free(l->holders);
    l->holders = NULL;
    while ((rc = sqlite3_step(b->find_holders)) == SQLITE_ROW)
        if (add_holder(l, &space,
                       (struct holder){sqlite3_column_int64(b->find_holders, 0),
                                       sqlite3_column_int(b->find_holders, 1) != 0}) != SQLITE_OK) {
            rc = SQLITE_NOMEM;
            break;
        }
    sqlite3_reset(b->find_holders);
    l->holders_known = rc == SQLITE_DONE;
    return rc == SQLITE_DONE ? SQLITE_OK : rc;
}

int blocks_all_given(struct blocks *b, uint64_t tensors)
{
    sqlite3_stmt *s = NULL;
    int rc = sqlite3_prepare_v2(b->db, "SELECT total(tensors) FROM _layouts", -1, &s, NULL);
    if (rc == SQLITE_OK && (rc = sqlite3_step(s)) == SQLITE_ROW)
        rc = sqlite3_column_double(s, 0) == (double)tensors ? SQLITE_DONE : SQLITE_CORRUPT_VTAB;
    sqlite3_finalize(s);
    if (rc == SQLITE_CORRUPT_VTAB)
        snprintf(b->damage, sizeof(b->damage),
                 "the catalog is damaged: layouts lack kinds of their tensors");
    return rc;
}

int blocks_lack_files(struct blocks *b)
{
    snprintf(b->damage, sizeof(b->damage), "the catalog is damaged: files of tensors are missing");
    return SQLITE_CORRUPT_VTAB;
}

/* --- columns ----------------------------------------------------------------------------- */

/* The statement that reads a set of columns. Statements make few different sets. */
static int loader_of(struct blocks *b, unsigned columns, sqlite3_stmt **out)
{
    const size_t most = sizeof(b->load) / sizeof(b->load[0]);
    size_t i = 0;
    while (i < most - 1 && b->load[i].stmt && b->load[i].columns != columns)
        i++;
    if (b->load[i].columns != columns) {
        struct text sql = {0};
        sqlite3_finalize(b->load[i].stmt);
        b->load[i] = (struct block_load){.columns = columns};
        text_adds(&sql, "SELECT ckptdb_block(id");
        for (int c = 0; c < BLOCK_COLUMNS; c++)
            if (columns >> c & 1)
                text_addf(&sql, ", %s", column_names[c]);
        text_adds(&sql, ") FROM _layout_tensors WHERE id BETWEEN ?1 AND ?2");
        int rc =
            text_str(&sql) ? vtab_once(b->db, &b->load[i].stmt, text_str(&sql), "") : SQLITE_NOMEM;
        text_release(&sql);
        if (rc != SQLITE_OK)
            return rc;
    }
    *out = b->load[i].stmt;
    return SQLITE_OK;
}

static bool allot(struct blocks *b, struct block *block, unsigned columns, uint32_t count)
{
    bool good = true;
    for (int c = 0; c < BLOCK_COLUMNS; c++) {
        if (!(columns >> c & 1))
            continue;
        void **list =
            c < BLOCK_TEXTS ? (void **)&block->span[c] : (void **)&block->number[c - BLOCK_TEXTS];
        free(*list); /* of an attempt that failed */
        *list = malloc((size_t)count * sizeof(int64_t));
        good &= *list != NULL;
        b->bytes += (size_t)count * sizeof(int64_t);
    }
    return good;
}

/* --- the function that fills blocks ------------------------------------------------------- */

struct filler {
    struct sql_shared shared; /* first */
    struct block *block;      /* NULL: nothing is being filled */
    unsigned columns;
    uint32_t rows, count;
    int64_t first; /* id */
    struct text bytes[BLOCK_TEXTS];
    bool good;
};

static void take_cell(struct filler *f, enum block_column column, sqlite3_value *v)
{
    const bool null = sqlite3_value_type(v) == SQLITE_NULL;
    if (column >= BLOCK_TEXTS) {
        f->block->number[column - BLOCK_TEXTS][f->rows] =
            null ? NUMBER_NULL : sqlite3_value_int64(v);
        return;
    }
    struct text *bytes = &f->bytes[column];
    const unsigned char *text = null ? NULL : sqlite3_value_text(v);
    const size_t len = text ? (size_t)sqlite3_value_bytes(v) : 0;
    f->block->span[column][f->rows] =
        (struct span){(uint32_t)bytes->len, null ? SPAN_NULL : (uint32_t)len};
    if (!null)
        f->good &= text && text_add(bytes, text, len) && text_addc(bytes, '\0');
}

/* ckptdb_block(id, column...) of each row of the block, in the order of their ids. */
static void fill_row(sqlite3_context *ctx, int argc, sqlite3_value **argv)
{
    struct filler *f = sqlite3_user_data(ctx);
    if (!f->block || f->rows == f->count || sqlite3_value_int64(argv[0]) != f->first + f->rows)
        return;
    for (int c = 0, i = 1; c < BLOCK_COLUMNS && i < argc; c++)
        if (f->columns >> c & 1)
            take_cell(f, (enum block_column)c, argv[i++]);
    f->rows++;
}

static void fill_end(sqlite3_context *ctx)
{
    (void)ctx;
}

int filler_register(sqlite3 *db, struct filler **out)
{
    struct filler *f = calloc(1, sizeof(*f));
    if (!f)
        return SQLITE_NOMEM;
    f->shared.release = free;
    *out = sql_hold(&f->shared);
    return sqlite3_create_function_v2(db, "ckptdb_block", -1, SQL_FLAGS_READS, f, NULL, fill_row,
                                      fill_end, sql_drop);
}

/* Read `count` tensors from the block's first on. */
static int read_rows(struct blocks *b, const struct layout *l, struct block *block,
                     unsigned columns, uint32_t count)
{
    struct filler *f = b->filler;
    sqlite3_stmt *s = NULL;
    int rc = loader_of(b, columns, &s);
    if (rc != SQLITE_OK)
        return rc;
    if (!allot(b, block, columns, count))
        return SQLITE_NOMEM;
    *f = (struct filler){.shared = f->shared,
                         .block = block,
                         .columns = columns,
                         .count = count,
                         .good = true,
                         .first = (int64_t)((uint64_t)l->id << TENSOR_ORD_BITS) + block->first};
    db_bind(s, "ii", f->first, f->first + count - 1);
    rc = sqlite3_step(s);
    sqlite3_reset(s);
    const bool whole = rc == SQLITE_ROW && f->good && f->rows == count;
    for (int c = 0; c < BLOCK_TEXTS; c++) {
        if (columns >> c & 1 && whole) {
            b->bytes += f->bytes[c].space;
            block->length[c] = f->bytes[c].len;
            free(block->bytes[c]);
            block->bytes[c] = text_steal(&f->bytes[c]);
        }
        text_release(&f->bytes[c]);
    }
    f->block = NULL;
    if (whole) {
        block->columns |= columns;
        return SQLITE_OK;
    }
    return rc != SQLITE_ROW ? rc
           : f->good        ? blocks_damaged(b, l->id, "lacks a tensor")
                            : SQLITE_NOMEM;
}

/* A layout's value in a table with one row per layout, SQLITE_ROW. A catalog that only earlier programs wrote may have
 * no such table. */
static int find_value(struct blocks *b, sqlite3_stmt **find, const char *sql, struct layout *l)
{
    if (!*find)
        sqlite3_prepare_v2(b->db, sql, -1, find, NULL);
    if (!*find)
        return SQLITE_DONE;
    sqlite3_bind_int64(*find, 1, l->id);
    return sqlite3_step(*find);
}

static int read_checks(struct blocks *b, struct layout *l)
{
    l->checks_known = true;
    int rc = find_value(b, &b->find_checks, "SELECT checks FROM _layout_checks WHERE id = ?1", l);
    if (rc == SQLITE_ROW) {
        const void *all = sqlite3_column_blob(b->find_checks, 0);
        const size_t len = (size_t)sqlite3_column_bytes(b->find_checks, 0);
        if (len != block_total(l) * CHECK_COLUMNS * sizeof(uint32_t))
            rc = blocks_damaged(b, l->id, "has more or fewer checksums than tensors");
        else if (len && !(l->checks = malloc(len)))
            rc = SQLITE_NOMEM;
        else if (len)
            memcpy(l->checks, all, len);
    }
    sqlite3_reset(b->find_checks);
    return rc == SQLITE_ROW || rc == SQLITE_DONE ? SQLITE_OK : rc;
}

int blocks_packed(struct blocks *b, struct layout *l)
{
    if (l->packed_known)
        return SQLITE_OK;
    int rc = find_value(b, &b->find_packed, "SELECT columns FROM _layout_columns WHERE id = ?1", l);
    if (rc == SQLITE_ROW) {
        const struct bytes all = {sqlite3_column_blob(b->find_packed, 0),
                                  (size_t)sqlite3_column_bytes(b->find_packed, 0)};
        l->packed = calloc(1, sizeof(*l->packed));
        const enum packed_state state =
            l->packed ? packed_columns_read(all, l->packed) : PACKED_NO_MEMORY;
        if (state == PACKED_NO_MEMORY)
            rc = SQLITE_NOMEM;
        else if (state == PACKED_DAMAGED || l->packed->tensors != l->tensors)
            rc = blocks_damaged(b, l->id, CHECK_FAILS);
        if (rc != SQLITE_ROW)
            drop_packed(l);
        else
            b->bytes += l->packed->bytes;
    }
    sqlite3_reset(b->find_packed);
    l->packed_known = rc == SQLITE_ROW || rc == SQLITE_DONE;
    return l->packed_known ? SQLITE_OK : rc;
}

/* Whether columns of a whole block are as written. */
static int check_block(struct blocks *b, struct layout *l, const struct block *block,
                       unsigned columns, uint32_t count)
{
    const int rc = l->checks_known ? SQLITE_OK : read_checks(b, l);
    for (int c = 0; rc == SQLITE_OK && l->checks && c < BLOCK_COLUMNS; c++) {
        uint32_t noted, found;
        if (!(columns >> c & 1))
            continue;
        const size_t at = (size_t)block->first / BLOCK_TENSORS * CHECK_COLUMNS + (size_t)c;
        memcpy(&noted, l->checks + at * sizeof(noted), sizeof(noted));
        found = c < BLOCK_TEXTS
                    ? check_texts(block->bytes[c], block->length[c], block->span[c], count)
                    : check_numbers(block->number[c - BLOCK_TEXTS], count);
        if (found != noted)
            return blocks_damaged(b, l->id, CHECK_FAILS);
    }
    return rc;
}

#define PACKED                                                                                     \
    (1u << BLOCK_DTYPE | 1u << BLOCK_SHAPE | 1u << BLOCK_ELEMENTS | 1u << BLOCK_NBYTES |           \
     1u << BLOCK_STORAGE | 1u << BLOCK_FILE)

/* Take a column of a block from the packed ones. */
static void take_packed(const struct packed_columns *p, struct block *block, int column,
                        uint32_t count)
{
    const uint32_t *of = p->of + block->first;
    static const int places[BLOCK_COLUMNS] = {
        [BLOCK_DTYPE] = PACKED_DTYPE,       [BLOCK_SHAPE] = PACKED_SHAPE,
        [BLOCK_ELEMENTS] = PACKED_ELEMENTS, [BLOCK_NBYTES] = PACKED_NBYTES,
        [BLOCK_STORAGE] = PACKED_STORAGE,   [BLOCK_FILE] = PACKED_FILE,
    };
    const int place = places[column];
    for (uint32_t i = 0; i < count; i++)
        if (column < BLOCK_TEXTS)
            block->span[column][i] = p->span[place][of[i]];
        else
            block->number[column - BLOCK_TEXTS][i] = p->number[place][of[i]];
    if (column < BLOCK_TEXTS) {
        free(block->bytes[column]); /* of an attempt that failed */
        block->bytes[column] = p->texts[place];
        block->shared |= 1u << column;
    }
    block->columns |= 1u << column;
}

/* Read columns that a block lacks: packed ones, and the others from the tensors' rows. */
static int read_lacking(struct blocks *b, struct layout *l, struct block *block, unsigned lacking,
                        uint32_t count)
{
    const unsigned packed = lacking & PACKED;
    int rc = packed ? blocks_packed(b, l) : SQLITE_OK;
    if (rc == SQLITE_OK && packed && l->packed) {
        if (!allot(b, block, packed, count))
            return SQLITE_NOMEM;
        for (int c = 0; c < BLOCK_COLUMNS; c++)
            if (packed >> c & 1)
                take_packed(l->packed, block, c, count);
        lacking &= ~packed;
    }
    if (rc == SQLITE_OK && lacking)
        rc = read_rows(b, l, block, lacking, count);
    if (rc == SQLITE_OK && lacking && (rc = check_block(b, l, block, lacking, count)) != SQLITE_OK)
        block->columns &= ~lacking;
    return rc;
}

int block_load(struct blocks *b, struct layout *l, uint32_t ord, unsigned columns,
               const struct block **out)
{
    struct block **at = &l->block[ord / BLOCK_TENSORS];
    if (*at && !(columns & ~(*at)->columns)) {
        *out = *at;
        return SQLITE_OK;
    }
    if (b->bytes > BLOCKS_BYTES)
        drop_blocks(b);
    const unsigned lacking = columns & ~(*at ? (*at)->columns : 0);
    const uint32_t first = ord - ord % BLOCK_TENSORS, left = l->tensors - first;
    if (!*at && !(*at = calloc(1, sizeof(**at))))
        return SQLITE_NOMEM;
    (*at)->first = first;
    b->bytes += sizeof(**at);
    *out = *at;
    return lacking ? read_lacking(b, l, *at, lacking, left < BLOCK_TENSORS ? left : BLOCK_TENSORS)
                   : SQLITE_OK;
}

int block_row(struct blocks *b, struct layout *l, uint32_t ord, unsigned columns,
              struct block **own, const struct block **out)
{
    const struct block *there = l->block[ord / BLOCK_TENSORS];
    const size_t before = b->bytes;
    *out = there;
    if (there && !(columns & ~there->columns))
        return SQLITE_OK;
    if ((l->packed && !(columns & ~PACKED)) || l->rows++ >= l->tensors / ROWS_SHARE)
        return block_load(b, l, ord, columns, out);
    if (!*own && !(*own = calloc(1, sizeof(**own))))
        return SQLITE_NOMEM;
    (*own)->first = ord;
    *out = *own;
    int rc = columns ? read_rows(b, l, *own, columns, 1) : SQLITE_OK;
    b->bytes = before;
    return rc;
}
