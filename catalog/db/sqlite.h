/*
 * sqlite.h - SQLite's header, for the program (SQLITE_CORE) and for the loadable extension,
 * where every call goes through the host's table. tests/lint.sh lists who may include it.
 */
#pragma once

#ifdef SQLITE_CORE
#    include <sqlite3.h>
#else
#    include <sqlite3ext.h>
SQLITE_EXTENSION_INIT3
#endif
