/*
 * claim.c - which files of a directory belong to which index file.
 */
#include <stdlib.h>
#include <string.h>

#include "catalog/base/name_list.h"
#include "importer/walk/walker.h"

/* --- claiming --------------------------------------------------------------------------- */

struct claiming {
    struct listing *listing;
    const struct entry *primary;
    bool found_only; /* the name that was asked for is claimed */
};

static void claim_one_entry(struct claiming *c, struct entry *e)
{
    if (!e || e == c->primary)
        return;
    e->claimed_twice |= e->claimed && e->claimer != c->primary;
    e->claimer = c->primary;
    e->claimed = true;
    c->found_only |= listing_asks_for(c->listing, e);
}

void claim_take(struct claim *claim, const char *name)
{
    struct claiming *c = claim->taken;
    claim_one_entry(c, listing_file(c->listing, name));
}

void claim_take_prefix(struct claim *claim, const char *prefix, bool (*fits)(const char *rest))
{
    struct claiming *c = claim->taken;
    size_t len = strlen(prefix);
    uint64_t low = names_from(claim->names, claim->count, prefix);
    for (; low < claim->count && strncmp(claim->names[low], prefix, len) == 0; low++)
        if (!fits || fits(claim->names[low] + len))
            claim_one_entry(c, &c->listing->files[low]);
}

enum status claim_read(struct claim *claim, uint64_t limit, uint8_t **bytes, size_t *len,
                       struct error *err)
{
    struct claiming *c = claim->taken;
    struct source *s = NULL;
    uint8_t *buffer = NULL;
    const char *path = listing_path(c->listing, claim->name);
    const bool opened = source_open_file(path, 0, &s, NULL, err) == OK;
    if (opened && s->size > limit)
        error_set(err, ERR_LIMIT, path, NO_OFFSET, "larger than %llu bytes",
                  (unsigned long long)limit);
    else if (opened && !(buffer = malloc(s->size ? s->size : 1)))
        error_memory_at(err, path);
    else if (opened && source_read(s, 0, buffer, s->size, err) == OK)
        *len = s->size;
    source_close(s);
    if (err->status == OK)
        *bytes = buffer;
    else
        free(buffer);
    return err->status;
}

void claim_all(struct walker *w, struct listing *l, bool dirty, bool *claims_only)
{
    const char **names = NULL;
    for (uint64_t i = 0; i < l->file_count; i++) {
        struct entry *e = &l->files[i];
        if (!e->format || !e->format->claim)
            continue;
        struct claiming c = {.listing = l, .primary = e};
        if (!dirty && known_is_primary(e->known)) { /* the claims of when it was indexed */
            const struct known *k = w->options->known;
            const struct known_checkpoint *known = &k->checkpoints[e->known->checkpoint];
            for (uint32_t f = 0; f < known->file_count; f++) {
                const char *slash = strrchr(k->files[known->first_file + f].path, '/');
                if (slash)
                    claim_one_entry(&c, listing_file(l, slash + 1));
            }
        } else {
            if (!names && !(names = listing_names(l, l->arena)))
                return;
            struct claim claim = {l->path, e->name, names, l->file_count, e->format, &c};
            /* indexing will report what else is wrong with it */
            if (e->format->claim(&claim) == ERR_MEMORY) {
                error_memory(l->arena->err);
                return;
            }
        }
        claims_only[i] = c.found_only;
    }
}
