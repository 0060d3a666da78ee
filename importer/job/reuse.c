/*
 * reuse.c - files with equal headers have equal layouts: parse one, share the rest.
 *
 * Headers are compared byte by byte (the hash only finds candidates), so no file can obtain
 * another's layout by a hash collision. The memory for this is bounded: the oldest make room for new
 * ones, since headers that repeat are mostly near each other.
 */
#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>

#include "importer/job/job_private.h"

#define KEPT_BYTES_MAX ((size_t)48 << 20)
#define KEPT_UNFOUND   ((size_t)16 << 20) /* as long as none was found again */
#define BUCKETS        1024

struct shared_layout {
    struct shared_layout *next;  /* in its bucket */
    struct shared_layout *newer; /* in the order of publishing */
    struct arena arena;          /* holds all of the following */
    const struct batch_layout *layout;
    const struct batch_meta *metas;
    uint64_t meta_count;
    struct bytes header;
    uint64_t hash, data_end;
    atomic_uint users;
};

struct reuse {
    pthread_mutex_t lock;
    uint64_t seed;
    size_t kept;
    bool found; /* one was, at least */
    struct shared_layout *bucket[BUCKETS], *oldest, *newest;
};

struct reuse *reuse_new(void)
{
    struct reuse *r = calloc(1, sizeof(*r));
    if (r) {
        pthread_mutex_init(&r->lock, NULL);
        r->seed = hash_seed();
    }
    return r;
}

void shared_layout_drop(struct shared_layout *s)
{
    if (!s || atomic_fetch_sub(&s->users, 1) != 1)
        return;
    arena_release(&s->arena);
    free(s);
}

void reuse_free(struct reuse *r)
{
    if (!r)
        return;
    while (r->oldest) {
        struct shared_layout *s = r->oldest;
        r->oldest = s->newer;
        shared_layout_drop(s);
    }
    pthread_mutex_destroy(&r->lock);
    free(r);
}

static struct shared_layout *reuse_find(struct reuse *r, struct bytes header, uint64_t hash)
{
    for (struct shared_layout *s = r->bucket[hash % BUCKETS]; s; s = s->next)
        if (s->hash == hash && s->header.len == header.len &&
            memcmp(s->header.at, header.at, header.len) == 0)
            return s;
    return NULL;
}

bool job_reuse(struct job *job, struct bytes header, uint64_t data)
{
    struct job_private *p = job_inside(job);
    struct reuse *r = p->request->reuse;
    struct batch *b = job->batch;
    if (!r || b->shared || p->layout->tensor_count || !header.len)
        return false;
    uint64_t hash = hash_bytes(header.at, header.len, r->seed);
    p->looked = header;
    p->looked_hash = hash;
    pthread_mutex_lock(&r->lock);
    struct shared_layout *s = reuse_find(r, header, hash);
    if (s && s->data_end != data)
        s = NULL;
    if (s) {
        atomic_fetch_add(&s->users, 1);
        r->found = true;
    }
    pthread_mutex_unlock(&r->lock);
    if (!s)
        return false;
    b->shared = s;
    b->layout = s->layout;
    b->metas = arena_array(job->arena, s->meta_count + 1, sizeof(*b->metas));
    if (!b->metas)
        return true;
    if (s->meta_count)
        memcpy(b->metas, s->metas, s->meta_count * sizeof(*b->metas));
    b->meta_count = s->meta_count;
    p->meta_space = s->meta_count + 1;
    p->layout = NULL;
    return true;
}

bool job_reuse_offer(struct job *job, struct bytes header, uint64_t data_end)
{
    struct job_private *p = job_inside(job);
    if (!p->request->reuse || header.len > KEPT_BYTES_MAX / 4)
        return false;
    p->offered = header;
    p->offered_end = data_end;
    p->offered_metas = job->batch->meta_count;
    return true;
}

/* Make room for `bytes`. What a batch still uses stays, since its memory is counted here, not with
 * the batch. A layout gets users under the lock alone: one that only the table uses stays so. */
static bool make_room_for(struct reuse *r, size_t bytes)
{
    const size_t most = r->found ? KEPT_BYTES_MAX : KEPT_UNFOUND;
    while (r->oldest && r->kept + bytes > most && atomic_load(&r->oldest->users) == 1) {
        struct shared_layout *s = r->oldest, **at = &r->bucket[s->hash % BUCKETS];
        while (*at != s)
            at = &(*at)->next;
        *at = s->next;
        r->oldest = s->newer;
        r->kept -= s->arena.used;
        shared_layout_drop(s);
    }
    return r->kept + bytes <= most;
}

/* Move the batch's arena into a shared layout; the batch becomes its first user. */
void reuse_publish(struct job *job)
{
    struct job_private *p = job_inside(job);
    struct reuse *r = p->request->reuse;
    struct batch *b = job->batch;
    uint64_t hash = p->looked.at == p->offered.at && p->looked.len == p->offered.len
                        ? p->looked_hash
                        : hash_bytes(p->offered.at, p->offered.len, r->seed);
    pthread_mutex_lock(&r->lock);
    struct shared_layout *s = NULL;
    if (!reuse_find(r, p->offered, hash) && make_room_for(r, b->arena.used))
        s = calloc(1, sizeof(*s));
    if (s) {
        *s = (struct shared_layout){
            .arena = b->arena,
            .layout = b->layout,
            .metas = b->metas,
            .meta_count = p->offered_metas,
            .header = p->offered,
            .hash = hash,
            .data_end = p->offered_end,
        };
        atomic_init(&s->users, 2); /* users: the table and this batch */
        struct shared_layout **bucket = &r->bucket[hash % BUCKETS];
        s->next = *bucket;
        *bucket = s;
        if (r->oldest)
            r->newest->newer = s;
        else
            r->oldest = s;
        r->newest = s;
        r->kept += s->arena.used;
        b->arena = (struct arena){.ceiling = b->arena.ceiling};
        b->shared = s;
    }
    pthread_mutex_unlock(&r->lock);
}
