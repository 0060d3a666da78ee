/*
 * vt_tensor.c - the table `tensor`: the rows of the view of this name (schema/10_views.sql), at the
 * speed of a table with an index on every column.
 *
 * A row is a checkpoint and a tensor of its layout. The table goes through checkpoints, and for each
 * through the tensors of its layout that pass the tests of the statement, which are made once a
 * layout (`selection`). Where rows are wanted by a tensor's name, or in the order of its columns, it
 * goes through groups of tensors, and for each through the checkpoints that have them. Columns are
 * read when a statement uses them.
 *
 * CREATE VIRTUAL TABLE temp.tensor puts it in front of the view (sql_cover_views()).
 */
#include <stdlib.h>
#include <string.h>

#include "catalog/base/limits.h"
#include "catalog/base/list.h"
#include "catalog/db/ids.h"
#include "catalog/sql/extension.h"
#include "catalog/sql/tensor_groups.h"
#include "catalog/sql/tensor_test.h"

/* Statements that find checkpoints: id, layout, placed, and the ord of the one tensor that is meant
 * (NULL: all). ?1 is what is looked for, or ?1 and ?2 the range of ids. */
enum stream {
    STREAM_ID,
    STREAM_RANGE,
    STREAM_RANGE_BACK,
    STREAM_NAME,
    STREAM_PATH,
    STREAM_FILE,
    STREAM_HASH,
    STREAM_HASHED,
    STREAM_BY_NAME,
    STREAM_BY_NAME_BACK,
    STREAM_BY_PATH,
    STREAM_BY_PATH_BACK,
    STREAMS
};

#define FIND         "SELECT c.id, c.layout, c.placed, NULL FROM _checkpoints c "
#define FIND_LABELED FIND "JOIN _labels l ON l.id = c.id "
static const char *const stream_sql[STREAMS] = {
    [STREAM_ID] = "SELECT id, layout, placed, ?1" ID_ORD
                  " FROM _checkpoints WHERE id = ?1" ID_OWNER,
    [STREAM_RANGE] = FIND "WHERE c.id BETWEEN ?1 AND ?2 ORDER BY c.id",
    [STREAM_RANGE_BACK] = FIND "WHERE c.id BETWEEN ?1 AND ?2 ORDER BY c.id DESC",
    [STREAM_NAME] = FIND_LABELED "WHERE l.name = ?1",
    [STREAM_PATH] = FIND "WHERE c.path = ?1",
    [STREAM_FILE] = FIND "WHERE c.id IN (SELECT id" ID_OWNER
                         " FROM _files WHERE path = ?1) ORDER BY c.id",
    [STREAM_HASH] =
        "SELECT c.id, c.layout, c.placed, x.id" ID_ORD
        " FROM _content_hashes h JOIN _tensor_hashes x ON x.hash = h.id"
        " JOIN _checkpoints c ON c.id = x.id" ID_OWNER " WHERE h.hash = ?1 ORDER BY x.id",
    [STREAM_HASHED] = "SELECT c.id, c.layout, c.placed, x.id" ID_ORD
                      " FROM _tensor_hashes x JOIN _checkpoints c ON c.id = x.id" ID_OWNER
                      " ORDER BY x.id",
    [STREAM_BY_NAME] =
        "SELECT c.id, c.layout, c.placed, NULL FROM _labels l CROSS JOIN _checkpoints c"
        " ON c.id = l.id ORDER BY l.name",
    [STREAM_BY_NAME_BACK] =
        "SELECT c.id, c.layout, c.placed, NULL FROM _labels l CROSS JOIN _checkpoints c"
        " ON c.id = l.id ORDER BY l.name DESC",
    [STREAM_BY_PATH] = FIND "ORDER BY c.path",
    [STREAM_BY_PATH_BACK] = FIND "ORDER BY c.path DESC",
};

/* Statements that read what belongs to one checkpoint or tensor. */
enum detail {
    DETAIL_LABEL,
    DETAIL_FILES,
    DETAIL_PLACES,
    DETAIL_HASHES,
    DETAIL_NAMED,
    DETAILS
};
static const char *const detail_sql[DETAILS] = {
    [DETAIL_LABEL] = "SELECT l.name, c.path FROM _checkpoints c LEFT JOIN _labels l"
                     " ON l.id = c.id WHERE c.id = ?1",
    [DETAIL_FILES] = "SELECT id, path, base FROM _files WHERE id BETWEEN ?1 AND ?2 ORDER BY id",
    [DETAIL_PLACES] = "SELECT id, storage, file, start, stored FROM _placements"
                      " WHERE id BETWEEN ?1 AND ?2",
    [DETAIL_HASHES] = "SELECT x.id, h.hash FROM _tensor_hashes x JOIN _content_hashes h"
                      " ON h.id = x.hash WHERE x.id BETWEEN ?1 AND ?2",
    [DETAIL_NAMED] =
        "SELECT id FROM _layout_tensors WHERE name = ?3 AND id BETWEEN ?1 AND ?2"
        " ORDER BY id",
};

#define FEW_TENSORS 4
#define FEW_FILES   64

struct tensor_table {
    sqlite3_vtab base; /* first */
    sqlite3 *db;
    struct blocks blocks;
    struct tensor_counts counts;
    unsigned version; /* of the database: what was read and counted belongs to it */
    bool written;     /* by a transaction that may be rolled back */
    unsigned cursors;
    sqlite3_stmt *anchor; /* holds a read transaction while there are cursors */
    sqlite3_stmt *idle[STREAMS], *detail[DETAILS];
    struct regex_cache *regexes;
};

