/*
 * lists.c - codec "lists:F.G.W,...": lists of numbers in submessages of a protobuf message,
 * concatenated. "lists:1.9.0,2.7.8" is the contents of field 9 of the submessage in field 1 (W = 0:
 * fixed width, copied), followed by the varints of field 7 of the one in field 2 as 8-byte
 * integers.
 *
 * The result is kept in memory: at most eight times the size of the message for each list.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "catalog/data/codec/codec.h"

struct lists_source {
    struct source base; /* must be first */
    struct source *inner;
    uint8_t *bytes;
};

/* Read a number of up to three digits that ends in one of `ends` or at the end, and skip both. */
static bool lists_take_number(const char **at, const char *ends, unsigned *out)
{
    const size_t len = strspn(*at, "0123456789");
    if (!len || len > 3 || !strchr(ends, (*at)[len]))
        return false;
    for (*out = 0; **at >= '0' && **at <= '9'; ++*at)
        *out = *out * 10 + (unsigned)(**at - '0');
    *at += **at != '\0';
    return true;
}

/* The chain that decodes the list at *at, moved past it; false: a bad argument. */
static bool lists_chain_of(const char **at, char chain[CODEC_STEP_BYTES])
{
    unsigned outer, field, width;
    if (!lists_take_number(at, ".", &outer) || !lists_take_number(at, ".", &field) ||
        !lists_take_number(at, ",", &width))
        return false;
    snprintf(chain, CODEC_STEP_BYTES, width ? "field:%u|field:%u|varints:%u" : "field:%u|field:%u",
             outer, field, width);
    return true;
}

static enum status add_list(struct lists_source *s, const char *chain, struct error *err)
{
    struct source *list = NULL;
    if (source_open_view(s->inner, 0, s->inner->size, &list, err) != OK ||
        codec_chain_open(list, chain, &list, NULL, err) != OK)
        return err->status;
    const size_t had = (size_t)s->base.size, more = (size_t)list->size;
    uint8_t *bytes = realloc(s->bytes, had + more + 1);
    if (!bytes) {
        error_memory_at(err, s->inner->name);
    } else {
        s->bytes = bytes;
        s->base.size += more;
        source_read(list, 0, bytes + had, more, err);
    }
    source_close(list);
    return err->status;
}

static enum status lists_read(const struct source *base, uint64_t offset, void *dst, size_t len,
                              struct error *err)
{
    (void)err;
    if (len)
        memcpy(dst, ((const struct lists_source *)base)->bytes + offset, len);
    return OK;
}

static void lists_close(struct source *base)
{
    struct lists_source *s = (struct lists_source *)base;
    source_close(s->inner); /* kept until now because it owns the name */
    free(s->bytes);
    free(s);
}

static const struct source_ops lists_ops = {.read_at = lists_read, .close = lists_close};

static enum status lists_open(struct source *inner, const struct codec_args *args,
                              struct source **out, struct error *err)
{
    char chain[CODEC_STEP_BYTES];
    struct source base = {&lists_ops, 0, inner->name, false};
    struct lists_source *s = codec_source_new(inner, sizeof(*s), base, err);
    if (!s)
        return err->status;
    s->inner = inner;
    for (const char *at = args->text; *at;)
        if (!lists_chain_of(&at, chain)) {
            free(s->bytes);
            free(s);
            return codec_bad_argument(inner, "lists", args->text, err);
        } else if (add_list(s, chain, err) != OK) {
            lists_close(&s->base);
            return err->status;
        }
    *out = &s->base;
    return OK;
}

const struct codec codec_lists = {.name = "lists", .open = lists_open};
