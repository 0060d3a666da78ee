#include "importer/container/flax_tree.h"

#define EVIDENCE_ARRAY    64
#define EVIDENCE_COMPLETE 24 /* valid to the end of a short file */
#define EVIDENCE_KEYS     16 /* valid to the end of the head */

struct weighing {
    struct msgpack m;
    struct error err;
    struct {
        uint64_t left; /* entries not yet read */
        bool map;
    } levels[NAME_TREE_DEPTH];
    unsigned depth;
    bool array;   /* an array was found, which is proof enough */
    bool refused; /* it is msgpack, but not as Flax writes it */
};

static bool flax_evidence_refuse(struct weighing *w)
{
    w->refused = true;
    return false;
}

/* Accept a key that is an integer or UTF-8; texts over 256 bytes are not checked. */
static bool weigh_key(struct weighing *w)
{
    char text[256];
    struct msgpack_item key;
    if (!msgpack_next(&w->m, &key))
        return false;
    if (key.type == MSGPACK_UNSIGNED || key.type == MSGPACK_NEGATIVE)
        return true;
    if (!msgpack_is_text(&key))
        return flax_evidence_refuse(w);
    if (key.len > sizeof(text))
        return true;
    if (!msgpack_read(&w->m, &key, text))
        return false;
    return utf8_valid(text, (size_t)key.len) || flax_evidence_refuse(w);
}

static bool weigh_value(struct weighing *w)
{
    struct msgpack_item item;
    if (!msgpack_next(&w->m, &item))
        return false;
    bool map = item.type == MSGPACK_MAP;
    if (item.type == MSGPACK_EXTENSION) {
        struct flax_array array;
        if (item.kind == FLAX_EXTENSION_COMPLEX)
            return true;
        if (!flax_is_array(&item))
            return flax_evidence_refuse(w);
        w->array = flax_array_read(&w->m, &item, &array);
        return w->array;
    }
    if (!map && item.type != MSGPACK_ARRAY) /* a lone number may be anything */
        return w->depth > 0 || flax_evidence_refuse(w);
    if (w->depth == NAME_TREE_DEPTH)
        return flax_evidence_refuse(w);
    w->levels[w->depth].left = item.count;
    w->levels[w->depth++].map = map;
    return true;
}

int flax_evidence(struct bytes head, uint64_t size)
{
    struct weighing w = {.err.offset = NO_OFFSET};
    msgpack_head(&w.m, head, size, &w.err);
    bool ok = weigh_value(&w);
    while (ok && w.depth && !w.array) {
        unsigned d = w.depth - 1;
        if (w.levels[d].left == 0) {
            w.depth--;
            continue;
        }
        w.levels[d].left--;
        ok = (!w.levels[d].map || weigh_key(&w)) && weigh_value(&w);
    }
    if (w.array)
        return EVIDENCE_ARRAY;
    if (w.refused || w.err.status != OK)
        return 0;
    return w.m.cut ? EVIDENCE_KEYS : w.m.at == size ? EVIDENCE_COMPLETE : 0;
}
