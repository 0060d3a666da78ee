/*
 * lookup.c - reads a tensor's rows of the catalog into a struct stored_tensor.
 *
 * A catalog may come from a stranger, so its rows are checked like the bytes of a file; the
 * reader checks the rest against the files themselves.
 */
#include <stdlib.h>
#include <string.h>

#include "catalog/base/text.h"
#include "catalog/data/compose/compose.h"
#include "catalog/db/checker.h"
#include "catalog/db/db.h"
#include "catalog/db/ids.h"

static const char find_tensor[] =
    "SELECT c.path, c.placed, t.name, t.dtype, t.shape, t.elements, t.nbytes,"
    " t.storage, t.file, t.start, t.stored, t.codec, t.strides, t.extents FROM _checkpoints c"
    " JOIN _layout_tensors t ON t.id = (c.layout" ID_FIRST ") + (?1" ID_ORD
    ") WHERE c.id = ?1" ID_OWNER;
enum { PATH, PLACED, NAME, DTYPE, SHAPE, ELEMENTS, NBYTES, PLACE };

/* The columns with a tensor's location, in both tables. */
enum { STORAGE, FILE_AT, START, STORED, CODEC, STRIDES, EXTENTS };

static const char find_name[] =
    "SELECT t.name FROM _checkpoints c JOIN _layout_tensors t ON t.id = (c.layout" ID_FIRST
    ") + (?1" ID_ORD ") WHERE c.id = ?1" ID_OWNER;

static const char find_placement[] =
    "SELECT storage, file, start, stored, codec, strides, extents FROM _placements WHERE id = ?1";

static const char find_file[] =
    "SELECT path, size, mtime_ns, inode, device, base FROM _files WHERE id = ?1";

static const char find_sums[] = "SELECT kind FROM _checksums WHERE id = ?1";

struct lookup {
    sqlite3 *db;
    sqlite3_stmt *tensor, *name, *placement, *file, *sums; /* NULL until first used */
    struct checker checker;
};

/* A tensor that is being read. */
struct finding {
    struct lookup *lookup;
    struct arena *arena;
    struct stored_tensor *t;
    struct error *err;
    uint64_t first_sum_plus_1; /* its index in the checkpoint's checksums; 0: none */
};

enum status lookup_open(sqlite3 *db, struct lookup **out, struct error *err)
{
    struct lookup *l = calloc(1, sizeof(*l));
    if (!l)
        return error_memory_at(err, "catalog");
    l->db = l->checker.db = db;
    *out = l;
    return OK;
}

void lookup_close(struct lookup *l)
{
    if (!l)
        return;
    checker_release(&l->checker);
    sqlite3_finalize(l->tensor);
    sqlite3_finalize(l->name);
    sqlite3_finalize(l->placement);
    sqlite3_finalize(l->file);
    sqlite3_finalize(l->sums);
    free(l);
}

static void damaged(struct finding *f, const char *what)
{
    error_set(f->err, ERR_CORRUPT, "catalog", NO_OFFSET,
              "the row of tensor %lld is damaged: its %s", (long long)f->t->id, what);
}

/* Prepare the statement on first use, bind `id` and step: 1: a row, 0: none, -1: an error. */
static int lookup_find(struct finding *f, sqlite3_stmt **s, const char *sql, sqlite3_int64 id)
{
    sqlite3 *db = f->lookup->db;
    int rc = *s ? SQLITE_OK : sqlite3_prepare_v3(db, sql, -1, SQLITE_PREPARE_PERSISTENT, s, NULL);
    if (rc == SQLITE_OK)
        rc = db_bind(*s, "i", (int64_t)id);
    if (rc == SQLITE_OK)
        rc = sqlite3_step(*s);
    if (rc == SQLITE_ROW || rc == SQLITE_DONE)
        return rc == SQLITE_ROW;
    db_error(db, "cannot look the tensor up", f->err);
    return -1;
}

/* Copy a text column; NULL if it is SQL NULL. */
static const char *lookup_keep_text(struct finding *f, sqlite3_stmt *s, int column)
{
    const void *text = sqlite3_column_text(s, column);
    if (!text && sqlite3_column_type(s, column) != SQLITE_NULL)
        arena_fail(f->arena);
    return text ? arena_copy(f->arena, text, (size_t)sqlite3_column_bytes(s, column)) : NULL;
}

static uint64_t lookup_number(sqlite3_stmt *s, int column)
{
    return (uint64_t)sqlite3_column_int64(s, column);
}

static const char *parse_signed(const char *at, int64_t *value)
{
    bool minus = *at == '-';
    uint64_t magnitude = 0;
    at += minus;
    if (*at < '0' || *at > '9')
        return NULL;
    for (; *at >= '0' && *at <= '9'; at++)
        if (!mul_u64(magnitude, 10, &magnitude) ||
            !add_u64(magnitude, (uint64_t)(*at - '0'), &magnitude) || magnitude > INT64_MAX)
            return NULL;
    *value = minus ? -(int64_t)magnitude : (int64_t)magnitude;
    return at;
}

