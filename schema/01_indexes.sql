-- 01_indexes.sql - built after the first import into a new catalog, which takes half the time of
-- maintaining them during the import; and whenever a catalog without them is opened for writing.
CREATE INDEX IF NOT EXISTS layout_tensors_by_name ON layout_tensors(name);
CREATE INDEX IF NOT EXISTS layout_tensors_by_size ON layout_tensors(nbytes);
CREATE INDEX IF NOT EXISTS checkpoints_by_layout ON checkpoints(layout);
CREATE INDEX IF NOT EXISTS checkpoints_by_run ON checkpoints(run, step);
CREATE INDEX IF NOT EXISTS issues_by_checkpoint ON issues(checkpoint);
