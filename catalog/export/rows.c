#include "catalog/export/rows.h"

#include <stdlib.h>
#include <string.h>

#include "catalog/base/strmap.h"
#include "catalog/base/text.h"
#include "catalog/data/model/tensor.h"
#include "catalog/db/ids.h"

/* SQLite keeps up to 4 MiB of pages in memory, and the rest in an unnamed temporary file. Nothing
 * here has to survive a crash. */
static const char schema[] =
    "PRAGMA cache_size = -4096; PRAGMA journal_mode = OFF; PRAGMA synchronous = OFF;"
    "CREATE TABLE dtypes(number INTEGER PRIMARY KEY, name TEXT, place INTEGER);"
    "CREATE TABLE chosen(number INTEGER PRIMARY KEY, id, name, old_name, checkpoint, "
    "source, converted, shape, elements, file, start, recipe);"
    "CREATE TABLE placed(number INTEGER PRIMARY KEY, id, name, old_name, checkpoint, "
    "source, converted, shape, elements, file, start, recipe, part, place, lead, piece, run,"
    " nbytes);CREATE TABLE files(number INTEGER PRIMARY KEY, path, size);"
    "CREATE TABLE texts(number INTEGER PRIMARY KEY, file, place, bytes);"
    "CREATE TABLE sums(number INTEGER PRIMARY KEY, file, place, tensor, nbytes, before);BEGIN";

static const char add_chosen[] =
    "INSERT INTO chosen(id, name, old_name, checkpoint, source, converted, shape, "
    "elements, file, start, recipe) VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, ?11)";
static const char add_placed[] =
    "INSERT INTO placed(id, name, old_name, checkpoint, source, converted, shape, "
    "elements, file, start, recipe, part, place, lead, piece, run, nbytes)"
    " VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, ?11, ?12, ?13, ?14, ?15, ?16, ?17)";
static const char *const add_what[] = {
    [EXPORT_FILES] = "INSERT INTO files(path, size) VALUES (?1, ?2)",
    [EXPORT_TEXTS] = "INSERT INTO texts(file, place, bytes) VALUES (?1, ?2, ?3)",
    [EXPORT_SUMS] = ("INSERT INTO sums(file, place, tensor, nbytes, before)"
                     " VALUES (?1, ?2, ?3, ?4, ?5)"),
};
static const char *const scan_what[] = {
    [EXPORT_FILES] = "SELECT number - 1, path, size FROM files ORDER BY number",
    [EXPORT_TEXTS] = "SELECT file, place, bytes FROM texts ORDER BY number",
    [EXPORT_SUMS] = "SELECT file, place, tensor, nbytes, before FROM sums ORDER BY number",
};
#define WHATS 3

enum {
    NUMBER,
    ID,
    NAME,
    OLD_NAME,
    CHECKPOINT,
    FROM,
    TO,
    SHAPE,
    ELEMENTS,
    FILE_AT,
    START,
    RECIPE,
    PART,
    PLACE,
    LEAD,
    PIECE,
    RUN,
    NBYTES
};

#define CHOSEN_COLUMNS                                                                             \
    "c.number, id, c.name, old_name, checkpoint, source, converted, shape, elements,"              \
    " file, start, recipe, 0, 0, 0, 0, 0 FROM chosen c"
#define PLACED_COLUMNS                                                                             \
    "number, id, name, old_name, checkpoint, source, converted, shape, elements, file,"            \
    " start, recipe, part, place, lead, piece, run FROM placed"
#define SPAN " WHERE number BETWEEN ?1 AND ?2"

