/*
 * vt_optimizer.c - the engine of optimizers (catalog/maps/optimizer/) as table-valued functions:
 *
 *   optimizer_state_rows(spec, checkpoint)   the state that an optimizer would keep
 *   state_diff_rows(spec, checkpoint)        how the state in the checkpoint differs from that
 *   state_score_rows(spec, checkpoint)       by how much: for each place with a state (state_layout.h)
 *                                            one row of counts, with the first difference
 *   state_chain_rows('', checkpoint)         for each such place, a chain of bare transformations
 *                                            that keeps the same state (chain.h)
 *   optimizer_filter(filters, checkpoint)    the parameters that each of a JSON list of filters
 *                                            selects
 *
 * Both arguments must be given; if one is NULL there are no rows. A cursor keeps what it has read
 * of a checkpoint, optax_function and the other tables for as long as the statement runs, so a
 * statement that asks for many optimizers of one checkpoint reads them once.
 */
#include <stdlib.h>
#include <string.h>

#include "catalog/db/statement.h"
#include "catalog/maps/optimizer/chain.h"
#include "catalog/maps/optimizer/difference.h"
#include "catalog/maps/optimizer/optimizer.h"
#include "catalog/maps/optimizer/state_layout.h"
#include "catalog/sql/extension.h"
#include "catalog/sql/rowid.h"
#include "catalog/sql/vtab.h"

#define ROWS_MAX 65536 /* in case a catalog has tables of its own under these names */

struct question_cursor;

/* The result for one place. */
struct score {
    const struct optimizer_place *place;
    struct optimizer_differences differences;
    struct optimizer_chain chain;
};

/* A function: its own columns, and how it fills and shows them. */
struct question {
    const char *name, *columns; /* without the two hidden ones */
    const char *text;           /* the name of the first argument */
    int count;                  /* of columns */
    enum {
        PARAMS_ALONE,
        WITH_STATE,  /* also T5X's state/ */
        WITH_LAYOUT, /* also all leaves, to find states anywhere */
    } reads;         /* what it needs of the checkpoint */
    void (*run)(struct question_cursor *, struct bytes text);
    size_t (*rows)(const struct question_cursor *);
    void (*column)(struct question_cursor *, sqlite3_context *, int column, size_t row);
};

struct question_cursor {
    struct vtab_cursor of; /* first */
    struct error err;      /* of both arenas */
    struct arena kept;     /* holds the checkpoint and the tables */
    bool loaded;
    sqlite3_int64 checkpoint;
    struct optimizer_params params;
    struct optimizer_held held;
    struct optimizer_layout layout;
    struct optimizer_tables tables;
    struct arena arena; /* holds the current answer */
    struct optimizer_rows wanted;
    struct optimizer_differences differences;
    struct score *score;
    size_t scores;
    sqlite3_value *text;
};

/* --- reading the catalog ----------------------------------------------------------------------- */

/* A column's text; NULL if that is NULL, or after a failure. */
static const char *text_in(struct arena *arena, sqlite3_stmt *s, int column)
{
    const char *text = db_text(s, column);
    return text || sqlite3_column_type(s, column) == SQLITE_NULL ? text : arena_fail(arena);
}

/* Read a table of texts: *out points to its cells, row by row, with "" for NULL. Returns an
 * SQLite code. */
static int read_texts(sqlite3 *db, struct arena *arena, const char *sql, void *out, size_t *rows)
{
    sqlite3_stmt *s = NULL;
    const char **cell = NULL;
    size_t count = 0, space = 0;
    int rc = sqlite3_prepare_v2(db, sql, -1, &s, NULL);
    if (rc == SQLITE_OK)
        db_bind(s, "i", (int64_t)ROWS_MAX);
    for (*rows = 0; rc == SQLITE_OK && (rc = sqlite3_step(s)) == SQLITE_ROW; ++*rows) {
        for (int i = 0; i < sqlite3_column_count(s); i++) {
            const char *text = text_in(arena, s, i);
            *PUSH(arena, cell, count, space) =
                arena_copy(arena, text ? text : "", text ? strlen(text) : 0);
        }
        rc = arena->failed ? SQLITE_NOMEM : SQLITE_OK;
    }
    sqlite3_finalize(s);
    memcpy(out, &cell, sizeof(cell));
    return rc == SQLITE_DONE ? SQLITE_OK : rc;
}

