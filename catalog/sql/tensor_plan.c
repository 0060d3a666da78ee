#include "catalog/sql/tensor_plan.h"

#include <stdlib.h>
#include <string.h>

#include "catalog/base/text.h"
#include "catalog/sql/tensor_test.h"

#define BIT(column) (1u << (column))

const int by_name_columns[] = {TENSOR_NAME,     TENSOR_DTYPE,  TENSOR_SHAPE,
                               TENSOR_ELEMENTS, TENSOR_NBYTES, TENSOR_CHECKPOINTS};
const int largest_columns[] = {TENSOR_CHECKPOINT_ID, TENSOR_CHECKPOINT, TENSOR_NAME,
                               TENSOR_DTYPE,         TENSOR_SHAPE,      TENSOR_NBYTES};

static int column_of(const int *columns, int column)
{
    return !columns     ? column
           : column < 0 ? TENSOR_STORED /* the rowid: neither tested nor in an order */
                        : columns[column];
}

static const unsigned texts = BIT(TENSOR_CHECKPOINT) | BIT(TENSOR_PATH) | BIT(TENSOR_NAME) |
                              BIT(TENSOR_DTYPE) | BIT(TENSOR_SHAPE) | BIT(TENSOR_FILE) |
                              BIT(TENSOR_STORAGE) | BIT(TENSOR_HASH);
/* Columns of a tensor wherever it is: by these rows can be put in order. */
static const unsigned keyed = BIT(TENSOR_NAME) | BIT(TENSOR_DTYPE) | BIT(TENSOR_SHAPE) |
                              BIT(TENSOR_RANK) | BIT(TENSOR_ELEMENTS) | BIT(TENSOR_NBYTES);
/* What _layout_kinds has. */
static const unsigned of_kinds = BIT(TENSOR_DTYPE) | BIT(TENSOR_SHAPE) | BIT(TENSOR_RANK) |
                                 BIT(TENSOR_ELEMENTS) | BIT(TENSOR_NBYTES);
static const unsigned of_checkpoint =
    BIT(TENSOR_CHECKPOINT_ID) | BIT(TENSOR_CHECKPOINT) | BIT(TENSOR_PATH);

/* A value of these finds whole checkpoints, or one row. */
static const unsigned by_value = BIT(TENSOR_ID) | BIT(TENSOR_CHECKPOINT_ID) |
                                 BIT(TENSOR_CHECKPOINT) | BIT(TENSOR_PATH) | BIT(TENSOR_HASH) |
                                 BIT(TENSOR_FILE);

bool tensor_column_is_text(int column)
{
    return texts >> column & 1;
}

int plan_equality(const struct tensor_plan *p, int column)
{
    for (int i = 0; i < p->tests; i++)
        if (p->test[i].column == column && (p->test[i].op == TEST_EQ || p->test[i].op == TEST_IS))
            return i;
    return -1;
}

/* --- as text ------------------------------------------------------------------------------ */

/* A letter a column: "f=k>;k-a+;1f 0" has two tests and two keys, uses the first five columns, and wants all rows. */
static char *plan_text(const struct tensor_plan *p)
{
    struct text out = {0};
    for (int i = 0; i < p->tests; i++)
        text_addf(&out, "%c%c", 'a' + p->test[i].column, p->test[i].op);
    text_addc(&out, ';');
    for (int i = 0; i < p->keys + p->later; i++)
        text_addf(&out, "%c%c", 'a' + p->key[i].column, p->key[i].backwards ? '-' : '+');
    text_addf(&out, ";%x %lx", p->used, p->top);
    char *copy = text_str(&out) ? sqlite3_mprintf("%s", text_str(&out)) : NULL;
    text_release(&out);
    return copy;
}

