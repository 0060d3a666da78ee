/*
 * leftover.h - names of what is being written, and what killed programs left under them.
 *
 *   .tmp-ckptdb-0123456789abcdef01234567     beside the file or folder that will come of it
 *
 * The leading full stop and "tmp" mark it for people and for the importer. Its writer holds a
 * lock (flock) on it as long as it lives: one that can be locked is a leftover.
 */
#ifndef CKPTDB_STORE_LEFTOVER_H
#define CKPTDB_STORE_LEFTOVER_H

#include <stdbool.h>

#define LEFTOVER_NAME 40 /* bytes, with the NUL */

void leftover_name(char name[LEFTOVER_NAME]);

/* Lock what was just made under such a name. False: another program has taken it for a leftover in
 * between, and it is gone. True where the file system has no locks. */
bool leftover_claim(int fd);

/* Remove leftovers in this directory: files, and folders with all that is in them. */
void leftover_sweep(int directory);

/* Remove a folder and all that is in it; symbolic links are not followed. */
void leftover_remove(int directory, const char *name);

#endif
