#include "catalog/write.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "catalog/base/strmap.h"
#include "catalog/base/text.h"
#include "catalog/db.h"
#include "catalog/feed.h"

#define COMMIT_SECONDS 2 /* at most so much work is lost to a kill */
#define SHIFT          TENSOR_ORD_BITS

enum statement {
    FIND_CHECKPOINT,
    PUT_CHECKPOINT,
    FIND_LAYOUT,
    PUT_LAYOUT,
    FIND_META,
    PUT_META,
    FIND_NAME,
    PUT_FILE,
    PUT_ISSUE,
    PUT_PASSED,
    PUT_SUMS,
    CLEAR_ISSUES,
    CLEAR_PASSED,
    CLEAR_WALKED,
    FEED_NAMES,
    FEED_TENSORS,
    MORE_TENSORS,
    MORE_PLAIN_TENSORS,
    FEED_NODES,
    FEED_MODULES,
    MORE_MODULES,
    FEED_DTYPES,
    FEED_FACTS,
    FEED_PLACEMENTS,
    STATEMENTS,
};

/* NOLINTNEXTLINE(bugprone-suspicious-missing-comma): each has its index before it */
static const char *const statement_sql[STATEMENTS] = {
    [FIND_CHECKPOINT] = "SELECT id FROM checkpoints WHERE path = ?1",
    [PUT_CHECKPOINT] =
        "INSERT INTO checkpoints(id, path, format, run, step, item, layout, meta, placed,"
        " stored, files, mtime_ns, imported)"
        " VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, ?11, ?12, ?13)"
        " ON CONFLICT(id) DO UPDATE SET format = excluded.format, run = excluded.run,"
        " step = excluded.step, item = excluded.item, layout = excluded.layout,"
        " meta = excluded.meta, placed = excluded.placed, stored = excluded.stored,"
        " files = excluded.files, mtime_ns = excluded.mtime_ns,"
        " imported = excluded.imported",
    [FIND_LAYOUT] = "SELECT id, placement FROM layouts WHERE logical = ?1",
    [PUT_LAYOUT] = "INSERT INTO layouts VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7)",
    [FIND_META] = "SELECT id FROM metas WHERE digest = ?1",
    [PUT_META] = "INSERT INTO metas VALUES (?1, ?2)",
    [FIND_NAME] = "SELECT id FROM names WHERE name = ?1",
    [PUT_FILE] = "INSERT INTO files VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8)",
    [PUT_ISSUE] = "INSERT INTO issues(checkpoint, path, offset, severity, code, message)"
                  " VALUES (?1, ?2, ?3, ?4, ?5, ?6)",
    [PUT_PASSED] = "INSERT OR REPLACE INTO passed VALUES (?1, ?2, ?3, ?4, ?5)",
    [PUT_SUMS] = "INSERT INTO checksums VALUES (?1, ?2, ?3)",
    [CLEAR_ISSUES] = "DELETE FROM issues WHERE checkpoint IS NULL AND path = ?1",
    [CLEAR_PASSED] = "DELETE FROM passed WHERE path = ?1",
    [CLEAR_WALKED] = "DELETE FROM issues WHERE code IN ('vanished', 'unreadable',"
                     " 'unfinished', 'dangling-link', 'not-a-file')"
                     " AND (path = ?1 OR substr(path, 1, length(?1) + 1) = ?1 || '/'"
                     " OR ?1 = '/')",
    /* Without an id SQLite appends: it need not look for the place of each row. */
    [FEED_NAMES] = "INSERT INTO names(name) SELECT c1 FROM ckptdb_feed",
    [FEED_TENSORS] = "INSERT INTO layout_tensors SELECT * FROM ckptdb_feed",
    [MORE_TENSORS] =
        "INSERT INTO layout_tensors(name, dtype, shape, elements, nbytes, storage, file,"
        " start, stored, codec, strides, extents)"
        " SELECT c1, c2, c3, c4, c5, c6, c7, c8, c9, c10, c11, c12 FROM ckptdb_feed",
    [MORE_PLAIN_TENSORS] =
        "INSERT INTO layout_tensors(name, dtype, shape, elements, nbytes, storage, file,"
        " start, stored) SELECT c1, c2, c3, c4, c5, 1, 0, c8, c9 FROM ckptdb_feed",
    [FEED_NODES] = "INSERT INTO layout_nodes SELECT c0, c1, c2, c3 FROM ckptdb_feed",
    [FEED_MODULES] =
        "INSERT INTO layout_modules SELECT c0, c1, c2, c3, c4, c5, c6 FROM ckptdb_feed",
    [MORE_MODULES] =
        "INSERT INTO layout_modules(name, length, depth, tensors, parameters, nbytes)"
        " SELECT c1, c2, c3, c4, c5, c6 FROM ckptdb_feed",
    [FEED_DTYPES] =
        "INSERT INTO layout_dtypes SELECT c0, c1, c2, c3, c4 FROM ckptdb_feed",
    [FEED_FACTS] = "INSERT INTO meta_facts SELECT c0, c1, c2 FROM ckptdb_feed",
    [FEED_PLACEMENTS] = "INSERT INTO placements"
                        " SELECT c0, c1, c2, c3, c4, c5, c6, c7 FROM ckptdb_feed",
};

