/*
 * heap.h - memory for SQLite, which takes and frees ten thousand small blocks to open a catalog and
 * prepare a query: with malloc() and free(), a third of the instructions of a command that prints a few
 * rows. SQLite has lists of its own for that, but many builds leave them out.
 */
#pragma once

/* Before SQLite is used. */
void heap_for_sqlite(void);
