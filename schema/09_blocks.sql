-- 09_blocks.sql - digests of runs of a layout's tensors (catalog/data/model/blocks.h), to find what two
-- large layouts have in common without reading their rows. For layouts of at least 1,024 tensors.
CREATE TABLE IF NOT EXISTS _layout_blocks (
  id      INTEGER PRIMARY KEY,   -- _layouts.id
  blocks  BLOB NOT NULL          -- 20 bytes each: 16 of a SHA-256, and how many tensors (little-endian)
) STRICT;
