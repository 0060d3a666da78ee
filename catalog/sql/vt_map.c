/*
 * vt_map.c - the results of maps of all dialects, as table-valued functions, on which the views are
 * built:
 *
 *   translation_rows(ruleset, source)
 *   renamed_leaves(ruleset, source)    each leaf after the rules alone
 *   assignment_rows(ruleset, source, target_id)
 *   conversion_rows(ruleset, source)
 *   restore_rows(ruleset, source, target_id, strict)   target_id 0: without a model
 *   translation_counts(ruleset, source), assignment_counts, conversion_counts: for each
 *   checkpoint, the number of rows (`rows`) by status that the above would return
 *
 * The source may also be given by `checkpoint_id = ...` or `source_id = ...`, the others by the
 * names of their columns. Without a source, every checkpoint is one; without a target of an
 * assignment, likewise.
 *
 * The rows of a translation come from the SELECT in schema/map/translation.sql, which asks
 * renamed_leaves(); a restore begins with them. For the others names are matched with the rules as
 * they are read (map_load.h), the dialect settles the matches into rows
 * (catalog/maps/map/dialect.h), and this file returns them. Renamed leaves are read and returned
 * some at a time, until `wins` is used, which depends on all later leaves.
 *
 * Sources of one layout have the same rows, except for the tensor ids, and so have targets: the map
 * is settled once, and each row is returned for all. If a query uses only the
 * checkpoint and the status of a conversion's rows, as count(*) does, they are counted as
 * in conversion_counts(), and a count of n is returned as n rows. Without a rule set, every rule set of the view is
 * used. A name that is no rule set, or belongs to another view, is an error that says which is meant;
 * among names from other tables of the query, only the view's have rows.
 */
#include <stdlib.h>
#include <string.h>

#include "catalog/base/limits.h"
#include "catalog/sql/extension.h"
#include "catalog/sql/map_cursor.h"
#include "catalog/sql/rowid.h"

#define COST_OF_ONE  1e4  /* estimated cost with all arguments */
#define COST_OF_NONE 1e30 /* factor for a missing argument: the call will fail */

static const struct map_function functions[] = {
    {"translation_rows", MAP_TRANSLATION, {false}, false, "schema/map/translation.sql"},
    {"renamed_leaves", MAP_TRANSLATION, {true, true}, false, NULL},
    {"assignment_rows", MAP_ASSIGNMENT, {false}, false, NULL},
    {"conversion_rows", MAP_CONVERSION, {false}, false, NULL},
    {"restore_rows", MAP_RESTORE, {false, false, true, true}, false, NULL},
    {"translation_counts", MAP_TRANSLATION, {false}, true, "schema/map/translation.sql"},
    {"assignment_counts", MAP_ASSIGNMENT, {false}, true, NULL},
    {"conversion_counts", MAP_CONVERSION, {false}, true, NULL},
};

/* --- the table --------------------------------------------------------------------------- */

static int map_connect(sqlite3 *db, void *function, int argc, const char *const *argv,
                       sqlite3_vtab **out, char **message)
{
    (void)argc, (void)argv, (void)message;
#define X(column, declaration) ", " declaration
    static const char columns[] = MAP_COLUMNS(X);
#undef X
    struct rule_cache *rules = rule_cache_new();
    char *sql = rules ? sqlite3_mprintf("CREATE TABLE x(%s)", columns + 2) : NULL;
    int rc = vtab_new(db, sql, SQLITE_VTAB_INNOCUOUS, sizeof(struct map_table), out);
    struct map_table *t = (struct map_table *)*out;
    sqlite3_free(sql);
    if (rc != SQLITE_OK) {
        rule_cache_drop(rules);
        return rc;
    }
    t->of = (struct vtab){.db = db, .cursor = sizeof(struct map_cursor), .empty = map_cursor_empty};
    t->rules = rules;
    t->function = function;
    t->statements.db = db;
    return SQLITE_OK;
}

