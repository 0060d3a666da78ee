/*
 * zip_member.c - the contents of zip members: stored, deflated, bzip2 or LZMA.
 *
 *   method 8    raw deflate
 *   method 12   a bzip2 stream
 *   method 14   u8 version[2]  u16 bytes of properties, always 5
 *               u8 lc + 9 * (lp + 5 * pb)  u32 dictionary   and a raw LZMA stream; flag bit 1:
 *               it ends with an end marker, otherwise after `size` decoded bytes
 *
 * Source: PKWARE APPNOTE 6.3, sections 4.4.4, 4.4.5 and 5.8; CPython, Lib/zipfile.py, with which
 * NumPy reads.
 */
#include <stdio.h>
#include <stdlib.h>
#include <zlib.h>

#include "catalog/data/codec/codec.h"
#include "importer/container/zip.h"

/* Deflate's best ratio: 258 bytes from 2 bits is 1032 to 1 (block headers only lower it). */
#define DEFLATE_RATIO_MAX 1032

#define LZMA_HEADER_BYTES 9
#define LZMA_END_MARKED   0x0002 /* in the member's flags */

/* Stored bytes that are read first for a member's head: enough for a whole bzip2 block. */
#define HEAD_STORED ((uint64_t)1 << 20)

enum status zip_check(const struct zip *z, const struct zip_member *m, struct error *err)
{
    const char *where = z->source->name;
    if (m->flags & ZIP_ENCRYPTED)
        return error_set(err, ERR_UNSUPPORTED, where, m->header,
                         "zip member \"%.200s\" is encrypted", m->name);
    if (m->method != ZIP_STORED && m->method != ZIP_DEFLATE && m->method != ZIP_BZIP2 &&
        m->method != ZIP_LZMA)
        return error_set(err, ERR_UNSUPPORTED, where, m->header,
                         "zip member \"%.200s\" is compressed by method %u; 0 (stored), "
                         "8 (deflate), 12 (bzip2) and 14 (LZMA) can be read",
                         m->name, m->method);
    bool possible = m->method == ZIP_STORED    ? m->size == m->stored
                    : m->method == ZIP_DEFLATE ? m->size / DEFLATE_RATIO_MAX <= m->stored
                                               : true; /* runs compress without a useful bound */
    if (!possible)
        return error_set(err, ERR_CORRUPT, where, m->header,
                         "zip member \"%.200s\" cannot have %llu bytes out of %llu", m->name,
                         (unsigned long long)m->size, (unsigned long long)m->stored);
    return OK;
}

/* --- place and codec ---------------------------------------------------------------------- */

static void read_lzma_header(const struct zip *z, const struct zip_member *m, struct zip_run *out,
                             struct error *err)
{
    uint8_t h[LZMA_HEADER_BYTES];
    if (m->stored >= sizeof(h) && source_read(z->source, m->data, h, sizeof(h), err) != OK)
        return;
    if (m->stored < sizeof(h) || load_u16le(h + 2) != 5 || h[4] >= 9 * 5 * 5) {
        error_set(err, ERR_CORRUPT, z->source->name, m->data,
                  "zip member \"%.200s\" does not begin as LZMA in a zip does", m->name);
        return;
    }
    out->offset += sizeof(h);
    out->stored -= sizeof(h);
    snprintf(out->codec, sizeof(out->codec), "rawlzma:%llu%s,lzma1=%u/%u/%u/%u",
             (unsigned long long)m->size, m->flags & LZMA_END_MARKED ? "" : ",unmarked",
             load_u32le(h + 5), h[4] % 9u, h[4] / 9u % 5u, h[4] / 45u);
}

enum status zip_run(const struct zip *z, const struct zip_member *m, struct zip_run *out,
                    struct error *err)
{
    *out = (struct zip_run){.offset = m->data, .stored = m->stored};
    if (zip_check(z, m, err) == OK && m->method == ZIP_LZMA)
        read_lzma_header(z, m, out, err);
    else if (err->status == OK && m->method != ZIP_STORED)
        snprintf(out->codec, sizeof(out->codec), "%s:%llu",
                 m->method == ZIP_DEFLATE ? "deflate" : "bz2", (unsigned long long)m->size);
    return err->status;
}

/* --- contents ----------------------------------------------------------------------------- */

