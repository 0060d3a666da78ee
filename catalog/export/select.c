#include "catalog/export/select.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "catalog/base/text.h"
#include "catalog/db/db.h"
#include "catalog/db/statement.h"
#include "catalog/maps/map/dialect.h"

/* The columns, in order, that every query below selects. */
enum { TENSOR_ID, OLD_NAME, NEW_NAME, DTYPE, SHAPE, STATUS, WHY, FALLBACK, IN_TARGET, RECIPE };

/* A query with the parameters ?1 checkpoint, ?2 --names, ?3 rule set, ?4 target. --where is
 * tested on the column `id`, --names on `name`, between `sql` and `order`. A row whose `name` is
 * NULL is about the map as a whole, and is always kept. */
struct query {
    const char *sql, *id, *name, *order;
};

static const struct query tensors = {
    .sql = "SELECT id, name, name, NULL, NULL, 'ok', NULL, NULL, 1, NULL FROM tensor "
           "WHERE checkpoint_id = ?1",
    .id = "id",
    .name = "name",
    .order = " ORDER BY ord",
};

static const struct query translation = {
    .sql =
        "SELECT tensor_id, old_name, new_name, dtype, shape, status, error, NULL, 1, " RECIPE_OF_ONE
        "FROM translation WHERE ruleset = ?3 AND checkpoint_id = ?1",
    .id = "tensor_id",
    .name = "old_name",
    .order = "",
};

/* Dialect convert can make one tensor of several: then only the first row has the recipe. */
static const struct query conversion = {
    .sql = "SELECT tensor_id, old_name, new_name, dtype, shape, "
           "iif(part > 0 AND status = 'ok', 'dropped', status), error, NULL, 1, recipe "
           "FROM conversion WHERE ruleset = ?3 AND checkpoint_id = ?1",
    .id = "tensor_id",
    .name = "old_name",
    .order = "",
};

/* The same with --names or --where: a result is written only if they choose all of its parts. */
static const struct query chosen_conversion = {
    .sql = "SELECT tensor_id, old_name, new_name, dtype, shape, "
           "iif(status <> 'ok', status, iif(lost, 'error', iif(part > 0, 'dropped', 'ok'))), "
           "ifnull(error, 'only a part of ' || new_name || ' is chosen: ' || first_lost || "
           "iif(lost > 1, ' and ' || (lost - 1) || ' more are not', ' is not')), "
           "NULL, 1, recipe FROM ("
           "SELECT *, count(*) FILTER (WHERE NOT chosen) OVER result AS lost, "
           "min(old_name) FILTER (WHERE NOT chosen) OVER result AS first_lost FROM ("
           "SELECT *, row_number() OVER () AS place, (1",
    .id = "tensor_id",
    .name = "old_name",
    .order = ") AS chosen FROM conversion WHERE ruleset = ?3 AND checkpoint_id = ?1) "
             "WINDOW result AS (PARTITION BY new_name)) WHERE chosen ORDER BY place",
};

/* Rule sets with "restore" in their options, such as the T5 importer's: the slots that are
 * missing are added; with a target, only its names are kept, and its names that get nothing are
 * reported. A value that would hide another is an error. */
#define RESTORE(rows)                                                                              \
    {                                                                                              \
        .sql = "SELECT iif(origin = 'zeros', -1, tensor_id), old_name, name, dtype, "              \
               "shape, iif(note GLOB 'hidden*', 'error', status), ifnull(error, note), "           \
               "NULL, 1, " RECIPE_OF_ONE "FROM " rows,                                             \
        .id = "tensor_id", .name = "coalesce(old_name, name)", .order = " ORDER BY ord",           \
    }
#define RESTORE_ROWS(target) "restore WHERE ruleset = ?3 AND checkpoint_id = ?1 AND " target " "
static const struct query restored = RESTORE(RESTORE_ROWS("target_id IS NULL"));
static const struct query restored_onto = RESTORE(
    "(WITH onto AS MATERIALIZED (SELECT ord, origin, tensor_id, old_name, name, dtype, shape, "
    "status, error, note, ops FROM " RESTORE_ROWS(
        "target_id = ?4 AND strict = 1") ") "
                                         "SELECT * FROM onto UNION ALL SELECT NULL, NULL, NULL, NULL, name, NULL, "
                                         "NULL, 'missing', NULL, NULL, NULL FROM tensor WHERE checkpoint_id = ?4 AND "
                                         "name NOT IN (SELECT name FROM onto WHERE name IS NOT NULL)) WHERE 1");

