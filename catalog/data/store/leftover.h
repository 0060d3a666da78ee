/*
 * leftover.h - temporary names of files and folders that are being written, and the removal of
 * those that killed programs left behind.
 *
 *   .tmp-ckptdb-0123456789abcdef01234567     beside the final file or folder
 *
 * The leading full stop and "tmp" mark it for people and for the importer. The process that writes
 * it holds a lock (flock) on it as long as it lives: one that can be locked is a leftover.
 */
#pragma once

#include <stdbool.h>

#define LEFTOVER_NAME 40 /* bytes, with the NUL */

void leftover_name(char name[LEFTOVER_NAME]);

/* Lock what was just created under such a name. False: before that another process took it for a
 * leftover and removed it. True where the file system has no locks. */
bool leftover_claim(int fd);

/* Remove leftovers in this directory: files, and folders with their contents. */
void leftover_sweep(int directory);

/* Remove a folder and its contents; symbolic links are not followed. */
void leftover_remove(int directory, const char *name);
