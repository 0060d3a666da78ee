-- 02_layouts.sql - what a layout consists of. Names are texts here, so that a tensor is found by its
-- name in one step, and read without a second one.

-- The tensors of a layout. id = ID_FIRST(layout) + position in the file's own order.
CREATE TABLE IF NOT EXISTS _layout_tensors (
  id        INTEGER PRIMARY KEY,
  name      TEXT NOT NULL,
  dtype     TEXT,               -- NULL: not known (names-only checkpoints)
  shape     TEXT,               -- JSON; NULL: not known
  elements  INTEGER,
  nbytes    INTEGER,            -- logical bytes; NULL: the dtype has no size
  module    INTEGER,            -- length of the prefix that is a module of this tensor only
  storage   INTEGER NOT NULL,   -- 0 none, 1 range, 2 pieces, 3 chunks, 4 inline
  file      INTEGER,            -- position in the checkpoint's files
  start     INTEGER,            -- of a range, relative to the file's base
  stored    INTEGER,
  codec     TEXT,               -- steps from stored bytes to elements (codec.h)
  strides   TEXT,               -- JSON, in elements; NULL: C order
  extents   BLOB                -- packed list (tensor.h); NULL for a range
) STRICT;

-- The empty leaves of trees. id as in _layout_tensors; `before`: the number of tensors before it.
CREATE TABLE IF NOT EXISTS _layout_nodes (
  id      INTEGER PRIMARY KEY,
  name    TEXT NOT NULL,
  kind    TEXT NOT NULL,        -- 'null', 'dict', 'list'
  before  INTEGER NOT NULL
) STRICT;

-- Sums by module, computed at import. id = ID_FIRST(layout) + k. A module is stored as the first
-- `length` characters of the name of a tensor in it. Most modules hold a single tensor: for each
-- tensor the longest one of these has no row here, but is _layout_tensors.module.
CREATE TABLE IF NOT EXISTS _layout_modules (
  id          INTEGER PRIMARY KEY,
  tensor      INTEGER NOT NULL,   -- the position of that tensor in the layout
  length      INTEGER NOT NULL,
  depth       INTEGER NOT NULL,
  tensors     INTEGER NOT NULL,
  parameters  INTEGER NOT NULL,
  nbytes      INTEGER NOT NULL
) STRICT;
