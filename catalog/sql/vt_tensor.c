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
 * The table `by_name` is the same for the first checkpoint of each layout, with columns of layouts only; `largest`
 * the same with fewer columns and an order of its own.
 *
 * CREATE VIRTUAL TABLE temp.tensor puts it in front of the view (sql_cover_views()).
 */
#include <stdlib.h>
#include <string.h>

#include "catalog/base/limits.h"
#include "catalog/base/list.h"
#include "catalog/db/ids.h"
#include "catalog/db/statement.h"
#include "catalog/sql/extension.h"
#include "catalog/sql/tensor_cursor.h"
#include "catalog/sql/vtab.h"

#define FIND "SELECT c.id, c.layout, c.placed, NULL FROM _checkpoints c "
#define FIND_FILED                                                                                 \
    "SELECT c.id, c.layout, c.placed, NULL, f.id" ID_ORD ", f.path FROM _files f"                  \
    " CROSS JOIN _checkpoints c ON c.id = f.id" ID_OWNER
#define FIND_LAYOUTS "SELECT min(id), layout, 0, NULL FROM _checkpoints GROUP BY layout"
#define FIND_LABELED FIND "JOIN _labels l ON l.id = c.id "
static const char *const stream_sql[STREAMS] = {
    [STREAM_ID] =
        "SELECT id, layout, placed, ?1" ID_ORD " FROM _checkpoints WHERE id = ?1" ID_OWNER,
    [STREAM_RANGE] = FIND "WHERE c.id BETWEEN ?1 AND ?2 ORDER BY c.id",
    [STREAM_RANGE_BACK] = FIND "WHERE c.id BETWEEN ?1 AND ?2 ORDER BY c.id DESC",
    [STREAM_NAME] = FIND_LABELED "WHERE l.name = ?1",
    [STREAM_PATH] = FIND "WHERE c.path = ?1",
    [STREAM_FILE] =
        FIND "WHERE c.id IN (SELECT id" ID_OWNER " FROM _files WHERE path = ?1) ORDER BY c.id",
    [STREAM_HASH] =
        "SELECT c.id, c.layout, c.placed, x.id" ID_ORD
        " FROM _content_hashes h JOIN _tensor_hashes x ON x.hash = h.id"
        " JOIN _checkpoints c ON c.id = x.id" ID_OWNER " WHERE h.hash = ?1 ORDER BY x.id",
    [STREAM_HASHED] =
        "SELECT c.id, c.layout, c.placed, x.id" ID_ORD
        " FROM _tensor_hashes x JOIN _checkpoints c ON c.id = x.id" ID_OWNER " ORDER BY x.id",
    [STREAM_BY_NAME] =
        "SELECT c.id, c.layout, c.placed, NULL FROM _labels l CROSS JOIN _checkpoints c"
        " ON c.id = l.id ORDER BY l.name",
    [STREAM_BY_NAME_BACK] =
        "SELECT c.id, c.layout, c.placed, NULL FROM _labels l CROSS JOIN _checkpoints c"
        " ON c.id = l.id ORDER BY l.name DESC",
    [STREAM_BY_PATH] = FIND "ORDER BY c.path",
    [STREAM_BY_PATH_BACK] = FIND "ORDER BY c.path DESC",
    [STREAM_BY_FILE] = FIND_FILED "ORDER BY f.path, f.id",
    [STREAM_BY_FILE_BACK] = FIND_FILED "ORDER BY f.path DESC, f.id DESC",
    [STREAM_LAYOUTS] = FIND_LAYOUTS,
    [STREAM_BY_COUNT] = FIND_LAYOUTS " ORDER BY count(*)",
    [STREAM_BY_COUNT_BACK] = FIND_LAYOUTS " ORDER BY count(*) DESC",
};

/* --- errors ------------------------------------------------------------------------------- */

static int tensor_fail(struct tensor_table *t, int rc)
{
    if (rc == SQLITE_CORRUPT_VTAB)
        vtab_refuse(&t->base, "%s", blocks_damage(&t->blocks));
    else
        vtab_failed(&t->base, t->db, rc);
    return rc;
}

/* --- the table ---------------------------------------------------------------------------- */

static int tensor_disconnect(sqlite3_vtab *base)
{
    struct tensor_table *t = (struct tensor_table *)base;
    blocks_close(&t->blocks);
    sql_drop(t->blocks.filler);
    for (int i = 0; i < STREAMS; i++)
        sqlite3_finalize(t->idle[i]);
    for (int i = 0; i < DETAILS; i++)
        sqlite3_finalize(t->detail[i]);
    regex_cache_free(t->regexes);
    free(t);
    return SQLITE_OK;
}