struct writer {
    sqlite3 *db;
    sqlite3_stmt *statement[STATEMENTS];
    struct feed feed;
    struct strmap names;      /* names seen in this import -> names.id */
    struct arena name_memory; /* its keys */
    bool names_known;         /* the map holds every name of the catalog */
    int64_t next_name, next_layout, next_meta, next_checkpoint;
    int64_t version;   /* of the data that these were read from, -1: none */
    int64_t *name_ids; /* of the batch's tensors, then nodes */
    size_t name_space;
    bool indexes_wait, in_transaction, orphans;
    struct timespec committed;
};

/* --- small helpers ---------------------------------------------------------------------- */

static sqlite3_stmt *statement(struct writer *w, enum statement which)
{
    if (!w->statement[which])
        sqlite3_prepare_v3(w->db, statement_sql[which], -1, SQLITE_PREPARE_PERSISTENT,
                           &w->statement[which], NULL);
    return w->statement[which];
}

static void bind_text(sqlite3_stmt *s, int at, const char *text)
{
    if (text)
        sqlite3_bind_text(s, at, text, -1, SQLITE_STATIC);
    else
        sqlite3_bind_null(s, at);
}

static void bind_blob(sqlite3_stmt *s, int at, const void *bytes, size_t len)
{
    sqlite3_bind_blob64(s, at, bytes, len, SQLITE_STATIC);
}

static void bind_digest(sqlite3_stmt *s, int at, const struct layout_digest *d)
{
    bind_blob(s, at, d->at, sizeof(d->at));
}

/* Step a statement that gives no rows, and make it ready again. */
static enum status finish(struct writer *w, sqlite3_stmt *s, struct error *err)
{
    int rc = s ? sqlite3_step(s) : SQLITE_ERROR;
    if (s) {
        sqlite3_reset(s);
        sqlite3_clear_bindings(s);
    }
    return rc == SQLITE_DONE ? OK : db_error(w->db, "cannot write the catalog", err);
}

/* The first column of the first row, or -1. */
static int64_t find(struct writer *w, sqlite3_stmt *s, struct error *err)
{
    int rc = s ? sqlite3_step(s) : SQLITE_ERROR;
    int64_t id = rc == SQLITE_ROW ? sqlite3_column_int64(s, 0) : -1;
    if (rc != SQLITE_ROW && rc != SQLITE_DONE)
        db_error(w->db, "cannot read the catalog", err);
    sqlite3_reset(s);
    return id;
}

static enum status feed(struct writer *w, enum statement which, struct feed rows,
                        struct error *err)
{
    if (!rows.count)
        return OK;
    w->feed = rows;
    return finish(w, statement(w, which), err);
}

/* Rows of the newest layout: the first one with its id, the others behind it. */
static enum status feed_behind(struct writer *w, enum statement first,
                               enum statement more, struct feed rows, struct error *err)
{
    struct feed rest = rows;
    if (!rows.count)
        return OK;
    rows.count = 1;
    rest.count--;
    rest.from = 1;
    if (feed(w, first, rows, err) != OK || feed(w, more, rest, err) != OK)
        return err->status;
    if (sqlite3_last_insert_rowid(w->db) != rows.base + (int64_t)rest.count)
        return error_set(err, ERR_CORRUPT, sqlite3_db_filename(w->db, "main"), NO_OFFSET,
                         "the catalog holds rows of a layout that it does not know");
    return OK;
}

static int64_t next_id(sqlite3 *db, const char *table)
{
    char sql[96];
    sqlite3_stmt *s = NULL;
    snprintf(sql, sizeof(sql), "SELECT coalesce(max(id), 0) + 1 FROM %s", table);
    int64_t id = 1;
    if (sqlite3_prepare_v2(db, sql, -1, &s, NULL) == SQLITE_OK &&
        sqlite3_step(s) == SQLITE_ROW)
        id = sqlite3_column_int64(s, 0);
    sqlite3_finalize(s);
    return id;
}

/* --- opening ---------------------------------------------------------------------------- */

