/* torch_legacy.c - see torch_legacy.h for the layout. Source: torch/serialization.py. */
#include "importer/format/torch/torch_legacy.h"

#include <string.h>

#define MAGIC "119547037146038801333356" /* 0x1950a86a20f9469cfc6c */

static const uint8_t magic[] = {0x8a, 0x0a, 0x6c, 0xfc, 0x9c, 0x46,
                                0xf9, 0x20, 0x6a, 0xa8, 0x50, 0x19};

/* The opcode PROTO, perhaps a FRAME, then the magic number. */
bool torch_legacy_magic(struct bytes head)
{
    size_t at = 2;
    if (head.len < 2 || head.at[0] != 0x80 || head.at[1] > 5)
        return false;
    if (head.len > at && head.at[at] == 0x95)
        at += 9;
    return head.len >= at + sizeof(magic) && memcmp(head.at + at, magic, sizeof(magic)) == 0;
}

static void torch_legacy_refuse(struct torch_tree *t, struct error *err, uint64_t offset,
                                const char *what)
{
    error_set(err, ERR_CORRUPT, t->path ? t->path : t->job->path, offset, "%s", what);
    error_code(err, "bad-torch");
}

/* Read the next pickle, and move *at to its end. */
static enum status next_pickle(struct torch_tree *t, uint64_t *at, struct pickle *p,
                               struct error *err)
{
    enum status status = torch_run_pickle(t, *at, t->run.offset, p, err);
    *at = p->end;
    return status;
}

static void read_preamble(struct torch_tree *t, uint64_t *at, struct error *err)
{
    for (unsigned i = 0; i < 3 && err->status == OK; i++) {
        struct pickle p;
        uint64_t begin = *at, version = 0;
        if (next_pickle(t, at, &p, err) != OK)
            return;
        const struct pickle_node *n = pickle_at(&p, p.root);
        if (i == 0 && !(n->kind == PICKLE_BIGINT && strcmp(n->text, MAGIC) == 0))
            torch_legacy_refuse(t, err, begin, "not the magic number of torch.save");
        else if (i == 1 && !(torch_number(&p, p.root, &version) && version == 1001))
            torch_legacy_refuse(t, err, begin, "not the protocol version 1001 of torch.save");
    }
}

/* Learn from all persistent ids the dtype of each storage's elements. */
static void learn_storages(struct torch_tree *t, struct torch_legacy *l, struct error *err)
{
    const struct pickle *p = t->pickle;
    for (pickle_ref ref = 1; ref < p->node_count && err->status == OK && t->job->err->status == OK;
         ref++) {
        struct torch_key key;
        struct error ignored = {.offset = NO_OFFSET};
        bool added;
        if (pickle_kind(p, ref) != PICKLE_PERSID || !torch_key_read(t, ref, &key, &ignored))
            continue;
        uint64_t *at = strmap_add(&l->keys, key.key, key.len, &added);
        if (added) {
            *at = l->count;
            *PUSH(t->arena, l->storages, l->count, l->space) = (struct torch_legacy_storage){
                key.key, key.len, key.dtype, torch_element_bytes(key.dtype), NO_OFFSET, 0};
        } else if (l->storages[*at].dtype != key.dtype) {
            torch_legacy_refuse(t, err, t->run.offset,
                                "a storage has elements of two kinds: where the next one "
                                "begins cannot be known");
        }
    }
}

/* Locate each storage of the list, one after another. An error ends it, as the next storage
 * cannot be found then: l->broken. */
static void torch_legacy_locate(struct torch_tree *t, struct torch_legacy *l,
                                const struct pickle *keys)
{
    const struct pickle_node *list = pickle_at(keys, keys->root);
    uint64_t at = l->end;
    if (list->kind != PICKLE_LIST) {
        torch_legacy_refuse(t, &l->broken, at, "no list of storages follows the object");
        return;
    }
    for (uint32_t i = 0; i < list->count; i++) {
        uint8_t head[8];
        uint64_t bytes;
        const struct pickle_node *key = pickle_at(keys, list->items[i]);
        const uint64_t *known =
            key->kind == PICKLE_TEXT ? strmap_get(&l->keys, key->text, key->count) : NULL;
        struct torch_legacy_storage *s = known ? &l->storages[*known] : NULL;
        if (!s || s->offset != NO_OFFSET) {
            torch_legacy_refuse(t, &l->broken, at,
                                s ? "a storage occurs twice in the list of storages"
                                  : "the list of storages names one that nothing uses");
            return;
        }
        if (t->source->size < at || t->source->size - at < sizeof(head) ||
            source_read(t->source, at, head, sizeof(head), &l->broken) != OK) {
            error_set(&l->broken, ERR_CORRUPT, t->path ? t->path : t->job->path, t->source->size,
                      "the file ends before its storages do");
            error_code(&l->broken, "truncated");
            return;
        }
        s->count = load_u64le(head);
        s->offset = at + sizeof(head);
        if (s->count > INT64_MAX || !mul_u64(s->count, s->bytes, &bytes) ||
            !add_u64(s->offset, bytes, &at)) {
            s->offset = NO_OFFSET;
            torch_legacy_refuse(t, &l->broken, at, "a storage of an impossible size");
            return;
        }
        l->end = at;
    }
}

bool torch_legacy_find(struct torch_tree *t, const struct torch_key *key, struct torch_run *out,
                       struct error *err)
{
    const struct torch_legacy *l = t->container;
    const uint64_t *at = strmap_get(&l->keys, key->key, key->len);
    const struct torch_legacy_storage *s = at ? &l->storages[*at] : NULL;
    if (s && s->offset == NO_OFFSET && l->cut && key->bytes <= INT64_MAX) {
        *out = (struct torch_run){.file = t->run.file,
                                  .offset = t->source->size,
                                  .stored = key->bytes,
                                  .size = key->bytes};
        return true;
    }
    if (!s || s->offset == NO_OFFSET)
        return torch_fail(t, err, "missing-storage", "its storage \"%.40s\" is not there",
                          key->key);
    if (s->count != (key->dtype ? key->numel : key->bytes))
        return torch_fail(t, err, "bad-storage",
                          "its storage \"%.40s\" should have %llu elements and has %llu", key->key,
                          (unsigned long long)key->numel, (unsigned long long)s->count);
    *out = (struct torch_run){.file = t->run.file,
                              .offset = t->run.offset + s->offset,
                              .stored = s->count * s->bytes,
                              .size = s->count * s->bytes};
    return true;
}

bool torch_legacy_read(struct torch_tree *t, uint64_t offset, struct torch_legacy *out,
                       struct error *err)
{
    struct pickle keys = {0};
    *out = (struct torch_legacy){
        .keys.err = t->job->err, .broken = {.offset = NO_OFFSET}, .end = offset};
    t->pickle = &out->object;
    t->find = torch_legacy_find;
    t->container = out;
    read_preamble(t, &out->end, err);
    if (err->status != OK)
        return false;
    next_pickle(t, &out->end, &out->object, err);
    if (err->status == OK)
        learn_storages(t, out, err);
    if (err->status != OK || t->job->err->status != OK)
        return false;
    if (next_pickle(t, &out->end, &keys, &out->broken) == OK)
        torch_legacy_locate(t, out, &keys);
    return true;
}
