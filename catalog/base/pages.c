#include "catalog/base/pages.h"

#include <stdint.h>
#include <stdlib.h>

#define PAGE_BYTES ((size_t)4096)

void *pages_alloc(size_t bytes)
{
    if (bytes < PAGE_BYTES)
        return malloc(bytes ? bytes : 1);
    if (bytes > SIZE_MAX - PAGE_BYTES)
        return NULL;
    return aligned_alloc(PAGE_BYTES, (bytes + PAGE_BYTES - 1) / PAGE_BYTES * PAGE_BYTES);
}
