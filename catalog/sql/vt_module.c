/*
 * vt_module.c - the table `by_module`: the rows of the view of this name (schema/11_views.sql), at the speed of a
 * table with an index on every column.
 *
 * A row is a checkpoint and a module of its layout. The modules of layouts are read once (module_lists.h), and
 * tested once for a statement; then the table goes through checkpoints, and for each through the modules of its
 * layout that pass. Where rows are wanted in the order of a module's columns, it goes through all modules in this
 * order, and for each through the checkpoints that have it.
 */
#include <stdlib.h>
#include <string.h>

#include "catalog/base/limits.h"
#include "catalog/base/list.h"
#include "catalog/base/search.h"
#include "catalog/base/text.h"
#include "catalog/sql/extension.h"
#include "catalog/sql/module_lists.h"
#include "catalog/sql/regex_cache.h"
#include "catalog/sql/rowid.h"
#include "catalog/sql/tensor_test.h"

#define DECLARATION                                                                                \
    "CREATE TABLE x(checkpoint_id INTEGER, checkpoint TEXT, module TEXT, depth INTEGER,"           \
    " tensors INTEGER, parameters INTEGER, nbytes INTEGER)"
#define BIT(column)    (1u << (column))
#define OF_CHECKPOINT  (BIT(MODULE_CHECKPOINT_ID) | BIT(MODULE_CHECKPOINT))
#define OF_SUM         (BIT(MODULE_TENSORS) | BIT(MODULE_PARAMETERS) | BIT(MODULE_NBYTES))
#define IS_TEXT        (BIT(MODULE_CHECKPOINT) | BIT(MODULE_NAME))
#define MODULE_TESTS   12
#define MODULE_KEYS    MODULE_COLUMNS
#define IN_SET(number) ((uint64_t)1 << ((number)&63))
#define FEW_WITHIN     16384

enum module_access { ALL_CHECKPOINTS, OF_ID, OF_NAME };

/* Rows come by checkpoint, and within one by `within`; or `by_keys`: by the first of `before`, equal rows
 * by the others, then by checkpoint, then by `within`. */
struct module_plan {
    enum module_access access;
    bool by_keys;
    bool by_checkpoint, by_name,
        backwards; /* the checkpoints' order: any, or of their ids or names */
    bool once;     /* of rows that are alike in all of these, one */
    int tests, befores, withins;
    struct {
        int column;
        char op;
    } test[MODULE_TESTS];
    struct module_key before[MODULE_KEYS], within[MODULE_KEYS];
};

struct module_table {
    sqlite3_vtab base; /* first */
    struct module_lists lists;
    struct regex_cache *regexes;
    sqlite3_stmt *idle, *label, *between;
};

/* The modules of a layout that pass, in the order of plan.within. */
struct module_selection {
    uint64_t round; /* of the cursor when it was made; 0: never */
    uint32_t *at;
    uint32_t count;
};

struct module_row {
    int64_t checkpoint, order;
    uint32_t entry, place; /* place: before sorting */
};

struct module_cursor {
    sqlite3_vtab_cursor base; /* first */
    struct module_plan plan;
    struct tensor_test test[MODULE_TESTS];
    unsigned tested; /* columns */
    struct shapes {
        uint64_t lengths, depths; /* that texts can have which pass; sets of numbers modulo 64 */
    } shapes;
    /* The tensors within the modules whose names pass, by id, each with the characters of the module's name and the
     * test that it equals; or with none, if it begins as GLOB asks. Of names with some numbers of characters too many
     * tensors are within them, or nothing is known: a set of numbers modulo 64. */
    uint64_t unknown;
    struct within {
        int64_t id;
        uint32_t length;
        const struct tensor_test *equal;
    } * within;
    size_t within_count, within_space;
    struct arena arena;
    struct module_selection *selected; /* [layout.index] */
    size_t selected_space;
    uint64_t round;

    sqlite3_stmt *stream; /* of checkpoints: id, layout, name */
    const struct module_selection *selection;
    uint32_t at;

    /* by_keys: the values of the first key, the modules that have the current one, and of these those alike in all
     * of plan.before (part). */
    struct module_entry *value, *entry;
    size_t value_count, value_space, value_at;
    size_t entry_count, entry_space, part_begin, part_end;
    struct module_row *row; /* of the part, where checkpoints have an order */
    size_t row_count, row_space, row_at;
    size_t entry_at, holder_at;
    struct name_order {
        int64_t checkpoint, order;
    } * order;
    size_t order_count, order_space;

    /* The row. */
    bool eof;
    int64_t checkpoint;
    struct module_list *list;
    uint32_t module;
    bool label_known, labeled;
    struct text label; /* of the checkpoint */
};

static inline struct module_table *table_of(const struct module_cursor *c)
{
    return (struct module_table *)c->base.pVtab;
}

static int module_fail(struct module_table *t, int rc)
{
    if (rc == SQLITE_CORRUPT_VTAB)
        vtab_refuse(&t->base, "%s", blocks_damage(&t->lists.blocks));
    else
        vtab_failed(&t->base, t->lists.blocks.db, rc);
    return rc;
}

/* --- the table ---------------------------------------------------------------------------- */

static int module_disconnect(sqlite3_vtab *base)
{
    struct module_table *t = (struct module_table *)base;
    sql_drop(t->lists.blocks.filler);
    module_lists_close(&t->lists);
    sqlite3_finalize(t->idle);
    sqlite3_finalize(t->label);
    sqlite3_finalize(t->between);
    regex_cache_free(t->regexes);
    free(t);
    return SQLITE_OK;
}

