#include "catalog/data/read/kept.h"

#include <pthread.h>
#include <stdlib.h>

#include "catalog/data/read/files.h"

#define IDLE_MOST 2 /* unused ones that are kept: one for each of two threads */

struct kept_tensor {
    struct kept_tensor *next; /* most recently used first */
    int64_t id;
    unsigned users;
    pthread_mutex_t making;
    struct source *source; /* NULL until it is made */
};

struct kept_cache {
    pthread_mutex_t lock; /* guards the list and `users` */
    struct kept_tensor *first;
};

struct kept_cache *kept_cache_new(void)
{
    struct kept_cache *c = calloc(1, sizeof(*c));
    if (c)
        pthread_mutex_init(&c->lock, NULL);
    return c;
}

static void drop(struct kept_tensor *k)
{
    source_close(k->source);
    pthread_mutex_destroy(&k->making);
    free(k);
}

void kept_cache_free(struct kept_cache *c)
{
    if (!c)
        return;
    while (c->first) {
        struct kept_tensor *k = c->first;
        c->first = k->next;
        drop(k);
    }
    pthread_mutex_destroy(&c->lock);
    free(c);
}

/* The tensor's entry, marked as used and moved to the front; NULL without memory. */
static struct kept_tensor *kept_find(struct kept_cache *c, int64_t id)
{
    pthread_mutex_lock(&c->lock);
    struct kept_tensor **at = &c->first;
    while (*at && (*at)->id != id)
        at = &(*at)->next;
    struct kept_tensor *k = *at;
    if (k) {
        *at = k->next;
    } else if ((k = calloc(1, sizeof(*k)))) {
        k->id = id;
        pthread_mutex_init(&k->making, NULL);
    }
    if (k) {
        k->users++;
        k->next = c->first;
        c->first = k;
    }
    pthread_mutex_unlock(&c->lock);
    return k;
}

enum status kept_take(struct file_cache *files, const struct stored_tensor *t, kept_maker *make,
                      struct kept_tensor **out, struct source **source, struct error *err)
{
    struct kept_tensor *k = kept_find(file_cache_kept(files), t->id);
    if (!k)
        return error_memory_at(err, t->checkpoint);
    pthread_mutex_lock(&k->making);
    if (!k->source)
        make(t, files, &k->source, err);
    struct source *made = k->source;
    pthread_mutex_unlock(&k->making);
    if (!made) {
        kept_give(files, k);
        return err->status;
    }
    *out = k;
    *source = made;
    return OK;
}

void kept_give(struct file_cache *files, struct kept_tensor *given)
{
    struct kept_cache *c = file_cache_kept(files);
    unsigned idle = 0;
    if (!given)
        return;
    pthread_mutex_lock(&c->lock);
    given->users--;
    for (struct kept_tensor **at = &c->first; *at;) {
        struct kept_tensor *k = *at;
        if (!k->users && (!k->source || ++idle > IDLE_MOST)) {
            *at = k->next;
            drop(k);
        } else {
            at = &k->next;
        }
    }
    pthread_mutex_unlock(&c->lock);
}