static int map_disconnect(sqlite3_vtab *base)
{
    struct map_table *t = (struct map_table *)base;
    map_statements_release(&t->statements);
    sqlite3_finalize(t->idle);
    rule_cache_drop(t->rules);
    free(t);
    return SQLITE_OK;
}

/* The argument that equality on a column gives; -1: none. */
static int given_by(int column)
{
    switch (column) {
    case COLUMN_RULESET: return GIVEN_RULESET;
    case COLUMN_SOURCE:
    case COLUMN_SOURCE_ID:
    case COLUMN_CHECKPOINT_ID: return GIVEN_SOURCE;
    case COLUMN_TARGET: return GIVEN_TARGET;
    case COLUMN_STRICT: return GIVEN_STRICT;
    default: return -1;
    }
}

/* Number a plan that is given the rule set, or note that rows give it to the plans of the same
 * statement. */
static int plan_number(struct map_plans *p, const sqlite3_index_info *info, bool given)
{
    bool all = true, asked = false;
    for (int i = 0; i < info->nConstraint; i++) {
        const struct sqlite3_index_constraint *c = &info->aConstraint[i];
        all = all && c->usable;
        asked = asked ||
                (c->iColumn == COLUMN_RULESET && !c->usable && c->op == SQLITE_INDEX_CONSTRAINT_EQ);
    }
    if (all)
        p->first = p->number + 1;
    for (unsigned n = p->first; asked && n <= p->number; n++)
        p->at[n % MAP_PLANS].by_value = false;
    if (!given)
        return 0;
    if (++p->number == MAP_NUMBERS)
        p->number = p->first = 1;
    p->at[p->number % MAP_PLANS].number = p->number;
    p->at[p->number % MAP_PLANS].by_value = true;
    return (int)(p->number << GIVEN_PLAN);
}

/* idxNum is the set of arguments given, idxStr the columns used, in hexadecimal. A plan that
 * lacks a required argument is not refused, but so expensive that SQLite takes any other; it
 * fails when it runs. (vt_query.c says why.) */
static int map_best_index(sqlite3_vtab *base, sqlite3_index_info *info)
{
    const struct map_function *f = ((struct map_table *)base)->function;
    int at[GIVEN] = {-1, -1, -1, -1}, arguments = 0;
    bool unusable = false;
    for (int i = 0; i < info->nConstraint; i++) {
        const struct sqlite3_index_constraint *c = &info->aConstraint[i];
        int given = c->op == SQLITE_INDEX_CONSTRAINT_EQ ? given_by(c->iColumn) : -1;
        unusable = unusable || (given >= 0 && !c->usable);
        if (given >= 0 && c->usable)
            at[given] = sql_prefer(info, at[given], i);
    }
    info->estimatedCost = COST_OF_ONE;
    for (int given = 0; given < GIVEN; given++) {
        if (at[given] >= 0) {
            info->aConstraintUsage[at[given]].argvIndex = ++arguments;
            info->aConstraintUsage[at[given]].omit =
                info->aConstraint[at[given]].iColumn >= COLUMN_RULESET;
            info->idxNum |= 1 << given;
        } else if (!f->needs[given]) {
            info->estimatedCost *= given <= GIVEN_SOURCE || f->view == MAP_ASSIGNMENT ? 1e6 : 1;
        } else if (unusable) {
            return SQLITE_CONSTRAINT;
        } else {
            info->estimatedCost *= COST_OF_NONE;
        }
    }
    if (at[GIVEN_RULESET] >= 0 &&
        sqlite3_vtab_rhs_value(info, at[GIVEN_RULESET], &(sqlite3_value *){NULL}) != SQLITE_OK)
        info->idxNum |= 1 << GIVEN_FROM_ROWS;
    info->idxNum |= plan_number(&((struct map_table *)base)->plans, info, at[GIVEN_RULESET] >= 0);
    if (at[GIVEN_SOURCE] >= 0 && info->aConstraint[at[GIVEN_SOURCE]].iColumn != COLUMN_SOURCE)
        info->idxNum |= 1 << GIVEN_BY_COLUMN;
    info->estimatedRows =
        (sqlite3_int64)(info->estimatedCost < 1e18 ? info->estimatedCost / 10 : 1e17);
    info->idxStr = sqlite3_mprintf("%llx", info->colUsed);
    info->needToFreeIdxStr = 1;
    return info->idxStr ? SQLITE_OK : SQLITE_NOMEM;
}

