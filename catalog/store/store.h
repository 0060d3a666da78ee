/*
 * store.h - where files come from: a table of operations, chosen by how a path begins.
 *
 *   /data/model.safetensors           files (the store of every path that no other one takes)
 *   memory:/NAME/model.safetensors    memory (store_memory.h): trees that tests and fuzzers make
 *
 * Everybody else asks through source_open_file(), directory_list(), file_identify() and what is
 * below, and does not know which store answers. To add one: a file store_NAME.c, a line in
 * stores.def. It chooses what an identity's numbers mean, so long as another state of a file has
 * others.
 */
#ifndef CKPTDB_STORE_H
#define CKPTDB_STORE_H

#include "catalog/store/directory.h"
#include "catalog/store/source.h"

struct store {
    /* Whether a path is of this store; only those before it in stores.def were asked. */
    bool (*takes)(const char *path);
    /* As source_open_file(), directory_list(), path_look() and path_resolve(). */
    enum status (*open)(const char *path, int flags, struct source **out,
                        struct file_identity *identity, struct error *err);
    enum status (*list)(const char *path, int flags, struct file_identity *own,
                        bool (*see)(void *context, const struct directory_entry *),
                        void *context, struct error *err);
    enum status (*look)(const char *path, enum entry_kind *kind,
                        struct file_identity *identity, struct error *err);
    char *(*resolve)(const char *path);
};

#define STORE(x) extern const struct store store_##x;
#include "catalog/store/stores.def"
#undef STORE

/* What is at a path, and its identity, links followed. ERR_MISSING; ERR_IO. */
enum status path_look(const char *path, enum entry_kind *kind,
                      struct file_identity *identity, struct error *err);

/* Whether that is a file, or a folder. */
bool path_is(const char *path, enum entry_kind kind);

/* Whether a name is a path from the root on, of any store. */
bool path_is_whole(const char *name);

/* The path from the root on without links, "." and "..", for free(). NULL, with errno: there is
 * nothing. */
char *path_resolve(const char *path);

#endif
