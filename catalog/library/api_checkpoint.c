/*
 * api_checkpoint.c - all tensors of a checkpoint, looked up at once, and reads of those whose bytes lie in
 * a file as they are.
 */
#include <pthread.h>
#include <stdlib.h>

#include "catalog/base/strmap.h"
#include "catalog/base/text.h"
#include "catalog/data/read/files.h"
#include "catalog/db/ids.h"
#include "catalog/db/statement.h"
#include "catalog/library/library.h"

#define KEPT_OPEN 64 /* files; others are opened for each read */
#define SMALL                                                                                      \
    ((size_t)8 << 10) /* reads of at most this, one behind the other, are of bytes read ahead */
#define AHEAD ((size_t)64 << 10) /* bytes at once */

/* Where the elements of a plain tensor are. */
struct place {
    uint64_t start;
    uint32_t file; /* position in the checkpoint's; then in `files` */
};

struct held_file {
    struct stored_file is;
    uint32_t position;
    struct source *source; /* NULL: not open */
    uint64_t next;         /* where the last small read ended */
    uint64_t ahead_at;     /* `ahead_len` bytes from here are in `ahead` (NULL: no memory yet) */
    size_t ahead_len;
    uint8_t *ahead;
};

struct ckptdb_checkpoint {
    struct arena arena;
    const char *path;
    struct ckptdb_columns columns;
    struct place *places;
    struct held_file *files; /* by position */
    size_t file_count;
    pthread_mutex_t lock; /* guards `open`, and of files what is behind `position` */
    unsigned open;
};

/* --- looking up ---------------------------------------------------------------------------- */

struct kind {
    struct ckptdb_kind is; /* must be first */
    bool flat;             /* one run of exactly its elements, if it is as long and has no codec */
};

/* A checkpoint that is being looked up; lists in its arena, with their room. */
struct looking {
    ckptdb_checkpoint *of;
    int64_t id;
    int64_t layout;
    bool placed;
    bool sums; /* the file states checksums: reading verifies them, so nothing is plain */
    struct text names, key;
    struct strmap known; /* kinds by their key, from 1 */
    int64_t *ids;
    uint64_t *name_at;
    uint32_t *kind;
    bool *plain;
    const struct ckptdb_kind **kinds;
    size_t count, room; /* tensors */
    size_t kind_count, kind_space;
};

enum { ID, NAME, DTYPE, SHAPE, NBYTES, STORAGE, FILE_AT, START, STORED, CODED };

static const char find_checkpoint[] =
    "SELECT c.path, c.placed, c.layout, (SELECT count(*) FROM _layout_tensors t WHERE t.id BETWEEN"
    " c.layout" ID_FIRST "AND c.layout" ID_LAST "),"
    " EXISTS (SELECT 1 FROM _checksums WHERE id = ?1) FROM _checkpoints c WHERE c.id = ?1";

#define TENSORS(place)                                                                             \
    "SELECT t.id, t.name, t.dtype, t.shape, t.nbytes, " place ".storage, " place ".file, " place   \
    ".start, " place ".stored, coalesce(" place ".codec, " place                                   \
    ".strides) IS NOT NULL FROM _layout_tensors t"
#define OF_LAYOUT " WHERE t.id BETWEEN ?2" ID_FIRST "AND ?2" ID_LAST "ORDER BY t.id"

static const char find_tensors[] = TENSORS("t") OF_LAYOUT;
static const char find_placed[] =
    TENSORS("p") " LEFT JOIN _placements p ON p.id = (?1" ID_FIRST ") + (t.id" ID_ORD ")" OF_LAYOUT;

static const char find_files[] =
    "SELECT id" ID_ORD ", path, size, mtime_ns, inode, device, base FROM _files"
    " WHERE id BETWEEN ?1" ID_FIRST "AND (?1" ID_FIRST ") + ?2 ORDER BY id";

/* Whether elements of this kind are bytes that can be taken as they are, and as many as the row says. */
static bool kind_is_flat(const struct ckptdb_kind *k, sqlite3_int64 storage)
{
    struct dtype dtype;
    uint64_t nbytes;
    dtype_find(k->dtype, &dtype);
    return storage == STORAGE_RANGE && dtype.kind != DTYPE_STRING &&
           dtype_nbytes(&dtype, k->elements, &nbytes) && nbytes == k->nbytes;
}

