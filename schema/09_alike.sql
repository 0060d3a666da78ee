-- 09_alike.sql - which layouts have the same names, dtypes and shapes, in whatever order: the column `layout`
-- of the view `checkpoint` is the first of them.
CREATE TABLE IF NOT EXISTS _layout_alike (
  id      INTEGER PRIMARY KEY,   -- _layouts.id
  digest  BLOB NOT NULL,         -- as _layouts.logical, of the tensors and nodes in the order of their names
  first   INTEGER NOT NULL       -- the first layout of this digest
) STRICT;
CREATE INDEX IF NOT EXISTS _layout_alike_by_digest ON _layout_alike(digest);
