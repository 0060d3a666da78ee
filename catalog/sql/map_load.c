#include "catalog/sql/map_load.h"

#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include "catalog/base/limits.h"
#include "catalog/base/list.h"
#include "catalog/db/ids.h"
#include "catalog/db/schema.h"
#include "catalog/db/statement.h"

/* A tree that is being read: both arrays grow. */
struct loading {
    const struct map_reading *how;
    struct map_task *task;
    struct map_tree tree;
    size_t leaf_space;
    struct map_match *match;
    size_t matches, match_space;
    struct strmap texts; /* dtypes, shapes and the like, each kept once */
    const char *dtype;   /* of the last leaf */
    bool sorted;
};

/* The columns of the statements that read leaves. */
enum {
    PLACE,
    NAME,
    DTYPE, /* this and the following only with MAP_WANTS_VALUES */
    SHAPE,
    KIND
};

static struct map_text copy_text(struct map_task *t, const char *text, size_t len)
{
    struct map_text kept = {arena_copy(&t->arena, text, len), len};
    t->failed = t->failed || !kept.at;
    return kept;
}

static struct map_text copy(struct map_task *t, sqlite3_stmt *s, int i)
{
    const char *text = db_text(s, i);
    return text ? copy_text(t, text, (size_t)sqlite3_column_bytes(s, i)) : (struct map_text){0};
}

/* --- matches ----------------------------------------------------------------------------- */

/* The one copy of a text that occurs often; NULL for NULL. */
static const char *intern(struct loading *l, const char *text)
{
    const char *kept = NULL;
    bool added;
    if (!text)
        return NULL;
    uint64_t *value = strmap_keep(&l->texts, &l->task->arena, text, strlen(text), &kept, &added);
    l->task->failed = l->task->failed || !value;
    return kept;
}

static bool add_match(struct loading *l, struct map_leaf *leaf, const struct rule_result *result)
{
    if (result->outcome == RULE_UNMATCHED)
        return true;
    if (result->no_memory)
        return false;
    struct map_match *grown =
        arena_grow(&l->task->arena, l->match, l->matches, &l->match_space, sizeof(*l->match));
    if (!grown)
        return false;
    l->match = grown;
    struct map_match *match = &l->match[l->matches++];
    *match = (struct map_match){.outcome = result->outcome, .ord = result->ord};
    leaf->matches++;
    if (result->outcome != RULE_DROPPED)
        match->text = copy_text(l->task, result->text, result->len);
    if (l->how->wants & MAP_WANTS_OPS) {
        match->cast = intern(l, result->cast);
        match->ops = intern(l, result->ops);
    }
    return true;
}

/* Add the match of the first rule that matches the name, or with dialect->each of every rule. */
static bool match_leaf(struct loading *l, struct map_leaf *leaf, const char *name, size_t len)
{
    struct rules *rules = l->how->rules;
    const struct rule_result *result;
    size_t at = 0;
    bool good;
    do {
        result = rules_apply_from(rules, &at, name, len);
        good = add_match(l, leaf, result);
    } while (good && l->how->dialect->each && result->outcome != RULE_UNMATCHED);
    return good;
}

/* --- leaves ------------------------------------------------------------------------------ */

/* Columns that follow from `place` (schema/12_leaf.sql) are computed here, as SQLite takes longer. */
static enum map_kind map_load_kind_of(sqlite3_stmt *s)
{
    if (sqlite3_column_int64(s, PLACE) >> TENSOR_ORD_BITS & 1)
        return MAP_TENSOR;
    const char *kind = db_text(s, KIND);
    return !kind ? MAP_NULL : strcmp(kind, "dict") == 0 ? MAP_EMPTY_DICT : MAP_EMPTY_LIST;
}