/* The part of a tensor's row that other rows share. */
static const struct ckptdb_kind *new_kind(sqlite3_stmt *row, struct arena *arena, struct error *err)
{
    struct kind *made = arena_alloc(arena, sizeof(*made));
    struct ckptdb_kind *k = &made->is;
    const char *dtype = db_text(row, DTYPE), *shape = db_text(row, SHAPE);
    uint64_t *dimensions = NULL;
    if (!made)
        return list_scratch();
    if (shape && !shape_parse(shape, arena, &dimensions, &k->rank))
        error_set(err, ERR_CORRUPT, "catalog", NO_OFFSET, "a shape is none, or no memory");
    k->dtype = arena_copy(arena, dtype ? dtype : "?", strlen(dtype ? dtype : "?"));
    k->shape = dimensions;
    k->nbytes = (uint64_t)sqlite3_column_int64(row, NBYTES);
    k->storage = storage_name(sqlite3_column_int64(row, STORAGE));
    made->flat = k->shape && shape_elements(k->shape, k->rank, &k->elements) &&
                 kind_is_flat(k, sqlite3_column_int64(row, STORAGE));
    return k;
}

static uint32_t kind_of_row(struct looking *l, sqlite3_stmt *row, struct error *err)
{
    struct arena *arena = &l->of->arena;
    bool added;
    /* Elements follow from the shape. */
    const int64_t numbers[] = {sqlite3_column_int64(row, NBYTES),
                               sqlite3_column_int64(row, STORAGE)};
    text_reset(&l->key);
    text_add(&l->key, numbers, sizeof(numbers));
    for (int i = DTYPE; i <= SHAPE; i++) {
        const void *text = sqlite3_column_text(row, i);
        text_add(&l->key, text ? text : "?", text ? (size_t)sqlite3_column_bytes(row, i) + 1 : 1);
    }
    const char *kept = text_str(&l->key);
    if (!kept) {
        arena_fail(arena);
        return 0;
    }
    uint64_t *at = strmap_keep(&l->known, arena, kept, l->key.len, &kept, &added);
    if (added) {
        *PUSH(arena, l->kinds, l->kind_count, l->kind_space) = new_kind(row, arena, err);
        *at = l->kind_count - 1;
    }
    return (uint32_t)*at;
}

/* Whether the tensor is one run of a file: exactly its elements. */
static bool row_is_plain(const struct looking *l, sqlite3_stmt *row, const struct ckptdb_kind *k)
{
    const struct kind *kind = (const struct kind *)k;
    const sqlite3_int64 file = sqlite3_column_int64(row, FILE_AT);
    return kind->flat && !l->sums && sqlite3_column_type(row, FILE_AT) == SQLITE_INTEGER &&
           file >= 0 && file <= TENSOR_ORD_MASK && !sqlite3_column_int(row, CODED) &&
           (uint64_t)sqlite3_column_int64(row, STORED) == k->nbytes;
}

static void take_tensor(struct looking *l, sqlite3_stmt *row, struct error *err)
{
    const size_t n = l->count;
    const uint32_t kind = kind_of_row(l, row, err);
    if (err->status != OK || n == l->room)
        return;
    l->ids[n] = (l->id << TENSOR_ORD_BITS) + (sqlite3_column_int64(row, ID) & TENSOR_ORD_MASK);
    l->name_at[n] = l->names.len;
    l->kind[n] = kind;
    l->plain[n] = row_is_plain(l, row, l->kinds[kind]);
    if (l->plain[n])
        l->of->places[n] = (struct place){(uint64_t)sqlite3_column_int64(row, START),
                                          (uint32_t)sqlite3_column_int64(row, FILE_AT)};
    l->count++;
    if (!text_add(&l->names, sqlite3_column_text(row, NAME),
                  (size_t)sqlite3_column_bytes(row, NAME) + 1))
        arena_fail(&l->of->arena);
}

static int by_position(const void *position, const void *file)
{
    const uint32_t x = *(const uint32_t *)position, y = ((const struct held_file *)file)->position;
    return (x > y) - (x < y);
}