static int read_tables(sqlite3 *db, struct arena *arena, struct optimizer_tables *t)
{
    const struct {
        const char *sql;
        void *out;
        size_t *rows;
    } tables[] = {
        {"SELECT name, kind, chain, arguments FROM optax_function LIMIT ?1", &t->function,
         &t->functions},
        {"SELECT transformation, slot, scope, shape, dtype, \"when\" FROM optax_slot LIMIT ?1",
         &t->slot, &t->slots},
        {"SELECT transformation, state, \"when\" FROM optax_unregistered LIMIT ?1",
         &t->unregistered, &t->unregistereds},
        {"SELECT name FROM adafactor_argument LIMIT ?1", &t->argument, &t->arguments},
        {"SELECT axis, word FROM adafactor_axis LIMIT ?1", &t->axis, &t->axes},
    };
    int rc = SQLITE_OK;
    for (size_t i = 0; rc == SQLITE_OK && i < sizeof(tables) / sizeof(tables[0]); i++)
        rc = read_texts(db, arena, tables[i].sql, tables[i].out, tables[i].rows);
    return rc;
}

static void take_param(struct question_cursor *c, sqlite3_stmt *s)
{
    const char *name = text_in(&c->kept, s, 0);
    optimizer_add_param(&c->params, name ? name : "", (size_t)sqlite3_column_bytes(s, 0),
                        text_in(&c->kept, s, 1), text_in(&c->kept, s, 2));
}

static void take_leaf(struct question_cursor *c, sqlite3_stmt *s)
{
    const char *name = text_in(&c->kept, s, 0);
    const struct optimizer_leaf leaf = {name ? name : "", (size_t)sqlite3_column_bytes(s, 0),
                                        text_in(&c->kept, s, 1), text_in(&c->kept, s, 2),
                                        sqlite3_column_int(s, 3) != 0};
    optimizer_add_leaf(&c->held, &leaf);
}

static int read_checkpoint(struct question_cursor *c, sqlite3 *db, const char *sql,
                           void (*take)(struct question_cursor *, sqlite3_stmt *))
{
    sqlite3_stmt *s = NULL;
    int rc = sqlite3_prepare_v2(db, sql, -1, &s, NULL);
    if (rc == SQLITE_OK)
        db_bind(s, "i", (int64_t)c->checkpoint);
    while (rc == SQLITE_OK && (rc = sqlite3_step(s)) == SQLITE_ROW) {
        take(c, s);
        rc = c->err.status == OK ? SQLITE_OK : SQLITE_NOMEM;
    }
    sqlite3_finalize(s);
    return rc == SQLITE_DONE ? SQLITE_OK : rc;
}

#define LEAVES                                                                                     \
    "SELECT name, shape, dtype, tensor_id IS NULL FROM leaf WHERE checkpoint_id = known_checkpoint(?1)"

static int read_layout(struct question_cursor *c, sqlite3 *db)
{
    int rc = read_checkpoint(c, db, LEAVES " ORDER BY place", take_leaf);
    if (rc == SQLITE_OK &&
        optimizer_find_layout(&c->held, &c->params, &c->tables, &c->layout) != OK)
        rc = SQLITE_NOMEM;
    return rc;
}

static void forget(struct question_cursor *c)
{
    optimizer_release_layout(&c->layout);
    optimizer_release_params(&c->params);
    optimizer_release_held(&c->held);
    arena_release(&c->kept);
    c->kept = (struct arena){.err = &c->err};
    c->loaded = false;
}

static int optimizer_vt_load(struct question_cursor *c, sqlite3 *db, const struct question *q,
                             sqlite3_int64 checkpoint)
{
    if (c->loaded && c->checkpoint == checkpoint)
        return SQLITE_OK;
    forget(c);
    c->params.arena = c->held.arena = c->layout.arena = &c->kept;
    c->checkpoint = checkpoint;
    int rc = read_tables(db, &c->kept, &c->tables);
    if (rc == SQLITE_OK)
        rc = read_checkpoint(
            c, db, "SELECT name, shape, dtype FROM optimizer_params(?1) ORDER BY turn", take_param);
    if (rc == SQLITE_OK && q->reads == WITH_STATE)
        rc = read_checkpoint(c, db, LEAVES " AND substr(name, 1, 6) = 'state/' ORDER BY place",
                             take_leaf);
    else if (rc == SQLITE_OK && q->reads == WITH_LAYOUT)
        rc = read_layout(c, db);
    c->loaded = rc == SQLITE_OK;
    return rc;
}

