/*
 * ocdbt_builder.h - write OCDBT databases for tests, well-formed or not, and keep their files
 * in memory.
 *
 *   struct database db = {0};
 *   struct text body = {0};
 *   put_leaf(&body, &table, entries, count);
 *   struct stored root = database_node(&db, "d/n", text_bytes(&body), PACK_RAW);
 *   database_manifest(&db, &(struct manifest_of){...});
 *   ... database_files(&db) ...
 *   database_release(&db);
 *
 * Everything is written as given: out of order or out of range is up to the test.
 */
#pragma once

#include <stdio.h>

#include "importer/format/orbax/ocdbt_database.h"
#include "importer/format/orbax/ocdbt_node.h"
#include "tests/unit/table_builder.h"

/* --- bodies ----------------------------------------------------------------------------- */

struct path_of {
    const char *path;
    size_t base;
};

struct paths_of {
    const struct path_of *at;
    size_t count;
};

static inline size_t common_bytes(const char *a, const char *b)
{
    size_t n = 0;
    while (a[n] && a[n] == b[n])
        n++;
    return n;
}

/* Of the path before, as much as may be shared: their base paths must agree that far. */
static inline size_t shared_path(const struct path_of *p, size_t i)
{
    if (i == 0)
        return 0;
    size_t shared = common_bytes(p[i - 1].path, p[i].path);
    size_t smaller = p[i - 1].base < p[i].base ? p[i - 1].base : p[i].base;
    return p[i - 1].base == p[i].base || shared < smaller ? shared : smaller;
}

static inline void put_table(struct text *out, struct paths_of paths)
{
    const struct path_of *p = paths.at;
    put_varint(out, paths.count);
    for (size_t i = 1; i < paths.count; i++)
        put_varint(out, shared_path(p, i));
    for (size_t i = 0; i < paths.count; i++)
        put_varint(out, strlen(p[i].path) - shared_path(p, i));
    for (size_t i = 0; i < paths.count; i++)
        put_varint(out, p[i].base);
    for (size_t i = 0; i < paths.count; i++)
        text_adds(out, p[i].path + shared_path(p, i));
}

/* An entry of a leaf (value: inline, else NULL) or of an inner node. */
struct entry_of {
    const char *key;
    const char *value;
    uint64_t file, offset, length;
    uint64_t keys;
    size_t common;
};

static inline void put_keys(struct text *out, const struct entry_of *e, size_t count, bool inner)
{
    put_varint(out, count);
    for (size_t i = 1; i < count; i++)
        put_varint(out, common_bytes(e[i - 1].key, e[i].key));
    for (size_t i = 0; i < count; i++)
        put_varint(out, strlen(e[i].key) - (i ? common_bytes(e[i - 1].key, e[i].key) : 0));
    for (size_t i = 0; inner && i < count; i++)
        put_varint(out, e[i].common);
    for (size_t i = 0; i < count; i++)
        text_adds(out, e[i].key + (i ? common_bytes(e[i - 1].key, e[i].key) : 0));
}

static inline void put_leaf(struct text *out, struct paths_of paths, const struct entry_of *e,
                            size_t count)
{
    text_addc(out, 0);
    put_table(out, paths);
    put_keys(out, e, count, false);
    for (size_t i = 0; i < count; i++)
        put_varint(out, e[i].value ? strlen(e[i].value) : e[i].length);
    for (size_t i = 0; i < count; i++)
        text_addc(out, e[i].value ? 0 : 1);
    for (size_t i = 0; i < count; i++)
        if (!e[i].value)
            put_varint(out, e[i].file);
    for (size_t i = 0; i < count; i++)
        if (!e[i].value)
            put_varint(out, e[i].offset);
    for (size_t i = 0; i < count; i++)
        if (e[i].value)
            text_adds(out, e[i].value);
}

