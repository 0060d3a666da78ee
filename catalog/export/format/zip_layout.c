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

/* A size or offset in 32 bits; all ones mean that it is in the zip64 extra field. */
static void put_short(struct text *out, uint64_t v)
{
    text_le(out, v < FULL32 ? (uint32_t)v : FULL32, 4);
}

/* What both headers have from the version to the length of the name. */
static void put_common(struct zip_layout *z, const struct zip_member *m, bool zip64)
{
    struct text *out = &z->text;
    text_le(out, zip64 ? VERSION64 : VERSION, 2);
    text_le(out, FLAG_UTF8, 2);
    text_le(out, 0, 2); /* stored */
    text_le(out, 0, 2); /* midnight */
    text_le(out, DATE_1980, 2);
    if (m->tensor) {
        lay_add(z->l, out);
        lay_crc32(z->l, m->tensor, m->lead);
    } else {
        text_le(out, m->lead, 4);
    }
    put_short(out, m->size);
    put_short(out, m->size);
    text_le(out, (unsigned)strlen(m->name), 2);
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
    text_le(out, (zip64 ? EXTRA64_SIZE : 0) + padding, 2);
    text_adds(out, m->name);
    if (zip64) {
        text_le(out, EXTRA_ZIP64, 2);
        text_le(out, EXTRA64_SIZE - 4, 2);
        text_le(out, m->size, 8);
        text_le(out, m->size, 8);
    }
    if (padding) {
        text_le(out, EXTRA_PADDING, 2);
        text_le(out, padding - PADDING_HEAD, 2);
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
    text_le(out, MADE_BY_UNIX | (extra ? VERSION64 : VERSION), 2);
    put_common(z, m, extra != 0);
    text_le(out, extra, 2);
    text_le(out, 0, 2); /* no comment */
    text_le(out, 0, 2); /* first disk */
    text_le(out, 0, 2); /* binary */
    text_le(out, MODE_REGULAR, 4);
    put_short(out, m->at);
    text_adds(out, m->name);
    if (extra) {
        text_le(out, EXTRA_ZIP64, 2);
        text_le(out, extra - 4, 2);
    }
    if (m->size >= FULL32) {
        text_le(out, m->size, 8);
        text_le(out, m->size, 8);
    }
    if (m->at >= FULL32)
        text_le(out, m->at, 8);
    lay_add(z->l, out);
}

static void put_end(struct text *out, uint64_t count, uint64_t at, uint64_t len)
{
    if (count >= FULL16 || at >= FULL32 || len >= FULL32) {
        text_adds(out, "PK\6\6");
        text_le(out, END64_SIZE - 12, 8); /* of what follows */
        text_le(out, MADE_BY_UNIX | VERSION64, 2);
        text_le(out, VERSION64, 2);
        text_le(out, 0, 8); /* both disks */
        text_le(out, count, 8);
        text_le(out, count, 8);
        text_le(out, len, 8);
        text_le(out, at, 8);
        text_adds(out, "PK\6\7");
        text_le(out, 0, 4);
        text_le(out, at + len, 8); /* of the zip64 end */
        text_le(out, 1, 4);        /* disks */
    }
    unsigned entries = count < FULL16 ? (unsigned)count : FULL16;
    text_adds(out, "PK\5\6");
    text_le(out, 0, 4); /* both disks */
    text_le(out, entries, 2);
    text_le(out, entries, 2);
    put_short(out, len);
    put_short(out, at);
    text_le(out, 0, 2); /* no comment */
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
