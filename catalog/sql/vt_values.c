/*
 * vt_values.c - tensor_values(id [, start, count]): the elements of a tensor as rows of
 * position, idx, value. Reads files: DIRECTONLY.
 *
 * A value is an integer; a real (NaN is NULL); decimal digits as text for integers above 2^63 - 1;
 * JSON [re, im] for a complex number; TEXT for a string, or a BLOB if that is not UTF-8; or a BLOB
 * for raw bytes. Block types are dequantised.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "catalog/base/text.h"
#include "catalog/data/convert/convert.h"
#include "catalog/data/read/files.h"
#include "catalog/data/read/read.h"
#include "catalog/sql/extension.h"
#include "catalog/sql/fn_data.h"
#include "catalog/sql/rowid.h"
#include "catalog/sql/vtab.h"

#define BLOCK_ELEMENTS 4096 /* a multiple of the block size of every dtype */

enum { POSITION, IDX, VALUE, ID, START, COUNT };

static const char declaration[] =
    "CREATE TABLE x(position INTEGER, idx TEXT, value, of_tensor HIDDEN,"
    " from_position HIDDEN, at_most HIDDEN)";

struct values_cursor {
    struct vtab_cursor of; /* first; counts positions */
    struct arena arena;
    struct stored_tensor tensor;
    struct reader *reader;
    struct string_table *strings; /* for string tensors; otherwise the following */
    struct dtype dtype;           /* of the elements in `out` */
    struct converter converter;
    bool converts;
    bool all;                     /* the cursor covers the whole tensor */
    uint64_t block_at, block_len; /* positions in `out` */
    uint8_t *in, *out;            /* out == in if elements are not converted */
};

/* idxNum: a bit for each of id, start and count that is given; xFilter gets them in this order. A plan without id
 * is no error yet: for each side of an OR SQLite asks with its own terms alone. */
static int values_plan(sqlite3_vtab *t, sqlite3_index_info *info)
{
    (void)t;
    bool unusable = false;
    sql_pass(info, ID, 3, &unusable);
    if (unusable)
        return SQLITE_CONSTRAINT;
    info->estimatedCost = info->idxNum & 1 ? 1e6 : 1e30;
    info->estimatedRows = 1000000;
    info->orderByConsumed =
        info->nOrderBy == 1 && info->aOrderBy[0].iColumn == POSITION && !info->aOrderBy[0].desc;
    return SQLITE_OK;
}

static void values_empty(sqlite3_vtab_cursor *base)
{
    struct values_cursor *c = (struct values_cursor *)base;
    string_table_close(c->strings);
    reader_close(c->reader);
    if (c->out != c->in)
        free(c->out);
    free(c->in);
    arena_release(&c->arena);
    *c = (struct values_cursor){.of.base = c->of.base};
}

static int values_connect(sqlite3 *db, void *aux, int argc, const char *const *argv,
                          sqlite3_vtab **out, char **message)
{
    (void)argc, (void)argv, (void)message;
    const struct vtab t = {
        .db = db, .of = aux, .cursor = sizeof(struct values_cursor), .empty = values_empty};
    return vtab_make(&t, declaration, SQLITE_VTAB_DIRECTONLY, out);
}

/* Block types and 6-bit floats are read as float32. */
static enum status choose_dtype(struct values_cursor *c, struct error *err)
{
    const struct dtype *d = &c->tensor.dtype;
    uint64_t in = 0, out = 0;
    c->dtype = *d;
    c->converts = d->kind == DTYPE_BLOCK || (d->kind == DTYPE_FLOAT && d->bits == 6);
    if (c->converts) {
        dtype_find("float32", &c->dtype);
        if (converter_find(d, &c->dtype, &c->converter, err) != OK)
            return err->status;
    }
    if (!dtype_nbytes(d, BLOCK_ELEMENTS, &in) || !dtype_nbytes(&c->dtype, BLOCK_ELEMENTS, &out))
        return error_set(err, ERR_UNSUPPORTED, NULL, NO_OFFSET,
                         "elements of dtype %s have no values", d->name);
    c->in = malloc((size_t)in);
    c->out = c->converts ? malloc((size_t)out) : c->in;
    return c->in && c->out ? OK : error_memory(err);
}

