-- 05_labels.sql - the readable name of each checkpoint, and the state in which it was found.
--
-- Names depend on what else is catalogued, so all are recomputed at the end of each import
-- (catalog/db/labels.c); until then a new row has its path as its name, and no run.
CREATE TABLE IF NOT EXISTS _labels (
  id     INTEGER PRIMARY KEY,   -- _checkpoints.id
  name   TEXT NOT NULL,
  state  TEXT,                  -- 'complete', 'incomplete', 'damaged' (the view says 'gone'
                                -- while there is such an issue); NULL: an older
                                -- program indexed it, the next import will tell
  run    TEXT                   -- what stands before @ in its name; NULL: it is in no run
) STRICT;
CREATE UNIQUE INDEX IF NOT EXISTS _labels_by_name ON _labels(name);
CREATE INDEX IF NOT EXISTS _labels_by_run ON _labels(run);
