#include "catalog/base/threads.h"

#include <pthread.h>
#include <signal.h>
#include <stdlib.h>
#include <unistd.h>

#define STACK_BYTES ((size_t)512 << 10)
#define WINDOW      UINT64_C(256)
/* Room for what the threads hold beyond the window when it is stopped. */
#define RING (WINDOW + THREADS_MAX)

struct threads {
    void (*run)(void *);
    void *argument;
    unsigned count;
    pthread_t id[THREADS_MAX];
};

unsigned threads_cores(void)
{
    long n = sysconf(_SC_NPROCESSORS_ONLN);
    return n < 1 ? 1 : n > THREADS_MAX ? THREADS_MAX : (unsigned)n;
}

static void *enter(void *argument)
{
    struct threads *t = argument;
    t->run(t->argument);
    return NULL;
}

struct threads *threads_start(unsigned count, void (*run)(void *), void *argument)
{
    struct threads *t = calloc(1, sizeof(*t));
    pthread_attr_t attr;
    if (!t || pthread_attr_init(&attr) != 0) {
        free(t);
        return NULL;
    }
    t->run = run;
    t->argument = argument;
    sigset_t all, old;
    sigfillset(&all);
    pthread_sigmask(SIG_BLOCK, &all, &old);
    pthread_attr_setstacksize(&attr, STACK_BYTES);
    while (t->count < count && t->count < THREADS_MAX &&
           pthread_create(&t->id[t->count], &attr, enter, t) == 0)
        t->count++;
    pthread_sigmask(SIG_SETMASK, &old, NULL);
    pthread_attr_destroy(&attr);
    if (t->count)
        return t;
    free(t);
    return NULL;
}

void threads_join(struct threads *t)
{
    for (unsigned i = 0; t && i < t->count; i++)
        pthread_join(t->id[i], NULL);
    free(t);
}

struct slot {
    void *thing;
    uint64_t bytes;
    bool ready;
};

struct handoff {
    pthread_mutex_t lock;
    pthread_cond_t ready; /* the next thing is there: for the taker */
    pthread_cond_t room;  /* there is room again: for the makers */
    uint64_t total, claimed, taken, bytes, bytes_max;
    unsigned waiting; /* makers, for room */
    bool stopped;
    struct slot slot[RING];
};

struct handoff *handoff_new(uint64_t total, uint64_t bytes_max)
{
    struct handoff *h = calloc(1, sizeof(*h));
    if (!h)
        return NULL;
    pthread_mutex_init(&h->lock, NULL);
    pthread_cond_init(&h->ready, NULL);
    pthread_cond_init(&h->room, NULL);
    h->total = total;
    h->bytes_max = bytes_max;
    return h;
}

bool handoff_claim(struct handoff *h, uint64_t *number)
{
    pthread_mutex_lock(&h->lock);
    bool more = !h->stopped && h->claimed < h->total;
    if (more)
        *number = h->claimed++;
    pthread_mutex_unlock(&h->lock);
    return more;
}

void handoff_put(struct handoff *h, uint64_t number, void *thing, uint64_t bytes)
{
    pthread_mutex_lock(&h->lock);
    /* Past the window or the bytes only the one wanted next may enter. */
    while (number != h->taken &&
           (number >= h->taken + WINDOW || h->bytes > h->bytes_max) && !h->stopped) {
        h->waiting++;
        pthread_cond_wait(&h->room, &h->lock);
        h->waiting--;
    }
    h->slot[number % RING] = (struct slot){thing, bytes, true};
    h->bytes += bytes;
    if (number == h->taken)
        pthread_cond_signal(&h->ready);
    pthread_mutex_unlock(&h->lock);
}

/* Makers are woken when there is room for many things, not for one, */
static bool much_room(const struct handoff *h, uint64_t bytes_before)
{
    uint64_t half = h->bytes_max / 2;
    return h->taken % (WINDOW / 4) == 0 || (bytes_before > half && h->bytes <= half);
}

void *handoff_take(struct handoff *h)
{
    pthread_mutex_lock(&h->lock);
    struct slot *s = &h->slot[h->taken % RING];
    while (!s->ready && h->taken < (h->stopped ? h->claimed : h->total)) {
        /* or when one of them may hold the next. */
        if (h->waiting)
            pthread_cond_broadcast(&h->room);
        pthread_cond_wait(&h->ready, &h->lock);
    }
    void *thing = NULL;
    if (s->ready) {
        uint64_t before = h->bytes;
        thing = s->thing;
        h->bytes -= s->bytes;
        *s = (struct slot){0};
        h->taken++;
        if (h->waiting && much_room(h, before))
            pthread_cond_broadcast(&h->room);
    }
    pthread_mutex_unlock(&h->lock);
    return thing;
}

void handoff_stop(struct handoff *h)
{
    pthread_mutex_lock(&h->lock);
    h->stopped = true;
    pthread_cond_broadcast(&h->ready);
    pthread_cond_broadcast(&h->room);
    pthread_mutex_unlock(&h->lock);
}

void *handoff_leftover(struct handoff *h)
{
    for (uint64_t i = 0; i < RING; i++) {
        if (h->slot[i].ready) {
            h->slot[i].ready = false;
            return h->slot[i].thing;
        }
    }
    return NULL;
}

void handoff_free(struct handoff *h)
{
    if (!h)
        return;
    pthread_cond_destroy(&h->ready);
    pthread_cond_destroy(&h->room);
    pthread_mutex_destroy(&h->lock);
    free(h);
}
