/*
 * orderedcode.h - decode OrderedCode: values whose codes sort bytewise as they do.
 *
 * TensorFlow builds the keys of slices from it. Every value has one code only; any other
 * spelling fails the cursor, as does running out of bytes.
 */
#pragma once

#include "catalog/base/cursor.h"
#include "catalog/base/text.h"

uint64_t orderedcode_number(struct cursor *);
int64_t orderedcode_signed(struct cursor *);
/* Appends the decoded bytes, which are never more than the coded ones. False on failure. */
bool orderedcode_string(struct cursor *, struct text *out);
