/*
 * test_work.c - things made on many threads are taken in order, and all are freed.
 */
#include <sched.h>
#include <stdatomic.h>
#include <time.h>

#include "catalog/base/threads.h"
#include "catalog/base/work.h"
#include "tests/unit/unit.h"

#define THINGS 3000

struct trial {
    uint64_t refuse_at; /* take() fails there */
    uint64_t fail_at;   /* make() gives nothing */
    uint64_t stop_at;   /* stop() says so once this was taken */
    atomic_uint_fast64_t taken;
};

static atomic_int alive;

static void *make(void *context, uint64_t number, uint64_t *bytes)
{
    struct trial *t = context;
    if (number == t->fail_at)
        return NULL;
    for (uint64_t i = 0; i < number * 7919 % 13; i++)
        sched_yield();
    uint64_t *thing = malloc(sizeof(*thing));
    *thing = number;
    *bytes = 1000;
    atomic_fetch_add(&alive, 1);
    return thing;
}

static enum status take(void *context, uint64_t number, void *thing, struct error *err)
{
    struct trial *t = context;
    assert_int_equal(number, atomic_load(&t->taken));
    assert_int_equal(*(uint64_t *)thing, number);
    if (number == t->refuse_at)
        return error_set(err, ERR_IO, NULL, NO_OFFSET, "full");
    atomic_fetch_add(&t->taken, 1);
    return OK;
}

static void drop(void *thing)
{
    free(thing);
    atomic_fetch_sub(&alive, 1);
}

static bool stop(void *context)
{
    struct trial *t = context;
    return atomic_load(&t->taken) >= t->stop_at;
}

static const struct {
    uint64_t count, refuse_at, fail_at, stop_at, window;
    unsigned threads;
    enum status status;
} cases[] = {
    {THINGS, UINT64_MAX, UINT64_MAX, UINT64_MAX, 0, 8, OK},
    {THINGS, UINT64_MAX, UINT64_MAX, UINT64_MAX, 1, 8, OK}, /* no room: still no lock-up */
    {THINGS, UINT64_MAX, UINT64_MAX, UINT64_MAX, 0, 1, OK},
    {0, UINT64_MAX, UINT64_MAX, UINT64_MAX, 0, 8, OK},
    {1, UINT64_MAX, UINT64_MAX, UINT64_MAX, 0, 0, OK},
    {THINGS, 100, UINT64_MAX, UINT64_MAX, 0, 8, ERR_IO},
    {THINGS, UINT64_MAX, 100, UINT64_MAX, 0, 8, ERR_MEMORY},
    {THINGS, UINT64_MAX, UINT64_MAX, 100, 0, 8, ERR_INTERRUPTED},
    {THINGS, UINT64_MAX, 0, UINT64_MAX, 5000, 64, ERR_MEMORY},
};

TEST(all_in_order)
{
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        struct error err = {.offset = NO_OFFSET};
        struct trial t = {.refuse_at = cases[i].refuse_at,
                          .fail_at = cases[i].fail_at,
                          .stop_at = cases[i].stop_at};
        struct work w = {.count = cases[i].count,
                         .threads = cases[i].threads,
                         .window_bytes = cases[i].window,
                         .context = &t,
                         .make = make,
                         .take = take,
                         .drop = drop,
                         .stop = stop};
        assert_int_equal(work_run(&w, &err), cases[i].status);
        assert_int_equal(alive, 0);
        if (cases[i].status == OK)
            assert_int_equal(t.taken, cases[i].count);
        if (cases[i].status == ERR_IO || cases[i].status == ERR_MEMORY)
            assert_true(t.taken <= 100);
    }
}

TEST(no_more_threads_than_things)
{
    assert_int_equal(work_threads(&(struct work){.count = 3, .threads = 8}), 3);
    assert_int_equal(work_threads(&(struct work){.count = 30, .threads = 8}), 8);
    assert_int_equal(work_threads(&(struct work){.count = 0, .threads = 8}), 1);
    assert_int_equal(work_threads(&(struct work){.count = 500, .threads = 500}), 64);
}

/* --- a slow taker ----------------------------------------------------------------------- */

/* With this many waiting for the taker, every running make() began while many already waited. */
#define MANY      64
#define FIRST_FEW 8

static atomic_uint making;
static atomic_bool held; /* the taker is busy with the first thing */
static atomic_bool were_many, crowded;

static void *make_beside(void *context, uint64_t number, uint64_t *bytes)
{
    const unsigned others = threads_cores() > 1 ? threads_cores() - 1 : 1;
    while (number >= FIRST_FEW && !atomic_load(&held) && !atomic_load(&were_many))
        nanosleep(&(struct timespec){.tv_nsec = 50000}, NULL);
    const bool many = atomic_load(&alive) >= MANY && atomic_load(&held);
    const bool crowd = atomic_fetch_add(&making, 1) + 1 > others;
    sched_yield();
    /* (Once the taker goes on it may wait for a thing, and then all make.) */
    if (many && atomic_load(&held)) {
        atomic_store(&were_many, true);
        if (crowd)
            atomic_store(&crowded, true);
    }
    void *thing = make(context, number, bytes);
    atomic_fetch_sub(&making, 1);
    return thing;
}

/* The first is held until many more are made. */
static enum status take_slowly(void *context, uint64_t number, void *thing, struct error *err)
{
    if (number == 0) {
        atomic_store(&held, true);
        while (atomic_load(&alive) < 2 * MANY || !atomic_load(&were_many))
            nanosleep(&(struct timespec){.tv_nsec = 200000}, NULL);
        atomic_store(&held, false);
    }
    return take(context, number, thing, err);
}

/* Where many things wait for the taker, makers leave it a core. */
TEST(a_slow_taker_keeps_its_core)
{
    struct error err = {.offset = NO_OFFSET};
    struct trial t = {UINT64_MAX, UINT64_MAX, UINT64_MAX, 0};
    struct work w = {.count = 600,
                     .threads = 8,
                     .context = &t,
                     .make = make_beside,
                     .take = take_slowly,
                     .drop = drop,
                     .stop = stop};
    assert_int_equal(work_run(&w, &err), OK);
    assert_int_equal(t.taken, 600);
    assert_true(were_many);
    assert_false(crowded);
}

RUN_TESTS(NULL, NULL)
