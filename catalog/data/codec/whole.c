/*
 * whole.c - makes a source of a codec that only works on blocks: reads and decodes all stored
 * bytes at opening.
 */
#include <stdio.h>
#include <stdlib.h>

#include "catalog/data/codec/block.h"
#include "catalog/data/codec/codec.h"

#define WHOLE_MOST ((uint64_t)2 << 30) /* most stored bytes, and most decoded bytes */

struct whole_source {
    struct source base; /* must be first */
    struct source *inner;
    uint8_t *bytes;
};

static enum status whole_read(const struct source *base, uint64_t offset, void *dst, size_t len,
                              struct error *err)
{
    (void)err;
    if (len)
        memcpy(dst, ((const struct whole_source *)base)->bytes + offset, len);
    return OK;
}

static void whole_close(struct source *base)
{
    struct whole_source *w = (struct whole_source *)base;
    source_close(w->inner); /* kept until now because it owns the name */
    free(w->bytes);
    free(w);
}

static const struct source_ops whole_ops = {.read_at = whole_read, .close = whole_close};

static enum status whole_read_all(const struct source *s, uint8_t **out, struct error *err)
{
    if (s->size > WHOLE_MOST)
        return error_set(err, ERR_LIMIT, s->name, NO_OFFSET,
                         "%llu stored bytes in one piece, most is %llu",
                         (unsigned long long)s->size, (unsigned long long)WHOLE_MOST);
    uint8_t *bytes = malloc((size_t)s->size + !s->size);
    if (!bytes)
        return error_memory_at(err, s->name);
    if (source_read(s, 0, bytes, (size_t)s->size, err) != OK) {
        free(bytes);
        return err->status;
    }
    *out = bytes;
    return OK;
}

enum status codec_open_whole(struct source *inner, const struct codec *codec, const char *argument,
                             struct source **out, struct error *err)
{
    char step[CODEC_STEP_BYTES];
    snprintf(step, sizeof(step), "%s:%s", codec->name, argument);
    struct block block = {.chain = step, .name = inner->name};
    uint8_t *stored = NULL;
    struct block_decoder *decoder = block_decoder_new();
    struct whole_source *w = calloc(1, sizeof(*w));
    enum status status;
    if (!decoder || !w)
        status = error_memory_at(err, inner->name);
    else
        status = whole_read_all(inner, &stored, err);
    if (status == OK) {
        source_descriptor(inner, &block.offset);
        block.stored = (struct bytes){stored, (size_t)inner->size};
        w->base = (struct source){&whole_ops, 0, inner->name, false};
        w->inner = inner;
        status = block_decode_all(decoder, &block, WHOLE_MOST, &w->bytes, &w->base.size, err);
    }
    free(stored);
    block_decoder_free(decoder);
    if (status == OK) {
        *out = &w->base;
    } else {
        free(w);
        source_close(inner);
    }
    return status;
}
