/*
 * open.h - opens a catalog with all of its SQL functions.
 */
#pragma once

#include "catalog/db/db.h"

/* See db_open_with(). */
enum status db_open_waiting(const char *path, enum db_mode mode, const struct db_wait *wait,
                            sqlite3 **out, struct error *err);
/* The same without a `wait`. */
enum status db_open(const char *path, enum db_mode mode, sqlite3 **out, struct error *err);
