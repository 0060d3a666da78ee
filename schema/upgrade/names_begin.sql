-- names_begin.sql - before version 7, tensor names were numbers of rows in a table `names`. This
-- renames the old tables of layouts; then 02_layouts.sql creates the new ones, and names_end.sql
-- fills them. (With legacy_alter_table, a user's views that mention the tables keep their text.)
PRAGMA legacy_alter_table = ON;
CREATE INDEX IF NOT EXISTS layout_tensors_by_name ON layout_tensors(name);
ALTER TABLE layout_tensors RENAME TO old_tensors;
ALTER TABLE layout_nodes RENAME TO old_nodes;
ALTER TABLE layout_modules RENAME TO old_modules;
PRAGMA legacy_alter_table = OFF;
