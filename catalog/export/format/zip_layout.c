/*
 * zip_layout.c - headers of a zip archive. Each member is
 *
 *   "PK\3\4"  u16 version needed, u16 flags, u16 method 0 (stored), u16 time, u16 date,
 *             u32 crc32, u32 stored size, u32 size, u16 length of name, u16 of extra
 *   name      UTF-8 (flag bit 11)
 *   extra     [zip64: u16 1, u16 16, u64 size, u64 stored size]
 *             [u16 0xD935, u16 length, zeros]: enough to align the data
 *   data
 *
 * At the end, the directory of the same facts ("PK\1\2"), its zip64 end and locator where
 * a number does not fit, and its end ("PK\5\6").
 *
 * Source: PKWARE's APPNOTE.TXT 6.3.10, sections 4.3 to 4.5.
 */
#include "catalog/export/format/zip_layout.h"

#include <string.h>

#include "catalog/data/codec/checksum.h"

#define ALIGNMENT     64
#define DATE_1980     0x0021
#define FLAG_UTF8     0x0800
#define EXTRA_ZIP64   0x0001
#define EXTRA_PADDING 0xD935 /* the id that Android's zipalign uses */
#define FULL16        0xFFFF
#define FULL32        UINT32_C(0xFFFFFFFF)
#define MADE_BY_UNIX  (3 << 8)
#define MODE_REGULAR  (UINT32_C(0100644) << 16)

#define LOCAL_SIZE   30
#define END64_SIZE   56
#define EXTRA64_SIZE 20
#define PADDING_HEAD 4
#define VERSION      20
#define VERSION64    45

/* A member, as both of its headers describe it. */
struct zip_member {
    const char *name;
    uint64_t at;   /* of its local header in the archive */
    uint64_t size; /* of its data */
    uint32_t lead; /* CRC-32 of what precedes the tensor, */
    const struct export_tensor *tensor;
};

static void put16(struct text *out, unsigned v)
{
    uint8_t bytes[2];
    store_u16le(bytes, (uint16_t)v);
    text_add(out, bytes, sizeof(bytes));
}

static void put32(struct text *out, uint32_t v)
{
    uint8_t bytes[4];
    store_u32le(bytes, v);
    text_add(out, bytes, sizeof(bytes));
}

static void put64(struct text *out, uint64_t v)
{
    uint8_t bytes[8];
    store_u64le(bytes, v);
    text_add(out, bytes, sizeof(bytes));
}

/* A size or offset in 32 bits; all ones mean that it is in the zip64 extra field. */
static void put_short(struct text *out, uint64_t v)
{
    put32(out, v < FULL32 ? (uint32_t)v : FULL32);
}

/* What both headers have from the version to the length of the name. */
static void put_common(struct zip_layout *z, const struct zip_member *m, bool zip64)
{
    struct text *out = &z->text;
    put16(out, zip64 ? VERSION64 : VERSION);
    put16(out, FLAG_UTF8);
    put16(out, 0); /* stored */
    put16(out, 0); /* midnight */
    put16(out, DATE_1980);
    if (m->tensor) {
        lay_add(z->l, out);
        lay_crc32(z->l, m->tensor, m->lead);
    } else {
        put32(out, m->lead);
    }
    put_short(out, m->size);
    put_short(out, m->size);
    put16(out, (unsigned)strlen(m->name));
}

static void put_local(struct zip_layout *z, const struct zip_member *m)
{
    static const char zeros[ALIGNMENT + PADDING_HEAD];
    struct text *out = &z->text;
    const bool zip64 = m->size >= FULL32;
    const uint64_t plain = m->at + LOCAL_SIZE + strlen(m->name) + (zip64 ? EXTRA64_SIZE : 0);
    unsigned padding = (unsigned)(-plain % ALIGNMENT);
    if (padding && padding < PADDING_HEAD)
        padding += ALIGNMENT;
    text_adds(out, "PK\3\4");
    put_common(z, m, zip64);
    put16(out, (zip64 ? EXTRA64_SIZE : 0) + padding);
    text_adds(out, m->name);
    if (zip64) {
        put16(out, EXTRA_ZIP64);
        put16(out, EXTRA64_SIZE - 4);
        put64(out, m->size);
        put64(out, m->size);
    }
    if (padding) {
        put16(out, EXTRA_PADDING);
        put16(out, padding - PADDING_HEAD);
        text_add(out, zeros, padding - PADDING_HEAD);
    }
    lay_add(z->l, out);
}

static void put_entry(struct zip_layout *z, const struct zip_member *m)
{
    /* The zip64 extra field has only the numbers that did not fit. */
    struct text *out = &z->text;
    const unsigned numbers = (m->size >= FULL32 ? 2 : 0) + (m->at >= FULL32);
    const unsigned extra = numbers ? 4 + 8 * numbers : 0;
    text_adds(out, "PK\1\2");
    put16(out, MADE_BY_UNIX | (extra ? VERSION64 : VERSION));
    put_common(z, m, extra != 0);
    put16(out, extra);
    put16(out, 0); /* no comment */
    put16(out, 0); /* first disk */
    put16(out, 0); /* binary */
    put32(out, MODE_REGULAR);
    put_short(out, m->at);
    text_adds(out, m->name);
    if (extra) {
        put16(out, EXTRA_ZIP64);
        put16(out, extra - 4);
    }
    if (m->size >= FULL32) {
        put64(out, m->size);
        put64(out, m->size);
    }
    if (m->at >= FULL32)
        put64(out, m->at);
    lay_add(z->l, out);
}

static void put_end(struct text *out, uint64_t count, uint64_t at, uint64_t len)
{
    if (count >= FULL16 || at >= FULL32 || len >= FULL32) {
        text_adds(out, "PK\6\6");
        put64(out, END64_SIZE - 12); /* of what follows */
        put16(out, MADE_BY_UNIX | VERSION64);
        put16(out, VERSION64);
        put64(out, 0); /* both disks */
        put64(out, count);
        put64(out, count);
        put64(out, len);
        put64(out, at);
        text_adds(out, "PK\6\7");
        put32(out, 0);
        put64(out, at + len); /* of the zip64 end */
        put32(out, 1);        /* disks */
    }
    unsigned entries = count < FULL16 ? (unsigned)count : FULL16;
    text_adds(out, "PK\5\6");
    put32(out, 0); /* both disks */
    put16(out, entries);
    put16(out, entries);
    put_short(out, len);
    put_short(out, at);
    put16(out, 0); /* no comment */
}

void zip_member(struct zip_layout *z, const char *name, struct bytes lead, struct export_tensor *t)
{
    struct export_layout *l = z->l;
    struct zip_member *m = PUSH(l->arena, z->member, z->count, z->space);
    *m = (struct zip_member){.name = arena_copy(l->arena, name, strlen(name)),
                             .at = l->at - z->base,
                             .size = lead.len + (t ? t->nbytes : 0),
                             .lead = crc32_extend(0, lead.at, lead.len),
                             .tensor = t};
    if (!lay_ok(l))
        return;
    put_local(z, m);
    lay_text(l, lead.at, lead.len);
    if (t) {
        t->lead_len = (uint32_t)(l->at - z->base - m->at);
        lay_tensor(l, t);
    }
}

void zip_finish(struct zip_layout *z)
{
    const uint64_t directory = z->l->at - z->base;
    for (size_t i = 0; i < z->count && lay_ok(z->l); i++)
        put_entry(z, &z->member[i]);
    put_end(&z->text, z->count, directory, z->l->at - z->base - directory);
    lay_add(z->l, &z->text);
    text_release(&z->text);
}