/* Open the tensor; if it has no bytes there are no rows (c->of.end is 0). */
static enum status start(struct values_cursor *c, struct keeper *k, sqlite3_value *which,
                         struct error *err)
{
    struct lookup *l = keeper_lookup(k, err);
    if (!l || tensor_given(l, which, &c->arena, &c->tensor, err) != OK)
        return err->status;
    c->of.key = rowid_add(0, (uint64_t)c->tensor.id);
    if (!tensor_has_values(&c->tensor))
        return OK;
    enum status status = reader_open(&c->tensor, NULL, &c->reader, err);
    if (status == ERR_MISSING) {
        error_clear(err);
        return OK;
    }
    if (status == OK && c->tensor.dtype.kind == DTYPE_STRING)
        status = reader_strings(c->reader, &c->strings, err);
    else if (status == OK)
        status = choose_dtype(c, err);
    if (status == OK)
        c->of.end = c->tensor.elements;
    else
        tensor_error(&c->tensor, err);
    return status;
}

/* Limit the cursor to [start, start + count). For 10 elements, start 8 and count 5 give 8 and 9. */
static enum status values_vt_narrow(struct values_cursor *c, int given, sqlite3_value **argv,
                                    struct error *err)
{
    sqlite3_int64 from = 0, count = INT64_MAX;
    if (given & 2)
        from = sqlite3_value_int64(*argv++);
    if (given & 4 && sqlite3_value_type(*argv) != SQLITE_NULL)
        count = sqlite3_value_int64(*argv);
    if (from < 0 || count < 0)
        return error_set(err, ERR_ARGUMENT, NULL, NO_OFFSET,
                         "tensor_values: start and count cannot be negative");
    c->of.at = (uint64_t)from;
    if ((uint64_t)count < c->of.end && c->of.at < c->of.end - (uint64_t)count)
        c->of.end = c->of.at + (uint64_t)count;
    c->all = c->of.at == 0 && c->of.end == c->tensor.elements;
    return OK;
}

/* Read the block of elements that contains position c->of.at, unless it is in memory. */
static enum status values_vt_load(struct values_cursor *c, struct error *err)
{
    const struct dtype *d = &c->tensor.dtype;
    uint64_t block = d->block_elems ? d->block_elems : 1, begin, len;
    if (c->of.at >= c->of.end || (c->of.at >= c->block_at && c->of.at < c->block_at + c->block_len))
        return OK;
    uint64_t first = c->of.at - c->of.at % block, left = c->of.end - first;
    uint64_t count = left < BLOCK_ELEMENTS ? left : BLOCK_ELEMENTS;
    count += (block - count % block) % block; /* round up to whole blocks */
    if (count > c->tensor.elements - first)
        count = c->tensor.elements - first;
    c->block_len = 0;
    if (!dtype_nbytes(d, first, &begin) || !dtype_nbytes(d, count, &len))
        return error_set(err, ERR_CORRUPT, NULL, NO_OFFSET, "not whole blocks of %s", d->name);
    if (reader_read(c->reader, begin, c->in, (size_t)len, err) != OK ||
        (c->converts && converter_run(&c->converter, c->in, c->out, count, first, err) != OK))
        return err->status;
    c->block_at = first;
    c->block_len = count;
    return OK;
}

static int load_or_fail(struct values_cursor *c)
{
    struct error err = {.offset = NO_OFFSET};
    if (c->strings || values_vt_load(c, &err) == OK)
        return SQLITE_OK;
    tensor_error(&c->tensor, &err);
    return vtab_error(c->of.base.pVtab, &err);
}

static int values_filter(sqlite3_vtab_cursor *base, int given, const char *text, int argc,
                         sqlite3_value **argv)
{
    (void)text, (void)argc;
    struct values_cursor *c = (struct values_cursor *)base;
    struct error err = {.offset = NO_OFFSET};
    values_empty(base);
    if (!(given & 1))
        return vtab_refuse(base->pVtab, "tensor_values: which tensor? tensor_values(id)");
    if (sqlite3_value_type(argv[0]) == SQLITE_NULL)
        return SQLITE_OK;
    if (start(c, ((struct vtab *)base->pVtab)->of, argv[0], &err) != OK ||
        values_vt_narrow(c, given, argv + 1, &err) != OK)
        return vtab_error(base->pVtab, &err);
    return load_or_fail(c);
}

/* After the last element: check that the files did not change meanwhile, and if all elements
 * were read, their checksums. */
static int verify(struct values_cursor *c)
{
    struct error err = {.offset = NO_OFFSET};
    if (c->of.at < c->of.end || ((!c->all || reader_verify(c->reader, &err) == OK) &&
                                 tensor_files_as_indexed(&c->tensor, &err) == OK))
        return SQLITE_OK;
    tensor_error(&c->tensor, &err);
    return vtab_error(c->of.base.pVtab, &err);
}

