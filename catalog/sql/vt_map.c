/*
 * vt_map.c - what comes of maps, all dialects, as table-valued functions that the views stand
 * over:
 *
 *   assignment_rows(ruleset, source, target_id)   source also by `source_id = ...`; not given:
 *                                              every checkpoint is one
 *
 * SQL finds which rules match which names (map_load.c), the dialect of the set settles what comes
 * of them (catalog/map/dialect.h), and here are the rows. Sources of one layout give the same,
 * but for whose tensors they are: it is worked out once, and each row shown for all of them.
 * A set of a dialect that belongs to another view has no rows; nor has one that is not there.
 */
#include <stdlib.h>
#include <string.h>

#include "catalog/sql/extension.h"
#include "catalog/sql/map_load.h"

#define COST_OF_ONE 1e4 /* estimated, all parameters given */

enum column {
    SOURCE_ID,
    NEW_NAME,
    OLD_NAME,
    TENSOR_ID,
    DTYPE,
    SHAPE,
    OPS,
    RULE,
    STATUS,
    ERROR,
    NOTE,
    RULESET, /* hidden: parameters */
    SOURCE,
    TARGET,
    COLUMNS
};

#define DECLARATION                                                                        \
    "CREATE TABLE x(source_id INTEGER, new_name TEXT, old_name TEXT, tensor_id INTEGER,"   \
    " dtype TEXT, shape TEXT, ops TEXT, rule INTEGER, status TEXT, error TEXT, note TEXT," \
    " ruleset HIDDEN, source HIDDEN, target_id HIDDEN)"

/* What is given, in the order of the arguments; a bit of idxNum each. */
enum given {
    GIVEN_RULESET,
    GIVEN_SOURCE,
    GIVEN_TARGET,
    GIVEN
};

struct map_table {
    sqlite3_vtab base; /* first */
    sqlite3 *db;
};

struct checkpoint {
    sqlite3_int64 id, layout;
};

struct map_cursor {
    sqlite3_vtab_cursor base; /* first */
    const struct dialect *dialect;
    struct map_task given; /* the set and the target, which all sources meet */
    struct map_task task;  /* and what comes of some sources */
    struct checkpoint *source;
    size_t sources, first, next; /* those of one layout: from first up to next */
    size_t at;                   /* of them, whose row it is */
    size_t row;
    sqlite3_int64 rowid;
    sqlite3_value *argument[GIVEN];
};

/* --- the table --------------------------------------------------------------------------- */

static int map_connect(sqlite3 *db, void *aux, int argc, const char *const *argv,
                       sqlite3_vtab **out, char **message)
{
    (void)aux, (void)argc, (void)argv, (void)message;
    struct map_table *t = calloc(1, sizeof(*t));
    if (!t)
        return SQLITE_NOMEM;
    t->db = db;
    *out = &t->base;
    int rc = sqlite3_declare_vtab(db, DECLARATION);
    return rc == SQLITE_OK ? sqlite3_vtab_config(db, SQLITE_VTAB_INNOCUOUS) : rc;
}

static int map_disconnect(sqlite3_vtab *base)
{
    free(base);
    return SQLITE_OK;
}

/* Which argument equality on a column gives; -1: none. */
static int given_by(int column)
{
    return column == RULESET                         ? GIVEN_RULESET
           : column == SOURCE || column == SOURCE_ID ? GIVEN_SOURCE
           : column == TARGET                        ? GIVEN_TARGET
                                                     : -1;
}

static int map_best_index(sqlite3_vtab *base, sqlite3_index_info *info)
{
    static const char *const name[] = {"ruleset", "source", "target_id"};
    int at[GIVEN] = {-1, -1, -1}, arguments = 0;
    bool unusable = false, other = false;
    for (int i = 0; i < info->nConstraint; i++) {
        const struct sqlite3_index_constraint *c = &info->aConstraint[i];
        int given = c->op == SQLITE_INDEX_CONSTRAINT_EQ ? given_by(c->iColumn) : -1;
        other = other || given < 0;
        unusable = unusable || (given >= 0 && !c->usable);
        if (given >= 0 && c->usable)
            at[given] = i;
    }
    info->estimatedCost = COST_OF_ONE;
    for (int given = 0; given < GIVEN; given++) {
        if (at[given] >= 0) {
            info->aConstraintUsage[at[given]].argvIndex = ++arguments;
            info->aConstraintUsage[at[given]].omit =
                info->aConstraint[at[given]].iColumn >= RULESET;
            info->idxNum |= 1 << given;
        } else if (given == GIVEN_SOURCE) {
            info->estimatedCost *= 1e6;
        } else if (unusable || other) {
            return SQLITE_CONSTRAINT;
        } else {
            base->zErrMsg =
                sqlite3_mprintf("say which %s: %s = ...", name[given], name[given]);
            return SQLITE_ERROR;
        }
    }
    info->estimatedRows = (sqlite3_int64)(info->estimatedCost / 10);
    return SQLITE_OK;
}

