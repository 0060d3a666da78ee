#include "catalog/base/team.h"

#include <pthread.h>
#include <stdlib.h>

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

/* --- with the lock held ------------------------------------------------------------------- */

/* The first job that has pieces left and may have another run at the same time. */
static struct team_job *open_job(const struct team *t)
{
    struct team_job *j = t->first;
    while (j && (j->begun >= j->count || j->active >= j->most))
        j = j->next;
    return j;
}

/* A free desk below `most`; false if all are busy. */
static bool find_desk(const struct team *t, unsigned most, unsigned *desk)
{
    for (*desk = 0; *desk < most; (*desk)++)
        if (!t->busy[*desk])
            return true;
    return false;
}

static struct task team_begin(struct team *t)
{
    struct task task = {.job = open_job(t)};
    struct team_job *j = task.job;
    if (!j || !find_desk(t, j->most, &task.desk))
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

/* --- threads ------------------------------------------------------------------------------ */

static void thread_main(void *argument)
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
    t->threads[t->groups++] = threads_start(threads - t->count, thread_main, t);
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

/* --- jobs ----------------------------------------------------------------------------------- */

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

/* While threads do the last pieces of this job, the caller begins pieces of the next job. */
static void wait_for(struct team *t, const struct team_job *job)
{
    while (job->begun < job->count || job->active) {
        struct task task = team_begin(t);
        if (task.job)
            team_run(t, task);
        else
            pthread_cond_wait(&t->done, &t->lock);
    }
}

void team_finish(struct team *t, struct team_job *job)
{
    pthread_mutex_lock(&t->lock);
    wait_for(t, job);
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
