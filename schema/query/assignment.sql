-- assignment.sql - what the leaves of a target get from a source, as the rule set's dialect has
-- it: one SELECT a dialect, of which one has rows.
SELECT x.new_name, x.old_name, x.tensor_id, x.dtype, x.shape, x.rule, x.status, x.error,
       x.note
FROM ruleset r CROSS JOIN assign_t5x_rows(:ruleset, :source_id, :target_id) x
WHERE r.name = :ruleset AND r.dialect = 't5x-assignment'
UNION ALL
SELECT x.new_name, x.old_name, x.tensor_id, x.dtype, x.shape, x.rule, x.status, x.error,
       x.note
FROM ruleset r CROSS JOIN assign_orbax_rows(:ruleset, :source_id, :target_id) x
WHERE r.name = :ruleset AND r.dialect = 'orbax'
UNION ALL
SELECT x.new_name, x.old_name, x.tensor_id, x.dtype, x.shape, x.rule, x.status, x.error,
       x.note
FROM ruleset r CROSS JOIN assign_kauldron_rows(:ruleset, :source_id, :target_id) x
WHERE r.name = :ruleset AND r.dialect = 'kauldron'