/* --- columns ----------------------------------------------------------------------------- */

/* The text is NUL-terminated. If it contains no other NUL, passing -1 tells SQLite so, which
 * then need not copy it again to append one. */
static void map_vt_give(sqlite3_context *context, struct map_text text)
{
    if (text.at && strlen(text.at) == text.len)
        sqlite3_result_text(context, text.at, -1, SQLITE_TRANSIENT);
    else if (text.at)
        sqlite3_result_text64(context, text.at, text.len, SQLITE_TRANSIENT, SQLITE_UTF8);
}

static void give_ord(sqlite3_context *context, const struct map_cursor *c,
                     const struct map_row *row)
{
    const struct map_table *t = (const struct map_table *)c->base.pVtab;
    if (t->function->view == MAP_RESTORE) /* `ord` is the position in the result */
        sqlite3_result_int64(context, (sqlite3_int64)c->row + 1);
    else if (row->old)
        sqlite3_result_int64(context, map_ord(row->old));
}

static void give_text_column(sqlite3_context *context, const struct map_row *row, int i)
{
    switch (i) {
    case COLUMN_NAME:
    case COLUMN_NEW_NAME: map_vt_give(context, row->new_name); break;
    case COLUMN_OLD_NAME: map_vt_give(context, row->old_name); break;
    case COLUMN_ORIGIN: sql_result_string(context, row->origin); break;
    case COLUMN_DTYPE: sql_result_string(context, row->dtype); break;
    case COLUMN_SHAPE: sql_result_string(context, row->shape); break;
    case COLUMN_OPS: sql_result_string(context, row->ops); break;
    case COLUMN_RECIPE: sql_result_string(context, row->recipe); break;
    case COLUMN_STATUS: sqlite3_result_text(context, row->status, -1, SQLITE_STATIC); break;
    case COLUMN_ERROR: map_vt_give(context, row->error); break;
    case COLUMN_NOTE: sql_result_string(context, row->note); break;
    default: break;
    }
}

/* On one side of an OR an argument may be given that is not given on the other: rows have checkpoints
 * all the same. */
static void give_argument(sqlite3_context *context, const struct map_cursor *c, int i)
{
    if (i == COLUMN_TARGET) {
        if (c->target.list[c->target.at].id || c->argument[GIVEN_TARGET])
            sqlite3_result_int64(context, c->target.list[c->target.at].id);
    } else if (c->argument[i - COLUMN_RULESET]) {
        sqlite3_result_value(context, c->argument[i - COLUMN_RULESET]);
    } else if (i == COLUMN_SOURCE) {
        sqlite3_result_int64(context, c->source.list[c->source.at].id);
    }
}

/* A column of the SELECT, which was asked for the first of the sources. */
static void give_selected(sqlite3_context *context, const struct map_cursor *c, int i)
{
    const struct map_source *of = &c->source.list[c->source.at];
    if (i == COLUMN_SOURCE_ID || i == COLUMN_CHECKPOINT_ID)
        sqlite3_result_int64(context, of->id);
    else if (i == COLUMN_ROWS)
        sqlite3_result_int64(context, 1);
    if (!(c->selected >> i & 1))
        return;
    const uint64_t before = c->selected & ((1ull << i) - 1);
    sqlite3_value *v = sqlite3_column_value(c->select, __builtin_popcountll(before));
    if (i != COLUMN_TENSOR_ID)
        sql_result_copy(context, v);
    else if (sqlite3_value_type(v) != SQLITE_NULL)
        sqlite3_result_int64(context, (of->id << TENSOR_ORD_BITS) +
                                          (sqlite3_value_int64(v) & TENSOR_ORD_MASK));
}