void plan_read(struct tensor_plan *p, int number, const char *text)
{
    *p = (struct tensor_plan){
        .access = (enum tensor_access)(number & 15),
        .order = (enum tensor_order)(number >> 4 & 7),
        .once = (enum tensor_once)(number >> 7 & 3),
        .backwards = number >> 9 & 1,
        .then = (enum tensor_then)(number >> 10 & 3),
        .whole = number >> 12 & 1,
        .upright = number >> 13 & 1,
        .later = number >> 14,
    };
    for (; *text != ';'; text += 2, p->tests++) {
        p->test[p->tests].column = text[0] - 'a';
        p->test[p->tests].op = text[1];
    }
    for (text++; *text != ';'; text += 2, p->keys++) {
        p->key[p->keys].column = text[0] - 'a';
        p->key[p->keys].backwards = text[1] == '-';
    }
    p->keys -= p->later;
    char *top;
    p->used = (unsigned)strtoul(text + 1, &top, 16);
    p->top = strtoul(top, NULL, 16);
}

/* --- in the order of keys ------------------------------------------------------------------ */

/* How many keys put all tensors in order. If others follow, these are for a run of tensors that are alike in the first
 * ones: a page needs few runs. */
int plan_head(const struct tensor_plan *p)
{
    int head = 0;
    while (head < p->keys && p->key[head].column != TENSOR_NAME)
        head++;
    return head == p->keys || p->whole ? p->keys : head ? head : 1;
}

/* Smallest sizes are those that all layouts have: if not any rows of one will do, sorting is quicker. */
bool plan_streams(const struct tensor_plan *p)
{
    const int column = p->key[0].column;
    const bool any = p->keys == 1 && p->then == THEN_ANY;
    return plan_head(p) == 1 &&
           (column == TENSOR_NAME ||
            (!p->whole && column == TENSOR_NBYTES && (any || p->key[0].backwards)) ||
            (!p->whole && column == TENSOR_ELEMENTS && any));
}

/* --- making one --------------------------------------------------------------------------- */

static bool is_testable(struct sqlite3_index_info *info, int i, int column, char op)
{
    if (!op || column == TENSOR_STORED || column == TENSOR_OFFSET)
        return false;
    if ((column == TENSOR_FILE || column == TENSOR_HASH) && op != TEST_EQ)
        return op == TEST_NOTNULL || (op == TEST_NULL && column == TENSOR_FILE);
    return !tensor_column_is_text(column) || !strchr("=i!<l>g", op) ||
           sqlite3_stricmp(sqlite3_vtab_collation(info, i), "BINARY") == 0;
}

static void plan_tests(struct tensor_plan *p, struct sqlite3_index_info *info, const int *columns,
                       bool largest_first)
{
    for (int i = 0; i < info->nConstraint && p->tests < PLAN_TESTS; i++) {
        const int column = column_of(columns, info->aConstraint[i].iColumn);
        char op = test_operator(info->aConstraint[i].op);
        if (!info->aConstraint[i].usable || !is_testable(info, i, column, op))
            continue;
        /* SQLite would ask for each value of an IN in turn: then rows do not come in files' order. */
        if ((largest_first || !(BIT(column) & by_value)) && sqlite3_vtab_in(info, i, 1))
            op = TEST_IN;
        p->test[p->tests].column = column;
        p->test[p->tests++].op = op;
        info->aConstraintUsage[i].argvIndex = p->tests;
    }
}

static bool lists_names(const struct tensor_plan *p)
{
    for (int i = 0; i < p->tests; i++)
        if (p->test[i].column == TENSOR_NAME && p->test[i].op == TEST_IN)
            return true;
    return false;
}

static void plan_access(struct tensor_plan *p)
{
    static const struct {
        int column;
        enum tensor_access access;
    } best[] = {
        {TENSOR_ID, BY_ID},
        {TENSOR_CHECKPOINT_ID, BY_CHECKPOINT_ID},
        {TENSOR_CHECKPOINT, BY_CHECKPOINT},
        {TENSOR_PATH, BY_PATH},
        {TENSOR_HASH, BY_HASH},
        {TENSOR_FILE, BY_FILE},
        {TENSOR_NAME, BY_NAME},
    };
    p->access = BY_SCAN;
    for (size_t i = 0; i < sizeof(best) / sizeof(best[0]); i++)
        if (plan_equality(p, best[i].column) >= 0) {
            p->access = best[i].access;
            return;
        }
    bool above = false, below = false;
    for (int i = 0; i < p->tests; i++) {
        if (p->test[i].column == TENSOR_HASH)
            p->access = BY_HASHED;
        above |= p->test[i].column == TENSOR_NAME && strchr(">g", p->test[i].op);
        below |= p->test[i].column == TENSOR_NAME && strchr("<l", p->test[i].op);
    }
    if (p->access == BY_SCAN && (lists_names(p) || (above && below)))
        p->access = BY_NAMES;
}

