/*
 * vt_map.c - what comes of maps, of all dialects, as table-valued functions that the views are
 * over:
 *
 *   translation_rows(ruleset, source)
 *   assignment_rows(ruleset, source, target_id)
 *   conversion_rows(ruleset, source)
 *   restore_rows(ruleset, source, target_id, strict)   target_id 0: without a model
 *   translation_counts(ruleset, source), assignment_counts, conversion_counts: how many rows (`rows`) of
 *   which status each checkpoint has of the above, none of which is made
 *
 * The source may also be given by `checkpoint_id = ...` or `source_id = ...`, the others by their
 * names; without a source every checkpoint is one, without the target of an assignment, too.
 *
 * The rules match the names as they are read (map_load.h), the dialect of the set settles what comes
 * of them (catalog/map/dialect.h), and here are the rows. Sources of one layout give the same,
 * but for whose tensors they are, and so do targets: it is worked out once, and each row shown for
 * all of them.
 * A set of a dialect that belongs to another view has no rows; nor has one that is not there.
 */
#include <stdlib.h>
#include <string.h>

#include "catalog/base/limits.h"
#include "catalog/map/ruleset.h"
#include "catalog/sql/extension.h"
#include "catalog/sql/map_counts.h"
#include "catalog/sql/map_trees.h"
#include "catalog/sql/rowid.h"
#include "catalog/sql/rule_cache.h"

#define COST_OF_ONE  1e4  /* estimated, all parameters given */
#define COST_OF_NONE 1e30 /* a factor, of a call that is refused */
#define BATCH        128  /* leaves that are settled together where each is by itself */

/* One list for all functions; some columns mean something in one of them alone. */
#define MAP_COLUMNS(X)                                                                   \
    X(SOURCE_ID, "source_id INTEGER")                                                    \
    X(CHECKPOINT_ID, "checkpoint_id INTEGER")                                            \
    X(ORD, "ord INTEGER")                                                                \
    X(PLACE, "place INTEGER")                                                            \
    X(NTH, "nth INTEGER")                                                                \
    X(IS_TENSOR, "is_tensor INTEGER")                                                    \
    X(NAME, "name TEXT")                                                                 \
    X(NEW_NAME, "new_name TEXT")                                                         \
    X(OLD_NAME, "old_name TEXT")                                                         \
    X(TENSOR_ID, "tensor_id INTEGER")                                                    \
    X(ORIGIN, "origin TEXT")                                                             \
    X(DTYPE, "dtype TEXT")                                                               \
    X(SHAPE, "shape TEXT")                                                               \
    X(PART, "part INTEGER")                                                              \
    X(PARTS, "parts INTEGER")                                                            \
    X(OPS, "ops TEXT")                                                                   \
    X(RECIPE, "recipe TEXT")                                                             \
    X(RULE, "rule INTEGER")                                                              \
    X(STATUS, "status TEXT")                                                             \
    X(ERROR, "error TEXT")                                                               \
    X(NOTE, "note TEXT")                                                                 \
    X(WINS, "wins INTEGER")                                                              \
    X(ROWS, "rows INTEGER")                                                              \
    X(RULESET, "ruleset HIDDEN")                                                         \
    X(SOURCE, "source HIDDEN")                                                           \
    X(TARGET, "target_id HIDDEN")                                                        \
    X(STRICT, "strict HIDDEN")

enum column {
#define X(column, declaration) COLUMN_##column,
    MAP_COLUMNS(X)
#undef X
};

/* What is given, in the order of the arguments; a bit of idxNum each. */
enum given {
    GIVEN_RULESET,
    GIVEN_SOURCE,
    GIVEN_TARGET,
    GIVEN_STRICT,
    GIVEN
};

/* A table-valued function. */
struct map_function {
    const char *name;
    enum map_view view;
    bool needs[GIVEN];
    bool counts; /* instead of rows */
};

static const struct map_function functions[] = {
    {"translation_rows", MAP_TRANSLATION, {true, false, false, false}, false},
    {"assignment_rows", MAP_ASSIGNMENT, {true, false, false, false}, false},
    {"conversion_rows", MAP_CONVERSION, {true, false, false, false}, false},
    {"restore_rows", MAP_RESTORE, {true, false, true, true}, false},
    {"translation_counts", MAP_TRANSLATION, {true, false, false, false}, true},
    {"assignment_counts", MAP_ASSIGNMENT, {true, false, false, false}, true},
    {"conversion_counts", MAP_CONVERSION, {true, false, false, false}, true},
};

