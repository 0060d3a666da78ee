/*
 * torch_tar.c - torch.save before 0.2: a tar of
 *
 *   storages   a pickled count; for each a pickled (key, location, class), i64 number of
 *              elements and the elements; a pickled list of views (target, root, offset, count)
 *   tensors    a pickled count; for each a pickled (key, key of its storage, class), i32 rank,
 *              4 bytes, i64 sizes, i64 strides, i64 offset; may be missing
 *   pickle     the object; persistent ids are keys of storages or tensors, or tuples that begin
 *              with such a key
 *   sys_info   the machine that wrote it
 *
 * All numbers are little-endian.
 *
 * Source: torch/serialization.py (_legacy_load, legacy_load).
 */
#include <stdio.h>
#include <string.h>

#include "importer/format/torch/torch_file.h"

#define BLOCK       512
#define ENTRIES_MAX 64 /* torch writes 4 */
#define TORCH_RANK  64

struct tar_storage {
    struct torch_run run;
    const char *dtype;
    uint64_t count;
};

struct tar_tensor {
    uint64_t storage; /* position */
    unsigned rank;
    uint64_t *shape, offset;
    int64_t *strides;
};

struct member {
    uint64_t at, size; /* size 0: it is missing or empty */
};

struct tar {
    struct torch_tree *t;
    const struct source *source;
    struct member storages_in, tensors_in, pickle_in;
    struct strmap storage_keys, tensor_keys; /* key -> position */
    struct tar_storage *storages;
    struct tar_tensor *tensors;
    size_t storage_count, storage_space, tensor_count, tensor_space;
    struct error *err;
};

static const char *const names[] = {"sys_info", "storages", "tensors", "pickle"};

/* The position in `names` of a header's name, which "./" may precede; -1: another name. */
static int member_of(const uint8_t *header)
{
    const char *name = (const char *)header;
    if (strncmp(name, "./", 2) == 0)
        name += 2;
    for (int i = 0; i < 4; i++)
        if (strncmp(name, names[i], 90) == 0)
            return i;
    return -1;
}

bool torch_tar_magic(struct bytes head)
{
    return head.len >= BLOCK && memcmp(head.at + 257, "ustar", 5) == 0 && member_of(head.at) >= 0;
}

static bool torch_tar_fail(struct tar *tar, uint64_t at, const char *what)
{
    error_set(tar->err, ERR_CORRUPT, tar->source->name, at, "bad tar: %s", what);
    error_code(tar->err, "bad-torch");
    return false;
}

/* Read a size in octal digits; torch writes no other form, such as base 256. */
static bool torch_tar_read_size(const uint8_t *header, uint64_t *size)
{
    *size = 0;
    for (int i = 124; i < 136 && header[i] && header[i] != ' '; i++) {
        if (header[i] < '0' || header[i] > '7')
            return false;
        *size = *size << 3 | (uint64_t)(header[i] - '0');
    }
    return true;
}

static bool read_directory(struct tar *tar)
{
    struct member *const members[] = {NULL, &tar->storages_in, &tar->tensors_in, &tar->pickle_in};
    uint64_t at = 0, size;
    for (unsigned i = 0; i < ENTRIES_MAX && tar->source->size - at >= BLOCK; i++) {
        uint8_t header[BLOCK];
        if (source_read(tar->source, at, header, BLOCK, tar->err) != OK)
            return false;
        if (!header[0])
            break;
        if (!torch_tar_read_size(header, &size) || size > tar->source->size - at - BLOCK)
            return torch_tar_fail(tar, at, "a member ends past the end of the file");
        int which = member_of(header);
        if (which > 0) {
            if (members[which]->size)
                return torch_tar_fail(tar, at, "a member occurs twice");
            *members[which] = (struct member){at + BLOCK, size};
        }
        at += BLOCK + (size + BLOCK - 1) / BLOCK * BLOCK;
        if (at > tar->source->size)
            break;
    }
    return (tar->pickle_in.size && tar->storages_in.size) ||
           torch_tar_fail(tar, 0, "no members \"pickle\" and \"storages\"");
}

