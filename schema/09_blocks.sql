-- 09_blocks.sql - digests of runs of a layout's tensors (catalog/model/blocks.h): what two large layouts
-- have in common is found without reading their rows. Of those of 1,024 tensors and more.
CREATE TABLE IF NOT EXISTS layout_blocks (
  id      INTEGER PRIMARY KEY,   -- layouts.id
  blocks  BLOB NOT NULL          -- 20 bytes each: 16 of a SHA-256, and how many tensors (little-endian)
) STRICT;
