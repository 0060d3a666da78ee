#include "catalog/data/store/remote/object.h"

#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "catalog/base/name_list.h"
#include "catalog/base/strmap.h"
#include "catalog/base/threads.h"

#define BUCKETS     4096
#define CACHED_MOST ((uint64_t)256 << 20) /* bytes read ahead of objects that nobody has taken */
#define IDLE_MOST   65536                 /* objects */
#define SMALL_FILE  ((uint64_t)2 << 20)   /* read whole, if its head is not enough */
#define AHEAD_MOST  ((uint64_t)4 << 20)
#define DIRECT      ((size_t)1 << 20) /* read right to where it is wanted */
#define AT_ONCE     ((size_t)16 << 20)
#define SPANS_MOST  8192
#define SPAN_BYTES  ((uint64_t)64 << 20) /* of one object */
#define EXPECTED    64
#define TOLD_MOST   4096                 /* ranges of headers that are fetched together, */
#define TOLD_BYTES  ((uint64_t)32 << 20) /* and bytes, */
#define TOLD_WHOLE  ((uint64_t)8 << 20)  /* or all of a file */
#define TOLD_LEAST  ((uint64_t)16 << 10) /* what is near is wanted next */
#define TOLD_JOIN   ((uint64_t)64 << 10)
#define AT_A_TIME   32u            /* requests for them, of all imports together */
#define DEVICE      0x72656d6f7465 /* of all identities: "remote" */

struct span {
    struct span *next;
    uint64_t begin, end;
    uint8_t *bytes; /* NULL: they have been read, and will not be again */
};

struct range {
    uint64_t begin, end;
    uint8_t *bytes; /* of a range that is fetched */
};

struct object {
    struct object *next; /* in its bucket */
    const struct remote_kind *kind;
    unsigned refs; /* and `linked`: under table_lock */
    bool linked;
    atomic_bool known;
    _Atomic int64_t seen;
    pthread_mutex_t lock; /* for all that follows */
    struct file_identity is;
    struct remote_state state;
    struct span *spans; /* the newest first */
    unsigned span_count;
    uint64_t span_bytes;
    struct range expected[EXPECTED]; /* of data */
    unsigned expected_next;
    struct range *told; /* of headers: room for TOLD_MOST */
    size_t told_count;
    struct error *failed; /* why the server did not say what it is, a moment ago */
    bool listed;
    struct remote_folder folder;
    char path[];
};

static pthread_mutex_t table_lock = PTHREAD_MUTEX_INITIALIZER;
static struct object *table[BUCKETS];
static size_t objects;
static unsigned holds;               /* imports that run */
static int64_t held_since;           /* when the first began */
static _Atomic uint64_t ahead_bytes; /* of all spans */

static int64_t now_ms(void)
{
    struct timespec t = {0};
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (int64_t)t.tv_sec * 1000 + t.tv_nsec / 1000000;
}

/* --- the table ------------------------------------------------------------------------------- */

static void forget_bytes(struct object *o, struct span *s)
{
    if (s->bytes) {
        atomic_fetch_sub(&ahead_bytes, s->end - s->begin);
        o->span_bytes -= s->end - s->begin;
    }
    free(s->bytes);
    s->bytes = NULL;
}

static void drop_spans(struct object *o)
{
    for (struct span *s; (s = o->spans);) {
        o->spans = s->next;
        forget_bytes(o, s);
        free(s);
    }
    o->span_count = 0;
}

static void free_object(struct object *o)
{
    drop_spans(o);
    free(o->failed);
    free(o->told);
    arena_release(&o->folder.arena);
    pthread_mutex_destroy(&o->lock);
    free(o);
}

static struct object **bucket_of(const char *path)
{
    return &table[hash_bytes(path, strlen(path), 1) % BUCKETS];
}

/* Under table_lock. A taken object stays. */
static void unlink_object(struct object *o)
{
    struct object **at = bucket_of(o->path);
    while (*at && *at != o)
        at = &(*at)->next;
    if (!*at)
        return;
    *at = o->next;
    o->linked = false;
    objects--;
    if (!o->refs)
        free_object(o);
}

static bool is_fresh(const struct object *o)
{
    const int64_t seen = atomic_load(&o->seen), since = now_ms() - OBJECT_FRESH_MS;
    return seen >= since || (holds && seen >= held_since - OBJECT_FRESH_MS);
}

