/*
 * write_layout.c - writes the rows that checkpoints share: layouts with their totals, and facts.
 * Rows are fed from memory (feed.h), and appended where that is possible.
 */
#include <nettle/sha2.h>
#include <string.h>

#include "catalog/base/text.h"
#include "catalog/data/model/checks.h"
#include "catalog/data/model/module_sums.h"
#include "catalog/data/model/packed_columns.h"
#include "catalog/db/alike.h"
#include "catalog/db/write/write_rows.h"

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

static void print_strides(struct text *out, const struct batch_tensor *t)
{
    for (unsigned d = 0; d < t->kind->rank; d++)
        text_addf(out, d ? ",%lld" : "[%lld", (long long)t->coding->strides[d]);
    text_adds(out, t->kind->rank ? "]" : "[]");
}

static void result_strides(sqlite3_context *context, const struct batch_tensor *t)
{
    struct text out = {0};
    if (!t->coding->strides)
        return;
    print_strides(&out, t);
    if (text_str(&out))
        sqlite3_result_text64(context, out.at, out.len, SQLITE_TRANSIENT, SQLITE_UTF8);
    else
        sqlite3_result_error_nomem(context);
    text_release(&out);
}

/* Columns: storage, file, start, stored, codec, strides, extents. */
static void placement_value(const struct batch_tensor *t, int column, sqlite3_context *context)
{
    if (column > 3 && !t->coding)
        return;
    switch (column) {
    case 0: sqlite3_result_int(context, t->storage); break;
    case 1: result_number(context, t->file != NO_FILE, t->file); break;
    case 2: result_number(context, t->storage == STORAGE_RANGE, t->offset); break;
    case 3: result_number(context, !t->stored_unknown, t->stored); break;
    case 4: result_string(context, t->coding->codec); break;
    case 5: result_strides(context, t); break;
    default:
        if (t->coding->extents.len)
            sqlite3_result_blob64(context, t->coding->extents.at, t->coding->extents.len,
                                  SQLITE_STATIC);
    }
}

/* Columns: dtype, shape, elements, nbytes. */
static void kind_value(const struct batch_kind *k, int column, sqlite3_context *context)
{
    if (column == 0)
        result_string(context, k->dtype_unknown ? NULL : k->dtype);
    else if (column == 1)
        result_string(context, k->shape_text);
    else if (column == 2)
        result_number(context, !k->shape_unknown, k->elements);
    else
        result_number(context, k->sized, k->nbytes);
}

static void kind_column(const struct feed *f, uint64_t row, int column, sqlite3_context *context)
{
    kind_value(((const struct batch_kind *const *)f->rows)[row], column, context);
}

static void tensor_column(const struct feed *f, uint64_t row, int column, sqlite3_context *context)
{
    const struct batch_tensor *t = (const struct batch_tensor *)f->rows + row;
    if (column == 0)
        sqlite3_result_text64(context, t->name, t->name_len, SQLITE_STATIC, SQLITE_UTF8);
    else if (column < 5)
        kind_value(t->kind, column - 1, context);
    else if (column == 5)
        result_number(context, t->module, t->module);
    else
        placement_value(t, column - 6, context);
}

static void placement_column(const struct feed *f, uint64_t row, int column,
                             sqlite3_context *context)
{
    placement_value((const struct batch_tensor *)f->rows + row, column, context);
}

static void node_column(const struct feed *f, uint64_t row, int column, sqlite3_context *context)
{
    const struct batch_node *n = (const struct batch_node *)f->rows + row;
    if (column < 2)
        result_string(context, column ? n->kind : n->name);
    else
        sqlite3_result_int64(context, (sqlite3_int64)n->position);
}

/* Columns: tensor, length, depth, tensors, parameters, nbytes. */
static void module_column(const struct feed *f, uint64_t row, int column, sqlite3_context *context)
{
    const struct batch_module *m = (const struct batch_module *)f->rows + row;
    const uint64_t values[] = {m->first, m->length, m->depth, m->tensors, m->parameters, m->nbytes};
    sqlite3_result_int64(context, (sqlite3_int64)values[column]);
}

