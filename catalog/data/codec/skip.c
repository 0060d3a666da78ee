/* skip.c - codec "skip:N": drop the first N bytes. */
#include "catalog/data/codec/codec.h"

static enum status skip_open(struct source *inner, const struct codec_args *args,
                             struct source **out, struct error *err)
{
    uint64_t count = args->number[0];
    if (count > inner->size)
        return error_set(err, ERR_CORRUPT, inner->name, NO_OFFSET,
                         "%llu bytes to skip, but only %llu are there", (unsigned long long)count,
                         (unsigned long long)inner->size);
    return source_open_view(inner, count, inner->size - count, out, err);
}

static enum status skip_trim(const struct codec_step *step, struct bytes *bytes, struct error *err)
{
    uint64_t count = step->args.number[0];
    if (count > bytes->len)
        return codec_corrupt(step, err, "%llu bytes to skip, but only %zu are there",
                             (unsigned long long)count, bytes->len);
    *bytes = (struct bytes){bytes->at + count, bytes->len - (size_t)count};
    return OK;
}

const struct codec codec_skip = {.name = "skip", .args = "N", .open = skip_open, .trim = skip_trim};
