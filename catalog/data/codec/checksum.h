/* checksum.h - the checksums that are also used outside chains. */
#pragma once

#include "catalog/base/bits.h"

/* Extend `crc`, the CRC-32 of zip and gzip over earlier bytes (0: none), by these bytes. */
uint32_t crc32_extend(uint32_t crc, const void *bytes, size_t len);

/* Bob Jenkins' hashlittle() of May 2006 with the seed 0: HDF5 protects its metadata with it. */
uint32_t jenkins_lookup3(struct bytes data);
