#include <stdlib.h>
#include <string.h>

#include "catalog/data/store/source.h"

struct memory_source {
    struct source base; /* must be first */
    const uint8_t *at;
    uint8_t *owned;
    char *name;
};

static enum status memory_read(const struct source *s, uint64_t offset, void *dst, size_t len,
                               struct error *err)
{
    (void)err;
    memcpy(dst, ((const struct memory_source *)s)->at + offset, len);
    return OK;
}

static void memory_close(struct source *s)
{
    struct memory_source *m = (struct memory_source *)s;
    free(m->owned);
    free(m->name);
    free(m);
}

static const struct source_ops memory_ops = {.read_at = memory_read, .close = memory_close};

enum status source_open_memory(const char *name, struct bytes bytes, bool copy, struct source **out,
                               struct error *err)
{
    struct memory_source *m = calloc(1, sizeof(*m));
    if (!m)
        return error_memory_at(err, name);
    m->name = strdup(name);
    m->owned = copy ? malloc(bytes.len ? bytes.len : 1) : NULL;
    if (!m->name || (copy && !m->owned)) {
        memory_close(&m->base);
        return error_memory_at(err, name);
    }
    if (copy && bytes.len)
        memcpy(m->owned, bytes.at, bytes.len);
    m->at = copy ? m->owned : bytes.at;
    m->base = (struct source){&memory_ops, bytes.len, m->name, false};
    *out = &m->base;
    return OK;
}
