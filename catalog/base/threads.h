/*
 * threads.h - a few threads that run one function; a stack of tasks for them; and teams: threads that
 * wait for jobs of numbered pieces. For many numbered things, taken in order: work.h.
 */
#pragma once

#include <pthread.h>
#include <stdbool.h>
#include <stdint.h>

#define THREADS_MAX 64

/* Cores this process may use, at least 1. */
unsigned threads_cores(void);

struct threads;

/* Start up to `count` threads running run(argument), with small stacks and signals blocked
 * (the caller's thread gets them). As many as the system gives; NULL when not even one. */
struct threads *threads_start(unsigned count, void (*run)(void *), void *argument);
/* Wait for all and free. Takes NULL. */
void threads_join(struct threads *);

/* What asks a thread to stop, for long waits deep inside a call (a request to another machine). Threads
 * that threads_start() starts inherit it. */
struct stopping {
    bool (*stop)(void *context); /* NULL: nobody */
    void *context;
};
/* Set this thread's. */
void threads_stopping(struct stopping);
bool threads_stopped(void);

/* --- tasks --------------------------------------------------------------------------------
 *
 * A stack that grows while threads work on it, as with directories:
 *
 *   for (struct task *t = NULL; (t = tasks_next(&tasks, t));)
 *       ... tasks_add(&tasks, &below->link) ...
 */

struct task_link { /* the beginning of a task */
    struct task_link *next;
};

struct tasks {
    pthread_mutex_t lock;
    pthread_cond_t changed;
    struct task_link *top;
    uint64_t open; /* on the stack or in progress */
    bool stopped;
};

#define TASKS_NONE                                                                                 \
    ((struct tasks){.lock = PTHREAD_MUTEX_INITIALIZER, .changed = PTHREAD_COND_INITIALIZER})

void tasks_add(struct tasks *, struct task_link *);
/* The next task, as soon as there is one; NULL: all are done, or tasks_stop() was called. `done`: the
 * one that this thread has finished, or NULL. */
void *tasks_next(struct tasks *, const void *done);
void tasks_stop(struct tasks *);

/* --- teams --------------------------------------------------------------------------------
 *
 * All threads of a team work on the first job that has pieces left, so that a job's last pieces
 * and the next job's first are done side by side. So does the caller while it waits for a job:
 * without threads (the system gives none, or none were requested) it does them all.
 *
 *   struct team_job job = {.count = n, .most = 4, .run = decode_some, .context = &band};
 *   team_add(team, &job);
 *   ... something else ...
 *   team_finish(team, &job);
 *
 * Everything but `run` happens on one thread, the caller's. */

struct team;

struct team_job {
    uint64_t count;   /* pieces */
    unsigned most;    /* runs at once, at least 1 and at most THREADS_MAX */
    uint64_t at_once; /* pieces that are given out together; 0: one */
    /* Do pieces [from, to). `desk` is a number below the job's `most` that no other run has at the
     * same time: an index for buffers. False: begin no more pieces of this job. */
    bool (*run)(void *context, unsigned desk, uint64_t from, uint64_t to);
    void *context;
    /* The team's: */
    struct team_job *next;
    uint64_t begun, active;
};

/* NULL: no memory. No thread is started yet. */
struct team *team_new(void);
/* There must be no jobs. Takes NULL. */
void team_free(struct team *);

/* Start threads until there are `threads` besides the caller, or the system gives no more. */
void team_grow(struct team *, unsigned threads);

/* The job stays where it is until one of these two is called. */
void team_add(struct team *, struct team_job *);
/* All its pieces are done, or one asked to stop. */
void team_finish(struct team *, struct team_job *);
/* No more of its pieces are begun, and those that were have been done. */
void team_drop(struct team *, struct team_job *);
