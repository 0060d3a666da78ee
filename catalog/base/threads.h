/*
 * threads.h - a few threads that run one function. For many numbered items, taken in order: work.h.
 */
#ifndef CKPTDB_THREADS_H
#define CKPTDB_THREADS_H

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

#endif
