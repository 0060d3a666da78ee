/*
 * torch_parts.c - what calls that rebuild tensors have as arguments: numbers, sizes, the keys of
 * storages.
 */
#include <stdarg.h>
#include <stdio.h>

#include "importer/format/torch/torch.h"

bool torch_fail(struct torch_tree *t, struct error *err, const char *code, const char *fmt, ...)
{
    char what[256];
    va_list args;
    va_start(args, fmt);
    vsnprintf(what, sizeof(what), fmt, args);
    va_end(args);
    error_set(err, ERR_CORRUPT, t->path ? t->path : t->job->path, NO_OFFSET, "%s", what);
    error_code(err, code);
    return false;
}

bool torch_number(const struct pickle *p, pickle_ref ref, uint64_t *out)
{
    const struct pickle_node *n = pickle_at(p, ref);
    if (n->kind != PICKLE_INT || n->integer < 0)
        return false;
    *out = (uint64_t)n->integer;
    return true;
}

bool torch_numbers(const struct pickle *p, pickle_ref ref, uint64_t *out, unsigned *count)
{
    const struct pickle_node *n = pickle_at(p, ref);
    if (torch_callee(p, ref) == TORCH_SEQUENCE) {
        ref = pickle_item(p, n->call->args, 0);
        n = pickle_at(p, ref);
    }
    if ((n->kind != PICKLE_TUPLE && n->kind != PICKLE_LIST) || n->count > TENSOR_RANK_MAX)
        return false;
    for (uint32_t i = 0; i < n->count; i++)
        if (!torch_number(p, n->items[i], &out[i]))
            return false;
    *count = n->count;
    return true;
}

unsigned torch_element_bytes(const char *dtype)
{
    struct dtype found = {.block_bytes = 1};
    if (dtype)
        dtype_find(dtype, &found);
    return found.block_bytes;
}

/* ('storage', class, key, location, number of elements [, (view key, offset, size)]) */
bool torch_key_read(struct torch_tree *t, pickle_ref persid, struct torch_key *key,
                    struct error *err)
{
    const struct pickle *p = t->pickle;
    pickle_ref id = pickle_item(p, persid, 0);
    pickle_ref name = pickle_item(p, id, 2), location = pickle_item(p, id, 3);
    const struct pickle_node *n = pickle_at(p, name);
    *key = (struct torch_key){.node = persid};
    if (pickle_kind(p, id) != PICKLE_TUPLE ||
        !pickle_is_text(p, pickle_item(p, id, 0), "storage") ||
        torch_meaning_of(p, pickle_item(p, id, 1)) != TORCH_STORAGE || n->kind != PICKLE_TEXT ||
        pickle_kind(p, location) != PICKLE_TEXT ||
        !torch_number(p, pickle_item(p, id, 4), &key->numel))
        return torch_fail(t, err, "bad-storage", "its persistent id does not name a storage");
    key->key = n->text;
    key->len = n->count;
    key->location = pickle_at(p, location)->text;
    key->dtype = torch_dtype_of(p, pickle_item(p, id, 1));
    key->bytes = key->numel;
    if (key->dtype && (!mul_u64(key->numel, torch_element_bytes(key->dtype), &key->bytes) ||
                       key->bytes > INT64_MAX))
        return torch_fail(t, err, "bad-storage", "its storage of %llu elements is too large",
                          (unsigned long long)key->numel);
    return true;
}
