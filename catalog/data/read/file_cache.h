/*
 * file_cache.h - files that stay open from one tensor to the next, for callers that read many.
 *
 * Their identity is checked again every few milliseconds. Any number of threads.
 */
#ifndef CKPTDB_FILE_CACHE_H
#define CKPTDB_FILE_CACHE_H

struct file_cache;

/* NULL without memory. It must outlive the readers that it is given to. */
struct file_cache *file_cache_new(void);
void file_cache_free(struct file_cache *);

#endif
