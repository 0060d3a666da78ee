#include "catalog/data/model/slice.h"

#include <string.h>

#include "catalog/base/bits.h"
#include "catalog/base/text.h"

enum part_kind { PART_INDEX, PART_SLICE, PART_ELLIPSIS };

/* The text between two commas. Numbers keep their sign; those beyond int64_t are clamped to its
 * ends, which changes nothing, since bounds are then clamped to the dimension as in Python. */
struct part {
    enum part_kind kind;
    bool has_start, has_stop;
    int64_t start, stop, step;
};

static enum status bad_slice(const char *text, const char *why, struct error *err)
{
    return error_set(err, ERR_ARGUMENT, NULL, NO_OFFSET, "slice \"%.100s\": %s", text, why);
}

static void skip_blanks(const char **at)
{
    while (**at == ' ' || **at == '\t')
        ++*at;
}

/* An optional sign and digits; false where there is no number. */
static bool slice_take_number(const char **at, int64_t *value)
{
    const char *c = *at;
    bool minus = *c == '-';
    if (*c == '-' || *c == '+')
        c++;
    if (*c < '0' || *c > '9')
        return false;
    uint64_t magnitude = 0;
    for (; *c >= '0' && *c <= '9'; c++)
        if (!mul_u64(magnitude, 10, &magnitude) ||
            !add_u64(magnitude, (uint64_t)(*c - '0'), &magnitude) || magnitude > INT64_MAX)
            magnitude = INT64_MAX;
    *value = minus ? -(int64_t)magnitude : (int64_t)magnitude;
    *at = c;
    skip_blanks(at);
    return true;
}

static bool take_char(const char **at, char c)
{
    if (**at != c)
        return false;
    ++*at;
    skip_blanks(at);
    return true;
}

/* Parse one part, and leave *at at its comma or at the end. Returns what is wrong with it, or
 * NULL. */
static const char *slice_take_part(const char **at, struct part *p)
{
    *p = (struct part){.kind = PART_SLICE, .step = 1};
    skip_blanks(at);
    if (strncmp(*at, "...", 3) == 0) {
        p->kind = PART_ELLIPSIS;
        *at += 3;
        skip_blanks(at);
        return NULL;
    }
    p->has_start = slice_take_number(at, &p->start);
    if (!take_char(at, ':')) {
        p->kind = PART_INDEX;
        return p->has_start ? NULL : "expected a number, a:b:c or ... between commas";
    }
    p->has_stop = slice_take_number(at, &p->stop);
    if (take_char(at, ':') && slice_take_number(at, &p->step) && p->step == 0)
        return "a step cannot be zero";
    return NULL;
}

/* Resolve a bound, which counts from the end if it is negative, and clamp it to [low, high]. */
static int64_t clamp(int64_t bound, int64_t n, int64_t low, int64_t high)
{
    int64_t at = bound < 0 ? bound + n : bound;
    return at < low ? low : at > high ? high : at;
}

/* As Python's slice.indices(): "8:2:-3" of 10 elements selects 8, 5: start 8, count 2, step -3. */
static struct ckptdb_slice resolve_slice(const struct part *p, uint64_t size)
{
    int64_t n = size > INT64_MAX ? INT64_MAX : (int64_t)size;
    bool back = p->step < 0;
    int64_t low = back ? -1 : 0, high = back ? n - 1 : n;
    int64_t start = p->has_start ? clamp(p->start, n, low, high) : back ? high : low;
    int64_t stop = p->has_stop ? clamp(p->stop, n, low, high) : back ? low : high;
    uint64_t step = back ? -(uint64_t)p->step : (uint64_t)p->step;
    int64_t ahead = back ? start - stop : stop - start;
    uint64_t distance = ahead > 0 ? (uint64_t)ahead : 0;
    uint64_t count = distance / step + (distance % step != 0);
    return (struct ckptdb_slice){count ? (uint64_t)start : 0, count, p->step};
}

