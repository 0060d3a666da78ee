/*
 * name_list.h - look-up in lists of names that are sorted bytewise.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* The position of the first name that is not less than `name`; `count` if all are less. */
uint64_t names_from(const char *const *names, uint64_t count, const char *name);

bool names_hold(const char *const *names, uint64_t count, const char *name);

void names_sort(const char **names, uint64_t count);

/* The same for a list of structs of `size` bytes whose first member is their name (a `const char
 * *`): finds the one with this name, or NULL. (As in bsearch() the result is not const; do not
 * change the elements of a const list.) */
void *named_find(const void *list, uint64_t count, size_t size, const char *name);
void named_sort(void *list, uint64_t count, size_t size);
