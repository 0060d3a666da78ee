/*
 * pages.h - page-aligned memory for reading files in large pieces.
 *
 * malloc() returns large blocks 16 bytes after the start of a page. When the system copies a page
 * of the file cache there, each read has the same low address bits as a recent write, and the
 * processor waits (4K aliasing): a third of the speed. Huge pages are used where possible, since a
 * page fault for each 4 KiB costs as much as decoding 2 KiB of Zstandard.
 */
#pragma once

#include <stddef.h>

/* Like malloc(): NULL without memory; free with free(). 0 bytes are allowed. Blocks below a page
 * are not aligned. */
void *pages_alloc(size_t bytes);
