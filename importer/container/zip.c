/*
 * zip.c - the central directory of a zip archive.
 *
 *   local header    "PK\3\4" u16 version, flags, method, time, date  u32 crc, stored, size
 *                   u16 name_len, extra_len  name  extra  data
 *   central entry   "PK\1\2" u16 made, version, flags, method, time, date
 *                   u32 crc, stored, size  u16 name_len, extra_len, comment_len, disk,
 *                   attributes  u32 attributes, header  name  extra  comment
 *   zip64 end       "PK\6\6" u64 size of the rest  u16 made, version  u32 disk, disk
 *                   u64 entries, entries, directory bytes, directory offset  extra
 *   zip64 locator   "PK\6\7" u32 disk  u64 offset of the zip64 end  u32 disks
 *   end             "PK\5\6" u16 disk, disk, entries, entries  u32 directory bytes,
 *                   directory offset  u16 comment_len  comment
 *
 * All little-endian. A 16- or 32-bit field that is all ones has its value in the zip64 end,
 * or in the entry's extra field 1 (u64 size, stored, header, in this order, each only if
 * its own field is all ones). Local sizes are not used: streaming writers leave them 0.
 *
 * Of an archive that lost its end, zip_salvage() takes what the local headers tell. Where they leave
 * the sizes to a descriptor behind the data (flag bit 3), that is searched for:
 *
 *   descriptor      "PK\7\10"  u32 crc  u32 or u64 stored, size; then the next header
 *
 * Source: PKWARE APPNOTE 6.3, sections 4.3 to 4.5. The contents of members: zip_member.c.
 * Not read: several disks, encrypted directories (APPNOTE 7).
 */
/* memmem: */
#define _GNU_SOURCE /* NOLINT(bugprone-*,cert-*,readability-*): its own name */
#include "importer/container/zip.h"

#include <stdlib.h>
#include <string.h>

#include "catalog/base/cursor.h"
#include "catalog/base/limits.h"
#include "catalog/base/strmap.h"
#include "catalog/data/store/store.h"

#define LOCAL_BYTES   30
#define CENTRAL_BYTES 46
#define END_BYTES     22
#define LOCATOR_BYTES 20
#define END64_BYTES   56

#define ZIP_SIZES_BEHIND 0x0008 /* a flag: sizes and checksum follow the data, in 16 bytes, or 24 */
#define SIZES_BYTES      16
#define SIZES64_BYTES    24
#define ALIGNED          64 /* PyTorch's data */
#define EXTRA_LEAST      4  /* bytes of the field that aligns it; before it may be one of sizes */
#define EXTRA64_BYTES    28

#define LOCAL_MAGIC   0x04034b50u
#define CENTRAL_MAGIC 0x02014b50u
#define END_MAGIC     0x06054b50u
#define LOCATOR_MAGIC 0x07064b50u
#define END64_MAGIC   0x06064b50u

#define DESCRIPTOR_MAGIC "PK\7\10"
#define DESCRIPTOR_BYTES 16 /* with sizes of 32 bits */
#define DESCRIPTOR_WIDE  24
#define SIZES_FOLLOW     0x0008 /* flag: in a descriptor */
#define SEARCH_BYTES     ((size_t)1 << 20)

#define CENTRAL_BYTES_MAX (CENTRAL_BYTES + 3 * UINT16_MAX)

struct directory {
    uint64_t offset, bytes, entries;
    uint64_t end; /* offset of the first end record */
};

static enum status corrupt(const struct source *s, uint64_t offset, struct error *err,
                           const char *what)
{
    return error_set(err, ERR_CORRUPT, s->name, offset, "bad zip: %s", what);
}

/* --- the end records -------------------------------------------------------------------- */

/* Index in the file's tail of the end record: the last one whose comment reaches
 * exactly to the end of the file. Failing that (bytes were appended: *trailing of them), the last
 * one whose comment fits. -1: none. */