static int64_t data_version(sqlite3 *db)
{
    sqlite3_stmt *s = NULL;
    int64_t version = -1;
    if (sqlite3_prepare_v2(db, "PRAGMA data_version", -1, &s, NULL) == SQLITE_OK &&
        sqlite3_step(s) == SQLITE_ROW)
        version = sqlite3_column_int64(s, 0);
    sqlite3_finalize(s);
    return version;
}

/* What the writer keeps in mind of the catalog holds until another program has written.
 * Without its indexes, a catalog that is not new could not be asked for names. */
static enum status learn(struct writer *w, struct error *err)
{
    int64_t version = data_version(w->db);
    if (version == w->version && version >= 0)
        return OK;
    w->version = version;
    w->next_name = next_id(w->db, "names");
    w->next_layout = next_id(w->db, "layouts");
    w->next_meta = next_id(w->db, "metas");
    w->next_checkpoint = next_id(w->db, "checkpoints");
    strmap_release(&w->names);
    arena_release(&w->name_memory);
    w->names_known = w->next_name == 1;
    w->indexes_wait = w->names_known && w->next_layout == 1;
    return w->indexes_wait ? OK : db_build_indexes(w->db, err);
}

static enum status begin(struct writer *w, struct error *err)
{
    if (w->in_transaction)
        return OK;
    if (db_exec(w->db, "BEGIN IMMEDIATE", err) != OK)
        return err->status;
    w->in_transaction = true;
    clock_gettime(CLOCK_MONOTONIC, &w->committed);
    return learn(w, err);
}

static enum status commit(struct writer *w, struct error *err)
{
    if (!w->in_transaction)
        return OK;
    if (db_exec(w->db, "COMMIT", err) == OK)
        w->in_transaction = false;
    return err->status;
}

enum status writer_open(sqlite3 *db, int (*wait)(void *context, int times), void *context,
                        struct writer **out, struct error *err)
{
    struct writer *w = calloc(1, sizeof(*w));
    if (!w)
        return error_set(err, ERR_MEMORY, NULL, NO_OFFSET, "no memory");
    w->db = db;
    w->version = -1;
    if (db_repair(db, err) != OK)
        goto fail;
    if (wait)
        sqlite3_busy_handler(db, wait, context);
    /* Readers go on while we write. Where WAL cannot be (no shared memory), so be it. */
    sqlite3_exec(db,
                 "PRAGMA journal_mode=WAL; PRAGMA synchronous=NORMAL;"
                 "PRAGMA cache_size=-65536; PRAGMA wal_autocheckpoint=4000",
                 NULL, NULL, NULL);
    if (feed_register(db, &w->feed) != SQLITE_OK) {
        db_error(db, "cannot start the writer", err);
        goto fail;
    }
    if (begin(w, err) == OK) {
        *out = w;
        return OK;
    }

fail:
    writer_abort(w);
    return err->status;
}

/* --- names ------------------------------------------------------------------------------ */

struct new_names {
    struct bytes *list;
    uint64_t count;
    size_t space;
};

static void name_column(const struct feed *f, uint64_t row, int column,
                        sqlite3_context *context)
{
    const struct bytes *name = (const struct bytes *)f->rows + row;
    (void)column; /* c1 is the only one asked for */
    sqlite3_result_text64(context, (const char *)name->at, name->len, SQLITE_STATIC,
                          SQLITE_UTF8);
}

/* The id of a name; new ones get the next id and wait in `fresh` to be written. */
static enum status intern(struct writer *w, const char *name, size_t len,
                          struct new_names *fresh, int64_t *id, struct error *err)
{
    bool added;
    const char *kept;
    uint64_t *value = strmap_keep(&w->names, &w->name_memory, name, len, &kept, &added);
    if (!value)
        return error_set(err, ERR_MEMORY, NULL, NO_OFFSET, "no memory for tensor names");
    *id = (int64_t)*value;
    if (!added)
        return OK;
    *id = -1;
    if (!w->names_known) {
        sqlite3_stmt *s = statement(w, FIND_NAME);
        sqlite3_bind_text64(s, 1, name, len, SQLITE_STATIC, SQLITE_UTF8);
        *id = find(w, s, err);
    }
    if (*id < 0 && err->status == OK) {
        *id = w->next_name++;
        if (fresh->count == fresh->space) {
            size_t space = fresh->space ? fresh->space * 2 : 256;
            struct bytes *list = realloc(fresh->list, space * sizeof(*list));
            if (!list)
                return error_set(err, ERR_MEMORY, NULL, NO_OFFSET, "no memory");
            fresh->list = list;
            fresh->space = space;
        }
        fresh->list[fresh->count++] = (struct bytes){(const uint8_t *)kept, len};
    }
    *value = (uint64_t)*id;
    return err->status;
}

