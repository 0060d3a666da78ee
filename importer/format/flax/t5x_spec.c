/*
 * t5x_spec.c - TensorStore specs in the `checkpoint` of T5X.
 *
 *   driver     "zarr"; or "cast", with `base`, the spec of the array that it converts
 *   dtype      "float32", ...; "uint16" for bfloat16
 *   kvstore    {driver: "file" or "gfile" or "gcs", path: "target.decoder.w/"}, or a URL
 *   path       here instead of in kvstore, until TensorStore 0.1.14
 *   metadata   members of .zarray: shape, chunks, compressor; others are mostly left out
 *   transform  an `output` in it makes the array a view of the stored one
 *
 * and other members that do not describe the array. Like T5X, this takes every map that has
 * driver, kvstore and metadata for a spec. But trees of parameters are maps too, and may be
 * large, so reading stops at the first entry that no spec can have: an unknown member that holds
 * a map or a list.
 *
 * Paths are relative to the checkpoint's folder. Absolute ones, and those in buckets, name the
 * place where the folder was written.
 *
 * Sources: t5x/checkpoints.py, tensorstore/driver/zarr.
 */
#include "importer/format/flax/t5x_spec.h"

#include <string.h>

#define JSON_DEPTH 8

/* --- metadata to JSON ------------------------------------------------------------------- */

/* TensorStore's names of dtypes, and the names in .zarray if they differ. */
static const struct {
    const char *name, *code;
} dtypes[] = {
    {"bool", "|b1"},      {"int8", "|i1"},        {"uint8", "|u1"},   {"int16", "<i2"},
    {"uint16", "<u2"},    {"int32", "<i4"},       {"uint32", "<u4"},  {"int64", "<i8"},
    {"uint64", "<u8"},    {"float16", "<f2"},     {"float32", "<f4"}, {"float64", "<f8"},
    {"complex64", "<c8"}, {"complex128", "<c16"},
};

static const char *zarr_dtype(const char *name)
{
    for (size_t i = 0; i < sizeof(dtypes) / sizeof(dtypes[0]); i++)
        if (strcmp(dtypes[i].name, name) == 0)
            return dtypes[i].code;
    return name;
}

static bool add_text(struct msgpack *m, const struct msgpack_item *item, struct text *out)
{
    struct text raw = {.limit = T5X_PATH_MAX};
    bool ok = msgpack_add(m, item, &raw) && text_str(&raw) &&
              utf8_valid(raw.at ? raw.at : "", raw.len) && text_json(out, text_str(&raw), raw.len);
    text_release(&raw);
    return ok;
}

static bool add_scalar(struct msgpack *m, const struct msgpack_item *item, struct text *out)
{
    switch (item->type) {
    case MSGPACK_NIL: return text_adds(out, "null");
    case MSGPACK_BOOL: return text_adds(out, item->truth ? "true" : "false");
    case MSGPACK_UNSIGNED: return text_addf(out, "%llu", (unsigned long long)item->number);
    case MSGPACK_NEGATIVE: return text_addf(out, "%lld", (long long)item->integer);
    case MSGPACK_REAL:
        if (item->real - item->real != 0) /* infinite or NaN: zarr writes them as texts */
            return text_adds(out, item->real > 0   ? "\"Infinity\""
                                  : item->real < 0 ? "\"-Infinity\""
                                                   : "\"NaN\"");
        return text_addf(out, "%.17g", item->real);
    case MSGPACK_STRING:
    case MSGPACK_BYTES: return add_text(m, item, out);
    default: return false;
    }
}

struct writing {
    struct msgpack *m;
    struct text *out;
    struct {
        uint64_t left; /* entries not yet read */
        bool map, begun;
    } levels[JSON_DEPTH];
    unsigned depth;
};

/* Write a scalar, or open a list or a map. */
static bool write_value(struct writing *w)
{
    struct msgpack_item item;
    if (!msgpack_next(w->m, &item))
        return false;
    bool map = item.type == MSGPACK_MAP;
    if (!map && item.type != MSGPACK_ARRAY)
        return add_scalar(w->m, &item, w->out);
    if (w->depth == JSON_DEPTH)
        return false;
    w->levels[w->depth].left = item.count;
    w->levels[w->depth].map = map;
    w->levels[w->depth++].begun = false;
    return text_addc(w->out, map ? '{' : '[');
}