/* Under table_lock: forget objects that nobody has taken; `bytes`: only the bytes read ahead. */
static void forget_idle(bool bytes)
{
    for (size_t i = 0; i < BUCKETS; i++)
        for (struct object *o = table[i], *next; o; o = next) {
            next = o->next;
            if (!o->refs && bytes)
                drop_spans(o);
            else if (!o->refs)
                unlink_object(o);
        }
}

struct object *object_take(const struct remote_kind *kind, const char *path, struct error *err)
{
    const size_t size = strlen(path) + 1;
    pthread_mutex_lock(&table_lock);
    struct object **bucket = bucket_of(path), *o = *bucket;
    while (o && strcmp(o->path, path) != 0)
        o = o->next;
    if (o && !is_fresh(o)) {
        unlink_object(o);
        o = NULL;
    }
    if (!o && objects >= IDLE_MOST)
        forget_idle(false);
    if (!o && (o = calloc(1, sizeof(*o) + size))) {
        memcpy(o->path, path, size);
        o->kind = kind;
        o->linked = true;
        o->is =
            (struct file_identity){.inode = hash_bytes(path, size - 1, 1) >> 1, .device = DEVICE};
        pthread_mutex_init(&o->lock, NULL);
        atomic_store(&o->seen, now_ms());
        o->next = *bucket;
        *bucket = o;
        objects++;
    }
    if (o)
        o->refs++;
    else
        error_memory_at(err, path);
    pthread_mutex_unlock(&table_lock);
    return o;
}

void object_give(struct object *o)
{
    pthread_mutex_lock(&table_lock);
    if (!--o->refs && !o->linked)
        free_object(o);
    if (atomic_load(&ahead_bytes) > CACHED_MOST)
        forget_idle(true);
    pthread_mutex_unlock(&table_lock);
}

/* Whoever opens it from now on asks anew. */
static void disown(struct object *o)
{
    pthread_mutex_lock(&table_lock);
    if (o->linked)
        unlink_object(o);
    pthread_mutex_unlock(&table_lock);
}

void store_hold(bool begins)
{
    pthread_mutex_lock(&table_lock);
    if (begins && !holds++)
        held_since = now_ms();
    if (!begins && !--holds)
        forget_idle(false);
    pthread_mutex_unlock(&table_lock);
}

bool object_importing(void)
{
    pthread_mutex_lock(&table_lock);
    const bool importing = holds;
    pthread_mutex_unlock(&table_lock);
    return importing;
}

static const char *name_below(const char *path, const char *folder)
{
    const size_t len = strlen(folder);
    return strncmp(path, folder, len) == 0 && path[len] == '/' ? path + len + 1 : NULL;
}

bool object_below(const char *folder)
{
    bool below = false;
    pthread_mutex_lock(&table_lock);
    for (size_t i = 0; i < BUCKETS && !below; i++)
        for (const struct object *o = table[i]; o && !below; o = o->next)
            below = atomic_load(&o->known) && name_below(o->path, folder);
    pthread_mutex_unlock(&table_lock);
    return below;
}

void object_names(struct remote_folder *f)
{
    pthread_mutex_lock(&table_lock);
    for (size_t i = 0; i < BUCKETS; i++)
        for (const struct object *o = table[i]; o; o = o->next) {
            const char *name = atomic_load(&o->known) ? name_below(o->path, f->path) : NULL;
            if (name && *name && !strchr(name, '/'))
                remote_add(f, name, strlen(name), (struct remote_entry){.tag = ""});
        }
    pthread_mutex_unlock(&table_lock);
}

/* --- what it is ------------------------------------------------------------------------------ */

/* Under its lock. */
static void set_state(struct object *o, uint64_t size, int64_t modified, const char *tag,
                      const char *pin)
{
    const uint64_t seed = hash_bytes(o->path, strlen(o->path), 1);
    o->is = (struct file_identity){
        .size = size,
        .mtime_ns = modified > 0 && modified < INT64_MAX / 1000000000 ? modified * 1000000000 : 0,
        .inode = hash_bytes(tag, strlen(tag), seed) >> 1,
        .device = DEVICE,
    };
    snprintf(o->state.tag, sizeof(o->state.tag), "%s", tag);
    snprintf(o->state.pin, sizeof(o->state.pin), "%s", pin);
    atomic_store(&o->seen, now_ms());
    atomic_store(&o->known, true);
}