static int tensor_connect(sqlite3 *db, void *aux, int argc, const char *const *argv,
                          sqlite3_vtab **out, char **message)
{
    (void)message;
    const bool by_name = argc > 2 && sqlite3_stricmp(argv[2], "by_name") == 0;
    const bool largest = argc > 2 && sqlite3_stricmp(argv[2], "largest") == 0;
    int rc = vtab_new(db,
                      by_name   ? BY_NAME_DECLARATION
                      : largest ? LARGEST_DECLARATION
                                : TENSOR_DECLARATION,
                      SQLITE_VTAB_INNOCUOUS, sizeof(struct tensor_table), out);
    struct tensor_table *t = (struct tensor_table *)*out;
    if (rc != SQLITE_OK)
        return rc;
    t->by_name = by_name;
    t->columns = by_name ? by_name_columns : largest ? largest_columns : NULL;
    t->db = t->blocks.db = db;
    t->blocks.filler = sql_hold(aux);
    t->regexes = regex_cache_new();
    if (t->regexes)
        return SQLITE_OK;
    tensor_disconnect(*out);
    *out = NULL;
    return SQLITE_NOMEM;
}

/* SQLite takes a table that was never ANALYZEd for one of 2^20 rows, and so do the tables beside this
 * one (vt_view.c): with another number joins would begin on the wrong side. */
#define CHECKPOINTS_TAKEN 1048576
#define LAYOUTS_TAKEN     65536

static void count(struct tensor_table *t)
{
    sqlite3_stmt *s = NULL;
    t->counts = (struct tensor_counts){t->by_name ? LAYOUTS_TAKEN : CHECKPOINTS_TAKEN, 1};
    if (sqlite3_prepare_v2(t->db,
                           "SELECT avg(tensors) FROM (SELECT tensors FROM _layouts LIMIT 64)", -1,
                           &s, NULL) == SQLITE_OK &&
        sqlite3_step(s) == SQLITE_ROW && sqlite3_column_double(s, 0) > 1)
        t->counts.tensors = sqlite3_column_double(s, 0);
    sqlite3_finalize(s);
}

static int tensor_best_index(sqlite3_vtab *base, sqlite3_index_info *info)
{
    struct tensor_table *t = (struct tensor_table *)base;
    if (blocks_renew(&t->blocks) || !t->counts.checkpoints)
        count(t);
    return plan_make(info, t->columns, &t->counts);
}

/* --- cursors ------------------------------------------------------------------------------ */

static int tensor_open(sqlite3_vtab *base, sqlite3_vtab_cursor **out)
{
    struct tensor_table *t = (struct tensor_table *)base;
    struct tensor_cursor *c = calloc(1, sizeof(*c));
    bool renewed = false;
    int rc = c ? blocks_enter(&t->blocks, &renewed) : SQLITE_NOMEM;
    if (rc != SQLITE_OK) {
        free(c);
        return tensor_fail(t, rc);
    }
    if (renewed)
        t->counts.checkpoints = 0;
    *out = &c->base;
    return SQLITE_OK;
}

/* Go back to where open_source() begins. */
static void tensor_rewind(struct tensor_cursor *c)
{
    struct tensor_table *t = table_of(c);
    vtab_give_back(&t->idle[c->kind], &c->stream);
    vtab_give_back(&t->idle[c->later_kind], &c->later);
    if (c->grouped)
        groups_end(&c->groups);
    tensor_leave(c);
    if (c->arena.used)
        arena_release(&c->arena);
    c->arena = (struct arena){0};
    c->round++;
    c->list_count = c->list_at = c->pick_count = 0;
    c->grouped = c->group_left = c->group_named = false;
    c->at = c->end = 0;
    c->block = NULL;
    c->eof = true;
}

static void tensor_reset(struct tensor_cursor *c)
{
    for (int i = 0; i < c->plan.tests; i++)
        test_end(&c->test[i]);
    tensor_rewind(c);
    sqlite3_finalize(c->values);
    c->values = NULL;
    c->ranked_count = 0;
    tensor_forget_filed(c);
    tensor_top_forget(c, false);
    c->wanted = c->given = 0;
}

