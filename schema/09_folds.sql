-- 09_folds.sql - the modules of a layout with repeated ones folded: layers.{0..31}.mlp.
--
-- Computed at import (importer/job/folds.c). id = ID_FIRST(_layouts.id) + k.
CREATE TABLE IF NOT EXISTS _layout_folds (
  id          INTEGER PRIMARY KEY,
  module      TEXT NOT NULL,
  depth       INTEGER NOT NULL,   -- components
  tensors     INTEGER NOT NULL,   -- of all modules that are folded into it
  parameters  INTEGER NOT NULL,
  nbytes      INTEGER NOT NULL
) STRICT;