/* Append a value, with all nested values, as JSON. */
static bool add_json(struct msgpack *m, struct text *out)
{
    struct writing w = {.m = m, .out = out};
    bool ok = write_value(&w);
    while (ok && w.depth) {
        unsigned d = w.depth - 1;
        if (w.levels[d].left == 0) {
            ok = text_addc(out, w.levels[d].map ? '}' : ']');
            w.depth--;
            continue;
        }
        if (w.levels[d].begun)
            text_addc(out, ',');
        w.levels[d].begun = true;
        w.levels[d].left--;
        struct msgpack_item key;
        ok = !w.levels[d].map || (msgpack_next(m, &key) && msgpack_is_text(&key) &&
                                  add_text(m, &key, out) && text_addc(out, ':'));
        ok = ok && write_value(&w);
    }
    return ok;
}

/* Members that .zarray must have and T5X mostly omits. */
static const struct member {
    const char *name, *json; /* NULL: the spec's dtype */
} members[] = {
    {"zarr_format", "2"}, {"order", "\"C\""},     {"fill_value", "null"},
    {"filters", "null"},  {"compressor", "null"}, {"dtype", NULL},
};

#define MEMBERS (sizeof(members) / sizeof(members[0]))

/* Append the members that the spec has; `seen` gets a bit for each of `members` among them. */
static bool t5x_spec_read_metadata(struct msgpack *m, struct text *out, unsigned *seen)
{
    struct msgpack_item map, key;
    if (!msgpack_next(m, &map) || map.type != MSGPACK_MAP)
        return false;
    for (uint64_t i = 0; i < map.count; i++) {
        if (!msgpack_next(m, &key) || !msgpack_is_text(&key))
            return false;
        for (unsigned k = 0; k < MEMBERS; k++)
            *seen |= msgpack_is(m, &key, members[k].name) ? 1u << k : 0;
        text_addc(out, i ? ',' : '{');
        if (!add_text(m, &key, out) || !text_addc(out, ':') || !add_json(m, out))
            return false;
    }
    return text_adds(out, map.count ? "" : "{");
}

static bool complete_metadata(struct t5x_spec *s, unsigned seen)
{
    struct text *out = &s->metadata;
    for (unsigned k = 0; k < MEMBERS; k++) {
        const char *json = members[k].json;
        if (seen >> k & 1)
            continue;
        text_addf(out, "%s\"%s\":", out->len > 1 ? "," : "", members[k].name);
        if (json)
            text_adds(out, json);
        else
            text_json(out, zarr_dtype(s->dtype), strlen(zarr_dtype(s->dtype)));
    }
    return text_addc(out, '}');
}

/* --- the map ---------------------------------------------------------------------------- */

struct reading {
    struct msgpack *m;
    struct t5x_spec *spec;
    unsigned seen; /* members of the metadata, a bit for each of `members` */
    bool has_metadata;
};

static bool t5x_spec_read_word(struct msgpack *m, char *out)
{
    struct msgpack_item item;
    memset(out, 0, T5X_WORD_MAX + 1);
    return msgpack_next(m, &item) && msgpack_is_text(&item) && item.len <= T5X_WORD_MAX &&
           msgpack_read(m, &item, out);
}

static bool read_path(struct msgpack *m, struct text *out)
{
    struct msgpack_item item;
    text_reset(out);
    return msgpack_next(m, &item) && msgpack_is_text(&item) && msgpack_add(m, &item, out) &&
           text_str(out);
}

/* Skip entries of a map up to the key `name`, whose value then comes next. False at the map's
 * end. */
static bool find_key(struct msgpack *m, uint64_t *left, const char *name)
{
    struct msgpack_item item;
    while (*left && msgpack_next(m, &item)) {
        --*left;
        if (msgpack_is(m, &item, name))
            return true;
        if (!msgpack_skip(m, &item) || !msgpack_next(m, &item) || !msgpack_skip(m, &item))
            return false;
    }
    return false;
}

/* Whether the reader has seen neither an error nor the end of its bytes. */
static bool good(const struct msgpack *m)
{
    return !m->cut && m->err->status == OK;
}

static bool read_transform(struct reading *r)
{
    struct msgpack_item item, value;
    if (!msgpack_next(r->m, &item) || item.type != MSGPACK_MAP)
        return false;
    while (find_key(r->m, &item.count, "output")) {
        r->spec->has_output = true;
        if (!msgpack_next(r->m, &value) || !msgpack_skip(r->m, &value))
            return false;
    }
    return good(r->m);
}