static int module_connect(sqlite3 *db, void *aux, int argc, const char *const *argv,
                          sqlite3_vtab **out, char **message)
{
    (void)argc, (void)argv, (void)message;
    int rc = vtab_new(db, DECLARATION, SQLITE_VTAB_INNOCUOUS, sizeof(struct module_table), out);
    struct module_table *t = (struct module_table *)*out;
    if (rc != SQLITE_OK)
        return rc;
    t->lists.blocks.db = db;
    t->lists.blocks.filler = sql_hold(aux);
    t->regexes = regex_cache_new();
    if (t->regexes)
        return SQLITE_OK;
    module_disconnect(*out);
    *out = NULL;
    return SQLITE_NOMEM;
}

/* --- planning ----------------------------------------------------------------------------- */

/* How many of `rows` rows pass a condition: as for other views of a checkpoint (vt_view.c), so that joins with one
 * begin where joins with another do. */
static double rows_left(double rows, int column, char op)
{
    const bool equal = op == TEST_EQ || op == TEST_IS || op == TEST_IN;
    return !equal ? rows / 4 : BIT(column) & OF_CHECKPOINT && rows > 4 ? 4 : rows / 16;
}

/* The tests, in the letters of `plan`; returns whether their values are known, whatever other tables have. */
static bool plan_tests(sqlite3_index_info *info, struct text *plan, double *rows,
                       bool *tests_checkpoints)
{
    int tests = 0;
    bool known = true;
    *rows = 1048576; /* as SQLite takes a table that was never ANALYZEd */
    for (int i = 0; i < info->nConstraint && tests < MODULE_TESTS; i++) {
        const int column = info->aConstraint[i].iColumn;
        char op = test_operator(info->aConstraint[i].op);
        if (!info->aConstraint[i].usable || column < 0 || !op)
            continue;
        if (BIT(column) & IS_TEXT && strchr("=i!<l>g", op) &&
            sqlite3_stricmp(sqlite3_vtab_collation(info, i), "BINARY") != 0)
            continue;
        if (!(BIT(column) & OF_CHECKPOINT) && sqlite3_vtab_in(info, i, 1))
            op = TEST_IN;
        text_addf(plan, "%c%c", 'a' + column, op);
        info->aConstraintUsage[i].argvIndex = ++tests;
        *rows = rows_left(*rows, column, op);
        if (BIT(column) & OF_CHECKPOINT) {
            *tests_checkpoints = true;
            if (op == TEST_EQ && !info->idxNum)
                info->idxNum = column == MODULE_CHECKPOINT_ID ? OF_ID : OF_NAME;
        }
        known = known && sqlite3_vtab_rhs_value(info, i, &(sqlite3_value *){NULL}) == SQLITE_OK;
    }
    text_addc(plan, ';');
    return known;
}

/* Whether rows can come in the order that is wanted: with a checkpoint's columns in it, or a module's, which lead
 * to all modules. The keys, in the letters of `plan`. */
static bool plan_order(sqlite3_index_info *info, struct text *plan, bool tests_checkpoints)
{
    unsigned ordered = 0;
    const int distinct = sqlite3_vtab_distinct(info);
    const bool single = info->idxNum != ALL_CHECKPOINTS;
    bool named = false;
    for (int i = 0; i < info->nOrderBy; i++) {
        const int column = info->aOrderBy[i].iColumn;
        if (column < 0)
            return false;
        /* After one of a checkpoint's columns the others are equal. */
        const bool again = BIT(column) & OF_CHECKPOINT && (single || named);
        named |= (BIT(column) & OF_CHECKPOINT) != 0;
        if (!again && !(ordered & BIT(column)))
            text_addf(plan, "%c%c", 'a' + column, info->aOrderBy[i].desc ? '-' : '+');
        ordered |= BIT(column);
    }
    const bool by_keys = !single && !(BIT(info->aOrderBy[0].iColumn) & OF_CHECKPOINT);
    if (by_keys && tests_checkpoints)
        return false;
    if (distinct >= 2 && !(info->colUsed & ~(sqlite3_uint64)ordered))
        info->idxNum |= 8;
    return true;
}

static int module_best_index(sqlite3_vtab *base, sqlite3_index_info *info)
{
    struct text plan = {0};
    double rows;
    bool tests_checkpoints = false;
    (void)base;
    const bool known = plan_tests(info, &plan, &rows, &tests_checkpoints);
    const size_t tests = plan.len;
    if (known && info->nOrderBy)
        info->orderByConsumed = plan_order(info, &plan, tests_checkpoints);
    if (!info->orderByConsumed)
        plan.len = tests;
    text_addc(&plan, ';');
    const bool few = (info->idxNum & 3) != ALL_CHECKPOINTS;
    info->estimatedRows = rows < 1 ? 1 : (sqlite3_int64)rows;
    info->estimatedCost = few ? 4 + rows : 20 + (double)info->estimatedRows * 3;
    info->idxStr = text_str(&plan) ? sqlite3_mprintf("%s", text_str(&plan)) : NULL;
    info->needToFreeIdxStr = 1;
    text_release(&plan);
    return info->idxStr ? SQLITE_OK : SQLITE_NOMEM;
}

static void add_module_key(struct module_key *list, int *count, const char *at)
{
    if (*count < MODULE_KEYS)
        list[(*count)++] = (struct module_key){(enum module_column)(at[0] - 'a'), at[1] == '-'};
}

