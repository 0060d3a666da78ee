/*
 * infer_run.h - map inference over two checkpoints of a catalog.
 *
 *   struct inferred r = {.stop = ctrl_c};
 *   if (infer_run(db, a, b, &r, &err) == OK)
 *       use(&r.set, r.task.pair);
 *   arena_release(&r.arena);
 *
 * Contents are compared by the hashes in the catalog (hashes.h computes them); to try
 * operations, tensors are read.
 */
#pragma once

#include "catalog/db/db.h"
#include "catalog/maps/infer/infer.h"

struct inferred {
    /* In: */
    bool (*stop)(void *context); /* NULL: never stop; true: end with ERR_INTERRUPTED */
    void *context;
    unsigned threads; /* 0: one per core */
    bool names_only;  /* read no tensors: pair by known hashes, shapes and names */
    /* Out: */
    struct infer_task task;
    struct ruleset set;
    struct arena arena;
};

enum status infer_run(sqlite3 *, int64_t a, int64_t b, struct inferred *, struct error *);

/* "content", "name", "guess"; "dropped" or "missing" if only one side has the tensor. */
const char *infer_how_name(const struct infer_pair *);