struct ordering {
    const struct sqlite3_index_orderby *at, *end;
    const int *columns;
};

static int order_column(const struct ordering *o)
{
    return o->at == o->end ? TENSOR_COLUMNS : column_of(o->columns, o->at->iColumn);
}

/* Whether the rest of an ORDER BY is the order of the rows of one checkpoint. */
static bool is_in_file(const struct ordering *o, bool backwards)
{
    const int column = order_column(o);
    return column == TENSOR_COLUMNS ||
           ((column == TENSOR_ORD || column == TENSOR_ID) && o->at->desc == backwards);
}

static bool has_one_checkpoint(const struct tensor_plan *p)
{
    return p->access <= BY_PATH;
}

/* Take the columns of tensors that come next in an ORDER BY; false: there are none, or too many. */
static bool order_keyed(struct tensor_plan *p, struct ordering *o)
{
    for (; o->at < o->end && order_column(o) < TENSOR_COLUMNS && keyed >> order_column(o) & 1;
         o->at++) {
        if (p->keys == PLAN_KEYS)
            return false;
        p->key[p->keys].column = order_column(o);
        p->key[p->keys++].backwards = o->at->desc;
    }
    return p->keys != 0;
}

/* Whether the rows of a scan of the checkpoints can come in this order. */
static bool order_files(struct tensor_plan *p, struct ordering o)
{
    while (has_one_checkpoint(p) && o.at < o.end && order_column(&o) < TENSOR_COLUMNS &&
           BIT(order_column(&o)) & of_checkpoint)
        o.at++;
    const int column = order_column(&o);
    if (column == TENSOR_COLUMNS)
        return true;
    p->backwards = o.at->desc;
    if (column == TENSOR_ID || (column == TENSOR_ORD && has_one_checkpoint(p)))
        return true;
    if (column == TENSOR_CHECKPOINTS && p->access == BY_SCAN)
        p->order = IN_COUNT;
    else if (column == TENSOR_CHECKPOINT_ID)
        p->order = IN_FILES;
    else if (column == TENSOR_CHECKPOINT && p->access == BY_SCAN)
        p->order = IN_CHECKPOINT;
    else if (column == TENSOR_PATH && p->access == BY_SCAN)
        p->order = IN_PATH;
    else
        return false;
    o.at++;
    p->upright = p->order == IN_COUNT;
    if (p->upright)
        return o.at == o.end;
    if (is_in_file(&o, p->backwards))
        return true;
    p->upright = p->access == BY_SCAN && is_in_file(&o, false);
    return p->upright || (p->access == BY_SCAN && order_keyed(p, &o) && is_in_file(&o, false));
}

static bool tests_checkpoints(const struct tensor_plan *p)
{
    for (int i = 0; i < p->tests; i++)
        if (BIT(p->test[i].column) & (of_checkpoint | BIT(TENSOR_ID)))
            return true;
    return false;
}

static bool order_keys(struct tensor_plan *p, struct ordering o)
{
    if (tests_checkpoints(p)) /* sorting the rest is faster than finding it among all */
        return false;
    if (!order_keyed(p, &o))
        return false;
    const int column = order_column(&o);
    if (column == TENSOR_COLUMNS)
        return true;
    p->backwards = o.at->desc;
    p->then = column == TENSOR_CHECKPOINT    ? THEN_CHECKPOINT
              : column == TENSOR_CHECKPOINTS ? THEN_COUNT
                                             : THEN_ID;
    if (column == TENSOR_ID)
        return true;
    o.at++;
    if (column == TENSOR_CHECKPOINTS)
        return o.at == o.end;
    if (column != TENSOR_CHECKPOINT_ID && column != TENSOR_CHECKPOINT)
        return false;
    if (is_in_file(&o, p->backwards))
        return true;
    p->upright = true;
    const int before = p->keys;
    const bool keyed_on = order_keyed(p, &o);
    p->later = p->keys - before;
    p->keys = before;
    return keyed_on && is_in_file(&o, false);
}

