/*
 * varints.c - codec "varints:W": LEB128 numbers, protobuf's packed integers, to little-endian
 * integers of W bytes.
 *
 * Protobuf writes a negative number with 64 bits, so the bits above W bytes are all zeros or all
 * ones, and are dropped. Opening counts the numbers and checks their encoding, and keeps the offset
 * of every MARK_EVERY-th, so that reading can begin anywhere.
 *
 * Source: protobuf's encoding, https://protobuf.dev/programming-guides/encoding/.
 */
#include <stdlib.h>

#include "catalog/base/list.h"
#include "catalog/data/codec/codec.h"

#define MARK_EVERY  4096
#define BLOCK_BYTES ((size_t)16 << 10)
#define WIDTH_MAX   8

struct varints_source {
    struct source base; /* must be first */
    unsigned width;
    uint64_t *marks; /* offsets in inner */
    uint64_t count;
    size_t mark_count, mark_space;
};

static void badly_spelt(const struct varints_source *v, struct error *err)
{
    uint64_t begin;
    source_descriptor(v->base.inner, &begin);
    error_set(err, ERR_CORRUPT, v->base.inner->name, begin,
              "integer %llu is cut short or longer than 64 bits", (unsigned long long)v->count);
}

/* Count the numbers in `block`, which begins at offset `at`; *run: bytes so far of a number that
 * continues in the next block. */
static void count_block(struct varints_source *v, struct bytes block, uint64_t at, unsigned *run,
                        struct error *err)
{
    for (size_t i = 0; i < block.len; i++) {
        if (*run == 0 && v->count % MARK_EVERY == 0)
            *LIST_PUSH(err, v->marks, v->mark_count, v->mark_space) = at + i;
        if (++*run == VARINT_MAX && block.at[i] > 1) {
            badly_spelt(v, err);
            return;
        }
        if (block.at[i] < 0x80) {
            v->count++;
            *run = 0;
        }
    }
    error_about(err, v->base.name);
}

/* --- reading ---------------------------------------------------------------------------- */

/* Reads numbers one after another. */
struct stream {
    const struct source *source;
    uint64_t at; /* offset after the contents of `bytes` */
    size_t next, len;
    uint8_t bytes[BLOCK_BYTES];
};

/* The next number; 0 after an error. */
static uint64_t next_number(struct stream *s, struct error *err)
{
    uint64_t value = 0;
    for (unsigned shift = 0;; shift += 7) {
        if (s->next == s->len) {
            uint64_t left = s->source->size - s->at;
            s->len = left < BLOCK_BYTES ? (size_t)left : BLOCK_BYTES;
            s->next = 0;
            if (!s->len || shift > 63)
                error_set(err, ERR_CHANGED, s->source->name, NO_OFFSET,
                          "integers are not what they were when they were counted");
            else
                source_read(s->source, s->at, s->bytes, s->len, err);
            if (err->status != OK)
                return 0;
            s->at += s->len;
        }
        uint8_t byte = s->bytes[s->next++];
        value |= shift < 64 ? (uint64_t)(byte & 0x7F) << shift : 0;
        if (byte < 0x80)
            return value;
    }
}

static enum status varints_read(const struct source *base, uint64_t offset, void *dst, size_t len,
                                struct error *err)
{
    const struct varints_source *v = (const struct varints_source *)base;
    const unsigned bits = 8 * v->width;
    struct stream s = {.source = v->base.inner};
    uint8_t *to = dst, element[WIDTH_MAX];
    uint64_t first = offset / v->width;
    size_t within = offset % v->width;
    if (!len)
        return OK;
    s.at = v->marks[first / MARK_EVERY];
    for (uint64_t skip = first % MARK_EVERY; skip && err->status == OK; skip--)
        next_number(&s, err);
    for (; len && err->status == OK; first++) {
        const uint64_t value = next_number(&s, err);
        if (bits < 64 && value >> bits && ~value >> (bits - 1)) /* neither unsigned nor signed */
            error_set(err, ERR_CORRUPT, base->name, NO_OFFSET,
                      "integer %llu does not fit in %u bytes", (unsigned long long)first, v->width);
        size_t n = v->width - within < len ? v->width - within : len;
        store_u64le(element, value);
        memcpy(to, element + within, n);
        to += n;
        len -= n;
        within = 0;
    }
    return err->status;
}

static void varints_close(struct source *base)
{
    struct varints_source *v = (struct varints_source *)base;
    free(v->marks);
    free(v);
}

static const struct source_ops varints_ops = {.read_at = varints_read, .close = varints_close};

static enum status varints_begin(struct source *base, const struct codec_args *args,
                                 struct error *err)
{
    struct varints_source *v = (struct varints_source *)base;
    uint8_t bytes[BLOCK_BYTES];
    unsigned run = 0;
    v->width = (unsigned)args->number[0];
    for (uint64_t at = 0; at < base->inner->size && err->status == OK;) {
        uint64_t left = base->inner->size - at;
        size_t len = left < BLOCK_BYTES ? (size_t)left : BLOCK_BYTES;
        if (source_read(base->inner, at, bytes, len, err) == OK)
            count_block(v, (struct bytes){bytes, len}, at, &run, err);
        at += len;
    }
    if (run)
        badly_spelt(v, err);
    if (!mul_u64(v->count, v->width, &base->size))
        error_set(err, ERR_CORRUPT, base->inner->name, NO_OFFSET, "too many integers");
    return err->status;
}

const struct codec codec_varints = {.name = "varints",
                                    .args = "1-8",
                                    .source = &varints_ops,
                                    .source_bytes = sizeof(struct varints_source),
                                    .begin = varints_begin};