static void plan_read(struct module_plan *p, int number, const char *at)
{
    *p = (struct module_plan){.access = (enum module_access)(number & 3), .once = number >> 3 & 1};
    for (; *at != ';'; at += 2, p->tests++) {
        p->test[p->tests].column = at[0] - 'a';
        p->test[p->tests].op = at[1];
    }
    at++;
    p->by_keys = *at != ';' && p->access == ALL_CHECKPOINTS && !(BIT(*at - 'a') & OF_CHECKPOINT);
    for (; *at != ';'; at += 2) {
        if (BIT(*at - 'a') & OF_CHECKPOINT) {
            p->by_checkpoint = true;
            p->by_name = *at - 'a' == MODULE_CHECKPOINT;
            p->backwards = at[1] == '-';
        } else if (p->by_keys && !p->by_checkpoint) {
            add_module_key(p->before, &p->befores, at);
        } else {
            add_module_key(p->within, &p->withins, at);
        }
    }
}

/* --- cursors ------------------------------------------------------------------------------ */

static int module_open(sqlite3_vtab *base, sqlite3_vtab_cursor **out)
{
    struct module_table *t = (struct module_table *)base;
    struct module_cursor *c = calloc(1, sizeof(*c));
    bool renewed = false;
    if (blocks_renew(&t->lists.blocks))
        module_lists_forget(&t->lists);
    int rc = c ? blocks_enter(&t->lists.blocks, &renewed) : SQLITE_NOMEM;
    if (renewed)
        module_lists_forget(&t->lists);
    if (rc != SQLITE_OK) {
        free(c);
        return module_fail(t, rc);
    }
    *out = &c->base;
    return SQLITE_OK;
}

static void module_reset(struct module_cursor *c)
{
    for (int i = 0; i < c->plan.tests; i++)
        test_end(&c->test[i]);
    vtab_give_back(&table_of(c)->idle, &c->stream);
    arena_release(&c->arena);
    c->arena = (struct arena){0};
    c->round++;
    c->selection = NULL;
    c->value_count = c->value_at = c->entry_count = c->part_begin = c->part_end = 0;
    c->row_count = c->row_at = c->entry_at = c->holder_at = c->order_count = 0;
    c->label_known = false;
    c->eof = true;
}

static int module_close(sqlite3_vtab_cursor *base)
{
    struct module_cursor *c = (struct module_cursor *)base;
    module_reset(c);
    blocks_leave(&table_of(c)->lists.blocks);
    free(c->selected);
    free(c->within);
    free(c->value);
    free(c->entry);
    free(c->row);
    free(c->order);
    text_release(&c->label);
    free(c);
    return SQLITE_OK;
}

/* --- which modules of a layout ------------------------------------------------------------ */

/* Whether the tests of a column, MODULE_DEPTH or later, let a number pass. */
static bool number_passes(const struct module_cursor *c, enum module_column column, int64_t number)
{
    for (int i = 0; c->tested & BIT(column) && i < c->plan.tests; i++)
        if (c->test[i].column == (int)column && !test_number(&c->test[i], number))
            return false;
    return true;
}

static bool sum_passes(const struct module_cursor *c, const struct module_sum *s)
{
    return number_passes(c, MODULE_TENSORS, s->tensors) &&
           number_passes(c, MODULE_PARAMETERS, s->parameters) &&
           number_passes(c, MODULE_NBYTES, s->nbytes);
}

static int64_t first_id(const struct module_list *l)
{
    return (int64_t)((uint64_t)l->layout->id << TENSOR_ORD_BITS);
}

/* The first of c->within that does not come before an id. */
static size_t within_from(const struct module_cursor *c, int64_t id)
{
    size_t at = 0;
    PARTITION_POINT(at, c->within_count, c->within[at].id < id);
    return at;
}

static bool is_unknown(const struct module_cursor *c, const struct module_list *l,
                       const struct module_place *p)
{
    return !l->plain || c->unknown & IN_SET(p->length);
}

/* How a module can pass the tests of names. */
static const struct within *within_of(const struct module_cursor *c, const struct module_list *l,
                                      const struct module_place *p)
{
    const int64_t id = first_id(l) + p->tensor;
    for (size_t i = within_from(c, id); i < c->within_count && c->within[i].id == id; i++)
        if (!c->within[i].equal || c->within[i].length == p->length)
            return &c->within[i];
    return NULL;
}

/* The name of a module, which is read only where no test says it. */
static int name_of(struct module_cursor *c, struct module_list *l, uint32_t at, struct cell *out)
{
    const struct module_place *p = &l->sums.module[at];
    const struct within *w = is_unknown(c, l, p) ? NULL : within_of(c, l, p);
    if (!w || !w->equal)
        return module_name(&table_of(c)->lists, l, at, out);
    *out = w->equal->text;
    return SQLITE_OK;
}

static int name_passes(struct module_cursor *c, struct module_list *l, uint32_t at, bool *good)
{
    struct cell name = {0};
    const struct module_place *p = &l->sums.module[at];
    *good = (!l->plain || c->shapes.lengths & IN_SET(p->length)) &&
            (is_unknown(c, l, p) || within_of(c, l, p));
    int rc = *good ? name_of(c, l, at, &name) : SQLITE_OK;
    for (int i = 0; rc == SQLITE_OK && *good && i < c->plan.tests; i++)
        if (c->test[i].column == MODULE_NAME)
            *good = test_text(&c->test[i], name);
    return rc;
}