static const char *const scans[] = {
    [EXPORT_BY_SELECTION] =
        "SELECT " CHOSEN_COLUMNS " WHERE c.number BETWEEN ?1 AND ?2 ORDER BY c.number",
    [EXPORT_BY_NAME] =
        "SELECT " CHOSEN_COLUMNS " WHERE c.number BETWEEN ?1 AND ?2 ORDER BY c.name, c.number",
    [EXPORT_BY_DTYPE] = "SELECT " CHOSEN_COLUMNS " JOIN dtypes d ON d.number = converted"
                        " WHERE c.number BETWEEN ?1 AND ?2 ORDER BY d.place, c.name",
    [EXPORT_BY_TREE] = "SELECT " CHOSEN_COLUMNS
                       " WHERE c.number BETWEEN ?1 AND ?2 ORDER BY c.name COLLATE tree, c.number",
    [EXPORT_BY_PLACE] = "SELECT " PLACED_COLUMNS SPAN " ORDER BY number",
    [EXPORT_PLACED_BY_NAME] = "SELECT " PLACED_COLUMNS SPAN " ORDER BY name",
    [EXPORT_PLACED_BY_SOURCE] =
        "SELECT " PLACED_COLUMNS SPAN " ORDER BY id" ID_OWNER ", file, start, id",
};

/* Texts that many rows share are stored once; rows have their numbers. */
struct shared_texts {
    struct strmap index;
    const char **list;
    size_t count, space;
};

struct export_rows {
    sqlite3 *db;
    sqlite3_stmt *add, *place, *what[WHATS];
    struct arena arena;
    struct shared_texts checkpoints, dtype_names;
    struct dtype *dtypes; /* indexed by the number of the dtype's name */
    size_t dtype_space;
};

struct export_scan {
    struct export_rows *rows;
    sqlite3_stmt *statement;
    struct export_tensor tensor;
    uint64_t shape[TENSOR_RANK_MAX];
};

static enum status failed(struct export_rows *rows, struct error *err)
{
    if (sqlite3_errcode(rows->db) == SQLITE_NOMEM)
        return error_memory(err);
    return error_set(err, ERR_IO, NULL, NO_OFFSET,
                     "the plan of the export cannot be kept in a temporary file: %s",
                     sqlite3_errmsg(rows->db));
}

/* Compares names with '/' before all other characters, so that what is below a name follows it. */
static int compare_in_tree(void *context, int a_len, const void *a, int b_len, const void *b)
{
    const unsigned char *p = a, *q = b;
    int most = a_len < b_len ? a_len : b_len;
    (void)context;
    for (int i = 0; i < most; i++)
        if (p[i] != q[i])
            return p[i] == '/' ? -1 : q[i] == '/' ? 1 : p[i] - q[i];
    return a_len - b_len;
}

static bool prepare_all(struct export_rows *rows)
{
    bool ok = sqlite3_prepare_v2(rows->db, add_chosen, -1, &rows->add, NULL) == SQLITE_OK &&
              sqlite3_prepare_v2(rows->db, add_placed, -1, &rows->place, NULL) == SQLITE_OK;
    for (int i = 0; ok && i < WHATS; i++)
        ok = sqlite3_prepare_v2(rows->db, add_what[i], -1, &rows->what[i], NULL) == SQLITE_OK;
    return ok;
}

enum status export_rows_open(struct export_rows **out, struct error *err)
{
    struct export_rows *rows = calloc(1, sizeof(*rows));
    if (!rows)
        return error_memory(err);
    int flags = SQLITE_OPEN_READWRITE | SQLITE_OPEN_CREATE | SQLITE_OPEN_NOMUTEX;
    if (sqlite3_open_v2("", &rows->db, flags, NULL) != SQLITE_OK ||
        sqlite3_create_collation_v2(rows->db, "tree", SQLITE_UTF8, NULL, compare_in_tree, NULL) !=
            SQLITE_OK ||
        sqlite3_exec(rows->db, schema, NULL, NULL, NULL) != SQLITE_OK || !prepare_all(rows)) {
        failed(rows, err);
        export_rows_close(rows);
        return err->status;
    }
    *out = rows;
    return OK;
}

void export_rows_close(struct export_rows *rows)
{
    if (!rows)
        return;
    sqlite3_finalize(rows->add);
    sqlite3_finalize(rows->place);
    for (int i = 0; i < WHATS; i++)
        sqlite3_finalize(rows->what[i]);
    sqlite3_close(rows->db);
    strmap_release(&rows->checkpoints.index);
    strmap_release(&rows->dtype_names.index);
    arena_release(&rows->arena);
    free(rows);
}

/* --- what rows share -------------------------------------------------------------------- */

