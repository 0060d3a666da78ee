/*
 * diff_adapter.h - what an adapter (LoRA) changes in a checkpoint, for `diff BASE ADAPTER`.
 */
#pragma once

#include "shell/session/session.h"

/* Whether b is an adapter, and a is none. */
bool diff_has_adapter(struct session *, int64_t a, int64_t b);

/* Fill the table of differences: a row for each tensor of the base that changes, and whose name the regex
 * `names` meets (NULL: any), to be compared with what it becomes. Says what cannot be merged; false if that is so, or the statement fails. */
bool diff_adapter_fill(struct session *, int64_t base, int64_t adapter, const char *names);

/* The rows, for printing. */
extern const char diff_adapter_rows[];
