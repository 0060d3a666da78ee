-- 20_translation.sql - every leaf of every checkpoint under every rule set that translates names as
-- T5X's CheckpointTranslator does. map/translation.sql defines a translation: a SELECT for one rule
-- set and one checkpoint. The function that this view calls (catalog/sql/vt_map.c) runs it for each
-- requested pair, once for all checkpoints of a layout, and without unused columns.
-- (As a plain view SQLite 3.40 would translate each checkpoint anew, and all checkpoints first where the
-- view is joined.)
--
-- `wins` is 0 if the original would keep a later leaf with the same new name instead. In a set whose
-- mode is strict that is an error.
CREATE VIEW translation AS
SELECT x.ruleset,
       x.checkpoint_id,
       x.ord,
       x.tensor_id,
       x.old_name,
       x.new_name,
       x.dtype,
       x.shape,
       x.rule,
       x.status,
       x.error,
       x.note,
       x.wins,
       x.ops
FROM "translation_rows (of ckptdb.so: load this extension first)" x;