/* Look the files of plain tensors up. What did not lie in its file when that was indexed is not plain. */
static void take_files(struct looking *l, sqlite3 *db, struct error *err)
{
    ckptdb_checkpoint *c = l->of;
    int64_t last = -1;
    size_t space = 0;
    for (size_t i = 0; i < l->count; i++)
        if (l->plain[i] && c->places[i].file > last)
            last = c->places[i].file;
    sqlite3_stmt *row = db_query(db, err, find_files, "ii", l->id, last);
    while (db_row(row, NULL, err)) {
        struct held_file *f = PUSH(&c->arena, c->files, c->file_count, space);
        const char *path = db_text(row, 1);
        f->position = (uint32_t)sqlite3_column_int64(row, 0);
        f->is.path = arena_copy(&c->arena, path ? path : "", path ? strlen(path) : 0);
        f->is.present = f->is.checked = sqlite3_column_type(row, 2) != SQLITE_NULL;
        f->is.identity = db_identity(row, 2);
        f->is.base = (uint64_t)sqlite3_column_int64(row, 6);
    }
    sqlite3_finalize(row);
    for (size_t i = 0; err->status == OK && i < l->count; i++) {
        struct place *p = &c->places[i];
        const struct held_file *f =
            l->plain[i] && c->file_count
                ? bsearch(&p->file, c->files, c->file_count, sizeof(*f), by_position)
                : NULL;
        uint64_t end;
        l->plain[i] = f && f->is.present && add_u64(p->start, f->is.base, &p->start) &&
                      add_u64(p->start, l->kinds[l->kind[i]]->nbytes, &end) &&
                      end <= f->is.identity.size;
        p->file = l->plain[i] ? (uint32_t)(f - c->files) : 0;
    }
}

/* Make room for as many tensors as the checkpoint has. */
static void look_at_checkpoint(struct looking *l, sqlite3 *db, struct error *err)
{
    struct arena *arena = &l->of->arena;
    sqlite3_stmt *row = db_query(db, err, find_checkpoint, "i", l->id);
    if (db_row(row, NULL, err)) {
        l->of->path = arena_copy(arena, db_text(row, 0), (size_t)sqlite3_column_bytes(row, 0));
        l->placed = sqlite3_column_int(row, 1) != 0;
        l->layout = sqlite3_column_int64(row, 2);
        l->room = (size_t)sqlite3_column_int64(row, 3);
        l->sums = sqlite3_column_int(row, 4) != 0;
        l->ids = arena_array(arena, l->room + 1, sizeof(*l->ids));
        l->name_at = arena_array(arena, l->room + 1, sizeof(*l->name_at));
        l->kind = arena_array(arena, l->room + 1, sizeof(*l->kind));
        l->plain = arena_array(arena, l->room + 1, sizeof(*l->plain));
        l->of->places = arena_array(arena, l->room + 1, sizeof(*l->of->places));
    } else {
        error_set(err, ERR_MISSING, NULL, NO_OFFSET, "there is no checkpoint %lld",
                  (long long)l->id);
    }
    sqlite3_finalize(row);
}

static void look_up(struct looking *l, ckptdb *db, struct error *err)
{
    look_at_checkpoint(l, db->db, err);
    sqlite3_stmt *row =
        db_query(db->db, err, l->placed ? find_placed : find_tensors, "ii", l->id, l->layout);
    while (db_row(row, NULL, err))
        take_tensor(l, row, err);
    sqlite3_finalize(row);
    if (err->status == OK && l->count)
        lookup_check(db->lookup, l->id, 0, (uint32_t)(l->ids[l->count - 1] & TENSOR_ORD_MASK), err);
    if (err->status == OK)
        take_files(l, db->db, err);
    l->of->columns = (struct ckptdb_columns){
        .count = l->count,
        .id = l->ids,
        .names = text_keep(&l->names, &l->of->arena),
        .names_size = l->names.len,
        .name_at = l->name_at,
        .kind = l->kind,
        .plain = l->plain,
        .kinds = l->kinds,
        .kind_count = l->kind_count,
    };
}

enum ckptdb_status ckptdb_checkpoint_open(ckptdb *db, int64_t checkpoint, ckptdb_checkpoint **out,
                                          struct ckptdb_error *error)
{
    struct error err = {.offset = NO_OFFSET};
    ckptdb_checkpoint *c = calloc(1, sizeof(*c));
    struct looking l = {.of = c, .id = checkpoint, .known = {.err = &err}};
    *out = NULL;
    if (!c) {
        error_memory(&err);
        return library_end(&err, error);
    }
    c->arena.err = &err;
    pthread_mutex_init(&c->lock, NULL);
    /* All rows are of one state of the catalog. Nothing is written, so the end cannot fail. */
    const bool alone = sqlite3_get_autocommit(db->db);
    if ((db->lookup || lookup_open(db->db, &db->lookup, &err) == OK) &&
        (!alone || db_exec(db->db, "SAVEPOINT look", &err) == OK)) {
        look_up(&l, db, &err);
        if (alone)
            sqlite3_exec(db->db, "RELEASE look", NULL, NULL, NULL);
    }
    strmap_release(&l.known);
    text_release(&l.names);
    text_release(&l.key);
    c->arena.err = NULL;
    if (err.status == OK)
        *out = c;
    else
        ckptdb_checkpoint_close(c);
    return library_end(&err, error);
}