struct map_table {
    sqlite3_vtab base; /* first */
    const struct map_function *function;
    struct rule_cache *rules;
    struct map_statements statements;
};

/* Checkpoints, those of one layout side by side. */
struct map_group {
    struct map_source *list;
    size_t count;
    size_t first, next; /* those of one layout: from first up to next */
    size_t at;          /* of them, whose row it is */
};

struct map_cursor {
    sqlite3_vtab_cursor base; /* first */
    const struct dialect *dialect;
    void (*settle)(struct map_task *);
    const char *fault;     /* of the set's options; NULL: none */
    uint64_t used;         /* columns, a bit each */
    bool by_leaf;          /* each leaf is settled by itself */
    struct map_task set;   /* without checkpoints */
    struct map_task given; /* the set and some targets, which all sources meet */
    struct map_task task;  /* and what comes of some sources */
    struct map_group source, target;
    struct rule_set *rules; /* as they are for the sources; NULL: they match no names */
    char *bound;            /* what these rules were found by */
    sqlite3_int64 meta;     /* of the sources that they were bound to */
    struct map_reading reading; /* has more leaves of the sources, if any */
    struct map_trees trees;     /* of this question and the ones before */
    unsigned questions;         /* of the statement: sets, checkpoints */
    size_t row;
    size_t before; /* rows of the sources that the stream gave and that are gone */
    struct map_counts counts; /* in place of rows: of the sources, from the beginning */
    sqlite3_value *argument[GIVEN];
};

/* --- the table --------------------------------------------------------------------------- */

static int map_connect(sqlite3 *db, void *function, int argc, const char *const *argv,
                       sqlite3_vtab **out, char **message)
{
    (void)argc, (void)argv, (void)message;
#define X(column, declaration) ", " declaration
    static const char columns[] = MAP_COLUMNS(X);
#undef X
    char *declaration = sqlite3_mprintf("CREATE TABLE x(%s)", columns + 2);
    struct map_table *t = calloc(1, sizeof(*t));
    struct rule_cache *rules = rule_cache_new();
    int rc =
        declaration && t && rules ? sqlite3_declare_vtab(db, declaration) : SQLITE_NOMEM;
    if (rc == SQLITE_OK)
        rc = sqlite3_vtab_config(db, SQLITE_VTAB_INNOCUOUS);
    sqlite3_free(declaration);
    if (rc != SQLITE_OK) {
        rule_cache_drop(rules);
        free(t);
        return rc;
    }
    t->rules = rules;
    t->function = function;
    t->statements.db = db;
    *out = &t->base;
    return SQLITE_OK;
}

static int map_disconnect(sqlite3_vtab *base)
{
    struct map_table *t = (struct map_table *)base;
    map_statements_release(&t->statements);
    rule_cache_drop(t->rules);
    free(t);
    return SQLITE_OK;
}

/* Which argument equality on a column gives; -1: none. */
static int given_by(int column)
{
    switch (column) {
    case COLUMN_RULESET:
        return GIVEN_RULESET;
    case COLUMN_SOURCE:
    case COLUMN_SOURCE_ID:
    case COLUMN_CHECKPOINT_ID:
        return GIVEN_SOURCE;
    case COLUMN_TARGET:
        return GIVEN_TARGET;
    case COLUMN_STRICT:
        return GIVEN_STRICT;
    default:
        return -1;
    }
}

