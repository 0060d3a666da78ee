-- diff.sql - diff(a, b[, ruleset, different, renames]): the tensors of two checkpoints, matched by name. A rule set is
-- applied to a first, then renamed(renames): tensors that it drops have no row, and name_a is the name before.
-- Where it does more than rename, tensor_a is a recipe (catalog/data/compose/compose.h), and no hash is
-- known. `WHERE different = 1` omits tensors that are the same, or equal as far as is known
-- (`unread`).
--
-- Contents differ if both hashes are known and differ. A tensor that only one side has, with the
-- contents of one that only the other side has, is `renamed`. Hashes are compared by their ids in
-- _content_hashes; their texts are looked up only for the result. With `different` and no rule set,
-- the rows come from differing(). `own` is the tensor of a's layout that a row belongs to,
-- `hashed` the tensor whose hash it has. (For speed: unary + removes affinities, and LIMIT -1
-- keeps SQLite from joining the arms of a UNION ALL one by one.)
-- columns: status, name_a, name_b, dtype_a, dtype_b, shape_a, shape_b, nbytes_a, nbytes_b, tensor_a, tensor_b, hash_a, hash_b
-- parameters: :a, :b, $ruleset, $different, $renames
WITH
  given(a, b, ruleset, different, renames) AS (SELECT :a, :b, $ruleset, $different, $renames), -- argument order
  side(a, b) AS MATERIALIZED ( -- their layouts
    SELECT (SELECT layout FROM _checkpoints WHERE id = known_checkpoint(:a)),
           (SELECT layout FROM _checkpoints WHERE id = known_checkpoint(:b)) WHERE known_renaming($ruleset) IS $ruleset
  ),
  side_a(b, own, key, hashed, recipe, dtype, shape, nbytes) AS NOT MATERIALIZED (
    SELECT b, +id, +name, ID_FIRST(:a) + ID_ORD(id), NULL, +dtype, +shape, +nbytes
    FROM side CROSS JOIN _layout_tensors ON id BETWEEN ID_FIRST(a) AND ID_LAST(a) WHERE coalesce($ruleset, $renames) IS NULL AND $different IS NOT 1
    UNION ALL
    SELECT b, ID_FIRST(a) + ID_ORD(tensor_id), new_name,
           iif(renamed_only, tensor_id, NULL), recipe, dtype, shape, nbytes
    FROM side CROSS JOIN mapped(:a, $ruleset, $renames) WHERE coalesce($ruleset, $renames) IS NOT NULL
    LIMIT -1
  ),
  side_b(id) AS NOT MATERIALIZED (
    SELECT +id FROM side CROSS JOIN _layout_tensors ON id BETWEEN ID_FIRST(b) AND ID_LAST(b) WHERE $different IS NOT 1 OR coalesce($ruleset, $renames) IS NOT NULL
    LIMIT -1
  ),
  named AS MATERIALIZED (
    SELECT x.own, x.hashed, x.recipe, x.dtype, x.shape, x.nbytes, y.id AS b,
           CASE WHEN y.id IS NULL THEN 'only_a'
                WHEN x.shape <> y.shape THEN 'shape' -- (false if one is NULL: not known)
                WHEN x.dtype <> y.dtype THEN 'dtype'
                WHEN h.hash <> g.hash THEN 'value'
                ELSE iif(h.hash = g.hash, 'same', 'unread') END AS status
    FROM side_a x
    LEFT JOIN _layout_tensors y ON y.name = x.key AND y.id BETWEEN ID_FIRST(x.b) AND ID_LAST(x.b)
    LEFT JOIN _tensor_hashes h ON h.id = x.hashed LEFT JOIN _tensor_hashes g ON g.id = ID_FIRST(:b) + ID_ORD(y.id)
  ),
  alone_a AS (
    SELECT x.*, hash, row_number() OVER (PARTITION BY hash ORDER BY own) AS nth
    FROM named x LEFT JOIN _tensor_hashes h ON h.id = x.hashed WHERE x.b IS NULL
  ),
  alone_b AS (
    SELECT y.id, hash, row_number() OVER (PARTITION BY hash ORDER BY y.id) AS nth
    FROM side_b y LEFT JOIN _tensor_hashes h ON h.id = ID_FIRST(:b) + ID_ORD(y.id)
    WHERE y.id NOT IN (SELECT b FROM named WHERE b IS NOT NULL)
  ),
  pair AS (
    SELECT status, own, hashed, recipe, dtype, shape, nbytes, b FROM named
    WHERE b IS NOT NULL AND ($different IS NOT 1 OR status NOT IN ('same', 'unread'))
    UNION ALL
    SELECT iif(max(own) IS NULL, 'only_b', iif(max(id) IS NULL, 'only_a', 'renamed')), max(own), max(hashed), max(recipe),
           max(dtype), max(shape), max(nbytes), max(id)
    FROM (SELECT own, hashed, recipe, dtype, shape, nbytes, NULL AS id, hash, nth FROM alone_a
          UNION ALL SELECT NULL, NULL, NULL, NULL, NULL, NULL, id, hash, -nth FROM alone_b)
    GROUP BY hash, iif(hash IS NULL, nth, abs(nth)) -- a hash that is not known equals none
    UNION ALL
    SELECT status, ID_FIRST(s.a) + ID_ORD(tensor_a), tensor_a, NULL, dtype_a, shape_a, nbytes_a, ID_FIRST(s.b) + ID_ORD(tensor_b)
    FROM side s CROSS JOIN differing(:a, :b) WHERE $different = 1 AND coalesce($ruleset, $renames) IS NULL
  )
SELECT status, x.name AS name_a, y.name AS name_b, p.dtype AS dtype_a, y.dtype AS dtype_b, p.shape AS shape_a,
       y.shape AS shape_b, p.nbytes AS nbytes_a, y.nbytes AS nbytes_b,
       coalesce(p.recipe, ID_FIRST(:a) + ID_ORD(own)) AS tensor_a, ID_FIRST(:b) + ID_ORD(b) AS tensor_b,
       (SELECT c.hash FROM _tensor_hashes h JOIN _content_hashes c ON c.id = h.hash WHERE h.id = hashed) AS hash_a,
       (SELECT c.hash FROM _tensor_hashes h JOIN _content_hashes c ON c.id = h.hash WHERE h.id = ID_FIRST(:b) + ID_ORD(b)) AS hash_b
FROM pair p LEFT JOIN _layout_tensors x ON x.id = p.own LEFT JOIN _layout_tensors y ON y.id = p.b
ORDER BY own IS NULL, own, b
