#include "catalog/sql/map_load.h"

#include <stdlib.h>
#include <string.h>

#include "catalog/db/schema.h"

/* Trees as they are read: both arrays grow. */
struct loading {
    struct map_task *task;
    struct map_tree tree;
    size_t leaf_space;
    struct map_match *match;
    size_t matches, match_space;
    struct strmap texts; /* dtypes, shapes and the like, each kept once */
    bool sorted;
    bool containers; /* are wanted */
    bool matched;    /* it is matched_*.sql that is read */
    unsigned wants;
};

/* The columns that are read of tree.sql and matched_*.sql. */
enum {
    PLACE,
    TEXT, /* of matched_*.sql */
    NAME,
    IS_TENSOR,
    DTYPE,
    SHAPE,
    ORD, /* from here on of matched_*.sql */
    STATUS,
    CAST,
    OPS,
    MATCHED_COLUMNS,
    KIND = ORD /* of tree.sql */
};

static const char *column(sqlite3_stmt *s, int i)
{
    return (const char *)sqlite3_column_text(s, i);
}

static struct map_text copy(struct map_task *t, sqlite3_stmt *s, int i)
{
    const char *text = column(s, i);
    size_t len = (size_t)sqlite3_column_bytes(s, i);
    if (!text)
        return (struct map_text){0};
    struct map_text kept = {arena_copy(&t->arena, text, len), len};
    t->failed = t->failed || !kept.at;
    return kept;
}

/* A text of which there are few. */
static const char *intern(struct loading *l, sqlite3_stmt *s, int i)
{
    const char *text = column(s, i), *kept = NULL;
    bool added;
    if (!text)
        return NULL;
    size_t len = (size_t)sqlite3_column_bytes(s, i);
    uint64_t *value = strmap_keep(&l->texts, &l->task->arena, text, len, &kept, &added);
    l->task->failed = l->task->failed || !value;
    return kept;
}

static enum map_kind kind_of(sqlite3_stmt *s, bool matched)
{
    const char *kind = matched ? NULL : column(s, KIND);
    if (sqlite3_column_int(s, IS_TENSOR))
        return MAP_TENSOR;
    return !kind ? MAP_NULL : strcmp(kind, "dict") == 0 ? MAP_EMPTY_DICT : MAP_EMPTY_LIST;
}

static struct map_leaf *add_leaf(struct loading *l, sqlite3_stmt *s, int64_t place)
{
    struct map_tree *tree = &l->tree;
    struct map_leaf *grown = arena_grow(&l->task->arena, tree->leaf, tree->count,
                                        &l->leaf_space, sizeof(*tree->leaf));
    if (!grown)
        return NULL;
    tree->leaf = grown;
    struct map_leaf *leaf = &tree->leaf[tree->count++];
    *leaf = (struct map_leaf){
        .place = place,
        .match = (uint32_t)l->matches,
        .kind = l->wants & MAP_WANTS_KIND ? kind_of(s, l->matched) : MAP_TENSOR,
    };
    if (l->wants & MAP_WANTS_NAMES)
        leaf->name = copy(l->task, s, NAME);
    if (l->wants & MAP_WANTS_TYPES) {
        leaf->dtype = intern(l, s, DTYPE);
        leaf->shape = intern(l, s, SHAPE);
    }
    l->sorted = l->sorted && (tree->count == 1 || leaf[-1].place <= leaf->place);
    return leaf;
}

/* Where only new names are wanted, a leaf without one is as good as unmatched. */
static enum rule_outcome outcome_of(const struct loading *l, sqlite3_stmt *s)
{
    if (!(l->wants & MAP_WANTS_RULE))
        return sqlite3_column_type(s, TEXT) == SQLITE_NULL ? RULE_UNMATCHED : RULE_OK;
    const char *status = column(s, STATUS);
    const char c = *(status ? status : "u");
    return c == 'o'   ? RULE_OK
           : c == 'd' ? RULE_DROPPED
           : c == 'e' ? RULE_ERROR
                      : RULE_UNMATCHED;
}

static bool add_match(struct loading *l, sqlite3_stmt *s, enum rule_outcome outcome)
{
    struct map_match *grown = arena_grow(&l->task->arena, l->match, l->matches,
                                         &l->match_space, sizeof(*l->match));
    if (!grown)
        return false;
    l->match = grown;
    struct map_match *match = &l->match[l->matches++];
    *match = (struct map_match){
        .outcome = outcome, .ord = NO_RULE, .text = copy(l->task, s, TEXT)};
    if (l->wants & MAP_WANTS_RULE)
        match->ord = sqlite3_column_int64(s, ORD);
    if (l->wants & MAP_WANTS_OPS) {
        match->cast = intern(l, s, CAST);
        match->ops = intern(l, s, OPS);
    }
    return true;
}