/* --- the functions ----------------------------------------------------------------------------- */

static void run_state(struct question_cursor *c, struct bytes text)
{
    optimizer_state(text, &c->params, &c->tables, &c->wanted);
}

static size_t state_rows(const struct question_cursor *c)
{
    return c->wanted.count;
}

static void state_column(struct question_cursor *c, sqlite3_context *context, int column, size_t at)
{
    const struct optimizer_row *row = &c->wanted.at[at];
    struct text name = {0};
    if (column == 0 && row->path) {
        optimizer_row_name(row, &name);
        sql_result_text(context, &name);
    } else if (column > 0) {
        sql_result_string(context, column == 1   ? row->shape
                                   : column == 2 ? row->dtype
                                   : column == 3 ? row->axes
                                                 : row->error);
    }
}

static void run_filter(struct question_cursor *c, struct bytes text)
{
    optimizer_filter(text, &c->params, &c->wanted);
}

static void filter_column(struct question_cursor *c, sqlite3_context *context, int column,
                          size_t at)
{
    const struct optimizer_row *row = &c->wanted.at[at];
    if (column == 0)
        sqlite3_result_int64(context, strtoll(row->path, NULL, 10));
    else if (column == 2)
        sql_result_string(context, row->error);
    else if (row->param)
        sqlite3_result_text(context, row->param->name, (int)row->param->len, SQLITE_TRANSIENT);
}

static void run_diff(struct question_cursor *c, struct bytes text)
{
    run_state(c, text);
    if (c->err.status == OK)
        optimizer_compare(&c->wanted, &c->held, &c->differences);
}

static size_t diff_rows(const struct question_cursor *c)
{
    return c->differences.count;
}

static void diff_column(struct question_cursor *c, sqlite3_context *context, int column, size_t at)
{
    static bool (*const texts[])(const struct optimizer_difference *, struct text *) = {
        optimizer_difference_name, NULL, optimizer_difference_expected, optimizer_difference_found};
    const struct optimizer_difference *d = &c->differences.at[at];
    struct text text = {0};
    if (column == 1)
        sql_result_string(context, optimizer_problem_name(d->problem));
    else if (column == 4)
        sqlite3_result_int64(context, (sqlite3_int64)at);
    else if (texts[column](d, &text) || text.failed)
        sql_result_text(context, &text);
    text_release(&text);
}

/* Places for which the optimizer would keep no state are left out. */
static void run_score(struct question_cursor *c, struct bytes text)
{
    c->score = arena_array(&c->arena, c->layout.count + 1, sizeof(*c->score));
    for (size_t i = 0; c->score && i < c->layout.count; i++) {
        struct score *score = &c->score[c->scores];
        struct optimizer_rows *wanted = arena_alloc(&c->arena, sizeof(*wanted));
        if (!wanted)
            return;
        wanted->arena = score->differences.arena = &c->arena;
        score->place = &c->layout.at[i];
        /* The state that the optimizer would keep at a place; of a folder that is not all looked
         * at, the reason why. */
        if (!score->place->error)
            optimizer_state(text, &score->place->params, &c->tables, wanted);
        else
            *PUSH(wanted->arena, wanted->at, wanted->count, wanted->space) = (struct optimizer_row){
                .path = *score->place->params.root ? score->place->params.root : ".",
                .error = score->place->error};
        if (c->err.status != OK)
            return;
        if (wanted->count == 0)
            continue;
        if (optimizer_compare(wanted, &score->place->held, &score->differences) != OK)
            return;
        c->scores++;
    }
}

static size_t score_rows(const struct question_cursor *c)
{
    return c->scores;
}

