/*
 * pager.h - results that are longer than the screen go through a pager, on a terminal.
 *
 *   pager_begin(s); ... print on s->out ...; pager_end(s);
 *
 * Output between the two is held until it no longer fits the screen; only then is the pager
 * started. `.pager` names it, else $PAGER, else it is less; where the name is empty, nothing is paged.
 */
#pragma once

#include <stdio.h>

#include "shell/session/session.h"

/* The pager where .pager named none: "" for none. */
const char *pager_usual(void);

/* Does nothing if s->out is not a terminal, and inside another pager_begin(). */
void pager_begin(struct session *);
/* Waits until the reader is done. */
void pager_end(struct session *);

/* Whether the reader left before the end: what cannot be written then is not an error. */
bool pager_left(const struct session *);

/* Where a message for people belongs, now: after what is held, in the pager, or stderr. */
FILE *pager_talk(void);