/* The tensors of a layout that are wanted. `ords` NULL: all of them. */
struct selection {
    bool known;
    uint32_t *ords;
    uint32_t count;
};

struct hit {
    int64_t checkpoint;
    struct layout *layout;
    bool placed;
    int64_t ord; /* -1: those that are selected */
};

struct place {
    int64_t storage, file, start, stored;
};

struct file_cell {
    int64_t position, base;
    struct cell path;
};

/* Files of a checkpoint with positions from `first` to `last`, in their order. */
struct file_list {
    bool known;
    int64_t first, last;
    struct file_cell *at;
    size_t count;
};

/* Rows of a checkpoint from `first` on, read for a run of its tensors. */
struct window {
    bool known;
    int64_t first, last;
    void *at;
};

struct tensor_cursor {
    sqlite3_vtab_cursor base; /* first */
    struct tensor_plan plan;
    struct tensor_test test[PLAN_TESTS];
    unsigned test_columns;        /* of blocks, that the tests look at */
    unsigned read_columns;        /* of blocks, that rows are made of */
    int test_tensors, test_kinds; /* tests of tensors, and of these of their kinds */
    int named;                    /* the test of a name; -1: none */
    struct arena arena;           /* of selections */
    struct selection *selected;
    size_t selected_space;

    /* Where checkpoints come from: a statement, or the list of a group. */
    enum stream kind;
    sqlite3_stmt *stream;
    int64_t first_id;     /* ids before it are not wanted */
    sqlite3_stmt *values; /* of an EACH_VALUE: its rows are ours */
    struct tensor_groups groups;
    bool grouped,
        group_left; /* group_left: group_layout is the begin of the next group */
    struct layout *group_layout;
    uint32_t group_ord;
    struct group_pick {
        struct layout *layout;
        uint32_t ord;
    } * pick;
    size_t pick_count, pick_space;
    bool pick_mixed; /* not by layout and ord */
    struct hit *list;
    size_t list_count, list_space, list_at;

    /* The row. */
    struct hit hit;
    const struct selection *selection;
    uint32_t at, end; /* rows of the checkpoint: counted, backwards or not */
    uint32_t ord;
    bool eof;
    const struct block *block;
    unsigned block_round;
    uint32_t block_end;    /* ord */
    struct block *own_row; /* that block_row() fills */

    /* Of its checkpoint. */
    struct arena own;
    bool label_known;
    struct cell name, path;
    struct file_list files;
    struct window places, hashes;
};

/* --- errors ------------------------------------------------------------------------------- */

static int tensor_fail(struct tensor_table *t, int rc)
{
    if (rc == SQLITE_OK || rc == SQLITE_NOMEM || rc == SQLITE_INTERRUPT)
        return rc;
    sqlite3_free(t->base.zErrMsg);
    t->base.zErrMsg =
        sqlite3_mprintf("%s", rc == SQLITE_CORRUPT_VTAB ? blocks_damage(&t->blocks)
                                                        : sqlite3_errmsg(t->db));
    return rc;
}

static struct tensor_table *table_of(const struct tensor_cursor *c)
{
    return (struct tensor_table *)c->base.pVtab;
}

/* --- the table ---------------------------------------------------------------------------- */

static int tensor_disconnect(sqlite3_vtab *base)
{
    struct tensor_table *t = (struct tensor_table *)base;
    blocks_close(&t->blocks);
    filler_drop(t->blocks.filler);
    sqlite3_finalize(t->anchor);
    for (int i = 0; i < STREAMS; i++)
        sqlite3_finalize(t->idle[i]);
    for (int i = 0; i < DETAILS; i++)
        sqlite3_finalize(t->detail[i]);
    if (t->regexes)
        regex_cache_free(t->regexes);
    free(t);
    return SQLITE_OK;
}

static int tensor_connect(sqlite3 *db, void *aux, int argc, const char *const *argv,
                          sqlite3_vtab **out, char **message)
{
    (void)argc, (void)argv, (void)message;
    struct tensor_table *t = calloc(1, sizeof(*t));
    if (!t)
        return SQLITE_NOMEM;
    t->db = t->blocks.db = db;
    t->blocks.filler = filler_hold(aux);
    t->regexes = regex_cache_new();
    int rc = t->regexes ? sqlite3_declare_vtab(db, TENSOR_DECLARATION) : SQLITE_NOMEM;
    if (rc == SQLITE_OK)
        rc = sqlite3_vtab_config(db, SQLITE_VTAB_INNOCUOUS);
    if (rc == SQLITE_OK)
        *out = &t->base;
    else
        tensor_disconnect(&t->base);
    return rc;
}

/* SQLite takes a table that was never ANALYZEd for one of 2^20 rows, and so do the tables beside this
 * one (vt_view.c): with another number joins would begin on the wrong side. */
#define CHECKPOINTS_TAKEN 1048576

static void count(struct tensor_table *t)
{
    sqlite3_stmt *s = NULL;
    t->counts = (struct tensor_counts){CHECKPOINTS_TAKEN, 1};
    if (sqlite3_prepare_v2(
            t->db, "SELECT avg(tensors) FROM (SELECT tensors FROM _layouts LIMIT 64)", -1,
            &s, NULL) == SQLITE_OK &&
        sqlite3_step(s) == SQLITE_ROW && sqlite3_column_double(s, 0) > 1)
        t->counts.tensors = sqlite3_column_double(s, 0);
    sqlite3_finalize(s);
}

/* Forget what was read if the database has changed since. A transaction that writes may be rolled
 * back, which changes no version: what is read in it is read anew every time. */
