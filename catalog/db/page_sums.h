/*
 * page_sums.h - checksums of the pages of a catalog's file. SQLite's pages have none: a byte that flipped on a
 * disk would silently become another name, rule or fact, or a row that its index does not find.
 *
 * They are in the table _page_sums, together with the change counter of the file's header for which they
 * hold. Every program that writes the file increments that counter: then the sums are void, nothing is checked, and
 * the next connection of ours that may write sums all pages when it closes. Pages that only this connection wrote are
 * summed as it is written. Pages are checked as SQLite reads them, by a VFS that stands before the
 * system's; in WAL mode, where the counter stands still, they are not.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "catalog/db/sqlite.h"

/* The VFS of connections whose pages are checked, for sqlite3_open_v2(); NULL (SQLite's own) if it is unavailable. */
const char *page_sums_vfs(void);

/* Read the sums of a database of the connection ("main"), if they hold, and check each page that is read from now
 * on: one that does not hold is SQLITE_CORRUPT. Without sums that hold, nothing is checked. */
void page_sums_load(sqlite3 *, const char *schema);

/* Sum all pages of a new catalog as they are written. In the transaction that makes it. */
void page_sums_begin(sqlite3 *);

/* Before a connection is closed: write the sums if pages were written or the sums were void, and nobody else has the
 * catalog open just now. Takes away the connection's authorizer and handlers. */
void page_sums_save(sqlite3 *);

/* Whether pages of "main" are now checked, when read, against sums taken from what our programs wrote, so that
 * the rows of a page that passes are as written. If all pages were summed anew, earlier damage has correct sums. */
bool page_sums_vouch(sqlite3 *);

/* A page that was found damaged, from 1 on, and its file; 0: none. */
uint32_t page_sums_damaged(sqlite3 *, const char **file);