/* Parse "[1,-3]", with exactly `rank` numbers. */
static void parse_strides(struct finding *f, const char *json)
{
    struct stored_tensor *t = f->t;
    t->strides = arena_array(f->arena, t->rank ? t->rank : 1, sizeof(*t->strides));
    if (!t->strides)
        return;
    const char *at = *json == '[' ? json + 1 : NULL;
    for (unsigned d = 0; at && d < t->rank; d++) {
        if (d && *at++ != ',')
            at = NULL;
        else
            at = parse_signed(at, &t->strides[d]);
    }
    if (!at || strcmp(at, "]") != 0)
        damaged(f, "strides");
}

static void take_extents(struct finding *f, sqlite3_stmt *s, int at)
{
    struct stored_tensor *t = f->t;
    size_t len = (size_t)sqlite3_column_bytes(s, at + EXTENTS);
    const void *blob = sqlite3_column_blob(s, at + EXTENTS);
    const char *packed = arena_copy(f->arena, blob, len);
    struct extent_list list;
    if (f->err->status != OK || extents_unpack((struct bytes){(const uint8_t *)packed, len},
                                               t->shape, t->rank, f->arena, &list, f->err) != OK)
        return;
    t->grid = list.grid;
    t->extents = list.at;
    t->extent_count = list.count;
    f->first_sum_plus_1 = list.first_sum_plus_1;
}

static void take_range(struct finding *f, sqlite3_stmt *s, int at)
{
    struct stored_tensor *t = f->t;
    uint64_t file = lookup_number(s, at + FILE_AT);
    t->extents = arena_alloc(f->arena, sizeof(*t->extents));
    if (!t->extents)
        return;
    bool none = sqlite3_column_type(s, at + FILE_AT) == SQLITE_NULL || file >= NO_FILE;
    t->extents[0] = (struct extent){
        .file = none ? NO_FILE : (uint32_t)file,
        .offset = lookup_number(s, at + START),
        .stored = lookup_number(s, at + STORED),
    };
    t->extent_count = 1;
    f->first_sum_plus_1 = (uint64_t)(t->id & TENSOR_ORD_MASK) + 1;
}

static void take_place(struct finding *f, sqlite3_stmt *s, int at)
{
    struct stored_tensor *t = f->t;
    const sqlite3_int64 storage = sqlite3_column_int64(s, at + STORAGE);
    if (storage < STORAGE_NONE || storage > STORAGE_INLINE) {
        damaged(f, "storage");
        return;
    }
    t->storage = (enum storage)storage;
    t->codec = lookup_keep_text(f, s, at + CODEC);
    const char *strides = lookup_keep_text(f, s, at + STRIDES);
    if (strides)
        parse_strides(f, strides);
    if (t->storage == STORAGE_RANGE)
        take_range(f, s, at);
    else if (t->storage != STORAGE_NONE)
        take_extents(f, s, at);
}

/* --- files ------------------------------------------------------------------------------ */

static int lookup_by_number(const void *a, const void *b)
{
    uint32_t x = *(const uint32_t *)a, y = *(const uint32_t *)b;
    return x < y ? -1 : x > y;
}

/* Step through the files that the tensor refers to: *at is 0 at first; NULL at the end. */
static uint32_t *next_file(struct stored_tensor *t, uint64_t *at)
{
    if (t->grid)
        return grid_next_file(t->grid, at);
    while (*at < t->extent_count && t->extents[*at].file == NO_FILE)
        ++*at;
    return *at < t->extent_count ? &t->extents[(*at)++].file : NULL;
}

/* The distinct files, sorted, and their number. */
static uint32_t *files_wanted(struct finding *f, uint32_t *count)
{
    struct stored_tensor *t = f->t;
    uint64_t most = t->grid ? 2 + t->grid->value_count : t->extent_count;
    uint32_t kept = 0, *list = arena_array(f->arena, most + 1, sizeof(*list));
    uint64_t n = 0, at = 0;
    for (uint32_t *file; list && (file = next_file(t, &at));)
        if (!n || list[n - 1] != *file)
            list[n++] = *file;
    if (n > 1)
        qsort(list, n, sizeof(*list), lookup_by_number);
    for (uint64_t i = 0; i < n; i++)
        if (!kept || list[kept - 1] != list[i])
            list[kept++] = list[i];
    *count = kept;
    return list;
}