static void look_for_changes(struct tensor_table *t)
{
    unsigned version = 0;
    sqlite3_file_control(t->db, "main", SQLITE_FCNTL_DATA_VERSION, &version);
    const bool writing = sqlite3_txn_state(t->db, "main") == SQLITE_TXN_WRITE;
    if (version == t->version && !writing && !t->written)
        return;
    blocks_forget(&t->blocks);
    t->counts.checkpoints = 0;
    t->version = version;
    t->written = writing;
}

static int tensor_best_index(sqlite3_vtab *base, sqlite3_index_info *info)
{
    struct tensor_table *t = (struct tensor_table *)base;
    if (!t->cursors)
        look_for_changes(t);
    if (!t->counts.checkpoints)
        count(t);
    return plan_make(info, &t->counts);
}

/* --- cursors ------------------------------------------------------------------------------ */

static int tensor_open(sqlite3_vtab *base, sqlite3_vtab_cursor **out)
{
    struct tensor_table *t = (struct tensor_table *)base;
    struct tensor_cursor *c = calloc(1, sizeof(*c));
    int rc = c ? SQLITE_OK : SQLITE_NOMEM;
    if (rc == SQLITE_OK && !t->cursors) {
        if (!t->anchor)
            rc = sqlite3_prepare_v3(t->db, "SELECT 1 FROM main.sqlite_schema", -1,
                                    SQLITE_PREPARE_PERSISTENT, &t->anchor, NULL);
        if (rc == SQLITE_OK && (rc = sqlite3_step(t->anchor)) == SQLITE_ROW)
            rc = SQLITE_OK;
        if (rc == SQLITE_OK)
            look_for_changes(t);
        else
            sqlite3_reset(t->anchor);
    }
    if (rc != SQLITE_OK) {
        free(c);
        return tensor_fail(t, rc);
    }
    t->cursors++;
    *out = &c->base;
    return SQLITE_OK;
}

/* Forget the checkpoint that the row is of. */
static void leave_checkpoint(struct tensor_cursor *c)
{
    c->label_known = c->files.known = c->places.known = c->hashes.known = false;
    c->places.at = c->hashes.at = NULL;
    if (c->own.used) {
        arena_release(&c->own);
        c->own = (struct arena){0};
    }
}

static void tensor_reset(struct tensor_cursor *c)
{
    struct tensor_table *t = table_of(c);
    for (int i = 0; i < c->plan.tests; i++)
        test_end(&c->test[i]);
    if (c->stream) {
        sqlite3_reset(c->stream);
        sqlite3_clear_bindings(c->stream);
        sqlite3_finalize(t->idle[c->kind]);
        t->idle[c->kind] = c->stream;
        c->stream = NULL;
    }
    if (c->grouped)
        groups_end(&c->groups);
    sqlite3_finalize(c->values);
    c->values = NULL;
    leave_checkpoint(c);
    if (c->arena.used)
        arena_release(&c->arena);
    c->arena = (struct arena){0};
    if (c->selected)
        memset(c->selected, 0, c->selected_space * sizeof(*c->selected));
    c->list_count = c->list_at = c->pick_count = 0;
    c->grouped = c->group_left = false;
    c->at = c->end = 0;
    c->block = NULL;
    c->eof = true;
}

static int tensor_close(sqlite3_vtab_cursor *base)
{
    struct tensor_cursor *c = (struct tensor_cursor *)base;
    struct tensor_table *t = table_of(c);
    tensor_reset(c);
    free(c->selected);
    free(c->list);
    free(c->pick);
    block_free(c->own_row);
    free(c);
    if (!--t->cursors)
        sqlite3_reset(t->anchor);
    return SQLITE_OK;
}

/* A statement for what belongs to a checkpoint, of which ids from ?1 to ?2 are wanted. */
static int detail_begin(struct tensor_table *t, enum detail which, int64_t first,
                        int64_t last, sqlite3_stmt **out)
{
    int rc = t->detail[which]
                 ? SQLITE_OK
                 : sqlite3_prepare_v3(t->db, detail_sql[which], -1,
                                      SQLITE_PREPARE_PERSISTENT, &t->detail[which], NULL);
    *out = t->detail[which];
    if (rc == SQLITE_OK)
        rc = sqlite3_bind_int64(*out, 1, first);
    if (rc == SQLITE_OK && sqlite3_bind_parameter_count(*out) > 1)
        rc = sqlite3_bind_int64(*out, 2, last);
    return rc;
}

/* --- which tensors of a layout ------------------------------------------------------------ */

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

static unsigned block_columns_of(int column)
{
    unsigned set = 0;
    for (size_t i = 0; i < sizeof(in_blocks) / sizeof(in_blocks[0]); i++)
        if (in_blocks[i].column == column)
            set |= 1u << in_blocks[i].block;
    return set;
}

static bool passes(const struct tensor_cursor *c, const struct block *b, uint32_t ord)
{
    for (int i = 0; i < c->plan.tests; i++) {
        const struct tensor_test *t = &c->test[i];
        bool good = true;
        if (t->column == TENSOR_NAME)
            good = i == c->named || test_text(t, block_text(b, ord, BLOCK_NAME));
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
        else if (t->column == TENSOR_ORD)
            good = test_number(t, ord);
        if (!good)
            return false;
    }
    return true;
}

static int tensor_passes(struct tensor_cursor *c, struct layout *l, uint32_t ord,
                         bool *good)
{
    const struct block *b = NULL;
    int rc = c->test_columns ? block_row(&table_of(c)->blocks, l, ord, c->test_columns,
                                         &c->own_row, &b)
                             : SQLITE_OK;
    c->block = NULL;
    *good = rc == SQLITE_OK && passes(c, b, ord);
    return rc;
}