/* A plan that lacks an argument is the last that SQLite takes, and says so when it runs: planning one
 * side of an OR, SQLite shows the terms of that side alone, and what is missing there may be given
 * beside it. idxStr is the columns used, in hexadecimal. */
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
            info->estimatedCost *=
                given == GIVEN_SOURCE || f->view == MAP_ASSIGNMENT ? 1e6 : 1;
        } else if (unusable) {
            return SQLITE_CONSTRAINT;
        } else {
            info->estimatedCost *= COST_OF_NONE;
        }
    }
    info->estimatedRows =
        (sqlite3_int64)(info->estimatedCost < 1e18 ? info->estimatedCost / 10 : 1e17);
    info->idxStr = sqlite3_mprintf("%llx", info->colUsed);
    info->needToFreeIdxStr = 1;
    return info->idxStr ? SQLITE_OK : SQLITE_NOMEM;
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
    struct map_cursor again = {
        .base = c->base, .trees = c->trees, .questions = c->questions};
    map_read_end(&((struct map_table *)c->base.pVtab)->statements, &c->reading);
    arena_release(&c->task.arena);
    arena_release(&c->given.arena);
    arena_release(&c->set.arena);
    rule_set_drop(c->rules);
    free(c->bound);
    free(c->source.list);
    free(c->target.list);
    for (int i = 0; i < GIVEN; i++)
        sqlite3_value_free(c->argument[i]);
    *c = again;
}

static int map_close(sqlite3_vtab_cursor *base)
{
    struct map_cursor *c = (struct map_cursor *)base;
    cursor_reset(c);
    map_trees_release(&c->trees);
    free(c);
    return SQLITE_OK;
}

static int cursor_error(struct map_cursor *c, int rc)
{
    struct map_table *t = (struct map_table *)c->base.pVtab;
    if (rc == SQLITE_OK || rc == SQLITE_NOMEM || t->base.zErrMsg) /* which says it */
        return rc;
    t->base.zErrMsg = sqlite3_mprintf("%s", sqlite3_errmsg(t->statements.db));
    return rc;
}

static bool is_used(const struct map_cursor *c, enum column column)
{
    return c->used >> column & 1;
}

/* What of the matches the columns in use are made of. A translation is often asked for little. */
static unsigned map_vt_wanted(const struct map_cursor *c)
{
    const struct map_table *t = (const struct map_table *)c->base.pVtab;
    bool operates = is_used(c, COLUMN_DTYPE) || is_used(c, COLUMN_SHAPE) ||
                    is_used(c, COLUMN_OPS) || is_used(c, COLUMN_STATUS) ||
                    is_used(c, COLUMN_ERROR);
    if (t->function->view != MAP_TRANSLATION)
        return MAP_WANTS_ALL;
    return (is_used(c, COLUMN_OLD_NAME) ? MAP_WANTS_NAMES : 0) |
           (is_used(c, COLUMN_IS_TENSOR) || is_used(c, COLUMN_TENSOR_ID)
                ? MAP_WANTS_VALUES
                : 0) |
           (operates ? MAP_WANTS_VALUES | MAP_WANTS_OPS : 0);
}

static const char *set_name(const struct map_cursor *c)
{
    return (const char *)sqlite3_value_text(c->argument[GIVEN_RULESET]);
}

/* Compile the rules, or find them compiled. */
static int find_rules(struct map_cursor *c, const char *bound)
{
    struct map_table *t = (struct map_table *)c->base.pVtab;
    char *why = NULL;
    if (c->dialect->trial == MAP_PATH)
        return SQLITE_OK;
    rule_set_drop(c->rules);
    c->rules = rule_cache_find(t->rules, t->statements.db, bound, &why);
    if (c->rules)
        return SQLITE_OK;
    if (!why)
        return SQLITE_NOMEM;
    sqlite3_free(t->base.zErrMsg);
    t->base.zErrMsg = why;
    return SQLITE_ERROR;
}

static struct rules *rules_of(const struct map_cursor *c)
{
    return c->rules ? rule_set_rules(c->rules) : NULL;
}

/* Whether the set takes something from the metadata of checkpoints. */
static bool is_bound(const struct map_cursor *c)
{
    return c->dialect->divides && c->set.options &&
           strstr(c->set.options, "\"settings\"");
}

/* Have the rules as they are for this source. */
static int bind_rules(struct map_cursor *c, const struct map_source *source)
{
    struct map_table *t = (struct map_table *)c->base.pVtab;
    char *bound = NULL;
    if (!is_bound(c) || (c->bound && c->meta == source->meta))
        return SQLITE_OK;
    int rc = map_load_bound(&t->statements, set_name(c), source->id, &bound);
    if (rc == SQLITE_OK && (!c->bound || strcmp(c->bound, bound) != 0))
        rc = find_rules(c, bound);
    free(c->bound);
    c->bound = bound;
    c->meta = source->meta;
    return rc;
}