static int tensor_close(sqlite3_vtab_cursor *base)
{
    struct tensor_cursor *c = (struct tensor_cursor *)base;
    struct tensor_table *t = table_of(c);
    tensor_reset(c);
    free(c->selected);
    free(c->list);
    free(c->pick);
    free(c->ranked);
    block_free(c->own_row);
    text_release(&c->group_name);
    free(c);
    blocks_leave(&t->blocks);
    return SQLITE_OK;
}

/* --- rows ------------------------------------------------------------------------------- */

static int next_value(struct tensor_cursor *c)
{
    int rc = sqlite3_step(c->values);
    c->eof = rc != SQLITE_ROW;
    return rc == SQLITE_ROW || rc == SQLITE_DONE ? SQLITE_OK : rc;
}

static int fill_top(struct tensor_cursor *);

static int tensor_next(sqlite3_vtab_cursor *base)
{
    struct tensor_cursor *c = (struct tensor_cursor *)base;
    if (c->values)
        return tensor_fail(table_of(c), next_value(c));
    if (c->plan.top && tensor_top_next(c))
        return SQLITE_OK;
    if (c->plan.top) {
        tensor_rewind(c);
        return tensor_fail(table_of(c), fill_top(c));
    }
    c->at++;
    if (c->at < c->end && (c->plan.once == EACH_ROW || tensor_keys_within(&c->plan))) {
        tensor_go(c);
        return SQLITE_OK;
    }
    if (c->plan.once == EACH_KEY && c->plan.order == IN_STORAGE) {
        c->eof = !tensor_next_storage(c);
        if (c->eof)
            return SQLITE_OK;
    } else if (c->plan.once == EACH_KEY) {
        c->list_at = c->list_count;
    }
    return tensor_fail(table_of(c), tensor_walk(c));
}

static int tensor_eof(sqlite3_vtab_cursor *base)
{
    return ((struct tensor_cursor *)base)->eof;
}

/* --- beginning ---------------------------------------------------------------------------- */

static int begin_stream(struct tensor_cursor *c, enum stream kind)
{
    struct tensor_table *t = table_of(c);
    c->kind = kind;
    return vtab_take(t->db, &t->idle[kind], stream_sql[kind], &c->stream);
}

/* The ids of checkpoints that pass the tests. */
static void narrow(const struct tensor_cursor *c, int64_t *first, int64_t *last, int64_t *first_id)
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
    if (table_of(c)->by_name)
        return begin_stream(c, STREAM_LAYOUTS);
    narrow(c, &first, &last, &c->first_id);
    int rc = begin_stream(c, c->plan.backwards ? STREAM_RANGE_BACK : STREAM_RANGE);
    if (rc == SQLITE_OK)
        rc = db_bind(c->stream, "ii", first, last);
    return rc;
}

/* Tensors in no file come first, or last. */
static int open_files(struct tensor_cursor *c)
{
    const bool back = c->plan.backwards;
    int rc = back ? open_range(c) : begin_stream(c, STREAM_BY_FILE);
    c->later = c->stream;
    c->later_kind = c->kind;
    c->stream = NULL;
    c->unfiled = !back;
    c->file.position = FILE_NONE;
    c->file.path = (struct cell){0};
    if (rc != SQLITE_OK)
        return rc;
    return back ? begin_stream(c, STREAM_BY_FILE_BACK) : open_range(c);
}

static int open_equal(struct tensor_cursor *c, enum stream kind, const struct tensor_test *t)
{
    int rc = begin_stream(c, kind);
    if (rc != SQLITE_OK)
        return rc;
    return t->kind == TEST_INTEGER
               ? sqlite3_bind_int64(c->stream, 1, t->integer)
               : sqlite3_bind_text(c->stream, 1, t->text.at, (int)t->text.len, SQLITE_STATIC);
}

static int open_values(struct tensor_cursor *c)
{
    struct text sql = {0};
    plan_values(&c->plan, &sql);
    int rc = text_str(&sql)
                 ? sqlite3_prepare_v2(table_of(c)->db, text_str(&sql), -1, &c->values, NULL)
                 : SQLITE_NOMEM;
    text_release(&sql);
    return rc;
}

/* Whether each value of a list is a text, by which tensors can be found. */
static bool are_texts(const struct tensor_test *list)
{
    for (size_t i = 0; i < list->among_count; i++)
        if (list->among[i].kind != TEST_TEXT && list->among[i].kind != TEST_NEVER)
            return false;
    return list->op == TEST_IN;
}

