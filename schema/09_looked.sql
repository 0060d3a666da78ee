-- 09_looked.sql - who filled the table `passed`: the program (its version, and a digest of its sources),
-- in one row. What it passed over, another one may be able to read.

CREATE TABLE IF NOT EXISTS looked (looker TEXT NOT NULL) STRICT;

-- What files of `passed` are that look like checkpoints and are not read, by the names that
-- `formats` lists.
CREATE TABLE IF NOT EXISTS unread (
  path  TEXT PRIMARY KEY REFERENCES passed(path) ON DELETE CASCADE,
  kind  TEXT NOT NULL
) STRICT, WITHOUT ROWID;

-- Checkpoints that another program indexed. It may have read them otherwise: the next import that comes to
-- them reads them anew.
CREATE TABLE IF NOT EXISTS outdated (
  id  INTEGER PRIMARY KEY   -- checkpoints.id
) STRICT;