static ptrdiff_t find_end(const uint8_t *tail, size_t len, uint64_t *trailing)
{
    ptrdiff_t found = -1;
    size_t i = len < END_BYTES ? 0 : len - END_BYTES + 1;
    while (i-- > 0 && (found < 0 || *trailing)) {
        const size_t behind = len - i - END_BYTES;
        if (load_u32le(tail + i) != END_MAGIC)
            continue;
        const size_t comment = load_u16le(tail + i + 20);
        if (comment == behind || (found < 0 && comment < behind)) {
            found = (ptrdiff_t)i;
            *trailing = behind - comment;
        }
    }
    return found;
}

static bool agrees(uint64_t plain, uint64_t ones, uint64_t wide)
{
    return plain == ones || plain == wide;
}

/* Replace the fields of the plain end record with the zip64 record's,
 * which must not contradict them. */
static enum status read_end64(const struct source *s, uint64_t end, struct directory *d,
                              struct error *err)
{
    uint8_t locator[LOCATOR_BYTES], record[END64_BYTES];
    if (end < LOCATOR_BYTES ||
        source_read(s, end - LOCATOR_BYTES, locator, sizeof(locator), err) != OK ||
        load_u32le(locator) != LOCATOR_MAGIC)
        return err->status; /* OK if absent */
    uint64_t at = load_u64le(locator + 8), limit = end - LOCATOR_BYTES;
    if (limit < END64_BYTES || at > limit - END64_BYTES)
        return corrupt(s, limit, err, "the zip64 end record lies outside the file");
    if (source_read(s, at, record, sizeof(record), err) != OK)
        return err->status;
    if (load_u32le(record) != END64_MAGIC || load_u64le(record + 4) != limit - at - 12)
        return corrupt(s, at, err, "no zip64 end record where its locator points");
    struct directory wide = {
        .entries = load_u64le(record + 32),
        .bytes = load_u64le(record + 40),
        .offset = load_u64le(record + 48),
        .end = at,
    };
    if (load_u32le(record + 16) || load_u32le(record + 20) ||
        load_u64le(record + 24) != wide.entries)
        return corrupt(s, at, err, "it is spread over several disks");
    if (!agrees(d->entries, UINT16_MAX, wide.entries) ||
        !agrees(d->bytes, UINT32_MAX, wide.bytes) || !agrees(d->offset, UINT32_MAX, wide.offset))
        return corrupt(s, at, err, "its two end records name different directories");
    *d = wide;
    return OK;
}

static enum status no_end(const struct source *s, struct error *err)
{
    error_set(err, ERR_CORRUPT, s->name, s->size,
              "the zip directory is missing from the end: the file was cut short");
    return error_code(err, "truncated");
}

/* Read the end record `r`, which is at `at` in the file. */
static enum status read_end(const struct source *s, const uint8_t *r, uint64_t at,
                            uint64_t trailing, struct directory *d, struct error *err)
{
    *d = (struct directory){load_u32le(r + 16), load_u32le(r + 12), load_u16le(r + 10), at};
    if (load_u16le(r + 4) || load_u16le(r + 6) || load_u16le(r + 8) != d->entries)
        return corrupt(s, at, err, "it is spread over several disks");
    uint64_t ends;
    const bool readable = read_end64(s, at, d, err) == OK;
    const bool adjoins = readable && add_u64(d->offset, d->bytes, &ends) && ends == d->end;
    if (!adjoins && trailing && (readable || err->status == ERR_CORRUPT)) {
        error_clear(err); /* it is of an archive inside this one, whose own end is lost */
        return no_end(s, err);
    }
    if (!readable)
        return err->status;
    if (!adjoins)
        return corrupt(s, at, err,
                       "its directory does not end where it should (bytes before the "
                       "archive, or lost from it)");
    if (d->entries > LIMIT_TENSORS || d->bytes > LIMIT_NAMES_BYTES)
        return error_set(err, ERR_LIMIT, s->name, at,
                         "a zip directory of %llu entries and %llu bytes, most is %llu and %llu",
                         (unsigned long long)d->entries, (unsigned long long)d->bytes,
                         (unsigned long long)LIMIT_TENSORS, (unsigned long long)LIMIT_NAMES_BYTES);
    if (d->entries > d->bytes / CENTRAL_BYTES || d->entries < d->bytes / CENTRAL_BYTES_MAX)
        return corrupt(s, at, err, "its directory cannot have that many members");
    return OK;
}

