/* CPU_COUNT: */
#define _GNU_SOURCE /* NOLINT(bugprone-*,cert-*,readability-*): its own name */
#include "catalog/base/threads.h"

#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <stdlib.h>
#include <unistd.h>

#define STACK_BYTES ((size_t)512 << 10)

struct threads {
    void (*run)(void *);
    void *argument;
    unsigned count;
    pthread_t id[THREADS_MAX];
};

unsigned threads_cores(void)
{
    /* A container or taskset may allow fewer cores than the machine has. The call fails on
     * machines with more cores than a cpu_set_t can hold. */
    cpu_set_t allowed;
    long n = sched_getaffinity(0, sizeof(allowed), &allowed) == 0 ? CPU_COUNT(&allowed)
                                                                  : sysconf(_SC_NPROCESSORS_ONLN);
    return n < 1 ? 1 : n > THREADS_MAX ? THREADS_MAX : (unsigned)n;
}

static void *threads_enter(void *argument)
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
           pthread_create(&t->id[t->count], &attr, threads_enter, t) == 0)
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
