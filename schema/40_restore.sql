-- 40_restore.sql - T5X's restore_from_t5_checkpoint on every checkpoint under every
-- rule set that translates names: without a model (target_id NULL; strict is 1), and with
-- every checkpoint as the model. Its input is the rows of a translation (map/translation.sql) and
-- the leaves of the model; catalog/maps/map/t5_restore.c does zeros, biases and the model's refusals.
CREATE VIEW restore AS
SELECT x.ruleset,
       c.id AS checkpoint_id,
       m.target_id,
       m.strict,
       x.ord,
       x.name,
       x.old_name,
       x.tensor_id,
       x.origin,
       x.dtype,
       x.shape,
       x.status,
       x.error,
       x.note,
       x.ops
FROM _checkpoints c
JOIN (SELECT NULL AS target_id, 1 AS strict
      UNION ALL SELECT id, 1 FROM _checkpoints
      UNION ALL SELECT id, 0 FROM _checkpoints) m
JOIN "restore_rows (of ckptdb.so: load this extension first)" x
  ON x.source = c.id AND x.target_id = ifnull(m.target_id, 0) AND x.strict = m.strict;
