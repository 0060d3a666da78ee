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

/* `owned` (may be NULL) is freed on failure too. */
static enum status memory_open(const char *name, struct bytes bytes, uint8_t *owned,
                               struct source **out, struct error *err)
{
    struct memory_source *m = calloc(1, sizeof(*m));
    char *copy = strdup(name);
    if (!m || !copy) {
        free(m);
        free(copy);
        free(owned);
        return error_memory_at(err, name);
    }
    *m = (struct memory_source){.at = bytes.at, .owned = owned, .name = copy};
    m->base = (struct source){&memory_ops, bytes.len, copy, false, NULL};
    *out = &m->base;
    return OK;
}

enum status source_open_memory(const char *name, struct bytes bytes, bool copy, struct source **out,
                               struct error *err)
{
    if (!copy)
        return memory_open(name, bytes, NULL, out, err);
    uint8_t *own = malloc(bytes.len ? bytes.len : 1);
    if (!own)
        return error_memory_at(err, name);
    if (bytes.len)
        memcpy(own, bytes.at, bytes.len);
    return source_take_memory(name, own, bytes.len, out, err);
}

enum status source_take_memory(const char *name, uint8_t *bytes, size_t len, struct source **out,
                               struct error *err)
{
    return memory_open(name, (struct bytes){bytes, len}, bytes, out, err);
}