/* Columns: dtype, tensors, parameters, nbytes. */
static void dtype_column(const struct feed *f, uint64_t row, int column, sqlite3_context *context)
{
    const struct batch_module *m = (const struct batch_module *)f->rows + row;
    if (column)
        module_column(f, row, column + 2, context);
    else if (m->len)
        sqlite3_result_text(context, m->module, (int)m->len, SQLITE_STATIC);
}

/* Columns: module, depth, tensors, parameters, nbytes. */
static void fold_column(const struct feed *f, uint64_t row, int column, sqlite3_context *context)
{
    const struct batch_fold *m = (const struct batch_fold *)f->rows + row;
    const uint64_t values[] = {m->depth, m->tensors, m->parameters, m->nbytes};
    if (column == 0)
        result_string(context, m->module);
    else
        sqlite3_result_int64(context, (sqlite3_int64)values[column - 1]);
}

/* Whether every tensor is a run of the first file, unencoded. */
static bool all_plain(const struct batch_layout *l)
{
    for (uint64_t i = 0; i < l->tensor_count; i++) {
        const struct batch_tensor *t = &l->tensors[i];
        if (t->storage != STORAGE_RANGE || t->file || t->coding)
            return false;
    }
    return true;
}

/* The texts that a tensor's row has, in the order of checks.h. `at` NULL: SQL NULL. */
static struct bytes check_text(const struct batch_tensor *t, int column)
{
    const struct batch_kind *k = t->kind;
    if (column == 0)
        return (struct bytes){(const uint8_t *)t->name, t->name_len};
    if (column == CHECK_COLUMNS - 1)
        return t->coding && t->coding->extents.len ? t->coding->extents : (struct bytes){0};
    const char *text = column == 2                            ? k->shape_text
                       : column == 1                          ? (k->dtype_unknown ? NULL : k->dtype)
                       : column == CHECK_NUMBERS && t->coding ? t->coding->codec
                                                              : NULL;
    return (struct bytes){(const uint8_t *)text, text ? strlen(text) : 0};
}

/* The same of its numbers. */
static int64_t check_number(const struct batch_tensor *t, int column)
{
    const struct batch_kind *k = t->kind;
    switch (column) {
    case 0: return k->shape_unknown ? NUMBER_NULL : (int64_t)k->elements;
    case 1: return k->sized ? (int64_t)k->nbytes : NUMBER_NULL;
    case 2: return t->stored_unknown ? NUMBER_NULL : (int64_t)t->stored;
    case 3: return t->storage;
    case 4: return t->file == NO_FILE ? NUMBER_NULL : t->file;
    default: return t->storage == STORAGE_RANGE ? (int64_t)t->offset : NUMBER_NULL;
    }
}

/* The checksum of a column of some tensors; `texts` is room for them. */
static uint32_t check_column(const struct batch_tensor *t, uint32_t count, int column,
                             struct text *texts)
{
    struct span spans[CHECK_TENSORS];
    int64_t numbers[CHECK_TENSORS];
    text_reset(texts);
    for (uint32_t i = 0; i < count; i++) {
        if (check_is_number(column)) {
            numbers[i] = check_number(&t[i], column - CHECK_TEXTS);
        } else if (column == CHECK_NUMBERS + 1 && t[i].coding && t[i].coding->strides) {
            struct text strides = {0};
            print_strides(&strides, &t[i]);
            texts->failed |= !text_str(&strides);
            check_add(texts, &spans[i], text_str(&strides), strides.len);
            text_release(&strides);
        } else {
            const struct bytes b = check_text(&t[i], column);
            check_add(texts, &spans[i], (const char *)b.at, b.len);
        }
    }
    return check_is_number(column) ? check_numbers(numbers, count)
                                   : check_texts(texts->at, texts->len, spans, count);
}

/* Write what is packed of a layout, if anything is, and release it. */
static void put_packed(struct writer *w, enum writer_statement_id statement, int64_t id,
                       struct text *packed, struct error *err)
{
    if (packed->failed)
        error_memory(err);
    else if (packed->len)
        write_row(w, err, statement, "ib", id,
                  (struct bytes){(const uint8_t *)packed->at, packed->len});
    text_release(packed);
}

