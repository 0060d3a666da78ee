/* CPU_COUNT: */
#define _GNU_SOURCE /* NOLINT(bugprone-*,cert-*,readability-*): its own name */
#include "catalog/base/threads.h"

#include <sched.h>
#include <signal.h>
#include <stdlib.h>
#include <unistd.h>

#define STACK_BYTES ((size_t)512 << 10)

struct threads {
    void (*run)(void *);
    void *argument;
    struct stopping stopping;
    unsigned count;
    pthread_t id[THREADS_MAX];
};

static _Thread_local struct stopping stopping;

void threads_stopping(struct stopping now)
{
    stopping = now;
}

bool threads_stopped(void)
{
    return stopping.stop && stopping.stop(stopping.context);
}

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
    stopping = t->stopping;
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
    t->stopping = stopping;
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

/* --- tasks ---------------------------------------------------------------------------------- */

void tasks_add(struct tasks *t, struct task_link *task)
{
    pthread_mutex_lock(&t->lock);
    task->next = t->top;
    t->top = task;
    t->open++;
    pthread_cond_signal(&t->changed);
    pthread_mutex_unlock(&t->lock);
}

void *tasks_next(struct tasks *t, const void *done)
{
    pthread_mutex_lock(&t->lock);
    if (done && --t->open == 0)
        pthread_cond_broadcast(&t->changed);
    while (!t->top && t->open && !t->stopped)
        pthread_cond_wait(&t->changed, &t->lock);
    struct task_link *next = t->stopped ? NULL : t->top;
    if (next)
        t->top = next->next;
    pthread_mutex_unlock(&t->lock);
    return next;
}

void tasks_stop(struct tasks *t)
{
    pthread_mutex_lock(&t->lock);
    t->stopped = true;
    pthread_cond_broadcast(&t->changed);
    pthread_mutex_unlock(&t->lock);
}

/* --- teams ---------------------------------------------------------------------------------- */

struct team {
    struct threads *threads[THREADS_MAX]; /* one group for each call of team_grow() */
    unsigned groups, count;               /* groups; threads requested in all */
    pthread_mutex_t lock;                 /* guards all below, and the team's fields of each job */
    pthread_cond_t work;                  /* for the threads: something to begin, or the end */
    pthread_cond_t done;                  /* for the caller: a job has no run left */
    struct team_job *first, **last;       /* queue of jobs */
    bool busy[THREADS_MAX];               /* by desk */
    bool ends;
};

/* A run of pieces given to one thread. */
struct task {
    struct team_job *job; /* NULL if absent */
    unsigned desk;
    uint64_t from, to;
};

struct team *team_new(void)
{
    struct team *t = calloc(1, sizeof(*t));
    if (!t)
        return NULL;
    pthread_mutex_init(&t->lock, NULL);
    pthread_cond_init(&t->work, NULL);
    pthread_cond_init(&t->done, NULL);
    t->last = &t->first;
    return t;
}

/* The first job that has pieces left and may have another run at the same time. The lock is held
 * here, and up to team_leave(). */
static struct team_job *open_job(const struct team *t)
{
    struct team_job *j = t->first;
    while (j && (j->begun >= j->count || j->active >= j->most))
        j = j->next;
    return j;
}

static struct task team_begin(struct team *t)
{
    struct task task = {.job = open_job(t)};
    struct team_job *j = task.job;
    while (j && task.desk < j->most && t->busy[task.desk])
        task.desk++;
    if (!j || task.desk == j->most)
        return (struct task){0};
    uint64_t left = j->count - j->begun, some = j->at_once ? j->at_once : 1;
    task.from = j->begun;
    task.to = j->begun += left < some ? left : some;
    j->active++;
    t->busy[task.desk] = true;
    return task;
}

/* Releases the lock while the pieces are done. */
static void team_run(struct team *t, struct task task)
{
    struct team_job *j = task.job;
    pthread_mutex_unlock(&t->lock);
    bool goes_on = j->run(j->context, task.desk, task.from, task.to);
    pthread_mutex_lock(&t->lock);
    t->busy[task.desk] = false;
    j->active--;
    if (!goes_on)
        j->begun = j->count;
    if (!j->active && j->begun >= j->count)
        pthread_cond_signal(&t->done);
}

static void team_leave(struct team *t, struct team_job *job)
{
    struct team_job **at = &t->first;
    while (*at != job)
        at = &(*at)->next;
    *at = job->next;
    if (!*at)
        t->last = at;
    /* A thread may be waiting for a desk that the caller has freed. */
    if (open_job(t))
        pthread_cond_broadcast(&t->work);
}

static void team_main(void *argument)
{
    struct team *t = argument;
    pthread_mutex_lock(&t->lock);
    while (!t->ends) {
        struct task task = team_begin(t);
        if (task.job)
            team_run(t, task);
        else
            pthread_cond_wait(&t->work, &t->lock);
    }
    pthread_mutex_unlock(&t->lock);
}

void team_grow(struct team *t, unsigned threads)
{
    threads = threads < THREADS_MAX ? threads : THREADS_MAX;
    if (threads <= t->count)
        return;
    t->threads[t->groups++] = threads_start(threads - t->count, team_main, t);
    t->count = threads;
}

void team_free(struct team *t)
{
    if (!t)
        return;
    pthread_mutex_lock(&t->lock);
    t->ends = true;
    pthread_cond_broadcast(&t->work);
    pthread_mutex_unlock(&t->lock);
    for (unsigned i = 0; i < t->groups; i++)
        threads_join(t->threads[i]);
    pthread_cond_destroy(&t->done);
    pthread_cond_destroy(&t->work);
    pthread_mutex_destroy(&t->lock);
    free(t);
}

void team_add(struct team *t, struct team_job *job)
{
    pthread_mutex_lock(&t->lock);
    job->next = NULL;
    job->begun = job->active = 0;
    *t->last = job;
    t->last = &job->next;
    pthread_cond_broadcast(&t->work);
    pthread_mutex_unlock(&t->lock);
}

void team_finish(struct team *t, struct team_job *job)
{
    pthread_mutex_lock(&t->lock);
    /* While threads do the last pieces of this job, the caller begins pieces of the next job. */
    while (job->begun < job->count || job->active) {
        struct task task = team_begin(t);
        if (task.job)
            team_run(t, task);
        else
            pthread_cond_wait(&t->done, &t->lock);
    }
    team_leave(t, job);
    pthread_mutex_unlock(&t->lock);
}

void team_drop(struct team *t, struct team_job *job)
{
    pthread_mutex_lock(&t->lock);
    job->begun = job->count;
    while (job->active)
        pthread_cond_wait(&t->done, &t->lock);
    team_leave(t, job);
    pthread_mutex_unlock(&t->lock);
}