/* Whether the rows can come by storage: all checkpoints' rows with one of the five words, then
 * those with the next. */
static bool order_storage(struct tensor_plan *p, struct ordering o)
{
    p->order = IN_STORAGE;
    p->key[0].column = TENSOR_STORAGE;
    p->key[0].backwards = o.at->desc;
    p->keys = 1;
    o.at++;
    if (order_column(&o) == TENSOR_CHECKPOINT_ID && !o.at->desc) {
        o.at++;
        return is_in_file(&o, false);
    }
    return order_column(&o) == TENSOR_COLUMNS || (order_column(&o) == TENSOR_ID && !o.at->desc);
}

/* Whether the rows can come by the path of their file, within one path by id. */
static bool order_file(struct tensor_plan *p, struct ordering o)
{
    if (tests_checkpoints(p))
        return false;
    p->order = IN_FILE;
    p->backwards = o.at->desc;
    o.at++;
    if (order_column(&o) == TENSOR_CHECKPOINT_ID && o.at->desc == p->backwards)
        o.at++;
    else if (order_column(&o) == TENSOR_ORD)
        return false;
    return is_in_file(&o, p->backwards);
}

#define TOP_ROWS 16384 /* with more, sorting all is as good */

/* What LIMIT and OFFSET want, if they are numbers, and if the tests leave no other condition; else 0. */
static unsigned long rows_wanted(const struct tensor_plan *p, struct sqlite3_index_info *info)
{
    unsigned long rows = 0;
    bool limited = false;
    int others = 0;
    for (int i = 0; i < info->nConstraint; i++) {
        const unsigned char op = info->aConstraint[i].op;
        sqlite3_value *value = NULL;
        if (op != SQLITE_INDEX_CONSTRAINT_LIMIT && op != SQLITE_INDEX_CONSTRAINT_OFFSET) {
            others++;
            continue;
        }
        if (!info->aConstraint[i].usable || sqlite3_vtab_rhs_value(info, i, &value) != SQLITE_OK)
            return 0;
        limited |= op == SQLITE_INDEX_CONSTRAINT_LIMIT;
        const sqlite3_int64 number = sqlite3_value_int64(value);
        rows += number < 0 || number > TOP_ROWS ? TOP_ROWS + 1UL : (unsigned long)number;
    }
    return !limited || others != p->tests || rows > TOP_ROWS ? 0 : rows ? rows : 1;
}

/* Whether the few rows that are wanted can be chosen among all. */
static bool order_top(struct tensor_plan *p, struct sqlite3_index_info *info)
{
    p->top = info->nOrderBy <= PLAN_KEYS && p->access != BY_ID ? rows_wanted(p, info) : 0;
    for (int i = 0; p->top && i < info->nOrderBy; i++) {
        p->key[p->keys].column = info->aOrderBy[i].iColumn;
        p->key[p->keys++].backwards = info->aOrderBy[i].desc;
        if (!(BIT(info->aOrderBy[i].iColumn) &
              (keyed | of_checkpoint | BIT(TENSOR_ID) | BIT(TENSOR_ORD) | BIT(TENSOR_STORED))))
            return false;
    }
    return p->top;
}

