-- 06_content.sql - what the tensors hold: content hashes (catalog/content/digest.h).
--
-- A hash is stored once, however many tensors have it: frozen weights through the steps of a run,
-- tied copies, fine-tunes of one base. Which tensor has which takes 25 bytes more, in the table and its
-- index: 1.25 MB for 100 steps of 500 tensors. To share those, too, sets of hashes would have to be equal
-- as a whole, which steps of a run are only if nothing was trained; and rows for runs of checkpoints would
-- have to be cut and joined whenever one is imported, and make ranges of the joins below.
CREATE TABLE IF NOT EXISTS content_hashes (
  id    INTEGER PRIMARY KEY,
  hash  TEXT NOT NULL UNIQUE      -- 32 hex digits
) STRICT;

CREATE TABLE IF NOT EXISTS tensor_hashes (
  id    INTEGER PRIMARY KEY,      -- tensor.id
  hash  INTEGER NOT NULL          -- content_hashes.id
) STRICT;
CREATE INDEX IF NOT EXISTS tensor_hashes_by_hash ON tensor_hashes(hash);

CREATE TABLE IF NOT EXISTS checkpoint_hashes (
  id    INTEGER PRIMARY KEY,      -- checkpoints.id
  hash  TEXT NOT NULL
) STRICT;
CREATE INDEX IF NOT EXISTS checkpoint_hashes_by_hash ON checkpoint_hashes(hash);
