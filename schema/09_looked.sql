-- 09_looked.sql - the program that filled the table `_passed` (its version, and a digest of its
-- sources), in one row. Another program may read files that this one passed over.

CREATE TABLE IF NOT EXISTS _looked (looker TEXT NOT NULL) STRICT;

-- The files of `_passed` that look like checkpoints but cannot be read; `kind` is a name that
-- `formats` lists.
CREATE TABLE IF NOT EXISTS _unread (
  path  TEXT PRIMARY KEY REFERENCES _passed(path) ON DELETE CASCADE,
  kind  TEXT NOT NULL
) STRICT, WITHOUT ROWID;

-- Checkpoints that another program indexed. It may have read them differently, so the next import
-- that reaches them reads them again.
CREATE TABLE IF NOT EXISTS _outdated (
  id  INTEGER PRIMARY KEY   -- _checkpoints.id
) STRICT;
