/* cut.c - codec "cut:A,N": N bytes from byte A on. */

#include "catalog/data/codec/codec.h"

static bool cut_parse(const char *argument, uint64_t *at, uint64_t *len)
{
    char first[CODEC_STEP_BYTES];
    const char *comma = strchr(argument, ',');
    if (!comma || (size_t)(comma - argument) >= sizeof(first))
        return false;
    memcpy(first, argument, (size_t)(comma - argument));
    first[comma - argument] = '\0';
    return codec_number(first, at) && codec_number(comma + 1, len);
}

static enum status cut_open(struct source *inner, const char *argument, struct source **out,
                            struct error *err)
{
    uint64_t at, len;
    if (!cut_parse(argument, &at, &len))
        return codec_bad_argument(inner, "cut", argument, err);
    if (at > inner->size || len > inner->size - at) {
        error_set(err, ERR_CORRUPT, inner->name, NO_OFFSET,
                  "%llu bytes from byte %llu on are wanted of a block of %llu",
                  (unsigned long long)len, (unsigned long long)at, (unsigned long long)inner->size);
        source_close(inner);
        return err->status;
    }
    return source_open_range(inner, at, len, out, err);
}

const struct codec codec_cut = {.name = "cut", .open = cut_open};