/* Those of one name are found by the catalog's index. */
static int select_named(struct tensor_cursor *c, struct layout *l, struct selection *s)
{
    const int64_t first = (int64_t)((uint64_t)l->id << TENSOR_ORD_BITS);
    const struct cell name = c->test[c->named].text;
    size_t space = 0;
    sqlite3_stmt *named = NULL;
    int rc =
        detail_begin(table_of(c), DETAIL_NAMED, first, first + TENSOR_ORD_MASK, &named);
    if (rc == SQLITE_OK)
        rc = sqlite3_bind_text(named, 3, name.at, (int)name.len, SQLITE_STATIC);
    while (rc == SQLITE_OK && (rc = sqlite3_step(named)) == SQLITE_ROW) {
        const uint32_t ord = (uint32_t)(sqlite3_column_int64(named, 0) & TENSOR_ORD_MASK);
        bool good = false;
        rc = ord < l->tensors ? tensor_passes(c, l, ord, &good) : SQLITE_OK;
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

/* What the tests leave of a layout's kinds of tensors: whether any, and whether all. Most layouts
 * have none or all of what a statement asks for, and their tensors need not be read to know it. */
static int look_at_kinds(struct tensor_cursor *c, struct layout *l, bool *any, bool *all)
{
    sqlite3_stmt *s = NULL;
    int rc = blocks_kinds(&table_of(c)->blocks, l, &s);
    bool none = true;
    *any = false;
    *all = true;
    while (rc == SQLITE_OK && (rc = sqlite3_step(s)) == SQLITE_ROW) {
        bool good = true;
        none = false;
        for (int i = 0; good && i < c->plan.tests; i++) {
            const struct tensor_test *t = &c->test[i];
            const int at = t->column == TENSOR_DTYPE      ? 0
                           : t->column == TENSOR_ELEMENTS ? 2
                                                          : 3;
            if (t->column == TENSOR_DTYPE || t->column == TENSOR_SHAPE ||
                t->column == TENSOR_RANK) {
                const int from = t->column == TENSOR_DTYPE ? 0 : 1;
                const struct cell cell = {(const char *)sqlite3_column_text(s, from),
                                          (size_t)sqlite3_column_bytes(s, from)};
                good = t->column == TENSOR_RANK ? test_number(t, shape_rank(cell))
                                                : test_text(t, cell);
            } else if (t->column == TENSOR_ELEMENTS || t->column == TENSOR_NBYTES) {
                good = test_number(t, sqlite3_column_type(s, at) == SQLITE_NULL
                                          ? NUMBER_NULL
                                          : sqlite3_column_int64(s, at));
            }
        }
        *any |= good;
        *all &= good;
        rc = SQLITE_OK;
    }
    sqlite3_reset(s);
    if (none) { /* a damaged catalog: its tensors tell */
        *any = true;
        *all = false;
    }
    return rc == SQLITE_DONE ? SQLITE_OK : rc;
}

static int select_tested(struct tensor_cursor *c, struct layout *l, struct selection *s)
{
    bool any = true, all = false;
    const struct block *there = l->tensors ? l->block[0] : NULL;
    if (c->test_kinds && !(there && !(c->test_columns & ~there->columns))) {
        int rc = look_at_kinds(c, l, &any, &all);
        if (rc != SQLITE_OK || !any)
            return rc;
        if (all && c->test_kinds == c->test_tensors) {
            s->count = l->tensors;
            return SQLITE_OK;
        }
    }

    uint32_t *ords = arena_room(&c->arena, (l->tensors + 1) * sizeof(*ords));
    const struct block *b = NULL;
    int rc = ords ? SQLITE_OK : SQLITE_NOMEM;
    for (uint32_t ord = 0; rc == SQLITE_OK && ord < l->tensors; ord++) {
        if (ord % BLOCK_TENSORS == 0 && c->test_columns)
            rc = block_load(&table_of(c)->blocks, l, ord, c->test_columns, &b);
        if (rc == SQLITE_OK && passes(c, b, ord))
            ords[s->count++] = ord;
    }
    s->ords = ords;
    return rc;
}

/* Make room for a selection of each layout that is known so far. */
static bool room_for_selections(struct tensor_cursor *c)
{
    const size_t layouts = table_of(c)->blocks.layout_space;
    if (c->selected_space >= layouts)
        return true;
    struct selection *list = realloc(c->selected, layouts * sizeof(*list));
    if (!list)
        return false;
    memset(list + c->selected_space, 0, (layouts - c->selected_space) * sizeof(*list));
    c->selected = list;
    c->selected_space = layouts;
    return true;
}

static int select_tensors(struct tensor_cursor *c, struct layout *l,
                          const struct selection **out)
{
    if (!room_for_selections(c))
        return SQLITE_NOMEM;
    struct selection *s = &c->selected[l->index];
    int rc = SQLITE_OK;
    *out = s;
    if (s->known)
        return SQLITE_OK;
    s->ords = NULL;
    s->count = 0;
    if (c->named >= 0)
        rc = select_named(c, l, s);
    else if (c->test_tensors)
        rc = select_tested(c, l, s);
    else
        s->count = l->tensors;
    s->known = rc == SQLITE_OK;
    return rc;
}

/* --- which checkpoints -------------------------------------------------------------------- */

static int read_label(struct tensor_cursor *c)
{
    sqlite3_stmt *s = NULL;
    if (c->label_known)
        return SQLITE_OK;
    int rc = detail_begin(table_of(c), DETAIL_LABEL, c->hit.checkpoint, 0, &s);
    if (rc == SQLITE_OK && (rc = sqlite3_step(s)) == SQLITE_ROW) {
        struct cell *const to[] = {&c->name, &c->path};
        rc = SQLITE_OK;
        for (int i = 0; i < 2; i++) {
            const char *text = (const char *)sqlite3_column_text(s, i);
            const size_t len = (size_t)sqlite3_column_bytes(s, i);
            *to[i] = (struct cell){text ? arena_copy(&c->own, text, len) : NULL, len};
            if (text && !to[i]->at)
                rc = SQLITE_NOMEM;
        }
        c->label_known = rc == SQLITE_OK;
    }
    sqlite3_reset(s);
    return rc == SQLITE_DONE ? SQLITE_OK : rc;
}

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
        } else if (t->kind != TEST_NOTHING &&
                   (t->column == TENSOR_CHECKPOINT || t->column == TENSOR_PATH)) {
            rc = read_label(c);
            *good = rc == SQLITE_OK &&
                    test_text(t, t->column == TENSOR_PATH ? c->path : c->name);
        }
        if (rc != SQLITE_OK)
            return rc;
    }
    return SQLITE_OK;
}

