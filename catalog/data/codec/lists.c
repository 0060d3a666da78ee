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

#include "catalog/data/codec/codec.h"

/* The chain that decodes the list at *at, moved past it; false: a bad argument. */
static bool lists_chain_of(const char **at, char chain[CODEC_STEP_BYTES])
{
    uint64_t number[3]; /* outer field, inner field, width */
    for (unsigned i = 0; i < 3; i++) {
        if (!codec_take_number(at, &number[i]) || number[i] > 999)
            return false;
        if (**at && *(*at)++ != (i < 2 ? '.' : ','))
            return false;
    }
    int len = snprintf(chain, CODEC_STEP_BYTES, "field:%u|field:%u", (unsigned)number[0],
                       (unsigned)number[1]);
    if (number[2])
        snprintf(chain + len, CODEC_STEP_BYTES - (size_t)len, "|varints:%u", (unsigned)number[2]);
    return true;
}

/* Append the list that the chain decodes to the *len bytes at *bytes. */
static void add_list(const struct source *inner, const char *chain, uint8_t **bytes, size_t *len,
                     struct error *err)
{
    struct source *list = NULL;
    if (source_open_view(inner, 0, inner->size, &list, err) != OK ||
        codec_chain_open(list, chain, &list, NULL, err) != OK)
        return;
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
}

static enum status lists_open(struct source *inner, const struct codec_args *args,
                              struct source **out, struct error *err)
{
    char chain[CODEC_STEP_BYTES];
    uint8_t *bytes = NULL;
    size_t len = 0;
    for (const char *at = args->rest; *at && err->status == OK;)
        if (lists_chain_of(&at, chain))
            add_list(inner, chain, &bytes, &len, err);
        else
            codec_bad_argument(inner, "lists", args->text, err);
    if (err->status == OK)
        return source_take_memory(inner->name, bytes, len, out, err);
    free(bytes);
    return err->status;
}

const struct codec codec_lists = {.name = "lists", .args = "*", .open = lists_open};
