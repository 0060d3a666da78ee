-- names_begin.sql - a catalog from before version 7 has tensor names as numbers of a table `names`. Its
-- tables of layouts are put aside; 02_layouts.sql makes them anew, and names_end.sql fills them. (A user's
-- views may name them: those are left alone.)
PRAGMA legacy_alter_table = ON;
CREATE INDEX IF NOT EXISTS layout_tensors_by_name ON layout_tensors(name);
ALTER TABLE layout_tensors RENAME TO old_tensors;
ALTER TABLE layout_nodes RENAME TO old_nodes;
ALTER TABLE layout_modules RENAME TO old_modules;
PRAGMA legacy_alter_table = OFF;