static enum status zip_locate(const struct source *s, struct directory *d, uint64_t *trailing,
                              struct error *err)
{
    const size_t most = END_BYTES + UINT16_MAX, all = s->size < most ? (size_t)s->size : most;
    uint8_t *tail = malloc(all ? all : 1);
    if (!tail)
        return error_memory_at(err, s->name);
    ptrdiff_t end = -1;
    size_t len = 0;
    while (err->status == OK && len < all && (end < 0 || *trailing)) {
        /* All for a long comment, or bytes behind it. */
        len = len || all < ZIP_END_BYTES ? all : ZIP_END_BYTES;
        if (source_read(s, s->size - len, tail, len, err) == OK)
            end = find_end(tail, len, trailing);
    }
    if (err->status == OK && end < 0)
        no_end(s, err);
    else if (err->status == OK)
        read_end(s, tail + end, s->size - len + (uint64_t)end, *trailing, d, err);
    free(tail);
    return err->status;
}

/* --- entries ---------------------------------------------------------------------------- */

/* The body of the extra field `id`; empty if absent. */
static struct bytes find_extra(struct bytes extra, uint16_t id)
{
    struct cursor c = cursor_over(extra, 0);
    while (cursor_left(&c) >= 4) {
        uint16_t found = cursor_u16le(&c);
        struct bytes body = cursor_take(&c, cursor_u16le(&c));
        if (found == id)
            return body;
    }
    return (struct bytes){0};
}

/* Take the sizes and the offset that did not fit into 32 bits from the zip64 extra field;
 * false if one is missing there. */
static bool widen(struct zip_member *m, struct bytes extra)
{
    struct cursor c = cursor_over(find_extra(extra, 1), 0);
    uint64_t *const fields[] = {&m->size, &m->stored, &m->header};
    for (size_t i = 0; i < 3; i++)
        if (*fields[i] == UINT32_MAX)
            *fields[i] = cursor_u64le(&c);
    return cursor_ok(&c);
}

static enum status zip_read_entry(const struct source *s, struct cursor *c, struct arena *arena,
                                  struct zip_member *m, struct error *err)
{
    uint64_t at = cursor_offset(c);
    uint32_t magic = cursor_u32le(c);
    cursor_take(c, 4);
    m->flags = cursor_u16le(c);
    m->method = cursor_u16le(c);
    cursor_take(c, 4);
    m->crc = cursor_u32le(c);
    m->stored = cursor_u32le(c);
    m->size = cursor_u32le(c);
    uint16_t name_len = cursor_u16le(c);
    uint16_t extra_len = cursor_u16le(c);
    uint16_t comment_len = cursor_u16le(c);
    cursor_take(c, 8);
    m->header = cursor_u32le(c);
    struct bytes name = cursor_take(c, name_len);
    struct bytes extra = cursor_take(c, extra_len);
    cursor_take(c, comment_len);
    if (!cursor_ok(c) || magic != CENTRAL_MAGIC)
        return corrupt(s, at, err, "a directory entry is cut short or not one");
    if (!widen(m, extra))
        return corrupt(s, at, err, "a directory entry lacks its zip64 sizes");
    m->name_len = name_len;
    m->name = arena_copy(arena, name.at, name_len);
    return m->name && !arena->failed ? OK : error_memory_at(err, s->name);
}

/* PyTorch aligns data to 64 bytes by the local header's extra field, and repeats the sizes behind the data. Where
 * nothing else fits between this header and the next, data is found without a look at the header: on another
 * machine each would be a request. */
