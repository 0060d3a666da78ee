-- 04_columns.sql - the columns of a layout's tensors that many of them have alike, in one value
-- (catalog/data/model/packed_columns.h), from which the program's table tensor is answered. A layout that an earlier
-- program wrote, or whose tensors have little in common, has no row here; then _layout_tensors is read.
CREATE TABLE IF NOT EXISTS _layout_columns (
  id       INTEGER PRIMARY KEY,   -- _layouts.id
  columns  BLOB NOT NULL
) STRICT;
