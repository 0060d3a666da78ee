#include "catalog/base/name_list.h"

#include <stdlib.h>
#include <string.h>

#include "catalog/base/search.h"

/* The name of an element is its first member. */
static const char *names_name_of(const void *element)
{
    return *(const char *const *)element;
}

static int by_name(const void *a, const void *b)
{
    return strcmp(names_name_of(a), names_name_of(b));
}

static int names_compare(const void *name, const void *element)
{
    return strcmp(name, names_name_of(element));
}

uint64_t names_from(const char *const *names, uint64_t count, const char *name)
{
    uint64_t at;
    PARTITION_POINT(at, count, strcmp(names[at], name) < 0);
    return at;
}

bool names_hold(const char *const *names, uint64_t count, const char *name)
{
    return named_find(names, count, sizeof(*names), name);
}

void names_sort(const char **names, uint64_t count)
{
    named_sort(names, count, sizeof(*names));
}

void *named_find(const void *list, uint64_t count, size_t size, const char *name)
{
    return count ? bsearch(name, list, (size_t)count, size, names_compare) : NULL;
}

void named_sort(void *list, uint64_t count, size_t size)
{
    if (count)
        qsort(list, (size_t)count, size, by_name);
}