static void put_checks(struct writer *w, const struct batch_layout *l, int64_t id,
                       struct error *err)
{
    struct text checks = {0}, room = {0};
    for (uint64_t at = 0; at < l->tensor_count; at += CHECK_TENSORS) {
        const uint64_t left = l->tensor_count - at;
        for (int c = 0; c < CHECK_COLUMNS; c++) {
            const uint32_t crc = check_column(
                &l->tensors[at], (uint32_t)(left < CHECK_TENSORS ? left : CHECK_TENSORS), c, &room);
            checks.failed |= room.failed; /* the next column resets it */
            text_add(&checks, (const char *)&crc, sizeof(crc));
        }
    }
    put_packed(w, PUT_CHECKS, id, &checks, err);
    text_release(&room);
}

/* Add the modules of a depth: those that have rows, and those that tensors describe. Returns how many. */
static uint64_t pack_depth(struct module_pack *pack, const struct batch_layout *l, uint32_t depth)
{
    uint64_t added = 0, at = 0;
    for (uint64_t i = 0; i < l->tensor_count; i++) {
        const struct batch_tensor *t = &l->tensors[i];
        const struct batch_kind *k = t->kind;
        for (; at < l->module_count && l->modules[at].first == i; at++) {
            const struct batch_module *m = &l->modules[at];
            if (m->depth != depth)
                continue;
            module_pack_add(pack, &(struct packed_module){
                                      m->first,
                                      m->length,
                                      depth,
                                      {m->tensors, (int64_t)m->parameters, (int64_t)m->nbytes}});
            added++;
        }
        if (!t->module || t->module_depth != depth)
            continue;
        module_pack_add(pack, &(struct packed_module){
                                  (uint32_t)i,
                                  t->module,
                                  depth,
                                  {1, k->counted ? (int64_t)k->elements : 0, (int64_t)k->nbytes}});
        added++;
    }
    return added;
}

static void put_module_sums(struct writer *w, const struct batch_layout *l, int64_t id,
                            struct error *err)
{
    struct module_pack pack = {0};
    struct text packed = {0};
    uint64_t left = l->module_count;
    for (uint64_t i = 0; i < l->tensor_count; i++)
        left += l->tensors[i].module != 0;
    for (uint32_t depth = 1; left; depth++)
        left -= pack_depth(&pack, l, depth);
    module_pack_end(&pack, &packed);
    put_packed(w, PUT_MODULE_SUMS, id, &packed, err);
}

/* The columns that many tensors have alike. */
static void put_columns(struct writer *w, const struct batch_layout *l, int64_t id,
                        struct error *err)
{
    struct column_pack pack = {0};
    struct text packed = {0};
    for (uint64_t i = 0; i < l->tensor_count; i++) {
        const struct batch_tensor *t = &l->tensors[i];
        const uint64_t key[] = {(uintptr_t)t->kind, t->storage, t->file};
        if (!column_pack_tensor(&pack, key, sizeof(key)))
            column_pack_row(&pack, &(struct packed_row){{check_text(t, 1), check_text(t, 2)},
                                                        {check_number(t, 0), check_number(t, 1),
                                                         check_number(t, 3), check_number(t, 4)}});
    }
    column_pack_end(&pack, &packed);
    put_packed(w, PUT_COLUMNS, id, &packed, err);
}

static void put_layout(struct writer *w, const struct batch_layout *l, int64_t id,
                       struct error *err)
{
    const int64_t base = (int64_t)((uint64_t)id << SHIFT), stored = (int64_t)l->stored;
    write_row(w, err, PUT_LAYOUT, "ibbiiip", id, digest_bytes(&l->logical),
              digest_bytes(&l->placement), (int64_t)l->tensor_count, (int64_t)l->parameters,
              (int64_t)l->nbytes, l->stored_unknown ? NULL : &stored);
    if (l->blocks.at)
        write_row(w, err, PUT_BLOCKS, "ib", id, l->blocks);
    put_checks(w, l, id, err);
    put_columns(w, l, id, err);
    put_module_sums(w, l, id, err);
    struct feed tensors = {l->tensor_count, tensor_column, l->tensors, base, 0};
    struct feed nodes = {l->node_count, node_column, l->nodes, base, 0};
    struct feed modules = {l->module_count, module_column, l->modules, base, 0};
    struct feed folds = {l->fold_count, fold_column, l->folds, base, 0};
    struct feed kinds = {l->kind_count, kind_column, l->kinds, base, 0};
    struct feed dtypes = {l->dtype_count, dtype_column, l->dtypes, base, 0};
    write_feed_behind(w, FEED_TENSORS, all_plain(l) ? MORE_PLAIN_TENSORS : MORE_TENSORS, tensors,
                      err);
    write_feed_behind(w, FEED_MODULES, MORE_MODULES, modules, err);
    write_feed_behind(w, FEED_FOLDS, MORE_FOLDS, folds, err);
    write_feed(w, FEED_NODES, nodes, err);
    write_feed(w, FEED_DTYPES, dtypes, err);
    write_feed(w, FEED_KINDS, kinds, err);
    const bool others = write_find(w, err, FIND_SUM, "i", (int64_t)l->sum) >= 0;
    if (write_row(w, err, PUT_ALIKE, "ii", id, (int64_t)l->sum) == OK && others)
        alike_settle(w->db, (int64_t)l->sum, err);
}

