-- 04_known_class.sql - verdicts on classes and functions that a pickle names. A name is exact
-- ('argparse.Namespace'), or ends in '.*' and stands for all names with this prefix ('subprocess.*'): an exact
-- name wins, then the longest prefix. Users may add rows.
CREATE TABLE IF NOT EXISTS known_class (
  name     TEXT PRIMARY KEY CHECK (length(CAST(name AS BLOB)) BETWEEN 1 AND 1024),
  verdict  TEXT NOT NULL CHECK (verdict IN ('safe', 'dangerous')),
  why      TEXT NOT NULL DEFAULT ''
) STRICT;

-- The shipped rows (schema/known_class.sql), and a digest of that file: a newer program replaces rows that
-- nobody has edited.
CREATE TABLE IF NOT EXISTS _known_shipped (
  name     TEXT PRIMARY KEY,
  verdict  TEXT NOT NULL,
  why      TEXT NOT NULL,
  edition  INTEGER NOT NULL DEFAULT 0
) STRICT;
