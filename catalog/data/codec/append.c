/*
 * append.c - the bytes, followed by a part of them decoded: "append:4096,520,deflate:2048+swap:8"
 * keeps all bytes and appends the 520 from byte 4,096 on, inflated to 2,048 bytes and byte-swapped.
 * For a later step that needs several runs at once of which some are encoded (sparse.c).
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "catalog/data/codec/codec.h"

struct append_source {
    struct source base; /* must be first */
    struct source *inner, *more;
};

static enum status append_read(const struct source *base, uint64_t offset, void *dst, size_t len,
                               struct error *err)
{
    const struct append_source *s = (const struct append_source *)base;
    const uint64_t own = s->inner->size;
    const uint64_t left = offset < own ? own - offset : 0;
    const size_t first = left < len ? (size_t)left : len;
    if (first && source_read(s->inner, offset, dst, first, err) != OK)
        return err->status;
    return first == len ? OK
                        : source_read(s->more, offset + first - own, (uint8_t *)dst + first,
                                      len - first, err);
}

static void append_close(struct source *base)
{
    struct append_source *s = (struct append_source *)base;
    source_close(s->more);
    source_close(s->inner);
    free(s);
}

static const struct source_ops append_ops = {.read_at = append_read, .close = append_close};

static enum status append_open(struct source *inner, const struct codec_args *args,
                               struct source **out, struct error *err)
{
    char chain[CODEC_STEP_BYTES];
    struct source base = {&append_ops, 0, inner->name, false};
    uint64_t offset = args->number[0], len = args->number[1], size;
    if (offset > inner->size || len > inner->size - offset)
        return codec_bad_argument(inner, "append", args->text, err);
    snprintf(chain, sizeof(chain), "%s", args->rest); /* "deflate:2048+swap:8" */
    for (char *plus = chain; (plus = strchr(plus, '+'));)
        *plus = '|';
    struct append_source *s = codec_source_new(inner, sizeof(*s), base, err);
    if (!s)
        return err->status;
    s->inner = inner;
    if (source_open_view(inner, offset, len, &s->more, err) == OK)
        codec_chain_open(s->more, chain, &s->more, NULL, err);
    if (err->status == OK && s->more->sequential)
        source_open_spill(s->more, &s->more, err);
    if (err->status != OK)
        s->more = NULL; /* the function that failed has closed it */
    else if (add_u64(inner->size, s->more->size, &size))
        s->base.size = size;
    else
        error_set(err, ERR_CORRUPT, inner->name, NO_OFFSET, "append: too many bytes");
    if (err->status != OK) {
        append_close(&s->base);
        return err->status;
    }
    *out = &s->base;
    return OK;
}

const struct codec codec_append = {.name = "append", .args = "N,N,*", .open = append_open};