void write_layout(struct writer *w, const struct batch_layout *l, int64_t *id, bool *placed,
                  struct error *err)
{
    *id = write_find(w, err, FIND_LAYOUT, "b", digest_bytes(&l->logical));
    *placed =
        *id >= 0 && write_find(w, err, FIND_MOVED, "ib", *id, digest_bytes(&l->placement)) > 0;
    if (*id < 0 && err->status == OK) {
        *id = w->next_layout++;
        put_layout(w, l, *id, err);
    }
}

void write_placements(struct writer *w, const struct batch_layout *l, int64_t checkpoint,
                      struct error *err)
{
    struct feed rows = {l->tensor_count, placement_column, l->tensors,
                        (int64_t)((uint64_t)checkpoint << SHIFT), 0};
    write_feed(w, FEED_PLACEMENTS, rows, err);
}

/* --- metadata --------------------------------------------------------------------------- */

/* Sharing a shorter text would cost more than it saves. */
#define LONG_FACT_BYTES 1024

static bool is_long(const struct batch_meta *m)
{
    return m->type == FACT_TEXT && m->text_len >= LONG_FACT_BYTES;
}

static void fact_column(const struct feed *f, uint64_t row, int column, sqlite3_context *context)
{
    const struct batch_meta *m = (const struct batch_meta *)f->rows + row;
    if (column == 0)
        result_string(context, m->key);
    else if (m->type == FACT_TEXT && !is_long(m))
        sqlite3_result_text64(context, m->text, m->text_len, SQLITE_STATIC, SQLITE_UTF8);
    else if (m->type == FACT_INTEGER)
        sqlite3_result_int64(context, m->integer);
    else if (m->type == FACT_REAL)
        sqlite3_result_double(context, m->real);
}

/* Store the text of a long fact once for all checkpoints that state it. */
static void put_long_fact(struct writer *w, const struct batch_meta *m, int64_t fact,
                          struct error *err)
{
    struct sha256_ctx sha;
    struct layout_digest digest;
    sha256_init(&sha);
    sha256_update(&sha, m->text_len, (const uint8_t *)m->text);
    sha256_digest(&sha, sizeof(digest.at), digest.at);
    int64_t id = write_find(w, err, FIND_LONG_TEXT, "b", digest_bytes(&digest));
    if (id < 0 && write_row(w, err, PUT_LONG_TEXT, "bs", digest_bytes(&digest), m->text) == OK)
        id = sqlite3_last_insert_rowid(w->db);
    write_row(w, err, PUT_LONG_FACT, "ii", fact, id);
}

int64_t write_meta(struct writer *w, const struct batch *b, struct error *err)
{
    int64_t id = write_find(w, err, FIND_META, "b", digest_bytes(&b->meta_digest));
    if (id >= 0 || err->status != OK)
        return id;
    id = w->next_meta++;
    write_row(w, err, PUT_META, "ib", id, digest_bytes(&b->meta_digest));
    write_feed(
        w, FEED_FACTS,
        (struct feed){b->meta_count, fact_column, b->metas, (int64_t)((uint64_t)id << SHIFT), 0},
        err);
    for (uint64_t i = 0; i < b->meta_count && err->status == OK; i++)
        if (is_long(&b->metas[i]))
            put_long_fact(w, &b->metas[i], (int64_t)(((uint64_t)id << SHIFT) + i), err);
    return id;
}
