/*
 * zero_frozen.c - frozen parameters. Stage 3 stores a fragment of each in every rank's model
 * states: FROZEN[NAME], ceil(elements / ranks) elements, padded in the last ranks.
 *
 * Source: deepspeed/runtime/engine.py, _zero3_merge_frozen_params() of zero_to_fp32.py.
 */
#include "importer/format/ranks/zero.h"

static bool zero_frozen_no_memory(struct zero_frozen *f)
{
    job_no_memory(f->job);
    return false;
}

bool zero_frozen_add(struct zero_frozen *f, const char *name, size_t len, const uint64_t *shape,
                     unsigned rank)
{
    bool added;
    const char *kept;
    uint64_t *at = strmap_keep(&f->index, f->job->arena, name, len, &kept, &added);
    if (!at)
        return zero_frozen_no_memory(f);
    if (!added)
        return true;
    *at = f->count;
    void *list = arena_grow(f->job->arena, f->params, f->count, &f->space, sizeof(*f->params));
    if (!list)
        return zero_frozen_no_memory(f);
    f->params = list;
    struct zero *z = &f->params[f->count++];
    *z = (struct zero){.job = f->job, .prefix = f->prefix, .stage = 3, .without_slot = true};
    return zero_add_param(z, name, len, 0, shape, rank);
}

struct zero *zero_frozen_find(const struct zero_frozen *f, const char *name, size_t len)
{
    const uint64_t *at = strmap_get(&f->index, name, len);
    return at ? &f->params[*at] : NULL;
}

enum status zero_frozen_emit(struct zero_frozen *f, unsigned ranks, bool lost)
{
    for (size_t i = 0; i < f->count && f->job->err->status == OK; i++) {
        f->params[i].ranks = ranks;
        f->params[i].lost |= lost;
        zero_emit(&f->params[i]);
    }
    return f->job->err->status;
}

void zero_frozen_release(struct zero_frozen *f)
{
    strmap_release(&f->index);
}
