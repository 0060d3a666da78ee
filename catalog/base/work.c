/*
 * work.c - a numbered hand-off: things are made in any order and taken in the order of their
 * numbers, through a bounded window. A maker that is too far ahead waits; the one that has the
 * next thing to be taken never waits, so there is no deadlock.
 */
#include "catalog/base/work.h"

#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>

#include "catalog/base/threads.h"

#define WINDOW       UINT64_C(256)
#define WINDOW_BYTES (UINT64_C(32) << 20)
/* The taker needs a core, too. When PLENTY things wait for it, only as many makers go on as
 * there are cores beside its own; when no more than FEW are left, all do. */
#define PLENTY (WINDOW / 8)
#define FEW    (WINDOW / 16)
/* One more slot for each thread: when stopped, a thread may put one thing beyond the window. */
#define RING (WINDOW + THREADS_MAX)

/* --- the hand-off ----------------------------------------------------------------------- */

struct slot {
    void *thing;
    uint64_t bytes;
    bool ready;
};

struct handoff {
    pthread_mutex_t lock;
    pthread_cond_t ready; /* for the taker: the next thing is there */
    pthread_cond_t room;  /* for the makers: there is room again */
    uint64_t total, claimed, taken, bytes, bytes_max;
    uint64_t ready_count;    /* things put and not yet taken */
    unsigned waiting;        /* makers that wait for room or for their turn */
    unsigned making, beside; /* makers at work; how many leave the taker its core */
    bool idle;               /* the taker is waiting for the next thing */
    bool stopped;
    struct slot slot[RING];
};

static struct handoff *handoff_new(uint64_t total, uint64_t bytes_max)
{
    struct handoff *h = calloc(1, sizeof(*h));
    if (!h)
        return NULL;
    pthread_mutex_init(&h->lock, NULL);
    pthread_cond_init(&h->ready, NULL);
    pthread_cond_init(&h->room, NULL);
    unsigned cores = threads_cores();
    h->beside = cores > 1 ? cores - 1 : 1;
    h->total = total;
    h->bytes_max = bytes_max;
    return h;
}

static bool can_claim(const struct handoff *h)
{
    return !h->stopped && h->claimed < h->total;
}

/* Claim the next number to make; false if all are claimed, or after handoff_stop(). */
static bool handoff_claim(struct handoff *h, uint64_t *number)
{
    pthread_mutex_lock(&h->lock);
    while (can_claim(h) && !h->idle && h->making >= h->beside && h->ready_count >= PLENTY) {
        h->waiting++;
        pthread_cond_wait(&h->room, &h->lock);
        h->waiting--;
    }
    bool more = can_claim(h);
    if (more) {
        *number = h->claimed++;
        h->making++;
    }
    pthread_mutex_unlock(&h->lock);
    return more;
}

static void handoff_put(struct handoff *h, uint64_t number, void *thing, uint64_t bytes)
{
    pthread_mutex_lock(&h->lock);
    /* When the window or its bytes are full, only the next thing to be taken may enter. */
    while (number != h->taken && (number >= h->taken + WINDOW || h->bytes > h->bytes_max) &&
           !h->stopped) {
        h->waiting++;
        pthread_cond_wait(&h->room, &h->lock);
        h->waiting--;
    }
    h->slot[number % RING] = (struct slot){thing, bytes, true};
    h->ready_count++;
    h->making--;
    h->bytes += bytes;
    if (number == h->taken)
        pthread_cond_signal(&h->ready);
    pthread_mutex_unlock(&h->lock);
}

/* Makers are woken when there is room for many things, not for each single one. */
static bool much_room(const struct handoff *h, uint64_t bytes_before)
{
    uint64_t half = h->bytes_max / 2;
    return h->taken % (WINDOW / 4) == 0 || h->ready_count == FEW ||
           (bytes_before > half && h->bytes <= half);
}

