#include "catalog/data/store/remote/kind.h"

#include <string.h>
#include <time.h>

#define PAGE_BYTES   ((size_t)64 << 20)
#define ENTRIES_MOST ((size_t)1 << 20) /* of one folder */
#define PAGES_MOST   100000            /* of one list, also empty ones */

static const struct remote_kind *const kinds[] = {
    &remote_http, &remote_https, &remote_hub_data, &remote_hub, &remote_s3, &remote_gs, NULL};

const struct remote_kind *kind_named(const char *path)
{
    size_t i = 0;
    while (kinds[i] && strncmp(path, kinds[i]->scheme, strlen(kinds[i]->scheme)) != 0)
        i++;
    return kinds[i];
}

size_t kind_root(const struct remote_kind *kind, const char *path)
{
    size_t at = strlen(kind->scheme);
    for (unsigned i = 0; i < kind->root; i++) {
        at += strcspn(path + at, "/");
        if (i + 1 < kind->root && path[at])
            at++;
    }
    return at;
}

const char *kind_bucket(const char *path, size_t *len, const char **key)
{
    const char *bucket = strstr(path, "://") + 3;
    *len = strcspn(bucket, "/");
    *key = bucket + *len + (bucket[*len] == '/');
    return bucket;
}

void remote_add(struct remote_folder *f, const char *name, size_t len, struct remote_entry e)
{
    bool bad = !len || len > 1024 || memchr(name, '/', len) || memchr(name, '\0', len) ||
               (name[0] == '.' && (len == 1 || (len == 2 && name[1] == '.')));
    for (size_t i = 0; i < len; i++)
        bad |= (unsigned char)name[i] < 0x20 || name[i] == 0x7f;
    if (bad) {
        error_set(f->arena.err, ERR_CORRUPT, f->path, NO_OFFSET,
                  "the server lists \"%.*s\", which is not the name of a file",
                  (int)(len < 200 ? len : 200), name);
        return;
    }
    e.name = arena_copy(&f->arena, name, len);
    e.tag = arena_copy(&f->arena, e.tag, strlen(e.tag));
    *PUSH(&f->arena, f->entries, f->count, f->space) = e;
}

int64_t remote_time(const char *text)
{
    struct tm tm = {0};
    return strptime(text, "%Y-%m-%dT%H:%M:%S", &tm) ? (int64_t)timegm(&tm) : 0;
}

void remote_pages(struct remote_folder *f, struct request *q, size_t host,
                  void (*read)(struct remote_folder *, const void *context, const struct text *page,
                               struct text *next),
                  const void *context)
{
    struct error *err = f->arena.err;
    struct text page = {.limit = PAGE_BYTES};
    struct reply reply = {0};
    for (unsigned pages = 1; fetch_text(q, &page, &reply, err) == OK; pages++) {
        read(f, context, &page, &reply.next);
        if (f->count > ENTRIES_MOST || pages > PAGES_MOST)
            error_set(err, ERR_LIMIT, f->path, NO_OFFSET, "the list of this folder does not end");
        if (err->status != OK || !reply.next.len)
            break;
        if (strncmp(reply.next.at, q->url.at, host) != 0 || reply.next.at[host] != '/' ||
            strcmp(reply.next.at, q->url.at) == 0)
            error_set(err, ERR_IO, f->path, NO_OFFSET,
                      "the server's list goes on at another host, or where it began");
        text_reset(&q->url);
        text_add(&q->url, reply.next.at, reply.next.len);
        text_reset(&reply.next);
        if (err->status != OK)
            break;
    }
    text_release(&page);
    text_release(&reply.next);
}
