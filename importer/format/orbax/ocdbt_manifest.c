/*
 * ocdbt_manifest.c - the manifest of an OCDBT database: manifest.ocdbt, or the newest of
 * the numbered files that it refers to.
 */
#include <stdio.h>
#include <string.h>

#include "catalog/base/limits.h"
#include "importer/format/orbax/ocdbt_files.h"

#define NUMBERED_PREFIX "manifest."
#define NUMBERED_DIGITS 16
#define NUMBERED_TRIES  128 /* writers keep fewer */

static enum status read_manifest(struct ocdbt_store *o, const char *path,
                                 struct ocdbt_manifest_read *m, struct error *err)
{
    uint32_t number = 0;
    struct source *s = NULL;
    struct bytes body = {0};
    const char *wrong = NULL;
    if (ocdbt_number(o, path, strlen(path), &number, err) != OK ||
        ocdbt_open_file(o, number, &s, err) != OK)
        return err->status;
    m->at = (struct ocdbt_place){s->name, 0};
    struct ocdbt_frame_at f = {s, 0, s->size, OCDBT_MAGIC_MANIFEST, LIMIT_OCDBT_MANIFEST};
    if (ocdbt_read_frame(o, &f, &m->memory, &body, err) == OK)
        wrong = ocdbt_manifest_parse(body, &m->is);
    if (wrong)
        error_set(err, ERR_CORRUPT, s->name, 0, "the OCDBT manifest is damaged: %s", wrong);
    return err->status;
}

/* The version number in "manifest.0123456789abcdef"; 0 for any other name. */
static uint64_t numbered_name(const char *name)
{
    const size_t prefix = sizeof(NUMBERED_PREFIX) - 1;
    uint64_t number = 0;
    if (strncmp(name, NUMBERED_PREFIX, prefix) != 0 ||
        strspn(name + prefix, "0123456789abcdef") != NUMBERED_DIGITS ||
        name[prefix + NUMBERED_DIGITS])
        return 0;
    for (const char *at = name + prefix; *at; at++)
        number = number << 4 | (uint64_t)(*at <= '9' ? *at - '0' : *at - 'a' + 10);
    return number;
}

static enum status try_numbered(struct ocdbt_store *o, uint64_t number,
                                struct ocdbt_manifest_read *m, struct error *err)
{
    uint8_t uuid[sizeof(m->is.uuid)];
    char name[sizeof(NUMBERED_PREFIX) + NUMBERED_DIGITS];
    memcpy(uuid, m->is.uuid, sizeof(uuid));
    snprintf(name, sizeof(name), NUMBERED_PREFIX "%016llx", (unsigned long long)number);
    if (read_manifest(o, name, m, err) != OK)
        return err->status;
    bool same = memcmp(m->is.uuid, uuid, sizeof(uuid)) == 0;
    memcpy(m->is.uuid, uuid, sizeof(uuid));
    if (m->is.numbered || m->is.generation != number || !same)
        return error_set(err, ERR_CORRUPT, m->at.name, 0,
                         "this OCDBT manifest has another version than its name says");
    return OK;
}

bool ocdbt_fatal(enum status status)
{
    return status == ERR_MEMORY || status == ERR_LIMIT || status == ERR_INTERRUPTED;
}

/* The highest number in a manifest's name that is below `below`; 0 if absent. */
static uint64_t newest_below(const char *const *names, uint64_t count, uint64_t below)
{
    uint64_t newest = 0;
    for (uint64_t i = 0; i < count; i++) {
        uint64_t number = numbered_name(names[i]);
        if (number < below && number > newest)
            newest = number;
    }
    return newest;
}

/* Read the newest numbered manifest that is readable, and report the unreadable ones before it. */
static void read_numbered(struct ocdbt_store *o, struct ocdbt_manifest_read *m, struct error *err)
{
    uint64_t count = 0, number = UINT64_MAX;
    const char *const *names = o->files.names ? o->files.names(o->files.context, &count) : NULL;
    const char *first = o->known[0].path;
    for (unsigned tries = 0; names && tries < NUMBERED_TRIES; tries++) {
        struct error odd = {.offset = NO_OFFSET};
        number = newest_below(names, count, number);
        if (!number)
            break;
        if (try_numbered(o, number, m, &odd) == OK)
            return;
        if (ocdbt_fatal(odd.status)) {
            *err = odd;
            return;
        }
        o->files.report(o->files.context, true, &odd);
    }
    error_set(err, ERR_MISSING, first, NO_OFFSET,
              "no manifest.<16 digits> that holds the versions of this OCDBT "
              "database can be read");
}

enum status ocdbt_manifest_read(struct ocdbt_store *o, struct ocdbt_manifest_read *out,
                                struct error *err)
{
    if (read_manifest(o, OCDBT_MANIFEST, out, err) == OK && out->is.numbered)
        read_numbered(o, out, err);
    return err->status;
}
