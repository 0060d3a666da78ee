-- 08_stats.sql - statistics of tensors' values (catalog/content/stats.h).
--
-- Tensors of the same hash and dtype share a row.
CREATE TABLE IF NOT EXISTS _statistics (
  id          INTEGER PRIMARY KEY,
  hash        INTEGER,            -- _content_hashes.id; NULL: not known
  dtype       TEXT NOT NULL,
  elements    INTEGER NOT NULL,
  finite      INTEGER NOT NULL,   -- the rest are NaN and infinities
  zeros       INTEGER NOT NULL,
  nans        INTEGER NOT NULL,
  infs        INTEGER NOT NULL,
  subnormals  INTEGER NOT NULL,
  min         REAL,               -- this and all below: finite values only; NULL if absent
  max         REAL,
  mean        REAL,
  std         REAL,               -- divided by n, not n - 1
  l2          REAL,
  histogram   TEXT                -- JSON: {"edges":[…],"counts":[…]}
) STRICT;
CREATE UNIQUE INDEX IF NOT EXISTS _statistics_by_content ON _statistics(hash, dtype);

CREATE TABLE IF NOT EXISTS _tensor_statistics (
  id          INTEGER PRIMARY KEY,  -- tensor.id
  statistics  INTEGER NOT NULL      -- _statistics.id
) STRICT;
CREATE INDEX IF NOT EXISTS _tensor_statistics_by_row ON _tensor_statistics(statistics);