/* Whether any module of a layout can pass the tests of names. */
static bool any_within(const struct module_cursor *c, const struct module_list *l)
{
    if (!l->plain || c->unknown)
        return true;
    const size_t at = within_from(c, first_id(l));
    return at < c->within_count && c->within[at].id >> TENSOR_ORD_BITS == l->layout->id;
}

/* Add the modules of a depth that pass. Without tests but of the depth they need not be read. */
static int select_depth(struct module_cursor *c, struct module_list *l, size_t depth,
                        struct module_selection *s)
{
    struct module_lists *m = &table_of(c)->lists;
    const struct module_depth *d = &l->sums.depth[depth];
    const bool sums = c->tested & OF_SUM, names = c->tested & BIT(MODULE_NAME);
    int rc = (sums || names) && !d->read ? module_lists_read(m, l, depth) : SQLITE_OK;
    for (uint32_t at = d->first; rc == SQLITE_OK && at < d->first + d->count; at++) {
        bool good = !sums || sum_passes(c, &l->sums.sum[l->sums.module[at].sum]);
        if (good && names)
            rc = name_passes(c, l, at, &good);
        if (good)
            s->at[s->count++] = at;
    }
    return rc;
}

/* Whether any module of a layout can pass the tests, as far as its sums tell. */
static bool any_sum_passes(const struct module_cursor *c, const struct module_list *l)
{
    bool any = !(c->tested & OF_SUM);
    for (size_t i = 0; !any && i < l->sums.sum_count; i++)
        any = sum_passes(c, &l->sums.sum[i]);
    return any;
}

/* Sort the selection by plan.within; keep that order if each comes once. */
static int sort_selection(struct module_cursor *c, struct module_list *l,
                          struct module_selection *s)
{
    struct module_entry *e = malloc((s->count + 1) * sizeof(*e));
    if (!e)
        return SQLITE_NOMEM;
    for (uint32_t i = 0; i < s->count; i++)
        e[i] = (struct module_entry){l->layout->index, s->at[i], 0};
    int rc = module_lists_sort(&table_of(c)->lists, e, s->count, c->plan.within,
                               (size_t)c->plan.withins);
    uint32_t count = 0;
    for (uint32_t i = 0; rc == SQLITE_OK && i < s->count; i++)
        if (!c->plan.once || !i || e[i].group != e[i - 1].group)
            s->at[count++] = e[i].at;
    s->count = count;
    free(e);
    return rc;
}

static int select_modules(struct module_cursor *c, struct layout *layout, struct module_list **list,
                          const struct module_selection **out)
{
    struct module_lists *m = &table_of(c)->lists;
    int rc = module_lists_get(m, layout, list);
    if (rc == SQLITE_OK && c->selected_space < m->blocks.layout_space) {
        struct module_selection *s = realloc(c->selected, m->blocks.layout_space * sizeof(*s));
        if (!s)
            return SQLITE_NOMEM;
        memset(s + c->selected_space, 0, (m->blocks.layout_space - c->selected_space) * sizeof(*s));
        c->selected = s;
        c->selected_space = m->blocks.layout_space;
    }
    if (rc != SQLITE_OK)
        return rc;
    struct module_selection *s = &c->selected[layout->index];
    *out = s;
    if (s->round == c->round)
        return SQLITE_OK;
    *s = (struct module_selection){
        .at = arena_room(&c->arena, ((*list)->sums.count + 1) * sizeof(*s->at))};
    rc = s->at ? SQLITE_OK : SQLITE_NOMEM;
    const size_t depths =
        any_within(c, *list) && any_sum_passes(c, *list) ? (*list)->sums.depths : 0;
    for (size_t i = 0; rc == SQLITE_OK && i < depths; i++) {
        const uint32_t depth = (*list)->sums.depth[i].depth;
        if (number_passes(c, MODULE_DEPTH, depth) &&
            (!(*list)->plain || c->shapes.depths & IN_SET(depth)))
            rc = select_depth(c, *list, i, s);
    }
    if (rc == SQLITE_OK && !c->plan.by_keys && (c->plan.withins || c->plan.once))
        rc = sort_selection(c, *list, s);
    s->round = rc == SQLITE_OK ? c->round : 0;
    return rc;
}

/* --- by checkpoint ------------------------------------------------------------------------ */

static void take_label(struct module_cursor *c, sqlite3_stmt *s, int column)
{
    text_reset(&c->label);
    c->labeled = sqlite3_column_type(s, column) != SQLITE_NULL;
    if (c->labeled)
        text_add(&c->label, sqlite3_column_text(s, column),
                 (size_t)sqlite3_column_bytes(s, column));
    c->label_known = true;
}

static int find_label(struct module_cursor *c)
{
    struct module_table *t = table_of(c);
    if (c->label_known)
        return SQLITE_OK;
    int rc = vtab_once(t->lists.blocks.db, &t->label,
                       "SELECT (SELECT name FROM _labels WHERE id = ?1)", "i", c->checkpoint);
    if (rc == SQLITE_OK && (rc = sqlite3_step(t->label)) == SQLITE_ROW) {
        take_label(c, t->label, 0);
        rc = text_str(&c->label) ? SQLITE_OK : SQLITE_NOMEM;
    }
    sqlite3_reset(t->label);
    return rc;
}