static bool map_load_add_leaf(struct loading *l, sqlite3_stmt *s)
{
    const struct map_reading *how = l->how;
    bool values = how->wants & MAP_WANTS_VALUES;
    enum map_kind kind = values ? map_load_kind_of(s) : MAP_TENSOR;
    bool container = kind == MAP_EMPTY_DICT || kind == MAP_EMPTY_LIST;
    if (container && (how->rules || !how->dialect->containers))
        return true;
    struct map_tree *tree = &l->tree;
    struct map_leaf *grown =
        arena_grow(&l->task->arena, tree->leaf, tree->count, &l->leaf_space, sizeof(*tree->leaf));
    if (!grown)
        return false;
    tree->leaf = grown;
    struct map_leaf *leaf = &tree->leaf[tree->count++];
    *leaf = (struct map_leaf){
        .place = sqlite3_column_int64(s, PLACE),
        .match = (uint32_t)l->matches,
        .kind = kind,
    };
    /* As text SQLite would copy it, to put a NUL after it. An empty text is NULL as a blob. */
    size_t len = (size_t)sqlite3_column_bytes(s, NAME);
    const char *name = sqlite3_column_blob(s, NAME);
    if (!len)
        name = db_text(s, NAME);
    if (!name)
        return false;
    if (how->wants & MAP_WANTS_NAMES)
        leaf->name = copy_text(l->task, name, len);
    if (values) {
        const char *dtype = db_text(s, DTYPE);
        if (!dtype || !l->dtype || strcmp(dtype, l->dtype) != 0)
            l->dtype = intern(l, dtype);
        leaf->dtype = l->dtype;
        leaf->shape = intern(l, db_text(s, SHAPE));
    }
    l->sorted = l->sorted && (tree->count == 1 || leaf[-1].place <= leaf->place);
    return !how->rules || match_leaf(l, leaf, name, len);
}

static int map_load_by_place(const void *a, const void *b)
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

/* The values are as db_bind() takes them. */
static int map_load_prepare(struct map_statements *m, enum map_statement which, const char *sql,
                            sqlite3_stmt **out, const char *types, ...)
{
    va_list args;
    va_start(args, types);
    int rc = m->at[which] ? SQLITE_OK : sqlite3_prepare_v2(m->db, sql, -1, &m->at[which], NULL);
    if (rc == SQLITE_OK)
        rc = db_vbind(m->at[which], types, args);
    *out = m->at[which];
    va_end(args);
    return rc;
}

/* Reset a statement after its last step returned `rc`; returns the result of the whole. */
static int map_load_finish(sqlite3_stmt *s, bool memory, int rc)
{
    sqlite3_reset(s);
    sqlite3_clear_bindings(s);
    return !memory ? SQLITE_NOMEM : rc == SQLITE_DONE ? SQLITE_OK : rc;
}

/* --- reading ----------------------------------------------------------------------------- */

static enum map_statement statement_of(const struct map_reading *how)
{
    return how->wants & MAP_WANTS_VALUES ? MAP_SELECT_LEAVES : MAP_SELECT_NAMES;
}

int map_read_begin(struct map_statements *m, sqlite3_int64 checkpoint, struct map_reading *how)
{
    enum map_statement which = statement_of(how);
    int rc = map_load_prepare(
        m, which,
        schema_text(which == MAP_SELECT_NAMES ? "schema/query/names.sql" : "schema/query/tree.sql"),
        &how->leaves, "i", checkpoint);
    if (rc == SQLITE_OK)
        m->at[which] = NULL; /* nobody else's until the end */
    return rc;
}

int map_read_next(struct map_reading *how, size_t most, struct map_task *t, struct map_tree *out)
{
    struct loading l = {.how = how, .task = t, .sorted = true};
    int rc = SQLITE_ROW;
    if (how->expected &&
        (l.tree.leaf = arena_room(&t->arena, how->expected * sizeof(*l.tree.leaf))))
        l.leaf_space = how->expected;
    while (!t->failed && l.tree.count < most && (rc = sqlite3_step(how->leaves)) == SQLITE_ROW)
        t->failed = !map_load_add_leaf(&l, how->leaves) || t->failed;
    strmap_release(&l.texts);
    if (!l.sorted)
        qsort(l.tree.leaf, l.tree.count, sizeof(*l.tree.leaf), map_load_by_place);
    *out = l.tree;
    if (how->rules)
        t->match = l.match;
    return t->failed ? SQLITE_NOMEM : rc;
}

void map_read_end(struct map_statements *m, struct map_reading *how)
{
    enum map_statement which = statement_of(how);
    if (!how->leaves)
        return;
    map_load_finish(how->leaves, true, SQLITE_DONE);
    if (m->at[which])
        sqlite3_finalize(how->leaves);
    else
        m->at[which] = how->leaves;
    how->leaves = NULL;
}

static int map_load_all(struct map_statements *m, struct map_reading *how, sqlite3_int64 checkpoint,
                        struct map_task *t, struct map_tree *out)
{
    int rc = map_read_begin(m, checkpoint, how);
    if (rc == SQLITE_OK)
        rc = map_read_next(how, SIZE_MAX, t, out);
    map_read_end(m, how);
    return rc == SQLITE_DONE ? SQLITE_OK : rc;
}