void ckptdb_checkpoint_close(ckptdb_checkpoint *c)
{
    if (!c)
        return;
    for (size_t i = 0; i < c->file_count; i++) {
        source_close(c->files[i].source);
        free(c->files[i].ahead);
    }
    pthread_mutex_destroy(&c->lock);
    arena_release(&c->arena);
    free(c);
}

const struct ckptdb_columns *ckptdb_checkpoint_columns(const ckptdb_checkpoint *c)
{
    return &c->columns;
}

/* --- reading ------------------------------------------------------------------------------- */

/* The open file; the caller's to close if it is not kept in `f`. */
static struct source *take_source(ckptdb_checkpoint *c, struct held_file *f, struct error *err)
{
    pthread_mutex_lock(&c->lock);
    struct source *s = f->source;
    if (!s && file_open_indexed(&f->is, &s, err) == OK && c->open < KEPT_OPEN) {
        f->source = s;
        c->open++;
    }
    pthread_mutex_unlock(&c->lock);
    return s;
}

/* A read from the bytes read ahead. False: read it by itself, which also reports errors. */
static bool read_held(ckptdb_checkpoint *c, struct held_file *f, uint64_t at, void *buffer,
                      uint64_t size)
{
    pthread_mutex_lock(&c->lock);
    const bool held = f->ahead && at >= f->ahead_at && at + size <= f->ahead_at + f->ahead_len;
    if (held) {
        memcpy(buffer, f->ahead + (at - f->ahead_at), (size_t)size);
        f->next = at + size;
    }
    pthread_mutex_unlock(&c->lock);
    return held && source_same(f->source, &f->is.identity);
}

/* Read ahead if a small read follows the last one; between tensors may be some bytes. */
static bool read_ahead(ckptdb_checkpoint *c, struct held_file *f, uint64_t at, uint64_t size)
{
    struct error ignored = {.offset = NO_OFFSET};
    pthread_mutex_lock(&c->lock);
    const bool follows = at >= f->next && at - f->next < SMALL;
    f->next = at + size;
    if (follows && (f->ahead || (f->ahead = malloc(AHEAD)))) {
        const uint64_t left = f->is.identity.size - at, most = left < AHEAD ? left : AHEAD;
        f->ahead_at = at;
        f->ahead_len = (size_t)most;
        if (source_read(f->source, at, f->ahead, f->ahead_len, &ignored) != OK)
            f->ahead_len = 0;
    }
    pthread_mutex_unlock(&c->lock);
    return follows;
}

static void read_itself(const struct held_file *f, const struct source *s, uint64_t at,
                        void *buffer, uint64_t size, struct error *err)
{
    source_read(s, at, buffer, (size_t)size, err);
    if (source_same(s, &f->is.identity))
        return;
    error_clear(err);
    if (file_open_indexed(&f->is, NULL, err) == OK)
        error_set(err, ERR_CHANGED, f->is.path, NO_OFFSET,
                  "was replaced while it was read; import it again");
}

enum ckptdb_status ckptdb_checkpoint_read(ckptdb_checkpoint *c, size_t tensor, uint64_t from,
                                          void *buffer, uint64_t size, struct ckptdb_error *error)
{
    const struct ckptdb_columns *in = &c->columns;
    const bool plain = tensor < in->count && in->plain[tensor];
    const uint64_t nbytes = plain ? in->kinds[in->kind[tensor]]->nbytes : 0;
    const bool within = plain && from <= nbytes && size <= nbytes - from;
    struct held_file *f = within ? &c->files[c->places[tensor].file] : NULL;
    const uint64_t at = within ? c->places[tensor].start + from : 0;
    if (within && read_held(c, f, at, buffer, size))
        return CKPTDB_OK; /* thousands are read so: no more is done than is needed */
    struct error err = {.offset = NO_OFFSET};
    if (!within) {
        error_set(&err, ERR_ARGUMENT, c->path, NO_OFFSET,
                  "no bytes of a tensor that is stored as it is");
        return library_end(&err, error);
    }
    struct source *s = take_source(c, f, &err);
    const bool ahead = s && s == f->source && size <= SMALL && read_ahead(c, f, at, size);
    if (s && !(ahead && read_held(c, f, at, buffer, size)))
        read_itself(f, s, at, buffer, size, &err);
    if (s != f->source)
        source_close(s);
    if (err.status != OK)
        error_prefix(&err, in->names + in->name_at[tensor]);
    return library_end(&err, error);
}
