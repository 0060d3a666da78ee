#include "catalog/data/kernel/digest.h"

#include <stdlib.h>

#include "catalog/data/kernel/cpu.h"
#include "catalog/data/kernel/digest_kernels.h"

const struct digest_kernels *digest_kernels(void)
{
#ifdef __x86_64__
    if (CPU_HAS(AVX512F))
        return &digest_avx512;
    if (CPU_HAS(AVX2))
        return &digest_avx2;
#endif
    return &digest_plain;
}

struct digest {
    const struct digest_kernels *kernels;
    void *state;
};

struct digest *digest_new(void)
{
    struct digest *d = malloc(sizeof(*d));
    if (!d)
        return NULL;
    d->kernels = digest_kernels();
    d->state = d->kernels->create();
    if (!d->state) {
        free(d);
        return NULL;
    }
    return d;
}

void digest_update(struct digest *d, const void *bytes, size_t len)
{
    d->kernels->update(d->state, bytes, len);
}

void digest_end(struct digest *d, struct digest_block *out)
{
    d->kernels->end(d->state, out->at);
}

void digest_free(struct digest *d)
{
    if (d)
        d->kernels->free(d->state);
    free(d);
}

void digest_blocks_add(struct digest_blocks *b, const void *bytes, size_t len)
{
    for (size_t at = 0, step; at < len; at += step) {
        const uint64_t room = DIGEST_BLOCK - b->in_block;
        step = len - at < room ? len - at : (size_t)room;
        digest_update(b->digest, (const uint8_t *)bytes + at, step);
        b->in_block += step;
        if (b->in_block == DIGEST_BLOCK)
            digest_blocks_end(b);
    }
}

void digest_blocks_end(struct digest_blocks *b)
{
    if (b->in_block)
        digest_end(b->digest, b->out++);
    b->in_block = 0;
}

uint64_t digest_block_count(uint64_t len)
{
    return len / DIGEST_BLOCK + (len % DIGEST_BLOCK != 0);
}

struct digest_fold {
    struct digest *all;
    struct digest_block last;
    uint64_t count;
};

struct digest_fold *digest_fold_new(void)
{
    struct digest_fold *f = calloc(1, sizeof(*f));
    if (f && !(f->all = digest_new())) {
        free(f);
        return NULL;
    }
    return f;
}

void digest_fold_add(struct digest_fold *f, const struct digest_block *blocks, uint64_t count)
{
    if (!count)
        return;
    digest_update(f->all, blocks, (size_t)count * sizeof(*blocks));
    f->last = blocks[count - 1];
    f->count += count;
}

void digest_fold_end(struct digest_fold *f, struct digest_block *hash)
{
    digest_end(f->all, hash);
    if (f->count == 1)
        *hash = f->last;
    f->count = 0;
}

void digest_fold_free(struct digest_fold *f)
{
    if (f)
        digest_free(f->all);
    free(f);
}

void digest_print(const struct digest_block *d, char out[DIGEST_TEXT])
{
    static const char digits[] = "0123456789abcdef";
    for (size_t i = 0; i < sizeof(d->at); i++) {
        out[2 * i] = digits[d->at[i] >> 4];
        out[2 * i + 1] = digits[d->at[i] & 15];
    }
    out[DIGEST_TEXT - 1] = '\0';
}
