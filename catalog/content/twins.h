/*
 * twins.h - which tensors may be equal, as far as the catalog can tell: only they need to be read.
 *
 * Equal tensors have equal sizes. If all tensors of a size are stored unencoded (one range, no
 * codec, C order) with a checksum of the same kind in their files (crc32 in torch's zips, crc32c
 * in TensorFlow), equal tensors have equal checksums, too. The crc32 of an npz member also covers
 * its header, and tells nothing.
 */
#pragma once

#include "catalog/db/db.h"

/* Find them; the result is kept in temporary tables of the connection until the next call.
 * ERR_BUSY and other errors of the database; ERR_MEMORY. */
void twins_find(sqlite3 *, struct error *err);

/* A condition on the view `tensor t`: it may have an equal one. */
extern const char twins_condition[];