/* A leaf has a row for each rule that matches it, one after the other. */
static bool add_row(struct loading *l, sqlite3_stmt *s)
{
    int64_t place = sqlite3_column_int64(s, PLACE);
    struct map_leaf *leaf = l->tree.count ? &l->tree.leaf[l->tree.count - 1] : NULL;
    if (!l->matched && !l->containers && sqlite3_column_type(s, KIND) != SQLITE_NULL)
        return true;
    if (!l->matched || !leaf || leaf->place != place)
        leaf = add_leaf(l, s, place);
    enum rule_outcome outcome = leaf && l->matched ? outcome_of(l, s) : RULE_UNMATCHED;
    if (outcome == RULE_UNMATCHED)
        return leaf != NULL;
    leaf->matches++;
    return add_match(l, s, outcome);
}

static int by_place(const void *a, const void *b)
{
    const struct map_leaf *x = a, *y = b;
    return x->place < y->place ? -1 : x->place > y->place;
}

/* --- statements -------------------------------------------------------------------------- */

void map_statements_release(struct map_statements *m)
{
    for (int i = 0; i < MAP_STATEMENTS; i++) {
        sqlite3_finalize(m->at[i]);
        m->at[i] = NULL;
    }
}

static int prepare(struct map_statements *m, enum map_statement which, const char *sql,
                   sqlite3_stmt **out)
{
    int rc = m->at[which] ? SQLITE_OK
                          : sqlite3_prepare_v2(m->db, sql, -1, &m->at[which], NULL);
    *out = m->at[which];
    return rc;
}

static const char *file_called(const char *path)
{
    const struct schema_file *f = schema_files;
    while (f->path && strcmp(f->path, path) != 0)
        f++;
    return f->path ? f->text : "";
}

/* One of matched_*.sql, without what is not wanted: SQLite then does not work it out. A column that is
 * only skipped costs time for each row, too: those that are mostly wanted come first. */
static int prepare_matched(struct map_statements *m, const char *file, unsigned wants,
                           sqlite3_stmt **out)
{
    const struct {
        unsigned wants;
        const char *sql;
    } columns[MATCHED_COLUMNS] = {
        [PLACE] = {0, "place"},
        [TEXT] = {0,
                  wants & MAP_WANTS_RULE ? "ifnull(replacement, error)" : "replacement"},
        [NAME] = {MAP_WANTS_NAMES, "name"},
        [IS_TENSOR] = {MAP_WANTS_KIND, "is_tensor"},
        [DTYPE] = {MAP_WANTS_TYPES, "dtype"},
        [SHAPE] = {MAP_WANTS_TYPES, "shape"},
        [ORD] = {MAP_WANTS_RULE, "ord"},
        [STATUS] = {MAP_WANTS_RULE, "status"},
        [CAST] = {MAP_WANTS_OPS, "\"cast\""},
        [OPS] = {MAP_WANTS_OPS, "ops"},
    };
    struct text sql = {0};
    int last = MATCHED_COLUMNS - 1;
    while (columns[last].wants && !(columns[last].wants & wants))
        last--;
    for (int i = 0; i <= last; i++) {
        bool wanted = !columns[i].wants || columns[i].wants & wants;
        text_addf(&sql, "%s%s", i ? ", " : "SELECT ", wanted ? columns[i].sql : "NULL");
    }
    text_addf(&sql, " FROM (%s)", file_called(file));
    sqlite3_stmt *kept = m->at[MAP_SELECT_MATCHED];
    if (kept && text_str(&sql) && strcmp(sqlite3_sql(kept), sql.at) != 0) {
        sqlite3_finalize(kept);
        m->at[MAP_SELECT_MATCHED] = NULL;
    }
    int rc = text_str(&sql) ? prepare(m, MAP_SELECT_MATCHED, sql.at, out) : SQLITE_NOMEM;
    text_release(&sql);
    return rc;
}

