/*
 * options.c - options of a single format, as text.
 */
#include <ctype.h>
#include <string.h>

#include "catalog/base/bits.h"
#include "catalog/export/export.h"

const char *export_setting(const struct export_options *options, const char *key)
{
    const char *value = NULL;
    for (const char *const *at = options->settings; at && *at; at += 2)
        if (strcmp(*at, key) == 0)
            value = at[1];
    return value;
}

void export_check_settings(const struct exporter *exporter, const char *const *settings,
                           struct error *err)
{
    for (const char *const *at = settings; at && *at && err->status == OK; at += 2) {
        const char *const *before = settings;
        while (before != at && (strcmp(*before, *at) != 0 || strcmp(before[1], at[1]) == 0))
            before += 2;
        const struct export_setting *known = exporter->settings;
        while (known && known->key && strcmp(known->key, *at) != 0)
            known++;
        if (!known || !known->key)
            error_set(err, ERR_ARGUMENT, NULL, NO_OFFSET,
                      "--option %.100s: format %s has no such option (`ckptdb formats` lists them)",
                      *at, exporter->name);
        else if (before != at && !(exporter->repeats && strcmp(exporter->repeats, *at) == 0))
            error_set(err, ERR_ARGUMENT, NULL, NO_OFFSET,
                      "--option %.100s=%.100s contradicts --option %.100s=%.100s", *at, at[1],
                      *before, before[1]);
    }
}

uint64_t export_size(const char *text)
{
    static const char letters[] = "KMGT";
    uint64_t size = 0, unit = 1;
    if (!isdigit((unsigned char)*text))
        return 0;
    for (; isdigit((unsigned char)*text); text++)
        if (!mul_u64(size, 10, &size) || !add_u64(size, (uint64_t)(*text - '0'), &size))
            return 0;
    const char *letter = *text ? strchr(letters, toupper((unsigned char)*text)) : NULL;
    if (letter) {
        bool binary = text[1] == 'i';
        for (const char *at = letters; at <= letter; at++)
            unit *= binary ? 1024 : 1000;
        text += binary ? 2 : 1;
    }
    if (*text == 'B')
        text++;
    return *text || !mul_u64(size, unit, &size) ? 0 : size;
}