/* "missing: state/step, int32[]" */
static void give_first(sqlite3_context *context, const struct optimizer_difference *d)
{
    struct text text = {0};
    text_addf(&text, "%s: ", optimizer_problem_name(d->problem));
    size_t before = text.len;
    if (optimizer_difference_name(d, &text))
        text_adds(&text, ", ");
    /* Names begin with a '/' if the checkpoint is nothing but a state (state_layout.h). */
    if (!text.failed && text.len > before && text.at[before] == '/')
        memmove(text.at + before, text.at + before + 1, text.len-- - before);
    bool expected = d->problem != PROBLEM_UNEXPECTED && optimizer_difference_expected(d, &text);
    if (expected && d->problem != PROBLEM_MISSING && d->problem != PROBLEM_ERROR)
        text_adds(&text, " expected, ");
    if (d->problem != PROBLEM_MISSING && d->problem != PROBLEM_ERROR)
        optimizer_difference_found(d, &text);
    if (expected && d->problem != PROBLEM_MISSING && d->problem != PROBLEM_ERROR)
        text_adds(&text, " found");
    sql_result_text(context, &text);
}

static void give_place(sqlite3_context *context, const struct optimizer_place *place)
{
    const char *root = place->params.root;
    sql_result_string(context, root && !*root ? "." : root);
}

static void score_column(struct question_cursor *c, sqlite3_context *context, int column, size_t at)
{
    const struct optimizer_differences *d = &c->score[at].differences;
    sqlite3_int64 count = 0;
    for (size_t i = 0; i < d->count; i++)
        count += column == 0 || d->at[i].problem == (enum optimizer_problem)column;
    if (column < PROBLEMS)
        sqlite3_result_int64(context, count);
    else if (column > PROBLEMS)
        give_place(context, c->score[at].place);
    else if (d->count)
        give_first(context, &d->at[0]);
}

static void run_chain(struct question_cursor *c, struct bytes text)
{
    (void)text;
    c->score = arena_array(&c->arena, c->layout.count + 1, sizeof(*c->score));
    for (size_t i = 0; i < c->layout.count && c->err.status == OK; i++) {
        struct score *score = &c->score[c->scores];
        score->place = &c->layout.at[i];
        if (score->place->error)
            continue;
        optimizer_chain_of(score->place, &c->tables, &c->arena, &score->chain);
        c->scores += score->chain.spec != NULL;
    }
}

static void chain_column(struct question_cursor *c, sqlite3_context *context, int column, size_t at)
{
    const struct score *s = &c->score[at];
    if (column == 2)
        give_place(context, s->place);
    else
        sql_result_string(context, column ? s->chain.spec : s->chain.label);
}

static const struct question questions[] = {
    {"optimizer_state_rows", "name, shape, dtype, axes, error", "spec", 5, PARAMS_ALONE, run_state,
     state_rows, state_column},
    {"state_diff_rows", "name, problem, expected, found, ord", "spec", 5, WITH_STATE, run_diff,
     diff_rows, diff_column},
    {"state_score_rows",
     "differences, missing, unexpected, shape, dtype, \"null\", error, first, place", "spec", 9,
     WITH_LAYOUT, run_score, score_rows, score_column},
    {"state_chain_rows", "optimizer, spec, place", "asked", 3, WITH_LAYOUT, run_chain, score_rows,
     chain_column},
    {"optimizer_filter", "filter, name, error", "filters", 3, PARAMS_ALONE, run_filter, state_rows,
     filter_column},
};

/* --- the module ------------------------------------------------------------------------------- */

/* Forget the answer, not the checkpoint that was loaded for it. */
static void question_restart(struct question_cursor *c)
{
    sqlite3_value_free(c->text);
    c->text = NULL;
    arena_release(&c->arena);
    c->arena = (struct arena){.err = &c->err};
    c->wanted = (struct optimizer_rows){.arena = &c->arena};
    c->differences = (struct optimizer_differences){.arena = &c->arena};
    c->score = NULL;
    c->scores = 0;
    c->of.at = c->of.end = 0;
}

static void question_empty(sqlite3_vtab_cursor *base)
{
    question_restart((struct question_cursor *)base);
    forget((struct question_cursor *)base);
}