static bool infer_data(const struct source *s, struct zip_member *m, uint64_t next)
{
    const uint64_t begin = m->header + LOCAL_BYTES + m->name_len + EXTRA_LEAST;
    const uint64_t behind[] = {SIZES_BYTES, SIZES64_BYTES};
    if (path_is_local(s->name) || !(m->flags & ZIP_SIZES_BEHIND) || m->header >= next ||
        next < begin)
        return false;
    for (size_t i = 0; i < 2; i++) {
        const uint64_t room = next - begin;
        if (m->stored > room || room - m->stored < behind[i])
            continue;
        m->data = next - behind[i] - m->stored;
        if (m->data % ALIGNED == 0 && m->data - begin < ALIGNED + EXTRA64_BYTES)
            return true;
    }
    return false;
}

/* Find the member's data, and check the local header against the directory entry. */
static enum status locate_data(const struct source *s, struct zip_member *m, uint64_t directory,
                               struct error *err)
{
    uint8_t local[LOCAL_BYTES + UINT16_MAX];
    size_t len = LOCAL_BYTES + m->name_len;
    if (directory < len || m->header > directory - len)
        return corrupt(s, m->header, err, "a member lies after the directory");
    if (source_read(s, m->header, local, len, err) != OK)
        return err->status;
    if (load_u32le(local) != LOCAL_MAGIC)
        return corrupt(s, m->header, err, "no local header where the directory says");
    if (load_u16le(local + 26) != m->name_len ||
        memcmp(local + LOCAL_BYTES, m->name, m->name_len) != 0 ||
        load_u16le(local + 8) != m->method || (load_u16le(local + 6) ^ m->flags) & ZIP_ENCRYPTED)
        return corrupt(s, m->header, err,
                       "a local header names another member or method than the directory");
    uint64_t end;
    m->data = m->header + len + load_u16le(local + 28);
    if (!add_u64(m->data, m->stored, &end) || end > directory) {
        corrupt(s, m->header, err, "a member runs into the directory");
        return error_code(err, "overlap");
    }
    return OK;
}

static int by_header(const void *a, const void *b)
{
    const struct zip_member *const *x = a, *const *y = b;
    return ((*x)->header > (*y)->header) - ((*x)->header < (*y)->header);
}

static enum status check_overlap(const struct zip *z, struct arena *arena, struct error *err)
{
    const struct zip_member **order = arena_array(arena, z->count + 1, sizeof(*order));
    if (!order)
        return error_memory_at(err, z->source->name);
    for (uint64_t i = 0; i < z->count; i++)
        order[i] = &z->members[i];
    qsort(order, z->count, sizeof(*order), by_header);
    for (uint64_t i = 1; i < z->count; i++) {
        if (order[i - 1]->data + order[i - 1]->stored > order[i]->header) {
            corrupt(z->source, order[i]->header, err, "members lie over each other");
            return error_code(err, "overlap");
        }
    }
    return OK;
}

static enum status read_entries(struct zip *z, const struct directory *d, enum zip_names repeat,
                                struct bytes bytes, struct arena *arena, struct error *err)
{
    const struct source *s = z->source;
    struct cursor c = cursor_over(bytes, d->offset);
    struct strmap names = {.err = err};
    for (uint64_t i = 0; i < d->entries && err->status == OK; i++)
        zip_read_entry(s, &c, arena, &z->members[i], err);
    for (uint64_t i = 0; i < d->entries && err->status == OK; i++) {
        struct zip_member *m = &z->members[i];
        const uint64_t next = i + 1 < d->entries ? m[1].header : d->offset;
        m->inferred = next <= d->offset && infer_data(s, m, next);
        if (!m->inferred && s->ops->at_hand) /* all at once, and the beginnings of the data */
            s->ops->at_hand(s, m->header, LOCAL_BYTES + m->name_len);
    }
    for (uint64_t i = 0; i < d->entries && err->status == OK; i++) {
        struct zip_member *m = &z->members[i];
        bool added = false;
        if (!m->inferred && locate_data(s, m, d->offset, err) != OK)
            break;
        uint64_t *last = strmap_add(&names, m->name, m->name_len, &added);
        if (!added && repeat == ZIP_UNIQUE) {
            error_set(err, ERR_CORRUPT, s->name, m->header,
                      "bad zip: two members are named \"%.200s\"", m->name);
            error_code(err, "duplicate-member");
        }
        if (!added && err->status == OK)
            z->members[*last].replaced = true;
        *last = i;
    }
    strmap_release(&names);
    if (err->status == OK && cursor_left(&c))
        corrupt(s, cursor_offset(&c), err, "its directory has bytes after its entries");
    return err->status;
}