static int checkpoint_passes(struct module_cursor *c, bool *good)
{
    int rc = SQLITE_OK;
    *good = true;
    for (int i = 0; rc == SQLITE_OK && *good && i < c->plan.tests; i++) {
        const struct tensor_test *t = &c->test[i];
        if (t->column == MODULE_CHECKPOINT_ID) {
            *good = test_number(t, c->checkpoint);
        } else if (t->column == MODULE_CHECKPOINT) {
            rc = find_label(c);
            *good = rc == SQLITE_OK &&
                    test_text(t, (struct cell){c->labeled ? c->label.at : NULL, c->label.len});
        }
    }
    return rc;
}

static int next_checkpoint(struct module_cursor *c)
{
    int rc;
    while ((rc = sqlite3_step(c->stream)) == SQLITE_ROW) {
        struct layout *layout = NULL;
        bool good = false;
        c->checkpoint = sqlite3_column_int64(c->stream, 0);
        c->label_known = false;
        rc = checkpoint_passes(c, &good);
        if (rc == SQLITE_OK && good)
            rc = blocks_find(&table_of(c)->lists.blocks, sqlite3_column_int64(c->stream, 1),
                             &layout);
        if (rc == SQLITE_OK && good)
            rc = select_modules(c, layout, &c->list, &c->selection);
        if (rc != SQLITE_OK)
            return rc;
        c->at = 0;
        if (good && c->selection->count) {
            c->module = c->selection->at[0];
            return SQLITE_OK;
        }
    }
    c->eof = rc == SQLITE_DONE;
    return c->eof ? SQLITE_OK : rc;
}

static int open_checkpoints(struct module_cursor *c)
{
#define FIND "SELECT c.id, c.layout FROM _checkpoints c "
    static const char *const sql[] = {
        FIND "WHERE c.id = ?1",
        FIND "JOIN _labels l ON l.id = c.id WHERE l.name = ?1",
        FIND "ORDER BY c.id",
        FIND "ORDER BY c.id DESC",
        FIND "LEFT JOIN _labels l ON l.id = c.id ORDER BY l.name, c.id",
        FIND "LEFT JOIN _labels l ON l.id = c.id ORDER BY l.name DESC, c.id"};
    struct module_table *t = table_of(c);
    const struct tensor_test *by = NULL;
    const int column = c->plan.access == OF_ID ? MODULE_CHECKPOINT_ID : MODULE_CHECKPOINT;
    for (int i = 0; c->plan.access != ALL_CHECKPOINTS && i < c->plan.tests; i++)
        if (c->test[i].column == column && c->test[i].op == TEST_EQ &&
            c->test[i].kind == (c->plan.access == OF_ID ? TEST_INTEGER : TEST_TEXT))
            by = &c->test[i];
    const int which = by ? c->plan.access == OF_NAME : 2 + c->plan.by_name * 2 + c->plan.backwards;
    int rc = vtab_take(t->lists.blocks.db, &t->idle, sql[which], &c->stream);
    if (rc == SQLITE_OK && by)
        rc = c->plan.access == OF_ID
                 ? sqlite3_bind_int64(c->stream, 1, by->integer)
                 : sqlite3_bind_text(c->stream, 1, by->text.at, (int)by->text.len, SQLITE_STATIC);
    return rc;
}

/* --- by keys ------------------------------------------------------------------------------ */

static int by_checkpoint(const void *a, const void *b)
{
    const struct name_order *x = a, *y = b;
    return (x->checkpoint > y->checkpoint) - (x->checkpoint < y->checkpoint);
}

/* The order of the checkpoints' names. */
static int order_names(struct module_cursor *c)
{
    sqlite3_stmt *s = NULL;
    int rc = sqlite3_prepare_v2(table_of(c)->lists.blocks.db,
                                "SELECT id FROM _labels ORDER BY name", -1, &s, NULL);
    while (rc == SQLITE_OK && (rc = sqlite3_step(s)) == SQLITE_ROW) {
        struct name_order *list =
            list_grow(c->order, c->order_count, &c->order_space, sizeof(*list));
        rc = list ? SQLITE_OK : SQLITE_NOMEM;
        if (!list)
            break;
        c->order = list;
        list[c->order_count] =
            (struct name_order){sqlite3_column_int64(s, 0), (int64_t)c->order_count + 1};
        c->order_count++;
    }
    sqlite3_finalize(s);
    if (c->order && c->order_count)
        qsort(c->order, c->order_count, sizeof(*c->order), by_checkpoint);
    return rc == SQLITE_DONE ? SQLITE_OK : rc;
}

static int64_t order_of(const struct module_cursor *c, int64_t checkpoint)
{
    const struct name_order key = {checkpoint, 0}, *found = NULL;
    if (c->plan.by_name && c->order_count)
        found = bsearch(&key, c->order, c->order_count, sizeof(key), by_checkpoint);
    const int64_t order = !c->plan.by_name ? checkpoint : found ? found->order : 0;
    return c->plan.backwards ? -order : order;
}

static bool add_entry(struct module_entry **list, size_t *count, size_t *space, size_t layout,
                      uint32_t at)
{
    struct module_entry *grown = list_grow(*list, *count, space, sizeof(*grown));
    if (!grown)
        return false;
    *list = grown;
    grown[(*count)++] = (struct module_entry){(uint32_t)layout, at, 0};
    return true;
}