/* *out stays as it is, without a path, if the checkpoint has no file of this position. */
static enum status take_file_if_any(struct finding *f, uint32_t position, struct stored_file *out)
{
    struct lookup *l = f->lookup;
    sqlite3_int64 checkpoint = f->t->id >> TENSOR_ORD_BITS;
    int found = position > TENSOR_ORD_MASK
                    ? 0
                    : lookup_find(f, &l->file, find_file,
                                  (checkpoint << TENSOR_ORD_BITS) + (sqlite3_int64)position);
    if (found > 0) {
        const bool known = sqlite3_column_type(l->file, 1) != SQLITE_NULL;
        out->path = lookup_keep_text(f, l->file, 0);
        out->position = position;
        out->present = out->checked = known;
        out->identity = db_identity(l->file, 1);
        out->base = lookup_number(l->file, 5);
    }
    sqlite3_reset(l->file);
    return f->err->status;
}

/* Whether a path is a directory of chunks inside the array's: "a/c/0/12" inside "a". */
static bool is_inside(const struct stored_file *file, const struct stored_file *array)
{
    size_t len = strlen(array->path);
    return strncmp(file->path, array->path, len) == 0 && file->path[len] == '/' &&
           !file->path[len + strspn(file->path + len, "c/0123456789")];
}

/* Append to the tensor's files the directories of chunks inside the array's, so that a chunk that
 * is new or replaced there is noticed. An import lists them after the metadata file. */
static void take_inside(struct finding *f, const struct stored_file *array, uint32_t position)
{
    struct stored_tensor *t = f->t;
    struct stored_file *files = (struct stored_file *)t->files;
    size_t count = t->file_count, space = count;
    struct stored_file next = {0};
    while (take_file_if_any(f, ++position, &next) == OK && next.path && is_inside(&next, array)) {
        *PUSH(f->arena, files, count, space) = next;
        next = (struct stored_file){0};
    }
    t->files = files;
    t->file_count = (uint32_t)count;
}

static bool run_was_there(const struct stored_tensor *t, uint32_t file, uint64_t offset,
                          uint64_t stored)
{
    uint64_t end;
    if (file == NO_FILE)
        return true;
    const struct stored_file *f = &t->files[file];
    return f->present && add_u64(offset, f->base, &end) && add_u64(end, stored, &end) &&
           end <= f->identity.size;
}

/* Whether all bytes were there when the tensor was indexed; if not, that was reported then. */
static bool bytes_were_there(const struct stored_tensor *t)
{
    if (t->grid) {
        const struct grid *g = t->grid;
        if (g->incomplete || (g->in_files && !t->files[g->directory].present))
            return false;
        for (uint64_t i = 0; i < g->value_count; i++)
            if (!grid_value_inline(&g->values[i]) &&
                !run_was_there(t, g->values[i].file, g->values[i].offset, g->values[i].stored))
                return false;
        return true;
    }
    for (uint64_t i = 0; i < t->extent_count; i++)
        if (!run_was_there(t, t->extents[i].file, t->extents[i].offset, t->extents[i].stored))
            return false;
    return true;
}

/* Read the rows of the files that are needed, and renumber extents and values by this shorter
 * list. */
static void take_files(struct finding *f)
{
    struct stored_tensor *t = f->t;
    uint32_t count;
    uint32_t *wanted = files_wanted(f, &count);
    struct stored_file *files = arena_array(f->arena, (size_t)count + 1, sizeof(*files));
    for (uint32_t i = 0; wanted && files && i < count && f->err->status == OK; i++)
        if (take_file_if_any(f, wanted[i], &files[i]) == OK && !files[i].path)
            damaged(f, "file");
    if (!wanted || !files || f->err->status != OK)
        return;
    uint64_t next = 0;
    for (uint32_t *file; (file = next_file(t, &next));) {
        const uint32_t *at = bsearch(file, wanted, count, sizeof(*wanted), lookup_by_number);
        *file = (uint32_t)(at - wanted);
    }
    t->files = files;
    t->file_count = count;
    if (t->storage != STORAGE_INLINE && !bytes_were_there(t))
        t->storage = STORAGE_NONE;
    if (count && t->grid && t->grid->in_files && t->grid->separator == '/')
        take_inside(f, &files[t->grid->directory], wanted[count - 1]);
}

/* --- checksums -------------------------------------------------------------------------- */

static void read_sums(struct finding *f, sqlite3_blob *blob)
{
    struct stored_tensor *t = f->t;
    uint64_t first = f->first_sum_plus_1 - 1, there = (uint64_t)sqlite3_blob_bytes(blob) / 4;
    if (first > there || t->extent_count > there - first) {
        damaged(f, "checksums");
        return;
    }
    uint8_t *bytes = arena_array(f->arena, t->extent_count + 1, 4);
    t->sums = arena_array(f->arena, t->extent_count + 1, sizeof(*t->sums));
    if (!bytes || !t->sums)
        return;
    if (sqlite3_blob_read(blob, bytes, (int)(t->extent_count * 4), (int)(first * 4)) != SQLITE_OK)
        db_error(f->lookup->db, "cannot read checksums", f->err);
    for (uint64_t i = 0; i < t->extent_count; i++)
        t->sums[i] = load_u32le(bytes + i * 4);
}

