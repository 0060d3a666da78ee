/*
 * recognise_private.h - the inside of recognise.c, which adds what it finds to the walk's
 * lists (walk_lists.c) and lets index files claim their neighbours (claim.c).
 */
#ifndef CKPTDB_RECOGNISE_PRIVATE_H
#define CKPTDB_RECOGNISE_PRIVATE_H

#include "importer/walk/walk_private.h"

/* --- recognise.c ------------------------------------------------------------------------- */

/* The path of an entry, in the listing's arena. NULL: no memory. */
const char *listing_path(struct listing *l, const char *name);
/* Whether a row (may be NULL) is that of a checkpoint's primary file. */
bool known_is_primary(const struct known_file *f);
/* Whether the entry has the name that was asked for. */
bool listing_asks_for(const struct listing *l, const struct entry *e);

/* --- walk_lists.c ------------------------------------------------------------------------ */

void walk_remember(struct walker *w, struct strmap *set, const char *path);
void walk_add_passed(struct walker *w, const char *path, const struct entry *e);
void walk_add_unread(struct walker *w, const char *path, const struct entry *e);
void walk_add_unit(struct walker *w, struct unit u);

/* --- claim.c ----------------------------------------------------------------------------- */

/* The names of all files, in this arena. NULL: no memory. */
const char **listing_names(struct listing *l, struct arena *arena);
/* Let all index files claim. claims_only[i]: file i claimed the name that was asked for. */
void claim_all(struct walker *w, struct listing *l, bool dirty, bool *claims_only);

#endif
