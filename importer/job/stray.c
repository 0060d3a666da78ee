/*
 * stray.c - files that are not what their name says: the commonest "corrupt checkpoints".
 */
#include <string.h>
#include <strings.h>

#include "importer/walk/walk.h"

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
