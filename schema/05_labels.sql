-- 05_labels.sql - the readable name of each checkpoint, and the state in which it was found.
--
-- Names depend on what else is catalogued, so all are recomputed at the end of each import
-- (catalog/db/labels.c); until then a new row has its path as its name.
CREATE TABLE IF NOT EXISTS labels (
  id     INTEGER PRIMARY KEY,   -- checkpoints.id
  name   TEXT NOT NULL,
  state  TEXT                   -- 'complete', 'incomplete', 'damaged'; NULL: an older
                                -- program indexed it, the next import will tell
) STRICT;
CREATE UNIQUE INDEX IF NOT EXISTS labels_by_name ON labels(name);
