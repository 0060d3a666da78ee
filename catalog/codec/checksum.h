/* checksum.h - the checksums that are also used outside chains. */
#ifndef CKPTDB_CODEC_CHECKSUM_H
#define CKPTDB_CODEC_CHECKSUM_H

#include "catalog/base/bits.h"

/* The CRC-32 of zip and gzip, of what `crc` is of (0: nothing) followed by these bytes. */
uint32_t crc32_extend(uint32_t crc, const void *bytes, size_t len);

/* Bob Jenkins' hashlittle() of May 2006 with the seed 0: HDF5's of its own structures. */
uint32_t jenkins_lookup3(struct bytes data);

#endif
