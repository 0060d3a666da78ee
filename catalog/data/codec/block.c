/*
 * block.c - each step decodes from one scratch buffer into the other. The last step that does not
 * work in place decodes into the caller's buffer, and the steps after it work there.
 */
#include "catalog/data/codec/block.h"

#include <stdlib.h>

#include "catalog/base/pages.h"
#include "catalog/data/codec/codec.h"

#define ROOM_LEAST   ((uint64_t)64 << 10)
#define RATIO_EXACT  1024 /* decoded bytes per stored byte, at first, if the size is stated */
#define RATIO_GUESS  4    /* if only an upper bound is stated */
#define GROWTH       4
#define CONTEXT_MOST ((uint64_t)1 << 20) /* bytes of a codec's state */

struct block_decoder {
    struct scratch {
        uint8_t *at;
        size_t len;
    } scratch[2];
    void *state[]; /* one for each of codecs[] */
};

/* State of decoding one block. */
struct run {
    struct block_decoder *decoder;
    const struct block *block;
    const char *rest;       /* of the chain */
    struct bytes now;       /* output of the steps so far */
    uint8_t *out;           /* NULL: the size is not known */
    uint64_t out_len;       /* an upper bound if `out` is NULL */
    unsigned turn;          /* index of the free scratch buffer */
    struct codec_step step; /* the current step */
    const struct codec *codec;
    struct error *err;
};

struct block_decoder *block_decoder_new(void)
{
    size_t count = 0;
    while (codecs[count])
        count++;
    return calloc(1, sizeof(struct block_decoder) + count * sizeof(void *));
}

void block_decoder_free(struct block_decoder *decoder)
{
    if (!decoder)
        return;
    for (size_t i = 0; codecs[i]; i++)
        if (decoder->state[i])
            codecs[i]->release(decoder->state[i]);
    free(decoder->scratch[0].at);
    free(decoder->scratch[1].at);
    free(decoder);
}

static uint64_t least(uint64_t a, uint64_t b)
{
    return a < b ? a : b;
}

static void too_many(struct run *r, uint64_t made, uint64_t most)
{
    if (made == most + 1)
        codec_corrupt(&r->step, r->err, "decodes to more than %llu bytes",
                      (unsigned long long)most);
    else
        codec_corrupt(&r->step, r->err, "holds %llu decoded bytes, not %llu",
                      (unsigned long long)made, (unsigned long long)most);
}

/* Whether all steps of `chain` work in place and keep the length of a block of `len` bytes. */
static bool all_in_place(const char *chain, uint64_t len)
{
    char name[CODEC_STEP_BYTES];
    const char *argument;
    struct codec_args args;
    struct codec_size size;
    while (codec_chain_next(&chain, name, &argument)) {
        const struct codec *codec = codec_find(name);
        if (!codec)
            return strcmp(name, "strings") == 0;
        if (!codec->in_place || !codec_args_parse(codec, argument, &args) ||
            !codec_step_size(codec, &args, len, &size) || size.most != len)
            return false;
    }
    return true;
}

/* The free scratch buffer, with room for `room` bytes; NULL: no memory. Its contents are lost. */
static uint8_t *reserve(struct run *r, uint64_t room)
{
    struct scratch *s = &r->decoder->scratch[r->turn];
    if (room <= s->len)
        return s->at;
    free(s->at);
    s->at = room <= SIZE_MAX ? pages_alloc((size_t)room) : NULL;
    s->len = s->at ? (size_t)room : 0;
    if (!s->at)
        error_set(r->err, ERR_MEMORY, r->step.name, r->step.offset,
                  "%s: no memory for %llu decoded bytes", r->step.codec, (unsigned long long)room);
    return s->at;
}

/* Decode into scratch memory, trying again with more room up to `size.most`. A stated size is
 * only a number in the file, so the first try has room in proportion to the stored bytes. */
static void decode_to_scratch(struct run *r, struct codec_size size)
{
    uint64_t ratio = size.exact ? RATIO_EXACT : RATIO_GUESS, room;
    size_t made;
    if (!mul_u64(r->now.len, ratio, &room))
        room = UINT64_MAX;
    for (room = least(size.most, room < ROOM_LEAST ? ROOM_LEAST : room);;) {
        uint8_t *at = reserve(r, room ? room : 1);
        if (!at || r->codec->decode(&r->step, r->now, at, (size_t)room, &made, r->err) != OK)
            return;
        if (made <= room) {
            r->now = (struct bytes){at, made};
            r->turn = !r->turn;
            return;
        }
        if (room == size.most || (made != room + 1 && made > size.most)) {
            too_many(r, made, size.most);
            return;
        }
        uint64_t more = room > UINT64_MAX / GROWTH ? UINT64_MAX : room * GROWTH;
        room = least(size.most, made == room + 1 ? more : made);
    }
}

static void decode_to_out(struct run *r, struct codec_size size)
{
    uint64_t room = least(size.most, r->out_len);
    size_t made;
    if (size.exact && size.most != r->out_len)
        codec_corrupt(&r->step, r->err, "makes %llu bytes, where %llu are expected",
                      (unsigned long long)size.most, (unsigned long long)r->out_len);
    else if (r->codec->decode(&r->step, r->now, r->out, (size_t)room, &made, r->err) != OK)
        return;
    else if (made > room)
        too_many(r, made, room);
    else
        r->now = (struct bytes){r->out, made};
}

