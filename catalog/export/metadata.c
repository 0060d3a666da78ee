#include "catalog/export/metadata.h"

#include <stdlib.h>
#include <string.h>

void metadata_add(struct export_metadata *m, const char *key, const char *value,
                  enum metadata_kind kind)
{
    const struct metadata_pair pair = {arena_copy(m->arena, key, strlen(key)),
                                       arena_copy(m->arena, value, strlen(value)), kind, m->count};
    *PUSH(m->arena, m->list, m->count, m->space) = pair;
}

static int export_metadata_compare(const void *a, const void *b)
{
    const struct metadata_pair *p = a, *q = b;
    int order = strcmp(p->key, q->key);
    return order ? order : p->number < q->number ? -1 : p->number > q->number;
}

const char *const *metadata_pairs(struct export_metadata *m)
{
    const char **pairs = arena_array(m->arena, 2 * m->count + 1, sizeof(*pairs));
    size_t n = 0;
    if (!pairs)
        return NULL;
    if (m->count)
        qsort(m->list, m->count, sizeof(*m->list), export_metadata_compare);
    for (size_t i = 0; i < m->count; i++) {
        if (i + 1 < m->count && strcmp(m->list[i].key, m->list[i + 1].key) == 0)
            continue;
        pairs[n++] = m->list[i].key;
        pairs[n++] = m->list[i].value;
    }
    return pairs;
}