static int values_next(sqlite3_vtab_cursor *base)
{
    struct values_cursor *c = (struct values_cursor *)base;
    c->of.at++;
    int rc = verify(c);
    return rc == SQLITE_OK ? load_or_fail(c) : rc;
}

/* The index in each dimension, from the position in C order: in shape [2,3], position 4 is
 * [1,1]. */
static void give_index(sqlite3_context *ctx, const struct values_cursor *c)
{
    const struct stored_tensor *t = &c->tensor;
    uint64_t index[TENSOR_RANK_MAX], rest = c->of.at;
    struct text json = {0};
    for (unsigned d = t->rank; d-- > 0;) {
        index[d] = rest % t->shape[d];
        rest /= t->shape[d];
    }
    shape_print(&json, index, t->rank);
    sql_result_text(ctx, &json);
}

static int give_string(sqlite3_context *ctx, struct values_cursor *c)
{
    struct error err = {.offset = NO_OFFSET};
    struct bytes s;
    if (string_at(c->strings, c->of.at, &s, &err) != OK) {
        tensor_error(&c->tensor, &err);
        return vtab_error(c->of.base.pVtab, &err);
    }
    if (utf8_valid((const char *)s.at, s.len) && !memchr(s.at, '\0', s.len))
        sqlite3_result_text64(ctx, (const char *)s.at, s.len, SQLITE_TRANSIENT, SQLITE_UTF8);
    else
        sqlite3_result_blob64(ctx, s.at, s.len, SQLITE_TRANSIENT);
    return SQLITE_OK;
}

/* "[1.0,-2.0]"; JSON has no NaN and no infinities. */
static void give_complex(sqlite3_context *ctx, const struct values_cursor *c, uint64_t index)
{
    char printed[128], json[sizeof("[null,null]") + sizeof(printed)];
    element_print(&c->dtype, c->out, index, printed, sizeof(printed));
    char *comma = strchr(printed, ',');
    if (!comma)
        return;
    *comma = '\0'; /* "NaN" and "Infinity" are recognised by their first letter */
    snprintf(json, sizeof(json), "[%s,%s", strpbrk(printed, "NI") ? "null" : printed + 1,
             strpbrk(comma + 1, "NI") ? "null]" : comma + 1);
    sqlite3_result_text(ctx, json, -1, SQLITE_TRANSIENT);
}

static void give_element(sqlite3_context *ctx, const struct values_cursor *c)
{
    struct element e;
    char digits[32];
    uint64_t index = c->of.at - c->block_at;
    switch (element_get(&c->dtype, c->out, index, &e)) {
    case ELEMENT_INTEGER: sqlite3_result_int64(ctx, e.integer); break;
    case ELEMENT_LARGE:
        snprintf(digits, sizeof(digits), "%llu", (unsigned long long)e.large);
        sqlite3_result_text(ctx, digits, -1, SQLITE_TRANSIENT);
        break;
    case ELEMENT_REAL: sqlite3_result_double(ctx, e.real); break;
    case ELEMENT_COMPLEX: give_complex(ctx, c, index); break;
    case ELEMENT_NONE:
        sqlite3_result_blob64(ctx, c->out + index * c->dtype.block_bytes, c->dtype.block_bytes,
                              SQLITE_TRANSIENT);
        break;
    }
}

static int values_column(sqlite3_vtab_cursor *base, sqlite3_context *ctx, int column)
{
    struct values_cursor *c = (struct values_cursor *)base;
    if (column == POSITION)
        sqlite3_result_int64(ctx, (sqlite3_int64)c->of.at);
    else if (column == IDX)
        give_index(ctx, c);
    else if (column == VALUE && c->strings)
        return give_string(ctx, c);
    else if (column == VALUE)
        give_element(ctx, c);
    else if (column == ID)
        sqlite3_result_int64(ctx, c->tensor.id);
    return SQLITE_OK;
}

static const sqlite3_module values_module = {
    VTAB_COUNTED,
    .xConnect = values_connect,
    .xBestIndex = values_plan,
    .xFilter = values_filter,
    .xNext = values_next,
    .xColumn = values_column,
};

int sql_register_values(sqlite3 *db, struct keeper *k)
{
    return sqlite3_create_module_v2(db, "tensor_values", &values_module, sql_hold(&k->shared),
                                    sql_drop);
}
