/*
 * vt_infer.c - infer_rules(a, b) and infer_pairs(a, b): the results of `map infer` for two
 * checkpoints, as rows (catalog/content/infer_run.h).
 *
 *   INSERT INTO ruleset SELECT DISTINCT 'mine', dialect, options FROM infer_rules(1, 2);
 *   SELECT old_name, new_name FROM infer_pairs(1, 2) WHERE how = 'guess';
 *
 * Contents are compared if their hashes are known (`ckptdb hash`); operations are verified by
 * reading tensors, so the functions are DIRECTONLY and missing from the noread entry point.
 */
#include <pthread.h>
#include <stdatomic.h>
#include <time.h>

#include "catalog/base/text.h"
#include "catalog/content/infer_run.h"
#include "catalog/sql/extension.h"
#include "catalog/sql/keeper.h"
#include "catalog/sql/rowid.h"
#include "catalog/sql/vtab.h"

#define ASK_NS 50000000 /* how often the statement is asked whether it was interrupted */

struct infer_kind {
    const char *name, *declaration;
    int columns; /* without the hidden a and b */
    bool pairs;
};

static const struct infer_kind kinds[] = {
    {"infer_rules",
     "CREATE TABLE x(ord INTEGER, pattern TEXT, replacement TEXT, compute TEXT, ops TEXT,"
     " dialect TEXT, options TEXT, a HIDDEN, b HIDDEN)",
     7, false},
    {"infer_pairs",
     "CREATE TABLE x(how TEXT, old_name TEXT, new_name TEXT, part INTEGER, ops TEXT,"
     " a HIDDEN, b HIDDEN)",
     5, true},
};

struct infer_cursor {
    struct vtab_cursor of; /* first */
    struct inferred result;
    sqlite3_int64 given[2];
};

static void infer_empty(sqlite3_vtab_cursor *base)
{
    arena_release(&((struct infer_cursor *)base)->result.arena);
}

static int infer_connect(sqlite3 *db, void *kind, int argc, const char *const *argv,
                         sqlite3_vtab **out, char **message)
{
    (void)argc, (void)argv, (void)message;
    const struct vtab t = {
        .db = db, .of = kind, .cursor = sizeof(struct infer_cursor), .empty = infer_empty};
    return vtab_make(&t, ((struct infer_kind *)kind)->declaration, SQLITE_VTAB_DIRECTONLY, out);
}

static const struct infer_kind *infer_kind_of(sqlite3_vtab *t)
{
    return ((struct vtab *)t)->of;
}

/* Both ids must be given, by equality; idxNum is the set of those that are. A plan that lacks
 * one is made so expensive that SQLite takes it only if there is no other; then it fails when
 * it runs (the reason is given in vt_query.c: SQLite plans each side of an OR by itself). */
static int infer_plan(sqlite3_vtab *base, sqlite3_index_info *info)
{
    bool unusable = false;
    sql_pass(info, infer_kind_of(base)->columns, 2, &unusable);
    info->estimatedCost = info->idxNum == 3 ? 1e6 : 1e30;
    return unusable ? SQLITE_CONSTRAINT : SQLITE_OK;
}

/* Ends the reading of tensors once the statement is interrupted. Only the thread of the connection
 * can ask SQLite; the threads that read are told by `stopped`. */
struct infer_watch {
    sqlite3 *db;
    pthread_t thread;
    int64_t asked; /* when the thread of the connection asked last, in ns */
    atomic_bool stopped;
};

static bool infer_stopped(void *context)
{
    struct infer_watch *w = context;
    struct timespec now = {0};
    if (pthread_equal(pthread_self(), w->thread)) {
        clock_gettime(CLOCK_MONOTONIC, &now);
        const int64_t ns = (int64_t)now.tv_sec * 1000000000 + now.tv_nsec;
        if (!w->asked || ns - w->asked > ASK_NS) {
            w->asked = ns;
            if (keeper_interrupted(w->db))
                atomic_store(&w->stopped, true);
        }
    }
    return atomic_load(&w->stopped);
}