/* The number of a text; *added: it is new. False: no memory. */
static bool share(struct export_rows *rows, struct shared_texts *t, const char *text,
                  uint64_t *number, bool *added)
{
    const char *kept;
    uint64_t *at = strmap_keep(&t->index, &rows->arena, text, strlen(text), &kept, added);
    if (at && *added) {
        *at = t->count;
        void *list = arena_grow(&rows->arena, t->list, t->count, &t->space, sizeof(*t->list));
        if (!list)
            return false;
        t->list = list;
        t->list[t->count++] = kept;
    }
    if (at)
        *number = *at;
    return at != NULL;
}

static bool number_of_dtype(struct export_rows *rows, const struct dtype *d, uint64_t *number)
{
    bool added = false;
    sqlite3_stmt *s = NULL;
    bool shared = share(rows, &rows->dtype_names, d->name, number, &added);
    if (!shared || !added)
        return shared;
    void *list = arena_grow(&rows->arena, rows->dtypes, (size_t)*number, &rows->dtype_space,
                            sizeof(*rows->dtypes));
    if (!list)
        return false;
    rows->dtypes = list;
    dtype_find(rows->dtype_names.list[*number], &rows->dtypes[*number]);
    bool ok = sqlite3_prepare_v2(rows->db, "INSERT INTO dtypes VALUES (?1, ?2, 0)", -1, &s, NULL) ==
              SQLITE_OK;
    if (ok) {
        sqlite3_bind_int64(s, 1, (sqlite3_int64)*number);
        sqlite3_bind_text(s, 2, d->name, -1, SQLITE_STATIC);
        ok = sqlite3_step(s) == SQLITE_DONE;
    }
    sqlite3_finalize(s);
    return ok;
}

const char *const *export_rows_checkpoints(const struct export_rows *rows, uint64_t *count)
{
    *count = rows ? rows->checkpoints.count : 0;
    return rows ? rows->checkpoints.list : NULL;
}

/* --- adding ----------------------------------------------------------------------------- */

/* Bind the columns that both tables have. */
static bool bind(struct export_rows *rows, sqlite3_stmt *s, const struct export_tensor *t,
                 struct text *shape)
{
    uint64_t checkpoint, from, to;
    bool added;
    if (!share(rows, &rows->checkpoints, t->checkpoint, &checkpoint, &added) ||
        !number_of_dtype(rows, &t->from, &from) || !number_of_dtype(rows, &t->to, &to) ||
        !shape_print(shape, t->shape, t->rank))
        return false;
    sqlite3_reset(s);
    sqlite3_clear_bindings(s);
    sqlite3_bind_int64(s, ID, t->id);
    sqlite3_bind_text(s, NAME, t->name, -1, SQLITE_STATIC);
    if (strcmp(t->name, t->old_name) != 0)
        sqlite3_bind_text(s, OLD_NAME, t->old_name, -1, SQLITE_STATIC);
    sqlite3_bind_int64(s, CHECKPOINT, (sqlite3_int64)checkpoint);
    sqlite3_bind_int64(s, FROM, (sqlite3_int64)from);
    sqlite3_bind_int64(s, TO, (sqlite3_int64)to);
    sqlite3_bind_text(s, SHAPE, text_str(shape), (int)shape->len, SQLITE_STATIC);
    sqlite3_bind_int64(s, ELEMENTS, (sqlite3_int64)t->elements);
    sqlite3_bind_int64(s, FILE_AT, t->source_file);
    sqlite3_bind_int64(s, START, (sqlite3_int64)t->source_offset);
    sqlite3_bind_text(s, RECIPE, t->recipe, -1, SQLITE_STATIC);
    return true;
}