static int add_hits(struct tensor_cursor *c, struct layout *l)
{
    int rc = blocks_holders(&table_of(c)->blocks, l);
    for (size_t i = 0; rc == SQLITE_OK && i < l->holder_count; i++) {
        struct hit *list =
            list_grow(c->list, c->list_count, &c->list_space, sizeof(*list));
        if (!list)
            return SQLITE_NOMEM;
        c->list = list;
        c->list[c->list_count++] =
            (struct hit){l->holders[i].checkpoint, l, l->holders[i].placed, -1};
    }
    return rc;
}

static int by_checkpoint(const void *a, const void *b)
{
    const struct hit *x = a, *y = b;
    return x->checkpoint < y->checkpoint ? -1 : x->checkpoint > y->checkpoint;
}

static int by_place(const void *a, const void *b)
{
    const struct group_pick *x = a, *y = b;
    return x->layout->index != y->layout->index
               ? (x->layout->index < y->layout->index ? -1 : 1)
           : x->ord < y->ord ? -1
                             : x->ord > y->ord;
}

/* Take the tensors of the next group, and one more, with which the one after it begins. */
static int pick_group(struct tensor_cursor *c)
{
    const bool runs = c->plan.then_id || c->plan.once == EACH_KEY || !c->plan.keys;
    int rc = SQLITE_ROW;
    c->pick_count = 0;
    c->pick_mixed = false;
    do {
        bool same = false, good = true;
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
        if (c->group_ord >= c->group_layout->tensors)
            continue;
        const int tested = c->test_columns || c->plan.tests
                               ? tensor_passes(c, c->group_layout, c->group_ord, &good)
                               : SQLITE_OK;
        if (tested != SQLITE_OK)
            return tested;
        if (!good)
            continue;
        struct group_pick *pick =
            list_grow(c->pick, c->pick_count, &c->pick_space, sizeof(*pick));
        if (!pick)
            return SQLITE_NOMEM;
        c->pick = pick;
        c->pick[c->pick_count] = (struct group_pick){c->group_layout, c->group_ord};
        c->pick_mixed |= c->pick_count && by_place(&c->pick[c->pick_count - 1],
                                                   &c->pick[c->pick_count]) > 0;
        c->pick_count++;
    } while (true);
    return rc;
}

/* Make the list of checkpoints of the next group, and the selections of their layouts. */
static int next_group(struct tensor_cursor *c)
{
    for (size_t i = 0; i < c->pick_count; i++)
        c->selected[c->pick[i].layout->index].known = false;
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
    size_t layouts = 0;
    for (size_t i = 0, k; i < c->pick_count; i = k, layouts++) {
        struct layout *l = c->pick[i].layout;
        for (k = i; k < c->pick_count && c->pick[k].layout == l; k++)
            ords[k] = c->pick[k].ord;
        c->selected[l->index] = (struct selection){true, ords + i, (uint32_t)(k - i)};
        rc = add_hits(c, l);
        if (rc != SQLITE_OK)
            return rc;
        /* Holders of all layouts may have been read, and with them layouts. */
        if (!room_for_selections(c))
            return SQLITE_NOMEM;
    }
    if (layouts > 1 && c->list_count && (c->plan.then_id || !c->plan.keys))
        qsort(c->list, c->list_count, sizeof(*c->list), by_checkpoint);
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
    if (rc != SQLITE_ROW)
        return rc;
    c->hit.checkpoint = sqlite3_column_int64(c->stream, 0);
    c->hit.placed = sqlite3_column_int(c->stream, 2) != 0;
    c->hit.ord = sqlite3_column_type(c->stream, 3) == SQLITE_NULL
                     ? -1
                     : sqlite3_column_int64(c->stream, 3);
    rc = blocks_layout(&table_of(c)->blocks, sqlite3_column_int64(c->stream, 1),
                       &c->hit.layout);
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

static void go_to(struct tensor_cursor *c)
{
    if (c->hit.ord >= 0) {
        c->ord = (uint32_t)c->hit.ord;
        return;
    }
    const uint32_t at = c->plan.backwards ? c->end - 1 - c->at : c->at;
    c->ord = c->selection->ords ? c->selection->ords[at] : at;
}

/* Go to the first row of the next checkpoint that has any. */
static int next_checkpoint(struct tensor_cursor *c)
{
    int rc;
    while ((rc = next_hit(c)) == SQLITE_ROW) {
        bool good;
        leave_checkpoint(c);
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
            if (rc != SQLITE_OK)
                return rc;
            c->end = c->selection->count;
            if (c->first_id >> TENSOR_ORD_BITS == c->hit.checkpoint && !c->plan.backwards)
                c->at = first_from(c->selection, c->first_id & TENSOR_ORD_MASK);
        }
        if (c->at < c->end) {
            go_to(c);
            return SQLITE_OK;
        }
    }
    c->eof = rc == SQLITE_DONE;
    return rc == SQLITE_DONE ? SQLITE_OK : rc;
}

