/*
 * zarr_chain.c - the codecs of chunks, as a chain of steps that decode (codec.h).
 *
 * Metadata lists codecs in the order in which they encode. Version 2 has filters and then the
 * compressor; version 3 has any number from array to array, one from array to bytes, and any
 * number from bytes to bytes (zarr_shard.c). The chain is the reverse. Elements are made
 * little-endian as soon as a step needs numbers, or else at the end of the chain.
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
    bool ok = *codec || !c->count;
    text_release(&t);
    return ok || zarr_no_memory(c->z);
}

/* --- version 2 -------------------------------------------------------------------------- */

/* One filter or compressor: {"id": …} and its settings. */
static bool add_v2(struct zarr_chain *c, const struct zarr_value *v)
{
    char id[NUMPY_TYPE_BYTES];
    struct zarr_member m[] = {
        {"id", {0}},
        {NULL, {0}},
    };
    if (v->type != JSON_OBJECT)
        return zarr_bad(c->z, v, "a codec that is not an object");
    if (!zarr_members(c->z, v, m, NULL))
        return false;
    if (!zarr_word(c->z, &m[0].value, id, sizeof(id)))
        return zarr_bad(c->z, v, "a codec without a short id");
    return zarr_add_codec(c, id, v, true);
}

bool zarr_chain_v2(struct zarr_parsing *z, const struct zarr_value *filters,
                   const struct zarr_value *compressor_value)
{
    struct zarr_array *a = z->array;
    struct zarr_chain c;
    struct zarr_value v;
    struct json j;
    if (!zarr_chain_begin(&c, z, a->grid.level[0].shape, ZARR_STAGE_BYTES))
        return false;
    if (filters->type == JSON_ARRAY) {
        zarr_enter(z, filters, &j);
        while (!a->unreadable && zarr_next(&j, &v))
            if (!add_v2(&c, &v))
                return false;
    } else if (filters->type != JSON_FAIL && filters->type != JSON_NULL) {
        return zarr_bad(z, filters, "filters is not a list");
    }
    if (z->err->status != OK)
        return false;
    if (z->type.dtype.kind == DTYPE_STRING && !c.item) {
        error_set(z->err, ERR_UNSUPPORTED, z->source, filters->at,
                  "object dtype: its elements are Python objects, which are not read");
        error_code(z->err, "object-dtype");
        return false;
    }
    bool none = compressor_value->type == JSON_FAIL || compressor_value->type == JSON_NULL;
    if (!a->unreadable && !none && !add_v2(&c, compressor_value))
        return false;
    return a->unreadable || zarr_chain_finish(&c, &a->codec);
}
