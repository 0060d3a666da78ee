/*
 * ocdbt_database.c - walk the newest version of an OCDBT database. ocdbt_node.c describes the bytes of its
 * parts.
 *
 *   manifest.ocdbt            the versions, and where their roots are;
 *   manifest.<16 hex digits>  or, if manifest.ocdbt says so, the same in one file for each of
 *                             the last commits, named by its newest version
 *   d/<32 hex digits>         nodes and values, in any order (the folder can have another name)
 *
 * A node names files relative to a base path: the base path of its parent followed by the base
 * path of the file it is in. So a database can refer to whole trees of others, as Orbax does
 * when it merges the databases of several processes: "ocdbt.process_0/" and then "d/...".
 *
 * A node leaves out the prefix that all keys of its subtree share: its parent has it. Example: if
 * the parent's key is "params/a/kernel" and its `common` is 7, the keys "params/a/kernel" and
 * "params/b/kernel" are stored in the child as "a/kernel" and "b/kernel".
 */
#include "importer/format/orbax/ocdbt_database.h"

#include <limits.h>
#include <stdio.h>
#include <stdlib.h>

#include "catalog/base/limits.h"
#include "catalog/base/text.h"
#include "importer/format/orbax/ocdbt_files.h"

#define KEPT_BODY_BYTES ((size_t)1 << 20)
#define FILE_NOT_NEEDED UINT32_MAX
#define FILE_NEEDED     OCDBT_FILES_MOST

/* An entry of a node's table of data files. */
struct table_file {
    uint32_t number;
    uint32_t base; /* length of the base path of what its nodes name */
};

/* A reference to a node. */
struct place {
    struct table_file file;
    uint64_t offset, length, keys;
    unsigned height;
};

/* A node on the path from the root to the current entry. */
struct level {
    struct ocdbt_node node; /* its entries that are still to be read */
    uint32_t file;          /* the file that it is in */
    struct buffer body;
    struct text key; /* the whole key of the last entry read */
    size_t prefix;   /* length of the part of `key` that the node leaves out */
    struct table_file *files;
    size_t file_space;
};

struct ocdbt {
    struct ocdbt_store store;
    struct level *levels;        /* by depth; room for the root's height + 1 */
    unsigned level_count, depth; /* `depth` are in use */
    struct buffer value;
    struct text last; /* the last key of the previous leaf */
    bool any;         /* there was a previous leaf */
    uint64_t node_most;
    uint64_t entries, nodes;
    uint64_t decoded; /* bytes of nodes and values, decoded */
    uint64_t read;    /* and as stored */
    uint64_t key_bytes, path_bytes;
    struct ocdbt_path path; /* scratch: the path being read */
};

/* Whether names take more memory than is plausible for the nodes they come from. */
static bool out_of_proportion(const struct ocdbt *db, uint64_t name_bytes, uint64_t growth)
{
    return name_bytes > LIMIT_KEYS_FREE && name_bytes / growth > db->read;
}

static enum status limit_hit(struct ocdbt_place at, const char *what, uint64_t most,
                             struct error *err)
{
    return error_set(err, ERR_LIMIT, at.name, at.offset,
                     "the OCDBT database has %s than the %llu that are read", what,
                     (unsigned long long)most);
}

/* --- nodes ------------------------------------------------------------------------------ */

static int ocdbt_compare(struct bytes a, struct bytes b)
{
    size_t common = a.len < b.len ? a.len : b.len;
    int order = common ? memcmp(a.at, b.at, common) : 0;
    return order ? order : (a.len > b.len) - (a.len < b.len);
}

static struct bytes text_tail(const struct text *t, size_t from)
{
    return (struct bytes){(const uint8_t *)t->at + from, t->len - from};
}

/* Read the next entry of `n`, which is level `l`'s node or a copy, and build its
 * whole key. *ascends: it is above the one before in the same node. */
static bool ocdbt_advance(struct level *l, struct ocdbt_node *n, struct ocdbt_item *item,
                          bool *ascends)
{
    bool first = n->left == n->count;
    ocdbt_node_next(n, item);
    size_t kept = l->prefix + item->shared;
    *ascends = first || ocdbt_compare(text_tail(&l->key, kept), item->fresh) < 0;
    l->key.len = kept;
    return text_add(&l->key, item->fresh.at, item->fresh.len);
}

/* Whether the first key of a node is above all keys before it, and not below the
 * key by which its parent lists it. */
static bool begins_well(const struct ocdbt *db, const struct level *l)
{
    struct bytes key = text_tail(&l->key, 0);
    if (db->depth && ocdbt_compare(key, text_tail(&l[-1].key, 0)) < 0)
        return false;
    return !db->any || ocdbt_compare(key, text_tail(&db->last, 0)) > 0;
}

