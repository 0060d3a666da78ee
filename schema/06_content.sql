-- 06_content.sql - content hashes of tensors (catalog/data/kernel/digest.h).
--
-- A hash is stored once, however many tensors have it: frozen weights across the steps of a run,
-- tied copies, fine-tunes of one base. Which tensor has which hash takes another 25 bytes, in the
-- table and its index: 1.25 MB for 100 steps of 500 tensors. Sharing these rows as well is not
-- worth it: complete sets of hashes are equal only between steps that trained nothing, and rows
-- for ranges of checkpoints would have to be split and merged at each import, and would turn the
-- joins below into range joins.
CREATE TABLE IF NOT EXISTS _content_hashes (
  id    INTEGER PRIMARY KEY,
  hash  TEXT NOT NULL UNIQUE      -- 32 hex digits
) STRICT;

CREATE TABLE IF NOT EXISTS _tensor_hashes (
  id    INTEGER PRIMARY KEY,      -- tensor.id
  hash  INTEGER NOT NULL          -- _content_hashes.id
) STRICT;
CREATE INDEX IF NOT EXISTS _tensor_hashes_by_hash ON _tensor_hashes(hash);

CREATE TABLE IF NOT EXISTS _checkpoint_hashes (
  id    INTEGER PRIMARY KEY,      -- _checkpoints.id
  hash  TEXT NOT NULL
) STRICT;
CREATE INDEX IF NOT EXISTS _checkpoint_hashes_by_hash ON _checkpoint_hashes(hash);