static enum status intern_all(struct writer *w, const struct batch_layout *l,
                              struct error *err)
{
    struct new_names fresh = {0};
    uint64_t count = l->tensor_count + l->node_count;
    if (count > w->name_space) {
        int64_t *ids = realloc(w->name_ids, count * sizeof(*ids));
        if (!ids)
            return error_set(err, ERR_MEMORY, NULL, NO_OFFSET, "no memory");
        w->name_ids = ids;
        w->name_space = count;
    }
    for (uint64_t i = 0; err->status == OK && i < l->tensor_count; i++)
        intern(w, l->tensors[i].name, l->tensors[i].name_len, &fresh, &w->name_ids[i],
               err);
    for (uint64_t i = 0; err->status == OK && i < l->node_count; i++)
        intern(w, l->nodes[i].name, strlen(l->nodes[i].name), &fresh,
               &w->name_ids[l->tensor_count + i], err);
    if (err->status == OK)
        feed(w, FEED_NAMES,
             (struct feed){
                 .count = fresh.count, .column = name_column, .rows = fresh.list},
             err);
    free(fresh.list);
    return err->status;
}

/* --- layouts ---------------------------------------------------------------------------- */

static void result_number(sqlite3_context *context, bool known, uint64_t v)
{
    if (known)
        sqlite3_result_int64(context, (sqlite3_int64)v);
}

static void result_string(sqlite3_context *context, const char *text)
{
    if (text)
        sqlite3_result_text(context, text, -1, SQLITE_STATIC);
}

static void result_strides(sqlite3_context *context, const struct batch_tensor *t)
{
    struct text out = {0};
    if (!t->strides)
        return;
    for (unsigned d = 0; d < t->rank; d++)
        text_addf(&out, d ? ",%lld" : "[%lld", (long long)t->strides[d]);
    text_adds(&out, t->rank ? "]" : "[]");
    if (text_str(&out))
        sqlite3_result_text64(context, out.at, out.len, SQLITE_TRANSIENT, SQLITE_UTF8);
    text_release(&out);
}

/* storage, file, start, stored, codec, strides, extents */
static void placement_value(const struct batch_tensor *t, int column,
                            sqlite3_context *context)
{
    switch (column) {
    case 0:
        sqlite3_result_int(context, t->storage);
        break;
    case 1:
        result_number(context, t->file != NO_FILE, t->file);
        break;
    case 2:
        result_number(context, t->storage == STORAGE_RANGE, t->offset);
        break;
    case 3:
        result_number(context, !t->stored_unknown, t->stored);
        break;
    case 4:
        result_string(context, t->codec);
        break;
    case 5:
        result_strides(context, t);
        break;
    default:
        if (t->extents.len)
            sqlite3_result_blob64(context, t->extents.at, t->extents.len, SQLITE_STATIC);
    }
}

static void tensor_column(const struct feed *f, uint64_t row, int column,
                          sqlite3_context *context)
{
    const struct batch_tensor *t = (const struct batch_tensor *)f->rows + row;
    switch (column) {
    case 0:
        sqlite3_result_int64(context, f->base + (int64_t)row);
        break;
    case 1:
        sqlite3_result_int64(context, ((const int64_t *)f->extra)[row]);
        break;
    case 2:
        result_string(context, t->dtype_unknown ? NULL : t->dtype);
        break;
    case 3:
        result_string(context, t->shape_text);
        break;
    case 4:
        result_number(context, !t->shape_unknown, t->elements);
        break;
    case 5:
        result_number(context, t->sized, t->nbytes);
        break;
    default:
        placement_value(t, column - 6, context);
    }
}

static void placement_column(const struct feed *f, uint64_t row, int column,
                             sqlite3_context *context)
{
    if (column == 0)
        sqlite3_result_int64(context, f->base + (int64_t)row);
    else
        placement_value((const struct batch_tensor *)f->rows + row, column - 1, context);
}

static void node_column(const struct feed *f, uint64_t row, int column,
                        sqlite3_context *context)
{
    const struct batch_node *n = (const struct batch_node *)f->rows + row;
    switch (column) {
    case 0:
        sqlite3_result_int64(context, f->base + (int64_t)row);
        break;
    case 1:
        sqlite3_result_int64(context, ((const int64_t *)f->extra)[row]);
        break;
    case 2:
        result_string(context, n->kind);
        break;
    default:
        sqlite3_result_int64(context, (sqlite3_int64)n->position);
    }
}