enum status zip_open(const struct source *source, enum zip_names repeat, struct arena *arena,
                     struct zip *out, struct error *err)
{
    struct zip z = {.source = source};
    struct directory d = {0};
    if (zip_locate(source, &d, &z.trailing, err) != OK)
        return err->status;
    uint8_t *bytes = arena_alloc(arena, (size_t)d.bytes);
    z.count = d.entries;
    z.members = arena_array(arena, (size_t)d.entries + 1, sizeof(*z.members));
    if (!bytes || !z.members)
        error_memory_at(err, source->name);
    else if (source_read(source, d.offset, bytes, (size_t)d.bytes, err) == OK &&
             read_entries(&z, &d, repeat, (struct bytes){bytes, (size_t)d.bytes}, arena, err) ==
                 OK &&
             check_overlap(&z, arena, err) == OK)
        *out = z;
    return err->status;
}

/* --- archives without an end ------------------------------------------------------------- */

/* Whether a header, or the end of the file, is where a member ends. */
static bool header_follows(struct bytes rest)
{
    static const uint32_t magics[] = {LOCAL_MAGIC, CENTRAL_MAGIC, END64_MAGIC, END_MAGIC};
    for (size_t i = 0; i < sizeof(magics) / sizeof(*magics); i++) {
        const uint8_t magic[4] = {(uint8_t)magics[i], (uint8_t)(magics[i] >> 8),
                                  (uint8_t)(magics[i] >> 16), (uint8_t)(magics[i] >> 24)};
        if (memcmp(rest.at, magic, rest.len < sizeof(magic) ? rest.len : sizeof(magic)) == 0)
            return true;
    }
    return false;
}

/* Take the sizes from a descriptor at `at` bytes behind the member's first. 0: it is none, or of
 * another member, such as one of an archive inside this one; else its length. */
static size_t take_descriptor(struct zip_member *m, uint64_t at, struct bytes b)
{
    for (size_t len = DESCRIPTOR_BYTES; len <= DESCRIPTOR_WIDE && len <= b.len;
         len += DESCRIPTOR_WIDE - DESCRIPTOR_BYTES) {
        const bool wide = len == DESCRIPTOR_WIDE;
        const uint64_t stored = wide ? load_u64le(b.at + 8) : load_u32le(b.at + 8);
        const uint64_t size = wide ? load_u64le(b.at + 16) : load_u32le(b.at + 12);
        if (stored != at || (m->method == ZIP_STORED && size != stored) ||
            !header_follows((struct bytes){b.at + len, b.len - len}))
            continue;
        m->crc = load_u32le(b.at + 4);
        m->stored = stored;
        m->size = size;
        return len;
    }
    return 0;
}

/* Find the descriptor behind a member's data. Returns where it ends; 0: nowhere in the file, or *err
 * is set. */
static uint64_t find_descriptor(const struct source *s, struct zip_member *m, uint8_t *room,
                                struct error *err)
{
    const size_t reach = DESCRIPTOR_WIDE + sizeof(uint32_t); /* looked at behind a magic */
    for (uint64_t from = m->data; s->size - from >= DESCRIPTOR_BYTES;) {
        const uint64_t left = s->size - from;
        const size_t len = left < SEARCH_BYTES ? (size_t)left : SEARCH_BYTES;
        const size_t searched = len == left ? len : len - reach;
        if (source_read(s, from, room, len, err) != OK)
            return 0;
        for (const uint8_t *at = room; at < room + searched; at++) {
            const size_t rest = (size_t)(room + len - at);
            size_t end;
            at = memmem(at, rest, DESCRIPTOR_MAGIC, 4);
            if (!at || at >= room + searched)
                break;
            end = take_descriptor(m, from - m->data + (uint64_t)(at - room),
                                  (struct bytes){at, (size_t)(room + len - at)});
            if (end)
                return from + (uint64_t)(at - room) + end;
        }
        from += searched;
    }
    return 0;
}

