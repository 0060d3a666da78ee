#include "catalog/base/pages.h"

#include <stdint.h>
#include <stdlib.h>
#include <sys/mman.h>

#define PAGE_BYTES ((size_t)4096)
#define HUGE_BYTES ((size_t)2 << 20) /* on x86-64, and on ARM with 4 KiB pages */

void *pages_alloc(size_t bytes)
{
    if (bytes < PAGE_BYTES)
        return malloc(bytes ? bytes : 1);
    if (bytes > SIZE_MAX - HUGE_BYTES)
        return NULL;
    size_t page = bytes < HUGE_BYTES ? PAGE_BYTES : HUGE_BYTES;
    void *at = NULL;
    if (posix_memalign(&at, page, (bytes + PAGE_BYTES - 1) / PAGE_BYTES * PAGE_BYTES) != 0)
        return NULL;
#ifdef MADV_HUGEPAGE
    if (page == HUGE_BYTES) /* only a hint: without huge pages the memory works the same */
        (void)madvise(at, bytes / HUGE_BYTES * HUGE_BYTES, MADV_HUGEPAGE);
#endif
    return at;
}