/* Status and error of a row; a shape that differs from the model's is an error. */
#define OF_SHAPE(shape, model, status, error)                                                      \
    "iif(" status " NOT IN ('missing', 'dropped') AND " shape " <> " model ", 'error', " status    \
    "), "                                                                                          \
    "ifnull(" error ", 'its shape is ' || " shape " || ', in the model it is ' || " model ")"

/* A name without a source keeps the target's own value, except in T5X. */
static const struct query assignment = {
    .sql = "SELECT m.tensor_id, m.old_name, m.new_name, m.dtype, m.shape, " OF_SHAPE(
        "m.shape", "t.shape", "m.status",
        "m.error") ", iif(dialect_is(r.dialect, 'fills'), t.id, NULL), t.id IS NOT NULL, " RECIPE_OF_ONE
                   "FROM assignment m JOIN ruleset r ON r.name = m.ruleset LEFT JOIN tensor t "
                   "ON t.checkpoint_id = ?4 AND t.name = m.new_name "
                   "WHERE m.ruleset = ?3 AND m.source_id = ?1 AND m.target_id = ?4",
    .id = "m.tensor_id",
    .name = "coalesce(m.old_name, m.new_name)",
    .order = "",
};

/* Prepare a single statement that only reads. `whose` stands before SQLite's message. */
static sqlite3_stmt *prepare(sqlite3 *db, const char *sql, const char *whose, struct error *err)
{
    sqlite3_stmt *s = NULL;
    const char *rest = "";
    sqlite3_stmt *extra = NULL;
    const int rc = sqlite3_prepare_v2(db, sql, -1, &s, &rest);
    if (rc == SQLITE_CORRUPT) {
        db_error(db, NULL, err);
        return NULL;
    }
    if (rc != SQLITE_OK && rc != SQLITE_AUTH) {
        error_set(err, ERR_ARGUMENT, whose, NO_OFFSET, "%s", sqlite3_errmsg(db));
        return NULL;
    }
    /* What follows must be comments and semicolons only: they prepare to NULL. */
    bool more = sqlite3_prepare_v2(db, rest, -1, &extra, NULL) != SQLITE_OK || extra;
    sqlite3_finalize(extra);
    if (s && !more && sqlite3_stmt_readonly(s) && sqlite3_column_count(s))
        return s;
    sqlite3_finalize(s);
    error_set(err, ERR_ARGUMENT, whose, NO_OFFSET, "one SELECT is wanted, and nothing that writes");
    return NULL;
}

/* The expression must also parse alone, so that no parenthesis in it can close one of ours. */
static void check_where(sqlite3 *db, const char *where, struct error *err)
{
    struct text sql = {0};
    text_addf(&sql, "SELECT 1 FROM tensor WHERE %s\n", where);
    if (text_str(&sql))
        sqlite3_finalize(prepare(db, text_str(&sql), "--where", err));
    else
        error_memory(err);
    text_release(&sql);
}

/* What a rule set does. */
struct kind {
    bool assigns;  /* fills the names of a model */
    bool converts; /* does more to tensors than rename them */
    bool restores; /* adds what T5X's importer adds */
};

static struct kind kind_of(sqlite3 *db, const char *map, struct error *err)
{
    static const char sql[] = "SELECT dialect, ifnull(options ->> 'restore', 0)"
                              " FROM ruleset WHERE name = ?1";
    struct kind kind = {0};
    sqlite3_stmt *s = db_query(db, err, sql, "s", map);
    const char *dialect = s && db_row(s, "rule sets", err) ? db_text(s, 0) : NULL;
    const struct dialect *known = dialect ? dialect_find(dialect) : NULL;
    if (known)
        kind = (struct kind){known->view == MAP_ASSIGNMENT, known->view == MAP_CONVERSION,
                             sqlite3_column_int(s, 1) != 0};
    else if (dialect)
        error_set(err, ERR_UNSUPPORTED, NULL, NO_OFFSET,
                  "%.200s is of dialect %.100s, which this program does not run", map, dialect);
    else
        error_set(err, ERR_MISSING, NULL, NO_OFFSET,
                  "no rule set is called %.200s; `map list` lists them", map);
    sqlite3_finalize(s);
    return kind;
}

