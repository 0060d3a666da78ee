/* member.c - codec "member:N": leaves the bytes unchanged. N only matters for their checksum, which
 * also covers the N bytes before them in the zip member (read.c). */
#include "catalog/data/codec/codec.h"

static enum status member_open(struct source *inner, const struct codec_args *args,
                               struct source **out, struct error *err)
{
    (void)args;
    (void)err;
    *out = inner;
    return OK;
}

static enum status member_trim(const struct codec_step *step, struct bytes *bytes,
                               struct error *err)
{
    (void)step;
    (void)bytes;
    (void)err;
    return OK;
}

const struct codec codec_member = {
    .name = "member", .args = "N", .open = member_open, .trim = member_trim};
