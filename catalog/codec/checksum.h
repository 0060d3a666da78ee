/* checksum.h - the checksums that are also wanted outside of chains. */
#ifndef CKPTDB_CODEC_CHECKSUM_H
#define CKPTDB_CODEC_CHECKSUM_H

#include "catalog/base/bits.h"

/* Bob Jenkins' hashlittle() of May 2006 with the seed 0: HDF5's of its own structures. */
uint32_t jenkins_lookup3(struct bytes data);

#endif
