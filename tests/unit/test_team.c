/*
 * test_team.c - teams (threads.h): every piece of every job is done once, at a desk of its own,
 * whoever does it.
 */
#include <sched.h>
#include <stdatomic.h>
#include <stdlib.h>

#include "catalog/base/threads.h"
#include "tests/unit/unit.h"

#define PIECES 1000

struct trial {
    struct team_job job;
    uint64_t refuse_at; /* says that no more are wanted */
    atomic_uint active;
    atomic_uchar done[PIECES];
    atomic_bool desk_taken[THREADS_MAX];
    atomic_bool wrong;
};

static bool do_some(void *context, unsigned desk, uint64_t from, uint64_t to)
{
    struct trial *t = context;
    unsigned active = atomic_fetch_add(&t->active, 1) + 1;
    if (desk >= t->job.most || active > t->job.most || to > t->job.count || from >= to ||
        to - from > (t->job.at_once ? t->job.at_once : 1) ||
        atomic_exchange(&t->desk_taken[desk], true))
        t->wrong = true;
    for (uint64_t i = from; i < to; i++) {
        atomic_fetch_add(&t->done[i], 1);
        for (uint64_t n = 0; n < i * 7919 % 7; n++)
            sched_yield();
    }
    bool goes_on = !(from <= t->refuse_at && t->refuse_at < to);
    atomic_store(&t->desk_taken[desk], false);
    atomic_fetch_sub(&t->active, 1);
    return goes_on;
}

static struct trial *trial_new(uint64_t count, unsigned most, uint64_t at_once)
{
    struct trial *t = calloc(1, sizeof(*t));
    assert_non_null(t);
    t->refuse_at = UINT64_MAX;
    t->job = (struct team_job){
        .count = count, .most = most, .at_once = at_once, .run = do_some, .context = t};
    return t;
}

static void check_all_done(const struct trial *t)
{
    assert_false(t->wrong);
    for (uint64_t i = 0; i < PIECES; i++)
        assert_int_equal(t->done[i], i < t->job.count);
}

/* Jobs wait behind each other, of all sizes, and are finished in order; threads none to many. */
TEST(each_piece_once)
{
    const unsigned threads[] = {0, 1, 2, 7};
    const uint64_t counts[] = {0, 1, 2, 63, PIECES};
    for (unsigned k = 0; k < 4; k++)
        for (unsigned n = 0; n < 200; n++) {
            struct team *team = team_new();
            struct trial *t[4];
            assert_non_null(team);
            for (unsigned i = 0; i < 4; i++) {
                team_grow(team, i < 2 ? threads[k] / 2 : threads[k]);
                t[i] = trial_new(counts[(n + i) % 5], 1 + (n + i * 3) % 9, (n + i) % 17);
                team_add(team, &t[i]->job);
            }
            for (unsigned i = 0; i < 4; i++) {
                team_finish(team, &t[i]->job);
                check_all_done(t[i]);
            }
            team_free(team);
            for (unsigned i = 0; i < 4; i++)
                free(t[i]);
        }
}

static uint64_t pieces_done(const struct trial *t)
{
    uint64_t sum = 0;
    for (uint64_t i = 0; i < PIECES; i++) {
        assert_true(t->done[i] <= 1);
        sum += t->done[i];
    }
    return sum;
}

/* A dropped job goes no further, and is not looked at any longer; the jobs behind it are done. */
TEST(dropped)
{
    for (unsigned n = 0; n < 300; n++) {
        struct team *team = team_new();
        struct trial *first = trial_new(PIECES, 4, 1), *second = trial_new(PIECES, 4, 3);
        struct trial *third = trial_new(PIECES, 3, 2);
        team_grow(team, 3);
        team_add(team, &first->job);
        team_add(team, &second->job);
        team_add(team, &third->job);
        for (unsigned i = 0; i < n % 50; i++)
            sched_yield();
        struct trial *goes = n % 2 ? first : second, *stays = n % 2 ? second : first;
        team_drop(team, &goes->job);
        const uint64_t before = pieces_done(goes);
        team_finish(team, &stays->job);
        assert_int_equal(pieces_done(goes), before);
        team_drop(team, &third->job);
        check_all_done(stays);
        assert_false(goes->wrong || third->wrong);
        team_free(team);
        free(first);
        free(second);
        free(third);
    }
}

/* A refused job is not continued, and all pieces below the one that refused were begun. */
TEST(refused)
{
    for (unsigned n = 0; n < 300; n++) {
        struct team *team = team_new();
        struct trial *first = trial_new(PIECES, 3, 1 + n % 5);
        struct trial *second = trial_new(PIECES, 3, 1);
        first->refuse_at = n;
        team_grow(team, n % 3);
        team_add(team, &first->job);
        team_add(team, &second->job);
        team_finish(team, &first->job);
        for (unsigned i = 0; i <= n; i++)
            assert_int_equal(first->done[i], 1);
        if (n % 3 == 0) /* without threads, nobody was ahead */
            assert_true(pieces_done(first) <= n + first->job.at_once);
        team_finish(team, &second->job);
        check_all_done(second);
        team_free(team);
        free(first);
        free(second);
    }
}

RUN_TESTS(NULL, NULL)