static void take_sums(struct finding *f)
{
    struct lookup *l = f->lookup;
    sqlite3_blob *blob = NULL;
    sqlite3_int64 checkpoint = f->t->id >> TENSOR_ORD_BITS;
    if (!f->first_sum_plus_1 || !f->t->extent_count)
        return;
    if (lookup_find(f, &l->sums, find_sums, checkpoint) > 0) {
        f->t->sum_kind = lookup_keep_text(f, l->sums, 0);
        if (sqlite3_blob_open(l->db, "main", "_checksums", "sums", checkpoint, 0, &blob) ==
            SQLITE_OK)
            read_sums(f, blob);
        else
            db_error(l->db, "cannot read checksums", f->err);
    }
    sqlite3_blob_close(blob);
    sqlite3_reset(l->sums);
}

/* ---------------------------------------------------------------------------------------- */

static void take_placement(struct finding *f)
{
    struct lookup *l = f->lookup;
    int found = lookup_find(f, &l->placement, find_placement, f->t->id);
    if (found == 0)
        damaged(f, "placement");
    if (found > 0)
        take_place(f, l->placement, 0);
    sqlite3_reset(l->placement);
}

enum status lookup_check(struct lookup *l, int64_t checkpoint, uint32_t first, uint32_t last,
                         struct error *err)
{
    return checker_look(&l->checker, checkpoint, first, last, err);
}

static bool lookup_holds(struct lookup *l, int64_t id, struct error *err)
{
    const uint32_t ord = (uint32_t)(id & TENSOR_ORD_MASK);
    return checker_look(&l->checker, id >> TENSOR_ORD_BITS, ord, ord, err) == OK;
}

enum status lookup_tensor(struct lookup *l, int64_t id, struct arena *arena,
                          struct stored_tensor *out, struct error *err)
{
    bool placed = false;
    struct stored_tensor tensor = {.id = id, .from_catalog = true};
    struct finding f = {.lookup = l, .arena = arena, .t = &tensor, .err = err};
    struct error *const before = arena->err;
    arena->err = err;
    int found = lookup_holds(l, id, err) ? lookup_find(&f, &l->tensor, find_tensor, id) : -1;
    if (found == 0)
        error_set(err, ERR_ARGUMENT, "catalog", NO_OFFSET, "there is no tensor %lld",
                  (long long)id);
    if (found > 0) {
        struct stored_tensor *t = f.t;
        t->checkpoint = lookup_keep_text(&f, l->tensor, PATH);
        t->name = lookup_keep_text(&f, l->tensor, NAME);
        const char *dtype = lookup_keep_text(&f, l->tensor, DTYPE),
                   *shape = lookup_keep_text(&f, l->tensor, SHAPE);
        placed = sqlite3_column_int(l->tensor, PLACED) != 0;
        dtype_find(dtype ? dtype : "?", &t->dtype);
        t->elements = lookup_number(l->tensor, ELEMENTS);
        t->nbytes = lookup_number(l->tensor, NBYTES);
        if (shape && !shape_parse(shape, f.arena, &t->shape, &t->rank))
            damaged(&f, "shape");
        else if (!placed)
            take_place(&f, l->tensor, PLACE);
    }
    sqlite3_reset(l->tensor);
    if (err->status == OK && placed)
        take_placement(&f);
    if (err->status == OK)
        take_files(&f);
    if (err->status == OK)
        take_sums(&f);
    arena->err = before;
    arena->failed = arena->failed && before; /* without one, the next look-up is a new one */
    if (err->status == OK)
        *out = tensor;
    else if (err->status == ERR_MEMORY)
        error_about(err, "catalog");
    return err->status;
}

static enum status load_part(void *lookup, int64_t id, struct arena *arena,
                             struct stored_tensor *out, struct error *err)
{
    return lookup_tensor(lookup, id, arena, out, err);
}

enum status lookup_composed(struct lookup *l, const char *recipe, struct arena *arena,
                            struct stored_tensor *out, struct error *err)
{
    const struct composer composer = {load_part, l};
    return compose(recipe, &composer, arena, out, err);
}

void lookup_name(struct lookup *l, int64_t id, struct text *out, bool *found, struct error *err)
{
    struct finding f = {.lookup = l, .err = err};
    int rows = lookup_holds(l, id, err) ? lookup_find(&f, &l->name, find_name, id) : -1;
    *found = rows > 0;
    if (*found &&
        !text_add(out, sqlite3_column_text(l->name, 0), (size_t)sqlite3_column_bytes(l->name, 0)))
        error_memory_at(f.err, "catalog");
    sqlite3_reset(l->name);
}
