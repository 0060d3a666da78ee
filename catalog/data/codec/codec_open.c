/*
 * codec_open.c - opens chains over sources. A codec that only works on blocks becomes a source, too: all
 * stored bytes are read and decoded at opening.
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

/* --- chains ------------------------------------------------------------ */

static enum status take_strings(struct source *s, const char *rest, const char *argument,
                                char **strings, struct error *err)
{
    if (!strings)
        return error_set(err, ERR_UNSUPPORTED, s->name, NO_OFFSET, "strings have no fixed size");
    if (rest)
        return error_set(err, ERR_CORRUPT, s->name, NO_OFFSET, "codec step after \"strings\"");
    *strings = strdup(argument);
    return *strings ? OK : error_memory_at(err, s->name);
}

static enum status open_step(const struct codec *codec, struct source *inner, const char *argument,
                             struct source **out, struct error *err)
{
    struct codec_args args;
    if (!codec->open)
        return codec_open_whole(inner, codec, argument, out, err);
    if (!codec_args_parse(codec, argument, &args))
        return codec_bad_argument(inner, codec->name, argument, err);
    return codec->open(inner, &args, out, err);
}

enum status codec_chain_open(struct source *inner, const char *chain, struct source **out,
                             char **strings, struct error *err)
{
    enum status status = OK;
    struct source *s = inner;
    char name[CODEC_STEP_BYTES];
    const char *argument, *rest = chain;
    if (strings)
        *strings = NULL;
    while (status == OK && codec_chain_next(&rest, name, &argument)) {
        const struct codec *codec = codec_find(name);
        if (codec) {
            status = open_step(codec, s, argument, &s, err);
            if (status != OK)
                s = NULL; /* the codec closed it */
        } else if (strcmp(name, "strings") == 0) {
            status = take_strings(s, rest, argument, strings, err);
        } else {
            status = error_set(err, ERR_UNSUPPORTED, s->name, NO_OFFSET, "unknown codec in \"%s\"",
                               chain);
        }
    }
    if (status == OK)
        *out = s;
    else
        source_close(s);
    return status;
}
