#include "catalog/base/list.h"

#include <stdint.h>
#include <stdlib.h>

#include "catalog/base/error.h"

void *list_double(void *list, size_t *space, size_t size)
{
    size_t wanted = *space ? *space * 2 : 16;
    if (wanted < *space || wanted > SIZE_MAX / size)
        return NULL;
    void *larger = realloc(list, wanted * size);
    if (larger)
        *space = wanted;
    else
        error_lacking();
    return larger;
}
