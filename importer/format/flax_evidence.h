/*
 * flax_evidence.h - does the beginning of a file speak for a tree of Flax arrays?
 */
#ifndef CKPTDB_IMPORTER_FORMAT_FLAX_EVIDENCE_H
#define CKPTDB_IMPORTER_FORMAT_FLAX_EVIDENCE_H

#include "catalog/base/bits.h"

/* How many bits do; 0: none. 64 where an array is among them, 24 for a whole small file that
 * is msgpack, 16 for a beginning that is. */
int flax_evidence(struct bytes head, uint64_t size);

#endif
