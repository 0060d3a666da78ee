#include "catalog/base/pages.h"

#include <stdint.h>
#include <stdlib.h>
#include <sys/mman.h>

#define PAGE_BYTES ((size_t)4096)
#define HUGE_BYTES ((size_t)2 << 20) /* on x86-64, and on ARM with 4 KiB pages */

/* Only a hint: without huge pages the memory works the same. */
static void ask_for_huge(void *at, size_t bytes)
{
#ifdef MADV_HUGEPAGE
    (void)madvise(at, bytes / HUGE_BYTES * HUGE_BYTES, MADV_HUGEPAGE);
#endif
}

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
    if (page == HUGE_BYTES)
        ask_for_huge(at, bytes);
    return at;
}