static const struct query *choose_query(sqlite3 *db, const struct selection *want,
                                        struct error *err)
{
    if (!want->map)
        return &tensors;
    const struct kind kind = kind_of(db, want->map, err);
    if (kind.assigns && !want->target)
        error_set(err, ERR_ARGUMENT, NULL, NO_OFFSET,
                  "%.200s fills the names of a model: say which with --target", want->map);
    if (!kind.assigns && (kind.converts || !kind.restores) && want->target)
        error_set(err, ERR_ARGUMENT, NULL, NO_OFFSET,
                  "%.200s translates names by itself: it has no use for --target", want->map);
    return kind.assigns     ? &assignment
           : kind.converts  ? want->names || want->where ? &chosen_conversion : &conversion
           : !kind.restores ? &translation
           : want->target   ? &restored_onto
                            : &restored;
}

static sqlite3_stmt *prepare_selection(sqlite3 *db, const struct selection *want, struct error *err)
{
    struct text sql = {0};
    sqlite3_stmt *s = NULL;
    const struct query *query = choose_query(db, want, err);
    if (want->where && err->status == OK)
        check_where(db, want->where, err);
    text_adds(&sql, query->sql);
    if (want->names)
        text_addf(&sql, " AND (%s IS NULL OR regexp_match(?2, %s))", query->name, query->name);
    if (want->where)
        text_addf(&sql,
                  " AND (%s IS NULL OR %s IN (SELECT id FROM tensor WHERE checkpoint_id = ?1 "
                  "AND (%s\n)))",
                  query->name, query->id, want->where);
    text_adds(&sql, query->order);
    if (!text_str(&sql))
        error_memory(err);
    else if (err->status == OK)
        s = prepare(db, text_str(&sql), want->where ? "--where" : want->map, err);
    text_release(&sql);
    if (s)
        db_bind(s, "issp", want->checkpoint, want->names, want->map,
                want->target ? &want->target : NULL);
    return s;
}

/* A column's text, or NULL. A name that contains a NUL byte counts as NULL. */
static const char *column_name(sqlite3_stmt *s, int column)
{
    const char *text = column < 0 ? NULL : db_text(s, column);
    if (text && strlen(text) != (size_t)sqlite3_column_bytes(s, column))
        return NULL;
    return text;
}

/* Refuse the tensor added last if its shape is not the one that the map states. */
static void check_shape(struct export_plan *p, const char *wanted, struct error *err)
{
    const struct export_tensor *t = &p->tensor[p->count - 1];
    struct text shape = {0};
    shape_print(&shape, t->shape, t->rank);
    if (!text_str(&shape))
        error_memory(err);
    else if (strcmp(text_str(&shape), wanted) != 0)
        refuse_tensor(&p->refusals, t->old_name,
                      "the map says that its shape is %.200s, but it is %.200s", wanted,
                      text_str(&shape));
    text_release(&shape);
}

/* The tensor that a row of a map makes. */
struct made {
    int64_t id;
    const char *recipe, *name, *dtype, *shape; /* NULL: none */
};

static void add_row(struct export_plan *p, const struct made *m, struct error *err)
{
    uint64_t before = p->count;
    if (!m->name)
        refuse(&p->refusals, "tensor %lld: no new name", (long long)m->id);
    else if (export_plan_add(p, m->id, m->recipe, m->name, m->dtype, err) == OK &&
             p->count > before && m->shape)
        check_shape(p, m->shape, err);
}

static void note(struct selection_note *n, const char *name)
{
    if (!n->count++ && name)
        strncat(n->first, name, sizeof(n->first) - 1);
}

static void take_row(sqlite3_stmt *s, const struct selection *want, struct export_plan *p,
                     struct selection_notes *notes, struct error *err)
{
    const char *old = column_name(s, OLD_NAME), *new_name = column_name(s, NEW_NAME);
    const char *status = column_name(s, STATUS), *why = column_name(s, WHY);
    const char *known = old ? old : new_name ? new_name : want->map;
    if (!status)
        status = "error";
    if (strcmp(status, "dropped") == 0) {
        notes->dropped = true;
    } else if (strcmp(status, "error") == 0) {
        refuse_tensor(&p->refusals, known, "%s", why ? why : "the map fails");
    } else if (strcmp(status, "unmatched") == 0) {
        refuse_tensor(&p->refusals, known, "no rule of %.200s matches it", want->map);
    } else if (strcmp(status, "missing") == 0) {
        if (sqlite3_column_type(s, FALLBACK) != SQLITE_NULL)
            add_row(p, &(struct made){.id = sqlite3_column_int64(s, FALLBACK), .name = new_name},
                    err);
        else
            note(&notes->absent, new_name);
    } else if (sqlite3_column_type(s, TENSOR_ID) == SQLITE_NULL) {
        notes->leaves++;
    } else {
        if (!sqlite3_column_int(s, IN_TARGET))
            note(&notes->extra, new_name);
        add_row(p,
                &(struct made){sqlite3_column_int64(s, TENSOR_ID), column_name(s, RECIPE), new_name,
                               column_name(s, DTYPE), column_name(s, SHAPE)},
                err);
    }
}

