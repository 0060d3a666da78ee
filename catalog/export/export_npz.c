/*
 * export_npz.c - a zip archive of .npy members, as numpy.savez writes it, with the data of
 * every member at a multiple of 64, so that it can be mapped.
 *
 * Each member, its header here called the lead:
 *
 *   "PK\3\4"  u16 version needed, u16 flags, u16 method 0 (stored), u16 time, u16 date,
 *             u32 crc32, u32 stored size, u32 size, u16 length of name, u16 of extra
 *   name      "NAME.npy", UTF-8 (flag bit 11)
 *   extra     [zip64: u16 1, u16 16, u64 size, u64 stored size]
 *             [u16 0xD935, u16 length, zeros]: enough to align the next line
 *   npy       header (npy_header.h), then the elements
 *
 * At the end, the directory of the same facts ("PK\1\2"), its zip64 end and locator where
 * a number does not fit, and its end ("PK\5\6").
 *
 * Source: PKWARE's APPNOTE.TXT 6.3.10, sections 4.3 to 4.5. The date is always 1980-01-01,
 * so that equal content gives equal files.
 */
#include <stdlib.h>
#include <string.h>

#include "catalog/export/export_layout.h"
#include "catalog/export/npy_header.h"

#define ALIGNMENT     64
#define DATE_1980     0x0021
#define FLAG_UTF8     0x0800
#define EXTRA_ZIP64   0x0001
#define EXTRA_PADDING 0xD935 /* the id that Android's zipalign uses */
#define NAME_MAX_ZIP  65535
#define FULL16        0xFFFF
#define FULL32        UINT32_C(0xFFFFFFFF)
#define MADE_BY_UNIX  (3 << 8)
#define MODE_REGULAR  (UINT32_C(0100644) << 16)

#define LOCAL_SIZE   30
#define ENTRY_SIZE   46
#define LOCATOR_SIZE 20
#define END64_SIZE   56
#define END_SIZE     22
#define EXTRA64_SIZE 20
#define PADDING_HEAD 4
#define VERSION      20
#define VERSION64    45

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

static bool export_npz_holds(const struct export_tensor *t, struct text *why, const char **instead)
{
    if (strlen(t->name) + strlen(".npy") > NAME_MAX_ZIP)
        return !text_adds(why, "a name in a zip archive has at most 65535 bytes");
    return export_numpy_holds(t, why, instead);
}

/* A member, as both of its headers describe it. */
struct member {
    uint64_t at;     /* offset of its local header */
    uint64_t size;   /* npy header and data */
    struct text npy; /* the .npy header */
    size_t name_len;
    unsigned padding; /* bytes of the extra field that aligns the data */
};

static bool member_init(struct member *m, const struct export_tensor *t, uint64_t at)
{
    char descr[64];
    *m = (struct member){.at = at, .npy = {.limit = UINT16_MAX}};
    if (!npy_descr(&t->to, descr) || !npy_header(&m->npy, descr, t->shape, t->rank))
        return false;
    m->size = m->npy.len + t->nbytes;
    m->name_len = strlen(t->name) + strlen(".npy");
    uint64_t plain = at + LOCAL_SIZE + m->name_len + (m->size >= FULL32 ? EXTRA64_SIZE : 0);
    m->padding = (unsigned)(-plain % ALIGNMENT);
    if (m->padding && m->padding < PADDING_HEAD)
        m->padding += ALIGNMENT;
    return true;
}

/* Both headers have these fields: version, flags, method and date before the checksum, sizes
 * after it. */
static void put_version(struct text *out, bool zip64)
{
    put16(out, zip64 ? VERSION64 : VERSION);
    put16(out, FLAG_UTF8);
    put16(out, 0); /* stored */
    put16(out, 0); /* midnight */
    put16(out, DATE_1980);
}

static void put_sizes(struct text *out, const struct member *m)
{
    put_short(out, m->size);
    put_short(out, m->size);
    put16(out, (unsigned)m->name_len);
}

/* Lay out the text so far, then the checksum of the .npy header and the data. */
static void put_crc32(struct export_layout *l, struct text *out, const struct member *m,
                      const struct export_tensor *t)
{
    struct bytes npy = {(const uint8_t *)m->npy.at, m->npy.len};
    lay_add(l, out);
    lay_crc32(l, t, npy);
}