static enum status resolve(const char *text, const struct part *p, unsigned axis, uint64_t size,
                           struct ckptdb_slice *out, struct error *err)
{
    if (p->kind == PART_SLICE) {
        *out = resolve_slice(p, size);
        return OK;
    }
    int64_t n = size > INT64_MAX ? INT64_MAX : (int64_t)size;
    int64_t index = p->start < 0 ? p->start + n : p->start;
    if (index < 0 || index >= n)
        return error_set(err, ERR_ARGUMENT, NULL, NO_OFFSET,
                         "slice \"%.100s\": index %lld is out of bounds for axis %u of size %llu",
                         text, (long long)p->start, axis, (unsigned long long)size);
    *out = (struct ckptdb_slice){(uint64_t)index, 1, 1};
    return OK;
}

/* Check all parts, and count those that are not an ellipsis. */
static enum status count_parts(const char *text, unsigned *count, bool *ellipsis, struct error *err)
{
    const char *at = text;
    *count = 0;
    *ellipsis = false;
    skip_blanks(&at);
    while (*at) {
        struct part p;
        const char *wrong = slice_take_part(&at, &p);
        if (wrong)
            return bad_slice(text, wrong, err);
        if (p.kind == PART_ELLIPSIS && *ellipsis)
            return bad_slice(text, "there can be only one ...", err);
        *ellipsis = *ellipsis || p.kind == PART_ELLIPSIS;
        *count += p.kind != PART_ELLIPSIS;
        if (*at && !take_char(&at, ','))
            return bad_slice(text, "expected a number, a:b:c or ... between commas", err);
    }
    return OK;
}

enum status slice_parse(const char *text, const uint64_t *shape, unsigned rank,
                        struct ckptdb_slice *slices, bool *drop, struct error *err)
{
    unsigned count, axis = 0;
    bool ellipsis;
    if (count_parts(text, &count, &ellipsis, err) != OK)
        return err->status;
    if (count > rank)
        return error_set(err, ERR_ARGUMENT, NULL, NO_OFFSET,
                         "slice \"%.100s\": %u indexes for %u dimensions", text, count, rank);
    for (unsigned d = 0; d < rank; d++) {
        slices[d] = (struct ckptdb_slice){0, shape[d], 1};
        drop[d] = false;
    }
    const char *at = text;
    skip_blanks(&at);
    while (*at) {
        struct part p;
        slice_take_part(&at, &p);
        take_char(&at, ',');
        if (p.kind == PART_ELLIPSIS) {
            axis = rank - (count - axis);
            continue;
        }
        if (resolve(text, &p, axis, shape[axis], &slices[axis], err) != OK)
            return err->status;
        drop[axis++] = p.kind == PART_INDEX;
    }
    return OK;
}

uint64_t slice_clip(uint64_t start, int64_t step, uint64_t n, uint64_t low, uint64_t high,
                    uint64_t *skip)
{
    uint64_t size = step < 0 ? -(uint64_t)step : (uint64_t)step;
    uint64_t before, after; /* distances along the slice to where the range begins and ends */
    if (step < 0) {
        before = start > high ? start - high : 0;
        after = start - low;
        if (start < low)
            return 0;
    } else {
        before = start < low ? low - start : 0;
        after = high - start;
        if (start > high)
            return 0;
    }
    *skip = before / size + (before % size != 0);
    uint64_t end = after / size + 1;
    end = end < n ? end : n;
    return *skip < end ? end - *skip : 0;
}

uint64_t slice_elements(const struct ckptdb_slice *slices, unsigned rank)
{
    uint64_t elements = 1;
    for (unsigned d = 0; d < rank; d++)
        if (!mul_u64(elements, slices[d].count, &elements))
            return UINT64_MAX; /* cannot happen: no more than the tensor has */
    return elements;
}

uint64_t slice_position(const struct ckptdb_slice *slices, const uint64_t *shape, unsigned rank,
                        uint64_t index)
{
    uint64_t at = 0, stride = 1;
    for (unsigned d = rank; d-- > 0;) {
        const struct ckptdb_slice *s = &slices[d];
        at += slice_at(s, index % s->count) * stride;
        index /= s->count;
        stride *= shape[d];
    }
    return at;
}
