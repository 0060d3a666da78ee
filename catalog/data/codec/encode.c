#include "catalog/data/codec/encode.h"

#include <stdlib.h>
#include <string.h>

#define STEPS_MAX 4

struct encoder_step {
    const struct codec *codec;
    char text[CODEC_STEP_BYTES]; /* the argument */
    void *state;
};

struct encoder {
    struct encoder_step steps[STEPS_MAX];
    unsigned count;
    struct {
        uint8_t *at;
        uint64_t space;
    } rooms[2]; /* used alternately: output of even and odd steps */
};

static void run_step(struct encoder_step *s, struct bytes in, uint8_t *out, size_t room,
                     size_t *made, struct error *err)
{
    struct codec_step step = {
        .codec = s->codec->name,
        .args = {.text = s->text},
        .name = NULL,
        .offset = NO_OFFSET,
        .state = &s->state,
    };
    s->codec->encode(&step, in, out, room, made, err);
}

/* Encodes an empty input once, so that bad settings and missing libraries are reported before the
 * first file is created. */
static void encode_add_step(struct encoder *e, const char *chain, const char *name,
                            const char *argument, struct error *err)
{
    struct encoder_step *s = &e->steps[e->count];
    const struct codec *codec = codec_find(name);
    uint64_t bound = 0;
    size_t made;
    if (e->count == STEPS_MAX || !codec || !codec->encode) {
        error_set(err, ERR_ARGUMENT, NULL, NO_OFFSET, "%s: no codec that encodes", chain);
        return;
    }
    *s = (struct encoder_step){.codec = codec};
    memcpy(s->text, argument, strlen(argument) + 1);
    if (!codec->bound(s->text, 0, &bound)) {
        error_set(err, ERR_ARGUMENT, NULL, NO_OFFSET, "%s: settings that the codec does not have",
                  chain);
        return;
    }
    e->count++;
    uint8_t *out = malloc((size_t)bound + 1);
    if (out)
        run_step(s, (struct bytes){(const uint8_t *)"", 0}, out, (size_t)bound, &made, err);
    else
        error_memory(err);
    free(out);
}

enum status encoder_open(const char *chain, struct encoder **out, struct error *err)
{
    struct encoder *e = calloc(1, sizeof(*e));
    char name[CODEC_STEP_BYTES];
    const char *argument, *rest = chain;
    if (!e)
        return error_memory(err);
    while (err->status == OK && codec_chain_next(&rest, name, &argument))
        encode_add_step(e, chain, name, argument, err);
    if (err->status == OK)
        *out = e;
    else
        encoder_close(e);
    return err->status;
}

void encoder_close(struct encoder *e)
{
    if (!e)
        return;
    for (unsigned i = 0; i < e->count; i++)
        if (e->steps[i].state && e->steps[i].codec->encode_release)
            e->steps[i].codec->encode_release(e->steps[i].state);
    free(e->rooms[0].at);
    free(e->rooms[1].at);
    free(e);
}

static bool encode_make_room(struct encoder *e, unsigned room, uint64_t bytes)
{
    if (bytes <= e->rooms[room].space)
        return true;
    free(e->rooms[room].at);
    e->rooms[room].at = bytes < SIZE_MAX ? malloc((size_t)bytes) : NULL;
    e->rooms[room].space = e->rooms[room].at ? bytes : 0;
    return e->rooms[room].at != NULL;
}

enum status encoder_run(struct encoder *e, struct bytes in, struct bytes *out, struct error *err)
{
    *out = in;
    for (unsigned i = 0; i < e->count && err->status == OK; i++) {
        struct encoder_step *s = &e->steps[i];
        uint64_t bound;
        size_t made = 0;
        if (!s->codec->bound(s->text, out->len, &bound) || !encode_make_room(e, i % 2, bound))
            return error_memory(err);
        run_step(s, *out, e->rooms[i % 2].at, (size_t)bound, &made, err);
        *out = (struct bytes){e->rooms[i % 2].at, made};
    }
    return err->status;
}
