#include "catalog/data/read/kept.h"

#include <stdlib.h>
#include <string.h>

static void kept_drop(struct kept *k)
{
    source_close(k->source);
    pthread_mutex_destroy(&k->making);
    free(k);
}

void kept_init(struct kept_list *l, unsigned idle)
{
    pthread_mutex_init(&l->lock, NULL);
    l->idle = idle;
}

void kept_release(struct kept_list *l)
{
    for (struct kept *k; (k = l->first);) {
        l->first = k->next;
        kept_drop(k);
    }
    pthread_mutex_destroy(&l->lock);
}

static struct kept *kept_new(const struct kept_key *key)
{
    size_t len = strlen(key->text) + 1;
    struct kept *k = calloc(1, sizeof(*k) + len);
    if (!k)
        return NULL;
    memcpy(k->number, key->number, sizeof(k->number));
    memcpy(k->text, key->text, len);
    pthread_mutex_init(&k->making, NULL);
    return k;
}

/* The key's entry, marked as used and moved to the front; NULL without memory. */
static struct kept *kept_find(struct kept_list *l, const struct kept_key *key)
{
    pthread_mutex_lock(&l->lock);
    struct kept **at = &l->first;
    while (*at && (memcmp((*at)->number, key->number, sizeof(key->number)) != 0 ||
                   strcmp((*at)->text, key->text) != 0))
        at = &(*at)->next;
    struct kept *k = *at;
    if (k)
        *at = k->next;
    else
        k = kept_new(key);
    if (k) {
        k->users++;
        k->next = l->first;
        l->first = k;
    }
    pthread_mutex_unlock(&l->lock);
    return k;
}

enum status kept_take(struct kept_list *l, const struct kept_key *key, kept_maker *make,
                      const void *context, struct kept **out, struct error *err)
{
    struct kept *k = kept_find(l, key);
    if (!k)
        return error_memory_at(err, key->text);
    pthread_mutex_lock(&k->making);
    make(context, k, err);
    pthread_mutex_unlock(&k->making);
    if (err->status == OK)
        *out = k;
    else
        kept_give(l, k);
    return err->status;
}

void kept_give(struct kept_list *l, struct kept *given)
{
    unsigned idle = 0;
    if (!given)
        return;
    pthread_mutex_lock(&l->lock);
    given->users--;
    for (struct kept **at = &l->first; *at;) {
        struct kept *k = *at;
        if (!k->users && (!k->source || ++idle > l->idle)) {
            *at = k->next;
            kept_drop(k);
        } else {
            at = &k->next;
        }
    }
    pthread_mutex_unlock(&l->lock);
}
