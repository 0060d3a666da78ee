-- 07_damage.sql - what `verify` found, and when. Only the findings of the last run are kept.
CREATE TABLE IF NOT EXISTS _verifications (
  id     INTEGER PRIMARY KEY,     -- _checkpoints.id
  at     INTEGER NOT NULL,        -- seconds since 1970
  quick  INTEGER NOT NULL,        -- 1: headers and indexes only
  open   INTEGER NOT NULL         -- 1: its run was interrupted, and will continue after these
) STRICT;

CREATE TABLE IF NOT EXISTS _damages (
  checkpoint  INTEGER NOT NULL,   -- _checkpoints.id
  name        TEXT,               -- of a tensor; NULL: all tensors, or none
  file        TEXT,
  offset      INTEGER,
  code        TEXT NOT NULL,
  message     TEXT NOT NULL
) STRICT;
CREATE INDEX IF NOT EXISTS _damages_by_checkpoint ON _damages(checkpoint);
