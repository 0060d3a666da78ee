-- assignment_each.sql - what the leaves of a target get from sources, as the rule set's dialect
-- has it: one SELECT a dialect, of which one has rows. Then the operations of the rules. The
-- view `assignment` asks for it. $source_id NULL: from every checkpoint.
--
-- Sources of one layout give the same, but for whose tensors they are: it is worked out once.
WITH
  span(source, checkpoints) AS MATERIALIZED (
    SELECT id, id FROM checkpoints WHERE id = $source_id
    UNION ALL
    SELECT min(id), iif(count(*) = 1, min(id), group_concat(id)) FROM checkpoints
    WHERE $source_id IS NULL GROUP BY layout
  ),
  operates(yes) AS MATERIALIZED (
    SELECT EXISTS (SELECT 1 FROM rule WHERE ruleset = :ruleset AND nullif(ops, '[]') NOT NULL)
  )
SELECT checkpoints AS each_source_id,
       new_name, old_name, tensor_id & 16777215 AS ord, dtype,
       iif((SELECT yes FROM operates) AND ops IS NOT NULL, operation_shape(ops, shape), shape)
         AS shape,
       ops, rule,
       iif((SELECT yes FROM operates) AND fault IS NOT NULL, 'error', status) AS status,
       iif((SELECT yes FROM operates) AND fault IS NOT NULL, fault, error) AS error,
       note
FROM (
  SELECT *,
         CASE WHEN ops IS NOT NULL THEN
                operation_error(ops, shape, (SELECT t.dtype FROM tensor t
                  WHERE t.checkpoint_id = source AND t.name = old_name))
              WHEN NOT alone AND (SELECT yes FROM operates)
                   AND rule IN (SELECT ord FROM rule
                                WHERE ruleset = :ruleset AND nullif(ops, '[]') NOT NULL)
                THEN 'ValueError: rules of dialect kauldron know no operations' END AS fault
  FROM (
    SELECT *,
           CASE WHEN (SELECT yes FROM operates) AND alone AND status = 'mapped'
                     AND tensor_id IS NOT NULL
                THEN rule_ops(:ruleset, new_name, rule) END AS ops
    FROM (
      -- alone: a rule matches one name at a time
      SELECT s.source, s.checkpoints, x.new_name, x.old_name, x.tensor_id, x.dtype, x.shape,
             x.rule, x.status, x.error, x.note, 1 AS alone
      FROM ruleset r CROSS JOIN span s
      CROSS JOIN settled_rows(:ruleset, s.source, :target_id) x
      WHERE r.name = :ruleset AND r.dialect = 't5x-assignment'
      UNION ALL
      SELECT s.source, s.checkpoints, x.new_name, x.old_name, x.tensor_id, x.dtype, x.shape,
             x.rule, x.status, x.error, x.note, 1
      FROM ruleset r CROSS JOIN span s
      CROSS JOIN settled_rows(:ruleset, s.source, :target_id) x
      WHERE r.name = :ruleset AND r.dialect = 'orbax'
      UNION ALL
      SELECT s.source, s.checkpoints, x.new_name, x.old_name, x.tensor_id, x.dtype, x.shape,
             x.rule, x.status, x.error, x.note, 0
      FROM ruleset r CROSS JOIN span s
      CROSS JOIN assign_kauldron_rows(:ruleset, s.source, :target_id) x
      WHERE r.name = :ruleset AND r.dialect = 'kauldron'
    )
  )
)
