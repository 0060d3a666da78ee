-- mapped.sql - mapped(checkpoint_id[, ruleset, renames]): the results of a rule set for a checkpoint's
-- tensors (NULL: the tensors themselves), whose names renamed() then changes (NULL: not). `recipe` (catalog/data/compose/compose.h) is how to make one, if it is more than renamed;
-- tensor_id is the first tensor it is made from. Tensors that the rule set drops have no row. A row
-- in error has no new name, so that it is not matched with a tensor of another checkpoint.
-- columns: tensor_id, recipe, new_name, dtype, shape, nbytes, renamed_only
-- parameters: :checkpoint_id, $ruleset, $renames
WITH given(checkpoint_id, ruleset, renames) AS (SELECT :checkpoint_id, $ruleset, $renames), -- argument order
held(first, layout) AS (SELECT ID_FIRST(layout), layout FROM _checkpoints WHERE id = :checkpoint_id),
made(tensor_id, recipe, new_name, dtype, shape) AS (
  SELECT tensor_id, '[[[' || tensor_id || ',' || ops || ']],null,null]', iif(status = 'error', NULL, new_name), dtype, shape
  FROM translation
  WHERE ruleset = (SELECT name FROM ruleset WHERE name = known_renaming($ruleset) AND dialect_is(dialect, 'translation')) AND checkpoint_id = :checkpoint_id AND status <> 'dropped'
  UNION ALL
  SELECT tensor_id, recipe, iif(status = 'error', NULL, new_name), dtype, shape FROM conversion
  WHERE ruleset = (SELECT name FROM ruleset WHERE name = $ruleset AND dialect_is(dialect, 'conversion')) AND checkpoint_id = :checkpoint_id AND status <> 'dropped' AND (part = 0 OR status <> 'ok')
  UNION ALL
  SELECT ID_FIRST(:checkpoint_id) + ID_ORD(id), NULL, name, dtype, shape FROM held CROSS JOIN _layout_tensors
  WHERE $ruleset IS NULL AND id BETWEEN first AND ID_LAST(layout)
)
SELECT x.tensor_id, x.recipe, renamed($renames, x.new_name) AS new_name, x.dtype, x.shape,
       iif(x.recipe IS NULL, t.nbytes, (shape_elements(x.shape) * dtype_bits(x.dtype) + 7) / 8) AS nbytes,
       x.recipe IS NULL AND x.dtype = t.dtype AS renamed_only
FROM made x
JOIN _layout_tensors t
  ON t.id = (SELECT first FROM held) + ID_ORD(x.tensor_id)
