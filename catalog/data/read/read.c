/*
 * read.c - what every reader does, of whatever kind (reader.h).
 */
#include "catalog/data/read/read.h"

#include <stdlib.h>

#include "catalog/base/pages.h"
#include "catalog/data/codec/codec.h"
#include "catalog/data/codec/strings.h"
#include "catalog/data/read/reader.h"

#define READER(x) extern const struct reader_kind reader_kind_##x;
#include "catalog/data/read/readers.def"
#undef READER

static const struct reader_kind *const reader_kinds[] = {
#define READER(x) &reader_kind_##x,
#include "catalog/data/read/readers.def"
#undef READER
};
#define KINDS (sizeof(reader_kinds) / sizeof(reader_kinds[0]))

/* --- opening ---------------------------------------------------------------------------- */

static enum status check_kind(const struct stored_tensor *t, struct error *err)
{
    uint64_t elements, width;
    if (t->dtype.kind == DTYPE_STRING && t->storage != STORAGE_NONE) {
        if (!strings_width(t->codec, &width))
            return error_set(err, ERR_UNSUPPORTED, t->checkpoint, NO_OFFSET,
                             "strings in an unknown encoding");
    } else if (t->storage == STORAGE_NONE) {
        return error_set(err, ERR_UNSUPPORTED, t->checkpoint, NO_OFFSET,
                         "the tensor has no bytes to read");
    } else if (!dtype_sized(&t->dtype)) {
        return error_set(err, ERR_UNSUPPORTED, t->checkpoint, NO_OFFSET,
                         "elements of dtype %s cannot be read", t->dtype.name);
    }
    if (t->rank > TENSOR_RANK_MAX || !shape_elements(t->shape, t->rank, &elements) ||
        elements != t->elements)
        return error_set(err, ERR_CORRUPT, t->checkpoint, NO_OFFSET,
                         "the shape contradicts the number of elements");
    return OK;
}

/* Set the reader's unit, block and size. */
static enum status read_measure(struct reader *r, struct error *err)
{
    const struct stored_tensor *t = r->tensor;
    uint64_t width = t->dtype.block_bytes;
    bool fits = true;
    r->block = t->dtype.block_elems ? t->dtype.block_elems : 1;
    if (t->dtype.kind == DTYPE_STRING) {
        strings_width(t->codec, &width);
        fits = mul_u64(t->elements, width, &r->nbytes);
    } else {
        fits = dtype_nbytes(&t->dtype, t->elements, &r->nbytes);
    }
    if (!fits || width > INT64_MAX)
        return error_set(err, ERR_CORRUPT, t->checkpoint, NO_OFFSET, "the tensor's size overflows");
    r->unit = width ? (size_t)width : 1;
    r->shaped = width && (r->block == 1 || (t->rank && t->shape[t->rank - 1] % r->block == 0));
    return OK;
}

/* The first kind that takes the tensor; the last one takes what is left. */
static const struct reader_kind *kind_of(const struct stored_tensor *t)
{
    size_t i = 0;
    while (i + 1 < KINDS && !reader_kinds[i]->takes(t))
        i++;
    return reader_kinds[i];
}

enum status reader_open(const struct stored_tensor *t, struct file_cache *files,
                        struct reader **out, struct error *err)
{
    if (check_kind(t, err) != OK)
        return err->status;
    struct reader *r = calloc(1, sizeof(*r));
    if (!r)
        return error_memory_at(err, t->checkpoint);
    pthread_mutex_init(&r->units.lock, NULL);
    r->units.next = UINT64_MAX;
    r->tensor = t;
    r->files = files;
    if (read_measure(r, err) == OK)
        kind_of(t)->open(r, err);
    if (err->status == OK)
        *out = r;
    else
        reader_close(r);
    return err->status;
}

void reader_close(struct reader *r)
{
    if (!r)
        return;
    if (r->ops)
        r->ops->close(r);
    units_close(r);
    pthread_mutex_destroy(&r->units.lock);
    free(r);
}

bool reader_sequential(const struct reader *r)
{
    return r->sequential;
}

int reader_descriptor(struct reader *r, uint64_t *offset)
{
    return r->ops->descriptor ? r->ops->descriptor(r, offset) : -1;
}

uint64_t reader_memory(const struct reader *r)
{
    return r->ops->memory ? r->ops->memory(r) : 0;
}

/* --- reading ---------------------------------------------------------------------------- */

enum status reader_read_padded(struct reader *r, uint64_t start, void *dst, size_t len,
                               struct error *err)
{
    uint64_t end;
    if (!add_u64(start, len, &end) || end > r->nbytes)
        return error_set(err, ERR_ARGUMENT, r->tensor->checkpoint, NO_OFFSET,
                         "bytes %llu to %llu asked of a tensor of %llu bytes",
                         (unsigned long long)start, (unsigned long long)start + len,
                         (unsigned long long)r->nbytes);
    return len ? r->ops->read(r, NULL, start, dst, len, err) : OK;
}

