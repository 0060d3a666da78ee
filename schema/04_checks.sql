-- 04_checks.sql - checksums of what _layout_tensors holds, written with a layout (catalog/data/model/checks.h):
-- SQLite's pages have none: a flipped byte in a name would be read as another name. A layout that an
-- earlier program wrote has no row here, and is not checked.
CREATE TABLE IF NOT EXISTS _layout_checks (
  id      INTEGER PRIMARY KEY,   -- _layouts.id
  checks  BLOB NOT NULL          -- 4 bytes for each column of 512 tensors
) STRICT;

-- Checksums of the file's pages (catalog/db/page_sums.h), in one row. Earlier programs do not write them; after
-- one has written, the row is void.
CREATE TABLE IF NOT EXISTS _page_sums (
  id    INTEGER PRIMARY KEY,   -- 1
  sums  BLOB NOT NULL          -- 4 bytes each: the change counter for which they hold, then one for each page
) STRICT;