/* --- rows -------------------------------------------------------------------------------- */

static int map_open(sqlite3_vtab *base, sqlite3_vtab_cursor **out)
{
    (void)base;
    struct map_cursor *c = calloc(1, sizeof(*c));
    if (!c)
        return SQLITE_NOMEM;
    *out = &c->base;
    return SQLITE_OK;
}

static void cursor_reset(struct map_cursor *c)
{
    sqlite3_vtab_cursor base = c->base;
    arena_release(&c->task.arena);
    arena_release(&c->given.arena);
    free(c->source);
    for (int i = 0; i < GIVEN; i++)
        sqlite3_value_free(c->argument[i]);
    *c = (struct map_cursor){.base = base};
}

static int map_close(sqlite3_vtab_cursor *base)
{
    cursor_reset((struct map_cursor *)base);
    free(base);
    return SQLITE_OK;
}

static int cursor_error(struct map_cursor *c, int rc)
{
    struct map_table *t = (struct map_table *)c->base.pVtab;
    if (rc == SQLITE_OK || rc == SQLITE_NOMEM)
        return rc;
    sqlite3_free(t->base.zErrMsg);
    t->base.zErrMsg = sqlite3_mprintf("%s", sqlite3_errmsg(t->db));
    return rc;
}

/* The checkpoints that are sources, those of one layout side by side. */
static int find_sources(struct map_cursor *c)
{
    struct map_table *t = (struct map_table *)c->base.pVtab;
    sqlite3_stmt *s = NULL;
    size_t space = 0;
    int rc =
        sqlite3_prepare_v2(t->db,
                           c->argument[GIVEN_SOURCE]
                               ? "SELECT id, layout FROM main.checkpoints WHERE id = ?1"
                               : "SELECT id, layout FROM main.checkpoints"
                                 " ORDER BY layout, id",
                           -1, &s, NULL);
    if (rc != SQLITE_OK)
        return rc;
    if (c->argument[GIVEN_SOURCE])
        sqlite3_bind_value(s, 1, c->argument[GIVEN_SOURCE]);
    while ((rc = sqlite3_step(s)) == SQLITE_ROW) {
        struct checkpoint *grown = c->source;
        if (c->sources == space) {
            space = space ? space * 2 : 16;
            grown = realloc(c->source, space * sizeof(*grown));
        }
        if (!grown)
            break;
        c->source = grown;
        c->source[c->sources++] =
            (struct checkpoint){sqlite3_column_int64(s, 0), sqlite3_column_int64(s, 1)};
    }
    sqlite3_finalize(s);
    return rc == SQLITE_ROW ? SQLITE_NOMEM : rc == SQLITE_DONE ? SQLITE_OK : rc;
}

/* Settle the map for the sources of the next layout. */
static int settle(struct map_cursor *c)
{
    struct map_table *t = (struct map_table *)c->base.pVtab;
    const char *ruleset = (const char *)sqlite3_value_text(c->argument[GIVEN_RULESET]);
    arena_release(&c->task.arena);
    c->task = c->given;
    c->task.arena = (struct arena){0};
    c->row = 0;
    c->at = c->first = c->next;
    while (c->next < c->sources &&
           c->source[c->next].layout == c->source[c->first].layout)
        c->next++;
    sqlite3_int64 id = c->source[c->first].id;
    int rc =
        c->dialect->from_model
            ? map_load_tree(t->db, c->dialect, id, &c->task, &c->task.source)
            : map_load_matched(t->db, c->dialect, ruleset, id, &c->task, &c->task.source);
    if (rc == SQLITE_OK)
        c->dialect->settle(&c->task);
    return rc == SQLITE_OK && c->task.failed ? SQLITE_NOMEM : cursor_error(c, rc);
}

static bool cursor_done(const struct map_cursor *c)
{
    return c->row == c->task.rows && c->next == c->sources;
}

/* On to sources that have rows, if the last ones have no more. */
static int cursor_seek(struct map_cursor *c)
{
    int rc = SQLITE_OK;
    while (rc == SQLITE_OK && c->row == c->task.rows && c->next < c->sources)
        rc = settle(c);
    return rc;
}

static int map_next(sqlite3_vtab_cursor *base)
{
    struct map_cursor *c = (struct map_cursor *)base;
    c->rowid++;
    if (++c->at < c->next)
        return SQLITE_OK;
    c->at = c->first;
    c->row++;
    return cursor_seek(c);
}

