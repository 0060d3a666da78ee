#include "catalog/sql/map_cursor.h"

#include <stdlib.h>
#include <string.h>

#include "catalog/base/nearest.h"
#include "catalog/base/text.h"
#include "catalog/db/schema.h"
#include "catalog/db/statement.h"
#include "catalog/maps/map/ruleset.h"
#include "catalog/sql/extension.h"

/* Columns that the SELECT of a table can have. */
#define SELECTED                                                                                   \
    (1ull << COLUMN_ORD | 1ull << COLUMN_PLACE | 1ull << COLUMN_IS_TENSOR |                        \
     1ull << COLUMN_TENSOR_ID | 1ull << COLUMN_OLD_NAME | 1ull << COLUMN_NEW_NAME |                \
     1ull << COLUMN_DTYPE | 1ull << COLUMN_SHAPE | 1ull << COLUMN_OPS | 1ull << COLUMN_RULE |      \
     1ull << COLUMN_STATUS | 1ull << COLUMN_ERROR | 1ull << COLUMN_NOTE | 1ull << COLUMN_WINS)

/* Columns that the call states, or the count of a status: if no others are used, as in count(*),
 * rows need not be made. */
#define SAME_COLUMNS                                                                               \
    (1ull << COLUMN_SOURCE_ID | 1ull << COLUMN_CHECKPOINT_ID | 1ull << COLUMN_STATUS |             \
     1ull << COLUMN_RULESET | 1ull << COLUMN_SOURCE | 1ull << COLUMN_TARGET |                      \
     1ull << COLUMN_STRICT)

#define BATCH 128 /* leaves that are renamed at a time */

/* --- rows of a SELECT --------------------------------------------------------------------- */

/* Return the statement to the table, for the next cursor. */
static void select_end(struct map_cursor *c)
{
    struct map_table *t = (struct map_table *)c->base.pVtab;
    if (!c->select)
        return;
    sqlite3_reset(c->select);
    sqlite3_clear_bindings(c->select);
    sqlite3_finalize(t->idle);
    t->idle = c->select;
    t->idle_used = c->used;
    c->select = NULL;
}

/* Prepare the SELECT of the table, with the columns that are used and that it has. */
static int select_prepare(struct map_cursor *c)
{
#define X(column, declaration) declaration,
    static const char *const columns[] = {MAP_COLUMNS(X)};
#undef X
    struct map_table *t = (struct map_table *)c->base.pVtab;
    struct text sql = {0};
    c->selected = t->function->counts ? 1ull << COLUMN_STATUS : c->used & SELECTED;
    if (t->idle && t->idle_used == c->used) {
        c->select = t->idle;
        t->idle = NULL;
        return SQLITE_OK;
    }
    text_adds(&sql, "SELECT ");
    for (int i = 0; i < COLUMN_RULESET; i++)
        if (c->selected >> i & 1)
            text_addf(&sql, "%.*s, ", (int)strcspn(columns[i], " "), columns[i]);
    text_addf(&sql, "1 FROM (%s)", schema_text(t->function->select));
    int rc = text_str(&sql) ? sqlite3_prepare_v2(t->statements.db, sql.at, -1, &c->select, NULL)
                            : SQLITE_NOMEM;
    text_release(&sql);
    return rc;
}

/* Advance to the next row, which counts as the one row of the task. */
static int select_next(struct map_cursor *c)
{
    int rc = sqlite3_step(c->select);
    c->row = 0;
    c->task.rows = rc == SQLITE_ROW;
    c->before += c->task.rows;
    if (rc == SQLITE_ROW)
        return SQLITE_OK;
    c->selecting = false;
    return sqlite3_reset(c->select);
}

/* Count all rows of the current sources. */
static int select_count(struct map_cursor *c)
{
    c->counts.rows = 0;
    while (sqlite3_step(c->select) == SQLITE_ROW) {
        const char *status = db_text(c->select, 0);
        for (int i = RULE_UNMATCHED; status && i <= RULE_ERROR; i++)
            if (strcmp(status, map_status(i)) == 0)
                map_counts_add_rows(&c->counts, map_status(i), 1);
    }
    c->task.row = c->counts.row;
    c->task.rows = c->counts.rows;
    c->selecting = false;
    return sqlite3_reset(c->select);
}

