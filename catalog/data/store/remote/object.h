/*
 * object.h - the files and folders of other machines that this process knows, and the bytes that it has
 * read ahead.
 *
 * What is known of an object holds for OBJECT_FRESH_MS, and while an import runs, from its beginning
 * (store_hold()): so a file that is looked at, probed and indexed is requested once. Open files keep
 * their state: each further request names it.
 *
 * While headers are read, the first request brings OBJECT_HEAD bytes, and a later one at least as many: most
 * headers are one request, or two where an index is at the end. Where a reader asks which are known
 * (source_ops.at_hand), the others are fetched side by side, what is near together, or a small file whole. Of data
 * only what a reader expects to read (source_ops.expect) is read ahead, in pieces that grow.
 */
#pragma once

#include <pthread.h>

#include "catalog/data/store/remote/kind.h"

#define OBJECT_HEAD     ((size_t)262144)
#define OBJECT_FRESH_MS 30000

struct object;

/* Any thread. Taken until it is given back. NULL: no memory. */
struct object *object_take(const struct remote_kind *, const char *path, struct error *err);
void object_give(struct object *);

/* Ask the server for a file, unless its state is known. `ahead`: how many bytes to read at once. */
void object_ask(struct object *, size_t ahead, struct error *err);
/* Its state is known from a list at `pin`. */
void object_tell(struct object *, const struct remote_entry *, const char *pin);
struct file_identity object_identity(struct object *);

/* Its entries, as a folder; valid until it is given back. NULL and an error. */
const struct remote_folder *object_list(struct object *, struct error *err);

/* A source of its bytes, which keeps it taken. `headers`: small scattered parts will be read. */
enum status object_open(struct object *, bool headers, struct source **out, struct error *err);

/* Whether a known file is below a folder; the names of those that lie right in it. */
bool object_below(const char *folder);
void object_names(struct remote_folder *);

bool object_importing(void);