/* By any columns: if all rows had to be sorted for those of a LIMIT, the first of them alone. */
static bool order_columns(struct tensor_plan *p, struct sqlite3_index_info *info, const int *map)
{
    const struct ordering o = {info->aOrderBy, info->aOrderBy + info->nOrderBy, map};
    const bool distinct = sqlite3_vtab_distinct(info) >= 2;
    struct tensor_plan top = *p;
    const bool named = p->access == BY_NAMES && order_column(&o) == TENSOR_NAME && !lists_names(p);
    const bool in_keys = (p->access == BY_SCAN || named) && order_keys(p, o);
    const bool streams = in_keys && (plan_streams(p) || plan_head(p) < p->keys);
    if (!map && !streams && order_top(&top, info)) {
        *p = top;
        return true;
    }
    p->order = IN_KEYS;
    p->whole = sqlite3_vtab_distinct(info) != 0;
    unsigned columns = 0;
    for (int i = 0; i < info->nOrderBy; i++)
        columns |= BIT(column_of(map, info->aOrderBy[i].iColumn));
    if (distinct && (!(p->used & ~of_kinds) || p->used == BIT(TENSOR_NAME)))
        p->once = EACH_VALUE;
    else if (distinct && !(columns & ~keyed) && !(p->used & ~columns))
        p->once = EACH_KEY;
    return in_keys;
}

static void plan_order(struct tensor_plan *p, struct sqlite3_index_info *info, const int *map)
{
    const struct ordering o = {info->aOrderBy, info->aOrderBy + info->nOrderBy, map};
    const struct tensor_plan before = *p;
    const bool distinct = sqlite3_vtab_distinct(info) >= 2;
    unsigned columns = 0;
    for (int i = 0; i < info->nOrderBy; i++)
        columns |= BIT(column_of(map, info->aOrderBy[i].iColumn));
    const bool files =
        p->access != BY_HASH && p->access != BY_HASHED && (p->access != BY_FILE || !o.at->desc);
    info->orderByConsumed = files && order_files(p, o);
    if (info->orderByConsumed) {
        if (distinct && !(columns & ~of_checkpoint) && !(p->used & ~columns) &&
            p->access == BY_SCAN)
            p->once = EACH_CHECKPOINT;
        else if (distinct && p->keys && !(columns & ~(of_checkpoint | keyed)) &&
                 !(p->used & ~columns))
            p->once = EACH_KEY;
        return;
    }
    *p = before;
    if (p->access == BY_SCAN && ((order_column(&o) == TENSOR_STORAGE && order_storage(p, o)) ||
                                 (order_column(&o) == TENSOR_FILE && order_file(p, o)))) {
        info->orderByConsumed = 1;
        if (distinct && columns == BIT(order_column(&o)) && p->used == columns)
            p->once = EACH_KEY;
        return;
    }
    *p = before;
    info->orderByConsumed = order_columns(p, info, map);
    if (!info->orderByConsumed)
        *p = before;
}

/* Whether the order is that of `largest` itself: a statement without ORDER BY that reads it alone, as far as can be
 * seen, or the DISTINCT of one. */
static bool is_largest_first(struct sqlite3_index_info *info, const int *columns)
{
    bool good = columns == largest_columns && info->colUsed &&
                (!info->nOrderBy || sqlite3_vtab_distinct(info) == 2);
    for (int i = 0; i < info->nConstraint; i++)
        good = good && info->aConstraint[i].usable;
    return good;
}

void plan_values(const struct tensor_plan *p, struct text *sql)
{
    static const char *const names[TENSOR_COLUMNS] = {
        [TENSOR_NAME] = "name",
        [TENSOR_DTYPE] = "dtype",
        [TENSOR_SHAPE] = "shape",
        [TENSOR_RANK] = "iif(shape = '[]', 0, length(shape) - length(replace(shape, ',', '')) + 1)",
        [TENSOR_ELEMENTS] = "elements",
        [TENSOR_NBYTES] = "nbytes",
    };
    const char *before = "SELECT DISTINCT ";
    for (int c = 0; c < TENSOR_COLUMNS; c++)
        if (p->used >> c & 1) {
            text_addf(sql, "%s%s", before, names[c]);
            before = ", ";
        }
    text_addf(sql, " FROM %s", p->used == BIT(TENSOR_NAME) ? "_layout_tensors" : "_layout_kinds");
    before = " ORDER BY ";
    for (int i = 0; i < p->keys; i++) {
        text_addf(sql, "%s%s%s", before, names[p->key[i].column],
                  p->key[i].backwards ? " DESC" : "");
        before = ", ";
    }
}