static enum status insert(struct export_rows *rows, sqlite3_stmt *s, const struct export_tensor *t,
                          bool placed, struct error *err)
{
    struct text shape = {0};
    if (!bind(rows, s, t, &shape)) {
        error_memory(err);
    } else {
        if (placed) {
            sqlite3_bind_int64(s, PART, t->file);
            sqlite3_bind_int64(s, PLACE, (sqlite3_int64)t->offset);
            sqlite3_bind_int64(s, LEAD, t->lead_len);
            sqlite3_bind_int64(s, PIECE, (sqlite3_int64)t->piece);
            sqlite3_bind_int64(s, RUN, (sqlite3_int64)t->run);
            sqlite3_bind_int64(s, NBYTES, (sqlite3_int64)t->nbytes);
        }
        if (sqlite3_step(s) != SQLITE_DONE)
            failed(rows, err);
    }
    sqlite3_reset(s);
    text_release(&shape);
    return err->status;
}

enum status export_rows_add(struct export_rows *rows, const struct export_tensor *t,
                            struct error *err)
{
    return insert(rows, rows->add, t, false, err);
}

enum status export_rows_place(struct export_rows *rows, const struct export_tensor *t,
                              struct error *err)
{
    return insert(rows, rows->place, t, true, err);
}

static enum status add_item(struct export_rows *rows, enum export_what what, struct error *err)
{
    if (sqlite3_step(rows->what[what]) != SQLITE_DONE)
        failed(rows, err);
    sqlite3_reset(rows->what[what]);
    return err->status;
}

enum status export_rows_add_file(struct export_rows *rows, const char *path, uint64_t size,
                                 struct error *err)
{
    sqlite3_bind_text(rows->what[EXPORT_FILES], 1, path, -1, SQLITE_STATIC);
    sqlite3_bind_int64(rows->what[EXPORT_FILES], 2, (sqlite3_int64)size);
    return add_item(rows, EXPORT_FILES, err);
}

enum status export_rows_add_text(struct export_rows *rows, uint32_t file, uint64_t at,
                                 struct bytes text, struct error *err)
{
    sqlite3_stmt *s = rows->what[EXPORT_TEXTS];
    sqlite3_bind_int64(s, 1, file);
    sqlite3_bind_int64(s, 2, (sqlite3_int64)at);
    sqlite3_bind_blob64(s, 3, text.at, text.len, SQLITE_STATIC);
    return add_item(rows, EXPORT_TEXTS, err);
}

enum status export_rows_add_sum(struct export_rows *rows, const struct export_sum *sum,
                                struct error *err)
{
    sqlite3_stmt *s = rows->what[EXPORT_SUMS];
    sqlite3_bind_int64(s, 1, sum->file);
    sqlite3_bind_int64(s, 2, (sqlite3_int64)sum->at);
    sqlite3_bind_int64(s, 3, (sqlite3_int64)sum->tensor);
    sqlite3_bind_int64(s, 4, (sqlite3_int64)sum->nbytes);
    sqlite3_bind_int64(s, 5, sum->before);
    return add_item(rows, EXPORT_SUMS, err);
}

/* Run a statement that takes two numbers. */
static enum status change(struct export_rows *rows, const char *sql, uint64_t a, uint64_t b,
                          struct error *err)
{
    sqlite3_stmt *s = NULL;
    bool ok = sqlite3_prepare_v2(rows->db, sql, -1, &s, NULL) == SQLITE_OK;
    if (ok) {
        sqlite3_bind_int64(s, 1, (sqlite3_int64)a);
        sqlite3_bind_int64(s, 2, (sqlite3_int64)b);
        ok = sqlite3_step(s) == SQLITE_DONE;
    }
    if (!ok)
        failed(rows, err);
    sqlite3_finalize(s);
    return err->status;
}

enum status export_rows_cast(struct export_rows *rows, const struct dtype *to,
                             bool (*which)(const struct dtype *), struct error *err)
{
    uint64_t number = 0;
    if (!number_of_dtype(rows, to, &number))
        return error_memory(err);
    for (size_t i = 0; err->status == OK && i < rows->dtype_names.count; i++)
        if (i != number && which(&rows->dtypes[i]))
            change(rows, "UPDATE chosen SET converted = ?1 WHERE converted = ?2", number, i, err);
    return err->status;
}

enum status export_rows_rank(struct export_rows *rows, unsigned (*rank)(const struct dtype *),
                             struct error *err)
{
    for (size_t i = 0; err->status == OK && i < rows->dtype_names.count; i++)
        change(rows, "UPDATE dtypes SET place = ?1 WHERE number = ?2",
               rank ? rank(&rows->dtypes[i]) : 0, i, err);
    return err->status;
}

