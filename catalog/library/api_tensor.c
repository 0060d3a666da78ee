/*
 * api_tensor.c - lists, opens and reads tensors.
 */
#include <stdlib.h>
#include <string.h>

#include "catalog/data/read/tensor_stream.h"
#include "catalog/export/format/npy_header.h"
#include "catalog/export/select.h"
#include "catalog/library/api_tensor.h"
#include "catalog/maps/map/ruleset.h"

_Static_assert(CKPTDB_RANK_MAX == TENSOR_RANK_MAX, "rank");

/* --- listing ------------------------------------------------------------------------------- */

static bool take_info(sqlite3_stmt *row, struct arena *arena, struct ckptdb_tensor_info *out)
{
    uint64_t *shape = NULL;
    unsigned rank = 0;
    const char *dtype = db_text(row, 2), *json = db_text(row, 3);
    if (json && !shape_parse(json, arena, &shape, &rank))
        return false;
    *out = (struct ckptdb_tensor_info){
        .id = sqlite3_column_int64(row, 0),
        .name = db_text(row, 1),
        .dtype = dtype ? dtype : "?", /* as ckptdb_tensor_open() names an unknown one */
        .rank = rank,
        .shape = shape,
        .elements = (uint64_t)sqlite3_column_int64(row, 4),
        .nbytes = (uint64_t)sqlite3_column_int64(row, 5),
    };
    return out->name;
}

enum ckptdb_status ckptdb_tensors(ckptdb *c, int64_t checkpoint,
                                  bool (*each)(void *, const struct ckptdb_tensor_info *),
                                  void *context, struct ckptdb_error *error)
{
    static const char sql[] = "SELECT id, name, dtype, shape, elements, nbytes"
                              " FROM tensor WHERE checkpoint_id = ?1 ORDER BY ord";
    struct error err = {.offset = NO_OFFSET};
    sqlite3_stmt *row = db_query(c->db, &err, sql, "i", checkpoint);
    struct arena arena = {0};
    struct ckptdb_tensor_info info;
    bool more = library_known(c, &checkpoint, 1, &err) == OK;
    while (more && db_row(row, NULL, &err)) {
        if (take_info(row, &arena, &info))
            more = each(context, &info);
        else
            error_set(&err, ERR_CORRUPT, NULL, NO_OFFSET,
                      "a shape in the catalog is none, or no memory");
        more = more && err.status == OK;
        arena_release(&arena);
    }
    sqlite3_finalize(row);
    return library_end(&err, error);
}

/* --- opening ------------------------------------------------------------------------------- */

/* Open a tensor as stored, or as a recipe makes it (NULL: none). */
static void open_tensor(ckptdb *c, int64_t id, const char *recipe, ckptdb_tensor **out,
                        struct error *err)
{
    ckptdb_tensor *t = calloc(1, sizeof(*t));
    if (!t)
        error_memory(err);
    else
        library_tensor(c, id, recipe, &t->arena, &t->stored, err);
    if (!t || err->status != OK) {
        ckptdb_tensor_close(t);
        return;
    }
    t->info = (struct ckptdb_tensor_info){
        .id = t->stored.id,
        .name = t->stored.name,
        .dtype = t->stored.dtype.name,
        .rank = t->stored.rank,
        .shape = t->stored.shape,
        .elements = t->stored.elements,
        .nbytes = t->stored.nbytes,
    };
    *out = t;
}

enum ckptdb_status ckptdb_tensor_open(ckptdb *c, int64_t id, ckptdb_tensor **out,
                                      struct ckptdb_error *error)
{
    struct error err = {.offset = NO_OFFSET};
    *out = NULL;
    open_tensor(c, id, NULL, out, &err);
    return library_end(&err, error);
}

void ckptdb_tensor_close(ckptdb_tensor *t)
{
    if (!t)
        return;
    arena_release(&t->arena);
    free(t);
}

const struct ckptdb_tensor_info *ckptdb_tensor_info(const ckptdb_tensor *t)
{
    return &t->info;
}

/* --- through a map ------------------------------------------------------------------------- */

static void check_makes_names(const ckptdb *c, const char *map, struct error *err)
{
    char *dialect = library_dialect(c, map, err);
    if (dialect && ruleset_dialect_assigns(dialect))
        error_set(err, ERR_ARGUMENT, NULL, NO_OFFSET,
                  "'%s' fills the names of a model: an export with a target does it", map);
    sqlite3_free(dialect);
}

/* The rule set ?1 where it is one of this view, which refuses others; else NULL. */
#define SET_OF(view)                                                                               \
    "(SELECT name FROM ruleset WHERE name = ?1 AND dialect_is(dialect, '" view "'))"