/* Inflate until `len` bytes are out or the stream ends. */
static enum status inflate_head(const struct zip *z, const struct zip_member *m, uint8_t *dst,
                                size_t len, size_t *got, struct error *err)
{
    uint8_t in[4096];
    uint64_t done = 0;
    int state = Z_OK;
    z_stream stream = {0};
    if (inflateInit2(&stream, -MAX_WBITS) != Z_OK)
        return error_memory_at(err, z->source->name);
    *got = 0;
    while (*got < len && state == Z_OK && err->status == OK) {
        if (!stream.avail_in && done < m->stored) {
            uint64_t rest = m->stored - done;
            size_t take = rest < sizeof(in) ? (size_t)rest : sizeof(in);
            if (source_read(z->source, m->data + done, in, take, err) != OK)
                break;
            done += take;
            stream.next_in = in;
            stream.avail_in = (uInt)take;
        }
        size_t room = len - *got < 1u << 30 ? len - *got : 1u << 30;
        stream.next_out = dst + *got;
        stream.avail_out = (uInt)room;
        state = inflate(&stream, Z_SYNC_FLUSH);
        *got += room - stream.avail_out;
    }
    inflateEnd(&stream);
    if (err->status == OK && *got < len && state != Z_STREAM_END)
        error_set(err, ERR_CORRUPT, z->source->name, m->data + done,
                  "the deflate stream of zip member \"%.200s\" is damaged or cut short", m->name);
    return err->status;
}

/* Decoded bytes: room for `len`, of which `made` are written. */
struct head {
    uint8_t *at;
    size_t len, made;
};

/* Decode the run's first `take` stored bytes, as far as there is room. */
static void decode_head(const struct zip *z, const struct zip_run *run, uint64_t take,
                        struct head *out, struct error *err)
{
    char name[CODEC_STEP_BYTES];
    const char *chain = run->codec, *argument;
    void *state = NULL;
    uint8_t *stored = take <= SIZE_MAX ? malloc(take ? (size_t)take : 1) : NULL;
    codec_chain_next(&chain, name, &argument);
    const struct codec *codec = codec_find(name);
    struct codec_step step = {
        .codec = name, .name = z->source->name, .offset = run->offset, .state = &state};
    struct codec_size size;
    if (!stored)
        error_memory_at(err, z->source->name);
    else if (!codec_args_parse(codec, argument, &step.args) ||
             !codec_step_size(codec, &step.args, take, &size))
        error_set(err, ERR_UNSUPPORTED, z->source->name, run->offset,
                  "a zip member has a coding that no reader takes: \"%s\"", run->codec);
    else if (source_read(z->source, run->offset, stored, (size_t)take, err) == OK)
        codec->decode(&step, (struct bytes){stored, (size_t)take}, out->at, out->len, &out->made,
                      err);
    if (state)
        codec->release(state);
    free(stored);
}

/* For codecs that decode whole blocks: try a prefix of the stored bytes, and twice as many
 * each time until they yield the head. */
static enum status blocks_head(const struct zip *z, const struct zip_member *m, uint8_t *dst,
                               size_t len, size_t *got, struct error *err)
{
    struct zip_run run;
    bool more = zip_run(z, m, &run, err) == OK;
    for (uint64_t take = HEAD_STORED + len; more; take *= 2) {
        const bool all = take >= run.stored;
        struct error cut = {.offset = NO_OFFSET};
        struct head head = {dst, len, 0};
        decode_head(z, &run, all ? run.stored : take, &head, &cut);
        *got = head.made < len ? head.made : len;
        more = !all && (cut.status == OK ? head.made < len : cut.status == ERR_CORRUPT);
        if (!more && cut.status != OK)
            *err = cut;
    }
    return err->status;
}

enum status zip_head(const struct zip *z, const struct zip_member *m, void *dst, size_t len,
                     size_t *got, struct error *err)
{
    if (zip_check(z, m, err) != OK)
        return err->status;
    size_t want = m->size < len ? (size_t)m->size : len;
    if (m->method == ZIP_DEFLATE)
        return inflate_head(z, m, dst, want, got, err);
    if (m->method != ZIP_STORED)
        return blocks_head(z, m, dst, want, got, err);
    *got = want;
    return source_read(z->source, m->data, dst, want, err);
}

enum status zip_read(const struct zip *z, const struct zip_member *m, uint64_t limit,
                     struct arena *arena, struct bytes *out, struct error *err)
{
    size_t got = 0;
    if (zip_check(z, m, err) == OK && m->size > limit)
        error_set(err, ERR_LIMIT, z->source->name, m->header,
                  "zip member \"%.200s\" has %llu bytes, most is %llu", m->name,
                  (unsigned long long)m->size, (unsigned long long)limit);
    uint8_t *bytes = err->status == OK ? arena_alloc(arena, (size_t)m->size) : NULL;
    if (!bytes)
        error_memory_at(err, z->source->name); /* unless it says already what is wrong */
    else if (zip_head(z, m, bytes, (size_t)m->size, &got, err) == OK && got != m->size)
        error_set(err, ERR_CORRUPT, z->source->name, m->data,
                  "zip member \"%.200s\" has %zu bytes, not %llu", m->name, got,
                  (unsigned long long)m->size);
    *out = (struct bytes){bytes, got};
    return err->status;
}
