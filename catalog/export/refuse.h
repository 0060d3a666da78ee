/*
 * refuse.h - why an export is refused: a line for each cause, not for each tensor. A changed
 * file, or a number that a map lacks, is one cause, for which the first tensors are named.
 */
#pragma once

#include "catalog/base/error.h"
#include "catalog/base/text.h"

#define REFUSALS_SHOWN 20 /* causes that are kept; others are counted */
#define REFUSED_NAMED  3  /* tensors that a line names */

struct refusal {
    struct text cause, tensors; /* tensors: the first ones, "a, b, c"; empty: no tensor */
    uint64_t count;
};

struct refusals {
    struct refusal shown[REFUSALS_SHOWN];
    size_t kept;    /* elements of `shown` */
    uint64_t count; /* of all refusals, shown or not */
};

/* Refuse for a cause that does not concern a tensor, or names it. */
void refuse(struct refusals *, const char *fmt, ...) PRINTF_LIKE(2, 3);
/* Refuse because of a tensor. */
void refuse_tensor(struct refusals *, const char *name, const char *fmt, ...) PRINTF_LIKE(3, 4);

/* The lines, control characters escaped, each with its newline:
 *   a.w: no rule of m matches it
 *   a, b, c and 9 more: /x/a.npz: gone since it was indexed
 *   and 70 more */
void refusals_print(const struct refusals *, struct text *out);
void refusals_release(struct refusals *);
