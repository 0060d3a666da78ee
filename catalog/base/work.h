/*
 * work.h - many things made on all cores and taken one by one, in order, by the caller.
 *
 * What import, hashing, statistics and verifying have in common: the costly part of each thing
 * (reading, computing) runs on many threads in any order; the cheap part (writing the catalog,
 * printing) runs on the caller's thread in the order of the numbers, so that the result does
 * not depend on the number of threads.
 *
 *   static void *hash_one(void *context, uint64_t number, uint64_t *bytes);
 *   static enum status store_one(void *context, uint64_t number, void *thing,
 *                                struct error *err);
 *
 *   struct work w = {.count = n, .make = hash_one, .take = store_one, .drop = free,
 *                    .stop = ctrl_c, .context = &hashing};
 *   work_run(&w, &err);
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "catalog/base/error.h"

struct work {
    uint64_t count;        /* things; their numbers are 0 to count - 1 */
    unsigned threads;      /* that make; 0: one per core */
    uint64_t window_bytes; /* of things made and not yet taken; 0: a good number */
    void *context;         /* handed to all functions below but drop() */
    /* Make a thing; called on any thread, several at once. Set *bytes (0 before) to the memory
     * that it holds. An error of one thing belongs in the thing; NULL means that there is no
     * memory, and ends the run. */
    void *(*make)(void *context, uint64_t number, uint64_t *bytes);
    /* Use it; called on the caller's thread, in order. An error ends the run. */
    enum status (*take)(void *context, uint64_t number, void *thing, struct error *err);
    /* Free a thing, whether it was taken or not. */
    void (*drop)(void *thing);
    /* Called between things, on any thread; true ends the run. Things already begun are finished,
     * and taken as long as nothing before them is missing. NULL: never. */
    bool (*stop)(void *context);
};

/* How many threads work_run() will start at most: never more than there are things. */
unsigned work_threads(const struct work *);

/* OK when all things were taken; take()'s error; ERR_INTERRUPTED after stop(); ERR_MEMORY.
 * Where the system gives no threads, all is done on the caller's. */
enum status work_run(const struct work *, struct error *err);