/* Whether they are the same for another one. */
static int bound_alike(struct map_cursor *c, const struct map_source *other, bool *alike)
{
    struct map_table *t = (struct map_table *)c->base.pVtab;
    char *bound = NULL;
    *alike = !is_bound(c) || c->meta == other->meta;
    if (*alike)
        return SQLITE_OK;
    int rc = map_load_bound(&t->statements, set_name(c), other->id, &bound);
    *alike = rc == SQLITE_OK && strcmp(bound, c->bound) == 0;
    free(bound);
    return rc;
}

static void next_layout(struct map_group *g)
{
    g->at = g->first = g->next++;
    while (g->next < g->count && g->list[g->next].layout == g->list[g->first].layout)
        g->next++;
}

/* On to the next sources that give the same. Recipes name tensors: each source has its own. */
static int next_sources(struct map_cursor *c)
{
    struct map_group *g = &c->source;
    next_layout(g);
    size_t end = g->next;
    int rc = bind_rules(c, &g->list[g->first]);
    bool alike = !c->dialect->divides || !is_used(c, COLUMN_RECIPE);
    for (g->next = g->first + 1; rc == SQLITE_OK && alike && g->next < end;) {
        rc = bound_alike(c, &g->list[g->next], &alike);
        g->next += alike;
    }
    return rc;
}

static void task_reset(struct map_cursor *c)
{
    arena_release(&c->task.arena);
    c->task = c->given;
    c->task.arena = (struct arena){0};
    c->task.source_id = c->source.list[c->source.first].id;
    for (size_t i = 0; c->dialect->divides && i < c->task.rules; i++)
        if (c->task.rule[i].operates)
            c->task.engine = rules_of(c);
    c->row = 0;
}

/* What the task comes to. Of a set whose options make no sense every row is an error. */
static void settle_task(struct map_cursor *c)
{
    c->settle(&c->task);
    for (size_t i = 0; c->fault && i < c->task.rows; i++) {
        c->task.row[i].status = "error";
        c->task.row[i].error = (struct map_text){c->fault, strlen(c->fault)};
    }
}

/* Settle some more leaves of a source, each by itself. */
static int settle_batch(struct map_cursor *c)
{
    struct map_table *t = (struct map_table *)c->base.pVtab;
    c->before += c->task.rows;
    task_reset(c);
    int rc = map_read_next(&c->reading, BATCH, &c->task, &c->task.source);
    if (rc == SQLITE_DONE)
        map_read_end(&t->statements, &c->reading);
    if (rc == SQLITE_ROW || rc == SQLITE_DONE)
        settle_task(c);
    return rc == SQLITE_ROW || rc == SQLITE_DONE ? SQLITE_OK : rc;
}

/* The leaves of a checkpoint; `again`: they will be asked for again. */
static int load_leaves(struct map_cursor *c, const struct map_source *of,
                       struct rules *rules, bool again, struct map_task *t,
                       struct map_tree *out)
{
    struct map_statements *m = &((struct map_table *)c->base.pVtab)->statements;
    const struct map_kept *kept = NULL;
    int rc =
        again || c->questions > 1 ? map_trees_get(&c->trees, m, of, &kept) : SQLITE_OK;
    if (rc != SQLITE_OK || !kept)
        return rc != SQLITE_OK ? rc
                               : map_load_leaves(m, c->dialect, rules, of->id, t, out);
    *out = kept->tree;
    if (rules || !c->dialect->containers)
        out->count = kept->leaves;
    return !rules || map_match_leaves(c->dialect, rules, t, out) ? SQLITE_OK
                                                                 : SQLITE_NOMEM;
}

/* Settle the map for the sources of a layout. */
static int settle_all(struct map_cursor *c)
{
    task_reset(c);
    int rc = load_leaves(c, &c->source.list[c->source.first],
                         c->dialect->from_model ? NULL : rules_of(c), c->target.count > 1,
                         &c->task, &c->task.source);
    if (rc == SQLITE_OK)
        settle_task(c);
    return rc;
}

