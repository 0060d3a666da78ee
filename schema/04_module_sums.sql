-- 04_module_sums.sql - all modules of a layout and their sums in one value (catalog/data/model/module_sums.h), from
-- which the program's table by_module is answered. A layout that an earlier program wrote, or with a NUL in a name, has
-- no row here; then it is answered from _layout_modules and _layout_tensors, as the view of this name.
CREATE TABLE IF NOT EXISTS _layout_module_sums (
  id    INTEGER PRIMARY KEY,   -- _layouts.id
  sums  BLOB NOT NULL
) STRICT;
