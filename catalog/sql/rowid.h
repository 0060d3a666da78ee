/*
 * rowid.h - which row of a table-valued function a row is. SQLite tells rows apart by this number
 * where several calls meet: `a = 1 OR b = 2` is two calls, whose rows count once, and a FULL JOIN asks
 * by key first and for all rows then. So it depends on the row and its arguments, not on the call.
 */
#ifndef CKPTDB_SQL_ROWID_H
#define CKPTDB_SQL_ROWID_H

#include <stdint.h>

#include "catalog/db/sqlite.h"

/* Begin with 0, and add all that tells rows apart. (The step of splitmix64.) */
static inline uint64_t rowid_add(uint64_t id, uint64_t part)
{
    uint64_t x = (id ^ part) + 0x9e3779b97f4a7c15u;
    x = (x ^ x >> 30) * 0xbf58476d1ce4e5b9u;
    x = (x ^ x >> 27) * 0x94d049bb133111ebu;
    return x ^ x >> 31;
}

/* The same of an argument as text; NULL: none. */
static inline uint64_t rowid_add_value(uint64_t id, sqlite3_value *value)
{
    const unsigned char *text = value ? sqlite3_value_text(value) : NULL;
    int len = text ? sqlite3_value_bytes(value) : -1;
    id = rowid_add(id, (uint64_t)len);
    for (int i = 0; i < len; i++)
        id = rowid_add(id, text[i]);
    return id;
}

#endif
