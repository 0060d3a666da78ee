#include "catalog/base/list.h"

#include <stdint.h>
#include <stdlib.h>
#include <string.h>

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

void *list_push(struct error *err, void *list, size_t *count, size_t *space, size_t size)
{
    char *at;
    memcpy(&at, list, sizeof(at)); /* a pointer to any type of element */
    at = list_grow(at, *count, space, size);
    if (!at) {
        error_memory(err);
        return list_scratch();
    }
    memcpy(list, &at, sizeof(at));
    return memset(at + (*count)++ * size, 0, size);
}

void *list_scratch(void)
{
    static _Thread_local _Alignas(16) char scratch[LIST_ELEMENT_MAX];
    return memset(scratch, 0, sizeof(scratch));
}

void *arena_alloc(struct arena *a, size_t size)
{
    void *at = arena_room(a, size);
    return at ? memset(at, 0, size) : NULL;
}

void *arena_array(struct arena *a, size_t count, size_t size)
{
    return size && count > SIZE_MAX / size ? arena_fail(a) : arena_alloc(a, count * size);
}

char *arena_copy(struct arena *a, const void *bytes, size_t len)
{
    char *copy = len == SIZE_MAX ? arena_fail(a) : arena_room(a, len + 1);
    if (!copy)
        return a->err ? list_scratch() : NULL;
    if (len)
        memcpy(copy, bytes, len);
    copy[len] = '\0';
    return copy;
}

void *arena_grow(struct arena *a, void *array, size_t count, size_t *space, size_t size)
{
    if (count < *space)
        return array;
    size_t wanted = *space ? *space * 2 : 16;
    if (wanted < *space || wanted > SIZE_MAX / size)
        return arena_fail(a);
    void *larger = arena_room(a, wanted * size);
    if (!larger)
        return NULL;
    if (count)
        memcpy(larger, array, count * size);
    *space = wanted;
    return larger;
}
