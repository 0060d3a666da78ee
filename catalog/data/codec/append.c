/*
 * append.c - the bytes, followed by a decoded part: "append:4096,520,deflate:2048+swap:8"
 * keeps all bytes and appends the 520 from byte 4,096 on, inflated to 2,048 bytes and byte-swapped.
 * For a later step that needs several runs at once, some encoded (sparse.c).
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "catalog/data/codec/codec.h"

struct append_source {
    struct source base; /* must be first */
    struct source *more;
};

static enum status append_read(const struct source *base, uint64_t offset, void *dst, size_t len,
                               struct error *err)
{
    const struct append_source *s = (const struct append_source *)base;
    const uint64_t own = base->inner->size;
    const uint64_t left = offset < own ? own - offset : 0;
    const size_t first = left < len ? (size_t)left : len;
    enum status status = first ? source_read(base->inner, offset, dst, first, err) : OK;
    if (status == OK && first < len)
        status =
            source_read(s->more, offset + first - own, (uint8_t *)dst + first, len - first, err);
    return status;
}

static void append_close(struct source *base)
{
    source_close(((struct append_source *)base)->more);
    free(base);
}

static const struct source_ops append_ops = {.read_at = append_read, .close = append_close};

static enum status append_begin(struct source *base, const struct codec_args *args,
                                struct error *err)
{
    char chain[CODEC_STEP_BYTES];
    struct source *more = NULL;
    uint64_t offset = args->number[0], len = args->number[1];
    if (offset > base->size || len > base->size - offset)
        return codec_bad_argument(base, "append", args->text, err);
    snprintf(chain, sizeof(chain), "%s", args->rest); /* "deflate:2048+swap:8" */
    for (char *plus = chain; (plus = strchr(plus, '+'));)
        *plus = '|';
    if (source_open_view(base->inner, offset, len, &more, err) == OK &&
        codec_chain_open(more, chain, &more, NULL, err) == OK &&
        (!more->sequential || source_open_spill(more, &more, err) == OK)) {
        ((struct append_source *)base)->more = more;
        base->sequential = false;
        if (!add_u64(base->size, more->size, &base->size))
            error_set(err, ERR_CORRUPT, base->name, NO_OFFSET, "append: too many bytes");
    }
    return err->status;
}

const struct codec codec_append = {.name = "append",
                                   .args = "N,N,*",
                                   .source = &append_ops,
                                   .source_bytes = sizeof(struct append_source),
                                   .begin = append_begin};
