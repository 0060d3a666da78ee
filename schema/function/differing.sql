-- differing.sql - differing(a, b): the rows of diff(a, b) that differ: tensors that are the same, or alike as far as
-- known, are left out. So only the few tensors that unlike() finds are looked at.
--
-- A row of `named` is a tensor of a, and the tensor of b with its name. A tensor alone on one side is `renamed` if one
-- alone on the other side has its contents: first with first, and so on.
-- columns: status, name_a, name_b, dtype_a, dtype_b, shape_a, shape_b, nbytes_a, nbytes_b, tensor_a, tensor_b
-- parameters: :a, :b
WITH
  given(a, b) AS (SELECT :a, :b), -- their order as arguments
  side(a, b) AS MATERIALIZED ( -- their layouts
    SELECT (SELECT layout FROM _checkpoints WHERE id = :a), (SELECT layout FROM _checkpoints WHERE id = :b)
  ),
  place AS MATERIALIZED ( -- whose rows are what was written
    SELECT ord_a, ord_b FROM unlike(:a, :b)
    WHERE (known_tensor(ID_FIRST(:a) + ord_a) IS NULL) + (known_tensor(ID_FIRST(:b) + ord_b) IS NULL) < 2
  ),
  named AS MATERIALIZED (
    SELECT x.id AS a, y.id AS b, h.hash,
           CASE WHEN x.shape <> y.shape THEN 'shape' -- what is not known differs from nothing
                WHEN x.dtype <> y.dtype THEN 'dtype'
                WHEN h.hash <> g.hash THEN 'value' END AS status
    FROM side s CROSS JOIN place CROSS JOIN _layout_tensors x ON x.id = ID_FIRST(s.a) + ord_a
    LEFT JOIN _layout_tensors y ON y.name = x.name AND y.id BETWEEN ID_FIRST(s.b) AND ID_LAST(s.b)
    LEFT JOIN _tensor_hashes h ON h.id = ID_FIRST(:a) + ord_a LEFT JOIN _tensor_hashes g ON g.id = ID_FIRST(:b) + ID_ORD(y.id)
  ),
  alone(a, b, hash, nth) AS (
    SELECT a, NULL, hash, row_number() OVER (PARTITION BY hash ORDER BY a) FROM named WHERE b IS NULL
    UNION ALL
    SELECT NULL, ID_FIRST(s.b) + ord_b, hash, row_number() OVER (PARTITION BY hash ORDER BY ord_b)
    FROM side s CROSS JOIN place LEFT JOIN _tensor_hashes h ON h.id = ID_FIRST(:b) + ord_b
    WHERE ord_b IS NOT NULL AND ID_FIRST(s.b) + ord_b NOT IN (SELECT b FROM named WHERE b IS NOT NULL)
  ),
  pair(status, a, b) AS (
    SELECT status, a, b FROM named WHERE status IS NOT NULL
    UNION ALL
    SELECT iif(max(a) IS NULL, 'only_b', iif(max(b) IS NULL, 'only_a', 'renamed')), max(a), max(b)
    FROM alone GROUP BY hash, iif(hash IS NULL, coalesce(a, -b), nth) -- what is not known has no equal
  )
SELECT status, x.name AS name_a, y.name AS name_b, x.dtype AS dtype_a, y.dtype AS dtype_b, x.shape AS shape_a,
       y.shape AS shape_b, x.nbytes AS nbytes_a, y.nbytes AS nbytes_b,
       ID_FIRST(:a) + ID_ORD(a) AS tensor_a, ID_FIRST(:b) + ID_ORD(b) AS tensor_b
FROM pair LEFT JOIN _layout_tensors x ON x.id = a LEFT JOIN _layout_tensors y ON y.id = b
ORDER BY a IS NULL, a, b