/* id, name, length, depth, tensors, parameters, nbytes */
static void module_column(const struct feed *f, uint64_t row, int column,
                          sqlite3_context *context)
{
    const struct batch_module *m = (const struct batch_module *)f->rows + row;
    const uint64_t values[] = {m->depth, m->tensors, m->parameters, m->nbytes};
    if (column == 0)
        sqlite3_result_int64(context, f->base + (int64_t)row);
    else if (column == 1)
        sqlite3_result_int64(context, ((const int64_t *)f->extra)[m->first]);
    else if (column == 2)
        sqlite3_result_int64(context, m->length);
    else
        sqlite3_result_int64(context, (sqlite3_int64)values[column - 3]);
}

/* id, dtype, tensors, parameters, nbytes */
static void dtype_column(const struct feed *f, uint64_t row, int column,
                         sqlite3_context *context)
{
    const struct batch_module *m = (const struct batch_module *)f->rows + row;
    if (column == 0 || column > 1)
        module_column(f, row, column ? column + 2 : 0, context);
    else if (m->len)
        sqlite3_result_text(context, m->module, (int)m->len, SQLITE_STATIC);
}

/* Is every tensor a run of the first file, with nothing more to say of it? */
static bool all_plain(const struct batch_layout *l)
{
    for (uint64_t i = 0; i < l->tensor_count; i++) {
        const struct batch_tensor *t = &l->tensors[i];
        if (t->storage != STORAGE_RANGE || t->file || t->codec || t->strides ||
            t->extents.len)
            return false;
    }
    return true;
}

static enum status put_layout_row(struct writer *w, const struct batch_layout *l,
                                  int64_t id, struct error *err)
{
    sqlite3_stmt *s = statement(w, PUT_LAYOUT);
    sqlite3_bind_int64(s, 1, id);
    bind_digest(s, 2, &l->logical);
    bind_digest(s, 3, &l->placement);
    sqlite3_bind_int64(s, 4, (sqlite3_int64)l->tensor_count);
    sqlite3_bind_int64(s, 5, (sqlite3_int64)l->parameters);
    sqlite3_bind_int64(s, 6, (sqlite3_int64)l->nbytes);
    if (!l->stored_unknown)
        sqlite3_bind_int64(s, 7, (sqlite3_int64)l->stored);
    return finish(w, s, err);
}

static enum status put_layout(struct writer *w, const struct batch_layout *l, int64_t id,
                              struct error *err)
{
    int64_t base = (int64_t)((uint64_t)id << SHIFT);
    if (put_layout_row(w, l, id, err) != OK || intern_all(w, l, err) != OK)
        return err->status;
    const int64_t *names = w->name_ids;
    struct feed tensors = {l->tensor_count, tensor_column, l->tensors, base, names, 0};
    struct feed nodes = {l->node_count,
                         node_column,
                         l->nodes,
                         base,
                         names ? names + l->tensor_count : NULL,
                         0};
    struct feed modules = {l->module_count, module_column, l->modules, base, names, 0};
    struct feed dtypes = {l->dtype_count, dtype_column, l->dtypes, base, NULL, 0};
    feed_behind(w, FEED_TENSORS, all_plain(l) ? MORE_PLAIN_TENSORS : MORE_TENSORS,
                tensors, err);
    if (err->status == OK)
        feed_behind(w, FEED_MODULES, MORE_MODULES, modules, err);
    if (err->status == OK && feed(w, FEED_NODES, nodes, err) == OK)
        feed(w, FEED_DTYPES, dtypes, err);
    return err->status;
}

/* The layout's row; *placed says that this checkpoint's bytes lie in another way. */
static enum status find_layout(struct writer *w, const struct batch_layout *l,
                               int64_t *id, bool *placed, struct error *err)
{
    sqlite3_stmt *s = statement(w, FIND_LAYOUT);
    bind_digest(s, 1, &l->logical);
    int rc = s ? sqlite3_step(s) : SQLITE_ERROR;
    *placed = false;
    *id = -1;
    if (rc == SQLITE_ROW) {
        *id = sqlite3_column_int64(s, 0);
        const void *other = sqlite3_column_blob(s, 1);
        *placed = sqlite3_column_bytes(s, 1) != sizeof(l->placement.at) || !other ||
                  memcmp(other, l->placement.at, sizeof(l->placement.at)) != 0;
    } else if (rc != SQLITE_DONE) {
        db_error(w->db, "cannot read the catalog", err);
    }
    sqlite3_reset(s);
    if (*id < 0 && err->status == OK) {
        *id = w->next_layout++;
        put_layout(w, l, *id, err);
    }
    return err->status;
}

/* --- metadata --------------------------------------------------------------------------- */