int map_load_leaves(struct map_statements *m, const struct dialect *d, struct rules *rules,
                    sqlite3_int64 checkpoint, struct map_task *t, struct map_tree *out)
{
    struct map_reading how = {d, rules, MAP_WANTS_ALL, 0, NULL};
    return map_load_all(m, &how, checkpoint, t, out);
}

int map_load_tree(struct map_statements *m, sqlite3_int64 checkpoint, size_t expected,
                  struct map_task *t, struct map_tree *out)
{
    static const struct dialect any = {.containers = true};
    struct map_reading how = {&any, NULL, MAP_WANTS_ALL, expected, NULL};
    return map_load_all(m, &how, checkpoint, t, out);
}

/* --- a translation ------------------------------------------------------------------------- */

static void add_translated(struct loading *l, sqlite3_stmt *s)
{
    struct map_task *t = l->task;
    struct map_leaf *leaf = arena_alloc(&t->arena, sizeof(*leaf));
    const bool meets = sqlite3_column_type(s, 6) != SQLITE_NULL;
    const bool raises = sqlite3_column_type(s, 7) != SQLITE_NULL;
    struct map_row *row = map_add(t, "unmatched");
    t->failed = t->failed || !leaf;
    if (t->failed)
        return;
    *leaf = (struct map_leaf){.name = copy(t, s, 1), .place = sqlite3_column_int64(s, 0)};
    leaf->kind = leaf->place >> TENSOR_ORD_BITS & 1 ? MAP_TENSOR : MAP_NULL;
    leaf->dtype = intern(l, db_text(s, 3));
    leaf->shape = intern(l, db_text(s, 4));
    map_take(row, leaf);
    row->old_name = leaf->name;
    row->new_name = copy(t, s, 2);
    row->ops = intern(l, db_text(s, 5));
    row->rule = meets ? sqlite3_column_int64(s, 6) : NO_RULE;
    row->error = copy(t, s, 7);
    row->status = map_status(raises             ? RULE_ERROR
                             : row->new_name.at ? RULE_OK
                             : meets            ? RULE_DROPPED
                                                : RULE_UNMATCHED);
}

int map_load_translated(struct map_statements *m, const char *ruleset, sqlite3_int64 checkpoint,
                        struct map_task *t)
{
    struct loading l = {.task = t};
    struct text sql = {0};
    sqlite3_stmt *s;
    text_addf(&sql,
              "SELECT place, old_name, new_name, dtype, shape, ops, rule, raised FROM (%s)"
              " ORDER BY place",
              schema_text("schema/map/translation.sql"));
    int rc = text_str(&sql)
                 ? map_load_prepare(m, MAP_SELECT_TRANSLATED, sql.at, &s, "si", ruleset, checkpoint)
                 : SQLITE_NOMEM;
    text_release(&sql);
    if (rc != SQLITE_OK)
        return rc;
    while (!t->failed && (rc = sqlite3_step(s)) == SQLITE_ROW)
        add_translated(&l, s);
    strmap_release(&l.texts);
    return map_load_finish(s, !t->failed, rc);
}

bool map_match_some(const struct map_reading *how, size_t most, struct map_task *t,
                    const struct map_tree *tree, struct map_tree *out)
{
    struct loading l = {.how = how, .task = t};
    for (size_t i = 0; !t->failed && i < tree->count && l.tree.count < most; i++) {
        struct map_leaf *leaf =
            arena_grow(&t->arena, l.tree.leaf, l.tree.count, &l.leaf_space, sizeof(*leaf));
        t->failed = t->failed || !leaf;
        if (!leaf)
            break;
        l.tree.leaf = leaf;
        leaf += l.tree.count;
        *leaf = tree->leaf[i];
        leaf->match = (uint32_t)l.matches;
        leaf->matches = 0;
        t->failed = !match_leaf(&l, leaf, leaf->name.at, leaf->name.len) || t->failed;
        l.tree.count += leaf->matches > 0;
    }
    strmap_release(&l.texts);
    *out = l.tree;
    t->match = l.match;
    return !t->failed;
}

