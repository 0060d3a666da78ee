-- optimizer_params.sql - optimizer_params(checkpoint): the parameters that an optimizer
-- optimizes: the tensors under target/, or all if target/ is empty. `turn` is JAX's order, the
-- keys of a tree sorted level by level.
SELECT name, shape, dtype, row_number() OVER (ORDER BY replace(name, '/', char(1))) AS turn
FROM (
  SELECT substr(name, 8) AS name, shape, dtype FROM leaf
  WHERE checkpoint_id = :checkpoint AND tensor_id IS NOT NULL
    AND substr(name, 1, 7) = 'target/'
  UNION ALL
  SELECT name, shape, dtype FROM leaf
  WHERE checkpoint_id = :checkpoint AND tensor_id IS NOT NULL
    AND NOT EXISTS (SELECT 1 FROM leaf WHERE checkpoint_id = :checkpoint
                    AND tensor_id IS NOT NULL AND substr(name, 1, 7) = 'target/')
)
