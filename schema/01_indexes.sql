-- 01_indexes.sql - built after the first import into a new catalog, which takes half the time of
-- maintaining them during the import; and whenever a catalog without them is opened for writing.
CREATE INDEX IF NOT EXISTS _layout_tensors_by_name ON _layout_tensors(name);
CREATE INDEX IF NOT EXISTS _layout_kinds_by_size ON _layout_kinds(nbytes);
CREATE INDEX IF NOT EXISTS _checkpoints_by_layout ON _checkpoints(layout);
CREATE INDEX IF NOT EXISTS _checkpoints_by_run ON _checkpoints(run, step);
CREATE INDEX IF NOT EXISTS _issues_by_checkpoint ON _issues(checkpoint);
CREATE INDEX IF NOT EXISTS _files_by_path ON _files(path);
