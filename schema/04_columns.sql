-- 04_columns.sql - columns that many tensors of a layout have alike, packed into one value
-- (catalog/data/model/packed_columns.h). The program's table tensor reads it. A layout that an earlier program
-- wrote, or whose tensors have little in common, has no row here; then _layout_tensors is read.
CREATE TABLE IF NOT EXISTS _layout_columns (
  id       INTEGER PRIMARY KEY,   -- _layouts.id
  columns  BLOB NOT NULL
) STRICT;
