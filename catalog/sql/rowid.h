/*
 * rowid.h - row ids of table-valued functions. SQLite identifies rows by them when it combines
 * several calls: for `a = 1 OR b = 2` it makes two calls and returns each row once, and for a FULL
 * JOIN it first asks by key and then for all rows. So the id must depend on the row and its
 * arguments, not on the call.
 */
#pragma once

#include <stdint.h>

#include "catalog/db/sqlite.h"

/* Start with 0, and add everything that distinguishes rows. (The step of splitmix64.) */
static inline uint64_t rowid_add(uint64_t id, uint64_t part)
{
    uint64_t x = (id ^ part) + 0x9e3779b97f4a7c15u;
    x = (x ^ x >> 30) * 0xbf58476d1ce4e5b9u;
    x = (x ^ x >> 27) * 0x94d049bb133111ebu;
    return x ^ x >> 31;
}

/* Add an argument, as text; NULL: it was not given. */
static inline uint64_t rowid_add_value(uint64_t id, sqlite3_value *value)
{
    const unsigned char *text = value ? sqlite3_value_text(value) : NULL;
    int len = text ? sqlite3_value_bytes(value) : -1;
    id = rowid_add(id, (uint64_t)len);
    for (int i = 0; i < len; i++)
        id = rowid_add(id, text[i]);
    return id;
}