static void fact_column(const struct feed *f, uint64_t row, int column,
                        sqlite3_context *context)
{
    const struct batch_meta *m = (const struct batch_meta *)f->rows + row;
    if (column == 0)
        sqlite3_result_int64(context, f->base + (int64_t)row);
    else if (column == 1)
        result_string(context, m->key);
    else if (m->type == FACT_TEXT)
        sqlite3_result_text64(context, m->text, m->text_len, SQLITE_STATIC, SQLITE_UTF8);
    else if (m->type == FACT_INTEGER)
        sqlite3_result_int64(context, m->integer);
    else if (m->type == FACT_REAL)
        sqlite3_result_double(context, m->real);
}

static int64_t find_meta(struct writer *w, const struct batch *b, struct error *err)
{
    sqlite3_stmt *s = statement(w, FIND_META);
    bind_digest(s, 1, &b->meta_digest);
    int64_t id = find(w, s, err);
    if (id >= 0 || err->status != OK)
        return id;
    id = w->next_meta++;
    s = statement(w, PUT_META);
    sqlite3_bind_int64(s, 1, id);
    bind_digest(s, 2, &b->meta_digest);
    if (finish(w, s, err) == OK)
        feed(w, FEED_FACTS,
             (struct feed){b->meta_count, fact_column, b->metas,
                           (int64_t)((uint64_t)id << SHIFT), NULL, 0},
             err);
    return id;
}

/* --- one batch -------------------------------------------------------------------------- */

/* Everything of a checkpoint that is not shared, before it is written anew. */
static enum status clear_own(struct writer *w, int64_t id, struct error *err)
{
    char sql[512];
    int64_t low = (int64_t)((uint64_t)id << SHIFT), high = low + TENSOR_ORD_MASK;
    snprintf(sql, sizeof(sql),
             "DELETE FROM files WHERE id BETWEEN %lld AND %lld;"
             "DELETE FROM placements WHERE id BETWEEN %lld AND %lld;"
             "DELETE FROM checksums WHERE id = %lld;"
             "DELETE FROM issues WHERE checkpoint = %lld",
             (long long)low, (long long)high, (long long)low, (long long)high,
             (long long)id, (long long)id);
    w->orphans = true;
    return db_exec(w->db, sql, err);
}

static void bind_identity(sqlite3_stmt *s, int at, const struct file_identity *f)
{
    sqlite3_bind_int64(s, at, (sqlite3_int64)f->size);
    sqlite3_bind_int64(s, at + 1, f->mtime_ns);
    sqlite3_bind_int64(s, at + 2, (sqlite3_int64)f->inode);
    sqlite3_bind_int64(s, at + 3, (sqlite3_int64)f->device);
}

static enum status put_files(struct writer *w, const struct batch *b, int64_t id,
                             struct error *err)
{
    for (uint64_t i = 0; i < b->file_count && err->status == OK; i++) {
        const struct batch_file *f = &b->files[i];
        sqlite3_stmt *s = statement(w, PUT_FILE);
        sqlite3_bind_int64(s, 1, (int64_t)((uint64_t)id << SHIFT) + (int64_t)i);
        bind_text(s, 2, f->path);
        if (f->present)
            bind_identity(s, 3, &f->identity);
        bind_text(s, 7, f->role);
        sqlite3_bind_int64(s, 8, (sqlite3_int64)f->base);
        finish(w, s, err);
    }
    return err->status;
}

static enum status put_issues(struct writer *w, const struct batch *b, int64_t id,
                              struct error *err)
{
    for (uint64_t i = 0; i < b->issue_count && err->status == OK; i++) {
        const struct batch_issue *issue = &b->issues[i];
        sqlite3_stmt *s = statement(w, PUT_ISSUE);
        if (id > 0)
            sqlite3_bind_int64(s, 1, id);
        bind_text(s, 2, issue->path);
        if (issue->offset != NO_OFFSET)
            sqlite3_bind_int64(s, 3, (sqlite3_int64)issue->offset);
        bind_text(s, 4, issue->warning ? "warning" : "error");
        bind_text(s, 5, issue->code);
        bind_text(s, 6, issue->message);
        finish(w, s, err);
    }
    return err->status;
}

static enum status put_passed(struct writer *w, const struct batch_file *list,
                              uint64_t count, struct error *err)
{
    for (uint64_t i = 0; i < count && err->status == OK; i++) {
        sqlite3_stmt *s = statement(w, PUT_PASSED);
        bind_text(s, 1, list[i].path);
        bind_identity(s, 2, &list[i].identity);
        finish(w, s, err);
    }
    return err->status;
}

