#include "catalog/data/read/tensor_stream.h"

#include <stdlib.h>

#include "catalog/base/pages.h"
#include "catalog/data/read/files.h"

#define BLOCK_BYTES    ((size_t)256 << 10) /* stays in the cache until it is written */
#define BLOCK_MULTIPLE 1024                /* elements: whole blocks of any dtype */

struct tensor_stream {
    const struct stored_tensor *tensor;
    struct reader *reader;
    struct ckptdb_slice *slices; /* NULL: the whole tensor */
    struct dtype dtype;          /* of the output */
    struct converter converter;
    bool converts;
    uint64_t elements, at; /* in the slice; `at` is the next */
    uint64_t step;         /* elements per block of output */
    uint64_t nbytes;
    uint8_t *in, *out; /* out NULL: no conversion */
    /* A slice that cuts through quantised blocks is picked from runs of whole blocks: `run` holds
     * the current one, converted. */
    bool picks;
    uint8_t *run;
    uint64_t run_at, run_len; /* elements */
};

static enum status keep_slices(struct tensor_stream *s, const struct ckptdb_slice *slices,
                               struct error *err)
{
    const struct stored_tensor *t = s->tensor;
    s->elements = slices ? slice_elements(slices, t->rank) : t->elements;
    if (!slices)
        return OK;
    s->slices = calloc(t->rank + 1, sizeof(*slices));
    if (!s->slices)
        return error_memory_at(err, t->checkpoint);
    memcpy(s->slices, slices, t->rank * sizeof(*slices));
    return OK;
}

static enum status find_converter(struct tensor_stream *s, struct error *err)
{
    const struct stored_tensor *t = s->tensor;
    const unsigned last = t->rank - 1;
    const uint64_t row = !t->rank ? 1 : s->slices ? s->slices[last].count : t->shape[last];
    return converter_find(&t->dtype, &s->dtype, &s->converter, err) == OK
               ? converter_check_row(&t->dtype, &s->dtype, row, err)
               : err->status;
}

static enum status tensor_stream_make_room(struct tensor_stream *s, struct error *err)
{
    uint64_t in = 0, out = 0, wide;
    const struct dtype *from = &s->tensor->dtype;
    wide = from->block_bytes > s->dtype.block_bytes ? from->block_bytes : s->dtype.block_bytes;
    s->step = BLOCK_BYTES / wide / BLOCK_MULTIPLE * BLOCK_MULTIPLE;
    s->step = s->step ? s->step : BLOCK_MULTIPLE;
    s->picks = s->slices && s->converts && from->block_elems > 1 && s->dtype.block_elems == 1;
    s->step = s->step < s->elements || s->picks ? s->step : s->elements;
    if (!dtype_nbytes(from, s->step, &in) || !dtype_nbytes(&s->dtype, s->step, &out) ||
        !dtype_nbytes(&s->dtype, s->elements, &s->nbytes))
        return error_set(err, ERR_UNSUPPORTED, s->tensor->checkpoint, NO_OFFSET,
                         "%llu elements are not whole blocks of %s%s",
                         (unsigned long long)s->elements, from->name,
                         s->converts ? "" : "; --dtype float32 gives them as numbers");
    s->in = pages_alloc((size_t)in);
    s->out = s->converts ? pages_alloc((size_t)out) : NULL;
    s->run = s->picks ? pages_alloc((size_t)out) : NULL;
    return s->in && (s->out || !s->converts) && (s->run || !s->picks)
               ? OK
               : error_memory_at(err, s->tensor->checkpoint);
}

enum status tensor_stream_open(const struct stored_tensor *t, struct file_cache *files,
                               const struct ckptdb_slice *slices, const struct dtype *to,
                               struct tensor_stream **out, struct error *err)
{
    struct tensor_stream *s = calloc(1, sizeof(*s));
    if (!s)
        return error_memory_at(err, t->checkpoint);
    s->tensor = t;
    s->dtype = to ? *to : t->dtype;
    s->converts = strcmp(s->dtype.name, t->dtype.name) != 0;
    if (reader_open(t, files, &s->reader, err) != OK || keep_slices(s, slices, err) != OK)
        goto done;
    if (t->dtype.kind == DTYPE_STRING)
        error_set(err, ERR_UNSUPPORTED, t->checkpoint, NO_OFFSET,
                  "strings have no fixed size (tensor_values() gives them)");
    else if (!s->converts || find_converter(s, err) == OK)
        tensor_stream_make_room(s, err);

done:
    if (err->status == OK)
        *out = s;
    else
        tensor_stream_close(s);
    return err->status;
}