void object_tell(struct object *o, const struct remote_entry *e, const char *pin)
{
    pthread_mutex_lock(&o->lock);
    if (!atomic_load(&o->known))
        set_state(o, e->size, e->modified, e->tag, pin);
    pthread_mutex_unlock(&o->lock);
}

struct file_identity object_identity(struct object *o)
{
    pthread_mutex_lock(&o->lock);
    const struct file_identity is = o->is;
    pthread_mutex_unlock(&o->lock);
    return is;
}

/* Under its lock: whether the folder around it has been listed, without a folder of this name. */
static bool is_unlisted(const struct object *o, struct error *err)
{
    const char *slash = strrchr(o->path, '/');
    const size_t len = (size_t)(slash - o->path);
    char *path = len >= kind_root(o->kind, o->path) ? strndup(o->path, len) : NULL;
    struct object *around = path ? object_take(o->kind, path, err) : NULL;
    bool unlisted = false;
    if (around) {
        pthread_mutex_lock(&around->lock);
        const struct remote_folder *f = &around->folder;
        const struct remote_entry *e = named_find(f->entries, f->count, sizeof(*e), slash + 1);
        unlisted = around->listed && !(e && e->folder);
        pthread_mutex_unlock(&around->lock);
        object_give(around);
    }
    free(path);
    return unlisted;
}

/* Under its lock: what the root of its path is now, which is asked once for all that is below it. */
static void find_pin(struct object *o, struct error *err)
{
    const size_t len = kind_root(o->kind, o->path);
    char *path = strndup(o->path, len);
    struct object *root = !o->kind->pin   ? NULL
                          : !o->path[len] ? o
                          : path          ? object_take(o->kind, path, err)
                                          : NULL;
    if (!path)
        error_memory_at(err, o->path);
    if (root && root != o)
        pthread_mutex_lock(&root->lock);
    if (root && !*root->state.pin)
        o->kind->pin(root->path, root->state.pin, err);
    if (root && root != o) {
        snprintf(o->state.pin, sizeof(o->state.pin), "%s", root->state.pin);
        pthread_mutex_unlock(&root->lock);
        object_give(root);
    }
    free(path);
}

const struct remote_folder *object_list(struct object *o, struct error *err)
{
    pthread_mutex_lock(&o->lock);
    if (!o->listed && is_unlisted(o, err)) {
        error_set(err, ERR_MISSING, o->path, NO_OFFSET, "no such folder");
    } else if (!o->listed && err->status == OK) {
        o->folder = (struct remote_folder){.arena.err = err, .path = o->path};
        find_pin(o, err);
        snprintf(o->folder.pin, sizeof(o->folder.pin), "%s", o->state.pin);
        if (err->status == OK && o->kind->list(o->path, &o->folder, err) == OK) {
            named_sort(o->folder.entries, o->folder.count, sizeof(*o->folder.entries));
            uint64_t names = hash_bytes(o->path, strlen(o->path), 1);
            for (size_t i = 0; i < o->folder.count; i++) {
                const char *name = o->folder.entries[i].name;
                names = hash_bytes(name, strlen(name) + 1, names);
            }
            o->is = (struct file_identity){.inode = names >> 1, .device = DEVICE};
            o->listed = true;
        } else {
            arena_release(&o->folder.arena);
            o->folder = (struct remote_folder){0};
        }
        o->folder.arena.err = NULL;
    }
    pthread_mutex_unlock(&o->lock);
    return err->status == OK ? &o->folder : NULL;
}

/* --- its bytes ------------------------------------------------------------------------------- */

static enum status check_state(const struct object *o, const struct reply *r, struct error *err)
{
    const char *tag = o->state.tag;
    const bool other = o->kind->tagged && *tag && *r->tag && strcmp(tag, r->tag) != 0;
    return r->size == o->is.size && !other
               ? OK
               : error_set(err, ERR_CHANGED, o->path, NO_OFFSET,
                           "changed while it was read; import it again");
}

/* Without its lock, if its state is known. */
static enum status fetch_part(struct object *o, uint64_t offset, void *to, size_t len,
                              struct error *err)
{
    const bool known = atomic_load(&o->known);
    struct request q = {.path = o->path, .match = known && o->kind->tagged ? o->state.tag : NULL};
    struct reply r = {0};
    if (o->kind->request(o->path, &o->state, &q, err) == OK &&
        fetch_range(&q, offset, to, len, &r, err) == OK) {
        if (!known)
            set_state(o, r.size, r.modified, r.tag, "");
        else
            check_state(o, &r, err);
    }
    request_release(&q);
    if (err->status == ERR_CHANGED || err->status == ERR_MISSING)
        disown(o);
    return err->status;
}

