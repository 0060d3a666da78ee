#include "importer/format/flax_evidence.h"

#include "importer/format/flax_tree.h"

#define EVIDENCE_ARRAY    64
#define EVIDENCE_COMPLETE 24 /* good to the end of a short file */
#define EVIDENCE_KEYS     16 /* good as far as the head goes */

/* Entries that are still to come, keys counted for themselves. */
struct pending {
    uint64_t left;
    bool map;
};

static bool key_is_text(struct msgpack *m, const struct msgpack_item *key)
{
    char text[256];
    struct msgpack_item part = *key;
    if (key->type == MSGPACK_UNSIGNED || key->type == MSGPACK_NEGATIVE)
        return true;
    if (!msgpack_is_text(key))
        return false;
    part.len = part.len < sizeof(text) ? part.len : sizeof(text);
    if (!msgpack_read(m, &part, text))
        return m->cut;
    return part.len < key->len || utf8_valid(text, (size_t)part.len);
}

/* An extension must be one of Flax's. */
static int weigh_extension(struct msgpack *m, const struct msgpack_item *item)
{
    struct flax_array array;
    if (flax_is_array(item))
        return flax_array_read(m, item, &array) ? EVIDENCE_ARRAY
               : m->cut                         ? EVIDENCE_KEYS
                                                : 0;
    return item->kind == FLAX_EXTENSION_COMPLEX ? EVIDENCE_KEYS : 0;
}

/* A map, a list, or an array may be a file; a lone number may be anything. */
static bool may_be_root(struct bytes head)
{
    struct error err = {.offset = NO_OFFSET};
    struct msgpack_item root;
    struct msgpack m;
    msgpack_head(&m, head, UINT64_MAX, &err);
    return msgpack_next(&m, &root) &&
           (root.type == MSGPACK_MAP || root.type == MSGPACK_ARRAY ||
            flax_is_array(&root));
}

int flax_evidence(struct bytes head, uint64_t size)
{
    struct error err = {.offset = NO_OFFSET};
    struct pending levels[FLAX_DEPTH_MAX + 1] = {{.left = 1}};
    struct msgpack_item item;
    struct msgpack m;
    unsigned depth = 1;
    if (!may_be_root(head))
        return 0;
    msgpack_head(&m, head, size, &err);
    while (depth) {
        struct pending *l = &levels[depth - 1];
        if (l->left == 0) {
            depth--;
            continue;
        }
        bool is_key = l->map && l->left % 2 == 0;
        if (!msgpack_next(&m, &item))
            break;
        l->left--;
        if (is_key ? !key_is_text(&m, &item) : depth > FLAX_DEPTH_MAX)
            return 0;
        if (!is_key && item.type == MSGPACK_EXTENSION) {
            int bits = weigh_extension(&m, &item);
            if (bits != EVIDENCE_KEYS)
                return bits;
        } else if (!is_key && (item.type == MSGPACK_MAP || item.type == MSGPACK_ARRAY)) {
            bool map = item.type == MSGPACK_MAP;
            levels[depth++] = (struct pending){map ? 2 * item.count : item.count, map};
        }
    }
    if (err.status != OK)
        return 0;
    return m.cut ? EVIDENCE_KEYS : m.at == size ? EVIDENCE_COMPLETE : 0;
}
