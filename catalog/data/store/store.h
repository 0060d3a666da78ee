/*
 * store.h - where files come from: a table of operations, chosen by how a path begins.
 *
 *   /data/model.safetensors           the file system (every path that no other store takes)
 *   https://HOST/a/model.safetensors  other machines (remote/): what libcurl reads
 *   memory:/NAME/model.safetensors    what tests and fuzzers mount (tests/fuzz/store_memory.h)
 *
 * Everybody else calls source_open_file(), directory_list(), file_identify() and the functions
 * below, and does not know which store answers. To add one: a file store_NAME.c, a line in
 * stores[] of store.c; one more that speaks HTTP: remote/kind.h.
 *
 * An identity (source.h) is four numbers and not a text of the store's own, since the view `file`
 * shows them and SQL joins hard links by inode and device. A store that has an entity tag instead
 * hashes it into inode and mtime_ns: a file in another state must only have another identity.
 *
 * Where each request is a round trip, what was read is kept as long as one import runs (store_hold()), and
 * source_ops.expect says what may be read ahead.
 */
#pragma once

#include "catalog/data/store/directory.h"
#include "catalog/data/store/source.h"

struct store {
    bool (*takes)(const char *path); /* whether a path belongs to this store */
    /* Whether it can say what is in the folder of a path; NULL: yes. Else list() tells only those files that
     * were asked for. */
    bool (*lists)(const char *path);
    /* As source_open_file(), directory_list(), path_look() and path_resolve(). */
    enum status (*open)(const char *path, int flags, struct source **out,
                        struct file_identity *identity, struct error *err);
    enum status (*list)(const char *path, int flags, struct file_identity *own,
                        bool (*see)(void *context, const struct directory_entry *), void *context,
                        struct error *err);
    enum status (*look)(const char *path, enum entry_kind *kind, struct file_identity *identity,
                        struct error *err);
    char *(*resolve)(const char *path);
};

extern const struct store store_files, store_remote;
extern const struct store *store_mounted; /* asked before the file system; NULL but in tests */

/* The kind and identity of what is at a path; symbolic links are followed. ERR_MISSING; ERR_IO. */
enum status path_look(const char *path, enum entry_kind *kind, struct file_identity *identity,
                      struct error *err);

/* Whether there is something of this kind at a path. False also after a failure. */
bool path_is(const char *path, enum entry_kind kind);

/* Whether a path is on this machine; what follows then are a disk's reads, not requests. */
bool path_is_local(const char *path);

/* How many threads should read from a path: `local` on this machine, more where each read is a request, whose
 * answer threads wait for. */
unsigned path_threads(const char *path, unsigned local);

/* Look at many paths, side by side on other machines, so that the answers are known when each is looked at. `bytes`:
 * small files are read, too, as they will be opened soon. */
void path_ask(const char *const *paths, size_t count, bool bytes);

/* Whether a list of a folder is whole: struct store's `lists`. */
bool path_lists(const char *path);

/* An import begins, or ends: meanwhile remote stores keep answers and bytes read ahead. Calls nest. */
void store_hold(bool begins);

/* Whether a name is an absolute path of any store. */
bool path_is_whole(const char *name);

/* The absolute path without links, "." and "..", malloc'ed. NULL and errno on failure. */
char *path_resolve(const char *path);