/* --- asking ----------------------------------------------------------------------------- */

enum status export_rows_find_pair(struct export_rows *rows, const char *suffix, struct arena *arena,
                                  const char **name, const char **longer, struct error *err)
{
    static const char sql[] = "SELECT b.name, a.name FROM chosen a JOIN chosen b"
                              " ON b.name = substr(a.name, 1, length(a.name) - ?2)"
                              " WHERE substr(a.name, -?2) = ?1 LIMIT 1";
    sqlite3_stmt *s = NULL;
    int rc = sqlite3_prepare_v2(rows->db, sql, -1, &s, NULL);
    *name = *longer = NULL;
    if (rc == SQLITE_OK) {
        sqlite3_bind_text(s, 1, suffix, -1, SQLITE_STATIC);
        sqlite3_bind_int64(s, 2, (sqlite3_int64)strlen(suffix));
        rc = sqlite3_step(s);
    }
    if (rc == SQLITE_ROW) {
        *name = arena_copy(arena, sqlite3_column_text(s, 0), (size_t)sqlite3_column_bytes(s, 0));
        *longer = arena_copy(arena, sqlite3_column_text(s, 1), (size_t)sqlite3_column_bytes(s, 1));
        if (!*name || !*longer)
            error_memory(err);
    } else if (rc != SQLITE_DONE) {
        failed(rows, err);
    }
    sqlite3_finalize(s);
    return err->status;
}

sqlite3_stmt *export_rows_listing(struct export_rows *rows)
{
    sqlite3_stmt *s = NULL;
    sqlite3_prepare_v2(rows->db,
                       "SELECT id AS tensor_id, coalesce(old_name, p.name) AS old_name,"
                       " p.name AS new_name, d.name AS dtype, shape, nbytes"
                       " FROM placed p JOIN dtypes d ON d.number = converted"
                       " ORDER BY part, p.number",
                       -1, &s, NULL);
    return s;
}

enum status export_scan_open(struct export_rows *rows, enum export_order order,
                             struct export_span span, struct export_scan **out, struct error *err)
{
    struct export_scan *scan = calloc(1, sizeof(*scan));
    if (!scan)
        return error_memory(err);
    scan->rows = rows;
    if (sqlite3_prepare_v2(rows->db, scans[order], -1, &scan->statement, NULL) != SQLITE_OK) {
        export_scan_close(scan);
        return failed(rows, err);
    }
    /* Rows are numbered from 1. */
    sqlite3_bind_int64(scan->statement, 1, (sqlite3_int64)span.first + 1);
    sqlite3_bind_int64(scan->statement, 2,
                       span.last < INT64_MAX ? (sqlite3_int64)span.last + 1 : INT64_MAX);
    *out = scan;
    return OK;
}

void export_scan_close(struct export_scan *scan)
{
    if (!scan)
        return;
    sqlite3_finalize(scan->statement);
    free(scan);
}

static const char *export_rows_column_text(sqlite3_stmt *s, int column)
{
    return (const char *)sqlite3_column_text(s, column);
}

/* Parse "[2,3]", as shape_print() writes it. */
static unsigned export_rows_read_shape(const char *text, uint64_t *shape)
{
    unsigned rank = 0;
    for (const char *at = text + 1; *at && *at != ']'; at += *at == ',')
        shape[rank++] = strtoull(at, (char **)&at, 10);
    return rank;
}

