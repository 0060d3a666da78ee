-- 04_module_sums.sql - all modules of a layout and their sums in one value (catalog/data/model/module_sums.h). The
-- program's table by_module reads it. A layout that an earlier program wrote, or with a NUL in a name, has no row
-- here; then the table reads _layout_modules and _layout_tensors, as the view of this name does.
CREATE TABLE IF NOT EXISTS _layout_module_sums (
  id    INTEGER PRIMARY KEY,   -- _layouts.id
  sums  BLOB NOT NULL
) STRICT;