static void put_local(struct export_layout *l, struct text *out, const struct member *m,
                      const struct export_tensor *t)
{
    static const char zeros[ALIGNMENT + PADDING_HEAD];
    bool zip64 = m->size >= FULL32;
    text_adds(out, "PK\3\4");
    put_version(out, zip64);
    put_crc32(l, out, m, t);
    put_sizes(out, m);
    put16(out, (zip64 ? EXTRA64_SIZE : 0) + m->padding);
    text_addf(out, "%s.npy", t->name);
    if (zip64) {
        put16(out, EXTRA_ZIP64);
        put16(out, EXTRA64_SIZE - 4);
        put64(out, m->size);
        put64(out, m->size);
    }
    if (m->padding) {
        put16(out, EXTRA_PADDING);
        put16(out, m->padding - PADDING_HEAD);
        text_add(out, zeros, m->padding - PADDING_HEAD);
    }
    text_add(out, m->npy.at, m->npy.len);
    lay_add(l, out);
}

static void put_entry(struct export_layout *l, struct text *out, const struct member *m,
                      const struct export_tensor *t)
{
    /* The zip64 extra field has only the numbers that did not fit. */
    unsigned numbers = (m->size >= FULL32 ? 2 : 0) + (m->at >= FULL32);
    unsigned extra = numbers ? 4 + 8 * numbers : 0;
    text_adds(out, "PK\1\2");
    put16(out, MADE_BY_UNIX | (extra ? VERSION64 : VERSION));
    put_version(out, extra != 0);
    put_crc32(l, out, m, t);
    put_sizes(out, m);
    put16(out, extra);
    put16(out, 0); /* no comment */
    put16(out, 0); /* first disk */
    put16(out, 0); /* binary */
    put32(out, MODE_REGULAR);
    put_short(out, m->at);
    text_addf(out, "%s.npy", t->name);
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
    lay_add(l, out);
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

/* Each member is its header, then its data. */
static void put_members(struct export_layout *l, struct export_tensor **order, struct text *out)
{
    struct member m;
    for (size_t i = 0; i < l->plan->count && lay_ok(l); i++) {
        struct export_tensor *t = order[i];
        const uint64_t at = l->at;
        if (member_init(&m, t, at))
            put_local(l, out, &m, t);
        else
            error_memory_at(l->err, l->path);
        t->lead_len = (uint32_t)(l->at - at);
        lay_tensor(l, t);
        text_release(&m.npy);
    }
}

static void put_directory(struct export_layout *l, struct export_tensor **order, struct text *out)
{
    struct member m;
    for (size_t i = 0; i < l->plan->count && lay_ok(l); i++) {
        if (member_init(&m, order[i], order[i]->offset - order[i]->lead_len))
            put_entry(l, out, &m, order[i]);
        else
            error_memory_at(l->err, l->path);
        text_release(&m.npy);
    }
}

static void export_npz_lay_out(struct export_layout *l)
{
    struct text out = {0};
    struct export_tensor **order = export_order(l->plan, export_by_name, l->err);
    lay_file(l, l->path);
    put_members(l, order, &out);
    uint64_t directory = l->at;
    put_directory(l, order, &out);
    put_end(&out, l->placed, directory, l->at - directory);
    lay_add(l, &out);
    export_numpy_warn(l);
    text_release(&out);
}

static int compare_name(const void *key, const void *entry)
{
    const struct bytes *k = key;
    const char *name = (*(struct export_tensor *const *)entry)->name;
    const int by = strncmp((const char *)k->at, name, k->len);
    return by ? by : -(name[k->len] != '\0');
}

/* numpy.load() looks a key up as a full member name first, and only then with ".npy" after it. */
static void export_npz_check(struct export_plan *p, struct error *err)
{
    struct export_tensor **order = export_order(p, export_by_name, err);
    for (size_t i = 0; order && i < p->count; i++) {
        const char *longer = p->tensor[i].name;
        const size_t len = strlen(longer);
        const struct bytes name = {(const uint8_t *)longer, len - strlen(".npy")};
        if (text_ends_in(longer, len, ".npy") &&
            bsearch(&name, order, p->count, sizeof(struct export_tensor *), compare_name)) {
            refuse(&p->refusals,
                   "%.*s and %.200s are the same key to programs that read npz files; rename one",
                   name.len < 200 ? (int)name.len : 200, longer, longer);
            break;
        }
    }
}

const struct exporter exporter_npz = {
    .name = "npz",
    .suffix = ".npz",
    .summary = "NumPy, any number of tensors, not compressed",
    .holds = export_npz_holds,
    .check = export_npz_check,
    .lay_out = export_npz_lay_out,
};
