/*
 * api_formats.c - lists the formats that are read, written, or only counted.
 */

#include "catalog/base/text.h"
#include "catalog/data/model/dtype.h"
#include "catalog/export/export.h"
#include "importer/job/format.h"
#include "importer/walk/unread.h"

/* A format's name, with its reader, its writer, both or neither. */
struct known {
    const char *name;
    const struct format *read;
    const struct exporter *written;
    const struct unread_kind *unread; /* if there is neither */
};

struct listing {
    bool (*each)(void *context, const struct ckptdb_format *);
    void *context;
};

/* False: the caller wants to stop. */
static bool library_formats_give(const struct listing *l, const struct known *k)
{
    struct text options = {0}, outputs = {0};
    const char *suffixes = k->read && k->read->suffixes ? k->read->suffixes : "";
    const struct export_setting *s = k->written ? k->written->settings : NULL;
    for (; s && s->key; s++)
        text_addf(&options, "%s%s=%s (%s)", options.len ? ", " : "", s->key, s->values, s->summary);
    if (k->written)
        text_adds(&outputs, k->written->suffix);
    for (const char *const *more = k->written ? k->written->more_suffixes : NULL; more && *more;
         more++)
        text_addf(&outputs, " %s", *more);
    const struct ckptdb_format format = {
        .name = k->name,
        .summary = k->read      ? k->read->summary
                   : k->written ? k->written->summary
                                : k->unread->what,
        .suffixes = *suffixes || !k->written ? suffixes : k->written->suffix,
        .reads = k->read,
        .writes = k->written,
        .separator = (char)(k->read ? k->read->separator : '\0'),
        .options = options.len && text_str(&options) ? text_str(&options) : "",
        .outputs = outputs.len && text_str(&outputs) ? text_str(&outputs) : "",
    };
    const bool more = l->each(l->context, &format);
    text_release(&options);
    text_release(&outputs);
    return more;
}

void ckptdb_formats(bool (*each)(void *, const struct ckptdb_format *), void *context)
{
    const struct listing l = {each, context};
    for (size_t i = 0; formats[i]; i++)
        if (formats[i]->index &&
            !library_formats_give(&l, &(struct known){formats[i]->name, formats[i],
                                                      exporter_find(formats[i]->name), NULL}))
            return;
    for (size_t i = 0; exporters[i]; i++) {
        const struct format *f = format_named(exporters[i]->name);
        if (!(f && f->index) && !library_formats_give(&l, &(struct known){exporters[i]->name, NULL,
                                                                          exporters[i], NULL}))
            return;
    }
    for (const struct unread_kind *k = unread_kinds; k->name; k++)
        if (k->what && !library_formats_give(&l, &(struct known){k->name, NULL, NULL, k}))
            return;
}

void ckptdb_dtypes(bool (*each)(void *, const char *), void *context)
{
    const struct dtype *d;
    for (size_t i = 0; (d = dtype_at(i)); i++)
        if (!each(context, d->name))
            return;
}
