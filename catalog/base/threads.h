/*
 * threads.h - a few threads that run one function, and the ordered hand-off of what they make.
 */
#ifndef CKPTDB_BASE_THREADS_H
#define CKPTDB_BASE_THREADS_H

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

/*
 * Things made in any order, taken in the order of their numbers, through a bounded window:
 * who is too far ahead waits. The next thing wanted never waits, so it cannot lock up.
 */
struct handoff;
struct handoff *handoff_new(uint64_t total, uint64_t bytes_max);
/* Claim the next number to make; false: all are claimed, or it was stopped. */
bool handoff_claim(struct handoff *, uint64_t *number);
/* Give a thing away. `bytes` is what it holds, for the window. */
void handoff_put(struct handoff *, uint64_t number, void *thing, uint64_t bytes);
/* The things in order; NULL after the last, or when stopped and it was never made. */
void *handoff_take(struct handoff *);
/* No more claims. */
void handoff_stop(struct handoff *);
/* After all threads have joined: what was put and not taken. NULL: nothing left. */
void *handoff_leftover(struct handoff *);
void handoff_free(struct handoff *);

#endif