/* A key, which is a number or a text, as text. Of a tuple the first item is the key. */
static bool key_text(const struct pickle *p, pickle_ref ref, char *out, size_t room)
{
    const struct pickle_node *n = pickle_at(p, ref);
    if (n->kind == PICKLE_TUPLE)
        return pickle_kind(p, pickle_item(p, ref, 0)) != PICKLE_TUPLE &&
               key_text(p, pickle_item(p, ref, 0), out, room);
    if (n->kind == PICKLE_INT)
        return snprintf(out, room, "%lld", (long long)n->integer) < (int)room;
    if (n->kind != PICKLE_TEXT && n->kind != PICKLE_BIGINT)
        return false;
    return snprintf(out, room, "%.*s", (int)(n->count < room ? n->count : room), n->text) <
           (int)room;
}

/* Read the next pickle of the member, and move *at to its end. */
static bool next_pickle(struct tar *tar, const struct source *s, uint64_t base, uint64_t *at,
                        struct pickle *p)
{
    struct torch_tree beside = {
        .job = tar->t->job, .arena = tar->t->arena, .path = tar->t->path, .source = s};
    torch_run_pickle(&beside, *at, base, p, tar->err);
    torch_tree_release(&beside);
    *at = p->end;
    return tar->err->status == OK;
}

/* Reads what comes next in the source of a member, and moves *at to its end. */
typedef bool tar_reader(struct tar *, const struct source *, uint64_t *at);

/* Read a member: a count, as many entries, and, unless it ends there, the rest. */
static bool read_tar_member(struct tar *tar, const struct member *in, tar_reader *entry,
                            tar_reader *rest)
{
    struct source *s = NULL;
    struct pickle p;
    uint64_t at = 0, count = 0;
    bool ok = source_open_view(tar->source, in->at, in->size, &s, tar->err) == OK &&
              next_pickle(tar, s, in->at, &at, &p) &&
              (torch_number(&p, p.root, &count) ||
               torch_tar_fail(tar, in->at, "a count is not a number"));
    for (uint64_t i = 0; ok && i < count; i++)
        ok = entry(tar, s, &at);
    ok = ok && (!rest || at == s->size || rest(tar, s, &at));
    source_close(s);
    return ok;
}

/* The position of the key that an id begins with; NULL: it is not there. */
static const uint64_t *find_named(const struct strmap *keys, const struct pickle *p, pickle_ref id)
{
    char key[64];
    return key_text(p, id, key, sizeof(key)) ? strmap_get(keys, key, strlen(key)) : NULL;
}

/* --- storages --------------------------------------------------------------------------- */

static bool add_storage(struct tar *tar, const char *key, const struct tar_storage *new)
{
    bool added;
    const char *kept;
    uint64_t *at = strmap_keep(&tar->storage_keys, tar->t->arena, key, strlen(key), &kept, &added);
    if (!added)
        return torch_tar_fail(tar, tar->storages_in.at, "a storage occurs twice");
    *at = tar->storage_count;
    *PUSH(tar->t->arena, tar->storages, tar->storage_count, tar->storage_space) = *new;
    return tar->t->job->err->status == OK;
}

static bool read_storage(struct tar *tar, const struct source *s, uint64_t *at)
{
    struct pickle p;
    struct tar_storage new = {.run = {.file = tar->t->run.file}};
    char key[64];
    uint8_t head[8];
    uint64_t bytes;
    bool ok = next_pickle(tar, s, tar->storages_in.at, at, &p) &&
              ((key_text(&p, pickle_item(&p, p.root, 0), key, sizeof(key)) &&
                torch_meaning_of(&p, pickle_item(&p, p.root, 2)) == TORCH_STORAGE) ||
               torch_tar_fail(tar, tar->storages_in.at, "a storage without key and class"));
    if (ok)
        new.dtype = torch_dtype_of(&p, pickle_item(&p, p.root, 2));
    if (!ok || source_read(s, *at, head, sizeof(head), tar->err) != OK)
        return false;
    new.count = load_u64le(head);
    *at += sizeof(head);
    if (!mul_u64(new.count, torch_element_bytes(new.dtype), &bytes) || bytes > s->size - *at)
        return torch_tar_fail(tar, tar->storages_in.at + *at, "a storage is cut short");
    new.run.offset = tar->storages_in.at + *at;
    new.run.stored = new.run.size = bytes;
    *at += bytes;
    return add_storage(tar, key, &new);
}

