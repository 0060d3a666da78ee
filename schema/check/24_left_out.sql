-- left-out: tensors of the source that go nowhere
-- severity: note
SELECT NULL AS rule, l.place, l.name, NULL AS detail
FROM leaf l CROSS JOIN option
WHERE l.checkpoint_id = (SELECT source FROM given) AND NOT renames
  AND l.tensor_id IS NOT NULL
  AND l.name NOT IN (SELECT old_name FROM result WHERE old_name IS NOT NULL)
