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
  alone_a(id, hash, n) AS (
    SELECT n, hash, row_number() OVER (PARTITION BY hash ORDER BY ord)
    FROM side_a
    WHERE hash IS NOT NULL AND (key IS NULL OR key NOT IN (SELECT name FROM side_b))
  ),
  alone_b(id, hash, n) AS (
    SELECT id, hash, row_number() OVER (PARTITION BY hash ORDER BY ord)
    FROM side_b
    WHERE hash IS NOT NULL
      AND name NOT IN (SELECT key FROM side_a WHERE key IS NOT NULL)
  ),
  renamed(a, b) AS MATERIALIZED (
    SELECT a.id, b.id FROM alone_a a JOIN alone_b b ON b.hash = a.hash AND b.n = a.n
  ),
  pair(a, b, is_renamed, turn) AS (
    SELECT a.n, b.id, 0, a.ord
    FROM side_a a LEFT JOIN side_b b ON b.name = a.key
    WHERE a.n NOT IN (SELECT a FROM renamed)
    UNION ALL
    SELECT r.a, r.b, 1, a.ord FROM renamed r JOIN side_a a ON a.n = r.a
    UNION ALL
    SELECT NULL, id, 0, (1 << 32) + ord FROM side_b
    WHERE name NOT IN (SELECT key FROM side_a WHERE key IS NOT NULL)
      AND id NOT IN (SELECT b FROM renamed)
  )
SELECT CASE WHEN p.a IS NULL THEN 'only_b' WHEN p.b IS NULL THEN 'only_a'
            WHEN p.is_renamed THEN 'renamed'
            WHEN a.shape <> b.shape THEN 'shape' -- what is not known differs from nothing
            WHEN a.dtype <> b.dtype THEN 'dtype'
            WHEN a.hash IS NULL OR b.hash IS NULL THEN 'unread'
            WHEN a.hash <> b.hash THEN 'value' ELSE 'same' END AS status,
       a.name AS name_a, b.name AS name_b, a.dtype AS dtype_a, b.dtype AS dtype_b,
       a.shape AS shape_a, b.shape AS shape_b, a.nbytes AS nbytes_a, b.nbytes AS nbytes_b,
       a.id AS tensor_a, b.id AS tensor_b, a.hash AS hash_a, b.hash AS hash_b
FROM pair p
LEFT JOIN side_a a ON a.n = p.a
LEFT JOIN side_b b ON b.id = p.b
ORDER BY p.turn