void tensor_stream_close(struct tensor_stream *s)
{
    if (!s)
        return;
    reader_close(s->reader);
    free(s->slices);
    free(s->in);
    free(s->out);
    free(s->run);
    free(s);
}

uint64_t tensor_stream_nbytes(const struct tensor_stream *s)
{
    return s->nbytes;
}

/* Load the run with element `position` of the tensor, and convert it. */
static void load_run(struct tensor_stream *s, uint64_t position, struct error *err)
{
    const struct stored_tensor *t = s->tensor;
    const uint64_t first = position - position % BLOCK_MULTIPLE, left = t->elements - first;
    /* As many elements as fit: a slice often goes on along the row. */
    const uint64_t count = left < s->step ? left : s->step;
    uint64_t begin = 0, nbytes = 0;
    if (position - s->run_at < s->run_len && position >= s->run_at)
        return;
    s->run_len = 0;
    dtype_nbytes(&t->dtype, first, &begin);
    if (!dtype_nbytes(&t->dtype, count, &nbytes)) {
        error_set(err, ERR_UNSUPPORTED, t->checkpoint, NO_OFFSET, "not whole blocks of %s",
                  t->dtype.name);
    } else if (reader_read(s->reader, begin, s->in, (size_t)nbytes, err) == OK &&
               converter_run(&s->converter, s->in, s->run, count, first, err) == OK) {
        s->run_at = first;
        s->run_len = count;
    }
}

static enum status pick_block(struct tensor_stream *s, uint64_t count, struct bytes *block,
                              struct error *err)
{
    const struct stored_tensor *t = s->tensor;
    const size_t width = s->dtype.block_bytes;
    for (uint64_t i = 0; i < count; i++) {
        const uint64_t at = slice_position(s->slices, t->shape, t->rank, s->at + i);
        load_run(s, at, err);
        if (err->status != OK)
            return err->status;
        memcpy(s->out + i * width, s->run + (at - s->run_at) * width, width);
    }
    *block = (struct bytes){s->out, (size_t)(count * width)};
    s->at += count;
    return OK;
}

enum status tensor_stream_next(struct tensor_stream *s, struct bytes *block, struct error *err)
{
    uint64_t left = s->elements - s->at, start = 0, nbytes = 0;
    uint64_t count = left < s->step ? left : s->step;
    *block = (struct bytes){s->in, 0};
    if (!count)
        return s->slices || reader_verify(s->reader, err) == OK
                   ? tensor_files_as_indexed(s->tensor, err)
                   : err->status;
    if (s->picks)
        return pick_block(s, count, block, err);
    dtype_nbytes(&s->tensor->dtype, s->at, &start);
    dtype_nbytes(&s->tensor->dtype, count, &nbytes);
    block->len = (size_t)nbytes;
    if (reader_borrow(s->reader, s->slices, start, s->in, block, err) != OK ||
        (s->converts && converter_run(&s->converter, block->at, s->out, count, s->at, err) != OK))
        return err->status;
    if (s->converts) {
        dtype_nbytes(&s->dtype, count, &nbytes);
        *block = (struct bytes){s->out, (size_t)nbytes};
    }
    s->at += count;
    return OK;
}

void tensor_stream_all(struct tensor_stream *s, void *to, struct error *err)
{
    struct bytes block = {to, (size_t)s->nbytes};
    uint8_t *at = to;
    if (!s->converts && reader_borrow(s->reader, s->slices, 0, to, &block, err) == OK) {
        if (block.at != to && block.len)
            memcpy(to, block.at, block.len);
        at += block.len;
        s->at = s->elements;
    }
    while (err->status == OK && tensor_stream_next(s, &block, err) == OK && block.len) {
        memcpy(at, block.at, block.len);
        at += block.len;
    }
}
