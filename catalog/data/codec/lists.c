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

/* Append the list that the chain decodes to the *len bytes at *bytes. */
static enum status add_list(const struct source *inner, const char *chain, uint8_t **bytes,
                            size_t *len, struct error *err)
{
    struct source *list = NULL;
    if (source_open_view(inner, 0, inner->size, &list, err) != OK ||
        codec_chain_open(list, chain, &list, NULL, err) != OK)
        return err->status;
    const size_t more = (size_t)list->size;
    uint8_t *longer = realloc(*bytes, *len + more + 1);
    if (!longer) {
        error_memory_at(err, inner->name);
    } else {
        *bytes = longer;
        source_read(list, 0, longer + *len, more, err);
        *len += more;
    }
    source_close(list);
    return err->status;
}

static enum status lists_open(struct source *inner, const struct codec_args *args,
                              struct source **out, struct error *err)
{
    char chain[CODEC_STEP_BYTES];
    uint8_t *bytes = NULL;
    size_t len = 0;
    for (const char *at = args->text; *at && err->status == OK;)
        if (lists_chain_of(&at, chain))
            add_list(inner, chain, &bytes, &len, err);
        else
            codec_bad_argument(inner, "lists", args->text, err);
    if (err->status == OK)
        return source_take_memory(inner->name, bytes, len, out, err);
    free(bytes);
    return err->status;
}

const struct codec codec_lists = {.name = "lists", .open = lists_open};