/* Go once through a node: check that its keys ascend, count the entries below
 * it, and mark the files it needs. */
static enum status check_node(struct ocdbt *db, struct level *l, uint64_t *keys,
                              struct ocdbt_place at, struct error *err)
{
    struct ocdbt_node n = l->node;
    struct ocdbt_item item;
    bool ascends = true, sound = true;
    *keys = n.height ? 0 : n.count;
    for (uint64_t i = 0; i < n.table.count; i++)
        l->files[i].number = FILE_NOT_NEEDED;
    while (n.left) {
        if (!ocdbt_advance(l, &n, &item, &ascends))
            return error_memory(err);
        if (!ascends || l->key.len > OCDBT_KEY_BYTES ||
            (n.left + 1 == n.count && !begins_well(db, l)))
            return error_set(err, ERR_CORRUPT, at.name, at.offset,
                             "the keys of an OCDBT node are not in order");
        sound = sound && add_u64(*keys, item.elsewhere.keys, keys);
        if (!item.value.at && (n.height || item.elsewhere.length))
            l->files[item.elsewhere.file].number = FILE_NEEDED;
    }
    if (!sound)
        *keys = UINT64_MAX;
    return OK;
}

/* Give the needed files of a table their numbers. Their paths are relative to `base`. */
static enum status number_table(struct ocdbt *db, struct ocdbt_table t, struct bytes base,
                                struct table_file *files, struct ocdbt_place at, struct error *err)
{
    char full[PATH_MAX];
    struct ocdbt_path *path = &db->path;
    if (base.len)
        memcpy(full, base.at, base.len);
    for (uint64_t i = 0; i < t.count; i++) {
        ocdbt_table_next(&t, path);
        if (files[i].number != FILE_NEEDED)
            continue;
        size_t len = base.len + path->len;
        if (len < sizeof(full))
            memcpy(full + base.len, path->at, path->len);
        if (len >= sizeof(full) || !ocdbt_path_is_safe(full, len))
            return error_set(err, ERR_CORRUPT, at.name, at.offset,
                             "names a data file \"%.*s\" that is not below the database",
                             path->len < 200 ? (int)path->len : 200, path->at);
        if (ocdbt_number(&db->store, full, len, &files[i].number, err) != OK)
            return err->status;
        files[i].base = (uint32_t)(base.len + path->base);
        db->path_bytes += len;
    }
    return out_of_proportion(db, db->path_bytes, LIMIT_KEY_GROWTH)
               ? limit_hit(at, "more bytes of paths a byte", LIMIT_KEY_GROWTH, err)
               : OK;
}

/* Account for stored and decoded bytes. Reading the same bytes again
 * is allowed, but not without end. */
static enum status count_bytes(struct ocdbt *db, uint64_t read, uint64_t decoded,
                               struct ocdbt_place at, struct error *err)
{
    db->read += read;
    db->decoded += decoded;
    if (db->decoded > LIMIT_OCDBT_DECODED)
        return limit_hit(at, "more bytes of nodes", LIMIT_OCDBT_DECODED, err);
    if (db->read > LIMIT_OCDBT_AGAIN && db->read - LIMIT_OCDBT_AGAIN > db->store.there)
        return limit_hit(at, "more bytes that are read again", LIMIT_OCDBT_AGAIN, err);
    return OK;
}

/* The most bytes a node may decode to: all nodes held at a time share one limit. */
static uint64_t body_most(const struct ocdbt *db)
{
    uint64_t held = 0;
    for (unsigned i = 0; i < db->depth; i++)
        held += db->levels[i].body.len;
    uint64_t left = held < LIMIT_OCDBT_HELD ? LIMIT_OCDBT_HELD - held : 0;
    return left < db->node_most ? left : db->node_most;
}

static enum status parse_node(struct level *l, struct bytes body, unsigned height,
                              struct ocdbt_place at, struct error *err)
{
    const char *wrong = ocdbt_node_parse(body, height, &l->node);
    if (wrong)
        return error_set(err, ERR_CORRUPT, at.name, at.offset, "an OCDBT node is damaged: %s",
                         wrong);
    uint64_t count = l->node.table.count;
    if (count <= l->file_space)
        return OK;
    struct table_file *files = realloc(l->files, (size_t)count * sizeof(*files));
    if (!files)
        return error_memory(err);
    l->files = files;
    l->file_space = (size_t)count;
    return OK;
}

