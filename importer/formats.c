/* memmem: */
#define _GNU_SOURCE /* NOLINT(bugprone-*,cert-*,readability-*): its own name */
#include <stddef.h>
#include <string.h>

#include "catalog/base/name_list.h"
#include "importer/job/format.h"

#define FORMAT(x) extern const struct format format_##x;
#include "importer/formats.def"
#undef FORMAT

const struct format *const formats[] = {
#define FORMAT(x) &format_##x,
#include "importer/formats.def"
#undef FORMAT
    NULL,
};

bool probe_holds(const struct probe *p, const char *word)
{
    return p->head.len && memmem(p->head.at, p->head.len, word, strlen(word));
}

bool probe_dir_has_file(const struct probe_dir *p, const char *name)
{
    return names_hold(p->files, p->file_count, name);
}

bool probe_dir_has_dir(const struct probe_dir *p, const char *name)
{
    return names_hold(p->dirs, p->dir_count, name);
}

const struct format *format_for_file(const struct probe *p)
{
    const struct format *best = NULL;
    struct probe asked = *p;
    int most = 0;
    for (size_t i = 0; formats[i]; i++) {
        asked.format = formats[i];
        int bits = formats[i]->probe ? formats[i]->probe(&asked) : 0;
        if (bits > most) {
            most = bits;
            best = formats[i];
        }
    }
    return best;
}

const struct format *format_for_dir(const struct probe_dir *p)
{
    const struct format *best = NULL;
    int most = 0;
    for (size_t i = 0; formats[i]; i++) {
        int bits = formats[i]->probe_dir ? formats[i]->probe_dir(p) : 0;
        if (bits > most) {
            most = bits;
            best = formats[i];
        }
    }
    return best;
}

const struct format *format_named(const char *name)
{
    for (size_t i = 0; formats[i]; i++)
        if (strcmp(formats[i]->name, name) == 0)
            return formats[i];
    return NULL;
}

bool format_has_suffix(const struct format *f, const char *name)
{
    size_t len = strlen(name);
    for (const char *at = f->suffixes; at && *at;) {
        size_t n = strcspn(at, " ");
        if (n && n < len && memcmp(name + len - n, at, n) == 0)
            return true;
        at += n + strspn(at + n, " ");
    }
    return false;
}

bool format_claims_name(const char *name)
{
    for (size_t i = 0; formats[i]; i++)
        if (formats[i]->probe && format_has_suffix(formats[i], name))
            return true;
    return false;
}
