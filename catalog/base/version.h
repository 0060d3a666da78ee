/*
 * version.h - the program's version, as printed by `ckptdb --version` and stored in the catalog.
 */
#pragma once

#define CKPTDB_VERSION "0.1.0"