/* Take the values that the layouts have of the first key: names of modules, or depths, or sums. */
static int open_keys(struct module_cursor *c)
{
    struct module_lists *m = &table_of(c)->lists;
    const enum module_column column = c->plan.before[0].column;
    int rc = blocks_all_holders(&m->blocks);
    if (rc == SQLITE_OK && c->plan.by_name && c->plan.by_checkpoint)
        rc = order_names(c);
    for (size_t i = 0; rc == SQLITE_OK && i < m->blocks.layout_count; i++) {
        const struct module_selection *s = NULL;
        struct module_list *list;
        if (!m->blocks.layout[i]->holder_count)
            continue;
        rc = column == MODULE_NAME ? select_modules(c, m->blocks.layout[i], &list, &s)
                                   : module_lists_get(m, m->blocks.layout[i], &list);
        if (rc != SQLITE_OK)
            break;
        const size_t values = s                        ? s->count
                              : column == MODULE_DEPTH ? list->sums.depths
                                                       : list->sums.sum_count;
        for (uint32_t k = 0; k < values; k++)
            if (!add_entry(&c->value, &c->value_count, &c->value_space, i, s ? s->at[k] : k))
                return SQLITE_NOMEM;
    }
    if (rc != SQLITE_OK)
        return rc;
    return column == MODULE_NAME
               ? module_lists_sort(m, c->value, c->value_count, c->plan.before, 1)
               : module_lists_sort_values(m, c->value, c->value_count, c->plan.before[0]);
}

/* Whether a selected module has a value. */
static int has_value(struct module_cursor *c, struct module_list *l, uint32_t at, uint32_t value,
                     bool *has)
{
    const bool depth = c->plan.before[0].column == MODULE_DEPTH;
    int rc = depth ? SQLITE_OK : module_read(&table_of(c)->lists, l, at);
    *has = rc == SQLITE_OK && (depth ? module_depth_at(l, at) : l->sums.module[at].sum) == value;
    return rc;
}

/* List the modules that have a value. */
static int list_modules(struct module_cursor *c, const struct module_entry *value)
{
    const struct module_selection *s = NULL;
    struct module_list *list;
    if (c->plan.before[0].column == MODULE_NAME)
        return add_entry(&c->entry, &c->entry_count, &c->entry_space, value->layout, value->at)
                   ? SQLITE_OK
                   : SQLITE_NOMEM;
    int rc = select_modules(c, table_of(c)->lists.blocks.layout[value->layout], &list, &s);
    for (uint32_t k = 0; rc == SQLITE_OK && k < s->count; k++) {
        bool has = false;
        rc = has_value(c, list, s->at[k], value->at, &has);
        if (has && !add_entry(&c->entry, &c->entry_count, &c->entry_space, value->layout, s->at[k]))
            rc = SQLITE_NOMEM;
    }
    return rc;
}

static const struct layout *layout_of(const struct module_cursor *c, size_t entry)
{
    return table_of(c)->lists.blocks.layout[c->entry[entry].layout];
}

/* The first entry of another group. */
static size_t group_end(const struct module_entry *list, size_t from, size_t end)
{
    size_t at = from;
    while (at < end && list[at].group == list[from].group)
        at++;
    return at;
}

static int by_asked_order(const void *a, const void *b)
{
    const struct module_row *x = a, *y = b;
    return x->order != y->order ? (x->order > y->order) - (x->order < y->order)
                                : (x->place > y->place) - (x->place < y->place);
}

/* List the rows of a part, sorted by checkpoint, and within one by plan.within. */
static int list_rows(struct module_cursor *c)
{
    int rc =
        module_lists_sort(&table_of(c)->lists, c->entry + c->part_begin,
                          c->part_end - c->part_begin, c->plan.within, (size_t)c->plan.withins);
    c->row_count = c->row_at = 0;
    for (size_t i = c->part_begin; rc == SQLITE_OK && i < c->part_end; i++) {
        const struct layout *l = layout_of(c, i);
        for (size_t k = 0; k < l->holder_count; k++) {
            struct module_row *row = list_grow(c->row, c->row_count, &c->row_space, sizeof(*row));
            if (!row)
                return SQLITE_NOMEM;
            c->row = row;
            row[c->row_count] =
                (struct module_row){l->holders[k].checkpoint, order_of(c, l->holders[k].checkpoint),
                                    (uint32_t)i, (uint32_t)c->row_count};
            c->row_count++;
        }
    }
    if (c->row_count)
        qsort(c->row, c->row_count, sizeof(*c->row), by_asked_order);
    size_t count = 0;
    for (size_t i = 0; c->plan.once && i < c->row_count; i++)
        if (!i || c->row[i].checkpoint != c->row[count - 1].checkpoint ||
            c->entry[c->row[i].entry].group != c->entry[c->row[count - 1].entry].group)
            c->row[count++] = c->row[i];
    if (c->plan.once)
        c->row_count = count;
    return rc;
}

/* List the modules that have the next value of the first key, by the others. */
static int next_run(struct module_cursor *c)
{
    const size_t end = group_end(c->value, c->value_at, c->value_count);
    int rc = SQLITE_OK;
    c->entry_count = c->part_end = 0;
    const bool one = c->plan.once && c->plan.befores == 1 && !c->plan.by_checkpoint;
    for (size_t i = c->value_at; rc == SQLITE_OK && i < end && !(one && c->entry_count); i++)
        rc = list_modules(c, &c->value[i]);
    c->value_at = end;
    return rc == SQLITE_OK ? module_lists_sort(&table_of(c)->lists, c->entry, c->entry_count,
                                               c->plan.before + 1, (size_t)c->plan.befores - 1)
                           : rc;
}

