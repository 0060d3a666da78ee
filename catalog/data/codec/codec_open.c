/*
 * codec_open.c - opens chains over sources. A codec that only works on blocks becomes a source, too: all
 * stored bytes are read and decoded at opening.
 */
#include <stdio.h>
#include <stdlib.h>

#include "catalog/data/codec/block.h"
#include "catalog/data/codec/stream.h"

#define WHOLE_MOST ((uint64_t)2 << 30) /* most stored bytes, and most decoded bytes */

/* The source decoded as a block into memory. */
static void open_whole(const struct source *inner, const struct codec *codec, const char *argument,
                       struct source **out, struct error *err)
{
    char step[CODEC_STEP_BYTES];
    snprintf(step, sizeof(step), "%s:%s", codec->name, argument);
    struct block block = {.chain = step, .name = inner->name};
    uint8_t *stored = NULL, *decoded = NULL;
    uint64_t len = 0;
    struct block_decoder *decoder = block_decoder_new();
    if (!decoder) {
        error_memory_at(err, inner->name);
    } else if (inner->size > WHOLE_MOST) {
        error_set(err, ERR_LIMIT, inner->name, NO_OFFSET,
                  "%llu stored bytes in one piece, most is %llu", (unsigned long long)inner->size,
                  (unsigned long long)WHOLE_MOST);
    } else if ((stored = codec_read(inner, 0, inner->size, err))) {
        source_descriptor(inner, &block.offset);
        block.stored = (struct bytes){stored, (size_t)inner->size};
        block_decode_all(decoder, &block, WHOLE_MOST, &decoded, &len, err);
    }
    free(stored);
    block_decoder_free(decoder);
    if (decoded)
        source_take_memory(inner->name, decoded, (size_t)len, out, err);
}

/* A codec's own source. */
static void begin_source(struct source *inner, const struct codec *codec,
                         const struct codec_args *args, struct source **out, struct error *err)
{
    struct source *s = calloc(1, codec->source_bytes);
    if (!s) {
        error_memory_at(err, inner->name);
        return;
    }
    *s = (struct source){codec->source, inner->size, inner->name, inner->sequential, inner};
    if (codec->begin(s, args, err) == OK) {
        *out = s;
    } else {
        s->inner = NULL;
        source_close(s);
    }
}

/* --- chains ------------------------------------------------------------ */

static void take_strings(struct source *s, const char *rest, const char *argument, char **strings,
                         struct error *err)
{
    if (!strings)
        error_set(err, ERR_UNSUPPORTED, s->name, NO_OFFSET, "strings have no fixed size");
    else if (rest)
        error_set(err, ERR_CORRUPT, s->name, NO_OFFSET, "codec step after \"strings\"");
    else if (!(*strings = strdup(argument)))
        error_memory_at(err, s->name);
}

/* Put the codec's source over *s, if it can be opened. */
static void open_step(const struct codec *codec, const char *argument, struct source **s,
                      struct error *err)
{
    struct codec_args args;
    struct source *inner = *s, *made = NULL;
    bool whole = !codec->source && !codec->stream && !codec->open;
    if (!codec_args_parse(codec, argument, &args) && !whole)
        codec_bad_argument(inner, codec->name, argument, err);
    else if (codec->source)
        begin_source(inner, codec, &args, &made, err);
    else if (codec->stream && !args.at_most)
        stream_open(inner, codec->stream, args.number[0], &made, err);
    else if (codec->open)
        codec->open(inner, &args, &made, err);
    else
        open_whole(inner, codec, argument, &made, err);
    if (made && made != inner) {
        made->inner = inner;
        *s = made;
    }
}

enum status codec_chain_open(struct source *inner, const char *chain, struct source **out,
                             char **strings, struct error *err)
{
    struct source *s = inner;
    char name[CODEC_STEP_BYTES];
    const char *argument, *rest = chain;
    if (strings)
        *strings = NULL;
    while (err->status == OK && codec_chain_next(&rest, name, &argument)) {
        const struct codec *codec = codec_find(name);
        if (codec)
            open_step(codec, argument, &s, err);
        else if (strcmp(name, "strings") == 0)
            take_strings(s, rest, argument, strings, err);
        else
            error_set(err, ERR_UNSUPPORTED, s->name, NO_OFFSET, "unknown codec in \"%s\"", chain);
    }
    if (err->status == OK)
        *out = s;
    else
        source_close(s);
    return err->status;
}