bool map_match_leaves(const struct dialect *d, struct rules *rules, struct map_task *t,
                      struct map_tree *tree)
{
    struct map_reading how = {d, rules, MAP_WANTS_ALL, 0, NULL};
    struct loading l = {.how = &how, .task = t};
    struct map_leaf *leaf = arena_array(&t->arena, tree->count + 1, sizeof(*leaf));
    t->failed = t->failed || !leaf;
    for (size_t i = 0; !t->failed && i < tree->count; i++) {
        leaf[i] = tree->leaf[i];
        leaf[i].match = (uint32_t)l.matches;
        leaf[i].matches = 0;
        t->failed = !match_leaf(&l, &leaf[i], leaf[i].name.at, leaf[i].name.len) || t->failed;
    }
    strmap_release(&l.texts);
    tree->leaf = leaf;
    t->match = l.match;
    return !t->failed;
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
    static const char sql[] = "SELECT ord, pattern, replacement, nullif(ops, '[]') IS NOT NULL"
                              " FROM main.rule WHERE ruleset = ?1 ORDER BY ord";
    sqlite3_stmt *s;
    size_t space = 0;
    int rc = map_load_prepare(m, MAP_SELECT_RULES, sql, &s, "s", ruleset);
    if (rc != SQLITE_OK)
        return rc;
    while (!t->failed && (rc = sqlite3_step(s)) == SQLITE_ROW)
        t->failed = !add_rule(t, &space, s) || t->failed;
    return map_load_finish(s, !t->failed, rc);
}

int map_load_set(struct map_statements *m, const char *ruleset, struct map_task *t,
                 const struct dialect **out)
{
    static const char sql[] = "SELECT dialect, options FROM main.ruleset WHERE name = ?1";
    sqlite3_stmt *s;
    *out = NULL;
    int rc = map_load_prepare(m, MAP_SELECT_SET, sql, &s, "s", ruleset);
    if (rc != SQLITE_OK)
        return rc;
    while (!t->failed && (rc = sqlite3_step(s)) == SQLITE_ROW) {
        *out = dialect_find(db_text(s, 0) ? db_text(s, 0) : "");
        t->options = copy(t, s, 1).at;
    }
    rc = map_load_finish(s, !t->failed, rc);
    return rc == SQLITE_OK && *out ? load_rules(m, ruleset, t) : rc;
}

int map_load_bound(struct map_statements *m, const char *ruleset, sqlite3_int64 checkpoint,
                   char **out)
{
    sqlite3_stmt *s;
    *out = NULL;
    int rc = map_load_prepare(m, MAP_SELECT_BOUND, "SELECT rule_bound(?1, ?2)", &s, "si", ruleset,
                              checkpoint);
    if (rc != SQLITE_OK)
        return rc;
    while ((rc = sqlite3_step(s)) == SQLITE_ROW)
        if (db_text(s, 0))
            *out = strdup(db_text(s, 0));
    return map_load_finish(s, *out || rc != SQLITE_DONE, rc);
}

/* --- sources ----------------------------------------------------------------------------- */

#define SELECT_SOURCES                                                                             \
    "SELECT id, layout, meta, (SELECT tensors FROM main._layouts l WHERE l.id = layout),"          \
    " EXISTS (SELECT 1 FROM main._layout_nodes x WHERE x.id BETWEEN layout" ID_FIRST               \
    "AND layout" ID_LAST "AND x.kind = 'null')"                                                    \
    " FROM main._checkpoints "

int map_load_sources(struct map_statements *m, sqlite3_value *id, struct map_source **out,
                     size_t *count)
{
    sqlite3_stmt *s;
    size_t space = 0;
    bool memory = true;
    int rc =
        id ? map_load_prepare(m, MAP_SELECT_SOURCE, SELECT_SOURCES "WHERE id = ?1", &s, "v", id)
           : map_load_prepare(m, MAP_SELECT_SOURCES, SELECT_SOURCES "ORDER BY layout, id", &s, "");
    if (rc != SQLITE_OK)
        return rc;
    while (memory && (rc = sqlite3_step(s)) == SQLITE_ROW) {
        struct map_source *grown = list_grow(*out, *count, &space, sizeof(*grown));
        memory = grown != NULL;
        if (!memory)
            break;
        *out = grown;
        grown[(*count)++] = (struct map_source){
            sqlite3_column_int64(s, 0), sqlite3_column_int64(s, 1), sqlite3_column_int64(s, 2),
            sqlite3_column_int64(s, 3), sqlite3_column_int(s, 4) != 0};
    }
    return map_load_finish(s, memory, rc);
}