/* Under its lock. Owns the bytes; there may be room behind them. */
static void keep_span(struct object *o, uint64_t begin, uint64_t end, uint8_t *bytes,
                      struct error *err)
{
    struct span *s = malloc(sizeof(*s));
    uint8_t *fit = realloc(bytes, end > begin ? (size_t)(end - begin) : 1);
    bytes = fit ? fit : bytes;
    if (!s) {
        free(bytes);
        error_memory_at(err, o->path);
        return;
    }
    *s = (struct span){o->spans, begin, end, bytes};
    o->spans = s;
    atomic_fetch_add(&ahead_bytes, end - begin);
    o->span_bytes += end - begin;
    o->span_count++;
    while (o->spans->next &&
           (o->span_count > SPANS_MOST ||
            o->span_bytes > (atomic_load(&ahead_bytes) > CACHED_MOST ? AHEAD_MOST : SPAN_BYTES))) {
        /* The oldest goes. */
        struct span **last = &o->spans;
        while ((*last)->next)
            last = &(*last)->next;
        forget_bytes(o, *last);
        free(*last);
        *last = NULL;
        o->span_count--;
    }
}

void object_ask(struct object *o, size_t ahead, struct error *err)
{
    pthread_mutex_lock(&o->lock);
    if (o->failed) { /* a second request right after need not wait again */
        *err = *o->failed;
    } else if (!atomic_load(&o->known)) {
        uint8_t *bytes = malloc(ahead);
        if (!bytes)
            error_memory_at(err, o->path);
        else if (fetch_part(o, 0, bytes, ahead, err) == OK)
            keep_span(o, 0, o->is.size < ahead ? o->is.size : ahead, bytes, err);
        else
            free(bytes);
        if (err->status == ERR_IO && (o->failed = malloc(sizeof(*err))))
            *o->failed = *err;
        atomic_store(&o->seen, now_ms());
    }
    pthread_mutex_unlock(&o->lock);
    if (err->status != OK && err->status != ERR_IO)
        disown(o);
}

struct object_source {
    struct source base; /* must be first */
    struct object *object;
    bool headers;
};

/* Under its lock: copy what is there at the beginning of a range; returns how many bytes that is. Data is read
 * once: where the end of a span was read, its bytes go. */
static size_t copy_known(struct object *o, bool headers, uint64_t offset, void *to, size_t len)
{
    for (struct span *s = o->spans; s; s = s->next) {
        if (!s->bytes || offset < s->begin || offset >= s->end)
            continue;
        const size_t n = s->end - offset < len ? (size_t)(s->end - offset) : len;
        memcpy(to, s->bytes + (offset - s->begin), n);
        if (!headers && s->begin && offset + n == s->end) {
            forget_bytes(o, s);
        }
        return n;
    }
    return 0;
}

/* Which bytes to fetch to get [offset, offset + len). */
struct plan {
    uint64_t begin, end;
    uint64_t low, high; /* between what is known already */
    uint64_t before;    /* bytes of the piece that ends where this one begins; 0: none does */
};

static struct plan begin_plan(const struct object *o, uint64_t offset, size_t len)
{
    struct plan p = {.begin = offset, .end = offset + len, .high = o->is.size};
    for (const struct span *s = o->spans; s; s = s->next) {
        if (s->end == offset)
            p.before = s->end - s->begin;
        if (s->bytes && s->end <= offset && s->end > p.low)
            p.low = s->end;
        if (s->bytes && s->begin > offset && s->begin < p.high)
            p.high = s->begin;
    }
    return p;
}

static uint64_t greater(uint64_t a, uint64_t b)
{
    return a > b ? a : b;
}

static uint64_t lesser(uint64_t a, uint64_t b)
{
    return a < b ? a : b;
}