static enum status find_node(struct ocdbt *db, const struct place *p, struct source **out,
                             struct error *err)
{
    uint64_t end;
    struct source *s = NULL;
    enum status status = ocdbt_open_file(&db->store, p->file.number, &s, err);
    if (status != OK)
        return status;
    if (!add_u64(p->offset, p->length, &end) || end > s->size) {
        error_set(err, ERR_CORRUPT, s->name, s->size,
                  "an OCDBT node of %llu bytes at byte %llu ends past the end of its "
                  "file: cut short?",
                  (unsigned long long)p->length, (unsigned long long)p->offset);
        return error_code(err, "truncated");
    }
    *out = s;
    return OK;
}

/* Push a node as the innermost level. Its keys begin with the first `prefix`
 * bytes of the parent's current key. */
static enum status ocdbt_enter(struct ocdbt *db, const struct place *p, size_t prefix,
                               struct error *err)
{
    struct level *l = &db->levels[db->depth];
    struct source *s = NULL;
    struct bytes body = {0};
    uint64_t keys = 0;
    if (find_node(db, p, &s, err) != OK || !s)
        return err->status;
    if (++db->nodes > LIMIT_OCDBT_NODES)
        return limit_hit((struct ocdbt_place){s->name, p->offset}, "more nodes", LIMIT_OCDBT_NODES,
                         err);
    struct ocdbt_place at = {s->name, p->offset};
    struct bytes base = {(const uint8_t *)db->store.known[p->file.number].path, p->file.base};
    l->prefix = prefix;
    l->file = p->file.number;
    l->key.len = 0;
    if (prefix && !text_add(&l->key, l[-1].key.at, prefix))
        return error_memory(err);
    struct ocdbt_frame_at f = {s, p->offset, p->length, OCDBT_MAGIC_NODE, body_most(db)};
    if (ocdbt_read_frame(&db->store, &f, &l->body, &body, err) != OK ||
        count_bytes(db, p->length, body.len, at, err) != OK ||
        parse_node(l, body, p->height, at, err) != OK || check_node(db, l, &keys, at, err) != OK ||
        number_table(db, l->node.table, base, l->files, at, err) != OK)
        return err->status;
    if (keys != p->keys) {
        struct error odd = {.offset = NO_OFFSET};
        error_set(&odd, ERR_CORRUPT, at.name, at.offset,
                  "an OCDBT node has %llu entries below it where %llu should be",
                  (unsigned long long)keys, (unsigned long long)p->keys);
        db->store.files.report(db->store.files.context, true, &odd);
    }
    l->key.len = prefix;
    db->depth++;
    return OK;
}

/* --- opening ---------------------------------------------------------------------------- */

static void enter_root(struct ocdbt *db, const struct ocdbt_manifest_read *m, struct error *err)
{
    const struct ocdbt_reference *root = &m->is.root;
    size_t count = (size_t)m->is.table.count;
    struct table_file *files = count ? calloc(count, sizeof(*files)) : NULL;
    db->levels = calloc(m->is.height + 1, sizeof(*db->levels));
    if (!files || !db->levels) {
        free(files);
        error_memory(err);
        return;
    }
    db->level_count = m->is.height + 1;
    for (size_t i = 0; i < count; i++)
        files[i].number = i == root->file ? FILE_NEEDED : FILE_NOT_NEEDED;
    if (number_table(db, m->is.table, (struct bytes){0}, files, m->at, err) == OK)
        ocdbt_enter(db,
                    &(struct place){files[root->file], root->offset, root->length, root->keys,
                                    m->is.height},
                    0, err);
    free(files);
}

enum status ocdbt_open(const struct ocdbt_files *files, struct ocdbt **out, struct error *err)
{
    struct ocdbt_manifest_read m = {0};
    struct ocdbt *db = calloc(1, sizeof(*db));
    if (!db)
        return error_memory(err);
    db->store.files = *files;
    if (ocdbt_manifest_read(&db->store, &m, err) == OK) {
        uint64_t most = m.is.node_bytes * 2;
        most = most > LIMIT_OCDBT_SMALL ? most : LIMIT_OCDBT_SMALL;
        db->node_most = most < LIMIT_OCDBT_NODE ? most : LIMIT_OCDBT_NODE;
        if (!m.is.empty)
            enter_root(db, &m, err);
    }
    free(m.memory.at);
    if (err->status != OK)
        ocdbt_close(db);
    else
        *out = db;
    return err->status;
}

void ocdbt_close(struct ocdbt *db)
{
    if (!db)
        return;
    for (unsigned i = 0; i < db->level_count; i++) {
        free(db->levels[i].body.at);
        free(db->levels[i].files);
        text_release(&db->levels[i].key);
    }
    free(db->levels);
    free(db->value.at);
    text_release(&db->last);
    ocdbt_store_release(&db->store);
    free(db);
}

/* --- the walk --------------------------------------------------------------------------- */