static int question_connect(sqlite3 *db, void *aux, int argc, const char *const *argv,
                            sqlite3_vtab **out, char **message)
{
    (void)argc, (void)argv, (void)message;
    const struct question *q = aux;
    const struct vtab t = {
        .db = db, .of = aux, .cursor = sizeof(struct question_cursor), .empty = question_empty};
    char *sql =
        sqlite3_mprintf("CREATE TABLE x(%s, %s HIDDEN, checkpoint HIDDEN)", q->columns, q->text);
    int rc = vtab_make(&t, sql, SQLITE_VTAB_INNOCUOUS, out);
    sqlite3_free(sql);
    return rc;
}

static const struct question *question_of(sqlite3_vtab *t)
{
    return ((struct vtab *)t)->of;
}

static int question_plan(sqlite3_vtab *base, sqlite3_index_info *info)
{
    const struct question *q = question_of(base);
    for (int k = 0; k < 2; k++) {
        /* SQLite plans each side of an OR with its own terms only: the argument may be given
         * outside. */
        bool later = false;
        for (int i = 0; i < info->nConstraint; i++)
            later = later || info->aConstraint[i].iColumn < q->count;
        int at = sql_given(info, q->count + k, &later);
        const char *name = k ? "checkpoint" : q->text;
        if (at < 0 && later)
            return SQLITE_CONSTRAINT;
        if (at < 0)
            return vtab_refuse(base, "say which %s: %s = ...", name, name);
        info->aConstraintUsage[at].argvIndex = k + 1;
        info->aConstraintUsage[at].omit = 1;
    }
    info->estimatedCost = 1e4;
    info->estimatedRows = 1000;
    return SQLITE_OK;
}

static int question_filter(sqlite3_vtab_cursor *base, int plan, const char *none, int argc,
                           sqlite3_value **argv)
{
    (void)plan, (void)none, (void)argc;
    struct question_cursor *c = (struct question_cursor *)base;
    const struct question *q = question_of(base->pVtab);
    sqlite3 *db = ((struct vtab *)base->pVtab)->db;
    error_clear(&c->err);
    question_restart(c);
    if (sqlite3_value_type(argv[0]) == SQLITE_NULL || sqlite3_value_type(argv[1]) == SQLITE_NULL)
        return SQLITE_OK;
    sqlite3_value *id = NULL;
    vtab_clear(base->pVtab);
    int rc = sql_checkpoint(db, argv[1], &id, &base->pVtab->zErrMsg);
    if (rc != SQLITE_OK)
        return rc;
    rc = optimizer_vt_load(c, db, q, sqlite3_value_int64(id));
    sqlite3_value_free(id);
    if (rc != SQLITE_OK)
        return vtab_failed(base->pVtab, db, rc);
    c->text = sqlite3_value_dup(argv[0]);
    const uint8_t *text = c->text ? sqlite3_value_text(c->text) : NULL;
    if (!text)
        return SQLITE_NOMEM;
    c->of.key = rowid_add(rowid_add_value(0, c->text), (uint64_t)c->checkpoint);
    struct bytes bytes = {text, (size_t)sqlite3_value_bytes(c->text)};
    q->run(c, bytes);
    c->of.end = q->rows(c);
    if (c->err.status == ERR_MEMORY)
        return SQLITE_NOMEM;
    return c->err.status == OK ? SQLITE_OK : vtab_refuse(base->pVtab, "%s", c->err.message);
}

static int question_column(sqlite3_vtab_cursor *base, sqlite3_context *context, int i)
{
    struct question_cursor *c = (struct question_cursor *)base;
    const struct question *q = question_of(base->pVtab);
    if (i < q->count)
        q->column(c, context, i, c->of.at);
    else if (i == q->count)
        sqlite3_result_value(context, c->text);
    else
        sqlite3_result_int64(context, c->checkpoint);
    return SQLITE_OK;
}

static const sqlite3_module question_module = {
    VTAB_COUNTED,
    .xConnect = question_connect,
    .xBestIndex = question_plan,
    .xFilter = question_filter,
    .xNext = vtab_next,
    .xColumn = question_column,
};

int sql_register_optimizer(sqlite3 *db)
{
    int rc = SQLITE_OK;
    for (size_t i = 0; rc == SQLITE_OK && i < sizeof(questions) / sizeof(questions[0]); i++)
        rc = sql_register_table(db, questions[i].name, &question_module, (void *)&questions[i]);
    return rc;
}