/* Read the views, (target, root, offset, count): storages that are part of others. */
static bool read_views(struct tar *tar, const struct source *s, uint64_t *at)
{
    struct pickle p;
    char key[64];
    pickle_ref view;
    bool ok = next_pickle(tar, s, tar->storages_in.at, at, &p);
    for (uint32_t i = 0; ok && (view = pickle_item(&p, p.root, i)); i++) {
        uint64_t offset, count, end;
        const uint64_t *found = find_named(&tar->storage_keys, &p, pickle_item(&p, view, 1));
        if (!key_text(&p, pickle_item(&p, view, 0), key, sizeof(key)) || !found ||
            !torch_number(&p, pickle_item(&p, view, 2), &offset) ||
            !torch_number(&p, pickle_item(&p, view, 3), &count) || !add_u64(offset, count, &end) ||
            end > tar->storages[*found].count) {
            ok = torch_tar_fail(tar, tar->storages_in.at, "a view of a storage reaches past it");
            break;
        }
        struct tar_storage new = tar->storages[*found];
        const unsigned width = torch_element_bytes(new.dtype);
        new.count = count;
        new.run.offset += offset *width;
        new.run.stored = new.run.size = count *width;
        ok = add_storage(tar, key, &new);
    }
    return ok;
}

/* --- tensors ---------------------------------------------------------------------------- */

static bool read_numbers(struct tar *tar, const struct source *s, uint64_t *at,
                         struct tar_tensor *x)
{
    uint8_t head[8], raw[(2 * TORCH_RANK + 1) * 8];
    if (source_read(s, *at, head, sizeof(head), tar->err) != OK)
        return false;
    x->rank = load_u32le(head);
    if (x->rank > TORCH_RANK)
        return torch_tar_fail(tar, tar->tensors_in.at + *at, "a tensor of more than 64 dimensions");
    size_t len = (2 * (size_t)x->rank + 1) * 8;
    *at += sizeof(head);
    if (source_read(s, *at, raw, len, tar->err) != OK)
        return false;
    *at += len;
    x->shape = arena_array(tar->t->arena, x->rank + 1u, sizeof(*x->shape));
    x->strides = arena_array(tar->t->arena, x->rank + 1u, sizeof(*x->strides));
    if (!x->shape || !x->strides)
        return false;
    for (unsigned d = 0; d < x->rank; d++) {
        x->shape[d] = load_u64le(raw + 8 * (size_t)d);
        uint64_t stride = load_u64le(raw + 8 * ((size_t)x->rank + d));
        if (x->shape[d] > INT64_MAX || stride > INT64_MAX)
            return torch_tar_fail(tar, tar->tensors_in.at + *at, "a negative size or stride");
        x->strides[d] = (int64_t)stride;
    }
    x->offset = load_u64le(raw + len - 8);
    return true;
}