/* The next thing in order; NULL after the last, or if it was not made before handoff_stop(). */
static void *handoff_take(struct handoff *h)
{
    pthread_mutex_lock(&h->lock);
    struct slot *s = &h->slot[h->taken % RING];
    while (!s->ready && h->taken < (h->stopped ? h->claimed : h->total)) {
        /* A waiting maker may be the one that claims the next thing. */
        h->idle = true;
        if (h->waiting)
            pthread_cond_broadcast(&h->room);
        pthread_cond_wait(&h->ready, &h->lock);
    }
    h->idle = false;
    void *thing = NULL;
    if (s->ready) {
        uint64_t before = h->bytes;
        thing = s->thing;
        h->bytes -= s->bytes;
        h->ready_count--;
        *s = (struct slot){0};
        h->taken++;
        if (h->waiting && much_room(h, before))
            pthread_cond_broadcast(&h->room);
    }
    pthread_mutex_unlock(&h->lock);
    return thing;
}

/* No more claims. */
static void handoff_stop(struct handoff *h)
{
    pthread_mutex_lock(&h->lock);
    h->stopped = true;
    pthread_cond_broadcast(&h->ready);
    pthread_cond_broadcast(&h->room);
    pthread_mutex_unlock(&h->lock);
}

/* After all threads have been joined: a thing that was put and not taken; NULL when none is
 * left. */
static void *handoff_leftover(struct handoff *h)
{
    for (uint64_t i = 0; i < RING; i++) {
        bool ready = h->slot[i].ready;
        h->slot[i].ready = false;
        if (ready && h->slot[i].thing)
            return h->slot[i].thing;
    }
    return NULL;
}

/* --- running ---------------------------------------------------------------------------- */

struct running {
    const struct work *work;
    struct handoff *handoff;
    atomic_bool stopped; /* because stop() said so */
};

unsigned work_threads(const struct work *w)
{
    unsigned most = w->threads ? w->threads : threads_cores();
    if (most > THREADS_MAX)
        most = THREADS_MAX;
    return most < w->count ? most : w->count ? (unsigned)w->count : 1;
}

static bool is_stopped(struct running *r)
{
    const struct work *w = r->work;
    if (w->stop && w->stop(w->context))
        atomic_store(&r->stopped, true);
    return atomic_load(&r->stopped);
}

static void make_some(void *argument)
{
    struct running *r = argument;
    const struct work *w = r->work;
    uint64_t number;
    while (!is_stopped(r) && handoff_claim(r->handoff, &number)) {
        uint64_t bytes = 0;
        void *thing = w->make(w->context, number, &bytes);
        if (!thing)
            handoff_stop(r->handoff);
        handoff_put(r->handoff, number, thing, bytes);
    }
    if (atomic_load(&r->stopped))
        handoff_stop(r->handoff);
}

/* Take all in order. Where the system gives no thread (`alone`), make each here. */
static void take_all(struct running *r, bool alone, struct error *err)
{
    const struct work *w = r->work;
    uint64_t bytes;
    for (uint64_t i = 0; i < w->count && err->status == OK; i++) {
        void *thing = !alone          ? handoff_take(r->handoff)
                      : is_stopped(r) ? NULL
                                      : w->make(w->context, i, &bytes);
        if (thing) {
            w->take(w->context, i, thing, err);
            w->drop(thing);
        } else if (is_stopped(r))
            error_set(err, ERR_INTERRUPTED, NULL, NO_OFFSET, "interrupted");
        else
            error_memory(err);
    }
}

enum status work_run(const struct work *w, struct error *err)
{
    struct running r = {.work = w};
    atomic_init(&r.stopped, false);
    if (!w->count)
        return err->status;
    r.handoff = handoff_new(w->count, w->window_bytes ? w->window_bytes : WINDOW_BYTES);
    struct threads *threads = r.handoff ? threads_start(work_threads(w), make_some, &r) : NULL;
    take_all(&r, !threads, err);
    if (r.handoff)
        handoff_stop(r.handoff);
    threads_join(threads);
    for (void *thing; r.handoff && (thing = handoff_leftover(r.handoff));)
        w->drop(thing);
    if (r.handoff) {
        pthread_cond_destroy(&r.handoff->ready);
        pthread_cond_destroy(&r.handoff->room);
        pthread_mutex_destroy(&r.handoff->lock);
        free(r.handoff);
    }
    return err->status;
}
