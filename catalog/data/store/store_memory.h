/*
 * store_memory.h - a tree of files in memory, below memory:/NAME.
 *
 *   const struct memory_file files[] = {{"w/.zarray", metadata}, {"w/0", chunk}};
 *   memory_mount("test", files, 2, &err);     memory:/test/w/.zarray is a file, memory:/test/w a folder
 *   memory_unmount("test");
 *
 * For tests and fuzzers of code that reads folders: nothing touches a disk. As long as no tree of
 * that name is mounted, such a path is an ordinary path of the file system.
 */
#ifndef CKPTDB_STORE_MEMORY_H
#define CKPTDB_STORE_MEMORY_H

#include <stddef.h>

#include "catalog/base/bits.h"
#include "catalog/base/error.h"

struct memory_file {
    const char *path; /* "a/b": no empty part, no "." and ".." */
    struct bytes bytes;
};

/* The files' paths and bytes must outlive the mount, and nothing may be reading them when it is
 * unmounted. ERR_ARGUMENT: an invalid or duplicate path, a path below a file, a NAME in use. */
enum status memory_mount(const char *name, const struct memory_file *files, size_t count,
                         struct error *err);
void memory_unmount(const char *name);

#endif
