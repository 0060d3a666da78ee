/*
 * flax_evidence.h - whether the beginning of a file looks like a tree of Flax arrays.
 */
#ifndef CKPTDB_FLAX_EVIDENCE_H
#define CKPTDB_FLAX_EVIDENCE_H

#include "catalog/base/bits.h"

/* The bits of evidence: 64 if the head holds an array, 24 if the whole file is in the head and is
 * msgpack, 16 if the head is msgpack as far as it goes, else 0. */
int flax_evidence(struct bytes head, uint64_t size);

#endif
