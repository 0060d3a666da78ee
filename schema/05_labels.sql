-- 05_labels.sql - what people call each checkpoint, and what state it was found in.
--
-- Names depend on what else is catalogued, so they are renewed as a whole at the end of a
-- writing (catalog/db/labels.c); a row that is new has its path as its name until then.
CREATE TABLE IF NOT EXISTS labels (
  id     INTEGER PRIMARY KEY,   -- checkpoints.id
  name   TEXT NOT NULL,
  state  TEXT                   -- 'complete', 'incomplete', 'damaged'; NULL: an older
                                -- program indexed it, the next import will tell
) STRICT;
CREATE UNIQUE INDEX IF NOT EXISTS labels_by_name ON labels(name);
