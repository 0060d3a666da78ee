#include "catalog/data/read/checked.h"

#include <pthread.h>
#include <stdlib.h>
#include <string.h>

#include "catalog/base/pages.h"
#include "catalog/data/codec/checksum.h"
#include "catalog/data/kernel/crc32c.h"

#define BLOCK_BYTES ((size_t)128 << 10)

struct checked_source {
    struct source base; /* must be first */
    struct checksum sum;
    pthread_mutex_t lock; /* guards the two below */
    uint64_t at;          /* bytes of `base` before this are summed up in `found` */
    uint32_t found;
};

static const struct {
    const char *kind;
    uint32_t (*extend)(uint32_t sum, const void *bytes, size_t len);
} kinds[] = {
    {"crc32c", crc32c_extend},
    {"crc32", crc32_extend},
};

bool checksum_known(const char *kind)
{
    return strcmp(kind, kinds[0].kind) == 0 || strcmp(kind, kinds[1].kind) == 0;
}

uint32_t checksum_extend(const char *kind, uint32_t sum, const void *bytes, size_t len)
{
    return kinds[strcmp(kind, kinds[0].kind) != 0].extend(sum, bytes, len);
}

void checksum_wrong(const struct source *s, const struct checksum *sum, uint32_t found,
                    struct error *err)
{
    error_set(err, ERR_CHECKSUM, s->name, sum->at,
              "the data is damaged: its %s is %08x, the file states %08x", sum->kind,
              (unsigned)found, (unsigned)sum->value);
}

/* Extend *found by the bytes [at, end) of s. */
static void sum_range(const struct source *s, uint64_t at, uint64_t end, const char *kind,
                      uint32_t *found, struct error *err)
{
    uint8_t *block = pages_alloc(BLOCK_BYTES);
    if (!block)
        error_memory_at(err, s->name);
    while (block && at < end) {
        size_t len = end - at < BLOCK_BYTES ? (size_t)(end - at) : BLOCK_BYTES;
        if (source_read(s, at, block, len, err) != OK)
            break;
        *found = checksum_extend(kind, *found, block, len);
        at += len;
    }
    free(block);
}

void checksum_verify(const struct source *s, const struct checksum *sum, struct error *err)
{
    uint32_t found = 0;
    sum_range(s, 0, s->size, sum->kind, &found, err);
    if (err->status == OK && found != sum->value)
        checksum_wrong(s, sum, found, err);
    if (err->status == OK)
        *sum->fine = true;
}

/* Bytes [offset, offset + len) of the base were read: extend the sum if they continue it. */
static void take_in(struct checked_source *c, uint64_t offset, const uint8_t *bytes, size_t len,
                    struct error *err)
{
    if (offset > c->at || offset + len <= c->at)
        return;
    if (c->at == 0 && c->sum.before)
        sum_range(c->base.inner, 0, c->sum.before, c->sum.kind, &c->found, err);
    if (err->status != OK)
        return;
    size_t known = (size_t)(c->at - offset);
    c->found = checksum_extend(c->sum.kind, c->found, bytes + known, len - known);
    c->at = offset + len;
    if (c->at < c->base.size)
        return;
    uint32_t found = c->found;
    c->at = 0; /* so that a second pass is verified, too */
    c->found = 0;
    if (found == c->sum.value)
        *c->sum.fine = true;
    else
        checksum_wrong(c->base.inner, &c->sum, found, err);
}

/* Reads block by block, so that each is summed while it is in the processor's cache. */
static enum status checked_read(const struct source *base, uint64_t offset, void *dst, size_t len,
                                struct error *err)
{
    struct checked_source *c = (struct checked_source *)base;
    uint8_t *at = dst;
    while (len && err->status == OK) {
        size_t n = len < BLOCK_BYTES ? len : BLOCK_BYTES;
        if (source_read(base->inner, c->sum.before + offset, at, n, err) == OK) {
            pthread_mutex_lock(&c->lock);
            take_in(c, offset, at, n, err);
            pthread_mutex_unlock(&c->lock);
        }
        at += n;
        offset += n;
        len -= n;
    }
    return err->status;
}

static void checked_close(struct source *base)
{
    struct checked_source *c = (struct checked_source *)base;
    pthread_mutex_destroy(&c->lock);
    free(c);
}

static const struct source_ops checked_ops = {.read_at = checked_read, .close = checked_close};

void source_open_checked(struct source *inner, const struct checksum *sum, struct source **out,
                         struct error *err)
{
    struct checked_source *c = sum->before <= inner->size ? calloc(1, sizeof(*c)) : NULL;
    if (!c) {
        error_memory_at(err, inner->name);
        source_close(inner);
        return;
    }
    pthread_mutex_init(&c->lock, NULL);
    c->base = (struct source){&checked_ops, inner->size - sum->before, inner->name,
                              inner->sequential, inner};
    c->sum = *sum;
    *out = &c->base;
}