/* The target, if the map has one: as the rules match it, or as a model. */
static int load_target(struct map_cursor *c)
{
    struct map_table *t = (struct map_table *)c->base.pVtab;
    const struct map_source *target = &c->target.list[c->target.first];
    struct rules *rules = c->dialect->from_model ? rules_of(c) : NULL;
    arena_release(&c->given.arena);
    c->given = c->set;
    c->given.arena = (struct arena){0};
    c->given.has_target = t->function->view == MAP_RESTORE && target->id;
    return c->dialect->from_model || c->given.has_target
               ? load_leaves(c, target, rules, false, &c->given, &c->given.target)
               : SQLITE_OK;
}

/* On to sources, or to the first ones and other targets. */
static int next_task(struct map_cursor *c)
{
    struct map_table *t = (struct map_table *)c->base.pVtab;
    int rc = SQLITE_OK;
    if (c->source.next == c->source.count) {
        next_layout(&c->target);
        c->source.next = 0;
        rc = load_target(c);
    }
    if (rc == SQLITE_OK)
        rc = next_sources(c);
    c->before = 0;
    c->task.rows = c->row = 0;
    if (rc != SQLITE_OK || !c->by_leaf)
        return rc;
    c->reading = (struct map_reading){c->dialect, rules_of(c), map_vt_wanted(c), NULL};
    return map_read_begin(&t->statements, c->source.list[c->source.first].id,
                          &c->reading);
}

/* All that comes of some sources, as counts. */
static int settle_counts(struct map_cursor *c)
{
    int rc = SQLITE_OK;
    c->counts.rows = 0;
    do {
        rc = c->by_leaf ? settle_batch(c) : settle_all(c);
        if (rc == SQLITE_OK)
            map_counts_add(&c->counts, &c->task);
    } while (rc == SQLITE_OK && !c->task.failed && c->reading.leaves);
    c->task.row = c->counts.row;
    c->task.rows = c->counts.rows;
    return rc;
}

static int map_vt_settle(struct map_cursor *c)
{
    const struct map_table *t = (const struct map_table *)c->base.pVtab;
    int rc = c->reading.leaves ? SQLITE_OK : next_task(c);
    if (rc == SQLITE_OK)
        rc = t->function->counts ? settle_counts(c)
             : c->by_leaf        ? settle_batch(c)
                                 : settle_all(c);
    c->source.at = c->source.first;
    c->target.at = c->target.first;
    return rc == SQLITE_OK && c->task.failed ? SQLITE_NOMEM : cursor_error(c, rc);
}

static bool has_more(const struct map_cursor *c)
{
    return c->reading.leaves || c->source.next < c->source.count ||
           c->target.next < c->target.count;
}

/* On to sources that have rows, if the last ones have no more. */
static int cursor_seek(struct map_cursor *c)
{
    int rc = SQLITE_OK;
    while (rc == SQLITE_OK && c->row == c->task.rows && has_more(c))
        rc = map_vt_settle(c);
    return rc;
}

static int map_next(sqlite3_vtab_cursor *base)
{
    struct map_cursor *c = (struct map_cursor *)base;
    if (++c->source.at < c->source.next)
        return SQLITE_OK;
    c->source.at = c->source.first;
    if (++c->target.at < c->target.next)
        return SQLITE_OK;
    c->target.at = c->target.first;
    c->row++;
    return cursor_seek(c);
}

/* Without a target, or with one that is not there, a restored checkpoint has one as well: nothing. */
static int restored_target(struct map_group *g, sqlite3_value *target)
{
    if (g->count)
        return SQLITE_OK;
    g->list = calloc(1, sizeof(*g->list));
    if (!g->list)
        return SQLITE_NOMEM;
    g->list->id = target ? sqlite3_value_int64(target) : 0;
    g->count = 1;
    return SQLITE_OK;
}

/* The checkpoints that rows are for. Without a source there is nothing to ask. */
static int load_checkpoints(struct map_cursor *c)
{
    struct map_table *t = (struct map_table *)c->base.pVtab;
    bool assigns = t->function->view == MAP_ASSIGNMENT;
    sqlite3_value *target = c->argument[GIVEN_TARGET];
    int rc = map_load_sources(&t->statements, c->argument[GIVEN_SOURCE], &c->source.list,
                              &c->source.count);
    c->source.next = c->source.count;
    if (rc != SQLITE_OK || !c->source.count)
        return rc;
    if (assigns || target)
        rc = map_load_sources(&t->statements, target, &c->target.list, &c->target.count);
    return rc == SQLITE_OK && !assigns ? restored_target(&c->target, target) : rc;
}