static bool read_base(struct reading *r)
{
    struct t5x_spec *s = r->spec;
    s->has_base = msgpack_next(r->m, &s->base) && s->base.type == MSGPACK_MAP;
    s->base_at = r->m->at;
    return s->has_base && msgpack_skip(r->m, &s->base);
}

static bool t5x_spec_read_entry(struct reading *r)
{
    struct msgpack_item key, value;
    struct t5x_spec *s = r->spec;
    if (!msgpack_next(r->m, &key) || !msgpack_is_text(&key))
        return false;
    if (msgpack_is(r->m, &key, "driver"))
        return t5x_spec_read_word(r->m, s->driver);
    if (msgpack_is(r->m, &key, "dtype"))
        return t5x_spec_read_word(r->m, s->dtype);
    if (msgpack_is(r->m, &key, "path"))
        return read_path(r->m, &s->path);
    if (msgpack_is(r->m, &key, "kvstore")) {
        struct msgpack_item item;
        uint64_t start = r->m->at;
        r->spec->has_kvstore = true;
        if (!msgpack_next(r->m, &item))
            return false;
        if (msgpack_is_text(&item)) {
            r->m->at = start;
            return read_path(r->m, &r->spec->path);
        }
        if (item.type != MSGPACK_MAP)
            return false;
        while (find_key(r->m, &item.count, "path"))
            if (!read_path(r->m, &r->spec->path))
                return false;
        return good(r->m);
    }
    if (msgpack_is(r->m, &key, "transform"))
        return read_transform(r);
    if (msgpack_is(r->m, &key, "base"))
        return read_base(r);
    if (msgpack_is(r->m, &key, "context") || msgpack_is(r->m, &key, "schema"))
        return msgpack_next(r->m, &value) && msgpack_skip(r->m, &value);
    if (!msgpack_is(r->m, &key, "metadata"))
        return msgpack_next(r->m, &value) && value.type < MSGPACK_EXTENSION;
    text_reset(&s->metadata);
    r->seen = 0;
    r->has_metadata = true;
    return t5x_spec_read_metadata(r->m, &s->metadata, &r->seen);
}

bool t5x_spec_read(struct msgpack *m, const struct msgpack_item *map, struct t5x_spec *s)
{
    *s = (struct t5x_spec){.path.limit = T5X_PATH_MAX, .metadata.limit = T5X_PATH_MAX};
    struct reading r = {.m = m, .spec = s};
    for (uint64_t i = 0; i < map->count; i++)
        if (!t5x_spec_read_entry(&r))
            return false;
    if (strcmp(s->driver, "cast") == 0 && s->has_base)
        return true;
    return s->driver[0] && s->has_kvstore && r.has_metadata && complete_metadata(s, r.seen);
}

bool t5x_spec_meant(struct msgpack *m, const struct msgpack_item *map)
{
    static const char *const names[] = {"driver", "kvstore", "metadata"};
    struct msgpack_item key, value;
    unsigned seen = 0;
    bool text = false;
    for (uint64_t i = 0; i < map->count; i++) {
        if (!msgpack_next(m, &key) || !msgpack_is_text(&key))
            return false;
        for (unsigned k = 0; k < sizeof(names) / sizeof(names[0]); k++)
            seen |= msgpack_is(m, &key, names[k]) ? 1u << k : 0;
        if (!msgpack_next(m, &value))
            return false;
        text |= msgpack_is_text(&value);
        if (!msgpack_skip(m, &value))
            return false;
    }
    return seen == 7 && text;
}

void t5x_spec_release(struct t5x_spec *s)
{
    text_release(&s->path);
    text_release(&s->metadata);
}

bool t5x_spec_folder(const struct t5x_spec *s, bool last, struct arena *arena, char **out)
{
    const char *path = s->path.at ? s->path.at : "";
    size_t len = s->path.at ? s->path.len : 0;
    *out = NULL;
    if (memchr(path, '\0', len) || memchr(path, '\\', len))
        return true;
    while (len && path[len - 1] == '/')
        len--;
    char *folder = arena_copy(arena, path, len);
    if (!folder)
        return false;
    char *slash = strrchr(folder, '/');
    if (slash && (last || folder[0] == '/' || strstr(folder, "://")))
        memmove(folder, slash + 1, strlen(slash + 1) + 1);
    for (const char *at = folder;; at++) {
        size_t n = strcspn(at, "/");
        if (n == 0 || (n <= 2 && strspn(at, ".") >= n))
            return true;
        at += n;
        if (!*at) {
            *out = folder;
            return true;
        }
    }
}