static void cursor_reset(struct map_cursor *c)
{
    struct map_cursor again = {.base = c->base, .trees = c->trees, .questions = c->questions};
    select_end(c);
    map_read_end(&((struct map_table *)c->base.pVtab)->statements, &c->reading);
    sqlite3_finalize(c->sets);
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

void map_cursor_empty(sqlite3_vtab_cursor *base)
{
    struct map_cursor *c = (struct map_cursor *)base;
    cursor_reset(c);
    map_trees_release(&c->trees);
}

static int cursor_error(struct map_cursor *c, int rc)
{
    struct map_table *t = (struct map_table *)c->base.pVtab;
    return t->of.base.zErrMsg ? rc /* said already */
                              : vtab_failed(&t->of.base, t->statements.db, rc);
}

static const char *set_name(const struct map_cursor *c)
{
    return (const char *)sqlite3_value_text(c->argument[GIVEN_RULESET]);
}

/* Get the compiled rules, from the cache if possible. */
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
    sqlite3_free(t->of.base.zErrMsg);
    t->of.base.zErrMsg = why;
    return SQLITE_ERROR;
}

static struct rules *rules_of(const struct map_cursor *c)
{
    return c->rules ? rule_set_rules(c->rules) : NULL;
}

/* Whether the set has settings, which it takes from the metadata of checkpoints. */
static bool is_bound(const struct map_cursor *c)
{
    return c->dialect->divides && c->set.options && strstr(c->set.options, "\"settings\"");
}

/* Bind the rules to the settings of a source, if the set has any. */
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

/* Whether another source has the same settings as the one to which the rules are bound. */
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

/* Advance to the next sources that have the same rows: of one layout, with the same settings.
 * Recipes contain tensor ids, so if they are asked for, each source has rows of its own. */