static inline void put_inner(struct text *out, unsigned height, struct paths_of paths,
                             const struct entry_of *e, size_t count)
{
    text_addc(out, (char)height);
    put_table(out, paths);
    put_keys(out, e, count, true);
    for (size_t i = 0; i < count; i++)
        put_varint(out, e[i].file);
    for (size_t i = 0; i < count; i++)
        put_varint(out, e[i].offset);
    for (size_t i = 0; i < count; i++)
        put_varint(out, e[i].length);
    for (size_t i = 0; i < count; i++)
        put_varint(out, e[i].keys);
    for (size_t i = 0; i < 2 * count; i++)
        put_varint(out, 0);
}

/* The newest of `versions` versions is the one described; all others have the same root. */
struct manifest_of {
    bool numbered;
    uint64_t node_bytes; /* 0: 8 MiB */
    uint64_t generation; /* of the newest; 0: as many as there are versions */
    uint64_t versions;   /* 0: one */
    bool empty;
    unsigned height;
    struct paths_of paths;
    uint64_t file, offset, length, keys;
    unsigned history; /* references to older versions */
};

static inline void put_config(struct text *out, const struct manifest_of *m)
{
    for (int i = 0; i < 16; i++)
        text_addc(out, (char)i);
    text_addc(out, m->numbered);
    put_varint(out, 100);
    put_varint(out, m->node_bytes ? m->node_bytes : 8 << 20);
    text_addc(out, 4);
    put_varint(out, 0);
}

static inline void put_column(struct text *out, uint64_t count, uint64_t value)
{
    for (uint64_t i = 0; i < count; i++)
        put_varint(out, value);
}

static inline void put_history(struct text *out, unsigned count)
{
    put_varint(out, count);
    for (unsigned i = 0; i < count; i++)
        put_varint(out, i + 1);
    put_column(out, count, 0);
    put_column(out, count, 0);
    put_column(out, count, 60);
    put_column(out, count, 1);
    for (unsigned i = 0; i < count; i++)
        put_u64(out, i);
    for (unsigned i = 0; i < count; i++)
        text_addc(out, (char)(count - i));
}

static inline void put_manifest(struct text *out, const struct manifest_of *m)
{
    static const struct path_of nowhere = {"", 0};
    uint64_t n = m->versions ? m->versions : 1;
    uint64_t newest = m->generation ? m->generation : n;
    put_config(out, m);
    if (m->numbered)
        return;
    put_table(out, m->paths.count ? m->paths : (struct paths_of){&nowhere, 1});
    put_varint(out, n);
    for (uint64_t i = 0; i < n; i++)
        put_varint(out, newest - n + 1 + i);
    for (uint64_t i = 0; i < n; i++)
        text_addc(out, (char)m->height);
    put_column(out, n, m->file);
    put_column(out, n, m->empty ? UINT64_MAX : m->offset);
    put_column(out, n, m->empty ? UINT64_MAX : m->length);
    put_column(out, n, m->keys);
    put_column(out, n, 0);
    put_column(out, n, 0);
    for (uint64_t i = 0; i < n; i++)
        put_u64(out, 1);
    put_history(out, m->history);
}

/* --- frames ----------------------------------------------------------------------------- */

enum pack {
    PACK_RAW,
    PACK_ZSTD,       /* blocks stored as they are, of 100 bytes */
    PACK_ZSTD_BLOCKS /* the body is zstd data already */
};

static inline void put_zstd_head(struct text *out)
{
    put_u32(out, 0xFD2FB528);
    text_addc(out, 0);          /* no length, no checksum */
    text_addc(out, (char)0x38); /* a window of 128 KiB */
}

static inline void put_zstd_block(struct text *out, unsigned type, size_t size, bool last)
{
    uint32_t head = (uint32_t)(size << 3 | type << 1 | last);
    text_addc(out, (char)head);
    text_addc(out, (char)(head >> 8));
    text_addc(out, (char)(head >> 16));
}