/* Issues of files without a checkpoint are renewed with the file. */
static enum status clear_paths(struct writer *w, const struct batch *b, struct error *err)
{
    sqlite3_stmt *s;
    if (b->path) {
        s = statement(w, CLEAR_ISSUES);
        bind_text(s, 1, b->path);
        finish(w, s, err);
    }
    for (uint64_t i = 0; i < b->file_count && err->status == OK; i++) {
        s = statement(w, CLEAR_ISSUES);
        bind_text(s, 1, b->files[i].path);
        if (finish(w, s, err) != OK)
            break;
        s = statement(w, CLEAR_PASSED);
        bind_text(s, 1, b->files[i].path);
        finish(w, s, err);
    }
    for (uint64_t i = 0; i < b->passed_count && err->status == OK; i++) {
        s = statement(w, CLEAR_ISSUES);
        bind_text(s, 1, b->passed[i].path);
        finish(w, s, err);
    }
    for (uint64_t i = 0; !b->path && i < b->issue_count && err->status == OK; i++) {
        s = statement(w, CLEAR_ISSUES);
        bind_text(s, 1, b->issues[i].path);
        finish(w, s, err);
    }
    return err->status;
}

static void bind_checkpoint(sqlite3_stmt *s, const struct batch *b, int64_t id,
                            int64_t layout, bool placed)
{
    int64_t newest = 0;
    for (uint64_t i = 0; i < b->file_count; i++)
        if (b->files[i].present && b->files[i].identity.mtime_ns > newest)
            newest = b->files[i].identity.mtime_ns;
    sqlite3_bind_int64(s, 1, id);
    bind_text(s, 2, b->path);
    bind_text(s, 3, b->format);
    bind_text(s, 4, b->run);
    if (b->has_step)
        sqlite3_bind_int64(s, 5, b->step);
    bind_text(s, 6, b->item);
    sqlite3_bind_int64(s, 7, layout);
    sqlite3_bind_int(s, 9, placed);
    if (!b->layout->stored_unknown)
        sqlite3_bind_int64(s, 10, (sqlite3_int64)b->layout->stored);
    sqlite3_bind_int64(s, 11, (sqlite3_int64)b->file_count);
    sqlite3_bind_int64(s, 12, newest);
    sqlite3_bind_int64(s, 13, (sqlite3_int64)time(NULL));
}

static enum status put_sums(struct writer *w, const struct batch *b, int64_t id,
                            struct error *err)
{
    if (!b->sum_kind || !b->sum_count)
        return OK;
    for (uint64_t i = 0; i < b->sum_count; i++)
        store_u32le(&b->sums[i], b->sums[i]);
    sqlite3_stmt *s = statement(w, PUT_SUMS);
    sqlite3_bind_int64(s, 1, id);
    bind_text(s, 2, b->sum_kind);
    bind_blob(s, 3, b->sums, b->sum_count * sizeof(*b->sums));
    return finish(w, s, err);
}

static enum status put_checkpoint(struct writer *w, const struct batch *b, int64_t id,
                                  struct error *err)
{
    const struct batch_layout *l = b->layout;
    int64_t layout, meta = -1;
    bool placed;
    if (find_layout(w, l, &layout, &placed, err) != OK ||
        (b->meta_count && (meta = find_meta(w, b, err)) < 0) || err->status != OK)
        return err->status;
    sqlite3_stmt *s = statement(w, PUT_CHECKPOINT);
    bind_checkpoint(s, b, id, layout, placed);
    if (meta >= 0)
        sqlite3_bind_int64(s, 8, meta);
    if (finish(w, s, err) != OK)
        return err->status;
    if (placed)
        feed(w, FEED_PLACEMENTS,
             (struct feed){l->tensor_count, placement_column, l->tensors,
                           (int64_t)((uint64_t)id << SHIFT), NULL, 0},
             err);
    return err->status;
}

static enum status commit_if_due(struct writer *w, struct error *err)
{
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return now.tv_sec - w->committed.tv_sec >= COMMIT_SECONDS ? commit(w, err) : OK;
}

enum status writer_put(struct writer *w, const struct batch *b, struct error *err)
{
    int64_t id = -1;
    if (begin(w, err) != OK || (!w->indexes_wait && clear_paths(w, b, err) != OK))
        return err->status;
    if (b->path) {
        sqlite3_stmt *s = statement(w, FIND_CHECKPOINT);
        bind_text(s, 1, b->path);
        id = find(w, s, err);
        if (err->status != OK)
            return err->status;
    }
    if (b->path && !b->failed) {
        if (id < 0)
            id = w->next_checkpoint++;
        else if (clear_own(w, id, err) != OK)
            return err->status;
        if (put_checkpoint(w, b, id, err) != OK || put_files(w, b, id, err) != OK ||
            put_sums(w, b, id, err) != OK)
            return err->status;
    } else if (id > 0) {
        /* What was catalogued stays, with the news of what became of it. */
        char sql[96];
        snprintf(sql, sizeof(sql), "DELETE FROM issues WHERE checkpoint = %lld",
                 (long long)id);
        if (db_exec(w->db, sql, err) != OK)
            return err->status;
    }
    if (put_issues(w, b, id, err) != OK ||
        put_passed(w, b->passed, b->passed_count, err) != OK)
        return err->status;
    return commit_if_due(w, err);
}