/* A map's cast is the default dtype for reading. */
static void take_cast(ckptdb_tensor *t, const char *dtype, struct error *err)
{
    if (!dtype || strcmp(dtype, t->stored.dtype.name) == 0)
        return;
    const char *name = arena_copy(&t->arena, dtype, strlen(dtype));
    if (!name)
        error_memory(err);
    dtype_find(name ? name : "", &t->given);
    t->casts = true;
    t->info.dtype = t->given.name;
    if (!dtype_nbytes(&t->given, t->stored.elements, &t->info.nbytes))
        t->info.nbytes = 0;
}

static void open_row(ckptdb *c, sqlite3_stmt *row, const char *name, ckptdb_tensor **out,
                     struct error *err)
{
    const char *status = db_text(row, 3), *why = db_text(row, 4);
    if (sqlite3_column_type(row, 0) != SQLITE_INTEGER || !status || strcmp(status, "ok") != 0) {
        error_set(err, ERR_UNSUPPORTED, NULL, NO_OFFSET, "%s: %s", name,
                  why ? why : "an empty leaf, and no tensor");
        return;
    }
    open_tensor(c, sqlite3_column_int64(row, 0), db_text(row, 1), out, err);
    if (*out)
        take_cast(*out, db_text(row, 2), err);
}

enum ckptdb_status ckptdb_tensor_open_mapped(ckptdb *c, const char *map, int64_t checkpoint,
                                             const char *new_name, ckptdb_tensor **out,
                                             struct ckptdb_error *error)
{
    static const char sql[] =
        "SELECT tensor_id, recipe, dtype, status, error FROM conversion WHERE ruleset = " SET_OF(
            "conversion") " AND checkpoint_id = ?2 AND new_name = ?3 AND part = 0 UNION ALL"
                          " SELECT tensor_id, " RECIPE_OF_ONE
                          ", dtype, status, error FROM translation WHERE ruleset = " SET_OF(
                              "translation") " AND checkpoint_id = ?2"
                                             " AND new_name = ?3 AND wins LIMIT 1";
    struct error err = {.offset = NO_OFFSET};
    *out = NULL;
    check_makes_names(c, map, &err);
    library_known(c, &checkpoint, 1, &err);
    sqlite3_stmt *row = db_query(c->db, &err, sql, "sis", map, checkpoint, new_name);
    if (db_row(row, NULL, &err))
        open_row(c, row, new_name, out, &err);
    else
        error_set(&err, ERR_MISSING, NULL, NO_OFFSET,
                  "there is no tensor that the map makes called %s", new_name);
    sqlite3_finalize(row);
    if (err.status != OK && *out) {
        ckptdb_tensor_close(*out);
        *out = NULL;
    }
    return library_end(&err, error);
}

enum ckptdb_status ckptdb_tensor_open_renamed(ckptdb *c, const struct ckptdb_naming *given,
                                              const char *new_name, ckptdb_tensor **out,
                                              struct ckptdb_error *error)
{
    static const char sql[] =
        "SELECT tensor_id, recipe, dtype, count(*) OVER (), tensor_name(tensor_id),"
        " lead(tensor_name(tensor_id)) OVER () FROM mapped(?2, ?1, ?4) WHERE new_name = ?3";
    struct error err = {.offset = NO_OFFSET};
    struct ckptdb_naming n;
    *out = NULL;
    if (library_take(&n, sizeof(n), given, &err) == OK && n.map)
        check_makes_names(c, n.map, &err);
    library_known(c, &n.checkpoint, 1, &err);
    sqlite3_stmt *row =
        db_query(c->db, &err, sql, "siss", n.map, n.checkpoint, new_name, n.renames);
    if (!db_row(row, NULL, &err))
        error_set(&err, ERR_MISSING, NULL, NO_OFFSET, "there is no tensor whose new name is %s",
                  new_name);
    else if (sqlite3_column_int64(row, 3) > 1)
        error_set(&err, ERR_ARGUMENT, NULL, NO_OFFSET, "%lld tensors get the new name %s: %s, %s%s",
                  (long long)sqlite3_column_int64(row, 3), new_name, db_text(row, 4),
                  db_text(row, 5), sqlite3_column_int64(row, 3) > 2 ? ", ..." : "");
    else
        open_tensor(c, sqlite3_column_int64(row, 0), db_text(row, 1), out, &err);
    if (*out)
        take_cast(*out, db_text(row, 2), &err);
    sqlite3_finalize(row);
    if (err.status != OK && *out) {
        ckptdb_tensor_close(*out);
        *out = NULL;
    }
    return library_end(&err, error);
}