/* Texts that no wanted name is before or after; a `to` of NULL: none is after. */
static void name_bounds(const struct tensor_cursor *c, struct cell *from, struct cell *to)
{
    *from = (struct cell){"", 0};
    *to = (struct cell){0};
    for (int i = 0; i < c->plan.tests; i++) {
        const struct tensor_test *t = &c->test[i];
        if (t->column != TENSOR_NAME || t->kind != TEST_TEXT)
            continue;
        if (strchr("=i>g", t->op))
            *from = t->text;
        if (strchr("=i<l", t->op))
            *to = t->text;
    }
}

/* Tensors with a name, with names in a list, or with names between two; not `grouped`: they cannot be found so. */
static int open_names(struct tensor_cursor *c)
{
    struct blocks *b = &table_of(c)->blocks;
    struct cell from, to;
    const struct tensor_test *list = NULL;
    int rc = SQLITE_OK;
    name_bounds(c, &from, &to);
    for (int i = 0; c->plan.access == BY_NAMES && i < c->plan.tests; i++)
        if (c->test[i].column == TENSOR_NAME && are_texts(&c->test[i]))
            list = &c->test[i];
    if (!list && !to.at)
        return SQLITE_OK;
    c->grouped = true;
    for (size_t i = 0; list && rc == SQLITE_OK && i < list->among_count; i++)
        if (list->among[i].kind == TEST_TEXT)
            rc = groups_between(&c->groups, b, list->among[i].text, list->among[i].text);
    return list ? rc : groups_between(&c->groups, b, from, to);
}

/* In the order of columns. A name or a size comes by an index, which goes through all tensors: where all rows
 * are wanted and few pass the tests, these are sorted instead. */
static int open_keys(struct tensor_cursor *c)
{
    struct blocks *b = &table_of(c)->blocks;
    const bool stream = plan_streams(&c->plan);
    uint64_t wanted = 0, all = 0;
    int rc = SQLITE_OK;
    bool few = !stream && c->test_tensors;
    c->grouped = true;
    if (stream && (c->test_kinds || c->test_checkpoints)) {
        rc = blocks_all_holders(b);
        for (size_t i = 0; rc == SQLITE_OK && i < b->layout_count; i++) {
            const uint32_t *ords;
            uint32_t count = 0;
            if (b->layout[i]->holder_count)
                rc = tensor_filter_layout(c, b->layout[i], &ords, &count);
            wanted += count;
            all += b->layout[i]->holder_count ? b->layout[i]->tensors : 0;
        }
        few = wanted < all / 4;
    }
    name_bounds(c, &c->groups.from, &c->groups.to);
    if (rc == SQLITE_OK)
        rc = groups_ordered(&c->groups, b, &c->plan, few ? tensor_filter_layout : NULL, c);
    c->group_named = c->groups.stream && !c->groups.by_size && !c->groups.run;
    if (c->group_named)
        c->read_columns &= ~(1u << BLOCK_NAME);
    c->round++; /* groups have selections of their own */
    return rc;
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
    };
    const struct tensor_plan *p = &c->plan;
    const bool page = p->order == IN_KEYS && p->key[0].column == TENSOR_NAME;
    if ((p->access == BY_NAME || p->access == BY_NAMES) && !page) {
        int rc = open_names(c);
        if (rc == SQLITE_OK && c->grouped && p->order == IN_KEYS)
            rc = groups_sort(&c->groups, p);
        if (rc != SQLITE_OK || c->grouped)
            return rc;
    }
    if (p->order == IN_KEYS)
        return open_keys(c);
    if (p->order == IN_FILE)
        return open_files(c);
    if (p->order != IN_FILES && p->order != IN_STORAGE)
        return begin_stream(c, (enum stream)((p->order == IN_CHECKPOINT ? STREAM_BY_NAME
                                              : p->order == IN_PATH     ? STREAM_BY_PATH
                                                                        : STREAM_BY_COUNT) +
                                             p->backwards));
    if (p->access == BY_HASHED)
        return begin_stream(c, STREAM_HASHED);
    if (p->access >= BY_NAME || p->access == BY_CHECKPOINT_ID)
        return open_range(c);
    const struct tensor_test *test = &c->test[plan_equality(p, equal[p->access].column)];
    /* A number that is to equal a text, or the other way round: SQLite compares them. */
    if (test->kind != (p->access == BY_ID ? TEST_INTEGER : TEST_TEXT))
        return open_range(c);
    return open_equal(c, equal[p->access].stream, test);
}