/* Under its lock. A small file is read whole, and the end of a file at once. */
static struct plan plan_headers(const struct object *o, uint64_t offset, size_t len)
{
    struct plan p = begin_plan(o, offset, len);
    const uint64_t size = o->is.size, tail = size - lesser(size, OBJECT_HEAD);
    if (size <= SMALL_FILE) {
        p.begin = p.low;
        p.end = size;
    } else if (offset >= tail) {
        p.begin = greater(tail, p.low);
        p.end = size;
    } else {
        p.end = greater(p.end, offset + greater(OBJECT_HEAD, lesser(2 * p.before, AHEAD_MOST)));
    }
    p.end = lesser(p.end, p.high);
    return p;
}

/* Under its lock. Small tensors are read whole, and larger ones in growing pieces. Where a tensor begins where
 * the last piece ended, so may the next ones. */
static struct plan plan_data(const struct object *o, uint64_t offset, size_t len)
{
    struct plan p = begin_plan(o, offset, len);
    uint64_t until = p.end;
    bool joins = false;
    for (size_t i = 0; i < EXPECTED; i++) {
        if (o->expected[i].begin > offset || o->expected[i].end <= offset)
            continue;
        joins |= p.before && o->expected[i].begin == offset;
        until = greater(until, o->expected[i].end);
    }
    const uint64_t ahead = offset + lesser(2 * p.before, AHEAD_MOST);
    p.end = until - offset <= OBJECT_HEAD / 4 ? until : greater(p.end, lesser(ahead, until));
    p.end = lesser(joins ? greater(p.end, ahead) : p.end, p.high);
    return p;
}

/* Fetch more than is wanted, and keep it. Headers are fetched under the lock, so that two threads do not ask for
 * the same. */
static void fetch_ahead(struct object *o, bool headers, uint64_t begin, uint64_t end,
                        struct error *err)
{
    uint8_t *bytes = malloc((size_t)(end - begin));
    if (!headers)
        pthread_mutex_unlock(&o->lock);
    if (bytes)
        fetch_part(o, begin, bytes, (size_t)(end - begin), err);
    else
        error_memory_at(err, o->path);
    if (!headers)
        pthread_mutex_lock(&o->lock);
    if (err->status == OK)
        keep_span(o, begin, end, bytes, err);
    else
        free(bytes);
}

/* --- headers that are known to be read ------------------------------------------------------- */

struct batch {
    struct object *o;
    struct range *ranges;
    size_t count;
    atomic_size_t next;
    pthread_mutex_t lock; /* for */
    struct error *err;    /* the first failure, which ends it */
};

static int range_order(const void *a, const void *b)
{
    const struct range *x = a, *y = b;
    return (x->begin > y->begin) - (x->begin < y->begin);
}

/* Under its lock: the unknown bytes of a range, from the first to the last. */
static struct range unknown_of(const struct object *o, struct range r)
{
    for (const struct span *s = o->spans; s && r.begin < r.end; s = s->next) {
        if (s->bytes && s->begin <= r.begin && s->end > r.begin)
            r.begin = lesser(s->end, r.end);
        if (s->bytes && s->begin < r.end && s->end >= r.end)
            r.end = greater(s->begin, r.begin);
    }
    return r;
}

/* Under its lock: merge the told ranges into a few, in place. Returns how many. */
static size_t join_told(struct object *o)
{
    size_t count = 0;
    uint64_t bytes = 0;
    if (o->is.size <= TOLD_WHOLE)
        o->told[0] = (struct range){0, o->is.size, NULL}, o->told_count = 1;
    qsort(o->told, o->told_count, sizeof(*o->told), range_order);
    for (size_t i = 0; i < o->told_count && bytes < TOLD_BYTES; i++) {
        struct range r = o->told[i], *last = count ? &o->told[count - 1] : NULL;
        r.end = lesser(greater(r.end, r.begin + TOLD_LEAST), o->is.size);
        r = unknown_of(o, r);
        const bool joins =
            last && r.begin <= last->end + TOLD_JOIN && r.end - last->begin <= TOLD_WHOLE;
        if (r.begin >= r.end || (last && r.end <= last->end))
            continue;
        if (last && r.begin < last->end && !joins)
            r.begin = last->end;
        bytes += r.end - (joins ? last->end : r.begin);
        if (joins)
            last->end = r.end;
        else
            o->told[count++] = r;
    }
    o->told_count = 0;
    return count;
}