static int next_value(struct tensor_cursor *c)
{
    int rc = sqlite3_step(c->values);
    c->eof = rc != SQLITE_ROW;
    return rc == SQLITE_ROW || rc == SQLITE_DONE ? SQLITE_OK : rc;
}

static int tensor_next(sqlite3_vtab_cursor *base)
{
    struct tensor_cursor *c = (struct tensor_cursor *)base;
    if (c->values)
        return tensor_fail(table_of(c), next_value(c));
    c->at++;
    if (c->at < c->end && c->plan.once == EACH_ROW) {
        go_to(c);
        return SQLITE_OK;
    }
    if (c->plan.once == EACH_KEY)
        c->list_at = c->list_count;
    return tensor_fail(table_of(c), next_checkpoint(c));
}

static int tensor_eof(sqlite3_vtab_cursor *base)
{
    return ((struct tensor_cursor *)base)->eof;
}

/* --- beginning ---------------------------------------------------------------------------- */

static int open_stream(struct tensor_cursor *c, enum stream kind)
{
    struct tensor_table *t = table_of(c);
    c->kind = kind;
    c->stream = t->idle[kind];
    t->idle[kind] = NULL;
    return c->stream ? SQLITE_OK
                     : sqlite3_prepare_v3(t->db, stream_sql[kind], -1,
                                          SQLITE_PREPARE_PERSISTENT, &c->stream, NULL);
}

/* The ids of checkpoints that the tests leave. */
static void narrow(const struct tensor_cursor *c, int64_t *first, int64_t *last,
                   int64_t *first_id)
{
    *first = INT64_MIN;
    *last = INT64_MAX;
    for (int i = 0; i < c->plan.tests; i++) {
        const struct tensor_test *t = &c->test[i];
        const bool whole = t->column == TENSOR_CHECKPOINT_ID;
        if (t->kind != TEST_INTEGER || (!whole && t->column != TENSOR_ID))
            continue;
        const int64_t n = whole ? t->integer : t->integer >> TENSOR_ORD_BITS;
        if (strchr("=i>g", t->op) && n > *first)
            *first = n;
        if (strchr("=i<l", t->op) && n < *last)
            *last = n;
        if (!whole && strchr("=i>g", t->op) && t->integer > *first_id)
            *first_id = t->integer;
    }
}

static int open_range(struct tensor_cursor *c)
{
    int64_t first, last;
    narrow(c, &first, &last, &c->first_id);
    int rc = open_stream(c, c->plan.backwards ? STREAM_RANGE_BACK : STREAM_RANGE);
    if (rc == SQLITE_OK)
        rc = sqlite3_bind_int64(c->stream, 1, first);
    if (rc == SQLITE_OK)
        rc = sqlite3_bind_int64(c->stream, 2, last);
    return rc;
}

static int open_equal(struct tensor_cursor *c, enum stream kind,
                      const struct tensor_test *t)
{
    int rc = open_stream(c, kind);
    if (rc != SQLITE_OK)
        return rc;
    return t->kind == TEST_INTEGER ? sqlite3_bind_int64(c->stream, 1, t->integer)
                                   : sqlite3_bind_text(c->stream, 1, t->text.at,
                                                       (int)t->text.len, SQLITE_STATIC);
}

static int open_values(struct tensor_cursor *c)
{
    struct text sql = {0};
    plan_values(&c->plan, &sql);
    int rc = text_str(&sql) ? sqlite3_prepare_v2(table_of(c)->db, text_str(&sql), -1,
                                                 &c->values, NULL)
                            : SQLITE_NOMEM;
    text_release(&sql);
    return rc;
}

static int open_names(struct tensor_cursor *c)
{
    struct cell from = {"", 0}, to = {0};
    for (int i = 0; i < c->plan.tests; i++) {
        const struct tensor_test *t = &c->test[i];
        if (t->column != TENSOR_NAME || t->kind != TEST_TEXT)
            continue;
        if (strchr(">g", t->op))
            from = t->text;
        else if (strchr("<l", t->op))
            to = t->text;
    }
    if (!to.at)
        return open_range(c);
    c->grouped = true;
    return groups_named(&c->groups, &table_of(c)->blocks, from, to);
}

