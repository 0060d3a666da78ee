/*
 * digest_loops.h - the kernels, compiled for one target: XXH_VECTOR is the width of xxhash's
 * vectors, KERNELS the table to define. The includer sets the target by a pragma, after
 * <immintrin.h>, whose functions have their own.
 */
#define XXH_INLINE_ALL
#include <xxhash.h>

#include "catalog/data/kernel/digest_kernels.h"

static void *create(void)
{
    XXH3_state_t *state = XXH3_createState();
    if (state)
        XXH3_128bits_reset(state);
    return state;
}

static void update(void *state, const void *bytes, size_t len)
{
    XXH3_128bits_update(state, bytes, len);
}

static void end(void *state, uint8_t *out)
{
    XXH128_canonical_t canonical;
    XXH128_canonicalFromHash(&canonical, XXH3_128bits_digest(state));
    memcpy(out, canonical.digest, sizeof(canonical.digest));
    XXH3_128bits_reset(state);
}

static void free_state(void *state)
{
    XXH3_freeState(state);
}

const struct digest_kernels KERNELS = {create, update, end, free_state};
