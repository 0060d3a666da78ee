/*
 * version.h - of the program, as `ckptdb --version` and the catalog have it.
 */
#ifndef CKPTDB_BASE_VERSION_H
#define CKPTDB_BASE_VERSION_H

#define CKPTDB_VERSION "0.1.0"

#endif
