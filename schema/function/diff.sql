-- diff.sql - diff(a, b[, ruleset]): the tensors of two checkpoints, side by side by name. A rule set
-- makes others of a's side first; what it drops has no row, and name_a is a's own name. Where it does
-- more than rename, tensor_a is a recipe (catalog/compose/compose.h), and no hash is known.
--
-- Hashes tell contents apart where both are known; `unread` is alike as far as that was looked at. A
-- tensor of one side alone whose contents a tensor of the other side alone has is `renamed`.
WITH
  given(a, b, ruleset) AS (SELECT :a, :b, $ruleset), -- their order as arguments
  made(tensor_id, recipe, old_name, new_name, dtype, shape) AS (
    SELECT tensor_id, '[[[' || tensor_id || ',' || ops || ']],null,null]', old_name, new_name, dtype, shape
    FROM translation WHERE ruleset = $ruleset AND checkpoint_id = :a AND status <> 'dropped'
    UNION ALL
    SELECT tensor_id, recipe, old_name, new_name, dtype, shape FROM conversion
    WHERE ruleset = $ruleset AND checkpoint_id = :a AND status <> 'dropped' AND (part = 0 OR status <> 'ok')
  ),
  side_a(n, id, name, key, ord, dtype, shape, nbytes, hash) AS MATERIALIZED (
    SELECT t.id, t.id, t.name, t.name, t.ord, t.dtype, t.shape, t.nbytes, t.hash
    FROM tensor t WHERE t.checkpoint_id = :a AND $ruleset IS NULL
    UNION ALL
    SELECT row_number() OVER (), coalesce(x.recipe, t.id), t.name, x.new_name, t.ord, x.dtype, x.shape,
           iif(x.recipe IS NULL, t.nbytes, (shape_elements(x.shape) * dtype_bits(x.dtype) + 7) / 8),
           iif(x.recipe IS NULL AND x.dtype = t.dtype, t.hash, NULL)
    FROM made x JOIN tensor t ON t.checkpoint_id = tensor_checkpoint(x.tensor_id) AND t.name = x.old_name
  ),
  side_b(id, name, ord, dtype, shape, nbytes, hash) AS MATERIALIZED (
    SELECT id, name, ord, dtype, shape, nbytes, hash FROM tensor WHERE checkpoint_id = :b
  ),
  -- Side by side by name, with all that is shown: nothing is looked up twice.
  named(n, turn, name_a, dtype_a, shape_a, nbytes_a, tensor_a, hash_a,
        name_b, dtype_b, shape_b, nbytes_b, tensor_b, hash_b) AS MATERIALIZED (
    SELECT a.n, a.ord, a.name, a.dtype, a.shape, a.nbytes, a.id, a.hash,
           b.name, b.dtype, b.shape, b.nbytes, b.id, b.hash
    FROM side_a a LEFT JOIN side_b b ON b.name = a.key
  ),
  alone_b AS MATERIALIZED (
    SELECT * FROM side_b
    WHERE id NOT IN (SELECT tensor_b FROM named WHERE tensor_b IS NOT NULL)
  ),
  renamed(a, b) AS MATERIALIZED (
    SELECT a.n, b.id
    FROM (SELECT n, hash_a AS hash, row_number() OVER (PARTITION BY hash_a ORDER BY turn) AS nth
          FROM named WHERE tensor_b IS NULL AND hash_a IS NOT NULL) a
    JOIN (SELECT id, hash, row_number() OVER (PARTITION BY hash ORDER BY ord) AS nth
          FROM alone_b WHERE hash IS NOT NULL) b ON b.hash = a.hash AND b.nth = a.nth
  ),
  pair AS (
    SELECT *, 0 AS is_renamed FROM named
    WHERE tensor_b IS NOT NULL OR n NOT IN (SELECT a FROM renamed)
    UNION ALL
    SELECT a.n, turn, name_a, dtype_a, shape_a, nbytes_a, tensor_a, hash_a,
           b.name, b.dtype, b.shape, b.nbytes, b.id, b.hash, 1
    FROM renamed r JOIN named a ON a.n = r.a JOIN alone_b b ON b.id = r.b
    UNION ALL
    SELECT NULL, (1 << 32) + ord, NULL, NULL, NULL, NULL, NULL, NULL,
           name, dtype, shape, nbytes, id, hash, 0
    FROM alone_b WHERE id NOT IN (SELECT b FROM renamed)
  )
SELECT CASE WHEN n IS NULL THEN 'only_b' WHEN tensor_b IS NULL THEN 'only_a'
            WHEN is_renamed THEN 'renamed'
            WHEN shape_a <> shape_b THEN 'shape' -- what is not known differs from nothing
            WHEN dtype_a <> dtype_b THEN 'dtype'
            WHEN hash_a IS NULL OR hash_b IS NULL THEN 'unread'
            WHEN hash_a <> hash_b THEN 'value' ELSE 'same' END AS status,
       name_a, name_b, dtype_a, dtype_b, shape_a, shape_b, nbytes_a, nbytes_b,
       tensor_a, tensor_b, hash_a, hash_b
FROM pair
ORDER BY turn
