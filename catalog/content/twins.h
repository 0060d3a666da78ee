/*
 * twins.h - which tensors could be equal, as far as the catalog tells: only they need to be read.
 *
 * Equal tensors have as many bytes. Where all tensors of a size lie as they are (one range, no codec, C
 * order) under a checksum of one kind that their files state (checksums: zip's crc32 of torch, crc32c of
 * TensorFlow), equal ones have that in common, too. npz's is of more than the data and tells nothing.
 */
#ifndef CKPTDB_CONTENT_TWINS_H
#define CKPTDB_CONTENT_TWINS_H

#include "catalog/db/db.h"

/* Look through the catalog; kept with the connection until the next call, as temporary tables. ERR_BUSY and
 * others of the database; ERR_MEMORY. */
enum status twins_find(sqlite3 *, struct error *err);

/* The condition on the view `tensor t` of those that could have an equal one. */
extern const char twins_condition[];

#endif
