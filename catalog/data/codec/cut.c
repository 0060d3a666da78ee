/* cut.c - codec "cut:A,N": N bytes from byte A on. */

#include "catalog/data/codec/codec.h"

static enum status cut_open(struct source *inner, const struct codec_args *args,
                            struct source **out, struct error *err)
{
    uint64_t at = args->number[0], len = args->number[1];
    if (at > inner->size || len > inner->size - at)
        return error_set(err, ERR_CORRUPT, inner->name, NO_OFFSET,
                         "%llu bytes from byte %llu on do not lie in a block of %llu",
                         (unsigned long long)len, (unsigned long long)at,
                         (unsigned long long)inner->size);
    return source_open_view(inner, at, len, out, err);
}

const struct codec codec_cut = {.name = "cut", .args = "N,N", .open = cut_open};
