/*
 * zarr_chain.c - the codecs of chunks, as a chain of steps that decode (codec.h).
 *
 * Metadata lists codecs in the order in which they encode; the chain is the reverse. Elements are
 * made little-endian as soon as a step needs numbers, or else at the end of the chain.
 */
#include "importer/array/zarr_chain.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "catalog/base/limits.h"

bool zarr_step(struct zarr_chain *c, const char *fmt, ...)
{
    if (c->count == ZARR_STEPS_MAX)
        return zarr_unreadable(c->z, "it has more than %d codecs", ZARR_STEPS_MAX);
    va_list args;
    va_start(args, fmt);
    int len = vsnprintf(c->steps[c->count], CODEC_STEP_BYTES, fmt, args);
    va_end(args);
    if (len < 0 || len >= CODEC_STEP_BYTES)
        return zarr_unreadable(c->z, "its codec \"%s\" has too long settings", c->word);
    c->count++;
    return true;
}

bool zarr_step_swap(struct zarr_chain *c, unsigned width)
{
    char step[CODEC_STEP_BYTES];
    snprintf(step, sizeof(step), "swap:%u", width);
    if (c->count && strcmp(c->steps[c->count - 1], step) == 0)
        c->count--;
    else if (width > 1)
        return zarr_step(c, "%s", step);
    return true;
}

uint64_t zarr_compressed_bound(uint64_t size)
{
    uint64_t bound;
    return add_u64(size, size / 4 + 4096, &bound) && bound <= INT64_MAX ? bound : INT64_MAX;
}

bool zarr_chain_begin(struct zarr_chain *c, struct zarr_parsing *z, const uint64_t *chunk,
                      enum zarr_stage stage)
{
    const struct zarr_type *t = &z->type;
    *c = (struct zarr_chain){.z = z, .stage = stage, .item = t->item, .swap = t->swap};
    snprintf(c->dtype, sizeof(c->dtype), "%s", t->dtype.name);
    c->size = t->item ? t->item : LIMIT_STRINGS_CHUNK;
    c->exact = t->item != 0;
    c->word = "";
    for (unsigned d = 0; t->item && d < z->array->rank; d++)
        if (!mul_u64(c->size, chunk[d], &c->size) || c->size > INT64_MAX)
            return zarr_bad(z, NULL, "a chunk of more than 2^63 bytes");
    if (*t->strings)
        zarr_step(c, "strings:%s", t->strings);
    else if (t->dtype.bits % 8)
        zarr_step(c, "unpack:%u", t->dtype.bits);
    if (t->big)
        zarr_step_swap(c, t->swap);
    c->first = c->count;
    return z->err->status == OK;
}

bool zarr_chain_finish(struct zarr_chain *c, const char **codec)
{
    struct text t = {.limit = (size_t)ZARR_STEPS_MAX * (CODEC_STEP_BYTES + 1)};
    *codec = NULL;
    for (unsigned i = c->count; i-- > 0;) {
        text_adds(&t, c->steps[i]);
        if (i)
            text_addc(&t, '|');
    }
    if (c->count && text_str(&t))
        *codec = arena_copy(c->z->arena, t.at, t.len);
    else if (c->count)
        arena_fail(c->z->arena);
    text_release(&t);
    return true;
}