/* Go through all rows for the next ones of a plan's `top`, and to the first of these. */
static int fill_top(struct tensor_cursor *c)
{
    int rc = open_source(c);
    if (rc == SQLITE_OK)
        rc = tensor_top_begin(c);
    if (rc == SQLITE_OK)
        rc = tensor_walk(c);
    while (rc == SQLITE_OK && !c->eof) {
        rc = tensor_top_look(c);
        if (rc == SQLITE_OK)
            rc = tensor_walk(c);
    }
    if (rc == SQLITE_OK)
        tensor_top_next(c);
    return rc;
}

static int begin_tests(struct tensor_cursor *c, int argc, sqlite3_value **argv)
{
    c->named = -1;
    c->test_columns = 0;
    c->test_tensors = c->test_kinds = c->test_places = c->test_checkpoints = 0;
    for (int i = 0; i < c->plan.tests; i++)
        c->test[i] =
            (struct tensor_test){.column = c->plan.test[i].column, .op = c->plan.test[i].op};
    for (int i = 0; i < c->plan.tests && i < argc; i++) {
        struct tensor_test *t = &c->test[i];
        if (!test_begin(t, tensor_column_is_text(t->column), argv[i], table_of(c)->regexes))
            return SQLITE_NOMEM;
        const bool equal = t->op == TEST_EQ || t->op == TEST_IS;
        c->test_tensors += t->column >= TENSOR_ORD && t->column <= TENSOR_NBYTES;
        c->test_kinds += t->column >= TENSOR_DTYPE && t->column <= TENSOR_NBYTES;
        c->test_checkpoints += t->column >= TENSOR_CHECKPOINT_ID && t->column <= TENSOR_PATH;
        if (t->column == TENSOR_NAME && t->kind == TEST_TEXT && equal && c->named < 0 &&
            (c->plan.order != IN_KEYS || c->plan.access == BY_NAME) && c->plan.access != BY_ID &&
            c->plan.access != BY_HASH && c->plan.access != BY_HASHED)
            c->named = i;
        else if (t->column == TENSOR_FILE || t->column == TENSOR_STORAGE)
            c->test_places +=
                t->column == TENSOR_STORAGE || t->op == TEST_NULL || t->op == TEST_NOTNULL;
        else if (t->column != TENSOR_HASH)
            c->test_columns |= tensor_block_columns(t->column);
    }
    c->read_columns = 0;
    for (int column = 0; column < TENSOR_COLUMNS; column++)
        if (c->plan.used >> column & 1 && !(column == TENSOR_NAME && c->named >= 0))
            c->read_columns |= tensor_block_columns(column);
    return SQLITE_OK;
}

static int tensor_filter(sqlite3_vtab_cursor *base, int number, const char *text, int argc,
                         sqlite3_value **argv)
{
    struct tensor_cursor *c = (struct tensor_cursor *)base;
    tensor_reset(c);
    c->first_id = INT64_MIN;
    c->storage = c->seen = 0;
    c->storages = ~0u;
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
    } else if (rc == SQLITE_OK && c->plan.top) {
        rc = fill_top(c);
    } else if (rc == SQLITE_OK) {
        rc = open_source(c);
        if (rc == SQLITE_OK)
            rc = tensor_walk(c);
    }
    return tensor_fail(table_of(c), rc);
}

static int tensor_column(sqlite3_vtab_cursor *base, sqlite3_context *ctx, int column)
{
    struct tensor_cursor *c = (struct tensor_cursor *)base;
    const int *columns = table_of(c)->columns;
    int rc = tensor_cell(c, ctx, columns ? columns[column] : column);
    return rc == SQLITE_OK ? rc : tensor_fail(table_of(c), rc);
}

static int tensor_rowid(sqlite3_vtab_cursor *base, sqlite3_int64 *id)
{
    const struct tensor_cursor *c = (const struct tensor_cursor *)base;
    *id = table_of(c)->by_name
              ? (sqlite3_int64)((uint64_t)c->hit.layout->id << TENSOR_ORD_BITS) + c->ord
              : tensor_id_of(c, c->ord);
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
    if (rc == SQLITE_OK)
        rc = sqlite3_create_module_v2(db, "ckptdb_tensor", &tensor_module,
                                      sql_hold((struct sql_shared *)filler), sql_drop);
    return rc == SQLITE_OK ? sql_register_module(db, filler) : rc;
}