static void fetch_some(void *argument)
{
    struct batch *b = argument;
    for (size_t i; (i = atomic_fetch_add(&b->next, 1)) < b->count;) {
        struct range *r = &b->ranges[i];
        struct error why = {.offset = NO_OFFSET};
        r->bytes = malloc((size_t)(r->end - r->begin));
        if (!r->bytes)
            error_memory_at(&why, b->o->path);
        else
            fetch_part(b->o, r->begin, r->bytes, (size_t)(r->end - r->begin), &why);
        if (why.status == OK)
            continue;
        free(r->bytes);
        r->bytes = NULL;
        pthread_mutex_lock(&b->lock);
        if (b->err->status == OK)
            *b->err = why;
        pthread_mutex_unlock(&b->lock);
        atomic_store(&b->next, b->count);
    }
}

/* Under its lock: fetch the told ranges side by side. */
static void fetch_told(struct object *o, struct error *err)
{
    static _Atomic unsigned under_way;
    struct batch b = {.o = o, .ranges = o->told, .count = join_told(o), .err = err};
    const unsigned others = atomic_load(&under_way);
    const unsigned more = b.count > 1 && others < AT_A_TIME ? AT_A_TIME - others : 0;
    const unsigned helpers = more < b.count ? more : (unsigned)b.count - 1;
    pthread_mutex_init(&b.lock, NULL);
    atomic_fetch_add(&under_way, helpers);
    struct threads *threads = helpers ? threads_start(helpers, fetch_some, &b) : NULL;
    fetch_some(&b);
    threads_join(threads);
    atomic_fetch_sub(&under_way, helpers);
    pthread_mutex_destroy(&b.lock);
    for (size_t i = 0; i < b.count; i++)
        if (b.ranges[i].bytes)
            keep_span(o, b.ranges[i].begin, b.ranges[i].end, b.ranges[i].bytes, err);
}

static enum status object_read(const struct source *s, uint64_t offset, void *dst, size_t len,
                               struct error *err)
{
    const struct object_source *src = (const struct object_source *)s;
    struct object *o = src->object;
    uint8_t *to = dst;
    pthread_mutex_lock(&o->lock);
    while (len && err->status == OK) {
        size_t n = copy_known(o, src->headers, offset, to, len);
        if (!n && len >= DIRECT) {
            n = len < AT_ONCE ? len : AT_ONCE;
            pthread_mutex_unlock(&o->lock);
            fetch_part(o, offset, to, n, err);
            pthread_mutex_lock(&o->lock);
        } else if (!n) {
            if (src->headers && o->told_count) {
                fetch_told(o, err);
                continue;
            }
            const struct plan p =
                src->headers ? plan_headers(o, offset, len) : plan_data(o, offset, len);
            fetch_ahead(o, src->headers, p.begin, p.end, err);
        }
        to += n;
        offset += n;
        len -= n;
    }
    pthread_mutex_unlock(&o->lock);
    return err->status;
}

static void object_expect(const struct source *s, uint64_t offset, uint64_t size)
{
    struct object *o = ((const struct object_source *)s)->object;
    pthread_mutex_lock(&o->lock);
    o->expected[o->expected_next] = (struct range){offset, offset + size, NULL};
    o->expected_next = (o->expected_next + 1) % EXPECTED;
    pthread_mutex_unlock(&o->lock);
}

static bool object_at_hand(const struct source *s, uint64_t offset, uint64_t size)
{
    struct object *o = ((const struct object_source *)s)->object;
    pthread_mutex_lock(&o->lock);
    const struct range r = unknown_of(o, (struct range){offset, offset + size, NULL});
    const bool known = r.begin >= r.end || r.end - r.begin > TOLD_WHOLE; /* or read by itself */
    if (!known && !o->told)
        o->told = calloc(TOLD_MOST, sizeof(*o->told));
    if (!known && o->told && o->told_count < TOLD_MOST)
        o->told[o->told_count++] = r;
    pthread_mutex_unlock(&o->lock);
    return known;
}

static void object_close(struct source *s)
{
    object_give(((struct object_source *)s)->object);
    free(s);
}

static const struct source_ops object_ops = {.read_at = object_read,
                                             .expect = object_expect,
                                             .at_hand = object_at_hand,
                                             .close = object_close};

enum status object_open(struct object *o, bool headers, struct source **out, struct error *err)
{
    struct object_source *s = calloc(1, sizeof(*s));
    if (!s) {
        object_give(o);
        return error_memory_at(err, o->path);
    }
    s->base = (struct source){&object_ops, object_identity(o).size, o->path, false, NULL};
    s->object = o;
    s->headers = headers;
    *out = &s->base;
    return OK;
}