/* What is wrong with the set's options, in its arena. */
static int find_fault(struct map_cursor *c)
{
    struct error err = {.offset = NO_OFFSET};
    if (!c->set.options ||
        ruleset_check_options(c->dialect->name, c->set.options, false, &err) == OK)
        return SQLITE_OK;
    c->fault = map_say(&c->set, "ValueError: %s", err.message).at;
    error_clear(&err);
    return c->set.failed ? SQLITE_NOMEM : SQLITE_OK;
}

static int cursor_begin(struct map_cursor *c)
{
    struct map_table *t = (struct map_table *)c->base.pVtab;
    enum map_view view = t->function->view;
    int rc = map_load_set(&t->statements, set_name(c), &c->set, &c->dialect);
    if (rc != SQLITE_OK || !c->dialect)
        return rc;
    c->settle = view == MAP_RESTORE        ? c->dialect->restore
                : view == c->dialect->view ? c->dialect->settle
                                           : NULL;
    if (!c->settle)
        return SQLITE_OK;
    c->set.strict =
        c->argument[GIVEN_STRICT] && sqlite3_value_int(c->argument[GIVEN_STRICT]) != 0;
    c->set.asks_winners = is_used(c, COLUMN_WINS) || is_used(c, COLUMN_NOTE);
    /* What streams is the matches, of which paths have none. */
    c->by_leaf = c->dialect->by_leaf && c->dialect->trial != MAP_PATH &&
                 view == c->dialect->view && !c->set.asks_winners && !map_strict(&c->set);
    c->questions++;
    rc = find_fault(c);
    if (rc == SQLITE_OK)
        rc = load_checkpoints(c);
    if (rc == SQLITE_OK && !is_bound(c))
        rc = find_rules(c, set_name(c));
    return rc == SQLITE_OK ? cursor_seek(c) : rc;
}

/* An argument is missing. */
static int map_vt_refuse(sqlite3_vtab *table, enum given given)
{
    static const char *const name[] = {"ruleset", "source", "target_id", "strict"};
    sqlite3_free(table->zErrMsg);
    table->zErrMsg = sqlite3_mprintf("say which %s: %s = ...", name[given], name[given]);
    return SQLITE_ERROR;
}

static int map_filter(sqlite3_vtab_cursor *base, int set, const char *used, int argc,
                      sqlite3_value **argv)
{
    struct map_cursor *c = (struct map_cursor *)base;
    struct map_table *t = (struct map_table *)base->pVtab;
    cursor_reset(c);
    c->used = strtoull(used, NULL, 16);
    for (int given = 0; given < GIVEN; given++)
        if (t->function->needs[given] && !(set >> given & 1))
            return map_vt_refuse(&t->base, given);
    for (int i = 0; i < argc; i++)
        if (sqlite3_value_type(argv[i]) == SQLITE_NULL)
            return SQLITE_OK;
    for (int given = 0, at = 0; given < GIVEN; given++)
        if (set >> given & 1 && !(c->argument[given] = sqlite3_value_dup(argv[at++])))
            return SQLITE_NOMEM;
    return cursor_error(c, cursor_begin(c));
}

static int map_eof(sqlite3_vtab_cursor *base)
{
    const struct map_cursor *c = (const struct map_cursor *)base;
    return c->row == c->task.rows && !has_more(c);
}

/* --- columns ----------------------------------------------------------------------------- */

/* With the NUL that is after it, unless another is inside, SQLite need not copy it again to
 * put one there. */
static void map_vt_give(sqlite3_context *context, struct map_text text)
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

static void give_ord(sqlite3_context *context, const struct map_cursor *c,
                     const struct map_row *row)
{
    const struct map_table *t = (const struct map_table *)c->base.pVtab;
    if (t->function->view == MAP_RESTORE) /* the place in the result */
        sqlite3_result_int64(context, (sqlite3_int64)c->row + 1);
    else if (row->old)
        sqlite3_result_int64(context, map_ord(row->old));
}

