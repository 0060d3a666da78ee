/*
 * pages.h - memory that files are read into in large pieces: it begins at a page.
 *
 * malloc() puts large blocks 16 bytes after the beginning of one. To copy a page of the file
 * cache there, a processor reads addresses that end as those do that it has just written, and
 * waits for each: a third of the speed. And it is of large pages, where the system has some: to
 * have a fresh one costs as much for 4 KiB as to decode 2 KiB of Zstandard.
 */
#ifndef CKPTDB_BASE_PAGES_H
#define CKPTDB_BASE_PAGES_H

#include <stddef.h>

/* As malloc(): NULL without memory, to be freed with free(). 0 bytes are some too. Small ones
 * begin anywhere. */
void *pages_alloc(size_t bytes);

#endif
