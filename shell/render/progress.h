/*
 * progress.h - how far long work has come.
 */
#pragma once

#include "shell/session/session.h"

/* Progress on stderr, if that is a terminal, after half a second: what, done of total with
 * rate and time to go. `total` 0: not known. Unit "B" counts bytes. Thread-safe; call as
 * often as you like. */
struct progress;
struct progress *progress_new(struct session *, const char *what, const char *unit);
void progress_set(struct progress *, unsigned long long done, unsigned long long total);
void progress_free(struct progress *); /* clears the line */