/* Enter a node; if it cannot be read, report its entries as lost and go on with the others. */
static void enter_or_report(struct ocdbt *db, const struct place *p, size_t prefix,
                            struct error *err)
{
    const struct text *key = &db->levels[db->depth - 1].key;
    struct error lost = {.offset = NO_OFFSET};
    char what[256];
    if (ocdbt_enter(db, p, prefix, &lost) == OK)
        return;
    if (ocdbt_fatal(lost.status)) {
        *err = lost;
        return;
    }
    snprintf(what, sizeof(what), "the keys from \"%.*s\" on are lost",
             key->len < 200 ? (int)key->len : 200, text_tail(key, 0).at);
    error_prefix(&lost, what);
    db->store.files.report(db->store.files.context, false, &lost);
}

static void ocdbt_leave(struct ocdbt *db, struct level *l, struct error *err)
{
    if (l->node.height == 0) {
        db->last.len = 0;
        db->any = true;
        if (!text_add(&db->last, l->key.at, l->key.len))
            error_memory(err);
    }
    if (l->body.space > KEPT_BODY_BYTES) {
        free(l->body.at);
        l->body = (struct buffer){0};
    }
    db->depth--;
}

static enum status ocdbt_give(struct ocdbt *db, const struct level *l,
                              const struct ocdbt_item *item, struct ocdbt_entry *out,
                              struct error *err)
{
    static const uint8_t nothing[1];
    struct ocdbt_place at = {db->store.known[0].path, NO_OFFSET};
    db->key_bytes += l->key.len;
    if (++db->entries > LIMIT_OCDBT_ENTRIES)
        return limit_hit(at, "more entries", LIMIT_OCDBT_ENTRIES, err);
    if (out_of_proportion(db, db->key_bytes, LIMIT_OCDBT_GROWTH))
        return limit_hit(at, "more bytes of keys a byte", LIMIT_OCDBT_GROWTH, err);
    *out =
        (struct ocdbt_entry){.key = text_tail(&l->key, 0), .value = item->value, .file = l->file};
    if (item->value.at || !item->elsewhere.length) {
        out->value.at = item->value.len ? item->value.at : nothing;
        out->length = item->value.len;
        return OK;
    }
    out->file = l->files[item->elsewhere.file].number;
    out->offset = item->elsewhere.offset;
    out->length = item->elsewhere.length;
    return OK;
}

enum status ocdbt_next(struct ocdbt *db, struct ocdbt_entry *out, struct error *err)
{
    struct ocdbt_item item;
    bool ascends;
    *out = (struct ocdbt_entry){0};
    while (db->depth && err->status == OK) {
        struct level *l = &db->levels[db->depth - 1];
        if (!l->node.left) {
            ocdbt_leave(db, l, err);
            continue;
        }
        if (!ocdbt_advance(l, &l->node, &item, &ascends))
            return error_memory(err);
        if (l->node.height == 0)
            return ocdbt_give(db, l, &item, out, err);
        const struct ocdbt_reference *below = &item.elsewhere;
        struct place p = {l->files[below->file], below->offset, below->length, below->keys,
                          l->node.height - 1};
        enter_or_report(db, &p, l->prefix + item.common, err);
    }
    return err->status;
}

const char *ocdbt_file(const struct ocdbt *db, uint32_t file)
{
    return file < db->store.known_count ? db->store.known[file].path : NULL;
}

enum status ocdbt_value(struct ocdbt *db, const struct ocdbt_entry *e, uint64_t limit,
                        struct bytes *out, struct error *err)
{
    uint64_t end;
    struct source *s = NULL;
    if (e->length > limit)
        return error_set(err, ERR_LIMIT, db->store.known[e->file].path,
                         e->value.at ? NO_OFFSET : e->offset,
                         "a value of %llu bytes, the most is %llu", (unsigned long long)e->length,
                         (unsigned long long)limit);
    if (e->value.at) {
        *out = e->value;
        return OK;
    }
    if (ocdbt_open_file(&db->store, e->file, &s, err) != OK)
        return err->status;
    if (!add_u64(e->offset, e->length, &end) || end > s->size) {
        error_set(err, ERR_CORRUPT, s->name, s->size,
                  "a value of %llu bytes at byte %llu ends past the end of its file: cut short?",
                  (unsigned long long)e->length, (unsigned long long)e->offset);
        return error_code(err, "truncated");
    }
    struct ocdbt_place at = {s->name, e->offset};
    if (count_bytes(db, e->length, e->length, at, err) == OK &&
        !buffer_reserve(&db->value, (size_t)e->length))
        error_memory(err);
    if (err->status == OK && source_read(s, e->offset, db->value.at, (size_t)e->length, err) == OK)
        *out = (struct bytes){db->value.at, (size_t)e->length};
    return err->status;
}
