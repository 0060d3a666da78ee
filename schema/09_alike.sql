-- 09_alike.sql - layouts that have the same names, dtypes and shapes, in any order. The column `layout` of the
-- view `checkpoint` is the first one.
CREATE TABLE IF NOT EXISTS _layout_alike (
  id      INTEGER PRIMARY KEY,   -- _layouts.id
  sum     INTEGER NOT NULL,      -- of hashes of the tensors' names
  digest  BLOB,                  -- of the tensors and nodes in the order of their names; NULL: none has this sum, too
  first   INTEGER NOT NULL       -- the first layout of this sum and digest
) STRICT;
CREATE INDEX IF NOT EXISTS _layout_alike_by_sum ON _layout_alike(sum, digest);