/* Go to the next entries that are alike in plan.before; SQLITE_DONE: there are none. */
static int next_part(struct module_cursor *c)
{
    int rc = SQLITE_OK;
    while (rc == SQLITE_OK && c->part_end == c->entry_count) {
        if (c->value_at == c->value_count)
            return SQLITE_DONE;
        rc = next_run(c);
    }
    c->part_begin = c->entry_at = c->part_end;
    c->part_end = group_end(c->entry, c->part_begin, c->entry_count);
    c->holder_at = 0;
    return rc == SQLITE_OK && c->plan.by_checkpoint ? list_rows(c) : rc;
}

static int take_entry(struct module_cursor *c, size_t entry, int64_t checkpoint)
{
    const struct module_entry *e = &c->entry[entry];
    c->label_known = c->label_known && c->checkpoint == checkpoint;
    c->checkpoint = checkpoint;
    c->module = e->at;
    return module_lists_get(&table_of(c)->lists, table_of(c)->lists.blocks.layout[e->layout],
                            &c->list);
}

/* Go to the next row; each layout of an entry has a checkpoint. */
static int next_of_keys(struct module_cursor *c)
{
    const bool rows = c->plan.by_checkpoint;
    if (rows ? c->row_at == c->row_count : c->entry_at == c->part_end) {
        int rc = next_part(c);
        c->eof = rc == SQLITE_DONE;
        if (rc != SQLITE_OK)
            return c->eof ? SQLITE_OK : rc;
    }
    if (rows) {
        const struct module_row *row = &c->row[c->row_at++];
        return take_entry(c, row->entry, row->checkpoint);
    }
    const size_t entry = c->entry_at;
    const struct layout *l = layout_of(c, entry);
    const int64_t checkpoint = l->holders[c->holder_at].checkpoint;
    if (c->plan.once) {
        c->entry_at = c->part_end;
    } else if (++c->holder_at == l->holder_count) {
        c->entry_at++;
        c->holder_at = 0;
    }
    return take_entry(c, entry, checkpoint);
}

/* --- rows --------------------------------------------------------------------------------- */

static int module_next(sqlite3_vtab_cursor *base)
{
    struct module_cursor *c = (struct module_cursor *)base;
    if (c->plan.by_keys)
        return module_fail(table_of(c), next_of_keys(c));
    if (++c->at < c->selection->count) {
        c->module = c->selection->at[c->at];
        return SQLITE_OK;
    }
    return module_fail(table_of(c), next_checkpoint(c));
}

static int module_eof(sqlite3_vtab_cursor *base)
{
    return ((struct module_cursor *)base)->eof;
}

/* Which modules can pass a test of their text: equality leaves one length, and one depth for each
 * separator. */
static struct shapes shapes_of(const struct tensor_test *t)
{
    struct shapes set = {0, 0};
    for (size_t i = 0; t->op == TEST_IN && i < t->among_count; i++) {
        const struct shapes one = shapes_of(&t->among[i]);
        set = (struct shapes){set.lengths | one.lengths, set.depths | one.depths};
    }
    if (t->op == TEST_IN || t->kind == TEST_NEVER)
        return set;
    if (t->kind != TEST_TEXT || (t->op != TEST_EQ && t->op != TEST_IS))
        return (struct shapes){~set.lengths, ~set.depths};
    unsigned points = 1, slashes = 1;
    for (size_t i = 0; i < t->text.len; i++) {
        points += t->text.at[i] == '.';
        slashes += t->text.at[i] == '/';
    }
    return (struct shapes){IN_SET(module_characters(t->text.at, t->text.len)),
                           IN_SET(points) | IN_SET(slashes)};
}

/* Add the tensors of all layouts whose names are not below one text, but below another. */
static int add_within(struct module_cursor *c, const struct text *from, const struct text *to,
                      const struct tensor_test *equal)
{
    sqlite3_stmt **s = &table_of(c)->between;
    const uint32_t length = equal ? module_characters(equal->text.at, equal->text.len) : 0;
    const size_t before = c->within_count;
    int rc = vtab_once(table_of(c)->lists.blocks.db, s,
                       "SELECT id FROM _layout_tensors WHERE name >= ?1 AND name < ?2", "tt",
                       (struct bytes){(const uint8_t *)from->at, from->len},
                       (struct bytes){(const uint8_t *)to->at, to->len});
    while (rc == SQLITE_OK && c->within_count - before < FEW_WITHIN &&
           (rc = sqlite3_step(*s)) == SQLITE_ROW) {
        struct within *list =
            list_grow(c->within, c->within_count, &c->within_space, sizeof(*list));
        rc = list ? SQLITE_OK : SQLITE_NOMEM;
        if (!list)
            break;
        c->within = list;
        list[c->within_count++] = (struct within){sqlite3_column_int64(*s, 0), length, equal};
    }
    sqlite3_reset(*s);
    if (rc == SQLITE_OK) {
        c->within_count = before;
        c->unknown |= equal ? IN_SET(length) : ~(uint64_t)0;
    }
    return rc == SQLITE_DONE ? SQLITE_OK : rc;
}

/* Find the tensors within the modules that a test of their names lets pass: after the module's name theirs have a
 * separator, '.' or the '/' that comes after it. */