static int prepare_tree(struct map_statements *m, sqlite3_stmt **out)
{
    struct text sql = {0};
    text_addf(&sql, "SELECT place, NULL, name, is_tensor, dtype, shape, kind FROM (%s)",
              file_called("schema/query/tree.sql"));
    int rc = text_str(&sql) ? prepare(m, MAP_SELECT_TREE, sql.at, out) : SQLITE_NOMEM;
    text_release(&sql);
    return rc;
}

/* The end of a statement that was stepped until `rc`. */
static int finish(sqlite3_stmt *s, bool memory, int rc)
{
    sqlite3_reset(s);
    sqlite3_clear_bindings(s);
    return !memory ? SQLITE_NOMEM : rc == SQLITE_DONE ? SQLITE_OK : rc;
}

/* --- leaves ------------------------------------------------------------------------------ */

static void bind(sqlite3_stmt *s, const char *ruleset, sqlite3_int64 checkpoint)
{
    int at = sqlite3_bind_parameter_index(s, ":ruleset");
    if (at)
        sqlite3_bind_text(s, at, ruleset, -1, SQLITE_STATIC);
    sqlite3_bind_int64(s, sqlite3_bind_parameter_index(s, ":checkpoint_id"), checkpoint);
}

/* Read on, up to `most` leaves. An SQLite code: SQLITE_ROW if there may be more. */
static int read_leaves(sqlite3_stmt *s, struct loading *l, size_t most)
{
    int rc = SQLITE_ROW;
    l->sorted = true;
    while (!l->task->failed && l->tree.count < most &&
           (rc = sqlite3_step(s)) == SQLITE_ROW)
        l->task->failed = !add_row(l, s) || l->task->failed;
    strmap_release(&l->texts);
    if (!l->sorted)
        qsort(l->tree.leaf, l->tree.count, sizeof(*l->tree.leaf), by_place);
    return l->task->failed ? SQLITE_NOMEM : rc;
}

int map_load_tree(struct map_statements *m, const struct dialect *d,
                  sqlite3_int64 checkpoint, struct map_task *t, struct map_tree *out)
{
    struct loading l = {.task = t, .containers = d->containers, .wants = MAP_WANTS_ALL};
    sqlite3_stmt *s;
    int rc = prepare_tree(m, &s);
    if (rc != SQLITE_OK)
        return rc;
    bind(s, NULL, checkpoint);
    rc = read_leaves(s, &l, SIZE_MAX);
    *out = l.tree;
    return finish(s, !t->failed, rc);
}

unsigned map_needed(const struct map_task *t, unsigned wants)
{
    for (size_t i = 0; i < t->rules; i++)
        if (t->rule[i].operates)
            return wants;
    return wants & ~(unsigned)MAP_WANTS_OPS;
}

int map_stream_begin(struct map_statements *m, const struct dialect *d,
                     const char *ruleset, sqlite3_int64 checkpoint, unsigned wants,
                     sqlite3_stmt **out)
{
    static const char first[] = "schema/query/matched_first.sql";
    static const char each[] = "schema/query/matched_each.sql";
    int rc = prepare_matched(m, d->each ? each : first, wants, out);
    if (rc != SQLITE_OK)
        return rc;
    m->at[MAP_SELECT_MATCHED] = NULL; /* nobody else's until the end */
    bind(*out, ruleset, checkpoint);
    return SQLITE_OK;
}

int map_stream_next(sqlite3_stmt *s, size_t most, unsigned wants, struct map_task *t,
                    struct map_tree *out)
{
    struct loading l = {.task = t, .matched = true, .wants = map_needed(t, wants)};
    int rc = read_leaves(s, &l, most);
    *out = l.tree;
    t->match = l.match;
    return rc;
}

void map_stream_end(struct map_statements *m, sqlite3_stmt *s)
{
    if (!s)
        return;
    finish(s, true, SQLITE_DONE);
    if (m->at[MAP_SELECT_MATCHED])
        sqlite3_finalize(s);
    else
        m->at[MAP_SELECT_MATCHED] = s;
}

int map_load_matched(struct map_statements *m, const struct dialect *d,
                     const char *ruleset, sqlite3_int64 checkpoint, struct map_task *t,
                     struct map_tree *out)
{
    sqlite3_stmt *s = NULL;
    if (d->trial == MAP_PATH)
        return map_load_tree(m, d, checkpoint, t, out);
    int rc =
        map_stream_begin(m, d, ruleset, checkpoint, map_needed(t, MAP_WANTS_ALL), &s);
    if (rc == SQLITE_OK)
        rc = map_stream_next(s, SIZE_MAX, MAP_WANTS_ALL, t, out);
    map_stream_end(m, s);
    return rc == SQLITE_DONE ? SQLITE_OK : rc;
}

