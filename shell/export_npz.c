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
 *             [u16 0xD935, u16 length, zeros]: so many that the next line is aligned
 *   npy       header (npy_write.h), then the elements
 *
 * At the end, the directory of the same facts ("PK\1\2"), its zip64 end and locator where
 * a number does not fit, and its end ("PK\5\6").
 *
 * Source: PKWARE's APPNOTE.TXT 6.3.10, sections 4.3 to 4.5. The date is always 1980-01-01,
 * so that equal content gives equal files.
 */
#include <stdlib.h>
#include <string.h>
#include <zlib.h>

#include "shell/export_numpy.h"
#include "shell/npy_write.h"

#define ALIGNMENT     64
#define DATE_1980     0x0021
#define FLAG_UTF8     0x0800
#define EXTRA_ZIP64   0x0001
#define EXTRA_PADDING 0xD935 /* as Android's zipalign marks it */
#define NAME_MAX_ZIP  65535
#define FULL16        0xFFFF
#define FULL32        UINT32_C(0xFFFFFFFF)
#define MADE_BY_UNIX  (3 << 8)
#define MODE_REGULAR  (UINT32_C(0100644) << 16)

enum {
    LOCAL_SIZE = 30,
    LOCAL_CRC_AT = 14,
    ENTRY_SIZE = 46,
    LOCATOR_SIZE = 20
};
enum {
    END64_SIZE = 56,
    END_SIZE = 22,
    EXTRA64_SIZE = 20,
    VERSION = 20,
    VERSION64 = 45
};

static void put16(struct text *out, unsigned v)
{
    uint8_t bytes[2];
    store_u16le(bytes, (uint16_t)v);
    text_add(out, bytes, sizeof(bytes));
}

static void put32(struct text *out, uint64_t v)
{
    uint8_t bytes[4];
    store_u32le(bytes, v < FULL32 ? (uint32_t)v : FULL32);
    text_add(out, bytes, sizeof(bytes));
}

static void put64(struct text *out, uint64_t v)
{
    uint8_t bytes[8];
    store_u64le(bytes, v);
    text_add(out, bytes, sizeof(bytes));
}

/* Other programs unpack archives too: no name that leads out of their folder. */
static bool is_safe_name(const char *name)
{
    for (const char *at = strstr(name, ".."); at; at = strstr(at + 1, ".."))
        if ((at == name || at[-1] == '/') && (at[2] == '/' || !at[2]))
            return false;
    return *name != '/';
}

static bool holds(const struct export_tensor *t, struct text *why, const char **instead)
{
    if (strlen(t->name) + strlen(".npy") > NAME_MAX_ZIP)
        return !text_adds(why, "a name in a zip archive has at most 65535 bytes");
    if (!is_safe_name(t->name))
        return !text_adds(why, "unpacked, its new name would lead out of the folder");
    return export_numpy_holds(t, why, instead);
}

static int compare(const void *a, const void *b)
{
    const struct export_tensor *x = *(struct export_tensor *const *)a;
    const struct export_tensor *y = *(struct export_tensor *const *)b;
    return strcmp(x->name, y->name);
}

static int compare_key(const void *key, const void *element)
{
    const struct export_tensor *t = *(struct export_tensor *const *)element;
    const char *name = key;
    size_t len = strlen(name) - strlen(".npy");
    int order = strncmp(name, t->name, len);
    return order ? order : -(t->name[len] != '\0');
}

/* numpy.load() takes a key for a member's full name first: of "a" and "a.npy" it would give
 * the first for both. */
static enum status check_keys(const struct export_file *f, struct error *err)
{
    for (uint64_t i = 0; i < f->count; i++) {
        const char *name = f->tensors[i]->name;
        size_t len = strlen(name);
        if (len < 4 || strcmp(name + len - 4, ".npy") != 0)
            continue;
        struct export_tensor **other =
            bsearch(name, f->tensors, (size_t)f->count, sizeof(*other), compare_key);
        if (other)
            return error_set(
                err, ERR_UNSUPPORTED, f->path, NO_OFFSET,
                "%.200s and %.200s are the same key to numpy.load; rename one",
                (*other)->name, name);
    }
    return OK;
}

/* Build the lead of a member whose local header stands at `at`. */
static enum status make_lead(struct export_tensor *t, uint64_t at, struct arena *arena,
                             struct error *err)
{
    struct text npy = {.limit = UINT16_MAX}, lead = {0};
    char descr[64];
    uint64_t size;
    bool sized = npy_descr(&t->to, descr) && npy_header(&npy, descr, t->shape, t->rank) &&
                 add_u64(npy.len, t->nbytes, &size);
    if (!sized)
        goto done;
    bool zip64 = size >= FULL32;
    size_t name_len = strlen(t->name) + strlen(".npy");
    size_t extra = zip64 ? EXTRA64_SIZE : 0;
    size_t padding = (size_t)(-(at + LOCAL_SIZE + name_len + extra) % ALIGNMENT);
    if (padding && padding < 4) /* less than its own head */
        padding += ALIGNMENT;
    text_adds(&lead, "PK\3\4");
    put16(&lead, zip64 ? VERSION64 : VERSION);
    put16(&lead, FLAG_UTF8);
    put32(&lead, 0); /* stored, midnight */
    put16(&lead, DATE_1980);
    put32(&lead, 0); /* the checksum comes with finish() */
    put32(&lead, size);
    put32(&lead, size);
    put16(&lead, (unsigned)name_len);
    put16(&lead, (unsigned)(extra + padding));
    text_addf(&lead, "%s.npy", t->name);
    if (zip64) {
        put16(&lead, EXTRA_ZIP64);
        put16(&lead, 16);
        put64(&lead, size);
        put64(&lead, size);
    }
    if (padding) {
        put16(&lead, EXTRA_PADDING);
        put16(&lead, (unsigned)padding - 4);
    }
    for (size_t i = 4; i < padding; i++)
        text_addc(&lead, '\0');
    text_add(&lead, npy.at, npy.len);
    t->lead_len = lead.len;
    t->lead = lead.failed ? NULL : (uint8_t *)arena_copy(arena, lead.at, lead.len);
    t->offset = at + lead.len;

done:
    if (!t->lead)
        error_set(err, ERR_MEMORY, NULL, NO_OFFSET, "no memory");
    text_release(&npy);
    text_release(&lead);
    return err->status;
}