static int find_within(struct module_cursor *c, const struct tensor_test *t)
{
    const bool equal = t->op == TEST_EQ || t->op == TEST_IS;
    struct text from = {0}, to = {0};
    int rc = SQLITE_OK;
    for (size_t i = 0; rc == SQLITE_OK && i < t->among_count; i++)
        rc = find_within(c, &t->among[i]);
    if (t->op == TEST_IN || t->kind == TEST_NEVER)
        return rc;
    if (t->kind == TEST_TEXT && (equal || t->op == TEST_GLOB))
        text_add(&from, t->text.at, equal ? t->text.len : strcspn(t->text.at, "*?["));
    text_add(&to, from.at, from.len);
    if (!from.len || (uint8_t)from.at[from.len - 1] == UINT8_MAX) {
        c->unknown = ~(uint64_t)0;
    } else if (equal) {
        text_addc(&from, '.');
        text_addc(&to, '/' + 1);
    } else if (!to.failed) {
        to.at[to.len - 1]++;
    }
    if (from.failed || to.failed)
        rc = SQLITE_NOMEM;
    else if (~c->unknown)
        rc = add_within(c, &from, &to, equal ? t : NULL);
    text_release(&from);
    text_release(&to);
    return rc;
}

static int by_tensor(const void *a, const void *b)
{
    const struct within *x = a, *y = b;
    return (x->id > y->id) - (x->id < y->id);
}

/* By the first test of names that leaves few. Of one checkpoint's modules there are few anyway. */
static int narrow_within(struct module_cursor *c)
{
    int rc = SQLITE_OK;
    c->unknown = ~(uint64_t)0;
    c->within_count = 0;
    for (int i = 0; rc == SQLITE_OK && !~c->unknown && i < c->plan.tests; i++) {
        if (c->test[i].column != MODULE_NAME || c->plan.access != ALL_CHECKPOINTS)
            continue;
        c->unknown = c->within_count = 0;
        rc = find_within(c, &c->test[i]);
    }
    if (c->within_count)
        qsort(c->within, c->within_count, sizeof(*c->within), by_tensor);
    return rc;
}

static int module_filter(sqlite3_vtab_cursor *base, int number, const char *text, int argc,
                         sqlite3_value **argv)
{
    struct module_cursor *c = (struct module_cursor *)base;
    module_reset(c);
    plan_read(&c->plan, number, text);
    c->shapes = (struct shapes){~(uint64_t)0, ~(uint64_t)0};
    c->tested = 0;
    for (int i = 0; i < c->plan.tests; i++)
        c->test[i] =
            (struct tensor_test){.column = c->plan.test[i].column, .op = c->plan.test[i].op};
    bool never = false;
    for (int i = 0; i < c->plan.tests && i < argc; i++) {
        struct tensor_test *t = &c->test[i];
        if (!test_begin(t, BIT(t->column) & IS_TEXT, argv[i], table_of(c)->regexes))
            return SQLITE_NOMEM;
        c->tested |= BIT(t->column);
        if (t->column == MODULE_NAME) {
            const struct shapes set = shapes_of(t);
            c->shapes =
                (struct shapes){c->shapes.lengths & set.lengths, c->shapes.depths & set.depths};
        }
        never |= t->kind == TEST_NEVER;
    }
    if (never)
        return SQLITE_OK;
    c->eof = false;
    int rc = narrow_within(c);
    if (rc == SQLITE_OK)
        rc = c->plan.by_keys ? open_keys(c) : open_checkpoints(c);
    if (rc == SQLITE_OK)
        rc = c->plan.by_keys ? next_of_keys(c) : next_checkpoint(c);
    return module_fail(table_of(c), rc);
}

static int module_column(sqlite3_vtab_cursor *base, sqlite3_context *ctx, int column)
{
    struct module_cursor *c = (struct module_cursor *)base;
    struct cell name;
    int64_t number = 0;
    int rc = SQLITE_OK;
    switch (column) {
    case MODULE_CHECKPOINT_ID: sqlite3_result_int64(ctx, c->checkpoint); break;
    case MODULE_CHECKPOINT:
        rc = find_label(c);
        if (rc == SQLITE_OK && c->labeled)
            sqlite3_result_text(ctx, c->label.at, (int)c->label.len, SQLITE_TRANSIENT);
        break;
    case MODULE_NAME:
        rc = name_of(c, c->list, c->module, &name);
        if (rc == SQLITE_OK && name.at)
            sqlite3_result_text(ctx, name.at, (int)name.len, SQLITE_TRANSIENT);
        break;
    default:
        rc = module_number(&table_of(c)->lists, c->list, c->module, (enum module_column)column,
                           &number);
        sqlite3_result_int64(ctx, number);
    }
    return rc == SQLITE_OK ? rc : module_fail(table_of(c), rc);
}

static int module_rowid(sqlite3_vtab_cursor *base, sqlite3_int64 *id)
{
    const struct module_cursor *c = (const struct module_cursor *)base;
    *id = (sqlite3_int64)rowid_add(rowid_add(0, (uint64_t)c->checkpoint), c->module);
    return SQLITE_OK;
}

static const sqlite3_module module_module = {
    .iVersion = 0,
    .xCreate = module_connect,
    .xConnect = module_connect,
    .xBestIndex = module_best_index,
    .xDisconnect = module_disconnect,
    .xDestroy = module_disconnect,
    .xOpen = module_open,
    .xClose = module_close,
    .xFilter = module_filter,
    .xNext = module_next,
    .xEof = module_eof,
    .xColumn = module_column,
    .xRowid = module_rowid,
    .xUpdate = sql_refuse_change,
};

int sql_register_module(sqlite3 *db, struct filler *filler)
{
    return sqlite3_create_module_v2(db, "ckptdb_module", &module_module,
                                    sql_hold((struct sql_shared *)filler), sql_drop);
}
