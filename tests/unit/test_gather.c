/*
 * test_gather.c - strided copies against one unit at a time, with guards round the output:
 * random ones, and repeated units and runs of every size around those at which the copies
 * change their method.
 */
#include "catalog/base/pages.h"
#include "catalog/data/read/gather.h"
#include "catalog/data/store/temporary.h"
#include "tests/unit/unit.h"

#define GUARD 64 /* bytes before and after */

/* A gather with what it reads and what it should write. */
struct trial {
    struct gather g;
    uint8_t *from, *want; /* `want` with guards */
    uint64_t from_units, to_units;
};

static void naive(struct trial *t)
{
    const struct gather *g = &t->g;
    uint64_t index[8] = {0}, count = 1;
    for (unsigned d = 0; d < g->rank; d++)
        count *= g->dim[d].count;
    for (uint64_t k = 0; k < count; k++) {
        uint64_t from = g->from, to = g->to;
        for (unsigned d = 0; d < g->rank; d++) {
            from += index[d] * (uint64_t)g->dim[d].from;
            to += index[d] * (uint64_t)g->dim[d].to;
        }
        assert_true(from < t->from_units && to < t->to_units);
        memcpy(t->want + GUARD + to * g->unit, t->from + from * g->unit, g->unit);
        for (unsigned d = g->rank; d-- > 0 && ++index[d] == g->dim[d].count;)
            index[d] = 0;
    }
}

static void prepare(struct trial *t)
{
    size_t unit = t->g.unit;
    t->from = malloc(t->from_units * unit);
    t->want = malloc(t->to_units * unit + (size_t)2 * GUARD);
    assert_true(t->from && t->want);
    for (uint64_t i = 0; i < t->from_units * unit; i++)
        t->from[i] = (uint8_t)random_below(256);
    memset(t->want, 0xA5, t->to_units * unit + (size_t)2 * GUARD);
    naive(t);
}

enum way { COPY, RUN, TO_FILE, WAYS };

static void try_one(const struct trial *t, enum way way)
{
    struct error err = {.offset = NO_OFFSET};
    struct gather g = t->g;
    size_t len = t->to_units * g.unit;
    struct source *s = NULL;
    uint8_t *got = malloc(len + (size_t)2 * GUARD);
    assert_non_null(got);
    memset(got, 0xA5, len + (size_t)2 * GUARD);
    assert_int_equal(source_open_memory("from", (struct bytes){t->from, t->from_units * g.unit},
                                        false, &s, &err),
                     OK);
    if (way == COPY) {
        gather_copy(&g, t->from, got + GUARD);
    } else if (way == RUN) {
        assert_int_equal(gather_run(&g, s, got + GUARD, &err), OK);
    } else {
        int fd = temporary_open("to", &err);
        assert_true(fd >= 0);
        assert_int_equal(temporary_clear(fd, len, "to", &err), OK);
        temporary_write(fd, 0, got + GUARD, len, "to", &err);
        assert_int_equal(gather_to_file(&g, s, fd, "to", &err), OK);
        assert_int_equal(temporary_read(fd, 0, got + GUARD, len, "to", &err), OK);
        close(fd);
    }
    if (memcmp(got, t->want, len + (size_t)2 * GUARD) != 0)
        fail_msg("way %d, unit %zu, rank %u, first dimension %llu: %lld, %lld", way, g.unit,
                 t->g.rank, (unsigned long long)t->g.dim[0].count, (long long)t->g.dim[0].from,
                 (long long)t->g.dim[0].to);
    source_close(s);
    free(got);
}

static void try_all(struct trial *t)
{
    prepare(t);
    for (enum way way = COPY; way < WAYS; way++)
        try_one(t, way);
    free(t->from);
    free(t->want);
}