bool ckptdb_dtype(const char *name, const char **nearest)
{
    struct dtype d;
    dtype_called(name, &d);
    const bool known = d.kind != DTYPE_UNKNOWN;
    if (nearest)
        *nearest = known ? d.name : dtype_nearest(name);
    return known;
}

/* --- reading ------------------------------------------------------------------------------- */

enum ckptdb_status ckptdb_slice_parse(const ckptdb_tensor *t, const char *text,
                                      struct ckptdb_slice *slices, bool *drop,
                                      struct ckptdb_error *error)
{
    struct error err = {.offset = NO_OFFSET};
    bool room[TENSOR_RANK_MAX] = {false};
    slice_parse(text, t->stored.shape, t->stored.rank, slices, drop ? drop : room, &err);
    return library_end(&err, error);
}

void tensor_check_slices(const ckptdb_tensor *t, const struct ckptdb_slice *s, struct error *err)
{
    for (unsigned d = 0; s && d < t->stored.rank; d++) {
        const uint64_t size = t->stored.shape[d], back = s[d].count ? s[d].count - 1 : 0;
        const uint64_t step = s[d].step < 0 ? -(uint64_t)s[d].step : (uint64_t)s[d].step;
        const uint64_t room = s[d].step < 0 ? s[d].start : size - 1 - s[d].start;
        if (s[d].count && (s[d].start >= size || !step || (back && room / step < back)))
            error_set(err, ERR_ARGUMENT, NULL, NO_OFFSET,
                      "slice %u is outside of its dimension of %llu", d, (unsigned long long)size);
    }
}

const struct dtype *tensor_dtype(const ckptdb_tensor *t, const char *name, struct dtype *room,
                                 struct error *err)
{
    if (!name)
        return t->casts ? &t->given : NULL;
    dtype_called(name, room);
    if (room->kind == DTYPE_UNKNOWN) {
        const char *near = dtype_nearest(name);
        error_set(err, ERR_ARGUMENT, NULL, NO_OFFSET, "%s: there is no such dtype%s%s", name,
                  near ? "; the nearest is " : "", near ? near : "");
    }
    return room;
}

enum ckptdb_status ckptdb_read_size(const ckptdb_tensor *t, const struct ckptdb_slice *slices,
                                    const char *dtype, uint64_t *bytes, struct ckptdb_error *error)
{
    struct error err = {.offset = NO_OFFSET};
    struct dtype room;
    const struct dtype *to = tensor_dtype(t, dtype, &room, &err);
    tensor_check_slices(t, slices, &err);
    *bytes = 0;
    if (err.status == OK &&
        !dtype_nbytes(to ? to : &t->stored.dtype,
                      slices ? slice_elements(slices, t->stored.rank) : t->stored.elements, bytes))
        error_set(&err, ERR_UNSUPPORTED, t->stored.checkpoint, NO_OFFSET,
                  "elements of dtype %s have no size, or are not whole blocks",
                  to ? to->name : t->stored.dtype.name);
    return library_end(&err, error);
}

enum ckptdb_status tensor_end(const ckptdb_tensor *t, struct error *err, struct ckptdb_error *error)
{
    if (err->status != OK && err->status != ERR_ARGUMENT)
        error_prefix(err, t->stored.name);
    return library_end(err, error);
}

struct ckptdb_stream {
    const ckptdb_tensor *tensor;
    struct tensor_stream *blocks;
    struct stored_tensor bytes; /* the tensor, or its stored bytes (CKPTDB_AS_STORED) */
    struct arena arena;
};

static enum status open_stream(ckptdb_stream *s, const struct ckptdb_slice *slices,
                               const char *dtype, struct error *err)
{
    const ckptdb_tensor *t = s->tensor;
    struct dtype room;
    const bool as_stored = dtype && strcmp(dtype, CKPTDB_AS_STORED) == 0;
    /* The result of a map's cast is not stored anywhere. */
    const bool raw = as_stored && !t->casts;
    const struct dtype *to = raw ? NULL : tensor_dtype(t, as_stored ? NULL : dtype, &room, err);
    s->bytes = t->stored;
    if (err->status == OK && raw)
        tensor_as_stored(&s->bytes, &s->arena, err);
    tensor_check_slices(t, slices, err);
    if (err->status == OK)
        tensor_stream_open(&s->bytes, NULL, slices, to, &s->blocks, err);
    return err->status;
}

