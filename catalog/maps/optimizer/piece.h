/* piece.h - names of leaves, taken apart at each '/'. */
#pragma once

#include <stddef.h>

#include "catalog/maps/optimizer/optimizer.h"

struct piece {
    const char *at;
    size_t len;
};

bool piece_is(struct piece, const char *word);
bool piece_same(struct piece, struct piece);
/* Whether it is digits only. */
bool piece_is_number(struct piece);
/* Whether it is a slot of this scope ("param", such as "mu"), or of any (NULL). */
bool piece_is_slot(struct piece, const struct optimizer_tables *, const char *scope);

/* The first component of a path, and what follows it. */
struct piece piece_first(struct piece path);
struct piece piece_after(struct piece path, struct piece first);
/* The rest of a name below `folder`; at NULL: it is not in it. */
struct piece piece_below(struct piece name, struct piece folder);