static void do_step(struct run *r, const char *argument)
{
    struct codec_size size = {0};
    bool last = all_in_place(r->rest, r->out_len);
    if (!codec_args_parse(r->codec, argument, &r->step.args) ||
        (!r->codec->trim && !codec_step_size(r->codec, &r->step.args, r->now.len, &size))) {
        codec_corrupt(&r->step, r->err, "bad argument \"%s\"", argument);
    } else if (r->codec->trim) {
        r->codec->trim(&r->step, &r->now, r->err);
    } else {
        if (last && !r->out && !size.exact)
            size.most = least(size.most, r->out_len);
        if (last && r->out)
            decode_to_out(r, size);
        else
            decode_to_scratch(r, size);
        if (size.exact && r->now.len != size.most)
            codec_corrupt(&r->step, r->err, "decodes to %zu bytes, not %llu", r->now.len,
                          (unsigned long long)size.most);
    }
}

/* Apply all steps up to the end or to a final "strings:" step. */
static enum status run_chain(struct run *r)
{
    const struct block *b = r->block;
    char name[CODEC_STEP_BYTES];
    const char *argument;
    r->rest = b->chain;
    r->now = b->stored;
    while (r->err->status == OK && codec_chain_next(&r->rest, name, &argument)) {
        size_t i = 0;
        r->codec = codec_find(name);
        if (!r->codec && strcmp(name, "strings") == 0 && !r->rest)
            break;
        if (!r->codec || !(r->codec->trim || r->codec->decode)) {
            error_set(r->err, ERR_UNSUPPORTED, b->name, b->offset, "unknown codec in \"%s\"",
                      b->chain);
            break;
        }
        while (codecs[i] != r->codec)
            i++;
        r->step = (struct codec_step){
            .codec = name, .name = b->name, .offset = b->offset, .state = &r->decoder->state[i]};
        do_step(r, argument);
    }
    return r->err->status;
}

enum status block_decode(struct block_decoder *decoder, const struct block *block, uint8_t *out,
                         uint64_t out_len, struct error *err)
{
    uint8_t nothing;
    struct run r = {.decoder = decoder,
                    .block = block,
                    .out = out_len ? out : &nothing,
                    .out_len = out_len,
                    .err = err};
    if (run_chain(&r) == OK && r.now.len != out_len)
        error_set(err, ERR_CORRUPT, block->name, block->offset,
                  "%zu stored bytes make %zu bytes, not %llu", block->stored.len, r.now.len,
                  (unsigned long long)out_len);
    if (err->status == OK && out_len && r.now.at != out)
        memcpy(out, r.now.at, r.now.len);
    return err->status;
}

enum status block_decode_all(struct block_decoder *decoder, const struct block *block, uint64_t cap,
                             uint8_t **out, uint64_t *out_len, struct error *err)
{
    struct run r = {.decoder = decoder, .block = block, .out_len = cap, .err = err};
    if (run_chain(&r) == OK && r.now.len > cap)
        error_set(err, ERR_CORRUPT, block->name, block->offset,
                  "%zu stored bytes make %zu bytes, more than %llu", block->stored.len, r.now.len,
                  (unsigned long long)cap);
    uint8_t *copy = err->status == OK ? malloc(r.now.len + !r.now.len) : NULL;
    if (!copy)
        return error_set(err, ERR_MEMORY, block->name, block->offset, "no memory");
    if (r.now.len)
        memcpy(copy, r.now.at, r.now.len);
    *out = copy;
    *out_len = r.now.len;
    return OK;
}

bool block_decodable(const char *chain)
{
    char name[CODEC_STEP_BYTES];
    const char *argument;
    struct codec_args args;
    struct codec_size size;
    while (codec_chain_next(&chain, name, &argument)) {
        const struct codec *codec = codec_find(name);
        if (!codec)
            return strcmp(name, "strings") == 0 && !chain;
        if (!codec->trim && !(codec->decode && codec_args_parse(codec, argument, &args) &&
                              codec_step_size(codec, &args, 0, &size)))
            return false;
    }
    return true;
}

uint64_t block_memory(const char *chain, uint64_t stored, uint64_t out_len)
{
    char name[CODEC_STEP_BYTES];
    const char *argument;
    uint64_t scratch[2] = {0, 0}, contexts = 0, now = stored, sum;
    unsigned turn = 0;
    while (codec_chain_next(&chain, name, &argument)) {
        const struct codec *codec = codec_find(name);
        struct codec_args args;
        struct codec_size size;
        if (!codec && strcmp(name, "strings") == 0)
            break;
        if (codec && codec->trim)
            continue;
        if (!codec || !codec->decode || !codec_args_parse(codec, argument, &args) ||
            !codec_step_size(codec, &args, now, &size))
            return UINT64_MAX;
        now = size.most;
        sum = codec->memory ? codec->memory(now) : codec->release ? CONTEXT_MOST : 0;
        contexts = add_u64(contexts, sum, &sum) ? sum : UINT64_MAX;
        if (all_in_place(chain, out_len))
            break;
        scratch[turn] = now > scratch[turn] ? now : scratch[turn];
        turn = !turn;
    }
    if (!add_u64(scratch[0], scratch[1], &sum) || !add_u64(sum, contexts, &sum))
        return UINT64_MAX;
    return sum;
}
