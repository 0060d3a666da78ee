-- 01_indexes.sql - indexes. A new catalog gets them after its first import, in half the time that
-- maintaining them during the import takes; another without them, when it is opened for writing.
CREATE INDEX IF NOT EXISTS _layout_tensors_by_name ON _layout_tensors(name);
CREATE INDEX IF NOT EXISTS _layout_kinds_by_size ON _layout_kinds(nbytes);
CREATE INDEX IF NOT EXISTS _checkpoints_by_layout ON _checkpoints(layout);
CREATE INDEX IF NOT EXISTS _checkpoints_by_run ON _checkpoints(run, step);
CREATE INDEX IF NOT EXISTS _issues_by_checkpoint ON _issues(checkpoint);
CREATE INDEX IF NOT EXISTS _files_by_path ON _files(path);