/* --- dropping --------------------------------------------------------------------------- */

enum status writer_drop(struct writer *w, int64_t checkpoint, struct error *err)
{
    char sql[96];
    if (begin(w, err) != OK || clear_own(w, checkpoint, err) != OK)
        return err->status;
    snprintf(sql, sizeof(sql), "DELETE FROM checkpoints WHERE id = %lld",
             (long long)checkpoint);
    return db_exec(w->db, sql, err);
}

enum status writer_clear_walked(struct writer *w, const char *root, struct error *err)
{
    if (begin(w, err) != OK)
        return err->status;
    sqlite3_stmt *s = statement(w, CLEAR_WALKED);
    bind_text(s, 1, root);
    return finish(w, s, err);
}

enum status writer_vanished(struct writer *w, int64_t checkpoint, const char *path,
                            struct error *err)
{
    struct batch_issue issue = {
        .path = path,
        .offset = NO_OFFSET,
        .warning = true,
        .code = "vanished",
        .message = "no longer there; `ckptdb import --prune` drops it from the catalog",
    };
    struct batch b = {.issues = &issue, .issue_count = 1};
    return begin(w, err) == OK ? put_issues(w, &b, checkpoint, err) : err->status;
}

enum status writer_forget_passed(struct writer *w, const char *path, struct error *err)
{
    struct batch_file file = {.path = path};
    struct batch b = {.files = &file, .file_count = 1};
    return begin(w, err) == OK ? clear_paths(w, &b, err) : err->status;
}

/* Layouts, names and facts that no checkpoint uses any more. */
static const char drop_orphans[] =
    "CREATE TEMP TABLE gone AS SELECT id FROM layouts"
    "  WHERE id NOT IN (SELECT layout FROM checkpoints);"
    "DELETE FROM layout_tensors WHERE id >> 24 IN (SELECT id FROM gone);"
    "DELETE FROM layout_nodes WHERE id >> 24 IN (SELECT id FROM gone);"
    "DELETE FROM layout_modules WHERE id >> 24 IN (SELECT id FROM gone);"
    "DELETE FROM layout_dtypes WHERE id >> 24 IN (SELECT id FROM gone);"
    "DELETE FROM layouts WHERE id IN (SELECT id FROM gone);"
    "DELETE FROM names WHERE (SELECT count(*) FROM gone) > 0"
    "  AND id NOT IN (SELECT name FROM layout_tensors)"
    "  AND id NOT IN (SELECT name FROM layout_nodes);"
    "DROP TABLE gone;"
    "DELETE FROM meta_facts WHERE id >> 24 NOT IN"
    "  (SELECT meta FROM checkpoints WHERE meta IS NOT NULL);"
    "DELETE FROM metas WHERE id NOT IN"
    "  (SELECT meta FROM checkpoints WHERE meta IS NOT NULL)";

static void release(struct writer *w)
{
    for (int i = 0; i < STATEMENTS; i++)
        sqlite3_finalize(w->statement[i]);
    /* The module points into this struct. */
    sqlite3_create_module_v2(w->db, "ckptdb_feed", NULL, NULL, NULL);
    strmap_release(&w->names);
    arena_release(&w->name_memory);
    free(w->name_ids);
    free(w);
}

/* Refused while somebody else has the catalog open; then the next writer does it. Indexes come
 * after it: out of WAL mode their pages are written once. */
static void leave_wal(sqlite3 *db)
{
    sqlite3_busy_timeout(db, 0);
    sqlite3_exec(db, "PRAGMA journal_mode=DELETE", NULL, NULL, NULL);
    sqlite3_busy_timeout(db, DB_BUSY_MS);
}

enum status writer_close(struct writer *w, struct error *err)
{
    if (w->orphans && begin(w, err) == OK)
        db_exec(w->db, drop_orphans, err);
    sqlite3 *db = w->db;
    if (err->status == OK && commit(w, err) == OK) {
        release(w);
        leave_wal(db);
        return db_repair(db, err);
    }
    writer_abort(w);
    return err->status;
}

void writer_abort(struct writer *w)
{
    if (!w)
        return;
    sqlite3 *db = w->db;
    if (w->in_transaction)
        sqlite3_exec(db, "ROLLBACK", NULL, NULL, NULL);
    release(w);
    leave_wal(db);
}
