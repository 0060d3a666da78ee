/*
 * read_units.c - any bytes of a tensor or a slice, for readers that gather elements from boxes.
 *
 * They work in units: an element, or a block of packed elements along the last dimension.
 */
#include <stdlib.h>

#include "catalog/base/pages.h"
#include "catalog/data/read/reader.h"

/* Front to back, a tensor that is not stored in C order is gathered this many bytes at a time:
 * the larger a band, the longer the runs that are read from the file. */
#define BAND_BYTES ((uint64_t)16 << 20)

enum status units_open(struct reader *r, struct error *err)
{
    const struct stored_tensor *t = r->tensor;
    r->units.whole = calloc(t->rank + 1, sizeof(*r->units.whole));
    r->units.shape = calloc(t->rank + 1, sizeof(*r->units.shape));
    if (!r->units.whole || !r->units.shape)
        return reader_no_memory(t, err);
    for (unsigned d = 0; d < t->rank; d++) {
        r->units.shape[d] = t->shape[d] / (d + 1 == t->rank ? r->block : 1);
        r->units.whole[d] = (struct slice){.count = r->units.shape[d], .step = 1};
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
                return reader_no_memory(r->tensor, err);
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

static enum status read_units(struct reader *r, uint64_t position, uint64_t count, uint8_t *dst,
                              struct error *err)
{
    enum status status;
    if (!r->units.moves || r->unit > BAND_BYTES)
        return r->ops->gather(r, NULL, position, count, dst, err);
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

/* Units of a slice, or (slices NULL) of the whole tensor. */
static enum status read_units_read_part(struct reader *r, const struct slice *slices,
                                        uint64_t position, uint64_t count, uint8_t *dst,
                                        struct error *err)
{
    if (!count)
        return OK;
    if (slices)
        return r->ops->gather(r, slices, position, count, dst, err);
    return read_units(r, position, count, dst, err);
}

/* Read a part of one unit. */
static enum status read_inside(struct reader *r, const struct slice *slices, uint64_t start,
                               uint8_t *dst, size_t len, struct error *err)
{
    uint8_t *unit = malloc(r->unit);
    if (!unit)
        return reader_no_memory(r->tensor, err);
    if (read_units_read_part(r, slices, start / r->unit, 1, unit, err) == OK)
        memcpy(dst, unit + start % r->unit, len);
    free(unit);
    return err->status;
}

static enum status read_units_read_bytes(struct reader *r, const struct slice *slices,
                                         uint64_t start, uint8_t *dst, size_t len,
                                         struct error *err)
{
    size_t within = start % r->unit;
    if (within) {
        size_t n = r->unit - within < len ? r->unit - within : len;
        if (read_inside(r, slices, start, dst, n, err) != OK)
            return err->status;
        start += n;
        dst += n;
        len -= n;
    }
    uint64_t units = len / r->unit;
    size_t rest = len % r->unit;
    if (read_units_read_part(r, slices, start / r->unit, units, dst, err) != OK || !rest)
        return err->status;
    return read_inside(r, slices, start + units * r->unit, dst + units * r->unit, rest, err);
}

enum status reader_past_end(const struct reader *r, uint64_t bytes, struct error *err)
{
    return error_set(err, ERR_ARGUMENT, r->tensor->checkpoint, NO_OFFSET,
                     "the slice has %llu bytes only", (unsigned long long)bytes);
}

enum status units_read(struct reader *r, const struct slice *slices, uint64_t start, uint8_t *dst,
                       size_t len, struct error *err)
{
    uint64_t end, bytes = r->unit; /* no more than the tensor has: no overflow */
    for (unsigned d = 0; slices && d < r->tensor->rank; d++)
        bytes *= slices[d].count;
    if (slices && (!add_u64(start, len, &end) || end > bytes))
        return reader_past_end(r, bytes, err);
    return len ? read_units_read_bytes(r, slices, start, dst, len, err) : OK;
}