static int next_sources(struct map_cursor *c)
{
    struct map_group *g = &c->source;
    next_layout(g);
    size_t end = g->next;
    int rc = bind_rules(c, &g->list[g->first]);
    bool alike = !c->dialect->divides || !map_cursor_uses(c, COLUMN_RECIPE);
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

/* Settle the task. If the set's options are invalid, every row is an error. */
static void settle_task(struct map_cursor *c)
{
    c->settle(&c->task);
    for (size_t i = 0; c->fault && i < c->task.rows; i++) {
        c->task.row[i].status = "error";
        c->task.row[i].error = (struct map_text){c->fault, strlen(c->fault)};
    }
}

/* The cached tree of a checkpoint, if it will be read `again`. NULL: it will not, or the cache
 * is full. */
static int keep_tree(struct map_cursor *c, const struct map_source *of, bool again,
                     struct map_kept **out)
{
    struct map_table *t = (struct map_table *)c->base.pVtab;
    return again || c->questions > 1 || (c->many && c->counting)
               ? map_trees_get(&c->trees, &t->statements, of, out)
               : SQLITE_OK;
}

/* Load the leaves of a checkpoint, matched unless `rules` is NULL; `again`: they will be read
 * again. */
static int load_leaves(struct map_cursor *c, const struct map_source *of, struct rules *rules,
                       bool again, struct map_task *t, struct map_tree *out)
{
    struct map_statements *m = &((struct map_table *)c->base.pVtab)->statements;
    struct map_kept *kept = NULL;
    int rc = keep_tree(c, of, again, &kept);
    if (rc != SQLITE_OK || !kept)
        return rc != SQLITE_OK ? rc : map_load_leaves(m, c->dialect, rules, of->id, t, out);
    *out = kept->tree;
    if (rules || !c->dialect->containers)
        out->count = kept->leaves;
    return !rules || map_match_leaves(c->dialect, rules, t, out) ? SQLITE_OK : SQLITE_NOMEM;
}

/* Settle all leaves for the current sources, which share a layout. */
static int settle_all(struct map_cursor *c)
{
    struct map_table *t = (struct map_table *)c->base.pVtab;
    const bool restores = t->function->view == MAP_RESTORE;
    task_reset(c);
    int rc = restores ? map_load_translated(&t->statements, set_name(c),
                                            c->source.list[c->source.first].id, &c->task)
                      : load_leaves(c, &c->source.list[c->source.first],
                                    c->dialect->from_model ? NULL : rules_of(c),
                                    c->target.count > 1, &c->task, &c->task.source);
    if (rc == SQLITE_OK)
        settle_task(c);
    return rc;
}

/* Begin to read the leaves that are to be renamed, as far as the used columns need. */
static int rename_begin(struct map_cursor *c)
{
    const bool operates = map_cursor_uses(c, COLUMN_DTYPE) || map_cursor_uses(c, COLUMN_SHAPE) ||
                          map_cursor_uses(c, COLUMN_OPS) || map_cursor_uses(c, COLUMN_STATUS) ||
                          map_cursor_uses(c, COLUMN_ERROR);
    const bool kinds = map_cursor_uses(c, COLUMN_IS_TENSOR) || map_cursor_uses(c, COLUMN_TENSOR_ID);
    const unsigned wants = (map_cursor_uses(c, COLUMN_OLD_NAME) ? MAP_WANTS_NAMES : 0) |
                           (kinds ? MAP_WANTS_VALUES : 0) |
                           (operates ? MAP_WANTS_VALUES | MAP_WANTS_OPS : 0);
    c->reading = (struct map_reading){c->dialect, rules_of(c), wants, 0, NULL};
    return map_read_begin(&((struct map_table *)c->base.pVtab)->statements,
                          c->source.list[c->source.first].id, &c->reading);
}

/* Add rows for the next leaves to the task's. */
static int rename_more(struct map_cursor *c, size_t most)
{
    int rc = map_read_next(&c->reading, most, &c->task, &c->task.source);
    if (rc == SQLITE_DONE)
        map_read_end(&((struct map_table *)c->base.pVtab)->statements, &c->reading);
    if (rc == SQLITE_ROW || rc == SQLITE_DONE)
        c->settle(&c->task);
    return rc == SQLITE_ROW || rc == SQLITE_DONE ? SQLITE_OK : rc;
}

int map_cursor_find_winners(struct map_cursor *c)
{
    int rc = c->reading.leaves ? rename_more(c, SIZE_MAX) : SQLITE_OK;
    if (rc == SQLITE_OK && !map_find_winners(&c->task))
        rc = SQLITE_NOMEM;
    return rc;
}

/* Load the target, if the map has one: for an assignment matched by the rules, for a restore as
 * it is. */
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

/* Advance to the next sources; after the last ones, to the next targets and the first sources. */
static int next_task(struct map_cursor *c)
{
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
    if (rc != SQLITE_OK || !c->select)
        return rc == SQLITE_OK && c->renames ? rename_begin(c) : rc;
    rc = db_bind(c->select, "vi", c->argument[GIVEN_RULESET], c->source.list[c->source.first].id);
    c->selecting = rc == SQLITE_OK;
    return rc;
}

/* Count the rows of a cached tree by settling only the leaves that a rule matches: of many rule
 * sets few match anything. *counted: it was possible. */
static int count_kept(struct map_cursor *c, bool *counted)
{
    struct map_kept *kept = NULL;
    if (!c->if_all || !rules_of(c))
        return SQLITE_OK;
    int rc = keep_tree(c, &c->source.list[c->source.first], false, &kept);
    if (rc != SQLITE_OK || !kept)
        return rc;
    if (!map_trees_compare(kept))
        return SQLITE_NOMEM;
    if (!c->if_some && !kept->differ)
        return SQLITE_OK;
    const struct map_tree leaves = {kept->tree.leaf, kept->leaves};
    task_reset(c);
    const struct map_reading how = {c->dialect, rules_of(c), MAP_WANTS_ALL, 0, NULL};
    if (!map_match_some(&how, c->if_some ? SIZE_MAX : 1, &c->task, &leaves, &c->task.source))
        return SQLITE_NOMEM;
    if (!c->if_some && c->task.source.count)
        return SQLITE_OK;
    if (c->task.source.count)
        settle_task(c);
    map_counts_add(&c->counts, &c->task);
    map_counts_add_rows(&c->counts, c->if_some ? c->if_some : c->if_all,
                        kept->leaves - c->task.source.count);
    *counted = true;
    return SQLITE_OK;
}

/* Count all rows of the current sources. */
static int settle_counts(struct map_cursor *c)
{
    bool counted = false;
    c->counts.rows = 0;
    int rc = count_kept(c, &counted);
    if (rc == SQLITE_OK && !counted && (rc = settle_all(c)) == SQLITE_OK)
        map_counts_add(&c->counts, &c->task);
    c->task.row = c->counts.row;
    c->task.rows = c->counts.rows;
    return rc;
}

static int map_cursor_settle(struct map_cursor *c)
{
    int rc = c->selecting || c->reading.leaves ? SQLITE_OK : next_task(c);
    if (rc == SQLITE_OK && c->renames && !c->select && !c->counting) {
        /* Null leaves are read after the tensors, so where there are any, all are read at once and sorted. */
        c->before += c->task.rows;
        task_reset(c);
        rc = rename_more(c, c->source.list[c->source.first].nulls ? SIZE_MAX : BATCH);
    } else if (rc == SQLITE_OK) {
        rc = c->select     ? c->counting ? select_count(c) : select_next(c)
                 : c->counting ? settle_counts(c)
                           : settle_all(c);
    }
    c->source.at = c->source.first;
    c->target.at = c->target.first;
    return rc == SQLITE_OK && c->task.failed ? SQLITE_NOMEM : cursor_error(c, rc);
}

static bool has_more(const struct map_cursor *c)
{
    return c->selecting || c->reading.leaves || c->source.next < c->source.count ||
           c->target.next < c->target.count;
}

static int cursor_begin(struct map_cursor *c);

/* Go on to the next rule set, where none was named. */
static int next_set(struct map_cursor *c)
{
    struct map_cursor kept = {.used = c->used, .many = true, .sets = c->sets};
    const int rc = sqlite3_step(c->sets);
    if (rc != SQLITE_ROW) {
        sqlite3_finalize(c->sets);
        c->sets = NULL;
        return rc == SQLITE_DONE ? SQLITE_OK : rc;
    }
    for (int i = 0; i < GIVEN; i++) {
        kept.argument[i] = i == GIVEN_RULESET ? NULL : c->argument[i];
        c->argument[i] = i == GIVEN_RULESET ? c->argument[i] : NULL;
    }
    c->sets = NULL;
    cursor_reset(c);
    c->used = kept.used;
    c->many = kept.many;
    c->sets = kept.sets;
    memcpy(c->argument, kept.argument, sizeof(c->argument));
    c->argument[GIVEN_RULESET] = sqlite3_value_dup(sqlite3_column_value(c->sets, 0));
    return c->argument[GIVEN_RULESET] ? cursor_begin(c) : SQLITE_NOMEM;
}

/* If there are no rows left, settle further batches, sources or rule sets until there are. */
static int cursor_seek(struct map_cursor *c)
{
    int rc = SQLITE_OK;
    while (rc == SQLITE_OK && c->row == c->task.rows && (has_more(c) || c->sets))
        rc = has_more(c) ? map_cursor_settle(c) : next_set(c);
    return rc;
}

int map_cursor_next(sqlite3_vtab_cursor *base)
{
    struct map_cursor *c = (struct map_cursor *)base;
    if (++c->source.at < c->source.next)
        return SQLITE_OK;
    c->source.at = c->source.first;
    if (++c->target.at < c->target.next)
        return SQLITE_OK;
    c->target.at = c->target.first;
    if (c->repeats && ++c->repeat < c->task.row[c->row].nth)
        return SQLITE_OK;
    c->repeat = 0;
    c->row++;
    return cursor_seek(c);
}

/* If a restore has no target, or one that does not exist, pretend there is an empty one, so
 * that each source has its rows once. */
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

/* Load the lists of sources and targets. Without sources there are no rows, and no targets are
 * loaded. */
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

/* Set `fault` to what is wrong with the set's options. */
static int find_fault(struct map_cursor *c)
{
    struct error err = {.offset = NO_OFFSET};
    if (!c->set.options ||
        ruleset_check_options(c->dialect->name, c->set.options, false, &err) == OK)
        return SQLITE_OK;
    if (err.status == ERR_MEMORY)
        return SQLITE_NOMEM;
    c->fault = map_say(&c->set, "ValueError: %s", err.message).at;
    error_clear(&err);
    return c->set.failed ? SQLITE_NOMEM : SQLITE_OK;
}

/* Whether a rule set was named, so that another is no answer: by a value, and not by the row of an outer
 * query, which only the plan of the whole statement tells. */
static bool names_set(const struct map_cursor *c)
{
    struct map_table *t = (struct map_table *)c->base.pVtab;
    sqlite3 *db = t->statements.db;
    bool outer = false;
    for (sqlite3_stmt *s = NULL; c->by_value && !outer && (s = sqlite3_next_stmt(db, s));) {
        sqlite3_stmt *plan = NULL;
        char *sql = sqlite3_stmt_busy(s) && sqlite3_sql(s)
                        ? sqlite3_mprintf("EXPLAIN QUERY PLAN %s", sqlite3_sql(s))
                        : NULL;
        if (sql)
            sqlite3_prepare_v2(db, sql, -1, &plan, NULL);
        while (!outer && plan && sqlite3_step(plan) == SQLITE_ROW) {
            const char *line = db_text(plan, 3);
            outer = line && strstr(line, "CORRELATED ");
        }
        sqlite3_finalize(plan);
        sqlite3_free(sql);
    }
    return c->by_value && !outer;
}

/* Fail: there is no such rule set. */
static int refuse_name(struct map_cursor *c)
{
    struct map_table *t = (struct map_table *)c->base.pVtab;
    struct nearest near = {.wanted = set_name(c)};
    sqlite3_stmt *s = NULL;
    sqlite3_prepare_v2(t->statements.db, "SELECT name FROM main.ruleset", -1, &s, NULL);
    while (s && sqlite3_step(s) == SQLITE_ROW) {
        const char *name = db_text(s, 0);
        if (name)
            nearest_offer(&near, name, name);
    }
    sqlite3_finalize(s);
    vtab_refuse(&t->of.base, "no rule set is called '%s'%s%s", set_name(c),
                near.count ? "; the nearest is " : "", near.count ? near.name[0] : "");
    nearest_release(&near);
    return SQLITE_ERROR;
}

/* Fail: the rule set has rows in another view. */
static int refuse_dialect(struct map_cursor *c)
{
    static const char *const views[] = {[MAP_TRANSLATION] = "translation",
                                        [MAP_ASSIGNMENT] = "assignment",
                                        [MAP_CONVERSION] = "conversion"};
    struct map_table *t = (struct map_table *)c->base.pVtab;
    return vtab_refuse(
        &t->of.base, "the rule set '%s' is of the dialect %s, which has rows in %s%s", set_name(c),
        c->dialect->name, views[c->dialect->view], t->function->counts ? "_counts" : "");
}

static int cursor_begin(struct map_cursor *c)
{
    struct map_table *t = (struct map_table *)c->base.pVtab;
    enum map_view view = t->function->view;
    int rc = map_load_set(&t->statements, set_name(c), &c->set, &c->dialect);
    if (rc == SQLITE_OK && !c->set.options) /* no such set: none that does nothing */
        return t->function->counts || names_set(c) ? refuse_name(c) : SQLITE_OK;
    if (rc != SQLITE_OK || !c->dialect)
        return rc;
    c->settle = view == MAP_RESTORE ? c->dialect->restore : c->dialect->settle;
    if (view == MAP_RESTORE ? !c->settle : view != c->dialect->view)
        return names_set(c) ? refuse_dialect(c) : SQLITE_OK;
    c->set.strict = c->argument[GIVEN_STRICT] && sqlite3_value_int(c->argument[GIVEN_STRICT]) != 0;
    c->questions++;
    c->renames = view == MAP_TRANSLATION && !t->function->select;
    rc = t->function->select ? select_prepare(c) : c->renames ? SQLITE_OK : find_fault(c);
    c->repeats = !t->function->counts && c->dialect->unmatched && view == c->dialect->view &&
                 !(c->used & ~SAME_COLUMNS);
    c->counting = t->function->counts || c->repeats;
    if (c->counting && c->dialect->unmatched && !c->fault) {
        c->if_some = c->dialect->unmatched(&c->set, false);
        c->if_all = c->dialect->unmatched(&c->set, true);
    }
    if (rc == SQLITE_OK)
        rc = load_checkpoints(c);
    if (rc == SQLITE_OK && !is_bound(c) && !t->function->select && view != MAP_RESTORE)
        rc = find_rules(c, set_name(c));
    return rc;
}

/* A source or a target may be named; but `checkpoint_id = 'x'` compares a column, which holds ids. */
static int take_argument(struct map_cursor *c, enum given given, bool by_column,
                         sqlite3_value *value)
{
    struct map_table *t = (struct map_table *)c->base.pVtab;
    if (given == GIVEN_TARGET || (given == GIVEN_SOURCE && !by_column))
        return sql_checkpoint(t->statements.db, value, &c->argument[given], &t->of.base.zErrMsg);
    c->argument[given] = sqlite3_value_dup(value);
    return c->argument[given] ? SQLITE_OK : SQLITE_NOMEM;
}

int map_cursor_filter(sqlite3_vtab_cursor *base, int set, const char *used, int argc,
                      sqlite3_value **argv)
{
    struct map_cursor *c = (struct map_cursor *)base;
    struct map_table *t = (struct map_table *)base->pVtab;
    static const char *const names[] = {"ruleset", "source", "target_id", "strict"};
    cursor_reset(c);
    vtab_clear(&t->of.base);
    c->used = strtoull(used, NULL, 16);
    c->many = set >> GIVEN_FROM_ROWS & 1;
    const unsigned plan = (unsigned)set >> GIVEN_PLAN;
    c->by_value =
        t->plans.at[plan % MAP_PLANS].by_value && t->plans.at[plan % MAP_PLANS].number == plan;
    for (int given = 0; given < GIVEN; given++)
        if (t->function->needs[given] && !(set >> given & 1))
            return vtab_refuse(&t->of.base, "say which %s: %s = ...", names[given], names[given]);
    for (int i = 0; i < argc; i++)
        if (sqlite3_value_type(argv[i]) == SQLITE_NULL)
            return SQLITE_OK;
    int rc = SQLITE_OK;
    for (int given = 0, at = 0; given < GIVEN && rc == SQLITE_OK; given++)
        if (set >> given & 1)
            rc = take_argument(c, given, set >> GIVEN_BY_COLUMN & 1, argv[at++]);
    if (rc == SQLITE_OK && !c->argument[GIVEN_RULESET])
        rc = sqlite3_prepare_v2(t->statements.db, "SELECT name FROM main.ruleset", -1, &c->sets,
                                NULL);
    else if (rc == SQLITE_OK)
        rc = cursor_begin(c);
    return cursor_error(c, rc == SQLITE_OK ? cursor_seek(c) : rc);
}

int map_cursor_eof(sqlite3_vtab_cursor *base)
{
    const struct map_cursor *c = (const struct map_cursor *)base;
    return c->row == c->task.rows && !has_more(c) && !c->sets;
}
