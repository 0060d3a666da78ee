/*
 * version.h - the program's version, as printed by `ckptdb --version` and stored in the catalog.
 */
#ifndef CKPTDB_VERSION_H
#define CKPTDB_VERSION_H

#define CKPTDB_VERSION "0.1.0"

#endif
