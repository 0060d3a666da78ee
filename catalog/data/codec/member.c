/* member.c - codec "member:N": leaves the bytes unchanged. N only matters for their checksum, which
 * also covers the N bytes before them in the zip member (read.c). */
#include "catalog/data/codec/codec.h"

static enum status member_open(struct source *inner, const char *argument, struct source **out,
                               struct error *err)
{
    uint64_t before;
    if (!codec_number(argument, &before))
        return codec_bad_argument(inner, "member", argument, err);
    *out = inner;
    return OK;
}

static enum status member_trim(const struct codec_step *step, struct bytes *bytes,
                               struct error *err)
{
    (void)bytes;
    uint64_t before;
    return codec_number(step->argument, &before)
               ? OK
               : codec_corrupt(step, err, "bad argument \"%s\"", step->argument);
}

const struct codec codec_member = {.name = "member", .open = member_open, .trim = member_trim};
