#include "catalog/base/pages.h"

#include <stdint.h>
#include <stdlib.h>
#include <sys/mman.h>

#define PAGE_BYTES ((size_t)4096)
#define HUGE_BYTES ((size_t)2 << 20) /* of x86-64, and of ARM with pages of 4 KiB */

/* Linux gives large pages to who asks for them; where it does not, nothing is lost. */
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
    if (posix_memalign(&at, page, (bytes + PAGE_BYTES - 1) / PAGE_BYTES * PAGE_BYTES) !=
        0)
        return NULL;
    if (page == HUGE_BYTES)
        ask_for_huge(at, bytes);
    return at;
}
