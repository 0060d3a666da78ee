#include "catalog/data/read/reader.h"

#include <stdlib.h>
#include <string.h>

#include "catalog/data/codec/codec.h"
#include "catalog/data/codec/strings.h"
#include "catalog/data/read/checked.h"
#include "catalog/data/read/files.h"

#define IDLE_MOST 16 /* extents that stay open though nobody reads them */

struct pool {
    const struct stored_tensor *tensor;
    struct file_set *files;
    /* Per extent: its checksum was verified. NULL: the tensor has no checksums. */
    atomic_bool *fine;
    struct kept_list kept;
};

enum status pool_open(const struct stored_tensor *t, struct file_cache *files, struct pool **out,
                      struct error *err)
{
    bool sums = t->sums && t->sum_kind && checksum_known(t->sum_kind);
    struct pool *p = *out = calloc(1, sizeof(*p));
    if (!p)
        return error_memory_at(err, t->checkpoint);
    kept_init(&p->kept, IDLE_MOST);
    p->tensor = t;
    if (sums && !(p->fine = calloc(t->extent_count + 1, sizeof(*p->fine))))
        return error_memory_at(err, t->checkpoint);
    return file_set_open(t, files, &p->files, err);
}

void pool_close(struct pool *p)
{
    if (!p)
        return;
    kept_release(&p->kept);
    file_set_close(p->files);
    free(p->fine);
    free(p);
}

/* The checksum of an extent that is still to be verified; false if absent, or if the extent holds
 * strings. */
static bool sum_of(const struct pool *p, uint64_t i, struct checksum *sum)
{
    const struct stored_tensor *t = p->tensor;
    if (!p->fine || !t->sums[i] || p->fine[i] || strings_vary(t->codec))
        return false;
    const struct extent *e = &t->extents[i];
    *sum = (struct checksum){
        .kind = t->sum_kind,
        .value = t->sums[i],
        .at = e->offset + (e->file == NO_FILE ? 0 : t->files[e->file].base),
        .fine = &p->fine[i],
    };
    return true;
}

/* Length of the first codec step if the checksum is taken after it, else 0: a zip's CRC-32 covers
 * the decompressed data. */
static size_t before_checksum(const char *chain, const struct checksum *sum)
{
    static const char *const methods[] = {"deflate:", "bz2:", "rawlzma:"};
    for (size_t i = 0; chain && i < sizeof(methods) / sizeof(methods[0]); i++)
        if (strcmp(sum->kind, "crc32") == 0 && strncmp(chain, methods[i], strlen(methods[i])) == 0)
            return strcspn(chain, "|");
    return 0;
}

/* Open the bytes that the checksum covers, with the `before` bytes in front. *steps is the
 * codec chain, and becomes the steps that remain. */
static enum status open_summed(struct pool *p, uint64_t i, struct checksum *sum, const char **steps,
                               struct source **out, struct error *err)
{
    const char *chain = *steps;
    char first[CODEC_STEP_BYTES];
    size_t len = before_checksum(chain, sum);
    if (!len)
        codec_chain_argument(chain, "member", &sum->before);
    sum->at -= sum->before;
    struct source *s = NULL;
    len = len < sizeof(first) ? len : 0;
    if (file_set_extent(p->files, &p->tensor->extents[i], sum->before, &s, err) == OK && len) {
        memcpy(first, chain, len);
        first[len] = '\0';
        codec_chain_open(s, first, &s, NULL, err);
    }
    if (err->status == OK) {
        *steps = len ? (chain[len] ? chain + len + 1 : NULL) : chain;
        *out = s;
    }
    return err->status;
}

static enum status open_extent(struct pool *p, uint64_t i, bool random, struct source **out,
                               struct error *err)
{
    struct checksum sum;
    const char *chain;
    char *strings = NULL, filled[CHAIN_BYTES];
    struct source *s = NULL;
    bool text = p->tensor->dtype.kind == DTYPE_STRING;
    if (extent_chain(p->tensor, &p->tensor->extents[i], filled, &chain, err) == OK) {
        if (!sum_of(p, i, &sum))
            file_set_extent(p->files, &p->tensor->extents[i], 0, &s, err);
        else if (open_summed(p, i, &sum, &chain, &s, err) == OK)
            source_open_checked(s, &sum, &s, err);
    }
    if (err->status == OK && codec_chain_open(s, chain, &s, text ? &strings : NULL, err) == OK &&
        random && s->sequential)
        source_open_spill(s, &s, err);
    free(strings);
    if (err->status == OK)
        *out = s;
    return err->status;
}

struct taking {
    struct pool *pool;
    uint64_t extent;
    bool random;
};

static enum status pool_make(const void *context, struct kept *k, struct error *err)
{
    const struct taking *t = context;
    return k->source ? OK : open_extent(t->pool, t->extent, t->random, &k->source, err);
}

/* An extent that is read and decodes front to back is kept beside the one that is decoded to
 * its end. */
enum status pool_take(struct pool *p, uint64_t extent, bool random, struct kept **out,
                      struct error *err)
{
    struct taking t = {p, extent, false};
    struct kept_key key = {{extent}, p->tensor->checkpoint};
    if (kept_take(&p->kept, &key, pool_make, &t, out, err) != OK || !random ||
        !(*out)->source->sequential)
        return err->status;
    kept_give(&p->kept, *out);
    key.number[1] = t.random = true;
    return kept_take(&p->kept, &key, pool_make, &t, out, err);
}

void pool_give(struct pool *p, struct kept *lease)
{
    kept_give(&p->kept, lease);
}

uint64_t extent_elements(const struct stored_tensor *t, const struct extent *e)
{
    uint64_t elements = 1;
    for (unsigned d = 0; d < t->rank; d++)
        elements *= e->shape ? e->shape[d] : t->shape[d];
    return elements;
}

/* The checksum of TensorFlow's strings does not cover their stored bytes alone: strings.h. */
static void verify_strings(struct pool *p, uint64_t extent, struct error *err)
{
    const struct stored_tensor *t = p->tensor;
    uint32_t found, stated = t->sums[extent];
    struct kept *lease = NULL;
    if (pool_take(p, extent, false, &lease, err) != OK)
        return;
    if (strings_tf_sum(lease->source, extent_elements(t, &t->extents[extent]), &found, err) == OK &&
        found != stated)
        error_set(err, ERR_CHECKSUM, lease->source->name, NO_OFFSET,
                  "the strings are damaged: their crc32c is %08x, the file states %08x",
                  (unsigned)found, (unsigned)stated);
    pool_give(p, lease);
}

enum status pool_verify(struct pool *p, struct error *err)
{
    const struct stored_tensor *t = p->tensor;
    bool strings = strings_vary(t->codec);
    for (uint64_t i = 0; t->sums && i < t->extent_count && err->status == OK; i++) {
        struct checksum sum;
        struct source *s = NULL;
        const char *steps;
        char filled[CHAIN_BYTES];
        if (strings && t->sums[i])
            verify_strings(p, i, err);
        if (!sum_of(p, i, &sum))
            continue;
        if (extent_chain(t, &t->extents[i], filled, &steps, err) == OK &&
            open_summed(p, i, &sum, &steps, &s, err) == OK)
            checksum_verify(s, &sum, err);
        source_close(s);
    }
    return err->status;
}
