/*
 * field.c - codec "field:F": the contents of all fields with number F of a protobuf message,
 * concatenated: the elements of a repeated field, whether packed in one run, in several, or
 * written one per field.
 */
#include <stdlib.h>

#include "catalog/base/list.h"
#include "catalog/base/search.h"
#include "catalog/data/codec/codec.h"
#include "catalog/data/codec/message.h"

/* No writer splits a list into more fields; more would only cost memory. */
#define RUNS_MAX ((size_t)1 << 22)

struct run {
    uint64_t from, at; /* offset in the message; offset in the output */
};

struct field_source {
    struct source base; /* must be first */
    struct run *runs;
    size_t count, space;
};

static enum status field_read(const struct source *base, uint64_t offset, void *dst, size_t len,
                              struct error *err)
{
    const struct field_source *s = (const struct field_source *)base;
    uint8_t *to = dst;
    size_t after; /* the first run that begins after `offset`: the one before holds it */
    PARTITION_POINT(after, s->count, s->runs[after].at <= offset);
    for (size_t i = after ? after - 1 : 0; len; i++) {
        uint64_t end = i + 1 < s->count ? s->runs[i + 1].at : base->size;
        size_t n = end - offset < len ? (size_t)(end - offset) : len;
        uint64_t from = s->runs[i].from + (offset - s->runs[i].at);
        if (source_read(base->inner, from, to, n, err) != OK)
            return err->status;
        to += n;
        offset += n;
        len -= n;
    }
    return OK;
}

static void field_close(struct source *base)
{
    struct field_source *s = (struct field_source *)base;
    free(s->runs);
    free(s);
}

static const struct source_ops field_ops = {.read_at = field_read, .close = field_close};

static enum status field_begin(struct source *base, const struct codec_args *args,
                               struct error *err)
{
    struct field_source *s = (struct field_source *)base;
    struct message m = message_over(base->inner);
    struct message_field f;
    base->size = 0;
    while (err->status == OK && message_next(&m, &f, err) == OK && f.number) {
        if (f.number != args->number[0] || !f.len)
            continue;
        if (s->count == RUNS_MAX)
            return error_set(err, ERR_LIMIT, base->name, NO_OFFSET,
                             "a list in more than %zu pieces", RUNS_MAX);
        *LIST_PUSH(err, s->runs, s->count, s->space) = (struct run){f.at, base->size};
        base->size += f.len;
    }
    error_about(err, base->name);
    return err->status;
}

const struct codec codec_field = {.name = "field",
                                  .args = "1-",
                                  .source = &field_ops,
                                  .source_bytes = sizeof(struct field_source),
                                  .begin = field_begin};