/* Columns of the user's own SELECT; -1: it has no such column. */
struct columns {
    int id, name, dtype;
};

static struct columns find_columns(sqlite3_stmt *s, struct error *err)
{
    struct columns c = {-1, -1, -1};
    for (int i = sqlite3_column_count(s) - 1; i >= 0; i--) {
        const char *name = sqlite3_column_name(s, i);
        if (name && sqlite3_stricmp(name, "tensor_id") == 0)
            c.id = i;
        else if (name && sqlite3_stricmp(name, "new_name") == 0)
            c.name = i;
        else if (name && sqlite3_stricmp(name, "dtype") == 0)
            c.dtype = i;
    }
    if (c.id < 0 || c.name < 0)
        error_set(err, ERR_ARGUMENT, "--sql", NO_OFFSET,
                  "columns called tensor_id and new_name are wanted (SELECT id AS "
                  "tensor_id, name AS new_name FROM tensor WHERE ...)");
    return c;
}

static void take_users_row(sqlite3_stmt *s, const struct columns *c, uint64_t row,
                           struct export_plan *p, struct error *err)
{
    unsigned long long number = row;
    int id = sqlite3_column_type(s, c->id), type = sqlite3_column_type(s, c->name);
    const char *name = column_name(s, c->name);
    const char *recipe = id == SQLITE_TEXT ? column_name(s, c->id) : NULL;
    if (id != SQLITE_INTEGER && (!recipe || *recipe != '['))
        refuse(&p->refusals, "row %llu: tensor_id is %s", number,
               id == SQLITE_NULL ? "NULL" : "not an integer");
    else if (type != SQLITE_TEXT || !name)
        refuse(&p->refusals, "row %llu: new_name is %s", number,
               type == SQLITE_NULL ? "NULL" : "not a name");
    else
        export_plan_add(p, sqlite3_column_int64(s, c->id), recipe, name, column_name(s, c->dtype),
                        err);
}

void selection_run(sqlite3 *db, const struct selection *want, struct export_plan *plan,
                   struct selection_notes *notes, struct error *err)
{
    sqlite3_stmt *s =
        want->sql ? prepare(db, want->sql, "--sql", err) : prepare_selection(db, want, err);
    const struct columns columns = s && want->sql ? find_columns(s, err) : (struct columns){0};
    uint64_t row = 0;
    int rc = SQLITE_DONE;
    while (err->status == OK && (rc = sqlite3_step(s)) == SQLITE_ROW) {
        if (want->sql)
            take_users_row(s, &columns, ++row, plan, err);
        else
            take_row(s, want, plan, notes, err);
    }
    if (err->status == OK && rc == SQLITE_INTERRUPT)
        error_set(err, ERR_INTERRUPTED, NULL, NO_OFFSET, "interrupted");
    else if (err->status == OK && rc == SQLITE_CORRUPT)
        db_error(db, NULL, err);
    else if (err->status == OK && rc != SQLITE_DONE)
        error_set(err, ERR_ARGUMENT, want->sql ? "--sql" : NULL, NO_OFFSET, "%s",
                  sqlite3_errmsg(db));
    sqlite3_finalize(s);
}

/* The checkpoint's own metadata, and its hash, if that was computed. */
static const char own_metadata[] = "SELECT key, value, counted FROM carried(?1)";
static const char own_hash[] = "SELECT hash FROM checkpoint WHERE id = ?1 AND hash IS NOT NULL";

/* The plan's own numbers, bytes or parameters, in place of the source's. */
static void count_anew(const struct export_plan *p, const char *key, bool bytes,
                       struct export_metadata *out)
{
    uint64_t sum = 0;
    char value[24];
    for (size_t i = 0; i < p->count; i++)
        if (bytes || p->tensor[i].to.kind != DTYPE_STRING)
            sum += bytes ? p->tensor[i].nbytes : p->tensor[i].elements;
    snprintf(value, sizeof(value), "%" PRIu64, sum);
    metadata_add(out, key, value, METADATA_INTEGER);
}