static inline void put_zstd(struct text *out, struct bytes body)
{
    put_zstd_head(out);
    for (size_t at = 0; at == 0 || at < body.len; at += 100) {
        size_t size = body.len - at < 100 ? body.len - at : 100;
        put_zstd_block(out, 0, size, at + size == body.len);
        text_add(out, body.at + at, size);
    }
}

static inline void put_frame(struct text *out, uint32_t magic, struct bytes body, enum pack pack)
{
    size_t begin = out->len;
    uint8_t length[8];
    put_u32(out, __builtin_bswap32(magic));
    put_u64(out, 0);
    put_varint(out, 0);
    put_varint(out, pack != PACK_RAW);
    if (pack == PACK_ZSTD)
        put_zstd(out, body);
    else
        text_add(out, body.at, body.len);
    store_u64le(length, out->len - begin + 4);
    memcpy(out->at + begin + 4, length, sizeof(length));
    put_u32(out, crc32c_extend(0, out->at + begin, out->len - begin));
}

/* --- files in memory -------------------------------------------------------------------- */

struct memory_file {
    char path[256];
    struct text bytes;
    unsigned opened;
    bool missing;
};

struct database {
    struct memory_file files[100];
    size_t count;
    const char *names[100];
    struct text reports; /* a line each */
    unsigned warnings, errors;
};

static inline struct memory_file *database_file(struct database *db, const char *path)
{
    for (size_t i = 0; i < db->count; i++)
        if (strcmp(db->files[i].path, path) == 0)
            return &db->files[i];
    struct memory_file *f = &db->files[db->count++];
    snprintf(f->path, sizeof(f->path), "%s", path);
    return f;
}

/* Where a node was put. */
struct stored {
    uint64_t offset, length;
};

/* Append a node to a file. */
static inline struct stored database_node(struct database *db, const char *path, struct bytes body,
                                          enum pack pack)
{
    struct text *file = &database_file(db, path)->bytes;
    uint64_t offset = file->len;
    put_frame(file, OCDBT_MAGIC_NODE, body, pack);
    return (struct stored){offset, file->len - offset};
}

static inline void database_manifest_as(struct database *db, const char *path,
                                        const struct manifest_of *m, enum pack pack)
{
    struct text body = {0};
    struct memory_file *f = database_file(db, path);
    text_reset(&f->bytes);
    put_manifest(&body, m);
    put_frame(&f->bytes, OCDBT_MAGIC_MANIFEST, text_bytes(&body), pack);
    text_release(&body);
}

static inline void database_manifest(struct database *db, const struct manifest_of *m)
{
    database_manifest_as(db, OCDBT_MANIFEST, m, PACK_RAW);
}

static inline enum status memory_open(void *context, uint32_t number, const char *path,
                                      struct source **out, struct error *err)
{
    struct database *db = context;
    (void)number;
    for (size_t i = 0; i < db->count; i++) {
        struct memory_file *f = &db->files[i];
        if (strcmp(f->path, path) != 0 || f->missing)
            continue;
        f->opened++;
        return source_open_memory(path, text_bytes(&f->bytes), true, out, err);
    }
    return error_set(err, ERR_MISSING, path, NO_OFFSET, "no such file");
}

static inline const char *const *memory_names(void *context, uint64_t *count)
{
    struct database *db = context;
    for (size_t i = 0; i < db->count; i++)
        db->names[i] = db->files[i].path;
    *count = db->count;
    return db->names;
}

static inline void memory_report(void *context, bool warning, const struct error *error)
{
    struct database *db = context;
    db->warnings += warning;
    db->errors += !warning;
    text_addf(&db->reports, "%s: %s\n", warning ? "warning" : "error", error->message);
}

static inline struct ocdbt_files database_files(struct database *db)
{
    return (struct ocdbt_files){memory_open, memory_names, memory_report, db};
}

static inline void database_release(struct database *db)
{
    for (size_t i = 0; i < db->count; i++)
        text_release(&db->files[i].bytes);
    text_release(&db->reports);
}
