-- assignment.sql - what the leaves of a target get from a source, as the rule set's dialect has
-- it: one SELECT a dialect, of which one has rows. Then the operations of the rules.
WITH
  operates(yes) AS MATERIALIZED (
    SELECT EXISTS (SELECT 1 FROM rule WHERE ruleset = :ruleset AND nullif(ops, '[]') NOT NULL)
  )
SELECT new_name, old_name, tensor_id, dtype,
       iif(ops IS NULL, shape, operation_shape(ops, shape)) AS shape,
       ops, rule,
       iif(fault IS NULL, status, 'error') AS status,
       ifnull(fault, error) AS error,
       note
FROM (
  SELECT *,
         CASE WHEN ops IS NOT NULL THEN
                operation_error(ops, shape, (SELECT t.dtype FROM tensor t
                  WHERE t.checkpoint_id = :source_id AND t.name = old_name))
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
      SELECT x.new_name, x.old_name, x.tensor_id, x.dtype, x.shape, x.rule, x.status, x.error,
             x.note, 1 AS alone
      FROM ruleset r CROSS JOIN assign_t5x_rows(:ruleset, :source_id, :target_id) x
      WHERE r.name = :ruleset AND r.dialect = 't5x-assignment'
      UNION ALL
      SELECT x.new_name, x.old_name, x.tensor_id, x.dtype, x.shape, x.rule, x.status, x.error,
             x.note, 1
      FROM ruleset r CROSS JOIN assign_orbax_rows(:ruleset, :source_id, :target_id) x
      WHERE r.name = :ruleset AND r.dialect = 'orbax'
      UNION ALL
      SELECT x.new_name, x.old_name, x.tensor_id, x.dtype, x.shape, x.rule, x.status, x.error,
             x.note, 0
      FROM ruleset r CROSS JOIN assign_kauldron_rows(:ruleset, :source_id, :target_id) x
      WHERE r.name = :ruleset AND r.dialect = 'kauldron'
    )
  )
)