/* How many of the rows that the access finds are left by the tests. */
static double plan_share(const struct tensor_plan *p, const struct tensor_counts *n)
{
    double share = 1;
    for (int i = 0; i < p->tests; i++) {
        const bool equal = strchr("=in", p->test[i].op) != NULL;
        if (p->test[i].column == TENSOR_NAME && equal)
            share /= p->access == BY_NAME ? 1 : n->tensors;
        else if (BIT(p->test[i].column) & (of_checkpoint | BIT(TENSOR_ID)))
            share /= equal ? 1 : 4;
        else if (p->test[i].column != TENSOR_HASH && p->test[i].column != TENSOR_FILE)
            share /= equal ? 8 : 3;
    }
    return share;
}

/* How many rows an access finds. */
static double plan_found(enum tensor_access access, const struct tensor_counts *n)
{
    switch (access) {
    case BY_ID: return 1;
    case BY_HASH: return 4;
    case BY_NAME: return n->checkpoints / 4;
    case BY_NAMES: return n->checkpoints * n->tensors / 16;
    case BY_HASHED: return n->checkpoints * n->tensors / 8;
    case BY_SCAN: return n->checkpoints * n->tensors;
    default: /* one checkpoint's tensors */ return n->tensors;
    }
}

/* The extra cost of rows that have to be sorted. With more, a join that tests a pattern of another table's
 * column, and sorts the remaining rows, would go through all tensors in order instead. */
#define SORTING_COSTS 8

static void plan_cost(const struct tensor_plan *p, const struct tensor_counts *n,
                      struct sqlite3_index_info *info)
{
    double found = plan_found(p->access, n);
    double rows = found * plan_share(p, n);
    /* SQLite counts nothing for sorting the rows of a join of virtual tables. */
    if (info->nOrderBy && info->orderByConsumed && !sqlite3_vtab_distinct(info) &&
        p->access == BY_SCAN)
        rows /= SORTING_COSTS, found /= SORTING_COSTS;
    if (rows < 1)
        rows = 1;
    /* A test is made once for each tensor of a layout; a tensor of a checkpoint is found by name. */
    const bool by_name = p->access < BY_NAME && plan_equality(p, TENSOR_NAME) >= 0;
    info->estimatedRows = (sqlite3_int64)rows;
    info->estimatedCost = 8 + rows * 1.5 + (by_name ? 4 : p->access == BY_ID ? 0 : found / 8);
    if (p->access == BY_ID)
        info->idxFlags = SQLITE_INDEX_SCAN_UNIQUE;
}

int plan_make(struct sqlite3_index_info *info, const int *columns,
              const struct tensor_counts *counts)
{
    struct tensor_plan p = {0};
    for (int i = 0; i < TENSOR_COLUMNS; i++)
        if (info->colUsed >> i & 1)
            p.used |= BIT(column_of(columns, i));
    const bool largest_first = is_largest_first(info, columns);
    plan_tests(&p, info, columns, largest_first);
    plan_access(&p);
    if (largest_first) {
        p.order = has_one_checkpoint(&p) ? IN_FILES : IN_KEYS;
        p.key[p.keys].column = TENSOR_NBYTES;
        p.key[p.keys++].backwards = true;
    } else if (info->nOrderBy) {
        plan_order(&p, info, columns);
    }
    plan_cost(&p, counts, info);
    /* Any plan of `largest` costs the same: to take the parts of an OR one after the other, as SQLite would else,
     * loses the order. How many rows there are tells joins enough. */
    if (columns == largest_columns)
        info->estimatedCost = 8 + counts->tensors * 2;
    info->idxNum = (int)p.access | (int)p.order << 4 | (int)p.once << 7 | p.backwards << 9 |
                   (int)p.then << 10 | p.whole << 12 | p.upright << 13 | p.later << 14;
    info->idxStr = plan_text(&p);
    info->needToFreeIdxStr = 1;
    return info->idxStr ? SQLITE_OK : SQLITE_NOMEM;
}
