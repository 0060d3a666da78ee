#include <pthread.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>

#include "catalog/read/grid_reader.h"
#include "grid_world.h"

/* --- against what each element is ------------------------------------------------------- */

/* The elements of a slice, one after another, packed if they are of bits. */
static uint8_t *naive(const struct world *w, const struct slice *slices, size_t *len)
{
    uint64_t index[RANK_MOST] = {0}, count = slice_elements(slices, w->t.rank);
    size_t bits = w->bits ? w->bits : w->unit * 8;
    *len = (size_t)(count * bits + 7) / 8;
    uint8_t *out = calloc(*len + 1, 1);
    assert_non_null(out);
    for (uint64_t k = 0; k < count; k++) {
        uint64_t at[RANK_MOST];
        for (unsigned d = 0; d < w->t.rank; d++)
            at[d] = slices[d].start + index[d] * (uint64_t)slices[d].step;
        const uint8_t *element = w->expected + position_of(w, at) * w->unit;
        if (w->bits)
            out[k * bits / 8] |= (uint8_t)(*element << k * bits % 8);
        else
            memcpy(out + k * w->unit, element, w->unit);
        for (unsigned d = w->t.rank; d-- > 0 && ++index[d] == slices[d].count;)
            index[d] = 0;
    }
    return out;
}

static void random_slices(const struct world *w, struct slice *slices)
{
    for (unsigned d = 0; d < w->t.rank; d++) {
        uint64_t n = w->shape[d], most, step = 1 + random_below(random_below(2) ? 1 : 5);
        struct slice *s = &slices[d];
        *s = (struct slice){.start = n ? random_below(n) : 0, .step = (int64_t)step};
        if (random_below(3) == 0)
            s->step = -s->step;
        if (!n)
            continue;
        most = (s->step < 0 ? s->start : n - 1 - s->start) / step + 1;
        s->count = random_below(20) ? 1 + random_below(most) : 0;
    }
}

static void describe(const struct world *w, unsigned seed)
{
    struct text shape = {0}, box = {0};
    shape_print(&shape, w->shape, w->t.rank);
    for (unsigned l = 0; l < w->grid.levels; l++)
        shape_print(&box, w->box[l], w->t.rank);
    print_message("world %u: %s %s in %s, %s, codec %s\n", seed, w->t.dtype.name,
                  text_str(&shape), text_str(&box), w->grid.in_files ? "files" : "a list",
                  w->codec);
    text_release(&shape);
    text_release(&box);
}

/* Read a source in parts, mostly front to back. */
static void read_parts(struct source *s, const uint8_t *want, size_t len)
{
    struct error err = {.offset = NO_OFFSET};
    uint8_t *got = calloc(len + 1, 1);
    assert_non_null(got);
    assert_int_equal(s->size, len);
    for (size_t at = 0; at < len;) {
        size_t n = 1 + random_below(random_below(2) ? len : 7);
        if (random_below(20) == 0)
            at = random_below(len);
        n = n < len - at ? n : len - at;
        if (source_read(s, at, got, n, &err) != OK)
            fail_msg("%s: %s", err.source, err.message);
        if (memcmp(got, want + at, n) != 0)
            fail_msg("%zu bytes at %zu of %zu are wrong", n, at, len);
        at += n;
    }
    free(got);
}

static void whole_slices(const struct world *w, struct slice *slices)
{
    for (unsigned d = 0; d < w->t.rank; d++)
        slices[d] = (struct slice){.count = w->shape[d], .step = 1};
}

/* With any budget the same comes out. */
static void compare_grid_reader(const struct world *w)
{
    struct error err = {.offset = NO_OFFSET};
    struct grid_limits limits = {.budget = random_below(2) ? 1u << 30
                                                           : 1 + random_below(200000),
                                 .threads = 1 + (unsigned)random_below(4)};
    struct slice slices[RANK_MOST];
    struct grid_reader *g = NULL;
    if (random_below(4) == 0)
        limits.budget = 1 + random_below(300);
    if (grid_reader_open(&w->t, w->unit, &limits, &g, &err) != OK)
        fail_msg("%s: %s", err.source, err.message);
    for (int i = 0; i < 4; i++) {
        size_t len;
        struct source *s = NULL;
        whole_slices(w, slices);
        if (i)
            random_slices(w, slices);
        uint8_t *want = naive(w, slices, &len);
        assert_int_equal(grid_reader_slice(g, i ? slices : NULL, &s, &err), OK);
        read_parts(s, want, len);
        free(want);
    }
    grid_reader_close(g);
}

static void compare_reader(const struct world *w)
{
    struct error err = {.offset = NO_OFFSET};
    struct slice slices[RANK_MOST];
    struct reader *r = NULL;
    size_t len;
    if (reader_open(&w->t, &r, &err) != OK)
        fail_msg("%s: %s", err.source, err.message);
    assert_true(reader_sequential(r));
    whole_slices(w, slices);
    uint8_t *want = naive(w, slices, &len), *got = malloc(len + 1);
    assert_int_equal(len, w->t.nbytes);
    assert_int_equal(reader_read(r, 0, got, len, &err), OK);
    assert_memory_equal(got, want, len);
    assert_int_equal(reader_verify(r, &err), OK);
    assert_int_equal(reader_read(r, 1, got, len, &err), ERR_ARGUMENT);
    error_clear(&err);
    free(want);
    free(got);
    random_slices(w, slices);
    want = naive(w, slices, &len);
    got = malloc(len + 1);
    assert_int_equal(reader_read_slice(r, slices, 0, got, len, &err), OK);
    assert_memory_equal(got, want, len);
    assert_int_equal(reader_read_slice(r, slices, 1, got, len, &err), ERR_ARGUMENT);
    free(want);
    free(got);
    reader_close(r);
}

static void random_worlds(void **state)
{
    (void)state;
    const char *seeds = getenv("SEEDS");
    unsigned first = 1, count = 400;
    if (seeds)
        sscanf(seeds, "%u,%u", &first, &count); /* NOLINT(cert-err34-c) */
    for (unsigned seed = first; seed < first + count; seed++) {
        struct world w;
        random_state = seed * UINT64_C(0x9E3779B97F4A7C15) + 1;
        world_random(&w);
        if (seeds)
            describe(&w, seed);
        compare_grid_reader(&w);
        compare_reader(&w);
        world_remove(&w);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(random_worlds),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