/* Where the next header may be, behind the data of a member; 0: the member is the last, as far as it
 * goes (`cut`), or *err is set. */
static uint64_t behind_member(const struct source *s, struct zip_member *m, uint8_t *room,
                              struct error *err)
{
    const uint64_t left = s->size - m->data;
    uint64_t end = 0;
    if (m->flags & SIZES_FOLLOW) {
        end = find_descriptor(s, m, room, err);
        m->cut = !end;
    } else if (m->stored <= left) {
        /* One that was being written when the writer stopped has no sizes yet. */
        const size_t len = left - m->stored < 4 ? (size_t)(left - m->stored) : 4;
        if (!m->stored && !m->size && source_read(s, m->data, room, len, err) == OK)
            m->cut = !header_follows((struct bytes){room, len});
        end = m->cut ? 0 : m->data + m->stored;
    } else {
        m->cut = true;
    }
    if (m->cut && m->method == ZIP_STORED) {
        m->stored = m->size = left;
        m->crc = 0;
    }
    return end;
}

/* Read the local header at `at`. False: it is none, or cut short, or *err is set. */
static bool zip_read_local(const struct source *s, uint64_t at, struct arena *arena,
                           struct zip_member *m, struct error *err)
{
    uint8_t local[LOCAL_BYTES];
    if (s->size - at < LOCAL_BYTES || source_read(s, at, local, sizeof(local), err) != OK ||
        load_u32le(local) != LOCAL_MAGIC)
        return false;
    const size_t name_len = load_u16le(local + 26), extra_len = load_u16le(local + 28);
    if (s->size - at - LOCAL_BYTES < name_len + extra_len)
        return false;
    uint8_t *rest = arena_alloc(arena, name_len + extra_len + 1);
    if (!rest || source_read(s, at + LOCAL_BYTES, rest, name_len + extra_len, err) != OK)
        return false;
    *m = (struct zip_member){
        .name_len = name_len,
        .flags = load_u16le(local + 6),
        .method = load_u16le(local + 8),
        .crc = load_u32le(local + 14),
        .stored = load_u32le(local + 18),
        .size = load_u32le(local + 22),
        .data = at + LOCAL_BYTES + name_len + extra_len,
    };
    if (!(m->flags & SIZES_FOLLOW) && !widen(m, (struct bytes){rest + name_len, extra_len}))
        return false;
    m->header = at;
    m->name = arena_copy(arena, (const char *)rest, name_len);
    return m->name;
}

enum status zip_salvage(const struct source *source, struct arena *arena, struct zip *out,
                        struct error *err)
{
    struct zip z = {.source = source};
    struct strmap names = {.err = err};
    struct zip_member m;
    size_t space = 0, name_bytes = 0;
    uint8_t *room = malloc(SEARCH_BYTES);
    bool added = true;
    if (!room)
        error_memory_at(err, source->name);
    for (uint64_t at = 0;
         err->status == OK && zip_read_local(source, at, arena, &m, err) && added;) {
        at = behind_member(source, &m, room, err);
        name_bytes += m.name_len;
        strmap_add(&names, m.name, m.name_len, &added);
        if (!added || z.count >= LIMIT_TENSORS || name_bytes > LIMIT_NAMES_BYTES)
            corrupt(source, m.header, err, "two members of one name, or too many members");
        *PUSH(arena, z.members, z.count, space) = m;
        if (!at)
            break;
    }
    strmap_release(&names);
    free(room);
    if (arena->failed)
        error_memory_at(err, source->name);
    *out = z;
    return err->status;
}

const struct zip_member *zip_find(const struct zip *z, const char *name)
{
    size_t len = strlen(name);
    for (uint64_t i = 0; i < z->count; i++)
        if (z->members[i].name_len == len && memcmp(z->members[i].name, name, len) == 0)
            return &z->members[i];
    return NULL;
}