static int map_column(sqlite3_vtab_cursor *base, sqlite3_context *context, int i)
{
    struct map_cursor *c = (struct map_cursor *)base;
    if (i >= COLUMN_RULESET) {
        give_argument(context, c, i);
        return SQLITE_OK;
    }
    if (c->select && !c->counting) {
        give_selected(context, c, i);
        return SQLITE_OK;
    }
    const struct map_row *row = &c->task.row[c->row];
    int64_t rule = row->by ? row->by->ord : row->rule;
    bool tensor = row->old && row->old->kind == MAP_TENSOR;
    int rc = SQLITE_OK;
    switch (i) {
    case COLUMN_SOURCE_ID:
    case COLUMN_CHECKPOINT_ID:
        sqlite3_result_int64(context, c->source.list[c->source.at].id);
        break;
    case COLUMN_ORD: give_ord(context, c, row); break;
    case COLUMN_PLACE:
        if (row->old)
            sqlite3_result_int64(context, row->old->place);
        break;
    case COLUMN_IS_TENSOR: sqlite3_result_int(context, tensor); break;
    case COLUMN_TENSOR_ID:
        if (tensor)
            sqlite3_result_int64(context, (c->source.list[c->source.at].id << TENSOR_ORD_BITS) +
                                              map_ord(row->old));
        break;
    case COLUMN_RULE:
        if (rule != NO_RULE)
            sqlite3_result_int64(context, rule);
        break;
    case COLUMN_NTH: sqlite3_result_int64(context, (sqlite3_int64)row->nth); break;
    case COLUMN_PART: sqlite3_result_int64(context, row->part); break;
    case COLUMN_PARTS: sqlite3_result_int64(context, row->parts); break;
    case COLUMN_WINS:
        if (c->renames && (rc = map_cursor_find_winners(c)) == SQLITE_OK)
            sqlite3_result_int(context, c->task.row[c->row].wins);
        break;
    case COLUMN_ROWS:
        sqlite3_result_int64(context, row == &c->counts.row[c->row] ? (int64_t)row->nth : 1);
        break;
    default: give_text_column(context, row, i);
    }
    return rc;
}

static int map_rowid(sqlite3_vtab_cursor *base, sqlite3_int64 *row)
{
    const struct map_cursor *c = (const struct map_cursor *)base;
    uint64_t id = rowid_add_value(0, c->argument[GIVEN_RULESET]);
    id = rowid_add(id, (uint64_t)c->source.list[c->source.at].id);
    id = rowid_add(id, (uint64_t)c->target.list[c->target.at].id);
    id = rowid_add_value(id, c->argument[GIVEN_STRICT]);
    /* The order in which statuses are counted depends on the call. */
    for (const char *s = c->counting ? c->task.row[c->row].status : ""; *s; s++)
        id = rowid_add(id, (unsigned char)*s);
    const uint64_t nth = c->repeats ? c->repeat : c->counting ? 0 : c->before + c->row;
    *row = (sqlite3_int64)rowid_add(id, nth);
    return SQLITE_OK;
}

static const sqlite3_module map_module = {
    .xConnect = map_connect,
    .xBestIndex = map_best_index,
    .xDisconnect = map_disconnect,
    .xOpen = vtab_open,
    .xClose = vtab_close,
    .xFilter = map_cursor_filter,
    .xNext = map_cursor_next,
    .xEof = map_cursor_eof,
    .xColumn = map_column,
    .xRowid = map_rowid,
};

int sql_register_map(sqlite3 *db)
{
    int rc = SQLITE_OK;
    for (size_t i = 0; rc == SQLITE_OK && i < sizeof(functions) / sizeof(functions[0]); i++)
        rc = sql_register_table(db, functions[i].name, &map_module, (void *)&functions[i]);
    return rc;
}
