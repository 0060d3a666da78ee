/*
 * source_spill.c - decodes a stream once and keeps the result, so that it can be read in any order.
 */
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "catalog/base/pages.h"
#include "catalog/data/store/source.h"
#include "catalog/data/store/temporary.h"

#define BLOCK_BYTES  ((size_t)256 << 10)
#define MEMORY_BYTES ((uint64_t)8 << 20) /* larger sources go to a file */

struct spill_source {
    struct source base; /* must be first */
    int fd;             /* -1: the bytes are in `at` */
    uint8_t *at;
    char *name; /* copied from the source */
};

static enum status spill_read(const struct source *s, uint64_t offset, void *dst, size_t len,
                              struct error *err)
{
    const struct spill_source *p = (const struct spill_source *)s;
    if (p->at) {
        memcpy(dst, p->at + offset, len);
        return OK;
    }
    return temporary_read(p->fd, offset, dst, len, s->name, err);
}

static void spill_close(struct source *s)
{
    struct spill_source *p = (struct spill_source *)s;
    if (p->fd >= 0)
        close(p->fd);
    free(p->at);
    free(p->name);
    free(p);
}

static const struct source_ops spill_ops = {.read_at = spill_read, .close = spill_close};

static enum status fill_file(struct spill_source *p, const struct source *inner, struct error *err)
{
    uint8_t *block = pages_alloc(BLOCK_BYTES);
    if (!block)
        error_memory_at(err, p->name);
    else
        p->fd = temporary_open(p->name, err);
    for (uint64_t at = 0; p->fd >= 0 && at < inner->size;) {
        uint64_t left = inner->size - at;
        size_t len = left < BLOCK_BYTES ? (size_t)left : BLOCK_BYTES;
        if (source_read(inner, at, block, len, err) != OK ||
            temporary_write(p->fd, at, block, len, p->name, err) != OK)
            break;
        at += len;
    }
    free(block);
    return err->status;
}

enum status source_open_spill(struct source *inner, struct source **out, struct error *err)
{
    return source_open_spill_within(inner, MEMORY_BYTES, out, err);
}

enum status source_open_spill_within(struct source *inner, uint64_t memory, struct source **out,
                                     struct error *err)
{
    enum status status;
    struct spill_source *p = calloc(1, sizeof(*p));
    if (!p) {
        error_memory_at(err, inner->name);
        source_close(inner);
        return err->status;
    }
    p->fd = -1;
    p->name = strdup(inner->name);
    if (p->name && inner->size <= memory)
        p->at = pages_alloc((size_t)inner->size);
    if (!p->name || (inner->size <= memory && !p->at))
        status = error_memory_at(err, inner->name);
    else if (p->at)
        status = source_read(inner, 0, p->at, (size_t)inner->size, err);
    else
        status = fill_file(p, inner, err);
    if (status == OK) {
        p->base = (struct source){&spill_ops, inner->size, p->name, false, NULL};
        *out = &p->base;
    } else {
        spill_close(&p->base);
    }
    source_close(inner);
    return status;
}
