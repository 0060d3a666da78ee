/*
 * kept.h - sources that are costly to open, kept by a key: those in use stay, and the last few of the
 * others. One such list caches open files, another decoded tensors (files.h), a third the decoded
 * extents of one tensor (pool.c). Any number of threads.
 */
#pragma once

#include <pthread.h>

#include "catalog/data/store/source.h"

struct kept_key {
    uint64_t number[4];
    const char *text; /* names the source in errors, too */
};

struct kept {
    struct kept *next; /* the list's, as are users and making */
    unsigned users;
    pthread_mutex_t making;
    struct source *source; /* NULL until it is made */
    int64_t looked_at;     /* its maker's */
    uint64_t number[4];
    char text[];
};

struct kept_list {
    pthread_mutex_t lock; /* guards the list and its `users` */
    struct kept *first;   /* most recently used first */
    unsigned idle;        /* how many unused ones stay */
};

void kept_init(struct kept_list *, unsigned idle);
void kept_release(struct kept_list *); /* nobody may use any */

/* The source with this key, until kept_give(). `make` sets k->source if it is NULL, and may check it
 * otherwise; other threads that want the same one wait meanwhile. */
typedef enum status kept_maker(const void *context, struct kept *k, struct error *err);
enum status kept_take(struct kept_list *, const struct kept_key *, kept_maker *make,
                      const void *context, struct kept **out, struct error *err);
void kept_give(struct kept_list *, struct kept *); /* NULL: nothing */
