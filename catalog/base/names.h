/*
 * names.h - looking things up in lists of names that are sorted bytewise.
 */
#ifndef CKPTDB_BASE_NAMES_H
#define CKPTDB_BASE_NAMES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* The position of the first name that is not below `name`; `count` where all are. */
uint64_t names_from(const char *const *names, uint64_t count, const char *name);

bool names_hold(const char *const *names, uint64_t count, const char *name);

void names_sort(const char **names, uint64_t count);

/* The same in a list of structs of `size` bytes that begin with their name (a `const char *`):
 * the one so called, or NULL (as bsearch() has it: of a const list it is const, too). */
void *named_find(const void *list, uint64_t count, size_t size, const char *name);
void named_sort(void *list, uint64_t count, size_t size);

#endif
