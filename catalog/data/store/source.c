#include "catalog/data/store/source.h"

#include <stdlib.h>

enum status source_read(const struct source *s, uint64_t offset, void *dst, size_t len,
                        struct error *err)
{
    uint64_t end;
    if (!add_u64(offset, len, &end) || end > s->size)
        return error_set(err, ERR_CORRUPT, s->name, offset,
                         "%zu bytes wanted, but the data ends at byte %llu", len,
                         (unsigned long long)s->size);
    return len ? s->ops->read_at(s, offset, dst, len, err) : OK;
}

void source_close(struct source *s)
{
    while (s) {
        struct source *inner = s->inner;
        if (s->ops->close)
            s->ops->close(s);
        else
            free(s);
        s = inner;
    }
}

/* --- a range of another source --- */

struct range_source {
    struct source base;      /* must be first */
    const struct source *of; /* may be borrowed, so not base.inner */
    uint64_t offset;
};

static enum status range_read(const struct source *s, uint64_t offset, void *dst, size_t len,
                              struct error *err)
{
    const struct range_source *r = (const struct range_source *)s;
    return source_read(r->of, r->offset + offset, dst, len, err);
}

static void range_expect(const struct source *s, uint64_t offset, uint64_t size)
{
    const struct range_source *r = (const struct range_source *)s;
    if (r->of->ops->expect)
        r->of->ops->expect(r->of, r->offset + offset, size);
}

static bool range_at_hand(const struct source *s, uint64_t offset, uint64_t size)
{
    const struct range_source *r = (const struct range_source *)s;
    return !r->of->ops->at_hand || r->of->ops->at_hand(r->of, r->offset + offset, size);
}

static const struct source_ops range_ops = {
    .read_at = range_read, .expect = range_expect, .at_hand = range_at_hand};

enum status source_open_view(const struct source *inner, uint64_t offset, uint64_t size,
                             struct source **out, struct error *err)
{
    uint64_t end;
    if (!add_u64(offset, size, &end) || end > inner->size)
        return error_set(err, ERR_CORRUPT, inner->name, offset,
                         "data of %llu bytes ends past the end of the file (%llu bytes)",
                         (unsigned long long)size, (unsigned long long)inner->size);
    struct range_source *r = calloc(1, sizeof(*r));
    if (!r)
        return error_memory_at(err, inner->name);
    r->base = (struct source){&range_ops, size, inner->name, inner->sequential, NULL};
    r->of = inner;
    r->offset = offset;
    range_expect(&r->base, 0, size);
    *out = &r->base;
    return OK;
}

enum status source_open_range(struct source *inner, uint64_t offset, uint64_t size,
                              struct source **out, struct error *err)
{
    struct source *view = NULL;
    if (source_open_view(inner, offset, size, &view, err) != OK) {
        source_close(inner);
        return err->status;
    }
    view->inner = inner;
    *out = view;
    return OK;
}

int source_descriptor_of_file(const struct source *s); /* store_files.c; -1: not a file */

int source_descriptor(const struct source *s, uint64_t *offset)
{
    uint64_t begin = 0;
    while (s->ops == &range_ops) {
        const struct range_source *r = (const struct range_source *)s;
        begin += r->offset;
        s = r->of;
    }
    *offset = begin;
    return source_descriptor_of_file(s);
}