static int map_filter(sqlite3_vtab_cursor *base, int set, const char *text, int argc,
                      sqlite3_value **argv)
{
    (void)text;
    struct map_cursor *c = (struct map_cursor *)base;
    struct map_table *t = (struct map_table *)base->pVtab;
    cursor_reset(c);
    for (int i = 0; i < argc; i++)
        if (sqlite3_value_type(argv[i]) == SQLITE_NULL)
            return SQLITE_OK;
    for (int given = 0, at = 0; given < GIVEN; given++)
        if (set >> given & 1 && !(c->argument[given] = sqlite3_value_dup(argv[at++])))
            return SQLITE_NOMEM;
    const char *ruleset = (const char *)sqlite3_value_text(c->argument[GIVEN_RULESET]);
    int rc = map_load_set(t->db, ruleset, &c->given, &c->dialect);
    if (rc != SQLITE_OK || !c->dialect || c->dialect->view != MAP_ASSIGNMENT)
        return cursor_error(c, rc);
    rc = find_sources(c);
    if (rc == SQLITE_OK && c->sources)
        rc = map_load_matched(t->db, c->dialect, ruleset,
                              sqlite3_value_int64(c->argument[GIVEN_TARGET]), &c->given,
                              &c->given.target);
    return rc == SQLITE_OK ? cursor_seek(c) : cursor_error(c, rc);
}

static int map_eof(sqlite3_vtab_cursor *base)
{
    return cursor_done((struct map_cursor *)base);
}

/* With the NUL that is behind it, unless another is inside, SQLite need not copy it again to
 * put one there. */
static void give(sqlite3_context *context, struct map_text text)
{
    if (text.at && strlen(text.at) == text.len)
        sqlite3_result_text(context, text.at, -1, SQLITE_TRANSIENT);
    else if (text.at)
        sqlite3_result_text64(context, text.at, text.len, SQLITE_TRANSIENT, SQLITE_UTF8);
}

static void give_string(sqlite3_context *context, const char *text)
{
    if (text)
        sqlite3_result_text(context, text, -1, SQLITE_TRANSIENT);
}

static void give_tensor(sqlite3_context *context, const struct map_leaf *leaf,
                        sqlite3_int64 id)
{
    if (leaf && leaf->kind == MAP_TENSOR)
        sqlite3_result_int64(context, (id << 24) + map_ord(leaf));
}

static int map_column(sqlite3_vtab_cursor *base, sqlite3_context *context, int i)
{
    struct map_cursor *c = (struct map_cursor *)base;
    const struct map_row *row = &c->task.row[c->row];
    int64_t rule = row->by ? row->by->ord : row->rule;
    switch ((enum column)i) {
    case SOURCE_ID:
        sqlite3_result_int64(context, c->source[c->at].id);
        break;
    case NEW_NAME:
        give(context, row->new_name);
        break;
    case OLD_NAME:
        give(context, row->old_name);
        break;
    case TENSOR_ID:
        give_tensor(context, row->old, c->source[c->at].id);
        break;
    case DTYPE:
        give_string(context, row->dtype);
        break;
    case SHAPE:
        give_string(context, row->shape);
        break;
    case OPS:
        give_string(context, row->ops);
        break;
    case RULE:
        if (rule != NO_RULE)
            sqlite3_result_int64(context, rule);
        break;
    case STATUS:
        sqlite3_result_text(context, row->status, -1, SQLITE_STATIC);
        break;
    case ERROR:
        give(context, row->error);
        break;
    case NOTE:
        give_string(context, row->note);
        break;
    case RULESET:
    case SOURCE:
    case TARGET:
        if (c->argument[i - RULESET])
            sqlite3_result_value(context, c->argument[i - RULESET]);
        break;
    case COLUMNS:
        break;
    }
    return SQLITE_OK;
}

static int map_rowid(sqlite3_vtab_cursor *base, sqlite3_int64 *row)
{
    *row = ((struct map_cursor *)base)->rowid;
    return SQLITE_OK;
}

static const sqlite3_module map_module = {
    .xConnect = map_connect,
    .xBestIndex = map_best_index,
    .xDisconnect = map_disconnect,
    .xOpen = map_open,
    .xClose = map_close,
    .xFilter = map_filter,
    .xNext = map_next,
    .xEof = map_eof,
    .xColumn = map_column,
    .xRowid = map_rowid,
};

int sql_register_map(sqlite3 *db)
{
    return sqlite3_create_module_v2(db, "assignment_rows", &map_module, NULL, NULL);
}
