-- 20_translation.sql - every leaf of every checkpoint under every rule set that translates
-- names as T5X's CheckpointTranslator does (query/translation.sql).
--
-- `wins` is 0 where the original would keep a later leaf of the same new name. A set whose
-- mode is strict makes an error of that.
CREATE VIEW translation AS
SELECT r.name AS ruleset,
       x.checkpoint_id,
       x.ord,
       iif(x.is_tensor, (x.checkpoint_id << 24) + x.ord, NULL) AS tensor_id,
       x.old_name,
       x.new_name,
       x.dtype,
       x.shape,
       x.rule,
       x.status,
       x.error,
       CASE WHEN x.status = 'ok' AND NOT x.wins
            THEN 'hidden by a later name that becomes the same' END AS note,
       x.wins,
       x.ops
FROM ruleset r
JOIN translation_rows(r.name) x
WHERE r.dialect = 't5x-translator';
