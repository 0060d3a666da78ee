/* piece.c - see piece.h. */
#include "catalog/maps/optimizer/piece.h"

#include <string.h>

bool piece_is(struct piece p, const char *word)
{
    return piece_same(p, (struct piece){word, strlen(word)});
}

bool piece_same(struct piece a, struct piece b)
{
    return a.len == b.len && (!a.len || memcmp(a.at, b.at, a.len) == 0);
}

bool piece_is_number(struct piece p)
{
    for (size_t i = 0; i < p.len; i++)
        if (p.at[i] < '0' || p.at[i] > '9')
            return false;
    return p.len > 0;
}

bool piece_is_slot(struct piece p, const struct optimizer_tables *t, const char *scope)
{
    for (size_t i = 0; i < t->slots; i++)
        if ((!scope || strcmp(t->slot[i].scope, scope) == 0) && piece_is(p, t->slot[i].slot))
            return true;
    return false;
}

struct piece piece_first(struct piece path)
{
    const char *slash = path.len ? memchr(path.at, '/', path.len) : NULL;
    return (struct piece){path.at, slash ? (size_t)(slash - path.at) : path.len};
}

struct piece piece_after(struct piece path, struct piece first)
{
    const size_t skip = first.len + (first.len < path.len);
    return (struct piece){path.at + skip, path.len - skip};
}

struct piece piece_below(struct piece name, struct piece folder)
{
    if (name.len <= folder.len || memcmp(name.at, folder.at, folder.len) != 0 ||
        name.at[folder.len] != '/')
        return (struct piece){NULL, 0};
    return (struct piece){name.at + folder.len + 1, name.len - folder.len - 1};
}