static bool torch_tar_read_tensor(struct tar *tar, const struct source *s, uint64_t *at)
{
    struct pickle p;
    struct tar_tensor new = {0};
    char key[64], storage[64];
    bool added;
    const char *kept;
    bool ok = next_pickle(tar, s, tar->tensors_in.at, at, &p) &&
              ((key_text(&p, pickle_item(&p, p.root, 0), key, sizeof(key)) &&
                key_text(&p, pickle_item(&p, p.root, 1), storage, sizeof(storage))) ||
               torch_tar_fail(tar, tar->tensors_in.at, "a tensor without its keys"));
    if (!ok || !read_numbers(tar, s, at, &new))
        return false;
    const uint64_t *in = strmap_get(&tar->storage_keys, storage, strlen(storage));
    if (!in)
        return torch_tar_fail(tar, tar->tensors_in.at + *at,
                              "a tensor of a storage that is not there");
    new.storage = *in;
    *strmap_keep(&tar->tensor_keys, tar->t->arena, key, strlen(key), &kept, &added) =
        tar->tensor_count;
    *PUSH(tar->t->arena, tar->tensors, tar->tensor_count, tar->tensor_space) = new;
    return tar->t->job->err->status == OK;
}

/* --- the object ------------------------------------------------------------------------- */

/* Find a storage by its persistent id. */
static bool find_key(struct torch_tree *t, pickle_ref persid, struct torch_key *key,
                     struct torch_run *run, struct error *err)
{
    const struct tar *tar = t->container;
    const uint64_t *at =
        find_named(&tar->storage_keys, t->pickle, pickle_item(t->pickle, persid, 0));
    if (!at)
        return torch_fail(t, err, "missing-storage", "its storage is not in the archive");
    const struct tar_storage *s = &tar->storages[*at];
    *key =
        (struct torch_key){.key = "", .dtype = s->dtype, .numel = s->count, .bytes = s->run.size};
    *run = s->run;
    return true;
}

static bool read_id(struct torch_tree *t, pickle_ref persid, struct torch_tensor *out,
                    struct error *err)
{
    const struct tar *tar = t->container;
    const uint64_t *at =
        find_named(&tar->tensor_keys, t->pickle, pickle_item(t->pickle, persid, 0));
    if (!at)
        return torch_fail(t, err, "bad-tensor", "its persistent id names no tensor");
    const struct tar_tensor *x = &tar->tensors[*at];
    const struct tar_storage *s = &tar->storages[x->storage];
    out->dtype = s->dtype ? s->dtype : "uint8";
    out->rank = x->rank;
    memcpy(out->shape, x->shape, x->rank * sizeof(*x->shape));
    memcpy(out->strides, x->strides, x->rank * sizeof(*x->strides));
    out->offset = x->offset;
    out->run = s->run;
    out->bound = s->run.size;
    out->known = true;
    return true;
}

void torch_tar_state(struct torch_tree *t, const struct source *s, struct error *err)
{
    struct tar tar = {.t = t,
                      .source = s,
                      .storage_keys.err = t->job->err,
                      .tensor_keys.err = t->job->err,
                      .err = err};
    struct pickle pickle = {0};
    struct source *member = NULL;
    if (read_directory(&tar) && read_tar_member(&tar, &tar.storages_in, read_storage, read_views) &&
        (!tar.tensors_in.size ||
         read_tar_member(&tar, &tar.tensors_in, torch_tar_read_tensor, NULL)) &&
        source_open_view(s, tar.pickle_in.at, tar.pickle_in.size, &member, err) == OK) {
        t->member = "pickle";
        t->pickle = &pickle;
        t->source = member;
        t->run.offset = tar.pickle_in.at;
        t->container = &tar;
        t->find_key = find_key;
        t->read_id = read_id;
        torch_run_pickle(t, 0, tar.pickle_in.at, &pickle, err);
        for (pickle_ref ref = 1; ref < pickle.node_count && err->status == OK; ref++)
            if (pickle_kind(&pickle, ref) == PICKLE_PERSID &&
                find_named(&tar.tensor_keys, &pickle, pickle_item(&pickle, ref, 0)))
                pickle_at(&pickle, ref)->flags |= TORCH_IS_TENSOR;
        if (err->status == OK)
            torch_tree_state(t);
    }
    source_close(member);
    strmap_release(&tar.storage_keys);
    strmap_release(&tar.tensor_keys);
}
