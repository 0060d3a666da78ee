/*
 * diff_picture.h - what differs between two checkpoints, for people: as a tree of modules, and as the
 * answer to whether one loads into the other.
 *
 * Both read temp.difference, the rows of `diff`.
 */
#pragma once

#include "shell/session/session.h"

/* Draw the modules in which something differs (`all`: all), modules that differ alike as one
 * (layers.{0..31}): how many tensors of how many bytes, how, and how far apart where that is known.
 * `adapter`: B is an adapter of A, whose changes have a norm. An exit status. */
int diff_picture(struct session *, bool all, bool adapter);

/* If one side is a model's skeleton, which has no bytes (format `names`), say whether the other
 * side loads into it, and if not, why: names that are missing, unexpected, or have another shape.
 * With two skeletons, B is the model. */
void diff_says_whether_it_loads(struct session *, int64_t a, int64_t b);
