/*
 * checkpoint_tree.h - the modules of a checkpoint, like modules folded.
 */
#pragma once

#include "catalog/data/model/module_tree.h"
#include "shell/session/session.h"

/* Fill a tree, {0} before, with all tensors of a checkpoint, and finish it. STATUS_FINE, or another status
 * after saying why not. It is released by the caller in either case. */
int checkpoint_tree(struct session *, int64_t checkpoint, struct module_tree *);
