/*
 * checker.h - whether rows of _layout_tensors are as written (catalog/data/model/checks.h), for
 * callers that read them one by one, or all by SQL. The virtual tables check the blocks that they load.
 */
#pragma once

#include "catalog/base/error.h"
#include "catalog/base/limits.h"
#include "catalog/data/model/checks.h"
#include "catalog/db/sqlite.h"

#define CHECKER_KNOWN  4 /* checkpoints that are remembered, so that tensors of two may alternate */
#define CHECKER_GROUPS ((TENSOR_ORD_MASK + 1) / CHECK_TENSORS)

/* Zeroes but for `db` at first. */
struct checker {
    sqlite3 *db;
    sqlite3_stmt *find, *rows, *whole;
    unsigned next;
    struct checker_known {
        int64_t checkpoint;
        bool whole;                       /* all names, dtypes and shapes hold */
        uint8_t done[CHECKER_GROUPS / 8]; /* a bit for each group of tensors that holds */
    } known[CHECKER_KNOWN];
};

/* Check the tensors of a checkpoint's layout from `first` to `last`, and those that share a checksum
 * with them; up to TENSOR_ORD_MASK, names, dtypes and shapes alone. ERR_CORRUPT where they are not what was written. A checkpoint that is not there, or
 * whose layout has no checksums, is fine. */
enum status checker_look(struct checker *, int64_t checkpoint, uint32_t first, uint32_t last,
                         struct error *err);
void checker_release(struct checker *);
