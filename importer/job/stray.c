#include "importer/job/stray.h"

#include <string.h>
#include <strings.h>

#define POINTER_BYTES 1024 /* git-lfs pointers are never larger, by their specification */

static bool starts(const struct probe *p, const char *text)
{
    size_t len = strlen(text);
    return p->head.len >= len && strncasecmp((const char *)p->head.at, text, len) == 0;
}

const char *stray_kind(const struct probe *p)
{
    if (p->size == 0)
        return "empty-file";
    if (starts(p, "version https://git-lfs.github.com/"))
        return "git-lfs-pointer";
    if (starts(p, "<!doctype html") || starts(p, "<html"))
        return "html-page";
    if (starts(p, "<?xml") || starts(p, "{\"error\""))
        return "error-page";
    return NULL;
}

bool stray_is_pointer(const struct source *s, struct error *err)
{
    uint8_t head[POINTER_BYTES];
    struct probe p = {.head = {head, (size_t)s->size}, .name = s->name, .size = s->size};
    if (s->size > POINTER_BYTES || source_read(s, 0, head, p.head.len, err) != OK)
        return false;
    const char *kind = stray_kind(&p);
    if (!kind || strcmp(kind, "git-lfs-pointer") != 0)
        return false;
    error_set(err, ERR_MISSING, s->name, NO_OFFSET,
              "a git-lfs pointer, not the file: run `git lfs pull`");
    error_code(err, kind);
    return true;
}
