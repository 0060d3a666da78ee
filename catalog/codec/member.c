/* member.c - "member:N": the bytes as they are; N concerns their checksum only (read.c). */
#include "catalog/codec/codec.h"

static enum status member_open(struct source *inner, const char *argument,
                               struct source **out, struct error *err)
{
    uint64_t before;
    if (!codec_number(argument, &before))
        return codec_bad_argument(inner, "member", argument, err);
    *out = inner;
    return OK;
}

const struct codec codec_member = {.name = "member", .open = member_open};
