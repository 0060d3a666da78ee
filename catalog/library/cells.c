/*
 * cells.c - elements of a tensor or a slice as text, at any position.
 */
#include <stdlib.h>
#include <string.h>

#include "catalog/base/text.h"
#include "catalog/data/convert/convert.h"
#include "catalog/data/read/files.h"
#include "catalog/library/api_tensor.h"

#define MULTIPLE 1024 /* elements: whole blocks of any dtype */

struct ckptdb_cells {
    const struct stored_tensor *tensor;
    struct reader *reader;
    struct string_table *strings;      /* if it is a tensor of strings */
    const struct ckptdb_slice *slices; /* NULL: the whole tensor */
    /* Positions are in the tensor, not the slice, and whole blocks are read. */
    bool packed;
    uint64_t count, near;
    struct dtype dtype; /* of `out` */
    struct converter converter;
    uint64_t block_at, block_len; /* positions in `out` */
    uint8_t *in, *out;            /* out == in: no conversion */
    struct text spelled;          /* the last cell */
    const ckptdb_tensor *of;
};

/* Dtypes whose elements are not numbers that can be printed are shown as float32. */
static void choose_dtype(ckptdb_cells *c, const struct dtype *to)
{
    const struct dtype *own = &c->tensor->dtype;
    bool opaque = own->kind == DTYPE_BLOCK || (own->kind == DTYPE_FLOAT && own->bits == 6);
    c->dtype = to ? *to : *own;
    if (!to && opaque)
        dtype_find("float32", &c->dtype);
}

static enum status open_numbers(ckptdb_cells *c, const struct dtype *to, struct error *err)
{
    const struct dtype *own = &c->tensor->dtype;
    uint64_t in = 0, out = 0;
    choose_dtype(c, to);
    bool same = strcmp(c->dtype.name, own->name) == 0;
    if (!same && converter_find(own, &c->dtype, &c->converter, err) != OK)
        return err->status;
    c->packed = own->block_elems > 1;
    if (c->packed || c->dtype.block_elems > 1)
        c->near = (c->near + MULTIPLE - 1) / MULTIPLE * MULTIPLE;
    if ((!same && c->dtype.kind == DTYPE_BLOCK) || !dtype_nbytes(own, c->near, &in) ||
        !dtype_nbytes(&c->dtype, c->near, &out))
        return error_set(err, ERR_UNSUPPORTED, c->tensor->checkpoint, NO_OFFSET,
                         "elements of dtype %s have no values", c->dtype.name);
    c->in = malloc((size_t)in);
    c->out = same ? c->in : malloc((size_t)out);
    return c->in && c->out ? OK : error_memory_at(err, c->tensor->checkpoint);
}

static void open_cells(ckptdb_cells *c, const struct dtype *to, struct error *err)
{
    const struct stored_tensor *t = c->tensor;
    if (reader_open(t, NULL, &c->reader, err) != OK)
        return;
    if (t->dtype.kind != DTYPE_STRING)
        open_numbers(c, to, err);
    else if (!to || to->kind == DTYPE_STRING)
        reader_strings(c->reader, &c->strings, err);
    else
        error_set(err, ERR_UNSUPPORTED, t->checkpoint, NO_OFFSET,
                  "strings cannot be converted to %s", to->name);
}

enum ckptdb_status ckptdb_cells_open(const ckptdb_tensor *t, const struct ckptdb_slice *slices,
                                     const char *dtype, unsigned near, ckptdb_cells **out,
                                     struct ckptdb_error *error)
{
    struct error err = {.offset = NO_OFFSET};
    struct dtype room;
    const struct dtype *to = tensor_dtype(t, dtype, &room, &err);
    tensor_check_slices(t, slices, &err);
    ckptdb_cells *c = calloc(1, sizeof(*c));
    *out = NULL;
    if (!c)
        error_memory_at(&err, t->stored.checkpoint);
    if (c && err.status == OK) {
        c->of = t;
        c->tensor = &t->stored;
        c->slices = slices;
        c->near = near ? near : 1;
        c->count = slices ? slice_elements(slices, t->stored.rank) : t->stored.elements;
        open_cells(c, to, &err);
    }
    if (err.status == OK)
        *out = c;
    else
        ckptdb_cells_close(c);
    return tensor_end(t, &err, error);
}

void ckptdb_cells_close(ckptdb_cells *c)
{
    if (!c)
        return;
    string_table_close(c->strings);
    reader_close(c->reader);
    text_release(&c->spelled);
    if (c->out != c->in)
        free(c->out);
    free(c->in);
    free(c);
}

uint64_t ckptdb_cells_count(const ckptdb_cells *c)
{
    return c->count;
}

enum ckptdb_status ckptdb_cells_verify(ckptdb_cells *c, struct ckptdb_error *error)
{
    struct error err = {.offset = NO_OFFSET};
    reader_verify(c->reader, &err);
    return tensor_end(c->of, &err, error);
}

