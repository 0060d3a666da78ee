/*
 * stat_bins.c
 *
 *   finest bins, by value   ... -2 -1 | 0 1 2 ...      their number without the sign, ascending
 *   kept                    an edge where a finest bin ends at or beyond the next of the edges that
 *                           bins of equal width would have
 */
#include "catalog/content/stat_bins.h"

#include <string.h>

#include "catalog/content/stats.h"
#include "catalog/convert/convert.h"

uint32_t stat_bin(double value, unsigned bits)
{
    value += 0.0; /* -0 is 0 */
    if (bits == STAT_BITS32) {
        const float narrow = (float)value;
        uint32_t code;
        memcpy(&code, &narrow, sizeof(code));
        return code >> (32 - STAT_BITS32);
    }
    uint64_t code;
    memcpy(&code, &value, sizeof(code));
    return (uint32_t)(code >> (64 - STAT_BITS64));
}

/* The number nearest to 0 in the bin of magnitude `m`. */
static double magnitude(uint32_t m, unsigned bits)
{
    if (bits == STAT_BITS32) {
        const uint32_t code = m << (32 - STAT_BITS32);
        float value;
        memcpy(&value, &code, sizeof(value));
        return (double)value;
    }
    const uint64_t code = (uint64_t)m << (64 - STAT_BITS64);
    double value;
    memcpy(&value, &code, sizeof(value));
    return value;
}

struct histogram {
    struct text *edges, *counts;
    double least, most;
    unsigned closed; /* edges of equal width that are passed */
    uint64_t count;  /* in the bin that is open */
};

static void add_number(struct text *out, double value)
{
    struct dtype d;
    char digits[40];
    dtype_find("float64", &d);
    element_print(&d, &value, 0, digits, sizeof(digits));
    text_addf(out, "%s%s", out->len ? "," : "", digits);
}

static double target(const struct histogram *h, unsigned k)
{
    const double part = (double)k / STAT_COUNTS;
    return h->least * (1 - part) + h->most * part;
}

/* A finest bin that ends at `end`. */
static void pass(struct histogram *h, double end, uint64_t count)
{
    h->count += count;
    if (end <= h->least || end >= h->most || end < target(h, h->closed + 1))
        return;
    while (h->closed + 1 < STAT_COUNTS && end >= target(h, h->closed + 1))
        h->closed++;
    add_number(h->edges, end);
    text_addf(h->counts, "%s%llu", h->counts->len ? "," : "",
              (unsigned long long)h->count);
    h->count = 0;
}

void stat_histogram(struct text *out, const uint64_t *bins, unsigned bits, double least,
                    double most)
{
    struct text edges = {0}, counts = {0};
    struct histogram h = {&edges, &counts, least, most, 0, 0};
    const uint32_t minus = 1U << (bits - 1);
    const uint32_t first = stat_bin(least, bits), last = stat_bin(most, bits);
    add_number(&edges, least);
    if (first & minus)
        for (uint32_t m = first - minus + 1; m-- > (last & minus ? last - minus : 0);)
            pass(&h, -magnitude(m, bits) + 0.0, bins[minus + m]);
    if (!(last & minus))
        for (uint32_t m = first & minus ? 0 : first; m <= last; m++)
            pass(&h, magnitude(m + 1, bits), bins[m]);
    add_number(&edges, most);
    text_addf(&counts, "%s%llu", counts.len ? "," : "", (unsigned long long)h.count);
    text_addf(out, "{\"edges\":[%s],\"counts\":[%s]}", text_str(&edges),
              text_str(&counts));
    text_release(&edges);
    text_release(&counts);
}