static bool export_rows_read_row(struct export_scan *scan)
{
    sqlite3_stmt *s = scan->statement;
    struct export_tensor *t = &scan->tensor;
    const char *name = export_rows_column_text(s, NAME),
               *old = export_rows_column_text(s, OLD_NAME);
    const char *shape = export_rows_column_text(s, SHAPE);
    if (!name || !shape || (!old && sqlite3_column_type(s, OLD_NAME) != SQLITE_NULL))
        return false;
    *t = (struct export_tensor){
        .id = sqlite3_column_int64(s, ID),
        .recipe = export_rows_column_text(s, RECIPE),
        .number = (uint64_t)sqlite3_column_int64(s, NUMBER) - 1,
        .name = name,
        .old_name = old ? old : name,
        .checkpoint = scan->rows->checkpoints.list[sqlite3_column_int64(s, CHECKPOINT)],
        .from = scan->rows->dtypes[sqlite3_column_int64(s, FROM)],
        .to = scan->rows->dtypes[sqlite3_column_int64(s, TO)],
        .shape = scan->shape,
        .rank = export_rows_read_shape(shape, scan->shape),
        .elements = (uint64_t)sqlite3_column_int64(s, ELEMENTS),
        .source_file = (uint32_t)sqlite3_column_int64(s, FILE_AT),
        .source_offset = (uint64_t)sqlite3_column_int64(s, START),
        .file = (uint32_t)sqlite3_column_int64(s, PART),
        .offset = (uint64_t)sqlite3_column_int64(s, PLACE),
        .lead_len = (uint32_t)sqlite3_column_int64(s, LEAD),
        .piece = (uint64_t)sqlite3_column_int64(s, PIECE),
        .run = (uint64_t)sqlite3_column_int64(s, RUN),
    };
    if (!dtype_nbytes(&t->to, t->elements, &t->nbytes))
        t->nbytes = 0; /* plan_check refuses such a tensor */
    return true;
}

enum status export_scan_next(struct export_scan *scan, struct export_tensor **t, struct error *err)
{
    int rc = sqlite3_step(scan->statement);
    *t = NULL;
    if (rc == SQLITE_DONE)
        return OK;
    if (rc != SQLITE_ROW)
        return failed(scan->rows, err);
    if (!export_rows_read_row(scan))
        return error_memory(err);
    *t = &scan->tensor;
    return OK;
}

/* --- files, texts and sums -------------------------------------------------------------- */

struct export_items {
    struct export_rows *rows;
    enum export_what what;
    sqlite3_stmt *statement;
};

enum status export_items_open(struct export_rows *rows, enum export_what what,
                              struct export_items **out, struct error *err)
{
    struct export_items *items = calloc(1, sizeof(*items));
    if (!items)
        return error_memory(err);
    *items = (struct export_items){.rows = rows, .what = what};
    if (sqlite3_prepare_v2(rows->db, scan_what[what], -1, &items->statement, NULL) != SQLITE_OK) {
        export_items_close(items);
        return failed(rows, err);
    }
    *out = items;
    return OK;
}

void export_items_close(struct export_items *items)
{
    if (items)
        sqlite3_finalize(items->statement);
    free(items);
}

static uint64_t column_u64(sqlite3_stmt *s, int column)
{
    return (uint64_t)sqlite3_column_int64(s, column);
}

static void read_item(sqlite3_stmt *s, enum export_what what, struct export_item *out)
{
    *out = (struct export_item){.file = (uint32_t)column_u64(s, 0)};
    switch (what) {
    case EXPORT_FILES:
        out->path = export_rows_column_text(s, 1);
        out->size = column_u64(s, 2);
        break;
    case EXPORT_TEXTS:
        out->at = column_u64(s, 1);
        out->text.at = sqlite3_column_blob(s, 2);
        out->text.len = (size_t)sqlite3_column_bytes(s, 2);
        break;
    case EXPORT_SUMS:
        out->sum = (struct export_sum){out->file, column_u64(s, 1), column_u64(s, 2),
                                       column_u64(s, 3), (uint32_t)column_u64(s, 4)};
        break;
    }
}

bool export_items_next(struct export_items *items, struct export_item *out, struct error *err)
{
    sqlite3_stmt *s = items->statement;
    int rc = err->status == OK ? sqlite3_step(s) : SQLITE_DONE;
    if (rc == SQLITE_DONE)
        return false;
    if (rc != SQLITE_ROW) {
        failed(items->rows, err);
        return false;
    }
    read_item(s, items->what, out);
    if ((items->what == EXPORT_FILES && !out->path) || (out->text.len && !out->text.at))
        error_memory(err);
    return err->status == OK;
}
