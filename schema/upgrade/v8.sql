-- v8.sql - version 8 to 9: the names of storage begin with _. Views and triggers, which are code, are
-- made again afterwards, and so are indexes, which cannot be renamed. (With legacy_alter_table, a
-- user's own views keep their text, also those that mention what is gone.)
DROP VIEW IF EXISTS checkpoint_tensors;
DROP VIEW IF EXISTS linked;
DROP VIEW IF EXISTS place;
DROP VIEW IF EXISTS repeated;
DROP TRIGGER IF EXISTS content_changed;
DROP TRIGGER IF EXISTS content_forgotten;
DROP TRIGGER IF EXISTS optimizer_checked;
DROP TRIGGER IF EXISTS optimizer_rechecked;
DROP TRIGGER IF EXISTS rule_checked;
DROP TRIGGER IF EXISTS rule_deleted;
DROP TRIGGER IF EXISTS rule_inserted;
DROP TRIGGER IF EXISTS rule_rechecked;
DROP TRIGGER IF EXISTS rule_updated;
DROP TRIGGER IF EXISTS ruleset_checked;
DROP TRIGGER IF EXISTS ruleset_deleted;
DROP TRIGGER IF EXISTS ruleset_edited;
DROP TRIGGER IF EXISTS ruleset_rechecked;
DROP TRIGGER IF EXISTS ruleset_renamed;
DROP TRIGGER IF EXISTS statistics_left;
DROP TRIGGER IF EXISTS statistics_replaced;
DROP TRIGGER IF EXISTS statistics_shared;
DROP INDEX IF EXISTS checkpoint_hashes_by_hash;
DROP INDEX IF EXISTS checkpoints_by_layout;
DROP INDEX IF EXISTS checkpoints_by_run;
DROP INDEX IF EXISTS damages_by_checkpoint;
DROP INDEX IF EXISTS issues_by_checkpoint;
DROP INDEX IF EXISTS issues_by_path;
DROP INDEX IF EXISTS labels_by_name;
DROP INDEX IF EXISTS layout_tensors_by_name;
DROP INDEX IF EXISTS layout_tensors_by_size;
DROP INDEX IF EXISTS statistics_by_content;
DROP INDEX IF EXISTS tensor_hashes_by_hash;
DROP INDEX IF EXISTS tensor_statistics_by_row;
PRAGMA legacy_alter_table = ON;
ALTER TABLE layouts RENAME TO _layouts;
ALTER TABLE layout_dtypes RENAME TO _layout_dtypes;
ALTER TABLE metas RENAME TO _metas;
ALTER TABLE meta_facts RENAME TO _meta_facts;
ALTER TABLE checkpoints RENAME TO _checkpoints;
ALTER TABLE placements RENAME TO _placements;
ALTER TABLE checksums RENAME TO _checksums;
ALTER TABLE files RENAME TO _files;
ALTER TABLE passed RENAME TO _passed;
ALTER TABLE issues RENAME TO _issues;
ALTER TABLE layout_tensors RENAME TO _layout_tensors;
ALTER TABLE layout_nodes RENAME TO _layout_nodes;
ALTER TABLE layout_modules RENAME TO _layout_modules;
ALTER TABLE labels RENAME TO _labels;
ALTER TABLE content_hashes RENAME TO _content_hashes;
ALTER TABLE tensor_hashes RENAME TO _tensor_hashes;
ALTER TABLE checkpoint_hashes RENAME TO _checkpoint_hashes;
ALTER TABLE verifications RENAME TO _verifications;
ALTER TABLE damages RENAME TO _damages;
ALTER TABLE long_texts RENAME TO _long_texts;
ALTER TABLE long_facts RENAME TO _long_facts;
ALTER TABLE statistics RENAME TO _statistics;
ALTER TABLE tensor_statistics RENAME TO _tensor_statistics;
ALTER TABLE layout_blocks RENAME TO _layout_blocks;
ALTER TABLE layout_folds RENAME TO _layout_folds;
ALTER TABLE looked RENAME TO _looked;
ALTER TABLE unread RENAME TO _unread;
ALTER TABLE outdated RENAME TO _outdated;
PRAGMA legacy_alter_table = OFF;
CREATE INDEX _issues_by_path ON _issues(path);
ALTER TABLE _labels ADD COLUMN run TEXT;
CREATE TABLE _layout_kinds (
  id INTEGER PRIMARY KEY, dtype TEXT, shape TEXT, elements INTEGER, nbytes INTEGER
) STRICT;
INSERT INTO _layout_kinds
SELECT ID_FIRST(layout) + row_number() OVER (PARTITION BY layout) - 1, dtype, shape, elements, nbytes
FROM (SELECT DISTINCT ID_OWNER(id) AS layout, dtype, shape, elements, nbytes FROM _layout_tensors);
UPDATE _issues SET code = 'gone' WHERE code = 'vanished';
