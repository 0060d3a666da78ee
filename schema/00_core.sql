-- 00_core.sql - the tables. Names that begin with _ are storage and may change with
-- user_version; the views (10_views.sql) and the tables ruleset, rule and optimizer are
-- the public face. How they fit together: schema/README.md.
--
-- Indexes are in 01_indexes.sql: a new catalog gets them after its first import.

-- What checkpoints can share: names, dtypes, shapes, and where in their files the bytes are.
-- `logical` digests names, dtypes, shapes and nodes; `placement` digests the rest.
CREATE TABLE _layouts (
  id          INTEGER PRIMARY KEY,
  logical     BLOB NOT NULL UNIQUE,
  placement   BLOB NOT NULL,
  tensors     INTEGER NOT NULL,
  parameters  INTEGER NOT NULL,
  nbytes      INTEGER NOT NULL,
  stored      INTEGER           -- NULL: not known without a look at every chunk
) STRICT;

-- Their tensors, nodes and modules: 02_layouts.sql. id = ID_FIRST(layout) + k.
CREATE TABLE _layout_dtypes (
  id          INTEGER PRIMARY KEY,
  dtype       TEXT,
  tensors     INTEGER NOT NULL,
  parameters  INTEGER NOT NULL,
  nbytes      INTEGER NOT NULL
) STRICT;

-- The metadata of checkpoints; those that have the same share a row.
CREATE TABLE _metas (
  id      INTEGER PRIMARY KEY,
  digest  BLOB NOT NULL UNIQUE
) STRICT;

CREATE TABLE _meta_facts (
  id     INTEGER PRIMARY KEY,   -- ID_FIRST(_metas.id) + k
  key    TEXT NOT NULL,
  value  ANY
) STRICT;

CREATE TABLE _checkpoints (
  id         INTEGER PRIMARY KEY,
  path       TEXT NOT NULL UNIQUE,
  format     TEXT NOT NULL,
  run        TEXT,
  step       INTEGER,
  item       TEXT,
  layout     INTEGER NOT NULL REFERENCES _layouts(id),
  meta       INTEGER REFERENCES _metas(id),
  placed     INTEGER NOT NULL,  -- 1: _placements says where its tensors are
  stored     INTEGER,
  files      INTEGER NOT NULL,
  mtime_ns   INTEGER,           -- of its newest file
  imported   INTEGER NOT NULL   -- seconds since 1970
) STRICT;

-- Where the tensors of a checkpoint are, if not where its layout says. id = tensor.id.
CREATE TABLE _placements (
  id       INTEGER PRIMARY KEY,
  storage  INTEGER NOT NULL,
  file     INTEGER,
  start    INTEGER,
  stored   INTEGER,
  codec    TEXT,
  strides  TEXT,
  extents  BLOB
) STRICT;

-- Checksums that are stored in the files: 4 bytes each, little-endian; one per tensor, then one
-- for each further extent (tensor.h).
CREATE TABLE _checksums (
  id    INTEGER PRIMARY KEY REFERENCES _checkpoints(id) ON DELETE CASCADE,
  kind  TEXT NOT NULL,          -- 'crc32c', 'crc32'
  sums  BLOB NOT NULL
) STRICT;

-- id = ID_FIRST(checkpoint) + position.
CREATE TABLE _files (
  id        INTEGER PRIMARY KEY,
  path      TEXT NOT NULL,
  size      INTEGER,            -- NULL: missing when the checkpoint was indexed
  mtime_ns  INTEGER,
  inode     INTEGER,
  device    INTEGER,
  role      TEXT NOT NULL,      -- 'data', 'index', 'config', ...
  base      INTEGER NOT NULL    -- added to the offsets of tensors in this file
) STRICT;

-- Files that were examined and are not part of a checkpoint: not opened again unless they
-- change.
CREATE TABLE _passed (
  path      TEXT PRIMARY KEY,
  size      INTEGER NOT NULL,
  mtime_ns  INTEGER NOT NULL,
  inode     INTEGER NOT NULL,
  device    INTEGER NOT NULL
) STRICT, WITHOUT ROWID;

CREATE TABLE _issues (
  id          INTEGER PRIMARY KEY,
  checkpoint  INTEGER REFERENCES _checkpoints(id) ON DELETE CASCADE,
  path        TEXT NOT NULL,
  offset      INTEGER,
  severity    TEXT NOT NULL CHECK (severity IN ('error', 'warning')),
  code        TEXT NOT NULL,
  message     TEXT NOT NULL
) STRICT;
CREATE INDEX _issues_by_path ON _issues(path);

-- Maps. Shipped sets are marked, so that an upgrade can replace them.
CREATE TABLE ruleset (
  name     TEXT PRIMARY KEY,
  dialect  TEXT NOT NULL,
  options  TEXT NOT NULL DEFAULT '{}',   -- JSON, as are the columns so marked below
  shipped  INTEGER NOT NULL DEFAULT 0
) STRICT;

-- One rule. `compute` defines further groups for the replacement, computed from the match with
-- look-up tables and integers; `ops` are tensor operations (schema/rules/README.md).
CREATE TABLE rule (
  ruleset      TEXT NOT NULL REFERENCES ruleset(name) ON DELETE CASCADE ON UPDATE CASCADE,
  ord          INTEGER NOT NULL,
  pattern      TEXT NOT NULL,
  replacement  TEXT,
  compute      TEXT,            -- JSON
  ops          TEXT,            -- JSON
  PRIMARY KEY (ruleset, ord)
) STRICT;

CREATE TABLE optimizer (
  name  TEXT PRIMARY KEY,
  spec  TEXT NOT NULL           -- JSON
) STRICT;