static int infer_filter(sqlite3_vtab_cursor *base, int number, const char *text, int argc,
                        sqlite3_value **argv)
{
    (void)text, (void)argc;
    struct infer_cursor *c = (struct infer_cursor *)base;
    const struct infer_kind *kind = infer_kind_of(base->pVtab);
    sqlite3 *db = ((struct vtab *)base->pVtab)->db;
    struct error err = {.offset = NO_OFFSET};
    vtab_clear(base->pVtab);
    if (number != 3)
        return vtab_refuse(base->pVtab, "say for which checkpoints: %s(a, b)", kind->name);
    arena_release(&c->result.arena);
    c->result = (struct inferred){0};
    c->of.at = c->of.end = c->of.key = 0;
    if (sqlite3_value_type(argv[0]) == SQLITE_NULL || sqlite3_value_type(argv[1]) == SQLITE_NULL)
        return SQLITE_OK;
    for (int i = 0; i < 2; i++) {
        sqlite3_value *id = NULL;
        const int rc = sql_checkpoint(db, argv[i], &id, &base->pVtab->zErrMsg);
        if (rc != SQLITE_OK)
            return rc;
        c->given[i] = sqlite3_value_int64(id);
        c->of.key = rowid_add(c->of.key, (uint64_t)c->given[i]);
        sqlite3_value_free(id);
    }
    struct infer_watch watch = {.db = db, .thread = pthread_self()};
    c->result.stop = infer_stopped;
    c->result.context = &watch;
    const enum status status = infer_run(db, c->given[0], c->given[1], &c->result, &err);
    c->result.context = NULL;
    if (status != OK)
        return vtab_error(base->pVtab, &err);
    c->of.end = kind->pairs ? c->result.task.pairs : c->result.set.rules;
    return SQLITE_OK;
}

static void give_rule(sqlite3_context *ctx, const struct ruleset *set, size_t at, int column)
{
    const struct ruleset_rule *r = &set->rule[at];
    const char *const texts[] = {NULL,   r->pattern,   r->replacement, r->compute,
                                 r->ops, set->dialect, set->options};
    if (column == 0)
        sqlite3_result_int64(ctx, r->ord);
    else
        sql_result_string(ctx, texts[column]);
}

/* The operations as in a rule: each '%' is replaced by the key of a join, or by empty labels of
 * a split. */
static void give_ops(sqlite3_context *ctx, const struct infer_pair *p)
{
    struct text ops = {0};
    for (const char *at = p->ops; at && *at; at++)
        if (*at != '%')
            text_addc(&ops, *at);
        else if (p->form == INFER_JOIN)
            text_addf(&ops, "%u", p->part);
        else if (p->form == INFER_COPIES)
            text_adds(&ops, "[]");
    if (ops.failed || ops.len)
        sql_result_text(ctx, &ops);
}

static void give_pair(sqlite3_context *ctx, const struct infer_task *t, size_t at, int column)
{
    const struct infer_pair *p = &t->pair[at];
    if (column == 0)
        sql_result_string(ctx, infer_how_name(p));
    else if (column == 1 && p->a != INFER_NONE)
        sql_result_string(ctx, t->a.at[p->a].name);
    else if (column == 2 && p->b != INFER_NONE)
        sql_result_string(ctx, t->b.at[p->b].name);
    else if (column == 3 && p->form != INFER_PLAIN)
        sqlite3_result_int64(ctx, p->part);
    else if (column == 4)
        give_ops(ctx, p);
}

static int infer_column(sqlite3_vtab_cursor *base, sqlite3_context *ctx, int column)
{
    const struct infer_cursor *c = (struct infer_cursor *)base;
    const struct infer_kind *kind = infer_kind_of(base->pVtab);
    if (column >= kind->columns)
        sqlite3_result_int64(ctx, c->given[column - kind->columns]);
    else if (kind->pairs)
        give_pair(ctx, &c->result.task, c->of.at, column);
    else
        give_rule(ctx, &c->result.set, c->of.at, column);
    return SQLITE_OK;
}

static const sqlite3_module infer_module = {
    VTAB_COUNTED,
    .xConnect = infer_connect,
    .xBestIndex = infer_plan,
    .xFilter = infer_filter,
    .xNext = vtab_next,
    .xColumn = infer_column,
};

int sql_register_infer(sqlite3 *db, struct keeper *k)
{
    (void)k;
    int rc = SQLITE_OK;
    for (size_t i = 0; i < sizeof(kinds) / sizeof(kinds[0]) && rc == SQLITE_OK; i++)
        rc = sqlite3_create_module_v2(db, kinds[i].name, &infer_module, (void *)&kinds[i], NULL);
    return rc;
}