static int open_source(struct tensor_cursor *c)
{
    static const struct {
        int column;
        enum stream stream;
    } equal[] = {
        [BY_ID] = {TENSOR_ID, STREAM_ID},
        [BY_CHECKPOINT_ID] = {TENSOR_CHECKPOINT_ID, STREAM_RANGE},
        [BY_CHECKPOINT] = {TENSOR_CHECKPOINT, STREAM_NAME},
        [BY_PATH] = {TENSOR_PATH, STREAM_PATH},
        [BY_HASH] = {TENSOR_HASH, STREAM_HASH},
        [BY_FILE] = {TENSOR_FILE, STREAM_FILE},
        [BY_NAME] = {TENSOR_NAME, STREAMS},
    };
    struct tensor_table *t = table_of(c);
    const struct tensor_plan *p = &c->plan;
    if (p->order == IN_KEYS) {
        c->grouped = true;
        return groups_ordered(&c->groups, &t->blocks, p);
    }
    if (p->order != IN_FILES)
        return open_stream(c, (enum stream)((p->order == IN_CHECKPOINT ? STREAM_BY_NAME
                                                                       : STREAM_BY_PATH) +
                                            p->backwards));
    if (p->access == BY_HASHED)
        return open_stream(c, STREAM_HASHED);
    if (p->access == BY_NAMES)
        return open_names(c);
    if (p->access == BY_SCAN || p->access == BY_CHECKPOINT_ID)
        return open_range(c);
    const struct tensor_test *test = &c->test[plan_equality(p, equal[p->access].column)];
    /* A number that is to equal a text, or the other way round: SQLite compares them. */
    if (test->kind != (p->access == BY_ID ? TEST_INTEGER : TEST_TEXT))
        return open_range(c);
    if (p->access != BY_NAME)
        return open_equal(c, equal[p->access].stream, test);
    c->grouped = true;
    return groups_named(&c->groups, &t->blocks, test->text, test->text);
}

static int begin_tests(struct tensor_cursor *c, int argc, sqlite3_value **argv)
{
    c->named = -1;
    c->test_columns = 0;
    c->test_tensors = c->test_kinds = 0;
    for (int i = 0; i < c->plan.tests; i++)
        c->test[i] = (struct tensor_test){.column = c->plan.test[i].column,
                                          .op = c->plan.test[i].op};
    for (int i = 0; i < c->plan.tests && i < argc; i++) {
        struct tensor_test *t = &c->test[i];
        if (!test_begin(t, tensor_column_is_text(t->column), argv[i],
                        table_of(c)->regexes))
            return SQLITE_NOMEM;
        const bool equal = t->op == TEST_EQ || t->op == TEST_IS;
        c->test_tensors += t->column >= TENSOR_ORD && t->column <= TENSOR_NBYTES;
        c->test_kinds += t->column >= TENSOR_DTYPE && t->column <= TENSOR_NBYTES;
        if (t->column == TENSOR_NAME && t->kind == TEST_TEXT && equal && c->named < 0 &&
            c->plan.order != IN_KEYS && c->plan.access != BY_ID &&
            c->plan.access != BY_HASH && c->plan.access != BY_HASHED)
            c->named = i;
        else if (t->column != TENSOR_FILE && t->column != TENSOR_HASH)
            c->test_columns |= block_columns_of(t->column);
    }
    c->read_columns = 0;
    for (int column = 0; column < TENSOR_COLUMNS; column++)
        if (c->plan.used >> column & 1 && !(column == TENSOR_NAME && c->named >= 0))
            c->read_columns |= block_columns_of(column);
    return SQLITE_OK;
}

static int tensor_filter(sqlite3_vtab_cursor *base, int number, const char *text,
                         int argc, sqlite3_value **argv)
{
    struct tensor_cursor *c = (struct tensor_cursor *)base;
    tensor_reset(c);
    c->first_id = INT64_MIN;
    plan_read(&c->plan, number, text);
    int rc = begin_tests(c, argc, argv);
    for (int i = 0; rc == SQLITE_OK && i < c->plan.tests; i++)
        if (c->test[i].kind == TEST_NEVER)
            return SQLITE_OK;
    c->eof = false;
    if (rc == SQLITE_OK && c->plan.once == EACH_VALUE) {
        rc = open_values(c);
        if (rc == SQLITE_OK)
            rc = next_value(c);
    } else if (rc == SQLITE_OK) {
        rc = open_source(c);
        if (rc == SQLITE_OK)
            rc = next_checkpoint(c);
    }
    return tensor_fail(table_of(c), rc);
}

/* --- columns ------------------------------------------------------------------------------ */

/* Whether so few tensors of the checkpoint are wanted that they are read one by one. */
static bool wants_few(const struct tensor_cursor *c)
{
    return c->end <= FEW_TENSORS && c->plan.order != IN_KEYS &&
           (c->hit.ord >= 0 || c->selection->ords || c->plan.access != BY_SCAN);
}

static int load_block(struct tensor_cursor *c)
{
    struct blocks *b = &table_of(c)->blocks;
    int rc =
        wants_few(c)
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
               : load_block(c);
}

/* With -1 for its length SQLite need not copy a text once more to put a NUL after it. */
static int give_text(sqlite3_context *ctx, struct cell cell)
{
    if (cell.at)
        sqlite3_result_text(ctx, cell.at,
                            strlen(cell.at) == cell.len ? -1 : (int)cell.len,
                            SQLITE_TRANSIENT);
    return SQLITE_OK;
}

static int give_number(sqlite3_context *ctx, int64_t number)
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

static int copy_cell(struct arena *a, sqlite3_stmt *s, int column, struct cell *out)
{
    const char *text = (const char *)sqlite3_column_text(s, column);
    const size_t len = (size_t)sqlite3_column_bytes(s, column);
    *out = (struct cell){text ? arena_copy(a, text, len) : NULL, len};
    return text && !out->at ? SQLITE_NOMEM : SQLITE_OK;
}

/* Step through rows of the checkpoint with positions in a window; SQLITE_ROW, or SQLITE_OK at
 * the end. */
static int window_row(const struct tensor_cursor *c, const struct window *w,
                      sqlite3_stmt *s, int64_t *position)
{
    int rc;
    while ((rc = sqlite3_step(s)) == SQLITE_ROW) {
        *position = (sqlite3_column_int64(s, 0) & TENSOR_ORD_MASK) - w->first;
        if (*position >= 0 && *position <= w->last - w->first)
            return SQLITE_ROW;
    }
    (void)c;
    return rc == SQLITE_DONE ? SQLITE_OK : rc;
}

