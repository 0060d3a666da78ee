/*
 * fuzz_codec.c - codec chains. An input is a chain, a newline, and the stored bytes. What is
 * read in one go must be what is read in parts.
 */
#include <stdlib.h>

#include "catalog/data/codec/codec.h"
#include "catalog/data/codec/strings.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

#define READ_MOST    ((size_t)1 << 16)
#define STRINGS_MOST 1000

static void read_in_parts(const struct source *s)
{
    size_t len = s->size < READ_MOST ? (size_t)s->size : READ_MOST;
    uint8_t *all = malloc(len + 1), *part = malloc(len + 1);
    struct error err = {.offset = NO_OFFSET};
    if (!all || !part)
        abort();
    if (source_read(s, 0, all, len, &err) == OK)
        for (size_t at = len, step = 1; at > 0; step = step * 3 % 1021) {
            size_t n = step < at ? step : at;
            at -= n;
            if (source_read(s, at, part, n, &err) != OK || memcmp(all + at, part, n) != 0)
                abort();
        }
    free(all);
    free(part);
}

static void read_strings(struct source *s, const char *chain, uint64_t count)
{
    struct error err = {.offset = NO_OFFSET};
    struct strings *t = NULL;
    struct bytes got;
    if (strings_open(s, chain, count, &t, &err) == OK)
        for (uint64_t i = 0; i < count && i < STRINGS_MOST; i++)
            if (strings_at(t, i * 7 % count, &got, &err) != OK)
                break;
    strings_close(t);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    char chain[200];
    const uint8_t *end = memchr(data, '\n', size);
    size_t len = end ? (size_t)(end - data) : 0;
    if (!end || len >= sizeof(chain))
        return 0;
    memcpy(chain, data, len);
    chain[len] = '\0';
    struct error err = {.offset = NO_OFFSET};
    struct source *s = NULL;
    char *strings = NULL;
    struct bytes stored = {end + 1, size - len - 1};
    if (source_open_memory("fuzzed", stored, true, &s, &err) != OK)
        abort();
    if (codec_chain_open(s, chain, &s, &strings, &err) == OK) {
        read_in_parts(s);
        if (strings)
            read_strings(s, chain, s->size < 64 ? s->size / 2 : stored.len ? stored.at[0] : 64);
        else
            source_close(s);
    } else if (err.status == OK) {
        abort();
    }
    free(strings);
    return 0;
}