static enum status refuse_strings(const struct reader *r, struct error *err)
{
    if (r->tensor->dtype.kind != DTYPE_STRING)
        return OK;
    return error_set(err, ERR_UNSUPPORTED, r->tensor->checkpoint, NO_OFFSET,
                     "strings have no fixed size");
}

enum status reader_read(struct reader *r, uint64_t start, void *dst, size_t len, struct error *err)
{
    return refuse_strings(r, err) == OK ? reader_read_padded(r, start, dst, len, err) : err->status;
}

/* Check the slices and convert them to units. */
static enum status slices_in_units(const struct reader *r, const struct ckptdb_slice *slices,
                                   struct ckptdb_slice *out, struct error *err)
{
    const struct stored_tensor *t = r->tensor;
    for (unsigned d = 0; d < t->rank; d++) {
        struct ckptdb_slice s = slices[d];
        uint64_t size = s.step < 0 ? -(uint64_t)s.step : (uint64_t)s.step, far = 0;
        bool fits = s.count <= 1 || mul_u64(s.count - 1, size, &far);
        if (s.count && (!fits || s.start >= t->shape[d] || (s.count > 1 && !s.step) ||
                        far > (s.step < 0 ? s.start : t->shape[d] - 1 - s.start)))
            return error_set(err, ERR_ARGUMENT, t->checkpoint, NO_OFFSET,
                             "the slice of dimension %u lies outside the tensor", d);
        if (d + 1 == t->rank && r->block > 1) {
            bool whole = s.start % r->block == 0 && s.count % r->block == 0 && s.step == 1;
            if (!whole || !r->shaped)
                return error_set(err, ERR_UNSUPPORTED, t->checkpoint, NO_OFFSET,
                                 "a slice of packed %s elements must take whole blocks of "
                                 "%llu along the last dimension",
                                 t->dtype.name, (unsigned long long)r->block);
            s.start /= r->block;
            s.count /= r->block;
        }
        out[d] = s;
    }
    return OK;
}

enum status reader_read_slice(struct reader *r, const struct ckptdb_slice *slices, uint64_t start,
                              void *dst, size_t len, struct error *err)
{
    struct ckptdb_slice in_units[TENSOR_RANK_MAX] = {{0}};
    return refuse_strings(r, err) == OK && slices_in_units(r, slices, in_units, err) == OK
               ? r->ops->read(r, in_units, start, dst, len, err)
               : err->status;
}

enum status reader_borrow(struct reader *r, const struct ckptdb_slice *slices, uint64_t start,
                          void *room, struct bytes *out, struct error *err)
{
    struct ckptdb_slice in_units[TENSOR_RANK_MAX] = {{0}};
    out->at = NULL;
    if (r->ops->lend && refuse_strings(r, err) == OK &&
        (!slices || slices_in_units(r, slices, in_units, err) == OK))
        out->at = r->ops->lend(r, slices ? in_units : NULL, start, out->len, err);
    if (err->status != OK || out->at)
        return err->status;
    out->at = room;
    return slices ? reader_read_slice(r, slices, start, room, out->len, err)
                  : reader_read(r, start, room, out->len, err);
}

uint64_t reader_from(struct reader *r, uint64_t start)
{
    return r->ops->from ? r->ops->from(r, start) : start;
}

enum status reader_verify(struct reader *r, struct error *err)
{
    return r->ops->verify ? r->ops->verify(r, err) : OK;
}

enum status tensor_as_stored(struct stored_tensor *t, struct arena *arena, struct error *err)
{
    uint64_t bits;
    const char *last = t->codec ? strrchr(t->codec, '|') : NULL;
    last = last ? last + 1 : t->codec;
    if (!last || strncmp(last, "unpack:", 7) != 0 || !codec_number(last + 7, &bits))
        return OK;
    size_t len = last == t->codec ? 0 : (size_t)(last - t->codec) - 1;
    t->codec = len ? arena_copy(arena, t->codec, len) : NULL;
    if (len && !t->codec)
        return error_memory_at(err, t->checkpoint);
    dtype_find("uint8", &t->dtype);
    t->nbytes = t->elements;
    return OK;
}

/* --- bytes of what is gathered from boxes -------------------------------------------------- */

/* Front to back, a tensor that is not stored in C order is gathered this many bytes at a time:
 * the larger a band, the longer the runs that are read from the file. */
#define BAND_BYTES ((uint64_t)16 << 20)