/* Where the npy header of a lead begins. */
static size_t npy_at(const struct export_tensor *t)
{
    return LOCAL_SIZE + (size_t)load_u16le(t->lead + 26) + load_u16le(t->lead + 28);
}

static uint64_t member_size(const struct export_tensor *t)
{
    return t->lead_len - npy_at(t) + t->nbytes;
}

static uint64_t member_at(const struct export_tensor *t)
{
    return t->offset - t->lead_len;
}

/* The zip64 part of a directory entry holds just the numbers that did not fit. */
static unsigned entry_extra(const struct export_tensor *t)
{
    unsigned numbers = (member_size(t) >= FULL32 ? 2 : 0) + (member_at(t) >= FULL32);
    return numbers ? 4 + 8 * numbers : 0;
}

static void put_entry(struct text *out, const struct export_tensor *t)
{
    uint64_t size = member_size(t), at = member_at(t);
    unsigned extra = entry_extra(t);
    unsigned version = extra ? VERSION64 : VERSION;
    text_adds(out, "PK\1\2");
    put16(out, MADE_BY_UNIX | version);
    put16(out, version);
    text_add(out, t->lead + 6, 20); /* flags to sizes, as in the lead */
    put16(out, load_u16le(t->lead + 26));
    put16(out, extra);
    put32(out, 0); /* no comment, first disk */
    put16(out, 0); /* binary */
    put32(out, MODE_REGULAR);
    put32(out, at);
    text_addf(out, "%s.npy", t->name);
    if (!extra)
        return;
    put16(out, EXTRA_ZIP64);
    put16(out, extra - 4);
    if (size >= FULL32) {
        put64(out, size);
        put64(out, size);
    }
    if (at >= FULL32)
        put64(out, at);
}

static bool needs_end64(uint64_t count, uint64_t at, uint64_t len)
{
    return count >= FULL16 || at >= FULL32 || len >= FULL32;
}

static void put_end(struct text *out, uint64_t count, uint64_t at, uint64_t len)
{
    if (needs_end64(count, at, len)) {
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
    put32(out, 0);
    put16(out, entries);
    put16(out, entries);
    put32(out, len);
    put32(out, at);
    put16(out, 0); /* no comment */
}

static enum status layout(struct export_file *f, struct error *err)
{
    uint64_t at = 0, directory = 0;
    qsort(f->tensors, (size_t)f->count, sizeof(struct export_tensor *), compare);
    if (check_keys(f, err) != OK)
        return err->status;
    for (uint64_t i = 0; i < f->count; i++) {
        struct export_tensor *t = f->tensors[i];
        if (make_lead(t, at, f->arena, err) != OK)
            return err->status;
        if (!add_u64(t->offset, t->nbytes, &at))
            return error_set(err, ERR_UNSUPPORTED, f->path, NO_OFFSET,
                             "more bytes than a file has");
        directory += ENTRY_SIZE + load_u16le(t->lead + 26) + entry_extra(t);
    }
    f->tail_len = (size_t)directory + END_SIZE;
    if (needs_end64(f->count, at, directory))
        f->tail_len += END64_SIZE + LOCATOR_SIZE;
    f->size = at + f->tail_len;
    f->wants_crc32 = true;
    return OK;
}

static enum status finish(struct export_file *f, struct error *err)
{
    struct text tail = {0};
    for (uint64_t i = 0; i < f->count; i++) {
        struct export_tensor *t = f->tensors[i];
        size_t from = npy_at(t);
        uLong sum = crc32(0, t->lead + from, (uInt)(t->lead_len - from));
        sum = crc32_combine(sum, t->crc32, (z_off_t)t->nbytes);
        store_u32le(t->lead + LOCAL_CRC_AT, (uint32_t)sum);
        put_entry(&tail, t);
    }
    put_end(&tail, f->count, f->size - f->tail_len, tail.len);
    if (!tail.failed)
        f->tail = (uint8_t *)arena_copy(f->arena, tail.at, tail.len);
    if (!f->tail)
        error_set(err, ERR_MEMORY, f->path, NO_OFFSET, "no memory");
    text_release(&tail);
    return err->status;
}

const struct exporter exporter_npz = {
    .name = "npz",
    .suffix = ".npz",
    .summary = "NumPy, any number of tensors, not compressed",
    .holds = holds,
    .layout = layout,
    .finish = finish,
};
