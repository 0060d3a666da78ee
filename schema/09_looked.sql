-- 09_looked.sql - which program filled the table `passed` (its version, and a digest of its
-- sources), as one row. Another program may be able to read files that this one passed over.

CREATE TABLE IF NOT EXISTS looked (looker TEXT NOT NULL) STRICT;

-- The files of `passed` that look like checkpoints but cannot be read; `kind` is a name that
-- `formats` lists.
CREATE TABLE IF NOT EXISTS unread (
  path  TEXT PRIMARY KEY REFERENCES passed(path) ON DELETE CASCADE,
  kind  TEXT NOT NULL
) STRICT, WITHOUT ROWID;

-- Checkpoints that another program indexed. It may have read them differently, so the next import
-- that reaches them reads them again.
CREATE TABLE IF NOT EXISTS outdated (
  id  INTEGER PRIMARY KEY   -- checkpoints.id
) STRICT;
