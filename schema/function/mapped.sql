-- mapped.sql - mapped(checkpoint_id, ruleset): what a rule set makes of a checkpoint's tensors. `recipe`
-- (catalog/compose/compose.h) says how, where more is done than renaming; a row of several tensors
-- has the first of them. What the rule set drops has no row; what is in error becomes nothing, and has no new
-- name: what is like it in another checkpoint is not what is made of it.
-- columns: tensor_id, recipe, new_name, dtype, shape, nbytes, renamed_only
-- parameters: :checkpoint_id, :ruleset
WITH given(checkpoint_id, ruleset) AS (SELECT :checkpoint_id, :ruleset), -- their order as arguments
made(tensor_id, recipe, new_name, dtype, shape) AS (
  SELECT tensor_id, '[[[' || tensor_id || ',' || ops || ']],null,null]', iif(status = 'error', NULL, new_name), dtype, shape
  FROM translation WHERE ruleset = :ruleset AND checkpoint_id = :checkpoint_id AND status <> 'dropped'
  UNION ALL
  SELECT tensor_id, recipe, iif(status = 'error', NULL, new_name), dtype, shape FROM conversion
  WHERE ruleset = :ruleset AND checkpoint_id = :checkpoint_id AND status <> 'dropped' AND (part = 0 OR status <> 'ok')
)
SELECT x.tensor_id, x.recipe, x.new_name, x.dtype, x.shape,
       iif(x.recipe IS NULL, t.nbytes, (shape_elements(x.shape) * dtype_bits(x.dtype) + 7) / 8) AS nbytes,
       x.recipe IS NULL AND x.dtype = t.dtype AS renamed_only
FROM made x
JOIN layout_tensors t
  ON t.id = (SELECT ID_FIRST(layout) FROM checkpoints WHERE id = :checkpoint_id) + ID_ORD(x.tensor_id)
