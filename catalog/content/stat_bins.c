#include "catalog/content/stat_bins.h"

#include <math.h>
#include <string.h>

#include "catalog/content/stats.h"
#include "catalog/convert/convert.h"

#define SIGN (UINT32_C(1) << (STAT_BITS - 1))

uint32_t stat_bin(double value, bool narrow)
{
    if (narrow) {
        const float x = (float)value;
        uint32_t code;
        memcpy(&code, &x, sizeof(code));
        return code >> (32 - STAT_BITS);
    }
    uint64_t code;
    memcpy(&code, &value, sizeof(code));
    return (uint32_t)(code >> (64 - STAT_BITS));
}

/* The number nearest to 0 in a bin without its sign. */
static double inner_end(uint32_t bin, bool narrow)
{
    if (narrow) {
        const uint32_t code = bin << (32 - STAT_BITS);
        float value;
        memcpy(&value, &code, sizeof(value));
        return (double)value;
    }
    const uint64_t code = (uint64_t)bin << (64 - STAT_BITS);
    double value;
    memcpy(&value, &code, sizeof(value));
    return value;
}

/* The first end of a finest bin that is not below `x`. */
static double end_from(double x, bool narrow)
{
    const uint32_t bin = stat_bin(x, narrow) & ~SIGN;
    const double inner = inner_end(bin, narrow);
    if (x <= 0)
        return -inner + 0.0;
    return inner >= x ? inner : inner_end(bin + 1, narrow);
}

static void add_number(struct text *out, double value)
{
    struct dtype d;
    char digits[40];
    dtype_find("float64", &d);
    element_print(&d, &value, 0, digits, sizeof(digits));
    text_addf(out, "%s%s", out->len ? "," : "", digits);
}

struct edges {
    double at[STAT_COUNTS]; /* between the least and the greatest number */
    unsigned count;
};

static void find_edges(const struct stat_sums *s, bool narrow, struct edges *e)
{
    const double least = s->least, most = s->most;
    const unsigned bins = s->finite < STAT_COUNTS ? (unsigned)s->finite : STAT_COUNTS;
    for (unsigned k = 1; k < bins; k++) {
        const double part = (double)k / bins;
        double end = end_from(least * (1 - part) + most * part, narrow);
        if (end == 0) /* no edge: 0 and -0 are in one bin */
            end = inner_end(1, narrow);
        if (end > (e->count ? e->at[e->count - 1] : least) && end < most)
            e->at[e->count++] = end;
    }
}

/* How many edges are below what is in a bin. An edge is the end of a finest bin: a positive one
 * belongs to the bin above it, a negative one to that below. */
static unsigned place_of(const struct edges *e, uint32_t bin, bool narrow)
{
    const double inner = inner_end(bin & ~SIGN, narrow);
    unsigned low = 0, high = e->count;
    while (low < high) {
        const unsigned middle = (low + high) / 2;
        if (bin & SIGN ? e->at[middle] < -inner : e->at[middle] <= inner)
            low = middle + 1;
        else
            high = middle;
    }
    return low;
}

void stat_histogram(struct text *out, const struct stat_count *bins, size_t count,
                    bool narrow, const struct stat_sums *sums)
{
    struct text edges = {0}, counts = {0};
    struct edges e = {.count = 0};
    uint64_t in[STAT_COUNTS] = {0};
    find_edges(sums, narrow, &e);
    for (size_t i = 0; i < count; i++)
        if (isfinite(inner_end(bins[i].bin & ~SIGN, narrow)))
            in[place_of(&e, bins[i].bin, narrow)] += bins[i].count;
    add_number(&edges, sums->least + 0.0);
    for (unsigned i = 0; i < e.count; i++)
        add_number(&edges, e.at[i]);
    add_number(&edges, sums->most + 0.0);
    for (unsigned i = 0; i <= e.count; i++)
        text_addf(&counts, "%s%llu", i ? "," : "", (unsigned long long)in[i]);
    text_addf(out, "{\"edges\":[%s],\"counts\":[%s]}", text_str(&edges),
              text_str(&counts));
    text_release(&edges);
    text_release(&counts);
}