enum status units_open(struct reader *r, struct error *err)
{
    const struct stored_tensor *t = r->tensor;
    r->units.whole = calloc(t->rank + 1, sizeof(*r->units.whole));
    r->units.shape = calloc(t->rank + 1, sizeof(*r->units.shape));
    if (!r->units.whole || !r->units.shape)
        return error_memory_at(err, t->checkpoint);
    for (unsigned d = 0; d < t->rank; d++) {
        r->units.shape[d] = t->shape[d] / (d + 1 == t->rank ? r->block : 1);
        r->units.whole[d] = (struct ckptdb_slice){.count = r->units.shape[d], .step = 1};
    }
    return OK;
}

void units_close(struct reader *r)
{
    free(r->units.whole);
    free(r->units.shape);
    free(r->units.band);
}

/* Units of the whole tensor, by way of a band: called when reads follow one another. */
static enum status read_band(struct reader *r, uint64_t position, uint64_t count, uint8_t *dst,
                             struct error *err)
{
    uint64_t all = r->nbytes / r->unit, most = BAND_BYTES / r->unit;
    while (count) {
        if (position < r->units.band_at || position >= r->units.band_at + r->units.band_len) {
            r->units.band_at = position;
            r->units.band_len = 0;
            uint64_t len = all - position < most ? all - position : most;
            if (!r->units.band &&
                !(r->units.band = pages_alloc((all < most ? all : most) * r->unit)))
                return error_memory_at(err, r->tensor->checkpoint);
            if (r->ops->gather(r, NULL, position, len, r->units.band, err) != OK)
                return err->status;
            r->units.band_len = len;
        }
        uint64_t skip = position - r->units.band_at, n = r->units.band_len - skip;
        n = n < count ? n : count;
        memcpy(dst, r->units.band + skip * r->unit, n * r->unit);
        position += n;
        count -= n;
        dst += n * r->unit;
    }
    return OK;
}

/* Units of a slice, or (slices NULL) of the whole tensor. */
static enum status read_units(struct reader *r, const struct ckptdb_slice *slices,
                              uint64_t position, uint64_t count, uint8_t *dst, struct error *err)
{
    enum status status;
    if (!count)
        return OK;
    if (slices || !r->units.moves || r->unit > BAND_BYTES)
        return r->ops->gather(r, slices, position, count, dst, err);
    pthread_mutex_lock(&r->units.lock);
    bool goes_on = position == r->units.next;
    r->units.next = position + count;
    if (goes_on && count * r->unit < BAND_BYTES)
        status = read_band(r, position, count, dst, err);
    else
        status = r->ops->gather(r, NULL, position, count, dst, err);
    pthread_mutex_unlock(&r->units.lock);
    return status;
}

/* Read a part of one unit. */
static void read_inside(struct reader *r, const struct ckptdb_slice *slices, uint64_t start,
                        uint8_t *dst, size_t len, struct error *err)
{
    uint8_t *unit = malloc(r->unit);
    if (!unit)
        error_memory_at(err, r->tensor->checkpoint);
    else if (read_units(r, slices, start / r->unit, 1, unit, err) == OK)
        memcpy(dst, unit + start % r->unit, len);
    free(unit);
}

static enum status read_bytes(struct reader *r, const struct ckptdb_slice *slices, uint64_t start,
                              uint8_t *dst, size_t len, struct error *err)
{
    size_t within = start % r->unit;
    if (within) {
        size_t n = r->unit - within < len ? r->unit - within : len;
        read_inside(r, slices, start, dst, n, err);
        start += n;
        dst += n;
        len -= n;
    }
    uint64_t units = len / r->unit;
    size_t rest = len % r->unit;
    if (err->status == OK && read_units(r, slices, start / r->unit, units, dst, err) == OK && rest)
        read_inside(r, slices, start + units * r->unit, dst + units * r->unit, rest, err);
    return err->status;
}

enum status reader_past_end(const struct reader *r, uint64_t bytes, struct error *err)
{
    return error_set(err, ERR_ARGUMENT, r->tensor->checkpoint, NO_OFFSET,
                     "the slice has %llu bytes only", (unsigned long long)bytes);
}

enum status units_read(struct reader *r, const struct ckptdb_slice *slices, uint64_t start,
                       uint8_t *dst, size_t len, struct error *err)
{
    uint64_t end, bytes = r->unit; /* no more than the tensor has: no overflow */
    for (unsigned d = 0; slices && d < r->tensor->rank; d++)
        bytes *= slices[d].count;
    if (slices && (!add_u64(start, len, &end) || end > bytes))
        return reader_past_end(r, bytes, err);
    return len ? read_bytes(r, slices, start, dst, len, err) : OK;
}
