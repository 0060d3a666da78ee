#include "catalog/data/store/remote/kind.h"

#include <string.h>

static const struct remote_kind *const kinds[] = {&remote_http, &remote_https, NULL};

const struct remote_kind *kind_named(const char *path)
{
    size_t i = 0;
    while (kinds[i] && strncmp(path, kinds[i]->scheme, strlen(kinds[i]->scheme)) != 0)
        i++;
    return kinds[i];
}

size_t kind_root(const struct remote_kind *kind, const char *path)
{
    size_t at = strlen(kind->scheme);
    for (unsigned i = 0; i < kind->root; i++) {
        at += strcspn(path + at, "/");
        if (i + 1 < kind->root && path[at])
            at++;
    }
    return at;
}

void remote_add(struct remote_folder *f, const char *name, size_t len, struct remote_entry e)
{
    bool bad = !len || len > 1024 || memchr(name, '/', len) || memchr(name, '\0', len) ||
               (name[0] == '.' && (len == 1 || (len == 2 && name[1] == '.')));
    for (size_t i = 0; i < len; i++)
        bad |= (unsigned char)name[i] < 0x20 || name[i] == 0x7f;
    if (bad) {
        error_set(f->arena.err, ERR_CORRUPT, f->path, NO_OFFSET,
                  "the server lists \"%.*s\", which is not the name of a file",
                  (int)(len < 200 ? len : 200), name);
        return;
    }
    e.name = arena_copy(&f->arena, name, len);
    e.tag = arena_copy(&f->arena, e.tag, strlen(e.tag));
    *PUSH(&f->arena, f->entries, f->count, f->space) = e;
}