static int64_t id_of(const struct tensor_cursor *c, int64_t position)
{
    return (int64_t)((uint64_t)c->hit.checkpoint << TENSOR_ORD_BITS) + position;
}

static int current_place(struct tensor_cursor *c, struct place *out)
{
    if (!c->hit.placed) {
        int rc = current_block(c);
        if (rc != SQLITE_OK)
            return rc;
        const unsigned have = c->read_columns;
#define NUMBER(column)                                                                   \
    (have >> (column)&1 ? block_number(c->block, c->ord, (column)) : NUMBER_NULL)
        *out = (struct place){NUMBER(BLOCK_STORAGE), NUMBER(BLOCK_FILE),
                              NUMBER(BLOCK_START), NUMBER(BLOCK_STORED)};
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
            rc = detail_begin(table_of(c), DETAIL_PLACES, id_of(c, w->first),
                              id_of(c, w->last), &s);
        while (rc == SQLITE_OK && (rc = window_row(c, w, s, &at)) == SQLITE_ROW) {
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
    int rc = detail_begin(table_of(c), DETAIL_FILES, id_of(c, list->first),
                          id_of(c, list->last), &s);
    while (rc == SQLITE_OK && (rc = sqlite3_step(s)) == SQLITE_ROW) {
        struct file_cell *at =
            arena_grow(&c->own, list->at, list->count, &space, sizeof(*at));
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
            rc = detail_begin(table_of(c), DETAIL_HASHES, id_of(c, w->first),
                              id_of(c, w->last), &s);
        while (rc == SQLITE_OK && (rc = window_row(c, w, s, &at)) == SQLITE_ROW)
            rc = copy_cell(&c->own, s, 1, &((struct cell *)w->at)[at]);
        sqlite3_reset(s);
        w->known = rc == SQLITE_OK;
        if (rc != SQLITE_OK)
            return rc;
    }
    return give_text(ctx, ((struct cell *)w->at)[c->ord - w->first]);
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
        return give_number(ctx, p.stored);
    if (column == TENSOR_STORAGE) {
        const int64_t word = p.storage > 0 && p.storage < 5 ? p.storage : 0;
        sqlite3_result_text(ctx, words[word], -1, SQLITE_STATIC);
        return SQLITE_OK;
    }
    if (p.file == NUMBER_NULL || (rc = current_file(c, p.file, &f)) != SQLITE_OK)
        return rc;
    if (column == TENSOR_FILE)
        return give_text(ctx, f.path);
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
    int rc = read_label(c);
    return rc == SQLITE_OK ? give_text(ctx, column == TENSOR_PATH ? c->path : c->name)
                           : rc;
}

static int give_of_block(struct tensor_cursor *c, sqlite3_context *ctx, int column)
{
    if (column == TENSOR_NAME && c->named >= 0)
        return give_text(ctx, c->test[c->named].text);
    int rc = current_block(c);
    if (rc != SQLITE_OK)
        return rc;
    switch (column) {
    case TENSOR_NAME:
        return give_text(ctx, block_text(c->block, c->ord, BLOCK_NAME));
    case TENSOR_DTYPE:
        return give_text(ctx, block_text(c->block, c->ord, BLOCK_DTYPE));
    case TENSOR_SHAPE:
        return give_text(ctx, block_text(c->block, c->ord, BLOCK_SHAPE));
    case TENSOR_RANK:
        return give_number(ctx, shape_rank(block_text(c->block, c->ord, BLOCK_SHAPE)));
    case TENSOR_ELEMENTS:
        return give_number(ctx, block_number(c->block, c->ord, BLOCK_ELEMENTS));
    default:
        return give_number(ctx, block_number(c->block, c->ord, BLOCK_NBYTES));
    }
}

static int tensor_column(sqlite3_vtab_cursor *base, sqlite3_context *ctx, int column)
{
    struct tensor_cursor *c = (struct tensor_cursor *)base;
    int rc = SQLITE_OK;
    if (c->values) {
        int at = 0;
        for (int i = 0; i < column; i++)
            at += c->plan.used >> i & 1;
        sqlite3_result_value(ctx, sqlite3_column_value(c->values, at));
        return SQLITE_OK;
    }
    switch (column) {
    case TENSOR_ID:
        sqlite3_result_int64(ctx, id_of(c, c->ord));
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
    return rc == SQLITE_OK ? rc : tensor_fail(table_of(c), rc);
}

static int tensor_rowid(sqlite3_vtab_cursor *base, sqlite3_int64 *id)
{
    const struct tensor_cursor *c = (const struct tensor_cursor *)base;
    *id = id_of(c, c->ord);
    return SQLITE_OK;
}

static const sqlite3_module tensor_module = {
    .iVersion = 0,
    .xCreate = tensor_connect,
    .xConnect = tensor_connect,
    .xBestIndex = tensor_best_index,
    .xDisconnect = tensor_disconnect,
    .xDestroy = tensor_disconnect,
    .xOpen = tensor_open,
    .xClose = tensor_close,
    .xFilter = tensor_filter,
    .xNext = tensor_next,
    .xEof = tensor_eof,
    .xColumn = tensor_column,
    .xRowid = tensor_rowid,
    .xUpdate = sql_refuse_change,
};

int sql_register_tensor(sqlite3 *db)
{
    struct filler *filler = NULL;
    int rc = filler_register(db, &filler);
    return rc == SQLITE_OK ? sqlite3_create_module_v2(db, "ckptdb_tensor", &tensor_module,
                                                      filler_hold(filler), filler_drop)
                           : rc;
}