/* Random boxes out of random ones: transposed, turned, with steps and repeated units. */
static void random_gather(struct trial *t)
{
    static const size_t units[] = {1, 2, 3, 4, 5, 8, 16, 40};
    struct gather *g = &t->g;
    unsigned place[5] = {0, 1, 2, 3, 4};
    *t = (struct trial){.from_units = 1, .to_units = 1};
    g->unit = units[random_below(sizeof(units) / sizeof(units[0]))];
    g->rank = (unsigned)random_below(6);
    for (unsigned d = 0; d < g->rank; d++) { /* steps in memory, in order */
        g->dim[d].count = 1 + random_below(random_below(8) ? 6 : 40);
        unsigned other = (unsigned)random_below(d + 1), kept = place[other];
        place[other] = place[d];
        place[d] = kept;
    }
    for (unsigned d = g->rank; d-- > 0;) {
        g->dim[d].to = (int64_t)t->to_units;
        t->to_units *= g->dim[d].count + random_below(random_below(4) ? 1 : 3);
    }
    for (unsigned i = 0; i < g->rank; i++) { /* in the source, in another */
        struct gather_dim *dim = &g->dim[place[i]];
        uint64_t step = random_below(8) ? 1 + random_below(random_below(3) ? 1 : 4) : 0;
        dim->from = (int64_t)(step * t->from_units);
        t->from_units *= step ? step * dim->count : 1;
        if (random_below(4) == 0) {
            g->from += (dim->count - 1) * (uint64_t)dim->from;
            dim->from = -dim->from;
        }
    }
    if (t->from_units * g->unit > 4 << 20 || t->to_units * g->unit > 4 << 20)
        random_gather(t);
}

TEST(random_gathers)
{
    for (int i = 0; i < 1000; i++) {
        struct trial t;
        random_gather(&t);
        try_all(&t);
    }
}

/* The sizes, in bytes, where something changes, and what lies around each. */
static const uint64_t sizes[] = {1 << 10, 16 << 10, 64 << 10, 128 << 10, 256 << 10, 1 << 20};

static void sizes_around(size_t unit, void (*make)(struct trial *, uint64_t count))
{
    for (size_t i = 0; i < sizeof(sizes) / sizeof(sizes[0]); i++)
        for (int64_t more = -2; more <= 2; more++) {
            struct trial t = {.g = {.unit = unit}};
            int64_t count = (int64_t)(sizes[i] / unit) + more;
            if (count < 1)
                continue;
            make(&t, (uint64_t)count);
            try_all(&t);
        }
}

static void make_repeat(struct trial *t, uint64_t count)
{
    t->from_units = 1;
    t->to_units = count;
    t->g.rank = 1;
    t->g.dim[0] = (struct gather_dim){.count = count, .to = 1};
}

static void make_run(struct trial *t, uint64_t count)
{
    t->from_units = t->to_units = count;
    t->g.rank = 1;
    t->g.dim[0] = (struct gather_dim){.count = count, .from = 1, .to = 1};
}

/* Every second one of two rows, turned round. */
static void make_steps(struct trial *t, uint64_t count)
{
    t->from_units = 4 * count;
    t->to_units = 2 * count;
    t->g.rank = 2;
    t->g.from = 2 * (count - 1);
    t->g.dim[0] = (struct gather_dim){2, (int64_t)(2 * count), (int64_t)count};
    t->g.dim[1] = (struct gather_dim){count, -2, 1};
}

/* Rows of one repeated unit each. */
static void make_rows(struct trial *t, uint64_t count)
{
    t->from_units = 3;
    t->to_units = 3 * count;
    t->g.rank = 2;
    t->g.dim[0] = (struct gather_dim){3, 1, (int64_t)count};
    t->g.dim[1] = (struct gather_dim){count, 0, 1};
}

TEST(sizes_of_our_own)
{
    static const size_t units[] = {1, 2, 3, 4, 8, 16, 1000, 65536, 65537, 300000};
    for (size_t i = 0; i < sizeof(units) / sizeof(units[0]); i++) {
        sizes_around(units[i], make_repeat);
        sizes_around(units[i], make_run);
        sizes_around(units[i], make_steps);
        sizes_around(units[i], make_rows);
    }
}

/* Large buffers begin at a page (pages.h: a matter of speed); none is larger than memory. */
TEST(large_buffers)
{
    static const size_t bytes[] = {0, 1, 4095, 4096, 65536, 131072, 131073, 1 << 24};
    for (size_t i = 0; i < sizeof(bytes) / sizeof(bytes[0]); i++) {
        uint8_t *at = pages_alloc(bytes[i]);
        assert_non_null(at);
        memset(at, 1, bytes[i]);
        if (bytes[i] >= 4096)
            assert_int_equal((uintptr_t)at % 4096, 0);
        free(at);
    }
    assert_null(pages_alloc(SIZE_MAX));
}

RUN_TESTS(NULL, NULL)