void selection_metadata(sqlite3 *db, int64_t checkpoint, const struct export_plan *p,
                        struct export_metadata *out, struct error *err)
{
    sqlite3_stmt *s = db_query(db, err, own_metadata, "i", checkpoint);
    while (s && db_row(s, "metadata", err)) {
        const int type = sqlite3_column_type(s, 1); /* before it is made a text */
        const enum metadata_kind kind = type == SQLITE_INTEGER ? METADATA_INTEGER
                                        : type == SQLITE_FLOAT ? METADATA_REAL
                                                               : METADATA_TEXT;
        const char *key = column_name(s, 0), *value = column_name(s, 1);
        const char *counted = column_name(s, 2);
        if (key && counted)
            count_anew(p, key, strcmp(counted, "bytes") == 0, out);
        else if (key && value)
            metadata_add(out, key, value, kind);
    }
    sqlite3_finalize(s);
}

void selection_provenance(sqlite3 *db, const struct selection *want, const struct export_plan *p,
                          struct export_metadata *out, struct error *err)
{
    struct text sources = {0};
    sqlite3_stmt *s = p->joined ? NULL : db_query(db, err, own_hash, "i", want->checkpoint);
    if (s && db_row(s, "hashes", err))
        metadata_add(out, "ckptdb_hash", db_text(s, 0), METADATA_TEXT);
    sqlite3_finalize(s);
    if (want->map)
        metadata_add(out, "ckptdb_map", want->map, METADATA_TEXT);
    for (size_t i = 0; p->joined && i < p->checkpoints; i++) {
        text_addc(&sources, i ? ',' : '[');
        text_json(&sources, p->checkpoint[i], strlen(p->checkpoint[i]));
    }
    text_addc(&sources, ']');
    if (!text_str(&sources))
        error_memory(err);
    else if (p->checkpoints)
        metadata_add(out, "ckptdb_source", p->joined ? text_str(&sources) : p->checkpoint[0],
                     METADATA_TEXT);
    text_release(&sources);
}

static bool lies_in(const char *path, const char *folder)
{
    size_t len = strlen(folder);
    return strncmp(path, folder, len) == 0 && (path[len] == '/' || !path[len]);
}

/* Whether the path is inside a checkpoint that is read, or contains one: chunk files have no rows
 * in the catalog, and replacing a folder removes all inputs in it. */
static bool touches_input(const struct export_plan *p, const char *path)
{
    for (size_t i = 0; i < p->checkpoints; i++) {
        const char *input = p->checkpoint[i];
        char *real = realpath(input, NULL); /* NULL: a prefix of files */
        bool touches = lies_in(path, input) || lies_in(input, path) ||
                       (real && (lies_in(path, real) || lies_in(real, path)));
        free(real);
        if (touches)
            return true;
    }
    return false;
}

/* Whether writing to the path would destroy the catalog itself. */
static bool is_catalog(sqlite3 *db, const char *real, const struct stat *st)
{
    struct stat own;
    const char *file = sqlite3_db_filename(db, "main");
    return file && *file &&
           (lies_in(file, real) ||
            (stat(file, &own) == 0 && own.st_ino == st->st_ino && own.st_dev == st->st_dev));
}

enum status selection_guard(sqlite3 *db, const struct export_plan *p, const char *path,
                            struct error *err)
{
    static const char sql[] =
        "SELECT c.path FROM file f JOIN checkpoint c ON c.id = f.checkpoint_id "
        "WHERE f.path IN (?1, ?2) OR (f.inode = ?3 AND f.device = ?4)"
        " OR (?5 AND substr(f.path, 1, length(?2) + 1) = ?2 || '/')";
    sqlite3_stmt *s = NULL;
    struct stat st;
    char *real = realpath(path, NULL);
    const bool there = real && stat(real, &st) == 0; /* else a link that leads nowhere */
    bool ours = there && touches_input(p, real);
    if (there && is_catalog(db, real, &st))
        error_set(err, ERR_ARGUMENT, path, NO_OFFSET,
                  "is or holds the catalog itself; give the output another name");
    else if (there && !ours)
        s = db_query(db, err, sql, "ssiii", path, real, (int64_t)st.st_ino, (int64_t)st.st_dev,
                     (int64_t)S_ISDIR(st.st_mode));
    while (s && !ours && db_row(s, "files of checkpoints", err)) {
        const char *checkpoint = db_text(s, 0);
        ours = checkpoint && strmap_get(&p->checkpoint_index, checkpoint, strlen(checkpoint));
    }
    if (ours)
        error_set(err, ERR_ARGUMENT, path, NO_OFFSET,
                  "is one of the files that are read; give the output another name");
    sqlite3_finalize(s);
    free(real);
    return err->status;
}