static void close_stream(ckptdb_stream *s)
{
    tensor_stream_close(s->blocks);
    arena_release(&s->arena);
}

enum ckptdb_status ckptdb_read(const ckptdb_tensor *t, const struct ckptdb_slice *slices,
                               const char *dtype, void *buffer, uint64_t size,
                               struct ckptdb_error *error)
{
    struct error err = {.offset = NO_OFFSET};
    ckptdb_stream s = {.tensor = t};
    if (open_stream(&s, slices, dtype, &err) == OK && tensor_stream_nbytes(s.blocks) != size)
        error_set(&err, ERR_ARGUMENT, t->stored.checkpoint, NO_OFFSET,
                  "the buffer has %llu bytes, and the elements %llu", (unsigned long long)size,
                  (unsigned long long)tensor_stream_nbytes(s.blocks));
    if (err.status == OK)
        tensor_stream_all(s.blocks, buffer, &err);
    close_stream(&s);
    return tensor_end(t, &err, error);
}

enum ckptdb_status ckptdb_stream_open(const ckptdb_tensor *t, const struct ckptdb_slice *slices,
                                      const char *dtype, ckptdb_stream **out,
                                      struct ckptdb_error *error)
{
    struct error err = {.offset = NO_OFFSET};
    ckptdb_stream *s = calloc(1, sizeof(*s));
    *out = NULL;
    if (!s) {
        error_memory(&err);
        return tensor_end(t, &err, error);
    }
    s->tensor = t;
    if (open_stream(s, slices, dtype, &err) == OK)
        *out = s;
    else
        ckptdb_stream_close(s);
    return tensor_end(t, &err, error);
}

uint64_t ckptdb_stream_size(const ckptdb_stream *s)
{
    return tensor_stream_nbytes(s->blocks);
}

enum ckptdb_status ckptdb_stream_next(ckptdb_stream *s, const void **bytes, size_t *len,
                                      struct ckptdb_error *error)
{
    struct error err = {.offset = NO_OFFSET};
    struct bytes block = {0};
    tensor_stream_next(s->blocks, &block, &err);
    *bytes = block.at;
    *len = err.status == OK ? block.len : 0;
    return tensor_end(s->tensor, &err, error);
}

void ckptdb_stream_close(ckptdb_stream *s)
{
    if (!s)
        return;
    close_stream(s);
    free(s);
}

enum ckptdb_status ckptdb_strings(const ckptdb_tensor *t,
                                  bool (*each)(void *, uint64_t, const void *, size_t),
                                  void *context, struct ckptdb_error *error)
{
    struct error err = {.offset = NO_OFFSET};
    struct reader *r = NULL;
    struct string_table *table = NULL;
    struct bytes s;
    if (t->stored.dtype.kind != DTYPE_STRING)
        error_set(&err, ERR_ARGUMENT, t->stored.checkpoint, NO_OFFSET,
                  "not a tensor of strings, but of %s", t->stored.dtype.name);
    else if (reader_open(&t->stored, NULL, &r, &err) == OK && reader_verify(r, &err) == OK)
        reader_strings(r, &table, &err);
    for (uint64_t i = 0; table && i < string_count(table); i++)
        if (string_at(table, i, &s, &err) != OK || !each(context, i, s.at, s.len))
            break;
    string_table_close(table);
    reader_close(r);
    return tensor_end(t, &err, error);
}

enum ckptdb_status ckptdb_npy_header(const char *dtype, const uint64_t *shape, unsigned rank,
                                     char **header, size_t *len, struct ckptdb_error *error)
{
    struct error err = {.offset = NO_OFFSET};
    struct text out = {0};
    struct dtype d;
    char descr[64];
    dtype_called(dtype, &d);
    *header = NULL;
    if (d.kind == DTYPE_STRING)
        error_set(&err, ERR_UNSUPPORTED, NULL, NO_OFFSET,
                  "strings are not written as .npy; --format json or text has them");
    else if (!npy_descr(&d, descr))
        error_set(&err, ERR_UNSUPPORTED, NULL, NO_OFFSET,
                  "NumPy has no dtype %s; choose another with --dtype", d.name);
    else if (rank > NPY_RANK_MAX)
        error_set(&err, ERR_UNSUPPORTED, NULL, NO_OFFSET, "NumPy has at most %d dimensions",
                  NPY_RANK_MAX);
    else if (!npy_header(&out, descr, shape, rank))
        error_memory(&err);
    if (err.status == OK) {
        *len = out.len;
        *header = text_steal(&out);
    }
    text_release(&out);
    return library_end(&err, error);
}