static void give_text_column(sqlite3_context *context, const struct map_row *row, int i)
{
    switch (i) {
    case COLUMN_NAME:
    case COLUMN_NEW_NAME:
        map_vt_give(context, row->new_name);
        break;
    case COLUMN_OLD_NAME:
        map_vt_give(context, row->old_name);
        break;
    case COLUMN_ORIGIN:
        give_string(context, row->origin);
        break;
    case COLUMN_DTYPE:
        give_string(context, row->dtype);
        break;
    case COLUMN_SHAPE:
        give_string(context, row->shape);
        break;
    case COLUMN_OPS:
        give_string(context, row->ops);
        break;
    case COLUMN_RECIPE:
        give_string(context, row->recipe);
        break;
    case COLUMN_STATUS:
        sqlite3_result_text(context, row->status, -1, SQLITE_STATIC);
        break;
    case COLUMN_ERROR:
        map_vt_give(context, row->error);
        break;
    case COLUMN_NOTE:
        give_string(context, row->note);
        break;
    default:
        break;
    }
}

static int map_column(sqlite3_vtab_cursor *base, sqlite3_context *context, int i)
{
    struct map_cursor *c = (struct map_cursor *)base;
    const struct map_row *row = &c->task.row[c->row];
    int64_t rule = row->by ? row->by->ord : row->rule;
    bool tensor = row->old && row->old->kind == MAP_TENSOR;
    switch (i) {
    case COLUMN_SOURCE_ID:
    case COLUMN_CHECKPOINT_ID:
        sqlite3_result_int64(context, c->source.list[c->source.at].id);
        break;
    case COLUMN_ORD:
        give_ord(context, c, row);
        break;
    case COLUMN_PLACE:
        if (row->old)
            sqlite3_result_int64(context, row->old->place);
        break;
    case COLUMN_IS_TENSOR:
        sqlite3_result_int(context, tensor);
        break;
    case COLUMN_TENSOR_ID:
        if (tensor)
            sqlite3_result_int64(context,
                                 (c->source.list[c->source.at].id << TENSOR_ORD_BITS) +
                                     map_ord(row->old));
        break;
    case COLUMN_RULE:
        if (rule != NO_RULE)
            sqlite3_result_int64(context, rule);
        break;
    case COLUMN_NTH:
        sqlite3_result_int64(context, (sqlite3_int64)row->nth);
        break;
    case COLUMN_PART:
        sqlite3_result_int64(context, row->part);
        break;
    case COLUMN_PARTS:
        sqlite3_result_int64(context, row->parts);
        break;
    case COLUMN_WINS:
        sqlite3_result_int(context, !row->loses);
        break;
    case COLUMN_ROWS:
        sqlite3_result_int64(context,
                             row == &c->counts.row[c->row] ? (int64_t)row->nth : 1);
        break;
    case COLUMN_TARGET:
        if (c->target.list[c->target.at].id || c->argument[GIVEN_TARGET])
            sqlite3_result_int64(context, c->target.list[c->target.at].id);
        break;
    case COLUMN_RULESET:
    case COLUMN_SOURCE:
    case COLUMN_STRICT:
        if (c->argument[i - COLUMN_RULESET])
            sqlite3_result_value(context, c->argument[i - COLUMN_RULESET]);
        break;
    default:
        give_text_column(context, row, i);
    }
    return SQLITE_OK;
}

static int map_rowid(sqlite3_vtab_cursor *base, sqlite3_int64 *row)
{
    const struct map_cursor *c = (const struct map_cursor *)base;
    uint64_t id = rowid_add_value(0, c->argument[GIVEN_RULESET]);
    id = rowid_add(id, (uint64_t)c->source.list[c->source.at].id);
    id = rowid_add(id, (uint64_t)c->target.list[c->target.at].id);
    id = rowid_add_value(id, c->argument[GIVEN_STRICT]);
    *row = (sqlite3_int64)rowid_add(id, c->before + c->row);
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
    int rc = SQLITE_OK;
    for (size_t i = 0; rc == SQLITE_OK && i < sizeof(functions) / sizeof(functions[0]);
         i++)
        rc =
            sql_register_table(db, functions[i].name, &map_module, (void *)&functions[i]);
    return rc;
}
