/*
 * page.h - one HTML page that carries rows: page.html, its style and its scripts, which page.sh puts
 * together at build time, and between them the rows, compressed (zlib) and in base64. So no byte
 * of a name is ever read as HTML.
 *
 * There are two streams: with the first the page opens, the second has what may come later. Each is tables, then a varint 0 (varints are LEB128; a text is a varint, its length, and its bytes):
 *
 *   table   text name; varint number of columns; of each: text name, a byte, its kind; blocks; varint 0
 *   block   varint number of rows (at most PAGE_BLOCK); each column as a text
 *
 * The cells of a column in a block are of one of these kinds:
 *
 *   'n'     names: varint bytes in common with the one before (the first of a block: 0), text the rest
 *   'w'     words: varint 0: NULL; 1: a text follows, the next of the table's column; k + 2: the k-th of these
 *   'd'     numbers, little-endian; NaN: NULL. 8 bytes each: float64; 4 each: float32; 4: one for all of the block
 *   'r'     the same, rounded to what a float32 holds where that is in its range
 *
 * tests/fixtures/view_page.py reads it, too.
 */
#pragma once

#include "catalog/data/model/module_tree.h"
#include "shell/session/sink.h"

#define PAGE_BLOCK 1024

/* What is put around the data (page.sh). */
extern const char page_head[], page_middle[], page_tail[];

/* A page that is being written. Failures are the sink's. NULL: no memory. */
struct page *page_begin(struct sink *);
/* The tables that follow are of the second stream. Once. */
void page_later(struct page *);
/* Nothing more is written to it. Frees. */
void page_end(struct page *);

/* A table of two columns `key` and `value`, which page_fact() fills and the next table ends. */
void page_facts(struct page *, const char *table);
void page_fact(struct page *, const char *key, const char *value);

/* A table of a query's rows, which is finalized (NULL: it could not be prepared, which was said). `kinds` has the
 * kind of each column; 't' is a number, the row of the table that page_tree() wrote for the tensor of this name. */
void page_rows(struct page *, const char *table, const char *kinds, sqlite3_stmt *);

/* The table `tree`: label, depth (from 1), tensors, parameters, nbytes, dtype and shape of the modules of a
 * finished tree, parents before children. The tree is used by page_rows() after that. */
void page_tree(struct page *, struct module_tree *);