/* --- the set ----------------------------------------------------------------------------- */

static bool add_rule(struct map_task *t, size_t *space, sqlite3_stmt *s)
{
    struct map_rule *rule = (struct map_rule *)t->rule;
    struct map_rule *grown = arena_grow(&t->arena, rule, t->rules, space, sizeof(*rule));
    if (!grown)
        return false;
    t->rule = grown;
    grown[t->rules++] = (struct map_rule){
        .ord = sqlite3_column_int64(s, 0),
        .pattern = copy(t, s, 1).at,
        .replacement = copy(t, s, 2),
        .operates = sqlite3_column_int(s, 3),
    };
    return true;
}

static int load_rules(struct map_statements *m, const char *ruleset, struct map_task *t)
{
    static const char sql[] =
        "SELECT ord, pattern, replacement, nullif(ops, '[]') IS NOT NULL"
        " FROM main.rule WHERE ruleset = ?1 ORDER BY ord";
    sqlite3_stmt *s;
    size_t space = 0;
    int rc = prepare(m, MAP_SELECT_RULES, sql, &s);
    if (rc != SQLITE_OK)
        return rc;
    sqlite3_bind_text(s, 1, ruleset, -1, SQLITE_STATIC);
    while (!t->failed && (rc = sqlite3_step(s)) == SQLITE_ROW)
        t->failed = !add_rule(t, &space, s) || t->failed;
    return finish(s, !t->failed, rc);
}

int map_load_set(struct map_statements *m, const char *ruleset, struct map_task *t,
                 const struct dialect **out)
{
    static const char sql[] = "SELECT dialect, options FROM main.ruleset WHERE name = ?1";
    sqlite3_stmt *s;
    *out = NULL;
    int rc = prepare(m, MAP_SELECT_SET, sql, &s);
    if (rc != SQLITE_OK)
        return rc;
    sqlite3_bind_text(s, 1, ruleset, -1, SQLITE_STATIC);
    while (!t->failed && (rc = sqlite3_step(s)) == SQLITE_ROW) {
        *out = dialect_find(column(s, 0) ? column(s, 0) : "");
        t->options = copy(t, s, 1).at;
    }
    rc = finish(s, !t->failed, rc);
    return rc == SQLITE_OK && *out ? load_rules(m, ruleset, t) : rc;
}

int map_load_bound(struct map_statements *m, const char *ruleset,
                   sqlite3_int64 checkpoint, struct map_task *t, const char **out)
{
    sqlite3_stmt *s;
    *out = ruleset;
    int rc = prepare(m, MAP_SELECT_BOUND, "SELECT rule_bound(?1, ?2)", &s);
    if (rc != SQLITE_OK)
        return rc;
    sqlite3_bind_text(s, 1, ruleset, -1, SQLITE_STATIC);
    sqlite3_bind_int64(s, 2, checkpoint);
    while (!t->failed && (rc = sqlite3_step(s)) == SQLITE_ROW)
        *out = copy(t, s, 0).at;
    return finish(s, !t->failed, rc);
}

/* --- sources ----------------------------------------------------------------------------- */

int map_load_sources(struct map_statements *m, sqlite3_value *id, struct map_source **out,
                     size_t *count)
{
    sqlite3_stmt *s;
    size_t space = 0;
    bool memory = true;
    int rc =
        id ? prepare(m, MAP_SELECT_SOURCE,
                     "SELECT id, layout FROM main.checkpoints WHERE id = ?1", &s)
           : prepare(m, MAP_SELECT_SOURCES,
                     "SELECT id, layout FROM main.checkpoints ORDER BY layout, id", &s);
    if (rc != SQLITE_OK)
        return rc;
    if (id)
        sqlite3_bind_value(s, 1, id);
    while (memory && (rc = sqlite3_step(s)) == SQLITE_ROW) {
        struct map_source *grown = *out;
        if (*count == space) {
            space = space ? space * 2 : 16;
            grown = realloc(*out, space * sizeof(*grown));
        }
        memory = grown != NULL;
        if (!memory)
            break;
        *out = grown;
        grown[(*count)++] =
            (struct map_source){sqlite3_column_int64(s, 0), sqlite3_column_int64(s, 1)};
    }
    return finish(s, memory, rc);
}