/* Load the elements around `position`. */
static enum status library_cells_load(ckptdb_cells *c, uint64_t position, struct error *err)
{
    const struct dtype *own = &c->tensor->dtype;
    uint64_t begin = 0, len = 0, all = c->packed ? c->tensor->elements : c->count;
    if (position >= c->block_at && position - c->block_at < c->block_len)
        return OK;
    uint64_t block = c->packed ? own->block_elems : 1;
    uint64_t first = position - position % block, left = all - first;
    uint64_t count = left < c->near ? left : c->near;
    c->block_len = 0;
    if (!dtype_nbytes(own, first, &begin) || !dtype_nbytes(own, count, &len))
        return error_set(err, ERR_UNSUPPORTED, c->tensor->checkpoint, NO_OFFSET,
                         "not whole blocks of %s", own->name);
    if (c->slices && !c->packed)
        reader_read_slice(c->reader, c->slices, begin, c->in, (size_t)len, err);
    else
        reader_read(c->reader, begin, c->in, (size_t)len, err);
    if (err->status != OK || tensor_files_as_indexed(c->tensor, err) != OK ||
        (c->out != c->in && converter_run(&c->converter, c->in, c->out, count, first, err) != OK))
        return err->status;
    c->block_at = first;
    c->block_len = count;
    return OK;
}

static void put_hex(struct text *out, struct bytes s)
{
    for (size_t i = 0; i < s.len; i++)
        text_addf(out, "%02x", s.at[i]);
}

static void put_csv_string(struct text *out, struct bytes s)
{
    const char *at = (const char *)s.at;
    bool plain = true;
    for (size_t i = 0; i < s.len; i++)
        plain = plain && !strchr("\",\r\n", at[i]);
    if (plain) {
        text_add(out, at, s.len);
        return;
    }
    text_addc(out, '"');
    for (size_t i = 0; i < s.len; i++)
        text_add(out, at[i] == '"' ? "\"\"" : &at[i], at[i] == '"' ? 2 : 1);
    text_addc(out, '"');
}

/* Words that are spelled as in Python, except in JSON, where the first three are null. */
static const struct {
    const char *json, *text;
} words[] = {
    {"NaN", "nan"},   {"Infinity", "inf"}, {"-Infinity", "-inf"},
    {"true", "True"}, {"false", "False"},
};

static const char *word_for(const char *token, enum ckptdb_spelling style)
{
    for (size_t i = 0; i < sizeof(words) / sizeof(words[0]); i++)
        if (strcmp(token, words[i].json) == 0)
            return style != CKPTDB_AS_JSON ? words[i].text : i < 3 ? "null" : token;
    return token;
}

/* Print "[1.0,-2.0]" so in JSON, otherwise as 1.0-2.0j. */
static void put_complex(struct text *out, char *token, enum ckptdb_spelling style)
{
    char *comma = strchr(token, ','), *end = strchr(token, ']');
    if (!comma || !end)
        return;
    *comma = *end = '\0';
    const char *real = word_for(token + 1, style);
    const char *imaginary = word_for(comma + 1, style);
    if (style == CKPTDB_AS_JSON)
        text_addf(out, "[%s,%s]", real, imaginary);
    else
        text_addf(out, "%s%s%sj", real, *imaginary == '-' ? "" : "+", imaginary);
}

static void put_number(const ckptdb_cells *c, uint64_t index, enum ckptdb_spelling style,
                       struct text *out)
{
    char token[128];
    const struct dtype *d = &c->dtype;
    if (d->kind == DTYPE_VOID) {
        struct bytes raw = {c->out + index * d->block_bytes, d->block_bytes};
        text_adds(out, style == CKPTDB_AS_JSON ? "\"" : "");
        put_hex(out, raw);
        text_adds(out, style == CKPTDB_AS_JSON ? "\"" : "");
        return;
    }
    element_print(d, c->out, index, token, sizeof(token));
    if (d->kind == DTYPE_COMPLEX)
        put_complex(out, token, style);
    else
        text_adds(out, word_for(token, style));
}

static void library_cells_put_cell(ckptdb_cells *c, uint64_t position, enum ckptdb_spelling style,
                                   struct error *err)
{
    struct bytes s;
    if (c->slices && (c->strings || c->packed)) /* from one in the slice to that in the tensor */
        position = slice_position(c->slices, c->tensor->shape, c->tensor->rank, position);
    if (!c->strings) {
        if (library_cells_load(c, position, err) == OK)
            put_number(c, position - c->block_at, style, &c->spelled);
    } else if (string_at(c->strings, position, &s, err) == OK) {
        struct text *out = &c->spelled;
        bool utf8 = utf8_valid((const char *)s.at, s.len);
        if (style == CKPTDB_AS_JSON && !utf8) {
            text_adds(out, "{\"hex\":\"");
            put_hex(out, s);
            text_adds(out, "\"}");
        } else if (style == CKPTDB_AS_CSV) {
            put_csv_string(out, s);
        } else if (utf8) {
            text_json(out, (const char *)s.at, s.len);
        } else {
            text_adds(out, "b\"");
            text_escape(out, (const char *)s.at, s.len);
            text_addc(out, '"');
        }
    }
}

enum ckptdb_status ckptdb_cell(ckptdb_cells *c, uint64_t position, enum ckptdb_spelling style,
                               const char **text, size_t *len, struct ckptdb_error *error)
{
    struct error err = {.offset = NO_OFFSET};
    text_reset(&c->spelled);
    if (position >= c->count)
        error_set(&err, ERR_ARGUMENT, NULL, NO_OFFSET, "there is no element %llu",
                  (unsigned long long)position);
    else
        library_cells_put_cell(c, position, style, &err);
    *text = text_str(&c->spelled);
    *len = c->spelled.len;
    if (err.status == OK && !*text)
        error_memory_at(&err, c->tensor->checkpoint);
    return tensor_end(c->of, &err, error);
}
