/*
 * torch_embedded.c - storages in byte strings: torch.storage._load_from_bytes(BYTES) is a storage that was
 * not pickled by torch.save. BYTES is a complete legacy file of one storage.
 */
#include "importer/format/torch/torch_legacy.h"

struct torch_embedded {
    struct torch_key key;
    struct torch_run run;
};

/* Whether a storage lies in the byte string: a legacy file states its number of elements. */
static bool is_whole(struct torch_tree *t, const struct torch_legacy *legacy,
                     const struct torch_key *key, const struct torch_run *where, uint64_t size,
                     struct error *err)
{
    if (legacy->broken.status != OK) {
        *err = legacy->broken;
        return false;
    }
    return (key->bytes <= where->size && where->offset <= size &&
            key->bytes <= size - where->offset) ||
           torch_fail(t, err, "truncated", "its storage is cut short");
}

/* Find the only storage of the legacy file in a byte string. */
static bool torch_embedded_load(struct torch_tree *t, pickle_ref bytes, struct torch_embedded *out,
                                struct error *err)
{
    struct source *source = NULL;
    struct torch_run all = {0};
    struct torch_legacy legacy;
    struct torch_run where;
    if (!torch_bytes_run(t, bytes, &all, err) || !torch_bytes_source(t, bytes, &source, err) ||
        !source)
        return false;
    struct torch_tree inner = {
        .job = t->job, .arena = t->arena, .path = t->path, .source = source, .told = true};
    bool ok = torch_legacy_read(&inner, 0, &legacy, err) &&
              torch_key_read(&inner, legacy.object.root, &out->key, err) &&
              torch_legacy_find(&inner, &out->key, &where, err) &&
              is_whole(t, &legacy, &out->key, &where, source->size, err) &&
              torch_bytes_part(t, &all, where.offset, out->key.bytes, &out->run, err);
    /* The node belongs to the inner pickle, which is released. */
    out->key.node = 0;
    strmap_release(&legacy.keys);
    source_close(source);
    return ok;
}

bool torch_embedded(struct torch_tree *t, pickle_ref call, struct torch_key *key,
                    struct torch_run *run, struct error *err)
{
    bool added;
    const char *kept;
    t->embedded.err = t->job->err;
    uint64_t *at =
        strmap_keep(&t->embedded, t->arena, (const char *)&call, sizeof(call), &kept, &added);
    if (added) {
        pickle_ref bytes = pickle_item(t->pickle, pickle_at(t->pickle, call)->call->args, 0);
        struct torch_embedded new = {.run = {.lost = true}};
        const bool loaded = torch_embedded_load(t, bytes, &new, err);
        new.run.lost |= !loaded; /* other tensors that share it are not reported */
        *at = t->load_count;
        *PUSH(t->arena, t->loads, t->load_count, t->load_space) = new;
        if (!loaded)
            return false;
    }
    if (t->job->err->status != OK)
        return false;
    *key = t->loads[*at].key;
    *run = t->loads[*at].run;
    return true;
}
